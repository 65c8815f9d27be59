// What Python wrote into the page: results at once, episodes when they are unpacked.

const results = JSON.parse($("#results-data").textContent);
const metrics = results.metrics;
const metricOf = Object.fromEntries(metrics.map((metric) => [metric.symbol, metric]));
const SUCCESS = "SR" in metricOf ? "SR" : null;
const LEADING =
  results.comparison?.metric ?? ["nDTW", "SPL", "SR", metrics[0].symbol].find((symbol) => symbol in metricOf);

let data = null;

async function unpack() {
  const packed = Uint8Array.from(atob($("#episodes-data").textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Episodes(await new Response(stream).json());
}

class Episodes {
  constructor(plain) {
    Object.assign(this, plain);
    this.count = plain.id.length;
    this.rowOf = new Map(plain.id.map((id, row) => [id, row]));
    this.scenes = plain.scenes.map(sceneOf);
    this.runs = plain.runs.map((run) => this.#columns(run));
    this.lengths = plain.length && lengthGroups(plain.length);
    this.words = null;
  }

  // Scores of every episode: NaN where a run does not have it, Infinity where they are undefined.
  #columns({ rows, query, warping, scores, averaged }) {
    const at = rows ?? Array.from(query, (_, row) => row);
    const whole = (values) => {
      const found = new Int32Array(this.count).fill(-1);
      at.forEach((row, place) => (found[row] = values[place]));
      return found;
    };
    const nothing = new Float64Array(this.count).fill(NaN);
    const columns = Object.fromEntries(metrics.map(({ symbol }) => [symbol, nothing])); // some runs lack a metric
    for (const [symbol, values] of Object.entries(scores)) {
      const column = (columns[symbol] = new Float64Array(this.count).fill(NaN));
      const steps = this.steps[symbol];
      at.forEach((row, place) => (column[row] = values[place] === null ? Infinity : values[place] / steps));
    }
    const has = new Uint8Array(this.count);
    for (const row of at) has[row] = 1;
    return { has, averaged, query: whole(query), warping: whole(warping), scores: columns };
  }

  // The nodes or points of a path: position where it is known, and the node's name; null where it is not drawn.
  places(row, codes) {
    const scene = this.scenes[this.scene[row]];
    if (!codes || scene.nodes) return codes?.map((code) => scene.places[code]) ?? null;
    const places = [];
    let [x, y, h] = [0, 0, 0];
    for (let i = 0; i < codes.length; i += 3) {
      x += codes[i];
      y += codes[i + 1];
      h += codes[i + 2];
      const at = { x: x / scene.scale, y: y / scene.scale, h: h / scene.scale };
      places.push({ ...at, code: null, name: `${at.x.toFixed(2)}, ${at.y.toFixed(2)}`, floor: floorOf(scene, at.h) });
    }
    return places;
  }

  // The pairs of a warping: positions in reference and query, and how far apart the two are.
  warping(run, row) {
    const number = this.runs[run].warping[row];
    if (number < 0) return null;
    const [moves, gaps] = this.warpings[number];
    const pairs = [{ i: 0, j: 0, gap: gaps[0] / 100 }];
    let [i, j] = [0, 0];
    for (let place = 0; place < moves.length; place++) {
      if (moves[place] !== "2") i += 1;
      if (moves[place] !== "1") j += 1;
      pairs.push({ i, j, gap: gaps[place + 1] / 100 });
    }
    return pairs;
  }

  // Text to search in, made when it is first needed.
  searchable(row) {
    this.words ??= this.id.map((id, n) => `${id}\n${this.instruction[n]}`.toLowerCase());
    return this.words[row];
  }
}

function sceneOf(plain) {
  const scene = { ...plain, floors: plain.floors.map((height) => height / plain.scale), places: [] };
  scene.drawn = !plain.nodes || Boolean(plain.at);
  (plain.nodes ?? []).forEach((name, code) => {
    const [x, y, h] = plain.at ? [0, 1, 2].map((axis) => plain.at[3 * code + axis] / plain.scale) : [0, 0, 0];
    scene.places.push({ x, y, h, code, name, floor: floorOf(scene, h) });
  });
  return scene;
}

function floorOf({ floors }, height) {
  const away = floors.map((floor) => Math.abs(floor - height));
  return Math.max(0, away.indexOf(Math.min(...away)));
}

// Reference lengths in at most eight groups of one width.
function lengthGroups(lengths) {
  const least = lengths.reduce((a, b) => Math.min(a, b));
  const most = lengths.reduce((a, b) => Math.max(a, b));
  let width = 1;
  for (let step = 0; Math.floor(most / width) - Math.floor(least / width) >= 8; step++) width *= [2, 2.5, 2][step % 3];
  const name = (length) => {
    const first = Math.floor(length / width) * width;
    return width === 1 ? String(first) : `${first}–${first + width - 1}`;
  };
  return lengths.map(name);
}

// The mean of the finite values among some rows, how many these are, and how many are undefined.
function meanOf(column, rows) {
  let [count, left, sum] = [0, 0, 0];
  for (const row of rows) {
    const value = column[row];
    if (value === Infinity) left += 1;
    if (!Number.isFinite(value)) continue;
    count += 1;
    sum += value;
  }
  return { mean: count ? sum / count : NaN, count, left };
}

// The standard error of such a mean of n values: episodes of one cluster (a path or a scan) go together, as in the
// bootstrap. With c clusters whose deviations from the mean sum to s, it is sqrt(c / (c - 1) * sum(s^2)) / n.
function errorOf(column, rows, { mean, count }) {
  const sums = new Map();
  for (const row of rows) {
    if (!Number.isFinite(column[row])) continue;
    const cluster = data.cluster ? data.cluster[row] : row;
    sums.set(cluster, (sums.get(cluster) ?? 0) + column[row] - mean);
  }
  const squares = [...sums.values()].reduce((sum, one) => sum + one ** 2, 0);
  return sums.size > 1 ? Math.sqrt((sums.size / (sums.size - 1)) * squares) / count : NaN;
}
