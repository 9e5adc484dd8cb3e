"""The last check of a letter: every number in it is in the plan, and stands where it belongs.

It knows nothing of templates. It reads the finished text and page, and compares with the plan itself, not with what the
template was handed.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from html.parser import HTMLParser
from typing import Any

from copa._core.words import listed, shown, visible
from copa.analysis.reasons import Reason
from copa.exceptions import DataError
from copa.letters.chance import LEAST_TOLD, chance
from copa.letters.letter import LetterSettings
from copa.letters.template import Block
from copa.plans import Plan
from copa.tables.cells import as_text, is_missing, plain

# A number with a sign of its own, thousands separated by commas, decimals, an exponent; and other signs for numbers.
NUMBER = re.compile(r"(?:(?<![\w.,)-])[-\u2212])?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+(?![\w]))?")
THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
INLINE = frozenset(
    ["a", "abbr", "b", "bdi", "code", "em", "i", "mark", "s", "small", "span", "strong", "sub", "sup", "u"]
)
SILENT = frozenset(["style", "script"])
VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
SPOKEN = ("alt", "title", "aria-label", "placeholder", "value", "label")  # attributes that people see or hear

Numbers = frozenset[str]


def check_numbers(
    blocks: Sequence[Block], html: str, plan: Plan, told: Sequence[Reason], settings: LetterSettings
) -> None:
    """Raise unless every number of a letter is in the plan, and each number of an option stands under that option.

    A line may hold numbers of one change, of one reason or of one chance, beside those of the sender and of the
    applicant's label; inside an option only those of its own changes and its own chance.

    Parameters
    ----------
    blocks : sequence of Block
        The letter as plain text, with what is about an option marked as such.
    html : str
        The letter as a page; what is about an option is inside an element with `data-option`.
    plan : Plan
    told : sequence of Reason
        The reasons that may be given.
    settings : LetterSettings
        What the sender says.

    Raises
    ------
    DataError
        Naming the number and the line that it stands in.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.letters import LetterSettings, check_numbers
    >>> from copa.letters.template import Block
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, n_options=1, n_models=50, progress=False).fit(X, y)
    >>> plan = planner.plan(X[~model.predict(X)].head(1))[0]
    >>> try:
    ...     check_numbers([Block("paragraph", "You need 123,456 more.")], "", plan, [], LetterSettings())
    ... except copa.DataError as error:
    ...     print(str(error).partition(";")[0])
    the number 123,456 in 'You need 123,456 more.' is not in the plan
    """
    common = _tokens(visible(text, lines=False) for text in (as_text(plan.label), *settings.texts))
    groups: dict[int | None, list[Numbers]] = {None: [_cells(plan, r.column, (r.value, r.reference)) for r in told]}
    chances = {number: chance(plan, number) for number in range(1, plan.n_options + 1)}
    for number, own in chances.items():
        changes = [_change(plan, number, k) for k in range(len(plan.changes(number)))]
        groups[number] = [group | {str(number)} for group in (*changes, *_chances(own), frozenset[str]())]
    pieces = [(block.option, block.text) for block in blocks]
    told_of = {option for option, _ in pieces if option is not None}
    if not told_of <= set(chances):
        raise DataError(f"a letter speaks of the options {listed(sorted(told_of))}, and the plan has {plan.n_options}")
    # What is said of all options must be true of the one that is least likely to last.
    known = [chances[number] for number in told_of]
    groups[None] += _chances(min((p for p in known if p is not None), default=None) if None not in known else None)
    for option, text in [*pieces, *_PageText.read(html)]:
        if option is not None and option not in told_of:
            raise DataError(f"the page of a letter speaks of option {option}, and its text does not")
        _check_line(text, groups[option], common if option is None else frozenset(), option)


def _check_line(text: str, groups: list[Numbers], common: Numbers, option: int | None) -> None:
    """Raise unless the numbers of a line belong together, and here."""
    found = _tokens([text]) - common
    if not found or any(found <= group for group in groups):
        return
    known, line = frozenset[str]().union(*groups, common), shown(" ".join(text.split()))
    wrong = next((written for written in _written(text) if _canonical(written) not in known), None)
    if wrong is None:
        raise DataError(
            f"the numbers {listed(sorted(found))} in {line} do not belong together in the plan; the letter was not "
            "written"
        )
    where = "is not in the plan" if option is None else f"is not one of option {option} of the plan"
    raise DataError(
        f"the number {wrong} in {line} {where}; the letter was not written. A number of the sender's own is given as a "
        "field (fields, --field NAME=TEXT), and what is said of an option stands between [option ...] and [end]"
    )


def _change(plan: Plan, option: int, k: int) -> Numbers:
    """Numbers of one change: before, after, ends of its interval, and what its title and labels hold."""
    change = plan.changes(option)[k]
    ends = [] if change.interval is None else list(change.interval)
    return _cells(plan, change.column, (change.before, change.after, *ends))


def _cells(plan: Plan, column: str, values: Iterable[Any]) -> Numbers:
    texts, found = [column], set()
    feature = next((feature for feature in plan.basis.schema.features if feature.name == column), None)
    texts += [] if feature is None else [feature.heading]
    for value in map(plain, values):
        label = None if feature is None else feature.label_of(value)
        if label is not None:
            texts.append(str(label))
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and not is_missing(value):
            found.add(_canonical(as_text(value)))
            found.add(_canonical(repr(value)))
        elif not is_missing(value):
            texts.append(as_text(value))
    return frozenset(found) | _tokens(visible(text, lines=False) for text in texts)


def _chances(known: float | None) -> list[Numbers]:
    """How a chance may be told: of 10 or of 100, rounded down; or as fewer than 1 of 10."""
    if known is None:
        return []
    if known < LEAST_TOLD:
        return [frozenset({"1", "10"})]
    parts = [(n, int((n * Decimal(repr(known))).to_integral_value(ROUND_FLOOR))) for n in (10, 100)]
    return [frozenset({str(n), str(min(k, n - 1))}) for n, k in parts]


def _tokens(texts: Iterable[str]) -> Numbers:
    """Numbers in texts, each in the one form in which they are compared."""
    return frozenset(_canonical(written) for text in texts for written in _written(text))


def _written(text: str) -> list[str]:
    """Numbers as they are written, with signs such as ½ and Ⅳ."""
    signs = [c for c in text if unicodedata.category(c) in ("No", "Nl")]
    return [*NUMBER.findall(text), *signs]


def _canonical(written: str) -> str:
    plain_text = written.replace("\u2212", "-")
    if THOUSANDS.fullmatch(plain_text):
        plain_text = plain_text.replace(",", "")
    try:
        value = Decimal(plain_text)
    except InvalidOperation:  # a date such as 31.12.2026, a version, a sign
        return plain_text
    return f"{value.normalize() + 0:f}"


class _PageText(HTMLParser):
    """What a page says, line by line, and the option that it says it of."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[tuple[str, int | None]] = []
        self._line: list[str] = []
        self._found: list[tuple[int | None, str]] = []

    @classmethod
    def read(cls, html: str) -> list[tuple[int | None, str]]:
        """Return the lines of a page, each with the number of its option."""
        parser = cls()
        parser.feed(html)
        parser.close()
        parser._flush()
        return parser._found

    @property
    def _option(self) -> int | None:
        return self._open[-1][1] if self._open else None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        if tag not in INLINE:
            self._flush()
        given = {name: value or "" for name, value in attrs}
        option = self._option
        if given.get("data-option", "").isdecimal():
            option = int(given["data-option"])
        self._found += [(option, given[name]) for name in SPOKEN if name in given]
        if tag not in VOID:
            self._open.append((tag, option))

    def handle_endtag(self, tag: str) -> None:
        """End an element, and those inside it that were not ended."""
        if tag not in INLINE:
            self._flush()
        names = [name for name, _ in self._open]
        if tag in names:
            del self._open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        """Take text."""
        if not any(name in SILENT for name, _ in self._open):
            self._line.append(data)

    def _flush(self) -> None:
        text = " ".join("".join(self._line).split())
        if text:
            self._found.append((self._option, text))
        self._line = []
