"""Plans for very many applicants on the workers of a Dask cluster."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from copa._core.words import hint, shown
from copa.exceptions import DataError, InvalidInputError, MissingPackageError
from copa.planner.runs import PART_ROWS, for_worker
from copa.plans.writers import require_free_names, typed_table

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.recourse_planner import RecoursePlanner

__all__ = ["plan"]

INSTALL = "pip install 'copa-recourse[dask]'"


def plan(planner: "RecoursePlanner", applicants: Any, *, id: str | None = None) -> Any:  # noqa: A002 - as the command calls it
    """Build a plan for every applicant of a Dask DataFrame, partition by partition.

    The planner goes to each worker once. A bad row gets the status "error" and fails no other.

    Parameters
    ----------
    planner : RecoursePlanner
        Fitted.
    applicants : dask.dataframe.DataFrame
        One applicant per row.
    id : str, optional
        Column that names the applicants; None is the index, which Dask numbers anew in each partition.

    Returns
    -------
    dask.dataframe.DataFrame
        A table that is computed when it is asked for, with a row for each option, as `copa plan -o plans.parquet`
        writes them.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, n_options=2, random_state=0, progress=False).fit(X, y)
    >>> applicants = dd.from_pandas(X.head(6), npartitions=2)
    >>> plans = copa.planner.distributed.plan(planner, applicants)
    >>> plans.npartitions, sorted(set(plans.compute()["plan_status"]))
    (2, ['already_valid', 'ok'])
    """
    import pandas as pd

    _require_dask(applicants)
    from dask import delayed

    names = list(applicants.columns)
    if id is not None and id not in names:
        raise InvalidInputError(f"applicants have no column {shown(id)}; {hint(id, names)}")
    require_free_names([name for name in names if name != id])
    empty = pd.DataFrame(
        {name: pd.Series([], dtype=dtype) for name, dtype in applicants.dtypes.items()},
        index=pd.Index([], dtype=applicants.index.dtype),
    )
    meta = _planned_table(empty, for_worker(planner), id)
    sent = delayed(for_worker)(planner)
    return applicants.map_partitions(_planned_table, sent, id, meta=meta)


def _planned_table(applicants: "pd.DataFrame", planner: "RecoursePlanner", label: str | None) -> "pd.DataFrame":
    """Return the plans for a partition as a table, a row for each option."""
    import pandas as pd

    table = applicants if label is None else applicants.set_index(label).rename_axis(None)
    firsts = range(0, max(len(table), 1), PART_ROWS)
    tables = [typed_table(planner.plan(table.iloc[first : first + PART_ROWS])) for first in firsts]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def _require_dask(applicants: Any) -> None:
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise MissingPackageError(f"copa.planner.distributed.plan needs Dask: {INSTALL}") from error
    if not isinstance(applicants, dd.DataFrame):
        raise InvalidInputError(
            f"applicants must be a Dask DataFrame, got {type(applicants).__name__}; planner.plan takes other tables"
        )


@contextmanager
def cluster_client(scheduler: str) -> Iterator[Any]:
    """Connect to the scheduler of a Dask cluster for the time of the block.

    Parameters
    ----------
    scheduler : str
        Its address, such as tcp://10.0.0.5:8786.

    Raises
    ------
    MissingPackageError
        If Dask is not installed.
    DataError
        If the scheduler does not answer.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingPackageError(f"--scheduler needs Dask: {INSTALL}") from error
    # What Dask logs of a lost connection is said by the error, in one line. Its client has a level of its own.
    levels = {logger: logger.level for logger in map(logging.getLogger, ("distributed", "distributed.client"))}
    for logger in levels:
        logger.setLevel(logging.CRITICAL)
    try:
        try:
            client = Client(scheduler)
        except (OSError, ValueError) as error:
            raise DataError(f"the scheduler {scheduler} does not answer: {error}") from error
        with client:
            yield client
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
