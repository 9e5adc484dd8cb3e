"""Last check of a letter: every number in it is one of the plan, of the reasons, or of what the sender says.

It knows nothing of templates. It reads the finished text and page, and compares with the plan itself, not with what the
template was handed.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from html.parser import HTMLParser
from typing import Any

from copa._core.words import shown, visible
from copa.analysis.reasons import Reason
from copa.data.tables.cells import alone, as_text, is_missing, plain
from copa.exceptions import DataError
from copa.plans import Plan
from copa.report.letters.facts import LEAST_TOLD, chance
from copa.report.letters.letter import LetterSettings

# A number with a sign of its own, thousands separated by commas, decimals, an exponent; and other signs for numbers.
NUMBER = re.compile(r"(?:(?<![\w.,)-])[-\u2212])?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+(?![\w]))?")
THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
INLINE = frozenset(
    ["a", "abbr", "b", "bdi", "code", "em", "i", "mark", "s", "small", "span", "strong", "sub", "sup", "u"]
)
SILENT = frozenset(["style", "script"])
SPOKEN = ("alt", "title", "aria-label", "placeholder", "value", "label")  # attributes that people see or hear


def check_numbers(text: str, html: str, plan: Plan, told: Sequence[Reason], settings: LetterSettings) -> None:
    """Raise unless every number of a letter is one of its facts.

    Facts are the plan's changes with their ranges, its chances, the numbers of its options, the reasons, the
    applicant's label, and what the sender says. Where a number stands is not checked: that is the template's part.

    Parameters
    ----------
    text, html : str
        The letter as plain text, and as a page.
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
    >>> from copa.report.letters import LetterSettings, check_numbers
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, n_options=1, later_models=later, progress=False).fit(X, y)
    >>> plan = planner.plan(X[~model.predict(X)].head(1))[0]
    >>> try:
    ...     check_numbers("You need 123,456 more.", "", plan, [], LetterSettings())
    ... except copa.DataError as error:
    ...     print(str(error).partition(";")[0])
    the number 123,456 in 'You need 123,456 more.' is not in the plan
    """
    facts = set(_facts(plan, told, settings))
    for line in [*text.splitlines(), *page_lines(html)]:
        for written in numbers_in(line):
            if canonical(written) not in facts:
                raise DataError(
                    f"the number {written} in {shown(' '.join(line.split()))} is not in the plan; the letter was not "
                    "written. A number of the sender's own is given as a field (fields, --field NAME=TEXT)"
                )


def _facts(plan: Plan, told: Sequence[Reason], settings: LetterSettings) -> Iterator[str]:
    """Yield the numbers that a letter may hold, in the form in which they are compared."""
    yield from _in_texts([alone(plan.label), *settings.texts])
    for reason in told:
        yield from _in_cells(plan, reason.column, (reason.value, reason.reference))
    for option in range(1, plan.n_options + 1):
        yield str(option)
        yield from _in_chance(chance(plan, option))
        for change in plan.changes(option):
            yield from _in_cells(plan, change.column, (change.before, change.after, *(change.interval or ())))


def _in_cells(plan: Plan, column: str, values: Iterable[Any]) -> Iterator[str]:
    """Yield the numbers of a column: those of its name and title, of values and of their labels."""
    schema = plan.basis.schema
    feature = schema[column] if column in schema else None  # noqa: SIM401 - a schema has no get
    yield from _in_texts([column] if feature is None else [column, feature.heading])
    for value in map(plain, values):
        label = None if feature is None else feature.label_of(value)
        if label is not None:
            yield from _in_texts([str(label)])
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and not is_missing(value):
            yield from (canonical(as_text(value)), canonical(repr(value)))
        elif not is_missing(value):
            yield from _in_texts([as_text(value)])


def _in_chance(probability: float | None) -> Iterator[str]:
    """Yield the numbers by which a chance may be told: of 10 or of 100, rounded down; or as fewer than 1 of 10."""
    if probability is None:
        return
    if probability < LEAST_TOLD:
        yield from ("1", "10")
        return
    for n in (10, 100):
        yield str(min(int((n * Decimal(repr(probability))).to_integral_value(ROUND_FLOOR)), n - 1))
        yield str(n)


def _in_texts(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from map(canonical, numbers_in(visible(text, lines=False)))


def numbers_in(text: str) -> list[str]:
    """Return the numbers in a text as they are written, with signs such as ½ and Ⅳ."""
    signs = [c for c in text if unicodedata.category(c) in ("No", "Nl")]
    return [*NUMBER.findall(text), *signs]


def canonical(written: str) -> str:
    """Return a number in the one form in which numbers are compared."""
    plain_text = written.replace("\u2212", "-")
    if THOUSANDS.fullmatch(plain_text):
        plain_text = plain_text.replace(",", "")
    try:
        value = Decimal(plain_text)
    except InvalidOperation:  # a date such as 31.12.2026, a version, a sign
        return plain_text
    return f"{value.normalize() + 0:f}"


def page_lines(html: str) -> list[str]:
    """Return what a page says: a line for each block of text, and one for each attribute that people see or hear."""
    parser = _PageText()
    parser.feed(html)
    parser.close()
    return [*filter(None, (" ".join(line.split()) for line in parser.lines)), *parser.attributes]


class _PageText(HTMLParser):
    """Collects what a page says."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines, self.attributes = [""], list[str]()
        self._is_silent = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element; one that is not inline begins a line."""
        self._is_silent = tag in SILENT
        self.attributes += [value or "" for name, value in attrs if name in SPOKEN]
        if tag not in INLINE:
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        self._is_silent = False
        if tag not in INLINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        """Take text."""
        if not self._is_silent:
            self.lines[-1] += data
