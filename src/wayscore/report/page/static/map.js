// A scene from above: its graph, the reference as a broad band, the query as a line on it, and the warping between.

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
    this.walked = [this.reference, ...this.walks.map(({ query }) => query ?? [])].flat();
    this.visited = new Set(this.walked.map((place) => place.floor));
    this.floor = "walk";
    this.hasCircle = this.scene.metric && results.goal !== "set" && results.unit === "m";
    this.panels = [];
    this.fit();
    this.panels = this.walks.map((walk) => this.#panel(walk));
  }

  // Show as large as possible both paths, the area around the goal where distance decides success, and other places.
  fit(places = []) {
    const [{ x, y }] = this.goals;
    const circle = [-results.threshold, results.threshold].map((by) => ({ x: x + by, y: y + by }));
    const seen = [this.walked, this.hasCircle ? circle : this.goals, places].flat();
    Object.assign(this, { box: around(seen), zoom: 1, east: 0, north: 0 });
    this.redraw();
  }

  redraw() {
    for (const panel of this.panels) panel.redraw();
  }

  // Zoom about a place of the map, given in metres from its centre.
  zoomBy(factor, east = 0, north = 0) {
    const zoom = clamp(this.zoom * factor, 0.05, 20);
    const kept = 1 - this.zoom / zoom;
    Object.assign(this, { zoom, east: this.east + east * kept, north: this.north + north * kept });
    this.redraw();
  }

  choose(walk, number) {
    this.walks[walk].chosen = number;
    this.panels[walk].redraw();
  }

  isShown(place) {
    return this.floor === "all" || (this.floor === "walk" ? this.visited.has(place.floor) : place.floor === this.floor);
  }

  #panel(walk) {
    let view = null;
    const panel = responsive((width) => {
      const height = Math.round(clamp(width * 0.72, 260, 440));
      const most = this.scene.metric ? 70 : Infinity;
      const scale = Math.min((width - 60) / this.box.wide, (height - 60) / this.box.high, most) * this.zoom;
      const [x, y] = [this.box.x + this.east, this.box.y + this.north];
      const to = (place) => [width / 2 + (place.x - x) * scale, height / 2 - (place.y - y) * scale];
      const shade = (...places) => (places.some((place) => this.isShown(place)) ? "lit" : "dim");
      view = { width, height, scale, to, shade, taken: [] };
      panel.classList.toggle("moved", this.zoom !== 1);
      return this.#draw(walk, view);
    }, "map");
    const zoom = (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
      event.preventDefault();
      const box = panel.getBoundingClientRect();
      const east = (event.clientX - box.left - view.width / 2) / view.scale;
      const south = (event.clientY - box.top - view.height / 2) / view.scale;
      this.zoomBy(Math.exp(-event.deltaY / 200), east, -south);
    };
    panel.addEventListener("wheel", zoom, { passive: false });
    panel.addEventListener("pointerdown", (event) => {
      if (event.button || (event.pointerType === "touch" && this.zoom === 1)) return; // a finger scrolls until zoomed
      const [east, north, fromX, fromY] = [this.east, this.north, event.clientX, event.clientY];
      panel.setPointerCapture(event.pointerId);
      panel.onpointermove = (later) => {
        this.east = east - (later.clientX - fromX) / view.scale;
        this.north = north + (later.clientY - fromY) / view.scale;
        this.redraw();
      };
      panel.onlostpointercapture = () => (panel.onpointermove = null);
    });
    return panel;
  }

  #draw({ run, query, pairs, chosen }, view) {
    const { scene, reference, goals } = this;
    const isSnake = !scene.nodes || reference.length > SNAKE;
    const name = results.runs[run].name;
    const label = `Map of ${scene.name} with the reference and the query of ${name}; the table of pairs lists both`;
    const marks = signs(reference, query, goals, view); // on top, and their names choose their sides first
    const drawn = drawing(view.width, view.height, label,
      this.#graph(view),
      this.#goalArea(view),
      svg("g", route(reference, view, false, isSnake)),
      !isSnake && svg("g.reference-places", placeDots(reference, view, 4.5, "reference")),
      query && pairs && matches(pairs, reference, query, view),
      query && svg("g.query", route(query, view, true, isSnake), !isSnake && placeDots(query, view, 2.8, "query")),
      query && stays(query, view),
      marks,
      chosen !== null && pairs && chosenPair(pairs[chosen], reference, query, view),
      scene.metric && scaleBar(view),
    );
    drawn.classList.add(`run-${run % 7}`);
    return drawn;
  }

  #graph({ to, shade, width, height }) {
    const { places, edges = [] } = this.scene;
    const [lines, nodes] = [{ lit: "", dim: "" }, { lit: "", dim: "" }];
    const points = places.map(to);
    const shades = places.map((place) => shade(place));
    const inside = points.map(([x, y]) => x > -80 && x < width + 80 && y > -80 && y < height + 80);
    points.forEach((point, n) => {
      if (inside[n]) nodes[shades[n]] += `M${at(point)}h0`;
    });
    for (let n = 0; n < edges.length; n += 2) {
      const [a, b] = [edges[n], edges[n + 1]];
      const kind = shades[a] === "lit" ? shades[b] : "dim";
      if (inside[a] || inside[b]) lines[kind] += `M${at(points[a])}L${at(points[b])}`;
    }
    const drawn = (kind) => [svg("path.edges", { d: lines[kind] }), svg("path.nodes", { d: nodes[kind] })];
    return ["dim", "lit"].map((kind) => svg("g.graph", { class: kind }, drawn(kind)));
  }

  #goalArea({ to, scale }) {
    const [cx, cy] = to(this.goals[0]);
    const near = (this.scene.near?.[this.goals[0].code] ?? []).map((code) => to(this.scene.places[code]));
    const circle = svg("title", `${results.threshold} m around the goal`);
    const there = svg("title", `from here the goal is within ${results.threshold} m`);
    return svg("g.goal-area",
      this.hasCircle && svg("circle", { cx, cy, r: results.threshold * scale }, circle),
      svg("path", { d: near.map((point) => `M${at(point)}h0`).join("") }, there),
    );
  }
}
