"""`Backtest`: what later models said of options that were planned as of earlier ones."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.files import write_atomically
from copa._core.representation import short_repr
from copa._core.words import counted, listed, rounded_down, rounded_up, shown
from copa.analysis.verdicts import (
    CLEAR,
    CONFIDENCE,
    ERROR,
    FORECAST,
    KEPT,
    NOT_KEPT,
    UNKNOWN,
    highest_level,
    log_e_value,
    lower_bound,
    verdict,
    versions_needed,
)
from copa.exceptions import DataError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

FORMAT, VERSION = "copa-backtest", 2
VERSIONS, SPLITS = "versions", "splits"
ONLY_A_FORECAST = (
    "There was no history: parts of the same rows were planned on and asked. Such splits forecast averages and cannot "
    "certify one sample, because no part of today's rows shows the error that today's rows have in common"
)
HEADLINES = {  # the first that is true of any horizon
    NOT_KEPT: "Promises were not kept.",
    UNKNOWN: "There are too few transitions to say whether promises were kept.",
    CLEAR: "Nothing speaks against the promises, but there are too few transitions to call them kept.",
    KEPT: "Promises were kept.",
    FORECAST: "A forecast from parts of the same rows.",
}
UNSEEN = "No history shows a break that has not happened yet: what is said here is about changes like those of the past"


@dataclass(frozen=True)
class Start:
    """The plans made as of one version.

    Attributes
    ----------
    version : str
        Its name.
    n_older : int
        Older versions that the plans could go by.
    n_applicants, n_served, n_options : int
        Declined applicants planned for, those with a plan at the level asked for, and the options of these.
    guaranteed : float or None
        Mean guarantee of these options; None where there are none.
    expected : float or None
        Mean expected rate of these options; None where there is none.
    effort, plain_effort : float or None
        Mean effort of the plans, and of plans that today's model alone must accept, for the applicants who have both.
    radius : float
        Of the ambiguity set.
    radius_source : str
        Where it came from.

    Examples
    --------
    >>> from copa.analysis.backtest import Start
    >>> Start("2015Q4", 3, 50, 48, 144, 0.91, 0.98, 3.2, 1.6, 1.64, "confidence 0.95").n_served
    48
    """

    __repr__ = short_repr

    version: str
    n_older: int
    n_applicants: int
    n_served: int
    n_options: int
    guaranteed: float | None
    expected: float | None
    effort: float | None
    plain_effort: float | None
    radius: float
    radius_source: str


@dataclass(frozen=True)
class Transition:
    """What a later version said of the plans made as of an earlier one.

    Attributes
    ----------
    start, later : str
        Names of the two versions.
    horizon : int
        Retrainings between them.
    n_promises : int
        Options, or plans where all or any of the options were promised together.
    accepted : float
        Share of the promises that the later version accepts.
    inside, below : float or None
        Share of the options whose score in the later version lies within the radius of the ambiguity set, and below
        it; None for a set without a radius, which says nothing of where scores go.

    Examples
    --------
    >>> from copa.analysis.backtest import Transition
    >>> Transition("2015Q4", "2016Q1", 1, 144, accepted=0.97, inside=0.9, below=0.05).horizon
    1
    """

    __repr__ = short_repr

    start: str
    later: str
    horizon: int
    n_promises: int
    accepted: float
    inside: float | None
    below: float | None


@dataclass(frozen=True)
class HorizonResult:
    """What became of the promises after some retrainings. Means are over versions, each of which counts once.

    Attributes
    ----------
    horizon : int
        Retrainings ahead.
    promised : float
        The level.
    n_transitions, n_promises : int
        Disjoint transitions from an earlier to a later version, and promises in all.
    accepted : float or None
        Mean of the shares of promises that the later versions accept; None without transitions.
    lowest : float or None
        Smallest of these shares.
    lowest_at : str or None
        The later version that it belongs to, the first of several.
    inside, below : float or None
        Means of those of the transitions.
    guaranteed, expected : float or None
        Mean guarantee and mean expected rate of the options.
    effort : float or None
        Against plans that today's model alone must accept.
    p_value : float
        If versions accepted the promised share in expectation, a history with as much evidence against it would have
        this probability at most: the reciprocal of the e-value (`copa.analysis.verdicts.log_e_value`).
    lower : float
        Lower bound, with 95 % confidence, on the share that a version accepts in expectation.
    highest_level : float
        What `lower` would be if every promise had been kept: no higher level can be called kept.
    n_needed : int
        Transitions without a broken promise that the promised level would need to be called kept.
    verdict : {"kept", "not kept", "nothing against it", "too few transitions to say", "forecast only"}

    Examples
    --------
    >>> from copa.analysis.backtest import Backtest, Transition
    >>> said = [Transition(str(k), str(k + 1), 1, 90, 1.0, 0.9, 0.0) for k in range(1, 10)]
    >>> found = Backtest(
    ...     kind="versions", versions=tuple("123456789") + ("10",), guarantee=0.9, guarantee_for="each", weak=(),
    ...     starts=(), transitions=tuple(said), max_horizon=1,
    ... )
    >>> found.horizon(1).verdict, round(found.horizon(1).highest_level, 3), found.horizon(1).n_needed
    ('nothing against it', 0.717, 29)
    """

    __repr__ = short_repr

    horizon: int
    promised: float
    n_transitions: int
    n_promises: int
    accepted: float | None
    lowest: float | None
    lowest_at: str | None
    inside: float | None
    below: float | None
    guaranteed: float | None
    expected: float | None
    effort: float | None
    p_value: float
    lower: float
    highest_level: float
    n_needed: int
    verdict: str


@dataclass(frozen=True, eq=False, repr=False)
class Backtest:
    """Promises of the past, and what became of them.

    Attributes
    ----------
    kind : {"versions", "splits"}
        Whether later versions were asked, or models of other parts of the same rows.
    versions : tuple of str
        Names, oldest first.
    guarantee : float
        The level promised.
    guarantee_for : {"each", "all", "any"}
        Options of a plan that a promise is about.
    weak : tuple of str
        Versions that are no better than always giving the more frequent answer, on their own rows.
    starts : tuple of Start
    transitions : tuple of Transition
        By start, then by horizon; those over the same horizon do not overlap.
    max_horizon : int
        Most retrainings looked at.

    Examples
    --------
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> import copa
    >>> loans = copa.datasets.make_dated(n_quarters=6, break_at=4, break_size=2.0)
    >>> past = loans.quarters(n_rows=800)
    >>> levels = [feature.name for feature in loans.schema.features if feature.is_categorical]
    >>> encoder = make_column_transformer((OneHotEncoder(), levels), remainder=StandardScaler())
    >>> model = make_pipeline(encoder, LogisticRegression()).fit(*past[-1])
    >>> planner = copa.RecoursePlanner(model, schema=loans.schema, n_models=100, n_options=2)
    >>> found = planner.backtest(history_data=past, names=loans.names, horizon=1, n_applicants=30)
    >>> found.horizon(1).verdict, found.horizon(1).lowest_at
    ('too few transitions to say', '2016Q1')
    """

    kind: str
    versions: tuple[str, ...]
    guarantee: float
    guarantee_for: str
    weak: tuple[str, ...]
    starts: tuple[Start, ...]
    transitions: tuple[Transition, ...]
    max_horizon: int

    def __post_init__(self) -> None:
        place = self.versions.index
        ends: dict[int, int] = {}
        for transition in sorted(self.transitions, key=lambda each: place(each.later)):
            if place(transition.start) < ends.get(transition.horizon, 0):
                raise InvalidInputError(
                    f"transitions over the same horizon must not overlap: the one from {shown(transition.start)} to "
                    f"{shown(transition.later)} begins before another ends"
                )
            ends[transition.horizon] = place(transition.later)

    @property
    def unit(self) -> str:
        """What one promise is about: an option, or a plan."""
        return "option" if self.guarantee_for == "each" else "plan"

    @cached_property
    def horizons(self) -> tuple[HorizonResult, ...]:
        """What became of the promises after 1, 2, ... retrainings."""
        return tuple(self._result(h) for h in range(1, self.max_horizon + 1))

    def horizon(self, h: int) -> HorizonResult:
        """What became of the promises after h retrainings."""
        return self.horizons[h - 1]

    @property
    def share_served(self) -> float | None:
        """Share of the applicants planned for who got a plan at the level asked for."""
        asked = sum(start.n_applicants for start in self.starts)
        return sum(start.n_served for start in self.starts) / asked if asked else None

    @property
    def headline(self) -> str:
        """The verdict on all horizons, and whether the models are worth planning for, as sentences."""
        verdicts = {result.verdict for result in self.horizons if result.n_transitions}
        worst = next((word for word in HEADLINES if word in verdicts), UNKNOWN)
        unseen = [result.horizon for result in self.horizons if not result.n_transitions]
        said = HEADLINES[worst]
        if verdicts and unseen:
            far = counted(min(unseen), "retraining")
            said += f" Nothing is known over {far} or more: no two versions are so far apart."
        if not self.weak:
            return said
        return (
            f"{said} Weak model: on its own rows it is no better than always giving the more frequent "
            f"answer in {len(self.weak)} of {counted(len(self.versions), 'version')} ({listed(self.weak)}). Its plans "
            "follow noise, whatever became of them."
        )

    def _result(self, h: int) -> HorizonResult:
        asked = [transition for transition in self.transitions if transition.horizon == h]
        shares = [transition.accepted for transition in asked]
        worst = min(asked, key=lambda each: (each.accepted, self.versions.index(each.later)), default=None)
        starts = [start for start in self.starts if start.version in {transition.start for transition in asked}]
        return HorizonResult(
            horizon=h,
            promised=self.guarantee,
            n_transitions=len(asked),
            n_promises=sum(transition.n_promises for transition in asked),
            lowest=None if worst is None else worst.accepted,
            lowest_at=None if worst is None else worst.later,
            **{name: _mean(getattr(each, name) for each in asked) for name in ("accepted", "inside", "below")},
            **{name: _mean(getattr(each, name) for each in starts) for name in ("guaranteed", "expected")},
            effort=_ratio(starts),
            # Rounded, because the last bits of logarithms and powers depend on the processor.
            p_value=round(min(1.0, math.exp(-log_e_value(shares, self.guarantee))), 6),
            lower=round(float(lower_bound(shares)), 6),
            highest_level=round(highest_level(len(asked)), 6),
            n_needed=versions_needed(self.guarantee),
            verdict=FORECAST if self.kind == SPLITS else verdict(shares, self.guarantee),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, as JSON holds it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "versions": list(self.versions),
            "guarantee": self.guarantee,
            "guarantee_for": self.guarantee_for,
            "headline": self.headline,
            "weak": list(self.weak),
            "share_served": self.share_served,
            "horizons": [asdict(result) | {"in_words": self.in_words(result.horizon)} for result in self.horizons],
            "starts": [asdict(start) for start in self.starts],
            "transitions": [asdict(transition) for transition in self.transitions],
            "limits": list(self.limits),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON.

        Parameters
        ----------
        path : str or Path, optional
            File to write it to as well.
        """
        text = json.dumps(self.to_dict(), allow_nan=False, indent=1)
        if path is not None:
            write_atomically(Path(path), text.encode("utf-8"))
        return text

    @classmethod
    def from_dict(cls, content: Any) -> "Backtest":
        """Read what `to_dict` returned, or what `copa backtest --json` printed.

        Parameters
        ----------
        content : mapping of str to object

        Returns
        -------
        Backtest

        Raises
        ------
        DataError
            If it is no backtest, is damaged, or says of itself what its transitions do not.
        """
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise DataError(f"not a backtest: it must be an object with format {FORMAT!r}")
        if content.get("version") != VERSION:
            raise DataError(
                f"version {shown(content.get('version'))} of the backtest cannot be read, only {VERSION}; run it again"
            )
        try:
            found = cls(
                **{name: content[name] for name in ("kind", "guarantee", "guarantee_for")},
                versions=tuple(content["versions"]),
                weak=tuple(content["weak"]),
                starts=tuple(Start(**start) for start in content["starts"]),
                transitions=tuple(Transition(**transition) for transition in content["transitions"]),
                max_horizon=len(content["horizons"]),
            )
            same = found.to_dict() == content
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"the backtest is damaged: {type(error).__name__}: {error}") from error
        if not same:
            raise DataError("the backtest was changed: its totals are not those of its transitions; run it again")
        return found

    def to_frame(self) -> "pd.DataFrame":
        """One row per horizon."""
        import pandas as pd

        return pd.DataFrame([asdict(result) for result in self.horizons]).set_index("horizon")

    @property
    def limits(self) -> tuple[str, ...]:
        """What this cannot say, as sentences."""
        return (ONLY_A_FORECAST,) if self.kind == SPLITS else (UNSEEN,)

    def in_words(self, h: int) -> str:
        """What became of the promises after h retrainings, as a sentence.

        Parameters
        ----------
        h : int
            Retrainings, from 1.
        """
        result = self.horizon(h)
        splits = self.kind == SPLITS
        ahead = "on other rows" if splits else f"{counted(h, 'retraining')} ahead"
        if result.accepted is None or result.lowest is None:
            return f"{ahead}: {UNKNOWN}, for no {self.unit} was promised that a later model could be asked about"
        asked = counted(result.n_transitions, "split" if splits else "transition")
        differ = result.lowest < result.accepted
        lowest = f", at least {rounded_down(result.lowest)} (by {result.lowest_at})" if differ else ""
        return (
            f"{ahead}: promised {self.guarantee:g}; the later models accept {rounded_down(result.accepted)} of the "
            f"{self.unit}s on average{lowest}, in {asked} with {counted(result.n_promises, self.unit)}: "
            f"{_conclusion(result)}"
        )

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{result.horizon}: {result.verdict}" for result in self.horizons)
        return f"Backtest({len(self.versions)} {self.kind}, promised {self.guarantee:g}; {verdicts})"


def _conclusion(result: HorizonResult) -> str:
    """A verdict and what it rests on, in words."""
    level = f"{result.promised:g}"
    if result.verdict == NOT_KEPT:
        return f"{NOT_KEPT}, with a p-value of {p_value_text(result)}"
    if result.verdict == KEPT:
        return f"{KEPT} (at least {rounded_down(result.lower)} in expectation, with {CONFIDENCE:.0%} confidence)"
    supports = (
        f"{counted(result.n_transitions, 'transition')} can support {rounded_down(result.highest_level)} at most, and "
        f"{level} takes {result.n_needed} in which every promise is kept"
    )
    if result.verdict == CLEAR:
        return f"{CLEAR}; {supports}"
    if result.verdict == UNKNOWN:
        evidence = f'with a p-value of {p_value_text(result)}; "{NOT_KEPT}" needs {ERROR:g} or less'
        return f"{UNKNOWN}: below what was promised, {evidence}"
    below = result.accepted is not None and result.accepted < result.promised
    return f"{result.verdict}, {'below' if below else 'not below'} what was promised"


def p_value_text(result: HorizonResult) -> str:
    """The p-value as it is printed: rounded up, and never 0."""
    return rounded_up(max(result.p_value, 1e-6))


def _mean(values: "Iterable[float | None]") -> float | None:
    """Mean of the values that there are, None where there is none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _ratio(starts: "Sequence[Start]") -> float | None:
    """Effort against plans that are not robust, over the starts that have both."""
    known = [(s.effort, s.plain_effort) for s in starts if s.effort is not None and s.plain_effort is not None]
    plain = sum(cheap for _, cheap in known)
    return float(sum(effort for effort, _ in known) / plain) if plain > 0.0 else None
