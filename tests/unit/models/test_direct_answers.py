"""What a linear model says of rows that its classifier is asked about without its pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from copa.models import LinearModel


class Contrary(Pipeline):
    """Says the opposite of what its classifier says."""

    def predict(self, X, **given):
        return ~super().predict(X, **given)


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(0)
    return pd.DataFrame({"income": draw.normal(30, 9, 300), "home": draw.choice(["rent", "own", "none"], 300)})


def _pipeline(table, classifier, **encoder):
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", **encoder), ["home"]), (StandardScaler(), ["income"])
    )
    wanted = table["income"] + 9 * (table["home"] == "own") > 32
    return make_pipeline(encoded, classifier).fit(table, wanted)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("classifier", "threshold"), [(LogisticRegression(), None), (LogisticRegression(), 0.7)])
def test_the_classifier_says_what_its_pipeline_says_and_the_pipeline_is_not_called(
    table, classifier, threshold, sparse, monkeypatch
):
    model = LinearModel.read(
        _pipeline(table, classifier, sparse_output=sparse), table.columns, threshold=threshold, favourable=True
    )
    said = model.accepts(table)
    assert 0 < said.sum() < len(table)
    assert model.accepts_directly(table).tolist() == said.tolist()
    monkeypatch.setattr(LinearModel, "accepts", None)
    assert model.accepts_directly(table.iloc[[3, 1]]).tolist() == said[[3, 1]].tolist()


def test_decisions_of_a_classifier_without_probabilities_have_the_same_sign(table):
    model = LinearModel.read(_pipeline(table, RidgeClassifier()), table.columns, threshold=0.2, favourable=False)
    assert model.accepts_directly(table).tolist() == model.accepts(table).tolist()


def test_a_pipeline_with_a_mind_of_its_own_is_asked_itself(table):
    contrary = Contrary(_pipeline(table, LogisticRegression()).steps)
    model = LinearModel.read(contrary, table.columns)
    assert model.accepts_directly(table).tolist() == model.accepts(table).tolist()


def test_rows_with_a_missing_value_are_left_to_the_pipeline(table, monkeypatch):
    model = LinearModel.read(_pipeline(table, LogisticRegression()), table.columns)
    asked = []
    monkeypatch.setattr(LinearModel, "accepts", lambda _, frame: asked.append(len(frame)))
    model.accepts_directly(table.iloc[:2].assign(home=[None, "own"]))
    assert asked == [2]
