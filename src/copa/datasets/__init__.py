"""Real data that come with the package, and generated ones of many quarters."""

from copa.datasets.dataset import Dataset, example_model
from copa.datasets.dated import DatedLoans, make_dated
from copa.datasets.loaders import load_german, load_south_german, load_student

__all__ = ["Dataset", "DatedLoans", "example_model", "load_german", "load_south_german", "load_student", "make_dated"]
