// Tests of each run against the baseline, and the episodes in which the two differ most.

function showComparison() {
  const found = results.comparison;
  if (!found) return;
  showSection("comparison", true);
  const numberOf = (name) => results.runs.findIndex((run) => run.name === name);
  const base = numberOf(found.baseline);
  const pairs = found.others.map((other, n) => {
    const run = numberOf(other.run);
    return el(
      "div.contrast",
      { hidden: n > 0, "data-run": run, "data-base": base },
      el("h3", runName(run, true), el("span.minus", "minus"), runName(base, true)),
      scrolling(`${other.run} minus ${found.baseline}`, testsTable(other, run)),
      el("div.differ", examples(other, run, base)),
      el("div.against"),
    );
  });
  const choose = (wanted) => {
    pairs.forEach((pair, n) => (pair.hidden = n !== Number(wanted)));
    if (data) browser.set({ a: base, b: Number(pairs[wanted].dataset.run), outcome: "" }, true); // the list follows
  };
  const names = found.others.map((other, n) => [n, other.run]);
  add(
    $("#comparison"),
    pairs.length > 1 && el("div.controls", select(`Run, against ${found.baseline}`, names, 0, choose)),
    pairs,
    el(
      "p.note",
      `${found.method} P(better): chance to do better in an episode, a tie counts half. d_z: mean difference in `,
      "standard deviations of the differences.",
      found.others.some(({ tests }) => tests.some((test) => test.left_out)) &&
        " Unreachable or undefined episodes are left out of the difference, its interval, p and d_z; in wins, ties " +
          "and losses an undefined value loses against a defined one.",
      found.left_out > 0 && ` ${counted(found.left_out)} that not all runs have are left out.`,
    ),
  );
}

function testsTable({ tests }, run) {
  const heads = [
    ["Metric", "", "Unit, and whether more (↑) or less (↓) is better"],
    ["Difference", "number", "Mean over the episodes of this run minus the baseline"],
    ["95 % interval", "number interval", "Of the mean difference, from the paired bootstrap"],
    ["worse · better", "forest", "The difference with its interval; the dashed line is no difference"],
    ["p (Holm)", "number", "Chance of a difference this large if the two were equally good, corrected for all tests"],
    ["Win · tie · loss", "", "Number of episodes in which this run is better, equal and worse"],
    ["P(better)", "number", "Chance that this run does better in an episode; a tie counts half"],
    ["d_z", "number", "Mean difference in standard deviations of the differences"],
  ];
  const row = (test) => {
    const metric = metricOf[test.metric];
    const left = test.left_out > 0 && el("span.left-out", leftOut(run, metric, test.left_out));
    return [
      metricName(metric),
      [el(test.mark ? "strong" : "span", minus(test.text)), left],
      minus(test.interval) || "–",
      test.mean !== null && forest(metric, test, tests),
      [minus(test.p_text), el("span.stars", test.mark)],
      test.outcomes && outcomeBar(test.outcomes),
      test.superiority === null ? "–" : test.superiority.toFixed(3),
      minus(test.effect),
    ];
  };
  return table("tests", null, heads, tests.map(row));
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
  const width = 120;
  const all = outcomes.reduce((sum, count) => sum + count, 0) || 1;
  let x = 0;
  const bar = drawing(width, 7, null, outcomes.map((count, n) => {
    const part = svg("rect", { class: ["better", null, "worse"][n], x, width: (width * count) / all, height: 7 });
    x += (width * count) / all;
    return part;
  }));
  bar.classList.add("bar");
  return [el("span.counts", outcomes.map(grouped).join(" · ")), bar];
}

function examples(other, run, base) {
  const metric = metricOf[results.comparison.metric];
  const sides = metric.direction ? ["gains most", "loses most"] : ["is most above", "is most below"];
  return [other.better, other.worse].map((rows, side) => {
    if (!rows.length) return null;
    const cells = rows.map((row) => [
      el("td", el("a", { href: `#episode=${encodeURIComponent(row.episode)}` }, row.episode)),
      row.scene,
      minus(row.baseline),
      minus(row.run),
      el("strong", minus(row.difference)),
    ]);
    const runs = [base, run].map((n) => [runName(n), "number"]);
    return el(
      "div.card",
      el("h4", `Where ${results.runs[run].short} ${sides[side]}, ${metric.head}`),
      table("examples", null, [["Episode"], ["Scan", "scan"], ...runs, ["Difference", "number"]], cells),
    );
  });
}
