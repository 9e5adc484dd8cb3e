// How sure, how far ahead, and how many: the level, the horizon and the number of options.
import { find } from "./dom.js";

const MOST_OPTIONS = 10, LEAST_LEVEL = 0.5, HIGHEST_LEVEL = 0.99;

const within = (value, least, most) => Math.min(Math.max(value, least), most);
const counted = (number, what) => number + " " + what + (number === 1 ? "" : "s");

export class Asked {
  // `model` is the service's answer about its model.
  constructor(store, model) {
    const { guarantee: own, guarantee_for: whom, n_options: most, expected } = model.settings;
    const { horizon } = model, { asked } = store;
    this.store = store;
    this.whom = model.guarantee_for[whom];
    this.horizons = horizon.movable ? Math.max(horizon.most, horizon.value) : 0;
    store.expects = expected;
    const least = Math.min(LEAST_LEVEL, own), highest = Math.max(HIGHEST_LEVEL, own); // of which the bundle's is one
    const mostOptions = Math.max(most, Math.min(MOST_OPTIONS, model.limits.options));
    const isRound = Math.abs(100 * own - Math.round(100 * own)) < 1e-9;
    Object.assign(find("level"), { min: String(least), max: String(highest), step: isRound ? "0.01" : "any" });
    find("options").max = String(mostOptions);
    find("horizon").max = String(this.horizons || 1);
    find("horizon-line").hidden = !this.horizons;
    asked.level = within(asked.level || own, least, highest);
    asked.options = within(Math.round(asked.options || most), 1, mostOptions);
    asked.horizon = this.horizons ? within(Math.round(asked.horizon || horizon.value), 1, this.horizons) : null;
    ["level", "options", "horizon"].forEach((name) => find(name).addEventListener("input", (event) => {
      store.setAsked(name, Number(Number(event.target.value).toFixed(3)));
      this.fill();
    }));
    this.fill();
  }

  fill() {
    const { level, horizon, options } = this.store.asked;
    const share = Math.round(1000 * level) / 10 + " of 100 later models accept " + this.whom;
    this.show("level", level, (this.store.expects ? "about " : "at least ") + share);
    this.show("options", options, options === 1 ? "one option" : "up to " + options + " options");
    if (this.horizons) { this.show("horizon", horizon, counted(horizon, "retraining") + " of the model"); }
  }

  show(name, value, words) {
    find(name).value = String(value);
    find(name).setAttribute("aria-valuetext", words);
    find(name + "-shown").textContent = String(value);
    find(name + "-words").textContent = words;
  }
}
