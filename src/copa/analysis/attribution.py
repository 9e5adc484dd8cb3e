"""Attribution of the worst case: how the score of the option that breaks first falls, column by column."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Flags
from copa._core.representation import short_repr
from copa._core.words import rounded_up
from copa.data.schema import Feature, FeatureSchema
from copa.data.tables.cells import cells_of, is_missing, plain
from copa.models.bins import bin_of
from copa.plans import Plan
from copa.plans.units import amount_text, name_and_unit, value_text
from copa.theory.bounds.worst_option import worst_of_option

if TYPE_CHECKING:
    from copa.planner.search.problem import Linearisation
    from copa.planner.strategies.base import Strategy

GENERAL = "the model's general level"
SHARED = "several columns together"
OTHERS = "other columns"
WHOLE = "the row as a whole"
NOISE = 1e-9  # an answer of the pipeline that is smaller than this, relative to its largest, is rounding
FAR = 4.0  # spreads from a value beyond which another one says nothing, in a column without limits
TIMES = 10.0  # more often than this is "much more"
NEGLIGIBLE = 5e-4  # probability that nobody would call a risk
MOST_CAUSES = 4  # parts of a score, those that lose most
LEAST_CAUSE = 0.05  # of the whole loss; a part that loses less is no cause
COMPARED = 500  # training rows whose average is the average applicant


@dataclass(frozen=True, eq=False)
class Attribution:
    """Shares of the score of the option that breaks first, today and where its own worst case breaks it.

    Every part of the row has a share, not only what the option changes: the worst distribution moves all parameters,
    and an option is refused because its whole score falls, often through a column that stays as it is. A column's share
    is what its value adds to the score of an average applicant, whose own score is the share of the general level. The
    shares add up to the score on either side.

    Parameters
    ----------
    option : int
        Number of the option.
    probability : float
        At most this is the probability that the next model refuses it: one minus its own guarantee.
    parts : tuple of str
        C parts of the score in words: columns with the option's value, and what belongs to no single column.
    columns : tuple of str or None
        Raw column of each part, None where it is none.
    is_changed : ndarray of bool of shape (C,)
        Whether the option changes the column.
    today, broken : ndarray of shape (C,)
        Share of each part in the option's score: by today's model, and on average over the models that refuse the
        option in its worst case. The shares `broken` sum to 0 or less. Where today's model has no parameters in the
        coordinates of the plan, `today` is that of the estimated mean.
    is_accepted : bool
        Whether today's model accepts the option.
    causes : tuple of str
        What a model that refuses the option does differently, the largest loss first: clauses without a subject, in the
        units of the table. Empty where the score is no sum over columns.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.analysis.attribution import Attribution
    >>> shares = {"today": np.array([-0.4, 1.0]), "broken": np.array([-0.9, 0.8])}
    >>> flags = np.array([True, False])
    >>> names = {"parts": ("months: 24", "general"), "columns": ("months", None), "is_changed": flags}
    >>> causes = ("rates a duration of 24 months as today's model rates about 31 months", "is stricter in general")
    >>> attribution = Attribution(2, 0.1, is_accepted=True, causes=causes, **names, **shares)
    >>> attribution.first_words()[:79]
    'Option 2 fails first: the next model refuses it with probability at most 0.100.'
    >>> attribution.in_words().endswith("rates about 31 months; it is stricter in general.")
    True
    """

    __repr__ = short_repr

    option: int
    probability: float
    parts: tuple[str, ...]
    columns: tuple[str | None, ...]
    is_changed: Flags
    today: Array
    broken: Array
    is_accepted: bool
    causes: tuple[str, ...]

    @property
    def change(self) -> Array:
        """Change of each share in the worst case, (C,); negative where it takes from it."""
        return self.broken - self.today

    def first_words(self) -> str:
        """Say which option fails first, and with which probability at most; the causes go on from there."""
        if not self.is_accepted:
            return f"Option {self.option} fails first: today's model refuses it already."
        most = rounded_up(self.probability)
        risk = f"the next model refuses it with probability at most {most}"
        first = f"Option {self.option} fails first: {risk if float(most) < 1.0 else 'nothing is guaranteed for it'}."
        if self.causes:
            return f"{first} In the worst case the model that refuses it, on average,"
        if len(self.parts) > 1:
            return f"{first} In the worst case many columns count a little less; no single one stands out."
        return f"{first} This model's score is no sum over columns, so that no column can be named that is behind it."

    def in_words(self) -> str:
        """Return the attribution as one paragraph."""
        causes = f" {'; it '.join(self.causes)}." if self.causes and self.is_accepted else ""
        return f"{self.first_words()}{causes}"

    def to_dict(self) -> dict[str, Any]:
        """Return the attribution as JSON holds it."""
        names = ("part", "column", "changed", "today", "broken")
        numbers = (values.tolist() for values in (self.is_changed, self.today, self.broken))
        return {
            "option": self.option,
            "probability": self.probability,
            "accepted": self.is_accepted,
            "shares": [
                dict(zip(names, row, strict=True)) for row in zip(self.parts, self.columns, *numbers, strict=True)
            ],
            "causes": list(self.causes),
            "in_words": self.in_words(),
        }


@dataclass(frozen=True, eq=False)
class ScorePart:
    """A part of a model's score: a column, or what belongs to no single one."""

    name: str  # of the column, or words for what is none
    coordinates: Flags  # those of an encoded row that belong to it, (D,)
    feature: Feature | None = None  # the column
    directions: Array | None = None  # what a raw unit of a number, or each of V levels, adds to an encoded row, (V, D)
    edges: Array | None = None  # first values of the bins of a number whose bins are the levels

    @property
    def column(self) -> str | None:
        """Name of the column; None where the part is none."""
        return None if self.feature is None else self.feature.name

    def words(self, schema: FeatureSchema, value: Any) -> str:
        """Return the part with the value that a row has there."""
        return self.name if self.feature is None else f"{self.feature.heading}: {value_text(schema, self.name, value)}"


def score_parts(linear: "Linearisation") -> list[ScorePart]:
    """Return the parts of the score of a model that is a sum over columns."""
    space = linear.space
    sizes = np.array([np.abs(linear.directions[space.levels(k)]).max(axis=0) for k in range(len(space.columns))])
    answers = sizes > NOISE * sizes.max(axis=1, keepdims=True)
    n_columns, general = answers.sum(axis=0), np.arange(linear.mean.size) == 0
    parts = []
    for k, feature in enumerate(space.columns):
        alone = answers[k] & (n_columns == 1)
        directions = np.where(alone, linear.directions[space.levels(k)], 0.0)
        parts.append(ScorePart(feature.name, alone, feature, directions, space.edges.get(feature.name)))
    others = {GENERAL: general, SHARED: n_columns > 1, OTHERS: (n_columns == 0) & ~general}
    parts += [ScorePart(name, coordinates) for name, coordinates in others.items()]
    return [part for part in parts if part.coordinates.any()]


class Attributor:
    """Splits the worst cases of plans by raw columns.

    Parameters
    ----------
    strategy : Strategy
        Of the planner that made or audited the plans. Where its model is no sum over columns, or not in the coordinates
        of a plan, the row as a whole is the only part.
    """

    def __init__(self, strategy: "Strategy") -> None:
        self._strategy = strategy

    def attribute(self, plan: Plan) -> Attribution | None:
        """Split the worst case of the option of a plan that breaks first.

        Returns
        -------
        Attribution or None
            None where there are no options, where all of several are equally sure, where nothing to speak of breaks
            them, or where the set does not know its worst case.
        """
        first = 1 if plan.n_options == 1 else plan.breaks_first
        if first is None or not plan.ambiguity.has_worst_case:
            return None
        j = first - 1
        probability = 1.0 - float(plan.option_lower[j])
        if not probability > NEGLIGIBLE:
            return None
        point, nominal = plan.points[j], plan.ambiguity.mean
        refusing = worst_of_option(point[None], plan.ambiguity).location[0]
        if plan.basis.deducts:  # what is deducted from the score, each parameter loses in proportion
            point, nominal, deducted = point[:-1], nominal[:-1], point[-1]
            refusing = refusing[:-1] - deducted / float(nominal @ point) * nominal
        parts, values, centre = [ScorePart(WHOLE, np.ones(len(point), dtype=bool))], {}, np.zeros(len(point))
        theta = nominal
        if self._strategy.additive and len(self._theta) == len(point):
            parts, centre, theta = self._parts, self._centre, self._theta
            values = {name: cells_of(plan.options[name])[j] for name in (p.column for p in parts) if name}
        today, broken = (_shares(parts, point, centre, parameters) for parameters in (theta, refusing))
        changed = set(plan.options.columns[plan.batch.changed[plan.own_rows][j]])
        cells = [values.get(part.column) if part.column else None for part in parts]
        loss = broken - today
        order = np.argsort(loss, kind="stable")[:MOST_CAUSES] if len(parts) > 1 else np.zeros(0, dtype=np.intp)
        worst = order[loss[order] < LEAST_CAUSE * loss[loss < 0.0].sum()].tolist()
        return Attribution(
            option=first,
            probability=probability,
            parts=tuple(p.words(plan.basis.schema, cell) for p, cell in zip(parts, cells, strict=True)),
            columns=tuple(part.column for part in parts),
            is_changed=np.array([part.column in changed for part in parts]),
            today=today,
            broken=broken,
            is_accepted=bool(plan.accepted[j]),
            causes=tuple(cause(parts[k], cells[k], theta, float(today[k]), float(broken[k])) for k in worst),
        )

    @property
    def reference(self) -> str:
        """Name of the row whose score the shares of the columns are added to."""
        averaged = self._strategy.additive and self._centre[1:].any()
        return "an average applicant of the training data" if averaged else "a row whose encoded columns are 0"

    @property
    def comparison(self) -> str:
        """Two sentences on the reference of the causes, and on the probabilities."""
        return (
            f"What a model counts, gives or rates is said in comparison with {self.reference}. A probability of "
            "refusal is an upper bound: the worst case that the assumption allows, for this option alone."
        )

    @cached_property
    def _theta(self) -> Array:
        """Parameters of today's model."""
        return self._strategy.linearisation.theta

    @cached_property
    def _parts(self) -> list[ScorePart]:
        return score_parts(self._strategy.linearisation)

    @cached_property
    def _centre(self) -> Array:
        """The average of training rows as the model sees it, (D,); nothing but the intercept where it is not known."""
        intercept = np.zeros(len(self._theta))
        intercept[0] = 1.0
        plausibility = self._strategy.space.plausibility
        if plausibility is None:
            return intercept
        try:
            rows = self._strategy.encode(plausibility.table(COMPARED))
        except (ValueError, TypeError, KeyError):  # columns that the schema does not name, or text that was numbers
            return intercept
        rows = rows[np.isfinite(rows).all(axis=1)]
        return np.asarray(rows.mean(axis=0)) if len(rows) else intercept


def attribute(plan: Plan, strategy: "Strategy") -> Attribution | None:
    """Split the worst case of the option of a plan that breaks first by raw columns.

    Parameters
    ----------
    plan : Plan
    strategy : Strategy
        `strategy_` of the planner that made or audited the plan.

    Returns
    -------
    Attribution or None
        None where there are no options, where all of several are equally sure, where nothing to speak of breaks them,
        or where the set does not know its worst case.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.analysis.attribution import attribute
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, later_models=copa.LaterModels(n_refits=20), progress=False).fit(X, y)
    >>> person = X[~model.predict(X)].head(1)
    >>> plan = planner.audit([person.assign(income=45)], person)[0]
    >>> attribution = attribute(plan, planner.strategy_)
    >>> attribution.parts[attribution.change.argmin()]  # what loses most, in the worst case
    'income: 45'
    """
    return Attributor(strategy).attribute(plan)


def _shares(parts: list[ScorePart], point: Array, centre: Array, parameters: Array) -> Array:
    """Return what each part adds beyond the average row; the intercept's part has the score of that row."""
    beyond = (point - centre) * parameters
    shares = np.array([beyond[part.coordinates].sum() for part in parts])
    holds_intercept = [bool(part.coordinates[0]) for part in parts].index(True)
    shares[holds_intercept] += float(centre @ parameters)
    return shares


def cause(part: ScorePart, value: Any, theta: Array, today: float, broken: float) -> str:
    """Say how the share of a part falls from `today` to `broken`: a clause that follows "the model that refuses it"."""
    if part.feature is None:
        lower = {GENERAL: "is stricter in general", SHARED: f"rates {SHARED} lower"}
        return lower.get(part.name, f"rates {part.name} lower")
    alike = _same_number(part, value, theta, today, broken) or _level_above(part, value, theta, today, broken)
    return alike or _credit(_named(part, value), today, broken)


def _same_number(part: ScorePart, value: Any, theta: Array, today: float, broken: float) -> str:
    """Name the number that today's model rates as the other one rates this; "" where there is none that says much."""
    feature, number = part.feature, plain(value)
    if feature is None or part.directions is None or not feature.is_numeric or part.edges is not None:
        return ""
    if isinstance(number, (str, bool)) or is_missing(number) or feature.is_special(number):
        return ""
    slope = float(part.directions[0] @ theta)
    if slope == 0.0:
        return ""
    alike = as_if(float(number), (broken - today) / slope, feature)
    if alike is None:
        return ""
    return f"rates {_named(part, value)} as today's model rates about {amount_text(feature, alike)}"


def as_if(value: float, move: float, feature: Feature) -> float | None:
    """Return a value and a move together, with two digits of the move; None where that is no value of the column.

    Examples
    --------
    >>> from copa import Feature
    >>> from copa.analysis.attribution import as_if
    >>> duration = Feature("duration", "integer", lower=6, upper=60)
    >>> as_if(24.0, 7.3, duration), as_if(24.0, 70.0, duration), as_if(24.0, 0.2, duration)
    (31.0, None, None)
    """
    if move == 0.0 or not math.isfinite(move):
        return None
    digits = 1 - math.floor(math.log10(abs(move)))
    moved = round(value + move, min(digits, 0) if feature.kind == "integer" else digits)
    lower = min(0.0, value) if feature.lower is None and value >= 0.0 else feature.lower
    inside = (lower is None or moved >= lower) and (feature.upper is None or moved <= feature.upper)
    near = feature.upper is not None or feature.spread is None or abs(move) <= FAR * feature.spread
    return float(moved) if inside and near and moved != value else None


def _level_above(part: ScorePart, value: Any, theta: Array, today: float, broken: float) -> str:
    """Name the lowest level that today's model rates at least as high as the other one rates this; "" for none."""
    feature = part.feature
    if feature is None or part.directions is None or (feature.is_numeric and part.edges is None):
        return ""
    level = _level_of(part, value)
    if level < 0:
        return ""
    n_named = len(feature.values or ()) if part.edges is None else len(part.edges) + 1
    rated = today + (part.directions[:n_named] - part.directions[level]) @ theta
    between = np.flatnonzero((rated >= broken) & (rated < today))
    if len(between) == 0:
        return ""
    lowest = int(between[np.argmin(rated[between])])
    word = "lower than" if lowest == int(np.argmin(rated)) and rated[lowest] > broken else "no higher than"
    return f"rates {_named(part, value)} {word} today's model rates '{_level_words(part, lowest)}'"


def _level_of(part: ScorePart, value: Any) -> int:
    """Return the position of a value among the levels of a column; -1 where it is none of them."""
    feature = part.feature
    if feature is None or is_missing(value) or feature.is_special(value):
        return -1
    if part.edges is not None:
        return int(bin_of(part.edges, np.array([float(plain(value))]))[0])
    return int(feature.index.position(value))


def _level_words(part: ScorePart, level: int) -> str:
    """Name a level: its label, or the ends of a bin."""
    feature, edges = part.feature, part.edges
    assert feature is not None  # noqa: S101 - of parts with levels
    if edges is None:
        value = (feature.values or ())[level]
        return value_text(FeatureSchema((feature,)), feature.name, value)
    if level == 0:
        return f"below {amount_text(feature, edges[0])}"
    if level == len(edges):
        return f"{amount_text(feature, edges[-1])} or more"
    return f"{amount_text(feature, edges[level - 1])} to below {amount_text(feature, edges[level])}"


def _named(part: ScorePart, value: Any) -> str:
    """Name a column and a value of it: "a duration of 24 months", "'housing: rented'"."""
    feature = part.feature
    assert feature is not None  # noqa: S101 - of columns
    name, unit = name_and_unit(feature.heading)
    amount = amount_text(feature, value)
    if unit and amount.endswith(f" {unit}"):
        return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name} of {amount}"
    return f"'{feature.heading}: {amount}'"


def _credit(what: str, today: float, broken: float) -> str:
    """Say how much of the credit that today's model gives is left, or how much more something counts against."""
    if today > 0.0 >= broken:
        return f"counts {what} against the applicant, and not in favour as today"
    if today > 0.0:
        return f"gives {what} about {100.0 * broken / today:.0f} % of the credit that it gets today"
    if today == 0.0 or broken / today > TIMES:
        return f"counts {what} much more against the applicant than today"
    return f"counts {what} about {broken / today:.1f} times as much against the applicant as today"
