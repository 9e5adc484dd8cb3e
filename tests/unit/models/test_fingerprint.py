"""Fingerprints of models: a refit is noticed, and nothing else is taken for one."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from copa.models.black_box import BlackBox, typical_rows
from copa.models.fingerprint import Fingerprint
from copa.models.linear import LinearModel, is_linear
from unit.planner import loans

TABLE = loans.people(300, 0)
LABELS = loans.outcomes(TABLE)
LATER = loans.people(300, 5)
LATER_LABELS = loans.outcomes(LATER)


def boosted(library, name, **settings):
    return getattr(pytest.importorskip(library), name)(n_estimators=10, **settings)


OWN = {
    "logistic": loans.pipeline,
    "ridge": lambda: loans.pipeline(RidgeClassifier()),
    "calibrated": lambda: loans.pipeline(CalibratedClassifierCV(LogisticRegression(), ensemble=False)),
    "search": lambda: GridSearchCV(loans.pipeline(), {"logisticregression__C": [0.1, 1.0]}, cv=3),
    "no pickle": lambda: make_pipeline(
        loans.encoder(), FunctionTransformer(lambda rows: 2.0 * rows), LogisticRegression()
    ),
    "tree": lambda: loans.pipeline(DecisionTreeClassifier(random_state=0)),
    "forest": lambda: loans.pipeline(RandomForestClassifier(20, random_state=0)),
    "boosting": lambda: loans.pipeline(GradientBoostingClassifier(n_estimators=20, random_state=0)),
    "histograms": lambda: loans.pipeline(HistGradientBoostingClassifier(max_iter=10, random_state=0)),
    "neighbours": lambda: loans.pipeline(KNeighborsClassifier()),
}
OTHERS = {
    "xgboost": lambda: loans.pipeline(boosted("xgboost", "XGBClassifier")),
    "lightgbm": lambda: loans.pipeline(boosted("lightgbm", "LGBMClassifier", verbose=-1)),
}


@pytest.fixture(params=[*OWN, *(pytest.param(name, marks=pytest.mark.extended) for name in OTHERS)])
def estimator(request):
    return (OWN | OTHERS)[request.param]().fit(TABLE, LABELS)


def taken(estimator):
    linear = is_linear(estimator)
    model = (LinearModel if linear else BlackBox).read(estimator, TABLE.columns)
    return Fingerprint.take(estimator, model, TABLE.head(1) if linear else typical_rows(TABLE))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_model_that_is_fitted_again_is_noticed(estimator):
    fingerprint = taken(estimator)
    assert fingerprint.is_current()
    estimator.fit(LATER, LATER_LABELS)
    assert not fingerprint.is_current()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_predictions_numbers_of_threads_and_the_same_fit_again_are_no_other_model(estimator):
    fingerprint = taken(estimator)
    estimator.predict(LATER)
    assert fingerprint.is_current()
    threads = {name: 2 for name in estimator.get_params() if name.endswith("n_jobs")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says where a number of threads has no effect
        estimator.set_params(**threads).predict(LATER)
        assert fingerprint.is_current()
        estimator.fit(TABLE, LABELS)
    assert fingerprint.is_current()


def test_a_copy_of_model_and_fingerprint_is_current_and_apart(model):
    fingerprint, copied = taken(model), pickle.loads(pickle.dumps(taken(model)))  # noqa: S301 - our own
    assert copied.is_current()
    copied.given.fit(LATER, LATER_LABELS)
    assert fingerprint.is_current()
    assert not copied.is_current()


@pytest.fixture
def model():
    return loans.fitted_pipeline()


def test_an_encoder_alone_and_parameters_in_place_are_noticed(model):
    fingerprint = taken(model)
    model[:-1].fit(LATER)
    assert not fingerprint.is_current()
    fingerprint = taken(model)
    model[-1].coef_[0, 2] += 1e-3
    assert not fingerprint.is_current()
    online = loans.pipeline(SGDClassifier(random_state=0)).fit(TABLE, LABELS)
    fingerprint = taken(online)
    online[-1].partial_fit(online[:-1].transform(LATER), LATER_LABELS)
    assert not fingerprint.is_current()


def test_other_labels_and_columns_are_noticed(model):
    fingerprint = taken(model)
    model.fit(TABLE, np.where(LABELS, "yes", "no"))
    assert not fingerprint.is_current()
    plain = LogisticRegression().fit(TABLE[["income", "debt"]], LABELS)
    fingerprint = Fingerprint.take(plain, LinearModel.read(plain, ["income", "debt"]), TABLE.head(1))
    plain.fit(TABLE[["income", "age"]], LABELS)
    assert not fingerprint.is_current()
