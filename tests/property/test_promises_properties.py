import numpy as np
import pandas as pd
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copa.promises import gate
from copa.promises.broken_share import effective_size, share_interval
from copa.promises.promised_rows import join_facts


class Cut:
    """A model that accepts from zero on."""

    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["x"])

    def predict(self, rows):
        return rows["x"].to_numpy() >= 0.0


people = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=1, max_size=40)


@given(people)
@example([(0, -1), (0, 1), (1, -1), (1, 1)])  # everybody has the same share
def test_intervals_hold_the_share_and_sizes_are_between_one_and_all(promises):
    owner = np.array([who for who, _ in promises])
    flags = np.array([x < 0 for _, x in promises])
    low, high = share_interval(flags, owner)
    assert 0.0 <= low <= flags.mean() <= high <= 1.0
    assert 1.0 <= effective_size(flags, owner) <= len(flags)


@settings(max_examples=30)
@given(people, st.randoms())
def test_the_order_of_promises_does_not_matter_and_parts_add_up(promises, random):
    shuffled = list(promises)
    random.shuffle(shuffled)
    found = []
    for some in (promises, shuffled):
        facts = pd.DataFrame({"applicant": [str(who) for who, _ in some], "model_version": [f"v{x}" for _, x in some]})
        table = join_facts(
            facts.set_axis([f"p{k}" for k in range(len(some))]), pd.DataFrame({"x": [x for _, x in some]})
        )
        found.append(gate(Cut(), table, groups=["x"]))
    first, second = found
    assert (first.n_broken, first.interval, first.n_applicants) == (
        second.n_broken,
        second.interval,
        second.n_applicants,
    )
    assert first.parts == second.parts
    assert sum(part.n_broken for part in first.parts["x"]) == first.n_broken == sum(x < 0 for _, x in promises)
