// The list of episodes, chosen by mouse or by keys. Rows are drawn as far down as someone goes; content-visibility
// spares those out of sight.

const ROW = 60; // pixels; the style sheet says the same
const AHEAD = 50; // rows below those in sight that are drawn too

class List {
  // draw(item) returns the contents of a row, choose(item) is called with the selected one, and open(clicked) opens it.
  constructor(label, draw, choose, open) {
    const click = (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      this.to([...this.sheet.children].indexOf(row));
      open(true);
    };
    const keydown = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
      const all = this.items.length;
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -all, End: all }[event.key];
      if (!by && event.key !== "Enter") return;
      event.preventDefault();
      if (by) return this.move(by);
      if (this.place < 0) this.to(0);
      open(false);
    };
    const scroll = () => this.fill();
    Object.assign(this, { draw, choose, items: [], place: -1, sheet: el("div", { role: "presentation" }) });
    const listens = { click, keydown, scroll };
    this.box = el("div.list", { role: "listbox", tabindex: "0", "aria-label": label, ...listens }, this.sheet);
    new ResizeObserver(scroll).observe(this.box);
  }

  show(items, kept) {
    this.items = items;
    this.sheet.replaceChildren();
    this.sheet.style.height = `${items.length * ROW}px`;
    this.box.scrollTop = 0;
    this.mark(items.indexOf(kept));
  }

  // Draw the rows down to those in sight, and some more.
  fill(place = 0) {
    const seen = (this.box.scrollTop + this.box.clientHeight) / ROW;
    const [first, last] = [this.sheet.children.length, Math.ceil(Math.max(seen, place)) + AHEAD];
    const rows = this.items.slice(first, last).map((item, n) => {
      const place = { "aria-setsize": this.items.length, "aria-posinset": first + n + 1 };
      const option = { role: "option", id: `option-${item}`, "aria-selected": "false", ...place };
      return el("div.row", option, this.draw(item));
    });
    add(this.sheet, rows);
  }

  move(by) {
    this.to(this.place < 0 ? 0 : clamp(this.place + by, 0, this.items.length - 1));
  }

  to(place) {
    if (!this.items.length || place < 0) return;
    this.mark(place);
    this.choose(this.items[place]);
  }

  // Select a row and scroll the list, not the page, until it is in sight: at the edge, or further in.
  mark(place, inset = 0) {
    $("[aria-selected=true]", this.sheet)?.setAttribute("aria-selected", "false");
    this.fill(place);
    this.place = place;
    const row = this.sheet.children[place];
    row?.setAttribute("aria-selected", "true");
    this.box.setAttribute("aria-activedescendant", row?.id ?? "");
    const [top, room] = [place * ROW, this.box.clientHeight];
    if (!row || !room || (top >= this.box.scrollTop && top + ROW <= this.box.scrollTop + room)) return;
    this.box.scrollTop = top < this.box.scrollTop || inset ? top - inset * room : top + ROW - room;
  }
}
