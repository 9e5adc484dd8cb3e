"""Whether a model is a tree ensemble, before anything of it is read."""

from typing import Any

OF_SKLEARN = frozenset(
    {
        "DecisionTreeClassifier",
        "ExtraTreeClassifier",
        "ExtraTreesClassifier",
        "GradientBoostingClassifier",
        "HistGradientBoostingClassifier",
        "RandomForestClassifier",
    }
)
OF_OTHERS = frozenset({"CatBoostClassifier", "LGBMClassifier", "XGBClassifier", "XGBRFClassifier"})


def is_tree_ensemble(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, is a tree or an ensemble of trees."""
    from sklearn.pipeline import Pipeline

    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    kind = type(estimator)
    known = OF_SKLEARN if kind.__module__.partition(".")[0] == "sklearn" else OF_OTHERS
    return kind.__name__ in known
