// Colours, keys, and the order in which the page comes to life.

function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  let chosen = null;
  const set = () => {
    root.dataset.theme = chosen ?? (system.matches ? "dark" : "light");
    $("#theme").setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
    for (const canvas of document.querySelectorAll(".cloud canvas")) canvas.paint(); // canvases follow no style sheet
  };
  const kept = (action) => {
    try {
      return action(localStorage);
    } catch {} // some browsers keep nothing for files
  };
  chosen = kept((storage) => storage.getItem("wayscore-theme"));
  set();
  system.addEventListener("change", set);
  $("#theme").addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    kept((storage) => storage.setItem("wayscore-theme", chosen));
    set();
  });
}

function startKeys() {
  const help = $("#help");
  $("#keys").addEventListener("click", () => help.showModal());
  const actions = {
    j: () => browser.list.move(1),
    k: () => browser.list.move(-1),
    "/": () => {
      $(".filters").open = true;
      $("#search").focus();
      $("#search").select();
    },
    "?": () => help.showModal(),
    d: () => $("#theme").click(),
    ArrowRight: () => stepWarping(1),
    ArrowLeft: () => stepWarping(-1),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || !data) return;
    const isTyping = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && (isTyping || event.target.closest(".browser"))) browser.close();
    if (isTyping || !$("#single-keys").checked || !(event.key in actions)) return;
    if (event.key.startsWith("Arrow") && !event.target.closest(".browser")) return;
    event.preventDefault();
    actions[event.key]();
  });
}

function stepWarping(by) {
  for (const slider of document.querySelectorAll(".detail input[type=range]")) {
    slider.value = Number(slider.value) + by;
    slider.dispatchEvent(new Event("input"));
  }
}

async function start() {
  startTheme();
  startKeys();
  showMeans();
  showComparison();
  try {
    data = await unpack();
  } catch (error) {
    add($("#episodes"), el("p.warning", `The episodes cannot be unpacked by this browser: ${error.message}`));
    return;
  }
  showCloud();
  showAgainst();
  showDistributions();
  showBreakdown();
  browser.start();
  document.documentElement.dataset.ready = "true";
  performance.mark("interactive");
}

start();
