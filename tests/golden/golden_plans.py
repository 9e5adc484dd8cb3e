"""Plans of three kinds of models on the three bundled data sets, to see that a change of the code does not change them.

`python tests/golden/golden_plans.py check` recomputes everything (`check german`: what is about that data set) and
compares it with `golden_plans.json.gz` byte by byte, which is for the machine that wrote it; `write` writes the file
anew, which is only right where the changelog says why plans changed. The test suite compares rows exactly, and numbers
to a tolerance: the last bits of moments depend on the processor, the rows must not.
"""

import copy
import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import copa

FILE = Path(__file__).with_name("golden_plans.json.gz")
DATA = {
    "german": copa.datasets.load_german,
    "south_german": copa.datasets.load_south_german,
    "student": copa.datasets.load_student,
}
METHODS = ("level", "requirement", "mahalanobis")


def pipelines(data):
    """The three kinds of models, by name; the logistic fits converge to rounding, whatever the processor."""
    columns = data.schema.features
    levels = [f.name for f in columns if f.is_categorical]
    numbers = [f.name for f in columns if f.is_numeric]

    def encoder(*steps):
        return ColumnTransformer([("levels", OneHotEncoder(), levels), ("numbers", make_pipeline(*steps), numbers)])

    def logistic():
        return LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-10)

    squares = PolynomialFeatures(2, include_bias=False, interaction_only=False)
    return {
        "linear": make_pipeline(encoder(StandardScaler()), logistic()),
        "feature map": make_pipeline(encoder(StandardScaler(), squares, StandardScaler()), logistic()),
        "black box": make_pipeline(encoder(StandardScaler()), RandomForestClassifier(20, max_depth=6, random_state=0)),
    }


BALL = copa.LaterModels(ambiguity=copa.MomentBall(radius=0.05))
SETTINGS = {
    "linear": {
        "default": {"guarantee": 0.8, "n_options": 4},
        "all": {"guarantee": 0.6, "guarantee_for": "all", "n_options": 3},
        "any": {"guarantee": 0.9, "guarantee_for": "any", "n_options": 3},
        "l2": {"guarantee": 0.7, "cost": "l2", "n_options": 3},
        "paper": {"objective": copa.PaperObjective(), "later_models": BALL, "n_options": 3},
        "radius": {"guarantee": 0.6, "later_models": BALL, "n_options": 3},
        "expected": {"guarantee": 0.9, "later_models": copa.Expected(), "n_options": 3},
    },
    "feature map": {"default": {"guarantee": 0.7, "n_options": 3}},
    "black box": {"default": {"guarantee": 0.6, "n_options": 3}},
}
N_APPLICANTS = {"linear": 5, "feature map": 3, "black box": 3}
N_REFITS = {"linear": 200, "feature map": 200, "black box": 12}


def all_documents(names=tuple(DATA)):
    """Every golden document, by name: parsed JSON."""
    found = {}
    for name in names:
        data = DATA[name]()
        for kind, model in pipelines(data).items():
            model.fit(data.features, data.favourable)
            declined = data.features[~model.predict(data.features)].head(N_APPLICANTS[kind])
            for label, settings in SETTINGS[kind].items():
                later = replace(settings.get("later_models", copa.LaterModels()), n_refits=N_REFITS[kind])
                same = {"schema": data.schema, "random_state": 0, "progress": False}
                planner = copa.RecoursePlanner(model, **same, **settings | {"later_models": later})
                planner.fit(data.features, data.favourable)
                batch = planner.plan(declined)
                found[f"{name}/{kind}/{label}"] = json.loads(batch.to_json())
                if label == "default":
                    found |= _more_documents(f"{name}/{kind}", planner, declined)
    return found


def _more_documents(name, planner, declined):
    """The audit and the corrections of fragile plans."""
    weak = copy.copy(planner).set_params(guarantee=0.3, n_options=2)
    given = weak.plan(declined)
    found = {f"{name}/audit": json.loads(planner.audit(given).to_json())}
    for method in METHODS if name.endswith("linear") else METHODS[:1]:
        found[f"{name}/correct/{method}"] = json.loads(planner.correct(given, method=method).after.to_json())
    return found


def as_bytes(documents):
    """The documents as the file holds them, before compression."""
    return "".join(f"{json.dumps([k, v], ensure_ascii=False)}\n" for k, v in sorted(documents.items())).encode()


def stored():
    """The golden documents of the file."""
    return dict(json.loads(line) for line in gzip.decompress(FILE.read_bytes()).decode().splitlines())


def differences(golden, found, where=""):
    """Where two documents differ: numbers by more than 1e-7, all else at all."""
    if isinstance(golden, float) or isinstance(found, float):
        same = golden == found or (
            None not in (golden, found) and bool(np.isclose(golden, found, rtol=1e-7, atol=1e-7))
        )
        return [] if same else [f"{where}: {golden} became {found}"]
    if isinstance(golden, dict) and isinstance(found, dict) and golden.keys() == found.keys():
        keys = [key for key in golden if key != "digest"]
        return [line for key in keys for line in differences(golden[key], found[key], f"{where}/{key}")]
    if isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        pairs = enumerate(zip(golden, found, strict=True))
        return [line for k, (a, b) in pairs for line in differences(a, b, f"{where}/{k}")]
    return [] if golden == found else [f"{where}: {golden} became {found}"]


def main():
    """Write the file, or check that nothing changed."""
    names = sys.argv[2:] or list(DATA)
    documents = all_documents(names)
    if sys.argv[1] == "write":
        FILE.write_bytes(
            gzip.compress(as_bytes(documents if len(names) == len(DATA) else stored() | documents), 9, mtime=0)
        )
        return 0
    golden = {key: value for key, value in stored().items() if key.partition("/")[0] in names}
    lines = differences(golden, documents)
    same = as_bytes(golden) == as_bytes(documents)
    sys.stdout.write("\n".join([*lines[:40], f"{len(lines)} differences; same bytes: {same}", ""]))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
