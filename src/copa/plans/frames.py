"""Tables of a batch: one row per change, per option, or per applicant."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.records import Positions, reduce_segments

if TYPE_CHECKING:
    import pandas as pd

    from copa.plans.records import BatchRecord, PlanRecord


def changes_table(batch: "BatchRecord[PlanRecord]") -> "pd.DataFrame":
    """Return a table with one row per changed cell, by applicant, option and column."""
    import pandas as pd

    option, column = np.nonzero(batch.changed)
    changes = [change for option_changes in batch.changes_of() for change in option_changes]
    return pd.DataFrame(
        {
            "applicant": labels(batch.applicants.index, batch.owner[option]),
            "option": option_numbers(batch)[option],
            "column": batch.options.columns.take(column),
            "from": pd.Series([change.before for change in changes], dtype=object),
            "to": pd.Series([change.after for change in changes], dtype=object),
            "effort": batch.change_effort[option, column],
            "guarantee": batch.option_lower[option],
            "accepted": batch.accepted[option],
            "at_least": batch.at_least[option, column],
            "at_most": batch.at_most[option, column],
            "plausibility": batch.plausibility[option],
        }
    )


def options_table(batch: "BatchRecord[PlanRecord]") -> "pd.DataFrame":
    """Return a table with one row per option: its numbers, without its cells."""
    import pandas as pd

    numbers = option_numbers(batch)
    first = np.array([plan.breaks_first or 0 for plan in batch], dtype=np.intp)
    return pd.DataFrame(
        {
            "applicant": labels(batch.applicants.index, batch.owner),
            "option": numbers,
            "status": batch.status[batch.owner].astype(object),
            "guarantee": batch.option_lower,
            "expected_rate": batch.expected_rate,
            "effort": batch.effort,
            "n_changes": batch.changed.sum(axis=1),
            "accepted": batch.accepted,
            "plausibility": batch.plausibility,
            "breaks_first": numbers == first[batch.owner],
        }
    )


def summary_table(batch: "BatchRecord[PlanRecord]") -> "pd.DataFrame":
    """Return a table with one row per applicant."""
    import pandas as pd

    some = batch.counts > 0
    return pd.DataFrame(
        {
            "applicant": labels(batch.applicants.index, np.arange(len(batch))),
            "status": batch.status.astype(object),
            "message": batch.message,
            "n_options": batch.counts,
            "all": np.where(some, batch.lower, np.nan),
            "any": np.where(some, batch.any_lower, np.nan),
            "upper": np.where(some, batch.upper, np.nan),
            "lowest_option": reduce_segments(np.minimum, batch.option_lower, batch.counts),
            "cheapest_effort": reduce_segments(np.minimum, batch.effort, batch.counts),
        }
    )


def option_numbers(batch: "BatchRecord[PlanRecord]") -> Positions:
    """Return the number of each option in its plan, from 1, (M,)."""
    starts = np.cumsum(batch.counts) - batch.counts
    numbers: Positions = np.arange(len(batch.owner)) - starts[batch.owner] + 1
    return numbers


def labels(index: "pd.Index[Any]", rows: Positions) -> "pd.Index[Any]":
    """Return the labels of some rows; tuples where a label has several parts."""
    flat = index.to_flat_index() if index.nlevels > 1 else index
    return flat.take(rows)
