"""Templates of letters: sentences in a simple markup, and the two layouts that are made from them.

A template may be someone else's: it is rendered in jinja2's sandbox, a name that there is not is an error, and what is
filled in stays text. A cell can neither begin a heading nor end an option, because the characters that mark what was
filled in cannot be part of a cell.
"""

import re
import textwrap
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.files import write_atomically
from copa._core.words import shown, visible
from copa.exceptions import DataError, InvalidInputError

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate
    from jinja2.sandbox import SandboxedEnvironment

SENTENCES, PAGE = "sentences.j2", "page.html.j2"
OPEN, CLOSE = "\x02", "\x03"  # around what was filled in
KINDS = {"### ": "subheading", "## ": "heading", "# ": "title", "- ": "entry", "| ": "line"}
OPTION, END = re.compile(r"\[option ([0-9]+)\]"), "[end]"
WIDTH = 78
LONGEST = 100_000  # characters of a template


@dataclass(frozen=True)
class Block:
    """One part of a letter.

    Attributes
    ----------
    kind : {"title", "heading", "subheading", "line", "entry", "paragraph"}
    text : str
    option : int or None
        Number of the option that it is about.
    """

    kind: str
    text: str
    option: int | None = None


class Template:
    """Template of letters.

    Parameters
    ----------
    folder : str or Path, optional
        With `sentences.j2` and `page.html.j2`; a file that it has not is that of the package.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        if folder is not None and not Path(folder).is_dir():
            raise InvalidInputError(
                f"the template {shown(str(folder))} must be a folder with {SENTENCES} or {PAGE}; "
                "`copa letter --write-template DIR` writes one to edit"
            )
        sources = {name: _source(folder, name) for name in (SENTENCES, PAGE)}
        if folder is not None and not any((Path(folder) / name).is_file() for name in sources):
            raise InvalidInputError(f"the folder {shown(str(folder))} has neither {SENTENCES} nor {PAGE}")
        self._where = {name: str(Path(folder) / name) if folder is not None else name for name in sources}
        self._sentences = self._compiled(_sandbox(marks=True), sources[SENTENCES], SENTENCES)
        self._page = self._compiled(_sandbox(marks=False), sources[PAGE], PAGE)

    def blocks(self, facts: dict[str, Any]) -> list[Block]:
        """Fill the sentences in."""
        return _read_blocks(self._rendered(self._sentences, SENTENCES, facts), self._where[SENTENCES])

    def page(self, blocks: list[Block]) -> str:
        """Return the blocks as a page."""
        title = next((block.text for block in blocks if block.kind == "title"), "")
        return self._rendered(self._page, PAGE, {"title": title, "nodes": _arranged(blocks)}).strip() + "\n"

    def _compiled(self, environment: "SandboxedEnvironment", source: str, name: str) -> "JinjaTemplate":
        from jinja2 import TemplateError

        try:
            return environment.from_string(source)
        except TemplateError as error:
            line = getattr(error, "lineno", None)
            raise DataError(f"the template {self._where[name]} cannot be read: {error} (line {line})") from error

    def _rendered(self, template: "JinjaTemplate", name: str, content: dict[str, Any]) -> str:
        from jinja2 import TemplateError

        try:
            return template.render(content)
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the template {self._where[name]} cannot be filled in: {error}") from error


def write_template(folder: str | Path) -> list[Path]:
    """Write the template of the package to a folder, to be edited; a file that is there already is an error."""
    base = Path(folder)
    paths = [base / name for name in (SENTENCES, PAGE)]
    for path in paths:
        if path.exists():
            raise InvalidInputError(f"{path} exists; give another folder, or remove it")
    base.mkdir(parents=True, exist_ok=True)
    for path in paths:
        write_atomically(path, _source(None, path.name).encode("utf-8"))
    return paths


def _source(folder: str | Path | None, name: str) -> str:
    path = None if folder is None else Path(folder) / name
    if path is None or not path.is_file():
        return (files("copa.report.letters") / "templates" / name).read_text(encoding="utf-8")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the template {path} cannot be read: {error}") from error
    if len(text) > LONGEST:
        raise DataError(f"the template {path} is longer than {LONGEST:,} characters")
    return text


def _sandbox(*, marks: bool) -> "SandboxedEnvironment":
    """Make a sandbox for templates: sentences with marks, as text; a page without, and text in it is escaped."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def spelt_out(value: Any) -> Any:
        if hasattr(value, "__html__"):
            return value
        text = visible(value, lines=False)
        return f"{OPEN}{text}{CLOSE}" if marks else text

    return ImmutableSandboxedEnvironment(
        autoescape=not marks, undefined=StrictUndefined, finalize=spelt_out, trim_blocks=True, lstrip_blocks=True
    )


def _read_blocks(rendered: str, where: str) -> list[Block]:
    """Read the markup; what was filled in is text wherever it stands."""
    blocks: list[Block] = []
    option: int | None = None
    goes_on = False
    for raw in rendered.splitlines():
        line, text = raw.strip(" \t"), _unmarked(raw)
        opened = OPTION.fullmatch(text) if line.startswith("[") else None
        if opened or (line == END):
            if bool(opened) == (option is not None):
                raise DataError(f"the template {where}: each [option ...] must have its own [end]")
            option, goes_on = int(opened[1]) if opened else None, False
            continue
        kind = next((mark for mark in KINDS if f"{line} ".startswith(mark)), None)
        if not text:
            goes_on = False
        elif kind is not None:
            rest = _unmarked(line[len(kind) :])
            blocks += [Block(KINDS[kind], rest, option)] if rest else []
            goes_on = KINDS[kind] == "entry"
        elif goes_on:
            blocks[-1] = Block(blocks[-1].kind, f"{blocks[-1].text} {text}", option)
        else:
            blocks.append(Block("paragraph", text, option))
            goes_on = True
    if option is not None:
        raise DataError(f"the template {where}: each [option ...] must have its own [end]")
    return blocks


def _unmarked(text: str) -> str:
    """Return text without marks, on one line with single blanks; a character that steers a screen is spelt out."""
    return visible(" ".join(text.replace(OPEN, "").replace(CLOSE, "").split()), lines=False)


def _arranged(blocks: list[Block]) -> list[dict[str, Any]]:
    """Arrange blocks as a page shows them: entries in lists, options side by side."""
    nodes: list[dict[str, Any]] = []
    for block in blocks:
        target = nodes
        if block.option is not None:
            if not nodes or nodes[-1]["kind"] != "options":
                nodes.append({"kind": "options", "options": []})
            options = nodes[-1]["options"]
            if not options or options[-1]["number"] != str(block.option):
                options.append({"number": str(block.option), "nodes": []})
            target = options[-1]["nodes"]
        if block.kind != "entry":
            target.append({"kind": block.kind, "text": block.text})
        elif target and target[-1]["kind"] == "list":
            target[-1]["entries"].append(block.text)
        else:
            target.append({"kind": "list", "entries": [block.text]})
    return nodes


def as_plain_text(blocks: list[Block]) -> str:
    """Return the blocks as plain text."""
    made = ""
    for k, block in enumerate(blocks):
        before = blocks[k - 1] if k else None
        together = before is not None and before.kind == block.kind and block.kind in ("entry", "line")
        small = before is not None and before.kind == "subheading"
        lead = "" if before is None or together or small else "\n"
        made += f"{lead}{_lines(block)}\n"
    return made


def _lines(block: Block) -> str:
    margin = "  " if block.option is not None else ""
    first = f"{margin}- " if block.kind == "entry" else margin
    text = textwrap.fill(
        block.text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    rule = {"title": "=", "heading": "-"}.get(block.kind)
    return f"{text}\n{rule * max(map(len, text.splitlines()))}" if rule else text
