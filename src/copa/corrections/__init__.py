"""Repairing plans: requirement, Mahalanobis, ascent on the bound."""
