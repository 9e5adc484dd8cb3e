"""How likely a plan is to hold under every distribution in the ball: bounds, their proof, their gradient."""

from copa.bounds.certificate import Certificate, Verification, WorstCase
from copa.bounds.gradient import lower_bound_gradient
from copa.bounds.validity import ValidityBounds, validity_bounds

__all__ = [
    "Certificate",
    "ValidityBounds",
    "Verification",
    "WorstCase",
    "lower_bound_gradient",
    "validity_bounds",
]
