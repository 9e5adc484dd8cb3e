"""The file of a planner, and the refits in it: the first one whole, the others by what differs from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.formats import Archive, Format
from copa._core.words import listed
from copa.exceptions import DataError, InvalidInputError
from copa.models.black_box import BlackBox
from copa.models.similar_fits import NotAlikeError, Pattern
from copa.models.storage import UntrustedTypesError, pack_estimator, storable, unpack_estimator, untrusted_types

if TYPE_CHECKING:
    import pandas as pd

FORMAT = Format(
    "copa-planner",
    what="a saved planner",
    content="planner.json",
    versions=(1,),
    arrays=r"theta|mean|cov|directions|irregular|drift|thirds|scores|rows/.+|plausibility/.+|accepted_row/.+",
    members=r"refits/[0-9]{4,6}\.(?:skops|npz)",
    digest=False,
)
damaged = FORMAT.damaged
WHOLE, DIFFERENCES = "skops", "npz"
FEWEST = 2  # refits that a planner has for the moments, and held out


def require_parts(archive: Archive, parts: tuple[str, ...], arrays: tuple[str, ...], path: str | Path) -> None:
    """Raise if a file lacks an entry of its JSON or an array."""
    missing = [name for name in parts if name not in archive.content]
    missing += [name for name in arrays if name not in archive.arrays]
    if missing:
        raise damaged(path, f"it lacks {', '.join(missing)}; save it again")


def pack_refits(fits: Sequence[BlackBox], rows: "pd.DataFrame") -> dict[str, bytes]:
    """Members of the file, by name.

    Parameters
    ----------
    fits : sequence of BlackBox
        At least one.
    rows : DataFrame
        On which a refit that is stored by its differences must say what it said before.
    """
    first = pack_estimator(fits[0].estimator)
    pattern = Pattern(_loaded_again(first))
    members = {_member(0, WHOLE): first}
    for k, fit in enumerate(fits[1:], start=1):
        raw = _differences(pattern, fit, rows)
        members |= {_member(k, WHOLE): pack_estimator(fit.estimator)} if raw is None else {_member(k, DIFFERENCES): raw}
    return members


def _member(k: int, kind: str) -> str:
    return f"refits/{k:04d}.{kind}"


def _loaded_again(raw: bytes) -> Any:
    """Load what skops wrote: it keeps the names of functions, and not all of them can be found again."""
    try:
        return unpack_estimator(raw, untrusted_types(raw))
    except DataError as error:
        raise InvalidInputError(
            f"the model's refits cannot be loaded again by skops: {error}. Give the functions in the model a module "
            "and a name of their own"
        ) from error


def _differences(pattern: Pattern, fit: BlackBox, rows: "pd.DataFrame") -> bytes | None:
    """Return the differences of a refit from the pattern; None where they do not say all of it."""
    try:
        raw = pattern.pack(storable(fit.estimator))
    except NotAlikeError:
        return None
    again = fit.replaced(pattern.unpack(raw))
    return raw if np.array_equal(again.scores(rows), fit.scores(rows), equal_nan=True) else None


def unpack_refits(archive: Archive, model: BlackBox, path: str | Path) -> tuple[tuple[BlackBox, ...], int]:
    """The refits, of no other types than the model in force, whose types its owner trusts; and how many were retrained.

    The others are those held out.
    """
    trusted = untrusted_types(pack_estimator(model.estimator))
    try:
        n_retrained, n_held_out = (int(number) for number in archive.content["refits"])
        pattern = Pattern(unpack_estimator(archive.members[_member(0, WHOLE)], trusted, archive.budget))
        fits = [pattern.estimator, *(_refit(archive, k, pattern, trusted) for k in range(1, n_retrained + n_held_out))]
    except UntrustedTypesError as error:
        raise DataError(
            f"the refits in {path} hold parts that neither scikit-learn nor the model given has: {listed(error.types)}"
        ) from error
    except DataError as error:
        raise damaged(path, f"a refit: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, f"it lacks refits ({error}); save it again") from error
    if min(n_retrained, n_held_out) < FEWEST:
        raise damaged(path, f"{n_retrained} and {n_held_out} refits are too few")
    return tuple(model.replaced(fit) for fit in fits), n_retrained


def _refit(archive: Archive, k: int, pattern: Pattern, trusted: list[str]) -> Any:
    if _member(k, DIFFERENCES) in archive.members:
        return pattern.unpack(archive.members[_member(k, DIFFERENCES)], archive.budget)
    return unpack_estimator(archive.members[_member(k, WHOLE)], trusted, archive.budget)
