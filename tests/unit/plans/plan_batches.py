"""Batches made by hand: menus for German credit under a small linear model, and a table of every dtype."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd

import copa
from copa.data.schema import Feature, FeatureSchema
from copa.plans import PlanBasis, PlanBatch, PlanRequest
from copa.theory.sets.ambiguity import MomentBall

MEAN = np.array([1.5, -0.7, -0.5, -0.2, 0.4, 0.5])
COV = np.diag([0.04, 0.02, 0.02, 0.01, 0.02, 0.03])
RADIUS = 0.05
SOURCE = "calibrated by resampling: 0.05 standard deviations of retraining"

# What each option changes, by applicant; the labels of the applicants are their rows in the data times ten.
MENUS = {
    1: [{"duration": 18}, {"employment": "A74", "amount": 2000}, {"duration": 24, "savings": "A63"}],
    18: [{"duration": 22, "amount": 10500}, {"amount": 12000, "duration": 12, "telephone": "A191"}],
    29: [{"duration": 18, "amount": 3000}],
}
STATUS = {
    1: ("ok", ""),
    4: ("already_valid", "accepted today as it is"),
    18: ("fragile", "a guarantee of 0.6 for each option is out of reach"),
    10: ("infeasible", "today's model accepts nothing that is allowed. Blocking constraints: age"),
    11: ("error", "row 110: column 'age' must not be missing"),
    29: ("ok", "only 1 different options are in reach"),
    14: ("time_limit", "the time limit ended before this applicant's turn"),
}


def encode(table):
    """Rows as the small model sees them, the intercept first."""
    employment = table["employment"].map({f"A7{k}": k - 3 for k in range(1, 6)})
    columns = [
        np.ones(len(table)),
        (table["duration"] - 21) / 12,
        (table["amount"] - 3271) / 2823,
        table["installment_rate"] - 3,
        employment,
        table["savings"].isin(["A63", "A64"]),
    ]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def terms(schema, **changes):
    """Request and basis, by name."""
    asked = {"guarantee": 0.6, "guarantee_for": "each", "n_options": 3}
    facts = {"favourable": "good", "threshold": 0.5, "radius_source": SOURCE, "schema": schema}
    of_basis = {name: changes.pop(name) for name in [*changes] if name in PlanBasis.__dataclass_fields__}
    return {"request": PlanRequest(**(asked | changes)), "basis": PlanBasis(**(facts | of_basis))}


def assembled(applicants, options, owner, points, ball, **parts):
    """A batch with the bounds of its options, and the other parts as given or as nothing in particular."""
    n, m = len(applicants), len(options)
    owner = np.asarray(owner, dtype=np.intp)
    numbers = {
        "lower": np.zeros(n),
        "upper": np.ones(n),
        "any_lower": np.zeros(n),
        "gap": np.ones(n),
    }
    each, weights = np.zeros(m), np.zeros(m)
    for i in np.unique(owner):
        own = owner == i
        bounds = copa.validity_bounds(points[own], ambiguity=ball)
        numbers["lower"][i], numbers["upper"][i] = bounds.lower, bounds.upper
        numbers["any_lower"][i], numbers["gap"][i] = bounds.any_lower, bounds.gap
        each[own], weights[own] = bounds.option_lower, bounds.weights
    given = {
        "status": np.where(np.bincount(owner, minlength=n) > 0, "ok", "infeasible"),
        "message": np.full(n, ""),
        "effort": 0.5 + 0.25 * np.arange(m),
        "accepted": points @ ball.mean >= 0.0,
        "highest_level": np.full(n, np.nan),
        "seconds": 0.001 * np.arange(n),
    }
    return PlanBatch(
        applicants=applicants,
        options=options,
        owner=owner,
        points=points,
        ambiguity=ball,
        option_lower=each,
        option_weights=weights,
        **(numbers | given | parts),
    )


def german_batch(drift=None, read=MomentBall, **changes):
    """Seven applicants, one for each status and one more, with three, two and one options; `read` makes the set."""
    data = copa.datasets.load_german()
    applicants = data.features.iloc[list(STATUS)]
    rows, owner = [], []
    for i, row in enumerate(STATUS):
        for change in MENUS.get(row, []):
            rows.append(applicants.iloc[[i]].assign(**change))
            owner.append(i)
    options = pd.concat(rows, ignore_index=True).astype(applicants.dtypes)
    applicants = applicants.set_axis([10 * row for row in STATUS])
    ball = read(MEAN, COV, RADIUS, drift)
    status, message = zip(*STATUS.values(), strict=True)
    return assembled(
        applicants,
        options,
        owner,
        encode(options),
        ball,
        status=np.array(status),
        message=np.array(message),
        highest_level=np.where(np.array(status) == "fragile", 0.55549, np.nan),
        **terms(data.schema, **changes),
    )


def every_dtype():
    """A table of five rows with a column of every dtype that can be saved."""
    rng = np.random.default_rng(5)
    times = pd.DatetimeIndex(["2020-01-01", None, "2021-06-30", "1999-12-31", "2024-02-29"])
    texts = ["a", None, "ü\0", "", "<b>&amp;"]
    return pd.DataFrame(
        {
            "int": np.array([1, -2, 3, 2**62, 0]),
            "int8": np.array([1, 2, 3, -4, 5], dtype=np.int8),
            "float": np.array([0.1, np.nan, -0.0, np.inf, 1e-310]),
            "float32": rng.standard_normal(5).astype(np.float32),
            "bool": [True, False, True, True, False],
            "object": pd.Series(texts, dtype=object),
            "mixed": pd.Series([1, 1.0, True, np.float32(0.1), "1"], dtype=object),
            "strange": pd.Series(
                [Decimal("1.10"), dt.date(2020, 1, 2), pd.NA, (1, "x"), pd.Timestamp("2020-01-01")],
                dtype=object,
            ),
            "missing": pd.Series([None, np.nan, pd.NaT, -np.inf, pd.Timedelta("1D")], dtype=object),
            "string": pd.array(texts, dtype="string"),
            "inferred": ["x", "y", "x", "z", "z"],
            "category": pd.Categorical(
                ["low", None, "high", "low", "mid"], ["low", "mid", "high", "unused"], ordered=True
            ),
            "numbers": pd.Categorical([3, 1, 3, None, 1]),
            "Int64": pd.array([1, None, 2**62, 0, -1], dtype="Int64"),
            "Float64": pd.array([0.5, None, 1.0, 0.0, -1.0], dtype="Float64"),
            "boolean": pd.array([True, None, False, True, None], dtype="boolean"),
            "time": times,
            "seconds": times.astype("datetime64[s]"),
            "delta": pd.to_timedelta(["1D", None, "2h", "0s", "-1s"]),
        }
    )


def wild_batch(index=None, drift=None):
    """Five applicants described by every dtype; the second and the fourth have two options, the last has three."""
    applicants = every_dtype()
    if index is not None:
        applicants.index = index
    owner = np.array([1, 1, 3, 3, 4, 4, 4])
    options = applicants.iloc[owner].reset_index(drop=True)
    options["int"] = options["int"] + np.array([1, 0, 0, -5, 1, 2, 3])
    options["float"] = [1.5, np.nan, 2.5, np.inf, 1.0, 2.0, 3.0]
    options["Int64"] = pd.array([7, None, 1, 0, -1, 5, None], dtype="Int64")
    schema = FeatureSchema(
        (
            Feature("int", "integer", spread=2.0, upper=10),
            Feature("float", "numeric", spread=0.5),
            Feature("category", "ordinal", values=("low", "mid", "high"), transitions={"low": ("mid",)}),
            Feature("numbers", "categorical", values=(1, 3), transitions={1: (3,)}, immutable=True),
        ),
        rules=("int + 2 * float <= 100",),
        max_changes=3,
    )
    rng = np.random.default_rng(8)
    points = np.column_stack([np.ones(7), 1.0 + 0.3 * rng.standard_normal((7, 3))])
    ball = MomentBall(np.array([0.3, 1.0, 0.5, 0.7]), 0.05 * np.eye(4), 0.1, drift)
    return assembled(applicants, options, owner, points, ball, **terms(schema, favourable=np.int64(1), threshold=None))
