"""Feature maps written in torch: values and derivatives as NumPy arrays."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from copa.arrays import Array
from copa.exceptions import InvalidInputError, MissingPackageError

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
