"""`RecoursePlanner`: the front door."""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from copa._core.files import write_atomically
from copa._core.progress import showing, stage
from copa._core.threads import one_blas_thread
from copa.data.schema import FeatureSchema
from copa.data.schema.columns import read_table, with_named_columns
from copa.data.tables.frames import PANDAS, backend_of
from copa.exceptions import InvalidInputError
from copa.models.base import refuse_own_threshold
from copa.models.fingerprint import Fingerprint
from copa.planner.audit import ReadablePlans, audit_plans
from copa.planner.checks import as_fitted, check_settings, known_floor, require_history, require_unchanged
from copa.planner.correct import CorrectedPlans, Correction, correct_plans
from copa.planner.fitting import learn, load_schema
from copa.planner.labels import read_favourable
from copa.planner.later_models import LaterModels, read_later_models, with_horizon
from copa.planner.persistence import FORMAT, StoredPlanner, pack_planner, unpack_planner
from copa.planner.plan import BLOCK, plan_block
from copa.planner.proofs import Proofs, prove_plans
from copa.planner.representation import planner_html, planner_line
from copa.planner.served import Served, try_rows, warn_if_out_of_reach
from copa.planner.settings import Execution, read_time_limit
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.weighted import Weighted
from copa.planner.wishes import Wishes
from copa.plans import PlanBatch, PlanRequest
from copa.plans.external import ExternalPlans, read_plans
from copa.plans.request import PaperObjective
from copa.theory.sets import WeightMoments
from copa.theory.sets.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from copa.analysis.backtest import Backtest
    from copa.plans.cost import Cost


class RecoursePlanner(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Plans for applicants whom a model declines: options that keep being accepted when the model is retrained.

    Parameters
    ----------
    model : object
        Fitted scikit-learn classifier, or Pipeline that ends in one. Linear ones are LogisticRegression, LinearSVC,
        SGDClassifier, RidgeClassifier, Perceptron, and CalibratedClassifierCV over one of these; any other classifier
        with `predict_proba` is treated as a black box.
    schema : FeatureSchema, dict, str or Path, optional
        Raw columns and how they may change, or the file that describes them. None infers it from the model's
        encoders and the data given to `fit`, and lets every column change that does not look like an identifier, a
        protected attribute or an age: state what is immutable before you show a plan to anyone.
    guarantee : float
        Probability that an option must hold with, under every distribution that `later_models` allows.
    guarantee_for : {"each", "all", "any"}
        Whether each option must hold with it, all of them together, or at least one.
    n_options : int
        Most options of a plan, up to 79.
    later_models : LaterModels, AmbiguitySet or Expected
        Assumptions about the models that follow today's: a confidence in today's data and the history of past
        versions (`LaterModels`), or a fixed set such as the paper's, `MomentBall(radius=0.05)`. `Expected()` plans for
        the rate at which refits are expected to accept an option, which is no guarantee and costs less.
    objective : PaperObjective, optional
        The paper's weighted sum, which asks for no guarantee and reports whatever comes out. None minimises effort at
        the guarantee.
    cost : {"l1", "l2"} or Cost
        Effort of a row: the sum over columns of weight x change / spread, or its Euclidean form.
    diversity_weight : float
        Weight of the diversity penalty, in units of the cheapest option; `PaperObjective` has its own.
    plausibility : float
        Least plausibility of an option: so large a share of the training rows must be at least as far from their
        nearest neighbours as it is, in the raw columns of the schema. 0 asks for none.
    threshold : float, optional
        Probability of the favourable label from which on the model accepts (for a model without probabilities, a value
        of its decision function). None leaves it to `predict`.
    favourable : str, int, float or bool, optional
        The label a person wants. None is the one that the schema names, or True where the labels are true and false;
        of others it must be said.
    surrogate : {"boundary", "lime"} or type
        Local model of a black box. "boundary" fits local linear surrogates at the decision boundary, and rests its
        guarantees on refits; "lime" is the paper's, fitted once around the applicant with an assumed covariance. A
        subclass of `copa.planner.BlackBoxStrategy` is a surrogate of your own.
    n_starts : int
        Rows that the search puts into each applicant's pool; more find better plans, in proportion to the time.
    time_limit : float, optional
        Seconds for a call of `plan`; applicants whose turn has not come by then get the status "time_limit".
    n_jobs : int, optional
        Threads; None is all cores. Results do not depend on it.
    random_state : int, optional
        Seed of the refits and of the search. None is a fixed seed: the same call gives the same plans.
    progress : bool, optional
        Whether to show the step at work, the share done and the time left: one live line on a terminal or in a
        notebook, a line every few seconds elsewhere. None shows it on a terminal and in a notebook only.

    Attributes
    ----------
    schema_ : FeatureSchema
        The schema, with the units of effort filled in.
    feature_names_in_ : ndarray of str
        The model's raw columns.
    moments_ : WeightMoments
        Moments of the next models' parameters, turned towards the favourable label.
    radius_ : float
        Radius of the ambiguity set.
    drift_ : ndarray of shape (D, D) or None
        Shape of the ambiguity set.
    radius_source_ : str
        Source of the radius, in words.
    served_ : Served or None
        Guarantees that plans for a sample of declined training rows reached, of a model whose refits certify them.
    template_ : DataFrame
        Columns that applicants must have, in the dtypes of the training data, without rows.

    Examples
    --------
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> import copa
    >>> data = copa.datasets.load_german()
    >>> levels = [feature.name for feature in data.schema.features if feature.is_categorical]
    >>> encoder = make_column_transformer((OneHotEncoder(), levels), remainder=StandardScaler())
    >>> model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(data.features, data.favourable)
    >>> later = copa.LaterModels(n_refits=100)
    >>> planner = copa.RecoursePlanner(model, data.schema, guarantee=0.8, n_options=3, later_models=later)
    >>> declined = data.features[~model.predict(data.features)].head(2)
    >>> batch = planner.fit(data.features, data.favourable).plan(declined)
    >>> batch.status.tolist(), batch.counts.tolist()
    (['ok', 'ok'], [3, 3])
    """

    def __init__(  # noqa: PLR0913 - the settings of the planner, all but the model by keyword
        self,
        model: Any,
        schema: FeatureSchema | str | Path | None = None,
        *,
        guarantee: float = 0.9,
        guarantee_for: str = "each",
        n_options: int = 5,
        later_models: LaterModels | AmbiguitySet = LaterModels(),  # noqa: B008 - frozen
        objective: PaperObjective | None = None,
        cost: "str | Cost" = "l1",
        diversity_weight: float = 2.0,
        plausibility: float = 0.05,
        threshold: float | None = None,
        favourable: Any = None,
        surrogate: "str | type[Strategy]" = "boundary",
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
        self.n_options = n_options
        self.later_models = later_models
        self.objective = objective
        self.cost = cost
        self.diversity_weight = diversity_weight
        self.plausibility = plausibility
        self.threshold = threshold
        self.favourable = favourable
        self.surrogate = surrogate
        self.n_starts = n_starts
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return planner_line(self)

    def _repr_html_(self) -> str:
        return planner_html(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_clone__(self) -> Self:
        """Return a planner that is not fitted, for the same model: the model in force is a fact, not to be refitted."""
        return type(self)(**self.get_params(deep=False))

    def set_params(self, **params: Any) -> Self:
        """Change settings by name, as in scikit-learn; `model__C=0.1` changes one of the model's own."""
        for name in params:
            setting = name.partition("__")[0]
            if setting != name and not hasattr(getattr(self, setting, self), "set_params"):
                raise InvalidInputError(f"{name} cannot be set by itself; set {setting} as a whole")
        return super().set_params(**params)  # type: ignore[no-any-return]  # scikit-learn has no types

    def fit(self, X: "pd.DataFrame", y: Any = None) -> Self:
        """Learn how the model varies when it is retrained, and the effect of each column.

        Parameters
        ----------
        X : DataFrame
            The model's raw columns, the data it was trained on.
        y : array_like of shape (n,), optional
            Labels; may be left out if `later_models` is a fixed set with moments.

        Returns
        -------
        RecoursePlanner
            The planner itself.
        """
        check_settings(self)
        require_history(read_later_models(self.later_models))
        table = read_table(X)
        described = load_schema(self.schema)
        favourable = read_favourable(self.favourable, described, self.model, y)
        refuse_own_threshold(self.model, favourable)
        # One thread for BLAS: its matrices are small here, and threads that wait for the next one spin.
        with showing(self.progress), stage("fitting the planner"), one_blas_thread:
            self.strategy_ = learn(self, table, y, described, favourable)
            self.served_ = self._try_rows(table)
        if self.served_ is not None:
            warn_if_out_of_reach(self.served_)
        self.fitted_settings_ = as_fitted(self)
        self.template_ = table.iloc[:0][[*dict.fromkeys([*self.strategy_.model.columns, *self.schema_.names])]]
        self.fingerprint_ = Fingerprint.take(self.model, self.strategy_.model, self.strategy_.reference_rows)
        return self

    def _try_rows(self, table: "pd.DataFrame") -> Served | None:
        """Say what can be certified, where refits decide it: of a linear model a formula does."""
        if self.strategy_.subject != "scores" or read_later_models(self.later_models).expected:
            return None
        with stage("planning for some declined rows"):
            return try_rows(self.strategy_, table, self._request(), replace(self._execution(), deadline=np.inf))

    def with_wishes(self, wishes: Wishes) -> Self:
        """Return a planner for one person's wishes; this one stays as it is.

        Takes milliseconds, and shares what was fitted: any number of such planners may be at work in threads at once.

        Parameters
        ----------
        wishes : Wishes

        Returns
        -------
        RecoursePlanner
            Fitted.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from sklearn.linear_model import LogisticRegression
        >>> import copa
        >>> rng = np.random.default_rng(0)
        >>> X = pd.DataFrame(rng.normal(size=(400, 2)).round(1), columns=["income", "savings"])
        >>> y = X["income"] + X["savings"] + 0.5 * rng.normal(size=400) > 0
        >>> later = copa.LaterModels(n_refits=20)
        >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), n_options=1, later_models=later).fit(X, y)
        >>> near = X[(X["income"] + X["savings"]).between(-1.0, -0.5)].head(1)
        >>> asking = planner.with_wishes(copa.Wishes(fixed=["income"], guarantee=0.8))
        >>> [change.column for change in asking.plan(near)[0].changes(1)]
        ['savings']
        >>> planner.guarantee, planner.schema_["income"].immutable
        (0.9, False)
        """
        fitted, given = self._fitted(), wishes.settings
        if changes := wishes.changes(fitted.schema):
            fitted = fitted.with_fields(changes)
            given["schema"] = fitted.schema
        if wishes.horizon is not None:
            fitted = fitted.at_horizon(wishes.horizon)
            given["later_models"] = with_horizon(read_later_models(self.later_models), wishes.horizon)
        asking = copy(self)
        for name, value in given.items():
            setattr(asking, name, value)
        check_settings(asking)
        asking.strategy_, asking.fitted_settings_ = fitted, as_fitted(asking)
        return asking

    def plan(self, X: "pd.DataFrame") -> PlanBatch:
        """Build a plan for every applicant.

        Parameters
        ----------
        X : DataFrame
            One applicant per row.

        Returns
        -------
        PlanBatch
            One plan per row, each with a status; a bad row never fails the others.
        """
        fitted = self._current()
        check_settings(self)
        table = read_table(X)
        with_named_columns(table, tuple(dict.fromkeys([*fitted.model.columns, *fitted.schema.names])))
        request, run, strategy = self._request(), self._execution(), self._searching()
        with showing(self.progress), stage("planning", len(table), "applicants") as advance:
            run = replace(run, progress=advance)
            blocks = [
                plan_block(strategy, table.iloc[first : first + BLOCK], request, run)
                for first in range(0, max(len(table), 1), BLOCK)
            ]
        return _like(PlanBatch.concat(blocks), X)

    def audit(self, plans: Any, applicants: "pd.DataFrame | None" = None) -> PlanBatch:
        """Bound plans that someone else made, as they are.

        Parameters
        ----------
        plans : DataFrame, list of DataFrame, str, Path, PlanBatch, Plan or object
            Options (with a column "applicant" of index labels), one table of options per applicant, the path of a CSV,
            plans of COPA or their JSON, or the result of DiCE or its JSON.
        applicants : DataFrame, optional
            The applicants today; results of DiCE and of COPA can do without.

        Returns
        -------
        PlanBatch
            "infeasible" where an option violates the schema or is refused today, "fragile" where the guarantee is not
            reached.
        """
        with showing(self.progress), stage("auditing"):
            external = self._external(plans, applicants)
            given = ReadablePlans.read(self.strategy_, external)
            batch = audit_plans(self.strategy_, given, self._any_request(), self.n_jobs).batch
        return _like(batch, plans if applicants is None else applicants)

    def prove(self, batch: PlanBatch, *, time_limit: float = 10.0) -> Proofs:
        """Prove how far the cheapest options are from the cheapest rows there are, and that where none is none can be.

        Parameters
        ----------
        batch : PlanBatch
            Plans of this planner.
        time_limit : float
            Seconds for each applicant.

        Returns
        -------
        Proofs
            A verdict for each applicant.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from sklearn.linear_model import LogisticRegression
        >>> import copa
        >>> rng = np.random.default_rng(0)
        >>> X = pd.DataFrame(rng.normal(size=(400, 2)).round(1), columns=["income", "savings"])
        >>> y = X["income"] + X["savings"] + 0.5 * rng.normal(size=400) > 0
        >>> later = copa.LaterModels(n_refits=20)
        >>> model = LogisticRegression().fit(X, y)
        >>> planner = copa.RecoursePlanner(model, plausibility=0.0, later_models=later).fit(X, y)
        >>> planner.prove(planner.plan(X[~model.predict(X)].head(3)))
        3 optimal: the cheapest option is the cheapest row there is
        """
        seconds = read_time_limit(time_limit)
        with showing(self.progress):
            return prove_plans(self._current(), batch, seconds)

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
        """Repair plans that someone else made, and report what changed.

        Parameters
        ----------
        plans : DataFrame, list of DataFrame, str, Path, PlanBatch, Plan or object
            As in `audit`.
        applicants : DataFrame, optional
            As in `audit`.
        method : {"level", "requirement", "mahalanobis"}
            "level" changes each option as little as possible so that it reaches `guarantee` (what is enough of each, if
            all of them together must reach it). For models that are linear in the columns also: "requirement" until the
            mean of its score is `margin`; "mahalanobis" moves it by up to `budget` in the encoded space,
            towards more score per standard deviation. The result is delivered as the nearest real rows; where that
            would lower L*, the plan stays as it was.
        budget : float
            Exact for options that are allowed and accepted as given; others go as far as they must to become so.
        margin : float
            Mean score that "requirement" aims at.
        n_corrections : int, optional
            How many options of a plan may move, those that break first; None for all.

        Returns
        -------
        CorrectedPlans
            The plans `before` and `after`; an option that the schema or today's model refuses, and that may not or
            cannot be moved, is not in `after`, and the message says why.
        """
        correction = Correction.read(method, budget, margin, n_corrections)
        with showing(self.progress), stage("correcting"):
            given = self._external(plans, applicants)
            corrected = correct_plans(self._searching(), given, correction, self._any_request(), self._execution())
        kind = plans if applicants is None else applicants
        return replace(corrected, before=_like(corrected.before, kind), after=_like(corrected.after, kind))

    def backtest(
        self,
        X: "pd.DataFrame | None" = None,
        y: Any = None,
        *,
        history_data: "Sequence[Any] | None" = None,
        history: "Sequence[Any] | None" = None,
        **options: Any,
    ) -> "Backtest":
        """Plan as of each past version of the model, ask the later ones, and say whether the promises were kept.

        As of each version, a planner with these settings is fitted to that version's data, with the versions before it
        as its history. Without older data, halves of the rows are planned on and the other halves are asked, which
        forecasts averages and certifies nothing.

        Parameters
        ----------
        X : DataFrame, optional
            Training data of the model in force, the newest version; None if they are the last of `history_data`.
        y : array_like of shape (n,), optional
            Their labels.
        history_data : sequence of tuple of DataFrame and array_like, optional
            Training data (X, y) of the older versions, oldest first; None is the planner's own setting.
        history : sequence of object, optional
            Fitted models that belong to `history_data`; None fits the model again to each.
        **options : object
            `names`, `horizon`, `first`, `n_applicants` and `n_splits` of `copa.analysis.backtest.run_backtest`.

        Returns
        -------
        Backtest
        """
        from copa.analysis.backtest import run_backtest

        if history_data is None:
            history_data = read_later_models(self.later_models).history_data
        with showing(self.progress):
            return run_backtest(self, history_data, X=X, y=y, history=history, **options)

    def save(self, path: str | Path, *, include_model: bool = False) -> None:
        """Save the fitted planner to one file, a bundle: settings, schema, radius, moments or refits. No pickle.

        The model and the refits of a black box are stored by skops: `pip install 'copa-recourse[cli]'`.

        Parameters
        ----------
        path : str or Path
        include_model : bool
            Whether the model is saved too, if it has only types that the page on models lists: the file is then what
            `copa fit` writes, and all that `copa plan` or `copa serve` needs.
        """
        self._current()
        write_atomically(Path(path), pack_planner(self, include_model=include_model))

    @classmethod
    def load(cls, path: str | Path, model: Any = None) -> Self:
        """Load a saved planner; nothing in the file is executed.

        Of the model and the refits in the file no other types are made than those of `copa.models.trusted_types`,
        whose arrays are checked, and those of the `model` given, which are not: a file for such a model must come from
        whom you trust.

        Parameters
        ----------
        path : str or Path
        model : object, optional
            The model that the planner was fitted with; None for the one in the file.

        Returns
        -------
        RecoursePlanner
        """
        with FORMAT.errors_named(path):
            raw = Path(path).read_bytes()
        stored = cls._unpack(raw, path, model)
        planner: Self = stored.planner
        return planner

    @classmethod
    def _unpack(cls, raw: bytes, path: str | Path, model: Any = None) -> StoredPlanner:
        """Read the bytes of a file; the planner is ready to plan."""
        stored = unpack_planner(cls, raw, path, model)
        planner = stored.planner
        planner.served_ = None  # nothing was tried
        planner.fitted_settings_ = as_fitted(planner)
        planner.fingerprint_ = Fingerprint.take(
            planner.model, planner.strategy_.model, planner.strategy_.reference_rows
        )
        return stored

    def _searching(self) -> Strategy:
        """Return the strategy that searches by the planner's objective."""
        return self.strategy_ if self.objective is None else Weighted.of(self.strategy_)

    def _external(self, plans: Any, applicants: "pd.DataFrame | None") -> ExternalPlans:
        """Read external plans, in the columns of the model and in those that only the schema has."""
        strategy = self._current()
        check_settings(self)
        strategy.require_audits()
        return read_plans(plans, strategy.model.columns, applicants, others=strategy.schema.names)

    def _request(self) -> PlanRequest:
        paper = PaperObjective() if self.objective is None else self.objective
        return PlanRequest(
            expected=read_later_models(self.later_models).expected,
            guarantee=self.guarantee,
            guarantee_for=self.guarantee_for,
            n_options=self.n_options,
            objective="level" if self.objective is None else "paper",
            cost=self.strategy_.space.cost.name,
            diversity_weight=self.diversity_weight if self.objective is None else paper.diversity_weight,
            validity_weight=paper.validity_weight,
            margin=paper.margin,
            plausibility=known_floor(self.plausibility, self.strategy_.space.plausibility),
        )

    def _any_request(self) -> PlanRequest:
        """Return the request for plans that someone else made, which asks nothing of their plausibility."""
        return replace(self._request(), plausibility=0.0)

    def _execution(self) -> Execution:
        return Execution.of(self, len(self.strategy_.space.columns))

    def _fitted(self) -> Strategy:
        if not hasattr(self, "strategy_"):
            raise NotFittedError("this planner is not fitted yet: call fit(X, y) with the model's training data first")
        require_unchanged(self, self.fitted_settings_)
        strategy: Strategy = self.strategy_
        return strategy

    def _current(self) -> Strategy:
        """Return the strategy, if the model is still the one that it was fitted for."""
        strategy = self._fitted()
        self.fingerprint_.require_current()
        return strategy

    @property
    def feature_names_in_(self) -> Any:
        """Raw columns of the model."""
        return np.array(self._fitted().model.columns, dtype=object)

    @property
    def schema_(self) -> FeatureSchema:
        """Schema, with the units of effort filled in."""
        return self._fitted().schema

    @property
    def moments_(self) -> WeightMoments:
        """Moments of the next models' parameters, turned towards the favourable label."""
        return self._fitted().moments(int(self.n_options))

    @property
    def radius_(self) -> float:
        """Radius of the ambiguity set."""
        return self._fitted().ambiguity(int(self.n_options)).radius

    @property
    def drift_(self) -> Any:
        """Shape of the ambiguity set, None for the identity."""
        return self._fitted().ambiguity(int(self.n_options)).drift

    @property
    def radius_source_(self) -> str:
        """Source of the radius, in words."""
        return self._fitted().radius_source


def _like(batch: PlanBatch, given: Any) -> PlanBatch:
    """Return a batch whose tables come out in the library of the table or the plans given."""
    backend = getattr(given, "backend", None) if isinstance(given, PlanBatch) else backend_of(given)
    return batch if backend in (None, PANDAS) else replace(batch, backend=str(backend))
