"""Tree ensembles: read from the libraries that fit them, and scored by one kernel, many of them at a time."""

from copa.models.trees.ensembles import TreeEnsembles
from copa.models.trees.nodes import NotTreesError

__all__ = ["NotTreesError", "TreeEnsembles"]
