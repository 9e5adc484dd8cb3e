"""Bounds by hand: a declined loan applicant, four options, and the next retrainings.

The data are Statlog German Credit, bundled with the package.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import copa
from copa.data.datasets import load_german
from copa.report import bounds_table

FEATURES = ["duration", "amount", "installment_rate", "age"]
APPLICANT = 145  # declined by the model below
OPTIONS = {
    "repay within 18 months instead of 48": {"duration": 18},
    "borrow 1500 DM, repay within 24 months": {"duration": 24, "amount": 1500},
    "instalment rate 1, repay within 36 months": {"duration": 36, "installment_rate": 1},
    "instalment rate 2, repay within 30 months": {"duration": 30, "installment_rate": 2},
}

data = load_german()
table = data.features[FEATURES].astype(float)
scaled = (table - table.mean()) / table.std()
model = LogisticRegression().fit(scaled, data.favourable)

# The next model: moments of 1000 refits, each on half of the data.
moments = copa.WeightMoments.from_retraining(LogisticRegression(), scaled, data.favourable, random_state=0)

applicant = table.loc[APPLICANT]
rows = (pd.DataFrame([{**applicant, **change} for change in OPTIONS.values()]) - table.mean()) / table.std()
options = np.insert(rows.to_numpy(), 0, 1.0, axis=1)  # the intercept is coordinate 0
accepted = model.predict(rows)

print("Applicant", APPLICANT, "of German Credit:", ", ".join(f"{f} {applicant[f]:.0f}" for f in FEATURES))
print(f"Today's model accepts with probability {model.predict_proba(scaled.loc[[APPLICANT]])[0, 1]:.2f}: declined.")
print(f"It would accept {accepted.sum()} of the {len(accepted)} options below.")

for radius, meaning in (
    (0.0, "If the moments of the next model are those of the 1000 refits"),
    (0.1, "If mean and covariance may be off by 0.1"),
):
    bounds = copa.validity_bounds(options, moments.mean, moments.cov, radius)
    print(f"\n{meaning} (radius {radius}):\n")
    print(bounds_table(bounds, list(OPTIONS)))

worst = bounds.certificate.worst_case()
breaks = int(np.argmax(worst.mass))
change = worst.location[breaks] - moments.mean
names = ["intercept", *FEATURES]
order = np.argsort(-np.abs(change))[:2]
print(f"\nWhat breaks it first: '{list(OPTIONS)[breaks]}', by a model with")
print(" and ".join(f"{names[k]} weight {moments.mean[k]:+.2f} -> {worst.location[breaks, k]:+.2f}" for k in order))

proof = copa.Certificate.from_json(bounds.certificate.to_json()).verify()
print(f"\nChecked again from the saved certificate, without the solver: all options at least {proof.lower:.6f}")
