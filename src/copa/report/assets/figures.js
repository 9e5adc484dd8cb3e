"use strict";
// Figures of a page, drawn by Plotly when they come into sight, in the colours of the page; again for print and when the
// colours change. `CopaFigures.page` is the data of the page, `CopaFigures.mark(box, shapes)` adds lines to a figure.
const CopaFigures = (function () {
  const page = JSON.parse(document.getElementById("copa-data").textContent);
  const NARROW = 440, PRINTED = 330, PRINTED_WIDE = 680; // pixels on a sheet with two columns
  const LIGHT = { ink: "#1c2430", soft: "#55606c", line: "#dde2e8", paper: "#ffffff" };
  const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  let printing = false;

  document.documentElement.classList.add("js");

  function colours() {
    if (printing) { return LIGHT; }
    const style = getComputedStyle(document.documentElement), own = (name) => style.getPropertyValue(name).trim();
    return { ink: own("--ink"), soft: own("--soft-ink"), line: own("--line"), paper: own("--paper") };
  }

  function completed(layout, width) {
    const { ink, soft, line, paper } = colours();
    const axis = { gridcolor: line, linecolor: soft, zerolinecolor: line, automargin: true, tickangle: 0 };
    const named = (it) => ({ title: { text: it.title.text, font: { size: 13, color: soft }, standoff: 8 } });
    return Object.assign({}, layout, {
      font: { family: FAMILY, size: 13, color: ink },
      paper_bgcolor: paper,
      plot_bgcolor: paper,
      dragmode: false,
      autosize: width === null,
      width: width,
      showlegend: Boolean(layout.showlegend),
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
      margin: { l: 56, r: 14, t: layout.showlegend ? 34 : 12, b: 46 },
      xaxis: Object.assign({}, axis, layout.xaxis, named(layout.xaxis)),
      yaxis: Object.assign({}, axis, layout.yaxis, named(layout.yaxis)),
    });
  }

  function draw(box) {
    const figure = page.figures[box.dataset.figure];
    if (!figure) { return; }
    const width = !printing ? null : box.closest(".wide") ? PRINTED_WIDE : PRINTED;
    const layout = completed(figure.layout, width);
    if (figure.narrow && (width || box.clientWidth) < NARROW) { // named rows leave little room: shorter names
      layout.yaxis.ticktext = figure.narrow;
      layout.xaxis.nticks = 3;
    }
    if (box.copaShapes) { layout.shapes = (layout.shapes || []).concat(box.copaShapes); }
    Plotly.react(box, figure.data, layout, { displayModeBar: false, responsive: true });
    box.dataset.drawn = "yes";
  }

  function redraw() {
    document.querySelectorAll(".plot").forEach((box) => { if (box.offsetParent !== null) { draw(box); } });
  }

  function mark(box, shapes) {
    box.copaShapes = shapes;
    if (box.dataset.drawn) { draw(box); }
  }

  document.addEventListener("DOMContentLoaded", () => { // the drawing library is there by now
    const watcher = new IntersectionObserver((entries) => {
      entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
        watcher.unobserve(entry.target);
        draw(entry.target);
      });
    }, { rootMargin: "400px" });
    document.querySelectorAll(".plot").forEach((box) => {
      const figure = page.figures[box.dataset.figure];
      if (!figure) { return; }
      box.style.minHeight = figure.layout.height + "px"; // so that nothing moves when it is drawn
      watcher.observe(box);
    });
    window.addEventListener("beforeprint", () => { printing = true; redraw(); });
    window.addEventListener("afterprint", () => { printing = false; redraw(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  });

  return { page: page, mark: mark };
}());
