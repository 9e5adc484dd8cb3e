"""Promises over 1 to 4 retrainings on dated data: kept before a break, and not called kept after it.

Generated loans (`copa.datasets.make_dated`) of 16 quarters with a break at 2018Q1, 1500 rows a quarter: plans as of
each quarter from the fifth on, with the quarters before as history, level 0.9, confidence 0.95. An option is kept if at
least 90 % of 40 models accept it that are trained on *other* rows of the later quarter. Promises that ended before the
break must be kept at the rate of the confidence; after it, the backtest must not say "kept", and the strictest version
that it names must be of a quarter after the break. SBA loans by fiscal year (a model a year, on the loans of four years
or of all years so far) are judged by the models of the later years, for there are no other rows; as of 2002 there is
one older version, as of 2005 there are four. The models of four years were the ones planned for; those of all years
were added after a look at their result. Efforts are against plans that only the model of that time must accept. Sizes
were settled on the seeds 0 and 1; those reported begin at 10.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from benchmarks.reporting import Row
from benchmarks.timing import timed
from copa.analysis.backtest import Backtest, Version, plan_as_of, read_versions
from copa.data.datasets import DatedLoans, make_dated

N_QUARTERS, BREAK_AT, FIRST, HORIZON = 16, 12, 5, 4
N_ROWS, N_APPLICANTS, N_FRESH = 1500, 25, 40
LEVEL, CONFIDENCE = 0.9, 0.95
FIRST_SEED, N_SEEDS = 10, 6
YEARS, SBA_BREAK = range(2001, 2010), "2006"  # of the versions


@dataclass
class Kept:
    """What became of the options of one rule.

    Attributes
    ----------
    shares : list of tuple
        Retrainings ahead, whether a break lay between, options, and the share of them that was kept.
    efforts : list of tuple
        Mean effort and that of plans that are not robust.
    served : list of float
        Share of the applicants with a plan.
    """

    shares: list[tuple[int, bool, int, float]] = field(default_factory=list)
    efforts: list[tuple[float, float]] = field(default_factory=list)
    served: list[float] = field(default_factory=list)

    def share(self, horizon: int, *, broken: bool) -> float:
        """Share of the options that were kept."""
        own = [(n, share) for h, after, n, share in self.shares if h == horizon and after == broken]
        n = sum(n for n, _ in own)
        return sum(n * share for n, share in own) / n if n else float("nan")

    @property
    def effort(self) -> float:
        """Against plans that are not robust."""
        return sum(own for own, _ in self.efforts) / max(sum(plain for _, plain in self.efforts), 1e-12)

    def in_words(self, *, broken: bool) -> str:
        """Shares after 1, 2, ... retrainings."""
        return " / ".join(f"{self.share(h, broken=broken):.3f}" for h in range(1, HORIZON + 1))


def model_of(schema: copa.FeatureSchema, C: float = 1.0) -> Any:
    levels = [feature.name for feature in schema.features if feature.is_categorical]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), levels), remainder=StandardScaler(), verbose_feature_names_out=False
    )
    return make_pipeline(encoder, LogisticRegression(C=C, max_iter=1000))


def planner_of(model: Any, schema: copa.FeatureSchema, **settings: Any) -> copa.RecoursePlanner:
    given = {
        "guarantee": LEVEL,
        "later_models": copa.LaterModels(confidence=CONFIDENCE, horizon=HORIZON, n_refits=200),
        "n_options": 3,
    }
    return copa.RecoursePlanner(model, schema=schema, random_state=0, n_jobs=1, progress=False, **given | settings)


def fresh_models(model: Any, loans: DatedLoans) -> dict[int, list[Any]]:
    """Models of every quarter that can be asked, on other rows than those that were planned on."""
    from sklearn.base import clone

    drawn = {
        q: [loans.quarter(q, N_ROWS, sample) for sample in range(1, N_FRESH + 1)] for q in range(FIRST, len(loans))
    }
    return {q: [clone(model).fit(data.features, data.favourable) for data in own] for q, own in drawn.items()}


def judge(planner: Any, versions: list[Version], fresh: dict[int, list[Any]], *, dated: bool, kept: Kept) -> None:
    """Plan as of every quarter, and ask fresh models of the later ones."""
    promises = {t: plan_as_of(planner, versions, t, N_APPLICANTS, dated=dated) for t in range(FIRST - 1, BREAK_AT)}
    for p in promises.values():
        kept.served.append(p.start["n_served"] / max(p.start["n_applicants"], 1))
        if p.start["effort"] is not None and p.start["plain_effort"] is not None:
            kept.efforts.append((p.start["effort"], p.start["plain_effort"]))
    for v in range(FIRST, N_QUARTERS):
        for p in [p for t, p in promises.items() if t < v <= t + HORIZON and len(p.options)]:
            accepted = np.mean([model.predict(p.options) for model in fresh[v]], axis=0)
            share = float((accepted >= LEVEL).mean())
            kept.shares.append((v - p.position, p.position < BREAK_AT <= v, len(p.options), share))


def generated(seeds: list[int]) -> tuple[dict[str, Kept], list[Backtest]]:
    rules = {"with history": Kept(), "without history": Kept()}
    backtests = []
    for seed in seeds:
        loans = make_dated(N_QUARTERS, break_at=BREAK_AT, random_state=seed)
        data = loans.quarters(N_ROWS)
        planner = planner_of(model_of(loans.schema).fit(*data[-1]), loans.schema)
        versions, fresh = read_versions(planner, data, [], None, loans.names), fresh_models(planner.model, loans)
        for name, kept in rules.items():
            judge(planner, versions, fresh, dated=name == "with history", kept=kept)
        backtests.append(planner.backtest(history_data=data, names=loans.names, n_applicants=N_APPLICANTS))
    return rules, backtests


def sba(window: int) -> Backtest | None:
    """The backtest on SBA loans, models of so many years; None where the file is not there."""
    from reproduction.data.shifted import SBA_DROPPED, SBA_NUMBERS, read_sba

    try:
        loans = read_sba()
    except copa.DataError as error:
        print(f"SBA loans are left out: {error}")
        return None
    columns = [name for name in (*SBA_NUMBERS, "UrbanRural") if name not in (*SBA_DROPPED, "Recession")]
    schema = copa.FeatureSchema.infer(
        loans[columns],
        immutable=["NoEmp", "New", "UrbanRural"],
        features={"GrAppv": {"step": 1000}, "SBA_Appv": {"step": 1000}},
        rules=["SBA_Appv <= GrAppv"],
    )
    data = []
    for year in YEARS:
        own = loans[loans["ApprovalFY"].between(year - window + 1, year)].reset_index(drop=True)
        data.append((own[columns], own["Default"] == 0))
    planner = planner_of(model_of(schema).fit(*data[-1]), schema)
    names = [str(year) for year in YEARS]
    return planner.backtest(history_data=data, names=names, n_applicants=N_APPLICANTS, first=2)


def run(*, quick: bool) -> list[Row]:
    seeds = list(range(FIRST_SEED, FIRST_SEED + (1 if quick else N_SEEDS)))
    once = timed(lambda: generated(seeds))
    rules, backtests = once.result
    rows = []
    for name, kept in rules.items():
        worst = min(kept.share(h, broken=False) for h in range(1, HORIZON + 1))
        rows.append(
            Row(
                name=f"generated, {name}",
                size=f"{len(seeds)} laws, {len(kept.efforts)} starts",
                seconds=once.seconds / len(rules),
                measured=worst,
                unit="of the options kept before the break, at the worst of 4 horizons",
                at_least=CONFIDENCE if name == "with history" else None,
                status=f"after 1 / 2 / 3 / 4: {kept.in_words(broken=False)}; across the break "
                f"{kept.in_words(broken=True)}",
                accuracy=f"effort {kept.effort:.2f}, {np.mean(kept.served):.2f} of the applicants served",
            )
        )
    named = [_strictest(found) for found in backtests]
    after = [place is not None and place >= BREAK_AT for place in named]
    said = [(found.horizons["verdict"] != "kept").all() for found in backtests]
    rows.append(
        Row(
            name="generated, backtest",
            size=f"{len(backtests)} laws",
            seconds=once.seconds,
            measured=float(np.mean([a and b for a, b in zip(after, said, strict=True)])),
            unit="do not say 'kept', and name a quarter after the break",
            at_least=1.0,
            status="; ".join(", ".join(found.horizons["verdict"]) for found in backtests),
        )
    )
    return [*rows, *sba_rows("four years", 4), *sba_rows("all years so far", 100)]


def sba_rows(what: str, window: int) -> list[Row]:
    once = timed(lambda: sba(window))
    found = once.result
    if found is None:
        return []
    place = found.versions.index
    early = [t for t in found.transitions.itertuples() if place(t.later) < place(SBA_BREAK)]
    horizons = range(1, HORIZON + 1)
    by_horizon = {h: [t for t in early if t.horizon == h] for h in horizons if any(t.horizon == h for t in early)}
    late = [t for t in found.transitions.itertuples() if place(t.start) < place(SBA_BREAK) <= place(t.later)]
    return [
        Row(
            name=f"SBA, {what}, before 2006",
            size=f"{len(early)} transitions, {sum(t.n_promises for t in early)} options",
            seconds=once.seconds,
            measured=min((_mean_accepted(own) for own in by_horizon.values()), default=float("nan")),
            unit="of the options accepted, at the worst horizon that was seen",
            at_least=LEVEL if early else None,
            status="; ".join(
                f"after {h}: {_mean_accepted(own):.3f} of {sum(t.n_promises for t in own)} accepted"
                for h, own in by_horizon.items()
            ),
            accuracy="served: "
            + ", ".join(f"{s.version} {s.n_served} of {s.n_applicants}" for s in found.starts.itertuples()),
        ),
        Row(
            name=f"SBA, {what}, across 2006",
            size=f"{len(late)} transitions, {sum(t.n_promises for t in late)} options",
            seconds=once.seconds,
            measured=_mean_accepted(late),
            unit="of the options accepted",
            status=f"verdicts {', '.join(found.horizons['verdict'])}; strictest {found.horizons.loc[1, 'lowest_at']}",
        ),
    ]


def _strictest(found: Backtest) -> int | None:
    name = found.horizons.loc[1, "lowest_at"]
    return None if name is None else found.versions.index(name)


def _mean_accepted(transitions: list[Any]) -> float:
    return float(np.mean([t.accepted for t in transitions])) if transitions else float("nan")


if __name__ == "__main__":
    import sys

    from benchmarks.reporting import Section

    print(Section("dated", __doc__, run(quick="--quick" in sys.argv)).as_text())
