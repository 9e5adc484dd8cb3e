import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import copa
from copa.data.tables.files import open_table
from copa.exceptions import DataError
from copa.planner.training_data import (
    as_classes,
    fit_default_model,
    read_target,
    read_training_data,
    rows_by_version,
)
from unit.planner import loans


@pytest.mark.parametrize("text", [object, "string", "category"])
def test_a_default_model_knows_every_value_of_the_schema_however_text_is_held(text):
    people = loans.people(200, 0)
    table = people.astype({"job": text})
    seen = (people["job"] != "driver").to_numpy()
    model, accuracy = fit_default_model(table[seen], loans.outcomes(people)[seen], loans.SCHEMA)
    assert accuracy > 0.6
    assert model.predict(table).shape == (200,)


def saved(tmp_path, **columns):
    """Forty rows: a number with empty cells, a text with some, and an outcome."""
    rows = {
        "income": np.where(np.arange(40) % 8 == 0, np.nan, np.arange(40)),
        "home": [None if k % 10 == 1 else "own" if k % 3 else "rent" for k in range(40)],
        "paid": np.where(np.arange(40) % 40 > 17, "yes", "no"),
    }
    pd.DataFrame(rows | columns).to_csv(tmp_path / "t.csv", index=False)
    return open_table(tmp_path / "t.csv")


def test_a_default_model_reads_rows_with_empty_cells(tmp_path):
    training = read_training_data(saved(tmp_path), "paid")
    assert len(training.features) == 40
    assert training.notes == ["9 rows with an empty cell kept: the model reads them"]
    schema = copa.FeatureSchema.infer(training.features)
    model, accuracy = fit_default_model(training.features, training.labels, schema)
    assert accuracy > 0.8
    encoded = model[:-1].transform(training.features)
    levels = ["choices" in name for name in model[:-1].get_feature_names_out()]
    assert np.isfinite(encoded).all()
    assert (encoded[training.features["home"].isna()][:, levels] == 0.0).all()
    median = training.features["income"].median()
    filled = model[:-1].transform(training.features.fillna({"income": median}))
    np.testing.assert_array_equal(encoded, filled)


def test_a_model_keeps_the_rows_that_it_reads(tmp_path):
    table = saved(tmp_path)
    whole = read_training_data(table, "paid").features.dropna()
    numbers = make_pipeline(SimpleImputer(), LogisticRegression())
    labels = whole["income"] > 17
    only_numbers = make_column_transformer(
        (SimpleImputer(), ["income"]), (OneHotEncoder(), ["home"]), sparse_threshold=0
    )
    some = make_pipeline(only_numbers, LogisticRegression()).fit(whole, labels)
    none = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough"), LogisticRegression()
    ).fit(whole, labels)
    one = numbers.fit(whole[["income"]], labels)
    kept = {name: read_training_data(table, "paid", model) for name, model in {"s": some, "n": none, "1": one}.items()}
    assert {name: len(data.features) for name, data in kept.items()} == {"s": 36, "n": 31, "1": 40}
    assert kept["s"].notes == [
        "4 rows with an empty cell left out of 40",
        "5 rows with an empty cell kept: the model reads them",
    ]


def test_a_nameless_column_that_counts_the_rows_is_left_out(tmp_path):
    assert "Unnamed: 0" not in read_training_data(saved(tmp_path, **{"Unnamed: 0": range(40)}), "paid").features
    training = read_training_data(saved(tmp_path, index=range(1, 41)), "paid")
    assert training.notes[0].startswith("column 'index' (#4) counts the rows, as an index does")
    assert "index" not in training.features
    assert "index" not in training.template
    for columns in ({"index": np.arange(40) % 39}, {"visits": range(40)}):
        assert set(columns) < set(read_training_data(saved(tmp_path, **columns), "paid").features)


def test_blanks_around_labels_are_left_out_also_where_the_model_knows_them(tmp_path):
    padded = np.where(np.arange(40) % 40 > 17, " yes", " no ")
    table = saved(tmp_path, paid=padded)
    assert set(read_target(table, "paid")) == {"yes", "no"}
    training = read_training_data(table, "paid")
    assert "blanks around the values of 'paid' are left out" in training.notes
    model = LogisticRegression().fit(training.features[["income"]].fillna(0.0), padded)
    assert as_classes(model, training.labels, "paid").tolist() == padded.tolist()


def test_a_column_without_any_value_is_to_be_dropped(tmp_path):
    training = read_training_data(saved(tmp_path, empty=[None] * 40), "paid")
    schema = copa.FeatureSchema.infer(training.features[["income", "home"]])
    with pytest.raises(copa.DataError, match="column 'empty' has no value in any row; leave it out with --drop empty"):
        fit_default_model(training.features, training.labels, schema)


def test_versions_are_the_values_of_a_column_or_the_periods_of_its_dates():
    column = pd.Series(["2024-03-31", "2023-12-01", "2024-04-01", "2024-01-01"], name="day")
    rows = {name: rows.tolist() for name, rows in rows_by_version(column).items()}
    assert list(rows.items()) == [("2023-12-01", [1]), ("2024-01-01", [3]), ("2024-03-31", [0]), ("2024-04-01", [2])]
    rows = {name: rows.tolist() for name, rows in rows_by_version(column, "quarter").items()}
    assert list(rows.items()) == [("2023Q4", [1]), ("2024Q1", [0, 3]), ("2024Q2", [2])]
    with pytest.raises(DataError, match=r"column 'day' has 1 different value; versions must be 2 to 100"):
        rows_by_version(column.iloc[:1])
    with pytest.raises(DataError, match=r"column 'day' must hold dates such as 2024-03-31"):
        rows_by_version(column.replace("2024-04-01", "spring"), "year")
