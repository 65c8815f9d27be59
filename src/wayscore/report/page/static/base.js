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

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "style") for (const [key, set] of Object.entries(value)) node.style.setProperty(key, set);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return add(node, ...children);
}

const el = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// The name of a run, with the mark of its colour and shape.
const runName = (run, full = false) =>
  el(
    "span",
    { class: `run-name run-${run % 7}`, title: results.runs[run].name },
    runMark(run),
    el("span", {}, full ? results.runs[run].name : results.runs[run].short),
  );

const runMark = (run) =>
  svg(
    "svg",
    { class: "mark", width: 12, height: 12, viewBox: "-6 -6 12 12", "aria-hidden": "true" },
    svg("path", { d: shape(run, 0, 0, 4.5) }),
  );

// A metric's symbol with its unit and which way is better; its formula is the tooltip.
const metricName = (metric) => [
  el("span", { class: "symbol", title: `${metric.name}: ${metric.formula}` }, metric.symbol),
  " ",
  el("span", { class: "unit" }, [metric.unit, metric.arrow].filter(Boolean).join(" ")),
];

// A marker for each run, so that colour is never the only difference.
function shape(run, x, y, r) {
  const kind = run % 5;
  if (kind === 0) return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  if (kind === 1) return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
  if (kind === 2) return `M${x} ${y - 1.2 * r}L${x + 1.2 * r} ${y + r}H${x - 1.2 * r}Z`;
  if (kind === 3)
    return `M${x} ${y - 1.35 * r}l${1.35 * r} ${1.35 * r}l${-1.35 * r} ${1.35 * r}l${-1.35 * r} ${-1.35 * r}Z`;
  return `M${x} ${y + 1.2 * r}L${x + 1.2 * r} ${y - r}H${x - 1.2 * r}Z`;
}

const DASHES = [null, "6 3", "2 2.5", "8 3 2 3", "1 3"];

// Numbers as papers print them: shares in percent with one decimal, others with two; undefined ones as a dash.
function printed(metric, value, signed = false) {
  if (!Number.isFinite(value)) return "–";
  const sign = value < 0 ? "−" : signed ? "+" : "";
  const text = metric.share ? (100 * Math.abs(value)).toFixed(1) : Math.abs(value).toFixed(2);
  const nothing = Number(text) === 0; // has no sign, except that differences all have one
  return (nothing ? (signed ? "+" : "") : sign) + text;
}

const withUnit = (metric, value) => [printed(metric, value), metric.unit].filter(Boolean).join(" ");

// Why a value of a run is undefined, and how many episodes are left out of a mean: "(63 unreachable)".
const whyUndefined = (run, { symbol }) => results.runs[run].why[symbol] ?? "undefined";
const leftOut = (run, metric, count) => (count ? `(${grouped(count)} ${whyUndefined(run, metric)})` : "");

const minus = (text) => text.replaceAll("-", "−").replaceAll("inf", "∞");
const grouped = (count) => count.toLocaleString("en-GB");
const counted = (count, what = "episode") => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;
const metres = (value) => `${value.toFixed(2)} ${results.unit}`;

// Words with breaks that long names may use.
const breakable = (text) => text.split(/(?<=[_\/.|-])/).flatMap((part) => [part, el("wbr")]);

// Words of which those between backticks are code.
function coded(text) {
  const parts = text.replace(/(\d) %/g, "$1\u00a0%").split(/`([^`]+)`/);
  return parts.map((part, n) => (n % 2 ? el("code", {}, part) : part));
}

// A figure that is closed until someone opens it.
const folded = (title, about, ...children) =>
  el(
    "details",
    { class: "folded" },
    el("summary", {}, title),
    el("figure", { class: "card" }, el("figcaption", {}, about), ...children),
  );

// What a screen reader says without moving to it.
function announce(text) {
  $("#announcer").textContent = text;
}

// A figure that is drawn again whenever its width changes.
function responsive(draw, attributes = {}) {
  const box = el("div", { ...attributes, class: `figure ${attributes.class ?? ""}` });
  let width = 0;
  box.redraw = () => width && refill(box, draw(width));
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      box.redraw();
    }
  }).observe(box);
  return box;
}

let fields = 0;

function select(label, options, value, change) {
  const id = `field-${++fields}`;
  const box = el(
    "select",
    { id, on: { change: () => change(box.value) } },
    options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text)),
  );
  return el("div", { class: "field" }, el("label", { for: id }, label), box);
}

const scrolling = (label, ...children) =>
  el("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": label }, ...children);

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = el("textarea", { class: "unseen" }, text);
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
    button.focus();
  }
  const before = button.textContent;
  button.textContent = "Copied";
  announce("Copied");
  setTimeout(() => (button.textContent = before), 1500);
}
