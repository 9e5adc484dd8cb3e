"""Whatever the data, the penalty and the promises: what `keep` does not name as broken, `predict` accepts."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from copa.promises import keep

NAMES = ["a", "b", "c"]


@st.composite
def tasks(draw):
    """A few rows of small whole numbers with two labels, promised rows among such, a penalty, an intercept or none."""
    cells = st.integers(-3, 3)
    n, m = draw(st.integers(8, 40)), draw(st.integers(1, 8))
    rows = draw(st.lists(st.tuples(cells, cells, cells), min_size=n, max_size=n))
    promised = draw(st.lists(st.tuples(cells, cells, cells), min_size=m, max_size=m))
    labels = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    labels[:4] = [True, True, False, False]
    penalty, intercept = 10.0 ** draw(st.integers(-2, 3)), draw(st.booleans())
    model = LogisticRegression(C=penalty, fit_intercept=intercept, max_iter=5000)
    X, P = (pd.DataFrame(list(part), columns=NAMES, dtype=float) for part in (rows, promised))
    return model, X, labels, P, draw(st.booleans()), draw(st.integers(0, 2))


@given(tasks())
@settings(max_examples=60)
def test_promised_rows_are_accepted_unless_they_are_named(task):
    model, X, y, promised, favourable, max_broken = task
    kept = keep(model, X, y, promised, favourable=favourable, max_broken=max_broken, held_out=(X, y))
    accepted = kept.model.predict(promised) == favourable
    broken = set(kept.broken.index)
    assert broken == {str(k) for k in np.flatnonzero(~accepted)}
    assert kept.n_broken_after == len(broken)
    assert kept.n_broken_after <= max_broken or all("can keep" in reason for reason in kept.broken)
    if model.fit_intercept:
        assert kept.n_broken_after <= max_broken
    multipliers = kept.multipliers.to_numpy()
    assert (multipliers >= 0.0).all()
    assert kept.price >= -1e-7
    if kept.solution is not None:
        scale = 1.0 + abs(kept.solution.objective)
        assert kept.solution.is_optimal(1e-6)
        assert kept.solution.duality_gap <= 1e-7 * scale  # complementary: what has a price is at its margin
