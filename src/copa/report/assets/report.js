"use strict";
(function () {
  const page = CopaFigures.page, slider = page.slider, cards = page.cards;
  const find = (id) => document.getElementById(id);
  const element = CopaCards.element;

  // ---- the radius, in the section for validators
  const proofs = Array.from(document.querySelectorAll(".proof"));
  const proven = (thousandths) => (thousandths / 1000).toFixed(3);

  // Bars and numbers of one applicant at one of the radii that were computed.
  function showRadius(proof, k, position) {
    // None of them where all are 1, whatever the radius: then the table is right as it is.
    const lower = slider.lower[k] && slider.lower[k][position], upper = slider.upper[k] && slider.upper[k][position];
    proof.querySelectorAll(".bounds tbody tr").forEach((row, line) => {
      if (!lower) { return; }
      row.querySelector(".least").textContent = proven(lower[line]);
      row.querySelector(".sure").style.width = (lower[line] / 10) + "%";
      if (!upper) { return; }
      row.querySelector(".most").textContent = proven(upper[line]);
      row.querySelector(".open").style.width = (upper[line] / 10) + "%";
    });
    const radius = slider.radii[position], own = slider.radii[slider.own];
    const times = own > 0 ? " (" + (Math.floor(100 * radius / own + 1e-6) / 100).toFixed(2) + " × assumed)" : "";
    const words = slider.names[position] + times;
    proof.querySelector(".slider output").textContent = words;
    proof.querySelector(".at").textContent = slider.names[position];
    proof.querySelector(".slider input").setAttribute("aria-valuetext", "radius " + words);
    proof.querySelector(".reset").disabled = position === slider.own;
    const box = proof.querySelector('.plot[data-figure^="radius-"]');
    const line = { type: "line", x0: radius, x1: radius, y0: 0, y1: 1, yref: "paper", line: { color: "#5f6b76", width: 1.5 } };
    CopaFigures.mark(box, [line]);
  }

  proofs.forEach((proof, k) => {
    const input = proof.querySelector(".slider input");
    if (!input) { return; }
    input.addEventListener("input", () => showRadius(proof, k, Number(input.value)));
    proof.querySelector(".reset").addEventListener("click", () => {
      input.value = String(slider.own);
      showRadius(proof, k, slider.own);
      input.focus();
    });
    showRadius(proof, k, slider.own);
  });

  const list = find("people");
  if (!list) { return; }

  // ---- the applicant who is chosen
  const reader = CopaCards.reader(cards), n = reader.length;
  let found = Int32Array.from({ length: n }, (_, i) => i); // places of those who are listed
  let chosen = 0;

  function facts(lines) {
    return element("dl", "facts", lines.map(([title, value]) => element("div", "", [element("dt", "", title), element("dd", "", value)])));
  }

  function show(i) {
    const view = reader.view(i);
    chosen = i;
    find("name").textContent = "Applicant " + view.label;
    find("sign").textContent = view.sign;
    find("sign").className = "sign sign-" + view.status;
    find("plan").replaceChildren(CopaCards.draw(view));
    if (find("effort")) { find("effort").hidden = !view.cards.length; }
    find("today").replaceChildren(facts(reader.today(i)));
    find("technical").textContent = view.technical;
    let here = false;
    proofs.forEach((proof) => {
      proof.hidden = Number(proof.dataset.applicant) !== i;
      here = here || !proof.hidden;
    });
    if (find("unproven")) { find("unproven").hidden = here; }
    const place = found.indexOf(i);
    find("previous").disabled = place === 0 || !found.length;
    find("next").disabled = place === found.length - 1 || !found.length;
  }

  // ---- the list: only the rows in sight are elements
  const ROW = 56, SPARE = 6;

  function detail(i) {
    const count = reader.count(i), sign = reader.sign(i);
    return count ? sign + " · " + count + (count === 1 ? " option" : " options") : sign;
  }

  function row(place) {
    const i = found[place], label = reader.label(i);
    const made = element("div", "person-row", [element("b", "", label), element("span", "", detail(i))]);
    made.id = "person-" + i;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", String(i === chosen));
    made.setAttribute("aria-setsize", String(found.length));
    made.setAttribute("aria-posinset", String(place + 1));
    made.style.top = (place * ROW) + "px";
    made.addEventListener("click", () => choose(place, true));
    return made;
  }

  function drawRows() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
    const last = Math.min(found.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
    const rows = [];
    for (let place = first; place < last; place += 1) { rows.push(row(place)); }
    find("rows").style.height = (found.length * ROW) + "px";
    find("rows").replaceChildren(...rows);
    if (find("person-" + chosen)) {
      list.setAttribute("aria-activedescendant", "person-" + chosen);
    } else {
      list.removeAttribute("aria-activedescendant");
    }
  }

  function reveal(place) {
    if (place * ROW < list.scrollTop) { list.scrollTop = place * ROW; }
    if ((place + 1) * ROW > list.scrollTop + list.clientHeight) { list.scrollTop = (place + 1) * ROW - list.clientHeight; }
  }

  function choose(place, close) {
    if (!found.length) { return; }
    const within = Math.min(Math.max(place, 0), found.length - 1);
    show(found[within]);
    reveal(within);
    drawRows();
    if (close && find("choose").getAttribute("aria-expanded") === "true") {
      expand(false);
      find("person").focus({ preventScroll: true });
      find("person").scrollIntoView({ block: "start" });
    }
  }

  list.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  window.addEventListener("resize", drawRows);
  list.addEventListener("keydown", (event) => {
    const here = found.indexOf(chosen), page_of = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const places = {
      ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + page_of, PageUp: here - page_of, Home: 0, End: found.length - 1,
    };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(here, true);
    } else if (event.key in places) {
      event.preventDefault();
      choose(places[event.key], false);
    }
  });
  find("previous").addEventListener("click", () => choose(found.indexOf(chosen) - 1, false));
  find("next").addEventListener("click", () => choose(found.indexOf(chosen) + 1, false));

  // ---- a narrow page has the list behind a button
  function expand(open) {
    find("choose").setAttribute("aria-expanded", String(open));
    find("chooser").classList.toggle("open", open);
    if (open) { reveal(found.indexOf(chosen)); drawRows(); }
  }
  find("choose").addEventListener("click", () => expand(find("choose").getAttribute("aria-expanded") !== "true"));

  // ---- searching: each word is looked up among the texts first, then among the applicants who have such a text
  const PAUSE = 100; // milliseconds without a key
  let lowered = null, waiting = 0;

  function filter() {
    lowered = lowered || cards.texts.map((text) => text.toLowerCase());
    const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.map((word) => Uint8Array.from(lowered, (text) => (text.includes(word) ? 1 : 0)));
    const status = find("status").value, places = [];
    for (let i = 0; i < n; i += 1) {
      if ((!status || reader.status(i) === status)
        && hits.every((hit) => reader.searched(i, (text) => hit[text] === 1))) { places.push(i); }
    }
    found = Int32Array.from(places);
    const all = words.length || status ? " of " + n.toLocaleString("en") : "";
    find("found").textContent = found.length.toLocaleString("en") + all + (n === 1 ? " applicant" : " applicants");
    list.scrollTop = 0;
    if (found.length && found.indexOf(chosen) < 0) { show(found[0]); } else { show(chosen); }
    drawRows();
  }

  find("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, PAUSE);
  });
  find("status").addEventListener("change", filter);

  // ---- one applicant on paper
  find("print").addEventListener("click", () => {
    document.documentElement.classList.add("only-person");
    window.print();
  });
  window.addEventListener("afterprint", () => document.documentElement.classList.remove("only-person"));

  show(0);
  drawRows();
}());
