"use strict";
// Plans as cards, from the JSON of copa.report.card_data. Depends on nothing else of the page; text is only ever set as
// text. `CopaCards.reader(data)` reads plan i as `view(i)`, what Python's `plan_view` says; `CopaCards.draw(view)`
// returns an element with the classes of card.css. `CopaCards.draw(view, more)` adds what a page has to offer:
// `more.change(change, number)` below a change and `more.card(card, number)` at the end of a card return an element.
const CopaCards = (function () {
  const IN_A_ROW = 4;

  function totals(counts) {
    const sums = new Int32Array(counts.length + 1);
    counts.forEach((count, i) => { sums[i + 1] = sums[i] + count; });
    return sums;
  }

  function reader(data) {
    const { strings, words, applicants, options, changes } = data;
    const firstOption = totals(applicants.counts), firstChange = totals(options.counts);
    const proven = (thousandths) => (thousandths / 1000).toFixed(3);
    const level = (whom) => (data.level_for === whom ? data.level : null);

    function bar(whom, side, thousandths, mark) {
      const says = side === words.at_most || thousandths > 0;
      return {
        words: words[whom],
        value: says ? side + " " + proven(thousandths) : words.nothing,
        width: (thousandths / 10).toFixed(1),
        level: mark,
      };
    }

    function change(k) {
      const texts = {};
      ["title", "before", "after", "range"].forEach((name) => { texts[name] = strings[changes[name][k]]; });
      return texts;
    }

    function card(j, number, breaksFirst) {
      const own = [];
      for (let k = firstChange[j]; k < firstChange[j + 1]; k += 1) { own.push(change(k)); }
      return {
        effort: strings[options.effort[j]],
        accepted: options.accepted[j] === 1,
        breaks_first: number === breaksFirst,
        expected: options.expected[j] >= 0 ? proven(options.expected[j]) : "", // undefined where there are none
        unusual: strings[options.unusual[j]],
        changes: own,
        bar: bar("option", words.at_least, options.lower[j], level("each")),
      };
    }

    function whole(i) {
      const bars = ["any", "all"].filter((whom) => applicants[whom][i] > 0)
        .map((whom) => bar(whom, words.at_least, applicants[whom][i], level(whom)));
      return applicants.upper[i] < 1000 ? bars.concat(bar("all", words.at_most, applicants.upper[i], null)) : bars;
    }

    function view(i) {
      const n = applicants.counts[i], status = data.statuses[applicants.status[i]], cards = [];
      for (let j = 0; j < n; j += 1) { cards.push(card(firstOption[i] + j, j + 1, applicants.first[i])); }
      return {
        label: strings[applicants.label[i]],
        status: status.name,
        sign: status.sign,
        is_calm: status.is_calm,
        notes: [applicants.headline[i], applicants.reason[i]].filter(Boolean).map((k) => strings[k]),
        technical: strings[applicants.technical[i]],
        columns: Math.min(Math.max(n <= IN_A_ROW ? n : Math.ceil(n / 2), 2), IN_A_ROW),
        cards: cards,
        whole: n > 1 ? whole(i) : [],
        ranges: strings[applicants.ranges[i]],
        rates: strings[applicants.rates[i]],
      };
    }

    // Everything about applicant i that a person may search for, as numbers of strings.
    function searched(i, visit) {
      if (visit(applicants.label[i])) { return true; }
      for (let j = firstOption[i]; j < firstOption[i + 1]; j += 1) {
        for (let k = firstChange[j]; k < firstChange[j + 1]; k += 1) {
          if (visit(changes.title[k]) || visit(changes.before[k]) || visit(changes.after[k])) { return true; }
        }
      }
      return data.today.cells.some((cells) => visit(cells[i]));
    }

    function today(i) {
      return data.today.titles.map((title, k) => [strings[title], strings[data.today.cells[k][i]]]);
    }

    return { view: view, searched: searched, today: today };
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
