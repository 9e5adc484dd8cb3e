"""How long `fit` takes by the rule, beside what version 0.3 did, and for a model that is refitted one by one.

`python -m benchmarks.guarantees.fit_time` prints processor times. What version 0.3 did is done with the same functions
in the same run: 1000 refits on halves of the encoded rows, and 50 bootstrap samples of 20 refits each for the radius.
"""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import copa
from benchmarks.guarantees.bundled import pipeline
from benchmarks.guarantees.former_rule import resampling_radius
from copa.models import LinearModel

REPEATS = 3


class SlowRegression(LogisticRegression):
    """A linear model that copa does not know, and that takes 0.08 s of processor time to fit."""

    seconds = 0.08
    fits = 0

    def fit(self, X, y, sample_weight=None):
        """Fit, and stay busy until the time is up."""
        SlowRegression.fits += 1
        started = time.process_time()
        super().fit(X, y, sample_weight)
        while time.process_time() - started < self.seconds:
            pass
        return self


def least(work):
    """Least processor time of a few calls."""
    seconds = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def as_version_0_3(model, X, y):
    known = LinearModel.read(model, X.columns)
    encoded = known.encode(X)[:, 1:]
    moments = copa.WeightMoments.from_retraining(known.classifier, encoded, y, n_models=1000, random_state=0)
    resampling_radius(known.classifier, encoded, y, moments, n_samples=50)


def main():
    data = copa.datasets.load_german()
    X, y = data.features, np.asarray(data.favourable)
    model = pipeline(data, 0.1).fit(X, y)

    def fit():
        copa.RecoursePlanner(model, schema=data.schema, progress=False, n_jobs=1).fit(X, y)

    with threadpool_limits(1):
        fit()
        now, then = least(fit), least(lambda: as_version_0_3(model, X, y))
        print(
            f"logistic regression on German credit: {now:.2f} s, refits of version 0.3 {then:.2f} s, "
            f"ratio {now / then:.2f}"
        )
        slow = pipeline(data, 0.1)
        slow.set_params(logisticregression=SlowRegression(C=0.1, max_iter=1000)).fit(X.head(480), y[:480])
        SlowRegression.fits, started = 0, time.process_time()
        planner = copa.RecoursePlanner(slow, schema=data.schema, progress=False, n_jobs=1).fit(X.head(480), y[:480])
        seconds = time.process_time() - started
        print(
            f"480 rows, refitted one by one at 0.08 s: {seconds:.1f} s, {SlowRegression.fits} fits, "
            f"{planner.radius_source_}"
        )


if __name__ == "__main__":
    main()
