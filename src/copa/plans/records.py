"""The records behind `Plan` and `PlanBatch`: their data, without the ways of showing them."""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.reading import is_whole
from copa._core.records import Positions, segment_rows
from copa._core.words import listed, shown
from copa.bounds.certificate import Certificate
from copa.bounds.worst_option import breaks_first
from copa.exceptions import InvalidInputError
from copa.plans import columns as read
from copa.plans.changes import Change, changed_cells
from copa.plans.columns import Columns, per_applicant, per_option
from copa.plans.intervals import Intervals
from copa.plans.rates import HeldOutRates
from copa.plans.request import PlanBasis, PlanRequest
from copa.tables.cells import cells_of
from copa.tables.frames import PANDAS
from copa.uncertainty.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    import pandas as pd


Value = TypeVar("Value")


class _Shared(Generic[Value]):
    """Attribute of a plan that is an attribute of its batch, by the same name unless another is given."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    @overload
    def __get__(self, plan: None, owner: type) -> Self: ...
    @overload
    def __get__(self, plan: "PlanRecord", owner: type) -> Value: ...
    def __get__(self, plan: "PlanRecord | None", owner: type) -> "Self | Value":
        return self if plan is None else self._of(plan, getattr(plan.batch, self._name))

    def _of(self, plan: "PlanRecord", values: Any) -> Value:  # noqa: ARG002 - of its subclasses
        return cast("Value", values)


class _OwnRows(_Shared[Value]):
    """Attribute of a plan that is its part of a column per option."""

    def _of(self, plan: "PlanRecord", values: Any) -> Value:
        return cast("Value", values[plan.own_rows])


class _Entry(_Shared[Value]):
    """Attribute of a plan that is its entry in a column per applicant."""

    def __init__(self, kind: Callable[[Any], Value], name: str = "") -> None:
        super().__init__(name)
        self._kind = kind

    def _of(self, plan: "PlanRecord", values: Any) -> Value:
        return self._kind(values[plan.row])


@dataclass(frozen=True, eq=False, repr=False)
class PlanRecord:
    """The options of one applicant: a view of one row of a batch.

    Parameters
    ----------
    batch : BatchRecord
        Holds the plans of many applicants.
    row : int
        Position of the applicant in it.
    """

    batch: "BatchRecord[Any]"
    row: int

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.batch[self.row : self.row + 1], 0)  # not the plans of all the others

    @cached_property
    def own_rows(self) -> slice:
        """Rows of the options in the batch."""
        first, end = np.searchsorted(self.batch.owner, [self.row, self.row + 1]).tolist()
        return slice(first, end)

    @property
    def label(self) -> Any:
        """The applicant's index label."""
        return self.batch.applicants.index[self.row]

    @cached_property
    def factual(self) -> "pd.DataFrame":
        """The applicant as given, one row."""
        return self.batch.applicants.iloc[[self.row]]

    @cached_property
    def options(self) -> "pd.DataFrame":
        """The options, J rows, numbered from 1 by the index "option"."""
        options = self.batch.options.iloc[self.own_rows]
        return options.set_axis(_numbered(len(options)))

    @property
    def n_options(self) -> int:
        """Number of options, J."""
        return int(self.own_rows.stop - self.own_rows.start)

    status = _Entry(str)
    message = _Entry(str)
    lower = _Entry(float)
    upper = _Entry(float)
    any_lower = _Entry(float)
    gap = _Entry(float)
    highest_level = _Entry(float)
    seconds = _Entry(float)
    certificate = _Entry[Certificate | None](lambda proof: proof, "certificates")
    effort = _OwnRows[Array]()
    change_effort = _OwnRows[Array]()
    accepted = _OwnRows[npt.NDArray[np.bool_]]()
    option_lower = _OwnRows[Array]()
    plausibility = _OwnRows[Array]()
    weights = _OwnRows[Array]("option_weights")
    points = _OwnRows[Array]()
    ambiguity = _Shared[AmbiguitySet]()
    request = _Shared[PlanRequest]()
    basis = _Shared[PlanBasis]()

    @property
    def held_out(self) -> HeldOutRates | None:
        """Rates of acceptance by held-out refits, where there are some."""
        rates, own = self.batch.held_out, self.own_rows
        return None if rates is None else rates.select(np.array([self.row]), np.arange(own.start, own.stop))

    @property
    def intervals(self) -> Intervals | None:
        """Intervals within which the options stay as sure, where they are known."""
        known, own = self.batch.intervals, self.own_rows
        return None if known is None else known.select(np.arange(own.start, own.stop))

    @property
    def breaks_first(self) -> int | None:
        """Number of the option that a change of the model breaks first; None where all options are equally sure.

        It is the option that the worst distribution is most against, never the one with the highest guarantee; where
        nothing is guaranteed of all options together, the one with the lowest guarantee.
        """
        weights = self.weights if self.lower > 0.0 else np.zeros(self.n_options)
        first = breaks_first(self.option_lower, weights)
        return None if first is None else first + 1

    def changes(self, option: int) -> list[Change]:
        """Return what an option changes: column, value today, new value; also in people's words (`Change.title`, ...).

        Parameters
        ----------
        option : int
            Number of the option, from 1.
        """
        return list(self._changes[self.position(option)])

    @cached_property
    def _changes(self) -> list[list[Change]]:
        """What each option changes, in the order of the columns."""
        features = {feature.name: feature for feature in self.basis.schema.features}
        flags = self.batch.changed[self.own_rows]
        intervals = self.intervals
        ends = [{} if intervals is None else intervals.of(j) for j in range(self.n_options)]
        changes: list[list[Change]] = [[] for _ in range(self.n_options)]
        for k in np.flatnonzero(flags.any(axis=0)).tolist():
            column = self.options.columns[k]
            before, after = cells_of(self.factual.iloc[:, k])[0], cells_of(self.options.iloc[:, k])
            for j in np.flatnonzero(flags[:, k]).tolist():
                changes[j].append(Change(column, before, after[j], features.get(column), ends[j].get(column)))
        return changes

    def position(self, option: Any) -> int:
        """Return the position of the option of a number, or say which numbers there are."""
        if not is_whole(option) or not 1 <= option <= self.n_options:
            known = f"1 to {self.n_options}" if self.n_options else "none, because the plan has no options"
            raise InvalidInputError(f"option must be the number of an option, {known}, got {shown(option)}")
        return int(option) - 1


PlanT_co = TypeVar("PlanT_co", bound=PlanRecord, covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class BatchRecord(Columns, Sequence[PlanT_co]):
    """The plans of N applicants with M options in all, in one column store per applicant and one per option.

    `PlanBatch` documents the columns.
    """

    plan_type = PlanRecord

    applicants: "pd.DataFrame" = field(metadata=per_applicant(read.read_applicants))
    options: "pd.DataFrame" = field(metadata=per_option(read.read_options))
    owner: Positions = field(metadata=per_option(read.read_positions))
    status: npt.NDArray[np.str_] = field(metadata=per_applicant(read.read_statuses))
    message: npt.NDArray[np.object_] = field(metadata=per_applicant(read.read_texts))
    effort: Array = field(metadata=per_option(read.read_numbers))
    accepted: npt.NDArray[np.bool_] = field(metadata=per_option(read.read_flags))
    option_lower: Array = field(metadata=per_option(read.read_probabilities))
    option_weights: Array = field(metadata=per_option(read.read_numbers))
    lower: Array = field(metadata=per_applicant(read.read_probabilities))
    upper: Array = field(metadata=per_applicant(read.read_probabilities))
    any_lower: Array = field(metadata=per_applicant(read.read_probabilities))
    gap: Array = field(metadata=per_applicant(read.read_numbers))
    highest_level: Array = field(metadata=per_applicant(read.read_numbers))
    points: Array = field(metadata=per_option(read.read_points))
    certificates: Sequence[Certificate | None] = field(metadata=per_applicant(read.read_certificates))
    seconds: Array = field(metadata=per_applicant(read.read_numbers))
    ambiguity: AmbiguitySet
    request: PlanRequest
    basis: PlanBasis
    held_out: HeldOutRates | None = None
    intervals: Intervals | None = None
    backend: str = PANDAS
    plausibility: Array = field(default=None, metadata=per_option(read.read_shares))  # type: ignore[arg-type]  # read as NaN
    change_effort: Array = field(default=None, metadata=per_option(read.read_points))  # type: ignore[arg-type]  # so is this

    def __post_init__(self) -> None:
        for name, kind in (("request", PlanRequest), ("basis", PlanBasis), ("ambiguity", AmbiguitySet)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidInputError(
                    f"{name} must be of the class {kind.__name__}, got {shown(getattr(self, name))}"
                )
        for name in ("applicants", "options"):
            read.require_table(getattr(self, name), name)
        if self.change_effort is None:  # a file of an earlier version
            object.__setattr__(self, "change_effort", np.full(self.options.shape, np.nan))
        self.read_columns(len(self.applicants), len(self.options))
        names, others = list(self.applicants.columns), list(self.options.columns)
        if names != others:
            raise InvalidInputError(
                f"options must have the columns of the applicants, {listed(names)}, got {listed(others)}"
            )
        owner, n, shape = self.owner, len(self), (len(self.options), self.ambiguity.dimension)
        if owner.size and (owner[0] < 0 or owner[-1] >= n or (np.diff(owner) < 0).any()):
            raise InvalidInputError(
                f"owner must hold positions of applicants, 0 to {n - 1}, in ascending order, got {shown(owner)}"
            )
        if self.points.shape != shape:
            raise InvalidInputError(
                f"points must have one row per option and one column per parameter, shape {shape}, "
                f"got {self.points.shape}"
            )
        if self.change_effort.shape != self.options.shape:
            raise InvalidInputError(
                f"change_effort must have a number for each cell of the options, shape {self.options.shape}, "
                f"got {self.change_effort.shape}"
            )
        if self.intervals is not None:
            self.intervals.require_options(len(self.options))

    @cached_property
    def counts(self) -> Positions:
        """Number of options of each applicant, (N,)."""
        counts: Positions = np.bincount(self.owner, minlength=len(self)).astype(np.intp)
        counts.setflags(write=False)
        return counts

    @cached_property
    def changed(self) -> npt.NDArray[np.bool_]:
        """Cells in which the options differ from their applicants, (M, number of columns)."""
        flags = changed_cells(self.applicants, self.options, self.owner)
        flags.setflags(write=False)
        return flags

    def __len__(self) -> int:
        return len(self.applicants)

    def __iter__(self) -> Iterator[PlanT_co]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> PlanT_co: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> "PlanT_co | Self":
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
        return self.plan_type(self, i % len(self))  # type: ignore[return-value]

    def select(self, rows: Any) -> Self:
        """Return the batch of some applicants.

        Parameters
        ----------
        rows : array_like of int or of bool
            Positions, in any order, or N flags.
        """
        positions = _read_rows(rows, len(self))
        own = segment_rows(positions, self.counts)
        chosen = self.taken(positions, own)
        chosen["owner"] = np.repeat(np.arange(len(positions)), self.counts[positions])
        held_out = None if self.held_out is None else self.held_out.select(positions, own)
        intervals = None if self.intervals is None else self.intervals.select(own)
        return replace(self, **chosen, held_out=held_out, intervals=intervals)

    @classmethod
    def concat(cls, batches: Sequence[Self]) -> Self:
        """Put batches of the same model one after another.

        Parameters
        ----------
        batches : sequence of PlanBatch
            All of the same ambiguity set, request and basis.
        """
        batches = list(batches)
        if not batches:
            raise InvalidInputError("concat needs at least one batch, got none")
        first = batches[0]
        for k, batch in enumerate(batches):
            alike = batch.request == first.request and batch.basis == first.basis
            if not (alike and batch.ambiguity.same_as(first.ambiguity)):
                raise InvalidInputError(
                    f"batch {k} has another ambiguity set, request or basis than batch 0; "
                    "a batch holds plans made alike"
                )
        joined = cls.joined(batches)
        before = np.cumsum([0] + [len(batch) for batch in batches[:-1]])
        joined["owner"] += np.repeat(before, [len(batch.owner) for batch in batches])
        held_out = HeldOutRates.concat([batch.held_out for batch in batches])
        intervals = Intervals.concat([batch.intervals for batch in batches], [len(batch.owner) for batch in batches])
        return replace(first, **joined, held_out=held_out, intervals=intervals)


def _numbered(n_options: int) -> Any:
    import pandas as pd

    return pd.RangeIndex(1, n_options + 1, name="option")


def _read_rows(rows: Any, length: int) -> Positions:
    """Read positions or flags of applicants."""
    array = np.asarray(rows)
    if array.dtype == np.bool_ and array.shape == (length,):
        return np.flatnonzero(array)
    if array.shape == (0,) and array.dtype != np.bool_:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < -length or array.max() >= length:
        raise InvalidInputError(
            f"rows must be positions from 0 to {length - 1}, or {length} flags (true and false), got {shown(rows)}"
        )
    positions: Positions = array.astype(np.intp) % length
    return positions
