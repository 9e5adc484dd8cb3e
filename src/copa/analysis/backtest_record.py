"""`Backtest`: what later models said of options that were planned as of earlier ones."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.files import write_atomically
from copa._core.representation import short_repr
from copa._core.words import counted, rounded_down, shown
from copa.analysis.verdicts import (
    FORECAST,
    KEPT,
    NOT_KEPT,
    UNKNOWN,
    answers,
    highest_level,
    is_broken,
)
from copa.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

FORMAT, VERSION = "copa-backtest", 1
VERSIONS, SPLITS = "versions", "splits"
ONLY_A_FORECAST = (
    "There was no history: parts of the same rows were planned on and asked. Such splits forecast averages and cannot "
    "certify one sample, because no part of today's rows shows the error that today's rows have in common"
)
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
    kept : float or None
        Share of the promises that at least the promised share of refits of the later version accept; None without
        refits.
    inside, below : float or None
        Share of the options whose later mean score lies inside the ambiguity set, and below it; None for a set without
        a radius, which says nothing of where the mean goes.
    broken : bool
        Whether either share is clearly below what was promised.

    Examples
    --------
    >>> from copa.analysis.backtest import Transition
    >>> Transition("2015Q4", "2016Q1", 1, 144, accepted=0.97, kept=None, inside=0.9, below=0.05).horizon
    1
    """

    __repr__ = short_repr

    start: str
    later: str
    horizon: int
    n_promises: int
    accepted: float
    kept: float | None
    inside: float | None
    below: float | None
    broken: bool = False


@dataclass(frozen=True)
class HorizonResult:
    """What became of the promises after some retrainings.

    Attributes
    ----------
    horizon : int
        Retrainings ahead.
    promised : float
        The level.
    n_transitions, n_promises : int
        What the shares rest on: pairs of versions, and promises in all.
    accepted, kept, inside, below : float or None
        As of a `Transition`, over all promises.
    guaranteed, expected : float or None
        Mean guarantee and mean expected rate of the options.
    effort : float or None
        Against plans that today's model alone must accept.
    highest_level : float
        Nothing above it can be seen to be kept in so few transitions.
    verdict : {"kept", "not kept", "too few transitions to say", "forecast only"}
    broke_at : str or None
        The first version by which promises were clearly not kept.
    accepted_before : float or None
        Share accepted by the versions before the first one that broke promises, over any horizon.

    Examples
    --------
    >>> from copa.analysis.backtest import Backtest, Transition
    >>> said = [Transition(str(k), str(k + 1), 1, 90, 1.0, None, 0.9, 0.0) for k in range(1, 10)]
    >>> found = Backtest.judged(
    ...     said, kind="versions", versions=tuple("123456789") + ("10",), guarantee=0.9, guarantee_for="each",
    ...     confidence=None, n_refits=0, starts=(), max_horizon=1,
    ... )
    >>> found.horizon(1).verdict, found.horizon(1).highest_level
    ('kept', 0.9)
    """

    __repr__ = short_repr

    horizon: int
    promised: float
    n_transitions: int
    n_promises: int
    accepted: float | None
    kept: float | None
    inside: float | None
    below: float | None
    guaranteed: float | None
    expected: float | None
    effort: float | None
    highest_level: float
    verdict: str
    broke_at: str | None
    accepted_before: float | None


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
    confidence : float or None
        Share of the promises that should be kept at their level; None where the planner has no confidence.
    n_refits : int
        Refits of each later version; 0 where only the version itself was asked.
    starts : tuple of Start
    transitions : tuple of Transition
        By start, then by horizon.
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
    >>> found = planner.backtest(history_data=past, names=loans.names, horizon=1, n_applicants=30, n_refits=0)
    >>> found.horizon(1).verdict, found.horizon(1).broke_at
    ('not kept', '2016Q1')
    """

    kind: str
    versions: tuple[str, ...]
    guarantee: float
    guarantee_for: str
    confidence: float | None
    n_refits: int
    starts: tuple[Start, ...]
    transitions: tuple[Transition, ...]
    max_horizon: int

    @classmethod
    def judged(cls, transitions: "Sequence[Transition]", **fields: Any) -> "Backtest":
        """Put a backtest together, and say of every transition whether it clearly broke what was promised."""
        level, confidence = fields["guarantee"], fields["confidence"]
        told = []
        for transition in transitions:
            n = answers(transition.n_promises)
            shares = [(transition.accepted, level)]
            if transition.kept is not None:
                shares.append((transition.kept, level if confidence is None else confidence))
            broken = any(is_broken(share, n, wanted, len(transitions)) for share, wanted in shares)
            told.append(Transition(**(asdict(transition) | {"broken": broken})))
        return cls(transitions=tuple(told), **fields)

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
    def broke_at(self) -> str | None:
        """The first version by which promises were clearly not kept; None where there is none."""
        return self._first_broken(self.transitions)

    @property
    def share_served(self) -> float | None:
        """Share of the applicants planned for who got a plan at the level asked for."""
        asked = sum(start.n_applicants for start in self.starts)
        return sum(start.n_served for start in self.starts) / asked if asked else None

    def _first_broken(self, transitions: "Sequence[Transition]") -> str | None:
        broken = [transition.later for transition in transitions if transition.broken]
        return min(broken, key=self.versions.index) if broken else None

    def _before(self, own: "Sequence[Transition]") -> float | None:
        """Share accepted before promises broke."""
        if self.kind == SPLITS or self.broke_at is None:
            return None
        end = self.versions.index(self.broke_at)
        early = [transition for transition in own if self.versions.index(transition.later) < end]
        return _mean([transition.accepted for transition in early], [transition.n_promises for transition in early])

    def _result(self, h: int) -> HorizonResult:
        own = [transition for transition in self.transitions if transition.horizon == h]
        weights = np.array([transition.n_promises for transition in own], dtype=np.float64)
        whose = {transition.start for transition in own}
        starts = [start for start in self.starts if start.version in whose]
        n_options = [float(start.n_options) for start in starts]
        result = HorizonResult(
            horizon=h,
            promised=self.guarantee,
            n_transitions=len(own),
            n_promises=int(weights.sum()),
            **{
                name: _mean([getattr(t, name) for t in own], weights)
                for name in ("accepted", "kept", "inside", "below")
            },
            guaranteed=_mean([start.guaranteed for start in starts], n_options),
            expected=_mean([start.expected for start in starts], n_options),
            effort=_ratio(starts),
            highest_level=highest_level(len(own)),
            verdict="",
            broke_at=self._first_broken(own),
            accepted_before=self._before(own),
        )
        return HorizonResult(**(asdict(result) | {"verdict": self._verdict(result, own)}))

    def _verdict(self, result: HorizonResult, own: "list[Transition]") -> str:
        n = sum(answers(transition.n_promises) for transition in own)
        wanted = [(result.accepted, self.guarantee)]
        wanted += [(result.kept, self.guarantee if self.confidence is None else self.confidence)]
        known = [(share, level) for share, level in wanted if share is not None]
        if result.broke_at is not None or any(is_broken(share, n, level) for share, level in known):
            return NOT_KEPT
        if self.kind == SPLITS:
            return FORECAST
        enough = bool(known) and self.guarantee <= result.highest_level
        return KEPT if enough and all(share >= level for share, level in known) else UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, as JSON holds it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "versions": list(self.versions),
            "guarantee": self.guarantee,
            "guarantee_for": self.guarantee_for,
            "confidence": self.confidence,
            "n_refits": self.n_refits,
            "broke_at": self.broke_at,
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
            raise DataError(f"version {shown(content.get('version'))} of the backtest cannot be read; update COPA")
        names = ("kind", "guarantee", "guarantee_for", "confidence", "n_refits")
        try:
            found = cls(
                **{name: content[name] for name in names},
                versions=tuple(content["versions"]),
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

    def plot(self) -> Any:
        """Shares of promises that each later version accepts, as a plotly figure.

        Returns
        -------
        plotly.graph_objects.Figure
        """
        from copa.report.backtest_page import plotly_figure

        return plotly_figure(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page about it, one HTML document that needs no network.

        Parameters
        ----------
        path : str or Path, optional
            File to write it to as well.
        """
        from copa.report.backtest_page import backtest_page

        text = backtest_page(self)
        if path is not None:
            write_atomically(Path(path), text.encode("utf-8"))
        return text

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
        ahead = "on other rows" if self.kind == SPLITS else f"{counted(h, 'retraining')} ahead"
        if result.accepted is None:
            return f"{ahead}: {UNKNOWN}, for no {self.unit} was promised that a later model could be asked about"
        asked = counted(result.n_transitions, "split" if self.kind == SPLITS else "transition")
        accepted = f"{rounded_down(result.accepted)} of {counted(result.n_promises, self.unit)}"
        parts = [f"{ahead}: promised {self.guarantee:g}; the later models accept {accepted} ({asked})"]
        if result.kept is not None:
            parts.append(
                f"{rounded_down(result.kept)} of the {self.unit}s are accepted by at least {self.guarantee:g} of the "
                f"{self.n_refits} refits of the later data"
            )
        return f"{'; '.join(parts)}: {self._conclusion(result)}"

    def _conclusion(self, result: HorizonResult) -> str:
        if result.verdict == NOT_KEPT:
            where = "" if result.broke_at is None else f", first by version {result.broke_at}"
            before = "" if result.accepted_before is None else f"; versions before {self.broke_at} accept "
            return f"{NOT_KEPT}{where}{before and before + rounded_down(result.accepted_before or 0.0)}"
        if result.verdict == UNKNOWN and self.guarantee > result.highest_level:
            return f"{UNKNOWN}, they can support {rounded_down(result.highest_level)} at most"
        if result.verdict == UNKNOWN:
            return f"{UNKNOWN}: below what was promised, but not clearly"
        return result.verdict

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{result.horizon}: {result.verdict}" for result in self.horizons)
        return f"Backtest({len(self.versions)} {self.kind}, promised {self.guarantee:g}; {verdicts})"


def _mean(values: "Sequence[float | None]", weights: Any) -> float | None:
    """Weighted mean of the values that are known, None where there is none."""
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None and weight > 0]
    if not known:
        return None
    return float(sum(v * w for v, w in known) / sum(w for _, w in known))


def _ratio(starts: "Sequence[Start]") -> float | None:
    """Effort against plans that are not robust, over the starts that have both."""
    known = [(s.effort, s.plain_effort) for s in starts if s.effort is not None and s.plain_effort is not None]
    plain = sum(cheap for _, cheap in known)
    return float(sum(effort for effort, _ in known) / plain) if plain > 0.0 else None
