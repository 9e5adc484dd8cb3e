// How sure, how far ahead, and how many: the level, the horizon and the number of options.
import { find } from "./dom.js";

const MOST_OPTIONS = 10, LEAST_LEVEL = 0.5, HIGHEST_LEVEL = 0.99;
const EXPECTED = "expected:";

const within = (value, least, most) => Math.min(Math.max(value, least), most);
const counted = (number, what) => number + " " + what + (number === 1 ? "" : "s");

export class Asked {
  // `model` is the service's answer about its model.
  constructor(store, model) {
    const { guarantee, guarantee_for: whom, n_options: most } = model.settings;
    const { horizon } = model;
    this.store = store;
    this.whom = model.guarantee_for[whom];
    this.horizons = horizon.movable ? Math.max(horizon.most, horizon.value) : 0;
    store.expects = String(guarantee).startsWith(EXPECTED);
    const level = store.asked.level || Number(String(guarantee).replace(EXPECTED, ""));
    find("options").max = String(Math.max(most, Math.min(MOST_OPTIONS, model.limits.options)));
    store.asked.level = within(level, LEAST_LEVEL, HIGHEST_LEVEL);
    store.asked.options = within(Math.round(store.asked.options || most), 1, Number(find("options").max));
    store.asked.horizon = this.horizons ? within(store.asked.horizon || horizon.value, 1, this.horizons) : null;
    find("horizon").max = String(this.horizons || 1);
    find("horizon-line").hidden = !this.horizons;
    ["level", "options", "horizon"].forEach((name) => find(name).addEventListener("input", (event) => {
      store.setAsked(name, Number(event.target.value));
      this.fill();
    }));
    this.fill();
  }

  fill() {
    const { level, horizon, options } = this.store.asked;
    const share = Math.round(1000 * level) / 10 + " of 100 later models accept " + this.whom;
    const words = (this.store.expects ? "about " : "at least ") + share;
    find("level").value = String(level);
    find("level").setAttribute("aria-valuetext", words);
    find("level-shown").textContent = String(level);
    find("level-words").textContent = words;
    find("options").value = String(options);
    find("options-shown").textContent = "up to " + options;
    if (this.horizons) {
      find("horizon").value = String(horizon);
      find("horizon-shown").textContent = counted(horizon, "retraining");
    }
  }

  // What is asked for, in words, for a plan that is kept.
  words() {
    const { level, horizon, options } = this.store.asked;
    const parts = ["level " + level, "up to " + counted(options, "option")];
    return (horizon === null ? parts : [...parts, counted(horizon, "retraining")]).join(", ");
  }
}
