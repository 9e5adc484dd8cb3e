// The letter of the plan on the page, to be read and printed. It stands in a frame that runs nothing. What the sender
// says of themselves stays in the dialog: the next letter has it too.
import { post } from "./api.js";
import { find } from "./dom.js";
import { Planning } from "./planning.js";

const FIELDS = { sender: "letter-sender", contact: "letter-contact", valid_until: "letter-until" };

export class LetterDialog {
  constructor(store) {
    this.store = store;
    this.request = null; // the plan's
    this.writing = new Planning({
      ask: (body, signal) => post("v1/letter", body, signal),
      shown: (answer) => this.shown(answer.letters[0]),
      failed: (error) => this.say(error.message, true),
      busy: (is) => { if (is) { this.say("Writing the letter …"); } },
    });
    find("letter-form").addEventListener("input", () => this.write());
    find("letter-form").addEventListener("submit", (event) => event.preventDefault());
    find("close-letter").addEventListener("click", () => find("letter-dialog").close());
    find("print-letter").addEventListener("click", () => find("letter").contentWindow.print());
    find("letter-dialog").addEventListener("close", () => { find("letter").srcdoc = ""; });
  }

  // `plan` is the one on the page; `name` is what the letter calls the applicant.
  open(plan, name) {
    this.request = plan.request;
    find("letter-name").value = name;
    find("letter").hidden = true;
    this.say("Writing the letter …");
    find("letter-dialog").showModal();
    this.write(0);
  }

  write(pause) {
    const told = Object.entries(FIELDS).map(([name, id]) => [name, find(id).value.trim()]).filter(([, text]) => text);
    const body = { ...this.request, names: [find("letter-name").value.trim()], ...Object.fromEntries(told) };
    find("print-letter").disabled = true;
    this.writing.request(body, pause);
  }

  shown(letter) {
    if (!letter.html) {
      this.say(letter.message || "There is no letter for this applicant.", true);
      return;
    }
    find("letter").srcdoc = letter.html;
    find("letter").hidden = false;
    find("print-letter").disabled = false;
    const named = letter.protected.map((column) => (this.store.feature(column) || { title: column }).title);
    const notes = [];
    if (named.length) { notes.push("Note: a reason in this letter looks like a protected attribute: " + named.join(", ") + "."); }
    if (letter.fragile_left_out) { notes.push("The plan is fragile: its options are below the guarantee asked for, and are left out."); }
    this.say(notes.join(" "));
  }

  say(words, isWrong = false) {
    find("letter-status").textContent = words;
    find("letter-status").className = isWrong ? "error" : "note";
    if (isWrong) { find("letter").hidden = true; }
  }
}
