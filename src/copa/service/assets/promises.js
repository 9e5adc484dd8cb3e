// Promises: an option is recorded as one; validators see the ledger, the portfolio, and the gate of a candidate.
import { get, post, upload } from "./api.js";
import { announce, button, facts, make, note, table } from "./dom.js";

const isOffered = "promises" in document.documentElement.dataset; // the page itself says whether there is a ledger
const PROMISABLE = ["ok", "fragile"];
const MOST_LISTED = 50;
const percent = (share) => (100 * share).toFixed(1) + " %";
const sentences = (words) => words.map((it) => make("p", { text: it }));

// ---- an option becomes a promise
function inAYear() {
  const day = new Date();
  day.setFullYear(day.getFullYear() + 1);
  return day.toISOString().slice(0, 10);
}

function field(id, words, properties) {
  return make("label", { class: "search", for: id, text: words }, [make("input", { id, autocomplete: "off", ...properties })]);
}

function recordBody(plan, number, form) {
  const { applicants: [applicant], ...wishes } = plan.request;
  const value = (id) => form.querySelector("#" + id).value.trim();
  return {
    ...wishes, applicant, name: value("promise-name"), options: [number], rows: [plan.entry.options[number - 1].row],
    valid_for: value("promise-until"), recorded_by: value("promise-by"),
  };
}

function openDialog(plan, number, opener) {
  const said = make("p", { class: "note", role: "status", id: "promise-status" });
  const close = button("Close", () => dialog.close());
  const form = make("form", { id: "promise-form" }, [
    make("h2", { id: "promise-title", text: "Promise option " + number }),
    note("The option is recorded in the ledger with its row, ranges and guarantee, for whoever retrains the model."),
    field("promise-name", "Applicant", { required: true, maxlength: "200", value: plan.label || "" }),
    field("promise-until", "Valid until", { type: "date", required: true, value: inAYear() }),
    field("promise-by", "Recorded by (optional)", { maxlength: "200" }),
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
      const { promises: [made] } = await post("v1/promises", recordBody(plan, number, form));
      said.textContent = "Recorded. The promise has the number " + made.promise + ".";
      submit.hidden = true;
      opener.textContent = "Promised: " + made.promise;
      opener.disabled = true;
      announce(said.textContent);
    } catch (error) {
      said.className = "error";
      said.textContent = error.message;
      submit.disabled = false;
    }
  });
  dialog.addEventListener("close", () => { dialog.remove(); opener.focus(); });
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
  const [summary, open] = await Promise.all([get("v1/promises/summary"), get("v1/promises?limit=" + MOST_LISTED)]);
  return { summary, open };
}

function drawLedger({ summary: { counts, chain }, open }) {
  const whole = chain.ok
    ? "The chain of all " + chain.events.toLocaleString("en") + " events is whole: none was changed, removed or put elsewhere."
    : "The ledger was tampered with or damaged: " + chain.message + ".";
  const head = ["promise", "applicant", "option", "guarantee", "model", "made", "valid until", "recorded by"];
  const rows = open.promises.map((it) => [
    it.promise, it.applicant || "(purged)", it.option, it.option_guarantee === null ? "" : it.option_guarantee.toFixed(3),
    it.model_version, it.made, it.valid_until, it.recorded_by,
  ]);
  return [
    make("p", { class: chain.ok ? "promise" : "error", text: whole }),
    facts(Object.entries(counts).map(([status, number]) => [status, number.toLocaleString("en")])),
    ...(rows.length ? [table(head, rows, "Open promises" + (open.more ? ", the first " + MOST_LISTED : ""), "texts")] : [note("No promise is open.")]),
  ];
}

function svg(tag, properties, children = []) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(properties).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children);
  return made;
}

// How many of the refits break which share, in twenty bars.
function histogram(shares) {
  const n = 20, most = Math.max(...shares, 0.05), counts = new Array(n).fill(0);
  shares.forEach((share) => { counts[Math.min(n - 1, Math.floor((n * share) / most))] += 1; });
  const highest = Math.max(...counts);
  const bars = counts.map((count, k) => svg("rect", {
    x: 30 * k + 2, width: 26, y: 120 - (110 * count) / highest, height: (110 * count) / highest, class: "bar",
  }));
  const words = (x, text, anchor) => {
    const made = svg("text", { x, y: 140, "text-anchor": anchor });
    made.textContent = text;
    return made;
  };
  return svg("svg", {
    viewBox: "0 0 600 148", class: "histogram", role: "img",
    "aria-label": "Share of the promises that each of " + shares.length + " refits breaks, from 0 to " + percent(most),
  }, [...bars, words(0, "0 %", "start"), words(300, "share of the promises that a refit breaks", "middle"), words(600, percent(most), "end")]);
}

async function loadPortfolio() {
  const { counts } = await get("v1/promises/summary");
  return counts.open ? get("v1/promises/portfolio") : null;
}

function drawPortfolio(risk) {
  if (risk === null) { return [note("No promise is open: there is nothing that the next model could break.")]; }
  return [...sentences(risk.in_words), histogram(risk.shares)];
}

function drawVerdict(report) {
  const head = ["", "promises", "broken", "share"];
  const parts = Object.entries(report.parts).filter(([, rows]) => rows.length).map(([name, rows]) => table(
    head, rows.map((it) => [it.name, it.n_promises, it.n_broken, percent(it.broken_share)]), "By " + name.replaceAll("_", " "),
  ));
  const broken = report.broken.slice(0, MOST_LISTED).map((it) => [it.promise, it.applicant || "", it.model_version || "", it.valid_until || ""]);
  return [
    make("p", { class: report.passed ? "promise" : "error", text: report.passed ? "✓ The candidate passes." : "✕ The candidate fails." }),
    ...sentences(report.in_words), ...parts,
    ...(broken.length ? [table(["promise", "applicant", "model", "valid until"], broken, "Promises that it would break", "texts")] : []),
  ];
}

function drawGate() {
  const file = make("input", { type: "file", id: "candidate", accept: ".skops" });
  const most = make("input", { type: "number", id: "max-broken", min: "0", max: "100", step: "0.1", value: "0" });
  const result = make("div", { role: "status", id: "verdict" });
  const ask = button("Try the candidate", async () => {
    if (!file.files.length) { result.replaceChildren(make("p", { class: "error", text: "Choose the file of a candidate first." })); return; }
    result.replaceChildren(note("Trying all open promises …"));
    ask.disabled = true;
    try {
      result.replaceChildren(...drawVerdict(await upload("v1/gate?" + new URLSearchParams({ max_broken: most.value / 100 }), file.files[0])));
    } catch (error) {
      result.replaceChildren(make("p", { class: "error", text: error.message }));
    }
    ask.disabled = false;
  }, { id: "try-candidate" });
  return [
    note("A retrained model as a skops file. It is tried on every open promise at its own threshold, and is not kept; nothing in it is run."),
    make("div", { class: "row" }, [
      make("label", { for: "candidate", text: "Candidate" }), file,
      make("label", { for: "max-broken", text: "At most broken, in %" }), most, ask,
    ]),
    result,
  ];
}

const offered = (model) => model.promises;

export const panels = [
  { title: "Promises", offered, load: loadLedger, draw: drawLedger },
  { title: "What the next model may break", offered, load: loadPortfolio, draw: drawPortfolio },
  { title: "Gate of a candidate", offered, load: async () => null, draw: drawGate },
];
