import json
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from copa.exceptions import InvalidInputError
from copa.promises import gate
from copa.promises.promised_rows import join_facts, promised_rows
from copa.report import gate_page
from unit.planner import loans

AS_OF = date(2026, 11, 18)


@pytest.fixture(scope="module")
def harsher():
    """A model of the same bank that wants more income."""
    table = loans.people(300, 0)
    return loans.pipeline().fit(table, loans.outcomes(table) & (table["income"] > 38).to_numpy())


@pytest.fixture(scope="module")
def promises(loan_plans):
    """Options of thirty people as a ledger lists them, of two versions and several months."""
    promised = promised_rows(loan_plans)
    n = len(promised)
    made = [date(2026, 1 + k % 10, 18) for k in range(n)]
    facts = promised.facts.assign(
        model_version=["v1", "v2"] * (n // 2) + ["v1"] * (n % 2), made=made, valid_until=[date(2027, 12, 31)] * n
    )
    return join_facts(facts, promised.rows)


@pytest.fixture(scope="module")
def report(harsher, promises, bank):
    return gate(
        harsher, promises, max_broken=0.05, current=bank, groups=["job", "income"], as_of=AS_OF,
        reference=loans.people(200, 3),
    )  # fmt: skip


class InBlocks:
    """The same promises, a few at a time, as a ledger yields them."""

    favourable = True

    def __init__(self, table, size):
        self.table, self.size, self.asked = table, size, None

    def blocks(self, status="open", as_of=None, size=50_000):  # noqa: ARG002 - of its own size
        self.asked = (status, as_of)
        for first in range(0, len(self.table), self.size):
            yield self.table.iloc[first : first + self.size]


def test_every_promise_that_the_candidate_refuses_is_named(report, promises, harsher):
    rows = promised_rows(promises).rows
    refused = rows.index[~harsher.predict(rows)]
    assert 0 < len(refused) < len(rows)
    assert set(report.broken.index) == set(refused)
    assert (report.n_promises, report.n_broken) == (len(rows), len(refused))
    assert report.broken_share == len(refused) / len(rows)
    assert not report.passed


def test_the_limit_itself_passes(harsher, promises, report):
    assert gate(harsher, promises, max_broken=report.broken_share, as_of=AS_OF).passed
    assert not gate(harsher, promises, max_broken=report.broken_share - 1e-6, as_of=AS_OF).passed


def test_the_model_in_force_keeps_what_was_promised(bank, loan_plans):
    found = gate(bank.model, loan_plans)
    assert found.passed
    assert found.n_broken == 0
    assert found.interval.low == 0.0 < found.interval.high
    assert found.causes == ()


def test_blocks_of_a_ledger_say_the_same_as_one_table(harsher, promises, report, bank):
    ledger = InBlocks(promises, 7)
    found = gate(
        harsher, ledger, max_broken=0.05, current=bank, groups=["job"], as_of=AS_OF, reference=loans.people(200, 3)
    )
    assert ledger.asked == ("open", AS_OF)
    assert found.broken.index.tolist() == report.broken.index.tolist()
    assert found.interval == report.interval
    for name, parts in found.parts.items():
        counts = [(part.name, part.n_promises, part.n_broken) for part in report.parts[name]]
        assert [(part.name, part.n_promises, part.n_broken) for part in parts] == counts
        assert [part.guaranteed for part in parts] == pytest.approx([part.guaranteed for part in report.parts[name]])
    assert [cause.promise for cause in found.causes] == [cause.promise for cause in report.causes]
    assert (found.swap.lost, found.reference.lost) == (report.swap.lost, report.reference.lost)


def test_expired_and_closed_promises_are_not_tried(harsher, promises):
    table = promises.copy()
    table.iloc[0, table.columns.get_loc("promise_valid_until")] = date(2026, 11, 17)
    table.iloc[1, table.columns.get_loc("promise_valid_until")] = AS_OF
    table.iloc[2, table.columns.get_loc("promise_status")] = "waived"
    assert gate(harsher, table, as_of=AS_OF).n_promises == len(table) - 2


def test_promises_whose_rows_were_purged_are_not_tried(harsher, promises):
    table = promises.copy().astype(object)
    rows = [name for name in table.columns if name in loans.SCHEMA.names]
    table.loc[table.index[0], rows] = None
    table.loc[table.index[0], "promise_applicant"] = ""
    typed = table.astype(
        {"income": float, "debt": float, "age": float, "grade": float, "promise_option_guarantee": float}
    )
    assert gate(harsher, InBlocks(typed, 1000), as_of=AS_OF).n_promises == len(table) - 1


def test_a_row_of_missing_cells_in_a_table_without_facts_was_not_purged():
    rows = pd.DataFrame({"x": [1.0, np.nan, 3.0]})
    report = gate(Odd(lambda rows: (rows["x"] > 0).to_numpy()), rows)
    assert (report.n_promises, report.n_broken, report.n_purged) == (3, 1, 0)


@pytest.mark.parametrize("guarantee", [-1.0, 90.0, np.inf])
def test_a_guarantee_that_is_no_probability_is_refused(harsher, promises, guarantee):
    with pytest.raises(InvalidInputError, match="promise_option_guarantee must hold probabilities, from 0 to 1, got"):
        gate(harsher, promises.assign(promise_option_guarantee=guarantee), as_of=AS_OF)


def test_parts_add_up_to_all_promises(report):
    assert list(report.parts) == ["model version", "guarantee", "age of the promise", "job", "income"]
    for parts in report.parts.values():
        assert sum(part.n_promises for part in parts) == report.n_promises
        assert sum(part.n_broken for part in parts) == report.n_broken


def test_ages_are_whole_months(harsher, promises):
    table = promises.iloc[:4].copy()
    table["promise_made"] = [date(2026, 10, 18), date(2026, 10, 19), date(2026, 5, 18), date(2024, 11, 18)]
    parts = gate(harsher, table, as_of=AS_OF).parts["age of the promise"]
    assert [part.name for part in parts] == ["under 1 month", "1 to 2 months", "6 to 11 months", "24 months and more"]


def test_a_column_of_many_numbers_is_counted_in_quarters_in_their_order(report):
    names = [part.name for part in report.parts["income"]]
    assert len(names) == 4
    assert names[0].startswith("up to")
    assert [float(name.split()[-1]) for name in names[:3]] == sorted(float(name.split()[-1]) for name in names[:3])


def test_infinite_and_missing_numbers_are_counted_too():
    debts = [-np.inf] * 20 + [np.inf] * 30 + [np.nan] * 10 + list(range(40))
    rows = pd.DataFrame({"x": np.ones(100), "debt": debts})
    parts = gate(Odd(lambda rows: (rows["x"] > 0).to_numpy()), rows, groups=["debt"]).parts["debt"]
    assert sum(part.n_promises for part in parts) == 100
    assert parts[-1].name == "not known"


def test_a_group_may_have_the_name_of_a_fact_and_of_a_part(harsher, promises):
    table = promises.assign(guarantee=["a", "b"] * (len(promises) // 2) + ["a"] * (len(promises) % 2))
    parts = gate(harsher, table, groups=["guarantee"], as_of=AS_OF).parts
    assert [part.name for part in parts["column guarantee"]] == ["a", "b"]
    assert parts["guarantee"][0].guaranteed is not None


def test_promised_and_kept_stand_beside_each_other(report, promises):
    table = report.calibration
    assert table["promises"].sum() == len(promises)
    mean = (table["guaranteed"] * table["promises"]).sum() / len(promises)
    assert mean == pytest.approx(1.0 - report.expected_share)
    assert (table["accepted"] * table["promises"]).sum() == pytest.approx(len(promises) - report.n_broken)


def test_the_swap_set_counts_who_gains_and_who_loses(report, harsher, bank):
    rows = loans.people(200, 3)
    now, before = harsher.predict(rows), bank.model.predict(rows)
    assert report.reference.gained == (now & ~before).sum()
    assert report.reference.lost == (before & ~now).sum()
    assert report.reference.both == (now & before).sum()
    assert report.reference.neither == (~now & ~before).sum()
    assert sum(group["lost"] for group in report.reference.groups["job"]) == report.reference.lost
    assert report.swap.lost == report.n_broken


def test_parts_of_a_change_of_score_add_up_and_name_the_column_that_changed(report, harsher, bank, promises):
    rows = promised_rows(promises).rows
    assert len(report.causes) == min(10, report.n_broken)
    for cause in report.causes:
        own = rows.loc[[cause.promise]]
        now, before = harsher.decision_function(own)[0], bank.model.decision_function(own)[0]
        assert cause.score == pytest.approx(now)
        assert cause.score_in_force == pytest.approx(before)
        assert sum(change for _, change in cause.changes) == pytest.approx(now - before)
        assert "columns together" not in dict(cause.changes)
    scores = harsher.decision_function(rows)
    assert [cause.score for cause in report.causes] == pytest.approx(np.sort(scores)[: len(report.causes)])


def test_the_column_whose_weight_changed_is_named():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 3)), columns=["a", "b", "c"])
    current = LogisticRegression().fit(table, table["a"] + table["b"] > 0)
    candidate = LogisticRegression().fit(table, table["a"] - table["b"] > 0)
    rows = pd.DataFrame({"a": [0.1, 0.0, 0.2], "b": [2.0, 1.5, 0.0], "c": [0.0, 0.0, 0.0]})
    found = gate(candidate, rows, current=current, reference=table)
    assert found.causes[0].changes[0][0] == "b"
    assert found.causes[0].changes[0][1] < -10.0


def test_a_forest_is_explained_by_replacing_columns(bank, promises):
    table = loans.people(300, 0)
    labels = loans.outcomes(table) & (table["income"] > 45).to_numpy()
    forest = loans.pipeline(RandomForestClassifier(20, random_state=0)).fit(table, labels)
    found = gate(forest, promises, current=bank.model, favourable=True, as_of=AS_OF)
    assert found.n_broken > 0
    for cause in found.causes:
        change = cause.score - cause.score_in_force
        assert sum(part for _, part in cause.changes) == pytest.approx(change)


def test_a_model_without_scores_is_tried_and_not_explained(promises):
    table = loans.people(300, 0)
    model = loans.pipeline(SVC()).fit(table, loans.outcomes(table) & (table["income"] > 45).to_numpy())
    found = gate(model, promises, as_of=AS_OF)
    assert found.n_broken > 0
    assert found.causes == ()
    assert "neither parameters nor probabilities" in found.why_not
    assert json.loads(found.to_json())["broken"][0]["score"] is None


def test_the_threshold_of_the_candidate_itself_decides(bank, promises):
    from sklearn.model_selection import FixedThresholdClassifier

    rows = promised_rows(promises).rows
    strict = FixedThresholdClassifier(bank.model, threshold=0.9, response_method="predict_proba")
    table = loans.people(300, 0)
    strict.fit(table, loans.outcomes(table))
    expected = int((strict.predict(rows) == 0).sum())
    assert expected > 0
    assert gate(strict, promises, as_of=AS_OF).n_broken == expected
    assert gate(bank.model, promises, threshold=0.9, as_of=AS_OF).n_broken == expected


def test_metrics_and_thresholds_have_the_form_of_mlflow(report):
    metrics, thresholds = report.metrics(), report.thresholds()
    assert set(thresholds) <= set(metrics)
    assert all(isinstance(value, float) for value in metrics.values())
    (limit,) = thresholds.values()
    assert limit == {"threshold": report.n_allowed / report.n_promises, "greater_is_better": False}
    assert report.n_allowed == int(0.05 * report.n_promises)


def test_json_holds_all_of_it(report, tmp_path):
    report.to_json(tmp_path / "gate.json")
    content = json.loads((tmp_path / "gate.json").read_text())
    assert content["n_broken"] == len(content["broken"]) == report.n_broken
    assert content["parts"]["job"][0]["n_promises"] > 0
    assert content["causes"][0]["changes"][0]["part"]


def test_the_page_says_what_the_report_says_and_escapes_what_others_wrote(report, harsher, promises):
    page = gate_page(report)
    assert "Failed." in page
    assert report.broken.index[0] in page
    table = promises.copy()
    table["promise_model_version"] = "<script>alert(1)</script>"
    assert "<script>alert(1)" not in gate_page(gate(harsher, table, as_of=AS_OF))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_broken": 1.0}, "max_broken must be a whole number of promises such as 3, or a share .* got 1.0"),
        ({"max_broken": float("nan")}, "max_broken must be a whole number"),
        ({"groups": ["jobs"]}, "group 'jobs' is no column of the rows; did you mean 'job'?"),
        ({"groups": ["job", "job"]}, "groups must name each column once"),
        ({"as_of": "yesterday"}, "as_of must be a date"),
        ({"favourable": "good"}, "the candidate chooses between False, True, and 'good' was promised"),
        ({"current": "v1"}, "the model in force must be a fitted classifier"),
        ({"threshold": 2.0}, "threshold is a probability"),
    ],
)
def test_bad_input_is_refused_in_one_line(harsher, promises, change, words):
    with pytest.raises(InvalidInputError, match=words.replace("?", r"\?")) as error:
        gate(harsher, promises, **{"as_of": AS_OF, **change})
    assert "\n" not in str(error.value)


def test_the_verdict_names_the_limit_and_where_it_comes_from(harsher, promises, report):
    n, words = report.n_promises, [
        (0, "none may be broken (max_broken=0, the default)."),
        (2, "at most 2 may be broken (max_broken=2)."),
        (0.05, f"at most {int(0.05 * report.n_promises)} may be broken (max_broken=0.05, a share of {len(promises)})."),
        ("5%", f"at most {int(0.05 * report.n_promises)} may be broken (max_broken=5%, a share of {len(promises)})."),
    ]  # fmt: skip
    for limit, told in words:
        found = gate(harsher, promises, max_broken=limit, as_of=AS_OF)
        verdict = found.in_words()[0]
        assert verdict.startswith(f"The candidate fails: it would break {report.n_broken} of {n} outstanding promises")
        assert verdict.endswith(told)
        assert found.to_dict()["max_broken"] == str(limit)


def test_guarantees_are_told_as_an_average_under_assumptions_and_not_as_a_limit(harsher, promises):
    strict, lenient = (gate(harsher, promises, max_broken=limit, as_of=AS_OF).in_words() for limit in (0, "100%"))
    told = "where the assumptions of the guarantees hold, later models break no larger share on average"
    stricter = "The limit is stricter: a candidate can fail it while all guarantees hold."
    assert any(told in sentence and stricter in sentence for sentence in strict)
    assert any(told in sentence and stricter not in sentence for sentence in lenient)
    assert not any("By their guarantees at most" in sentence for sentence in strict)


class Odd:
    """A model of one column whose methods do what they are told."""

    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["x"])

    def __init__(self, predict, **methods):
        self.predict = predict
        vars(self).update(methods)


def failing(error):
    def predict(_):
        raise error

    return predict


ODD = [
    (Odd(failing(RuntimeError("no\ndevice"))), {}, "`predict` of Odd raised RuntimeError: no device"),
    (Odd(failing(IndexError("out of bounds"))), {}, "`predict` of Odd raised IndexError: out of bounds"),
    (Odd(failing(AttributeError("steps"))), {}, "`predict` of Odd raised AttributeError: steps"),
    (Odd(lambda rows: np.ones((len(rows), 2))), {}, r"returned an array of shape \(3, 2\); expected is \(3,\)"),
    (Odd(lambda rows: np.ones(len(rows) + 1)), {}, r"returned an array of shape \(4,\); expected is \(3,\)"),
    (Odd(lambda _: None), {}, r"returned an array of shape \(\)"),
    (Odd(lambda rows: np.array([{} for _ in range(len(rows))])), {}, "`predict` of Odd raised TypeError: unhashable"),
    (Odd(lambda _: pd.array([True, None, None], dtype="boolean")), {}, "`predict` of Odd raised TypeError: .* NA"),
    (Odd(lambda rows: np.full(len(rows), 0.7)), {}, "returned 0.7, which is none of its labels, False, True"),
    (
        Odd(lambda rows: rows["x"] > 0, predict_proba=lambda rows: np.ones((len(rows), 1))),
        {"threshold": 0.6},
        r"`predict_proba` of Odd returned an array of shape \(3, 1\); expected is \(3, 2\)",
    ),
    (
        Odd(lambda rows: rows["x"] > 0, predict_proba=lambda rows: np.full((len(rows), 2), np.nan)),
        {"threshold": 0.6},
        "`predict_proba` of Odd returned nan; finite numbers are expected",
    ),
    (Odd(lambda rows: rows["x"] > 2, predict_proba=lambda rows: np.ones(len(rows))), {}, "IndexError: too many"),
]


@pytest.mark.parametrize(("model", "more", "words"), ODD)
def test_a_candidate_that_fails_or_answers_nonsense_is_named_in_one_line(model, more, words):
    with pytest.raises(InvalidInputError, match=f"^the candidate (refuses|cannot be asked).*{words}") as error:
        gate(model, pd.DataFrame({"x": [1.0, 2.0, 3.0]}), **more)
    assert "\n" not in str(error.value)


def test_one_column_of_answers_is_one_answer_per_row():
    rows = pd.DataFrame({"x": [1.0, -2.0, 3.0]})
    assert gate(Odd(lambda rows: rows["x"].to_numpy()[:, None] > 0), rows).n_broken == 1


def test_no_promise_is_no_pass(harsher, promises):
    with pytest.raises(InvalidInputError, match="there is no outstanding promise as of 2030-01-01"):
        gate(harsher, promises, as_of="2030-01-01")


def test_a_candidate_with_other_columns_or_labels_is_refused(promises):
    table = loans.people(300, 0)
    other = LogisticRegression().fit(table[["income"]].rename(columns={"income": "salary"}), loans.outcomes(table))
    with pytest.raises(InvalidInputError, match=r"the candidate cannot be asked .* needs column 'salary'"):
        gate(other, promises, as_of=AS_OF)
    words = LogisticRegression().fit(table[["income"]], np.where(loans.outcomes(table), "yes", "no"))
    with pytest.raises(InvalidInputError, match="favourable must say which label was promised, 'no' or 'yes'"):
        gate(words, promises, as_of=AS_OF)
    assert gate(words, promises, favourable="yes", as_of=AS_OF).n_promises == len(promises)


def test_a_candidate_that_cannot_read_a_promised_row_is_refused(promises):
    table = loans.people(300, 0).query("job != 'nurse'")
    candidate = loans.pipeline().fit(table, loans.outcomes(table))
    with pytest.raises(InvalidInputError, match=r"the candidate refuses a row: .*nurse"):
        gate(candidate, promises.assign(job="nurse"), as_of=AS_OF)
