// What Python wrote into the page: results at once, episodes when they are unpacked.

const results = JSON.parse($("#results-data").textContent);
const metrics = results.metrics;
const metricOf = Object.fromEntries(metrics.map((metric) => [metric.symbol, metric]));
const everyRun = results.runs.map((_, run) => run);
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
    this.searchable = plain.id.map((id, row) => `${id}\n${plain.instruction[row]}`.toLowerCase());
    this.scenes = plain.scenes.map(sceneOf);
    this.groups = { scan: plain.scene.map((number) => plain.scenes[number].name), ...plain.groups };
    this.runs = plain.runs.map((run) => ({ ...run, scores: this.#scores(run) }));
  }

  // By metric, the scores of every episode: NaN where a run does not have it, Infinity where they are undefined.
  #scores({ has, scores }) {
    const found = Object.fromEntries(metrics.map(({ symbol }) => [symbol, new Float64Array(this.count).fill(NaN)]));
    for (const [symbol, values] of Object.entries(scores))
      values.forEach((value, row) => {
        if (has[row]) found[symbol][row] = value === null ? Infinity : value / this.steps[symbol];
      });
    return found;
  }

  // The nodes or points of a path: position where it is known, and the node's name; null where it is not drawn.
  places(row, codes) {
    const scene = this.scenes[this.scene[row]];
    if (!codes || scene.nodes) return codes?.map((code) => scene.places[code]) ?? null;
    const places = [];
    const steps = [0, 0, 0]; // each point is written as its way from the one before
    for (let i = 0; i < codes.length; i += 3) {
      const [x, y, h] = [0, 1, 2].map((axis) => (steps[axis] += codes[i + axis]) / scene.scale);
      places.push({ x, y, h, code: null, name: `${x.toFixed(2)}, ${y.toFixed(2)}`, floor: floorOf(scene, h) });
    }
    return places;
  }

  // The pairs of a warping: positions in reference and query, and how far apart the two are.
  warping(run, row) {
    const number = this.runs[run].warping[row];
    if (number < 0) return null;
    const [moves, gaps] = this.warpings[number];
    let [i, j] = [0, 0];
    return gaps.map((gap, place) => {
      const move = place && moves[place - 1]; // "1" is a step of the reference, "2" of the query, "0" of both
      if (place && move !== "2") i += 1;
      if (place && move !== "1") j += 1;
      return { i, j, gap: gap / 100 };
    });
  }
}

function sceneOf(plain) {
  const scene = { ...plain, floors: plain.floors.map((height) => height / plain.scale) };
  scene.drawn = !plain.nodes || Boolean(plain.at);
  scene.places = (plain.nodes ?? []).map((name, code) => {
    const [x, y, h] = [0, 1, 2].map((axis) => (plain.at ? plain.at[3 * code + axis] / plain.scale : 0));
    return { x, y, h, code, name, floor: floorOf(scene, h) };
  });
  return scene;
}

function floorOf({ floors }, height) {
  const away = floors.map((floor) => Math.abs(floor - height));
  return Math.max(0, away.indexOf(Math.min(...away)));
}

const addressOf = (id) => `#episode=${encodeURIComponent(id)}`;

// 1 where an episode is a success, 0 where it is not, null where that is not known.
function outcomeOf(run, row) {
  const value = data.runs[run].scores.SR?.[row] ?? NaN;
  return Number.isNaN(value) ? null : value;
}

// The mean of the finite values among some rows, how many these are, and how many are undefined.
function meanOf(column, rows) {
  let [count, left, sum] = [0, 0, 0];
  for (const row of rows) {
    if (column[row] === Infinity) left += 1;
    if (!Number.isFinite(column[row])) continue;
    count += 1;
    sum += column[row];
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
