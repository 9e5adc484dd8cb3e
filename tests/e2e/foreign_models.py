"""Models with parts that nobody vouches for."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from unit.planner import loans


class Spy(BaseEstimator, TransformerMixin):
    """A transformer that nobody vouches for."""

    def fit(self, X, y=None):  # noqa: ARG002 - scikit-learn's signature
        self.strategy_ = True
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)


def numbers_only(transformer):
    table = loans.people(300, 0)
    return make_pipeline(transformer, LogisticRegression()).fit(table[loans.NUMBERS], loans.outcomes(table))
