"""Bounds of a plan as a table for a terminal."""

from collections.abc import Sequence

import numpy as np

from copa._core.words import rounded_down, rounded_up, visible
from copa.exceptions import InvalidInputError
from copa.theory.bounds import ValidityBounds
from copa.theory.bounds.worst_option import breaks_first

BAR_WIDTH = 20


def bounds_table(bounds: ValidityBounds, names: Sequence[str] | None = None) -> str:
    """Return the bounds of one plan as a table: a line per option, then the plan as a whole.

    Parameters
    ----------
    bounds : ValidityBounds
        Of one plan; for a batch, pass `bounds[i]`.
    names : sequence of str, optional
        J short descriptions of the options; "option 1", ... where none are given.

    Returns
    -------
    str

    Examples
    --------
    >>> from copa.report import bounds_table
    >>> import copa
    >>> bounds = copa.validity_bounds([[1.0, 0.5], [1.0, -0.2]], [1.0, 1.0], [[0.1, 0.0], [0.0, 0.1]], 0.1)
    >>> print(bounds_table(bounds, ["work more", "borrow less"]))  # doctest: +NORMALIZE_WHITESPACE
                         holds with probability
    work more                    at least 0.910  ██████████████████░░
    borrow less                  at least 0.768  ███████████████░░░░░  breaks first
    <BLANKLINE>
    at least one option          at least 0.910  ██████████████████░░
    all options                  at least 0.745  ██████████████░░░░░░
    Proven by a certificate; the exact value for all options is at most 1e-09 higher.
    """
    if np.ndim(bounds.lower) != 0:
        raise InvalidInputError("bounds_table shows one plan; of a batch, pass bounds[i]")
    n_options = len(bounds.option_lower)
    names = [f"option {j + 1}" for j in range(n_options)] if names is None else list(names)
    if len(names) != n_options:
        raise InvalidInputError(f"names must have one entry per option, {n_options}, got {len(names)}")
    if bounds.message:
        return f"not a plan: {visible(bounds.message)}"
    rows = [("", "holds with probability", "")]
    rows += [_row(visible(name, lines=False), least) for name, least in zip(names, bounds.option_lower, strict=True)]
    first = breaks_first(bounds.option_lower, bounds.weights) if bounds.lower > 0.0 else None
    if first is not None:
        rows[first + 1] = (*rows[first + 1][:2], f"{rows[first + 1][2]}  breaks first")
    rows += [
        ("", "", ""),
        _row("at least one option", float(bounds.any_lower)),
        _row("all options", float(bounds.lower)),
    ]
    if bounds.upper < 1.0:
        rows.append(("all options", f"at most  {rounded_up(float(bounds.upper))}", ""))
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    lines = [f"{left:<{widths[0]}}  {middle:>{widths[1]}}  {right}".rstrip() for left, middle, right in rows]
    gap = 10.0 ** np.ceil(np.log10(max(float(bounds.gap), 1e-12)))  # a power of ten above it
    exact = f"; the exact value for all options is at most {gap:.0e} higher" if bounds.status == "tight" else ""
    lines.append(f"Proven by a certificate{exact}.")
    return "\n".join(lines)


def _row(name: str, least: float) -> tuple[str, str, str]:
    full = int(np.floor(least * BAR_WIDTH))
    return name, f"at least {rounded_down(least)}", "█" * full + "░" * (BAR_WIDTH - full)
