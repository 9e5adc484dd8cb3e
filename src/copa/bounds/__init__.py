"""How likely a plan is to hold under every distribution in the ball: bounds and the proof of it."""

from copa.bounds.certificate import BallCertificate, Certificate, Verification
from copa.bounds.validity import Certificates, ValidityBounds, bound_plans, validity_bounds
from copa.bounds.worst_case import WorstCase

__all__ = [
    "BallCertificate",
    "Certificate",
    "Certificates",
    "ValidityBounds",
    "Verification",
    "WorstCase",
    "bound_plans",
    "validity_bounds",
]
