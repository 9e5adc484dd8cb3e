import io
import json
import zipfile

import pytest

import copa
from copa.plans import PlanBatch
from copa.plans.storage import PartsWriter, in_parts, read_batches
from forged_files import members, rewritten
from unit.plans.plan_batches import german_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def write_parts(path, batches):
    with zipfile.ZipFile(path, "w") as archive:
        writer = PartsWriter(archive)
        for batch in batches:
            writer.add(batch)
        writer.close()
    return path


@pytest.fixture
def path(batch, tmp_path):
    return write_parts(tmp_path / "parts.zip", [batch[:3], batch[3:]])


def changed(path, name, change):
    """A copy of a zip file in which one member went through a function."""
    contents = members(path)
    return rewritten(path, contents | {name: change(contents[name])})


def test_parts_are_read_one_by_one_and_as_a_whole(batch, path):
    assert [len(part) for part in read_batches(PlanBatch, path)] == [3, 4]
    assert PlanBatch.load(path).to_json() == batch.to_json()


def test_only_a_file_of_parts_is_one(batch, path, tmp_path):
    batch.save(tmp_path / "plans.copa")
    (tmp_path / "text").write_text("text")
    files = (path, tmp_path / "plans.copa", tmp_path / "text", tmp_path / "none")
    assert [in_parts(file) for file in files] == [True, False, False, False]


def test_the_same_parts_give_the_same_bytes(batch, path, tmp_path):
    assert write_parts(tmp_path / "again.zip", [batch[:3], batch[3:]]).read_bytes() == path.read_bytes()


def test_a_changed_part_is_noticed(path):
    def weaken(raw):
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return archive.read("plans.json")

    with pytest.raises(copa.DataError, match=r"part-000001\.copa was changed after it was saved"):
        list(read_batches(PlanBatch, changed(path, "part-000001.copa", weaken)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parts": []}, "its content was changed after it was saved"),
        ({"version": 2}, "it has version 2 of the format copa-plan-parts, and this copa reads 1; update copa-recourse"),
        ({"format": "cake"}, "its format is 'cake'"),
    ],
)
def test_a_changed_list_of_parts_is_noticed(path, change, words):
    with pytest.raises(copa.DataError, match=words):
        PlanBatch.load(changed(path, "parts.json", lambda raw: json.dumps(json.loads(raw) | change)))


def test_a_damaged_list_of_parts_is_a_data_error(path):
    with pytest.raises(copa.DataError, match="damaged"):
        PlanBatch.load(changed(path, "parts.json", lambda raw: raw[:9]))
