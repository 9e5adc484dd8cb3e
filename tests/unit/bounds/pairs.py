"""Every pair of a set and a family that comes with the library."""

from functools import partial

from copa.uncertainty.ambiguity import MomentBall
from copa.uncertainty.families import FAMILIES
from copa.uncertainty.location_set import LocationSet
from unit.bounds.unimodal import UnimodalMeanSet

BUILT_IN = {
    f"{name}-{family}": partial(kind.read, family=family, **own)
    for name, kind, own in (
        ("ball", MomentBall, {}),
        ("location", LocationSet, {"simultaneous": True}),
        ("one at a time", LocationSet, {"simultaneous": False}),
    )
    for family in FAMILIES
}
"""Each a function of mean, cov, radius and drift that returns the set."""

EVERY = BUILT_IN | {"a user's": UnimodalMeanSet.read}
