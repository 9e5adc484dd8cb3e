"""A run's folder, and what killed runs left in it."""

import json

import pytest

from copa.cli.messages import MisuseError
from copa.cli.runs import Shards

CODE = "0123abcd"


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def left_by_a_killed_run(folder, outputs):
    """A folder with half a block, a note of the run, and half an output beside it."""
    run = folder / "p.csv.partial"
    run.mkdir()
    (run / f".block-000003.copa.{CODE}.part").write_bytes(b"half")
    (run / f".run.json.{CODE}.part").write_bytes(b"half")
    (run / "lock.json").write_text("{}")
    (run / "run.json").write_text(json.dumps({"outputs": [str(path) for path in outputs]}))
    for path in outputs:
        path.with_name(f".{path.name}.{CODE}.part").write_bytes(b"half")
    return run


def test_a_folder_is_there_while_a_run_works_and_gone_if_it_finished_nothing(tmp_path):
    shards = Shards(tmp_path / "p.csv", {"input": "x"}, [tmp_path / "p.csv"])
    with shards.begun(resume=False):
        assert names(tmp_path) == ["p.csv.partial", "p.csv.partial/lock.json", "p.csv.partial/run.json"]
        assert (tmp_path / "p.csv.partial").stat().st_mode & 0o077 == 0  # for the user's eyes only
    assert names(tmp_path) == []
    assert shards.finished == frozenset()


def test_halves_of_a_killed_run_are_removed_in_the_folder_and_beside_its_outputs(tmp_path):
    (tmp_path / "proofs").mkdir()
    left_by_a_killed_run(tmp_path, [tmp_path / "p.csv", tmp_path / "proofs" / "p.copa"])
    with Shards(tmp_path / "p.csv", {"input": "x"}).begun(resume=True):
        pass
    assert names(tmp_path) == ["proofs"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"outputs": 3}', '{"outputs": [3]}'])
def test_a_note_that_is_damaged_keeps_nobody_from_a_new_run(tmp_path, content):
    run = left_by_a_killed_run(tmp_path, [])
    (run / "run.json").write_text(content)
    with Shards(tmp_path / "p.csv", {"input": "x"}).begun(resume=False):
        assert json.loads((run / "run.json").read_text())["input"] == "x"


def test_files_of_others_in_the_folder_stay(tmp_path):
    run = left_by_a_killed_run(tmp_path, [])
    (run / ".notes.0123abcd.part").write_text("mine")
    with Shards(tmp_path / "p.csv", {"input": "x"}).begun(resume=False):
        pass
    assert names(run) == [".notes.0123abcd.part"]


def test_finished_blocks_of_a_run_with_other_outputs_are_gone_on_from(tmp_path):
    with Shards(tmp_path / "p.csv", {"input": "x"}, [tmp_path / "p.csv"]).begun(resume=False):
        (tmp_path / "p.csv.partial" / "block-000000.copa").write_bytes(b"done")
    again = Shards(tmp_path / "p.csv", {"input": "x"}, [tmp_path / "p.csv", tmp_path / "p.copa"])
    with pytest.raises(MisuseError, match="go on from there with --resume"), again.begun(resume=False):
        pytest.fail("began anew")
    with again.begun(resume=True):
        assert again.finished == {0}
    other = Shards(tmp_path / "p.csv", {"input": "y"})
    with pytest.raises(MisuseError, match="is of another run: input differ"), other.begun(resume=True):
        pytest.fail("mixed two runs")
    assert again.finished == {0}
