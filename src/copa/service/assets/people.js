// Applicants of the service's own table, where it was started with one: searched by name, chosen by a click or Enter.
import { get } from "./api.js";
import { button, find, make } from "./dom.js";

const PAUSE = 150; // milliseconds without a key
const MOST = 20;

export class People {
  constructor(store) {
    this.store = store;
    this.waiting = 0;
    this.controller = null;
    find("search").addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.search(), PAUSE);
    });
    find("search").addEventListener("keydown", (event) => {
      const first = find("people").querySelector("button");
      if (event.key === "Enter") { event.preventDefault(); this.search().then(() => this.chooseFirst()); }
      if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
    });
    find("people").addEventListener("keydown", (event) => this.move(event));
  }

  async search() {
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
    find("people").replaceChildren(...applicants.map((person) => make("li", {}, [
      button(person.id, () => this.choose(person), { "aria-pressed": String(person.id === this.store.label) }),
    ])));
    const words = total === 1 ? "1 applicant" : total.toLocaleString("en") + " applicants";
    const shown = total > applicants.length ? ", the first " + applicants.length + " are listed" : "";
    find("found").textContent = total ? words + shown : "No applicant has such a name.";
  }

  async choose(person) {
    try {
      const found = await get("v1/applicants/" + encodeURIComponent(person.id));
      this.store.setRow(found.row, person.id);
      find("people").querySelectorAll("button").forEach((it) => {
        it.setAttribute("aria-pressed", String(it.textContent === person.id));
      });
    } catch (error) {
      find("found").textContent = error.message;
    }
  }

  chooseFirst() {
    const first = find("people").querySelector("button");
    if (first) { first.click(); }
  }

  move(event) {
    const all = Array.from(find("people").querySelectorAll("button")), here = all.indexOf(document.activeElement);
    const places = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: all.length - 1 };
    if (!(event.key in places) || here < 0) { return; }
    event.preventDefault();
    (all[places[event.key]] || find("search")).focus();
  }
}
