"""Ambiguity sets in files: what a file says beside the moments, and which sets files know.

The paper's set, a `MomentBall` of the family "any", is written as it always was: mean, covariance, radius and drift
alone. Every other set also says its kind and family, so that no reader takes its bounds for those of the paper's.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from copa._core.arrays import Array, as_vector
from copa._core.words import listed, shown
from copa.exceptions import InvalidInputError
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall, is_exact
from copa.theory.sets.location_set import LocationSet
from copa.theory.sets.refit_scores import RefitScores

KINDS: dict[str, type[AmbiguitySet]] = {
    "ball": MomentBall,
    "location": LocationSet,
    "refits": RefitScores,
}
"""Classes that files know, by the name that they have there."""

MOMENTS = ("mean", "cov", "radius", "drift")


def kind_of(ambiguity: AmbiguitySet) -> str | None:
    """Return the name that files have for the class of a set, None for one that they do not know."""
    return next((name for name, known in KINDS.items() if type(ambiguity) is known), None)


def describe_set(ambiguity: AmbiguitySet) -> dict[str, Any]:
    """Return what a file says of a set beside its moments; empty for the paper's, and for one that files do not know.

    Examples
    --------
    >>> from copa.theory.sets import LocationSet
    >>> describe_set(LocationSet([1.0], [[0.1]], 0.5, family="unimodal"))
    {'kind': 'location', 'family': 'unimodal', 'simultaneous': True}
    """
    kind = kind_of(ambiguity)
    if kind is None or is_exact(ambiguity):
        return {}
    own = {name: getattr(ambiguity, name) for name in _own_fields(type(ambiguity))}
    plain = {name: value for name, value in own.items() if value is not None and not isinstance(value, np.ndarray)}
    return {"kind": kind, "family": ambiguity.family, **plain}


def pack_set(ambiguity: AmbiguitySet) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a set as files hold it.

    Parameters
    ----------
    ambiguity : AmbiguitySet

    Returns
    -------
    content : dict
        As JSON has it: "kind", "family" and fields of the class's own; empty for the paper's set.
    arrays : dict from str to ndarray
        "mean", "cov", "radius", "drift" where it is not the identity, and arrays of the class's own.

    Raises
    ------
    InvalidInputError
        If it is a class that files do not know.
    """
    if kind_of(ambiguity) is None:
        raise InvalidInputError(
            f"files hold plans and proofs of {' and '.join(known.__name__ for known in KINDS.values())} only, and this "
            f"is a {type(ambiguity).__name__}: keep its plans as a table or as JSON without certificates, check them "
            "here with `certificate.verify()`, or plan with one of these"
        )
    arrays: dict[str, Any] = {
        "mean": ambiguity.mean,
        "cov": ambiguity.cov,
        "radius": np.float64(ambiguity.radius),
    }
    own = ("drift", *_own_fields(type(ambiguity)))
    arrays |= {name: value for name in own if isinstance(value := getattr(ambiguity, name), np.ndarray)}
    return describe_set(ambiguity), arrays


def unpack_set(content: Any, arrays: Mapping[str, Any]) -> AmbiguitySet:
    """Read what `pack_set` returned.

    Parameters
    ----------
    content : dict
        Empty for the paper's set.
    arrays : Mapping from str to array_like
        Others than those of the set are ignored.

    Raises
    ------
    InvalidInputError
        For a kind or field that is not known, or bad moments.
    KeyError
        If moments are missing.
    """
    if not isinstance(content, Mapping):
        raise InvalidInputError(f"an ambiguity set must be told by its kind and family, got {shown(content)}")
    told = {"kind": "ball", "family": "any"} if not content else dict(content)
    kind, family = told.pop("kind", None), told.pop("family", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInputError(
            f"the kind of ambiguity set must be one of {listed([*KINDS])}, got {shown(kind)}; update COPA"
        )
    own = _own_fields(KINDS[kind])
    unknown = sorted(set(map(str, told)) - set(own))
    if unknown:
        raise InvalidInputError(f"an ambiguity set of the kind {kind!r} has no field {shown(unknown[0])}; update COPA")
    values: dict[str, Any] = told | {name: arrays[name] for name in own if name in arrays}
    values |= {"mean": as_vector(arrays["mean"], "mean"), "cov": arrays["cov"], "radius": arrays["radius"]}
    return KINDS[kind](**values, drift=arrays.get("drift"), family=family)


def set_to_json(ambiguity: AmbiguitySet) -> dict[str, Any]:
    """Return a set as one JSON object, numbers to the last bit."""
    content, arrays = pack_set(ambiguity)
    told: dict[str, Any] = {name: _listed(arrays.get(name)) for name in MOMENTS}
    return told | content | {name: _listed(array) for name, array in arrays.items() if name not in MOMENTS}


def set_from_json(told: Mapping[str, Any]) -> AmbiguitySet:
    """Read what `set_to_json` returned; an InvalidInputError or KeyError says where it is damaged."""
    if not isinstance(told, Mapping):
        raise InvalidInputError(f"an ambiguity set must be an object with its moments, got {shown(told)}")
    return unpack_set({name: value for name, value in told.items() if name not in MOMENTS}, told)


def _listed(array: Array | None) -> Any:
    return None if array is None else array.tolist()


def _own_fields(known: type[AmbiguitySet]) -> tuple[str, ...]:
    """Fields that a class has beside those of every set."""
    common = {field.name for field in fields(AmbiguitySet)}
    return tuple(field.name for field in fields(known) if field.init and field.name not in common)
