"""A bundle: the planner, its model and the columns of applicants in one file in which there is nothing to execute.

For a model that is not linear the planner brings the refits with it, of no other types than the model has.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.files import write_atomically
from copa.exceptions import InvalidInputError
from copa.planner.persistence import pack_planner
from copa.planner.recourse_planner import RecoursePlanner

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.strategies.base import Strategy


@dataclass(frozen=True, eq=False)
class Bundle:
    """Content of a bundle.

    Attributes
    ----------
    planner : RecoursePlanner
        Fitted.
    template : DataFrame
        The columns that the model and the schema need, in the model's order and in the dtypes of the training data,
        without rows.
    facts : dict
        What is known of the fit, for people to read.
    made_with : dict
        Versions of the packages that wrote it, by name.
    sha256 : str
        Of the file.
    """

    planner: RecoursePlanner
    template: "pd.DataFrame"
    facts: dict[str, Any]
    made_with: dict[str, Any]
    sha256: str

    @property
    def fitted(self) -> "Strategy":
        """The fitted strategy of the planner."""
        fitted: Strategy = self.planner.strategy_
        return fitted


def save_bundle(
    path: Path,
    planner: RecoursePlanner,
    template: "pd.DataFrame | None" = None,
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Write a bundle, all of it or nothing.

    Parameters
    ----------
    path : Path
    planner : RecoursePlanner
        Fitted.
    template : DataFrame, optional
        Columns that applicants must have; its rows are not kept. None for those of the training data.
    facts : Mapping, optional
        What is known of the fit, as JSON has it.

    Raises
    ------
    InvalidInputError
        If the model has parts that no bundle may hold.
    """
    write_atomically(path, pack_planner(planner, include_model=True, template=template, facts=facts))


def load_bundle(path: Path) -> Bundle:
    """Read a bundle; nothing in it is executed.

    Raises
    ------
    InvalidInputError
        If there is no such file.
    DataError
        If the file is no bundle, is damaged or changed, or of a newer version.
    """
    if not path.is_file():
        raise InvalidInputError(
            f"the bundle {path} does not exist (looked for {path.absolute()}); `copa fit` makes one"
        )
    return unpack_bundle(path.read_bytes(), path)


def unpack_bundle(raw: bytes, path: Path) -> Bundle:
    """Read the bytes of a bundle, which errors call by a path; see `load_bundle`."""
    planner, facts, made_with = RecoursePlanner._unpack(raw, path)  # noqa: SLF001 - with what only bundles have
    return Bundle(planner, planner.template_, facts, made_with, hashlib.sha256(raw).hexdigest())
