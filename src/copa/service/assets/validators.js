// The view for validators: what is assumed, the backtest, groups, and what the bundle holds. `panels` is the list of
// its parts; each has a title and a function that draws it from what the service says.
import { get } from "./api.js";
import { button, facts, find, make, note, table } from "./dom.js";

function drawAssumed(content) {
  return [
    ...content.assumed.sentences.map((words) => make("p", { text: words })),
    facts(content.assumed.facts),
  ];
}

function drawBacktest(content) {
  const found = content.backtest;
  if (!found) { return [note(content.no_backtest)]; }
  return [
    make("p", { class: "promise", text: found.headline }),
    make("ul", {}, found.sentences.map((words) => make("li", { text: words + "." }))),
    ...found.tables.map((it) => table(it.head, it.rows, it.caption)),
    ...found.notes.map(note),
  ];
}

function drawGroups(content) {
  const { columns, n_applicants: n } = content.groups;
  if (!columns.length) { return [note("Groups are compared where the service was started with applicants: copa serve --applicants FILE --id COLUMN.")]; }
  const result = make("div", { role: "status" });
  const choice = make("select", { id: "group" }, columns.map((column) => make("option", { value: column.name, text: column.title })));
  const compare = async () => {
    result.replaceChildren(note("Planning for the applicants …"));
    try {
      const found = await get("explorer/groups?" + new URLSearchParams({ column: choice.value }));
      result.replaceChildren(table(found.head, found.rows, found.caption), ...found.notes.map(note));
    } catch (error) {
      result.replaceChildren(make("p", { class: "error", text: error.message }));
    }
  };
  return [
    make("div", { class: "row" }, [
      make("label", { for: "group", text: "Compare by" }), choice, button("Compare", compare, { id: "compare-groups" }),
    ]),
    note("Plans are made for " + n.toLocaleString("en") + " applicants of the service's own table, as the bundle has it, without wishes."),
    result,
  ];
}

function drawBundle(content) {
  return [
    facts(content.bundle.facts),
    table(["column", "kind", "may change", "range or values", "limit"], content.bundle.columns, "Columns of the schema", "texts"),
    ...content.bundle.rules.map(note),
  ];
}

export const panels = [
  { title: "What is assumed", draw: drawAssumed },
  { title: "Backtest", draw: drawBacktest },
  { title: "Groups", draw: drawGroups },
  { title: "The bundle", draw: drawBundle },
];

let loaded = false;

export async function openValidators() {
  if (loaded) { return; }
  loaded = true;
  const place = find("panels");
  place.replaceChildren(note("Reading the bundle …"));
  try {
    const content = await get("explorer/validators");
    place.replaceChildren(...panels.map((panel) => make("section", {}, [
      make("h2", { text: panel.title }), ...panel.draw(content),
    ])));
  } catch (error) {
    loaded = false;
    place.replaceChildren(make("p", { class: "error", text: error.message }));
  }
}
