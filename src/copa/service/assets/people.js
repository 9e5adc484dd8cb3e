// Applicants of the service's own table, where it was started with one: searched by name, chosen by a click or Enter.
import { get } from "./api.js";
import { button, find, make } from "./dom.js";

const PAUSE = 150; // milliseconds without a key
const MOST = 20;

export class People {
  // `chosen` is called when a person is on the page.
  constructor(store, chosen) {
    this.store = store;
    this.chosen = chosen;
    this.waiting = 0;
    this.turn = 0; // of choices: the last one counts
    this.controller = null;
    find("search").addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.search(), PAUSE);
    });
    find("search").addEventListener("keydown", (event) => {
      const first = find("names").querySelector("button");
      if (event.key === "Enter") { event.preventDefault(); this.search().then(() => this.chooseFirst()); }
      if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
    });
    find("names").addEventListener("keydown", (event) => this.move(event));
    ["row", "cell"].forEach((what) => store.addEventListener(what, () => { this.turn += 1; this.mark(); }));
  }

  async search() {
    clearTimeout(this.waiting);
    if (this.controller) { this.controller.abort(); }
    this.controller = new AbortController();
    const words = new URLSearchParams({ search: find("search").value.trim(), limit: MOST });
    try {
      this.draw(await get("v1/applicants?" + words, this.controller.signal));
    } catch (error) {
      if (error.name !== "AbortError") { find("found").textContent = error.message; }
    }
  }

  draw(found) {
    const { applicants, total } = found;
    find("names").replaceChildren(...applicants.map((person) => make("li", {}, [
      button(person.id, () => this.choose(person)),
    ])));
    this.mark();
    const words = total === 1 ? "1 applicant" : total.toLocaleString("en") + " applicants";
    const shown = total > applicants.length ? ", the first " + applicants.length + " are listed" : "";
    find("found").textContent = total ? words + shown : "No applicant has such a name.";
  }

  mark() {
    find("names").querySelectorAll("button").forEach((it) => {
      it.setAttribute("aria-pressed", String(it.textContent === this.store.label));
    });
  }

  async choose(person) {
    this.turn += 1;
    const own = this.turn;
    try {
      const found = await get("v1/applicants/" + encodeURIComponent(person.id));
      if (own !== this.turn) { return; }
      this.store.setRow(found.row, { label: person.id });
      this.chosen();
    } catch (error) {
      find("found").textContent = error.message;
    }
  }

  // The person of just that name, or else the first in the list.
  chooseFirst() {
    const all = Array.from(find("names").querySelectorAll("button")), wanted = find("search").value.trim();
    const first = all.find((it) => it.textContent === wanted) || all[0];
    if (first) { first.click(); }
  }

  move(event) {
    const all = Array.from(find("names").querySelectorAll("button")), here = all.indexOf(document.activeElement);
    const places = { ArrowDown: Math.min(here + 1, all.length - 1), ArrowUp: here - 1, Home: 0, End: all.length - 1 };
    if (!(event.key in places) || here < 0) { return; }
    event.preventDefault();
    (all[places[event.key]] || find("search")).focus();
  }
}
