"""`plan`: a Dask DataFrame of applicants into one of plans, or into a folder of files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.words import hint, shown
from copa.exceptions import InvalidInputError, MissingPackageError
from copa.planner.distributed.engines import DaskWorkers
from copa.planner.distributed.folder import PartFolder
from copa.planner.distributed.run import fill_folder
from copa.planner.distributed.sources import DaskTable
from copa.planner.distributed.work import PackedPlanner, plan_blocks
from copa.plans.writers import require_free_names, typed_table

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner


def plan(
    planner: "RecoursePlanner",
    applicants: Any,
    output: str | Path | None = None,
    *,
    id: str | None = None,  # noqa: A002 - as the command calls it
    client: Any = None,
) -> Any:
    """Build a plan for every applicant of a Dask DataFrame, on the workers of its cluster.

    The planner goes to each worker once. A bad row gets the status "error" and fails no other.

    Parameters
    ----------
    planner : RecoursePlanner
        Fitted.
    applicants : dask.dataframe.DataFrame
        One applicant per row.
    output : str or Path, optional
        Folder to write the plans to, a Parquet file for each partition. Each file appears when it is whole. If a
        worker, the scheduler or this process is killed, the same call again finishes the rest.
    id : str, optional
        Column that names the applicants; None is the index, which Dask numbers anew in each partition.
    client : distributed.Client, optional
        Of the cluster that writes the folder; None is the current one.

    Returns
    -------
    dask.dataframe.DataFrame or PlanFolder
        Without `output` a table that is computed when it is asked for, with a row for each option, as
        `copa plan -o plans.parquet` writes them. With `output`, what is in the folder.

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
    table = _with_labels(_require_dask(applicants), id)
    require_free_names(table.columns)
    packed = PackedPlanner.of(planner)
    if output is not None:
        source = DaskTable(table)
        made_from = {"planner": packed.sha256, "applicants": source.origin}
        folder = PartFolder(Path(output), made_from, len(source.partitions))
        with folder.begun():
            return fill_folder(folder, source, DaskWorkers(_current(client), packed))
    from dask import delayed

    sent = delayed(packed, name=f"copa-planner-{packed.sha256}", traverse=False)
    return table.map_partitions(planned_table, sent, meta=planned_table(table._meta, packed))  # noqa: SLF001 - Dask's own way


def planned_table(applicants: "pd.DataFrame", packed: PackedPlanner) -> "pd.DataFrame":
    """Return the plans for a partition as a table, a row for each option."""
    import pandas as pd

    tables = [typed_table(batch) for batch in plan_blocks(packed.opened(), applicants)]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def _require_dask(applicants: Any) -> Any:
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise MissingPackageError(
            "copa.planner.distributed.plan needs Dask: pip install 'copa-recourse[dask]'"
        ) from error
    if not isinstance(applicants, dd.DataFrame):
        raise InvalidInputError(
            f"applicants must be a Dask DataFrame, got {type(applicants).__name__}; planner.plan takes other tables"
        )
    return applicants


def _with_labels(table: Any, name: str | None) -> Any:
    if name is None:
        return table
    if name not in table.columns:
        raise InvalidInputError(f"applicants have no column {shown(name)}; {hint(name, list(table.columns))}")
    return table.map_partitions(_labelled, name, meta=_labelled(table._meta, name))  # noqa: SLF001 - Dask's own way


def _labelled(rows: "pd.DataFrame", name: str) -> "pd.DataFrame":
    return rows.set_index(name).rename_axis(None)


def _current(client: Any) -> Any:
    from distributed import default_client

    if client is not None:
        return client
    try:
        return default_client()
    except ValueError as error:
        raise InvalidInputError(
            "a folder is written by the workers of a cluster, and there is none; start one first, such as "
            "client = distributed.Client()"
        ) from error
