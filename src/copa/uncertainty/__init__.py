"""What is known of tomorrow's model parameters: mean, covariance, and how far both may drift."""

from copa.uncertainty.ambiguity import AmbiguitySet, MomentBall
from copa.uncertainty.families import Family
from copa.uncertainty.gelbrich import gelbrich_distance
from copa.uncertainty.location_set import LocationSet
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
    "gelbrich_distance",
    "retrained_parameters",
]
