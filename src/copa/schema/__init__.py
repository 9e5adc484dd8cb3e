"""What a feature is and what may happen to it."""

from copa.schema.feature import Feature
from copa.schema.feature_schema import FeatureSchema
from copa.schema.region import Limits
from copa.schema.rules import LinearRule

__all__ = ["Feature", "FeatureSchema", "Limits", "LinearRule"]
