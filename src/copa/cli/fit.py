"""`copa fit`: data, and a model or none, into a bundle."""

import warnings
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.progress import stage
from copa._core.words import listed, shown
from copa.cli.commands import wants_json
from copa.cli.files import load_model, open_data, planner_settings, require_columns, require_outputs, set_up
from copa.cli.messages import MisuseError, misuse, say, show, show_json, show_table
from copa.cli.options import Drop, Favourable, ModelFile, PlannerOptions, Schema, Target, TrustPickle
from copa.data.schema import FeatureSchema
from copa.data.schema.recognition import many_texts
from copa.data.schema.support import withheld_in_words
from copa.data.tables.casting import kinds_of
from copa.data.tables.cells import text_of
from copa.data.tables.files import TableFile
from copa.exceptions import BlackBoxWarning, DataError, OutOfReachWarning, WeakModelWarning
from copa.models.decisions import match_label
from copa.models.encoders import encoder_categories

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.training_data import TrainingData


def require_few_texts(features: "pd.DataFrame", spared: Container[str]) -> None:
    """Raise if a column of text has more values than a choice can have."""
    for name, what in many_texts(features, spared).items():
        raise DataError(f"{what}; leave it out with --drop {name}, or mark it immutable in a schema (--schema)")


def fit(  # noqa: PLR0913 - the options of the command
    data: Annotated[Path, typer.Argument(help="Training data: .csv or .parquet.", metavar="DATA")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the bundle to this file.", metavar="BUNDLE")],
    *,
    target: Target,
    favourable: Favourable = None,
    model: ModelFile = None,
    trust_pickle: TrustPickle = False,
    schema: Schema = None,
    drop: Drop = None,
    settings: PlannerOptions,
) -> None:
    """Learn how a model varies when it is retrained, and write all that planning needs to one file."""
    from copa.planner import RecoursePlanner
    from copa.planner.bundle import save_bundle
    from copa.planner.training_data import read_training_data

    require_outputs(output, (), data, model, schema)
    table = open_data(data, drop or ())
    require_columns(table, [target])
    table.require_distinct()
    known = None if schema is None else _without(FeatureSchema.load(schema), drop or [])
    wanted = require_favourable(favourable, table, target, known)
    fitted = None if model is None else load_model(model, trust_pickle=trust_pickle)
    planner = RecoursePlanner(fitted)
    set_up(planner, planner_settings(settings, trust_pickle=trust_pickle))
    _require_storable(fitted)
    _require_threshold(settings.threshold, fitted)
    with stage("reading the training data"):
        training = read_training_data(table, target, fitted, known)
    for note in training.notes:
        say(f"note: {note}")
    with stage("describing the columns"):
        planner.schema = _describe(training.features, known, fitted)
    facts = {"label": target} | _learn(planner, training, target=target, favourable=wanted)
    template = training.template[[*dict.fromkeys([*planner.strategy_.model.columns, *planner.schema_.names])]]
    with stage("writing the bundle"):
        save_bundle(output, planner, template, facts)
    if wants_json():
        show_json({"bundle": str(output), **facts, "columns": kinds_of(template)})
    else:
        _show_facts(facts, output, schema_given=schema is not None)


def _learn(planner: Any, training: "TrainingData", *, target: str, favourable: Any) -> dict[str, Any]:
    """Fit the planner, and a model where there is none yet; returns what there is to say about it."""
    from copa.models.linear import why_black_box
    from copa.planner.labels import weakness_of
    from copa.planner.training_data import as_classes, fit_default_model

    features, labels = training.features, training.labels
    if planner.model is None:
        planner.model, accuracy = fit_default_model(features, labels, planner.schema)
        facts = {"model": "one-hot and scaled columns, LogisticRegression", "cross_validated_accuracy": accuracy}
    else:
        labels = as_classes(planner.model, labels, target)
        accuracy = float((_answers(planner.model, features) == labels).mean())
        facts = {"model": type(planner.model).__name__, "accuracy_on_these_rows": accuracy}
    planner.favourable = match_label(favourable, np.unique(labels).tolist())
    if reason := why_black_box(planner.model):
        say(f"note: {reason}")
    with warnings.catch_warnings():
        for said in (WeakModelWarning, BlackBoxWarning, OutOfReachWarning):
            warnings.simplefilter("ignore", said)
        planner.fit(features, labels)
    weakness = weakness_of(planner.strategy_.model, features, labels)
    if weakness:
        say(f"warning: {weakness}")
    withheld = withheld_in_words(planner.schema_.features)
    if withheld:
        say(f"note: {withheld}")
    classes, counts = np.unique(labels, return_counts=True)
    return facts | {
        "rows": len(features),
        "labels": [text_of(value) for value in classes.tolist()],
        "favourable": text_of(planner.strategy_.model.favourable),
        "share_of_the_larger_label": float(counts.max() / counts.sum()),
        "radius": planner.radius_,
        "radius_source": planner.radius_source_,
        "reliability": planner.strategy_.reliability,
        "shortage": planner.strategy_.shortage,
        "served": None if planner.served_ is None else planner.served_.to_frame().to_dict("records"),
    }


def _answers(model: Any, features: "pd.DataFrame") -> Any:
    rows = features if hasattr(model, "feature_names_in_") else features.to_numpy()
    try:
        return np.asarray(model.predict(rows))
    except (ValueError, TypeError) as error:
        raise DataError(
            f"the model refuses these data: {error}; give it the columns that it was fitted to (--drop leaves some out)"
        ) from error


def _without(schema: FeatureSchema, drop: list[str]) -> FeatureSchema:
    """The schema without the columns that are left out."""
    return replace(schema, features=tuple(feature for feature in schema.features if feature.name not in drop))


def _describe(features: "pd.DataFrame", schema: FeatureSchema | None, model: Any) -> FeatureSchema:
    """Return the schema, inferred from the data and the encoders of the model where none is given."""
    require_few_texts(features, {f.name for f in schema.features if f.immutable} if schema else set())
    if schema is not None:
        return schema.with_spreads(features)
    inferred = FeatureSchema.infer(features, categories=encoder_categories(model))
    for name, note in inferred.notes.items():
        say(f"note: {name}: {note}")
    say("note: without --schema every column may change; see `copa schema infer`")
    return inferred


def _require_storable(model: Any) -> None:
    """Raise, before any long work, for a model that no bundle can hold."""
    from copa.models.storage import pack_model

    if model is not None:
        with misuse():
            pack_model(model)


def _require_threshold(threshold: float | None, model: Any) -> None:
    probabilities = model is None or hasattr(model, "predict_proba")
    if threshold is not None and probabilities and not 0.0 < threshold < 1.0:
        raise MisuseError(f"--threshold must be a probability, above 0 and below 1, got {threshold:g}")


def _show_facts(facts: dict[str, Any], output: Path, *, schema_given: bool) -> None:
    if "cross_validated_accuracy" in facts:
        show(
            f"Model: {facts['model']}; cross-validated accuracy {facts['cross_validated_accuracy']:.3f} (5 folds; "
            f"always answering with the more frequent label has {facts['share_of_the_larger_label']:.3f})."
        )
    else:
        show(f"Model: {facts['model']}, accuracy {facts['accuracy_on_these_rows']:.3f} on these rows.")
    show(f"Favourable answer: {facts['favourable']!r} (of {listed(facts['labels'])}).")
    show(f"What the next models may do: radius {facts['radius']:.3g} ({facts['radius_source']}).")
    if facts["shortage"]:
        show(f"Note: {facts['shortage']}. Plans will be fragile.")
    if facts["served"] is not None:
        show("Of declined training rows that were tried, so many have a plan that reaches a guarantee:")
        show_table(
            ["guarantee", "rows", "share"],
            [[f"{line['guarantee']:g}", str(line["rows"]), f"{line['share']:.0%}"] for line in facts["served"]],
        )
    if not schema_given:
        show("Schema: inferred from the data. Whether a column can change is not in the data: read it before you plan.")
    show(f"Bundle: {output}")


def require_favourable(given: str | None, table: TableFile, target: str, schema: FeatureSchema | None) -> Any:
    """Return the label that applicants want: that of the command line, else the schema's, else true.

    Raises
    ------
    MisuseError
        If it is none of the two labels, or nothing says which it is.
    DataError
        If the target has not two labels.
    """
    from copa.planner.labels import is_truth, shares_in_words
    from copa.planner.training_data import read_target

    labels = read_target(table, target)
    classes = np.unique(labels).tolist()
    texts = [str(text_of(label)) for label in classes]
    wanted: Any = given
    if given is None and schema is not None:
        wanted = schema.favourable
    if wanted is None and is_truth(classes):
        return True
    if wanted is None:
        choice = " or ".join(f"--favourable {quote(text)}" for text in reversed(texts))
        raise MisuseError(
            f"--favourable must say which value of {shown(target)} an applicant wants, "
            f"{shares_in_words(classes, labels)}: add {choice}, or write `favourable:` and the value into the schema"
        )
    label = match_label(wanted, classes)
    if label is None:
        source = "favourable of the schema" if given is None else "--favourable"
        raise MisuseError(
            f"{source} must be a value of the label {shown(target)}, {listed(texts)}, got {shown(wanted)}"
        )
    return label
