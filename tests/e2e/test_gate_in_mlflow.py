"""The snippet for MLflow on the page of promises runs, by MLflow itself where it is installed."""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from copa.promises import gate

PAGE = Path(__file__).parents[2] / "docs" / "promises.md"


class FailedError(Exception):
    pass


@dataclass
class MetricThreshold:
    """What MLflow's takes."""

    threshold: float | None = None
    min_absolute_change: float | None = None
    min_relative_change: float | None = None
    greater_is_better: bool | None = None


@dataclass
class EvaluationResult:
    metrics: dict
    artifacts: dict


def validate_evaluation_results(validation_thresholds, candidate_result, baseline_result=None):
    """Judge as MLflow documents it: a metric of which less is better must be at most its threshold."""
    assert baseline_result is None
    for name, limit in validation_thresholds.items():
        value = candidate_result.metrics[name]
        if value < limit.threshold if limit.greater_is_better else value > limit.threshold:
            raise FailedError(name)


@pytest.fixture
def mlflow(monkeypatch):
    """MLflow, or what stands for it; the error of a failed validation."""
    if importlib.util.find_spec("mlflow") is not None:
        from mlflow.models.evaluation.validation import ModelValidationFailedException

        return ModelValidationFailedException
    parts = {name: ModuleType(name) for name in ("mlflow", "mlflow.models", "mlflow.models.evaluation")}
    parts["mlflow"].validate_evaluation_results = validate_evaluation_results
    parts["mlflow.models"].MetricThreshold = MetricThreshold
    parts["mlflow.models.evaluation"].EvaluationResult = EvaluationResult
    for name, module in parts.items():
        monkeypatch.setitem(sys.modules, name, module)
    return FailedError


def test_mlflow_stops_a_candidate_that_the_gate_stops(mlflow):
    snippet = PAGE.read_text(encoding="utf-8").split("```py\n")[1].split("```")[0]
    past = pd.DataFrame({"income": range(20, 60)})
    candidate = LogisticRegression().fit(past, past["income"] >= 40)
    promises = pd.DataFrame({"income": [36, 41, 45, 50]})
    exec(snippet, {"report": gate(candidate, promises, max_broken=0.25)})  # noqa: S102 - it is the documentation
    with pytest.raises(mlflow, match="promises_broken_share"):
        exec(snippet, {"report": gate(candidate, promises, max_broken=0.2)})  # noqa: S102 - the same
