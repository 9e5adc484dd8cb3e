"""Admission: what a student who is expected to fail can still do, and who cannot be helped.

The data are grades in Portuguese of two secondary schools, bundled with the package. Earlier grades are left out of the
model, so that it relies on what students do and on who they are; only the former can change.
"""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa

data = copa.datasets.load_student()
table, passed = data.features.drop(columns=["G1", "G2"]), data.favourable
# The bundled schema limits how far a student goes within a term; here there is a year.
features = [feature.replace(max_change=None) for feature in data.schema.features if feature.name in table.columns]
schema = copa.FeatureSchema(features)
numbers = table.select_dtypes("number").columns
encoder = make_column_transformer((OneHotEncoder(), table.columns.difference(numbers)), (StandardScaler(), numbers))
model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(table, passed)
print(
    f"{len(table)} students, {passed.mean():.0%} passed; the model expects {model.predict(table).mean():.0%} to pass."
)

# The guarantee is for at least one of three options: a student takes one, not all.
planner = copa.RecoursePlanner(
    model, schema=schema, guarantee=0.6, guarantee_for="any", n_options=3, later_models=copa.LaterModels(n_refits=300)
)
planner.fit(table, passed)
batch = planner.plan(table[~model.predict(table)].head(40))
print(f"{batch}\n")

print("The first student with a plan at the requested level:\n")
first = next(plan for plan in batch if plan.status == "ok")
for option in range(1, first.n_options + 1):
    print(
        f"  {option}. accepted with probability at least {np.floor(first.option_lower[option - 1] * 1000.0) / 1000.0}"
    )
    for change in first.changes(option):
        print(f"     {change.title}: {change.before_text} -> {change.after_text}")
print(f"  At least one of them: at least {np.floor(first.any_lower * 1000.0) / 1000.0}.")

for status in ("fragile", "infeasible"):
    found = [plan for plan in batch if plan.status == status]
    print(f"\n{len(found)} of {len(batch)} are {status}. The first of them, student {found[0].label}:")
    print(f"  {found[0].message}.")
