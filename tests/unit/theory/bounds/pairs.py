"""Every pair of a set and a family that comes with the library."""

from functools import partial

from copa.theory.sets.ambiguity import MomentBall
from copa.theory.sets.families import FAMILIES
from copa.theory.sets.location_set import LocationSet
from unit.theory.bounds.unimodal import UnimodalMeanSet

BUILT_IN = {
    f"{name}-{family}": partial(kind, family=family, **own)
    for name, kind, own in (
        ("ball", MomentBall, {}),
        ("location", LocationSet, {"simultaneous": True}),
        ("one at a time", LocationSet, {"simultaneous": False}),
    )
    for family in FAMILIES
}
"""Each a function of mean, cov, radius and drift that returns the set."""

EVERY = BUILT_IN | {"a user's": UnimodalMeanSet}
