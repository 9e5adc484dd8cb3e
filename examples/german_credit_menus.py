"""Lending: plans for ten declined loan applicants, with options that later models are likely to accept as well.

The data are Statlog German Credit, bundled with the package.
"""

from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa.data.datasets import load_german
from copa.report import write_report

data = load_german()
table, favourable = data.features, data.favourable
numbers = table.select_dtypes("number").columns
encoder = make_column_transformer(
    (OneHotEncoder(), table.columns.difference(numbers)),
    (StandardScaler(), numbers),
)
model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(table, favourable)

planner = copa.RecoursePlanner(model, schema=data.schema, guarantee=0.8, n_options=3).fit(table, favourable)
print(f"Ambiguity set of the next models: radius {planner.radius_:.2f} ({planner.radius_source_}).")

declined = table[~model.predict(table)].head(10)
batch = planner.plan(declined)

print(f"\n{batch}\n")
print(batch[0].explain())
print("\nAll ten, one line each (probabilities are lower bounds, proven by certificates):\n")
summary = batch.summary()
bounds = np.floor(summary[["lowest_option", "any", "all"]] * 1000.0) / 1000.0  # a lower bound is rounded down
print(summary[["applicant", "status", "n_options"]].join(bounds).to_string(index=False))

weakest = int(summary["all"].idxmin())
proof = batch.certificates[weakest].verify()
print(
    f"\nApplicant {declined.index[weakest]}, checked again without the solver: all options at least {proof.lower:.6f}."
)

page = Path("menus.html")
write_report(batch, page)
print(f"The plans with figures, for a browser: {page}")
