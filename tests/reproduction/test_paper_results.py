from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from copa import DataError
from reproduction.command import cache_folder
from reproduction.session import Store
from reproduction.settings import Settings


def test_a_finished_cell_is_not_computed_again(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return pd.DataFrame({"x": [0.1 + 0.2, np.nan], "name": ["a", "NA"]})

    store = Store(tmp_path, Settings.quick())
    first, second = store.cell("one", compute), store.cell("one", compute)
    assert len(calls) == 1
    pd.testing.assert_frame_equal(first, second)
    assert first["x"].iloc[0] == pytest.approx(0.1 + 0.2, rel=1e-15)
    assert first["name"].iloc[1] == "NA"


def test_other_settings_are_another_cell(tmp_path):
    table = pd.DataFrame({"x": [1]})
    Store(tmp_path, Settings.quick()).cell("one", lambda: table)
    other = Store(tmp_path, replace(Settings.quick(), seed=1)).cell("one", lambda: table + 1)
    assert other["x"].tolist() == [2]


def test_a_cell_that_fails_leaves_nothing_behind(session, lines):
    def fail():
        raise DataError("no such file")

    assert session.cell("row", "key", fail) is None
    assert session.skipped == {"row": "no such file"}
    assert lines == ["left out: row: no such file"]
    assert session.cell("row", "key", lambda: pd.DataFrame({"x": [1]}))["x"].tolist() == [1]


def test_the_cache_lies_where_the_platform_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "copa"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "copa"
