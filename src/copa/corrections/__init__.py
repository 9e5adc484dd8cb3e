"""Repairing plans: requirement, Mahalanobis, ascent on the bound; and what a repair did."""

from copa.corrections.ascent import improve_bound
from copa.corrections.effect import CorrectionEffect, correction_effect
from copa.corrections.mahalanobis import mahalanobis_correction
from copa.corrections.requirement import requirement_correction

__all__ = [
    "CorrectionEffect",
    "correction_effect",
    "improve_bound",
    "mahalanobis_correction",
    "requirement_correction",
]
