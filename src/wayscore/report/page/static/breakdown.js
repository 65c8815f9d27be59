// Means by scan, by the length of the reference or by path: a figure of one metric, a table of all.

function showBreakdown() {
  const kinds = [
    data.scenes.length > 1 && ["scan", "scan"],
    data.lengths && ["length", "reference length"],
    data.path_id && ["path", "path"],
  ].filter(Boolean);
  const section = $("#breakdown");
  section.hidden = $('nav a[href="#breakdown"]').hidden = !kinds.length;
  if (!kinds.length) return;
  const first = kinds.find(([key]) => key === results.split_by) ?? kinds[0];
  const state = { by: first[0], metric: LEADING, run: 0 };
  const figure = responsive((width) => groupDots(groups(state.by), metricOf[state.metric], width));
  const table = el("div");
  const name = el("b");
  const draw = () => {
    name.textContent = `${metricOf[state.metric].name} by ${kinds.find(([key]) => key === state.by)[1]}`;
    figure.redraw();
    refill(table, scrolling("Means of groups", groupTable(groups(state.by), state)));
  };
  const set = (key) => (value) => {
    state[key] = key === "run" ? Number(value) : value;
    draw();
  };
  add(
    section,
    el(
      "div",
      { class: "controls" },
      kinds.length > 1 && select("Group episodes by", kinds, state.by, set("by")),
      select(
        "Metric in the figure",
        metrics.map((metric) => [metric.symbol, `${metric.symbol}: ${metric.name}`]),
        state.metric,
        set("metric"),
      ),
      results.runs.length > 1 &&
        select(
          "Run in the table",
          results.runs.map((run, n) => [n, run.name]),
          state.run,
          set("run"),
        ),
    ),
    el(
      "figure",
      { class: "card" },
      el("figcaption", {}, name, el("span", {}, "Mean of each group; lines are 1.96 standard errors either way.")),
      figure,
      results.runs.length > 1 && legend(results.runs.map((_, run) => run)),
    ),
    table,
  );
  draw();
}

function groups(by) {
  const found = new Map();
  const names = {
    scan: () => data.scene.map((number) => data.scenes[number].name),
    length: () => data.lengths,
    path: () => data.path_id,
  }[by]();
  names.forEach((name, row) => (found.has(name) ? found.get(name).push(row) : found.set(name, [row])));
  const order = by === "length" ? [...found.keys()].sort((a, b) => parseInt(a) - parseInt(b)) : [...found.keys()];
  return order.map((name) => ({ name, rows: found.get(name), by }));
}

const MOST_DOTS = 60; // groups in the figure; the table has all

function groupDots(found, metric, width) {
  const spread = found.slice(0, MOST_DOTS).map(({ name, rows }) => ({
    name,
    count: rows.length,
    runs: data.runs.map((run) => meanOf(run.scores[metric.symbol], rows)),
  }));
  const ends = spread
    .flatMap(({ runs }) => runs.flatMap(({ mean, error }) => [mean - 1.96 * (error || 0), mean + 1.96 * (error || 0)]))
    .filter(Number.isFinite);
  if (!ends.length) return el("p", { class: "note" }, `${metric.symbol} is undefined in all episodes.`);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const domain = {
    low: metric.share ? Math.max(0, least) : least,
    high: metric.share ? Math.min(1, most) : most,
    cut: false,
  };
  const room = Math.min(150, Math.max(...spread.map(({ name }) => name.length)) * 7.2 + 52);
  const line = Math.max(22, 9 * data.runs.length + 8);
  const height = line * spread.length + 26;
  const x = linear([domain.low, domain.high], [room + 8, width - 14]);
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${metric.name} of each group; the table has the numbers`,
    },
    bottomAxis(metric, x, domain, height - 24, width),
    spread.map(({ name, count, runs }, place) => {
      const y = line * place + line / 2;
      return svg(
        "g",
        {},
        svg("line", { class: "gridline", x1: room + 8, x2: width - 14, y1: y, y2: y }),
        svg("text", { class: "name", x: 0, y: y + 4 }, name),
        svg("text", { x: room, y: y + 4, "text-anchor": "end" }, grouped(count)),
        runs.map(({ mean, error, left }, run) => {
          const at = y + 8 * (run - (runs.length - 1) / 2);
          if (!Number.isFinite(mean))
            return left > 0 && svg("text", { x: x(domain.low), y: at + 4 }, `– ${leftOut(run, metric, left)}`);
          const [from, to] = [mean - 1.96 * error, mean + 1.96 * error];
          const about = `${results.runs[run].name}, ${name}: ${withUnit(metric, mean)} ${leftOut(run, metric, left)}`;
          return svg(
            "g",
            { class: `whisker run-${run % 7}` },
            Number.isFinite(error) &&
              svg("line", { x1: x(Math.max(from, domain.low)), x2: x(Math.min(to, domain.high)), y1: at, y2: at }),
            svg("path", { d: shape(run, x(mean), at, 4) }, svg("title", {}, about)),
          );
        }),
      );
    }),
  );
}

function groupTable(found, { by, run }) {
  const rows = found.map((group) => ({
    ...group,
    means: metrics.map((metric) => meanOf(data.runs[run].scores[metric.symbol], group.rows)),
  }));
  const shade = metrics.map((metric, n) => {
    const values = rows.map(({ means }) => means[n].mean).filter(Number.isFinite);
    return linear([Math.min(...values), Math.max(...values)], metric.direction === "down" ? [1, 0] : [0, 1]);
  });
  return el(
    "table",
    { class: "groups" },
    el(
      "caption",
      {},
      `Means of ${results.runs[run].name} by ${by === "length" ? "number of nodes in the reference" : by}. `,
      "Darker cells are better.",
    ),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, { scan: "Scan", length: "Nodes", path: "Path" }[by]),
        el("th", { scope: "col", class: "number", title: "Number of episodes" }, "n"),
        metrics.map((metric) =>
          el(
            "th",
            { scope: "col", class: "number", title: `${metric.name}: ${metric.formula}` },
            metric.symbol,
            el("span", { class: "unit" }, [metric.unit, metric.arrow].filter(Boolean).join(" ")),
          ),
        ),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map(({ name, rows: members, means }) =>
        el(
          "tr",
          {},
          el(
            "th",
            { scope: "row" },
            by === "scan"
              ? el(
                  "button",
                  {
                    type: "button",
                    class: "link",
                    title: "List its episodes",
                    on: { click: () => browser.showScene(name) },
                  },
                  name,
                )
              : name,
          ),
          el("td", { class: "number" }, grouped(members.length)),
          means.map(({ mean, left }, n) =>
            el(
              "td",
              {
                class: "number shaded",
                style: metrics[n].direction && Number.isFinite(mean) ? { "--share": shade[n](mean).toFixed(2) } : {},
              },
              printed(metrics[n], mean),
              left > 0 && el("span", { class: "left-out" }, leftOut(run, metrics[n], left)),
            ),
          ),
        ),
      ),
    ),
  );
}
