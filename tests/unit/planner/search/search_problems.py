"""Tiny problems handed to the compiled search, and its answers in the places of the enumeration of `tests/oracle`.

The only file of these tests that knows how the search is called and how it names things.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import copa
from copa.data.schema import Feature, FeatureSchema
from copa.planner.search.arguments import Outcome
from copa.planner.search.nearest import find_nearest_rows
from copa.planner.search.neighbourhood import Draws, rows_around, rows_between
from copa.planner.search.rows import relaxed_rows, write_rows
from copa.planner.search.run import Goals, price_multipliers, search_plans
from oracle.exhaustive_menus import places_of
from oracle.tiny_problems import TinyProblem

WORDS = {outcome: outcome.name.lower().replace("_", " ") for outcome in Outcome}


@dataclass(frozen=True)
class Answer:
    """What the search says of one applicant.

    Attributes
    ----------
    outcome : "met", "below" (only a lower level is reached), "unreachable" or "timed out"
    rows : options as raw rows, or the one row that is nearest
    places : the same as the enumeration has them: numbers, and positions of the other values, (J, n)
    highest : level reached
    """

    outcome: str
    rows: pd.DataFrame
    places: np.ndarray
    highest: float


def by_hand(
    columns: dict[str, tuple[float, float]], intercept: float, *, rules: tuple[str, ...] = (), **settings: dict
):
    """A problem of numeric columns that the model reads as they are, and that hardly vary from model to model.

    Parameters
    ----------
    columns : by name, what a unit adds to the score, and the applicant's own value
    settings : of the columns' features, beyond a range from 0 to 9, whole steps and a spread of 1
    """
    base = {"lower": 0.0, "upper": 9.0, "step": 1.0, "spread": 1.0}
    features = tuple(Feature(name, "numeric", **{**base, **settings.get(name, {})}) for name in columns)
    slopes, own = np.array(list(columns.values())).T
    table = pd.DataFrame({name: np.arange(20.0) % (3 + k) for k, name in enumerate(columns)})
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), LogisticRegression())
    pipeline.fit(table, np.arange(20) % 2 == 1)
    pipeline[-1].coef_, pipeline[-1].intercept_ = slopes[None], np.array([intercept])
    return TinyProblem(
        schema=FeatureSchema(features, rules),
        pipeline=pipeline,
        moments=copa.WeightMoments(np.append(intercept, slopes), 1e-6 * np.eye(len(columns) + 1)),
        radius=0.0,
        drift=None,
        guarantee=0.9,
        table=table,
        applicants=pd.DataFrame([own], columns=list(columns)),
        has_ties=bool(rules),
    )


class Searcher:
    """The compiled search for the applicants of one problem."""

    def __init__(self, problem: TinyProblem, **settings: object) -> None:
        self.problem = problem
        planner = copa.RecoursePlanner(
            problem.pipeline,
            schema=problem.schema,
            n_jobs=1,
            progress=False,
            **settings
            | {
                "later_models": copa.MomentBall(
                    problem.moments.mean, problem.moments.cov, problem.radius, drift=problem.drift
                )
            },
        )
        self.fitted = planner.fit(problem.table).strategy_
        self.space, self.floor = self.fitted.space, self.fitted.floor
        self.applicants = self.fitted.read_applicants(problem.applicants)

    def __len__(self) -> int:
        return len(self.applicants)

    def plans(self, level: float, n_options: int, *, weight: float = 2.0, n_starts: int = 24, **how) -> list[Answer]:
        """Plans of so many options for every applicant, each option at the level (-1: merely accepted today)."""
        n_columns = len(self.space.columns)
        found = search_plans(
            self.fitted.linearisation,
            self.applicants.regions,
            self.applicants.encoded,
            self.applicants.slack,
            self._goals(level, len(self)),
            n_options=n_options,
            diversity_weight=weight,
            multipliers=price_multipliers(n_starts, n_columns, 0),
            n_jobs=1,
            **how,
        )
        owner, option = found.positions
        rows = self.written(owner, found.options[owner, option])
        return self._answers(found.outcomes, rows, np.searchsorted(owner, np.arange(len(self) + 1)), found.highest)

    def nearest(self, owner: np.ndarray, targets: np.ndarray, level: float = -1.0, **how) -> list[Answer]:
        """The row nearest to each target (M, D) that the applicants `owner` (M,) may take and that meets the level."""
        some = self.applicants.take(owner)
        found = find_nearest_rows(
            self.fitted.linearisation,
            some.regions,
            some.encoded,
            some.slack,
            targets,
            self._goals(level, len(owner)),
            n_jobs=1,
            **how,
        )
        rows = self.written(owner, found.rows)
        return self._answers(found.outcomes, rows, np.arange(len(owner) + 1), found.highest)

    def around(self, n_rows: int, reach: float = 1.0) -> list[pd.DataFrame]:
        """Random rows around each applicant."""
        rows = self.written(np.repeat(np.arange(len(self)), n_rows), self.drawn(n_rows, reach))
        edges = np.arange(len(self) + 1) * n_rows
        return [rows.iloc[a:b].reset_index(drop=True) for a, b in _pairs(edges)]

    def drawn(self, n_rows: int, reach: float = 1.0) -> np.ndarray:
        """The same as the search has them, one applicant after another."""
        regions = self.applicants.regions
        return rows_around(self.space, regions, regions.own, Draws.make(n_rows, self.space, 0), reach)

    def between(self, answers: list[Answer], share: float) -> list[pd.DataFrame]:
        """Rows that are a share of the way from each applicant to the first option of its plan."""
        options = pd.concat([a.rows.iloc[:1] for a in answers], ignore_index=True)
        there = self.fitted.read_applicants(options).regions.own
        shape = (len(answers), len(self.space.categorical))
        order = np.linspace(0.1, 0.9, shape[0] * shape[1]).reshape(shape)
        between = rows_between(self.space, self.applicants.regions, there, np.full(len(answers), share), order)
        rows = self.written(np.arange(len(answers)), between)
        return [rows.iloc[[i]].reset_index(drop=True) for i in range(len(answers))]

    def encode(self, rows: pd.DataFrame) -> np.ndarray:
        """Rows as the pipeline sees them, the intercept's 1 first."""
        return np.column_stack([np.ones(len(rows)), self.problem.pipeline[:-1].transform(rows)])

    def sums_of_moves(self, rows: pd.DataFrame, owner: np.ndarray) -> np.ndarray:
        """Rows as the search sees them: the applicant's, plus what each change adds, (M, D)."""
        there, here = self.fitted.read_applicants(rows).regions.own, self.applicants.take(owner)
        return relaxed_rows(self.fitted.linearisation, here.regions, here.encoded, there)

    def _goals(self, level: float, n: int) -> Goals:
        return Goals(self.fitted.parameters, np.full(n, level), np.full(n, self.floor))

    def _answers(
        self, outcomes: np.ndarray, rows: pd.DataFrame, edges: np.ndarray, highest: np.ndarray
    ) -> list[Answer]:
        places = places_of(self.problem.schema, rows)
        return [
            Answer(WORDS[int(outcomes[k])], rows.iloc[a:b].reset_index(drop=True), places[a:b], float(highest[k]))
            for k, (a, b) in enumerate(_pairs(edges))
        ]

    def written(self, owner: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
        """Rows (M, F) of the applicants `owner` (M,) as a table."""
        written = write_rows(self.space, self.applicants.table, self.applicants.regions, owner, rows).frame
        return written[list(self.problem.schema.names)]


def _pairs(edges: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
