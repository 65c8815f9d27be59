// How the scores of single episodes are spread, one figure per metric; a click on a bar lists its episodes.

function showDistributions() {
  const yesNo = metrics.filter(isYesNo);
  const others = metrics.filter((metric) => !yesNo.includes(metric));
  const runs = results.runs.map((_, run) => run);
  const figure = (title, head, text, draw) =>
    el(
      "figure",
      { class: "card" },
      el("figcaption", { title }, el("b", {}, head), el("span", { class: "long" }, text)),
      responsive(draw),
    );
  add(
    $("#distributions"),
    el(
      "p",
      { class: "lead" },
      runs.length > LAYERS
        ? "Number of episodes by score: the darker, the more episodes; a line marks the mean."
        : "Share of episodes by score; a triangle marks the mean.",
      el("span", { class: "screen" }, " Click a bar to list its episodes."),
    ),
    runs.length > 1 && legend(runs),
    el(
      "div",
      { class: "multiples" },
      yesNo.length > 0 &&
        figure(null, yesNo.map((metric) => metric.symbol).join(", "), "Yes or no in each episode: % of yes", (width) =>
          yesNoBars(yesNo, width),
        ),
      others.map((metric) => {
        const domain = domainOf(metric);
        const bins = binned(metric, domain);
        const unit = metric.unit ? `, ${metric.unit}` : "";
        const drawn = figure(metric.formula, metric.symbol, metric.name + unit, (width) =>
          histogram(metric, domain, bins, width),
        );
        return add(drawn, undefinedNote([metric]));
      }),
    ),
  );
}

const LAYERS = 3; // more runs than this are rows of cells instead, the darker the more episodes

function histogram(metric, domain, bins, width) {
  const rows = bins.length > LAYERS;
  const pad = { left: rows ? 20 : 8, right: 8, top: rows ? 2 : 10, bottom: 22 };
  const height = rows ? pad.top + 14 * bins.length + pad.bottom : 132;
  const count = bins[0].length;
  const x = linear([domain.low, domain.high], [pad.left, width - pad.right]);
  const edges = Array.from({ length: count + 1 }, (_, bin) => domain.low + (bin / count) * (domain.high - domain.low));
  const frame = { metric, domain, bins, x, edges, top: pad.top, base: height - pad.bottom };
  const label = results.runs.map((run) => `${run.name}: mean ${run.means[metric.symbol].text}`).join("; ");
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Histogram of ${metric.name}. ${label}`,
    },
    bottomAxis(metric, x, domain, frame.base, width),
    rows ? cells(frame) : layers(frame),
  );
}

// The outlines of a few runs over each other.
function layers(frame) {
  const { metric, domain, bins, x, edges, top, base } = frame;
  const y = linear([0, Math.max(...bins.flat()) || 1], [base, top]);
  const at = edges.map(x);
  return [
    svg("line", { class: "base", x1: at[0], x2: at.at(-1), y1: base, y2: base }),
    bins.map((parts, run) => {
      const line = parts.map((part, bin) => `L${at[bin]} ${y(part)}H${at[bin + 1]}`).join("");
      const { mean } = results.runs[run].means[metric.symbol]; // null where no episode has a value
      return svg(
        "g",
        { class: `layer run-${run % 7}` },
        bins.length < LAYERS && svg("path", { class: "fill", d: `M${at[0]} ${base}${line}V${base}Z` }),
        svg("path", { class: "step", d: `M${at[0]} ${base}${line}V${base}`, "stroke-dasharray": DASHES[run % 5] }),
        mean !== null && svg("path", { class: "mean-tick", d: shape(4, x(Math.min(mean, domain.high)), top - 5, 3.5) }),
      );
    }),
    bins[0].map((_, bin) => bar(frame, bin, { y: top, height: base - top, class: "bin" }, 0, bins.length)),
  ];
}

// A row of cells for each of many runs.
function cells(frame) {
  const { metric, domain, bins, x, top } = frame;
  const most = Math.max(...bins.flat()) || 1;
  return bins.map((parts, run) => {
    const y = top + 14 * run;
    const { mean } = results.runs[run].means[metric.symbol];
    const at = x(Math.min(mean ?? 0, domain.high));
    return svg(
      "g",
      { class: `cells run-${run % 7}` },
      svg("path", { class: "cell-mark", d: shape(run, 7, y + 6.5, 4) }),
      parts.map((part, bin) =>
        bar(frame, bin, { y, height: 13, class: "cell", "fill-opacity": Math.sqrt(part / most).toFixed(3) }, run, 1),
      ),
      mean !== null && svg("line", { class: "mean-line", x1: at, x2: at, y1: y - 1, y2: y + 14 }),
    );
  });
}

// One bin of some runs, to point at and to click.
function bar({ metric, domain, bins, x, edges }, bin, attributes, first, runs) {
  const [low, high, last] = [edges[bin], edges[bin + 1], bin === edges.length - 2];
  const shares = bins.slice(first, first + runs).map((parts, n) => {
    const whose = bins.length > 1 ? `${results.runs[first + n].name}: ` : "";
    return `${whose}${(100 * parts[bin]).toFixed(1)} % of episodes`;
  });
  const range = `${tickText(metric, low)} to ${last && domain.cut ? "more" : tickText(metric, high)}`;
  const click = () => browser.showRange(metric.symbol, low, last ? null : high, first);
  return svg(
    "rect",
    { ...attributes, x: x(low), width: x(high) - x(low), on: { click } },
    svg("title", {}, [`${metric.symbol} ${range}`, ...shares].join("\n")),
  );
}

// Metrics that are 1 or 0 in each episode: a bar for each run.
function yesNoBars(yesNo, width) {
  const line = Math.max(13, Math.min(22, 96 / (yesNo.length * results.runs.length)));
  const rows = yesNo.flatMap((metric, place) =>
    results.runs.map((run, n) => ({
      metric,
      run: n,
      mean: run.means[metric.symbol].mean,
      y: (place * results.runs.length + n) * line + place * 12,
    })),
  );
  const height = rows.length ? rows.at(-1).y + line + 4 : 20;
  const x = linear([0, 1], [44, width - 50]);
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": rows
        .map(({ metric, run, mean }) => `${metric.symbol} of ${results.runs[run].name}: ${printed(metric, mean)} %`)
        .join("; "),
    },
    rows.map(({ metric, run, mean, y }) =>
      svg(
        "g",
        { class: `share run-${run % 7}` },
        run === 0 && svg("text", { class: "name", x: 0, y: y + line / 2 + 5 }, metric.symbol),
        svg("rect", { class: "rest", x: x(0), y: y + 1, width: x(1) - x(0), height: line - 2, rx: 2 }),
        mean !== null &&
          svg("rect", { class: "part", x: x(0), y: y + 1, width: x(mean) - x(0), height: line - 2, rx: 2 }),
        svg("text", { class: "name", x: width - 44, y: y + line / 2 + 4 }, printed(metric, mean)),
      ),
    ),
  );
}
