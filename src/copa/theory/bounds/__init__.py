"""Bounds on the probability that plans hold under every distribution of an ambiguity set, and their certificates."""

from copa.theory.bounds.certificate import BallCertificate, Certificate, Verification
from copa.theory.bounds.validity import Certificates, ValidityBounds, bound_plans, validity_bounds
from copa.theory.bounds.worst_case import WorstCase

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
