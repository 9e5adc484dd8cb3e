"""`copa keep`: a model and new data in, a refit that keeps its promises out."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.files import write_atomically
from copa._core.progress import stage
from copa._core.words import counted
from copa.cli.fit import PICKLES, label_like, load_model, require_favourable
from copa.cli.messages import FAILED, FINE, MisuseError, misuse, say, show, show_json, show_table
from copa.cli.options import (
    AsJson,
    Delimiter,
    Drop,
    Target,
    TrustPickle,
    open_bundle,
    open_data,
    require_columns,
    require_outputs,
)
from copa.cli.promise_source import MAX_BROKEN, ModelVersion, OtherLedger, PromisesFile, open_promises
from copa.data.tables.cells import text_of

if TYPE_CHECKING:
    from copa.promises import KeptModel

SHOWN = 10  # promises


def keep(  # noqa: PLR0913, PLR0917 - the options of the command
    model: Annotated[
        Path, typer.Argument(help="Fitted model (.skops), or a bundle made by `copa fit`.", metavar="MODEL")
    ],
    data: Annotated[Path, typer.Argument(help="Training data of the new model: .csv or .parquet.", metavar="DATA")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Write the model to this .skops file.", metavar="FILE")
    ],
    target: Target = None,
    promises: PromisesFile = None,
    ledger: OtherLedger = None,
    max_broken: Annotated[str, typer.Option(help=MAX_BROKEN, metavar="LIMIT")] = "0",
    margin: Annotated[float, typer.Option(help="Least score of a promised row.")] = 0.001,
    favourable: Annotated[str | None, typer.Option(help="Value of the target that was promised.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Probability from which the model will accept; default: that of the bundle or the promises."),
    ] = None,
    model_version: ModelVersion = None,
    drop: Drop = None,
    trust_pickle: TrustPickle = False,
    delimiter: Delimiter = ",",
    as_json: AsJson = False,
) -> int:
    """Refit a model to new data so that it accepts every row that was promised, and say what that costs."""
    from copa.data.tables.files import read_options
    from copa.models.storage import pack_model
    from copa.planner.training_data import as_classes, read_training_data
    from copa.promises import keep as keep_promises
    from copa.promises.broken_share import Limit

    require_outputs({"--output": (output, (".skops",))}, model, data, promises)
    if target is None:
        raise MisuseError("missing option --target: the column with the outcome")
    with misuse():
        limit = Limit.read(max_broken)
    fitted, known, own_threshold = _open_model(model, trust_pickle=trust_pickle)
    table = open_data(data, delimiter, drop or ())
    require_columns(table, [target])
    with stage("reading the training data"):
        training = read_training_data(table, target, fitted)
    for note in training.notes:
        say(f"note: {note}")
    labels = as_classes(fitted, training.labels, target)
    with ExitStack() as stack, misuse():
        promised = open_promises(ledger, promises, lambda path: read_options(path, delimiter), stack)
        said = known if known is not None else _promised_label(promised)
        if favourable is not None or said is None:
            wanted = label_like(require_favourable(favourable, table, target, None), labels)
        else:
            wanted = label_like(str(text_of(said)), labels)
        kept = keep_promises(
            fitted,
            training.features,
            labels,
            promised,
            max_broken=max_broken,
            margin=margin,
            favourable=wanted,
            threshold=own_threshold if threshold is None else threshold,
            model_version=model_version,
        )
        raw = pack_model(kept.model)
    write_atomically(output, raw)
    if as_json:
        show_json({"written": str(output), **kept.to_dict()})
    else:
        _show(kept, output)
    if kept.n_broken_after > limit.of(kept.n_promises):
        broken = counted(kept.n_broken_after, "promise")
        say(f"error: {broken} would be broken, and {limit.in_words(kept.n_promises)}")
        return FAILED
    return FINE


def _open_model(path: Path, *, trust_pickle: bool) -> tuple[Any, Any, float | None]:
    """A fitted model, and the label and the threshold of a bundle; None for both where it is a model alone."""
    if path.suffix.lower() in (".skops", *PICKLES):
        return load_model(path, trust_pickle=trust_pickle), None, None
    bundle = open_bundle(path)
    return bundle.planner.model, bundle.fitted.model.favourable, bundle.planner.threshold


def _promised_label(promised: Any) -> Any:
    """The label that plans or a ledger are about; None of a table."""
    return getattr(getattr(promised, "basis", promised), "favourable", None)


def _show(kept: "KeptModel", output: Path) -> None:
    show(
        f"Promises: {kept.n_promises:,}, each tried at its promised row only; the plain refit breaks "
        f"{kept.n_broken_before:,}, this model {kept.n_broken_after:,} ({kept.method})."
    )
    rows = [[name, *(f"{value:.4f}" for value in kept.metrics.loc[name])] for name in kept.metrics.index]
    show_table(["on held-out rows", *(name.replace("_", " ") for name in kept.metrics.columns)], rows)
    dear = kept.multipliers[kept.multipliers > 0.0]
    if len(dear):
        show(f"Binding: {counted(len(dear), 'promise')}; the dearest:")
        show_table(["promise", "price"], [[str(name), f"{value:.3g}"] for name, value in dear.head(SHOWN).items()])
    if len(kept.path) and "promise" in kept.path:
        show_table(
            ["released", "its price", "price of the rest"],
            [
                [entry["promise"], f"{entry['multiplier']:.3g}", f"{entry['price']:.4g}"]
                for entry in kept.path.to_dict("records")
            ],
        )
    for name, reason in kept.broken.head(SHOWN).items():
        show(f"Not kept: {name}: {reason}")
    if kept.note:
        show(f"Note: {kept.note}.")
    show(f"Written: {output}")
