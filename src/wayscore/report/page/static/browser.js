// The browser of episodes: what to list, in which order, and which one is open.

const browser = {
  state: { a: 0, b: null, metric: LEADING, of: "a", sort: "order", descending: false, ...NO_FILTERS },
  row: null,

  start() {
    const { state } = this;
    const base = results.comparison ? results.runs.findIndex((run) => run.name === results.comparison.baseline) : 0;
    if (results.runs.length > 1) Object.assign(state, { a: base, b: base ? 0 : 1 });
    if (results.comparison) {
      Object.assign(state, { of: "difference", sort: "value" });
      const gains = data.id.some((_, row) => this.value(row) > 0);
      state.descending = gains && metricOf[LEADING].direction !== "down";
    }
    const opened = (clicked) => (!clicked || !this.isWide()) && this.enter(); // a click leaves the keys with the list
    this.list = new List("Episodes", (row) => this.drawRow(row), (row) => this.show(row), opened);
    this.detail = el("article.detail", { "aria-labelledby": "episode-title" });
    this.controls = el("div");
    this.count = el("p.count", { role: "status" });
    this.head = el("div.row-head");
    this.wrap = el("div.browser.card", el("div.master", this.count, this.head, this.list.box), this.detail);
    const about = "Each episode compares a query (your agent's trajectory) with its reference (the ground-truth path).";
    const first = `The first ${grouped(data.count)} of ${counted(data.total)} are listed and in the figures`;
    const several = "Scores of episodes with several predictions are means; the first prediction is drawn.";
    add($("#episodes"),
      el("p.lead", about),
      data.total > data.count && el("p.note", `${first}; the means are over all.`),
      data.undrawn && el("p.note", data.undrawn),
      data.runs.some((run) => run.averaged) && el("p.note", several),
      el("details.filters", { open: this.isWide() }, el("summary", "Filter and sort"), this.controls),
      this.wrap,
    );
    this.set({}, true);
    addEventListener("hashchange", () => this.follow());
    if (!this.follow() && this.isWide() && this.list.items.length) this.show(this.list.items[0], { quiet: true });
  },

  isWide: () => matchMedia("(min-width: 900px)").matches,
  runs() {
    return this.state.b === null ? [this.state.a] : [this.state.a, this.state.b];
  },

  // The number that an episode is sorted and filtered by; NaN or infinite where it is undefined.
  value(row) {
    const { a, b, metric, of } = this.state;
    const score = (run) => data.runs[run].scores[metric][row];
    if (of === "difference" && b !== null) return score(b) - score(a);
    return score(of === "b" && b !== null ? b : a);
  },

  set(changes, redraw = false) {
    Object.assign(this.state, changes);
    if (redraw) this.drawControls();
    this.update();
  },

  drawControls() {
    const enter = () => {
      this.list.to(0);
      this.list.box.focus();
    };
    const fields = () => [...this.controls.querySelectorAll("select, input, button")];
    const place = fields().indexOf(document.activeElement); // it keeps the focus
    refill(this.controls, controlsOf(this.state, (...changes) => this.set(...changes), enter));
    fields()[place]?.focus();
  },

  // List the episodes that the filters leave, in the chosen order.
  update() {
    const { a, b, text, scene, outcome, low, high, sort, descending } = this.state;
    const isListed = (row) => {
      if (!this.runs().some((run) => data.runs[run].has[row])) return false;
      if (scene && data.groups.scan[row] !== scene) return false;
      if (outcome && this.runs().some((run, n) => outcomeOf(run, row) !== Number(outcome[n]))) return false;
      if (text && !data.searchable[row].includes(text)) return false;
      if (low === null && high === null) return true;
      const value = this.value(row);
      return Number.isFinite(value) && value >= (low ?? -Infinity) && value <= (high ?? Infinity);
    };
    const rows = [...data.id.keys()].filter(isListed);
    const column = { order: [...data.id.keys()], length: data.length, scan: data.scene }[sort];
    const keys = new Map(rows.map((row) => [row, column ? column[row] : this.value(row)]));
    const turn = descending ? -1 : 1;
    rows.sort((x, y) => {
      const [p, q] = [keys.get(x), keys.get(y)];
      if (!isFinite(p) || !isFinite(q)) return isFinite(q) - isFinite(p) || x - y; // undefined values come last
      return p === q ? x - y : p < q ? -turn : turn;
    });
    this.wrap.classList.toggle("two", b !== null);
    this.list.show(rows, this.row);
    this.drawHead();
    const some = rows.length === data.count ? "" : `${grouped(rows.length)} of `;
    refill(this.count, el("b", some + counted(data.count)), this.meansOf(rows));
    if (this.row !== null && this.shown !== this.runs().join()) this.show(this.row);
  },

  // The means of what is listed, for the metrics that matter most.
  meansOf(rows) {
    const symbols = [...new Set(["SR", "nDTW", this.state.metric])].filter((symbol) => symbol in metricOf);
    return symbols.map((symbol) => {
      const means = this.runs().map((run) => {
        const { mean, left } = meanOf(data.runs[run].scores[symbol], rows);
        return `${printed(metricOf[symbol], mean)} ${leftOut(run, metricOf[symbol], left)}`.trim();
      });
      return el("span", `${symbol} ${means.join(" / ")}`);
    });
  },

  // What the columns are, with more words where someone points at them.
  drawHead() {
    const metric = metricOf[this.state.metric];
    const [first, second] = this.runs().map((run) => results.runs[run]);
    const name = [metric.symbol, metric.unit, metric.arrow].filter(Boolean).join(" ");
    const value = (run) => {
      const title = `${metric.name} of ${results.runs[run].name}; ✓ is a success, ✗ a failure`;
      return el("span", { title }, second ? runName(run) : name);
    };
    refill(this.head,
      el("span", { title: "ID of the episode in the references; the instruction is below it" }, "Episode"),
      el("span", { title: "The building or scene in which the episode takes place" }, "Scan"),
      el("span.values",
        this.runs().map(value),
        second && el("span", { title: `${metric.symbol} of ${second.name} minus ${first.name}` }, "difference"),
      ),
    );
  },

  drawRow(row) {
    const metric = metricOf[this.state.metric];
    const [x, y] = this.runs().map((run) => data.runs[run].scores[metric.symbol][row]);
    const value = (run, n) => {
      const [score, outcome] = [[x, y][n], outcomeOf(run, row)];
      const sign = { class: outcome ? "better" : "worse", title: outcome ? "success" : "failure" };
      return el("span",
        outcome !== null && el("span.sign", sign, outcome ? "✓" : "✗"),
        el("span", { title: score === Infinity && whyUndefined(run, metric) }, printed(metric, score)),
      );
    };
    const gain = y !== undefined && el("span.gain", { class: gainOf(metric, y - x) }, printed(metric, y - x, true));
    return [
      el("span.id", data.id[row]),
      el("span.scan", data.groups.scan[row]),
      el("span.values", this.runs().map(value), gain),
      el("span.words", data.instruction[row]),
    ];
  },

  show(row, { quiet = false } = {}) {
    this.row = row;
    this.shown = this.runs().join();
    showEpisode(row, this.runs(), this.detail);
    const place = this.list.items.indexOf(row);
    if (place !== this.list.place) this.list.mark(place, 1 / 3);
    if (quiet) return;
    clearTimeout(this.writing); // browsers refuse hundreds of new addresses a minute
    this.writing = setTimeout(() => history.replaceState(null, "", addressOf(data.id[row])), 120);
  },

  // Open an episode from anywhere on the page.
  open(row) {
    this.show(row);
    this.enter();
  },

  enter() {
    if (this.row === null) return;
    this.wrap.classList.add("open");
    (this.isWide() ? this.wrap : this.detail).scrollIntoView({ block: "start", behavior: "instant" });
    $("#episode-title").focus({ preventScroll: true });
  },

  close() {
    this.wrap.classList.remove("open");
    clearTimeout(this.writing);
    history.replaceState(null, "", "#episodes");
    this.list.mark(this.list.place, 1 / 3);
    this.list.box.focus({ preventScroll: this.isWide() });
  },

  // The episode that the address names.
  follow() {
    const row = data.rowOf.get(new URLSearchParams(location.hash.slice(1)).get("episode"));
    if (row === undefined) return false;
    this.open(row);
    return true;
  },

  // List the episodes that someone clicked on elsewhere.
  only(changes) {
    this.set({ ...NO_FILTERS, ...changes }, true);
    this.wrap.classList.remove("open");
    $("#episodes").scrollIntoView({ behavior: "instant" });
    this.list.box.focus({ preventScroll: true });
  },
};
