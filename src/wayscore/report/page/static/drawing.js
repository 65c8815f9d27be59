// The parts of a map. A view puts them on the screen: to(place) is where, shade(...places) is "lit" if any of them is
// on a floor that is shown and else "dim", scale is pixels per unit, and taken is where names stand already.

const SNAKE = 60; // longer paths are walks of small steps: drawn straight, with an arrow now and then
const MOST_LINES = 400;
const MOST_COUNTS = 12; // nodes or points at which the number of steps is written
const CHEVRON = "M-1.6 -2.6L1.2 0L-1.6 2.6";
const ARROWHEAD = "M-4 -4.2L5 0L-4 4.2Z";
const STAR =
  Array.from({ length: 10 }, (_, n) => {
    const [r, turn] = [n % 2 ? 4 : 9.5, (Math.PI * (n - 2.5)) / 5];
    return `${n ? "L" : "M"}${(r * Math.cos(turn)).toFixed(2)} ${(r * Math.sin(turn)).toFixed(2)}`;
  }).join("") + "Z";

const tenths = (value) => Math.round(value * 10) / 10;
const at = (point) => point.map(tenths).join(" ");
const middle = ([a, b], [c, d]) => [(a + c) / 2, (b + d) / 2];

// The rectangle around some places, no side of which is much shorter than the other.
function around(found) {
  const span = (values) =>
    values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const [[west, east], [south, north]] = [span(found.map(({ x }) => x)), span(found.map(({ y }) => y))];
  const [wide, high] = [east - west, north - south];
  const least = Math.max(wide, high, 1e-9) / 4;
  return { x: (west + east) / 2, y: (south + north) / 2, wide: Math.max(wide, least), high: Math.max(high, least) };
}

// The steps of a path that change the place, with the point to which each bends right, so that ways there and back are
// two lines.
function stepsOf(path, { to, shade }) {
  const points = path.map(to);
  const steps = path.slice(1).map((place, n) => {
    const [start, end] = [points[n], points[n + 1]];
    const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
    const long = Math.hypot(dx, dy);
    const [by, [x, y]] = [Math.min(0.16, 9 / long), middle(start, end)];
    return { start, end, dx, dy, long, bend: [x - dy * by, y + dx * by], shade: shade(place, path[n]) };
  });
  return steps.filter(({ long }) => long > 0.01);
}

// A path as lines and arrows. The steps of a query bend, unless they are small, as those of a snake are.
function route(path, view, isQuery, isSnake) {
  const steps = stepsOf(path, view);
  const d = { lit: "", dim: "" };
  for (const { start, end, bend, shade } of steps)
    d[shade] += `M${at(start)}${isQuery && !isSnake ? `Q${at(bend)} ` : "L"}${at(end)}`;
  let since = 30;
  const arrows = steps.map(({ start, end, dx, dy, long, bend, shade }) => {
    since += long;
    if (isSnake ? since < 60 : long < 22) return null;
    since = 0;
    const straight = middle(start, end);
    const amid = isQuery && !isSnake ? middle(straight, bend) : straight;
    const transform = `translate(${at(amid)}) rotate(${tenths((Math.atan2(dy, dx) * 180) / Math.PI)})`;
    const head = isQuery ? { class: `arrow ${shade}`, d: ARROWHEAD } : { class: `chevron ${shade}`, d: CHEVRON };
    return svg("path", { ...head, transform });
  });
  const kind = isQuery ? "walk" : "band";
  return [...Object.entries(d).map(([shade, d]) => svg("path", { class: `${kind} ${shade}`, d })), arrows];
}

// The visits of a path: runs of steps at one node or point, by their first and last step.
function visits(path) {
  const found = [];
  path.forEach((place, step) => {
    const before = found.at(-1);
    if (before && before.place.x === place.x && before.place.y === place.y && before.place.h === place.h)
      before.last = step;
    else found.push({ place, first: step, last: step });
  });
  return found;
}

const repeats = (path) => visits(path).filter(({ first, last }) => last > first);

function placeDots(path, { to, shade }, r, kind) {
  return visits(path).map(({ place, first, last }) => {
    const [cx, cy] = to(place);
    const steps = last > first ? `${first + 1} to ${last + 1}` : first + 1;
    const title = svg("title", `${kind} ${steps} of ${path.length}: ${place.name}`);
    return svg("circle", { class: shade(place), cx, cy, r }, title);
  });
}

// Where a query stays for several logged steps: a ring, and how many steps where there is room for it.
function stays(path, view) {
  const byPlace = Map.groupBy(repeats(path), ({ place: { x, y } }) => `${x} ${y}`);
  const found = [...byPlace.values()].map((some) => ({
    place: some[0].place,
    steps: some.map(({ first, last }) => last - first + 1),
  }));
  const most = found.map(({ steps }) => Math.max(...steps)).sort((a, b) => b - a)[MOST_COUNTS - 1] ?? 0;
  return found.map(({ place, steps }) => {
    const [cx, cy] = view.to(place);
    const text = steps.map((count) => `×${count}`).join(" ");
    return svg("g.stays", { class: view.shade(place) },
      svg("circle", { cx, cy, r: 9 }, svg("title", `the query stays here: ${text} logged steps`)),
      Math.max(...steps) >= most && nameBeside([cx, cy], text, [0.75, -0.66], view),
    );
  });
}

function matches(pairs, reference, query, { to, shade }) {
  const every = Math.ceil(pairs.length / MOST_LINES);
  let d = "";
  pairs.forEach(({ i, j }, n) => {
    const [r, q] = [reference[i], query[j]];
    if (n % every || r === q || shade(r, q) === "dim") return;
    d += `M${at(to(r))}L${at(to(q))}`;
  });
  return svg("g.matches", svg("path", { d }));
}

// Start, goals and where the agent stopped, each named on a side that its path and the other names leave free.
function signs(reference, query, goals, view) {
  const mark = (place, kind, d, name, path) => {
    const point = view.to(place);
    const sign = svg("path", { d, transform: `translate(${at(point)})` });
    const named = name && nameBeside(point, name, outward(path, view, point), view);
    return svg("g.place", { class: `${kind} ${view.shade(place)}` }, sign, named);
  };
  const back = [...reference].reverse();
  return [
    goals.map((goal, n) => mark(goal, "goal", STAR, n ? "" : "goal", back)),
    mark(reference[0], "start", "M-5.5 -5.5h11v11h-11Z", "start", reference),
    query && mark(query.at(-1), "end", "M-5 -5L5 5M5 -5L-5 5", "stop", [...query].reverse()),
  ];
}

// A short name beside a mark: away from its path if that is free, else to a side of it.
function nameBeside([x, y], text, [dx, dy], { taken, width }) {
  const beside = ([a, b]) => ({ x: clamp(x + 28 * a, 22, width - 22), y: y + 17 * b });
  const sides = [[dx, dy], [-dy, dx], [dy, -dx], [-dx, -dy]].map(beside);
  const free = (one) => taken.every((other) => Math.abs(one.x - other.x) > 36 || Math.abs(one.y - other.y) > 13);
  const found = sides.find(free) ?? sides[0];
  taken.push(found);
  return svg("text", { x: found.x, y: found.y + 4, "text-anchor": "middle" }, text);
}

// The direction on the screen that leads from a point, at a path's beginning, away from the rest of the path.
function outward(path, { to }, [x, y]) {
  for (const [a, b] of path.map(to)) {
    const long = Math.hypot(x - a, y - b);
    if (long > 12) return [(x - a) / long, (y - b) / long];
  }
  return [0, 1];
}

function chosenPair({ i, j, gap }, reference, query, { to }) {
  const [[x1, y1], [x2, y2]] = [to(reference[i]), to(query[j])];
  const [x, y] = middle([x1, y1], [x2, y2]);
  return svg("g.chosen",
    svg("line", { x1, y1, x2, y2 }),
    svg("circle.of-reference", { cx: x1, cy: y1, r: 9 }),
    svg("circle.of-query", { cx: x2, cy: y2, r: 6 }),
    gap > 0 && svg("text", { x: x + 10, y: y - 10 }, metres(gap)),
  );
}

function scaleBar({ scale, height }) {
  const long = [0.5, 1, 2, 5, 10, 20, 50, 100].find((size) => size * scale >= 40) ?? 100;
  return svg("g.scale", { transform: `translate(12 ${height - 12})` },
    svg("path", { d: `M0 -4V0H${long * scale}V-4` }),
    svg("text", { x: long * scale + 6, y: 1 }, `${long} m`),
  );
}
