"""Bins that stay as they are when a pipeline is fitted again.

The bins of a scorecard are a decision, which people know and plans name ("at least 6 months"): a refit that moved them
would be about another scorecard. So transformers that hold edges of bins are not fitted again, and what is said of the
next model says so.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from copa.models.bins import holds_edges, inner_transformers


class KeptBins(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted transformer whose `fit` does nothing.

    Parameters
    ----------
    transformer : object
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def __sklearn_clone__(self) -> "KeptBins":
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> "KeptBins":  # noqa: ARG002 - it is fitted already
        """Do nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """What the fitted transformer makes of rows."""
        return self.transformer.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of its columns."""
        return self.transformer.get_feature_names_out(input_features)


def kept_bins(transformers: Sequence[Any]) -> dict[str, KeptBins]:
    """Settings of a pipeline with steps "step0", "step1", ... that keep the bins of these fitted transformers."""
    parts = (part for k, step in enumerate(transformers) for part in _with_edges(step, f"step{k}"))
    return {path: KeptBins(part) for path, part in parts}


def _with_edges(transformer: Any, path: str) -> Iterator[tuple[str, Any]]:
    if holds_edges(transformer):
        yield path, transformer
        return
    for name, part in inner_transformers(transformer):
        yield from _with_edges(part, f"{path}__{name}")
