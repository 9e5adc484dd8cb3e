"""What was asked of plans, and the facts that their guarantees rest on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from copa._core.reading import is_number, is_whole, read_count, read_flag, read_number, read_share, read_word
from copa._core.representation import short_repr
from copa._core.solve_time import require_few_options
from copa._core.words import GUARANTEE_FOR, shown
from copa.data.schema import FeatureSchema
from copa.data.schema.yaml_files import with_text_keys
from copa.data.tables.cells import plain
from copa.exceptions import InvalidInputError

OBJECTIVES = ("level", "paper")
SUBJECTS = ("parameters", "scores", "surrogate", "assumed")


def _read_n_options(value: Any, name: str) -> int:
    number = read_count(value, name)
    require_few_options(number)
    return number


def _read_plausibility(value: Any, name: str) -> float:
    if not is_number(value) or not 0.0 <= value < 1.0:
        raise InvalidInputError(f"{name} must be a share of the training rows, from 0 to below 1, got {shown(value)}")
    return float(value)


CONSTRAINTS: dict[str, Callable[[Any, str], Any]] = {
    "guarantee": read_share,
    "guarantee_for": lambda value, name: read_word(value, GUARANTEE_FOR, name),
    "n_options": _read_n_options,
    "diversity_weight": read_number,
    "validity_weight": read_number,
    "margin": read_number,
    "plausibility": _read_plausibility,
}
"""What may be asked of plans, by settings, wishes and requests alike: functions that read a value or raise."""


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
        for name, value in vars(self).items():
            object.__setattr__(self, name, CONSTRAINTS[name](value, name))


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What was asked of plans.

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
        for name in ("guarantee", "n_options", "diversity_weight", "validity_weight", "margin", "plausibility"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        for name, known in (("guarantee_for", GUARANTEE_FOR), ("objective", OBJECTIVES)):
            read_word(getattr(self, name), known, name)
        read_flag(self.expected, "expected")
        if not isinstance(self.guarantee, (int, float)) or not 0.0 <= self.guarantee <= 1.0:
            raise InvalidInputError(f"guarantee must be a probability, from 0 to 1, got {shown(self.guarantee)}")
        if not isinstance(self.cost, str):
            raise InvalidInputError(f"cost must be the name of a cost, got {shown(self.cost)}")
        if not is_number(self.plausibility) or not 0.0 <= self.plausibility < 1.0:
            raise InvalidInputError(
                f"plausibility must be a share of the training rows, from 0 to below 1, got {shown(self.plausibility)}"
            )
        if not is_whole(self.n_options):
            raise InvalidInputError(f"n_options must be a whole number, got {shown(self.n_options)}")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PlanRequest":
        """Read what `to_dict` returned; a KeyError names an entry that is missing."""
        return cls(**{f.name: content[f.name] for f in fields(cls)})

    def to_dict(self) -> dict[str, Any]:
        """Return the request as JSON has it."""
        return dict(vars(self))

    @property
    def level(self) -> float | None:
        """The guarantee asked for; None where none is: the paper's objective, or an expected rate."""
        return self.guarantee if self.objective == "level" and not self.expected else None

    @property
    def goal(self) -> str:
        """What the probability is asked of, in words."""
        return "expected rate" if self.expected else "guarantee"


KINDS = (
    ("schema", FeatureSchema, "a FeatureSchema"),
    ("radius_source", str, "text"),
    ("tested", bool, "true or false"),
)


@dataclass(frozen=True, kw_only=True)
class PlanBasis:
    """The facts that the guarantees of plans rest on, beside the ambiguity set.

    Parameters
    ----------
    favourable : str, int, float or bool
        Label of the model that a person wants.
    threshold : float or None
        Value from which on the model gives it; None where its own `predict` decides.
    radius_source : str
        Where the radius of the ambiguity set comes from, in words.
    schema : FeatureSchema
        What may change.
    subject : {"parameters", "scores", "surrogate", "assumed"}
        What the ambiguity set is about: the parameters of the next model, the scores that refits of a black box give
        these very rows, the parameters of a linear surrogate for it around the applicant, or scores of these rows whose
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
        for name in ("favourable", "threshold", "confidence", "reliability", "n_rows", "n_columns"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        read_word(self.subject, SUBJECTS, "subject")
        if not isinstance(self.favourable, (str, int, float)):
            raise InvalidInputError(f"favourable must be a label, text or a number, got {shown(self.favourable)}")
        if not (self.threshold is None or isinstance(self.threshold, (int, float))):
            raise InvalidInputError(f"threshold must be a number or None, got {shown(self.threshold)}")
        for name in ("confidence", "reliability"):
            value = getattr(self, name)
            if not (value is None or (is_number(value) and 0.0 <= value <= 1.0)):
                raise InvalidInputError(f"{name} must be a number from 0 to 1, or None, got {shown(value)}")
        for name in ("n_rows", "n_columns"):
            value = getattr(self, name)
            if not (value is None or (is_whole(value) and value >= 0)):
                raise InvalidInputError(f"{name} must be a whole number, or None, got {shown(value)}")
        for name, kind, words in KINDS:
            if not isinstance(getattr(self, name), kind):
                raise InvalidInputError(f"{name} must be {words}, got {shown(getattr(self, name))}")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PlanBasis":
        """Read what `to_dict` returned; a KeyError names an entry that is missing."""
        facts = {f.name: content[f.name] for f in fields(cls)}
        return cls(**(facts | {"schema": FeatureSchema.from_dict(facts["schema"])}))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON has them."""
        return vars(self) | {"schema": with_text_keys(self.schema.to_dict())}
