"""The bundled data sets, two of credits and one of school grades: the published files, checked by their SHA-256."""

import gzip
import hashlib
import io
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


SHA256 = {
    "german": "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    "south_german": "aa0c4bf9a0417cc06c43e2f52bf2d0d8c5cb46c7008637f0b4fd89d6134592cd",
    "student": "a7594a11d7771c0efe1a740824e0e833da9c4cad07c39a9766a874575563fb3f",
}

# The attributes in the order of the file, named after the documentation that comes with it.
GERMAN_COLUMNS = (
    "checking_status duration credit_history purpose amount savings employment installment_rate personal_status "
    "other_debtors residence_since property age other_installments housing existing_credits job dependents telephone "
    "foreign_worker"
)
# The columns in the order of the file, by the English names of the code table that was published with the data.
SOUTH_GERMAN_COLUMNS = (
    "credit_risk status duration credit_history purpose amount savings employment_duration installment_rate "
    "personal_status_sex other_debtors present_residence property age other_installment_plans housing number_credits "
    "job people_liable telephone foreign_worker"
)
SWAPPED = ("people_liable", "foreign_worker")  # codes 1 and 2 are the other way round than in the code table

GOOD_GRADE = 12  # of 20


def load_german() -> Dataset:
    """Load Statlog German Credit as published: 20 attributes, codes `A..` for categories, amounts in DM.

    Favourable is the class "good" (column 21 equal to 1): 700 of 1000 applicants.

    Returns
    -------
    Dataset
        With 1000 rows; UCI data set 144.

    Examples
    --------
    >>> from copa.data.datasets import load_german
    >>> data = load_german()
    >>> data.features.shape, int(data.favourable.sum())
    ((1000, 20), 700)
    """
    import pandas as pd

    raw = published_bytes("german.data.gz", SHA256["german"])
    rows = [line.split() for line in raw.decode("ascii").splitlines()]
    table = pd.DataFrame([row[:-1] for row in rows], columns=GERMAN_COLUMNS.split())
    for column in table:
        if not table[column].str.startswith("A").any():
            table[column] = table[column].astype("int64")
    good = pd.Series([row[-1] == "1" for row in rows])
    source = "Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository, 144. CC BY 4.0."
    return Dataset.described(table, good, source, "german.yaml")


def load_south_german() -> Dataset:
    """Load South German Credit, Grömping's correction of the German Credit data: 20 columns of whole numbers.

    Names and codes are those of the published code table; the schema's file says what each code means. Two columns of
    the file have swapped codes, which are put right in the table returned: `people_liable` is 1 for three or more and 2
    for up to two, `foreign_worker` is 1 for yes and 2 for no. Favourable is a credit that was paid back (`credit_risk`
    equal to 1): 700 of 1000.

    Returns
    -------
    Dataset
        With 1000 rows; UCI data sets 522 and 573.

    Examples
    --------
    >>> from copa.data.datasets import load_south_german
    >>> load_south_german().schema["people_liable"].values
    (1, 2)
    """
    import pandas as pd

    raw = published_bytes("south_german.csv.gz", SHA256["south_german"])
    table = pd.read_csv(io.BytesIO(raw), names=SOUTH_GERMAN_COLUMNS.split(), header=0)
    good = table.pop("credit_risk") == 1
    for column in SWAPPED:
        table[column] = 3 - table[column]
    source = "Grömping, U. (2019). South German Credit. UCI Machine Learning Repository, 522 and 573. CC BY 4.0."
    return Dataset.described(table, good, source, "south_german.yaml")


def load_student() -> Dataset:
    """Load Student Performance, Portuguese course: 32 columns, text and whole numbers as published.

    Favourable is a final grade (G3, left out of the features) of at least 12 of 20. The grade of the first period, G1,
    is past when advice is given, and no option changes it; that of the second, G2, may be raised.

    Returns
    -------
    Dataset
        With 649 rows; UCI data set 320.

    Examples
    --------
    >>> from copa.data.datasets import load_student
    >>> data = load_student()
    >>> data.features.shape, data.schema["G1"].immutable
    ((649, 32), True)
    """
    import pandas as pd

    raw = published_bytes("student_por.csv.gz", SHA256["student"])
    table = pd.read_csv(io.BytesIO(raw), sep=";")
    good = table.pop("G3") >= GOOD_GRADE
    source = "Cortez, P. (2008). Student Performance. UCI Machine Learning Repository, 320. CC BY 4.0."
    return Dataset.described(table, good, source, "student.yaml")
