"""`RecoursePlanner`: the front door."""

from dataclasses import replace
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from copa._core.compilation import compiled_meanwhile
from copa._core.progress import progress_bar
from copa._core.words import require_known
from copa.external import ExternalPlans
from copa.models.black_box import BlackBox
from copa.models.linear import LinearModel, is_linear
from copa.planner import settings
from copa.planner.audit import ReadablePlans, audit_plans, read_given
from copa.planner.correct import CorrectedPlans, correct_plans
from copa.planner.persistence import load_planner, save_planner, unpack_planner
from copa.planner.plan import BLOCK, plan_block
from copa.planner.request import Request
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.linear import Linear
from copa.planner.strategies.registry import read_surrogate
from copa.planner.strategies.weighted import Weighted
from copa.plans import PlanBatch, PlanTerms
from copa.schema import FeatureSchema
from copa.schema.columns import read_table
from copa.search.run import price_multipliers
from copa.uncertainty import WeightMoments

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from copa._core.archive import Budget
    from copa.search.cost import Cost

# What likeness of the options costs, in units of the cheapest option: docs/planning.md shows menus at other weights.
MENU_WEIGHT = 2.0
PAPER_DIVERSITY = 5.0
KERNELS = ("copa.bounds._kernels.lower", "copa.bounds._kernels.mixture", "copa.search._kernels.plans")


class RecoursePlanner(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Builds menus of options that keep their promise when the model is retrained.

    Parameters
    ----------
    model : fitted scikit-learn classifier, or Pipeline that ends in one
        Linear: LogisticRegression, LinearSVC, SGDClassifier, RidgeClassifier, Perceptron, or CalibratedClassifierCV
        over one. Any other classifier with `predict_proba` is asked, never looked into.
    schema : FeatureSchema, its dict, or the path of its file
        What the raw columns are and what may happen to them. None infers the kinds and ranges from the data given to
        `fit`, and lets *every* column change: state what is immutable before you show a plan to anyone.
    guarantee : float
        Probability that an option must hold with, for every distribution in the ball.
    guarantee_for : "each", "all" or "any"
        Whether each option must hold with it, all of them together, or at least one.
    radius : float or "auto"
        How far the moments of the next models may be from those of retraining. "auto" takes it from bootstrap samples.
    drift : "auto", "cov", None or array (D, D)
        Shape of the ball: the covariance of retraining ("cov"), the identity (None, the paper's) or a matrix. "auto" is
        "cov" with `radius="auto"`, and None with a number.
    n_options : int
        Most options per applicant, up to 79.
    objective : "level" or "paper"
        "level" asks for the guarantee; "paper" minimises the paper's objective with the three weights below and
        reports whatever guarantee comes out.
    cost : "l1", "l2" or Cost
        Effort of a row: the sum over columns of weight x change / spread, or its Euclidean form.
    diversity_weight : float, optional
        What likeness of the options costs. None: 2 for "level" (in units of the cheapest option), 5 for "paper".
    validity_weight, margin : float
        Of the paper's objective.
    threshold : float, optional
        Probability of the favourable label from which on the model accepts (for a model without probabilities, a
        value of its decision function). None: what `predict` says.
    favourable : label, optional
        The outcome a person wants; `classes_[1]` if nothing is said.
    moments : WeightMoments, optional
        Of the classifier's parameters on the encoded columns, as scikit-learn has them; None retrains the model.
    surrogate : "boundary" or "lime"
        For a model that is not linear: stand-ins fitted at the boundary and again where they were wrong, the promise
        resting on refits; or, for comparison, the paper's, fitted once around the applicant with an assumed covariance.
    n_models : int, optional
        Refits for the moments; None: 1000 of a linear model, 40 of another (and half as many to try the options on).
    n_starts : int
        Rows that the search puts into each applicant's pool; more find better menus, in proportion to the time.
    time_limit : float, optional
        Seconds for a call of `plan`; applicants whose turn has not come by then get the status "time_limit".
    n_jobs : int, optional
        Threads; None for all cores. Results do not depend on it.
    random_state : int, optional
        Seed of the refits and of the search. None is a fixed seed: the same call gives the same plans.
    progress : bool, optional
        Whether to show a progress bar; None shows it on a terminal and in a notebook.

    Attributes
    ----------
    schema_ : FeatureSchema, with the units of effort filled in
    moments_ : WeightMoments, turned towards the favourable label
    radius_ : float
    drift_ : array (D, D) or None
    radius_source_ : str, where the radius comes from
    """

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse a setting that there is not, with the nearest one that there is."""
        require_known(given, cls._get_param_names(), "setting")
        planner: Self = super().__new__(cls)
        return planner

    def __init__(  # noqa: PLR0913 - the settings of the planner, all but the model by keyword
        self,
        model: Any,
        *,
        schema: "FeatureSchema | str | Path | None" = None,
        guarantee: float = 0.9,
        guarantee_for: str = "each",
        radius: Any = "auto",
        drift: Any = "auto",
        n_options: int = 5,
        objective: str = "level",
        cost: "str | Cost" = "l1",
        diversity_weight: float | None = None,
        validity_weight: float = 0.5,
        margin: float = 0.1,
        threshold: float | None = None,
        favourable: Any = None,
        moments: WeightMoments | None = None,
        surrogate: "str | type[Strategy]" = "boundary",
        n_models: int | None = None,
        n_starts: int = 16,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.model = model
        self.schema = schema
        self.guarantee = guarantee
        self.guarantee_for = guarantee_for
        self.radius = radius
        self.drift = drift
        self.n_options = n_options
        self.objective = objective
        self.cost = cost
        self.diversity_weight = diversity_weight
        self.validity_weight = validity_weight
        self.margin = margin
        self.threshold = threshold
        self.favourable = favourable
        self.moments = moments
        self.surrogate = surrogate
        self.n_models = n_models
        self.n_starts = n_starts
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_clone__(self) -> "RecoursePlanner":
        """A planner that is not fitted, for the same model: the model in force is a fact, not something to refit."""
        return RecoursePlanner(**self.get_params(deep=False))

    def fit(self, X: "pd.DataFrame", y: Any = None) -> "RecoursePlanner":
        """Learn how the model varies when it is retrained, and what each column does.

        Parameters
        ----------
        X : DataFrame of the model's raw columns, the data it was trained on
        y : labels; may be left out if `moments` and a number for `radius` are given
        """
        settings.check_settings(self)
        table = read_table(X, tuple(X.columns) if hasattr(X, "columns") else ())
        with compiled_meanwhile(KERNELS):
            linear = is_linear(self.model)
            kind: type[Strategy] = Linear if linear else read_surrogate(self.surrogate)
            read = LinearModel.read if linear else BlackBox.read
            model: Any = read(self.model, table.columns, threshold=self.threshold, favourable=self.favourable)
            schema = settings.read_schema(self.schema, table, model.columns)
            self.fitted_ = kind.fit(model, schema, table, y, settings.FitSettings.of(self))
        self.fitted_for_ = settings.as_fitted(self)
        _load_kernels()
        return self

    def plan(self, X: "pd.DataFrame") -> PlanBatch:
        """Build the menu of every applicant.

        Parameters
        ----------
        X : DataFrame, one applicant per row

        Returns
        -------
        PlanBatch, one plan per row, each with a status; a bad row never fails the others
        """
        fitted = self._fitted()
        settings.check_settings(self)
        table = read_table(X, tuple(X.columns) if hasattr(X, "columns") else ())
        read_table(table, tuple(dict.fromkeys([*fitted.model.columns, *fitted.schema.names])))
        deadline = perf_counter() + settings.read_time_limit(self.time_limit)
        with progress_bar(len(table), "planning", self.progress) as advance:
            request, terms, strategy = self._request(deadline, advance), self._terms(), self._strategy()
            blocks = [
                plan_block(strategy, table.iloc[first : first + BLOCK], request, terms)
                for first in range(0, max(len(table), 1), BLOCK)
            ]
        return PlanBatch.concat(blocks)

    def audit(self, plans: Any, applicants: "pd.DataFrame | None" = None) -> PlanBatch:
        """Bound plans that someone else made, as they are.

        Parameters
        ----------
        plans : DataFrame of options (with a column "applicant" of index labels), a list of DataFrames,
            the path of a CSV, the result of DiCE or its JSON, or a PlanBatch, a Plan or their JSON
        applicants : DataFrame of the applicants today; results of DiCE and of COPA can do without

        Returns
        -------
        PlanBatch; "infeasible" where an option asks for what is not allowed or is refused today, "fragile" where the
        guarantee asked for is not reached
        """
        strategy = self._fitted()
        given, request = self._external(plans, applicants)
        return audit_plans(strategy, ReadablePlans.read(strategy, given), request, self._terms()).batch

    def correct(
        self,
        plans: Any,
        applicants: "pd.DataFrame | None" = None,
        *,
        method: str = "level",
        budget: float = 0.1,
        margin: float = 0.1,
        n_corrections: int | None = None,
    ) -> CorrectedPlans:
        """Repair plans that someone else made, and say what it did.

        Parameters
        ----------
        plans, applicants : as in `audit`
        method : what to do with the options
            "level" changes each as little as possible so that it reaches `guarantee` (what is enough of each, if all
            of them together must reach it). For models that are linear in the columns also: "requirement" until the
            mean of its score is `margin`; "mahalanobis" and "ascent" move it by up to `budget` in the encoded space,
            towards more score per standard deviation or along the gradient of L*. The result is delivered as the
            nearest real rows; where that would lower L*, the plan stays as it was.
        budget : float
            Exact for options that are allowed and accepted as given; others go as far as they must to become so.
        margin : float
        n_corrections : how many options of a plan may move, those that break first; None for all

        Returns
        -------
        CorrectedPlans with the plans `before` and `after`; an option that the schema or today's model refuses, and that
        may not or cannot be moved, is not in `after`, and the message says why
        """
        correction = settings.Correction.read(method, budget, margin, n_corrections)
        given, request = self._external(plans, applicants)
        request = replace(request, deadline=perf_counter() + settings.read_time_limit(self.time_limit))
        return correct_plans(self._strategy(), given, request, self._terms(), correction)

    def save(self, path: "str | Path") -> None:
        """Save what was learned, without the model itself: settings, schema, radius, moments or refits. No pickle.

        The refits of a model that is not linear are stored by skops: `pip install 'copa-recourse[cli]'`.
        """
        save_planner(self, path)

    @classmethod
    def load(cls, path: "str | Path", model: Any) -> "RecoursePlanner":
        """Load a saved planner for the model that it was fitted with; nothing in the file is executed.

        Of refits in the file no other types are made than scikit-learn's own and those of `model`.
        """
        return cls._ready(load_planner(cls, path, model))

    @classmethod
    def _unpack(cls, raw: bytes, model: Any, *, path: str, budget: "Budget") -> "RecoursePlanner":
        """Load a planner that is inside another file, whose budget it shares; `path` is for messages."""
        return cls._ready(unpack_planner(cls, raw, model, path=path, budget=budget))

    @staticmethod
    def _ready(planner: Any) -> "RecoursePlanner":
        """A planner that was read, ready to plan."""
        planner.fitted_for_ = settings.as_fitted(planner)
        _load_kernels()
        ready: RecoursePlanner = planner
        return ready

    def _strategy(self) -> Strategy:
        """The fitted state, under the objective."""
        return self._fitted() if self.objective == "level" else Weighted.of(self._fitted())

    def _external(self, plans: Any, applicants: "pd.DataFrame | None") -> tuple[ExternalPlans, Request]:
        """Plans that someone else made, and the request for as many options as these have."""
        strategy = self._fitted()
        settings.check_settings(self)
        given = read_given(strategy, plans, applicants)
        strategy.require_audits()
        return given, replace(self._request(), n_options=int(np.bincount(given.owner, minlength=1).max()))

    def _request(self, deadline: float = np.inf, progress: Any = None) -> Request:
        fitted = self._fitted()
        default = MENU_WEIGHT if self.objective == "level" else PAPER_DIVERSITY
        weight = default if self.diversity_weight is None else self.diversity_weight
        return Request(
            guarantee=float(self.guarantee),
            guarantee_for=self.guarantee_for,  # type: ignore[arg-type]  # checked in `check_settings`
            n_options=self.n_options,
            diversity_weight=float(weight),
            multipliers=price_multipliers(self.n_starts, len(fitted.space.columns), self.random_state or 0),
            n_jobs=self.n_jobs,
            deadline=deadline,
            progress=progress,
            validity_weight=float(self.validity_weight),
            margin=float(self.margin),
            seed=self.random_state or 0,
        )

    def _terms(self) -> PlanTerms:
        fitted = self._fitted()
        label = fitted.model.favourable
        return PlanTerms(
            guarantee=float(self.guarantee),
            guarantee_for=self.guarantee_for,
            n_options=int(self.n_options),
            objective=self.objective,
            favourable=label.item() if hasattr(label, "item") else label,
            threshold=fitted.model.threshold,
            cost=fitted.space.cost.name,
            radius_source=fitted.radius_source,
            schema=fitted.schema,
            subject=fitted.subject,
        )

    def _fitted(self) -> Strategy:
        if not hasattr(self, "fitted_"):
            raise NotFittedError("this planner is not fitted yet: call fit(X, y) with the model's training data first")
        settings.require_unchanged(self, self.fitted_for_)
        strategy: Strategy = self.fitted_
        return strategy

    @property
    def schema_(self) -> FeatureSchema:
        """The schema, with the units of effort filled in."""
        return self._fitted().schema

    @property
    def moments_(self) -> WeightMoments:
        """Moments of the next models' parameters, turned towards the favourable label."""
        ambiguity = self._fitted().ambiguity(int(self.n_options))
        return WeightMoments(ambiguity.mean, ambiguity.cov)

    @property
    def radius_(self) -> float:
        """Radius of the ball."""
        return self._fitted().ambiguity(int(self.n_options)).radius

    @property
    def drift_(self) -> Any:
        """Shape of the ball, None for the identity."""
        return self._fitted().ambiguity(int(self.n_options)).drift

    @property
    def radius_source_(self) -> str:
        """Where the radius comes from."""
        return self._fitted().radius_source


def _load_kernels() -> None:
    """Load (the first time: compile) the machine code now, so that a time limit of `plan` is not spent on it."""
    for name in KERNELS:
        import_module(name)
