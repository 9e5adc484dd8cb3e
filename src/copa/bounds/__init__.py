"""Bounds on the probability that plans hold under every distribution of an ambiguity set, and their certificates."""

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
