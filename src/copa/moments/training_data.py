"""The rows a model is trained on, read once from what the caller gave."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, as_floats, require_finite, require_unmasked
from copa.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features and labels of a binary classification problem.

    Attributes
    ----------
    features : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        As the caller gave them.
    classes : ndarray of shape (2,)
        The two labels, sorted as scikit-learn sorts them; `classes[1]` is the positive one.
    target : ndarray of shape (n,)
        1.0 where the label is `classes[1]`, else 0.0.
    """

    features: Array
    labels: npt.NDArray[Any]
    classes: npt.NDArray[Any]
    target: Array

    @classmethod
    def read(cls, X: Any, y: Any) -> "TrainingData":
        """Return the checked data: `X` finite of shape (n, d), `y` of shape (n,) with two labels."""
        features = as_floats(X, "X")
        if features.ndim != 2 or features.size == 0:
            raise InvalidInputError(f"X must have shape (n, d) with n, d >= 1, got {features.shape}")
        require_finite(features, "X")
        require_unmasked(y, "y")
        labels = np.asarray(y)
        if labels.shape != features.shape[:1]:
            raise InvalidInputError(f"y must have shape ({len(features)},), one label per row of X, got {labels.shape}")
        if labels.dtype.kind == "f":
            require_finite(labels, "y")
        try:
            classes = np.unique(labels)
        except TypeError as error:
            raise InvalidInputError(f"y must hold labels of one type without missing values: {error}") from error
        if classes.size != 2:
            shown = ", ".join(repr(label) for label in classes[:5].tolist())
            raise InvalidInputError(f"y must hold exactly 2 classes, got {classes.size}: {shown}")
        return cls(features, labels, classes, (labels == classes[1]).astype(np.float64))
