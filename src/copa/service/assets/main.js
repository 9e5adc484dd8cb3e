// The explorer: an applicant's values in, a plan as cards out, and wishes that change it at once.
import { get, post } from "./api.js";
import { Asked } from "./asked.js";
import { announce, find, make } from "./dom.js";
import { Form } from "./form.js";
import { LetterDialog } from "./letter.js";
import { People } from "./people.js";
import { Planning } from "./planning.js";
import { resources } from "./resources.js";
import { Store } from "./store.js";
import { Views } from "./views.js";
import { drawChips, wishControls } from "./wishes.js";

const UNREADABLE = { sign: "✕ error", is_calm: false, cards: [], whole: [], ranges: "", rates: "" };
const NO_LETTER = ["already_valid", "error", "time_limit"];

const store = new Store(), form = new Form(store), cardActions = resources.map((it) => it.cardAction).filter(Boolean);
let planning = null;
let current = null; // the plan on the page: its request, the service's answer and what is drawn

document.documentElement.classList.add("js");

// ---- what the page says
function busy(is) {
  find("result").setAttribute("aria-busy", String(is));
  find("spinner").hidden = !is;
  if (is) { announce("Looking for options …"); }
}

function showProblem(words) {
  find("problem-words").textContent = words;
  find("problem").hidden = !words;
}

function summary(view) {
  const n = view.cards.length;
  if (!n) { return [view.sign, ...view.notes].join(". "); }
  const found = n === 1 ? "1 option" : n + " options";
  return [view.sign, found, ...view.whole.map((bar) => bar.words + " " + bar.value)].join(", ");
}

// ---- a plan
function drawPlan(view) {
  const plan = find("plan"), had = plan.contains(document.activeElement);
  plan.replaceChildren(CopaCards.draw(view, {
    change: (change) => wishControls(store, change.column, change),
    card: (card, number) => {
      const made = cardActions.map((action) => action(card, number, current));
      return make("div", { class: "card-actions" }, made);
    },
  }));
  if (had) { find("name").focus({ preventScroll: true }); }
}

// A message as it is said to one person: there is one row, and columns have titles.
function plainly(words) {
  const one = words.replace(/^(row 0|\/\S*): /i, "");
  const named = store.schema.find((feature) => one.includes("column '" + feature.name + "'"));
  const told = named ? one.replace("column '" + named.name + "'", () => named.title) : one;
  return { column: named ? named.name : null, words: told.charAt(0).toUpperCase() + told.slice(1) };
}

// What the cards show of the service's answer, and of each change the column and its values, which wishes are about.
function viewOf(entry) {
  const readable = entry.card !== null;
  const view = readable ? entry.card : { ...UNREADABLE, status: "error", notes: [entry.message] };
  if (view.status === "error") {
    const said = view.notes.map(plainly);
    said.filter((it) => it.column !== null).forEach((it) => form.showError(it.column, it.words));
    view.notes = said.map((it) => it.words);
  }
  view.cards.forEach((card, j) => card.changes.forEach((change, k) => {
    const { column, from, to } = entry.options[j].changes[k];
    Object.assign(change, { column, from, to });
  }));
  return view;
}

function head(title, view, beside) {
  find("name").textContent = title;
  find("sign").textContent = view.sign;
  find("sign").className = "sign sign-" + view.status;
  find("promise").textContent = beside.promise;
  find("effort").textContent = beside.effort;
  find("assumption").textContent = beside.assumption;
  find("rests").hidden = !beside.assumption;
  find("letter-button").disabled = current === null || NO_LETTER.includes(view.status);
}

function shown(answer, request) {
  const [entry] = answer.plans, title = store.title();
  form.clearErrors();
  showProblem("");
  const view = viewOf(entry), some = view.cards.length > 0;
  current = { request, entry, title, label: store.label, asked: answer.asked };
  head(title, view, {
    promise: some ? entry.card.promise.join(" ") : "",
    effort: some ? entry.card.effort : "",
    assumption: view.status === "error" ? "" : answer.assumptions.in_words,
  });
  drawPlan(view);
  announce(summary(view));
}

function failed(error) {
  current = null;
  form.clearErrors();
  const named = error.entries.map((entry) => {
    const parts = entry.field.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    return parts.some((part) => form.showError(part, entry.allowed));
  });
  const said = plainly(error.message);
  if (!named.some(Boolean) && said.column !== null) { form.showError(said.column, said.words); }
  showProblem(said.words);
  head(store.title(), { sign: "", status: "error", cards: [] }, { promise: "", effort: "", assumption: "" });
  find("plan").replaceChildren();
  announce(said.words);
}

function plan(pause) {
  planning.request(store.request(), pause);
}

// ---- a narrow page has the form behind a button
function fold(open) {
  find("unfold").setAttribute("aria-expanded", String(open));
  find("who").classList.toggle("open", open);
}

function showResult() {
  const isNarrow = find("unfold").offsetParent !== null;
  if (!isNarrow) { return; }
  fold(false);
  find("name").focus();
}

function listen() {
  store.addEventListener("row", () => { form.fill(); plan(0); });
  store.addEventListener("cell", () => plan());
  store.addEventListener("asked", () => plan());
  store.addEventListener("wishes", () => { drawChips(store); form.refreshWishes(); plan(0); });
  find("unfold").addEventListener("click", () => fold(find("unfold").getAttribute("aria-expanded") !== "true"));
  find("to-plan").addEventListener("click", showResult);
  find("form").addEventListener("submit", (event) => event.preventDefault());
  find("forget").addEventListener("click", () => { store.forgetWishes(); find("name").focus(); });
  find("retry").addEventListener("click", () => { plan(0); find("name").focus(); });
  find("print").addEventListener("click", () => window.print());
  window.addEventListener("beforeprint", () => { find("rests").open = true; }); // what guarantees rest on is printed too
}

async function start() {
  const views = new Views(store), letter = new LetterDialog(store);
  planning = new Planning({ ask: (body, signal) => post("v1/plan", { ...body, cards: true }, signal), shown, failed, busy });
  find("letter-button").addEventListener("click", () => letter.open(current, current.label || ""));
  try {
    const [schema, model, example] = await Promise.all([get("v1/schema"), get("v1/model"), get("explorer/example")]);
    store.schema = schema.columns;
    new Asked(store, model); // listens to the store from now on
    form.draw();
    listen();
    const fillIn = () => store.setRow(example.row, { isExample: true });
    find("example").addEventListener("click", fillIn);
    find("loading").hidden = true;
    find("desk").hidden = false;
    if (model.applicants !== null) {
      find("searching").hidden = false;
      new People(store, showResult).search();
    }
    views.open(model);
    fillIn();
  } catch (error) {
    find("loading").textContent = error.message;
    find("loading").className = "error";
  }
}

start();
