// One episode: its instruction, the paths on the map, all its scores, and the warpings.

function showEpisode(row, runs, box) {
  const scene = data.scenes[data.scene[row]];
  const known = data.reference[row] >= 0; // else there are scores and no paths
  const maps = known ? new Maps(row, runs) : null;
  const drawn = known && scene.drawn;
  const link = el("button", { type: "button", class: "small" }, "Copy link");
  link.addEventListener("click", () =>
    copy(`${location.href.split("#")[0]}#episode=${encodeURIComponent(data.id[row])}`, link),
  );
  refill(
    box,
    el(
      "header",
      {},
      el("button", { type: "button", class: "small back", on: { click: () => browser.close() } }, "← List"),
      el("h3", { tabindex: "-1", id: "episode-title" }, data.id[row]),
      el("span", { class: "where" }, [scene.name, nodesOf(row)].filter(Boolean).join(" · ")),
      el(
        "span",
        { class: "buttons" },
        el(
          "button",
          { type: "button", class: "small", "aria-label": "Previous episode", on: { click: () => browser.move(-1) } },
          "↑",
        ),
        el(
          "button",
          { type: "button", class: "small", "aria-label": "Next episode", on: { click: () => browser.move(1) } },
          "↓",
        ),
        link,
      ),
    ),
    data.instruction[row] && el("blockquote", {}, data.instruction[row]),
    drawn && mapControls(maps),
    known && !drawn && el("p", { class: "note" }, "This scene has no coordinates, so there is no map."),
    el(
      "div",
      { class: "walks" },
      runs.map((run, walk) => el("div", {}, walkHead(row, run, runs.length > 1), drawn && maps.panels[walk])),
    ),
    drawn && mapKey(maps),
    scoreTiles(row, runs),
    known && el("h4", {}, "Warping"),
    known &&
      el(
        "div",
        { class: "walks" },
        runs.map((_, walk) => warpingOf(maps, walk, row)),
      ),
  );
  box.scrollTop = 0;
}

// The size of the reference: nodes of a graph, or points.
function nodesOf(row) {
  const points = data.reference[row] >= 0 && !data.scenes[data.scene[row]].nodes;
  return data.length && counted(data.length[row], points ? "reference point" : "reference node");
}

function walkHead(row, run, named) {
  const outcome = outcomeOf(run, row);
  const error = data.runs[run].scores.NE?.[row] ?? NaN;
  return el(
    "p",
    { class: "walk-head" },
    named && runName(run, true),
    outcome !== null && badge(outcome),
    el(
      "span",
      { class: named && "below" },
      Number.isFinite(error) && `stops ${withUnit(metricOf.NE, error)} from the goal`,
      error === Infinity && `distance to the goal: – (${whyUndefined(run, metricOf.NE)})`,
    ),
  );
}

// 1 where an episode is a success, 0 where it is not, null where that is not known.
function outcomeOf(run, row) {
  const value = SUCCESS === null ? NaN : data.runs[run].scores[SUCCESS][row];
  return Number.isNaN(value) ? null : value;
}

const badge = (outcome) =>
  el("span", { class: `badge ${outcome ? "better" : "worse"}` }, outcome ? "✓ success" : "✗ failure");

function mapControls(maps) {
  const button = (text, label, click) =>
    el("button", { type: "button", class: "small", "aria-label": label, title: label, on: { click } }, text);
  const floors = [
    ["walk", "of the paths"],
    ["all", "all"],
    ...maps.scene.floors.map((_, n) => [n, maps.visited.has(n) ? `${n + 1} •` : String(n + 1)]),
  ];
  const group = el(
    "span",
    { class: "segments", role: "group", "aria-label": "Floors" },
    floors.map(([value, text]) =>
      el(
        "button",
        {
          type: "button",
          class: "small",
          "aria-pressed": String(maps.floor === value),
          "data-floor": value,
          on: {
            click: () => {
              maps.floor = value;
              for (const one of group.children)
                one.setAttribute("aria-pressed", String(one.dataset.floor === String(value)));
              maps.redraw();
            },
          },
        },
        text,
      ),
    ),
  );
  return el(
    "div",
    { class: "map-controls" },
    maps.scene.floors.length > 1 && el("span", { class: "floors" }, el("span", {}, "Floors"), group),
    el(
      "span",
      { class: "buttons" },
      button("−", "Zoom out", () => maps.zoomBy(1 / 1.4)),
      button("+", "Zoom in", () => maps.zoomBy(1.4)),
      button("Fit paths", null, () => maps.fitWalk()),
      maps.scene.nodes && button("Fit scene", null, () => maps.fitScene()),
    ),
  );
}

function mapKey(maps) {
  const entry = (kind, text, ...parts) =>
    el(
      "span",
      {},
      svg("svg", { class: kind, width: 34, height: 16, viewBox: "0 0 34 16", "aria-hidden": "true" }, parts),
      text,
    );
  const many = maps.walks.length > 1;
  return el(
    "p",
    { class: "key" },
    entry(
      "reference",
      "reference",
      svg("path", { class: "band lit", d: "M2 8H32" }),
      svg("path", { class: "chevron", d: chevron, transform: "translate(17 8)" }),
    ),
    maps.walks.map(({ run }) =>
      entry(
        `query run-${run % 7}`,
        many ? `query of ${results.runs[run].short}` : "query",
        svg("path", { class: "walk lit", d: "M2 11Q17 3 32 11" }),
        svg("path", { class: "arrow", d: arrowhead, transform: "translate(17 7)" }),
      ),
    ),
    maps.walks.some(({ query }) => query && repeats(query).length) &&
      entry(
        `stays run-${maps.walks[0].run % 7}`,
        "query stays here for 3 logged steps",
        svg("circle", { cx: 10, cy: 8, r: 6.5 }),
        svg("text", { x: 19, y: 12 }, "×3"),
      ),
    entry("matches", "warping: matched pairs", svg("path", { d: "M4 13L30 3" })),
    maps.hasCircle() &&
      entry("goal-area", `${results.threshold} m around the goal`, svg("circle", { cx: 17, cy: 8, r: 7 })),
    maps.scene.near?.[maps.goals[0].code] &&
      entry("goal-area", "stopping here is a success", svg("path", { d: "M17 8h0" })),
  );
}

// Whether a difference is better or worse, as a class.
function gainOf({ direction }, gain) {
  if (!direction || !gain || !Number.isFinite(gain)) return "";
  return gain > 0 === (direction === "up") ? "better" : "worse";
}

function scoreTiles(row, runs) {
  return el(
    "dl",
    { class: `tiles card ${runs.length > 1 ? "two" : ""}` },
    metrics.map((metric) => {
      const values = runs.map((run) => data.runs[run].scores[metric.symbol][row]);
      const gain = values[1] - values[0];
      return el(
        "div",
        {},
        el(
          "dt",
          { title: `${metric.name}: ${metric.formula}` },
          metric.symbol,
          el("span", { class: "unit" }, [metric.unit, metric.arrow].filter(Boolean).join(" ")),
        ),
        runs.map((run, n) =>
          el(
            "dd",
            { class: `run-${run % 7}` },
            runs.length > 1 && runMark(run),
            printed(metric, values[n]),
            values[n] === Infinity && el("span", { class: "left-out" }, whyUndefined(run, metric)),
          ),
        ),
        runs.length > 1 && el("dd", { class: `gain ${gainOf(metric, gain)}` }, printed(metric, gain, true)),
      );
    }),
  );
}
