// Success against fidelity, a mark for each scan and run.
function scanScatter(scenes) {
  const [across, up] = ["SR", "nDTW" in metricOf ? "nDTW" : "SPL"];
  if (scenes.length < 3 || !(across in metricOf && up in metricOf)) return null;
  const found = groups("scan");
  const points = found
    .flatMap(({ name, rows }) =>
      data.runs.map((run, n) => ({
        name,
        run: n,
        x: meanOf(run.scores[across], rows).mean,
        y: meanOf(run.scores[up], rows).mean,
        size: 2.5 + 4 * Math.sqrt(rows.length / data.count),
      })),
    )
    .filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
  const span = (key) => {
    const values = points.map((point) => point[key]);
    const step = 0.1;
    return {
      low: Math.max(0, Math.floor(Math.min(...values) / step) * step),
      high: Math.min(1, Math.ceil(Math.max(...values) / step + 1e-9) * step),
      cut: false,
    };
  };
  const [xs, ys] = [span("x"), span("y")];
  return el(
    "figure",
    {},
    el(
      "figcaption",
      {},
      el("b", {}, `${across} against ${up}`),
      el(
        "span",
        {},
        "Each mark is a scan, larger with more episodes. Where success and fidelity part, agents reach goals by ",
        "other ways.",
      ),
    ),
    responsive((width) => {
      const [height, pad] = [Math.min(380, Math.max(260, width * 0.75)), { left: 40, right: 16, top: 12, bottom: 40 }];
      const x = linear([xs.low, xs.high], [pad.left, width - pad.right]);
      const y = linear([ys.low, ys.high], [height - pad.bottom, pad.top]);
      const named = data.runs.length === 1;
      return svg(
        "svg",
        {
          width,
          height,
          viewBox: `0 0 ${width} ${height}`,
          role: "img",
          "aria-label": `${across} and ${up} of each scan; the table has the numbers`,
        },
        leftAxis(metricOf[up], y, ys, pad.left, width - pad.right),
        bottomAxis(metricOf[across], x, xs, height - pad.bottom, width),
        svg(
          "text",
          { class: "axis-name", x: (pad.left + width - pad.right) / 2, y: height - 6, "text-anchor": "middle" },
          `${across}, %`,
        ),
        svg(
          "text",
          {
            class: "axis-name",
            transform: `translate(11 ${(height - pad.bottom + pad.top) / 2}) rotate(-90)`,
            "text-anchor": "middle",
          },
          `${up}, %`,
        ),
        points.map((point) =>
          svg(
            "g",
            { class: `spot run-${point.run % 7}` },
            svg(
              "path",
              { d: shape(point.run, x(point.x), y(point.y), point.size) },
              svg(
                "title",
                {},
                `${point.name}, ${results.runs[point.run].name}: `,
                `${across} ${printed(metricOf[across], point.x)}, ${up} ${printed(metricOf[up], point.y)}`,
              ),
            ),
          ),
        ),
        named &&
          labels(
            points.map((point) => ({
              text: point.name.slice(0, 5),
              x: x(point.x),
              y: y(point.y),
              away: point.size + 4,
            })),
            width,
          ),
      );
    }),
    data.runs.length > 1 && legend(data.runs.map((_, run) => run)),
  );
}

// Names beside marks where there is room for them; the others have tooltips.
function labels(marks, width) {
  const taken = marks.map(({ x, y }) => [x - 4, y - 4, x + 4, y + 4]);
  return marks.map(({ text, x, y, away }, n) => {
    const long = 6.4 * text.length;
    const places = [
      [x + away, y + 4],
      [x - away - long, y + 4],
      [x - long / 2, y - away],
      [x - long / 2, y + away + 8],
    ];
    const free = places.find(
      ([left, base]) =>
        left > 0 &&
        left + long < width &&
        taken.every(([a, b, c, d], other) => other === n || left > c || left + long < a || base - 9 > d || base < b),
    );
    if (!free) return null;
    taken.push([free[0], free[1] - 9, free[0] + long, free[1]]);
    return svg("text", { class: "remark", x: free[0], y: free[1] }, text);
  });
}
