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
  return group(
    "The list shows",
    results.runs.length > 1 && select("run", everyRun, state.a, (value) => set({ a: Number(value) }, true)),
    results.runs.length > 1 &&
      select("compared with", [["", "no other run"], ...everyRun], state.b ?? "", (value) =>
        set(value === "" ? { b: null, of: "a", outcome: "" } : { b: Number(value), outcome: "" }, true),
      ),
    select(
      "metric",
      metrics.map((one) => [one.symbol, one.symbol]),
      state.metric,
      (metric) => set({ metric, low: null, high: null }, true),
    ),
    two &&
      select(
        "value to sort and filter by",
        [
          ["a", a],
          ["b", b],
          ["difference", `${b} minus ${a}`],
        ],
        state.of,
        (of) => set({ of, low: null, high: null }, true),
      ),
    select("sorted by", sorts, state.sort, (sort) => set({ sort })),
    el(
      "button",
      {
        type: "button",
        class: "order",
        title: "Reverse the order",
        "aria-label": state.descending ? "Descending order" : "Ascending order",
        on: { click: () => set({ descending: !state.descending }, true) },
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
    on: { input: () => set({ text: search.value.trim().toLowerCase() }) },
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    enter();
  });
  const outcomes =
    state.b === null
      ? [
          ["1", "success"],
          ["0", "failure"],
        ]
      : [
          ["11", "both succeed"],
          ["10", `only ${a} succeeds`],
          ["01", `only ${b} succeeds`],
          ["00", "both fail"],
        ];
  const scenes = data.scenes.map(({ name }) => [name, name]);
  const any = [["", "any"]];
  return group(
    "Show only episodes where",
    el("div", { class: "field wide" }, el("label", { for: "search" }, "the ID or the instruction contains"), search),
    scenes.length > 1 && select("the scan is", any.concat(scenes), state.scene, (scene) => set({ scene })),
    SUCCESS && select("the outcome is", any.concat(outcomes), state.outcome, (outcome) => set({ outcome })),
    rangeOf(metric, valueName(state), state, set),
    el(
      "button",
      { type: "button", class: "order", on: { click: () => set({ ...NO_FILTERS }, true) } },
      "Clear filters",
    ),
    undefinedHint(state, metric),
  );
}

// What the list is sorted and filtered by: a metric of a run, or its difference between two.
function valueName({ a, b, of, metric }) {
  if (b === null) return metric;
  const [first, second] = [a, b].map((run) => results.runs[run].short);
  return of === "difference" ? `${metric} of ${second} minus ${first}` : `${metric} of ${of === "a" ? first : second}`;
}

function rangeOf(metric, name, state, set) {
  const per = metric.share ? 100 : 1;
  const bound = (key, label) => {
    const box = el("input", {
      type: "number",
      step: "any",
      "aria-label": `${metric.symbol} ${label}`,
      value: state[key] === null ? "" : Number((state[key] * per).toPrecision(6)),
      on: { input: () => set({ [key]: box.value === "" ? null : Number(box.value) / per }) },
    });
    return box;
  };
  return el(
    "fieldset",
    { class: "field range" },
    el("legend", {}, `${name} is between${metric.unit ? ` (${metric.unit})` : ""}`),
    bound("low", "at least"),
    " and ",
    bound("high", "at most"),
  );
}

// Undefined values are neither high nor low: limits hide their episodes.
function undefinedHint(state, metric) {
  const runs = state.b === null ? [state.a] : [state.a, state.b];
  const counts = runs.map((run) => {
    const left = meanOf(data.runs[run].scores[metric.symbol], data.runs[run].has.keys()).left;
    return left && `${runs.length > 1 ? `${results.runs[run].short} ` : ""}${leftOut(run, metric, left).slice(1, -1)}`;
  });
  const found = counts.filter(Boolean).join(", ");
  return found && el("p", { class: "note" }, `No ${metric.symbol}: ${found}. Limits hide these episodes.`);
}

const group = (legend, ...children) =>
  el("fieldset", { class: "group" }, el("legend", {}, legend), el("div", { class: "controls" }, ...children));
