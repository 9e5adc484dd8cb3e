"""Real data that come with the package, and generated ones of many quarters."""

from copa.data.datasets.bundled import Dataset, example_model, load_german, load_south_german, load_student
from copa.data.datasets.dated import DatedLoans, make_dated

__all__ = ["Dataset", "DatedLoans", "example_model", "load_german", "load_south_german", "load_student", "make_dated"]
