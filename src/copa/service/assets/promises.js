// Promises: an option is recorded as one, and validators see the ledger.
import { get, plainWords, post } from "./api.js";
import { announce, atLeast, button, facts, make, note, table } from "./dom.js";

const isOffered = "promises" in document.documentElement.dataset; // the page itself says whether there is a ledger
const PROMISABLE = ["ok", "fragile"]; // a fragile one when the dialog says so
const WHO = "copa-recorded-by"; // kept for the session
const MOST_LISTED = 20;
const FRAGILE = "This plan is fragile: below the guarantee asked for. Promise it all the same";

// ---- an option becomes a promise
function today(years = 0) {
  const day = new Date();
  day.setUTCFullYear(day.getUTCFullYear() + years);
  return day.toISOString().slice(0, 10);
}

function field(id, words, properties) {
  return make("label", { for: id, text: words }, [make("input", { id, autocomplete: "off", ...properties })]);
}

function recordBody(plan, number, form) {
  const { applicants: [applicant], ...wishes } = plan.request;
  const value = (id) => form.querySelector("#" + id).value.trim();
  return {
    ...wishes, applicant, name: value("promise-name"), options: [number], rows: [plan.entry.options[number - 1].row],
    valid_for: value("promise-until"), recorded_by: value("promise-by"),
    include_fragile: form.querySelector("#promise-fragile")?.checked ?? false,
  };
}

// What stands on the card in place of the button.
function recorded(made, until) {
  return make("p", { class: "promised", tabindex: "-1", text: "✓ Promised until " + until }, [make("small", { text: "promise " + made.promise })]);
}

function openDialog(plan, number, opener) {
  let place = opener; // what has the focus again in the end
  const said = make("p", { class: "note", role: "status", id: "promise-status" });
  const close = button("Cancel", () => dialog.close());
  const form = make("form", { id: "promise-form" }, [
    make("h2", { id: "promise-title", text: "Promise option " + number }),
    note("The ledger stores whom it is promised to, all values of the option with their ranges, and the guarantee, so that a retrained model can be tried on it before it is used."),
    field("promise-name", "Applicant: name or reference", { required: true, maxlength: "200", value: plan.label || "" }),
    field("promise-until", "Valid until", { type: "date", required: true, min: today(), value: today(1) }),
    field("promise-by", "Recorded by", { required: true, maxlength: "200", value: sessionStorage.getItem(WHO) || "" }),
    ...(plan.entry.status === "fragile" ? [field("promise-fragile", FRAGILE, { type: "checkbox", required: true })] : []),
    make("div", { class: "row" }, [make("button", { type: "submit", text: "Record the promise" }), close]),
    said,
  ]);
  const dialog = make("dialog", { id: "promise-dialog", "aria-labelledby": "promise-title" }, [form]);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const submit = form.querySelector("[type=submit]");
    submit.disabled = true;
    said.className = "note";
    said.textContent = "Recording …";
    try {
      const body = recordBody(plan, number, form), { promises: [made] } = await post("v1/promises", body);
      sessionStorage.setItem(WHO, body.recorded_by);
      place = recorded(made, body.valid_for);
      opener.replaceWith(place);
      announce("Option " + number + " is promised to " + body.name + ", and recorded.");
      dialog.close();
    } catch (error) {
      said.className = "error";
      said.textContent = plainWords(error);
      submit.disabled = false;
    }
  });
  dialog.addEventListener("close", () => { dialog.remove(); place.focus(); });
  document.body.append(dialog);
  dialog.showModal();
}

export function cardAction(card, number, plan) {
  if (!isOffered || !plan || !PROMISABLE.includes(plan.entry.status) || !plan.entry.options[number - 1].accepted) { return null; }
  const made = button("Promise this option", () => openDialog(plan, number, made), { class: "promise-option" });
  return made;
}

// ---- what validators see
async function loadLedger() {
  const [{ counts }, open] = await Promise.all([get("v1/promises/summary"), get("v1/promises?limit=" + MOST_LISTED)]);
  return { counts, open };
}

// All events are read for this, which takes its time in a large ledger; the rest is there before.
async function checkChain(place) {
  try {
    const chain = await get("v1/promises/check"), n = chain.events.toLocaleString("en");
    const whole = chain.events === 1 ? "Its one event is as it was recorded." : "The chain of its " + n + " events is whole: none was changed, removed or put elsewhere.";
    place.className = chain.ok ? "promise" : "error";
    place.textContent = chain.ok ? whole : "✕ The ledger was changed or is damaged: " + chain.message;
  } catch (error) {
    place.className = "error";
    place.textContent = "Whether the ledger is whole was not found out: " + plainWords(error);
  }
}

function listed({ promises, more }, n) {
  if (!promises.length) { return note("No promise is open."); }
  const head = ["applicant", "option", "guarantee", "model", "made", "valid until", "recorded by", "promise"];
  const rows = promises.map((it) => [
    it.applicant || "(deleted)", it.option, it.option_guarantee === null ? "-" : "at least " + atLeast(it.option_guarantee),
    it.model_version, it.made, it.valid_until, it.recorded_by, it.promise,
  ]);
  return table(head, rows, "Open promises" + (more ? ", the first " + MOST_LISTED + " of " + n.toLocaleString("en") : ""), "texts promises");
}

function drawLedger({ counts, open }) {
  const total = Object.values(counts).reduce((sum, number) => sum + number, 0);
  if (!total) { return [note("Nothing is promised yet. An option is promised on its card, in the plan.")]; }
  const chain = make("p", { class: "note", role: "status", id: "chain", text: "Checking every event …" });
  checkChain(chain);
  const named = Object.entries(counts).map(([status, number]) => [status.charAt(0).toUpperCase() + status.slice(1), number.toLocaleString("en")]);
  return [facts(named), chain, listed(open, counts.open)];
}

export const panels = [
  { title: "Promises", offered: (model) => model.promises, isLive: true, load: loadLedger, draw: drawLedger },
];
