import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from copa.data.datasets import make_dated
from copa.data.datasets.dated import BREAK, LEVELS, NUMBERS, SCHEMA
from copa.exceptions import InvalidInputError


def test_the_same_call_gives_the_same_law_and_the_same_rows():
    one, other = (make_dated(5, break_at=3, random_state=4) for _ in range(2))
    assert (one.weights == other.weights).all()
    for q in range(5):
        left, right = one.quarter(q, 80, sample=7), other.quarter(q, 80, sample=7)
        assert left.features.equals(right.features)
        assert left.favourable.equals(right.favourable)


def test_other_seeds_quarters_and_samples_give_other_rows():
    loans = make_dated(3)
    draws = [loans.quarter(0, 60), loans.quarter(1, 60), loans.quarter(0, 60, sample=1)]
    draws += [make_dated(3, random_state=1).quarter(0, 60)]
    assert not any(a.features.equals(b.features) for k, a in enumerate(draws) for b in draws[:k])
    assert not np.array_equal(make_dated(3, random_state=1).weights[1:], loans.weights[1:])
    assert (make_dated(3, random_state=1).weights[0] == loans.weights[0]).all()


def test_weights_take_steps_of_the_stated_size_and_the_break_is_added_to_all_later_quarters():
    calm = make_dated(400, drift=0.1)
    assert np.diff(calm.weights, axis=0).std() == pytest.approx(0.1, rel=0.05)
    broken = make_dated(400, drift=0.1, break_at=200, break_size=2.0)
    difference = broken.weights - calm.weights
    assert not difference[:200].any()
    wanted = [2.0 * BREAK.get(name, 0.0) for name in broken.weight_names]
    np.testing.assert_allclose(difference[200:], np.tile(wanted, (200, 1)), atol=1e-12)
    assert set(BREAK) <= set(broken.weight_names)
    assert (make_dated(4, drift=0.0).weights == make_dated(4, drift=0.0).weights[0]).all()


def test_loans_are_paid_back_as_the_law_of_their_quarter_says():
    loans = make_dated(8, break_at=6)
    for q in (0, 7):
        data = loans.quarter(q, 60_000)
        said = loans.probabilities(data.features, q)
        edges = np.quantile(said, np.linspace(0, 1, 9))
        group = np.clip(np.searchsorted(edges, said) - 1, 0, 7)
        for k in range(8):
            assert data.favourable[group == k].mean() == pytest.approx(said[group == k].mean(), abs=0.02)
    assert loans.quarter(7, 5000).favourable.mean() < loans.quarter(0, 5000).favourable.mean() - 0.15


def test_a_model_of_the_right_form_finds_the_law():
    loans = make_dated(3, random_state=2)
    data = loans.quarter(2, 100_000)
    numbers = (data.features[list(NUMBERS)] - [c for c, _, _ in NUMBERS.values()]) / [s for _, s, _ in NUMBERS.values()]
    X = np.column_stack(
        [numbers] + [data.features[name] == level for name, known in LEVELS.items() for level in list(known)[1:]]
    ).astype(float)
    fitted = make_pipeline(LogisticRegression(C=1e6)).fit(X, data.favourable)[-1].coef_[0][: len(NUMBERS)]
    np.testing.assert_allclose(fitted, loans.weights[2, 1 : 1 + len(NUMBERS)], atol=0.05)


def test_rows_obey_the_schema_and_every_level_occurs():
    loans = make_dated(2)
    table = loans.quarter(1, 3000).features
    assert loans.schema.names == tuple(table.columns) == tuple(feature.name for feature in SCHEMA)
    assert loans.schema.check(table) == [""] * len(table)
    assert all(feature.spread is not None for feature in loans.schema.features)
    for name, known in LEVELS.items():
        assert table[name].value_counts(normalize=True).to_dict() == pytest.approx(
            {level: share for level, (share, _) in known.items()}, abs=0.03
        )


def test_quarters_have_names_and_make_one_table():
    loans = make_dated(6, break_at=5)
    assert loans.names == ("2015Q1", "2015Q2", "2015Q3", "2015Q4", "2016Q1", "2016Q2")
    assert loans.break_name == "2016Q2"
    assert make_dated(6).break_name is None
    table = loans.table(30, sample=2)
    assert table["quarter"].value_counts(sort=False).to_dict() == dict.fromkeys(loans.names, 30)
    X, y = loans.quarters(30, sample=2)[4]
    own = table[table["quarter"] == "2016Q1"].reset_index(drop=True)
    assert own[list(X.columns)].equals(X)
    assert ((own["paid"] == "yes") == y).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_quarters": 0}, "n_quarters must be a whole number"),
        ({"n_quarters": 4, "break_at": 4}, "break_at must be a whole number from 1 to 3"),
        ({"drift": -1.0}, "drift must be a finite number of at least 0"),
        ({"break_size": np.nan}, "break_size must be a finite number"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_what_is_not_allowed_is_said(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        make_dated(**settings)


def test_there_are_no_other_quarters():
    with pytest.raises(InvalidInputError, match="quarter must be a whole number from 0 to 2, got 3"):
        make_dated(3).quarter(3)
