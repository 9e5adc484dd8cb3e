"""Requests for plans, and the facts that their guarantees rest on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from copa._core.reading import is_number, read_count, read_flag, read_number, read_share, read_word
from copa._core.representation import short_repr
from copa._core.solve_time import require_few_options
from copa._core.words import GUARANTEE_FOR, shown
from copa.data.schema import FeatureSchema
from copa.data.schema.yaml_files import with_text_keys
from copa.data.tables.cells import plain
from copa.exceptions import InvalidInputError

OBJECTIVES = ("level", "paper")
SUBJECTS = ("parameters", "scores", "surrogate", "assumed")

Reader = Callable[[Any, str], Any]  # takes a value and its name; returns the value, or raises an error that names it


def _read_n_options(value: Any, name: str) -> int:
    number = read_count(value, name)
    require_few_options(number)
    return number


def _read_plausibility(value: Any, name: str) -> float:
    if not is_number(value) or not 0.0 <= value < 1.0:
        raise InvalidInputError(f"{name} must be a share of the training rows, from 0 to below 1, got {shown(value)}")
    return float(value)


CONSTRAINTS: dict[str, Reader] = {
    "guarantee": read_share,
    "guarantee_for": lambda value, name: read_word(value, GUARANTEE_FOR, name),
    "n_options": _read_n_options,
    "diversity_weight": read_number,
    "validity_weight": read_number,
    "margin": read_number,
    "plausibility": _read_plausibility,
}
"""Readers of what may be asked of plans, for settings, wishes and requests alike."""


def _optional(read: Reader) -> Reader:
    return lambda value, name: None if value is None else read(value, name)


def _of_type(kind: type, words: str) -> Reader:
    def read(value: Any, name: str) -> Any:
        if not isinstance(value, kind):
            raise InvalidInputError(f"{name} must be {words}, got {shown(value)}")
        return value

    return read


def _read_label(value: Any, name: str) -> Any:
    if not isinstance(value, (str, int, float)):
        raise InvalidInputError(f"{name} must be a label, text or a number, got {shown(value)}")
    return value


def _read_threshold(value: Any, name: str) -> Any:
    if not (value is None or isinstance(value, (int, float))):
        raise InvalidInputError(f"{name} must be a number or None, got {shown(value)}")
    return value


def _read_unit_number(value: Any, name: str) -> float:
    if not (is_number(value) and 0.0 <= value <= 1.0):
        raise InvalidInputError(f"{name} must be a number from 0 to 1, or None, got {shown(value)}")
    return float(value)


def _read_fields(record: Any, readers: Mapping[str, Reader]) -> None:
    """Check the fields of a frozen dataclass, and keep them as plain Python objects."""
    for name, read in readers.items():
        object.__setattr__(record, name, read(plain(getattr(record, name)), name))


@dataclass(frozen=True)
class PaperObjective:
    """The paper's objective, as `objective` of a `RecoursePlanner`: a weighted sum of effort, validity and diversity.

    Plans minimise it, and report whatever guarantee comes out. It is for models that are linear in their columns.

    Parameters
    ----------
    validity_weight : float
        Weight of validity.
    diversity_weight : float
        Weight of the diversity penalty.
    margin : float
        Least mean score of an option.

    Examples
    --------
    >>> import copa
    >>> copa.PaperObjective(validity_weight=1.0)
    PaperObjective(validity_weight=1.0, diversity_weight=5.0, margin=0.1)
    """

    validity_weight: float = 0.5
    diversity_weight: float = 5.0
    margin: float = 0.1

    def __post_init__(self) -> None:
        _read_fields(self, {name: CONSTRAINTS[name] for name in vars(self)})


OF_REQUEST: dict[str, Reader] = CONSTRAINTS | {
    "n_options": read_count,  # plans of others may have more options than are searched for
    "diversity_weight": _optional(read_number),
    "objective": lambda value, name: read_word(value, OBJECTIVES, name),
    "cost": _of_type(str, "the name of a cost"),
    "expected": read_flag,
}


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """Request that plans were made for.

    Parameters
    ----------
    guarantee : float
        Probability asked for.
    guarantee_for : {"each", "all", "any"}
        Whether it is asked of each option by itself, of all options together, or of any of them (at least one).
    n_options : int
        Number of options of a plan.
    objective : {"level", "paper"}
        Least effort at the guarantee asked for, or the paper's weighted sum, which asks for no guarantee.
    cost : str
        Name of what a change costs: "l1" where the efforts of an option's changes add up, "l2" where their squares do.
    diversity_weight : float, optional
        Weight of the diversity penalty; None where it is not known.
    validity_weight : float
        Weight of validity in the paper's objective.
    margin : float
        Least mean score in the paper's objective.
    expected : bool
        Whether the probability is asked of the rate at which refits are expected to accept options, which is no
        guarantee, in place of their guarantee.
    plausibility : float
        Least plausibility of an option; 0 asks for none.

    Examples
    --------
    >>> from copa.plans import PlanRequest
    >>> PlanRequest(guarantee=0.9, guarantee_for="each", n_options=5).objective
    'level'
    """

    guarantee: float
    guarantee_for: str
    n_options: int
    objective: str = "level"
    cost: str = "l1"
    diversity_weight: float | None = None
    validity_weight: float = 0.5
    margin: float = 0.1
    expected: bool = False
    plausibility: float = 0.0

    def __post_init__(self) -> None:
        _read_fields(self, OF_REQUEST)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PlanRequest":
        """Read what `to_dict` returned; a KeyError names an entry that is missing."""
        return cls(**{f.name: content[f.name] for f in fields(cls)})

    def to_dict(self) -> dict[str, Any]:
        """Return the request as JSON has it."""
        return dict(vars(self))

    @property
    def level(self) -> float | None:
        """Guarantee asked for; None under the paper's objective and for an expected rate."""
        return self.guarantee if self.objective == "level" and not self.expected else None

    @property
    def goal(self) -> str:
        """Word for the kind of probability asked for."""
        return "expected rate" if self.expected else "guarantee"


OF_BASIS: dict[str, Reader] = {
    "favourable": _read_label,
    "threshold": _read_threshold,
    "radius_source": _of_type(str, "text"),
    "schema": _of_type(FeatureSchema, "a FeatureSchema"),
    "subject": lambda value, name: read_word(value, SUBJECTS, name),
    "confidence": _optional(_read_unit_number),
    "reliability": _optional(_read_unit_number),
    "n_rows": _optional(lambda value, name: read_count(value, name, 0)),
    "n_columns": _optional(lambda value, name: read_count(value, name, 0)),
    "tested": read_flag,
}


@dataclass(frozen=True, kw_only=True)
class PlanBasis:
    """Facts that the guarantees of plans rest on, beside the ambiguity set.

    Parameters
    ----------
    favourable : str, int, float or bool
        Label of the model that a person wants.
    threshold : float or None
        Value from which on the model gives it; None where its own `predict` decides.
    radius_source : str
        Source of the radius of the ambiguity set, in words.
    schema : FeatureSchema
        Columns, and how they may change.
    subject : {"parameters", "scores", "surrogate", "assumed"}
        Subject of the ambiguity set: the parameters of the next model, the scores that refits of a black box give these
        very rows, the parameters of a linear surrogate for it around the applicant, or scores of these rows whose
        covariance is assumed and not estimated.
    confidence : float, optional
        In today's data, where the ambiguity set follows from it; None where the radius was given.
    reliability : float, optional
        Share of today's scores that another sample is expected to find; None where it was not estimated.
    n_rows, n_columns : int, optional
        Size of the training data: rows, and columns as the model encodes them.
    tested : bool
        Whether the benchmark behind `copa.plans.tested` covers this kind of model, data and constraints.

    Examples
    --------
    >>> import copa
    >>> from copa.plans import PlanBasis
    >>> schema = copa.datasets.load_german().schema
    >>> PlanBasis(favourable="good", threshold=0.5, radius_source="given", schema=schema).subject
    'parameters'
    """

    __repr__ = short_repr

    favourable: str | int | float | bool
    threshold: float | None
    radius_source: str
    schema: FeatureSchema
    subject: str = "parameters"
    confidence: float | None = None
    reliability: float | None = None
    n_rows: int | None = None
    n_columns: int | None = None
    tested: bool = False

    def __post_init__(self) -> None:
        _read_fields(self, OF_BASIS)

    @property
    def deducts(self) -> bool:
        """Whether the last coordinate of points is what is deducted from an option's score, as it is not reliable."""
        return self.subject == "parameters" and self.reliability is not None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PlanBasis":
        """Read what `to_dict` returned; a KeyError names an entry that is missing."""
        facts = {f.name: content[f.name] for f in fields(cls)}
        return cls(**(facts | {"schema": FeatureSchema.from_dict(facts["schema"])}))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON has them."""
        return vars(self) | {"schema": with_text_keys(self.schema.to_dict())}
