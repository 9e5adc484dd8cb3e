from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from copa import InvalidInputError
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.violations import change_violations, column_violations, is_unchanged, rows_of, rule_violations


def violations_of(schema, origin, option):
    """What breaks a schema, of one option and one cell after another."""
    features, violations = {feature.name: feature for feature in schema.features}, []
    cells = [(feature, origin[name], option[name]) for name, feature in features.items()]
    for feature, own, new in cells:
        violations += column_violations(feature, own, new)
    for rule in schema.rules:
        violations += rule_violations(rule, features, option)
    changed = [feature.heading for feature, own, new in cells if not is_unchanged(feature, own, new)]
    return violations + change_violations(changed, schema.max_changes)


def one(feature, own, new, **schema):
    """Complaints about one option for one column."""
    whole = FeatureSchema([feature], **schema)
    table = pd.DataFrame({feature.name: [new]})
    return whole.violations(pd.DataFrame({feature.name: [own]}), table)[0]


def grade(**fields):
    return Feature("grade", "ordinal", values=("low", "mid", "high"), **fields)


def income(**fields):
    return Feature("income", "numeric", **fields)


@pytest.mark.parametrize(
    ("feature", "own", "new"),
    [
        (income(), 5.0, -1e9),
        (income(immutable=True), 5.0, 5.0),
        (income(immutable=True), np.nan, np.nan),
        (income(immutable=True, lower=9), 5.0, 5.0),
        (income(direction="increase"), 5.0, 5.0),
        (income(direction="decrease"), 5.0, 4.0),
        (income(lower=1, upper=2), 5.0, 2.0),
        (income(upper=3), 5.0, 5.0),
        (income(upper=3, direction="increase", step=2), 5.0, 5.0),
        (income(upper=0.3), 1.0, 0.3),
        (income(upper=0.3), np.float32(1.0), np.float32(0.3)),
        (income(), np.float32(0.1), 0.1),
        (Feature("n", "integer", step=5), 10**17 + 1, 10**17 + 5),
        (Feature("n", "integer", step=5), 10**17 + 1, 10**17 + 1),
        (Feature("n", "ordinal", values=(1, 2, 3), lower=2), 1, 1),
        (income(step=0.1), 0.123, 0.3),
        (income(step=0.1), 0.123, 0.123),
        (income(step=0.1), np.float32(0.5), np.float32(0.3)),
        (Feature("n", "integer"), 3, 8),
        (Feature("n", "integer"), 3.5, 3.5),
        (Feature("n", "integer", step=50), 1169, 1100),
        (grade(), "low", "high"),
        (grade(allowed=["mid"]), "low", "mid"),
        (grade(allowed=["mid"]), "low", "low"),
        (grade(transitions={"low": ["mid"]}), "low", "mid"),
        (grade(transitions={"low": ["mid"]}), "low", "low"),
        (grade(transitions={"low": ["mid"]}), "mid", "high"),
        (grade(direction="increase"), "low", "high"),
        (grade(immutable=True), "unheard of", "unheard of"),
        (Feature("n", "ordinal", values=(1, 2), immutable=True), 1, "1"),
        (Feature("b", "binary", values=(False, True)), 0, True),
        (income(), np.nan, None),
        (income(missing="may_change", direction="increase", max_change=0.1), np.nan, 5.0),
        (income(missing="may_change", immutable=True), np.nan, np.nan),
        (income(special=[-9, 99.5], lower=0, upper=50, direction="decrease", max_change=0.1), -9, 40.0),
        (income(special=[-9, 99.5], lower=0, upper=50), np.float32(99.5), 99.5),
        (income(max_change=0.3), 2000.0, 1400.0),
        (income(max_change=0.1), 0.7, 0.77),
        (income(max_change=0.1), -0.7, -0.63),
        (income(max_change={"up": 0.2}), 0.1, 0.3),
        (income(max_change={"up": 0.2}), 0.1, -1e9),
        (grade(missing="may_change", transitions={"low": ["mid"]}, max_change={"up": 0}), None, "high"),
        (grade(max_change={"up": 1, "down": 0}), "low", "mid"),
        (grade(max_change={"down": 0}), "low", "high"),
    ],
)
def test_what_is_allowed_is_not_complained_about(feature, own, new):
    assert one(feature, own, new) == []


@pytest.mark.parametrize(
    ("feature", "own", "new", "message"),
    [
        (income(immutable=True), 5.0, np.nextafter(5.0, 6.0), "income: is immutable at 5.0, got 5.000000000000001"),
        (income(immutable=True), 5.0, np.nan, "is immutable at 5.0, got nan"),
        (income(immutable=True), np.nan, 5.0, "is immutable at nan, got 5.0"),
        (income(lower=1), 5.0, 0.5, "income: must be at least 1, got 0.5"),
        (income(upper=3), 5.0, 4.0, "income: must be at most 3, got 4.0"),
        (income(upper=3), 5.0, 3.0000000000000004, "income: must be at most 3, got 3.0000000000000004"),
        (income(upper=0.3), 1.0, Decimal("0.30000000000000000001"), "must be at most 0.3, got 0.30000000000000000001"),
        (income(direction="increase"), 10**17 + 1, 10**17, "may only increase from 100000000000000001, got 100000000"),
        (
            Feature("n", "integer", immutable=True),
            10**17 + 1,
            10**17,
            "n: is immutable at 100000000000000001, got 1000",
        ),
        (
            Feature("n", "integer", step=5),
            10**17 + 1,
            10**17 + 2,
            "may only change to multiples of 5, got 100000000000",
        ),
        (income(direction="increase"), 5.0, 4.0, "income: may only increase from 5.0, got 4.0"),
        (income(direction="decrease"), 5.0, 6.0, "income: may only decrease from 5.0, got 6.0"),
        (income(step=0.1), 0.1, 0.1 + 0.2, "may only change to multiples of 0.1, got 0.30000000000000004"),
        (income(step=0.8), 1, 3, "may only change to multiples of 0.8, got 3"),
        (income(), 5.0, np.nan, "income: must not become missing"),
        (income(missing="may_change"), 5.0, np.nan, "income: must not become missing"),
        (income(), 5.0, np.inf, "income: must be a finite number, got inf"),
        (income(), 5.0, "6", "income: must be a finite number, got '6'"),
        (income(), np.nan, 5.0, "income: is missing, and may not change, got 5.0"),
        (income(), np.inf, 5.0, "the applicant's own value must be a finite number, got inf"),
        (income(missing="may_change", upper=3), np.nan, 5.0, "income: must be at most 3, got 5.0"),
        (income(missing="may_change", step=2), None, 5.0, "income: may only change to multiples of 2, got 5.0"),
        (income(special=[-9]), 5.0, -9, "income: must not change to the special code -9"),
        (income(special=[-9]), np.nan, -9, "income: is missing, and may not change, got -9"),
        (income(special=[-9], missing="may_change"), np.nan, -9, "income: must not change to the special code -9"),
        (income(special=[-9, -8]), -9, -8, "income: must not change to the special code -8"),
        (income(special=[-9], lower=0), -9, -1.0, "income: must be at least 0, got -1.0"),
        (income(special=[-9], step=2), -9, 1.0, "income: may only change to multiples of 2, got 1.0"),
        (income(max_change=0.3), 2000.0, 2600.5, "income: may change by at most 30 % of 2000.0, got 2600.5"),
        (income(max_change=0.3), 2000.0, 1399.0, "income: may change by at most 30 % of 2000.0, got 1399.0"),
        (income(max_change=0.3), -10.0, -6.9, "income: may change by at most 30 % of -10.0, got -6.9"),
        (income(max_change=0.1), 0.7, 0.7700000000000001, "may change by at most 10 % of 0.7, got 0.7700000000000001"),
        (income(max_change=0.5), 0.0, 0.1, "may change by at most 50 % of 0.0, got 0.1"),
        (income(max_change={"up": 5}), 10, 15.5, "income: may increase by at most 5 from 10, got 15.5"),
        (income(max_change={"up": 5, "down": 0.1}), 10, 9.8, "income: may decrease by at most 0.1 from 10, got 9.8"),
        (Feature("n", "integer"), 3, 3.5, "n: may only change to multiples of 1, got 3.5"),
        (Feature("n", "integer", step=50), 1169, 1168, "n: may only change to multiples of 50, got 1168"),
        (grade(), "low", "top", "grade: must be one of 'low', 'mid', 'high', got 'top'"),
        (grade(), "top", "low", "the applicant's own value must be one of 'low', 'mid', 'high', got 'top'"),
        (grade(), "low", None, "grade: must not become missing"),
        (grade(), None, "low", "grade: is missing, and may not change, got 'low'"),
        (grade(missing="may_change", allowed=["mid"]), None, "low", "grade: may only change to 'mid', got 'low'"),
        (grade(max_change={"up": 1}), "low", "high", "grade: may only change from 'low' to 'mid', got 'high'"),
        (grade(max_change={"up": 0, "down": 1}), "low", "mid", "grade: may only stay at 'low', got 'mid'"),
        (grade(allowed=["mid"]), "low", "high", "grade: may only change to 'mid', got 'high'"),
        (grade(transitions={"low": ["mid"]}), "low", "high", "may only change from 'low' to 'mid', got 'high'"),
        (grade(direction="increase"), "mid", "low", "grade: may only increase from 'mid', got 'low'"),
        (grade(direction="decrease"), "mid", "high", "grade: may only decrease from 'mid', got 'high'"),
        (grade(immutable=True), "low", "mid", "grade: is immutable at 'low', got 'mid'"),
        (Feature("n", "ordinal", values=(1, 2, 3), lower=3), 1, 2, "n: must be at least 3, got 2"),
    ],
)
def test_what_is_not_allowed_is_named(feature, own, new, message):
    found = one(feature, own, new)
    assert len(found) == 1
    assert message in found[0]


PEOPLE = [
    Feature("a", "numeric"),
    Feature("b", "ordinal", values=(1, 2, 3)),
    Feature("c", "binary", values=(False, True)),
]


def violations(options, **schema):
    origin = pd.Series({"a": 1.0, "b": 2, "c": False})
    return FeatureSchema(PEOPLE, **schema).violations(origin, pd.DataFrame(options, columns=["a", "b", "c"]))


def test_rules_count_numbers_of_choices_and_true_as_one():
    found = violations([(0.5, 3, True), (4.0, 3, True), (0.0, 1, False)], rules=["a + b <= 5*c + 1"])
    assert found == [[], ["rule a + b <= 5*c + 1 does not hold: 2 is above 1"], []]


def test_rules_are_sums_of_the_decimals_that_are_printed():
    found = violations([(0.3, 1, False), (0.1 + 0.2, 1, False)], rules=["a <= 0.3", "0.1*a + 0.2*a <= 0.09"])
    assert found[0] == []
    assert found[1] == [
        "rule a <= 0.3 does not hold: 0.3 is above 0.3 by 4e-17",
        "rule 0.1*a + 0.2*a <= 0.09 does not hold: 0.09 is above 0.09 by 1.2e-17",
    ]


def test_a_rule_on_a_missing_value_does_not_hold():
    schema = FeatureSchema([Feature("a", "numeric", immutable=True)], rules=["a <= 3"])
    table = pd.DataFrame({"a": [np.nan]})
    assert schema.violations(table, table) == [["rule a <= 3: a must be a number, got nan"]]


def test_changes_are_counted():
    found = violations([(1.0, 2, True), (1.0, 3, True), (7.0, 1, True)], max_changes=2)
    assert found == [[], [], ["changes 3 columns (a, b, c), at most 2 are allowed"]]


def test_the_applicant_may_be_a_row_in_either_form():
    table = pd.DataFrame({"b": [2], "c": [False], "a": [1.0], "note": ["x"]}, index=[17])
    schema = FeatureSchema(PEOPLE, max_changes=1)
    assert schema.violations(table, table) == [[]]
    assert schema.violations(table.iloc[0], table) == [[]]
    with pytest.raises(InvalidInputError, match="origin must be one applicant, or one row for each of the 1 options"):
        schema.violations(pd.concat([table, table]), table)


def test_each_option_may_have_its_own_applicant():
    people = pd.DataFrame({"a": [1.0, 5.0], "b": [2, 1], "c": [False, True]})
    options = pd.DataFrame({"a": [1.5, 1.5], "b": [2, 2], "c": [False, False]})
    schema = FeatureSchema(PEOPLE, max_changes=1)
    pairs = schema.violations(people, options)
    assert pairs == [schema.violations(people.iloc[[i]], options.iloc[[i]])[0] for i in (0, 1)]
    assert pairs[0] != pairs[1]


def test_missing_columns_are_named():
    table = pd.DataFrame({"a": [1.0], "b": [1], "cc": [True]})
    with pytest.raises(InvalidInputError, match=r"origin must have a column 'c'"):
        FeatureSchema(PEOPLE).violations(table, table.rename(columns={"cc": "c"}))
    with pytest.raises(InvalidInputError, match=r"options must have a column 'c'"):
        FeatureSchema(PEOPLE).violations(table.rename(columns={"cc": "c"}), table)


WORDS = {"low": "failed", "mid": "passed", "high": "with honours"}


@pytest.mark.parametrize(
    ("feature", "own", "new", "complaint"),
    [
        (
            grade(title="school grade", labels=WORDS, immutable=True),
            "low",
            "mid",
            "school grade: is immutable at 'failed', got 'passed'",
        ),
        (
            grade(title="school grade", labels=WORDS, allowed=["mid"]),
            "low",
            "high",
            "school grade: may only change to 'passed', got 'with honours'",
        ),
        (
            grade(labels=WORDS, transitions={"low": ["mid"]}),
            "low",
            "high",
            "grade: may only change from 'failed' to 'passed', got 'with honours'",
        ),
        # Which way is up is the schema's order, which words need not share: the values that are left are named.
        (
            grade(labels=WORDS, direction="increase"),
            "mid",
            "low",
            "grade: may only change from 'passed' to 'with honours', got 'failed'",
        ),
        (
            grade(labels=WORDS, direction="decrease"),
            "low",
            "mid",
            "grade: may only stay at 'failed', got 'passed'",
        ),
        (
            grade(labels=WORDS),
            "low",
            "top",
            "grade: must be one of 'failed', 'passed', 'with honours', got 'top'",
        ),
        (
            income(title="income (EUR)", labels={0: "no income"}, lower=5),
            7.0,
            0.0,
            "income (EUR): must be at least 5, got 'no income'",
        ),
        (
            income(title="income (EUR)", direction="increase"),
            7.5,
            3.0,
            "income (EUR): may only increase from 7.5, got 3.0",
        ),
    ],
)
def test_complaints_speak_in_the_words_of_the_schema(feature, own, new, complaint):
    assert one(feature, own, new) == [complaint]


def test_counted_changes_are_named_by_their_titles():
    schema = FeatureSchema([grade(title="school grade"), income(title="income (EUR)")], max_changes=1)
    origin = pd.DataFrame({"grade": ["low"], "income": [1.0]})
    option = pd.DataFrame({"grade": ["mid"], "income": [2.0]})
    assert schema.violations(origin, option) == [
        ["changes 2 columns (school grade, income (EUR)), at most 1 are allowed"]
    ]


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "Float32", "float[pyarrow]", "halffloat[pyarrow]", "float32 in categories"]
)
@pytest.mark.parametrize("kind", ["numeric", "ordinal"])
def test_decimals_of_any_precision_are_what_is_printed(dtype, kind):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    plain = pd.Series([0.1, 0.2], dtype="float16" if "half" in dtype else "float32")
    column = plain.astype("category" if "categories" in dtype else dtype)
    given = {"step": 0.1, "upper": 0.1} if kind == "numeric" else {"values": (0.1, 0.2), "upper": 0.1}
    schema = FeatureSchema([Feature("a", kind, **given)])
    origin, option = pd.DataFrame({"a": column[1:]}), pd.DataFrame({"a": column[:1]})
    assert schema.violations(origin, option) == [[]]
    assert schema.obeys(origin, option).tolist() == [True]
    refused = schema.violations(option, origin)
    assert len(refused[0]) == 1
    assert refused[0][0].endswith("got 0.2")


@pytest.mark.parametrize("dtype", ["float16", object])
def test_many_rows_of_half_precision_are_judged_as_each_of_them_is(dtype):
    numbers = np.arange(1, 200, dtype=np.float16) / np.float16(10)
    table = pd.DataFrame({"a": pd.Series(list(numbers), dtype=dtype)})
    origin = table.iloc[np.zeros(len(table), dtype=int)]
    for number in numbers[::20]:
        limit = 0.5 * (float(number) + float(str(number)))  # between what is stored and what is printed
        schema = FeatureSchema([Feature("a", "numeric")], rules=[f"a <= {limit:.17g}"])
        assert schema.obeys(origin, table).tolist() == [not faults for faults in schema.violations(origin, table)]


@pytest.mark.parametrize("max_changes", [None, 1, 2])
def test_many_options_are_judged_as_each_of_them_is(max_changes):
    features = [
        Feature("a", "numeric", lower=0.0, upper=2.0, step=0.1, direction="increase"),
        Feature("b", "integer", lower=1, upper=4),
        Feature("c", "ordinal", values=(1, 2, 3, 4), lower=2, direction="decrease"),
        Feature("d", "binary", values=("no", "yes"), immutable=True),
    ]
    schema = FeatureSchema(features, rules=["a + b <= 4.3", "b <= 2*c"], max_changes=max_changes)
    rng = np.random.default_rng(0)

    def people(n):
        numbers = {"a": rng.integers(-1, 24, n) / 10, "b": rng.integers(0, 6, n), "c": rng.integers(1, 5, n)}
        return pd.DataFrame(numbers | {"d": rng.choice(["no", "yes"], n)})

    origins, options = people(600), people(600)
    stays = rng.random((600, 4)) < 0.7
    options = options.where(~stays, origins).astype(origins.dtypes.to_dict())
    judged = [not faults for faults in schema.violations(origins, options)]
    assert schema.obeys(origins, options).tolist() == judged
    assert 30 < sum(judged) < 570


NUMBERS_OF_ALL_KINDS = [
    Feature("x", "integer", lower=-3, upper=9, step=2),
    Feature("x", "integer", lower=0.5, direction="increase"),
    Feature("x", "integer", direction="decrease", max_change={"up": 2, "down": 3.5}),
    Feature("x", "integer", max_change=0.3),
    Feature("x", "integer", max_change=1 / 3),
    Feature("x", "integer", special=[-1], lower=0),
    Feature("x", "integer", immutable=True),
    Feature("x", "numeric", lower=0.1, upper=0.7, direction="increase"),
    Feature("x", "numeric", step=0.1, max_change={"up": 0.3}),
]


@pytest.mark.parametrize("feature", NUMBERS_OF_ALL_KINDS)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "float64", "float32", "Int64", "object"])
def test_columns_of_numbers_are_judged_by_the_words_of_each_row(feature, dtype):
    rng = np.random.default_rng(3)
    raw = rng.integers(-4, 12, (2, 300)) / (1 if feature.kind == "integer" else 10)
    if "int" in dtype.lower():
        raw = np.abs(np.rint(raw)) if dtype == "uint8" else np.rint(raw)
    elif dtype.startswith("float"):
        raw[:, ::50] = [[np.nan], [np.inf]]
    own, new = (pd.DataFrame({"x": pd.Series(cells).astype(dtype)}) for cells in raw)
    schema = FeatureSchema([feature])
    judged = [violations_of(schema, a, b) for a, b in zip(rows_of(own), rows_of(new), strict=True)]
    assert schema.find_violations(own, new) == judged
    assert schema.obeys(own, new).tolist() == [not found for found in judged]


def test_whole_numbers_beyond_floats_are_not_judged_by_floats():
    schema = FeatureSchema([Feature("x", "integer", direction="decrease", max_change=0.3)])
    own, new = pd.DataFrame({"x": [2**60, 2**60, 10]}), pd.DataFrame({"x": [2**60 - 1, 2**60 + 1, 7]})
    assert schema.obeys(own, new).tolist() == [True, False, True]


def test_rules_and_the_number_of_changes_are_told_of_many_rows_as_of_one():
    features = (Feature("a", "integer", upper=5), Feature("b", "integer"), Feature("c", "categorical", values=[*"xyz"]))
    schema = FeatureSchema(features, rules=["a + b <= 6"], max_changes=1)
    rng = np.random.default_rng(4)
    own, new = (
        pd.DataFrame({"a": rng.integers(0, 7, 60), "b": rng.integers(0, 5, 60), "c": rng.choice([*"xyzw"], 60)})
        for _ in range(2)
    )
    rows = zip(rows_of(own), rows_of(new), strict=True)
    assert schema.find_violations(own, new) == [violations_of(schema, a, b) for a, b in rows]


def test_options_of_several_applicants_are_judged_by_whose_they_are():
    schema = FeatureSchema(
        [
            Feature("savings", "integer", direction="increase"),
            Feature("home", "ordinal", values=("none", "rent", "own"), direction="increase"),
        ]
    )
    people = pd.DataFrame({"savings": [500, 900], "home": ["own", "none"]}, index=["a", "b"])
    options = pd.DataFrame({"savings": [600, 600, 950, 500], "home": ["own", "rent", "rent", "rent"]})
    owner = np.array([0, 1, 1, 0])
    assert schema.obeys(people, options, owner).tolist() == [True, False, True, False]
    assert schema.obeys(people.iloc[owner], options).tolist() == [True, False, True, False]
