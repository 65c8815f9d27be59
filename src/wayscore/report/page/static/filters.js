// The controls above the list of episodes: what it shows, in which order, and which episodes.

const NO_FILTERS = { text: "", scene: "", outcome: "", low: null, high: null };

// The controls for the browser's state. set(changes, true) also draws the controls again, for others depend on these.
function controlsOf(state, set, enter) {
  const metric = metricOf[state.metric];
  const two = state.b !== null;
  const [a, b] = [state.a, state.b].map((run) => results.runs[run]?.short);
  const runs = results.runs.map((run, n) => [n, run.name]);
  const other = (value) =>
    set(value === "" ? { b: null, of: "a", outcome: "" } : { b: Number(value), outcome: "" }, true);
  const gain = `${b} minus ${a}`;
  const change = (key, more = {}) => (value) => set({ [key]: value, ...more }, true);
  const noLimits = { low: null, high: null };
  const symbols = metrics.map(({ symbol }) => [symbol, symbol]);
  const values = [["a", a], ["b", b], ["difference", gain]];
  const length = data.length && ["length", "reference length"];
  const sorts = [["order", "order in the file"], ["value", two ? "this value" : "this metric"], length, ["scan", "scan"]];
  const search = el("input", {
    type: "search",
    id: "search",
    value: state.text,
    autocomplete: "off",
    spellcheck: "false",
    input: () => set({ text: search.value.trim().toLowerCase() }),
    keydown: (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      enter();
    },
  });
  const any = [["", "any"]];
  const outcomes = two
    ? [["11", "both succeed"], ["10", `only ${a} succeeds`], ["01", `only ${b} succeeds`], ["00", "both fail"]]
    : [["1", "success"], ["0", "failure"]];
  const scenes = data.scenes.map(({ name }) => [name, name]);
  const order = state.descending ? "Descending order" : "Ascending order";
  // Limits of what the list is sorted and filtered by: a metric of a run, or its difference between two.
  const per = metric.share ? 100 : 1;
  const limit = (key, label) => {
    const box = el("input", {
      type: "number",
      step: "any",
      "aria-label": `${metric.symbol} ${label}`,
      value: state[key] === null ? "" : Number((state[key] * per).toPrecision(6)),
      input: () => set({ [key]: box.value === "" ? null : Number(box.value) / per }),
    });
    return box;
  };
  const limited = two ? `${metric.symbol} of ${{ a, b, difference: gain }[state.of]}` : metric.symbol;
  const legend = el("legend", `${limited} is between${metric.unit ? ` (${metric.unit})` : ""}`);
  const undefinedOnes = undefinedIn([metric], browser.runs());
  const group = (title, ...controls) => el("fieldset.group", el("legend", title), el("div.controls", controls));
  return [
    group("The list shows",
      runs.length > 1 && select("run", runs, state.a, (value) => set({ a: Number(value) }, true)),
      runs.length > 1 && select("compared with", [["", "no other run"], ...runs], state.b ?? "", other),
      select("metric", symbols, state.metric, change("metric", noLimits)),
      two && select("value to sort and filter by", values, state.of, change("of", noLimits)),
      select("sorted by", sorts.filter(Boolean), state.sort, change("sort")),
      el("button.order",
        { title: "Reverse the order", "aria-label": order, click: () => set({ descending: !state.descending }, true) },
        state.descending ? "↓ descending" : "↑ ascending",
      ),
    ),
    group("Show only episodes where",
      el("div.field.wide", el("label", { for: "search" }, "the ID or the instruction contains"), search),
      scenes.length > 1 && select("the scan is", any.concat(scenes), state.scene, change("scene")),
      metricOf.SR && select("the outcome is", any.concat(outcomes), state.outcome, change("outcome")),
      el("fieldset.field.range", legend, limit("low", "at least"), " and ", limit("high", "at most")),
      el("button.order", { click: () => set({ ...NO_FILTERS }, true) }, "Clear filters"),
      undefinedOnes && el("p.note", `No ${metric.symbol}: ${undefinedOnes}. Limits hide these episodes.`),
    ),
  ];
}
