"""What was asked of a plan, and the assumptions that stand beside every number of it."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from copa._core.words import GUARANTEE_FOR, listed, shown
from copa.exceptions import InvalidInputError
from copa.schema import FeatureSchema
from copa.schema.yaml_files import with_text_keys
from copa.tables.cells import plain

OBJECTIVES = ("level", "paper")
COSTS = ("l1", "l2")
BASES = ("parameters", "scores", "stand-in")


@dataclass(frozen=True, eq=False)
class PlanTerms:
    """What was asked, of which model, and what its features may do.

    Attributes
    ----------
    guarantee : float, the probability asked for
    guarantee_for : "each" option by itself, "all" options together, or "any" of them (at least one)
    n_options : int, how many options were asked for
    objective : "level" (least effort at the level asked for) or "paper" (the paper's weighted sum, no level)
    favourable : the model's label that a person wants
    threshold : float, value from which on the model says so; None where its own `predict` decides
    cost : "l1" where the efforts of an option's changes add up, "l2" where their squares do
    radius_source : str, where the radius of the ball comes from, in words
    schema : FeatureSchema
    basis : what the ball is about: the "parameters" of the next model, or (of a model that is only asked) the "scores"
        that it gives these very rows, or the parameters of a "stand-in" for it around the applicant
    """

    guarantee: float
    guarantee_for: str
    n_options: int
    objective: str
    favourable: str | int | float | bool
    threshold: float | None
    cost: str
    radius_source: str
    schema: FeatureSchema
    basis: str = "parameters"

    def __post_init__(self) -> None:
        if not isinstance(self.schema, FeatureSchema):
            raise InvalidInputError(f"schema must be a FeatureSchema, got {shown(self.schema)}")
        for name in ("guarantee", "n_options", "favourable", "threshold"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        words = {"guarantee_for": GUARANTEE_FOR, "objective": OBJECTIVES, "cost": COSTS, "basis": BASES}
        for name, known in words.items():
            if getattr(self, name) not in known:
                raise InvalidInputError(f"{name} must be one of {listed(known)}, got {shown(getattr(self, name))}")
        if not isinstance(self.guarantee, (int, float)) or not 0.0 <= self.guarantee <= 1.0:
            raise InvalidInputError(f"guarantee must be a probability, from 0 to 1, got {shown(self.guarantee)}")
        if not isinstance(self.favourable, (str, int, float)):
            raise InvalidInputError(f"favourable must be a label, text or a number, got {shown(self.favourable)}")
        if not (self.threshold is None or isinstance(self.threshold, (int, float))):
            raise InvalidInputError(f"threshold must be a number or None, got {shown(self.threshold)}")
        if not isinstance(self.n_options, int) or not isinstance(self.radius_source, str):
            raise InvalidInputError(
                "n_options must be a whole number and radius_source text, "
                f"got {shown(self.n_options)} and {shown(self.radius_source)}"
            )

    def same_as(self, other: "PlanTerms") -> bool:
        """Whether other terms ask for the same."""
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as JSON holds them."""
        content = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "schema"}
        return content | {"schema": with_text_keys(self.schema.to_dict())}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PlanTerms":
        """Read what `to_dict` returned; what older versions did not write takes its default."""
        given = {f.name: content[f.name] for f in fields(cls) if f.default is MISSING or f.name in content}
        return cls(**given | {"schema": FeatureSchema.from_dict(content["schema"])})
