"""What is wrong with the paper's data, counted in the data themselves."""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from reproduction.data import load_shifted

if TYPE_CHECKING:
    from pathlib import Path


def german_facts() -> list[str]:
    """Say how far the corrected German Credit data differ from the original ones."""
    data = load_shifted("german")
    keys = [
        Counter(
            (*row, bool(good))
            for row, good in zip(table.features.itertuples(index=False), table.favourable, strict=True)
        )
        for table in (data.present, data.shifted)
    ]
    same = sum((keys[0] & keys[1]).values())
    return [
        (
            f"German, correction: D1 and D2 are the same {len(data.present)} customers, and {same} of them have the "
            "same five values in both. Almost all of the shift is the noise of retraining. Sound: D2 holds other "
            "customers than D1."
        )
    ]


def sba_facts(folder: "Path | None") -> list[str]:
    """Say what runs backwards and what leaks in the SBA data.

    Raises
    ------
    DataError
        If the file is not there.
    """
    from reproduction.sba_file import read_sba

    data = load_shifted("sba", "paper", folder)
    loans = read_sba(folder)
    late = loans["ApprovalFY"] >= 2006
    agrees = [
        float(((table.features["ChgOffPrinGr"] > 0.0).to_numpy() == table.favourable).mean())
        for table in (data.present, data.shifted)
    ]
    estate = bool(((loans["Term"] >= 240) == (loans["RealEstate"] == 1)).all())
    ratio = loans["SBA_Appv"] / loans["GrAppv"]
    portion = bool(np.allclose(ratio, loans["Portion"], atol=1e-6))
    derived = [
        name
        for name, holds in (("RealEstate is Term >= 240", estate), ("Portion is SBA_Appv / GrAppv", portion))
        if holds
    ]
    return [
        (
            f"SBA, temporal: the shift runs backwards. D1 holds the loans of {loans.loc[late, 'ApprovalFY'].min()} to "
            f"{loans.loc[late, 'ApprovalFY'].max()}, D2 those of {loans.loc[~late, 'ApprovalFY'].min()} to "
            f"{loans.loc[~late, 'ApprovalFY'].max()}. Sound: train on the past."
        ),
        (
            "SBA: the outcome 1 is a default, yet it is treated as the favourable one. Sound: favourable is a loan "
            "that was paid in full."
        ),
        (
            f"SBA: ChgOffPrinGr > 0 tells the outcome of {agrees[0]:.1%} (D1) and {agrees[1]:.1%} (D2) of the loans, "
            "because it is known only after a default; Selected marks the case authors' own split; "
            f"{' and '.join(derived)} in every row. Sound: none of these columns is used."
        ),
    ]


def student_facts() -> list[str]:
    """Say how large the shift between the two schools is."""
    data = load_shifted("student")
    present, shifted = data.present.features, data.shifted.features
    gaps = {
        name: float((shifted[name].mean() - present[name].mean()) / present[name].std(ddof=0))
        for name in ("G1", "G2", "Medu")
    }
    told = ", ".join(f"{name} {gap:+.2f}" for name, gap in gaps.items())
    return [
        (
            f"Student, geospatial: a real shift. Differences of means in standard deviations: {told}; favourable "
            f"outcomes fall from {data.present.favourable.mean():.0%} to {data.shifted.favourable.mean():.0%}."
        )
    ]
