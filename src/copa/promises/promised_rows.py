"""The rows that were promised, beside the facts of each promise: one table for the ledger, the gate and `keep`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import shown
from copa.data.tables.cells import alone
from copa.data.tables.frames import as_pandas, is_table
from copa.exceptions import InvalidInputError
from copa.plans import PlanBatch
from copa.plans.frames import labels, option_numbers
from copa.promises.days import days_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    import numpy.typing as npt
    import pandas as pd

PROMISE = "promise"  # name of the index of every table of promises
PREFIX = "promise_"  # of each fact in such a table
FACTS = (
    "applicant",
    "option",
    "status",
    "option_guarantee",
    "confidence",
    "model_version",
    "model_fingerprint",
    "schema_digest",
    "certificate_digest",
    "made",
    "valid_until",
    "recorded_by",
)
NUMBERS = ("option_guarantee", "confidence")
OPEN = "open"
ENDED = ("kept", "broken", "expired", "waived")  # statuses of promises that no longer bind


@dataclass(frozen=True, eq=False)
class PromisedRows:
    """Promised rows, and the facts of their promises.

    Parameters
    ----------
    facts : DataFrame
        One row per promise, in the columns `FACTS`; its index "promise" holds the ids of the promises. None or NaN
        where a fact is not known.
    rows : DataFrame
        The promised rows as the model is given them, with the same index.
    favourable : object, optional
        Label that was promised, where it is known.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.promises import promised_rows
    >>> promised = promised_rows(pd.DataFrame({"income": [30, 42]}, index=["ann", "bob"]))
    >>> len(promised), int(promised.rows.loc["bob", "income"])
    (2, 42)
    """

    facts: "pd.DataFrame"
    rows: "pd.DataFrame"
    favourable: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"PromisedRows({len(self):,} promises of {len(self.rows.columns)} columns)"

    def select(self, flags: "npt.NDArray[np.bool_]") -> "PromisedRows":
        """Return some of the promises.

        Parameters
        ----------
        flags : ndarray of bool of shape (n_promises,)
            Which ones.
        """
        return PromisedRows(self.facts.loc[flags], self.rows.loc[flags], self.favourable)

    def binds(self, day: "date") -> "npt.NDArray[np.bool_]":
        """Return which promises bind on a day: those not known to have ended by then, or to have been made later.

        Parameters
        ----------
        day : date
        """
        begun = [made is None or made <= day for made in days_of(self.facts["made"])]
        valid = [end is None or end >= day for end in days_of(self.facts["valid_until"])]
        ended = self.facts["status"].isin(ENDED).to_numpy()
        flags: npt.NDArray[np.bool_] = np.array(begun, dtype=bool) & np.array(valid, dtype=bool) & ~ended
        return flags


def require_free_names(columns: "Iterable[Any]") -> None:
    """Raise for a table that has a column of the name of a fact: `promise`, or one that begins with `promise_`.

    Parameters
    ----------
    columns : iterable of str
        Columns of rows that are promised.
    """
    for name in columns:
        if name == PROMISE or str(name).startswith(PREFIX):
            raise InvalidInputError(
                f"the rows have a column {shown(name)}, a name that is reserved for facts of promises; rename it"
            )


def join_facts(facts: "pd.DataFrame", rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return facts and rows as one table: the facts first, all of them, then the columns of the rows.

    Parameters
    ----------
    facts : DataFrame
        Some of the columns `FACTS`; those it lacks are missing. Its index holds the ids of the promises.
    rows : DataFrame
        As many promised rows, in the same order; its index is ignored.

    Returns
    -------
    DataFrame
        Its index is called "promise", and the column of a fact "promise_" and the fact's name.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.promises.promised_rows import join_facts, split_facts
    >>> facts = pd.DataFrame({"applicant": ["ann"], "status": ["open"]}, index=["p1"])
    >>> table = join_facts(facts, pd.DataFrame({"job": ["clerk"], "status": ["married"]}))
    >>> table[["promise_applicant", "promise_status", "job", "status"]].loc["p1"].tolist()
    ['ann', 'open', 'clerk', 'married']
    >>> split_facts(table)[1].columns.tolist()
    ['job', 'status']
    """
    import pandas as pd

    if len(facts) != len(rows):
        raise InvalidInputError(f"there are {len(facts)} promises and {len(rows)} rows; each promise has one")
    require_free_names(rows.columns)
    index = _ids(facts.index)
    left = _all_facts(facts).set_axis(index).add_prefix(PREFIX)
    return pd.concat([left, rows.set_axis(index)], axis=1)


def split_facts(table: "pd.DataFrame") -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Return the facts and the rows of a table that `join_facts` made; of a table of rows alone, empty facts.

    Parameters
    ----------
    table : DataFrame
        Of facts and rows, or of rows alone. The ids are its index, or its first column where that is called "promise"
        (as in a CSV file).

    Returns
    -------
    tuple of two DataFrame
        Facts in the columns `FACTS`, and rows, with the same index of ids.
    """
    if table.index.name != PROMISE and len(table.columns) and table.columns[0] == PROMISE:
        table = table.set_index(PROMISE)
    names = [f"{PREFIX}{fact}" for fact in FACTS if f"{PREFIX}{fact}" in table.columns]
    rows = table.drop(columns=names)
    require_free_names(rows.columns)
    index = _ids(table.index)
    facts = _all_facts(table[names].rename(columns=lambda name: name.removeprefix(PREFIX)))
    return facts.set_axis(index), rows.set_axis(index)


def text_facts(columns: "Sequence[str]") -> list[str]:
    """Return the columns of a file of promises that hold ids and other facts in text; none of a file of rows alone.

    Parameters
    ----------
    columns : sequence of str
        All columns of the file.
    """
    facts = [f"{PREFIX}{fact}" for fact in FACTS if fact not in (*NUMBERS, "option")]
    return [name for name in columns if name == PROMISE or name in facts]


def concat_facts(tables: "Iterable[pd.DataFrame]") -> "pd.DataFrame":
    """Return tables of `join_facts` as one; columns that only other rows have are missing in a row."""
    import pandas as pd

    parts = [*tables]
    return pd.concat(parts) if parts else join_facts(pd.DataFrame(), pd.DataFrame())


def promised_rows(promises: Any) -> PromisedRows:
    """Return the promised rows of a ledger, of a batch of plans (each option is a promise), or of a table.

    Parameters
    ----------
    promises : Ledger, PlanBatch or DataFrame
        A ledger stands for its open promises. A table holds the rows alone, or facts and rows as `Ledger.promises`
        returns them.

    Returns
    -------
    PromisedRows

    Raises
    ------
    InvalidInputError
        If it is none of these.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa.promises import promised_rows
    >>> promised_rows(pd.DataFrame({"income": [30, 42]}))
    PromisedRows(2 promises of 1 columns)
    """
    if isinstance(promises, PromisedRows):
        return promises
    if isinstance(promises, PlanBatch):
        return _of_batch(promises)
    if is_table(promises):
        facts, rows = split_facts(as_pandas(promises, "promises"))
        return PromisedRows(facts.assign(**{name: _numbers(facts[name]) for name in NUMBERS}), rows)
    listed = getattr(promises, "promises", None)  # of a ledger, which is not imported here
    if callable(listed):
        return PromisedRows(*split_facts(listed()), getattr(promises, "favourable", None))
    raise InvalidInputError(
        f"promises must be a Ledger, a PlanBatch or a DataFrame of promised rows, got {type(promises).__name__}"
    )


def _of_batch(batch: PlanBatch) -> PromisedRows:
    """Each option of a batch as a promise; its id is the applicant's label and the option's number."""
    import pandas as pd

    numbers = option_numbers(batch)
    people = [alone(label) for label in labels(batch.applicants.index, batch.owner)]
    ids = [f"{person}/{number}" for person, number in zip(people, numbers.tolist(), strict=True)]
    facts = pd.DataFrame(
        {
            "applicant": pd.Series(people, dtype=object),
            "option": numbers,
            "status": OPEN,
            "option_guarantee": batch.option_lower,
            "confidence": np.nan if batch.basis.confidence is None else batch.basis.confidence,
        }
    )
    require_free_names(batch.options.columns)
    index = _ids(pd.Index(ids, dtype=object))
    return PromisedRows(_all_facts(facts).set_axis(index), batch.options.set_axis(index), batch.basis.favourable)


def _all_facts(facts: "pd.DataFrame") -> "pd.DataFrame":
    """Return facts in the columns `FACTS`; those that are not facts are columns of None."""
    unknown = {fact: np.full(len(facts), None, dtype=object) for fact in FACTS if fact not in facts.columns}
    return facts.assign(**unknown)[[*FACTS]]


def _ids(index: "pd.Index[Any]") -> "pd.Index[Any]":
    """Return ids of promises as text; their numbers from 1 where labels occur twice."""
    import pandas as pd

    names = [alone(label) for label in labels(index, np.arange(len(index)))]
    if index.name != PROMISE and len(set(names)) < len(names):
        names = [str(number) for number in range(1, len(names) + 1)]
    return pd.Index(names, name=PROMISE, dtype=object)


def _numbers(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a fact that is a probability, also from the text of a file; it stays as it is where nothing is known."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    bad = numbers.isna() & column.notna() & (column.astype(str).str.strip() != "")
    if bad.any():
        raise InvalidInputError(f"{PREFIX}{column.name} must hold numbers, got {shown(column[bad].iloc[0])}")
    outside = (numbers < 0.0) | (numbers > 1.0)
    if outside.any():
        raise InvalidInputError(
            f"{PREFIX}{column.name} must hold probabilities, from 0 to 1, got {shown(numbers[outside].iloc[0])}"
        )
    return column if column.isna().all() else numbers
