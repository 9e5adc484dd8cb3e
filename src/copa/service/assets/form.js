// The form that is made from the schema: a field for each column, those that may change first.
import { find, make } from "./dom.js";
import { wishControls } from "./wishes.js";

const NOTHING = ""; // the option of a select for a value that is not stated

export class Form {
  constructor(store) {
    this.store = store;
    this.fields = new Map();
  }

  draw() {
    const { schema } = this.store;
    schema.filter((feature) => feature.type === "boolean" && !feature.values).forEach((feature) => {
      feature.values = [{ value: true, label: "yes" }, { value: false, label: "no" }];
    });
    const group = (title, features) => (features.length ? make("fieldset", {}, [
      make("legend", { text: title }),
      ...features.map((feature) => this.field(feature)),
    ]) : null);
    find("form").replaceChildren(...[
      group("What an option may change", schema.filter((feature) => !feature.immutable)),
      group("What no option changes", schema.filter((feature) => feature.immutable)),
    ].filter(Boolean));
  }

  field(feature) {
    const id = "field-" + this.fields.size;
    const entry = this.entry(feature, id);
    const error = make("p", { class: "error", id: id + "-error", hidden: true });
    const hint = rangeWords(feature);
    const line = feature.immutable ? null : wishControls(this.store, feature.name);
    const label = make("label", { for: id, text: feature.title });
    if (feature.unit) { label.append(" ", make("span", { class: "unit", text: "(" + feature.unit + ")" })); }
    entry.setAttribute("aria-describedby", [hint ? id + "-hint" : "", error.id].join(" ").trim());
    this.fields.set(feature.name, { feature, entry, error, line });
    return make("div", { class: "field", "data-column": feature.name }, [
      label, entry, hint ? make("p", { class: "hint", id: id + "-hint", text: hint }) : null, error, line,
    ]);
  }

  entry(feature, id) {
    if (feature.values) { return this.select(feature, id); }
    return feature.type === "string" ? this.text(feature, id) : this.number(feature, id);
  }

  text(feature, id) { // of a column that the schema does not describe
    const changed = (event) => this.store.setCell(feature.name, event.target.value === "" ? null : event.target.value);
    return make("input", { id, type: "text", input: changed, autocomplete: "off", placeholder: "not stated" });
  }

  select(feature, id) {
    const options = feature.values.map((level, k) => make("option", { value: String(k), text: level.label }));
    options.push(make("option", { value: NOTHING, text: "not stated" }));
    const changed = (event) => {
      const k = event.target.value;
      this.store.setCell(feature.name, k === NOTHING ? null : feature.values[Number(k)].value);
    };
    return make("select", { id, change: changed, autocomplete: "off" }, options);
  }

  number(feature, id) {
    const whole = feature.kind === "integer";
    const changed = (event) => {
      const text = event.target.value;
      this.store.setCell(feature.name, text === "" ? null : Number(text));
    };
    return make("input", {
      id, type: "number", step: feature.step || "any", inputmode: whole ? "numeric" : "decimal", input: changed,
      autocomplete: "off", placeholder: "not stated",
    });
  }

  // Show the row of the store.
  fill() {
    this.fields.forEach(({ feature, entry }) => {
      const value = this.store.row[feature.name];
      if (feature.values) {
        const k = feature.values.findIndex((level) => level.value === value);
        entry.value = k < 0 ? NOTHING : String(k);
      } else {
        entry.value = value === null || value === undefined ? "" : String(value);
        if (entry.type === "number") { withinRange(feature, entry, value); }
      }
    });
    this.clearErrors();
  }

  refreshWishes() {
    this.fields.forEach(({ line }) => { if (line) { line.refresh(); } });
  }

  clearErrors() {
    this.fields.forEach(({ entry, error }) => {
      error.hidden = true;
      error.textContent = "";
      entry.removeAttribute("aria-invalid");
    });
  }

  // Say what is wrong at the field of a column; whether there is such a field.
  showError(column, words) {
    const known = this.fields.get(column);
    if (!known) { return false; }
    known.error.textContent = words;
    known.error.hidden = false;
    known.entry.setAttribute("aria-invalid", "true");
    return true;
  }
}

// The ends of the range are those of a new value: an applicant's own may lie outside, and is not wrong for that.
function withinRange(feature, entry, value) {
  const inside = (feature.lower === null || value >= feature.lower) && (feature.upper === null || value <= feature.upper);
  [["min", feature.lower], ["max", feature.upper]].forEach(([name, end]) => {
    if (inside && end !== null) { entry.setAttribute(name, end); } else { entry.removeAttribute(name); }
  });
  const steps = (value - (inside && feature.lower !== null ? feature.lower : 0)) / feature.step;
  entry.step = feature.step && Math.abs(steps - Math.round(steps)) < 1e-9 ? feature.step : "any";
}

function rangeWords(feature) {
  if (feature.immutable || feature.values) { return ""; }
  const number = (end) => end.toLocaleString("en", { maximumSignificantDigits: 6 });
  const { lower, upper } = feature;
  let range = "";
  if (lower !== null && upper !== null) {
    range = "options stay within " + number(lower) + " and " + number(upper);
  } else if (lower !== null) {
    range = "options stay at or above " + number(lower);
  } else if (upper !== null) {
    range = "options stay at or below " + number(upper);
  }
  return range;
}
