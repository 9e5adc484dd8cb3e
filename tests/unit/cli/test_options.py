"""Outputs that would overwrite each other, or what is read, are refused before any work."""

import os

import pytest

from copa.cli.messages import MisuseError
from copa.cli.options import require_outputs


def outputs(plans, proofs=None):
    return {"--output": (plans, (".json",)), "--certificates": (proofs, (".json",))}


def test_different_files_are_fine(tmp_path):
    require_outputs(outputs(tmp_path / "p.json", tmp_path / "q.json"), tmp_path / "input.csv", None)
    require_outputs(outputs(tmp_path / "p.json"))
    require_outputs({"--output": (None, ())}, tmp_path / "input.csv")


def test_one_file_for_two_outputs_is_misuse_whether_it_exists_or_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    path = tmp_path / "p.json"
    for other in (path, path.relative_to(tmp_path), tmp_path / "folder" / ".." / "p.json"):
        with pytest.raises(MisuseError, match="--output and --certificates are the same file"):
            require_outputs(outputs(path, other))


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_to_one_file_are_the_same_file(tmp_path, link):
    path, other = tmp_path / "p.json", tmp_path / "q.json"
    path.write_text("old")
    link(path, other)
    with pytest.raises(MisuseError, match="are the same file"):
        require_outputs(outputs(path, other))
    with pytest.raises(MisuseError, match="both read and written"):
        require_outputs(outputs(other), path)


def test_a_link_to_a_file_that_is_not_there_yet_is_the_same_file(tmp_path):
    (tmp_path / "q.json").symlink_to(tmp_path / "p.json")
    with pytest.raises(MisuseError, match="are the same file"):
        require_outputs(outputs(tmp_path / "p.json", tmp_path / "q.json"))
