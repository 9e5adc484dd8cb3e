"""A user's own feature map as a scikit-learn transformer that knows its derivative."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from copa._core.arrays import Array, as_floats, require_finite
from copa.exceptions import InvalidInputError, MissingPackageError
from copa.models.differences import difference_tangents, numbers_of

# Between the features of a row alone and of the same row among others: rounding, in units of the precision.
ROUNDING = 1e4


def require_torch() -> Any:
    """The torch package, or an error that says how to get it."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPackageError(
            "FeatureMap.from_torch needs torch, which is not installed: pip install torch"
        ) from error


@dataclass(frozen=True)
class TorchFunction:
    """A function of tensors (N, Q) -> (N, P), as a function of arrays."""

    function: Callable[[Any], Any]

    def __call__(self, rows: Array) -> Array:
        """Features (N, P) of rows (N, Q)."""
        with require_torch().no_grad():
            return _as_array(self.function(_as_tensor(self.function, rows)))


@dataclass(frozen=True)
class TorchJacobian:
    """The derivative of a function of tensors, by reverse-mode differentiation of each row by itself."""

    function: Callable[[Any], Any]

    def __call__(self, rows: Array) -> Array:
        """Derivative (N, P, Q) at rows (N, Q)."""
        torch = require_torch()

        def of_one_row(row: Any) -> tuple[Any, Any]:
            features = self.function(row[None])[0]
            return features, features

        tensor = _as_tensor(self.function, rows)
        derivative, alone = torch.func.vmap(torch.func.jacrev(of_one_row, has_aux=True))(tensor)
        _require_rows_apart(_as_array(alone), TorchFunction(self.function)(rows), torch.finfo(tensor.dtype).eps)
        return _as_array(derivative)


def _as_tensor(function: Any, rows: Array) -> Any:
    """Rows in the precision of a module's parameters, on its device; in double precision for a plain function."""
    torch = require_torch()
    first = next(iter(function.parameters()), None) if isinstance(function, torch.nn.Module) else None
    kind = {"dtype": torch.float64} if first is None else {"dtype": first.dtype, "device": first.device}
    return torch.as_tensor(rows, **kind)


def _as_array(tensor: Any) -> Array:
    if not hasattr(tensor, "detach"):
        raise InvalidInputError(f"the torch function must return a tensor (N, P), got {type(tensor).__name__}")
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def _require_rows_apart(alone: Array, among_others: Array, precision: float) -> None:
    """Raise if the features of a row depend on the other rows: the derivative would be another one."""
    size = max(1.0, float(np.abs(among_others).max(initial=0.0)))
    if alone.shape != among_others.shape or np.abs(alone - among_others).max(initial=0.0) > ROUNDING * precision * size:
        raise InvalidInputError(
            "the torch function gives a row other features when it is alone than among others; each row must be "
            "treated by itself (of a module with batch statistics or dropout, call eval() first)"
        )


class FeatureMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The features phi(x) of a model theta'phi(x), from a function of whole tables.

    Parameters
    ----------
    function : callable
        From an array (N, Q) to an array (N, P); each output row is made of its own input row only.
    jacobian : callable, optional
        From an array (N, Q) to an array (N, P, Q): its derivative at each row. Without one, central differences of
        `function` (see `jacobian_of`).

    Attributes
    ----------
    n_features_in_ : int
        Number of input columns Q.
    feature_names_in_ : ndarray of shape (Q,)
        Their names, where `fit` got a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.models import FeatureMap
    >>> ring = FeatureMap(lambda x: np.column_stack([x, (x**2).sum(axis=1)]))
    >>> ring.fit_transform(np.array([[1.0, 2.0]])).tolist()
    [[1.0, 2.0, 5.0]]
    >>> ring.jacobian_at(np.array([[1.0, 2.0]])).round(6).tolist()
    [[[1.0, 0.0], [0.0, 1.0], [2.0, 4.0]]]
    """

    def __init__(self, function: Callable[[Array], Any], jacobian: Callable[[Array], Any] | None = None) -> None:
        self.function = function
        self.jacobian = jacobian

    @classmethod
    def from_torch(cls, function: Callable[[Any], Any]) -> "FeatureMap":
        """Feature map from a function (or module) of torch tensors, differentiated by torch.

        Parameters
        ----------
        function : callable
            From a tensor (N, Q) to a tensor (N, P), differentiable, each row by itself. It gets double precision, or
            the precision of its own parameters if it is a module; a module with dropout or batch statistics must be in
            its `eval` mode.

        Returns
        -------
        FeatureMap
        """
        require_torch()
        return cls(TorchFunction(function), TorchJacobian(function))

    def fit(self, X: Any, y: Any = None) -> "FeatureMap":  # noqa: ARG002 - scikit-learn's signature
        """Note the number of columns and their names; nothing else is learnt."""
        numbers = numbers_of(X, "FeatureMap")
        if not callable(self.function):
            raise InvalidInputError(f"FeatureMap needs a function of arrays (N, Q), got {self.function!r}")
        if not (self.jacobian is None or callable(self.jacobian)):
            raise InvalidInputError(f"the jacobian of a FeatureMap is a function or None, got {self.jacobian!r}")
        self.n_features_in_ = numbers.shape[1]
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X: Any) -> Array:
        """Features phi(x) of each row, (N, P)."""
        return self._features(self._numbers(X))

    def jacobian_at(self, X: Any) -> Array:
        """Derivative of phi at each row, (N, P, Q)."""
        numbers = self._numbers(X)
        if self.jacobian is None:
            return self.tangents_at(X, np.tile(np.eye(self.n_features_in_), (len(numbers), 1, 1)))
        wanted = (*self._features(numbers).shape, self.n_features_in_)
        derivative = as_floats(self.jacobian(numbers), "the jacobian of the FeatureMap")
        if derivative.shape != wanted:
            raise InvalidInputError(
                f"the jacobian of the FeatureMap must have shape (N, P, Q) = {wanted}: rows, features of its function, "
                f"input columns; got {derivative.shape}"
            )
        require_finite(derivative, "the jacobian of the FeatureMap")
        return derivative

    def tangents_at(self, X: Any, tangents: Array) -> Array:
        """How phi moves, (N, P, C), when the columns of each row move in C directions (N, Q, C)."""
        if self.jacobian is None:
            return difference_tangents(self._features, self._numbers(X), tangents, name="FeatureMap")
        return self.jacobian_at(X) @ tangents

    def _numbers(self, X: Any) -> Array:
        """The rows as an array, if they are what `fit` saw."""
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError("this FeatureMap is not fitted yet: call fit(X), which notes the number of columns")
        numbers = numbers_of(X, "FeatureMap")
        if numbers.shape[1] != self.n_features_in_:
            raise InvalidInputError(
                f"FeatureMap was fitted to {self.n_features_in_} columns, got rows of shape {numbers.shape}"
            )
        names = getattr(self, "feature_names_in_", None)
        if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
            raise InvalidInputError(
                f"FeatureMap was fitted to the columns {', '.join(names)}, in this order; got "
                f"{', '.join(str(name) for name in X.columns)}"
            )
        return numbers

    def _features(self, numbers: Array) -> Array:
        features = as_floats(self.function(numbers.copy()), "the output of the FeatureMap's function")
        if features.ndim != 2 or len(features) != len(numbers):
            raise InvalidInputError(
                f"the function of the FeatureMap must turn rows of shape {numbers.shape} into an array (N, P) with "
                f"N = {len(numbers)}, got shape {features.shape}"
            )
        require_finite(features, "the output of the FeatureMap's function")
        return features
