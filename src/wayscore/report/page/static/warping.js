// A warping to look at and to read: matched pairs side by side, the distance of each, and a table of all of them.

const MOST_ROWS = 500;

function warpingOf(maps, walk, row) {
  const { run, pairs, query } = maps.walks[walk];
  const { reference } = maps;
  if (!query)
    return el(
      "div",
      { class: "warping" },
      el("p", { class: "note" }, whyNoWalk(run, row)),
    );
  if (!pairs)
    return el(
      "div",
      { class: "warping" },
      el("p", { class: "note" }, "Some nodes of one path are unreachable from the other, so there is no warping."),
    );
  const said = el("output", { class: "said" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: pairs.length - 1,
    step: 1,
    value: 0,
    "aria-label": `Matched pair, ${results.runs[run].name}`,
  });
  const rows = pairs.slice(0, MOST_ROWS).map((pair, n) => pairRow(pair, n, reference, query, () => choose(n)));
  const figure = responsive((width) => strip(pairs, reference, query, width, () => maps.walks[walk].chosen, choose), {
    class: "strip",
  });
  function choose(n) {
    const before = maps.walks[walk].chosen;
    if (before !== null) rows[before]?.classList.remove("chosen");
    rows[n]?.classList.add("chosen");
    if (rows[n]) table.scrollTop = rows[n].offsetTop - table.clientHeight / 2; // the table alone, not the page
    slider.value = n;
    const { i, j, gap } = pairs[n];
    said.textContent = `Pair ${n + 1} of ${pairs.length}: reference ${i + 1} and query ${j + 1}, ${metres(gap)} apart`;
    slider.setAttribute("aria-valuetext", said.textContent);
    maps.choose(walk, n);
    figure.redraw();
  }
  slider.addEventListener("input", () => choose(Number(slider.value)));
  const sum = pairs.reduce((total, { gap }) => total + gap, 0);
  const dtw = data.runs[run].scores.DTW?.[row];
  const total = Number.isFinite(dtw) && !data.runs[run].averaged ? dtw : sum;
  said.textContent =
    `${counted(pairs.length, "matched pair")}, ${metres(total)} in total. ` + "Move the slider to see each pair on the map.";
  const table = el(
    "div",
    {
      class: "scrolling pairs",
      tabindex: "0",
      role: "region",
      "aria-label": `Matched pairs, ${results.runs[run].name}`,
    },
    el(
      "table",
      {},
      el(
        "caption",
        { class: "unseen" },
        `Warping of ${results.runs[run].name}: every matched pair with its distance`,
      ),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Pair", "Reference", "Query"].map((text) => el("th", { scope: "col" }, text)),
          el("th", { scope: "col", class: "number" }, `Distance, ${results.unit}`),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );
  return el(
    "div",
    { class: `warping run-${run % 7}` },
    figure,
    slider,
    said,
    table,
    pairs.length > MOST_ROWS && el("p", { class: "note" }, `The first ${MOST_ROWS} of ${grouped(pairs.length)} pairs.`),
  );
}

function whyNoWalk(run, row) {
  const { has, query } = data.runs[run];
  if (!has[row]) return "This run was not scored on this episode.";
  return query.some((number) => number >= 0)
    ? "This run has no scored trajectory for this episode; the episode gets the worst scores."
    : "The paths of this run are not known: its scores were loaded from a file, or it has other references.";
}

function pairRow({ i, j, gap }, n, reference, query, choose) {
  const place = (kind, index, { name }) =>
    el(
      "td",
      {},
      el("span", { class: `pair-side ${kind}` }, String(index + 1)),
      " ",
      el("span", { class: "node", title: name }, name.length > 14 ? `${name.slice(0, 8)}…` : name),
    );
  return el(
    "tr",
    { on: { click: choose } },
    el("th", { scope: "row" }, String(n + 1)),
    place("of-reference", i, reference[i]),
    place("of-query", j, query[j]),
    el("td", { class: gap > results.threshold ? "number far" : "number" }, gap.toFixed(2)),
  );
}

// Both paths as rows of dots with lines between those matched, and below them how far apart each pair is.
function strip(pairs, reference, query, width, chosen, choose) {
  const [pad, top, bottom, floor] = [10, 12, 62, 118];
  const height = floor + 6;
  const spaced = (count) => linear([0, Math.max(count - 1, 1)], [pad, width - pad]);
  const [r, q, k] = [
    spaced(reference.length),
    spaced(query.length),
    linear([0, pairs.length], [pad - 5, width - pad + 5]),
  ];
  const most = Math.max(...pairs.map(({ gap }) => gap), results.threshold * 1.2);
  const y = linear([0, most], [floor, bottom + 16]);
  const far = (gap) => (gap > results.threshold ? "far" : gap > 0 ? "near" : "same");
  const every = Math.ceil(pairs.length / MOST_LINES);
  const dots = (at, count, row, kind) => {
    const crowded = (width - 2 * pad) / count < 5;
    if (crowded) return svg("line", { class: `rail ${kind}`, x1: pad, x2: width - pad, y1: row, y2: row });
    return [
      svg("line", { class: `rail ${kind}`, x1: pad, x2: at(count - 1), y1: row, y2: row }),
      Array.from({ length: count }, (_, n) =>
        svg("circle", { class: kind, cx: at(n), cy: row, r: Math.min(4, (width - 2 * pad) / count / 3) }),
      ),
    ];
  };
  const now = chosen();
  return svg(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "aria-hidden": "true",
      on: {
        click: (event) =>
          choose(
            Math.max(
              0,
              Math.min(
                pairs.length - 1,
                Math.floor(((event.offsetX - pad + 5) / (width - 2 * pad + 10)) * pairs.length),
              ),
            ),
          ),
      },
    },
    pairs.map(
      ({ i, j, gap }, n) =>
        n % every === 0 && svg("line", { class: `match ${far(gap)}`, x1: r(i), y1: top, x2: q(j), y2: bottom }),
    ),
    now !== null && svg("line", { class: "match now", x1: r(pairs[now].i), y1: top, x2: q(pairs[now].j), y2: bottom }),
    dots(r, reference.length, top, "of-reference"),
    dots(q, query.length, bottom, "of-query"),
    pairs.map(({ gap }, n) =>
      svg("rect", {
        class: `gap ${far(gap)}${n === now ? " now" : ""}`,
        x: k(n) + 0.5,
        width: Math.max(k(1) - k(0) - 1, 0.5),
        y: Math.min(y(gap), floor - 1),
        height: Math.max(floor - y(gap), 1),
      }),
    ),
    results.unit === "m" &&
      svg("line", {
        class: "threshold",
        x1: pad - 5,
        x2: width - pad + 5,
        y1: y(results.threshold),
        y2: y(results.threshold),
      }),
  );
}
