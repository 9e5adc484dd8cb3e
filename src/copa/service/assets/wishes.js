// What a person can say of a column: "I cannot change this", "at most so much", "I would rather change this". The same
// controls stand below each change of a card and in the form; chips show what was said, and take it back.
import { button, find, make } from "./dom.js";
import { RATHER, RATHER_NOT } from "./store.js";

let made = 0; // controls, for their ids

const hasOrder = (feature) => feature.kind !== "categorical" && feature.kind !== "binary";

function onStep(feature, size) {
  const step = feature.kind === "ordinal" ? 1 : feature.step || 0;
  if (!step) { return Number(size.toPrecision(2)); }
  return Number((Math.max(Math.round(size / step), 1) * step).toPrecision(12));
}

// A limit to begin with: what was said before, half of what an option asks for, or the column's usual spread.
function proposal(store, feature, change) {
  if (store.limits.has(feature.name)) { return store.limits.get(feature.name); }
  if (feature.kind === "ordinal") { return 1; }
  const asked = change && typeof change.from === "number" ? Math.abs(change.to - change.from) / 2 : 0;
  return onStep(feature, asked || feature.spread || 1);
}

export function unitOf(feature, most) {
  if (feature.kind === "ordinal") { return most === 1 ? "level" : "levels"; }
  return feature.unit || "";
}

function limitLine(store, feature, change) {
  const id = "limit-" + made;
  const step = feature.kind === "ordinal" ? 1 : feature.step || "any";
  const input = make("input", { id, type: "number", min: "0", step, inputmode: "decimal" });
  input.value = proposal(store, feature, change);
  const apply = () => {
    const most = Number(input.value);
    if (input.value === "" || !(most >= 0)) { return; }
    if (most === 0) { store.fix(feature.name, true); } else { store.limit(feature.name, most); }
  };
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); apply(); } });
  return make("div", { class: "limit" }, [
    make("label", { for: id, text: "Change it by at most" }),
    make("span", { class: "limit-entry" }, [
      input,
      make("span", { text: unitOf(feature, 2) }),
      button("Set", apply, { "aria-label": "Set: change " + feature.title + " by at most this much" }),
    ]),
  ]);
}

// The controls of one column; `change` is that of a card, where they stand on one.
export function wishControls(store, column, change = null) {
  const feature = store.feature(column);
  if (!feature || feature.immutable) { return make("span"); }
  made += 1;
  const named = { "aria-label": "I cannot change this: " + feature.title };
  const stays = button("I cannot change this", () => store.fix(column, !store.fixed.has(column)), named);
  const factor = (words, value) => {
    const toggle = () => store.weigh(column, store.weights.get(column) === value ? null : value);
    return button(words, toggle, { "aria-label": words + ": " + feature.title, "data-factor": value });
  };
  const more = make("details", { class: "more" }, [
    make("summary", { text: "More wishes", "aria-label": "More wishes for " + feature.title }),
    hasOrder(feature) ? limitLine(store, feature, change) : null,
    make("div", { class: "rather" }, [factor("I would rather change this", RATHER), factor("I would rather not", RATHER_NOT)]),
  ]);
  const line = make("div", { class: "wish", "data-wish": column }, [stays, more]);
  line.refresh = () => {
    stays.setAttribute("aria-pressed", String(store.fixed.has(column)));
    more.querySelectorAll("[data-factor]").forEach((it) => {
      it.setAttribute("aria-pressed", String(store.weights.get(column) === Number(it.dataset.factor)));
    });
  };
  line.refresh();
  return line;
}

// ---- chips
function wordsOf(store) {
  const titled = (column) => store.feature(column).title;
  const number = (most) => most.toLocaleString("en", { maximumSignificantDigits: 6 });
  return [
    ...[...store.fixed].map((column) => [titled(column) + ": stays as it is", () => store.fix(column, false)]),
    ...[...store.limits].map(([column, most]) => [
      titled(column) + ": by at most " + number(most) + " " + unitOf(store.feature(column), most),
      () => store.limit(column, null),
    ]),
    ...[...store.weights].map(([column, factor]) => [
      titled(column) + (factor < 1 ? ": rather this" : ": rather not"),
      () => store.weigh(column, null),
    ]),
  ].map(([words, undo]) => [words.trim(), undo]);
}

export function drawChips(store) {
  const wishes = wordsOf(store), list = find("chips");
  const had = list.contains(document.activeElement);
  const chips = wishes.map(([words, undo]) => make("li", {}, [
    button(words, undo, { class: "chip", "aria-label": "Take back: " + words }),
  ]));
  list.replaceChildren(...chips);
  find("wishes").hidden = !wishes.length;
  find("forget").hidden = wishes.length < 2;
  if (had) { (list.querySelector("button") || find("name")).focus(); }
}
