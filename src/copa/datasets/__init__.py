"""Real data that come with the package."""

from copa.datasets.dataset import Dataset
from copa.datasets.german import load_german
from copa.datasets.south_german import load_south_german
from copa.datasets.student import load_student

__all__ = ["Dataset", "load_german", "load_south_german", "load_student"]
