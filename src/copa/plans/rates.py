"""What became of options when they were tried on models that nothing was chosen by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.records import Positions
from copa.exceptions import InvalidInputError

NAMES = ("option_share", "all_share", "any_share", "fidelity")


@dataclass(frozen=True, eq=False)
class Trials:
    """Shares of held-out models, retrained like the others, that accept the options of N menus, M options in all.

    A frequency, not a bound: it is reported beside the guarantee, never in its place.

    Attributes
    ----------
    n_models : how many models were held out
    option_share : (M,) share of them that accept each option
    all_share, any_share : (N,) share that accept all, at least one, of an applicant's options; NaN without options
    fidelity : (N,) share of fresh rows near the options of which the local stand-in says what the model says;
        NaN where there is none
    """

    n_models: int
    option_share: Array
    all_share: Array
    any_share: Array
    fidelity: Array

    @classmethod
    def count(cls, accepted: Any, owner: Positions, n_applicants: int, fidelity: Array) -> "Trials":
        """Count what the models say.

        Parameters
        ----------
        accepted : (K, M) flags of K models for M options
        owner : (M,) position of the applicant of each option
        """
        flags = np.asarray(accepted, dtype=bool)
        n_options = np.bincount(owner, minlength=n_applicants)
        said_yes = np.stack([np.bincount(owner, weights=row, minlength=n_applicants) for row in flags])
        known = n_options > 0
        return cls(
            n_models=len(flags),
            option_share=flags.mean(axis=0),
            all_share=np.where(known, (said_yes >= n_options).mean(axis=0), np.nan),
            any_share=np.where(known, (said_yes > 0).mean(axis=0), np.nan),
            fidelity=np.asarray(fidelity, dtype=np.float64),
        )

    def select(self, applicants: Positions, options: Positions) -> "Trials":
        """Those of some applicants and their options."""
        return Trials(
            self.n_models,
            self.option_share[options],
            self.all_share[applicants],
            self.any_share[applicants],
            self.fidelity[applicants],
        )

    def spread(self, whose: Positions, n_applicants: int) -> "Trials":
        """The same among N applicants, of whom these are the ones at some positions."""
        wide = {name: np.full(n_applicants, np.nan) for name in NAMES[1:]}
        for name, array in wide.items():
            array[whose] = getattr(self, name)
        return Trials(self.n_models, self.option_share, **wide)

    @classmethod
    def concat(cls, parts: Sequence["Trials | None"]) -> "Trials | None":
        """Put trials one after another; None where there are none."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        if len(known) != len(parts) or len({part.n_models for part in known}) != 1:
            raise InvalidInputError("only plans that were tried on equally many models go into one batch")
        return cls(known[0].n_models, *(np.concatenate([getattr(part, name) for part in known]) for name in NAMES))

    def pack(self) -> dict[str, Any]:
        """Return the arrays by name."""
        return {"n_models": np.int64(self.n_models), **{name: getattr(self, name) for name in NAMES}}

    @classmethod
    def unpack(cls, arrays: Mapping[str, Any], n_applicants: int, n_options: int) -> "Trials | None":
        """Read what `pack` returned; None where nothing was packed. A ValueError says where lengths do not fit."""
        if "n_models" not in arrays:
            return None
        read = {name: np.asarray(arrays[name], dtype=np.float64) for name in NAMES}
        for name, array in read.items():
            if array.shape != ((n_options,) if name == "option_share" else (n_applicants,)):
                raise ValueError(f"trials have {name} of another length")
        return cls(int(arrays["n_models"]), **read)
