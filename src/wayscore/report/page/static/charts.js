// One function for all figures, chart({ kind, ... }): axes for what x and y span, and between them the marks of a kind.

const linear = ([low, high], [from, to]) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

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

// x and y are { metric, domain, title }, each with an axis if it has a metric; kinds add what they need.
function chart({ kind, width, height, pad, x, y, label, ...rest }) {
  const { left = 8, right = 8, top = 10, bottom = 22 } = pad;
  const [base, end] = [height - bottom, width - right];
  const across = linear([x.domain.low, x.domain.high], [left, end]);
  const up = linear(y ? [y.domain.low, y.domain.high] : [0, 1], [base, top]);
  const frame = { width, height, left, top, base, end, x, y, across, up, ...rest };
  const axes = [
    x.metric && ticks(x.domain.low, x.domain.high, width < 260 ? 3 : 5).map((value) => {
      const text = `${x.domain.cut && value >= x.domain.high - 1e-9 ? "≥" : ""}${tickText(x.metric, value)}`;
      const last = across(value) > width - 16;
      return [
        svg("line", { x1: across(value), x2: across(value), y1: base, y2: base + 4 }),
        svg("text", { x: across(value) + 8 * last, y: base + 15, "text-anchor": last ? "end" : "middle" }, text),
      ];
    }),
    y?.metric && ticks(y.domain.low, y.domain.high).map((value) => [
      svg("line.gridline", { x1: left, x2: end, y1: up(value), y2: up(value) }),
      svg("text", { x: left - 6, y: up(value) + 4, "text-anchor": "end" }, tickText(y.metric, value)),
    ]),
    x.title && svg("text", { x: (left + end) / 2, y: height - 6, "text-anchor": "middle" }, x.title),
    y?.title &&
      svg("text", { transform: `translate(11 ${(base + top) / 2}) rotate(-90)`, "text-anchor": "middle" }, y.title),
  ];
  const marks = MARKS[kind](frame);
  const drawn = drawing(width, height, label, svg("g.axis", axes), kind === "cloud" ? frame.lines?.(frame) : marks);
  return kind === "cloud" ? el("div.cloud", marks, drawn) : drawn;
}

const MARKS = {
  // The outlines of a few runs over each other, of many below each other: bins are shares of episodes, by run.
  histogram(frame) {
    const { bins, means, edges, x, across, top, base } = frame;
    const many = bins.length > LAYERS;
    const room = many ? (base - top) / bins.length : base - top;
    const at = edges.map(across);
    const bars = (first, runs, ceiling, floor) =>
      bins[0].map((_, bin) => bar(frame, bin, { y: ceiling, height: floor - ceiling }, first, runs));
    const layers = bins.map((parts, run) => {
      const floor = many ? top + room * (run + 1) : base;
      const ceiling = floor - room + 14 * many;
      const y = linear([0, Math.max(...bins.flat()) || 1], [floor, ceiling]);
      const steps = parts.map((part, bin) => `L${at[bin]} ${y(part)}H${at[bin + 1]}`);
      const line = `M${at[0]} ${floor}${steps.join("")}V${floor}`;
      const mean = means[run]; // null where no episode has a value
      return svg(
        "g.layer",
        { class: `run-${run % 7}` },
        svg("line.base", { x1: at[0], x2: at.at(-1), y1: floor, y2: floor }),
        (many || bins.length < LAYERS) && svg("path.fill", { d: `${line}Z` }),
        svg("path.step", { d: line, "stroke-dasharray": many ? null : DASHES[run] }),
        many && svg("path.mark", { d: shape(run, 7, floor - 8, 4) }),
        mean !== null && svg("path.mark", { d: shape(4, across(Math.min(mean, x.domain.high)), ceiling - 5, 3.5) }),
        many && bars(run, 1, ceiling, floor),
      );
    });
    return [layers, !many && bars(0, bins.length, top, base)];
  },

  // Means of groups with their intervals, one line for each group.
  dots({ rows, line, x, across, left, end }) {
    const clamp = (value) => across(Math.max(x.domain.low, Math.min(value, x.domain.high)));
    return rows.map(({ name, count, runs }, place) => {
      const y = line * place + line / 2;
      return svg(
        "g",
        svg("line.gridline", { x1: left, x2: end, y1: y, y2: y }),
        svg("text.name", { x: 0, y: y + 4 }, name),
        svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, grouped(count)),
        runs.map(({ mean, error, about, missing }, run) => {
          const at = y + 8 * (run - (runs.length - 1) / 2);
          if (!Number.isFinite(mean)) return missing && svg("text", { x: left, y: at + 4 }, `– ${missing}`);
          const [x1, x2] = [clamp(mean - 1.96 * (error || 0)), clamp(mean + 1.96 * (error || 0))];
          return add(whisker(`run-${run % 7}`, at, x1, x2, shape(run, across(mean), at, 4)), svg("title", about));
        }),
      );
    });
  },

  // Episodes of one run by two values, on a canvas because there may be tens of thousands; a click opens the nearest.
  cloud({ run, x, y, across, up, width, height }) {
    const clamp = (value, { low, high }) => Math.max(low, Math.min(value, high));
    const points = [];
    for (let row = 0; row < data.count; row++) {
      const [a, b] = [x.value(row), y.value(row)];
      if (!Number.isFinite(a) || !Number.isFinite(b)) continue;
      points.push({ row, x: across(clamp(a, x.domain)), y: up(clamp(b, y.domain)) });
    }
    const ratio = window.devicePixelRatio || 1;
    const [size, alpha] = points.length > 4000 ? [1.5, 0.25] : points.length > 800 ? [2, 0.45] : [3, 0.75];
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
    const canvas = el("canvas", {
      class: `run-${run % 7}`,
      "aria-hidden": "true",
      width: width * ratio,
      height: height * ratio,
      pointermove: (event) => {
        const point = nearest(event);
        hint.hidden = !point;
        canvas.classList.toggle("pointing", Boolean(point));
        if (!point) return;
        const scores = [x, y].map(({ metric, value }) => `${metric.symbol} ${printed(metric, value(point.row))}`);
        hint.textContent = [data.id[point.row], ...scores].join(" · ");
        hint.style.left = `${Math.min(point.x + 10, width - 200)}px`;
        hint.style.top = `${point.y + 12}px`;
      },
      pointerleave: () => (hint.hidden = true),
      click: (event) => {
        const point = nearest(event);
        if (point) browser.open(point.row, { jump: true });
      },
    });
    // The marker as a small picture: much faster to draw thousands of times than its outline.
    canvas.paint = () => {
      const stamp = el("canvas", { width: 12 * ratio, height: 12 * ratio });
      const ink = stamp.getContext("2d");
      ink.scale(ratio, ratio);
      ink.fillStyle = getComputedStyle(canvas).color;
      ink.fill(new Path2D(shape(run, 6, 6, size)));
      const pen = canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, width, height);
      pen.globalAlpha = alpha;
      for (const point of points) pen.drawImage(stamp, point.x - 6, point.y - 6, 12, 12);
    };
    requestAnimationFrame(canvas.paint); // its colour is known when it is on the page
    return [canvas, hint];
  },
};

// An interval, and its mark.
const whisker = (kind, y, x1, x2, d) =>
  svg("g.whisker", { class: kind }, svg("line", { x1, x2, y1: y, y2: y }), svg("path", { d }));

const LAYERS = 3; // more runs than this are drawn below each other

// One bin of some runs, to point at and to click.
function bar({ bins, edges, x: { metric, domain }, across }, bin, attributes, first, runs) {
  const [low, high, last] = [edges[bin], edges[bin + 1], bin === edges.length - 2];
  const shares = bins.slice(first, first + runs).map((parts, n) => {
    const whose = bins.length > 1 ? `${results.runs[first + n].name}: ` : "";
    return `${whose}${(100 * parts[bin]).toFixed(1)} % of episodes`;
  });
  const range = `${tickText(metric, low)} to ${last && domain.cut ? "more" : tickText(metric, high)}`;
  const click = () => {
    const { a, b } = browser.state;
    const sorted = { of: "a", sort: "value", descending: false };
    browser.only({ a: first, b: b === first ? a : b, metric: metric.symbol, low, high: last ? null : high, ...sorted });
  };
  const title = svg("title", [`${metric.symbol} ${range}`, ...shares].join("\n"));
  return svg("rect.bin", { ...attributes, x: across(low), width: across(high) - across(low), click }, title);
}

// How many episodes have no value of some metrics: "1 unreachable", after whose and of what if need be.
function undefinedIn(some, runs = results.runs.map((_, run) => run)) {
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

const legend = (runs) => el("div.legend", runs.map((run) => runName(run, true)));
