// Warnings, the table of means, and signatures.

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
  const title = `${counted(warnings.length, "warning")}: read before you use these numbers`;
  add(
    $("#warnings"),
    el("h2", { id: "warnings-title" }, title),
    el("ul", warnings.map((text) => el("li", coded(text)))),
  );
}

const COLUMNS = 3; // so many runs are columns beside each other; more are rows

function meansTables() {
  const { runs, caption } = results;
  const parts = [metrics.filter((one) => one.headline), metrics.filter((one) => !one.headline)];
  if (runs.length > COLUMNS)
    return parts
      .filter((some) => some.length)
      .map((some, n) => {
        const heads = [["Run"], ...some.map((metric) => [metricName(metric), "number"])];
        const rows = runs.map((run, place) => [runName(place), ...some.map((metric) => meanOfRun(run, metric))]);
        const label = n ? "Means of the other metrics" : "Means";
        return scrolling(label, table("means many", n ? "The other metrics" : caption, heads, rows));
      });
  const several = runs.length > 1;
  const row = (metric) => ({
    class: metric.headline && "headline",
    cells: [
      [metricName(metric), el("span.long", metric.name)],
      ...runs.map((run) => meanOfRun(run, metric)),
      whiskers(metric),
    ],
  });
  const heads = [
    ["Metric"],
    ...runs.map((_, run) => [several ? runName(run) : "Mean [95 % interval]", "number"]),
    [several ? "Intervals" : "0 to 100 %", "whiskers"],
  ];
  return scrolling("Means", table("means", caption, heads, ...parts.map((some) => some.map(row))));
}

function meanOfRun({ means }, { symbol }) {
  const { text, rest, interval, best } = means[symbol];
  return [
    el(best ? "strong.mean" : "span.mean", minus(text)),
    rest && el("span.rest", ` ${rest}`),
    el("span.interval", minus(interval)),
  ];
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
  const marks = found.map(({ mean, low, high }, run) => {
    const y = line * run + line / 2 + 2;
    const mark = shape(run, scale(mean), y, 3);
    return mean !== null && whisker(`run-${run % 7}`, y, scale(low), scale(high), mark);
  });
  const track = metric.share && svg("rect.track", { x: 6, width: width - 12, height, rx: 2 });
  return drawing(width, height, null, track, marks);
}

// What the counts beside means are, and what did not fit the references.
function notesOnRuns() {
  const words = new Set(results.runs.flatMap(({ why }) => Object.values(why)));
  const who = words.has("unreachable") ? "Unreachable episodes" : "Undefined values";
  const problemsOf = ({ name, problems }) =>
    problems.length > 0 &&
    el("details.note", el("summary", `Problems found in ${name}`), el("ul", problems.map((text) => el("li", text))));
  return [
    words.size > 0 && el("p.note", `${who} are left out of the mean; their number is given beside it.`),
    results.runs.map(problemsOf),
  ];
}

// Every signature once, key by key, with the runs that it is of where there are several.
function signatures() {
  const found = Map.groupBy(results.runs, (run) => run.signature);
  return [...found].map(([signature, runs]) => {
    const button = el("button.small", { click: () => copy(signature, button) }, "Copy the signature");
    const parts = signature.split("|").slice(1).map((part) => {
      const [, key, value] = part.match(/^([^:]*):?([^]*)$/);
      return el("div", el("dt", key), el("dd.value", breakable(value)), el("dd", results.keys[key]));
    });
    return el(
      "details.signature.card",
      { open: found.size <= 2 },
      el("summary", "Signature", found.size > 1 && ` of ${runs.map((run) => run.name).join(", ")}`),
      el("p", "Everything that these numbers depend on. Print it below your table. ", button),
      el("dl", parts),
    );
  });
}
