"""`PlanBatch`: the menus of many applicants."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.files import write_atomically
from copa._core.records import Positions, segment_rows
from copa._core.words import shown
from copa.bounds.certificate import Certificate
from copa.bounds.certificate_list import Certificates, same_ball
from copa.exceptions import InvalidInputError
from copa.plans import consistency, document
from copa.plans import frames as tables
from copa.plans import storage as files
from copa.plans.card import batch_html
from copa.plans.plan import Plan
from copa.plans.rates import Trials
from copa.plans.request import PlanBasis, PlanRequest, PlanTerms
from copa.uncertainty.ambiguity import MomentBall

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PlanBatch(Sequence[Plan]):
    """Menus of N applicants with M options in all. `batch[i]` is the `Plan` of applicant i, a slice another batch.

    Every number is about the row delivered, which is the row in `options`.

    Attributes
    ----------
    applicants : DataFrame of N rows, as given
    options : DataFrame of M rows in the columns of `applicants`
    owner : (M,) position of the applicant of each option, ascending
    status : (N,) "ok", "already_valid", "fragile", "infeasible", "time_limit" or "error"
    message : (N,) why, in plain words; "" for "ok"
    effort : (M,) of each option, in units of the features' spreads
    relaxed_effort : (M,) the same before rounding to values that a row can hold
    accepted : (M,) whether today's model accepts the option
    option_lower : (M,) each option holds with at least this probability
    option_weights : (M,) the worst distribution's mass against it: the largest of a menu breaks first
    lower, upper : (N,) all options of a menu hold with at least, at most, this probability
    any_lower : (N,) at least one option holds with at least this probability
    gap : (N,) the exact value of `lower` is at most this much higher
    relaxed_lower : (N,) `lower` before rounding to values that a row can hold
    highest_level : (N,) highest guarantee in reach; NaN where the one asked for is met, or this does not apply
    points : (M, D) options as the model sees them, the intercept first
    ball : the distributions that the guarantees hold for
    certificates : N proofs of the bounds, None where there are no options
    seconds : (N,) time spent
    request : PlanRequest, what was asked
    basis : PlanBasis, the facts that the guarantees rest on
    trials : what became of the options on held-out models, where there are some; None otherwise

    Notes
    -----
    Where an applicant has no option, `lower`, `upper`, `any_lower` and `gap` are the empty statements 0, 1, 0 and 1.
    """

    applicants: "pd.DataFrame"
    options: "pd.DataFrame"
    owner: Positions
    status: npt.NDArray[np.str_]
    message: npt.NDArray[np.object_]
    effort: Array
    relaxed_effort: Array
    accepted: npt.NDArray[np.bool_]
    option_lower: Array
    option_weights: Array
    lower: Array
    upper: Array
    any_lower: Array
    gap: Array
    relaxed_lower: Array
    highest_level: Array
    points: Array
    ball: MomentBall
    certificates: Sequence[Certificate | None]
    seconds: Array
    request: PlanRequest
    basis: PlanBasis
    trials: Trials | None = None

    def __post_init__(self) -> None:
        consistency.require_same_columns(self.applicants, self.options)
        for name, kind in (("request", PlanRequest), ("basis", PlanBasis), ("ball", MomentBall)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidInputError(f"{name} must be a {kind.__name__}, got {shown(getattr(self, name))}")
        n, m = len(self.applicants), len(self.options)
        self._set("owner", consistency.read_owner(self.owner, n, m))
        self._set("status", consistency.read_status(self.status, n))
        self._set("message", consistency.read_texts(self.message, "message", n))
        self._set("accepted", consistency.read_flags(self.accepted, "accepted", m))
        self._set("points", consistency.read_option_points(self.points, m, self.ball.dimension))
        for names, length, per in (
            (consistency.PER_APPLICANT, n, "applicant"),
            (consistency.PER_OPTION, m, "option"),
        ):
            for name in names:
                self._set(name, consistency.read_numbers(getattr(self, name), name, length, per))
        if len(self.certificates) != n:
            raise InvalidInputError(
                f"certificates must hold one per applicant (None where there is none), {n}, "
                f"got {len(self.certificates)}"
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def terms(self) -> PlanTerms:
        """Old view of `request` and `basis` as one record."""
        return PlanTerms.of(self.request, self.basis)

    @cached_property
    def counts(self) -> Positions:
        """Number of options of each applicant, (N,)."""
        counts: Positions = np.bincount(self.owner, minlength=len(self.applicants)).astype(np.intp)
        counts.setflags(write=False)
        return counts

    def __len__(self) -> int:
        return len(self.applicants)

    def __iter__(self) -> Iterator[Plan]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Plan: ...
    @overload
    def __getitem__(self, index: slice) -> "PlanBatch": ...
    def __getitem__(self, index: int | slice) -> "Plan | PlanBatch":
        if isinstance(index, slice):
            return self.select(np.arange(len(self), dtype=np.intp)[index])
        try:
            i = operator.index(index)
        except TypeError as error:
            raise TypeError(
                f"a batch is indexed by position or slice, got {shown(index)}; for some of its rows use select"
            ) from error
        if not -len(self) <= i < len(self):
            raise IndexError(f"the batch has {len(self)} applicants, got position {i}")
        return self._plan(i % len(self))

    def _plan(self, i: int) -> Plan:
        end = int(np.searchsorted(self.owner, i, side="right"))
        own = slice(int(np.searchsorted(self.owner, i)), end)
        options = self.options.iloc[own].copy()
        options.index = _numbered(len(options))
        return Plan(
            label=self.applicants.index[i],
            factual=self.applicants.iloc[[i]],
            options=options,
            status=str(self.status[i]),
            message=str(self.message[i]),
            effort=self.effort[own],
            relaxed_effort=self.relaxed_effort[own],
            accepted=self.accepted[own],
            option_lower=self.option_lower[own],
            weights=self.option_weights[own],
            lower=float(self.lower[i]),
            upper=float(self.upper[i]),
            any_lower=float(self.any_lower[i]),
            gap=float(self.gap[i]),
            relaxed_lower=float(self.relaxed_lower[i]),
            highest_level=float(self.highest_level[i]),
            points=self.points[own],
            ball=self.ball,
            certificate=self.certificates[i],
            seconds=float(self.seconds[i]),
            request=self.request,
            basis=self.basis,
            trials=None if self.trials is None else self.trials.select(np.array([i]), np.arange(own.start, own.stop)),
        )

    def select(self, rows: Any) -> "PlanBatch":
        """Return the batch of some applicants.

        Parameters
        ----------
        rows : positions, in any order, or N flags
        """
        positions = _read_rows(rows, len(self))
        own = segment_rows(positions, self.counts)
        chosen: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("status", "message", *consistency.PER_APPLICANT):
            chosen[name] = chosen[name][positions]
        for name in ("accepted", "points", *consistency.PER_OPTION):
            chosen[name] = chosen[name][own]
        chosen["applicants"] = self.applicants.iloc[positions]
        chosen["options"] = self.options.iloc[own].reset_index(drop=True)
        chosen["owner"] = np.repeat(np.arange(len(positions)), self.counts[positions])
        chosen["trials"] = None if self.trials is None else self.trials.select(positions, own)
        chosen["certificates"] = Certificates.of(self.certificates).select(positions)
        return PlanBatch(**chosen)

    @classmethod
    def concat(cls, batches: Sequence["PlanBatch"]) -> "PlanBatch":
        """Put batches of the same model one after another; all must have the same ball, request and basis."""
        import pandas as pd

        batches = list(batches)
        if not batches:
            raise InvalidInputError("concat needs at least one batch, got none")
        first = batches[0]
        for k, batch in enumerate(batches):
            alike = batch.request == first.request and batch.basis == first.basis
            if not (alike and same_ball(batch.ball, first.ball)):
                raise InvalidInputError(
                    f"batch {k} has another ball, request or basis than batch 0; a batch holds plans made alike"
                )
        offsets = np.cumsum([0] + [len(batch) for batch in batches])
        joined: dict[str, Any] = {"ball": first.ball, "request": first.request, "basis": first.basis}
        for name in ("status", "message", "accepted", "points", *consistency.PER_APPLICANT, *consistency.PER_OPTION):
            joined[name] = np.concatenate([getattr(batch, name) for batch in batches])
        return cls(
            applicants=pd.concat([batch.applicants for batch in batches]),
            options=pd.concat([batch.options for batch in batches], ignore_index=True),
            owner=np.concatenate([b.owner + offset for b, offset in zip(batches, offsets[:-1], strict=True)]),
            certificates=Certificates.chain([batch.certificates for batch in batches]),
            trials=Trials.concat([batch.trials for batch in batches]),
            **joined,
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per changed cell: applicant, option, feature, from, to, effort, guarantee, accepted."""
        return tables.changes_table(self)

    def summary(self) -> "pd.DataFrame":
        """One row per applicant: status, message, number of options, guarantees and least effort.

        Guarantees and effort are NaN where there is no option.
        """
        return tables.summary_table(self)

    def to_json(self, path: str | Path | None = None, *, certificates: bool = False) -> str:
        """Return the batch as JSON for other programs, and write it to `path` where one is given.

        Parameters
        ----------
        certificates : write the proofs too, from which `copa verify` checks every bound
        """
        text = document.batch_document(self, certificates=certificates)
        if path is not None:
            write_atomically(Path(path), text.encode("utf-8"))
        return text

    def save(self, path: str | Path) -> None:
        """Write everything to one file, which `load` reads again to the last bit."""
        files.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "PlanBatch":
        """Read a file written by `save`; this never executes code.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, or is of a newer version.
        """
        return files.load(cls, Path(path))

    def __repr__(self) -> str:
        statuses, counts = np.unique(self.status, return_counts=True)
        parts = [f"{count} {status}" for status, count in zip(statuses, counts, strict=True)]
        of_all = f": {', '.join(parts)}" if parts else ""
        return f"PlanBatch({len(self)} applicants, {len(self.options)} options{of_all})"

    def _repr_html_(self) -> str:
        return batch_html(self)


def _numbered(n_options: int) -> Any:
    import pandas as pd

    return pd.RangeIndex(1, n_options + 1, name="option")


def _read_rows(rows: Any, length: int) -> Positions:
    """Read positions or flags of applicants."""
    array = np.asarray(rows)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.intp) if array.dtype != np.bool_ or length == 0 else _refuse_rows(rows, length)
    if array.dtype == np.bool_ and array.shape == (length,):
        return np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < -length or array.max() >= length:
        return _refuse_rows(rows, length)
    positions: Positions = array.astype(np.intp) % length
    return positions


def _refuse_rows(rows: Any, length: int) -> Positions:
    raise InvalidInputError(
        f"rows must be positions from 0 to {length - 1}, or {length} flags (true and false), got {shown(rows)}"
    )
