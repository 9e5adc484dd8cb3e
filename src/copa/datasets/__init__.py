"""Real data that come with the package."""

from copa.datasets.dataset import Dataset
from copa.datasets.loaders import load_german, load_south_german, load_student

__all__ = ["Dataset", "load_german", "load_south_german", "load_student"]
