"""The last check of letters, told apart from all that writes them: whatever is changed in a letter, it must notice."""

import copy
import re
from dataclasses import replace

import pytest

from copa import DataError
from copa.letters import LetterSettings, LetterWriter, check_numbers
from copa.letters.facts import letter_facts
from copa.letters.numbers import _canonical, _PageText, _tokens
from copa.letters.template import Block, Template, as_plain_text


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


def swap_options(facts):
    first, second = facts["options"][0], facts["options"][1]
    first["changes"], second["changes"] = second["changes"], first["changes"]


def other_todays_value(facts):
    j, k = numeric(facts)[0]
    facts["options"][j]["changes"][k]["today"] = "77"


def swapped_change(facts):
    change = next(
        change
        for option in facts["options"]
        for change in option["changes"]
        if re.search(r"\d", change["target"]) and re.search(r"\d", change["today"])
    )
    change["target"], change["today"] = change["today"], change["target"]


def certain(facts):
    facts["chance"] = "at least 10 of 10"


def better_chance(facts):
    facts["chance"] = "at least 9 of 10"


def percent_chance(facts):
    facts["chance"] = "at least 80 of 10"


def other_reason(facts):
    reason = next(reason for reason in facts["reasons"] if re.search(r"\d", reason["value"]))
    reason["value"] = f"{reason['value']}5"


def other_reference(facts):
    reason = next(reason for reason in facts["reasons"] if re.search(r"\d", reason["reference"]))
    reason["reference"] = "31337"


def swap_reasons(facts):
    numbers = [reason for reason in facts["reasons"] if re.search(r"\d", reason["value"] + reason["reference"])]
    numbers[0]["reference"] = f"{numbers[0]['reference']} and {numbers[1]['reference']}"


def another_option(facts):
    facts["options"][0]["number"] = "4"


def renumbered(facts):
    facts["options"][0]["number"], facts["options"][1]["number"] = "2", "1"


def another_day(facts):
    facts["valid_until"] = "31 March 2998"


@pytest.mark.parametrize(
    "change",
    [
        raise_target,
        swap_options,
        other_todays_value,
        swapped_change,
        certain,
        better_chance,
        percent_chance,
        other_reason,
        other_reference,
        swap_reasons,
        another_option,
        renumbered,
        another_day,
    ],
)
def test_whatever_is_wrong_is_noticed(facts, full_plan, settings, change):
    with pytest.raises(DataError, match="letter"):
        check(facts, full_plan, settings, change)


def test_a_range_of_one_option_may_not_stand_under_another_or_outside(facts, full_plan, settings):
    j, k = numeric(facts[0])[0]
    words = facts[0]["options"][j]["changes"][k]["target"]
    own = [Block("entry", words, j + 1)]
    check_numbers(own, "", full_plan, [], settings)
    with pytest.raises(DataError, match="is not in the plan"):
        check_numbers([*own, Block("entry", words)], "", full_plan, [], settings)


def test_the_page_is_checked_as_well_as_the_text(full_plan, settings):
    text = [Block("title", "Hello")]
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
            check_numbers(text, page, full_plan, [], settings)
    check_numbers(text, "<style>p { margin: 4711px }</style><p class='a4711'>x</p>", full_plan, [], settings)
    with pytest.raises(DataError, match="speaks of option 1, and its text does not"):
        check_numbers(text, "<p data-option='1'>x</p>", full_plan, [], settings)
    with pytest.raises(DataError, match="the plan has 3"):
        check_numbers([Block("entry", "x", 4)], "", full_plan, [], settings)


def test_what_the_sender_says_may_stand_anywhere_but_under_an_option(full_plan, settings):
    check_numbers([Block("line", "Market Street 12, 5 January 2999")], "", full_plan, [], settings)
    with pytest.raises(DataError, match=r"2999 .* is not one of option 1"):
        check_numbers([Block("entry", "2999", 1)], "", full_plan, [], settings)


@pytest.mark.parametrize("label", [9, "9", 10])
def test_the_applicants_label_explains_no_chance(full_plan, label):
    batch = full_plan.batch[full_plan.row : full_plan.row + 1]
    plan = replace(batch, applicants=batch.applicants.set_axis([label]))[0]
    settings, options = LetterSettings(sender="Market Street 10"), [Block("entry", "x", k) for k in (1, 2, 3)]
    for line in (f"Reference: {label}", "at least 8 of 10", "Market Street 10", f"Market Street 10, {label}"):
        check_numbers([*options, Block("line", line)], "", plan, [], settings)
    for line in (f"at least {label} of 10", f"at least {label} of {label}", f"8 of 10, {label}"):
        with pytest.raises(DataError, match="do not belong together"):
            check_numbers([*options, Block("line", line)], "", plan, [], settings)


def test_numbers_are_read_as_people_write_them():
    same = {"2,400": "2400", "2400.0": "2400", "2400.50": "2400.5", "1e3": "1000", "\u22125": "-5", "0": "0", "-0": "0"}
    assert {written: _canonical(written) for written in same} == same
    assert _tokens(["between 2,400 and 3,000.5 EUR (-9), 31.12.2026; A12, 5-8"]) == {
        "2400", "3000.5", "-9", "31.12.2026", "12", "5", "8",
    }  # fmt: skip


def test_a_page_is_read_line_by_line_and_option_by_option():
    page = "<title>T</title><p>a <b>b</b><br>c</p><section data-option=2><ul><li>d<li>e</ul></section>f"
    assert _PageText.read(page) == [(None, "T"), (None, "a b"), (None, "c"), (2, "d"), (2, "e"), (None, "f")]


def test_every_letter_is_checked(bank, loan_plans, monkeypatch):
    seen = []
    monkeypatch.setattr("copa.letters.writer.check_numbers", lambda *given: seen.append(given[2].label))
    list(LetterWriter(bank.fitted_).write(loan_plans[:4]))
    assert seen == [plan.label for plan in loan_plans[:4]]
