"""What is known of tomorrow's model parameters: mean, covariance, and how far both may drift."""

from copa.uncertainty.ambiguity import AmbiguitySet, MomentBall
from copa.uncertainty.families import Family
from copa.uncertainty.gelbrich import gelbrich_distance
from copa.uncertainty.location_set import LocationSet
from copa.uncertainty.radius import calibrate_radius, estimate_drift, radius_from_history, resampling_radius
from copa.uncertainty.refit_scores import RefitScores
from copa.uncertainty.retraining import retrained_parameters
from copa.uncertainty.weight_moments import WeightMoments

__all__ = [
    "AmbiguitySet",
    "Family",
    "LocationSet",
    "MomentBall",
    "RefitScores",
    "WeightMoments",
    "calibrate_radius",
    "estimate_drift",
    "gelbrich_distance",
    "radius_from_history",
    "resampling_radius",
    "retrained_parameters",
]
