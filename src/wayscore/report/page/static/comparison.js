// The tables of a comparison, as Python wrote them, with drawings of differences and links to episodes.

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
    head.cells[2].after(el("th.forest", { scope: "col" }, "worse · better"));
    rows.forEach((row, place) => {
      const metric = metricOf[tests[place].metric];
      refill(row.cells[0], metricName(metric));
      row.cells[2].after(el("td.forest", tests[place].mean !== null && forest(metric, tests[place], tests)));
      const outcomes = row.cells[5].textContent.split("/").map(Number);
      if (outcomes.length === 3) add(row.cells[5], outcomeBar(outcomes));
    });
    for (const name of pair.querySelectorAll(".differ tbody th"))
      refill(name, el("a", { href: `#episode=${encodeURIComponent(name.textContent)}` }, name.textContent));
  });
  choose(0);
  const chooser = () => select(`Run, against ${found.baseline}`, [...names.entries()], 0, choose);
  if (pairs.length > 1) pairs[0].before(el("div.controls", chooser()));
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
  const all = outcomes.reduce((sum, count) => sum + count, 0) || 1;
  let x = 0;
  const parts = outcomes.map((count, n) => {
    const width = (120 * count) / all;
    x += width;
    return svg("rect", { class: ["better", null, "worse"][n], x: x - width, width, height: 7 });
  });
  return el("span.bar", drawing(120, 7, null, parts));
}
