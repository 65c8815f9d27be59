// Scores of single episodes (distributions), means of groups (breakdown) and scatter plots.

const LAYERS = 3; // more runs than this are drawn below each other
const DASHES = [null, "6 3", "2 2.5"];
const MOST_DOTS = 60; // groups in the figure; the table has all

// How the scores are spread, one figure per metric; a click on a bar lists its episodes.
function showDistributions() {
  const figure = (metric) => {
    const about = el("span.long", metric.name + (metric.unit ? `, ${metric.unit}` : ""));
    const caption = el("figcaption", { title: metric.formula }, el("b", metric.symbol), about);
    return el("figure.card", caption, histogram(metric), undefinedNote([metric]));
  };
  const click = el("span.screen", " Click a bar to list its episodes.");
  const about = el("p.lead", "Share of episodes by score; a triangle marks the mean.", click);
  add($("#distributions"), about, legend(), el("div.multiples", metrics.map(figure)));
}

// Shares of each run's episodes in equal bins: outlines of a few runs over each other, or a panel for each of many.
function histogram(metric, count = 20) {
  const domain = domainOf(metric);
  const span = domain.high - domain.low;
  const edges = Array.from({ length: count + 1 }, (_, bin) => domain.low + (bin / count) * span);
  const shares = data.runs.map(({ scores }) => {
    const values = scores[metric.symbol].filter(Number.isFinite);
    const counts = new Array(count).fill(0);
    for (const value of values) counts[clamp(Math.floor(((value - domain.low) / span) * count), 0, count - 1)] += 1;
    return counts.map((some) => some / (values.length || 1));
  });
  const most = Math.max(...shares.flat()) || 1;
  const means = results.runs.map((run) => run.means[metric.symbol].mean); // null where no episode has a value
  const many = shares.length > LAYERS;
  const panels = many ? everyRun.map((run) => [run]) : [everyRun];
  const layer = (run, { across }, floor, up) => {
    const at = edges.map(across);
    const steps = shares[run].map((part, bin) => `L${at[bin]} ${up(part)}H${at[bin + 1]}`);
    const line = `M${at[0]} ${floor}${steps.join("")}V${floor}`;
    const mean = shape(4, across(Math.min(means[run], domain.high)), up(most) - 5, 3.5);
    return svg("g.layer", { class: `run-${run % 7}` },
      svg("line.base", { x1: at[0], x2: at.at(-1), y1: floor, y2: floor }),
      (many || shares.length < LAYERS) && svg("path.fill", { d: `${line}Z` }),
      svg("path.step", { d: line, "stroke-dasharray": many ? null : DASHES[run] }),
      many && svg("path.mark", { d: shape(run, 7, floor - 8, 4) }),
      means[run] !== null && svg("path.mark", { d: mean }),
    );
  };
  const bar = (runs, bin, { across }, y, height) => {
    const [low, high, last] = [edges[bin], edges[bin + 1], bin === count - 1];
    const whose = (run) => (everyRun.length > 1 ? `${results.runs[run].name}: ` : "");
    const parts = runs.map((run) => `${whose(run)}${(100 * shares[run][bin]).toFixed(1)} % of episodes`);
    const range = `${tickText(metric, low)} to ${last && domain.cut ? "more" : tickText(metric, high)}`;
    const click = () => {
      const { a, b } = browser.state;
      const sorted = { of: "a", sort: "value", descending: false, metric: metric.symbol };
      browser.only({ a: runs[0], b: b === runs[0] ? a : b, low, high: last ? null : high, ...sorted });
    };
    const title = svg("title", [`${metric.symbol} ${range}`, ...parts].join("\n"));
    return svg("rect.bin", { x: across(low), width: across(high) - across(low), y, height, click }, title);
  };
  const spoken = results.runs.map((run, n) => `${run.name}: mean ${printed(metric, means[n] ?? NaN)}`).join("; ");
  return responsive((width) => {
    const height = many ? 34 * panels.length + 24 : 132;
    const frame = frameOf(width, height, many ? { left: 20, top: 2 } : {}, { metric, domain });
    const room = (frame.base - frame.top) / panels.length;
    const drawn = panels.map((runs, n) => {
      const floor = frame.top + room * (n + 1);
      const ceiling = floor - room + 14 * many;
      const up = linear([0, most], [floor, ceiling]);
      const bars = shares[0].map((_, bin) => bar(runs, bin, frame, ceiling, floor - ceiling));
      return [runs.map((run) => layer(run, frame, floor, up)), bars];
    });
    return chart(frame, `Histogram of ${metric.name}. ${spoken}`, drawn);
  });
}

// Means by scan, by the length of the reference or by path: a figure of one metric, a table of all.
function showBreakdown() {
  const names = { scan: "scan", length: "reference length", path: "path" };
  const kinds = Object.keys(data.groups).filter((by) => by !== "scan" || data.scenes.length > 1);
  showSection("breakdown", kinds.length > 0);
  if (!kinds.length) return;
  const state = { by: kinds.includes(results.split_by) ? results.split_by : kinds[0], metric: LEADING, run: 0 };
  const groups = () => {
    const labels = data.groups[state.by];
    const rows = Map.groupBy(labels.keys(), (row) => labels[row]);
    const order = [...rows.keys()];
    if (state.by === "length") order.sort((a, b) => parseInt(a) - parseInt(b));
    return order.map((name) => ({ name, rows: rows.get(name) }));
  };
  const figure = responsive((width) => groupDots(groups(), metricOf[state.metric], width));
  const [means, name] = [el("div"), el("b")];
  const draw = () => {
    name.textContent = `${metricOf[state.metric].name} by ${names[state.by]}`;
    figure.redraw();
    refill(means, groupTable(groups(), state));
  };
  const set = (key) => (value) => {
    state[key] = key === "run" ? Number(value) : value;
    draw();
  };
  const together = data.cluster ? `, clustered by ${data.clustered_by}` : "";
  const choices = metrics.map((metric) => [metric.symbol, `${metric.symbol}: ${metric.name}`]);
  const runs = results.runs.map((run, n) => [n, run.name]);
  add($("#breakdown"),
    el("div.controls",
      kinds.length > 1 && select("Group episodes by", kinds.map((by) => [by, names[by]]), state.by, set("by")),
      select("Metric in the figure", choices, state.metric, set("metric")),
      runs.length > 1 && select("Run in the table", runs, state.run, set("run")),
    ),
    el("figure.card",
      el("figcaption", name, `Mean of each group; lines are 1.96 standard errors either way${together}.`),
      figure,
      legend(),
    ),
    means,
  );
  draw();
}

// Means of groups with their intervals, one line for each group.
function groupDots(groups, metric, width) {
  const rows = groups.slice(0, MOST_DOTS).map(({ name, rows }) => ({
    name,
    count: grouped(rows.length),
    runs: data.runs.map(({ scores }) => {
      const found = meanOf(scores[metric.symbol], rows);
      const error = 1.96 * errorOf(scores[metric.symbol], rows, found);
      return { ...found, error, ends: [-error || 0, error || 0].map((by) => found.mean + by) };
    }),
  }));
  const ends = rows.flatMap(({ runs }) => runs.flatMap((run) => run.ends)).filter(Number.isFinite);
  if (!ends.length) return el("p.note", `${metric.symbol} is undefined in all episodes.`);
  const [least, most] = metric.share ? [0, 1] : [-Infinity, Infinity];
  const [low, high] = [Math.max(least, Math.min(...ends)), Math.min(most, Math.max(...ends))];
  const longest = Math.max(...rows.map(({ name }) => name.length));
  const line = Math.max(22, 9 * data.runs.length + 8);
  const pad = { left: Math.min(150, longest * 7.2 + 52) + 8, right: 14, bottom: 24 };
  const frame = frameOf(width, line * rows.length + 26, pad, { metric, domain: { low, high, cut: false } });
  const { left, end, across } = frame;
  const dot = ({ mean, error, ends, left: gone }, run, name, y) => {
    const missing = leftOut(run, metric, gone);
    if (!Number.isFinite(mean)) return missing && svg("text", { x: left, y: y + 4 }, `– ${missing}`);
    const [x1, x2] = ends.map((value) => across(clamp(value, low, high)));
    const value = `${withUnit(metric, mean)} ± ${printed(metric, error)}`;
    const about = `${results.runs[run].name}, ${name}: ${value} ${missing}`;
    return add(whisker(`run-${run % 7}`, y, x1, x2, shape(run, across(mean), y, 4)), svg("title", about));
  };
  const drawn = rows.map(({ name, count, runs }, place) => {
    const y = line * (place + 0.5);
    return svg("g",
      svg("line.gridline", { x1: left, x2: end, y1: y, y2: y }),
      svg("text.name", { x: 0, y: y + 4 }, name),
      svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, count),
      runs.map((found, run) => dot(found, run, name, y + 8 * (run - (runs.length - 1) / 2))),
    );
  });
  return chart(frame, `${metric.name} of each group; the table has the numbers`, drawn);
}

function groupTable(groups, { by, run }) {
  const rows = groups.map(({ name, rows }) => ({
    name,
    count: grouped(rows.length),
    means: metrics.map((metric) => meanOf(data.runs[run].scores[metric.symbol], rows)),
  }));
  const shade = metrics.map((metric, n) => {
    const values = rows.map(({ means }) => means[n].mean).filter(Number.isFinite);
    return linear([Math.min(...values), Math.max(...values)], metric.direction === "down" ? [1, 0] : [0, 1]);
  });
  const cell = ({ mean, left }, n) => {
    const missing = left > 0 && el("span.left-out", leftOut(run, metrics[n], left));
    const found = el("td.number.shaded", printed(metrics[n], mean), missing);
    if (metrics[n].direction && Number.isFinite(mean)) found.style.setProperty("--share", shade[n](mean).toFixed(2));
    return found;
  };
  const link = (scene) =>
    el("button.link", { title: "List its episodes", click: () => browser.only({ scene }) }, scene);
  const what = by === "length" ? "number of nodes in the reference" : by;
  const heads = metrics.map((metric) => [[metric.symbol, unitOf(metric)], "number", aboutMetric(metric)]);
  return table(
    "Means of groups",
    `Means of ${results.runs[run].name} by ${what}. Darker cells are better.`,
    [[{ scan: "Scan", length: "Nodes", path: "Path" }[by]], ["n", "number", "Number of episodes"], ...heads],
    rows.map(({ name, count, means }) => [by === "scan" ? link(name) : name, count, ...means.map(cell)]),
    "groups",
  );
}

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
  const axes = (run) => [axisOf(x, run, x.name), axisOf(y, run, y.symbol)];
  add(showScatter($("#cloud"), title, about, everyRun, axes, lines), undefinedNote([x, y]));
}

// Every episode by its score in both runs.
function showAgainst() {
  const metric = metricOf[LEADING];
  const diagonal = ({ left, end, base, top }) => svg("line.threshold", { x1: left, y1: base, x2: end, y2: top });
  for (const place of document.querySelectorAll("#comparison [data-run]")) {
    const [run, base] = [Number(place.dataset.run), Number(place.dataset.base)];
    const axes = () => [base, run].map((n) => axisOf(metric, n, `${metric.symbol} of ${results.runs[n].short}`));
    const about = "One mark per episode. On the diagonal the two runs are equal.";
    const title = `${metric.symbol} of every episode in both runs`;
    const figure = showScatter($(".against", place), title, about, [run], axes, diagonal);
    add(figure, undefinedNote([metric], [base, run]));
  }
}

const axisOf = (metric, run, title) => ({
  metric,
  domain: domainOf(metric),
  title: metric.unit ? `${title}, ${metric.unit}` : title,
  value: (row) => data.runs[run].scores[metric.symbol][row],
});

// Every episode of some runs by two values, a panel for each run; closed until someone opens it.
function showScatter(place, title, about, runs, axes, lines) {
  const panel = (run) =>
    el("div", runs.length > 1 && runName(run, true), responsive((width) => cloud(run, axes(run), width, title, lines)));
  const click = el("span.screen", " Click a mark to open its episode.");
  const figure = el("figure.card", el("figcaption", about, click), el("div.panels", runs.map(panel)));
  add(place, el("details.folded", el("summary", `Scatter plot: ${title}`), figure));
  return figure;
}

// Marks of episodes, on a canvas because there may be tens of thousands; a click opens the nearest.
function cloud(run, [x, y], width, label, lines) {
  const height = Math.round(clamp(width * 0.72, 250, 400));
  const frame = frameOf(width, height, { left: 44, right: 14, top: 12, bottom: 40 }, x, y);
  const points = [];
  for (let row = 0; row < data.count; row++) {
    const [a, b] = [x.value(row), y.value(row)];
    if (!Number.isFinite(a) || !Number.isFinite(b)) continue;
    const [left, top] = [clamp(a, x.domain.low, x.domain.high), clamp(b, y.domain.low, y.domain.high)];
    points.push({ row, x: frame.across(left), y: frame.up(top) });
  }
  const hint = el("span.hint", { "aria-hidden": "true", hidden: true });
  const nearest = (event) => {
    const box = canvas.getBoundingClientRect();
    const px = ((event.clientX - box.left) * width) / box.width;
    const py = ((event.clientY - box.top) * height) / box.height;
    let [found, least] = [null, 14 ** 2];
    for (const point of points) {
      const away = (point.x - px) ** 2 + (point.y - py) ** 2;
      if (away < least) [found, least] = [point, away];
    }
    return found;
  };
  const pointermove = (event) => {
    const point = nearest(event);
    hint.hidden = !point;
    canvas.classList.toggle("pointing", Boolean(point));
    if (!point) return;
    const scores = [x, y].map(({ metric, value }) => `${metric.symbol} ${printed(metric, value(point.row))}`);
    hint.textContent = [data.id[point.row], ...scores].join(" · ");
    hint.style.left = `${Math.min(point.x + 10, width - 200)}px`;
    hint.style.top = `${point.y + 12}px`;
  };
  const pointerleave = () => (hint.hidden = true);
  const click = (event) => {
    const point = nearest(event);
    if (point) browser.open(point.row);
  };
  const ratio = window.devicePixelRatio || 1;
  const size = { width: width * ratio, height: height * ratio };
  const listens = { pointermove, pointerleave, click };
  const canvas = el("canvas", { class: `run-${run % 7}`, "aria-hidden": "true", ...size, ...listens });
  // The marker as a small picture: much faster to draw thousands of times than its outline.
  canvas.paint = () => {
    const [r, alpha] = points.length > 4000 ? [1.5, 0.25] : points.length > 800 ? [2, 0.45] : [3, 0.75];
    const stamp = el("canvas", { width: 12 * ratio, height: 12 * ratio });
    const ink = stamp.getContext("2d");
    ink.scale(ratio, ratio);
    ink.fillStyle = getComputedStyle(canvas).color;
    ink.fill(new Path2D(shape(run, 6, 6, r)));
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.globalAlpha = alpha;
    for (const point of points) pen.drawImage(stamp, point.x - 6, point.y - 6, 12, 12);
  };
  requestAnimationFrame(canvas.paint); // its colour is known when it is on the page
  return el("div.cloud", canvas, hint, chart(frame, label, lines(frame)));
}
