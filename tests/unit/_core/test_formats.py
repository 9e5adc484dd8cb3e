"""One format for all files: what is written is read again, and what is wrong with a file is said in one way."""

import json
import warnings

import numpy as np
import pytest

import copa
from copa._core.formats import Archive, Format, digest_of
from copa.exceptions import DataError
from forged_files import members, zipped

CAKES = Format("copa-cake", what="a cake", content="cake.json", versions=(2, 3), arrays="layer", members="candle-[0-9]")
ARCHIVE = Archive({"slices": (1, 2)}, {"layer": np.arange(3.0)}, {"candle-1": b"wax"})


def changed(**entries):
    """The bytes of a file with other entries in its JSON, and the digest of before."""
    contents = members(CAKES.pack(ARCHIVE))
    contents["cake.json"] = json.dumps(json.loads(contents["cake.json"]) | entries).encode()
    return zipped(contents)


def test_what_is_written_is_read_again_and_says_who_wrote_it():
    raw = CAKES.pack(ARCHIVE)
    assert raw == CAKES.pack(ARCHIVE)
    found = CAKES.read(raw, "here")
    assert found.content["slices"] == [1, 2]
    assert (found.content["format"], found.content["version"]) == ("copa-cake", 3)
    assert found.content["made_with"] == {"copa": copa.__version__}
    assert found.content["digest"] == digest_of(found.content, ARCHIVE.arrays)
    assert found.arrays["layer"].tolist() == [0.0, 1.0, 2.0]
    assert found.members == {"candle-1": b"wax"}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (changed(format="copa-pie"), "^here: it is not a cake: its format is 'copa-pie', not 'copa-cake'$"),
        (changed(version=4), "^here: it has version 4 of the format copa-cake, and this copa reads 2 and 3; update"),
        (changed(version=1), "^here: it has version 1 of the format copa-cake, .*; save it again$"),
        (changed(slices=[1]), "^here: its content was changed after it was saved, or is damaged"),
        (zipped({"cake.json": b"[]"}), "^here: it is not a cake: its format is None"),
        (zipped({"cake.json": b"{"}), "^here is not a cake, or is damaged: JSONDecodeError: "),
        (zipped({"pie.json": b"{}"}), "^here is not a cake, or is damaged: it holds 'pie.json', which no file of this"),
        (b"no zip", "^here is not a cake, or is damaged: BadZipFile: "),
    ],
)
def test_what_is_wrong_with_a_file_is_said(raw, words):
    with pytest.raises(DataError, match=words):
        CAKES.read(raw, "here")


def test_an_older_version_is_written_where_the_content_says_so():
    assert CAKES.read(CAKES.pack(Archive({"version": 2}, ARCHIVE.arrays)), "here").content["version"] == 2


def test_a_member_of_another_digest_is_refused():
    with (
        pytest.raises(DataError, match=r"^here: its member candle-1 was changed after it was saved: the SHA-256"),
        CAKES.opened(CAKES.pack(ARCHIVE), "here") as file,
    ):
        file.reader.read("candle-1", "0" * 64)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with (
        pytest.raises(DataError, match=r"^the file .*none cannot be read: No such file or directory$"),
        CAKES.opened(tmp_path / "none", tmp_path / "none"),
    ):
        pytest.fail("opened")


def test_a_warning_that_is_an_error_here_is_not_called_damage():
    with pytest.raises(DeprecationWarning, match="old"), CAKES.opened(CAKES.pack(ARCHIVE), "here"):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
