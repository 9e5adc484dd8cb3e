"""Student Performance: 649 pupils of two Portuguese schools in the course of Portuguese (UCI data set 320)."""

import io

from copa.datasets.dataset import Dataset, bundled_schema, published_bytes

SHA256 = "a7594a11d7771c0efe1a740824e0e833da9c4cad07c39a9766a874575563fb3f"

GOOD_GRADE = 12  # of 20


def load_student() -> Dataset:
    """Load Student Performance, Portuguese course: 32 columns, text and whole numbers as published.

    Favourable is a final grade (G3, left out of the features) of at least 12 of 20. The grade of the first
    period, G1, is past when advice is given, and no option changes it; that of the second, G2, may be raised. The file
    is the published one, checked by its SHA-256.

    Returns
    -------
    Dataset with 649 rows
    """
    import pandas as pd

    raw = published_bytes("student_por.csv.gz", SHA256)
    table = pd.read_csv(io.BytesIO(raw), sep=";")
    favourable = (table.pop("G3") >= GOOD_GRADE).rename("favourable")
    return Dataset(
        features=table,
        favourable=favourable,
        source="Cortez, P. (2008). Student Performance. UCI Machine Learning Repository, 320. CC BY 4.0.",
        schema=bundled_schema("student.yaml").with_spreads(table),
    )
