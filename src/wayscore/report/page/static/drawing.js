// The parts of a map, from places and the function that puts them on the screen.

const short = (value) => Math.round(value * 10) / 10;
const at = (point) => point.map(short).join(" ");

function around(found) {
  const span = (values) =>
    values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const [[west, east], [south, north]] = [span(found.map(({ x }) => x)), span(found.map(({ y }) => y))];
  const [wide, high] = [east - west, north - south];
  const least = Math.max(wide, high, 1e-9) / 4;
  return { x: (west + east) / 2, y: (south + north) / 2, wide: Math.max(wide, least), high: Math.max(high, least) };
}

// The steps of a path on the screen, without those that stay where they are.
function segments(path, to, lit) {
  const points = path.map(to);
  return path
    .slice(1)
    .map((place, n) => ({ from: points[n], to: points[n + 1], lit: lit(place) || lit(path[n]) }))
    .filter(({ from, to: end }) => Math.hypot(end[0] - from[0], end[1] - from[1]) > 0.01);
}

// How far a step bends to the right, so that ways there and back are two lines.
function bend({ from, to }) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const long = Math.hypot(dx, dy);
  const by = Math.min(0.16 * long, 9) / long;
  return [(from[0] + to[0]) / 2 - dy * by, (from[1] + to[1]) / 2 + dx * by];
}

// The steps of a path as lines, those on other floors dim; those of a query bend unless they are small.
function lines(kind, steps, bent = false) {
  const parts = { lit: "", dim: "" };
  for (const step of steps)
    parts[step.lit ? "lit" : "dim"] += `M${at(step.from)}${bent ? `Q${at(bend(step))} ` : "L"}${at(step.to)}`;
  return Object.entries(parts).map(([shown, d]) => svg("path", { class: `${kind} ${shown}`, d }));
}

// Arrows amid the steps; on walks of small steps one every few steps.
function arrows(steps, sparse, head) {
  let since = 30;
  return steps.map((step) => {
    const [dx, dy] = [step.to[0] - step.from[0], step.to[1] - step.from[1]];
    const long = Math.hypot(dx, dy);
    since += long;
    if (sparse ? since < 60 : long < 22) return null;
    since = 0;
    const amid = [(step.from[0] + step.to[0]) / 2, (step.from[1] + step.to[1]) / 2];
    const [x, y] = sparse || head === chevron ? amid : [(amid[0] + bend(step)[0]) / 2, (amid[1] + bend(step)[1]) / 2];
    return svg("path", {
      class: `${head === chevron ? "chevron" : "arrow"} ${step.lit ? "lit" : "dim"}`,
      d: head,
      transform: `translate(${at([x, y])}) rotate(${short((Math.atan2(dy, dx) * 180) / Math.PI)})`,
    });
  });
}

const chevron = "M-1.6 -2.6L1.2 0L-1.6 2.6";
const arrowhead = "M-4 -4.2L5 0L-4 4.2Z";

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

function placeDots(path, to, lit, r, kind) {
  return visits(path).map(({ place, first, last }) => {
    const [x, y] = to(place);
    const steps = last > first ? `${first + 1} to ${last + 1}` : first + 1;
    const title = svg("title", `${kind} ${steps} of ${path.length}: ${place.name}`);
    return svg("circle", { class: lit(place) ? "lit" : "dim", cx: x, cy: y, r }, title);
  });
}

// Where a query stays for several logged steps: a ring, and how many steps where there is room for it.
function stays(path, to, lit, taken, width) {
  const byPlace = Map.groupBy(repeats(path), ({ place: { x, y } }) => `${x} ${y}`);
  const found = [...byPlace.values()].map((some) => ({
    place: some[0].place,
    steps: some.map(({ first, last }) => last - first + 1),
  }));
  const most = found.map(({ steps }) => Math.max(...steps)).sort((a, b) => b - a)[MOST_COUNTS - 1] ?? 0;
  return found.map(({ place, steps }) => {
    const [x, y] = to(place);
    const text = steps.map((count) => `×${count}`).join(" ");
    const name = Math.max(...steps) >= most && freePlace(x, y, [0.75, -0.66], taken, width);
    return svg(
      "g.stays",
      { class: lit(place) ? "lit" : "dim" },
      svg("circle", { cx: x, cy: y, r: 9 }, svg("title", `the query stays here: ${text} logged steps`)),
      name && svg("text", { x: name.x, y: name.y + 4, "text-anchor": "middle" }, text),
    );
  });
}

const MOST_COUNTS = 12; // at so many nodes or points the number of steps is written

function matches(pairs, reference, query, to, lit) {
  const every = Math.ceil(pairs.length / MOST_LINES);
  let d = "";
  pairs.forEach(({ i, j }, n) => {
    const [r, q] = [reference[i], query[j]];
    if (n % every || r === q || (!lit(r) && !lit(q))) return;
    d += `M${at(to(r))}L${at(to(q))}`;
  });
  return svg("path", { d });
}

const STAR =
  Array.from({ length: 10 }, (_, n) => {
    const [r, turn] = [n % 2 ? 4 : 9.5, (Math.PI * (n - 2.5)) / 5];
    return `${n ? "L" : "M"}${(r * Math.cos(turn)).toFixed(2)} ${(r * Math.sin(turn)).toFixed(2)}`;
  }).join("") + "Z";

// Start, goals and where the agent stopped, each named on a side that its path and the other names leave free.
function signs(reference, query, goals, to, lit, taken, width) {
  const mark = (place, kind, d, text, away) => {
    const [x, y] = to(place);
    const name = text && freePlace(x, y, away, taken, width);
    return svg(
      "g",
      { class: `place ${kind} ${lit(place) ? "lit" : "dim"}`, transform: `translate(${at([x, y])})` },
      svg("path", { d }),
      name && svg("text", { x: name.x - x, y: name.y - y + 4, "text-anchor": "middle" }, text),
    );
  };
  const end = query?.at(-1);
  return [
    goals.map((goal, n) => mark(goal, "goal", STAR, n ? "" : "goal", outward([...reference].reverse(), to, goal))),
    mark(reference[0], "start", "M-5.5 -5.5h11v11h-11Z", "start", outward(reference, to, reference[0])),
    end && mark(end, "end", "M-5 -5L5 5M5 -5L-5 5", "stop", outward([...query].reverse(), to, end)),
  ];
}

// The middle of a short name beside a mark: away from its path if that is free, else to a side of it.
function freePlace(x, y, [dx, dy], taken, width) {
  const beside = ([a, b]) => ({ x: Math.max(22, Math.min(x + 28 * a, width - 22)), y: y + 17 * b });
  const sides = [[dx, dy], [-dy, dx], [dy, -dx], [-dx, -dy]].map(beside);
  const free = (one) => taken.every((other) => Math.abs(one.x - other.x) > 36 || Math.abs(one.y - other.y) > 13);
  const found = sides.find(free) ?? sides[0];
  taken.push(found);
  return found;
}

// The direction on the screen that leads from a path's beginning away from the rest of it.
function outward(path, to, from) {
  const [x, y] = to(from);
  for (const place of path) {
    const [dx, dy] = [x - to(place)[0], y - to(place)[1]];
    const long = Math.hypot(dx, dy);
    if (long > 12) return [dx / long, dy / long];
  }
  return [0, 1];
}

function chosenPair({ i, j, gap }, reference, query, to) {
  const [a, b] = [to(reference[i]), to(query[j])];
  return svg(
    "g.chosen",
    svg("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }),
    svg("circle.of-reference", { cx: a[0], cy: a[1], r: 9 }),
    svg("circle.of-query", { cx: b[0], cy: b[1], r: 6 }),
    gap > 0 && svg("text", { x: (a[0] + b[0]) / 2 + 10, y: (a[1] + b[1]) / 2 - 10 }, metres(gap)),
  );
}

function scaleBar(scale, height) {
  const long = [0.5, 1, 2, 5, 10, 20, 50, 100].find((size) => size * scale >= 40) ?? 100;
  return svg(
    "g.scale",
    { transform: `translate(12 ${height - 12})` },
    svg("path", { d: `M0 -4V0H${long * scale}V-4` }),
    svg("text", { x: long * scale + 6, y: 1 }, `${long} m`),
  );
}
