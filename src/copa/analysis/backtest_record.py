"""`Backtest`: options that were planned as of earlier models, as later models decided on them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.files import write_atomically
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
    import pandas as pd

FORMAT, VERSION = "copa-backtest", 2
VERSIONS, SPLITS = "versions", "splits"
# Columns of the two tables; shares and efforts are NaN where there is none.
START_SHARES = ("guaranteed", "expected", "effort", "plain_effort", "radius")
STARTS = ("version", "n_older", "n_applicants", "n_served", "n_options", *START_SHARES, "radius_source")
TRANSITION_SHARES = ("accepted", "inside", "below")
TRANSITIONS = ("start", "later", "horizon", "n_promises", *TRANSITION_SHARES)
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


@dataclass(frozen=True, eq=False, repr=False)
class Backtest:
    """Promises of the past, and the shares of them that later models kept.

    Parameters
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
    starts : DataFrame
        A row for each version planned as of: its name "version"; "n_older", versions that its plans could go by;
        "n_applicants" planned for, "n_served" of them with a plan at the level asked for, and "n_options" of these;
        means of the options' guarantees ("guaranteed") and expected rates ("expected"); mean "effort" of the plans, and
        "plain_effort" of plans that only the model of that time must accept, for the applicants who have both; "radius"
        of the ambiguity set, and "radius_source".
    transitions : DataFrame
        A row for each earlier version ("start") and later one ("later") that was asked about its promises: "horizon",
        the retrainings between them; "n_promises", options, or plans where all or any of the options are promised
        together; "accepted", the share of them that the later version accepts; "inside" and "below", shares of the
        options whose score in the later version lies within the radius of the ambiguity set, and under it (NaN for a
        set without a radius). Those over the same horizon do not overlap.
    max_horizon : int
        Most retrainings looked at.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.analysis.backtest import Backtest
    >>> asked = {"horizon": 1, "n_promises": 90, "accepted": 1.0, "inside": 0.9, "below": 0.0}
    >>> said = pd.DataFrame([{"start": str(k), "later": str(k + 1), **asked} for k in range(1, 10)])
    >>> found = Backtest(
    ...     kind="versions", versions=tuple("123456789") + ("10",), guarantee=0.9, guarantee_for="each", weak=(),
    ...     starts=pd.DataFrame(), transitions=said, max_horizon=1,
    ... )
    >>> found.horizons[["accepted", "verdict", "highest_level", "n_needed"]].round(3).to_dict("index")
    {1: {'accepted': 1.0, 'verdict': 'nothing against it', 'highest_level': 0.717, 'n_needed': 29}}
    """

    kind: str
    versions: tuple[str, ...]
    guarantee: float
    guarantee_for: str
    weak: tuple[str, ...]
    starts: "pd.DataFrame"
    transitions: "pd.DataFrame"
    max_horizon: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", _table(self.starts, STARTS, START_SHARES))
        object.__setattr__(self, "transitions", _table(self.transitions, TRANSITIONS, TRANSITION_SHARES))
        for _, asked in self.transitions.groupby("horizon"):
            names = zip(asked["start"], asked["later"], strict=True)
            spans = sorted((self.versions.index(start), self.versions.index(later)) for start, later in names)
            for (_, end), (start, later) in pairwise(spans):
                if start < end:
                    pair = f"{shown(self.versions[start])} to {shown(self.versions[later])}"
                    raise InvalidInputError(
                        f"transitions over the same horizon must not overlap: the one from {pair} begins before "
                        "another ends"
                    )

    @property
    def unit(self) -> str:
        """Thing that one promise is about: "option" or "plan"."""
        return "option" if self.guarantee_for == "each" else "plan"

    @cached_property
    def horizons(self) -> "pd.DataFrame":
        """Results after 1, 2, ... retrainings, a row for each.

        Each model counts once, however many promises it was asked about: "accepted", "inside" and "below" are means
        over the "n_transitions" of a horizon, "lowest" is the least share accepted and "lowest_at" the later version
        that it belongs to, the first of several. "guaranteed", "expected" and "effort" (against plans that only the
        model of the time must accept) are those of the plans that were asked about.

        "p_value" is the reciprocal of the e-value (`copa.analysis.verdicts.log_e_value`): if versions accept the
        "promised" share in expectation, a history with as much evidence against it has this probability at most.
        "lower" is a lower bound, with 95 % confidence, on the share that a version accepts in expectation,
        "highest_level" what it would be if every promise had been kept, and "n_needed" the transitions without a broken
        promise that the promised level would need to be called kept. "verdict" is "kept", "not kept", "nothing against
        it", "too few transitions to say", or "forecast only" of splits.
        """
        import pandas as pd

        return pd.DataFrame([self._result(h) for h in range(1, self.max_horizon + 1)]).set_index("horizon")

    @property
    def share_served(self) -> float | None:
        """Share of the applicants planned for who got a plan at the level asked for."""
        asked = int(self.starts["n_applicants"].sum())
        return int(self.starts["n_served"].sum()) / asked if asked else None

    @property
    def headline(self) -> str:
        """The verdict on all horizons, and whether the models are worth planning for, as sentences."""
        was_asked = self.horizons["n_transitions"] > 0
        verdicts = set(self.horizons["verdict"][was_asked])
        headline = HEADLINES[next((word for word in HEADLINES if word in verdicts), UNKNOWN)]
        if verdicts and not was_asked.all():
            far = counted(int(self.horizons.index[~was_asked].min()), "retraining")
            headline += f" Nothing is known over {far} or more: no two versions are so far apart."
        if not self.weak:
            return headline
        return (
            f"{headline} Weak model: on its own rows it is no better than always giving the more frequent "
            f"answer in {len(self.weak)} of {counted(len(self.versions), 'version')} ({listed(self.weak)}). Its plans "
            "follow noise, whatever became of them."
        )

    def _result(self, h: int) -> dict[str, Any]:
        """Return the row of a horizon."""
        asked = self.transitions[self.transitions["horizon"] == h]
        starts = self.starts[self.starts["version"].isin(asked["start"])]
        shares, later = asked["accepted"].to_numpy(), map(self.versions.index, asked["later"])
        lowest, lowest_at = min(zip(shares.tolist(), later, strict=True), default=(math.nan, None))
        compared = starts[["effort", "plain_effort"]].dropna().sum()
        return {
            "horizon": h,
            "promised": self.guarantee,
            "n_transitions": len(asked),
            "n_promises": int(asked["n_promises"].sum()),
            "accepted": _mean(asked["accepted"]),
            "lowest": lowest,
            "lowest_at": None if lowest_at is None else self.versions[lowest_at],
            **{name: _mean(asked[name]) for name in ("inside", "below")},
            **{name: _mean(starts[name]) for name in ("guaranteed", "expected")},
            "effort": compared["effort"] / compared["plain_effort"] if compared["plain_effort"] > 0.0 else math.nan,
            # Rounded, because the last bits of logarithms and powers depend on the processor.
            "p_value": round(min(1.0, math.exp(-log_e_value(shares, self.guarantee))), 6),
            "lower": round(float(lower_bound(shares)), 6),
            "highest_level": round(highest_level(len(asked)), 6),
            "n_needed": versions_needed(self.guarantee),
            "verdict": FORECAST if self.kind == SPLITS else verdict(shares, self.guarantee),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        results = _records(self.horizons.reset_index())
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
            "horizons": [result | {"in_words": self.in_words(result["horizon"])} for result in results],
            "starts": _records(self.starts),
            "transitions": _records(self.transitions),
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
            If it is no backtest, is damaged, or has other totals than its transitions.
        """
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise DataError(f"not a backtest: it must be an object with format {FORMAT!r}")
        if content.get("version") != VERSION:
            raise DataError(
                f"version {shown(content.get('version'))} of the backtest cannot be read, only {VERSION}; run it again"
            )
        try:
            backtest = cls(
                **{name: content[name] for name in ("kind", "guarantee", "guarantee_for", "starts", "transitions")},
                versions=tuple(content["versions"]),
                weak=tuple(content["weak"]),
                max_horizon=len(content["horizons"]),
            )
            same = backtest.to_dict() == content
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"the backtest is damaged: {type(error).__name__}: {error}") from error
        if not same:
            raise DataError("the backtest was changed: its totals are not those of its transitions; run it again")
        return backtest

    @property
    def limits(self) -> tuple[str, ...]:
        """Sentences about the limits of this evidence."""
        return (ONLY_A_FORECAST,) if self.kind == SPLITS else (UNSEEN,)

    def in_words(self, h: int) -> str:
        """Say what became of the promises after h retrainings, in a sentence.

        Parameters
        ----------
        h : int
            Retrainings, from 1.
        """
        result = self.horizons.loc[h]
        splits = self.kind == SPLITS
        ahead = "on other rows" if splits else f"{counted(h, 'retraining')} ahead"
        if not result.n_transitions:
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
        verdicts = ", ".join(f"{h}: {verdict}" for h, verdict in self.horizons["verdict"].items())
        return f"Backtest({len(self.versions)} {self.kind}, promised {self.guarantee:g}; {verdicts})"


def _conclusion(result: Any) -> str:
    """Say the verdict of a row of `horizons`, and what it rests on."""
    if result.verdict == NOT_KEPT:
        return f"{NOT_KEPT}, with a p-value of {p_value_text(result.p_value)}"
    if result.verdict == KEPT:
        return f"{KEPT} (at least {rounded_down(result.lower)} in expectation, with {CONFIDENCE:.0%} confidence)"
    if result.verdict == CLEAR:
        supports = (
            f"{counted(result.n_transitions, 'transition')} can support {rounded_down(result.highest_level)} at most"
        )
        return f"{CLEAR}; {supports}, and {result.promised:g} takes {result.n_needed} in which every promise is kept"
    if result.verdict == UNKNOWN:
        evidence = f'with a p-value of {p_value_text(result.p_value)}; "{NOT_KEPT}" needs {ERROR:g} or less'
        return f"{UNKNOWN}: below what was promised, {evidence}"
    return f"{result.verdict}, {'' if result.accepted < result.promised else 'not '}below what was promised"


def p_value_text(p_value: float) -> str:
    """Return a p-value as it is printed: rounded up, and never 0."""
    return rounded_up(max(p_value, 1e-6))


def _table(rows: Any, columns: tuple[str, ...], shares: tuple[str, ...]) -> "pd.DataFrame":
    """Return rows as a table with these columns, those of shares as numbers."""
    import pandas as pd

    return pd.DataFrame(rows, columns=[*columns]).astype(dict.fromkeys(shares, float))


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a table as JSON holds them, None where there is no value."""
    records: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return records


def _mean(shares: "pd.Series[float]") -> float:
    """Return the mean of the shares that there are, the same on every machine; NaN where there is none."""
    present = shares.dropna().tolist()
    return math.fsum(present) / len(present) if present else math.nan
