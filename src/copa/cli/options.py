"""Options that several commands share, named like the keywords of the Python library."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copa._core.words import GUARANTEE_FOR, METHODS
from copa.plans.cost import COSTS
from copa.theory.sets.families import FAMILIES

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
Data = Annotated[Path, typer.Argument(help="Data: .csv or .parquet.", metavar="DATA")]
Target = Annotated[str, typer.Option(help="Column of the outcome.", metavar="COL")]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out, by name or by position ('#3' is the third); repeatable.", metavar="COL"),
]
Schema = Annotated[
    Path | None,
    typer.Option(help="Schema: which columns may change, and how (see `copa schema infer`).", metavar="FILE"),
]
ModelFile = Annotated[
    Path | None, typer.Option("--model", help="Fitted model: .skops, .pkl or .joblib.", metavar="FILE")
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Allow a model to be a pickle, which runs the code in it.")
]
Favourable = Annotated[str | None, typer.Option(help="Value of the target that applicants want.", metavar="VALUE")]
Threshold = Annotated[float | None, typer.Option(help="Probability from which the model accepts.", metavar="P")]
Guarantee = Annotated[
    float | None, typer.Option(help="Guaranteed probability of acceptance, above 0 and below 1.", metavar="P")
]
Whom = Annotated[
    GuaranteeFor | None, typer.Option(help="Guarantee each option by itself, all of them together, or any one of them.")
]
NOptions = Annotated[int | None, typer.Option(help="Options per applicant, up to 79.", metavar="N")]
IncludeFragile = Annotated[
    bool,
    typer.Option(
        "--include-fragile", help="Include options of fragile plans, which are below the guarantee asked for."
    ),
]
ModelVersion = Annotated[
    str | None, typer.Option(help="Only promises made with this version of the model.", metavar="TEXT")
]
AsOf = Annotated[str | None, typer.Option(help="Day to look at, such as 2026-06-30; default: today.", metavar="DATE")]
PageFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the page (.html) or the JSON (.json).", metavar="FILE")
]


@dataclass(frozen=True, kw_only=True)
class WishOptions:
    """Options that make `Wishes`."""

    guarantee: Guarantee = None
    guarantee_for: Whom = None
    n_options: NOptions = None
    max_change: Annotated[
        list[str] | None,
        typer.Option(
            help="Largest change of a column, instead of the schema's: amount=0.3 is 30 % of the applicant's own "
            "value, duration=+12/-6 at most 12 units more or 6 less (of an ordinal, levels); repeatable.",
            metavar="COL=CHANGE",
        ),
    ] = None
    fixed: Annotated[
        list[str] | None, typer.Option(help="Column that no option changes in this run; repeatable.", metavar="COL")
    ] = None
    weight: Annotated[
        list[str] | None,
        typer.Option(
            help="Factor on the effort of changing a column: savings=0.5 where it is easier than the schema says, 2 "
            "where harder; repeatable.",
            metavar="COL=FACTOR",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PlannerOptions:
    """Options that are settings of `RecoursePlanner`, or fields of its `LaterModels`, by the same names."""

    threshold: Threshold = None
    guarantee: Guarantee = None
    expected: Annotated[
        bool | None,
        typer.Option(
            "--expected",
            help="Ask for an expected rate of acceptance, of which --guarantee is the level, in place of a guarantee.",
            show_default=False,
        ),
    ] = None
    guarantee_for: Whom = None
    n_options: NOptions = None
    confidence: Annotated[
        float | None, typer.Option(help="Confidence in the training data; default 0.95.", metavar="P")
    ] = None
    family: Annotated[
        Family | None, typer.Option(help="Form of the distribution of the next score; default unimodal.")
    ] = None
    history: Annotated[
        list[Path] | None,
        typer.Option(
            help="Older version of the model (.skops, or a pickle), oldest first; repeatable.", metavar="FILE"
        ),
    ] = None
    horizon: Annotated[
        int | None, typer.Option(help="Retrainings that an option must survive; default 4.", metavar="N")
    ] = None
    n_refits: Annotated[
        int | None, typer.Option(help="Number of refits from which the spread of retraining is estimated.", metavar="N")
    ] = None
    moment_ball: Annotated[
        float | None,
        typer.Option(
            help="Assume the paper's ball of means and covariances of this radius, in place of --confidence and "
            "--history.",
            metavar="RADIUS",
        ),
    ] = None
    plausibility: Annotated[
        float | None,
        typer.Option(
            help="Least plausibility of an option: share of training rows at least as far from their neighbours; "
            "default 0.05, 0 for none.",
            metavar="P",
        ),
    ] = None
    cost: Annotated[Cost | None, typer.Option(help="How efforts add up: as they are, or squared.")] = None
    n_starts: Annotated[
        int | None,
        typer.Option(help="Starting rows of the search per applicant; more find better plans.", metavar="N"),
    ] = None
    random_state: Annotated[int | None, typer.Option(help="Random seed.", metavar="N")] = None


@dataclass(frozen=True, kw_only=True)
class ApplicantOptions:
    """Columns of applicants that are no features, and what a report shows of them."""

    label: Annotated[
        str | None, typer.Option("--id", help="Column of the applicants' names; default: numbers.", metavar="COL")
    ] = None
    group: Annotated[str | None, typer.Option(help="Column of groups that the report compares.", metavar="COL")] = None
    totals_only: Annotated[
        bool, typer.Option("--totals-only", help="Show only totals in the report, and no applicant one by one.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class PromisesOptions:
    """Which promises a model is tried on, and how many of them it may break."""

    promises: Annotated[
        str | None,
        typer.Option(
            help="Promises: a ledger (its URL, or an SQLite file), a run, plans (.copa, .zip), or a table of rows; "
            "default: the ledger of $COPA_LEDGER.",
            metavar="SOURCE",
        ),
    ] = None
    max_broken: Annotated[
        str, typer.Option(help="Promises that may be broken: a number such as 3, or a share, 2% or 0.02.", metavar="N")
    ] = "0"
    model_version: ModelVersion = None
    favourable: Annotated[
        str | None, typer.Option(help="Label that was promised, where nothing says it.", metavar="VALUE")
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Probability from which the model accepts; default: that of the bundle or the promises, else what "
            "`predict` says.",
            metavar="P",
        ),
    ] = None
