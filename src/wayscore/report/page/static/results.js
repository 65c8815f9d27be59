// The table of means, the cloud beside it, warnings and signatures.

function showResults() {
  refill($("#title"), breakable(results.title));
  const many = results.runs.length;
  const over = [...new Set(results.runs.map((run) => run.scope))].join(", ");
  const agents = results.runs.some((run) => run.runs > 1) ? "agent" : "run";
  $("#lead").textContent =
    `${many === 1 ? `One ${agents}` : `${many} ${agents}s`} on ${over}` +
    `${results.references && ` of ${results.references}`}. ${criterion()}`;
  $("#made").textContent =
    `Made by wayscore ${results.version}. This file holds everything it shows and uses no network.`;
  add(
    $("#warnings"),
    results.warnings.map((text) => el("p", { class: "warning" }, text)),
  );
  add($("#means"), scrolling("Means", meansTable(results.caption)), notesOnRuns());
  add($("#signatures"), signatures());
  $("#results .beside").classList.toggle("stacked", many > 1);
}

// What success means, as far as it is known of results that were loaded.
function criterion() {
  const { goal, threshold, unit, convention } = results;
  if (threshold === null) return "Scored by another evaluator.";
  if (goal === null) return `Threshold ${threshold} ${unit}; convention ${convention}.`;
  const success = goal === "set" ? "at a goal" : `within ${threshold} ${unit} of the goal`;
  return `Success means stopping ${success}; convention ${convention}.`;
}

const COLUMNS = 3; // so many runs are columns beside each other; more are rows

function meansTable(caption) {
  const many = results.runs.length > COLUMNS;
  return el(
    "table",
    { class: `means ${many ? "many" : ""}` },
    el("caption", {}, caption),
    many ? meansByRun() : meansByMetric(),
  );
}

function meansByMetric() {
  const several = results.runs.length > 1;
  const heads = results.runs.map((_, run) =>
    el("th", { scope: "col", class: "number" }, several ? runName(run) : "Mean"),
  );
  return [
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Metric"),
        heads,
        several && el("th", { scope: "col", class: "whiskers" }, "Intervals"),
      ),
    ),
    el(
      "tbody",
      {},
      metrics.map((metric) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, metricName(metric), el("span", { class: "long" }, metric.name)),
          results.runs.map((run) => meanCell(run, metric)),
          several && el("td", { class: "whiskers" }, whiskers(metric)),
        ),
      ),
    ),
  ];
}

function meansByRun() {
  return [
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Run"),
        metrics.map((metric) => el("th", { scope: "col", class: "number" }, metricName(metric))),
      ),
    ),
    el(
      "tbody",
      {},
      results.runs.map((run, n) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, runName(n)),
          metrics.map((metric) => meanCell(run, metric)),
        ),
      ),
    ),
  ];
}

function meanCell({ means }, metric) {
  const { text, rest, interval, best } = means[metric.symbol];
  return el(
    "td",
    { class: "number" },
    el(best ? "strong" : "span", { class: "mean" }, minus(text)),
    rest && el("span", { class: "rest" }, ` ${rest}`),
    el("span", { class: "interval" }, minus(interval)),
  );
}

// The intervals of all runs on one scale.
function whiskers(metric) {
  const found = results.runs.map(({ means }) => means[metric.symbol]);
  const known = found.filter((one) => one.mean !== null);
  if (!known.length) return null;
  const [low, high] = [Math.min(...known.map((one) => one.low)), Math.max(...known.map((one) => one.high))];
  const [width, line] = [150, 9];
  const scale = linear([low, high], [6, width - 6]);
  const height = line * found.length + 4;
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    found.map((one, run) => {
      const y = line * run + line / 2 + 2;
      if (one.mean === null) return null;
      return svg(
        "g",
        { class: `whisker run-${run % 7}` },
        svg("line", { x1: scale(one.low), x2: scale(one.high), y1: y, y2: y }),
        svg("path", { d: shape(run, scale(one.mean), y, 3) }),
      );
    }),
  );
}

// How many episodes are left out of which mean, and what did not fit the references.
function notesOnRuns() {
  const notes = results.runs
    .filter((run) => Object.keys(run.undefined).length)
    .map((run) => {
      const counts = Object.entries(run.undefined).map(([symbol, count]) => `${symbol} (${grouped(count)})`);
      return el("p", { class: "note" }, `${run.name}: undefined episodes are left out of the mean ${counts.join(", ")}.`);
    });
  return notes.concat(
    results.runs
      .filter((run) => run.problems.length)
      .map((run) =>
        el(
          "details",
          { class: "note" },
          el("summary", {}, `What did not fit in ${run.name}`),
          el(
            "ul",
            {},
            run.problems.map((text) => el("li", {}, text)),
          ),
        ),
      ),
  );
}

// Every signature once, with the runs that it is of where there are several.
function signatures() {
  const found = Map.groupBy(results.runs, (run) => run.signature);
  return [...found].map(([signature, runs]) => {
    const button = el("button", { type: "button", class: "small" }, "Copy");
    button.addEventListener("click", () => copy(signature, button));
    return el(
      "div",
      { class: "signature" },
      el("span", { class: "label" }, "Signature", found.size > 1 && ` of ${runs.map((run) => run.name).join(", ")}`),
      el("code", {}, breakable(signature)),
      button,
    );
  });
}

// Near the goal and near the path are two things: episodes by navigation error and nDTW, a panel for each run.
function showCloud() {
  const [x, y] = [metricOf.NE, metricOf.nDTW];
  if (!x || !y) return;
  const [xs, ys] = [domainOf(x), domainOf(y)];
  const several = results.runs.length > 1;
  const score = (metric) => (run, row) => data.runs[run].scores[metric.symbol][row];
  const threshold = (ax, ay) =>
    results.unit === "m" &&
    results.goal === "last" &&
    results.threshold !== null &&
    results.threshold < xs.high &&
    svg(
      "g",
      {},
      svg("line", { class: "threshold", x1: ax(results.threshold), x2: ax(results.threshold), y1: ay(0), y2: ay(1) }),
      svg(
        "text",
        { class: "remark", x: ax(results.threshold) + 5, y: ay(1) + 10 },
        `success within ${results.threshold} m`,
      ),
    );
  const panels = results.runs.map((_, run) =>
    el(
      "div",
      {},
      several && runName(run, true),
      responsive((width) =>
        cloud({
          width,
          height: Math.round(Math.min(400, Math.max(250, width * 0.72))),
          runs: [run],
          x: { metric: x, domain: xs, title: `${x.name}, ${x.unit}`, value: score(x) },
          y: { metric: y, domain: ys, title: `${y.symbol}, %`, value: score(y) },
          label: `Episodes of ${results.runs[run].name} by ${x.name} and ${y.name}`,
          marks: threshold,
        }),
      ),
    ),
  );
  add(
    $("#cloud"),
    el(
      "figure",
      {},
      el(
        "figcaption",
        {},
        el("b", {}, "Reaching the goal, following the path"),
        el(
          "span",
          {},
          "Each mark is an episode. Left of the line the agent stopped near the goal: high marks followed the ",
          "instructed path, low ones came by another way.",
        ),
        el("span", { class: "screen" }, " Click one to open it."),
      ),
      el("div", { class: "panels" }, panels),
    ),
  );
}
