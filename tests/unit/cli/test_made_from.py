"""What a run is made from, by which one that goes on knows its own parts."""

import hashlib
import tracemalloc
from types import SimpleNamespace

from copa import RecoursePlanner
from copa.cli.plan import made_from

SIZE = 64 * 2**20


def test_a_large_table_is_hashed_a_piece_at_a_time(tmp_path):
    planner = RecoursePlanner(None)
    planner.strategy_ = SimpleNamespace(model=SimpleNamespace(favourable=True))
    path, opened = (
        tmp_path / "people.csv",
        SimpleNamespace(sha256="", planner=planner),
    )
    with path.open("wb") as file:
        file.truncate(SIZE)
    expected = hashlib.sha256(bytes(SIZE)).hexdigest()
    tracemalloc.start()
    try:
        assert made_from(opened, path)["input"] == expected
        assert tracemalloc.get_traced_memory()[1] < SIZE / 8
    finally:
        tracemalloc.stop()
