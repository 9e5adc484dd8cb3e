"""Corrections of plans: requirement and Mahalanobis (paper, Section 3)."""

from copa.corrections.mahalanobis import mahalanobis_correction
from copa.corrections.requirement import requirement_correction

__all__ = ["mahalanobis_correction", "requirement_correction"]
