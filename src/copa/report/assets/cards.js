"use strict";
// Plans as cards, from what `plan_view` says of each. Depends on nothing else of the page; text is only ever set as text.
// `CopaCards.draw(view)` returns an element with the classes of card.css. `CopaCards.draw(view, more)` adds what a page
// has to offer: `more.change(change, number)` below a change and `more.card(card, number)` at the end of a card return an
// element. `CopaCards.reader(data)` reads the views of many plans from the compact JSON of a report.
const CopaCards = (function () {
  // Numbers of all items before those of each list.
  function totals(counts) {
    const sums = new Int32Array(counts.length + 1);
    counts.forEach((count, i) => { sums[i + 1] = sums[i] + count; });
    return sums;
  }

  // A function that returns the i-th value of a packed column.
  function unpacked(column, texts) {
    if (column.texts) { return (i) => texts[column.texts[i]]; }
    if (column.counts) {
      const first = totals(column.counts), item = column.items && unpacked(column.items, texts);
      return (i) => Array.from({ length: column.counts[i] }, (_, k) => item(first[i] + k));
    }
    if (column.entry) {
      const fields = Object.entries(column.entry).map(([name, it]) => [name, unpacked(it, texts)]);
      return (i) => Object.fromEntries(fields.map(([name, read]) => [name, read(i)]));
    }
    return (i) => (column.values ? column.values[i] : column.same);
  }

  function reader({ views, today, texts }) {
    const { label, sign, status, cards } = views.entry, changes = cards.items && cards.items.entry.changes;
    const words = changes && changes.items ? ["title", "before", "after"].map((name) => changes.items.entry[name].texts) : [];
    const firstCard = totals(cards.counts), firstChange = changes && totals(changes.counts);

    // Everything about applicant i that a person may search for, as numbers of texts.
    function searched(i, visit) {
      if (visit(label.texts[i]) || visit(sign.texts[i])) { return true; }
      const first = words.length ? firstChange[firstCard[i]] : 0, last = words.length ? firstChange[firstCard[i + 1]] : 0;
      for (const numbers of words) {
        for (let k = first; k < last; k += 1) {
          if (visit(numbers[k])) { return true; }
        }
      }
      return today.cells.some((cells) => visit(cells[i]));
    }

    return {
      length: label.texts.length,
      view: unpacked(views, texts),
      label: unpacked(label, texts),
      sign: unpacked(sign, texts),
      status: unpacked(status, texts),
      count: (i) => cards.counts[i],
      searched: searched,
      today: (i) => today.titles.map((title, k) => [texts[title], texts[today.cells[k][i]]]),
    };
  }

  // ---- drawing
  function element(tag, className, children) {
    const made = document.createElement(tag);
    if (className) { made.className = className; }
    [].concat(children === undefined ? [] : children).forEach((child) => made.append(child));
    return made;
  }

  function line(words, value) {
    return element("div", "copa-line", [element("span", "", words), element("b", "", value)]);
  }

  function drawnBar(it) {
    const fill = element("div", "copa-fill"), track = element("div", "copa-track", [fill]);
    fill.style.width = it.width + "%";
    track.setAttribute("aria-hidden", "true");
    if (it.level !== null) {
      const mark = element("div", "copa-mark");
      mark.style.left = "calc(" + (100 * it.level).toFixed(1) + "% - 1px)";
      mark.title = "asked for: " + it.level;
      track.append(mark);
    }
    return element("div", "", [line(it.words, it.value), track]);
  }

  function drawnChange(it, number, more) {
    const parts = [element("span", "copa-name", it.title), it.before + " → ", element("span", "copa-to", it.after)];
    if (it.range) { parts.push(element("span", "copa-name", it.range)); }
    if (more.change) { parts.push(more.change(it, number)); }
    return element("li", "", parts);
  }

  function drawnCard(it, number, more) {
    const notes = [it.accepted ? "✓ accepted today" : "! not accepted today"];
    if (it.breaks_first) { notes.push(" · ", element("span", "copa-tag", "breaks first")); }
    if (it.unusual) { notes.push(element("br"), it.unusual); }
    const head = [element("b", "", "Option " + number), element("span", "copa-small", "effort " + it.effort)];
    const parts = [element("div", "copa-head", head), drawnBar(it.bar)];
    if (it.expected) { parts.push(line("expected rate", it.expected)); }
    const changes = it.changes.map((change) => drawnChange(change, number, more));
    const changed = changes.length ? changes : [element("li", "", "nothing changes")];
    parts.push(element("div", "copa-small", notes), element("ul", "copa-changes", changed));
    if (more.card) { parts.push(more.card(it, number)); }
    return element("div", "copa-card", parts);
  }

  function draw(view, more = {}) {
    const plan = element("div", "copa");
    if (view.notes.length) {
      const notes = view.notes.map((note) => element("p", "", note));
      plan.append(element("div", "copa-note" + (view.is_calm ? "" : " copa-warn"), notes));
    }
    if (view.cards.length) {
      const cards = element("div", "copa-cards", view.cards.map((card, k) => drawnCard(card, k + 1, more)));
      cards.style.setProperty("--copa-columns", view.columns);
      plan.append(cards);
    }
    if (view.whole.length) { plan.append(element("div", "copa-whole", view.whole.map(drawnBar))); }
    [view.ranges, view.rates].filter(Boolean).forEach((text) => plan.append(element("div", "copa-small", text)));
    return plan;
  }

  return { reader: reader, draw: draw, element: element };
}());
