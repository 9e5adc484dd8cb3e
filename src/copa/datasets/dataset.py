"""What a bundled data set is, and how its file is read and checked."""

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from copa.exceptions import DataError
from copa.schema import FeatureSchema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of applicants and the decision's target.

    Attributes
    ----------
    features : DataFrame, one row per applicant
    favourable : Series of bool, the outcome a person wants
    source : where the data come from, and under which licence
    schema : FeatureSchema, what the columns are and what an applicant can change
    """

    features: "pd.DataFrame"
    favourable: "pd.Series[bool]"
    source: str
    schema: FeatureSchema


def published_bytes(file: str, sha256: str) -> bytes:
    """Return the content of a compressed file of this package, which must be the published one.

    Raises
    ------
    DataError
        If the file is missing or damaged, or its content has another SHA-256.
    """
    try:
        raw = gzip.decompress(files("copa.datasets").joinpath(file).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} cannot be read ({error}); reinstall copa-recourse") from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise DataError(f"{file} is not the published file (its SHA-256 differs); reinstall copa-recourse")
    return raw


@cache
def bundled_schema(file: str) -> FeatureSchema:
    """Return a schema of this package, read once; it is the same object every time, and frozen."""
    with as_file(files("copa.datasets").joinpath(file)) as path:
        return FeatureSchema.load(path)
