"use strict";
(function () {
  const page = JSON.parse(document.getElementById("copa-data").textContent);
  const slider = page.slider;
  const articles = Array.from(document.querySelectorAll(".applicant"));
  const buttons = Array.from(document.querySelectorAll(".choose"));
  document.documentElement.classList.add("js");

  // ---- figures
  const INK = "#1c2430", SOFT = "#55606c", GRID = "#e6eaee";
  const NARROW = 440, PRINTED = 330, PRINTED_WIDE = 680; // pixels on a sheet with two columns
  const FONT = { family: "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif", size: 13, color: INK };

  function named(axis) {
    return { text: axis.title.text, font: { size: 13, color: SOFT }, standoff: 8 };
  }

  function completed(layout) {
    const axis = { gridcolor: GRID, linecolor: "#aeb6bf", zerolinecolor: GRID, automargin: true, tickangle: 0 };
    return Object.assign({}, layout, {
      font: FONT,
      paper_bgcolor: "#ffffff",
      plot_bgcolor: "#ffffff",
      dragmode: false,
      showlegend: Boolean(layout.showlegend),
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
      margin: { l: 56, r: 14, t: layout.showlegend ? 34 : 12, b: 46 },
      xaxis: Object.assign({}, axis, layout.xaxis, { title: named(layout.xaxis) }),
      yaxis: Object.assign({}, axis, layout.yaxis, { title: named(layout.yaxis) }),
    });
  }

  function draw(box) {
    const figure = page.figures[box.dataset.figure];
    if (!figure || box.dataset.drawn) { return; }
    box.dataset.drawn = "yes";
    Plotly.newPlot(box, figure.data, completed(figure.layout), { displayModeBar: false, responsive: true });
    fitNames(box, box.clientWidth);
  }

  // Named rows leave little room on a narrow page: shorter names, fewer numbers below.
  function fitNames(box, width) {
    const figure = page.figures[box.dataset.figure];
    if (figure.narrow) {
      const names = width < NARROW ? figure.narrow : figure.layout.yaxis.ticktext;
      Plotly.relayout(box, { "xaxis.nticks": width < NARROW ? 3 : 6, "yaxis.ticktext": names });
    }
  }

  function drawn() {
    return Array.from(document.querySelectorAll(".plot[data-drawn]")).filter((box) => box.offsetParent !== null);
  }

  // ---- the radius
  const proven = (thousandths) => (thousandths / 1000).toFixed(3);

  function setBar(fill, thousandths) {
    fill.style.width = (thousandths / 10) + "%";
  }

  // Bars and numbers of one applicant at one of the radii that were computed.
  function showRadius(article, position) {
    const k = Number(article.dataset.applicant);
    if (!slider.lower[k]) { return; }
    const lower = slider.lower[k][position];
    const upper = slider.upper[k] ? slider.upper[k][position] : lower.map(() => 1000);
    article.querySelectorAll(".bounds tbody tr").forEach((row, line) => {
      row.querySelector(".least").textContent = proven(lower[line]);
      row.querySelector(".most").textContent = proven(upper[line]);
      setBar(row.querySelector(".sure"), lower[line]);
      setBar(row.querySelector(".open"), upper[line]);
    });
    article.querySelectorAll(".copa-card").forEach((card, option) => {
      card.querySelector(".copa-line b").textContent = "at least " + proven(lower[option]);
      setBar(card.querySelector(".copa-fill"), lower[option]);
    });
    const radius = slider.radii[position], own = slider.radii[slider.own];
    const times = own > 0 ? " (" + (Math.floor(100 * radius / own + 1e-6) / 100).toFixed(2) + " × assumed)" : "";
    const words = slider.names[position] + times;
    article.querySelector(".slider output").textContent = words;
    article.querySelector(".at").textContent = slider.names[position];
    article.querySelector(".slider input").setAttribute("aria-valuetext", "radius " + words);
    article.querySelector(".reset").disabled = position === slider.own;
    markRadius(article, radius);
  }

  function markRadius(article, radius) {
    const box = article.querySelector('.plot[data-figure^="radius-"][data-drawn]');
    if (!box) { return; }
    const shapes = (page.figures[box.dataset.figure].layout.shapes || []).concat({
      type: "line", x0: radius, x1: radius, y0: 0, y1: 1, yref: "paper", line: { color: INK, width: 1.5 },
    });
    Plotly.relayout(box, { shapes: shapes });
  }

  articles.forEach((article) => {
    const input = article.querySelector(".slider input");
    if (!input) { return; }
    input.addEventListener("input", () => showRadius(article, Number(input.value)));
    article.querySelector(".reset").addEventListener("click", () => {
      input.value = String(slider.own);
      showRadius(article, slider.own);
      input.focus();
    });
  });

  // ---- choosing an applicant
  function choose(k, focus) {
    articles.forEach((article) => { article.hidden = Number(article.dataset.applicant) !== k; });
    buttons.forEach((button) => {
      button.setAttribute("aria-current", Number(button.dataset.applicant) === k ? "true" : "false");
    });
    const article = articles[k];
    article.querySelectorAll(".plot").forEach(draw);
    const input = article.querySelector(".slider input");
    if (input) { showRadius(article, Number(input.value)); }
    if (focus) {
      article.focus({ preventScroll: true });
      article.scrollIntoView({ block: "start" });
    }
  }

  buttons.forEach((button) => {
    button.addEventListener("click", () => choose(Number(button.dataset.applicant), true));
  });

  const search = document.getElementById("search"), status = document.getElementById("status");

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    buttons.forEach((button) => {
      const fits = words.every((word) => button.dataset.text.includes(word))
        && (!status.value || button.dataset.status === status.value);
      button.parentElement.hidden = !fits;
      found += fits ? 1 : 0;
    });
    document.getElementById("found").textContent = found + (found === 1 ? " applicant" : " applicants");
  }

  if (search) {
    search.addEventListener("input", filter);
    status.addEventListener("change", filter);
  }

  // ---- paper is narrower than a screen: figures are drawn again for it
  window.addEventListener("beforeprint", () => {
    drawn().forEach((box) => {
      const width = box.closest(".wide") ? PRINTED_WIDE : PRINTED;
      Plotly.relayout(box, { autosize: false, width: width });
      fitNames(box, width);
    });
  });
  window.addEventListener("afterprint", () => {
    drawn().forEach((box) => {
      Plotly.relayout(box, { autosize: true, width: null });
      fitNames(box, box.clientWidth);
    });
  });

  document.querySelectorAll("main > section:not(#applicants) .plot").forEach(draw);
  if (articles.length) { choose(0, false); }
}());
