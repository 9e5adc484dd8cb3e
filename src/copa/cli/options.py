"""Options that several commands share, named like the keywords of the Python library."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.progress import stage
from copa._core.words import GUARANTEE_FOR, METHODS, hint, shown
from copa.cli.messages import MisuseError, misuse, say
from copa.data.schema import FeatureSchema
from copa.data.tables.files import TableFile, open_table
from copa.plans.cost import COSTS
from copa.theory.sets.families import FAMILIES

if TYPE_CHECKING:
    from copa.planner import RecoursePlanner, Wishes
    from copa.planner.bundle import Bundle


if TYPE_CHECKING:
    GuaranteeFor = str
    Cost = str
    Family = str
    Method = str
else:  # the words that the library knows, as typer takes a choice of words
    GuaranteeFor = StrEnum("GuaranteeFor", {word.upper(): word for word in GUARANTEE_FOR})
    Cost = StrEnum("Cost", {word.upper(): word for word in COSTS})
    Family = StrEnum("Family", {word.upper(): word for word in FAMILIES})
    Method = StrEnum("Method", {word.upper(): word for word in METHODS})

BundleArgument = Annotated[Path, typer.Argument(help="Bundle made by `copa fit`.", metavar="BUNDLE")]
PlansArgument = Annotated[
    Path,
    typer.Argument(help="Plans: a table of options (.csv, .parquet), DiCE's .json, or plans of copa.", metavar="PLANS"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
Delimiter = Annotated[str, typer.Option(help="Character between two cells of a CSV file.")]


Guarantee = Annotated[
    float | None,
    typer.Option(help="Guaranteed probability of acceptance, above 0 and below 1.", metavar="P"),
]
ExpectedRate = Annotated[
    bool | None,
    typer.Option(
        "--expected/--guaranteed",
        help="Ask --guarantee of the rate at which refits are expected to accept options, which is no guarantee.",
        show_default=False,
    ),
]
NRefits = Annotated[
    int | None, typer.Option(help="Refits from which the spread of retraining is estimated.", metavar="N")
]
Whom = Annotated[
    GuaranteeFor | None,
    typer.Option("--guarantee-for", help="Guarantee each option by itself, all of them together, or any one of them."),
]
NOptions = Annotated[int | None, typer.Option(help="Options per applicant, up to 79.", metavar="N")]
LeastPlausibility = Annotated[
    float | None,
    typer.Option(
        "--plausibility",
        help="Least plausibility of an option: the share of training rows that are as far from their neighbours; "
        "default 0.05, 0 for none.",
        metavar="P",
    ),
]
NStarts = Annotated[
    int | None, typer.Option(help="Starting rows of the search per applicant; more find better plans.", metavar="N")
]
RandomState = Annotated[int | None, typer.Option(help="Random seed.", metavar="N")]
NJobs = Annotated[
    int | None, typer.Option(help="Number of threads; default: all cores. Results do not depend on it.", metavar="N")
]
Schema = Annotated[
    Path | None,
    typer.Option(help="Schema: which columns may change, and how (see `copa schema infer`).", metavar="FILE"),
]
ReportFile = Annotated[Path | None, typer.Option("--report", help="Write a report to this .html file.", metavar="FILE")]
TotalsOnly = Annotated[
    bool, typer.Option("--totals-only", help="The report shows no applicant one by one, only all of them together.")
]
Group = Annotated[str | None, typer.Option(help="Column with the groups that the report compares.", metavar="COL")]
Id = Annotated[
    str | None, typer.Option("--id", help="Column with the applicants' names; default: number them.", metavar="COL")
]
IncludeFragile = Annotated[
    bool,
    typer.Option(
        "--include-fragile", help="Take options of fragile plans too, which are below the guarantee asked for."
    ),
]
RawCells = Annotated[
    bool,
    typer.Option("--raw-cells", help="Read and write CSV cells unchanged, even those a spreadsheet runs as formulas."),
]
ModelFile = Annotated[
    Path | None, typer.Option("--model", help="Fitted model: .skops, .pkl or .joblib.", metavar="FILE")
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Allow --model to be a pickle, which runs the code in it.")
]
Target = Annotated[str | None, typer.Option("--target", help="Column with the outcome.", metavar="COL")]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", help="Column to leave out, by name, or by position: '#3' is the third; repeatable."),
]
MaxChange = Annotated[
    list[str] | None,
    typer.Option(
        "--max-change",
        help="Largest change of a column, instead of the schema's: amount=0.3 is 30 % of the applicant's own value, "
        "duration=+12/-6 at most 12 units more or 6 less (of an ordinal, levels); repeatable.",
        metavar="COL=CHANGE",
    ),
]
Fixed = Annotated[
    list[str] | None,
    typer.Option("--fixed", help="Column that no option changes in this run; repeatable.", metavar="COL"),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        help="Factor on the effort of changing a column: savings=0.5 where it is easier than the schema says, 2 where "
        "harder; repeatable.",
        metavar="COL=FACTOR",
    ),
]
Applicants = Annotated[
    Path | None,
    typer.Option("--applicants", help="Table of the applicants as they are today: .csv or .parquet.", metavar="FILE"),
]


def open_bundle(path: Path, **settings: Any) -> "Bundle":
    """Load a bundle, and give its planner the settings of the command line; a note says if it is of other versions."""
    import sklearn

    from copa.planner.bundle import load_bundle

    with misuse(), stage("opening the bundle"):
        bundle = load_bundle(path)
    made = str(bundle.made_with.get("scikit-learn", ""))
    if made.split(".")[:2] != sklearn.__version__.split(".")[:2]:
        say(f"note: {path} was made with scikit-learn {made}, and this is {sklearn.__version__}; fit again if in doubt")
    set_up(bundle.planner, **settings)
    return bundle


def require_report(totals_only: bool, report: Path | None) -> None:
    """Raise for what only a report can do, where none is wanted."""
    if totals_only and report is None:
        raise MisuseError("--totals-only is about a report; give its name with --report FILE")


# Options of the command line that are fields of `LaterModels`, or say of which class they are.
OF_LATER_MODELS = ("expected", "confidence", "family", "history", "horizon", "n_refits", "moment_ball")
MAX_CHANGE_HELP = (
    "write COLUMN=SHARE, such as amount=0.3, or COLUMN=+UP/-DOWN in the column's own units, such as duration=+12/-6"
)


WEIGHT_HELP = "write COLUMN=FACTOR, such as savings=0.5"


def asking(
    bundle: "Bundle", max_change: list[str] | None, fixed: list[str] | None, weight: list[str] | None
) -> tuple["Bundle", dict[str, Any]]:
    """The bundle with a planner for the wishes of the command line, and these as JSON has them."""
    wishes = read_wishes(bundle.planner.schema_, max_change, fixed, weight)
    return replace(bundle, planner=bundle.planner.with_wishes(wishes)), wishes.to_dict()


def read_wishes(
    schema: FeatureSchema, max_change: list[str] | None, fixed: list[str] | None, weight: list[str] | None
) -> "Wishes":
    """Wishes, from how they are written on the command line."""
    from copa.planner import Wishes

    limits = _read_pairs("--max-change", max_change, schema, MAX_CHANGE_HELP, _read_change)
    weights = _read_pairs("--weight", weight, schema, WEIGHT_HELP, _read_factor)
    for name in fixed or []:
        if name not in schema:
            raise MisuseError(f"--fixed {name}: there is no column {shown(name)}; {hint(name, schema.names)}")
    with misuse():
        wishes = Wishes(fixed=tuple(fixed or ()), max_change=limits, weights=weights)
        schema.replace(wishes.changes(schema))
    return wishes


def _read_pairs(
    option: str, texts: list[str] | None, schema: FeatureSchema, advice: str, read: Callable[[str, str], Any]
) -> dict[str, Any]:
    """Values by column, from how they are written on the command line."""
    found: dict[str, Any] = {}
    for text in texts or []:
        name, _, written = text.rpartition("=")
        if name not in schema:
            raise MisuseError(
                f"{option} {text}: there is no column {shown(name)}; {hint(name, schema.names)}; {advice}"
            )
        if name in found:
            raise MisuseError(f"{option}: column {shown(name)} is there twice; keep one of them")
        if schema[name].immutable:
            raise MisuseError(f"{option} {text}: column {shown(name)} is immutable, no option changes it")
        found[name] = read(written, text)
    return found


def _read_factor(written: str, text: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise MisuseError(f"--weight {text}: cannot be read; {WEIGHT_HELP}") from None


def _read_change(written: str, text: str) -> Any:
    """A share, or units up and down."""
    try:
        if written[:1] not in {"+", "-"}:
            return float(written)
        sides = [("up" if part[:1] == "+" else "down", part) for part in written.split("/")]
        if len(dict(sides)) == len(sides) and all(part[:1] in {"+", "-"} for _, part in sides):
            return {side: float(part[1:]) for side, part in sides}
    except ValueError:
        pass
    raise MisuseError(f"--max-change {text}: cannot be read; {MAX_CHANGE_HELP}")


def open_data(path: Path, delimiter: str, drop: Iterable[str] = ()) -> TableFile:
    """Open a table that is named on the command line, without the columns that --drop names."""
    with misuse():
        table = open_table(path, delimiter)
        table.leave_out(drop)
    for note in table.notes:
        say(f"note: {note}")
    return table


def require_columns(table: TableFile, names: Iterable[str]) -> None:
    """Raise if an option names a column that the table has not."""
    for name in names:
        if not table.has(name):
            raise MisuseError(f"{table.path} has no column {shown(name)}; {hint(name, table.names)}")


def set_up(planner: "RecoursePlanner", **settings: Any) -> "RecoursePlanner":
    """Give a planner the settings that were given on the command line; what was left out stays as it is."""
    from copa.planner.checks import check_settings
    from copa.planner.later_models import assume

    given = {name: str(v) if isinstance(v, StrEnum) else v for name, v in settings.items() if v is not None}
    assumed: dict[str, Any] = {name: given.pop(name) for name in OF_LATER_MODELS if name in given}
    with misuse():
        planner.set_params(**given, later_models=assume(planner.later_models, **assumed))
        check_settings(planner)
    return planner


def require_outputs(outputs: Mapping[str, tuple[Path | None, tuple[str, ...]]], *inputs: Path | None) -> None:
    """Raise if a file cannot be written, or is another one of the outputs or of the inputs as well.

    Parameters
    ----------
    outputs : path and allowed endings (none: all are) by option; a path may be None
    inputs : files that are read; those that are None are not there
    """
    seen: dict[str, Path] = {}
    for option, (path, suffixes) in outputs.items():
        if path is None:
            continue
        _require_writable(path, suffixes)
        if any(other is not None and _same_file(other, path) for other in inputs):
            raise MisuseError(f"{path} is both read and written; give the output another name")
        for other, own in seen.items():
            if _same_file(own, path):
                raise MisuseError(f"{other} and {option} are the same file, {path}; give one of them another name")
        seen[option] = path


def _same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by whatever links; neither needs to exist."""
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
