// Warnings, the table of means, signatures, and a scatter plot of all episodes.

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
  showWarnings();
  add($("#means"), meansTables(), notesOnRuns());
  add($("#signatures"), signatures());
  const wide = many > 2 || (many > 1 && results.runs.some((run) => Object.values(run.means).some(({ rest }) => rest)));
  $("#results .beside").classList.toggle("stacked", wide);
}

// What success means, as far as it is known of results that were loaded.
function criterion() {
  const { goal, threshold, unit, convention } = results;
  if (threshold === null) return "Scored by another evaluator.";
  if (goal === null) return `Threshold ${threshold} ${unit}; convention ${convention}.`;
  const success = goal === "set" ? "at a goal" : `within ${threshold} ${unit} of the goal`;
  return `Success means stopping ${success}; convention ${convention}.`;
}

function showWarnings() {
  const { warnings } = results;
  if (!warnings.length) return $("#warnings").remove();
  add(
    $("#warnings"),
    el("h2", { id: "warnings-title" }, `${counted(warnings.length, "warning")}: read before you use these numbers`),
    el(
      "ul",
      {},
      warnings.map((text) => el("li", {}, coded(text))),
    ),
  );
}

const COLUMNS = 3; // so many runs are columns beside each other; more are rows
const HEADLINE = metrics.filter((metric) => metric.headline);
const OTHERS = metrics.filter((metric) => !metric.headline);

function meansTables() {
  const many = results.runs.length > COLUMNS;
  const caption = el("caption", {}, results.caption);
  if (!many) return scrolling("Means", el("table", { class: "means" }, caption, meansByMetric()));
  return [HEADLINE, OTHERS]
    .filter((some) => some.length)
    .map((some, n) =>
      scrolling(
        n ? "Means of the other metrics" : "Means",
        el("table", { class: "means many" }, n ? el("caption", {}, "The other metrics") : caption, meansByRun(some)),
      ),
    );
}

function meansByMetric() {
  const several = results.runs.length > 1;
  const heads = results.runs.map((_, run) =>
    el("th", { scope: "col", class: "number" }, several ? runName(run) : "Mean [95 % interval]"),
  );
  const row = (metric) =>
    el(
      "tr",
      { class: metric.headline && "headline" },
      el("th", { scope: "row" }, metricName(metric), el("span", { class: "long" }, metric.name)),
      results.runs.map((run) => meanCell(run, metric)),
      el("td", { class: "whiskers" }, whiskers(metric)),
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
        el("th", { scope: "col", class: "whiskers" }, several ? "Intervals" : "0 to 100 %"),
      ),
    ),
    [HEADLINE, OTHERS].map((some) => some.length > 0 && el("tbody", {}, some.map(row))),
  ];
}

function meansByRun(some) {
  const cells = (run) => some.map((metric) => meanCell(run, metric));
  return [
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Run"),
        some.map((metric) => el("th", { scope: "col", class: "number" }, metricName(metric))),
      ),
    ),
    el(
      "tbody",
      {},
      results.runs.map((run, n) => el("tr", {}, el("th", { scope: "row" }, runName(n)), cells(run))),
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

// The intervals of all runs on one scale: from 0 to 100 for percentages, else from the lowest to the highest bound.
function whiskers(metric) {
  const found = results.runs.map(({ means }) => means[metric.symbol]);
  const known = found.filter((one) => one.mean !== null);
  if (!known.length || (!metric.share && found.length < 2)) return null;
  const ends = [Math.min(...known.map((one) => one.low)), Math.max(...known.map((one) => one.high))];
  const [width, line] = [150, 9];
  const scale = linear(metric.share ? [0, 1] : ends, [6, width - 6]);
  const height = line * found.length + 4;
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    metric.share && svg("rect", { class: "track", x: 6, width: width - 12, height, rx: 2 }),
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

// What the counts beside means are, and what did not fit the references.
function notesOnRuns() {
  const words = new Set(results.runs.flatMap(({ why }) => Object.values(why)));
  const who = words.has("unreachable") ? "Unreachable episodes" : "Undefined values";
  return [
    words.size > 0 && el("p", { class: "note" }, `${who} are left out of the mean; their number is given beside it.`),
    results.runs.map(
      ({ name, problems }) =>
        problems.length > 0 &&
        el(
          "details",
          { class: "note" },
          el("summary", {}, `Problems found in ${name}`),
          el(
            "ul",
            {},
            problems.map((text) => el("li", {}, text)),
          ),
        ),
    ),
  ];
}

// Every signature once, key by key, with the runs that it is of where there are several.
function signatures() {
  const found = Map.groupBy(results.runs, (run) => run.signature);
  return [...found].map(([signature, runs]) => {
    const button = el("button", { type: "button", class: "small" }, "Copy the signature");
    button.addEventListener("click", () => copy(signature, button));
    const [, ...parts] = signature.split("|");
    return el(
      "details",
      { class: "signature card", open: found.size <= 2 },
      el("summary", {}, "Signature", found.size > 1 && ` of ${runs.map((run) => run.name).join(", ")}`),
      el("p", {}, "Everything that these numbers depend on. Print it below your table. ", button),
      el(
        "dl",
        {},
        parts.map((part) => {
          const at = part.indexOf(":");
          const [key, value] = [part.slice(0, at), part.slice(at + 1)];
          return el(
            "div",
            {},
            el("dt", {}, key),
            el("dd", { class: "value" }, breakable(value)),
            el("dd", {}, results.keys[key]),
          );
        }),
      ),
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
  const limit = results.unit === "m" && results.goal !== "set" ? results.threshold : null;
  const threshold = (ax, ay) =>
    limit !== null &&
    limit < xs.high &&
    svg(
      "g",
      {},
      svg("line", { class: "threshold", x1: ax(limit), x2: ax(limit), y1: ay(0), y2: ay(1) }),
      svg("text", { class: "remark", x: ax(limit) + 5, y: ay(1) + 10 }, `success within ${limit} m`),
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
      undefinedNote([x, y], [run]),
    ),
  );
  add(
    $("#cloud"),
    folded(
      "Scatter plot: which episodes reach the goal, and which follow the path?",
      [
        "One mark per episode. On the left the agent stopped near the goal: marks at the top followed the reference, ",
        "marks at the bottom took another route.",
        el("span", { class: "screen" }, " Click a mark to open its episode."),
      ],
      el("div", { class: "panels" }, panels),
    ),
  );
}
