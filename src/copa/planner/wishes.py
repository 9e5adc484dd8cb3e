"""`Wishes` of one person, beyond the settings that the planner was fitted with."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from copa._core.reading import is_number, read_count
from copa._core.records import FrozenMap
from copa._core.words import hint, shown
from copa.data.schema.field_readers import SIDES, MaxChange, is_absent
from copa.data.tables.cells import plain
from copa.exceptions import InvalidInputError
from copa.plans.request import CONSTRAINTS

if TYPE_CHECKING:
    from copa.data.schema import Feature, FeatureSchema

LEAST_WEIGHT, MOST_WEIGHT = 0.01, 100.0
NOTHING: FrozenMap[str, Any] = FrozenMap({})
SETTINGS = ("guarantee", "guarantee_for", "n_options")  # wishes that are settings of a planner, by the same names
READ: dict[str, Callable[[Any, str], Any]] = {**{name: CONSTRAINTS[name] for name in SETTINGS}, "horizon": read_count}


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """Wishes of one person: columns that stay, limits, weights of changes, the guarantee and the number of options.

    A wish that is left out stays as the planner has it. Nothing that was learned depends on wishes, so that
    `planner.with_wishes` takes milliseconds; the last judge goes by them too, and no row leaves that changes a column
    which is held fixed.

    Parameters
    ----------
    fixed : sequence of str
        Columns that no option changes.
    max_change : mapping of str to float or mapping
        Limits to the change of columns, in place of the schema's: from a column to a share of the applicant's own
        value, or to units `{"up": 500, "down": 2000}`, as `Feature.max_change` has it.
    weights : mapping of str to float
        From a column to a factor, from 0.01 to 100, on the effort of changing it: below 1 where a person would rather
        change this column than others, above 1 where less so. Efforts of options are counted with it.
    guarantee : float, optional
        Level, as in `RecoursePlanner`.
    guarantee_for : {"each", "all", "any"}, optional
        Options that it is about.
    n_options : int, optional
        Most options of a plan.
    horizon : int, optional
        Retrainings that an option must survive. It moves the radius where the planner was fitted with a history, as
        far as that shows so many; without a history it changes nothing, since each retraining is then taken to be on
        fresh data of the same population.

    Examples
    --------
    >>> from copa import Wishes
    >>> wishes = Wishes(fixed=["job"], weights={"savings": 0.5}, guarantee=0.8)
    >>> wishes.fixed, wishes.n_options
    (('job',), None)
    >>> wishes == Wishes(guarantee=0.8, weights={"savings": 0.5}, fixed=("job", "job"))
    True
    """

    fixed: tuple[str, ...] = ()
    max_change: Mapping[str, MaxChange] = NOTHING
    weights: Mapping[str, float] = NOTHING
    guarantee: float | None = None
    guarantee_for: str | None = None
    n_options: int | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        self._set("fixed", _read_names(self.fixed))
        limits = _read_mapping(self.max_change, "max_change")
        self._set("max_change", FrozenMap({name: _frozen(most) for name, most in limits.items()}))
        weights = _read_mapping(self.weights, "weights")
        self._set("weights", FrozenMap({name: _read_weight(name, factor) for name, factor in weights.items()}))
        for name, read in READ.items():
            value = plain(getattr(self, name))
            if value is not None:
                read(value, name)
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def settings(self) -> dict[str, Any]:
        """Wishes that are settings of a planner, without those left out."""
        return {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}

    def changes(self, schema: "FeatureSchema") -> dict[str, dict[str, Any]]:
        """Return the wishes as fields of columns, for `FeatureSchema.replace`.

        Parameters
        ----------
        schema : FeatureSchema

        Returns
        -------
        dict of str to dict

        Raises
        ------
        InvalidInputError
            If there is no such column, or it is immutable and a limit or a weight is asked for.
        """
        for name in (*self.fixed, *self.max_change, *self.weights):
            if name not in schema:
                raise InvalidInputError(f"there is no column {shown(name)}; {hint(name, schema.names)}")
        for what, names in (("max_change", self.max_change), ("weights", self.weights)):
            for name in names:
                if schema[name].immutable:
                    raise InvalidInputError(f"{what}: column {shown(name)} is immutable, no option changes it")
        found: dict[str, dict[str, Any]] = {name: {"max_change": most} for name, most in self.max_change.items()}
        for name, factor in self.weights.items():
            found.setdefault(name, {})["weight"] = factor * schema[name].weight
        for name in self.fixed:
            found.setdefault(name, {})["immutable"] = True
        return found

    def require_within(self, schema: "FeatureSchema") -> None:
        """Raise if a limit is wider than the schema's own, or of another kind so that it cannot be compared.

        For whoever takes wishes from applicants: these may ask for less than the schema allows, not for more.

        Parameters
        ----------
        schema : FeatureSchema
        """
        for name, most in self.max_change.items():
            own = schema[name].max_change if name in schema else None
            if own is not None and not _is_within(schema[name].replace(max_change=most), own):
                raise InvalidInputError(
                    f"max_change of column {shown(name)} must be within what the schema allows, {_told(own)}, got "
                    f"{_told(most)}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the wishes as JSON has them, without what was left out.

        Returns
        -------
        dict
        """
        given: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not is_absent(value):
                given[entry.name] = _plain(value)
        return given


def _read_names(names: Any) -> tuple[str, ...]:
    if names is None:
        return ()
    if isinstance(names, (str, Mapping)) or not isinstance(names, Iterable):
        raise InvalidInputError(f"fixed must be a list of columns, got {shown(names)}")
    read = list(names)
    for name in read:
        if not isinstance(name, str):
            raise InvalidInputError(f"fixed must be a list of columns, got {shown(name)} in it")
    return tuple(sorted(set(read)))


def _read_mapping(given: Any, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{what} must be a mapping from columns, got {shown(given)}")
    for name in given:
        if not isinstance(name, str):
            raise InvalidInputError(f"{what} must be a mapping from columns, got {shown(name)} in it")
    return dict(given)


def _read_weight(name: str, factor: Any) -> float:
    if not is_number(factor) or not LEAST_WEIGHT <= factor <= MOST_WEIGHT:
        raise InvalidInputError(
            f"weights: the factor of column {shown(name)} must be a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}, "
            f"got {shown(factor)}"
        )
    return float(factor)


def _frozen(most: Any) -> Any:
    """Return a limit in a form that can be hashed; the schema checks it."""
    return FrozenMap(most) if isinstance(most, Mapping) else plain(most)


def _is_within(feature: "Feature", own: MaxChange) -> bool:
    """Return whether the limit of a column, which the schema has read, asks for no more than another one."""
    most = feature.max_change
    if isinstance(most, Mapping) and isinstance(own, Mapping):
        return all(side not in own or most.get(side, float("inf")) <= own[side] for side in SIDES)
    return isinstance(most, float) and isinstance(own, float) and most <= own


def _told(most: Any) -> str:
    if isinstance(most, Mapping):
        return f"units {shown(dict(most))}"
    return f"a share of {shown(most)}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value
