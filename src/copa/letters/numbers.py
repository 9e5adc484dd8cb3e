"""The last check of a letter: every number in it is in the plan, and stands where it belongs.

It knows nothing of templates. It reads the finished text and page, and compares with the plan itself, not with what the
template was handed.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from html.parser import HTMLParser
from typing import Any, NamedTuple

from copa._core.words import listed, shown, visible
from copa.analysis.reasons import Reason
from copa.exceptions import DataError
from copa.letters.chance import LEAST_TOLD, chance
from copa.letters.letter import LetterSettings
from copa.letters.template import Block
from copa.plans import Plan
from copa.tables.cells import alone, as_text, is_missing, plain

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

    A line may hold numbers of one change (what it asks for before what is there today), of one reason or of one chance
    (so many of so many); inside an option only those of its own changes and its own chance. Elsewhere what the sender
    says and the applicant's label may stand beside them as they are; where they are a bare number, on a line of their
    own.

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
    common = [" ".join(visible(text, lines=False).split()) for text in (alone(plan.label), *settings.texts)]
    groups: dict[int | None, list[_Group]] = {
        None: [_Group(_cells(plan, r.column, (r.value, r.reference))) for r in told]
    }
    chances = {number: chance(plan, number) for number in range(1, plan.n_options + 1)}
    for number, own in chances.items():
        changes = [_change(plan, number, k) for k in range(len(plan.changes(number)))]
        own_groups = (*changes, *_chances(own), _Group(frozenset()))
        groups[number] = [group._replace(number=str(number)) for group in own_groups]
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
        _check_line(text, groups[option], common if option is None else [], option)


class _Group(NamedTuple):
    """Numbers that may stand on a line together.

    Attributes
    ----------
    numbers : frozenset of str
    before, after : frozenset of str
        Those of them that tell today's value alone, and those that tell alone what is asked for: these come first.
    pair : tuple of str
        "8" and "10" of a chance, which stand in this order and not without each other.
    number : str
        That of the option, which may stand beside all of its numbers.
    """

    numbers: Numbers
    before: Numbers = frozenset()
    after: Numbers = frozenset()
    pair: tuple[str, ...] = ()
    number: str = ""

    def explains(self, found: list[str]) -> bool:
        """Whether numbers, in the order in which a line has them, are of this group."""
        if self.pair:
            rest = found[1:] if len(found) % 2 and found[0] == self.number else found
            return list(self.pair) * (len(rest) // 2) == rest
        if not set(found) <= self.numbers | {self.number}:
            return False
        today = next((i for i, token in enumerate(found) if token in self.before), len(found))
        return not any(token in self.after for token in found[today:])


def _check_line(text: str, groups: list[_Group], common: list[str], option: int | None) -> None:
    """Raise unless the numbers of a line belong together, and here."""
    line = " ".join(text.split())
    for said in sorted(filter(_is_more_than_a_number, common), key=len, reverse=True):
        line = re.sub(rf"(?<!\w){re.escape(said)}(?!\w)", " ", line)
    found = [_canonical(written) for written in _written(line)]
    own = [Counter(map(_canonical, _written(said))) for said in common]
    if not found or any(group.explains(found) for group in groups) or any(Counter(found) <= said for said in own):
        return
    known = frozenset[str]().union(*(group.numbers | {*group.pair, group.number} for group in groups), *own)
    wrong = next((written for written in _written(line) if _canonical(written) not in known), None)
    told = shown(" ".join(text.split()))
    if wrong is None:
        raise DataError(
            f"the numbers {listed(sorted(set(found)))} in {told} do not belong together in the plan, or not in this "
            "order (what is asked for comes before today's value); the letter was not written"
        )
    where = "is not in the plan" if option is None else f"is not one of option {option} of the plan"
    raise DataError(
        f"the number {wrong} in {told} {where}; the letter was not written. A number of the sender's own is given as a "
        "field (fields, --field NAME=TEXT), and what is said of an option stands between [option ...] and [end]"
    )


def _is_more_than_a_number(text: str) -> bool:
    """Whether a text with numbers can be told from a number that stands on a line for another reason."""
    written = _written(text)
    return len(written) > 1 or (bool(written) and written[0] != text)


def _change(plan: Plan, option: int, k: int) -> _Group:
    """Numbers of one change: before, after, ends of its interval, and what its title and labels hold."""
    change = plan.changes(option)[k]
    targets = (change.after, *(() if change.interval is None else change.interval))
    title = _cells(plan, change.column, ())
    before, after = (_cells(plan, change.column, values) - title for values in ((change.before,), targets))
    return _Group(title | before | after, before=before - after, after=after - before)


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


def _chances(known: float | None) -> list[_Group]:
    """How a chance may be told: of 10 or of 100, rounded down; or as fewer than 1 of 10."""
    if known is None:
        return []
    if known < LEAST_TOLD:
        return [_Group(frozenset(), pair=("1", "10"))]
    parts = [(n, int((n * Decimal(repr(known))).to_integral_value(ROUND_FLOOR))) for n in (10, 100)]
    return [_Group(frozenset(), pair=(str(min(k, n - 1)), str(n))) for n, k in parts]


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
