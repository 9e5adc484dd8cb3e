"""Models theta'phi(x) that are linear in features phi(x) of the raw row, and the derivative of phi."""

import typing

from copa.models.feature_maps.dispatch import jacobian_of
from copa.models.feature_maps.raw import raw_jacobian

if typing.TYPE_CHECKING:
    from copa.models.feature_maps.feature_map import FeatureMap

__all__ = ["FeatureMap", "jacobian_of", "raw_jacobian"]


def __getattr__(name: str) -> typing.Any:
    # A scikit-learn transformer; importing scikit-learn takes longer than all the rest.
    if name == "FeatureMap":
        from copa.models.feature_maps.feature_map import FeatureMap

        return FeatureMap
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
