"""Audit: how robust the counterfactuals of another library are, and what it takes to repair them.

Needs dice-ml (`pip install dice-ml`). Its random method makes three options for each of three declined loan applicants;
COPA bounds them as they are, reports violations, and changes them as little as possible to reach the guarantee.
"""

import logging
import sys
import warnings

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa

try:
    import dice_ml
except ImportError:
    sys.exit("This example needs dice-ml, which is not installed: pip install dice-ml")

warnings.simplefilter("ignore")  # dice-ml calls pandas in ways that pandas has announced to change
logging.disable(logging.WARNING)

data = copa.datasets.load_german()
table, favourable = data.features, data.favourable.astype(int)
numbers = table.select_dtypes("number").columns.tolist()
encoder = make_column_transformer((OneHotEncoder(), table.columns.difference(numbers)), (StandardScaler(), numbers))
model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(table, favourable)
declined = table[model.predict(table) == 0].head(3)

# What may change is stated twice: for DiCE as a list of columns, for COPA in the schema.
changeable = [feature.name for feature in data.schema.features if not feature.immutable]
frame = dice_ml.Data(dataframe=table.assign(good=favourable), continuous_features=numbers, outcome_name="good")
explainer = dice_ml.Dice(frame, dice_ml.Model(model=model, backend="sklearn"), method="random")
theirs = explainer.generate_counterfactuals(
    declined, total_CFs=3, desired_class=1, features_to_vary=changeable, random_seed=0, verbose=False
)

planner = copa.RecoursePlanner(
    model, schema=data.schema, favourable=1, guarantee=0.8, n_options=3, later_models=copa.LaterModels(n_refits=300)
).fit(table, favourable)
audit = planner.audit(theirs, declined)
print("As given: lower bound for each option, and the first violation")
for plan in audit:
    levels = ", ".join(f"{np.floor(level * 1000.0) / 1000.0:.3f}" for level in plan.option_lower)
    print(
        f"  applicant {plan.label}, {plan.status}: {levels}; all options {np.floor(plan.lower * 1000.0) / 1000.0:.3f}"
    )
    print(f"    {plan.message.split('; ')[0]}")

repaired = planner.correct(theirs, declined, method="level")
print("\nRepaired, each option changed as little as possible to reach 0.8:")
for plan in repaired.after:
    levels = ", ".join(f"{np.floor(level * 1000.0) / 1000.0:.3f}" for level in plan.option_lower)
    print(
        f"  applicant {plan.label}, {plan.status}: {levels}; all options {np.floor(plan.lower * 1000.0) / 1000.0:.3f}"
    )
print(f"On average an option moved by {repaired.moved.mean():.2f} in the model's encoded units.")
