// Means by scan and by the length of the reference: a figure of one metric, a table of all.

function showBreakdown() {
  const scenes = data.scenes.map((scene) => scene.name);
  const kinds = [
    scenes.length > 1 && ["scan", "scan"],
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
      kinds.length > 1 && select("By", kinds, state.by, set("by")),
      select(
        "Metric",
        metrics.map((metric) => [metric.symbol, `${metric.symbol}: ${metric.name}`]),
        state.metric,
        set("metric"),
      ),
      results.runs.length > 1 &&
        select(
          "Table of",
          results.runs.map((run, n) => [n, run.name]),
          state.run,
          set("run"),
        ),
    ),
    el(
      "div",
      { class: "beside" },
      el(
        "figure",
        {},
        el("figcaption", {}, name, el("span", {}, "Means with 1.96 standard errors either way.")),
        figure,
        results.runs.length > 1 && legend(results.runs.map((_, run) => run)),
      ),
      scanScatter(scenes),
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
      "aria-label": `${metric.name} of each group; the table below has the numbers`,
    },
    bottomAxis(metric, x, domain, height - 24, width),
    spread.map(({ name, count, runs }, place) => {
      const y = line * place + line / 2;
      return svg(
        "g",
        {},
        svg("line", { class: "gridline", x1: room + 8, x2: width - 14, y1: y, y2: y }),
        svg("text", { class: "group-name", x: 0, y: y + 4 }, name),
        svg("text", { class: "group-count", x: room, y: y + 4, "text-anchor": "end" }, grouped(count)),
        runs.map(
          ({ mean, error }, run) =>
            Number.isFinite(mean) &&
            svg(
              "g",
              { class: `whisker run-${run % 7}` },
              Number.isFinite(error) &&
                svg("line", {
                  x1: x(Math.max(mean - 1.96 * error, domain.low)),
                  x2: x(Math.min(mean + 1.96 * error, domain.high)),
                  y1: y + 8 * (run - (runs.length - 1) / 2),
                  y2: y + 8 * (run - (runs.length - 1) / 2),
                }),
              svg(
                "path",
                { d: shape(run, x(mean), y + 8 * (run - (runs.length - 1) / 2), 4) },
                svg("title", {}, `${results.runs[run].name}, ${name}: ${withUnit(metric, mean)}`),
              ),
            ),
        ),
      );
    }),
  );
}

function groupTable(found, { by, run }) {
  const rows = found.map((group) => ({
    ...group,
    means: metrics.map((metric) => meanOf(data.runs[run].scores[metric.symbol], group.rows).mean),
  }));
  const shade = metrics.map((metric, n) => {
    const values = rows.map(({ means }) => means[n]).filter(Number.isFinite);
    return linear([Math.min(...values), Math.max(...values)], metric.direction === "down" ? [1, 0] : [0, 1]);
  });
  return el(
    "table",
    { class: "groups" },
    el(
      "caption",
      {},
      `Means of ${results.runs[run].name} by ${by === "length" ? "number of nodes in the reference" : by}; `,
      "the darker, the better",
    ),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, { scan: "Scan", length: "Nodes", path: "Path" }[by]),
        el("th", { scope: "col", class: "number" }, "n"),
        metrics.map((metric) =>
          el(
            "th",
            { scope: "col", class: "number" },
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
          means.map((mean, n) =>
            el(
              "td",
              {
                class: "number shaded",
                style: metrics[n].direction && Number.isFinite(mean) ? { "--share": shade[n](mean).toFixed(2) } : {},
              },
              printed(metrics[n], mean),
            ),
          ),
        ),
      ),
    ),
  );
}
