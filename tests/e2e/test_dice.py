"""Results of the real dice-ml, read back as its object, as its JSON, and from a file."""

import json

import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa.plans.external import read_plans

dice_ml = pytest.importorskip("dice_ml", reason="needs dice-ml: pip install dice-ml")
pytestmark = [
    pytest.mark.extended,
    # dice-ml calls pandas in ways that pandas has announced to change. What it warns of is not ours.
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame:DeprecationWarning"),
]

OUTCOME = "good"
N_OPTIONS = 3
SETTINGS = {"random": {"random_seed": 0}, "genetic": {"maxiterations": 10}}


@pytest.fixture(scope="module")
def german():
    return copa.datasets.load_german()


@pytest.fixture(scope="module")
def numbers(german):
    return [name for name in german.features if pd.api.types.is_integer_dtype(german.features[name])]


@pytest.fixture(scope="module")
def codes(german, numbers):
    return [name for name in german.features if name not in numbers]


@pytest.fixture(scope="module")
def model(german, codes, numbers):
    encoder = ColumnTransformer([("codes", OneHotEncoder(), codes), ("numbers", StandardScaler(), numbers)])
    return make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(german.features, german.favourable.astype(int))


@pytest.fixture(scope="module")
def declined(german, model):
    """Declined applicants, the nearest to acceptance first, with labels that are not their positions."""
    scores = pd.Series(model.decision_function(german.features))
    order = scores[scores < 0.0].sort_values(ascending=False).index
    return german.features.loc[order].rename("person {}".format)


@pytest.fixture(scope="module")
def explain(german, model, numbers):
    def run(rows, method, **settings):
        table = german.features.astype(rows.dtypes.to_dict()).assign(**{OUTCOME: german.favourable.astype(int)})
        data = dice_ml.Data(dataframe=table, continuous_features=numbers, outcome_name=OUTCOME)
        explainer = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method=method)
        return explainer.generate_counterfactuals(rows, total_CFs=N_OPTIONS, desired_class=1, **settings)

    return run


@pytest.fixture(scope="module", params=SETTINGS)
def applicants_and_result(request, declined, explain):
    applicants = declined.iloc[[5, 0, 9]]
    return applicants, explain(applicants, request.param, **SETTINGS[request.param])


def cells(table):
    return [[str(value) for value in row] for row in table.itertuples(index=False)]


def test_options_owners_and_dtypes_are_those_of_the_result(applicants_and_result):
    applicants, result = applicants_and_result
    plans = read_plans(result, list(applicants), applicants)
    pd.testing.assert_frame_equal(plans.factuals, applicants)
    assert plans.options.dtypes.equals(applicants.dtypes)
    assert OUTCOME not in plans.options
    assert len(plans.options) > 0
    theirs = [entry.final_cfs_df_sparse.drop(columns=OUTCOME) for entry in result.cf_examples_list]
    assert [cells(plans.options[plans.owner == i]) for i in range(3)] == [cells(table) for table in theirs]


def test_the_model_takes_what_was_read(applicants_and_result, model):
    applicants, result = applicants_and_result
    plans = read_plans(result, list(applicants), applicants)
    assert set(model.predict(plans.options)) <= {0, 1}  # it raises on a code or a dtype that it does not know


@pytest.mark.parametrize("labelled", [True, False])
def test_json_text_dict_and_file_hold_the_same_as_the_object(applicants_and_result, labelled, tmp_path):
    applicants, result = applicants_and_result
    given = applicants if labelled else None
    text = result.to_json()
    path = tmp_path / "dice.json"
    path.write_text(text, encoding="utf-8")
    expected = read_plans(result, list(applicants), given)
    assert (expected.factuals.index.tolist() == applicants.index.tolist()) == labelled
    for source in (text, json.loads(text), path, str(path)):
        plans = read_plans(source, list(applicants), given)
        pd.testing.assert_frame_equal(plans.options, expected.options)
        pd.testing.assert_frame_equal(plans.factuals, expected.factuals)
        assert plans.owner.tolist() == expected.owner.tolist()


def test_an_applicant_for_whom_nothing_was_found_is_kept(declined, explain):
    applicants = declined.iloc[[-1, 0]]
    result = explain(applicants, "random", random_seed=0, features_to_vary=["savings"])
    assert result.cf_examples_list[0].final_cfs_df is None
    for source in (result, result.to_json()):
        plans = read_plans(source, list(applicants), applicants)
        assert plans.factuals.index.tolist() == applicants.index.tolist()
        assert set(plans.owner) == {1}
        assert plans.options["age"].eq(applicants["age"].iloc[1]).all()


def test_categories_and_small_numbers_survive_json(german, declined, explain, codes, numbers):
    dtypes = {name: pd.CategoricalDtype(sorted(german.features[name].unique())) for name in codes}
    dtypes |= dict.fromkeys(numbers, "int32")
    applicants = declined.iloc[[3, 1]].astype(dtypes)
    result = explain(applicants, "random", random_seed=0)
    expected = read_plans(result, list(applicants), applicants)
    plans = read_plans(result.to_json(), list(applicants), applicants)
    assert plans.options.dtypes.equals(applicants.dtypes)
    pd.testing.assert_frame_equal(plans.options, expected.options)
