import pandas as pd
from threadpoolctl import threadpool_info, threadpool_limits

from copa import Feature, FeatureSchema
from copa._core.threads import one_openmp_thread
from copa.planner.search.plausibility import Plausibility


def openmp_threads():
    """Of scikit-learn's own library; other packages of the tests bring further ones."""
    found = [library for library in threadpool_info() if library["user_api"] == "openmp"]
    own = [library for library in found if "scikit_learn" in library["filepath"]]
    return {library["num_threads"] for library in own or found}


def test_neighbours_are_looked_for_without_threads_beside_the_own(monkeypatch):
    table = pd.DataFrame({"rooms": [1, 2, 3, 4, 5] * 20})
    known = Plausibility.fit(FeatureSchema((Feature("rooms", "integer"),)), table)
    expected, neighbours, seen = known.scores(table.head(3)).tolist(), known._neighbours, []
    ask = neighbours.kneighbors
    monkeypatch.setattr(neighbours, "kneighbors", lambda rows: (seen.append(openmp_threads()), ask(rows))[1])
    with threadpool_limits(2, user_api="openmp"):
        assert known.scores(table.head(3)).tolist() == expected
        assert openmp_threads() == {2}
    assert seen == [{1}]


def test_a_limit_inside_another_ends_with_its_block():
    with one_openmp_thread():
        with one_openmp_thread():
            assert openmp_threads() <= {1}
        assert openmp_threads() <= {1}
