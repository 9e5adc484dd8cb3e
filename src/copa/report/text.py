"""Bounds as text for a terminal."""

from collections.abc import Sequence

import numpy as np

from copa._core.words import visible
from copa.bounds import ValidityBounds
from copa.exceptions import InvalidInputError

BAR_WIDTH = 20


def bounds_table(bounds: ValidityBounds, names: Sequence[str] | None = None) -> str:
    """Bounds of one plan as a table: a line per option, then the plan as a whole.

    Parameters
    ----------
    bounds : of one plan (for a batch, pass `bounds[i]`)
    names : J short descriptions of the options; "option 1", ... where none are given
    """
    if np.ndim(bounds.lower) != 0:
        raise InvalidInputError("bounds_table shows one plan; of a batch, pass bounds[i]")
    n_options = len(bounds.option_lower)
    names = [f"option {j + 1}" for j in range(n_options)] if names is None else list(names)
    if len(names) != n_options:
        raise InvalidInputError(f"names must have one entry per option, {n_options}, got {len(names)}")
    names = [visible(name, lines=False) for name in names]
    if bounds.message:
        return f"not a plan: {visible(bounds.message)}"
    first = int(np.argmax(bounds.weights)) if bounds.lower > 0.0 else -1  # where nothing is promised, nothing breaks
    rows = [("", "holds with probability", "")]
    for j, name in enumerate(names):
        note = "  breaks first" if j == first and n_options > 1 else ""
        each = float(bounds.option_lower[j])
        rows.append((name, _at_least(each), _bar(each) + note))
    rows.append(("", "", ""))
    for whole, least in (("at least one option", float(bounds.any_lower)), ("all options", float(bounds.lower))):
        rows.append((whole, _at_least(least), _bar(least)))
    if bounds.upper < 1.0:
        rows.append(("all options", f"at most  {np.ceil(float(bounds.upper) * 1000.0) / 1000.0:.3f}", ""))
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    lines = [f"{left:<{widths[0]}}  {middle:>{widths[1]}}  {right}".rstrip() for left, middle, right in rows]
    gap = 10.0 ** np.ceil(np.log10(max(float(bounds.gap), 1e-12)))  # a power of ten above it
    lines.append(f"Proven by a certificate; the exact value for all options is at most {gap:.0e} higher.")
    return "\n".join(lines)


def _at_least(probability: float) -> str:
    # Rounded down, as upper bounds are rounded up: a table must not promise more than the bound does.
    return f"at least {np.floor(probability * 1000.0) / 1000.0:.3f}"


def _bar(probability: float) -> str:
    full = int(np.floor(probability * BAR_WIDTH))
    return "█" * full + "░" * (BAR_WIDTH - full)
