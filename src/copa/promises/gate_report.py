"""`GateReport`: the promises that a candidate model would keep and break."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.files import write_atomically
from copa._core.words import counted, shown
from copa.data.tables.cells import as_json
from copa.promises.broken_share import CONFIDENCE, Interval, Limit
from copa.promises.column_effects import Cause
from copa.promises.gate_counts import GUARANTEE, Part, SwapSet
from copa.promises.portfolio_report import guarantees_in_words

if TYPE_CHECKING:
    import pandas as pd

FORMAT, VERSION = "copa-gate", 1
BROKEN_COLUMNS = ("applicant", "option", "option_guarantee", "model_version", "made", "valid_until")
MOST_LISTED = 10_000  # broken promises in a JSON document; the table has them all
SHARE = "promises_broken_share"

ROWS_ONLY = "Each promise is tried at its promised row; the other values that its ranges accept are not tried."


@dataclass(frozen=True, eq=False, repr=False)
class GateReport:
    """The verdict on a candidate, and the promises that it would break.

    Parameters
    ----------
    passed : bool
        Whether it breaks no more promises than the limit allows.
    n_promises, n_broken : int
        Outstanding promises that were tried, which are all that have a row, and those that the candidate refuses.
    broken_share : float
        Their share; exact, because all were tried.
    broken : DataFrame
        The broken promises, the clearest refusals first: applicant, option, option_guarantee, model_version, made,
        valid_until and the candidate's score; the index "promise" holds their ids.
    limit : Limit
        Most promises that it may break, as `max_broken` was given.
    interval : Interval
        Of the share that this candidate would break of promises made in the same way to other people, at confidence
        0.95; the promises of one person count together.
    n_applicants : int
        People with outstanding promises.
    expected_share : float or None
        Mean of one minus the guarantees; None where a promise has no guarantee. Where the assumptions of the guarantees
        hold, later models break no larger share on average; a single one may.
    parts : dict of str to tuple of Part
        The promises by "model version", "guarantee", "age of the promise" and each group.
    swap : SwapSet or None
        The promised rows by what the candidate and the model in force say; None without a model in force.
    reference : SwapSet or None
        The same of the reference rows.
    causes : tuple of Cause
        Why, for the ten clearest refusals.
    why_not : str
        Where nothing is said of causes, the reason.
    unit : str
        Of scores: "log-odds" or "decision values".
    as_of : date
        Day on which the promises were outstanding.
    n_purged : int
        Outstanding promises that could not be tried, because their personal data were purged.
    unknown_statuses : dict of str to int
        Promises whose status is neither "open" nor one of those that ended, by that status. They were tried.
    note : str
        Where promises were made at another threshold than the candidate was tried at, a sentence about it.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.promises import gate
    >>> past = pd.DataFrame({"income": range(20, 60)})
    >>> candidate = LogisticRegression().fit(past, past["income"] >= 40)
    >>> report = gate(candidate, pd.DataFrame({"income": [36, 38, 41, 45]}), max_broken=0.25)
    >>> report
    GateReport(failed: 2 of 4 promises broken, at most 1 may be broken (max_broken=0.25, a share of 4))
    >>> report.metrics()["promises_broken_share"], report.thresholds()["promises_broken_share"]
    (0.5, {'threshold': 0.25, 'greater_is_better': False})
    """

    passed: bool
    n_promises: int
    n_broken: int
    broken_share: float
    broken: "pd.DataFrame"
    limit: Limit
    interval: Interval
    n_applicants: int
    expected_share: float | None
    parts: Mapping[str, tuple[Part, ...]]
    swap: SwapSet | None = None
    reference: SwapSet | None = None
    causes: tuple[Cause, ...] = ()
    why_not: str = ""
    unit: str = "log-odds"
    as_of: date = date.min
    n_purged: int = 0
    unknown_statuses: Mapping[str, int] = field(default_factory=dict)
    note: str = ""

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        return (
            f"GateReport({verdict}: {self.n_broken:,} of {counted(self.n_promises, 'promise')} broken, "
            f"{self.limit.in_words(self.n_promises)})"
        )

    def _repr_html_(self) -> str:
        from copa._core.html import facts_html

        return facts_html("Gate", [("", sentence) for sentence in self.in_words()])

    @property
    def n_allowed(self) -> int:
        """Promises that the candidate may break."""
        return self.limit.of(self.n_promises)

    def in_words(self) -> list[str]:
        """Return the result in plain sentences, and what its numbers mean."""
        verdict, tried = "passes" if self.passed else "fails", counted(self.n_promises, "outstanding promise")
        result = (
            f"The candidate {verdict}: it would break {self.n_broken:,} of {tried} to "
            f"{counted(self.n_applicants, 'applicant')} ({self.broken_share:.2%}), and "
            f"{self.limit.in_words(self.n_promises)}."
        )
        all_of_them = "All that have a row" if self.n_purged else "All outstanding promises"
        meaning = (
            f"{all_of_them} were tried, so the share is exact. Of promises made in the same way to other people this "
            f"candidate would break between {self.interval.low:.2%} and {self.interval.high:.2%} ({CONFIDENCE:.0%} "
            "confidence; the promises of one person count together). Nothing is said of other candidates: one model "
            "hits all promises together."
        )
        sentences = [result, meaning, ROWS_ONLY]
        if self.n_purged:
            sentences.append(
                f"Another {counted(self.n_purged, 'outstanding promise')} could not be tried: their personal data were "
                "purged, and nothing is known of them."
            )
        if self.unknown_statuses:
            words = ", ".join(shown(word) for word in list(self.unknown_statuses)[:3])
            sentences.append(
                f"{counted(sum(self.unknown_statuses.values()), 'promise')} of unknown status ({words}) counted as "
                "open."
            )
        if self.note:
            sentences.append(self.note)
        if self.expected_share is not None:
            sentences.append(self._against_guarantees(self.expected_share))
        if self.swap is not None:
            sentences.append(f"Against the model in force, {self.swap.in_words()} (promised rows).")
        if self.reference is not None:
            sentences.append(f"In the reference table, {self.reference.in_words()}.")
        return sentences

    def _against_guarantees(self, expected: float) -> str:
        """Compare the share with the mean guarantee, which promises nothing of one model and is not the limit."""
        above = "more" if self.broken_share > expected else "no more"
        stricter = self.n_allowed < expected * self.n_promises
        return (
            f"{guarantees_in_words(expected)} This candidate breaks {above} than that."
            f"{' The limit is stricter: a candidate can fail it while all guarantees hold.' if stricter else ''}"
        )

    @property
    def calibration(self) -> "pd.DataFrame":
        """Promised against kept: by band of guarantees, the promises, their mean guarantee and the share accepted.

        Returns
        -------
        DataFrame
            Columns promises, guaranteed and accepted, by guarantee.
        """
        import pandas as pd

        parts = [part for part in self.parts.get(GUARANTEE, ()) if part.guaranteed is not None]
        return pd.DataFrame(
            {
                "promises": [part.n_promises for part in parts],
                "guaranteed": [part.guaranteed for part in parts],
                "accepted": [1.0 - part.broken_share for part in parts],
            },
            index=pd.Index([part.name for part in parts], name="guarantee"),
        )

    def metrics(self) -> dict[str, float]:
        """Return numbers by name, as a tracking server takes them."""
        metrics = {
            SHARE: self.broken_share,
            "promises_broken": float(self.n_broken),
            "promises_tried": float(self.n_promises),
            "promises_broken_share_low": self.interval.low,
            "promises_broken_share_high": self.interval.high,
        }
        if self.swap is not None and self.swap.lost is not None and self.swap.gained is not None:
            metrics |= {"promises_lost": float(self.swap.lost), "promises_gained": float(self.swap.gained)}
        if self.reference is not None:
            metrics["reference_accepted_share"] = self.reference.n_accepted / self.reference.n_rows
        return metrics

    def thresholds(self) -> dict[str, dict[str, Any]]:
        """Return the limits of `metrics`: by name, the arguments of MLflow's `MetricThreshold`.

        Returns
        -------
        dict of str to dict
            "threshold" and "greater_is_better".
        """
        return {SHARE: {"threshold": self.n_allowed / self.n_promises, "greater_is_better": False}}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it; of very many broken promises, the 10,000 clearest refusals."""
        listed = self.broken.head(MOST_LISTED)
        columns = {name: [as_json(value) for value in listed[name].tolist()] for name in listed}
        records = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return {
            "format": FORMAT,
            "version": VERSION,
            "passed": self.passed,
            "as_of": self.as_of.isoformat(),
            "n_promises": self.n_promises,
            "n_purged": self.n_purged,
            "n_applicants": self.n_applicants,
            "n_broken": self.n_broken,
            "broken_share": self.broken_share,
            "max_broken": self.limit.given,
            "n_allowed": self.n_allowed,
            "unknown_statuses": dict(self.unknown_statuses),
            "interval": {"low": self.interval.low, "high": self.interval.high, "confidence": CONFIDENCE},
            "expected_share": self.expected_share,
            "parts": {name: [part.to_dict() for part in parts] for name, parts in self.parts.items()},
            "swap": None if self.swap is None else self.swap.to_dict(),
            "reference": None if self.reference is None else self.reference.to_dict(),
            "causes": [cause.to_dict() for cause in self.causes],
            "why_not": self.why_not,
            "unit": self.unit,
            "note": self.note,
            "metrics": self.metrics(),
            "thresholds": self.thresholds(),
            "broken": [
                {"promise": str(key), **record} for key, record in zip(listed.index.tolist(), records, strict=True)
            ],
        }

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Return the report as JSON text, or write it to a file.

        Parameters
        ----------
        path : str or Path, optional
            File to write; None returns the text.
        """
        text = json.dumps(self.to_dict(), allow_nan=False, indent=1)
        if path is None:
            return text
        write_atomically(Path(path), text.encode("utf-8"))
        return None
