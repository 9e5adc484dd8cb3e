"""What is known of tomorrow's model parameters: mean, covariance, and how far both may drift."""

from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from copa.theory.sets.families import Family
from copa.theory.sets.gelbrich import gelbrich_distance
from copa.theory.sets.location_set import LocationSet
from copa.theory.sets.refit_scores import RefitScores
from copa.theory.sets.weight_moments import WeightMoments

__all__ = [
    "AmbiguitySet",
    "Family",
    "LocationSet",
    "MomentBall",
    "RefitScores",
    "WeightMoments",
    "gelbrich_distance",
]
