// The letter of the plan on the page, to be read and printed. It stands in a frame that runs nothing.
import { post } from "./api.js";
import { find } from "./dom.js";

export async function openLetter(request) {
  const dialog = find("letter-dialog"), frame = find("letter"), said = find("letter-status");
  frame.hidden = true;
  find("print-letter").disabled = true;
  said.textContent = "Writing the letter …";
  dialog.showModal();
  try {
    const answer = await post("v1/letter", request);
    const [letter] = answer.letters;
    if (!letter.html) {
      said.textContent = letter.message || "There is no letter for this applicant.";
      return;
    }
    frame.srcdoc = letter.html;
    frame.hidden = false;
    find("print-letter").disabled = false;
    said.textContent = letter.protected && letter.protected.length
      ? "Note: a reason in this letter looks like a protected attribute: " + letter.protected.join(", ") + "."
      : "";
  } catch (error) {
    said.textContent = error.message;
  }
}

export function setUpLetter() {
  find("close-letter").addEventListener("click", () => find("letter-dialog").close());
  find("print-letter").addEventListener("click", () => find("letter").contentWindow.print());
  find("letter-dialog").addEventListener("close", () => { find("letter").srcdoc = ""; });
}
