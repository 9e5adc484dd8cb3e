"""Real data that come with the package."""

from copa.datasets.german import Dataset, load_german

__all__ = ["Dataset", "load_german"]
