"""Whether a person would accept the plans for the bundled data: support, plausibility, variety, sparsity, effort.

`python -m benchmarks.acceptance [--applicants N] [--kinds linear,forest,...]` prints one line per data set, schema and
kind of model at the default settings. `--schema FILE` plans with the schema in a file of `--write-schemas DIR` instead,
at `--plausibility 0`, so that the efforts of two versions of the package can be compared in the same units.
"""

import argparse
import json
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import copa

DATA = {
    "german": copa.datasets.load_german,
    "south_german": copa.datasets.load_south_german,
    "student": copa.datasets.load_student,
}
KINDS = {
    "linear": lambda: LogisticRegression(C=0.1, max_iter=1000),
    "forest": lambda: RandomForestClassifier(100, min_samples_leaf=3, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=5, min_samples_leaf=10, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(5),
}


def fitted_model(data, kind):
    levels = [f.name for f in data.schema.features if f.is_categorical]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels), remainder=StandardScaler()
    )
    return make_pipeline(encoder, KINDS[kind]()).fit(data.features, data.favourable)


def changes_of(plan, j):
    """Columns that an option changes, with the change in spreads (1 for another level of a categorical column)."""
    found = {}
    for change in plan.changes(j):
        feature = plan.basis.schema[change.column]
        if feature.is_numeric:
            found[change.column] = float(change.after) / (feature.spread or 1.0)
        elif feature.kind == "ordinal":
            found[change.column] = feature.index.position(change.after) / (feature.spread or 1.0)
        else:
            found[change.column] = str(change.after)
    return found


def difference(one, other):
    """Largest difference of two options in a column, in spreads; infinite for other columns or another level."""
    if one.keys() != other.keys():
        return np.inf
    gaps = [np.inf if isinstance(one[c], str) and one[c] != other[c] else 0.0 for c in one]
    gaps += [abs(one[c] - other[c]) for c in one if not isinstance(one[c], str)]
    return max(gaps, default=0.0)


def outside_support(plan, j, table):
    """Whether an option moves to a value that fewer than 15 rows have, or beyond 1 to 99 % of the rows."""
    for change in plan.changes(j):
        feature, column = plan.basis.schema[change.column], table[change.column]
        if feature.is_categorical:
            if (column.astype(str) == str(change.after)).sum() < 15:
                return True
        elif not column.quantile(0.01) <= change.after <= column.quantile(0.99):
            return True
    return False


def describe(batch, table, inferred):
    """The numbers of one line."""
    plans = [plan for plan in batch if plan.n_options]
    options = [[changes_of(plan, j + 1) for j in range(plan.n_options)] for plan in plans]
    five = [found for found in options if len(found) == batch.request.n_options]
    sets = [len({frozenset(option) for option in found}) for found in five]
    nearest = [min((difference(a, b) for a, b in combinations(found, 2)), default=np.inf) for found in options]
    out = [outside_support(p, j + 1, table) for p in plans for j in range(p.n_options)] if inferred else []
    likely = np.asarray(getattr(batch, "plausibility", np.zeros(0)))
    return {
        "declined": len(batch),
        "ok": int((batch.status == "ok").sum()),
        "fragile": int((batch.status == "fragile").sum()),
        "infeasible": int((batch.status == "infeasible").sum()),
        "options": float(np.mean([len(found) for found in options])) if options else 0.0,
        "five": len(five),
        "three_sets": float(np.mean(np.array(sets) >= 3)) if sets else np.nan,
        "changes": float(np.median([len(option) for found in options for option in found])) if options else np.nan,
        "nearest": float(min(nearest, default=np.inf)),
        "outside": int(sum(out)),
        "plausibility": float(np.nanmin(likely)) if likely.size else np.nan,
        "effort": float(np.mean(batch.effort)) if len(batch.effort) else np.nan,
        "cheapest": float(np.mean([plan.effort[0] for plan in plans])) if plans else np.nan,
        "guarantee": float(np.mean(batch.option_lower)) if len(batch.option_lower) else np.nan,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--applicants", type=int, default=60)
    parser.add_argument("--kinds", default="linear,forest,boosting,tree,neighbours")
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--schema", type=Path, help="directory of schemas to plan with, by data set")
    parser.add_argument("--write-schemas", type=Path)
    parser.add_argument("--plausibility", type=float)
    parser.add_argument("--guarantee", type=float, default=0.9)
    parser.add_argument("--save", type=Path, help="write the efforts of every applicant here")
    given = parser.parse_args()
    saved = {}
    for name in given.data.split(","):
        data = DATA[name]()
        for kind in given.kinds.split(","):
            model = fitted_model(data, kind)
            declined = data.features[~model.predict(data.features)].head(given.applicants)
            for schema in ("bundled", "inferred") if given.schema is None else ("file",):
                settings = {} if given.plausibility is None else {"plausibility": given.plausibility}
                used = {"bundled": data.schema, "inferred": None}.get(schema)
                if schema == "file":
                    used = copa.FeatureSchema.load(given.schema / f"{name}.yaml")
                planner = copa.RecoursePlanner(
                    model, schema=used, favourable=True, guarantee=given.guarantee, progress=False, **settings
                )
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    batch = planner.fit(data.features, data.favourable).plan(declined)
                if given.write_schemas and kind == "linear" and schema == "bundled":
                    given.write_schemas.mkdir(exist_ok=True)
                    planner.schema_.save(given.write_schemas / f"{name}.yaml")
                line = describe(batch, data.features, schema == "inferred")
                words = " ".join(f"{key}={value:.3g}" for key, value in line.items())
                print(f"{name:13s}{kind:11s}{schema:9s} {words}", flush=True)
                saved[f"{name} {kind} {schema}"] = [
                    [str(p.status), p.effort.tolist(), p.option_lower.tolist()] for p in batch
                ]
    if given.save:
        given.save.write_text(json.dumps(saved))


if __name__ == "__main__":
    main()
