"""South German Credit: the corrected German Credit data, 1000 applicants, 700 good risks (UCI 522 and 573)."""

import io

from copa.datasets.dataset import Dataset, bundled_schema, published_bytes

SHA256 = "aa0c4bf9a0417cc06c43e2f52bf2d0d8c5cb46c7008637f0b4fd89d6134592cd"

# The columns of the file, by the English names of the code table that was published with the data.
NAMES = {
    "Creditability": "credit_risk",
    "Account Balance": "status",
    "Duration of Credit (month)": "duration",
    "Payment Status of Previous Credit": "credit_history",
    "Purpose": "purpose",
    "Credit Amount": "amount",
    "Value Savings/Stocks": "savings",
    "Length of current employment": "employment_duration",
    "Instalment per cent": "installment_rate",
    "Sex & Marital Status": "personal_status_sex",
    "Guarantors": "other_debtors",
    "Duration in Current address": "present_residence",
    "Most valuable available asset": "property",
    "Age (years)": "age",
    "Concurrent Credits": "other_installment_plans",
    "Type of apartment": "housing",
    "No of Credits at this Bank": "number_credits",
    "Occupation": "job",
    "No of dependents": "people_liable",
    "Telephone": "telephone",
    "Foreign Worker": "foreign_worker",
}

# In this copy of the data the codes 1 and 2 of these columns are swapped against the code table.
SWAPPED = ("people_liable", "foreign_worker")


def load_south_german() -> Dataset:
    """Load South German Credit, Grömping's correction of the German Credit data: 20 columns of whole numbers.

    Names and codes are those of the published code table; the schema's file says what each code means. The file stays
    as it is, checked by its SHA-256; its two columns with swapped codes are put right in the table returned:
    `people_liable` is 1 for three or more and 2 for up to two, `foreign_worker` is 1 for yes and 2 for no.
    Favourable is a credit that was paid back (`credit_risk` equal to 1).

    Returns
    -------
    Dataset with 1000 rows
    """
    import pandas as pd

    raw = published_bytes("south_german.csv.gz", SHA256)
    table = pd.read_csv(io.BytesIO(raw)).rename(columns=NAMES)
    favourable = (table.pop("credit_risk") == 1).rename("favourable")
    for column in SWAPPED:
        table[column] = 3 - table[column]
    return Dataset(
        features=table,
        favourable=favourable,
        source="Grömping, U. (2019). South German Credit. UCI Machine Learning Repository, 522 and 573. CC BY 4.0.",
        schema=bundled_schema("south_german.yaml").with_spreads(table),
    )
