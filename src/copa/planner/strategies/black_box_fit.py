"""Getting to know a black box: is every row readable, how does it vary when it is retrained."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.progress import progress_bar
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.black_box import BlackBox
from copa.models.storage import typical_rows
from copa.planner.settings import FitSettings
from copa.planner.strategies.black_box_state import BlackBoxPlanner, local_space
from copa.planner.strategies.lime import RADIUS, LimePlanner, lime_ball
from copa.schema import FeatureSchema
from copa.schema.region import possible_moves
from copa.search.problem import ActionSpace, Places
from copa.search.rows import write_rows
from copa.uncertainty.score_retraining import draw_samples, fresh_data_radius, require_clonable, retrain, standard_ball

if TYPE_CHECKING:
    import pandas as pd

N_MODELS = 40  # refits for the moments where nothing is said
PROBED = 8  # rows of the data around which the model must be able to read rows
HELD_OUT_SHARE = 0.5  # further refits, as a share of those for the moments


def fit_black_box(
    model: BlackBox, schema: FeatureSchema, X: "pd.DataFrame", y: Any, settings: FitSettings
) -> BlackBoxPlanner | LimePlanner:
    """Check the model on rows such as it will be asked about, and retrain it."""
    if settings.moments is not None:
        raise InvalidInputError("moments are those of a linear model's parameters, and this model is not linear")
    n_models = N_MODELS if settings.n_models is None else settings.n_models
    space = local_space(schema, settings.power)
    require_readable([model], space, X)
    model = replace(model.sharpened(X), typical=typical_rows(X[list(model.columns)]))
    if settings.surrogate == "lime":
        return _fit_lime(model, space, settings)
    require_clonable(model)
    target = read_target(model, y, len(X))
    n_held_out = count_held_out(n_models)
    samples = draw_samples(target, n_models + n_held_out, np.random.default_rng(settings.seed))
    with progress_bar(len(samples), "retraining", settings.progress, unit="fit") as advance:
        fits = retrain(model, X, y, samples, seed=settings.seed + 1, n_jobs=settings.n_jobs, advance=advance)
    require_readable([model, *fits], space, X)
    radius, source = settings.radius, "given"
    if isinstance(radius, str):
        radius = fresh_data_radius(n_models)
        source = f"for a model trained on fresh data, known from {n_models} refits: {radius:.3g} standard deviations"
    return BlackBoxPlanner(
        model=model,
        space=space,
        retrained=fits[:n_models],
        held_out=fits[n_models:],
        ball=standard_ball(settings.n_options, float(radius)),
        radius_source=source,
        seed=settings.seed,
    )


def _fit_lime(model: BlackBox, space: ActionSpace, settings: FitSettings) -> LimePlanner:
    """The paper's way: nothing is retrained, a covariance is assumed."""
    radius, source = settings.radius, "given"
    if isinstance(radius, str):
        radius, source = RADIUS, "the paper's"
    ball = lime_ball(settings.n_options, float(radius))
    return LimePlanner(model=model, space=space, ball=ball, radius_source=source, seed=settings.seed)


def count_held_out(n_models: int) -> int:
    """Refits on which the options are tried."""
    return max(2, round(HELD_OUT_SHARE * n_models))


def require_readable(models: Sequence[BlackBox], space: ActionSpace, X: "pd.DataFrame") -> None:
    """Raise, before any work, if a model cannot read rows such as the search will ask about."""
    rows = probes(space, X)
    for model in models:
        try:
            scores = model.scores(rows)
        except Exception as error:
            what = _unreadable_value(model, space, X) or "rows"
            raise InvalidInputError(
                f"the model{'' if model is models[0] else ', retrained,'} cannot read {what} that the schema allows "
                f"({type(error).__name__}: {error}); make the schema narrower (allowed values, ranges), or the "
                "pipeline more tolerant (handle_unknown='ignore')"
            ) from error
        if not np.isfinite(scores).all():
            raise InvalidInputError("the model gives probabilities that are no numbers for rows that the schema allows")


def _unreadable_value(model: BlackBox, space: ActionSpace, X: "pd.DataFrame") -> str:
    """Name a value of a choice that the model cannot read by itself, "" where it can read all of them."""
    few = _good_rows(space, X)
    places = Places.read(space, few)
    for k, feature in enumerate(space.choices):
        for code, value in enumerate(feature.values or ()):
            atoms = places.atoms.copy()
            atoms[:, k] = space.ends[k] + code
            try:
                model.scores(write_rows(space, few, places, np.arange(len(few)), places.values, atoms))
            except Exception:  # noqa: BLE001 - whatever the model has against it
                return f"the value {shown(value)} of column {feature.name!r}"
    return ""


def _good_rows(space: ActionSpace, X: "pd.DataFrame") -> "pd.DataFrame":
    """A few rows of the data that the schema finds good, spread over the table."""
    few = X.iloc[np.linspace(0, len(X) - 1, min(PROBED, len(X))).astype(int)]
    return few.iloc[np.flatnonzero([not message for message in space.schema.check(few)])]


def probes(space: ActionSpace, X: "pd.DataFrame") -> "pd.DataFrame":
    """Rows of the data, also with each line at each end of its range, and each value that a choice may change to."""
    few = _good_rows(space, X)
    places = Places.read(space, few)
    varied = [(places.values, places.atoms)]
    for k in range(len(space.lines) if len(few) else 0):
        for end in (places.lower, places.upper):
            values = places.values.copy()
            values[:, k] = end[:, k]
            varied.append((values, places.atoms))
    for k, feature in enumerate(space.choices if len(few) else ()):
        for code in np.flatnonzero(possible_moves(feature).sum(axis=0) > 1):  # from its own, and from another one
            atoms = places.atoms.copy()
            atoms[:, k] = space.ends[k] + code
            varied.append((places.values, atoms))
    owner = np.tile(np.arange(len(few)), len(varied))
    values, atoms = (np.concatenate([pair[part] for pair in varied]) for part in (0, 1))
    return write_rows(space, few, places, owner, values, atoms)


def read_target(model: BlackBox, y: Any, n_rows: int) -> Any:
    """1.0 where the label is the favourable one, (n,); needed to retrain."""
    if y is None:
        raise InvalidInputError("y is needed to retrain the model: how its answers vary is what a promise rests on")
    labels = model.read_labels(y, n_rows)
    return (labels == model.favourable).astype(np.float64)
