"""Plans for very many applicants on the workers of a Dask cluster."""

import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from copa._core.progress import stage
from copa._core.words import hint, shown
from copa.exceptions import DataError, InvalidInputError, MissingPackageError
from copa.planner.runs import PART_ROWS, Part, Rows, plan_part
from copa.plans.writers import require_free_names, typed_table

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.recourse_planner import RecoursePlanner

__all__ = ["plan"]

RETRIES = 2  # of a part that raises an error, which may have been a disk's
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
    meta = _planned_table(empty, _for_worker(planner), id)
    sent = delayed(_for_worker)(planner)
    return applicants.map_partitions(_planned_table, sent, id, meta=meta)


def _planned_table(applicants: "pd.DataFrame", planner: "RecoursePlanner", label: str | None) -> "pd.DataFrame":
    """Return the plans for a partition as a table, a row for each option."""
    import pandas as pd

    table = applicants if label is None else applicants.set_index(label).rename_axis(None)
    firsts = range(0, max(len(table), 1), PART_ROWS)
    tables = [typed_table(planner.plan(table.iloc[first : first + PART_ROWS])) for first in firsts]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def _for_worker(planner: "RecoursePlanner") -> "RecoursePlanner":
    """Return a copy that plans on one thread and shows no progress: parts are what runs side by side."""
    own: RecoursePlanner = pickle.loads(pickle.dumps(planner))  # noqa: S301 - made here
    return own.set_params(n_jobs=1, progress=False)  # type: ignore[no-any-return]  # scikit-learn has no types


def _require_dask(applicants: Any) -> None:
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise MissingPackageError(f"copa.planner.distributed.plan needs Dask: {INSTALL}") from error
    if not isinstance(applicants, dd.DataFrame):
        raise InvalidInputError(
            f"applicants must be a Dask DataFrame, got {type(applicants).__name__}; planner.plan takes other tables"
        )


def plan_on(client: Any, planner: "RecoursePlanner", rows: Rows) -> Iterator[tuple[int, Part | Exception]]:
    """Plan for parts side by side on the workers of a cluster; those of a worker that dies go to another.

    No more parts are sent at a time than keep the workers busy.
    """
    from distributed import as_completed

    # Not scattered: what is computed can be computed again when every worker that had it is gone.
    sent = client.submit(_for_worker, planner, pure=False)
    waiting, numbers, left = as_completed(), dict[Any, int](), iter(rows)

    def submit_some() -> None:
        with _answering(client):
            n_threads = sum(client.nthreads().values())
        while len(numbers) < 2 * max(n_threads, 1) + 1:
            number, applicants = next(left, (None, None))
            if number is None:
                return
            future = client.submit(plan_part, sent, applicants, pure=False, retries=RETRIES)
            numbers[future] = number
            waiting.add(future)

    with stage("planning") as advance:
        submit_some()
        for future in waiting:
            number, outcome = numbers.pop(future), _outcome(client, future)
            yield number, outcome
            if isinstance(outcome, Part):
                advance(sum(outcome.statuses.values()))
            future.release()
            submit_some()


def _outcome(client: Any, future: Any) -> Part | Exception:
    with _answering(client):
        if future.status in ("cancelled", "lost"):
            raise DataError("the connection to the scheduler was lost")
        error = future.exception() if future.status == "error" else None
        if error is None:
            part: Part = future.result()
            return part
    if isinstance(error, Exception):
        return error
    raise error


@contextmanager
def _answering(client: Any) -> Iterator[None]:
    """Name a scheduler that is gone while it is asked as the cause."""
    from distributed import CancelledError

    if client.status != "running":
        raise DataError("the connection to the scheduler was lost")
    try:
        yield
    except (OSError, CancelledError) as lost:
        raise DataError(f"the connection to the scheduler was lost: {lost}") from lost


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
