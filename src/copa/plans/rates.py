"""Rates of acceptance by refits that were held out: the search did not go by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.records import Positions
from copa._core.representation import short_repr
from copa.exceptions import InvalidInputError
from copa.plans.columns import APPLICANT, OPTION, Columns, per_applicant, per_option, read_numbers


@dataclass(frozen=True, eq=False)
class HeldOutRates(Columns):
    """Shares of held-out refits that accept the options of N plans, M options in all.

    A frequency, not a bound: it is reported beside the guarantee, never in its place.

    Parameters
    ----------
    n_models : int
        Number of refits held out.
    option_share : ndarray of shape (M,)
        Share of them that accept each option.
    all_share, any_share : ndarray of shape (N,)
        Share that accept all, at least one, of an applicant's options; NaN without options.
    fidelity : ndarray of shape (N,)
        Share of fresh rows near the options that the local surrogate classifies as the model does; NaN where there is
        none.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.plans.rates import HeldOutRates
    >>> says = np.array([[True, True], [True, False]])  # two refits, two options of one applicant
    >>> rates = HeldOutRates.count(says, np.array([0, 0]), 1, fidelity=[0.9])
    >>> rates.option_share.tolist(), rates.all_share.tolist(), rates.any_share.tolist()
    ([1.0, 0.5], [0.5], [1.0])
    """

    __repr__ = short_repr

    n_models: int
    option_share: Array = field(metadata=per_option(read_numbers))
    all_share: Array = field(metadata=per_applicant(read_numbers))
    any_share: Array = field(metadata=per_applicant(read_numbers))
    fidelity: Array = field(metadata=per_applicant(read_numbers))

    def __post_init__(self) -> None:
        self.read_columns(len(self.all_share), len(self.option_share))

    @classmethod
    def count(cls, accepted: Any, owner: Positions, n_applicants: int, fidelity: Any) -> "HeldOutRates":
        """Count what refits say.

        Parameters
        ----------
        accepted : array_like of bool of shape (K, M)
            Whether each of K refits accepts each option.
        owner : ndarray of shape (M,)
            Position of the applicant of each option.
        n_applicants : int
            N.
        fidelity : array_like of shape (N,)
            Fidelity of the surrogates.
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

    def select(self, applicants: Positions, options: Positions) -> "HeldOutRates":
        """Those of some applicants and their options."""
        return replace(self, **self.taken(applicants, options))

    def spread(self, whose: Positions, n_applicants: int) -> "HeldOutRates":
        """The same among N applicants, of whom these are the ones at some positions."""
        wide: dict[str, Any] = {name: np.full(n_applicants, np.nan) for name in self.names(APPLICANT)}
        for name, array in wide.items():
            array[whose] = getattr(self, name)
        return replace(self, **wide)

    @classmethod
    def concat(cls, parts: Sequence["HeldOutRates | None"]) -> "HeldOutRates | None":
        """Put rates one after another; None where there are none."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        if len(known) != len(parts) or len({part.n_models for part in known}) != 1:
            raise InvalidInputError("only plans with rates of equally many held-out refits go into one batch")
        return replace(known[0], **cls.joined(known))

    def pack(self) -> dict[str, Any]:
        """Return the arrays by name."""
        names = [*self.names(OPTION), *self.names(APPLICANT)]
        return {"n_models": np.int64(self.n_models), **{name: getattr(self, name) for name in names}}

    @classmethod
    def unpack(cls, arrays: Mapping[str, Any], n_applicants: int, n_options: int) -> "HeldOutRates | None":
        """Read what `pack` returned, for N applicants and M options; None where nothing was packed."""
        if "n_models" not in arrays:
            return None
        rates = cls(int(arrays["n_models"]), **{name: arrays[name] for name in arrays if name != "n_models"})
        rates.read_columns(n_applicants, n_options)
        return rates
