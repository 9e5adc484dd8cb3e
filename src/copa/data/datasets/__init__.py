"""Real data that come with the package, and generated ones of many quarters."""

from copa.data.datasets.dataset import Dataset, example_model
from copa.data.datasets.dated import DatedLoans, make_dated
from copa.data.datasets.loaders import load_german, load_south_german, load_student

__all__ = ["Dataset", "DatedLoans", "example_model", "load_german", "load_south_german", "load_student", "make_dated"]
