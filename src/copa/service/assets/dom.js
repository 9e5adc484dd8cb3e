// Elements of the page. Text is only ever set as text: nothing that comes from data is read as HTML.

export const find = (id) => document.getElementById(id);

// Say something to those who listen to the page.
export function announce(words) { find("status").textContent = words; }

// An element; `properties` are attributes, or listeners where the value is a function ("click"), and "text".
export function make(tag, properties = {}, children = []) {
  const made = document.createElement(tag);
  Object.entries(properties).forEach(([name, value]) => {
    if (value === null || value === undefined || value === false) { return; }
    if (typeof value === "function") {
      made.addEventListener(name, value);
    } else if (name === "text") {
      made.textContent = value;
    } else {
      made.setAttribute(name, value === true ? "" : value);
    }
  });
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function button(words, act, properties = {}) {
  return make("button", { type: "button", text: words, click: act, ...properties });
}

// Names, values, and a few words on each value.
export function facts(lines) {
  return make("dl", { class: "facts" }, lines.map(([name, value, words]) => make("div", {}, [
    make("dt", { text: name }),
    make("dd", { text: value }, words ? [make("small", { text: words })] : []),
  ])));
}

// A table whose first column names the rows; its other columns are numbers, or texts where the class says so.
export function table(head, rows, caption, kind = "numbers") {
  const line = (row) => make("tr", {}, row.map((cell, k) => (
    make(k ? "td" : "th", { scope: k ? null : "row", text: cell }))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, [
    make("table", { class: kind }, [
      make("caption", { text: caption }),
      make("thead", {}, [make("tr", {}, head.map((name) => make("th", { scope: "col", text: name })))]),
      make("tbody", {}, rows.map(line)),
    ]),
  ]);
}

// A share for people, and a lower bound, which is never rounded up.
export const percent = (share) => (100 * share).toFixed(1) + "%";

export function atLeast(bound) {
  if (bound < 0.001) { return "0.000"; } // also those that are written with an exponent
  const [whole, digits = ""] = String(bound).split(".");
  return whole + "." + digits.padEnd(3, "0").slice(0, 3);
}

export const note = (words) => make("p", { class: "note", text: words });
