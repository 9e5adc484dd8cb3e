"""Names, folders and templates of letters."""

import contextlib
import csv
from dataclasses import replace

import numpy as np
import pytest

from copa import DataError, InvalidInputError
from copa.report.letters import LetterWriter
from copa.report.letters.folder import LetterFolder
from copa.report.letters.template import Template, as_plain_text, write_template


def test_files_are_named_by_the_row_of_the_applicant_and_say_nothing_of_who_it_is(bank, loan_plans, tmp_path):
    odd = ["2", "🎉", "../../etc/passwd", "CON", "con", "A" * 300, "A" * 300]
    some = loan_plans.select(np.zeros(len(odd), dtype=np.intp))
    plans = replace(some, applicants=some.applicants.set_axis(odd))
    made = LetterFolder(tmp_path / "odd", LetterWriter(bank.strategy_))
    with made.opened():
        made.add(plans)
    with (made.folder / "index.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["letter"] for row in rows] == [f"letter-{k:06d}" for k in range(1, len(odd) + 1)]
    assert len(list(made.folder.iterdir())) == 2 * len(odd) + 1
    for row, label in zip(rows, odd, strict=True):
        words = (made.folder / f"{row['letter']}.txt").read_text(encoding="utf-8").split()
        assert words[:2] == ["Reference:", label]


def test_a_letter_is_saved_under_a_name_and_nowhere_else(written, full_plan, tmp_path):
    letter = written(full_plan)
    assert letter.save(tmp_path / "new", "ann")[0] == tmp_path / "new" / "ann.html"
    for name in ("../ann", "a/b", ""):
        with pytest.raises(InvalidInputError, match="name must be that of a file"):
            letter.save(tmp_path / "new", name)


def test_letters_of_a_run_that_was_killed_are_replaced(folder, loan_plans):
    killed = folder()
    with contextlib.suppress(ZeroDivisionError), killed.opened():
        killed.add(loan_plans[:3])
        left = {path.name: path.read_bytes() for path in killed.folder.iterdir()}
        _ = 1 // 0
    for name, content in left.items():  # as a run leaves them that cannot clean up
        (killed.folder / name).write_bytes(content)
    fewer = folder()
    with fewer.opened():
        fewer.add(loan_plans[3:4])
    assert len(left) == 6
    assert len(list(fewer.folder.iterdir())) == 3


@pytest.fixture
def folder(bank, tmp_path):
    def make(path=tmp_path / "letters"):
        return LetterFolder(path, LetterWriter(bank.strategy_))

    return make


def test_a_folder_holds_two_files_for_each_and_a_list(folder, loan_plans):
    made = folder()
    made.require_free()
    with made.opened():
        made.add(loan_plans[:2])
        made.add(loan_plans[2:4])
    names = sorted(path.name for path in made.folder.iterdir())
    assert len(names) == 9
    assert made.counts == {"letters": 4}
    with (made.folder / "index.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["applicant"] for row in rows] == [plan.label for plan in loan_plans[:4]]
    assert {f"{row['letter']}.html" for row in rows} < set(names)
    assert made.folder.stat().st_mode & 0o077 == 0


def test_the_list_and_the_letters_name_applicants_as_the_input_does(bank, loan_plans, tmp_path):
    names = ["Jones'", "'t Hooft", "Mary Ann ", "O\u2019Neill"]
    plans = replace(loan_plans[:4], applicants=loan_plans[:4].applicants.set_axis(names))
    made = LetterFolder(tmp_path / "letters", LetterWriter(bank.strategy_))
    with made.opened():
        made.add(plans)
    with (made.folder / "index.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["applicant"] for row in rows] == names
    for row in rows:
        text = (made.folder / f"{row['letter']}.txt").read_text(encoding="utf-8")
        assert f"Reference: {row['applicant'].strip()}\n" in text


def test_letters_of_another_run_are_not_overwritten_unless_asked_for(folder, loan_plans):
    first = folder()
    with first.opened():
        first.add(loan_plans[:4])
    with pytest.raises(InvalidInputError, match="holds letters already"):
        folder().require_free()
    (first.folder / "notes.txt").write_text("mine")
    fewer = folder()
    with fewer.opened():  # who gets no letter any more does not keep the old one
        fewer.add(loan_plans[:1])
    assert len(list(first.folder.iterdir())) == 4
    assert (first.folder / "notes.txt").read_text() == "mine"


def test_where_something_goes_wrong_no_letter_stays(folder, loan_plans):
    made = folder()
    with pytest.raises(KeyboardInterrupt), made.opened():  # noqa: PT012 - it is raised inside
        made.add(loan_plans[:2])
        raise KeyboardInterrupt
    assert list(made.folder.iterdir()) == []


def test_the_template_can_be_written_edited_and_used(written, full_plan, tmp_path):
    sentences, page = write_template(tmp_path / "mine")
    same = written(full_plan, template=tmp_path / "mine")
    assert same.html == written(full_plan).html
    with pytest.raises(InvalidInputError, match="exists"):
        write_template(tmp_path / "mine")
    sentences.write_text(sentences.read_text().replace("Our decision", "Unsere Entscheidung: {{ fields.phone }}"))
    page.write_text(page.read_text().replace("<body>", "<body><p>Example Bank</p>"))
    mine = written(full_plan, template=tmp_path / "mine", fields={"phone": "0800 11"})
    assert "Unsere Entscheidung: 0800 11" in mine.text
    assert "<p>Example Bank</p>" in mine.html
    page.unlink()  # the page of the package will do
    assert "<p>Example Bank</p>" not in written(full_plan, template=tmp_path / "mine", fields={"phone": "1"}).html


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("{% if %}", r"cannot be read: .* \(line 1\)"),
        ("{{ nobody }}", "cannot be filled in: 'nobody' is undefined"),
        ("{{ ''.__class__.__mro__ }}", "cannot be filled in"),
        ("{{ fields.clear() }}", "cannot be filled in"),
        ("{{ 1 / 0 }}", "cannot be filled in: division by zero"),
        ("[option 1]\nx", "must have its own"),
        ("[end]", "must have its own"),
        ("You get {{ 7*7 }} of it.", "the number 49 in"),
        ("{% for o in options %}{{ o.changes[0].target }}\n\n{% endfor %}9999", "letter was not written"),
    ],
)
def test_a_bad_template_is_refused_by_one_clear_error(written, full_plan, tmp_path, sentences, message):
    (tmp_path / "sentences.j2").write_text(sentences)
    with pytest.raises(DataError, match=message):
        written(full_plan, template=tmp_path)


def test_an_empty_folder_and_a_file_that_is_no_text_are_no_templates(tmp_path):
    with pytest.raises(InvalidInputError, match="has neither"):
        Template(tmp_path)
    (tmp_path / "sentences.j2").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read"):
        Template(tmp_path)


def test_what_is_filled_in_never_changes_the_structure(tmp_path):
    (tmp_path / "sentences.j2").write_text("{{ a }}\n\n- {{ b }}\n  and more\n| {{ c }}\n")
    blocks = Template(tmp_path).blocks({"a": "# no title", "b": "[end]\n- x", "c": "{{ a }}"})
    assert [(block.kind, block.text) for block in blocks] == [
        ("paragraph", "# no title"), ("entry", "[end]\\n- x and more"), ("line", "{{ a }}"),
    ]  # fmt: skip
    assert as_plain_text(blocks).startswith("# no title\n\n- [end]")
