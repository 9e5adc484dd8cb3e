"""Data of `Plan` and `PlanBatch`, without the ways of showing them.

Plans are one column store: a column has one entry per applicant (N) or one per option (M). A plan is a view of it.
"""

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.reading import is_whole, read_count
from copa._core.records import Positions, segment_rows
from copa._core.words import listed, shown
from copa.data.tables.cells import cells_of
from copa.data.tables.frames import PANDAS
from copa.exceptions import InvalidInputError
from copa.plans import columns as read
from copa.plans.changes import Change, changed_cells
from copa.plans.columns import APPLICANT, CELLS, OPTION, PARAMETERS, UNKNOWN, per_applicant, per_option
from copa.plans.request import PlanBasis, PlanRequest
from copa.theory.bounds import Certificate, Certificates
from copa.theory.bounds.worst_option import breaks_first
from copa.theory.sets.ambiguity import AmbiguitySet

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
        """Index label of the applicant."""
        return self.batch.applicants.index[self.row]

    @cached_property
    def factual(self) -> "pd.DataFrame":
        """Row of the applicant as given, a table."""
        return self.batch.applicants.iloc[[self.row]]

    @cached_property
    def options(self) -> "pd.DataFrame":
        """Rows of the options, J of them, numbered from 1 by the index "option"."""
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
    all_rate = _Entry(float)
    any_rate = _Entry(float)
    fidelity = _Entry(float)
    reliability = _Entry(float)
    certificate = _Entry[Certificate | None](lambda proof: proof, "certificates")
    effort = _OwnRows[Array]()
    change_effort = _OwnRows[Array]()
    accepted = _OwnRows[npt.NDArray[np.bool_]]()
    option_lower = _OwnRows[Array]()
    plausibility = _OwnRows[Array]()
    expected_rate = _OwnRows[Array]()
    at_least = _OwnRows[Array]()
    at_most = _OwnRows[Array]()
    interval_level = _OwnRows[Array]()
    weights = _OwnRows[Array]("option_weights")
    points = _OwnRows[Array]()
    ambiguity = _Shared[AmbiguitySet]()
    request = _Shared[PlanRequest]()
    basis = _Shared[PlanBasis]()
    n_held_out = _Shared[int]()

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
        """Return the changes of an option: column, value today, new value, and their words (`Change.title`, ...).

        Parameters
        ----------
        option : int
            Number of the option, from 1.
        """
        return list(self._changes[self.position(option)])

    @cached_property
    def _changes(self) -> list[list[Change]]:
        """Changes of each option, in the order of the columns."""
        return self.batch.changes_of(self.own_rows)

    def position(self, option: Any) -> int:
        """Return the position of the option of a number, or say which numbers there are."""
        if not is_whole(option) or not 1 <= option <= self.n_options:
            known = f"1 to {self.n_options}" if self.n_options else "none, because the plan has no options"
            raise InvalidInputError(f"option must be the number of an option, {known}, got {shown(option)}")
        return int(option) - 1


PlanT_co = TypeVar("PlanT_co", bound=PlanRecord, covariant=True)


class ExpectedRates(NamedTuple):
    """Shares of held-out refits that accept the options of N plans, M options in all: columns of a batch."""

    n_held_out: int
    expected_rate: Array  # (M,)
    all_rate: Array  # (N,)
    any_rate: Array  # (N,)
    fidelity: Array  # (N,)

    @classmethod
    def of_answers(cls, accepted: Any, owner: Positions, n_applicants: int, fidelity: Any = None) -> "ExpectedRates":
        """Count the answers (K, M) of K refits about M options, whose applicants are `owner` (M,).

        The fidelity of surrogates (N,) is None where there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from copa.plans.records import ExpectedRates
        >>> answers = np.array([[True, True], [True, False]])  # two refits, two options of one applicant
        >>> rates = ExpectedRates.of_answers(answers, np.array([0, 0]), 1)
        >>> rates.expected_rate.tolist(), rates.all_rate.tolist(), rates.any_rate.tolist()
        ([1.0, 0.5], [0.5], [1.0])
        """
        flags = np.asarray(accepted, dtype=bool)
        n_options = np.bincount(owner, minlength=n_applicants)
        n_accepted = np.stack([np.bincount(owner, weights=row, minlength=n_applicants) for row in flags])
        some = n_options > 0
        return cls(
            n_held_out=len(flags),
            expected_rate=flags.mean(axis=0),
            all_rate=np.where(some, (n_accepted >= n_options).mean(axis=0), np.nan),
            any_rate=np.where(some, (n_accepted > 0).mean(axis=0), np.nan),
            fidelity=np.full(n_applicants, np.nan) if fidelity is None else np.asarray(fidelity, dtype=np.float64),
        )


class Intervals(NamedTuple):
    """Intervals of the changed numbers of M options in C columns: columns of a batch.

    All intervals of an option together are a box around it. Any combination of values in the box, on the steps of the
    columns and with the option's other cells, obeys the schema, is accepted by today's model and has a guarantee of at
    least `interval_level` (an expected rate where that was asked for). This is proven. For models that are linear in
    the columns the rows that will do are a convex set, and all corners of the box are in it; in the boxes of tree
    ensembles neither today's trees nor those of any refit that certifies come to another leaf.
    """

    at_least: Array  # (M, C), inclusive; NaN where an option does not change the column, or nothing is known
    at_most: Array  # (M, C)
    interval_level: Array  # (M,)


@dataclass(frozen=True, eq=False, repr=False)
class BatchRecord(Sequence[PlanT_co]):
    """The plans of N applicants with M options in all, in one column store per applicant and one per option.

    A field is a column if its metadata are those of `per_applicant` or `per_option`; checking, selecting, concatenating
    and saving follow from that. `PlanBatch` documents the columns.
    """

    plan_type = PlanRecord

    applicants: "pd.DataFrame" = field(metadata=per_applicant())
    options: "pd.DataFrame" = field(metadata=per_option())
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
    points: Array = field(metadata=per_option(read.read_numbers, PARAMETERS))
    seconds: Array = field(metadata=per_applicant(read.read_numbers))
    ambiguity: AmbiguitySet
    request: PlanRequest
    basis: PlanBasis
    backend: str = PANDAS
    plausibility: Array = field(default=UNKNOWN, metadata=per_option(read.read_shares))
    change_effort: Array = field(default=UNKNOWN, metadata=per_option(read.read_known_numbers, CELLS))
    reliability: Array = field(default=UNKNOWN, metadata=per_applicant(read.read_shares))
    n_held_out: int = 0
    expected_rate: Array = field(default=UNKNOWN, metadata=per_option(read.read_shares))
    all_rate: Array = field(default=UNKNOWN, metadata=per_applicant(read.read_shares))
    any_rate: Array = field(default=UNKNOWN, metadata=per_applicant(read.read_shares))
    fidelity: Array = field(default=UNKNOWN, metadata=per_applicant(read.read_shares))
    at_least: Array = field(default=UNKNOWN, metadata=per_option(read.read_known_numbers, CELLS))
    at_most: Array = field(default=UNKNOWN, metadata=per_option(read.read_known_numbers, CELLS))
    interval_level: Array = field(default=UNKNOWN, metadata=per_option(read.read_shares))

    def __post_init__(self) -> None:
        for name, kind in (("request", PlanRequest), ("basis", PlanBasis), ("ambiguity", AmbiguitySet)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidInputError(
                    f"{name} must be of the class {kind.__name__}, got {shown(getattr(self, name))}"
                )
        object.__setattr__(self, "n_held_out", read_count(self.n_held_out, "n_held_out", least=0))
        object.__setattr__(self, "options", _read_options(self.applicants, self.options))
        lengths = {APPLICANT: len(self.applicants), OPTION: len(self.options)}
        widths = {"": (), CELLS: self.options.shape[1:], PARAMETERS: (self.ambiguity.dimension,)}
        for f in fields(self):
            if f.metadata.get("read") is not None:
                shape = (lengths[f.metadata["per"]], *widths[f.metadata.get("also_per", "")])
                object.__setattr__(self, f.name, read.read_column(getattr(self, f.name), f.name, shape, f.metadata))
        owner, n = self.owner, len(self)
        if owner.size and (owner[0] < 0 or owner[-1] >= n or (np.diff(owner) < 0).any()):
            raise InvalidInputError(
                f"owner must hold positions of applicants, 0 to {n - 1}, in ascending order, got {shown(owner)}"
            )
        known = ~np.isnan(self.at_least)
        if (known != ~np.isnan(self.at_most)).any() or not (self.at_least[known] <= self.at_most[known]).all():
            raise InvalidInputError("the lower end of an interval must not be above its upper one, or missing alone")

    @classmethod
    def columns(cls, per: str) -> list[str]:
        """Return the names of the columns along an axis, "applicant" or "option"."""
        return [f.name for f in fields(cls) if f.metadata.get("per") == per]

    @cached_property
    def counts(self) -> Positions:
        """Number of options of each applicant, (N,)."""
        counts: Positions = np.bincount(self.owner, minlength=len(self)).astype(np.intp)
        counts.setflags(write=False)
        return counts

    @property
    def encoded(self) -> Array:
        """Options as the ambiguity set has them, without what is deducted from their scores, (M, D)."""
        return self.points[:, :-1] if self.basis.deducts else self.points

    @property
    def certificates(self) -> Certificates:
        """Proofs of the bounds, one per applicant, each made when it is asked for; None where there are no options."""
        return Certificates(self.points, self.counts, self.ambiguity)

    @cached_property
    def changed(self) -> npt.NDArray[np.bool_]:
        """Cells in which the options differ from their applicants, (M, number of columns)."""
        flags = changed_cells(self.applicants, self.options, self.owner)
        flags.setflags(write=False)
        return flags

    def interval(self, row: int, column: int) -> tuple[float, float] | None:
        """Return the interval of a cell of the options, by its position; None where it is not known."""
        low = float(self.at_least[row, column])
        return None if math.isnan(low) else (low, float(self.at_most[row, column]))

    def changes_of(self, rows: slice = slice(None)) -> list[list[Change]]:
        """Return the changes of options, each in the order of the columns; changes of the same cells are one object."""
        flags, schema, first = self.changed[rows], self.basis.schema, rows.indices(len(self.options))[0]
        changes: list[list[Change]] = [[] for _ in range(len(flags))]
        for k in np.flatnonzero(flags.any(axis=0)).tolist():
            name, here = self.options.columns[k], first + np.flatnonzero(flags[:, k])
            feature = schema[name] if name in schema else None  # noqa: SIM401 - a schema has no get
            before = cells_of(self.applicants[name].take(self.owner[here]))  # iloc takes three times as long
            after = cells_of(self.options[name].take(here))
            known: dict[tuple[Any, ...], Change] = {}
            for row, old, new in zip(here.tolist(), before, after, strict=True):
                interval = self.interval(row, k)
                key = (f"{type(old)}{old!r}", f"{type(new)}{new!r}", interval)  # 1 and True are equal, not the same
                if key not in known:
                    known[key] = Change(name, old, new, feature, interval)
                changes[row - first].append(known[key])
        return changes

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
        rows_of = {APPLICANT: positions, OPTION: segment_rows(positions, self.counts)}
        chosen = {name: _take(getattr(self, name), rows_of[per]) for per in rows_of for name in self.columns(per)}
        chosen["owner"] = np.repeat(np.arange(len(positions)), self.counts[positions])
        return replace(self, **chosen)

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
        if len(batches) == 1:
            return first
        for k, batch in enumerate(batches):
            alike = batch.request == first.request and batch.basis == first.basis
            if not (alike and batch.ambiguity.same_as(first.ambiguity) and batch.n_held_out == first.n_held_out):
                raise InvalidInputError(
                    f"batch {k} has another ambiguity set, request, basis or number of held-out refits than batch 0; "
                    "a batch holds plans made alike"
                )
        names = [*cls.columns(APPLICANT), *cls.columns(OPTION)]
        joined = {name: _concat([getattr(batch, name) for batch in batches]) for name in names}
        before = np.cumsum([0] + [len(batch) for batch in batches[:-1]])
        joined["owner"] += np.repeat(before, [len(batch.owner) for batch in batches])
        return replace(first, **joined)


def _numbered(n_options: int) -> Any:
    import pandas as pd

    return pd.RangeIndex(1, n_options + 1, name="option")


def _read_options(applicants: Any, options: Any) -> "pd.DataFrame":
    """Check the two tables of a batch, which have the same columns, and number the rows of options from 0 to M - 1."""
    import pandas as pd

    for name, table in (("applicants", applicants), ("options", options)):
        if not isinstance(table, pd.DataFrame):
            raise InvalidInputError(f"{name} must be a pandas DataFrame, got {type(table).__name__}")
    if not applicants.columns.is_unique:
        twice = applicants.columns[applicants.columns.duplicated()][0]
        raise InvalidInputError(f"applicants have more than one column {shown(twice)}; rename one of them")
    names, others = list(applicants.columns), list(options.columns)
    if names != others:
        raise InvalidInputError(
            f"options must have the columns of the applicants, {listed(names)}, got {listed(others)}"
        )
    numbered = pd.RangeIndex(len(options))
    return options if options.index.identical(numbered) else options.set_axis(numbered)


def _take(column: Any, rows: Positions) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else column.iloc[rows]


def _concat(columns: Sequence[Any]) -> Any:
    import pandas as pd

    return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else pd.concat(columns)


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
