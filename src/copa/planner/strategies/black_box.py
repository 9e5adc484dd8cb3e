"""Black boxes: models that are only queried, and what all planners for them share."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.formats import Archive
from copa._core.reading import read_number, read_word
from copa._core.threads import for_each_chunk, one_thread_no_warnings
from copa._core.words import shown
from copa.data.schema import FeatureSchema
from copa.data.schema.columns import ReadTable
from copa.data.schema.feature import possible_moves
from copa.data.tables.packing import pack_frame, unpack_frame
from copa.exceptions import InvalidInputError
from copa.models.base import reading_rows
from copa.models.black_box import BlackBox, typical_rows
from copa.planner.search.problem import ActionSpace
from copa.planner.search.ranges import medians, read_medians
from copa.planner.search.regions import read_regions
from copa.planner.search.rows import make_room, write_rows
from copa.planner.settings import FitSettings
from copa.planner.strategies.base import OtherModelError, Strategy
from copa.plans.cost import L1, Cost, read_cost
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from copa.theory.sets.families import FAMILIES
from copa.theory.sets.standard_ball import standard_ball

if TYPE_CHECKING:
    import pandas as pd

N_PROBED = 8  # rows of the data around which the model must be able to read rows
CHANGED = 1e-5  # difference of a score from which on it is another model's: beyond what single precision loses


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BlackBoxStrategy(Strategy):
    """The base of strategies for models that are only queried, with a surrogate in their place.

    A surrogate of your own is a subclass with `points` and `build`, and `fit` where it needs more than the model:
    `RecoursePlanner(surrogate=YourStrategy)`.

    Attributes
    ----------
    model : BlackBox
    space : ActionSpace
        The columns that may change, in local coordinates (see `local_space`).
    radius_source : str
        Where the radius comes from, in words.
    radius : float
        Of the ambiguity set of standardised scores (see `standard_ball`), in standard deviations.
    accepted_row : DataFrame or None
        See `Strategy`.
    past : Past or None
        See `Strategy`.
    wished : bool
        See `Strategy`.
    confidence, reliability, n_rows : float or None
        See `Strategy`.
    seed : int
        Of the rows that are drawn.
    ambiguity_class : type
        Class of the ambiguity set.
    family : str
        What it assumes of the law of a score.

    Examples
    --------
    Spreads of the scores that are assumed, and rows found by drawing (`docs/api.md` has a complete one):

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from copa.planner import BlackBoxStrategy
    >>> from copa.theory.sets.standard_ball import standard_points
    >>> @dataclass(frozen=True, eq=False, kw_only=True)
    ... class Assumed(BlackBoxStrategy):
    ...     kind = "assumed"
    ...     subject = "assumed"
    ...     def points(self, rows, owner, n_options, n_jobs=None, encoded=None):
    ...         spread = 0.3 * np.eye(len(rows))
    ...         return standard_points(self.model.scores(rows), spread, owner, n_options + 1)
    ...     def build(self, applicants, request, run):
    ...         raise NotImplementedError
    >>> Assumed.additive, Assumed.__abstractmethods__
    (False, frozenset())
    """

    setting: ClassVar[str] = ""
    """Surrogate of a planner with this strategy, where it has another name."""

    model: BlackBox
    radius: float
    seed: int
    ambiguity_class: type[AmbiguitySet] = MomentBall
    family: str = "any"

    @classmethod
    def fit(cls, model: BlackBox, schema: FeatureSchema, X: "pd.DataFrame", y: Any, settings: FitSettings) -> Self:
        """Check the model on rows such as it will be queried about, and learn what the surrogate needs."""
        given = settings.later_models.ambiguity
        if given is not None and given.has_moments:
            raise InvalidInputError(
                "later_models: moments are those of a linear model's parameters, and this model is not linear; leave "
                "mean, cov and drift of the set out"
            )
        space = local_space(schema, settings.cost, medians(schema, X))
        require_readable([model], space, X)
        model = replace(model.clipped_for(X), typical=typical_rows(X[list(model.columns)]))
        learned = cls.learn(model, space, X, y, settings)
        return cls(
            model=model,
            space=space,
            seed=settings.seed,
            ambiguity_class=MomentBall if given is None else type(given),
            family=settings.later_models.family if given is None else given.family,
            n_rows=len(X),
            **learned,
        )

    @classmethod
    def learn(
        cls,
        model: BlackBox,  # noqa: ARG003 - for subclasses that retrain it
        space: ActionSpace,  # noqa: ARG003
        X: "pd.DataFrame",  # noqa: ARG003
        y: Any,  # noqa: ARG003
        settings: FitSettings,
    ) -> dict[str, Any]:
        """The fields of the strategy besides model, space and seed: radius and radius_source, and those of its own."""
        given = settings.later_models.ambiguity
        if given is None:
            raise InvalidInputError(f"{cls.__name__} needs a fixed set: later_models=MomentBall(radius=...)")
        return {"radius": given.radius, "radius_source": "given"}

    def with_fields(self, changes: Mapping[str, Mapping[str, Any]]) -> Self:
        """The same state for another schema: columns that became immutable are none of the space any more."""
        space_before = self.space
        space = local_space(self.schema.replace(changes), space_before.cost, space_before.typical)
        return replace(self, space=replace(space, plausibility=space_before.plausibility), wished=True)

    def with_radius(self, radius: float, source: str) -> Self:
        """The same state with another radius."""
        return replace(self, radius=radius, radius_source=source)

    def ambiguity(self, n_options: int) -> AmbiguitySet:
        """The distributions of standardised scores of plans with up to so many options."""
        ball = standard_ball(n_options, self.radius)
        return self.ambiguity_class(ball.mean, ball.cov, ball.radius, ball.drift, family=self.family)

    @property
    def reference_rows(self) -> "pd.DataFrame | None":
        """Rows of typical values."""
        return None if self.model.typical is None else _known_rows(self.model)[0]

    def encode(self, table: "pd.DataFrame") -> Array:
        """Return the model's scores of rows, (N, 1), which shows whether it can read them."""
        return self.model.scores(table)[:, None]

    def start(self, table: "pd.DataFrame", encoded: Array | None = None) -> Array:  # noqa: ARG002 - all stand at 0
        """The applicants in local coordinates, (N, D)."""
        rows = np.zeros((len(table), 1 + self.space.n_directions))
        rows[:, 0] = 1.0
        return rows

    def changes(self, before: "pd.DataFrame", after: "pd.DataFrame", points: tuple[Array, Array]) -> Array:  # noqa: ARG002 - points are what the models say of rows, not the rows
        """Return the distances that M rows were moved, (M,), in units of effort and over all columns."""
        features = tuple(feature.replace(immutable=False) for feature in self.schema.features)
        space = local_space(replace(self.schema, features=features), L1())
        return space.effort(read_regions(space, before), read_regions(space, after).own)

    def pack(self) -> Archive:
        """Return the part of a saved planner that is specific to this strategy."""
        arrays: dict[str, Any] = {}
        rows, arrays["scores"] = _known_rows(self.model)
        refits, members = self.pack_refits(rows, arrays)
        content = {
            "seed": self.seed,
            "family": self.family,
            "reliability": self.reliability,
            "n_rows": self.n_rows,
            "clip": self.model.clip,
            "typical": dict(self.space.typical),
            **refits,
            "rows": pack_frame(rows, "rows", arrays),
        }
        return Archive(content, arrays, members)

    def pack_refits(self, rows: "pd.DataFrame", arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:  # noqa: ARG002 - for subclasses with refits
        """Return what a file says of the refits, and the members with them; `rows` are some that they can read.

        Arrays are added to those given.
        """
        return {"refits": None}, {}

    @classmethod
    def unpack(cls, archive: Archive, schema: FeatureSchema, model: Any) -> Self:
        """Read what `pack` returned; an OtherModelError for another model than its own."""
        content, settings = archive.content, archive.content["settings"]
        if settings["surrogate"] != (cls.setting or cls.kind):
            raise ValueError("its surrogate is not that of its strategy")
        state = _numbers(content, schema)
        try:
            box = BlackBox.read(
                model, content["columns"], threshold=settings["threshold"], favourable=settings["favourable"]
            )
        except InvalidInputError as error:
            raise OtherModelError(str(error)) from error
        box = replace(box, clip=float(content["clip"]))
        state["model"] = replace(box, typical=_require_same(box, archive))
        return cls(**state, **cls.unpack_learned(archive, state["model"]))

    @property
    def fixed_set(self) -> AmbiguitySet | None:
        """The set, without moments."""
        return self.ambiguity_class(radius=self.radius, family=self.family)

    @classmethod
    def unpack_learned(cls, archive: Archive, model: BlackBox) -> dict[str, Any]:  # noqa: ARG003 - for subclasses with refits
        """The stored fields of a subclass's own."""
        return {}


def local_space(schema: FeatureSchema, cost: Cost, typical: Mapping[str, float] | None = None) -> ActionSpace:
    """The columns of a schema that may change; `typical` as in `ActionSpace`."""
    changeable = [feature for feature in schema.features if not feature.immutable]
    numeric = [feature for feature in changeable if feature.is_numeric]
    categorical = [feature for feature in changeable if feature.is_categorical]
    return ActionSpace(schema, (*numeric, *categorical), cost, typical=typical or {})


def score_all(models: Sequence[BlackBox], rows: "pd.DataFrame | ReadTable", n_jobs: int | None) -> Array:
    """Scores of raw rows by several models, (K, M)."""
    table, scores = ReadTable.of(rows), np.zeros((len(models), len(rows)))

    def work(some: slice) -> None:
        for k in range(*some.indices(len(models))):
            scores[k] = models[k].scores(table)

    with one_thread_no_warnings(), readable_rows():
        for_each_chunk(work, len(models), 1, n_jobs, what="asking the refits", unit="refits")
    return scores


def readable_rows() -> AbstractContextManager[None]:
    """Turn the error of a model that cannot read a row into one that says so."""
    return reading_rows(
        "a row that the schema allows",
        "make the schema narrower (allowed values, ranges, rules), or the model more tolerant",
    )


def require_readable(models: Sequence[BlackBox], space: ActionSpace, X: "pd.DataFrame") -> None:
    """Raise, before any work, if a model cannot read rows such as the search will query."""
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


def fewest_values(space: ActionSpace, X: "pd.DataFrame", samples: Sequence[Indices]) -> int:
    """Position of the sample with the fewest values of categorical columns: a model fitted to it knows the fewest."""
    codes = [space.schema.codes(X, feature.name) for _, feature in space.categorical]
    n_values = [sum(int(np.count_nonzero(np.bincount(own[rows] + 1)[1:])) for own in codes) for rows in samples]
    return int(np.argmin(n_values))


def _unreadable_value(model: BlackBox, space: ActionSpace, X: "pd.DataFrame") -> str:
    """Name a level that the model cannot read by itself, "" where it can read all of them."""
    few = _good_rows(space, X)
    regions = read_regions(space, few)
    for f, feature in space.categorical:
        for level, value in zip(space.levels(f), feature.values or (), strict=False):
            rows = regions.own.copy()
            rows[:, f] = level
            try:
                model.scores(write_rows(space, few, regions, np.arange(len(few)), rows))
            except Exception:  # noqa: BLE001 - whatever the model has against it
                return f"the value {shown(value)} of column {feature.name!r}"
    return ""


def _good_rows(space: ActionSpace, X: "pd.DataFrame") -> ReadTable:
    """A few rows of the data that the schema finds good, spread over the table, with room for all levels."""
    few = X.iloc[np.linspace(0, len(X) - 1, min(N_PROBED, len(X))).astype(int)]
    good = few.iloc[np.flatnonzero([not message for message in space.schema.check(few)])]
    return make_room(space, ReadTable(good))


def probes(space: ActionSpace, X: "pd.DataFrame") -> ReadTable:
    """Rows of the data, also with each number at each end of its range, and each level that a column may change to."""
    few = _good_rows(space, X)
    regions = read_regions(space, few)
    varied = [regions.own]
    for f in range(len(space.numeric) if len(few) else 0):
        for end in (regions.lower, regions.upper):
            varied.append(regions.own.copy())
            varied[-1][:, f] = end[:, f]
    for f, feature in space.categorical if len(few) else ():
        for code in np.flatnonzero(possible_moves(feature).sum(axis=0) > 1):  # from its own, and from another one
            varied.append(regions.own.copy())
            varied[-1][:, f] = space.starts[f] + code
    owner = np.tile(np.arange(len(few)), len(varied))
    return write_rows(space, few, regions, owner, np.concatenate(varied))


def _known_rows(model: BlackBox) -> tuple["pd.DataFrame", Any]:
    """Those of the model's typical rows that it can read, with its scores of them."""
    rows = model.typical
    assert rows is not None  # noqa: S101 - whatever is saved was fitted by `fit`, or read
    try:
        return rows, model.scores(rows)
    except Exception:  # noqa: BLE001 - a model raises what it likes; the rows are a mix, and need not make sense to it
        kept = [k for k in range(len(rows)) if _reads(model, rows.iloc[[k]])]
    return rows.iloc[kept].reset_index(drop=True), model.scores(rows.iloc[kept])


def _reads(model: BlackBox, row: "pd.DataFrame") -> bool:
    try:
        model.scores(row)
    except Exception:  # noqa: BLE001 - as above
        return False
    return True


def _numbers(content: dict[str, Any], schema: FeatureSchema) -> dict[str, Any]:
    """The stored fields that all strategies for black boxes have, but the model; an error where a number is none."""
    seed, clip = int(content["seed"]), float(content["clip"])
    int(content["settings"]["n_options"])
    good = seed >= 0 and 0.0 < clip < 0.5 and isinstance(content["columns"], list)
    if not good:
        raise ValueError("its numbers are not those of a planner")
    return {
        "space": local_space(schema, read_cost(content["settings"]["cost"]), read_medians(content)),
        "radius": read_number(float(content["radius"]), "radius"),
        "radius_source": str(content["radius_source"]),
        "seed": seed,
        "family": read_word(content["family"], tuple(FAMILIES), "family"),
        "n_rows": content["n_rows"],
    }


def _require_same(model: BlackBox, archive: Archive) -> "pd.DataFrame":
    """The rows in the file, if the model says of them what it said when the planner was saved."""
    rows, expected = unpack_frame(archive.content["rows"], "rows", archive.arrays), archive.arrays["scores"]
    try:
        scores = model.scores(rows)
    except Exception as error:
        raise OtherModelError(f"it cannot read rows that the other one could ({error})") from error
    if scores.shape != expected.shape or not np.allclose(scores, expected, rtol=0.0, atol=CHANGED, equal_nan=True):
        raise OtherModelError("its answers differ from those of the one given")
    return rows
