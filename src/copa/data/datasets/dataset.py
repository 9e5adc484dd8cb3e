"""What a bundled data set is, and how its file is read and checked."""

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from copa._core.representation import short_repr
from copa.data.schema import FeatureSchema
from copa.exceptions import DataError

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.pipeline import Pipeline


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of applicants and the decision's target.

    Attributes
    ----------
    features : DataFrame
        One row per applicant.
    favourable : Series of bool
        Whether the outcome was the one that a person wants.
    source : str
        Where the data come from, and under which licence.
    schema : FeatureSchema
        What the columns are and what an applicant can change.

    Examples
    --------
    >>> from copa.data.datasets import load_student
    >>> data = load_student()
    >>> data.schema["G2"].direction
    'increase'
    """

    __repr__ = short_repr

    features: "pd.DataFrame"
    favourable: "pd.Series[bool]"
    source: str
    schema: FeatureSchema

    @classmethod
    def described(cls, features: "pd.DataFrame", favourable: "pd.Series[bool]", source: str, schema: str) -> "Dataset":
        """Return a table with the schema that is bundled in a file, the spreads being those of the table."""
        return cls(features, favourable.rename("favourable"), source, bundled_schema(schema).with_spreads(features))


def example_model(data: Dataset) -> "Pipeline":
    """Fit the model that the documentation plans with: logistic regression on one-hot codes and scaled numbers.

    Parameters
    ----------
    data : Dataset
        One of the bundled data sets, or any other.

    Returns
    -------
    Pipeline
        A `ColumnTransformer` and a `LogisticRegression` with `C=0.1`, fitted to all rows.

    Examples
    --------
    >>> from copa.data.datasets import example_model, load_german
    >>> data = load_german()
    >>> model = example_model(data)
    >>> round(model.score(data.features, data.favourable), 2)
    0.79
    """
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = data.features.select_dtypes("number").columns.tolist()
    codes = OneHotEncoder(handle_unknown="ignore")
    encoder = make_column_transformer(
        (codes, data.features.columns.difference(numbers).tolist()), (StandardScaler(), numbers)
    )
    return make_pipeline(encoder, LogisticRegression(C=0.1)).fit(data.features, data.favourable)


def published_bytes(file: str, sha256: str) -> bytes:
    """Return the content of a compressed file of this package, which must be the published one.

    Raises
    ------
    DataError
        If the file is missing or damaged, or its content has another SHA-256.
    """
    try:
        raw = gzip.decompress(files("copa.data.datasets").joinpath(file).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} cannot be read ({error}); reinstall copa-recourse") from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise DataError(f"{file} is not the published file (its SHA-256 differs); reinstall copa-recourse")
    return raw


@cache
def bundled_schema(file: str) -> FeatureSchema:
    """Return a schema of this package, read once; it is the same object every time, and frozen."""
    with as_file(files("copa.data.datasets").joinpath(file)) as path:
        return FeatureSchema.load(path)
