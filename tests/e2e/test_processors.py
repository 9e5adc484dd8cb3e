"""The same bits with the vectors of this processor, with those of an older one, and with fused products at hand.

The kernels do arithmetic as it is written (`CMakeLists.txt`), so results are equal to the last bit, not to a tolerance.
What remains outside of them is the same in all processes: the C library's exp, log and trigonometric functions, and
NumPy's BLAS. On another machine these may differ in the last place.
"""

import os
import platform
import subprocess
import sys

import pytest

from kernels.build import build_kernels, copy_sources

CODE = """
import hashlib
import numpy as np
import copa
rng = np.random.default_rng(0)
d = 9
mean = rng.standard_normal(d)
factor = rng.standard_normal((d, 2 * d))
cov = 0.01 * factor @ factor.T
origins = rng.standard_normal((40, d))
origins[:, 0] = 1.0
plans = copa.build_plans(origins[origins @ mean < 0.0], mean, cov, n_options=4, random_state=0)
bounds = copa.validity_bounds(plans.points, mean, cov, 0.02)
moved = copa.mahalanobis_correction(plans.points, mean, cov, radius=0.02, budget=0.3)
for array in (plans.points, plans.objective, bounds.lower, bounds.upper, bounds.any_lower, bounds.weights, moved):
    print(hashlib.sha256(array.tobytes()).hexdigest())
wide = rng.standard_normal((3, 20, d)) + 40.0 * mean  # large enough for the products that are compiled twice
print(hashlib.sha256(copa.validity_bounds(wide, mean, cov, 0.02).lower.tobytes()).hexdigest())

# A planner, from a table to what people are told.
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
table = pd.DataFrame(np.round(rng.normal(size=(120, 4)), 2), columns=["income", "savings", "debt", "years"])
labels = table["income"] + table["savings"] - table["debt"] + rng.normal(size=120) > 0.5
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
schema = copa.FeatureSchema([copa.Feature(name, "numeric", step=0.01) for name in table.columns])
later = copa.LaterModels(n_refits=20)
planner = copa.RecoursePlanner(model, schema, guarantee=0.7, n_options=3, later_models=later, random_state=0, n_jobs=1)
batch = planner.fit(table, labels).plan(table[~model.predict(table)].head(6))
assert (batch.status == "ok").any(), batch.status
print(hashlib.sha256(batch.points.tobytes() + batch.lower.tobytes() + batch.option_lower.tobytes()).hexdigest())
print(hashlib.sha256(batch.options.to_csv().encode()).hexdigest())
"""
PROCESSORS = {"no vectors beyond SSE2": "-DCOPA_PLAIN", "AVX2 and fused products": "-march=haswell"}


def answer(**environment):
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", CODE],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processors named are of this kind")
def test_results_do_not_depend_on_the_vectors_of_the_processor(tmp_path):
    here = answer()
    assert len(here) == 10
    for number, (name, flags) in enumerate(PROCESSORS.items()):
        copy = copy_sources(tmp_path / f"{number}" / "src")
        build_kernels(copy, tmp_path / f"{number}", f"-DCMAKE_CXX_FLAGS={flags}")
        assert answer(PYTHONPATH=str(copy)) == here, name
