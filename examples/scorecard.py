"""A scorecard with rules: one direction only, an affordable instalment, at most two changes.

Points are assigned by bins, as on a paper scorecard. A shorter loan helps, but the monthly instalment must stay below
what the applicant can pay: a linear rule between two columns.
"""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

import copa

data = copa.datasets.load_german()
bins, codes = ["duration", "age"], ["checking_status", "savings", "employment"]
table = data.features[["amount", *bins, *codes]]
cut = KBinsDiscretizer(6, encode="onehot-dense", strategy="quantile", quantile_method="averaged_inverted_cdf")
points = make_column_transformer((cut, bins), (OneHotEncoder(), codes), (StandardScaler(), ["amount"]))
model = make_pipeline(points, LogisticRegression(C=0.3)).fit(table, data.favourable)

# A column that is cut into bins has no slope: list its possible values, and those that are on offer as `allowed`.
terms = {"direction": "decrease", "values": sorted(set(table["duration"].tolist())), "allowed": [12, 18, 24, 36, 48]}
duration = copa.Feature("duration", "ordinal", title="duration (months)", **terms)
others = [feature for feature in data.schema.features if feature.name in table.columns and feature.name != "duration"]
schema = copa.FeatureSchema([duration, *others], rules=["amount <= 250*duration"], max_changes=2)
planner = copa.RecoursePlanner(
    model, schema=schema, guarantee=0.7, n_options=2, later_models=copa.LaterModels(n_refits=500)
)
planner.fit(table, data.favourable)
batch = planner.plan(table[~model.predict(table)].head(30))
print(batch, end="\n\n")

for plan in [plan for plan in batch if plan.status == "ok"][:2]:
    row = plan.factual.iloc[0]
    print(f"Applicant {plan.label}: {row['amount']} DM over {row['duration']} months")
    for option, new in plan.options.iterrows():
        changes = "; ".join(f"{c.title}: {c.before_text} -> {c.after_text}" for c in plan.changes(option))
        print(f"  {option}. {changes}")
        sure = np.floor(plan.option_lower[option - 1] * 1000.0) / 1000.0
        print(f"     {new['amount'] / new['duration']:.0f} DM a month, accepted with probability at least {sure}")

stuck = next(plan for plan in batch if plan.status == "infeasible")
print(f"\nApplicant {stuck.label}: {stuck.message}")

violations = schema.violations(batch.applicants.iloc[batch.owner], batch.options)
print(f"\nOf {len(violations)} options, {sum(bool(found) for found in violations)} violate the schema.")
