// A scene from above: its graph, the reference as a broad band, the query as a line on it, and the warping between.

const SNAKE = 60; // longer paths are walks of small steps: drawn straight, with an arrow now and then
const MOST_LINES = 400;

// The maps of one episode, one for each run, that move together.
class Maps {
  constructor(row, runs) {
    this.scene = data.scenes[data.scene[row]];
    this.goals = data.places(row, data.goals[row]);
    this.reference = data.places(row, data.paths[data.reference[row]]);
    this.walks = runs.map((run) => ({
      run,
      query: data.places(row, data.paths[data.runs[run].query[row]]),
      pairs: data.warping(run, row),
      chosen: null,
    }));
    const places = [this.reference, ...this.walks.map(({ query }) => query ?? [])].flat();
    this.visited = new Set(places.map((place) => place.floor));
    this.floor = "walk";
    this.fit(this.#walkPlaces());
    this.panels = this.walks.map((walk) => this.#panel(walk));
  }

  // What must be visible of an episode: both paths, and the area around the goal where distance decides success.
  #walkPlaces() {
    const [{ x, y }] = this.goals;
    const circle = [-results.threshold, results.threshold].map((by) => ({ x: x + by, y: y + by }));
    return [
      this.reference,
      this.hasCircle() ? circle : this.goals,
      ...this.walks.map(({ query }) => query ?? []),
    ].flat();
  }

  hasCircle() {
    return this.scene.metric && results.goal !== "set" && results.unit === "m";
  }

  // Show some places, as large as possible.
  fit(places) {
    Object.assign(this, { box: around(places), zoom: 1, east: 0, north: 0 });
  }

  fitWalk() {
    this.fit(this.#walkPlaces());
    this.redraw();
  }

  fitScene() {
    this.fit([...this.#walkPlaces(), ...this.scene.places.filter((place) => this.#isShown(place))]);
    this.redraw();
  }

  redraw() {
    for (const panel of this.panels) panel.redraw();
  }

  // Zoom about a place of the map, given in metres from its centre.
  zoomBy(factor, east = 0, north = 0) {
    const zoom = Math.min(Math.max(this.zoom * factor, 0.05), 20);
    const kept = 1 - this.zoom / zoom;
    Object.assign(this, { zoom, east: this.east + east * kept, north: this.north + north * kept });
    this.redraw();
  }

  choose(walk, number) {
    this.walks[walk].chosen = number;
    this.panels[walk].redraw();
  }

  #isShown(place) {
    return this.floor === "all" || (this.floor === "walk" ? this.visited.has(place.floor) : place.floor === this.floor);
  }

  #panel(walk) {
    let shown = null;
    const panel = responsive((width) => {
      const height = Math.round(Math.min(440, Math.max(260, width * 0.72)));
      const most = this.scene.metric ? 70 : Infinity;
      const scale = Math.min((width - 60) / this.box.wide, (height - 60) / this.box.high, most) * this.zoom;
      const [x, y] = [this.box.x + this.east, this.box.y + this.north];
      shown = { width, height, scale };
      const to = (place) => [width / 2 + (place.x - x) * scale, height / 2 - (place.y - y) * scale];
      panel.classList.toggle("moved", this.zoom !== 1);
      return this.#draw(walk, to, shown);
    }, "map");
    const metresAt = (event) => {
      const box = panel.getBoundingClientRect();
      return [
        (event.clientX - box.left - shown.width / 2) / shown.scale,
        -(event.clientY - box.top - shown.height / 2) / shown.scale,
      ];
    };
    panel.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
        event.preventDefault();
        this.zoomBy(Math.exp(-event.deltaY / 200), ...metresAt(event));
      },
      { passive: false },
    );
    panel.addEventListener("pointerdown", (event) => {
      if (event.button || (event.pointerType === "touch" && this.zoom === 1)) return; // a finger scrolls until zoomed
      const [east, north, fromX, fromY] = [this.east, this.north, event.clientX, event.clientY];
      panel.setPointerCapture(event.pointerId);
      const move = (later) => {
        this.east = east - (later.clientX - fromX) / shown.scale;
        this.north = north + (later.clientY - fromY) / shown.scale;
        this.redraw();
      };
      panel.addEventListener("pointermove", move);
      panel.addEventListener("lostpointercapture", () => panel.removeEventListener("pointermove", move), {
        once: true,
      });
    });
    return panel;
  }

  #draw({ run, query, pairs, chosen }, to, { width, height, scale }) {
    const { scene, reference, goals } = this;
    const lit = (place) => this.#isShown(place);
    const snake = !scene.nodes || reference.length > SNAKE;
    const name = results.runs[run].name;
    const taken = []; // by names
    const marks = signs(reference, query, goals, to, lit, taken, width);
    const drawn = drawing(
      width,
      height,
      `Map of ${scene.name} with the reference and the query of ${name}; the table of pairs lists both`,
      this.#graph(to, lit, width, height),
      this.#goalArea(to, scale),
      svg("g", band(reference, to, lit), arrows(segments(reference, to, lit), snake, chevron)),
      !snake && svg("g.reference-places", placeDots(reference, to, lit, 4.5, "reference")),
      query && pairs && svg("g.matches", matches(pairs, reference, query, to, lit)),
      query &&
        svg(
          "g.query",
          walkLine(segments(query, to, lit), snake),
          arrows(segments(query, to, lit), snake, arrowhead),
          !snake && placeDots(query, to, lit, 2.8, "query"),
        ),
      query && stays(query, to, lit, taken, width),
      marks,
      chosen !== null && pairs && chosenPair(pairs[chosen], reference, query, to),
      scale > 0 && scaleBar(scale, height, scene.metric),
    );
    drawn.classList.add(`run-${run % 7}`);
    return drawn;
  }

  #graph(to, lit, width, height) {
    const parts = { lit: ["", ""], dim: ["", ""] };
    const inside = ([x, y]) => x > -80 && x < width + 80 && y > -80 && y < height + 80;
    const points = this.scene.places.map(to);
    this.scene.places.forEach((place, n) => {
      if (inside(points[n])) parts[lit(place) ? "lit" : "dim"][1] += `M${at(points[n])}h0`;
    });
    const edges = this.scene.edges ?? [];
    for (let n = 0; n < edges.length; n += 2) {
      const [a, b] = [edges[n], edges[n + 1]];
      if (!inside(points[a]) && !inside(points[b])) continue;
      const kind = lit(this.scene.places[a]) && lit(this.scene.places[b]) ? "lit" : "dim";
      parts[kind][0] += `M${at(points[a])}L${at(points[b])}`;
    }
    return ["dim", "lit"].map((kind) => {
      const [lines, nodes] = parts[kind];
      return svg("g.graph", { class: kind }, svg("path.edges", { d: lines }), svg("path.nodes", { d: nodes }));
    });
  }

  #goalArea(to, scale) {
    const [x, y] = to(this.goals[0]);
    const near = (this.scene.near?.[this.goals[0].code] ?? []).map((code) => to(this.scene.places[code]));
    const circle = svg("title", `${results.threshold} m around the goal`);
    const there = svg("title", `from here the goal is within ${results.threshold} m`);
    return svg(
      "g.goal-area",
      this.hasCircle() && svg("circle", { cx: x, cy: y, r: results.threshold * scale }, circle),
      svg("path", { d: near.map((point) => `M${at(point)}h0`).join("") }, there),
    );
  }
}
