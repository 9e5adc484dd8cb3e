"""Features, and what may happen to them."""

from copa.data.schema.feature import Feature
from copa.data.schema.feature_schema import FeatureSchema
from copa.data.schema.region import FeasibleRegion
from copa.data.schema.rules import LinearRule
from copa.data.schema.violations import Violation

__all__ = ["FeasibleRegion", "Feature", "FeatureSchema", "LinearRule", "Violation"]
