// A warping to look at and to read: matched pairs side by side, the distance of each, and a table of all of them.

const MOST_ROWS = 500;

function warpingOf(maps, walk, row) {
  const { run, pairs, query } = maps.walks[walk];
  const { reference } = maps;
  const nothing = (text) => el("div.warping", el("p.note", text));
  if (!query) return nothing(whyNoWalk(run, row));
  if (!pairs) return nothing("Some nodes of one path are unreachable from the other, so there is no warping.");
  const { name } = results.runs[run];
  const words = el("output.pair-words");
  const range = { type: "range", min: 0, max: pairs.length - 1, value: 0, "aria-label": `Matched pair, ${name}` };
  const slider = el("input", { ...range, input: () => choose(Number(slider.value)) });
  const place = (kind, index, { name }) => [
    el("span.pair-side", { class: kind }, String(index + 1)),
    " ",
    el("span.node", { title: name }, name.length > 14 ? `${name.slice(0, 8)}…` : name),
  ];
  const cells = ({ i, j, gap }, n) => {
    const distance = el("td.number", { class: gap > results.threshold && "far" }, gap.toFixed(2));
    return [String(n + 1), place("of-reference", i, reference[i]), place("of-query", j, query[j]), distance];
  };
  const heads = [["Pair"], ["Reference"], ["Query"], [`Distance, ${results.unit}`, "number"]];
  const list = table(`Matched pairs, ${name}`, null, heads, pairs.slice(0, MOST_ROWS).map(cells), "pairs");
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
    words.textContent = `Pair ${n + 1} of ${pairs.length}: reference ${i + 1} and query ${j + 1}, ${metres(gap)} apart`;
    slider.setAttribute("aria-valuetext", words.textContent);
    maps.choose(walk, n);
    figure.redraw();
  }
  const dtw = data.runs[run].averaged ? NaN : (data.runs[run].scores.DTW?.[row] ?? NaN);
  const total = Number.isFinite(dtw) ? dtw : pairs.reduce((sum, { gap }) => sum + gap, 0);
  const matched = `${counted(pairs.length, "matched pair")}, ${metres(total)} in total`;
  words.textContent = `${matched}. Move the slider to see each pair on the map.`;
  const more = pairs.length > MOST_ROWS && el("p.note", `The first ${MOST_ROWS} of ${grouped(pairs.length)} pairs.`);
  return el("div.warping", { class: `run-${run % 7}` }, figure, slider, words, list, more);
}

function whyNoWalk(run, row) {
  const { has, query } = data.runs[run];
  if (!has[row]) return "This run was not scored on this episode.";
  return query.some((number) => number >= 0)
    ? "This run has no scored trajectory for this episode; the episode gets the worst scores."
    : "The paths of this run are not known: its scores were loaded from a file, or it has other references.";
}

// Both paths as rows of dots with lines between those matched, and below them how far apart each pair is.
function strip(pairs, reference, query, width, now, choose) {
  const [pad, top, bottom, floor] = [10, 12, 62, 118];
  const spaced = (count) => linear([0, Math.max(count - 1, 1)], [pad, width - pad]);
  const [r, q] = [spaced(reference.length), spaced(query.length)];
  const k = linear([0, pairs.length], [pad - 5, width - pad + 5]);
  const most = Math.max(...pairs.map(({ gap }) => gap), results.threshold * 1.2);
  const y = linear([0, most], [floor, bottom + 16]);
  const far = (gap) => (gap > results.threshold ? "far" : gap > 0 ? "near" : "same");
  const every = Math.ceil(pairs.length / MOST_LINES);
  const dots = (x, path, y1, kind) => {
    const room = (width - 2 * pad) / path.length;
    const dot = (_, n) => svg("circle", { class: kind, cx: x(n), cy: y1, r: Math.min(4, room / 3) });
    const rail = svg("line.rail", { class: kind, x1: pad, x2: x(path.length - 1), y1, y2: y1 });
    return [rail, room >= 5 && path.map(dot)];
  };
  const match = ({ i, j, gap }, kind = far(gap)) =>
    svg("line.match", { class: kind, x1: r(i), y1: top, x2: q(j), y2: bottom });
  const bar = ({ gap }, n) => {
    const [width, height] = [Math.max(k(1) - k(0) - 1, 0.5), Math.max(floor - y(gap), 1)];
    return svg("rect.gap", { class: n === now ? "now" : far(gap), x: k(n) + 0.5, y: floor - height, width, height });
  };
  const limit = y(results.threshold);
  const drawn = drawing(width, floor + 6, null,
    pairs.map((pair, n) => n % every === 0 && match(pair)),
    now !== null && match(pairs[now], "now"),
    dots(r, reference, top, "of-reference"),
    dots(q, query, bottom, "of-query"),
    pairs.map(bar),
    results.unit === "m" && svg("line.threshold", { x1: pad - 5, x2: width - pad + 5, y1: limit, y2: limit }),
  );
  drawn.addEventListener("click", (event) => {
    const n = Math.floor(((event.offsetX - pad + 5) / (width - 2 * pad + 10)) * pairs.length);
    choose(clamp(n, 0, pairs.length - 1));
  });
  return drawn;
}
