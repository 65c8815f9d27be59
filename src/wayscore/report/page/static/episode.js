// One episode: its instruction, the paths on the map, all its scores, and the warpings.

function showEpisode(row, runs, box) {
  const scene = data.scenes[data.scene[row]];
  const known = data.reference[row] >= 0; // else there are scores and no paths
  const drawn = known && scene.drawn;
  const maps = known && new Maps(row, runs);
  const size = data.length && counted(data.length[row], known && !scene.nodes ? "reference point" : "reference node");
  const link = small("Copy link", null, () => copy(location.href.split("#")[0] + addressOf(data.id[row]), link));
  const previous = small("↑", "Previous episode", () => browser.list.move(-1));
  const next = small("↓", "Next episode", () => browser.list.move(1));
  refill(box,
    el("header",
      el("button.small.back", { click: () => browser.close() }, "← List"),
      el("h3", { tabindex: "-1", id: "episode-title" }, data.id[row]),
      el("span.where", [scene.name, size].filter(Boolean).join(" · ")),
      el("span.buttons", previous, next, link),
    ),
    data.instruction[row] && el("blockquote", data.instruction[row]),
    drawn && mapControls(maps),
    known && !drawn && el("p.note", "This scene has no coordinates, so there is no map."),
    el("div.walks", runs.map((run, n) => el("div", walkHead(row, run, runs.length > 1), drawn && maps.panels[n]))),
    drawn && mapKey(maps),
    scoreTiles(row, runs),
    known && [el("h4", "Warping"), el("div.walks", runs.map((_, walk) => warpingOf(maps, walk, row)))],
  );
  box.scrollTop = 0;
}

const small = (text, label, click) => el("button.small", { "aria-label": label, title: label, click }, text);

function walkHead(row, run, isNamed) {
  const outcome = outcomeOf(run, row);
  const error = data.runs[run].scores.NE?.[row] ?? NaN;
  return el("p.walk-head",
    isNamed && runName(run, true),
    outcome === 1 && el("span.badge.better", "✓ success"),
    outcome === 0 && el("span.badge.worse", "✗ failure"),
    el("span", { class: isNamed && "below" },
      Number.isFinite(error) && `stops ${withUnit(metricOf.NE, error)} from the goal`,
      error === Infinity && `distance to the goal: – (${whyUndefined(run, metricOf.NE)})`,
    ),
  );
}

function mapControls(maps) {
  const floors = maps.scene.floors.map((_, n) => [n, `floor ${n + 1}${maps.visited.has(n) ? " •" : ""}`]);
  const choose = (value) => {
    maps.floor = ["walk", "all"].includes(value) ? value : Number(value);
    maps.redraw();
  };
  const choices = [["walk", "of the paths"], ["all", "all"], ...floors];
  const fitScene = () => maps.fit(maps.scene.places.filter((place) => maps.isShown(place)));
  return el("div.map-controls",
    floors.length > 1 && select("Floors", choices, maps.floor, choose),
    el("span.buttons",
      small("−", "Zoom out", () => maps.zoomBy(1 / 1.4)),
      small("+", "Zoom in", () => maps.zoomBy(1.4)),
      small("Fit paths", null, () => maps.fit()),
      maps.scene.nodes && small("Fit scene", null, fitScene),
    ),
  );
}

// What the marks of a map mean.
function mapKey(maps) {
  const entry = (kind, text, ...parts) => el("span", drawing(34, 16, null, svg("g", { class: kind }, parts)), text);
  const queryOf = (run) => (maps.walks.length > 1 ? `query of ${results.runs[run].short}` : "query");
  const chevron = svg("path.chevron", { d: CHEVRON, transform: "translate(17 8)" });
  const query = () => [
    svg("path.walk", { d: "M2 11Q17 3 32 11" }),
    svg("path.arrow", { d: ARROWHEAD, transform: "translate(17 7)" }),
  ];
  const ring = [svg("circle", { cx: 10, cy: 8, r: 6.5 }), svg("text", { x: 19, y: 12 }, "×3")];
  const circle = svg("circle", { cx: 17, cy: 8, r: 7 });
  const isGoal = maps.scene.near?.[maps.goals[0].code];
  return el("p.key",
    entry("", "reference", svg("path.band", { d: "M2 8H32" }), chevron),
    maps.walks.map(({ run }) => entry(`run-${run % 7}`, queryOf(run), query())),
    maps.walks.some(({ query }) => query && repeats(query).length) &&
      entry(`stays run-${maps.walks[0].run % 7}`, "query stays here for 3 logged steps", ring),
    entry("matches", "warping: matched pairs", svg("path", { d: "M4 13L30 3" })),
    maps.hasCircle && entry("goal-area", `${results.threshold} m around the goal`, circle),
    isGoal && entry("goal-area", "stopping here is a success", svg("path", { d: "M17 8h0" })),
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
    const score = (run, n) => {
      const why = values[n] === Infinity && el("span.left-out", whyUndefined(run, metric));
      return el("dd", { class: `run-${run % 7}` }, two && runMark(run), printed(metric, values[n]), why);
    };
    return el("div",
      el("dt", { title: aboutMetric(metric) }, metric.symbol, unitOf(metric)),
      runs.map(score),
      two && el("dd.gain", { class: gainOf(metric, gain) }, printed(metric, gain, true)),
    );
  };
  return el("dl.tiles.card", { class: two && "two" }, metrics.map(tile));
}
