// The two views of the page, the plan and that for validators, whose panels are those of the resources.
import { find, make, note } from "./dom.js";
import { resources } from "./resources.js";

const NAMES = ["plan", "validators"];

async function fill(section, panel, model) {
  const heading = make("h2", { text: panel.title });
  delete section.dataset.failed;
  section.setAttribute("aria-busy", "true"); // what was read before stays until the answer is there
  if (!section.children.length) { section.replaceChildren(heading, note("Reading …")); }
  try {
    section.replaceChildren(heading, ...panel.draw(await panel.load(model)));
  } catch (error) {
    section.replaceChildren(heading, make("p", { class: "error", text: error.message }));
    section.dataset.failed = "yes";
  }
  section.removeAttribute("aria-busy");
}

export class Views {
  constructor(store) {
    this.store = store;
    this.panels = null; // each panel, and the section that it fills
    this.model = null; // the service's answer about its model, when it is there
    NAMES.forEach((name, k) => {
      find("tab-" + name).addEventListener("click", () => store.setAsked("view", name));
      find("tab-" + name).addEventListener("keydown", (event) => {
        if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") { return; }
        event.preventDefault();
        store.setAsked("view", NAMES[1 - k]);
        find("tab-" + NAMES[1 - k]).focus();
      });
    });
    store.addEventListener("view", () => this.show());
    this.show();
  }

  show() {
    const { view } = this.store.asked;
    NAMES.forEach((name) => {
      const chosen = name === view, tab = find("tab-" + name);
      find("view-" + name).hidden = !chosen;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    });
    if (view === "validators" && this.model !== null) { this.fillPanels(); }
  }

  open(model) {
    this.model = model;
    this.show();
  }

  // Panels are read when they are first looked at, and again where that failed or where they change by themselves.
  fillPanels() {
    if (this.panels === null) {
      const offered = resources.flatMap((it) => it.panels || []).filter((it) => !it.offered || it.offered(this.model));
      this.panels = offered.map((panel) => ({ panel, section: make("section", { "data-failed": "yet" }) }));
      find("panels").replaceChildren(...this.panels.map((it) => it.section));
    }
    this.panels.filter(({ panel, section }) => panel.isLive || "failed" in section.dataset)
      .forEach(({ panel, section }) => fill(section, panel, this.model));
  }
}
