// Tests of each run against the baseline, and the episodes in which the two differ most.

function showComparison() {
  const found = results.comparison;
  if (!found) return;
  const section = $("#comparison");
  section.hidden = $('nav a[href="#comparison"]').hidden = false;
  const base = results.runs.findIndex((run) => run.name === found.baseline);
  const pairs = found.others.map((other, n) => {
    const run = results.runs.findIndex(({ name }) => name === other.run);
    return el(
      "div",
      { class: "contrast", hidden: n > 0, "data-run": run, "data-base": base },
      el("h3", {}, runName(run, true), el("span", { class: "minus" }, "minus"), runName(base, true)),
      scrolling(`${other.run} minus ${found.baseline}`, testsTable(other)),
      el("div", { class: "differ" }, examples(other, run, base)),
      el("div", { class: "against" }),
    );
  });
  const choose = (wanted) => {
    pairs.forEach((pair, n) => (pair.hidden = n !== Number(wanted)));
    if (data) browser.set({ a: base, b: Number(pairs[wanted].dataset.run), outcome: "" }, true); // the list follows
  };
  const names = found.others.map((other, n) => [n, other.run]);
  add(
    section,
    pairs.length > 1 && el("div", { class: "controls" }, select(`Run, against ${found.baseline}`, names, 0, choose)),
    pairs,
    el(
      "p",
      { class: "note" },
      `${found.method} P(better): chance to do better in an episode, a tie counts half. d_z: mean difference in `,
      "standard deviations of the differences.",
      found.others.some(({ tests }) => tests.some((test) => test.left_out)) &&
        " Unreachable or undefined episodes are left out of the difference, its interval, p and d_z; in wins, ties " +
          "and losses an undefined value loses against a defined one.",
      found.left_out > 0 && ` ${counted(found.left_out)} that not all runs have are left out.`,
    ),
  );
}

function testsTable(other) {
  const run = results.runs.findIndex(({ name }) => name === other.run);
  const heads = [
    ["Metric", "", "Unit, and whether more (↑) or less (↓) is better"],
    ["Difference", "number", "Mean over the episodes of this run minus the baseline"],
    ["95 % interval", "number", "Of the mean difference, from the paired bootstrap"],
    ["worse · better", "forest", "The difference with its interval; the dashed line is no difference"],
    ["p (Holm)", "number", "Chance of a difference this large if the two were equally good, corrected for all tests"],
    ["Win · tie · loss", "outcomes", "Number of episodes in which this run is better, equal and worse"],
    ["P(better)", "number", "Chance that this run does better in an episode; a tie counts half"],
    ["d_z", "number", "Mean difference in standard deviations of the differences"],
  ];
  return el(
    "table",
    { class: "tests" },
    el("caption", { class: "unseen" }, "Differences and tests"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        heads.map(([text, kind, title]) => el("th", { scope: "col", class: kind, title }, text)),
      ),
    ),
    el(
      "tbody",
      {},
      other.tests.map((test) => {
        const metric = metricOf[test.metric];
        const sure = test.mark;
        return el(
          "tr",
          {},
          el("th", { scope: "row" }, metricName(metric)),
          el(
            "td",
            { class: "number" },
            el(sure ? "strong" : "span", {}, minus(test.text)),
            test.left_out > 0 && el("span", { class: "left-out" }, leftOut(run, metric, test.left_out)),
          ),
          el("td", { class: "number interval" }, minus(test.interval) || "–"),
          el("td", { class: "forest" }, test.mean !== null && forest(metric, test, other.tests)),
          el("td", { class: "number" }, minus(test.p_text), el("span", { class: "stars" }, sure)),
          el("td", { class: "outcomes" }, test.outcomes && outcomeBar(test.outcomes)),
          el("td", { class: "number" }, test.superiority === null ? "–" : test.superiority.toFixed(3)),
          el("td", { class: "number" }, minus(test.effect)),
        );
      }),
    ),
  );
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
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    svg("line", { class: "zero", x1: width / 2, x2: width / 2, y1: 0, y2: height }),
    svg(
      "g",
      { class: `effect ${kind}` },
      svg("line", { x1: a, x2: Math.max(b, a + 1), y1: height / 2, y2: height / 2 }),
      svg("path", {
        d: shape(kind === "worse" ? 4 : kind === "better" ? 2 : 0, scale(turn * test.mean), height / 2, 4.5),
      }),
    ),
  );
}

function outcomeBar([wins, ties, losses]) {
  const [all, width] = [wins + ties + losses || 1, 120];
  let x = 0;
  const parts = [
    ["better", wins],
    ["", ties],
    ["worse", losses],
  ].map(([kind, count]) => {
    const part = svg("rect", { class: kind, x, y: 0, width: (width * count) / all, height: 7 });
    x += (width * count) / all;
    return part;
  });
  return [
    el("span", { class: "counts" }, `${grouped(wins)} · ${grouped(ties)} · ${grouped(losses)}`),
    svg("svg", { class: "bar", width, height: 7, viewBox: `0 0 ${width} 7`, "aria-hidden": "true" }, parts),
  ];
}

function examples(other, run, base) {
  const metric = metricOf[results.comparison.metric];
  const sides = metric.direction ? ["gains most", "loses most"] : ["is most above", "is most below"];
  return [other.better, other.worse].map(
    (rows, side) =>
      rows.length > 0 &&
      el(
        "div",
        { class: "card" },
        el("h4", {}, `Where ${results.runs[run].short} ${sides[side]}, ${metric.head}`),
        el(
          "table",
          { class: "examples" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("th", { scope: "col" }, "Episode"),
              el("th", { scope: "col" }, "Scan"),
              [base, run].map((n) => el("th", { scope: "col", class: "number" }, runName(n))),
              el("th", { scope: "col", class: "number" }, "Difference"),
            ),
          ),
          el(
            "tbody",
            {},
            rows.map((row) =>
              el(
                "tr",
                {},
                el("td", {}, el("a", { href: `#episode=${encodeURIComponent(row.episode)}` }, row.episode)),
                el("td", { class: "scan" }, row.scene),
                el("td", { class: "number" }, minus(row.baseline)),
                el("td", { class: "number" }, minus(row.run)),
                el("td", { class: "number" }, el("strong", {}, minus(row.difference))),
              ),
            ),
          ),
        ),
      ),
  );
}

// Every episode by its score in both runs.
function showAgainst() {
  const metric = metricOf[LEADING];
  const domain = domainOf(metric);
  for (const place of document.querySelectorAll("#comparison [data-run]")) {
    const [run, base] = [Number(place.dataset.run), Number(place.dataset.base)];
    const title = (n) => `${metric.symbol} of ${results.runs[n].short}${metric.unit ? `, ${metric.unit}` : ""}`;
    const value = (n) => (_, row) => data.runs[n].scores[LEADING][row];
    const marks = (ax, ay) => {
      const [low, high] = [domain.low, domain.high];
      return svg("line", { class: "threshold", x1: ax(low), y1: ay(low), x2: ax(high), y2: ay(high) });
    };
    add(
      $(".against", place),
      folded(
        `Scatter plot: ${metric.symbol} of every episode in both runs`,
        [
          "One mark per episode. On the diagonal the two runs are equal.",
          el("span", { class: "screen" }, " Click a mark to open its episode."),
        ],
        responsive((width) =>
          cloud({
            width,
            height: Math.min(430, Math.max(280, width * 0.8)),
            runs: [run],
            x: { metric, domain, title: title(base), value: value(base) },
            y: { metric, domain, title: title(run), value: value(run) },
            label: `Episodes by ${metric.name} in both runs`,
            marks,
          }),
        ),
        undefinedNote([metric], [base, run]),
      ),
    );
  }
}
