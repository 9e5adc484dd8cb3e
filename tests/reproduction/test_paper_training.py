import numpy as np
from sklearn.linear_model import LogisticRegression

from reproduction.methods.authors_program import DECAY, PATIENCE, train_from, train_stopped


def test_enough_steps_lead_to_the_penalised_fit():
    rng = np.random.default_rng(0)
    rows = np.hstack([np.ones((80, 1)), rng.standard_normal((80, 2))])
    good = (rows @ [0.2, 1.0, -0.5] + rng.logistic(size=80) > 0.0).astype(float)
    theta = train_stopped(rows, good, n_models=2, fraction=1.0, steps=5000, rng=rng)
    model = LogisticRegression(C=1.0 / DECAY, fit_intercept=False, tol=1e-10, max_iter=1000).fit(rows, good)
    # It ends when five steps in a row gain less than 1e-5.
    np.testing.assert_allclose(theta, np.tile(model.coef_, (2, 1)), atol=2e-2)


def test_few_steps_leave_random_weights_where_the_data_say_nothing():
    rng = np.random.default_rng(0)
    rows = np.hstack([np.ones((50, 1)), rng.standard_normal((50, 1)), np.zeros((50, 7))])
    good = (rows[:, 1] > 0.0).astype(float)
    theta = train_stopped(rows, good, n_models=2000, fraction=0.5, steps=20, rng=rng)
    np.testing.assert_allclose(theta[:, 2:].var(axis=0), 1.0 / (3.0 * 8.0), rtol=0.1)  # uniform on +-1/sqrt(8)


def test_training_ends_after_five_steps_without_improvement():
    rows = np.hstack([np.ones((40, 1)), np.linspace(-1.0, 1.0, 40)[:, None]])
    good = (rows[:, 1] > 0.0).astype(float)
    inside = np.ones((2, 40))
    inside[1] = 0.0  # a model without rows has nothing to gain
    _, steps = train_from(rows, good, inside, np.zeros((2, 2)), 100)
    assert steps.tolist() == [100, PATIENCE]
