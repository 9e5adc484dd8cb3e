"""The paper's synthetic data: two Gaussian clouds in the plane and a classifier between them (Section 5.1)."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from copa import FeatureSchema, WeightMoments
from reproduction.case import Case, prepare
from reproduction.data import ShiftedData, Table
from reproduction.encoding import Encoding

if TYPE_CHECKING:
    from reproduction.settings import Settings

N_SAMPLES = 1000
CENTRE, VARIANCE = 2.0, 0.5  # of the clouds: at (-2, -2) and (2, 2), covariance 0.5 I
NOMINAL_VARIANCE = 0.5  # of the parameters


def synthetic_case(settings: "Settings") -> Case:
    """Return the synthetic data as a case whose nominal moments are the classifier's parameters and 0.5 I.

    Features stay in their own units: the shift of the paper's figures, by up to 1 in a parameter, is stated in them.
    """
    import pandas as pd

    rng = np.random.default_rng(settings.seed)
    good = np.arange(N_SAMPLES) % 2 == 1
    centres = np.where(good, CENTRE, -CENTRE)
    points = centres[:, None] + np.sqrt(VARIANCE) * rng.standard_normal((N_SAMPLES, 2))
    features = pd.DataFrame(points.round(4), columns=["first", "second"])
    table = Table(features, good)
    data = ShiftedData("synthetic", "paper", table, table, FeatureSchema.infer(features))
    own_units = Encoding(("first", "second"), np.zeros(2), np.ones(2), ())
    case = prepare(data, replace(settings, n_models=10), own_units)
    dimension = case.encoding.dimension
    return replace(case, moments=WeightMoments(case.theta, NOMINAL_VARIANCE * np.eye(dimension)), settings=settings)
