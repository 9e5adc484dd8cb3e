"""A black box: plans for a random forest, of which only the predicted probabilities are used.

The guarantee is about the scores that the next forest gives to the delivered rows. It is certified by refits that
nothing was chosen by. The share of them that accept the options is reported as well: a frequency, not a guarantee.
"""

from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import copa

data = copa.datasets.load_german()
table, favourable = data.features, data.favourable
words = table.select_dtypes(exclude="number").columns
encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough")
forest = RandomForestClassifier(30, min_samples_leaf=5, random_state=0)
model = make_pipeline(encoder, forest).fit(table, favourable)

planner = copa.RecoursePlanner(
    model,
    schema=data.schema,
    guarantee=0.6,
    n_options=2,
    later_models=copa.LaterModels(n_refits=20),
    n_starts=6,
    n_jobs=1,
)
planner.fit(table, favourable)
print(f"Radius: {planner.radius_source_}.")

batch = planner.plan(table[~model.predict(table)].head(6))
print(f"{batch}\n")
print(batch[0].explain())

print(f"\nOver all {len(batch.options)} options: guaranteed at least {batch.option_lower.min():.2f},", end=" ")
print(f"accepted by {batch.expected_rate.mean():.0%} of the {batch.n_held_out} held-out forests.")
