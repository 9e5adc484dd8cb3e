"""Pieces of HTML: style, bars, text made safe."""

from html import escape
from typing import Any

from copa.plans.visible import visible

# Colours are those that every kind of colour vision tells apart, half-way between light and dark so that they stand out
# on both; text and background are the notebook's own. No meaning is in a colour alone.
STYLE = """<style>
.copa{--copa-fill:#2f7fc1;--copa-warn:#d17b00;--copa-line:rgba(128,128,128,.4);--copa-soft:rgba(128,128,128,.13);
font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-size:14px;line-height:1.45;color:inherit;
max-width:76rem;overflow-wrap:anywhere;text-align:left}
.copa *{box-sizing:border-box}
.copa .copa-title{font-size:1.15em;font-weight:600;margin:.2em 0 .5em}
.copa .copa-note{margin:0 0 .8em;padding:.5em .8em;border:1px solid var(--copa-line);
border-left:5px solid var(--copa-fill);border-radius:4px;background:var(--copa-soft)}
.copa .copa-note.copa-warn{border-left-color:var(--copa-warn)}
.copa .copa-note p{margin:0}
.copa .copa-cards{--copa-columns:4;display:grid;gap:.9em;margin:0 0 1em;grid-template-columns:repeat(auto-fill,
minmax(min(100%,max(13rem,calc((100% - (var(--copa-columns) - 1)*.9em)/var(--copa-columns)))),1fr))}
.copa .copa-card{border:1px solid var(--copa-line);border-top:3px solid var(--copa-fill);border-radius:6px 6px 8px 8px;
padding:.7em .95em .8em;display:flex;flex-direction:column;gap:.55em;min-width:0}
.copa .copa-head{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;gap:0 1em}
.copa .copa-head b{font-size:1.1em}
.copa .copa-tag{display:inline-block;border:1px solid var(--copa-warn);border-radius:1em;padding:0 .6em;font-weight:600}
.copa .copa-small{font-size:.87em;opacity:.8}
.copa ul.copa-changes{list-style:none;margin:.2em 0 0;padding:.1em 0 0;border-top:1px solid var(--copa-line)}
.copa ul.copa-changes li{margin:0;padding:.35em 0;border-top:1px solid var(--copa-soft)}
.copa ul.copa-changes li:first-child{border-top:0}
.copa .copa-name{display:block;font-size:.87em;opacity:.8}
.copa .copa-to{font-weight:600}
.copa .copa-line{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 .6em;overflow-wrap:normal}
.copa .copa-line b{white-space:nowrap}
.copa .copa-track{position:relative;height:.7em;border:1px solid var(--copa-line);border-radius:3px;
background:var(--copa-soft);overflow:hidden;margin-top:.15em}
.copa .copa-fill{height:100%;background:var(--copa-fill)}
.copa .copa-mark{position:absolute;top:0;bottom:0;width:2px;background:currentColor}
.copa .copa-whole{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:.6em 1.6em;
margin:0 0 .8em}
.copa table.copa-table{border-collapse:collapse;margin:0 0 .8em;font-size:1em;color:inherit;background:none;border:0}
.copa table.copa-table th,.copa table.copa-table td{padding:.2em 1em .2em 0;text-align:left;border:0;
background:none;font-weight:400;vertical-align:baseline}
.copa table.copa-table td.copa-number{text-align:right;font-variant-numeric:tabular-nums}
.copa table.copa-table thead th{font-size:.87em;opacity:.8;text-align:right}
.copa .copa-bins{position:relative;display:flex;align-items:flex-end;gap:3px;height:6.5em;max-width:26rem;
border-bottom:1px solid var(--copa-line)}
.copa .copa-bin{flex:1;display:flex;flex-direction:column;justify-content:flex-end;align-items:center;height:100%}
.copa .copa-bin div{width:100%;background:var(--copa-fill);border-radius:2px 2px 0 0}
.copa .copa-axis{display:flex;max-width:26rem;justify-content:space-between;margin:0 0 .8em}
.copa details{border:1px solid var(--copa-line);border-radius:8px;margin:0 0 .5em;padding:.1em .9em}
.copa details>summary{cursor:pointer;padding:.45em 0}
.copa .copa-split{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:0 2em}
</style>"""


def safe(value: Any) -> str:
    """Return text with every character that means something in HTML, or steers a screen, made harmless."""
    return escape(visible(value), quote=True)


def level_mark(asked: float) -> str:
    """Return a line at the probability asked for."""
    return f'<div class="copa-mark" style="left:calc({100.0 * asked:.1f}% - 1px)" title="asked for: {asked:g}"></div>'


def bar(least: float, asked: float | None = None) -> str:
    """Return a bar as long as a probability, with a mark at the one asked for; the number stands beside it as text."""
    mark = "" if asked is None else level_mark(asked)
    width = int(1000.0 * least) / 10.0
    return (
        f'<div class="copa-track" aria-hidden="true"><div class="copa-fill" style="width:{width:.1f}%"></div>'
        f"{mark}</div>"
    )


def labelled_bar(words: str, value: str, least: float, asked: float | None = None) -> str:
    """Return a bar below a line that says what it is and how long."""
    return f'<div><div class="copa-line"><span>{safe(words)}</span><b>{safe(value)}</b></div>{bar(least, asked)}</div>'
