import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from copa.exceptions import InvalidInputError
from copa.promises import gate, keep
from copa.promises.broken_share import Limit

PAST = pd.DataFrame({"income": [*range(20, 60)]})
PROMISED = pd.DataFrame({"income": [36, 38, *range(45, 53)]})  # ten, of which a cut at 40 breaks two


@pytest.mark.parametrize(
    ("given", "n_allowed"),
    [(0, 0), (1, 1), (2, 2), ("1", 1), ("2", 2), (0.1, 1), ("0.1", 1), ("10%", 1), (" 19.9 % ", 1), ("20%", 2),
     (0.2, 2), (0.0, 0), ("0.0", 0), (0.999, 9), ("100%", 10)],
)  # fmt: skip
def test_a_limit_means_the_same_to_gate_and_keep(given, n_allowed):
    assert Limit.read(given).of(10) == n_allowed
    candidate = LogisticRegression().fit(PAST, PAST["income"] >= 40)
    report = gate(candidate, PROMISED, max_broken=given)
    assert (report.n_broken, report.n_allowed, report.passed) == (2, n_allowed, n_allowed >= 2)
    kept = keep(
        candidate, PAST, PAST["income"] >= 40, PROMISED, max_broken=given, held_out=(PAST, PAST["income"] >= 40)
    )
    assert (kept.method == "unchanged") == report.passed


@pytest.mark.parametrize(
    "given",
    [
        1.0,
        "1.0",
        1.5,
        2.0,
        -1,
        -0.1,
        "-1",
        "101%",
        "-1%",
        "few",
        "",
        "%",
        True,
        None,
        "nan",
        float("nan"),
        "1e3",
        "1_0",
    ],
)
def test_what_is_neither_a_count_nor_a_share_is_refused_with_what_is_allowed(given):
    words = (
        r"max_broken must be a whole number of promises such as 3, or a share of them below 1 such as 0.02 or '2%', got"
    )
    for read in (
        lambda: Limit.read(given),
        lambda: gate(LogisticRegression().fit(PAST, PAST["income"] >= 40), PROMISED, max_broken=given),
        lambda: keep(LogisticRegression(), PAST, PAST["income"] >= 40, PROMISED, max_broken=given),
    ):
        with pytest.raises(InvalidInputError, match=words):
            read()


def test_shares_of_many_promises_lose_none_by_rounding():
    assert all(Limit.read(f"{percent}%").of(100 * n) == percent * n for percent in range(101) for n in (1, 7, 10_007))
