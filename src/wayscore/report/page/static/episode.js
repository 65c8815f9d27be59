// One episode: its instruction, the paths on the map, all its scores, and the warpings.

function showEpisode(row, runs, box) {
  const scene = data.scenes[data.scene[row]];
  const known = data.reference[row] >= 0; // else there are scores and no paths
  const maps = known ? new Maps(row, runs) : null;
  const drawn = known && scene.drawn;
  const address = () => `${location.href.split("#")[0]}#episode=${encodeURIComponent(data.id[row])}`;
  const link = el("button.small", { click: () => copy(address(), link) }, "Copy link");
  const move = (by, text, label) =>
    el("button.small", { "aria-label": label, click: () => browser.list.move(by) }, text);
  refill(
    box,
    el(
      "header",
      el("button.small.back", { click: () => browser.close() }, "← List"),
      el("h3", { tabindex: "-1", id: "episode-title" }, data.id[row]),
      el("span.where", [scene.name, nodesOf(row)].filter(Boolean).join(" · ")),
      el("span.buttons", move(-1, "↑", "Previous episode"), move(1, "↓", "Next episode"), link),
    ),
    data.instruction[row] && el("blockquote", data.instruction[row]),
    drawn && mapControls(maps),
    known && !drawn && el("p.note", "This scene has no coordinates, so there is no map."),
    el(
      "div.walks",
      runs.map((run, walk) => el("div", walkHead(row, run, runs.length > 1), drawn && maps.panels[walk])),
    ),
    drawn && mapKey(maps),
    scoreTiles(row, runs),
    known && [el("h4", "Warping"), el("div.walks", runs.map((_, walk) => warpingOf(maps, walk, row)))],
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
    "p.walk-head",
    named && runName(run, true),
    outcome === 1 && el("span.badge.better", "✓ success"),
    outcome === 0 && el("span.badge.worse", "✗ failure"),
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

function mapControls(maps) {
  const button = (text, label, click) => el("button.small", { "aria-label": label, title: label, click }, text);
  const floors = maps.scene.floors.map((_, n) => [n, `floor ${n + 1}${maps.visited.has(n) ? " •" : ""}`]);
  const choose = (value) => {
    maps.floor = Number.isNaN(Number(value)) ? value : Number(value);
    maps.redraw();
  };
  const choices = [["walk", "of the paths"], ["all", "all"], ...floors];
  return el(
    "div.map-controls",
    floors.length > 1 && select("Floors", choices, maps.floor, choose),
    el(
      "span.buttons",
      button("−", "Zoom out", () => maps.zoomBy(1 / 1.4)),
      button("+", "Zoom in", () => maps.zoomBy(1.4)),
      button("Fit paths", null, () => maps.fitWalk()),
      maps.scene.nodes && button("Fit scene", null, () => maps.fitScene()),
    ),
  );
}

function mapKey(maps) {
  const entry = (kind, text, ...parts) => el("span", drawing(34, 16, null, svg("g", { class: kind }, parts)), text);
  const queryOf = (run) => (maps.walks.length > 1 ? `query of ${results.runs[run].short}` : "query");
  return el(
    "p.key",
    entry(
      "",
      "reference",
      svg("path.band", { d: "M2 8H32" }),
      svg("path.chevron", { d: chevron, transform: "translate(17 8)" }),
    ),
    maps.walks.map(({ run }) => {
      const arrow = svg("path.arrow", { d: arrowhead, transform: "translate(17 7)" });
      return entry(`run-${run % 7}`, queryOf(run), svg("path.walk", { d: "M2 11Q17 3 32 11" }), arrow);
    }),
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
  const two = runs.length > 1;
  const tile = (metric) => {
    const values = runs.map((run) => data.runs[run].scores[metric.symbol][row]);
    const gain = values[1] - values[0];
    const score = (run, n) =>
      el(
        "dd",
        { class: `run-${run % 7}` },
        two && runMark(run),
        printed(metric, values[n]),
        values[n] === Infinity && el("span.left-out", whyUndefined(run, metric)),
      );
    return el(
      "div",
      el("dt", { title: `${metric.name}: ${metric.formula}` }, metric.symbol, unitOf(metric)),
      runs.map(score),
      two && el("dd.gain", { class: gainOf(metric, gain) }, printed(metric, gain, true)),
    );
  };
  return el("dl.tiles.card", { class: two && "two" }, metrics.map(tile));
}
