"""What a page is made of, and how it becomes Markdown or one self-contained HTML file."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2733; max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid #d5dbe1; padding-top: 1.2rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; font-size: 13px; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #e4e9ee; text-align: left; white-space: nowrap; }
th { background: #f4f6f8; } figure { margin: 1rem 0; } img { max-width: 100%; } figcaption { color: #55626f; }
"""


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Picture:
    """A picture in the folder of results, by the name of its files without ending, and what it shows."""

    name: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A heading and what is below it: paragraphs, tables and pictures."""

    title: str
    body: list[str | Grid | Picture] = field(default_factory=list)


def number(value: float, digits: int = 3) -> str:
    """Write a number; a dash for none."""
    return "-" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def spread(mean: float, sd: float) -> str:
    """Write a mean and its standard deviation."""
    return "-" if np.isnan(mean) else f"{mean:.3f} ± {sd:.3f}"


def share(value: float) -> str:
    """Write a share in per cent."""
    return "-" if np.isnan(value) else f"{100.0 * value:.0f} %"


def seconds(value: float) -> str:
    """Write a time."""
    if value >= 1.0:
        return f"{value:.0f} s"
    return f"{1e3 * value:.1f} ms"


def to_markdown(title: str, sections: Sequence[Section], pictures: str | None = None) -> str:
    """Return a page in Markdown.

    Parameters
    ----------
    title : str
    sections : sequence of Section
    pictures : str, optional
        Path from the page to the folder of the pictures; by default they are left out.
    """
    lines = [f"# {title}", ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        for part in section.body:
            if isinstance(part, Grid):
                lines += [_markdown_row(part.header), "|" + "---|" * len(part.header)]
                lines += [*map(_markdown_row, part.rows), ""]
            elif isinstance(part, Picture):
                lines += [f"![{part.caption}]({pictures}/{part.name}.png)", ""] if pictures is not None else []
            else:
                lines += [part, ""]
    return "\n".join(lines).rstrip() + "\n"


def to_html(title: str, sections: Sequence[Section], folder: Path) -> str:
    """Return a page in HTML that holds its pictures, which are in the folder as PNG."""
    body = "\n".join(_html_section(section, folder) for section in sections)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _html_section(section: Section, folder: Path) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    for part in section.body:
        if isinstance(part, Grid):
            head = "".join(f"<th>{escape(cell)}</th>" for cell in part.header)
            rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in part.rows)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
        elif isinstance(part, Picture):
            parts.append(_html_picture(part, folder))
        else:
            parts.append(f"<p>{_with_code(part)}</p>")
    return "\n".join(parts)


def _with_code(text: str) -> str:
    """The text for a page, with what is between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _html_picture(picture: Picture, folder: Path) -> str:
    path = folder / f"{picture.name}.png"
    if not path.is_file():
        return f"<p>{escape(picture.caption)} (no picture: it was not drawn)</p>"
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    caption = escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )
