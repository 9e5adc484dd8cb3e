"""The last check of letters, told apart from all that writes them: whatever is changed in a letter, it must notice."""

import copy
import re
from dataclasses import replace

import pytest

from copa import DataError
from copa.report.letters import LetterSettings, LetterWriter, check_numbers
from copa.report.letters.facts import letter_facts
from copa.report.letters.numbers import canonical, numbers_in, page_lines
from copa.report.letters.template import Template, as_plain_text


@pytest.fixture(scope="module")
def facts(full_plan, letters, settings):
    """What the template of a letter is handed, and the reasons that it gives."""
    letter = letters[full_plan.row]
    return letter_facts(full_plan, [1, 2, 3], list(letter.told), left_out=False, settings=settings), letter.told


def check(facts, plan, settings, change=lambda _: None):
    """Write a letter from facts that were changed on the way, and check it."""
    content, told = copy.deepcopy(facts[0]), facts[1]
    change(content)
    blocks = Template().blocks(content)
    check_numbers(as_plain_text(blocks), Template().page(blocks), plan, told, settings)


def test_a_letter_as_it_should_be_passes(facts, full_plan, settings):
    check(facts, full_plan, settings)


def numeric(facts):
    """Where changes of numbers are: options, and changes of them."""
    return [
        (j, k)
        for j, option in enumerate(facts["options"])
        for k, change in enumerate(option["changes"])
        if re.search(r"\d", change["target"])
    ]


def raise_target(facts):
    j, k = numeric(facts)[0]
    change = facts["options"][j]["changes"][k]
    change["target"] = re.sub(r"\d+(\.\d+)?", lambda found: str(float(found[0]) + 1.0), change["target"])


def other_todays_value(facts):
    j, k = numeric(facts)[0]
    facts["options"][j]["changes"][k]["today"] = "77"


def other_chance(facts):
    facts["chance"] = "at least 8 of 11"


def other_reason(facts):
    reason = next(reason for reason in facts["reasons"] if re.search(r"\d", reason["value"]))
    reason["value"] = f"{reason['value']}5"


def other_reference(facts):
    reason = next(reason for reason in facts["reasons"] if re.search(r"\d", reason["reference"]))
    reason["reference"] = "31337"


def another_option(facts):
    facts["options"][0]["number"] = "4711"


def another_day(facts):
    facts["valid_until"] = "31 March 2998"


@pytest.mark.parametrize(
    "change",
    [
        raise_target,
        other_todays_value,
        other_chance,
        other_reason,
        other_reference,
        another_option,
        another_day,
    ],
)
def test_whatever_is_wrong_is_noticed(facts, full_plan, settings, change):
    with pytest.raises(DataError, match="letter"):
        check(facts, full_plan, settings, change)


def test_the_page_is_checked_as_well_as_the_text(full_plan, settings):
    for page in (
        "<p>4711</p>",
        "<p>You owe <b>47</b>11</p>",
        "<img alt='4711'>",
        "<p>4&#55;11</p>",
        "<p title='4711'>x</p>",
        "<p>\u0664\u0667\u0661\u0661</p>",
        "<p>½ of it</p>",
    ):
        with pytest.raises(DataError, match="is not in the plan"):
            check_numbers("Hello", page, full_plan, [], settings)
    check_numbers("Hello", "<style>p { margin: 4711px }</style><p class='a4711'>x</p>", full_plan, [], settings)


def test_what_the_sender_says_and_the_label_may_stand_anywhere(full_plan):
    batch = full_plan.batch[full_plan.row : full_plan.row + 1]
    plan = replace(batch, applicants=batch.applicants.set_axis(["file 4711"]))[0]
    settings = LetterSettings(sender="Market Street 1234", date="2999-01-05", fields={"phone": "0800 555"})
    check_numbers("Market Street 1234, 5 January 2999\nReference: 4711, 0800 555", "", plan, [], settings)
    for line in ("Market Street 1234", "5 January 2999", "Reference: 4711"):
        with pytest.raises(DataError, match="is not in the plan"):
            check_numbers(line, "", full_plan, [], LetterSettings())


def test_a_chance_is_told_of_10_or_of_100_and_never_as_more(full_plan, monkeypatch):
    monkeypatch.setattr("copa.report.letters.numbers.chance", lambda *_: 0.876)
    plain = LetterSettings()
    for line in ("at least 8 of 10", "at least 87 of 100"):
        check_numbers(line, "", full_plan, [], plain)
    for line in ("at least 88 of 100", "at least 0.876"):
        with pytest.raises(DataError, match="is not in the plan"):
            check_numbers(line, "", full_plan, [], plain)


def test_numbers_are_read_as_people_write_them():
    same = {"2,400": "2400", "2400.0": "2400", "2400.50": "2400.5", "1e3": "1000", "\u22125": "-5", "0": "0", "-0": "0"}
    assert {written: canonical(written) for written in same} == same
    line = "between 2,400 and 3,000.5 EUR (-9), 31.12.2026; A12, 5-8"
    assert numbers_in(line) == ["2,400", "3,000.5", "-9", "31.12.2026", "12", "5", "8"]


def test_a_page_is_read_line_by_line():
    page = "<title>T</title><p>a <b>b</b><br>c</p><ul><li>d<li aria-label='say'>e</ul><script>no</script>f"
    assert page_lines(page) == ["T", "a b", "c", "d", "e", "f", "say"]


def test_every_letter_is_checked(bank, loan_plans, monkeypatch):
    seen = []
    monkeypatch.setattr("copa.report.letters.writer.check_numbers", lambda *given: seen.append(given[2].label))
    list(LetterWriter(bank.strategy_).write(loan_plans[:4]))
    assert seen == [plan.label for plan in loan_plans[:4]]
