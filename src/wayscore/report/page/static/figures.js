// Scores of single episodes (distributions), means of groups (breakdown) and scatter plots.

// How the scores are spread, one figure per metric; a click on a bar lists its episodes.
function showDistributions() {
  const runs = results.runs.map((_, run) => run);
  const figure = (metric) => {
    const about = el("span.long", metric.name + (metric.unit ? `, ${metric.unit}` : ""));
    const caption = el("figcaption", { title: metric.formula }, el("b", metric.symbol), about);
    return el("figure.card", caption, histogram(metric), undefinedNote([metric]));
  };
  const click = el("span.screen", " Click a bar to list its episodes.");
  add(
    $("#distributions"),
    el("p.lead", "Share of episodes by score; a triangle marks the mean.", click),
    runs.length > 1 && legend(runs),
    el("div.multiples", metrics.map(figure)),
  );
}

// Shares of each run's episodes in equal bins.
function histogram(metric, count = 20) {
  const domain = domainOf(metric);
  const span = domain.high - domain.low;
  const edges = Array.from({ length: count + 1 }, (_, bin) => domain.low + (bin / count) * span);
  const bins = data.runs.map((run) => {
    const values = run.scores[metric.symbol].filter(Number.isFinite);
    const counts = new Array(count).fill(0);
    for (const value of values)
      counts[Math.max(0, Math.min(Math.floor(((value - domain.low) / span) * count), count - 1))] += 1;
    return counts.map((some) => some / (values.length || 1));
  });
  const many = bins.length > LAYERS;
  const means = results.runs.map((run) => run.means[metric.symbol].mean);
  const told = results.runs.map((run, n) => `${run.name}: mean ${printed(metric, means[n] ?? NaN)}`).join("; ");
  return responsive((width) =>
    chart({
      kind: "histogram",
      width,
      height: many ? 34 * bins.length + 24 : 132,
      pad: many ? { left: 20, top: 2 } : {},
      x: { metric, domain },
      bins,
      edges,
      means,
      label: `Histogram of ${metric.name}. ${told}`,
    }),
  );
}

// Means by scan, by the length of the reference or by path: a figure of one metric, a table of all.
function showBreakdown() {
  const kinds = [
    data.scenes.length > 1 && ["scan", "scan"],
    data.lengths && ["length", "reference length"],
    data.path_id && ["path", "path"],
  ].filter(Boolean);
  showSection("breakdown", kinds.length > 0);
  if (!kinds.length) return;
  const first = kinds.find(([key]) => key === results.split_by) ?? kinds[0];
  const state = { by: first[0], metric: LEADING, run: 0 };
  const figure = responsive((width) => groupDots(groups(state.by), metricOf[state.metric], width));
  const [means, name] = [el("div"), el("b")];
  const draw = () => {
    name.textContent = `${metricOf[state.metric].name} by ${kinds.find(([key]) => key === state.by)[1]}`;
    figure.redraw();
    refill(means, scrolling("Means of groups", groupTable(groups(state.by), state)));
  };
  const set = (key) => (value) => {
    state[key] = key === "run" ? Number(value) : value;
    draw();
  };
  const several = results.runs.length > 1;
  const together = data.cluster ? `, clustered by ${data.clustered_by}` : "";
  const choices = metrics.map((metric) => [metric.symbol, `${metric.symbol}: ${metric.name}`]);
  add(
    $("#breakdown"),
    el(
      "div.controls",
      kinds.length > 1 && select("Group episodes by", kinds, state.by, set("by")),
      select("Metric in the figure", choices, state.metric, set("metric")),
      several && select("Run in the table", results.runs.map((run, n) => [n, run.name]), state.run, set("run")),
    ),
    el(
      "figure.card",
      el("figcaption", name, `Mean of each group; lines are 1.96 standard errors either way${together}.`),
      figure,
      several && legend(results.runs.map((_, run) => run)),
    ),
    means,
  );
  draw();
}

function groups(by) {
  const names = { scan: () => data.scene.map((number) => data.scenes[number].name), length: () => data.lengths };
  const labels = names[by]?.() ?? data.path_id;
  const found = Map.groupBy(labels.keys(), (row) => labels[row]);
  const order = [...found.keys()];
  if (by === "length") order.sort((a, b) => parseInt(a) - parseInt(b));
  return order.map((name) => ({ name, rows: found.get(name) }));
}

const MOST_DOTS = 60; // groups in the figure; the table has all

function groupDots(all, metric, width) {
  const rows = all.slice(0, MOST_DOTS).map(({ name, rows: members }) => ({
    name,
    count: members.length,
    runs: data.runs.map(({ scores }, run) => {
      const found = meanOf(scores[metric.symbol], members);
      const error = errorOf(scores[metric.symbol], members, found);
      const missing = leftOut(run, metric, found.left);
      const value = `${withUnit(metric, found.mean)} ± ${printed(metric, 1.96 * error)}`;
      return { mean: found.mean, error, missing, about: `${results.runs[run].name}, ${name}: ${value} ${missing}` };
    }),
  }));
  const ends = rows
    .flatMap(({ runs }) => runs.flatMap(({ mean, error }) => [-1.96, 1.96].map((by) => mean + by * (error || 0))))
    .filter(Number.isFinite);
  if (!ends.length) return el("p.note", `${metric.symbol} is undefined in all episodes.`);
  const [least, most] = metric.share ? [0, 1] : [-Infinity, Infinity];
  const [low, high] = [Math.max(least, Math.min(...ends)), Math.min(most, Math.max(...ends))];
  const longest = Math.max(...rows.map(({ name }) => name.length));
  const line = Math.max(22, 9 * data.runs.length + 8);
  return chart({
    kind: "dots",
    width,
    height: line * rows.length + 26,
    pad: { left: Math.min(150, longest * 7.2 + 52) + 8, right: 14, bottom: 24 },
    x: { metric, domain: { low, high, cut: false } },
    rows,
    line,
    label: `${metric.name} of each group; the table has the numbers`,
  });
}

function groupTable(found, { by, run }) {
  const rows = found.map(({ name, rows: members }) => ({
    name,
    count: members.length,
    means: metrics.map((metric) => meanOf(data.runs[run].scores[metric.symbol], members)),
  }));
  const shade = metrics.map((metric, n) => {
    const values = rows.map(({ means }) => means[n].mean).filter(Number.isFinite);
    return linear([Math.min(...values), Math.max(...values)], metric.direction === "down" ? [1, 0] : [0, 1]);
  });
  const cell = ({ mean, left }, n) => {
    const style = metrics[n].direction && Number.isFinite(mean) ? { "--share": shade[n](mean).toFixed(2) } : {};
    const missing = left > 0 && el("span.left-out", leftOut(run, metrics[n], left));
    return el("td.number.shaded", { style }, printed(metrics[n], mean), missing);
  };
  const link = (scene) =>
    el("button.link", { title: "List its episodes", click: () => browser.only({ scene }) }, scene);
  const what = by === "length" ? "number of nodes in the reference" : by;
  return table(
    "groups",
    `Means of ${results.runs[run].name} by ${what}. Darker cells are better.`,
    [
      [{ scan: "Scan", length: "Nodes", path: "Path" }[by]],
      ["n", "number", "Number of episodes"],
      ...metrics.map((metric) => [[metric.symbol, unitOf(metric)], "number", `${metric.name}: ${metric.formula}`]),
    ],
    rows.map(({ name, count, means }) => [by === "scan" ? link(name) : name, grouped(count), ...means.map(cell)]),
  );
}

// Every episode of some runs by two values, a panel for each run; closed until someone opens it.
function showScatter(place, title, about, runs, axes, lines) {
  const panel = (run) =>
    el(
      "div",
      runs.length > 1 && runName(run, true),
      responsive((width) =>
        chart({
          kind: "cloud",
          width,
          height: Math.round(Math.min(400, Math.max(250, width * 0.72))),
          pad: { left: 44, right: 14, top: 12, bottom: 40 },
          run,
          ...axes(run),
          label: title,
          lines,
        }),
      ),
    );
  const click = el("span.screen", " Click a mark to open its episode.");
  const figure = el("figure.card", el("figcaption", about, click), el("div.panels", runs.map(panel)));
  add(place, el("details.folded", el("summary", `Scatter plot: ${title}`), figure));
  return figure;
}

const axisOf = (metric, run, title) => ({
  metric,
  domain: domainOf(metric),
  title: metric.unit ? `${title}, ${metric.unit}` : title,
  value: (row) => data.runs[run].scores[metric.symbol][row],
});

// Near the goal and near the path are two things: episodes by navigation error and nDTW.
function showCloud() {
  const [x, y] = [metricOf.NE, metricOf.nDTW];
  if (!x || !y) return;
  const limit = results.unit === "m" && results.goal !== "set" ? results.threshold : null;
  const lines = ({ across, top, base, x: { domain } }) =>
    limit !== null &&
    limit < domain.high && [
      svg("line.threshold", { x1: across(limit), x2: across(limit), y1: base, y2: top }),
      svg("text", { x: across(limit) + 5, y: top + 10 }, `success within ${limit} m`),
    ];
  const about =
    "One mark per episode. On the left the agent stopped near the goal: marks at the top followed the reference, " +
    "marks at the bottom took another route.";
  const title = "which episodes reach the goal, and which follow the path?";
  const runs = results.runs.map((_, run) => run);
  const axes = (run) => ({ x: axisOf(x, run, x.name), y: axisOf(y, run, y.symbol) });
  add(showScatter($("#cloud"), title, about, runs, axes, lines), undefinedNote([x, y]));
}

// Every episode by its score in both runs.
function showAgainst() {
  const metric = metricOf[LEADING];
  const diagonal = ({ left, end, base, top }) => svg("line.threshold", { x1: left, y1: base, x2: end, y2: top });
  for (const place of document.querySelectorAll("#comparison [data-run]")) {
    const [run, base] = [Number(place.dataset.run), Number(place.dataset.base)];
    const axis = (n) => axisOf(metric, n, `${metric.symbol} of ${results.runs[n].short}`);
    const about = "One mark per episode. On the diagonal the two runs are equal.";
    const title = `${metric.symbol} of every episode in both runs`;
    const axes = () => ({ x: axis(base), y: axis(run) });
    const figure = showScatter($(".against", place), title, about, [run], axes, diagonal);
    add(figure, undefinedNote([metric], [base, run]));
  }
}
