// The explorer: an applicant's values in, a plan as cards out, and wishes that change it at once.
import { get, post } from "./api.js";
import { Asked } from "./asked.js";
import { Comparison } from "./compare.js";
import { find, make } from "./dom.js";
import { Form } from "./form.js";
import { openLetter, setUpLetter } from "./letter.js";
import { People } from "./people.js";
import { Planning } from "./planning.js";
import { Store } from "./store.js";
import { openValidators } from "./validators.js";
import { drawChips, wishControls, wishWords } from "./wishes.js";

// What stands at the end of a card: functions of the card, its number and the plan that return an element or null.
export const cardActions = [];

const store = new Store(), form = new Form(store);
let asked = null, comparison = null, planning = null;
let current = null; // the plan on the page: its request, the service's answer and what is drawn

document.documentElement.classList.add("js");

// ---- what the page says
function announce(words) { find("status").textContent = words; }

function busy(is) {
  find("result").setAttribute("aria-busy", String(is));
  find("spinner").hidden = !is;
  if (is) { announce("Looking for options …"); }
}

function showProblem(words) {
  find("problem").textContent = words;
  find("problem").hidden = !words;
}

function summary(view) {
  const n = view.cards.length;
  if (!n) { return [view.sign, ...view.notes].join(". "); }
  const found = n === 1 ? "1 option" : n + " options";
  return view.sign + ": " + found + ". " + view.whole.map((bar) => bar.words + " " + bar.value).join(", ");
}

// ---- a plan
function drawPlan(view) {
  const plan = find("plan"), had = plan.contains(document.activeElement);
  plan.replaceChildren(CopaCards.draw(view, {
    change: (change) => wishControls(store, change.column, change),
    card: (card, number) => make("div", { class: "card-actions" }, cardActions.map((action) => action(card, number, current))),
  }));
  if (had) { find("name").focus({ preventScroll: true }); }
}

// What the cards show of the service's answer, and of each change the column and its values, which wishes are about.
function viewOf(entry) {
  if (entry.card === null) { // a row that cannot be read
    return { status: "error", sign: "✕ error", is_calm: false, notes: [entry.message], cards: [], whole: [], ranges: "", rates: "" };
  }
  const view = CopaCards.reader(entry.card).view(0);
  view.cards.forEach((card, j) => card.changes.forEach((change, k) => {
    const { column, from, to } = entry.options[j].changes[k];
    Object.assign(change, { column, from, to });
  }));
  return view;
}

function shown(answer, request) {
  const [entry] = answer.plans, view = viewOf(entry);
  current = { request, entry, view, asked: asked.words(), wishes: wishWords(store) };
  form.clearErrors();
  showProblem("");
  find("name").textContent = store.label === null ? "Your plan" : "Applicant " + store.label;
  find("sign").textContent = view.sign;
  find("sign").className = "sign sign-" + view.status;
  find("promise").textContent = entry.card === null ? "" : entry.card.promise.join(" ");
  find("effort").textContent = entry.card === null ? "" : entry.card.effort;
  find("assumption").textContent = answer.asked.assumption;
  find("letter-button").disabled = view.status === "already_valid" || view.status === "error" || view.status === "time_limit";
  find("keep").disabled = !view.cards.length;
  drawPlan(view);
  comparison.draw(current);
  if (view.status === "error") { placeErrors([entry.message]); }
  announce(summary(view));
}

// A message names its column in quotes; then it is shown at the field too.
function placeErrors(messages) {
  let placed = false;
  messages.forEach((words) => {
    const named = store.schema.find((feature) => words.includes("column '" + feature.name + "'"));
    placed = (named && form.showError(named.name, words)) || placed;
  });
  return placed;
}

function failed(error) {
  const named = (error.entries || []).map((entry) => {
    const parts = String(entry.field || "").split(/[.[\]/]+/);
    const column = parts.find((part) => store.schema.some((feature) => feature.name === part));
    return column ? form.showError(column, entry.allowed) : false;
  });
  if (!named.some(Boolean)) { placeErrors([error.message]); }
  showProblem(error.message);
  find("plan").replaceChildren();
  find("sign").textContent = "";
  find("keep").disabled = true;
  find("letter-button").disabled = true;
  announce(error.message);
}

function plan(pause) {
  if (asked !== null) { planning.request(store.request(), pause); }
}

// ---- views
function showView() {
  const { view } = store.asked;
  ["plan", "validators"].forEach((name) => {
    const chosen = name === view, tab = find("tab-" + name);
    find("view-" + name).hidden = !chosen;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  });
  if (view === "validators") { openValidators(); }
}

function setUpTabs() {
  const names = ["plan", "validators"];
  names.forEach((name, k) => {
    find("tab-" + name).addEventListener("click", () => store.setAsked("view", name));
    find("tab-" + name).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") { return; }
      event.preventDefault();
      store.setAsked("view", names[1 - k]);
      find("tab-" + names[1 - k]).focus();
    });
  });
}

// A narrow page has the form behind a button.
function setUpFolding() {
  find("unfold").addEventListener("click", () => {
    const open = find("unfold").getAttribute("aria-expanded") !== "true";
    find("unfold").setAttribute("aria-expanded", String(open));
    find("who").classList.toggle("open", open);
  });
}

function listen() {
  store.addEventListener("row", () => { form.fill(); plan(0); });
  store.addEventListener("cell", () => plan());
  store.addEventListener("asked", () => plan());
  store.addEventListener("view", showView);
  store.addEventListener("wishes", () => { drawChips(store); form.refreshWishes(); plan(0); });
  find("forget").addEventListener("click", () => { store.forgetWishes(); find("name").focus(); });
  find("keep").addEventListener("click", () => comparison.keep(current));
  find("letter-button").addEventListener("click", () => openLetter(current.request));
  find("print").addEventListener("click", () => window.print());
}

async function start() {
  setUpTabs();
  setUpFolding();
  setUpLetter();
  comparison = new Comparison();
  planning = new Planning({ ask: (body, signal) => post("v1/plan", { ...body, cards: true }, signal), shown, failed, busy });
  showView();
  try {
    const [schema, model, example] = await Promise.all([get("v1/schema"), get("v1/model"), get("explorer/example")]);
    store.schema = schema.columns;
    asked = new Asked(store, model);
    form.draw();
    listen();
    find("example").addEventListener("click", () => store.setRow(example.row));
    find("loading").hidden = true;
    find("desk").hidden = false;
    if (model.applicants !== null) {
      find("searching").hidden = false;
      new People(store).search();
    }
    store.setRow(example.row);
  } catch (error) {
    find("loading").textContent = error.message;
  }
}

start();
