// The controls above the list of episodes: what it shows, in which order, and which episodes.

const NO_FILTERS = { text: "", scene: "", outcome: "", low: null, high: null };

// Draw the controls for the browser's state; `set` changes it, and draws them again where others depend on it.
function listControls(state, set) {
  const [a, b] = [state.a, state.b].map((run) => results.runs[run]?.short);
  const everyRun = results.runs.map((run, n) => [n, run.name]);
  const two = state.b !== null;
  const sorts = [
    ["order", "order in the file"],
    ["value", two ? "this value" : "this metric"],
    ...(data.length ? [["length", "reference length"]] : []),
    ["scan", "scan"],
  ];
  const several = results.runs.length > 1;
  const others = [["", "no other run"], ...everyRun];
  const other = (value) =>
    set(value === "" ? { b: null, of: "a", outcome: "" } : { b: Number(value), outcome: "" }, true);
  const values = [["a", a], ["b", b], ["difference", `${b} minus ${a}`]];
  const reset = { low: null, high: null };
  const symbols = metrics.map(({ symbol }) => [symbol, symbol]);
  return group(
    "The list shows",
    several && select("run", everyRun, state.a, (value) => set({ a: Number(value) }, true)),
    several && select("compared with", others, state.b ?? "", other),
    select("metric", symbols, state.metric, (metric) => set({ metric, ...reset }, true)),
    two && select("value to sort and filter by", values, state.of, (of) => set({ of, ...reset }, true)),
    select("sorted by", sorts, state.sort, (sort) => set({ sort })),
    el(
      "button.order",
      {
        title: "Reverse the order",
        "aria-label": state.descending ? "Descending order" : "Ascending order",
        click: () => set({ descending: !state.descending }, true),
      },
      state.descending ? "↓ descending" : "↑ ascending",
    ),
  );
}

function filterControls(state, set, enter) {
  const [a, b] = [state.a, state.b].map((run) => results.runs[run]?.short);
  const metric = metricOf[state.metric];
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
  const one = [["1", "success"], ["0", "failure"]];
  const only = [["10", `only ${a} succeeds`], ["01", `only ${b} succeeds`]];
  const outcomes = state.b === null ? one : [["11", "both succeed"], ...only, ["00", "both fail"]];
  const scenes = data.scenes.map(({ name }) => [name, name]);
  const any = [["", "any"]];
  const none = undefinedIn([metric], state.b === null ? [state.a] : [state.a, state.b]);
  return group(
    "Show only episodes where",
    el("div.field.wide", el("label", { for: "search" }, "the ID or the instruction contains"), search),
    scenes.length > 1 && select("the scan is", any.concat(scenes), state.scene, (scene) => set({ scene })),
    SUCCESS && select("the outcome is", any.concat(outcomes), state.outcome, (outcome) => set({ outcome })),
    rangeOf(metric, state, set, a, b),
    el("button.order", { click: () => set({ ...NO_FILTERS }, true) }, "Clear filters"),
    none && el("p.note", `No ${metric.symbol}: ${none}. Limits hide these episodes.`), // neither high nor low
  );
}

// Limits of what the list is sorted and filtered by: a metric of a run, or its difference between two.
function rangeOf(metric, state, set, a, b) {
  const whose = { a, b, difference: `${b} minus ${a}` }[state.of];
  const name = state.b === null ? metric.symbol : `${metric.symbol} of ${whose}`;
  const per = metric.share ? 100 : 1;
  const bound = (key, label) => {
    const box = el("input", {
      type: "number",
      step: "any",
      "aria-label": `${metric.symbol} ${label}`,
      value: state[key] === null ? "" : Number((state[key] * per).toPrecision(6)),
      input: () => set({ [key]: box.value === "" ? null : Number(box.value) / per }),
    });
    return box;
  };
  const legend = `${name} is between${metric.unit ? ` (${metric.unit})` : ""}`;
  return el("fieldset.field.range", el("legend", legend), bound("low", "at least"), " and ", bound("high", "at most"));
}

const group = (legend, ...children) =>
  el("fieldset.group", el("legend", legend), el("div.controls", ...children));
