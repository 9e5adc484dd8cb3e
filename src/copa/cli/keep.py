"""`copa keep`: a model and new data in, a refit that keeps its promises out."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.files import write_atomically
from copa._core.progress import stage
from copa._core.words import counted
from copa.cli.commands import inherited, wants_json
from copa.cli.files import (
    PICKLES,
    load_skops,
    open_bundle,
    open_data,
    open_promises,
    require_columns,
    require_outputs,
)
from copa.cli.fit import require_favourable
from copa.cli.messages import FAILED, FINE, misuse, say, show, show_json, show_table
from copa.cli.options import PromisesOptions, Target
from copa.models.decisions import match_label

if TYPE_CHECKING:
    from copa.promises import KeptModel

SHOWN = 10  # promises


def keep(
    model: Annotated[
        Path, typer.Argument(help="Fitted model (.skops), or a bundle made by `copa fit`.", metavar="MODEL")
    ],
    data: Annotated[Path, typer.Argument(help="Training data of the new model: .csv or .parquet.", metavar="DATA")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Write the model to this .skops file.", metavar="FILE")
    ],
    tried: PromisesOptions,
    *,
    target: Target,
) -> int:
    """Refit a model to new data so that it accepts every row that was promised, and say what that costs."""
    from copa.data.tables.files import read_options
    from copa.models.storage import pack_model
    from copa.planner.training_data import as_classes, read_training_data
    from copa.promises import keep as keep_promises
    from copa.promises.broken_share import Limit

    source = None if tried.promises is None else Path(tried.promises)
    require_outputs(output, (".skops",), model, data, source)
    with misuse():
        limit = Limit.read(tried.max_broken)
    fitted, known, own_threshold = _open_model(model)
    table = open_data(data)
    require_columns(table, [target])
    with stage("reading the training data"):
        training = read_training_data(table, target, fitted)
    for note in training.notes:
        say(f"note: {note}")
    labels = as_classes(fitted, training.labels, target)
    with ExitStack() as stack, misuse():
        promised = open_promises(tried.promises, lambda path: read_options(path, inherited("delimiter", ",")), stack)
        said = known if known is not None else _promised_label(promised)
        if tried.favourable is not None or said is None:
            said = require_favourable(tried.favourable, table, target, None)
        kept = keep_promises(
            fitted,
            training.features,
            labels,
            promised,
            max_broken=tried.max_broken,
            favourable=match_label(said, np.unique(labels).tolist()),
            threshold=own_threshold if tried.threshold is None else tried.threshold,
            model_version=tried.model_version,
        )
        raw = pack_model(kept.model)
    write_atomically(output, raw)
    if wants_json():
        show_json({"written": str(output), **kept.to_dict()})
    else:
        _show(kept, output)
    if kept.n_broken_after > limit.of(kept.n_promises):
        broken = counted(kept.n_broken_after, "promise")
        say(f"error: {broken} would be broken, and {limit.in_words(kept.n_promises)}")
        return FAILED
    return FINE


def _open_model(path: Path) -> tuple[Any, Any, float | None]:
    """Return a fitted model, and the label and the threshold of a bundle; None for both where it is a model alone."""
    if path.suffix.lower() in (".skops", *PICKLES):
        return load_skops(path, "the model"), None, None
    bundle = open_bundle(path)
    return bundle.planner.model, bundle.planner.strategy_.model.favourable, bundle.planner.threshold


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
