// What the next model may do to all open promises together: a forecast, in words and as a picture.
import { get } from "./api.js";
import { make, note, percent } from "./dom.js";

const BARS = 20, HEIGHT = 110;

function svg(tag, properties, children = []) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(properties).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children);
  return made;
}

// How many of the refits break which share. Its words stand beside the picture, as large as all others.
function histogram(shares) {
  const most = Math.max(...shares, 0.05), counts = new Array(BARS).fill(0);
  shares.forEach((share) => { counts[Math.min(BARS - 1, Math.floor((BARS * share) / most))] += 1; });
  const tallest = Math.max(...counts), height = (count) => (HEIGHT * count) / tallest;
  const bars = counts.map((count, k) => svg("rect", {
    x: 30 * k + 2, width: 26, y: HEIGHT - height(count), height: height(count), class: "bar",
  }));
  const ends = ["0%", "share of the open promises that a refit breaks", percent(most)];
  return make("figure", { class: "histogram" }, [
    make("figcaption", { class: "note", text: "How many of " + shares.length + " refits break which share; the highest bar is " + tallest + " of them." }),
    svg("svg", {
      viewBox: "0 0 600 112", preserveAspectRatio: "none", role: "img",
      "aria-label": "Shares from 0% to " + percent(most) + ", in " + BARS + " bars of " + counts.join(", ") + " refits",
    }, [...bars, svg("rect", { x: 0, y: HEIGHT, width: 600, height: 2, class: "axis" })]),
    make("div", { class: "ends" }, ends.map((text) => make("span", { text }))),
  ]);
}

async function load() {
  const { counts } = await get("v1/promises/summary");
  return counts.open ? get("v1/promises/portfolio") : null;
}

function draw(risk) {
  if (risk === null) { return [note("No promise is open: there is nothing that the next model could break.")]; }
  return [...risk.in_words.map((text) => make("p", { text })), ...(risk.shares.length ? [histogram(risk.shares)] : [])];
}

export const panels = [
  { title: "What the next model may break", offered: (model) => model.promises, isLive: true, load, draw },
];
