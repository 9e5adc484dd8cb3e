"""Corrections of plans: requirement and Mahalanobis (paper, Section 3)."""

from copa.theory.corrections.mahalanobis import mahalanobis_correction
from copa.theory.corrections.requirement import requirement_correction

__all__ = ["mahalanobis_correction", "requirement_correction"]
