"""What commands read and write: bundles, models, tables, plans and promises, checked before any work begins."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.progress import stage
from copa._core.words import hint, shown
from copa.cli.commands import inherited
from copa.cli.messages import MisuseError, misuse, say
from copa.cli.options import ApplicantOptions, PlannerOptions, WishOptions
from copa.data.tables.casting import TEXT
from copa.data.tables.files import TableFile, open_table, read_applicants, read_table, unquoted_table
from copa.exceptions import DataError
from copa.plans import PlanBatch
from copa.plans.writers import PAGES, plans_into

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema import FeatureSchema
    from copa.planner import RecoursePlanner, Wishes
    from copa.planner.bundle import Bundle
    from copa.promises import Ledger

PICKLES = (".pkl", ".pickle", ".joblib")
SAVED = (".copa", ".zip")  # endings of plans with their proofs
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
LEDGER_VARIABLE = "COPA_LEDGER"
MAX_CHANGE_HELP = (
    "write COLUMN=SHARE, such as amount=0.3, or COLUMN=+UP/-DOWN in the column's own units, such as duration=+12/-6"
)
WEIGHT_HELP = "write COLUMN=FACTOR, such as savings=0.5"


# --------------------------------------------------------------------------------------------------- models and bundles


def load_model(path: Path, *, trust_pickle: bool = False) -> Any:
    """Load a fitted model from a .skops file, or from a pickle that the user vouches for."""
    require_file(path, "the model")
    suffix = path.suffix.lower()
    if suffix == ".skops":
        from copa.models.storage import unpack_model

        with misuse():
            return unpack_model(path.read_bytes(), str(path))
    if suffix not in PICKLES:
        raise MisuseError(f"a model must be a .skops file, or a pickle (.pkl, .joblib), got {path.name}")
    if not trust_pickle:
        raise MisuseError(
            f"{path} is a pickle, and loading a pickle runs whatever code is in it; if you made it yourself add "
            "--trust-pickle, otherwise ask for a .skops file"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise DataError(f"the model {path} cannot be loaded: {type(error).__name__}: {error}") from error


def load_skops(path: Path, what: str) -> Any:
    """Load a fitted model from a file that runs no code."""
    if path.suffix.lower() != ".skops":
        raise MisuseError(f"{what} must be a .skops file, which runs no code when it is loaded, got {path.name}")
    return load_model(path)


def open_bundle(path: Path) -> "Bundle":
    """Load a bundle, whose planner uses the threads of --n-jobs; a note says if it is of other versions."""
    import sklearn

    from copa.planner.bundle import load_bundle

    with misuse(), stage("opening the bundle"):
        bundle = load_bundle(path)
    made = str(bundle.made_with.get("scikit-learn", ""))
    if made.split(".")[:2] != sklearn.__version__.split(".")[:2]:
        say(f"note: {path} was made with scikit-learn {made}, and this is {sklearn.__version__}; fit again if in doubt")
    set_up(bundle.planner, {})
    return bundle


def set_up(planner: "RecoursePlanner", settings: Mapping[str, Any]) -> None:
    """Give a planner the settings of the command line; what was left out stays as it is."""
    from copa.planner.checks import check_settings
    from copa.planner.later_models import LaterModels, assume

    of_later_models = ("expected", "moment_ball", *(field.name for field in fields(LaterModels)))
    settings = {"n_jobs": inherited("n_jobs")} | dict(settings)
    given = {name: str(v) if isinstance(v, StrEnum) else v for name, v in settings.items() if v is not None}
    assumed: dict[str, Any] = {name: given.pop(name) for name in of_later_models if name in given}
    with misuse():
        planner.set_params(**given, later_models=assume(planner.later_models, **assumed))
        check_settings(planner)


def planner_settings(options: PlannerOptions, *, trust_pickle: bool) -> dict[str, Any]:
    """Return settings by name, with the older models read."""
    history = [load_model(path, trust_pickle=trust_pickle) for path in options.history or []]
    return asdict(options) | {"history": history or None}


def with_guarantee(planner: "RecoursePlanner", guarantee: float | None) -> "RecoursePlanner":
    """Return the planner for another level, if one is given."""
    from copa.planner import Wishes

    with misuse():
        return planner.with_wishes(Wishes(guarantee=guarantee))


def read_wishes(options: WishOptions, schema: "FeatureSchema") -> "Wishes":
    """Read wishes as they are written on the command line."""
    from copa.planner import Wishes

    limits = _read_pairs("--max-change", options.max_change, schema, MAX_CHANGE_HELP, _read_change)
    weights = _read_pairs("--weight", options.weight, schema, WEIGHT_HELP, _read_factor)
    for name in options.fixed or []:
        if name not in schema:
            raise MisuseError(f"--fixed {name}: there is no column {shown(name)}; {hint(name, schema.names)}")
    with misuse():
        wishes = Wishes(
            fixed=tuple(options.fixed or ()),
            max_change=limits,
            weights=weights,
            guarantee=options.guarantee,
            guarantee_for=None if options.guarantee_for is None else str(options.guarantee_for),
            n_options=options.n_options,
        )
        schema.replace(wishes.changes(schema))
    return wishes


def _read_pairs(
    option: str, texts: list[str] | None, schema: "FeatureSchema", advice: str, read: Callable[[str, str], Any]
) -> dict[str, Any]:
    """Read values by column, COLUMN=VALUE."""
    values: dict[str, Any] = {}
    for text in texts or []:
        name, _, written = text.rpartition("=")
        if name not in schema:
            raise MisuseError(
                f"{option} {text}: there is no column {shown(name)}; {hint(name, schema.names)}; {advice}"
            )
        if name in values:
            raise MisuseError(f"{option}: column {shown(name)} is there twice; keep one of them")
        if schema[name].immutable:
            raise MisuseError(f"{option} {text}: column {shown(name)} is immutable, no option changes it")
        values[name] = read(written, text)
    return values


def _read_factor(written: str, text: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise MisuseError(f"--weight {text}: cannot be read; {WEIGHT_HELP}") from None


def _read_change(written: str, text: str) -> Any:
    """Read a share, or units up and down."""
    try:
        if written[:1] not in {"+", "-"}:
            return float(written)
        sides = [("up" if part[:1] == "+" else "down", part) for part in written.split("/")]
        if len(dict(sides)) == len(sides) and all(part[:1] in {"+", "-"} for _, part in sides):
            return {side: float(part[1:]) for side, part in sides}
    except ValueError:
        pass
    raise MisuseError(f"--max-change {text}: cannot be read; {MAX_CHANGE_HELP}")


# --------------------------------------------------------------------------------------------------------------- tables


def open_data(path: Path, drop: Iterable[str] = ()) -> TableFile:
    """Open a table that is named on the command line, without the columns that --drop names."""
    with misuse():
        table = open_table(path, inherited("delimiter", ","))
        table.leave_out(drop)
    for note in table.notes:
        say(f"note: {note}")
    return table


def require_columns(table: TableFile, names: Iterable[str]) -> None:
    """Raise if an option names a column that the table has not."""
    for name in names:
        if not table.has(name):
            raise MisuseError(f"{table.path} has no column {shown(name)}; {hint(name, table.names)}")


def read_people(path: Path, bundle: "Bundle", options: ApplicantOptions) -> "pd.DataFrame":
    """Read applicants as the bundle's model takes them."""
    return read_applicants(open_data(path), bundle.template, label=options.label, group=options.group)


def read_rows(path: Path, kinds: Mapping[str, str]) -> "pd.DataFrame":
    """Read rows, or what `copa promises list` wrote, of which ids, names and versions are text."""
    from copa.promises.promised_rows import text_facts

    table = open_data(path)
    table.require_distinct()
    with stage(f"reading {path.name}"):
        return read_table(table, table.names, {**kinds, **dict.fromkeys(text_facts(table.names), TEXT)})[0]


def unquoted_promises(path: Path, table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table without the quotes before formulas, if `copa promises list` wrote it."""
    is_listed = len(table.columns) > 0 and table.columns[0] == "promise"
    return unquoted_table(table) if is_listed and path.suffix.lower() not in (".parquet", ".pq") else table


# --------------------------------------------------------------------------------------------------- plans and promises


def require_plans(path: Path) -> None:
    """Raise if a path leads to no plans: a run, or a .copa or .zip file."""
    if not path.is_dir() and path.suffix.lower() not in SAVED:
        raise MisuseError(f"plans must be a run or a file of plans, {' or '.join(SAVED)}, got {path.name}")
    if not path.is_dir():
        require_file(path, "the plans")


def open_promises(source: str | None, read: Callable[[Path], Any], stack: ExitStack) -> Any:
    """Open a ledger, which the stack closes, or read the plans or rows of a file."""
    from copa.promises import Ledger

    source = source or os.environ.get(LEDGER_VARIABLE)
    if source is None:
        raise MisuseError(f"say which promises, by --promises or the ledger of ${LEDGER_VARIABLE}")
    path = Path(source)
    with misuse():
        if path.is_dir() or path.suffix.lower() in SAVED:
            require_plans(path)
            return PlanBatch.load(path)
        if path.suffix.lower() in TABLES:
            require_file(path, "the promises")
            return unquoted_promises(path, read(path))
        return stack.enter_context(Ledger.open(source))


def open_ledger(*, create: bool = False) -> "Ledger":
    """Open the ledger that the command line or the environment names."""
    from copa.promises import Ledger

    url = inherited("ledger")
    if url is None:
        raise MisuseError(f"missing option --ledger: a URL, or an SQLite file; or set ${LEDGER_VARIABLE}")
    with misuse(), stage("opening the ledger"):
        return Ledger.open(url, create=create)


# -------------------------------------------------------------------------------------------------------------- outputs


def require_file(path: Path, what: str) -> None:
    """Raise if there is no such file."""
    if not path.is_file():
        verb = "do" if what.endswith("s") else "does"
        raise MisuseError(f"{what} {path} {verb} not exist (looked for {path.absolute()})")


def require_outputs(outputs: Sequence[Path] | Path | None, suffixes: tuple[str, ...], *inputs: Path | None) -> None:
    """Raise, before any work, for outputs that cannot be written, are one file, or are read."""
    outputs = [] if outputs is None else [outputs] if isinstance(outputs, Path) else outputs
    for number, path in enumerate(outputs):
        _require_writable(path, suffixes)
        if any(other is not None and _same_file(other, path) for other in inputs):
            raise MisuseError(f"{path} is both read and written; give the output another name")
        for other in outputs[:number]:
            if _same_file(other, path):
                raise MisuseError(f"two outputs are the same file, {path}; give one of them another name")


def _same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, by whatever links; neither needs to exist."""
    if os.path.normcase(one.resolve()) == os.path.normcase(other.resolve()):
        return True
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return False


def _require_writable(path: Path, suffixes: tuple[str, ...]) -> None:
    """Raise if a file cannot be written: another ending, no such folder, or not allowed."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise MisuseError(f"the name of the output must end in {' or '.join(suffixes)}, got {path.name}")
    folder = path.parent
    if not folder.is_dir():
        raise MisuseError(f"the folder {folder} for {path.name} does not exist; make it first")
    if path.is_dir():
        raise MisuseError(f"the output {path} is a folder; give the name of a file")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise MisuseError(f"{path} cannot be written: no permission in {folder.absolute()}")


def require_folder(path: Path, *inputs: Path) -> None:
    """Raise if a folder cannot be written to."""
    if path.exists() and not path.is_dir():
        raise MisuseError(f"{path} is a file; give the name of a folder")
    if not path.absolute().parent.is_dir():
        raise MisuseError(f"the folder {path.absolute().parent} for {path.name} does not exist; make it first")
    if any(_same_file(other, path) for other in inputs):
        raise MisuseError(f"{path} is both read and written; give the output another name")


def require_report(options: ApplicantOptions, outputs: Iterable[Path]) -> None:
    """Raise for what only a report can do, where none is wanted."""
    if options.totals_only and not any(path.suffix.lower() in PAGES for path in outputs):
        raise MisuseError("--totals-only is about a report; give its name with -o FILE.html")


@contextmanager
def plans_opened(
    outputs: Iterable[Path], planner: "RecoursePlanner", options: ApplicantOptions, corrected: Any = None
) -> Iterator[list[Any]]:
    """Open writers of plans by the endings of files; each file appears when all is written, the reports last."""
    from copa.report import ReportBuilder

    pages: dict[Path, ReportBuilder] = {}
    with ExitStack() as stack:
        writers: list[Any] = []
        for path in outputs:
            if path.suffix.lower() in PAGES:
                pages[path] = ReportBuilder(planner=planner, group=options.group, totals_only=options.totals_only)
                if corrected is not None:
                    pages[path].add_corrected(corrected)
            else:
                raw_cells = bool(inherited("raw_cells"))
                writers.append(stack.enter_context(plans_into(path, certificates=True, raw_cells=raw_cells)))
        yield [*writers, *pages.values()]
    for path, builder in pages.items():
        with stage("writing the report"):
            builder.write(path)
