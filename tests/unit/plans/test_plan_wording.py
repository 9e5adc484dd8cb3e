import numpy as np
import pytest

from copa.analysis.totals import AuditTotals
from copa.cli.external import VERDICTS
from copa.data.schema import Feature, FeatureSchema
from copa.plans import Change, PlanBatch
from copa.plans.card import STATUS_SIGNS
from copa.plans.wording import MEANINGS, WITH_OPTIONS, as_asked, change_words
from unit.plans.plan_batches import SOURCE, german_batch

SCHEMA = FeatureSchema(
    (
        Feature("income", "numeric"),
        Feature("months", "integer"),
        Feature("job", "ordinal", values=("none", "less than a year", "senior")),
        Feature("purpose", "categorical", values=("car", "tv")),
        Feature("phone", "binary", values=(False, True)),
        Feature("grade", "ordinal", values=(3, 2, 1)),
    )
)


WORDED = FeatureSchema(
    (
        Feature("months", "integer", title="duration (months)", labels={0: "at once", 12: "one year"}),
        Feature("job", "categorical", values=("A1", "A2"), title="job", labels={"A1": "no job"}),
        Feature("rate", "ordinal", values=(1, 2, 3), labels={1: ">= 35 %", 2: "20 to 35 %", 3: "< 20 %"}),
        Feature("grade", "ordinal", values=(1, 2), title="school grade"),
        Feature("phone", "binary", values=(False, True), labels={False: "none", True: "own phone"}),
    )
)


@pytest.fixture(scope="module")
def batch():
    return german_batch()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("months", 48, 18), "Lower months from 48 to 18."),
        (("months", np.int64(1), np.int64(2)), "Raise months from 1 to 2."),
        (("income", 100.0, 250.5), "Raise income from 100 to 250.5."),
        (("income", np.float32(0.2), np.float32(0.1)), "Lower income from 0.2 to 0.1."),
        (("income", 0.1 + 0.2, 1.0), "Raise income from 0.3 to 1."),
        (("job", "none", "senior"), "Raise job from none to senior."),
        (("job", "senior", "less than a year"), "Lower job from senior to 'less than a year'."),
        (("grade", 3, 1), "Raise grade from 3 to 1."),  # up is along the order of the values
        (("grade", "1", "3"), "Lower grade from 1 to 3."),
        (("purpose", "car", "tv"), "Change purpose from 'car' to 'tv'."),
        (("phone", False, True), "Change phone from False to True."),
        (("income", np.nan, 5.0), "Set income to 5 (it is missing today)."),
        (("unknown", "a", "b"), "Change unknown from 'a' to 'b'."),
        (("job", "retired", "senior"), "Change job from 'retired' to 'senior'."),
        (("months", "48", "18"), "Change months from '48' to '18'."),
    ],
)
def test_a_change_is_a_sentence(change, words):
    features = {feature.name: feature for feature in SCHEMA.features}
    assert change_words(Change(*change, features.get(change[0]))) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("months", 24, 12), "Lower duration (months) from 24 to 'one year'."),
        (("months", 12.0, 24.0), "Raise duration (months) from 'one year' to 24."),
        (("job", "A1", "A2"), "Change job from 'no job' to 'A2'."),
        (("rate", 2, 3), "Change rate from '20 to 35 %' to '< 20 %'."),  # "raise" would say the opposite
        (("rate", "2", np.int64(3)), "Change rate from '20 to 35 %' to '< 20 %'."),
        (("rate", np.nan, 3), "Set rate to '< 20 %' (it is missing today)."),
        (("grade", 1, 2), "Raise school grade from 1 to 2."),
        (("phone", False, True), "Change phone from 'none' to 'own phone'."),
        (("phone", 0, 1), "Change phone from 'none' to 'own phone'."),
    ],
)
def test_titles_and_labels_speak_in_place_of_names_and_values(change, words):
    assert change_words(Change(*change, WORDED[change[0]])) == words


def test_each_option_says_what_to_do_and_how_surely_it_holds(batch):
    text = batch[0].explain()
    option = text.split("\n\n")[2].splitlines()
    accepted = "The next model accepts it with probability at least 0.607 if the assumption below is right."
    assert option == [
        "Option 2 (effort 0.75)",
        "- Lower credit amount (DM) from 5951 to 2000.",
        "- Change time in present job from '1 to 4 years' to '4 to 7 years'.",
        f"Today's model accepts this option. {accepted}",
    ]


def test_the_whole_menu_has_both_probabilities_and_what_was_asked(batch):
    text = batch[0].explain()
    assert (
        "accepts at least one option with probability at least 0.942, all of them together with at least 0.557." in text
    )
    assert "Option 2 is the one that a change of the model breaks first." in text
    assert "The guarantee asked for is at least 0.6 for each option." in text


def test_the_assumption_states_radius_source_and_what_holding_means(batch):
    text = batch[0].explain()
    assert f"within a distance of 0.05 of the estimated ones, equally in every direction (radius: {SOURCE})" in text
    assert "proven for every such distribution, and say nothing about others" in text
    assert "the model answers 'good' at the threshold 0.5" in text


def test_one_option_comes_with_the_assumption_too(batch):
    text = batch[0].explain(1)
    assert text.startswith("Option 1 (effort 0.50)\n- Lower duration (months) from 48 to 18.\n")
    assert "Option 2" not in text
    assert "Assumption: " in text


def test_drift_and_a_zero_radius_are_said():
    drifting = german_batch(drift=np.eye(6))
    assert "in units of the drift between models" in drifting[0].explain()
    still = german_batch()
    ball = type(still.ambiguity)(still.ambiguity.mean, still.ambiguity.cov, 0.0)
    exact = PlanBatch(**{n: getattr(still, n) for n in still.__dataclass_fields__} | {"ambiguity": ball})
    assert "whose mean and covariance are the estimated ones exactly" in exact[0].explain()


@pytest.mark.parametrize(
    ("position", "lines"),
    [
        (1, ["Applicant 40: already valid.", "Nothing needs to change.", "Accepted today as it is.", "Assumption: "]),
        (
            3,
            [
                "Applicant 100: infeasible.",
                "There is no option to offer.",
                "Today's model accepts nothing that is allowed.",
            ],
        ),
        (
            4,
            ["Applicant 110: error.", "No plan could be made for this applicant.", "Row 110: column 'age' must not be"],
        ),
        (6, ["Applicant 140: time limit.", "The search for options was not finished.", "The time limit ended before"]),
    ],
)
def test_a_plan_without_options_says_why(batch, position, lines):
    text = batch[position].explain().replace("\n\n", "\n").splitlines()
    assert [line[: len(start)] for line, start in zip(text, lines, strict=True)] == lines


def test_a_fragile_plan_says_that_the_guarantee_is_not_reached(batch):
    notes = batch[2].explain().split("\n\n")[1]
    assert notes.splitlines() == [
        "These options do not reach the guarantee asked for.",
        "A guarantee of 0.6 for each option is out of reach.",
    ]


def changed(batch, **parts):
    return PlanBatch(**{name: getattr(batch, name) for name in batch.__dataclass_fields__} | parts)


def test_without_a_message_the_highest_level_is_the_reason(batch):
    silent = changed(batch, message=np.full(7, ""))
    assert "The highest guarantee in reach is 0.555." in silent[2].explain()


def test_a_fragile_plan_without_options_does_not_speak_of_these_options(batch):
    moved = changed(batch, status=np.full(7, "fragile"))
    assert "These options" not in moved[1].explain()
    assert "There is no option that reaches the guarantee asked for." in moved[1].explain()


@pytest.mark.parametrize("status", ["ok", "already_valid", "fragile", "infeasible", "time_limit", "error"])
def test_a_plan_with_options_never_says_that_there_is_none(batch, status):
    given = changed(batch, status=np.full(7, status), message=np.full(7, ""))
    text = given[0].explain()
    assert "Option 1" in text
    assert "no option" not in text.lower()
    assert "No plan" not in text
    assert ("These options cannot all be offered." in text) == (status == "infeasible")


def test_an_option_without_a_guarantee_gets_no_promise(batch):
    bare = changed(batch, option_lower=np.zeros(6), accepted=np.zeros(6, dtype=bool))
    text = bare[0].explain(1)
    assert "No probability can be guaranteed" in text
    assert "Today's model does not accept this option." in text
    assert "at least 0.000" not in text


def test_an_option_that_changes_nothing_says_so(batch):
    idle = batch.applicants.iloc[batch.owner].reset_index(drop=True)
    assert "- Change nothing." in changed(batch, options=idle)[0].explain(1)


def test_an_upper_bound_below_one_is_said_rounded_up(batch):
    upper = np.array(batch.upper)
    upper[0] = 0.87651
    text = changed(batch, upper=upper)[0].explain()
    assert "accepts all of them with probability 0.877 at most" in text


def test_the_papers_objective_asks_for_no_level():
    text = german_batch(objective="paper")[0].explain()
    assert "The guarantee asked for" not in text


def test_another_set_than_the_ball_says_its_own_assumption(unimodal_plans):
    plan = next(plan for plan in unimodal_plans if plan.n_options)
    for text in (plan.explain(), plan.explain(1), plan._repr_html_()):
        assert "mean and covariance are within" not in text
        assert "a distribution of the class UnimodalMeanSet, around the estimated mean and covariance, radius" in text


def test_an_assumed_covariance_is_called_one():
    plan = german_batch(subject="assumed")[0]
    assert "the scores that the next model gives these rows (with an assumed covariance) come from" in plan.explain()


def test_what_nobody_asked_for_is_not_called_asked_for():
    paper, expected = (german_batch(**asked).request for asked in ({"objective": "paper"}, {"expected": True}))
    said = [*MEANINGS.values(), *WITH_OPTIONS.values(), *STATUS_SIGNS.values(), *VERDICTS.values()]
    assert not [words for words in said if "guarantee asked for" in as_asked(words, paper)]
    assert not [words for words in said if "guarantee asked for" in as_asked(words, expected)]
    assert as_asked(VERDICTS["fragile"], paper) == "the plan does not reach a guarantee of 0.6"
    counts = dict.fromkeys(AuditTotals.__dataclass_fields__, 1) | {"at_level": None}
    people = AuditTotals(**counts).in_words(german_batch(objective="paper"))[1]
    assert "a plan with a guarantee of 0.6 for each option, which was not asked for; 1 has a plan below it" in people
