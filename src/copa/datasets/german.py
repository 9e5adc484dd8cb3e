"""Statlog German Credit: 1000 loan applicants, 700 of them good risks (UCI data set 144)."""

from copa.datasets.dataset import Dataset, bundled_schema, published_bytes

SHA256 = "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"

# The attributes in the order of the file, named after the documentation that comes with it.
COLUMNS = (
    "checking_status",
    "duration",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "installment_rate",
    "personal_status",
    "other_debtors",
    "residence_since",
    "property",
    "age",
    "other_installments",
    "housing",
    "existing_credits",
    "job",
    "dependents",
    "telephone",
    "foreign_worker",
)


def load_german() -> Dataset:
    """Load Statlog German Credit as published: 20 attributes, codes `A..` for categories, amounts in DM.

    Favourable is the class "good" (column 21 equal to 1). The file is the published one, checked by its SHA-256.

    Returns
    -------
    Dataset with 1000 rows
    """
    import pandas as pd

    raw = published_bytes("german.data.gz", SHA256)
    rows = [line.split() for line in raw.decode("ascii").splitlines()]
    table = pd.DataFrame([row[:-1] for row in rows], columns=list(COLUMNS))
    for column in table:
        if not table[column].str.startswith("A").any():
            table[column] = table[column].astype("int64")
    favourable = pd.Series([row[-1] == "1" for row in rows], name="favourable")
    return Dataset(
        features=table,
        favourable=favourable,
        source="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository, 144. CC BY 4.0.",
        schema=bundled_schema("german.yaml").with_spreads(table),
    )
