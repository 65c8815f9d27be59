// Elements, numbers and words that every part of the page uses. Data only ever becomes text, never markup.

const $ = (selector, root = document) => root.querySelector(selector);

// Append elements and words, however nested; nothing for what is absent.
function add(node, ...children) {
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function refill(node, ...children) {
  node.replaceChildren();
  return add(node, ...children);
}

// el("td.number", { title, click }, ...children): a tag with classes, attributes and listeners if any, and contents.
const maker = (create) => (tag, ...children) => {
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  const [name, ...classes] = tag.split(".");
  const node = create(name);
  const style = [...classes, attributes.class].filter(Boolean).join(" ") || null;
  for (const [key, value] of Object.entries({ ...attributes, class: style })) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  return add(node, ...children);
};
const el = maker((tag) => document.createElement(tag));
const svg = maker((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));

// A drawing of some size; without a label it only repeats what words say, and screen readers skip it.
const drawing = (width, height, label, ...children) => {
  const role = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, ...role }, ...children);
};

// A table that scrolls if it must, from heads ([text, class, title]) and rows of cells.
function table(label, caption, heads, rows, kind) {
  const cell = (what, n) => {
    if (what instanceof HTMLTableCellElement) return what;
    return n ? el("td", { class: heads[n][1] }, what) : el("th", { scope: "row" }, what);
  };
  const head = ([text, style, title]) => el("th", { scope: "col", class: style, title }, text);
  const body = el("tbody", rows.map((cells) => el("tr", cells.map(cell))));
  const whole = el("table", caption && el("caption", caption), el("thead", el("tr", heads.map(head))), body);
  return el("div.scrolling", { class: kind, tabindex: "0", role: "region", "aria-label": label }, whole);
}

// The name of a run, with the mark of its colour and shape.
const runName = (run, full = false) => {
  const { name, short } = results.runs[run];
  return el("span.run-name", { class: `run-${run % 7}`, title: name }, runMark(run), el("span", full ? name : short));
};
const runMark = (run) => {
  const frame = { width: 12, height: 12, viewBox: "-6 -6 12 12", "aria-hidden": "true" };
  return svg("svg.mark", frame, svg("path", { d: shape(run, 0, 0, 4.5) }));
};

// A metric's symbol with its unit and which way is better; its formula is the tooltip.
const unitOf = (metric) => el("span.unit", [metric.unit, metric.arrow].filter(Boolean).join(" "));
const aboutMetric = (metric) => `${metric.name}: ${metric.formula}`;
const metricName = (metric) => [el("span.symbol", { title: aboutMetric(metric) }, metric.symbol), " ", unitOf(metric)];

// A marker for each run, so that colour is never the only difference.
function shape(run, x, y, r) {
  const kind = run % 5;
  if (kind === 0) return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  if (kind === 1) return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
  const half = 1.35 * r;
  if (kind === 3) return `M${x} ${y - half}l${half} ${half}l${-half} ${half}l${-half} ${-half}Z`;
  const tip = kind === 2 ? r : -r; // a triangle that stands on its side, or on its tip
  return `M${x} ${y - 1.2 * tip}L${x + 1.2 * r} ${y + tip}H${x - 1.2 * r}Z`;
}

// Numbers as papers print them: shares in percent with one decimal, others with two; undefined ones as a dash.
function printed(metric, value, signed = false) {
  if (!Number.isFinite(value)) return "–";
  const text = metric.share ? (100 * Math.abs(value)).toFixed(1) : Math.abs(value).toFixed(2);
  const negative = value < 0 && Number(text) > 0; // what rounds to 0 has no minus
  return (negative ? "−" : signed ? "+" : "") + text;
}

const withUnit = (metric, value) => [printed(metric, value), metric.unit].filter(Boolean).join(" ");

// Why a value of a run is undefined, and how many episodes are left out of a mean: "(63 unreachable)".
const whyUndefined = (run, { symbol }) => results.runs[run].why[symbol] ?? "undefined";
const leftOut = (run, metric, count) => (count ? `(${grouped(count)} ${whyUndefined(run, metric)})` : "");

const grouped = (count) => count.toLocaleString("en-GB");
const counted = (count, what = "episode") => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;
const metres = (value) => `${value.toFixed(2)} ${results.unit}`;

const showSection = (id, shown) => ($(`#${id}`).hidden = $(`nav a[href="#${id}"]`).hidden = !shown);

// A figure that is drawn again whenever its width changes.
function responsive(draw, kind = "") {
  const box = el("div.figure", { class: kind });
  let width = 0;
  box.redraw = () => width && refill(box, draw(width));
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (!now || now === width) return;
    width = now;
    box.redraw();
  }).observe(box);
  return box;
}

let fields = 0;

function select(label, options, value, change) {
  const id = `field-${++fields}`;
  const choice = ([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text);
  const box = el("select", { id, change: () => change(box.value) }, options.map(choice));
  return el("div.field", el("label", { for: id }, label), box);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return prompt("Copy this text:", text); // some browsers give files no clipboard
  }
  const before = button.textContent;
  $("#announcer").textContent = button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), 1500);
}
