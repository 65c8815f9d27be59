// What all figures share: scales, axes, whiskers, legends, and notes about values that are not shown.

const linear = ([low, high], [from, to]) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
const clamp = (value, low, high) => Math.max(low, Math.min(value, high));

function ticks(low, high, wanted = 4) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((base) => base * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) found.push(n * step);
  return found;
}

const tickText = (metric, value) => String(Number((metric.share ? 100 * value : value).toPrecision(6)));

// The values that a metric's axis spans: all of a share, others up to where one value in a hundred is greater.
function domainOf(metric) {
  const scores = data.runs.flatMap((run) => [...run.scores[metric.symbol]]);
  const values = scores.filter(Number.isFinite).sort((a, b) => a - b);
  if (metric.share || !values.length) return { low: 0, high: 1, cut: false };
  const low = Math.min(values[0], 0);
  const most = values.at(-1);
  const usual = values[Math.floor(0.99 * (values.length - 1))];
  const cut = most > 1.3 * usual && usual > 0;
  const last = cut ? usual : most;
  const step = ticks(low, last, 5)[1] - ticks(low, last, 5)[0] || 1;
  return { low, high: Math.ceil((last - 1e-9) / step) * step || 1, cut };
}

// Where a figure draws between its axes; x and y are { metric, domain, title }, and y may be absent.
function frameOf(width, height, { left = 8, right = 8, top = 10, bottom = 22 }, x, y = null) {
  const [base, end] = [height - bottom, width - right];
  const across = linear([x.domain.low, x.domain.high], [left, end]);
  const up = y && linear([y.domain.low, y.domain.high], [base, top]);
  return { width, height, left, top, base, end, x, y, across, up };
}

function chart({ width, height, left, top, base, end, x, y, across, up }, label, ...marks) {
  const xAxis = ticks(x.domain.low, x.domain.high, width < 260 ? 3 : 5).map((value) => {
    const text = `${x.domain.cut && value >= x.domain.high - 1e-9 ? "≥" : ""}${tickText(x.metric, value)}`;
    const last = across(value) > width - 16;
    return [
      svg("line", { x1: across(value), x2: across(value), y1: base, y2: base + 4 }),
      svg("text", { x: across(value) + 8 * last, y: base + 15, "text-anchor": last ? "end" : "middle" }, text),
    ];
  });
  const yAxis = y && ticks(y.domain.low, y.domain.high).map((value) => [
    svg("line.gridline", { x1: left, x2: end, y1: up(value), y2: up(value) }),
    svg("text", { x: left - 6, y: up(value) + 4, "text-anchor": "end" }, tickText(y.metric, value)),
  ]);
  const turned = `translate(11 ${(base + top) / 2}) rotate(-90)`;
  const titles = [
    x.title && svg("text", { x: (left + end) / 2, y: height - 6, "text-anchor": "middle" }, x.title),
    y && svg("text", { transform: turned, "text-anchor": "middle" }, y.title),
  ];
  return drawing(width, height, label, svg("g.axis", xAxis, yAxis, titles), marks);
}

// An interval, and its mark.
const whisker = (kind, y, x1, x2, d) =>
  svg("g.whisker", { class: kind }, svg("line", { x1, x2, y1: y, y2: y }), svg("path", { d }));

// How many episodes have no value of some metrics: "1 unreachable", after whose and of what if need be.
function undefinedIn(some, runs = everyRun) {
  const counts = runs.flatMap((run) =>
    some.map((metric) => {
      const left = leftOut(run, metric, results.runs[run].undefined[metric.symbol]);
      const whose = [runs.length > 1 && results.runs[run].short, some.length > 1 && metric.symbol].filter(Boolean);
      return left && [...whose, left.slice(1, -1)].join(" ");
    }),
  );
  return [...new Set(counts)].filter(Boolean).join(", ");
}

function undefinedNote(...of) {
  const found = undefinedIn(...of);
  return found && el("p.note.left-out", `Not shown: ${found}.`);
}

const legend = () => everyRun.length > 1 && el("div.legend", everyRun.map((run) => runName(run, true)));
