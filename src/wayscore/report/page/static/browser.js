// The browser of episodes: what to list, in which order, and which one is open.

const browser = {
  state: {
    a: 0,
    b: null,
    metric: LEADING,
    of: "a",
    sort: "order",
    descending: false,
    text: "",
    scene: "",
    outcome: "",
    low: null,
    high: null,
  },
  row: null,

  start() {
    const { state } = this;
    const base = results.comparison ? results.runs.findIndex((run) => run.name === results.comparison.baseline) : 0;
    if (results.runs.length > 1) Object.assign(state, { a: base, b: base ? 0 : 1 });
    if (results.comparison) {
      Object.assign(state, { of: "difference", sort: "value" });
      const gains = Array.from({ length: data.count }, (_, row) => this.value(row)).some((value) => value > 0);
      state.descending = gains && metricOf[LEADING].direction !== "down";
    }
    this.list = new VirtualList(
      "Episodes",
      (row) => this.drawRow(row),
      (row) => this.show(row),
      (how) => this.opened(how),
    );
    this.detail = el("article", { class: "detail", "aria-labelledby": "episode-title" });
    this.controls = el("div", { class: "controls" });
    this.count = el("p", { class: "count", role: "status" });
    const filters = el(
      "details",
      { class: "filters", open: matchMedia("(min-width: 900px)").matches },
      el("summary", {}, "Filter and sort"),
      this.controls,
    );
    const limits = [
      data.total > data.count &&
        `The first ${grouped(data.count)} of ${counted(data.total)} are listed and in the figures; the means are over all.`,
      data.undrawn,
      data.runs.some((run) => run.averaged) &&
        "Scores of episodes with several answers are their mean; the walk that is drawn is the first.",
    ];
    this.wrap = el("div", { class: "browser" }, el("div", { class: "master" }, this.count, this.list.box), this.detail);
    add(
      $("#episodes"),
      limits.map((text) => text && el("p", { class: "note" }, text)),
      filters,
      this.wrap,
    );
    this.drawControls();
    this.update();
    addEventListener("hashchange", () => this.follow());
    if (!this.follow() && this.isWide() && this.list.items.length) this.show(this.list.items[0], { quiet: true });
  },

  // A click beside the open episode leaves the keys with the list.
  opened({ clicked = false } = {}) {
    if (!clicked || !this.isWide()) this.enter();
  },

  isWide: () => matchMedia("(min-width: 900px)").matches,
  runs() {
    return this.state.b === null ? [this.state.a] : [this.state.a, this.state.b];
  },

  // The number that an episode is sorted and filtered by.
  value(row) {
    const { a, b, metric, of } = this.state;
    const score = (run) => data.runs[run].scores[metric][row];
    if (of === "difference" && b !== null) return score(a) === score(b) ? 0 : score(b) - score(a);
    return score(of === "b" && b !== null ? b : a);
  },

  set(changes, redraw = false) {
    Object.assign(this.state, changes);
    if (redraw) this.drawControls();
    this.update();
  },

  drawControls() {
    const { state } = this;
    const [a, b] = [state.a, state.b].map((run) => results.runs[run]?.short);
    const metric = metricOf[state.metric];
    const search = el("input", {
      type: "search",
      id: "search",
      placeholder: "Episode or words of the instruction",
      value: state.text,
      autocomplete: "off",
      spellcheck: "false",
    });
    search.addEventListener("input", () => this.set({ text: search.value.trim().toLowerCase() }));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        this.list.to(0);
        this.list.box.focus();
      }
    });
    const bound = (key, label) => {
      const per = metric.share ? 100 : 1;
      const box = el("input", {
        type: "number",
        step: "any",
        "aria-label": label,
        placeholder: key === "low" ? "from" : "to",
        value: state[key] === null ? "" : Number((state[key] * per).toPrecision(6)),
      });
      box.addEventListener("input", () => this.set({ [key]: box.value === "" ? null : Number(box.value) / per }));
      return box;
    };
    const of = [
      ["a", a],
      ["b", b],
      ["difference", `${b} − ${a}`],
    ];
    const sorts = [
      ["order", "order of the file"],
      ["value", "this metric"],
      ...(data.length ? [["length", "reference length"]] : []),
      ["scan", "scan"],
    ];
    const outcomes =
      state.b === null
        ? [
            ["", "any"],
            ["1", "success"],
            ["0", "failure"],
          ]
        : [
            ["", "any"],
            ["11", "both succeed"],
            ["10", `only ${a} succeeds`],
            ["01", `only ${b} succeeds`],
            ["00", "both fail"],
          ];
    const everyRun = results.runs.map((run, n) => [n, run.name]);
    const order = el(
      "button",
      {
        type: "button",
        class: "order",
        title: "Turn the order round",
        "aria-label": state.descending ? "Descending order" : "Ascending order",
        on: { click: () => this.set({ descending: !this.state.descending }, true) },
      },
      state.descending ? "↓ descending" : "↑ ascending",
    );
    refill(
      this.controls,
      el("div", { class: "field wide" }, el("label", { for: "search" }, "Search"), search),
      results.runs.length > 1 && select("Run", everyRun, state.a, (value) => this.set({ a: Number(value) }, true)),
      results.runs.length > 1 &&
        select("beside", [["", "none"], ...everyRun], state.b ?? "", (value) =>
          this.set(value === "" ? { b: null, of: "a", outcome: "" } : { b: Number(value), outcome: "" }, true),
        ),
      data.scenes.length > 1 &&
        select("Scan", [["", "all"], ...data.scenes.map((scene) => [scene.name, scene.name])], state.scene, (scene) =>
          this.set({ scene }),
        ),
      SUCCESS && select("Outcome", outcomes, state.outcome, (outcome) => this.set({ outcome })),
      select(
        "Metric",
        metrics.map((one) => [one.symbol, one.symbol]),
        state.metric,
        (value) => this.set({ metric: value, low: null, high: null }, true),
      ),
      state.b !== null && select("of", of, state.of, (value) => this.set({ of: value, low: null, high: null }, true)),
      el(
        "fieldset",
        { class: "field range" },
        el("legend", {}, `${metric.symbol}${metric.unit ? `, ${metric.unit}` : ""}`),
        bound("low", `${metric.symbol} at least`),
        bound("high", `${metric.symbol} at most`),
      ),
      select("Sort by", sorts, state.sort, (sort) => this.set({ sort })),
      order,
      el(
        "button",
        {
          type: "button",
          class: "order",
          on: { click: () => this.set({ text: "", scene: "", outcome: "", low: null, high: null }, true) },
        },
        "Clear filters",
      ),
    );
  },

  update() {
    const { state } = this;
    const { a, b, text, scene, outcome, low, high } = state;
    const wanted = scene === "" ? -1 : data.scenes.findIndex(({ name }) => name === scene);
    const rows = [];
    for (let row = 0; row < data.count; row++) {
      if (!data.runs[a].has[row] && (b === null || !data.runs[b].has[row])) continue;
      if (wanted >= 0 && data.scene[row] !== wanted) continue;
      if (outcome && this.runs().some((run, n) => outcomeOf(run, row) !== Number(outcome[n]))) continue;
      if (low !== null && !(this.value(row) >= low)) continue;
      if (high !== null && !(this.value(row) <= high)) continue;
      if (text && !data.searchable(row).includes(text)) continue;
      rows.push(row);
    }
    const key = { value: (row) => this.value(row), length: (row) => data.length[row], scan: (row) => data.scene[row] }[
      state.sort
    ];
    const turn = state.descending ? -1 : 1;
    if (key) {
      const keys = new Map(rows.map((row) => [row, key(row)]));
      rows.sort((x, y) => {
        const [p, q] = [keys.get(x), keys.get(y)];
        if (Number.isNaN(p) || Number.isNaN(q)) return Number.isNaN(p) - Number.isNaN(q) || x - y;
        return p === q ? x - y : p < q ? -turn : turn;
      });
    } else if (state.descending) rows.reverse();
    this.list.show(rows, this.row);
    refill(
      this.count,
      el(
        "b",
        {},
        rows.length === data.count ? counted(data.count) : `${grouped(rows.length)} of ${counted(data.count)}`,
      ),
      this.meansOf(rows),
    );
    if (this.row !== null && this.shown !== this.runs().join()) this.show(this.row);
  },

  // The means of what is listed, for the metrics that matter most.
  meansOf(rows) {
    const symbols = [...new Set(["SR", "nDTW", this.state.metric])].filter((symbol) => symbol in metricOf);
    return symbols.map((symbol) =>
      el(
        "span",
        {},
        `${symbol} `,
        this.runs().map((run, n) => [
          n ? " / " : "",
          printed(metricOf[symbol], meanOf(data.runs[run].scores[symbol], rows).mean),
        ]),
      ),
    );
  },

  drawRow(row) {
    const { a, b, metric } = this.state;
    const [x, y] = this.runs().map((run) => data.runs[run].scores[metric][row]);
    const sign = (run) => {
      const outcome = outcomeOf(run, row);
      return outcome === null
        ? null
        : el(
            "span",
            { class: `sign ${outcome ? "success" : "failure"}`, title: outcome ? "success" : "failure" },
            outcome ? "✓" : "✗",
          );
    };
    const gain = x === y ? 0 : y - x;
    const direction = metricOf[metric].direction;
    const kind =
      !direction || !gain || Number.isNaN(gain) ? "" : gain > 0 === (direction === "up") ? "better" : "worse";
    return [
      el("span", { class: "id" }, data.id[row]),
      el("span", { class: "scan" }, data.scenes[data.scene[row]].name),
      el(
        "span",
        { class: "values" },
        b === null && el("span", { class: "what" }, `${metric} `),
        el("span", { class: `run-${a % 7}` }, sign(a), b !== null && runMark(a), printed(metricOf[metric], x)),
        b !== null && el("span", { class: `run-${b % 7}` }, sign(b), runMark(b), printed(metricOf[metric], y)),
        b !== null && el("span", { class: `gain ${kind}` }, printed(metricOf[metric], gain, true)),
      ),
      el("span", { class: "words" }, data.instruction[row]),
    ];
  },

  show(row, { quiet = false } = {}) {
    this.row = row;
    this.shown = this.runs().join();
    showEpisode(row, this.runs(), this.detail);
    const place = this.list.items.indexOf(row);
    if (place !== this.list.place) {
      this.list.place = place;
      this.list.render();
    }
    if (quiet) return;
    clearTimeout(this.writing); // browsers refuse hundreds of new addresses a minute
    this.writing = setTimeout(
      () => history.replaceState(null, "", `#episode=${encodeURIComponent(data.id[row])}`),
      120,
    );
  },

  // Open an episode from anywhere on the page.
  open(row, { jump = false } = {}) {
    this.show(row);
    const place = this.list.items.indexOf(row);
    if (place >= 0) {
      this.list.place = place;
      this.list.box.scrollTop = Math.max(0, place * ROW - this.list.box.clientHeight / 3);
      this.list.render();
    }
    this.enter(jump);
  },

  enter(jump = true) {
    if (this.row === null) return;
    this.wrap.classList.add("open");
    if (jump) (this.isWide() ? this.wrap : this.detail).scrollIntoView({ block: "start", behavior: "instant" });
    $("#episode-title").focus({ preventScroll: true });
  },

  close() {
    this.wrap.classList.remove("open");
    clearTimeout(this.writing);
    history.replaceState(null, "", "#episodes");
    this.list.render();
    this.list.box.focus({ preventScroll: this.isWide() });
  },

  move(by) {
    this.list.move(by);
  },

  // The episode that the address names.
  follow() {
    const row = data.rowOf.get(new URLSearchParams(location.hash.slice(1)).get("episode"));
    if (row === undefined) return false;
    this.open(row, { jump: true });
    return true;
  },

  showRange(metric, low, high, run) {
    const b = this.state.b === run ? this.state.a : this.state.b;
    const cleared = { text: "", scene: "", outcome: "" };
    this.set({ a: run, b, metric, low, high, of: "a", sort: "value", descending: false, ...cleared }, true);
    this.jump();
  },

  showScene(scene) {
    this.set({ scene, text: "", outcome: "", low: null, high: null }, true);
    this.jump();
  },

  jump() {
    this.wrap.classList.remove("open");
    $("#episodes").scrollIntoView({ behavior: "instant" });
    this.list.box.focus({ preventScroll: true });
  },
};
