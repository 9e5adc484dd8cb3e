"""The same question has the same answer, to the last bit: in every repeat, on any threads, wherever arrays lie."""

import numpy as np
import pytest

import copa
from copa.theory.bounds.validity import CHUNK

D, J = 6, 5
MEAN = np.array([-0.4, 1.0, -0.5, 0.3, 0.0, 0.7])
REPEATS = 500


def covariance():
    factor = np.random.default_rng(44).standard_normal((D, 2 * D))
    return 0.01 * factor @ factor.T


COV = covariance()
BALL = (MEAN, 0.1 * COV, 0.05)


def declined(n):
    rows = np.random.default_rng(45).standard_normal((20 * n, D))
    rows[:, 0] = 1.0
    return rows[rows @ MEAN < 0.0][:n]


def accepted_plans(n):
    points = np.random.default_rng(46).standard_normal((n, J, D))
    points[..., 0] = 1.0
    missing = np.maximum(1.0 - points @ MEAN, 0.0)
    return points + (missing / (MEAN[1:] @ MEAN[1:]))[..., None] * np.append(0.0, MEAN[1:])


def shifted(array, words):
    """The same numbers in an array that begins so many times 8 bytes after the start of a line of the cache."""
    room = np.empty(array.size + 16)
    ahead = (-room.ctypes.data // 8) % 8 + words
    moved = room[ahead : ahead + array.size].reshape(array.shape)
    moved[...] = array
    assert moved.ctypes.data % 64 == 8 * words
    return moved


def plan_bytes(origins, *moments, n_jobs=1):
    plans = copa.build_plans(origins, *moments, n_options=J, random_state=1, n_jobs=n_jobs)
    return plans.points.tobytes(), plans.objective.tobytes()


def bound_bytes(points, *ball, n_jobs=1):
    bounds = copa.validity_bounds(points, *ball, n_jobs=n_jobs)
    found = (bounds.lower, bounds.upper, bounds.any_lower, bounds.option_lower, bounds.weights, bounds.gap)
    return tuple(part.tobytes() for part in found)


QUESTIONS = {
    "plans": (plan_bytes, (declined(1), MEAN, COV)),
    "bounds": (bound_bytes, (accepted_plans(1), *BALL[:2], np.array(BALL[2]))),
}


@pytest.fixture(params=QUESTIONS.values(), ids=list(QUESTIONS))
def question(request):
    return request.param


def test_five_hundred_repeats_are_the_same(question):
    ask, arguments = question
    rng = np.random.default_rng(0)
    disturbance = []  # so that the arrays of each repeat lie elsewhere
    answers = set()
    for _ in range(REPEATS):
        disturbance.append(np.empty(rng.integers(1, 2000)))
        answers.add(ask(*arguments))
    assert len(answers) == 1


def test_where_an_array_begins_in_memory_does_not_matter(question):
    ask, arguments = question
    answers = {ask(*(shifted(array, words) for array in arguments)) for words in range(8)}
    assert answers == {ask(*arguments)}


def test_bounds_depend_neither_on_threads_nor_on_order_nor_on_the_batch():
    points = accepted_plans(CHUNK + 40)  # more than one task
    together = copa.validity_bounds(points, *BALL, n_jobs=2)
    assert 0.0 < together.lower[0] < 1.0
    assert ((together.lower > 0.0) & (together.lower < 1.0)).mean() > 0.9
    assert bound_bytes(points, *BALL, n_jobs=1) == bound_bytes(points, *BALL, n_jobs=2)
    order = np.random.default_rng(47).permutation(len(points))
    shuffled = copa.validity_bounds(points[order], *BALL)
    np.testing.assert_array_equal(together.lower[order], shuffled.lower)
    np.testing.assert_array_equal(together.weights[order], shuffled.weights)
    for i in range(5):
        assert copa.validity_bounds(points[i], *BALL).lower == together.lower[i]
