"""Assumptions about the models that follow today's."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from copa._core.reading import read_count, read_share, read_word
from copa._core.representation import short_repr
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.base import Model
from copa.models.refits.versions import refit_versions
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from copa.theory.sets.families import FAMILIES

OF_FIXED_SETS = ("ambiguity", "n_refits")  # all that is taken from a `LaterModels` with a fixed set


@dataclass(frozen=True, kw_only=True, eq=False)
class LaterModels:
    """Assumptions about the models that follow today's: the set of distributions that guarantees hold for.

    The mean of the next score may be off by what the confidence in today's data allows for, or by what past versions
    have moved, whichever is more. A fixed set, as in the paper, stands in place of this rule.

    Parameters
    ----------
    confidence : float
        In today's data, which are one sample: with this confidence they flatter the score of an option by no more than
        is allowed for.
    family : {"unimodal", "any", "gaussian"}
        Form of the distribution of the next score: one most likely value and others rarer the further away, any form
        with its mean and spread, or normal.
    history : list, optional
        Older versions, oldest first: fitted models, each with its own encoder, or their training data as pairs (X, y),
        to which the model is fitted again. How far scores moved from version to version widens the set.
    horizon : int
        Retrainings that an option must survive, as far as the history shows so many.
    n_refits : int, optional
        Refits from which the spread of retraining is estimated; further ones, on thirds of the rows, give the expected
        rates. None is as many as the kind of model affords: 1000 where they are refitted together, else 120.
    ambiguity : AmbiguitySet, optional
        A fixed set, for linear models and surrogates that assume a spread, such as `MomentBall(radius=0.05)`, the
        paper's; its family is its own, and it takes no confidence and no history. Where it has no moments, those of
        the refits are filled in. `later_models=MomentBall(radius=0.05)` is short for it.

    Examples
    --------
    >>> import copa
    >>> copa.LaterModels(confidence=0.9, horizon=2)
    LaterModels(confidence=0.9, horizon=2)
    """

    __repr__ = short_repr

    confidence: float = 0.95
    family: str = "unimodal"
    history: Sequence[Any] | None = None
    horizon: int = 4
    n_refits: int | None = None
    ambiguity: AmbiguitySet | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", read_share(self.confidence, "confidence"))
        object.__setattr__(self, "horizon", read_count(self.horizon, "horizon"))
        read_word(self.family, tuple(FAMILIES), "family")
        if self.n_refits is not None:
            object.__setattr__(self, "n_refits", read_count(self.n_refits, "n_refits", 2))
        _require_history(self.history)
        if self.ambiguity is None:
            return
        if not isinstance(self.ambiguity, AmbiguitySet):
            raise InvalidInputError(
                f"ambiguity must be an AmbiguitySet, such as MomentBall(radius=0.05), or None, got "
                f"{shown(self.ambiguity)}"
            )
        for field in fields(LaterModels):
            if field.name not in OF_FIXED_SETS and getattr(self, field.name) != field.default:
                raise InvalidInputError(
                    f"a fixed set takes no {field.name}; leave it out"
                    + (", and give the family to the set" if field.name == "family" else "")
                )

    @property
    def expected(self) -> bool:
        """True where plans are made for expected rates, and not for guarantees."""
        return isinstance(self, Expected)

    @property
    def history_data(self) -> list[Any]:
        """Training data of the history, oldest first; none where it is of models."""
        return [version for version in self.history or () if _is_pair(version)]

    def versions(self, model: Model) -> list[Any]:
        """Return the older models of the history, refitted where their data were given."""
        history = list(self.history or ())
        return refit_versions(model, history) if history and _is_pair(history[0]) else history

    def fits_like(self, other: "LaterModels") -> bool:
        """Return whether a planner fitted with the other would be the same, fitted with this one."""
        history, others = list(self.history or ()), list(other.history or ())
        return (
            all(getattr(self, name) == getattr(other, name) for name in ("confidence", "family", "horizon", "n_refits"))
            and (self.history is None) == (other.history is None)
            and len(history) == len(others)
            and all(_is_same(one, two) for one, two in zip(history, others, strict=True))
            and (self.ambiguity is other.ambiguity or _same_sets(self.ambiguity, other.ambiguity))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the assumptions as JSON has them, without history and fixed set."""
        names = ("confidence", "family", "horizon", "n_refits")
        return {"expected": self.expected, **{name: getattr(self, name) for name in names}}

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "LaterModels":
        """Read what `to_dict` returned."""
        content = dict(content)
        return (Expected if content.pop("expected") is True else LaterModels)(**content)


class Expected(LaterModels):
    """Later models as in `LaterModels`, planned for by the rate at which refits are expected to accept an option.

    `guarantee=0.9` then asks for an expected rate of 0.9, which costs less than a guarantee and is none. The
    guarantees of the options are reported beside it.

    Parameters
    ----------
    confidence, family, history, horizon, n_refits, ambiguity : object
        As in `LaterModels`.

    Examples
    --------
    >>> import copa
    >>> planner = copa.RecoursePlanner(None, guarantee=0.9, later_models=copa.Expected())
    """


def read_later_models(value: Any) -> LaterModels:
    """Read the setting `later_models`: a fixed set stands for `LaterModels(ambiguity=...)`."""
    if isinstance(value, LaterModels):
        return value
    if isinstance(value, AmbiguitySet):
        return LaterModels(ambiguity=value)
    raise InvalidInputError(
        "later_models must be LaterModels(...), Expected(...) or a fixed set such as MomentBall(radius=0.05), got "
        f"{shown(value)}"
    )


def assume(
    value: Any, *, expected: bool | None = None, moment_ball: float | None = None, **changes: Any
) -> LaterModels:
    """Change some assumptions: fields, a `MomentBall` of a radius, expected rates or guarantees."""
    later = read_later_models(value)
    if moment_ball is not None:
        changes["ambiguity"] = MomentBall(radius=moment_ball, family=changes.pop("family", "any"))
    kind = type(later) if expected is None else Expected if expected else LaterModels
    return kind(**{field.name: getattr(later, field.name) for field in fields(later)} | changes)


def with_horizon(later: LaterModels, horizon: int) -> LaterModels:
    """Return the same assumptions over another horizon; a fixed set has none."""
    return later if later.ambiguity is not None else replace(later, horizon=horizon)


def _require_history(history: Any) -> None:
    if history is None:
        return
    if not isinstance(history, (list, tuple)):
        raise InvalidInputError(
            f"history must be a list of fitted models, or of pairs (X, y), oldest first, got {shown(history)}"
        )
    pairs = [_is_pair(version) for version in history]
    if any(pairs) and not all(pairs):
        raise InvalidInputError("history must hold fitted models, or pairs (X, y) of training data, not both")


def _is_pair(version: Any) -> bool:
    """Return whether a version is given by its training data."""
    return isinstance(version, (tuple, list))


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two versions are the same objects."""
    if _is_pair(one) and _is_pair(other):
        return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
    return one is other


def _same_sets(one: AmbiguitySet | None, other: AmbiguitySet | None) -> bool:
    return one is not None and other is not None and one.same_as(other)
