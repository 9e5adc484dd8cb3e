// Two plans side by side: one that was kept, and the one on the page.
import { find, make, note } from "./dom.js";
import { valueWords } from "./form.js";

// The lowest of some numbers in words, such as "at least 0.801"; "none" is lower than any.
function lowest(values) {
  const number = (text) => Number(text.replace(/[^0-9.]/g, "")); // 0 where there is none
  return values.length ? values.reduce((a, b) => (number(b) < number(a) ? b : a)) : "-";
}

// What is said of a plan as a whole: names and values, as on its cards.
function numbersOf(plan) {
  const { view } = plan, whole = (words) => {
    const bar = view.whole.find((it) => it.words === words && it.value.startsWith("at least"));
    return [bar ? bar.value : "-"];
  };
  return new Map([
    ["for", [plan.title]],
    ["asked for", [plan.words]],
    ["wishes", plan.wishes.length ? plan.wishes : ["none"]],
    ["outcome", [view.sign]],
    ["options", [String(view.cards.length)]],
    ["least effort", [lowest(view.cards.map((card) => card.effort))]],
    ["lowest guarantee of an option", [lowest(view.cards.map((card) => card.bar.value))]],
    ["lowest expected rate", [lowest(view.cards.map((card) => card.expected).filter(Boolean))]],
    ["at least one option holds", whole("at least one option holds")],
    ["all options hold", whole("all options hold")],
  ]);
}

// What the options ask of a column, by its title.
function columnsOf(view) {
  const asked = new Map();
  view.cards.forEach((card, k) => card.changes.forEach((change) => {
    const own = asked.get(change.title) || [];
    asked.set(change.title, [...own, "option " + (k + 1) + ": " + change.after]);
  }));
  return asked;
}

function section(title, kept, now, otherwise) {
  const cell = (lines) => make("td", {}, lines.map((text) => make("div", { text })));
  const rows = [...new Set([...kept.keys(), ...now.keys()])].map((name) => {
    const one = kept.get(name) || [otherwise], other = now.get(name) || [otherwise];
    const differs = one.join("\n") !== other.join("\n");
    const named = make("th", { scope: "row", text: name }, differs ? [" ", make("small", { text: "differs" })] : []);
    return make("tr", { class: differs ? "differs" : null }, [named, cell(one), cell(other)]);
  });
  const head = make("tr", {}, [make("th", { scope: "colgroup", colspan: "3", class: "part", text: title })]);
  return rows.length ? make("tbody", {}, [head, ...rows]) : null;
}

export class Comparison {
  constructor(store) {
    this.store = store;
    this.kept = null;
    find("forget-kept").addEventListener("click", () => {
      this.kept = null;
      this.draw(null);
      find("keep").focus();
    });
  }

  keep(current) {
    this.kept = current;
    this.draw(current);
  }

  // `current` is the plan on the page, or null where there is none.
  draw(current) {
    find("comparison").hidden = this.kept === null;
    if (this.kept === null) { return; }
    if (current === null || current.view.status === "error") {
      find("compared").replaceChildren(note("A plan is kept; there is none now to compare it with."));
    } else if (this.kept === current) {
      find("compared").replaceChildren(note("This plan is kept. Change a wish or a value, and both stand side by side here."));
    } else {
      find("compared").replaceChildren(this.table(current));
    }
  }

  // Values of the person that are not the same in both.
  valuesOf(plan, other) {
    const [row] = plan.request.applicants, [another] = other.request.applicants;
    const changed = this.store.schema.filter(({ name }) => row[name] !== another[name]);
    return new Map(changed.map((feature) => [feature.title, [valueWords(feature, row[feature.name])]]));
  }

  table(now) {
    const { kept } = this;
    const names = make("tr", {}, [make("td"), ...["kept", "now"].map((text) => make("th", { scope: "col", text }))]);
    return make("table", { class: "compare" }, [
      make("thead", {}, [names]),
      section("The plan as a whole", numbersOf(kept), numbersOf(now), "-"),
      section("What is so today", this.valuesOf(kept, now), this.valuesOf(now, kept), "-"),
      section("What its options ask for", columnsOf(kept.view), columnsOf(now.view), "stays"),
    ]);
  }
}
