// What the page has beside the plan, a module for each resource of the service. A new one is written like
// validators.js and listed here, in one line; files of this folder are served by themselves. A module may export
//   panels      parts of the view for validators: `title`, `load(model)`, a promise of what the service says, and
//               `draw(content)`, which returns elements; one whose `offered(model)` is false is left out, one
//               that `isLive` is read again whenever the view is opened
//   cardAction  (card, number, plan) => an element at the end of a card, or null. `card` is what is drawn, `plan` has
//               the request, the service's entry (`plan.entry.options[number - 1]`), the title and the answer's `asked`
// with the elements of dom.js and the requests of api.js.
import * as portfolio from "./portfolio.js";
import * as promises from "./promises.js";
import * as validators from "./validators.js";

export const resources = [validators, promises, portfolio];
