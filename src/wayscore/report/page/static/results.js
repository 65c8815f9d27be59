// The tables of means, as Python wrote them: names of runs and metrics get their marks, intervals are drawn.

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
  const [width, line] = [150, 9];
  const scale = linear(metric.share ? [0, 1] : ends, [6, width - 6]);
  const height = line * found.length + 4;
  const marks = found.map(({ mean, low, high }, run) => {
    const y = line * run + line / 2 + 2;
    const mark = shape(run, scale(mean), y, 3);
    return mean !== null && whisker(`run-${run % 7}`, y, scale(low), scale(high), mark);
  });
  const track = metric.share && svg("rect.track", { x: 6, width: width - 12, height, rx: 2 });
  return drawing(width, height, null, track, marks);
}
