"""COPA as its users get it: `RecoursePlanner`, real rows that obey the schema, at a level of guarantee."""

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.case import classifier
from reproduction.methods.base import Plans

if TYPE_CHECKING:
    from copa import PlanBatch
    from reproduction.case import Case

GUARANTEE = 0.9


@dataclass(frozen=True)
class Planner:
    """Menus of the planner, every option with a guarantee of 0.9; where that is out of reach, the highest there is."""

    name: str = "COPA planner"

    def plans(self, case: "Case") -> Plans:
        """Build the menus of all applicants who have at least one option; missing options of a menu are NaN."""
        batch, seconds = self.menus(case)
        served = np.flatnonzero(batch.counts > 0)
        points = np.full((len(served), case.settings.n_options, case.encoding.dimension), np.nan)
        chosen = batch.select(served)
        place = np.concatenate([np.zeros(0, dtype=int), *(np.arange(count) for count in chosen.counts)])
        points[chosen.owner, place] = chosen.points
        return Plans(served, points, np.full(len(served), seconds), chosen.options)

    def menus(self, case: "Case") -> "tuple[PlanBatch, float]":
        """Return all menus and the seconds per applicant."""
        planner = fitted_planner(case)
        started = process_time()
        batch = planner.plan(case.applicants)
        return batch, (process_time() - started) / max(len(batch), 1)


def fitted_planner(case: "Case") -> Any:
    """Return a planner for the deployed classifier, with the case's moments and a radius from bootstrap samples."""
    from copa import RecoursePlanner

    features, good = case.data.present.features, case.data.present.favourable
    planner = RecoursePlanner(
        pipeline(case),
        schema=case.data.schema,
        guarantee=GUARANTEE,
        n_options=case.settings.n_options,
        moments=case.moments,
        random_state=case.settings.seed,
        n_jobs=1,
        progress=False,
    )
    return planner.fit(features, good)


def pipeline(case: "Case") -> Any:
    """Return the deployed classifier as a pipeline over raw columns, with the coordinates of the case's encoding."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    encoding, features = case.encoding, case.data.present.features
    encoder = ColumnTransformer(
        [
            ("numbers", MinMaxScaler(), list(encoding.numbers)),
            (
                "choices",
                OneHotEncoder(categories=[list(values) for _, values in encoding.choices], sparse_output=False),
                [name for name, _ in encoding.choices],
            ),
        ]
    )
    model = make_pipeline(encoder, classifier()).fit(features, case.data.present.favourable)
    model[-1].coef_[:] = case.theta[1:]  # trained on 80 % of the rows, which the ranges do not depend on
    model[-1].intercept_[:] = case.theta[0]
    return model
