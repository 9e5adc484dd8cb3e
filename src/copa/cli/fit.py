"""`copa fit`: data, and a model or none, into a bundle."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from copa._core.words import counted, hint, listed, shown
from copa.cli.bundles import expected_kinds, load_model, pack_model, save_bundle
from copa.cli.messages import MisuseError, say, show, show_json
from copa.cli.options import (
    AsJson,
    Cost,
    Delimiter,
    Guarantee,
    NJobs,
    NOptions,
    NStarts,
    RandomState,
    Schema,
    Whom,
    require_outputs,
    set_up,
)
from copa.cli.tables_in import TableFile, open_table, read_whole
from copa.exceptions import DataError, InvalidInputError
from copa.models.spelling import spell_choices
from copa.schema import FeatureSchema
from copa.tables.kinds import TEXT, TRUTH
from copa.tables.values import text_of

if TYPE_CHECKING:
    import pandas as pd


MOST_TEXTS = 200  # different texts in a column that may change; more are names or notes, not choices


def read_training_data(
    table: TableFile, label: str, model: Any, schema: FeatureSchema | None, drop: list[str]
) -> tuple["pd.DataFrame", Any, dict[str, str]]:
    """Read features and labels; rows with a missing value are left out."""
    for name in (label, *drop):
        if name not in table.names:
            raise MisuseError(f"{table.path} has no column {shown(name)}; {hint(name, table.names)}")
    own = getattr(getattr(model, "best_estimator_", model), "feature_names_in_", None)
    columns = [name for name in table.names if name != label and name not in drop] if own is None else [*map(str, own)]
    columns = [*columns, *(name for name in (schema.names if schema else ()) if name not in columns)]
    if not columns:
        raise MisuseError(
            f"{table.path} has no column besides the label {shown(label)}; there is nothing to learn from"
        )
    expected = (schema_kinds(schema) if schema else {}) | expected_kinds(model)
    frame, kinds = read_whole(table, [*dict.fromkeys([*columns, label])], expected)
    _require_numbers(frame, kinds, schema)
    complete = frame.notna().all(axis=1)
    if complete.mean() < 0.5:
        worst = frame.isna().sum().sort_values(ascending=False)
        raise DataError(
            f"{table.path}: {int((~complete).sum())} of {len(frame)} rows have an empty cell, most of them in "
            f"{listed(worst.index[worst > 0].tolist()[:3])}; fill them in, or leave columns out with --drop"
        )
    if not complete.all():
        say(f"note: {counted(int((~complete).sum()), 'row')} with an empty cell left out of {len(frame):,}")
    frame = frame[complete].reset_index(drop=True)
    return frame[columns], _read_labels(frame[label], label), kinds


def schema_kinds(schema: FeatureSchema) -> dict[str, str]:
    """Kinds of the columns whose values the schema lists as text, or as true and false."""
    kinds = {}
    for feature in schema.features:
        values = feature.values or ()
        if values and all(isinstance(value, str) for value in values):
            kinds[feature.name] = TEXT
        elif values and all(isinstance(value, bool) for value in values):
            kinds[feature.name] = TRUTH
    return kinds


def _require_numbers(frame: "pd.DataFrame", kinds: dict[str, str], schema: FeatureSchema | None) -> None:
    """Raise if a column holds text where the model, the schema or its other cells ask for something else."""
    for name in frame.columns:
        is_numeric = schema is not None and name in schema and schema[name].is_numeric
        if kinds[name] == TEXT and not is_numeric:
            continue
        bad = [(k, cell) for k, cell in enumerate(frame[name]) if isinstance(cell, str) and not _is_number(cell)]
        if bad:
            row, cell = bad[0]
            wish = "true or false" if kinds[name] == TRUTH else "numbers"
            raise DataError(f"column {shown(name)} must hold {wish}, got {shown(cell)} in row {row}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_labels(column: "pd.Series[Any]", name: str) -> Any:
    distinct = column.unique().tolist()
    if len(distinct) != 2:
        raise DataError(
            f"the label {shown(name)} must have 2 different values, it has {len(distinct)}: "
            f"{listed(sorted(map(str, distinct)))}"
        )
    return column.to_numpy()


def read_favourable(favourable: str | None, labels: Any, name: str) -> Any:
    """The label as the data have it, from how it was written on the command line."""
    if favourable is None:
        return None
    known = {str(text_of(value)): value for value in np.unique(labels).tolist()}
    if favourable not in known:
        raise MisuseError(
            f"--favourable must be a value of the label {shown(name)}, {listed(list(known))}, got {shown(favourable)}"
        )
    return known[favourable]


def as_classes(model: Any, labels: Any, name: str) -> Any:
    """Labels in the type that the model knows them in."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InvalidInputError(f"the model is no fitted classifier: {type(model).__name__} has no classes_")
    known = {str(text_of(value)): value for value in np.asarray(classes).tolist()}
    unknown = [value for value in np.unique(labels).tolist() if str(text_of(value)) not in known]
    if unknown:
        raise DataError(
            f"the label {shown(name)} has the value {shown(unknown[0])}, and the model knows "
            f"{listed(list(known.values()))} only"
        )
    return np.array([known[str(text_of(value))] for value in labels.tolist()], dtype=np.asarray(classes).dtype)


def require_few_texts(features: "pd.DataFrame", spared: set[str]) -> None:
    """Raise if a column of text has more values than a choice can have."""
    from pandas.api.types import is_numeric_dtype

    for name in features.columns:
        if is_numeric_dtype(features[name].dtype) or name in spared:
            continue
        distinct = int(features[name].nunique())
        if distinct > MOST_TEXTS:
            raise DataError(
                f"column {shown(name)} holds {distinct:,} different texts in {len(features):,} rows, which is no "
                f"choice between values; leave it out with --drop {name}, or mark it immutable in a schema (--schema)"
            )


FOLDS = 5


def fit_default_model(table: "pd.DataFrame", labels: Any, schema: "FeatureSchema") -> tuple[Any, float]:
    """Fit the model, and say how good it is on rows that it has not seen.

    Parameters
    ----------
    table : N rows
    labels : (N,) two different ones
    schema : which of its columns are choices, and of which values

    Returns
    -------
    The fitted pipeline, and its cross-validated accuracy (5 folds, stratified)
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    _, counts = np.unique(np.asarray(labels), return_counts=True)
    if counts.min() < FOLDS:
        raise InvalidInputError(
            f"each label must be there at least {FOLDS} times to say how good a model is, the rarer one is there "
            f"{counts.min()} times; give more rows, or a model of your own with --model"
        )
    choices = [name for name in table.columns if _is_choice(table[name], schema)]
    numbers = [name for name in table.columns if name not in choices]
    values = [_values(table[name], schema) for name in choices]
    encoder = ColumnTransformer(
        [("choices", OneHotEncoder(categories=values or "auto"), choices), ("numbers", StandardScaler(), numbers)]
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000))
    accuracy = float(cross_val_score(model, table, labels, cv=FOLDS).mean())
    return model.fit(table, labels), accuracy


def _is_choice(column: "pd.Series[Any]", schema: "FeatureSchema") -> bool:
    from pandas.api.types import is_numeric_dtype

    return schema[column.name].is_categorical if column.name in schema else not is_numeric_dtype(column.dtype)


def _values(column: "pd.Series[Any]", schema: "FeatureSchema") -> list[Any]:
    """The values of a choice: all of the schema's, because an option may go to each, and not only those in the data."""
    values = column.unique().tolist()
    if column.name in schema:
        feature = schema[column.name]
        codes = np.arange(len(feature.values or ()))
        values = spell_choices(feature, codes, column.iloc[np.zeros_like(codes)]).tolist()  # all like the first
    return (
        values if any(isinstance(value, str) for value in values) else sorted(values)
    )  # as scikit-learn wants numbers


def fit(  # noqa: PLR0913, PLR0917 - the options of the command
    data: Annotated[Path, typer.Argument(help="Training data: .csv or .parquet.", metavar="DATA")],
    label: Annotated[str, typer.Option(help="Column with the outcome.", metavar="COL")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Bundle to write.", metavar="BUNDLE")],
    model: Annotated[
        Path | None, typer.Option(help="Fitted pipeline: .skops, .pkl or .joblib.", metavar="FILE")
    ] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load a pickle, and whatever code is in it.")
    ] = False,
    schema: Schema = None,
    immutable: Annotated[list[str] | None, typer.Option(help="Column that no option changes; repeatable.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None,
    favourable: Annotated[str | None, typer.Option(help="Label that a person wants.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Probability from which on the model accepts.")] = None,
    guarantee: Guarantee = None,
    guarantee_for: Whom = None,
    radius: Annotated[str, typer.Option(help="How far the next models may be off: a number, or auto.")] = "auto",
    n_options: NOptions = None,
    cost: Annotated[Cost | None, typer.Option(help="How the efforts of changes add up.")] = None,
    n_models: Annotated[int | None, typer.Option(help="Refits for the moments.", metavar="N")] = None,
    n_starts: NStarts = None,
    random_state: RandomState = None,
    n_jobs: NJobs = None,
    delimiter: Delimiter = ",",
    as_json: AsJson = False,
) -> None:
    """Learn how a model varies when it is retrained, and write all that planning needs to one file."""
    from copa.planner import RecoursePlanner

    require_outputs({"--output": (output, ())}, data, model, schema)
    table = open_table(data, delimiter)
    fitted = None if model is None else load_model(model, trust_pickle=trust_pickle)
    planner = set_up(
        RecoursePlanner(fitted, threshold=threshold, radius=_read_radius(radius), progress=False),
        guarantee=guarantee,
        guarantee_for=guarantee_for,
        n_options=n_options,
        cost=cost,
        n_models=n_models,
        n_starts=n_starts,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    _require_storable(fitted)
    _require_threshold(threshold, fitted)
    known = None if schema is None else FeatureSchema.load(schema)
    features, labels, kinds = read_training_data(table, label, fitted, known, drop or [])
    planner.schema = _describe(features, known, immutable or [])
    facts = {"label": label} | _learn(planner, features, labels, label=label, favourable=favourable)
    needed = dict.fromkeys([*planner.fitted_.model.columns, *planner.schema_.names])
    columns = {name: kinds[name] for name in needed}
    save_bundle(output, planner, columns, facts)
    if as_json:
        show_json({"bundle": str(output), **facts, "columns": columns})
    else:
        _show_facts(facts, output, schema_given=schema is not None)


def _learn(
    planner: Any, features: "pd.DataFrame", labels: Any, *, label: str, favourable: str | None
) -> dict[str, Any]:
    """Fit the planner, and a model where there is none yet; returns what there is to say about it."""
    if planner.model is None:
        planner.model, accuracy = fit_default_model(features, labels, planner.schema)
        facts = {"model": "one-hot and scaled columns, LogisticRegression", "cross_validated_accuracy": accuracy}
    else:
        labels = as_classes(planner.model, labels, label)
        accuracy = _accuracy(planner.model, features, labels)
        facts = {"model": type(planner.model).__name__, "accuracy_on_these_rows": accuracy}
    planner.favourable = read_favourable(favourable, labels, label)
    say("Refitting the model to see how it varies (a first run also compiles, for a minute or so) ...")
    planner.fit(features, labels)
    classes, counts = np.unique(labels, return_counts=True)
    return facts | {
        "rows": len(features),
        "labels": [text_of(value) for value in classes.tolist()],
        "favourable": text_of(planner.fitted_.model.favourable),
        "share_of_the_larger_label": float(counts.max() / counts.sum()),
        "radius": planner.radius_,
        "radius_source": planner.radius_source_,
    }


def _accuracy(model: Any, features: "pd.DataFrame", labels: Any) -> float:
    rows = features if hasattr(model, "feature_names_in_") else features.to_numpy()
    try:
        return float((np.asarray(model.predict(rows)) == labels).mean())
    except (ValueError, TypeError) as error:
        raise DataError(
            f"the model refuses these data: {error}; give it the columns that it was fitted to (--drop leaves some out)"
        ) from error


def _describe(features: "pd.DataFrame", schema: FeatureSchema | None, immutable: list[str]) -> FeatureSchema:
    """The schema, inferred where none is given."""
    known = list(schema.names if schema else features.columns)
    for name in immutable:
        if name not in known:
            raise MisuseError(f"--immutable: there is no column {shown(name)}; {hint(name, known)}")
    require_few_texts(features, {f.name for f in schema.features if f.immutable} if schema else set())
    if schema is None:
        say("note: without --schema any column may change that is not marked --immutable; see `copa schema infer`")
        return FeatureSchema.infer(features, immutable=immutable)
    return schema.replace({name: {"immutable": True} for name in immutable}).with_spreads(features)


def _require_storable(model: Any) -> None:
    """Raise, before any long work, for a model that no bundle can hold."""
    if model is not None:
        pack_model(model)


def _require_threshold(threshold: float | None, model: Any) -> None:
    probabilities = model is None or hasattr(model, "predict_proba")
    if threshold is not None and probabilities and not 0.0 < threshold < 1.0:
        raise MisuseError(f"--threshold must be a probability, above 0 and below 1, got {threshold:g}")


def _read_radius(text: str) -> Any:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError as error:
        raise MisuseError(f"--radius must be a number or auto, got {shown(text)}") from error


def _show_facts(facts: dict[str, Any], output: Path, *, schema_given: bool) -> None:
    if "cross_validated_accuracy" in facts:
        show(
            f"Model: {facts['model']}; cross-validated accuracy {facts['cross_validated_accuracy']:.3f} (5 folds; "
            f"always answering with the more frequent label has {facts['share_of_the_larger_label']:.3f})."
        )
    else:
        show(f"Model: {facts['model']}, accuracy {facts['accuracy_on_these_rows']:.3f} on these rows.")
    show(f"Favourable answer: {facts['favourable']!r} (of {listed(facts['labels'])}).")
    show(f"Ball of the next models: radius {facts['radius']:.3g} ({facts['radius_source']}).")
    if not schema_given:
        show("Schema: inferred from the data. Whether a column can change is not in the data: read it before you plan.")
    show(f"Bundle: {output}")
