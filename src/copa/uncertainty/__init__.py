"""What is known of tomorrow's model parameters: mean, covariance, and how far both may drift."""

from copa.uncertainty.gelbrich import estimate_drift, gelbrich_distance
from copa.uncertainty.radius import calibrate_radius, radius_from_history, resampling_radius
from copa.uncertainty.retraining import retrained_parameters
from copa.uncertainty.weight_moments import WeightMoments

__all__ = [
    "WeightMoments",
    "calibrate_radius",
    "estimate_drift",
    "gelbrich_distance",
    "radius_from_history",
    "resampling_radius",
    "retrained_parameters",
]
