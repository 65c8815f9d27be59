// One episode: its words, the walks on the map, all its scores, and the warpings.

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
  return el(
    "p",
    { class: "walk-head" },
    named && runName(run, true),
    outcome !== null && badge(outcome),
    "NE" in metricOf &&
      el(
        "span",
        { class: named && "below" },
        `stops ${withUnit(metricOf.NE, data.runs[run].scores.NE[row])} from the goal`,
      ),
  );
}

// 1 where an episode is a success, 0 where it is not, null where that is not known.
function outcomeOf(run, row) {
  const value = SUCCESS === null ? NaN : data.runs[run].scores[SUCCESS][row];
  return Number.isNaN(value) ? null : value;
}

const badge = (outcome) =>
  el("span", { class: `badge ${outcome ? "success" : "failure"}` }, outcome ? "✓ success" : "✗ failure");

function mapControls(maps) {
  const button = (text, label, click) =>
    el("button", { type: "button", class: "small", "aria-label": label, title: label, on: { click } }, text);
  const floors = [
    ["walk", "of the walk"],
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
      button("Fit walk", null, () => maps.fitWalk()),
      maps.scene.nodes && button("Fit scene", null, () => maps.fitScene()),
    ),
  );
}

function mapKey(maps) {
  const sample = (kind, ...parts) =>
    svg("svg", { class: `sample ${kind}`, width: 34, height: 16, viewBox: "0 0 34 16", "aria-hidden": "true" }, parts);
  const many = maps.walks.length > 1;
  return el(
    "p",
    { class: "key" },
    el(
      "span",
      {},
      sample(
        "reference",
        svg("path", { class: "band lit", d: "M2 8H32" }),
        svg("path", { class: "chevron", d: chevron, transform: "translate(17 8)" }),
      ),
      "reference",
    ),
    maps.walks.map(({ run: n }) =>
      el(
        "span",
        {},
        sample(
          `query run-${n % 7}`,
          svg("path", { class: "walk lit", d: "M2 11Q17 3 32 11" }),
          svg("path", { class: "arrow", d: arrowhead, transform: "translate(17 7)" }),
        ),
        many ? results.runs[n].short : "query",
      ),
    ),
    el("span", {}, sample("matches", svg("path", { d: "M4 13L30 3" })), "warping"),
    maps.hasCircle() &&
      el(
        "span",
        {},
        sample("goal-area", svg("circle", { cx: 17, cy: 8, r: 7 })),
        `${results.threshold} m around the goal`,
      ),
    maps.scene.near?.[maps.goals[0].code] &&
      el("span", {}, sample("goal-area", svg("path", { d: "M17 8h0" })), "counts as reaching it"),
  );
}

function scoreTiles(row, runs) {
  const [a, b] = runs.map((run) => data.runs[run].scores);
  return el(
    "dl",
    { class: `tiles ${b ? "two" : ""}` },
    metrics.map((metric) => {
      const [x, y] = [a[metric.symbol][row], b?.[metric.symbol][row]];
      const gain = b ? y - x : NaN;
      const kind =
        !metric.direction || !(gain && !Number.isNaN(gain))
          ? ""
          : gain > 0 === (metric.direction === "up")
            ? "better"
            : "worse";
      return el(
        "div",
        {},
        el(
          "dt",
          { title: `${metric.name}: ${metric.formula}` },
          metric.symbol,
          el("span", { class: "unit" }, [metric.unit, metric.arrow].filter(Boolean).join(" ")),
        ),
        el("dd", { class: runs.length > 1 ? `run-${runs[0] % 7}` : "" }, b && runMark(runs[0]), printed(metric, x)),
        b && el("dd", { class: `run-${runs[1] % 7}` }, runMark(runs[1]), printed(metric, y)),
        b && el("dd", { class: `gain ${kind}` }, printed(metric, gain, true)),
      );
    }),
  );
}
