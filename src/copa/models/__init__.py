"""The model in force: its parameters, and what each raw column does to the score."""

from copa.models.encoding import Encoding
from copa.models.linear import LinearModel, parameter_vector

__all__ = ["Encoding", "LinearModel", "parameter_vector"]
