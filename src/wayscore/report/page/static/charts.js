// Axes and the few kinds of figure that the page has.

const linear =
  ([low, high], [from, to]) =>
  (value) =>
    from + ((value - low) / (high - low || 1)) * (to - from);

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
  if (metric.share) return { low: 0, high: 1, cut: false };
  const values = [];
  for (const run of data.runs)
    for (const value of run.scores[metric.symbol]) if (Number.isFinite(value)) values.push(value);
  values.sort((a, b) => a - b);
  if (!values.length) return { low: 0, high: 1, cut: false };
  const low = Math.min(values[0], 0);
  const most = values.at(-1);
  const usual = values[Math.floor(0.99 * (values.length - 1))];
  const cut = most > 1.3 * usual && usual > 0;
  const last = cut ? usual : most;
  const step = ticks(low, last, 5)[1] - ticks(low, last, 5)[0] || 1;
  return { low, high: Math.ceil((last - 1e-9) / step) * step || 1, cut };
}

function bottomAxis(metric, scale, domain, y, width) {
  const wanted = width < 260 ? 3 : 5;
  return svg(
    "g",
    { class: "axis" },
    ticks(domain.low, domain.high, wanted).map((value) => [
      svg("line", { x1: scale(value), x2: scale(value), y1: y, y2: y + 4 }),
      svg(
        "text",
        {
          x: scale(value),
          y: y + 15,
          "text-anchor": scale(value) > width - 16 ? "end" : "middle",
          dx: scale(value) > width - 16 ? 8 : 0,
        },
        domain.cut && value >= domain.high - 1e-9 ? `≥${tickText(metric, value)}` : tickText(metric, value),
      ),
    ]),
  );
}

function leftAxis(metric, scale, domain, x, to, wanted = 4) {
  return svg(
    "g",
    { class: "axis" },
    ticks(domain.low, domain.high, wanted).map((value) => [
      svg("line", { class: "gridline", x1: x, x2: to, y1: scale(value), y2: scale(value) }),
      svg("text", { x: x - 6, y: scale(value) + 4, "text-anchor": "end" }, tickText(metric, value)),
    ]),
  );
}

// How a metric's values are spread, as shares of each run's episodes in equal bins.
function binned(metric, domain, bins = 20) {
  return data.runs.map((run) => {
    const counts = new Array(bins).fill(0);
    let total = 0;
    for (const value of run.scores[metric.symbol]) {
      if (!Number.isFinite(value)) continue;
      const bin = Math.floor(((value - domain.low) / (domain.high - domain.low)) * bins);
      counts[Math.max(0, Math.min(bin, bins - 1))] += 1;
      total += 1;
    }
    return counts.map((count) => (total ? count / total : 0));
  });
}

const isYesNo = ({ share, symbol }) =>
  share && data.runs.every(({ scores }) => scores[symbol].every((value) => !isFinite(value) || value === value ** 2));

// How many episodes a figure cannot show, because a value of theirs is undefined.
function undefinedNote(some, runs = results.runs.map((_, run) => run)) {
  const counts = runs.flatMap((run) =>
    some.map((metric) => {
      const left = leftOut(run, metric, results.runs[run].undefined[metric.symbol]);
      const whose = [runs.length > 1 && results.runs[run].short, some.length > 1 && metric.symbol].filter(Boolean);
      return left && [...whose, left.slice(1, -1)].join(" ");
    }),
  );
  const found = [...new Set(counts)].filter(Boolean);
  return found.length ? el("p", { class: "note left-out" }, `Not shown: ${found.join(", ")}.`) : null;
}

// Episodes as a cloud of two metrics, on a canvas because there may be tens of thousands; a click opens the nearest.
function cloud({ width, height, x, y, runs, marks, label }) {
  const pad = { left: 44, right: 14, top: 12, bottom: 40 };
  const across = linear([x.domain.low, x.domain.high], [pad.left, width - pad.right]);
  const up = linear([y.domain.low, y.domain.high], [height - pad.bottom, pad.top]);
  const clamp = (value, { low, high }) => Math.max(low, Math.min(value, high));
  const points = [];
  for (const run of runs) {
    for (let row = 0; row < data.count; row++) {
      const [a, b] = [x.value(run, row), y.value(run, row)];
      if (!Number.isFinite(a) || !Number.isFinite(b)) continue;
      points.push({ run, row, x: across(clamp(a, x.domain)), y: up(clamp(b, y.domain)) });
    }
  }
  const canvas = el("canvas", { "aria-hidden": "true" });
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const paint = () => {
    const size = points.length > 4000 ? 1.5 : points.length > 800 ? 2 : 3;
    const stamps = Object.fromEntries(runs.map((run) => [run, stamp(run, size, ratio)]));
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.globalAlpha = points.length > 4000 ? 0.25 : points.length > 800 ? 0.45 : 0.75;
    for (const point of points) pen.drawImage(stamps[point.run], point.x - 6, point.y - 6, 12, 12);
  };
  const frame = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    leftAxis(y.metric, up, y.domain, pad.left, width - pad.right),
    bottomAxis(x.metric, across, x.domain, height - pad.bottom, width),
    svg(
      "text",
      { class: "axis-name", x: (pad.left + width - pad.right) / 2, y: height - 6, "text-anchor": "middle" },
      x.title,
    ),
    svg(
      "text",
      {
        class: "axis-name",
        transform: `translate(11 ${(height - pad.bottom + pad.top) / 2}) rotate(-90)`,
        "text-anchor": "middle",
      },
      y.title,
    ),
    marks(across, up, pad),
  );
  const hint = el("span", { class: "hint", "aria-hidden": "true", hidden: true });
  const nearest = (event) => {
    const box = canvas.getBoundingClientRect();
    const [px, py] = [
      ((event.clientX - box.left) * width) / box.width,
      ((event.clientY - box.top) * height) / box.height,
    ];
    let found = null;
    let least = 14 ** 2;
    for (const point of points) {
      const away = (point.x - px) ** 2 + (point.y - py) ** 2;
      if (away < least) [found, least] = [point, away];
    }
    return found;
  };
  canvas.addEventListener("pointermove", (event) => {
    const point = nearest(event);
    hint.hidden = !point;
    canvas.classList.toggle("pointing", Boolean(point));
    if (!point) return;
    const scores = [x, y].map(({ metric, value }) => `${metric.symbol} ${printed(metric, value(point.run, point.row))}`);
    hint.textContent = [data.id[point.row], ...scores].join(" · ");
    hint.style.left = `${Math.min(point.x + 10, width - 200)}px`;
    hint.style.top = `${point.y + 12}px`;
  });
  canvas.addEventListener("pointerleave", () => (hint.hidden = true));
  canvas.addEventListener("click", (event) => {
    const point = nearest(event);
    if (point) browser.open(point.row, { jump: true });
  });
  paint();
  painted.add({ canvas, paint });
  return el("div", { class: "cloud" }, canvas, frame, hint);
}

// A run's marker as a small picture: much faster to draw thousands of times than its outline.
function stamp(run, size, ratio) {
  const picture = el("canvas", { width: 12 * ratio, height: 12 * ratio });
  const pen = picture.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = getComputedStyle($(`#colours .run-${run % 7}`)).color;
  pen.fill(new Path2D(shape(run, 6, 6, size)));
  return picture;
}

// Canvases do not follow style sheets: paint those that are still shown again when colours change.
const painted = new Set();

function repaint() {
  for (const one of painted) {
    if (one.canvas.isConnected) one.paint();
    else painted.delete(one);
  }
}

const legend = (runs) =>
  el(
    "div",
    { class: "legend" },
    runs.map((run) => runName(run, true)),
  );
