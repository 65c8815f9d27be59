// Puts the pictures of a set in order by dragging, with buttons or with keys, and announces the order to screen readers.
// It fills in the select boxes that are used without JavaScript, so the server always gets the same form.
"use strict";

(() => {
  const form = document.querySelector("form.ranking");
  const list = form.querySelector(".cards");
  const said = form.querySelector(".said");
  const dialog = document.querySelector("dialog.large");
  const ties = form.dataset.ties === "yes";
  const cards = () => [...list.children].filter((card) => card.matches(".card:not(.sortable-fallback)"));
  const letter = (card) => card.dataset.letter;
  const groups = new Map(); // card -> number of its group; neighbours of one group share a rank
  let fresh = 0;
  let touched = cards().every((card) => card.dataset.rank);
  let confirmed = false;
  let sent = false;

  // The rank of each card: one more than the cards before its group.
  function ranks() {
    const found = new Map();
    cards().forEach((card, n, all) => {
      const tied = n > 0 && groups.get(all[n - 1]) === groups.get(card);
      found.set(card, { rank: tied ? found.get(all[n - 1]).rank : n + 1, tied });
    });
    return found;
  }

  function show() {
    const found = ranks();
    const all = [...found.keys()];
    all.forEach((card, n) => {
      const { rank, tied } = found.get(card);
      const shared = all.filter((other) => found.get(other).rank === rank).length > 1;
      card.querySelector(".rank").textContent = rank + (shared ? "=" : "");
      card.classList.toggle("tied", tied);
      card
        .querySelector(".grip")
        .setAttribute("aria-label", `Picture ${letter(card)}, ${shared ? "shared " : ""}rank ${rank} of ${all.length}`);
      card.querySelector("select").value = String(rank);
      card.querySelector("[data-move='-1']").setAttribute("aria-disabled", n === 0);
      card.querySelector("[data-move='1']").setAttribute("aria-disabled", n === all.length - 1);
      const tie = card.querySelector("[data-tie]");
      tie?.setAttribute("aria-pressed", tied);
      tie?.setAttribute("aria-disabled", n === 0);
    });
    return found;
  }

  function order(found) {
    return [...found].map(([card, { tied }], n) => (n ? (tied ? " equals " : ", ") : "") + letter(card)).join("");
  }

  function changed(card) {
    touched = true;
    const found = show();
    const { rank } = found.get(card);
    said.textContent = `Picture ${letter(card)} now has rank ${rank} of ${found.size}. Your order: ${order(found)}.`;
  }

  // A card that was moved leaves its group, and joins another only if it is put inside that group.
  function moved(card) {
    const all = cards();
    const n = all.indexOf(card);
    const [before, after] = [groups.get(all[n - 1]), groups.get(all[n + 1])];
    groups.set(card, before !== undefined && before === after ? before : fresh++);
    changed(card);
  }

  // The others step aside, so that the card that is moved keeps the focus.
  function move(card, to) {
    const all = cards();
    const from = all.indexOf(card);
    const end = Math.max(0, Math.min(to, all.length - 1));
    if (end === from) {
      said.textContent = `Picture ${letter(card)} is already ${from ? "last" : "first"}.`;
      return;
    }
    if (end < from) card.after(...all.slice(end, from));
    else card.before(...all.slice(from + 1, end + 1));
    moved(card);
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function tie(card) {
    const all = cards();
    const n = all.indexOf(card);
    if (!ties || n === 0) return;
    const mine = groups.get(card);
    const before = groups.get(all[n - 1]);
    const target = mine === before ? fresh++ : before;
    for (const other of all.slice(n)) if (groups.get(other) === mine) groups.set(other, target);
    changed(card);
  }

  function enlarge(card) {
    dialog.querySelector(".picture")?.remove();
    dialog.prepend(card.querySelector(".picture").cloneNode(true));
    dialog.setAttribute("aria-label", `Picture ${letter(card)}, enlarged`);
    dialog.showModal();
  }

  list.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const card = button.closest(".card");
    if (button.dataset.move) move(card, cards().indexOf(card) + Number(button.dataset.move));
    else if ("tie" in button.dataset) tie(card);
    else if ("enlarge" in button.dataset) enlarge(card);
    else said.textContent = `${button.getAttribute("aria-label")}. Move it with the arrow keys, or press 1 to 5 for its rank.`;
  });

  list.addEventListener("keydown", (event) => {
    const card = event.target.closest(".card");
    if (!card || event.ctrlKey || event.altKey || event.metaKey) return;
    const here = cards().indexOf(card);
    const to = { ArrowLeft: here - 1, ArrowUp: here - 1, ArrowRight: here + 1, ArrowDown: here + 1, Home: 0, End: 4 };
    if (event.key in to) move(card, to[event.key]);
    else if (/^[1-5]$/.test(event.key)) move(card, Number(event.key) - 1);
    else if (event.key === "=") tie(card);
    else return;
    event.preventDefault();
  });

  // Only the time during which the page is in sight counts.
  let seen = 0;
  let since = document.hidden ? null : performance.now();
  document.addEventListener("visibilitychange", () => {
    if (since !== null) seen += performance.now() - since;
    since = document.hidden ? null : performance.now();
  });

  form.addEventListener("submit", (event) => {
    if (sent || (!touched && !confirmed)) {
      event.preventDefault();
      if (sent) return;
      confirmed = true;
      said.textContent = "You have not moved any picture. If this is your order, press the button again.";
      return;
    }
    sent = true;
    show();
    form.elements.seconds.value = ((seen + (since === null ? 0 : performance.now() - since)) / 1000).toFixed(1);
  });
  // A page that comes back from the browser's memory has a form that was used.
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());

  const before = new Map();
  for (const card of cards()) {
    const { rank } = card.dataset;
    groups.set(card, rank && before.has(rank) ? before.get(rank) : fresh++);
    before.set(rank, groups.get(card));
  }
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  window.Sortable?.create(list, {
    draggable: ".card",
    filter: ".moves button",
    preventOnFilter: false,
    forceFallback: true, // browsers' own dragging knows no touch, and in some no buttons
    fallbackTolerance: 4,
    delay: 180,
    delayOnTouchOnly: true,
    touchStartThreshold: 5,
    animation: still ? 0 : 160,
    onEnd: ({ item, oldIndex, newIndex }) => oldIndex !== newIndex && moved(item),
  });
  for (const part of form.querySelectorAll(".rank, .grip, .moves, .ends, #hint")) part.hidden = false;
  show();
  document.documentElement.dataset.ready = "";
})();
