// The tables of means and of a comparison, as Python wrote them, get marks of runs, drawings and links to episodes.

function showMeans() {
  const { runs } = results;
  const several = runs.length > 1;
  let first = 0; // metric of a table; many runs have two
  for (const table of document.querySelectorAll("#means table")) {
    const [head, ...rows] = table.rows;
    const many = head.cells[0].textContent === "Run";
    const [across, down] = many ? [(n) => metricName(metrics[first + n]), runName] : [runName, metricName];
    if (many || several) [...head.cells].slice(1).forEach((cell, n) => refill(cell, across(n)));
    rows.forEach((row, n) => {
      refill(row.cells[0], down(many ? n : metrics[n]), !many && el("span.long", metrics[n].name));
      row.classList.toggle("headline", !many && metrics[n].headline);
      if (!many) add(row, el("td.whiskers", whiskers(metrics[n])));
    });
    if (!many) add(head, el("th.whiskers", { scope: "col" }, several ? "Intervals" : "0 to 100 %"));
    $("#means").classList.toggle("many", many);
    first += head.cells.length - 1;
  }
  const wide = runs.length > 2 || (several && $("#means small"));
  $("#results .beside").classList.toggle("stacked", Boolean(wide));
  for (const button of document.querySelectorAll("[data-copy]"))
    button.addEventListener("click", () => copy(button.dataset.copy, button));
}

// The intervals of all runs on one scale: from 0 to 100 for percentages, else from the lowest to the highest bound.
function whiskers(metric) {
  const found = results.runs.map(({ means }) => means[metric.symbol]);
  const known = found.filter((one) => one.mean !== null);
  if (!known.length || (!metric.share && found.length < 2)) return null;
  const ends = [Math.min(...known.map((one) => one.low)), Math.max(...known.map((one) => one.high))];
  const [width, height] = [150, 9 * found.length + 4];
  const scale = linear(metric.share ? [0, 1] : ends, [6, width - 6]);
  const marks = found.map(({ mean, low, high }, run) => {
    const y = 9 * run + 6.5;
    return mean !== null && whisker(`run-${run % 7}`, y, scale(low), scale(high), shape(run, scale(mean), y, 3));
  });
  const track = metric.share && svg("rect.track", { x: 6, width: width - 12, height, rx: 2 });
  return drawing(width, height, null, track, marks);
}

function showComparison() {
  const found = results.comparison;
  if (!found) return;
  showSection("comparison", true);
  const pairs = [...document.querySelectorAll(".contrast")];
  const names = Object.keys(found.others);
  const numberOf = (name) => results.runs.findIndex((run) => run.name === name);
  const base = numberOf(found.baseline);
  const choose = (wanted) => {
    pairs.forEach((pair, n) => (pair.hidden = n !== Number(wanted)));
    if (data) browser.set({ a: base, b: Number(pairs[wanted].dataset.run), outcome: "" }, true); // the list follows
  };
  pairs.forEach((pair, n) => {
    const run = numberOf(names[n]);
    Object.assign(pair.dataset, { run, base });
    refill($("caption", pair), runName(run, true), " minus ", runName(base, true));
    const tests = found.others[names[n]];
    const [head, ...rows] = $(".tests", pair).querySelectorAll("tr");
    add(head.cells[0], el("span.unseen", "Metric"));
    head.cells[2].after(el("th.forest", { scope: "col" }, "worse · better"));
    rows.forEach((row, place) => {
      const metric = metricOf[tests[place].metric];
      refill(row.cells[0], metricName(metric));
      row.cells[2].after(el("td.forest", tests[place].mean !== null && forest(metric, tests[place], tests)));
      const outcomes = row.cells[5].textContent.split("/").map(Number);
      if (outcomes.length === 3) add(row.cells[5], outcomeBar(outcomes));
    });
    for (const name of pair.querySelectorAll(".differ tbody th"))
      refill(name, el("a", { href: addressOf(name.textContent) }, name.textContent));
  });
  choose(0);
  if (pairs.length > 1)
    pairs[0].before(el("div.controls", select(`Run, against ${found.baseline}`, [...names.entries()], 0, choose)));
}

// A difference with its interval about zero, better to the right; shares on one scale, every other metric on its own.
function forest(metric, test, tests) {
  const [width, height] = [170, 22];
  const alike = metric.share ? tests.filter((one) => metricOf[one.metric].share && one.mean !== null) : [test];
  const most = Math.max(...alike.flatMap((one) => [Math.abs(one.low), Math.abs(one.high)])) * 1.08 || 1;
  const turn = metric.direction === "down" ? -1 : 1;
  const scale = linear([-most, most], [4, width - 4]);
  const [a, b] = [scale(turn * test.low), scale(turn * test.high)].sort((x, y) => x - y);
  const kind = !metric.direction ? "neither" : a > width / 2 ? "better" : b < width / 2 ? "worse" : "neither";
  const mark = shape({ worse: 4, better: 2, neither: 0 }[kind], scale(turn * test.mean), height / 2, 4.5);
  const zero = svg("line.zero", { x1: width / 2, x2: width / 2, y1: 0, y2: height });
  return drawing(width, height, null, zero, whisker(kind, height / 2, a, Math.max(b, a + 1), mark));
}

function outcomeBar(outcomes) {
  const scale = linear([0, outcomes.reduce((sum, count) => sum + count, 0)], [0, 120]);
  let x = 0;
  const parts = outcomes.map((count, n) => {
    const part = svg("rect", { class: ["better", null, "worse"][n], x, width: scale(count), height: 7 });
    x += scale(count);
    return part;
  });
  return el("span.bar", drawing(120, 7, null, parts));
}
