"""The model in force: its parameters, and what each raw column does to the score."""

import typing

from copa.models.derivatives import jacobian_of, raw_jacobian
from copa.models.encoding import Encoding
from copa.models.linear import LinearModel, parameter_vector

if typing.TYPE_CHECKING:
    from copa.models.feature_map import FeatureMap

__all__ = ["Encoding", "FeatureMap", "LinearModel", "jacobian_of", "parameter_vector", "raw_jacobian"]


def __getattr__(name: str) -> typing.Any:
    # A scikit-learn transformer; importing scikit-learn takes longer than all the rest.
    if name == "FeatureMap":
        from copa.models.feature_map import FeatureMap

        return FeatureMap
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
