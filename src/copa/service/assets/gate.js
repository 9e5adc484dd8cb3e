// The gate: a candidate model is uploaded, and tried on every open promise.
import { plainWords, upload } from "./api.js";
import { atLeast, button, make, note, percent, table } from "./dom.js";

const MOST_LISTED = 20, MOST_PARTS = 3;
const signed = (number) => (number < 0 ? "−" : "+") + Math.abs(number).toFixed(2);

function part(name, rows) {
  const cells = rows.map((it) => [it.name, it.n_promises.toLocaleString("en"), it.n_broken.toLocaleString("en"), percent(it.broken_share)]);
  return table([name, "promises", "broken", "share"], cells, "By " + name);
}

function brokenTable({ broken, n_broken: n }) {
  const head = ["applicant", "option", "guarantee", "model", "made", "valid until", "promise"];
  const rows = broken.slice(0, MOST_LISTED).map((it) => [
    it.applicant || "(deleted)", it.option, it.option_guarantee === null ? "-" : "at least " + atLeast(it.option_guarantee),
    it.model_version, it.made, it.valid_until, it.promise,
  ]);
  const words = n > MOST_LISTED ? "The " + MOST_LISTED + " clearest refusals of the " + n.toLocaleString("en") + " promises that it would break" : "Promises that it would break, the clearest refusals first";
  return table(head, rows, words, "texts promises");
}

// Which parts of the score fell most.
function causes({ causes: found, why_not: none, unit }) {
  if (!found.length) { return none ? note("Why is not known: " + none) : null; }
  const rows = found.map((it) => [
    it.applicant || "(deleted)", signed(it.score_in_force), signed(it.score),
    it.changes.filter(({ change }) => change < 0).sort((a, b) => a.change - b.change).slice(0, MOST_PARTS)
      .map(({ part: name, change }) => name + " " + signed(change)).join(", "),
  ]);
  return table(["applicant", "score in force", "candidate", "what lowers it most"], rows, "Why, for the clearest refusals (in " + unit + "; accepted from 0)", "texts promises");
}

function drawVerdict(report) {
  const [first, ...others] = report.in_words;
  return [
    make("p", { class: report.passed ? "promise" : "problem", id: "passed", text: (report.passed ? "✓ " : "✕ ") + first }),
    ...others.map((text) => make("p", { text })),
    ...Object.entries(report.parts).filter(([, rows]) => rows.length).map(([name, rows]) => part(name, rows)),
    ...(report.n_broken ? [causes(report), brokenTable(report)].filter(Boolean) : []),
  ];
}

function draw() {
  const file = make("input", { type: "file", id: "candidate", accept: ".skops" });
  const most = make("input", { type: "number", id: "max-broken", min: "0", max: "100", step: "any", value: "0", required: true });
  const result = make("div", { role: "status", id: "verdict" });
  const wrong = (words) => result.replaceChildren(make("p", { class: "error", text: words }));
  const ask = button("Try the candidate", async () => {
    if (!file.files.length) { wrong("Choose the file of a candidate first."); return; }
    if (!most.checkValidity()) { wrong("At most broken: a number from 0 to 100, in %."); return; }
    result.replaceChildren(note("Trying all open promises …"));
    ask.disabled = true;
    try {
      const path = "v1/gate?" + new URLSearchParams({ max_broken: most.valueAsNumber / 100 });
      result.replaceChildren(...drawVerdict(await upload(path, file.files[0])));
    } catch (error) {
      wrong(plainWords(error));
    }
    ask.disabled = false;
    if (document.activeElement === document.body) { ask.focus(); } // which it lost while it was disabled
  }, { id: "try-candidate" });
  return [
    note("A retrained model, as a skops file. It is tried on every open promise at its own threshold, and is not kept. Files with types that do more than hold data are refused."),
    make("div", { class: "row" }, [
      make("label", { for: "candidate", text: "Candidate" }), file,
      make("label", { for: "max-broken", text: "At most broken, in %" }), most, ask,
    ]),
    result,
  ];
}

export const panels = [
  { title: "Gate of a candidate", offered: (model) => model.promises, load: async () => null, draw },
];
