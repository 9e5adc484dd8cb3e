// What a validator asks about the bundle: what is assumed, the backtest, groups, and what the bundle holds.
import { get } from "./api.js";
import { button, facts, make, note, table } from "./dom.js";

const NOBODY = "Groups are compared where the service was started with applicants: copa serve --applicants FILE --id COLUMN.";

let known = null; // the answer that the panels share

function load() {
  known = known || get("explorer/validators").catch((error) => { known = null; throw error; });
  return known;
}

function drawAssumed({ assumed }) {
  return [...assumed.sentences.map((words) => make("p", { text: words })), facts(assumed.facts)];
}

function drawBacktest({ backtest, no_backtest: none }) {
  if (!backtest) { return [note(none)]; }
  return [
    make("p", { class: "promise", text: backtest.headline }),
    make("ul", {}, backtest.sentences.map((words) => make("li", { text: words + "." }))),
    ...backtest.tables.map((it) => table(it.head, it.rows, it.caption)),
    ...backtest.notes.map(note),
  ];
}

function drawGroups({ groups: { columns, n_applicants: n } }) {
  if (!columns.length) { return [note(NOBODY)]; }
  const result = make("div", { role: "status" });
  const choice = make("select", { id: "group" }, columns.map((column) => make("option", { value: column.name, text: column.title })));
  const compare = async () => {
    const column = choice.value;
    result.replaceChildren(note("Planning for the applicants …"));
    let drawn;
    try {
      const found = await get("explorer/groups?" + new URLSearchParams({ column }));
      drawn = [table(found.head, found.rows, found.caption), ...found.notes.map(note)];
    } catch (error) {
      drawn = [make("p", { class: "error", text: error.message })];
    }
    if (column === choice.value) { result.replaceChildren(...drawn); }
  };
  choice.addEventListener("change", () => result.replaceChildren());
  return [
    make("div", { class: "row" }, [
      make("label", { for: "group", text: "Compare by" }), choice, button("Compare", compare, { id: "compare-groups" }),
    ]),
    note("Plans are made for up to " + n.toLocaleString("en") + " applicants of the service's own table, as the bundle has it, without wishes."),
    result,
  ];
}

function drawBundle({ bundle }) {
  const head = ["column", "kind", "may change", "range or values", "limit"];
  return [facts(bundle.facts), table(head, bundle.columns, "Columns of the schema", "texts"), ...bundle.rules.map(note)];
}

export const panels = [
  { title: "What is assumed", load, draw: drawAssumed },
  { title: "Backtest", load, draw: drawBacktest },
  { title: "Groups", load, draw: drawGroups },
  { title: "The bundle", load, draw: drawBundle },
];
