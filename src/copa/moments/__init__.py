"""What is known of tomorrow's model parameters: mean, covariance, and how far both may drift."""

from copa.moments.drift import estimate_drift
from copa.moments.gelbrich import gelbrich_distance
from copa.moments.radius import calibrate_radius, radius_from_history
from copa.moments.resampling import resampling_radius
from copa.moments.retraining import retrained_parameters
from copa.moments.weight_moments import WeightMoments

__all__ = [
    "WeightMoments",
    "calibrate_radius",
    "estimate_drift",
    "gelbrich_distance",
    "radius_from_history",
    "resampling_radius",
    "retrained_parameters",
]
