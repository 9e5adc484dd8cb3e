"""Refits of a classifier on other rows: what later models may look like."""

from copa.models.refits.retraining import retrained_parameters

__all__ = ["retrained_parameters"]
