// A list of any length of which only the rows in sight exist.

const ROW = 60; // pixels; the style sheet says the same

class VirtualList {
  constructor(label, draw, choose, open) {
    this.draw = draw;
    this.choose = choose;
    this.items = [];
    this.place = -1;
    this.sheet = el("div", { class: "sheet", role: "presentation" });
    this.box = el("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": label }, this.sheet);
    this.box.addEventListener("scroll", () => this.#later());
    new ResizeObserver(() => this.#later()).observe(this.box);
    this.box.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (!option) return;
      this.to(Number(option.dataset.place));
      open({ clicked: true });
    });
    this.box.addEventListener("keydown", (event) => {
      const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
      const moves = {
        ArrowDown: 1,
        ArrowUp: -1,
        PageDown: page,
        PageUp: -page,
        Home: -this.items.length,
        End: this.items.length,
      };
      if (event.key in moves && !event.altKey && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        this.move(moves[event.key]);
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (this.place < 0) this.to(0);
        open();
      }
    });
  }

  show(items, kept) {
    this.items = items;
    this.sheet.style.height = `${items.length * ROW}px`;
    this.place = items.indexOf(kept);
    if (this.place >= 0) this.#reveal();
    else this.box.scrollTop = 0;
    this.render();
  }

  move(by) {
    this.to(Math.max(0, Math.min(this.items.length - 1, this.place < 0 ? 0 : this.place + by)));
  }

  to(place) {
    if (!this.items.length || place < 0) return;
    this.place = place;
    this.#reveal();
    this.render();
    this.choose(this.items[place]);
  }

  #reveal() {
    const [top, room] = [this.place * ROW, this.box.clientHeight];
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (room && top + ROW > this.box.scrollTop + room) this.box.scrollTop = top + ROW - room;
  }

  #later() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.render();
    });
  }

  render() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
    const last = Math.min(this.items.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 4);
    const rows = [];
    for (let place = first; place < last; place++) {
      rows.push(
        el(
          "div",
          {
            class: "row",
            role: "option",
            id: `option-${place}`,
            "data-place": place,
            "aria-selected": String(place === this.place),
            "aria-setsize": this.items.length,
            "aria-posinset": place + 1,
            style: { transform: `translateY(${place * ROW}px)` },
          },
          this.draw(this.items[place]),
        ),
      );
    }
    refill(this.sheet, rows);
    if (this.place >= first && this.place < last)
      this.box.setAttribute("aria-activedescendant", `option-${this.place}`);
    else this.box.removeAttribute("aria-activedescendant");
  }
}
