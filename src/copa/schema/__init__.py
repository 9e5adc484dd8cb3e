"""What a feature is and what may happen to it."""

from copa.schema.feature import Feature
from copa.schema.feature_schema import FeatureSchema
from copa.schema.region import FeasibleRegion
from copa.schema.rules import LinearRule
from copa.schema.violations import Violation

__all__ = ["FeasibleRegion", "Feature", "FeatureSchema", "LinearRule", "Violation"]
