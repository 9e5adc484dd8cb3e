// The dialog that asks for the service's token; several requests that wait for it share one.
import { find } from "./dom.js";

let asked = null;

// The token that a person gives, or null where they would rather not.
export function askToken(wasWrong) {
  asked = asked || new Promise((resolve) => {
    const dialog = find("token-dialog"), field = find("token");
    find("token-wrong").hidden = !wasWrong;
    field.value = "";
    find("token-form").onsubmit = (event) => {
      event.preventDefault();
      dialog.close(field.value);
    };
    dialog.onclose = () => {
      asked = null;
      resolve(dialog.returnValue || null);
    };
    dialog.returnValue = "";
    dialog.showModal();
    field.focus();
  });
  return asked;
}
