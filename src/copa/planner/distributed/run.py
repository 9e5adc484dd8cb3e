"""A run: the partitions of the applicants, through an engine, into a folder."""

from copa._core.progress import stage
from copa._core.words import counted
from copa.exceptions import DataError
from copa.planner.distributed.engines import Engine
from copa.planner.distributed.folder import PartFolder, PlanFolder
from copa.planner.distributed.sources import ParquetFolder, Source, Task


def fill_folder(folder: PartFolder, source: Source, engine: Engine) -> PlanFolder:
    """Plan for the partitions that are not done yet, write each at once, and list the files in the end.

    Raises
    ------
    DataError
        If a partition cannot be planned for, or the cluster is lost; what is finished stays, and the same call goes on
        from there.
    """
    done = set(folder.finished)
    if isinstance(source, ParquetFolder) and len(done) < len(source.partitions):
        _read_dtypes(source, engine)
    left = [(number, task) for number, task in enumerate(source.partitions) if number not in done]
    failed: dict[int, Exception] = {}
    sizes = [task.n_rows for _, task in left]
    known = sum(size for size in sizes if size is not None)
    rows = None not in sizes
    try:
        with stage("planning", known if rows else len(left), "applicants" if rows else "partitions") as advance:
            for number, part in engine.plan(left):
                if isinstance(part, Exception):
                    failed[number] = part
                    continue
                folder.keep(number, part)
                if not engine.counts:
                    advance(part.n_applicants if rows else 1)
    except DataError as error:
        raise DataError(f"{error}; {_what_is_done(folder)}") from error
    if failed:
        first = min(failed)
        words = _named(first, source.partitions[first], failed[first])
        more = f" (and {counted(len(failed) - 1, 'other partition')})" if len(failed) > 1 else ""
        raise DataError(f"{words}{more}; {_what_is_done(folder)}") from failed[first]
    return folder.finish()


def _read_dtypes(source: ParquetFolder, engine: Engine) -> None:
    """Find out which dtypes hold the cells of all partitions: that of one must not depend on which rows are in it."""
    found = []
    with stage("reading the table", len(source.partitions), "partitions") as advance:
        for number, dtypes in engine.survey(source.partitions):
            if isinstance(dtypes, Exception):
                raise DataError(_named(number, source.partitions[number], dtypes)) from dtypes
            found.append((number, dtypes))
            advance(1)
    source.with_dtypes(dtypes for _, dtypes in sorted(found, key=lambda pair: pair[0]))


def _named(number: int, task: Task, error: Exception) -> str:
    return f"partition {number:,} ({task.place}): {type(error).__name__}: {error}"


def _what_is_done(folder: PartFolder) -> str:
    done, total = len(folder.finished), len(folder.names)
    return (
        f"{done:,} of {counted(total, 'partition')} are done and kept in {folder.path}; run the same again for the rest"
    )
