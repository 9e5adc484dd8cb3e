"""COPA: counterfactual plans that keep their promise when the model is retrained."""

__version__ = "0.1.0"
