// A warping to look at and to read: matched pairs side by side, the distance of each, and a table of all of them.

const MOST_ROWS = 500;

function warpingOf(maps, walk, row) {
  const { run, pairs, query } = maps.walks[walk];
  const { reference } = maps;
  const nothing = (text) => el("div.warping", el("p.note", text));
  if (!query) return nothing(whyNoWalk(run, row));
  if (!pairs) return nothing("Some nodes of one path are unreachable from the other, so there is no warping.");
  const { name } = results.runs[run];
  const said = el("output.said");
  const slider = el("input", {
    type: "range",
    min: 0,
    max: pairs.length - 1,
    value: 0,
    "aria-label": `Matched pair, ${name}`,
    input: () => choose(Number(slider.value)),
  });
  const list = scrolling(
    `Matched pairs, ${name}`,
    table(
      null,
      null,
      [["Pair"], ["Reference"], ["Query"], [`Distance, ${results.unit}`, "number"]],
      pairs.slice(0, MOST_ROWS).map((pair, n) => pairCells(pair, n, reference, query)),
    ),
  );
  list.classList.add("pairs");
  const rows = [...list.querySelectorAll("tbody tr")];
  rows.forEach((one, n) => one.addEventListener("click", () => choose(n)));
  const chosen = () => maps.walks[walk].chosen;
  const figure = responsive((width) => strip(pairs, reference, query, width, chosen(), choose), "strip");
  function choose(n) {
    rows[chosen()]?.classList.remove("chosen");
    rows[n]?.classList.add("chosen");
    if (rows[n]) list.scrollTop = rows[n].offsetTop - list.clientHeight / 2; // the table alone, not the page
    slider.value = n;
    const { i, j, gap } = pairs[n];
    said.textContent = `Pair ${n + 1} of ${pairs.length}: reference ${i + 1} and query ${j + 1}, ${metres(gap)} apart`;
    slider.setAttribute("aria-valuetext", said.textContent);
    maps.choose(walk, n);
    figure.redraw();
  }
  const sum = pairs.reduce((total, { gap }) => total + gap, 0);
  const dtw = data.runs[run].scores.DTW?.[row];
  const total = Number.isFinite(dtw) && !data.runs[run].averaged ? dtw : sum;
  said.textContent =
    `${counted(pairs.length, "matched pair")}, ${metres(total)} in total. Move the slider to see each pair on the map.`;
  const more = pairs.length > MOST_ROWS && el("p.note", `The first ${MOST_ROWS} of ${grouped(pairs.length)} pairs.`);
  return el("div.warping", { class: `run-${run % 7}` }, figure, slider, said, list, more);
}

function whyNoWalk(run, row) {
  const { has, query } = data.runs[run];
  if (!has[row]) return "This run was not scored on this episode.";
  return query.some((number) => number >= 0)
    ? "This run has no scored trajectory for this episode; the episode gets the worst scores."
    : "The paths of this run are not known: its scores were loaded from a file, or it has other references.";
}

function pairCells({ i, j, gap }, n, reference, query) {
  const place = (kind, index, { name }) => [
    el("span.pair-side", { class: kind }, String(index + 1)),
    " ",
    el("span.node", { title: name }, name.length > 14 ? `${name.slice(0, 8)}…` : name),
  ];
  const distance = el("td.number", { class: gap > results.threshold && "far" }, gap.toFixed(2));
  return [String(n + 1), place("of-reference", i, reference[i]), place("of-query", j, query[j]), distance];
}

// Both paths as rows of dots with lines between those matched, and below them how far apart each pair is.
function strip(pairs, reference, query, width, now, choose) {
  const [pad, top, bottom, floor] = [10, 12, 62, 118];
  const height = floor + 6;
  const spaced = (count) => linear([0, Math.max(count - 1, 1)], [pad, width - pad]);
  const [r, q] = [spaced(reference.length), spaced(query.length)];
  const k = linear([0, pairs.length], [pad - 5, width - pad + 5]);
  const most = Math.max(...pairs.map(({ gap }) => gap), results.threshold * 1.2);
  const y = linear([0, most], [floor, bottom + 16]);
  const far = (gap) => (gap > results.threshold ? "far" : gap > 0 ? "near" : "same");
  const every = Math.ceil(pairs.length / MOST_LINES);
  const dots = (x, count, y1, kind) => {
    const room = (width - 2 * pad) / count;
    const dot = (_, n) => svg("circle", { class: kind, cx: x(n), cy: y1, r: Math.min(4, room / 3) });
    return [
      svg("line.rail", { class: kind, x1: pad, x2: x(count - 1), y1, y2: y1 }),
      room >= 5 && Array.from({ length: count }, dot),
    ];
  };
  const match = ({ i, j, gap }, kind = far(gap)) =>
    svg("line.match", { class: kind, x1: r(i), y1: top, x2: q(j), y2: bottom });
  const limit = y(results.threshold);
  const drawn = drawing(
    width,
    height,
    null,
    pairs.map((pair, n) => n % every === 0 && match(pair)),
    now !== null && match(pairs[now], "now"),
    dots(r, reference.length, top, "of-reference"),
    dots(q, query.length, bottom, "of-query"),
    pairs.map(({ gap }, n) =>
      svg("rect.gap", {
        class: n === now ? "now" : far(gap),
        x: k(n) + 0.5,
        width: Math.max(k(1) - k(0) - 1, 0.5),
        y: Math.min(y(gap), floor - 1),
        height: Math.max(floor - y(gap), 1),
      }),
    ),
    results.unit === "m" && svg("line.threshold", { x1: pad - 5, x2: width - pad + 5, y1: limit, y2: limit }),
  );
  drawn.addEventListener("click", (event) => {
    const n = Math.floor(((event.offsetX - pad + 5) / (width - 2 * pad + 10)) * pairs.length);
    choose(Math.max(0, Math.min(pairs.length - 1, n)));
  });
  return drawn;
}
