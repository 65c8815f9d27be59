// Colours, keys, and the order in which the page comes to life.

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("#theme").setAttribute("aria-pressed", String(dark));
  for (const canvas of document.querySelectorAll(".cloud canvas")) canvas.paint(); // canvases follow no style sheet
}

function startTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("wayscore-theme");
  } catch {} // some browsers keep nothing for files
  setTheme(chosen ? chosen === "dark" : system.matches);
  system.addEventListener("change", () => !chosen && setTheme(system.matches));
  $("#theme").addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setTheme(chosen === "dark");
    try {
      localStorage.setItem("wayscore-theme", chosen);
    } catch {}
  });
}

function startHelp() {
  const help = $("#help");
  $("#keys").addEventListener("click", () => help.showModal());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && data) {
      if (typing || event.target.closest(".browser")) browser.close();
      return;
    }
    if (typing || !$("#single-keys").checked || !data) return;
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
    if (!(event.key in actions) || (event.key.startsWith("Arrow") && !event.target.closest(".browser"))) return;
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
  startHelp();
  showMeans();
  showComparison();
  try {
    data = await unpack();
  } catch (error) {
    add($("#episodes"), el("p.warning", `The episodes cannot be unpacked by this browser: ${error.message}`));
    return;
  }
  if (data.count) {
    showCloud();
    showAgainst();
    showDistributions();
    showBreakdown();
    browser.start();
  } else {
    // means of a large run, whose table of episodes was not kept
    for (const id of ["distributions", "breakdown"]) showSection(id, false);
    add($("#episodes"), el("p.note", "The scores of single episodes were not kept: no figures, and no list."));
  }
  document.documentElement.dataset.ready = "true";
  performance.mark("interactive");
}

start();
