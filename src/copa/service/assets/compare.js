// Two plans side by side: one that was kept, and the one on the page.
import { find, make, note } from "./dom.js";

// The lowest of some numbers in words, such as "at least 0.801"; "none" is lower than any.
function lowest(values) {
  const number = (text) => Number(text.replace(/[^0-9.]/g, "")); // 0 where there is none
  return values.length ? values.reduce((a, b) => (number(b) < number(a) ? b : a)) : "-";
}

// What is said of a plan as a whole: names and values, as on its cards.
function numbersOf(kept) {
  const { view } = kept, whole = (words) => {
    const bar = view.whole.find((it) => it.words === words && it.value.startsWith("at least"));
    return [bar ? bar.value : "-"];
  };
  return new Map([
    ["asked for", [kept.asked]],
    ["wishes", kept.wishes.length ? kept.wishes : ["none"]],
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

function section(title, kept, now) {
  const cell = (lines) => make("td", {}, lines.map((text) => make("div", { text })));
  const rows = [...new Set([...kept.keys(), ...now.keys()])].map((name) => {
    const one = kept.get(name) || ["stays"], other = now.get(name) || ["stays"];
    const differs = one.join("\n") !== other.join("\n");
    const named = make("th", { scope: "row", text: name }, differs ? [" ", make("small", { text: "differs" })] : []);
    return make("tr", { class: differs ? "differs" : null }, [named, cell(one), cell(other)]);
  });
  const head = make("tr", {}, [make("th", { scope: "colgroup", colspan: "3", class: "part", text: title })]);
  return make("tbody", {}, [head, ...rows]);
}

export class Comparison {
  constructor() {
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

  draw(current) {
    find("comparison").hidden = this.kept === null;
    if (this.kept === null || current === null) { return; }
    if (this.kept === current) {
      find("compared").replaceChildren(note("This plan is kept. Change a wish or a value, and both stand side by side here."));
      return;
    }
    const names = make("tr", {}, [make("td"), ...["kept", "now"].map((text) => make("th", { scope: "col", text }))]);
    find("compared").replaceChildren(make("table", { class: "compare" }, [
      make("thead", {}, [names]),
      section("The plan as a whole", numbersOf(this.kept), numbersOf(current)),
      section("What its options ask for", columnsOf(this.kept.view), columnsOf(current.view)),
    ]));
  }
}
