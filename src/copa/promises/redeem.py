"""The return of a person: whether the row fulfils the promise, and what today's model answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import hint, listed, shown
from copa.data.tables.casting import cast_like
from copa.data.tables.cells import as_text, is_missing, plain
from copa.data.tables.frames import as_pandas, is_table
from copa.data.tables.packing import unpack_entry
from copa.exceptions import InvalidInputError, MissingPackageError
from copa.models.base import best_of
from copa.plans.changes import changed_cells
from copa.promises._storage.layouts import unpack_cells
from copa.promises.deciding_model import DecidingModel, model_and_threshold
from copa.promises.record import fingerprint, read_columns, read_text

if TYPE_CHECKING:
    import pandas as pd

HONOUR, REFUSE = DECISIONS = ("honour", "refuse")
KEPT, BROKEN, NOT_FULFILLED = "kept", "broken", "not fulfilled"
LONGEST_REASON = 2_000


@dataclass(frozen=True)
class Redemption:
    """The outcome of a person's return.

    Parameters
    ----------
    promise : str
        Id of the promise.
    applicant : str
        Person that it was made to.
    fulfilled : bool
        Whether the row is as promised.
    accepted : bool
        Whether today's model accepts the row.
    outcome : {"kept", "broken", "not fulfilled"}
        "broken": the row fulfils the promise, and the model does not accept it.
    differences : tuple of str
        Cells in which the row is not as promised, in words.
    decision : {"honour", "refuse"} or None
        Decision on a broken promise; None where there is none.

    Examples
    --------
    >>> from copa.promises import Redemption
    >>> Redemption("p1", "ann", fulfilled=True, accepted=True, outcome="kept", differences=()).outcome
    'kept'
    """

    promise: str
    applicant: str
    fulfilled: bool
    accepted: bool
    outcome: str
    differences: tuple[str, ...]
    decision: str | None = None


@dataclass(frozen=True, eq=False)
class Promise:
    """A promise as the ledger has it."""

    promise: str
    applicant: str
    terms: dict[str, Any]  # shared with other promises
    content: dict[str, Any]  # its row, region and changed columns
    layout: "pd.DataFrame"  # columns and dtypes of the row, without rows

    def differences(self, row: "pd.DataFrame", may_differ: Iterable[str] = ()) -> tuple[str, ...]:
        """Say where a row is not as promised; columns in `may_differ`, or named by the promise, may differ."""
        promised = unpack_cells([self.content["row"]], self.layout)
        ignored = {*self.terms["may_differ"], *read_columns(may_differ, self.layout.columns, "may_differ")}
        flags = changed_cells(promised, row[list(promised.columns)])[0]
        region, changed = self.content["region"], set(self.content["changed"])
        differences = []
        for k in np.flatnonzero(flags).tolist():
            name = promised.columns[k]
            if name in ignored:
                continue
            cell = row[name].iloc[0]
            if name in region:
                differences += _outside(name, cell, *region[name])
            else:
                demand = "the option asks for" if k in changed else "it was promised with"
                differences.append(f"{name} is {as_text(cell)}, {demand} {as_text(promised[name].iloc[0])}")
        return tuple(differences)


def _outside(name: str, cell: Any, low: float, high: float) -> list[str]:
    """Say that a number lies outside its closed interval; nothing if it lies inside."""
    value = plain(cell)
    if isinstance(value, str) or is_missing(value):
        return [f"{name} is {as_text(cell)}, the option asks for a number from {as_text(low)} to {as_text(high)}"]
    if value < low:
        return [f"{name} is {as_text(cell)}, the option asks for at least {as_text(low)}"]
    if value > high:
        return [f"{name} is {as_text(cell)}, the option asks for at most {as_text(high)}"]
    return []


def read_row(row: Any, layout: "pd.DataFrame", model: Any) -> "pd.DataFrame":
    """Return a person's row as a table of one row, in the dtypes of the promised rows.

    It must have the columns of the layout; others are allowed if the model knows them.
    """
    import pandas as pd

    if is_table(row):
        table = as_pandas(row, "row").reset_index(drop=True)
    elif isinstance(row, pd.Series):
        table = row.to_frame().T.reset_index(drop=True).infer_objects()
    elif isinstance(row, Mapping):
        table = pd.DataFrame([dict(row)])
    else:
        raise InvalidInputError(f"row must be a table of one row, a Series or a mapping, got {type(row).__name__}")
    if len(table) != 1:
        raise InvalidInputError(f"row must be one row, got {len(table)}")
    names = [str(name) for name in layout.columns]
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise InvalidInputError(f"the row lacks columns of the promised one: {listed(missing)}")
    columns = {*names, *map(str, getattr(best_of(model_and_threshold(model)[0]), "feature_names_in_", ()))}
    for name in table.columns:
        if name not in columns:
            raise InvalidInputError(f"the row has a column {shown(name)} that was not promised; {hint(name, names)}")
    others = [name for name in table.columns if name not in names]
    cast = {name: cast_like(table[name], layout[name]) for name in names}
    return pd.DataFrame({**cast, **{name: table[name] for name in others}})


def read_decision(decision: Any, reason: Any) -> tuple[str | None, str]:
    """Return a decision and its reason; a refusal needs one."""
    if decision is not None and decision not in DECISIONS:
        raise InvalidInputError(f"decision must be 'honour' or 'refuse', got {shown(decision)}")
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
        raise InvalidInputError(f"reason must be text of up to {LONGEST_REASON:,} characters, got {shown(reason)}")
    if decision == REFUSE and not reason.strip():
        raise InvalidInputError("a refusal needs a reason: give reason='...'")
    return decision, reason


def choose(candidates: Sequence[Promise], applicant: str, row: Any, model: Any, may_differ: Iterable[str]) -> Promise:
    """Return the one of a person's open promises that the row fulfils; the error names them if it fulfils none."""
    if len(candidates) == 1:
        return candidates[0]
    for promise in candidates:
        if not promise.differences(read_row(row, promise.layout, model), may_differ):
            return promise
    raise InvalidInputError(
        f"the row fulfils none of the {len(candidates)} open promises of applicant {shown(applicant)}; redeem one of "
        f"them by its id: {listed([promise.promise for promise in candidates])}"
    )


def judged(
    promise: Promise,
    row: "pd.DataFrame",
    model: Any,
    threshold: float | None,
    may_differ: Iterable[str],
    decision: str | None,
) -> Redemption:
    """Judge a person's return: whether the row fulfils the promise, and whether the model accepts it."""
    differences = promise.differences(row, may_differ)
    estimator, cut = model_and_threshold(model, threshold)
    promised_at = promise.terms["threshold"]
    if cut is None and promised_at is not None and estimator is model:
        raise InvalidInputError(
            f"the promise was made at the threshold {promised_at:g}, and a model alone decides by `predict`: "
            f"give the planner as model, or threshold={promised_at:g} (or that at which the model decides today)"
        )
    label = unpack_entry(promise.terms["favourable"])
    deciding = DecidingModel.read(estimator, list(row.columns), threshold=cut, favourable=label, role="the model")
    accepted = bool(deciding.accepts(row)[0])
    outcome = NOT_FULFILLED if differences else KEPT if accepted else BROKEN
    return Redemption(
        promise.promise,
        promise.applicant,
        fulfilled=not differences,
        accepted=accepted,
        outcome=outcome,
        differences=differences,
        decision=decision if outcome == BROKEN else None,
    )


def model_fingerprint(model: Any) -> str:
    """Return the fingerprint of a model; "" where it has none."""
    try:
        return fingerprint(model)
    except (InvalidInputError, MissingPackageError):
        return ""


def read_reference(value: Any) -> str:
    """Read the id of a promise, or an applicant."""
    return read_text(value if isinstance(value, str) else str(plain(value)), "promise_id")
