"""Pieces of HTML that several sections use."""

from collections.abc import Sequence

from copa.plans.markup import safe


def figure_box(key: str, title: str, reading: str, *, wide: bool = False) -> str:
    """A figure drawn by the script, with the one sentence that says what it shows.

    Parameters
    ----------
    key : name of the figure in the page's data
    title, reading : plain text, not yet escaped
    wide : whether it takes the whole width
    """
    return (
        f'<figure class="figure{" wide" if wide else ""}"><h4>{safe(title)}</h4>'
        f'<div class="plot" data-figure="{safe(key)}" role="img" aria-label="{safe(f"{title}. {reading}")}"></div>'
        f"<figcaption>{safe(reading)}</figcaption></figure>"
    )


def facts(lines: Sequence[tuple[str, str, str]]) -> str:
    """Names, values, and a few words on each value."""
    items = "".join(
        f"<div><dt>{safe(name)}</dt><dd>{safe(value)}{f'<small>{safe(words)}</small>' if words else ''}</dd></div>"
        for name, value, words in lines
    )
    return f'<dl class="facts">{items}</dl>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A table of plain text whose first column names the rows and whose other columns are numbers."""
    cells = "".join(f'<th scope="col">{safe(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{safe(row[0])}</th>{"".join(f"<td>{safe(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="numbers"><caption>{safe(caption)}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def note(text: str) -> str:
    """A remark in small type."""
    return f'<p class="note">{safe(text)}</p>'
