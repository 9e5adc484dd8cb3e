// What the page knows of the person in front of it: a row of values, wishes, and what is asked for. Everyone who draws
// it is told of a change. Only what says nothing about a person is put into the address: the view, the level, the
// horizon and the number of options.

export const RATHER = 0.25; // factors on the effort of a column
export const RATHER_NOT = 4;
const IN_ADDRESS = ["view", "level", "horizon", "options"];
const NUMBERS = ["level", "horizon", "options"];

// A share of a value that is worth an amount, with as few digits as say the same: no step less, and none more.
function shareOf(amount, value, step) {
  for (let digits = 3; digits < 12; digits += 1) {
    const share = Math.ceil((amount / value) * 10 ** digits - 1e-9) / 10 ** digits;
    if (share * value >= amount && share * value < amount + step / 2) { return share; }
  }
  return (amount / value) * (1 + 1e-9);
}

export class Store extends EventTarget {
  constructor() {
    super();
    this.schema = null;
    this.expects = false; // whether the level is an expected rate and no guarantee
    this.row = {};
    this.label = null; // of an applicant of the service's own table
    this.isExample = false;
    this.fixed = new Set();
    this.limits = new Map();
    this.weights = new Map();
    this.asked = { view: "plan", level: null, horizon: null, options: null };
    this.readAddress();
  }

  // Tell those who listen: "row", "wishes", "asked" or "view" have changed.
  tell(what) {
    this.dispatchEvent(new Event(what));
  }

  feature(column) {
    return this.schema.find((feature) => feature.name === column);
  }

  setRow(row, { label = null, isExample = false } = {}) {
    this.row = { ...row };
    this.label = label;
    this.isExample = isExample;
    this.tell("row");
  }

  setCell(column, value) {
    this.row = { ...this.row, [column]: value };
    this.label = null;
    this.isExample = false;
    this.tell("cell");
  }

  // Whose plan it is, in words.
  title() {
    if (this.label !== null) { return "Applicant " + this.label; }
    return this.isExample ? "An example" : "Your plan";
  }

  setAsked(name, value) {
    this.asked[name] = value;
    this.writeAddress();
    this.tell(name === "view" ? "view" : "asked");
  }

  // ---- wishes
  fix(column, wanted) {
    this.limits.delete(column);
    this.weights.delete(column);
    if (wanted) { this.fixed.add(column); } else { this.fixed.delete(column); }
    this.tell("wishes");
  }

  limit(column, most) {
    this.fixed.delete(column);
    if (most === null) { this.limits.delete(column); } else { this.limits.set(column, most); }
    this.tell("wishes");
  }

  weigh(column, factor) {
    this.fixed.delete(column);
    if (factor === null) { this.weights.delete(column); } else { this.weights.set(column, factor); }
    this.tell("wishes");
  }

  forgetWishes() {
    this.fixed.clear();
    this.limits.clear();
    this.weights.clear();
    this.tell("wishes");
  }

  // ---- as the service reads it
  request() {
    const { level, horizon, options } = this.asked;
    const body = { applicants: [this.row] };
    if (level !== null) { body.guarantee = level; }
    if (horizon !== null) { body.horizon = horizon; }
    if (options !== null) { body.n_options = options; }
    if (this.fixed.size) { body.fixed = [...this.fixed]; }
    const limits = [...this.limits].map(([column, most]) => [column, this.maxChange(column, most)]);
    if (limits.length) { body.max_change = Object.fromEntries(limits); }
    if (this.weights.size) { body.weights = Object.fromEntries(this.weights); }
    return body;
  }

  // A limit in the column's own units as the schema's own limit is written, and never wider than that.
  maxChange(column, most) {
    const { max_change: own, step } = this.feature(column), value = Math.abs(Number(this.row[column]));
    if (typeof own === "number") { return value > 0 ? Math.min(own, shareOf(most, value, step || 0)) : own; }
    const side = (name) => Math.min(most, own && own[name] !== undefined ? own[name] : Infinity);
    return { up: side("up"), down: side("down") };
  }

  // ---- the address
  readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    IN_ADDRESS.filter((name) => given.has(name)).forEach((name) => {
      const value = given.get(name);
      if (NUMBERS.includes(name)) {
        if (Number(value) > 0) { this.asked[name] = Number(value); }
      } else {
        this.asked[name] = value === "validators" ? value : "plan";
      }
    });
  }

  writeAddress() {
    const told = IN_ADDRESS.filter((name) => this.asked[name] !== null).map((name) => [name, this.asked[name]]);
    history.replaceState(null, "", "#" + new URLSearchParams(told));
  }
}
