"""One block of applicants, from their rows to their plans: searched, judged, and bounded as delivered."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.words import ALREADY_VALID, ERROR, FRAGILE, INFEASIBLE, OK, TIME_LIMIT, counted, rounded_down, shown
from copa.data.schema import FeatureSchema
from copa.data.schema.columns import ReadTable
from copa.data.schema.support import LEAST_ROWS, count_withheld, how_to_offer
from copa.exceptions import InvalidInputError
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.planner.search.arguments import Outcome
from copa.planner.search.problem import as_levels
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.options import Flags, Found, Options
from copa.plans import PlanBasis, PlanBatch, PlanRequest
from copa.plans.records import ExpectedRates, Intervals
from copa.plans.wording import OBSTACLE
from copa.theory.bounds import ValidityBounds, bound_plans
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.refit_scores import RefitScores

if TYPE_CHECKING:
    import pandas as pd

Texts = npt.NDArray[np.object_]
BLOCK = 512  # applicants whose rows are held at once
REFUSED_BY_MODEL = "today's model does not accept it"


@dataclass(frozen=True, eq=False)
class Delivered:
    """Plans of N applicants, judged and bounded. Made by `deliver` alone."""

    options: Options  # the rows that leave
    bounds: ValidityBounds
    ambiguity: AmbiguitySet  # that the bounds hold for
    reached: Flags  # (N,), where the guarantee, or the expected rate, asked for holds
    best: Array  # (N,), highest guarantee, or expected rate, of the options; 0 without options
    refused: dict[int, list[str]]  # reasons, of applicants with options that were refused
    implausible: Array  # (N,), greatest plausibility of options dropped for want of it; NaN where none was
    reliability: Array  # (N,), of scores within each applicant's limits; NaN where it is not known


def deliver(
    strategy: Strategy,
    origins: "pd.DataFrame | ReadTable",
    options: Options,
    request: PlanRequest,
    n_jobs: int | None,
    *,
    keep_refused: bool = False,
) -> Delivered:
    """Drop options that the schema or the model refuses or that are not plausible enough, and bound the rest.

    The constraints are about the applicants in `origins` (N rows). With `keep_refused` no option is dropped: an audit
    bounds all of them.
    """
    if options.model is not strategy.model:
        raise InvalidInputError("options must be evaluated by the model in force; make them with `write_options`")
    n, ambiguity = len(origins), strategy.ambiguity(request.n_options)
    refused: dict[int, list[str]] = {}
    implausible = np.full(n, np.nan)
    if not keep_refused:
        applicants = ReadTable.of(origins)
        allowed = strategy.schema.obeys(applicants, options.rows, options.owner)
        good = allowed & options.accepted
        if not good.all():
            refused = _reasons(strategy, applicants.frame, options.take(~good))
            options = options.take(good)
        low = options.plausibility < request.plausibility  # not where it is unknown: then nothing is asked of it
        np.fmax.at(implausible, options.owner[low], options.plausibility[low])
        options = options.take(~low)
    bounds = bound_plans(ambiguity, options.points, options.owner, n, n_jobs)
    if not keep_refused and request.level is not None and not (bounds.option_lower > 0.0).all():
        options = options.take(bounds.option_lower > 0.0)  # nothing is no promise
        bounds = bound_plans(ambiguity, options.points, options.owner, n, n_jobs)
    reliability = np.full(n, np.nan)
    if options.reliability is not None:
        reliability[options.owner] = options.reliability
    asked, enough = bounds, np.full(n, not strategy.shortage) & ~(reliability < LEAST_RELIABILITY)
    if request.expected:
        expecting = strategy.expecting()
        law, points = expecting.ambiguity(request.n_options), expecting.deducted(options.points, options.reliability)
        asked, enough = bound_plans(law, points, options.owner, n, n_jobs), np.ones(n, dtype=np.bool_)
    best = np.zeros(n)
    np.maximum.at(best, options.owner, asked.option_lower)
    reached = _reaches(asked, options.owner, request) & enough
    return Delivered(options, bounds, ambiguity, reached, best, refused, implausible, reliability)


def _reaches(bounds: ValidityBounds, owner: Indices, request: PlanRequest) -> Flags:
    """Flag the plans with options that reach the probability asked for: each, all or any of them, (N,)."""
    n = len(bounds.lower)
    lowest = np.ones(n)
    np.minimum.at(lowest, owner, bounds.option_lower)
    value = {"each": lowest, "all": bounds.lower, "any": bounds.any_lower}[request.guarantee_for]
    return np.asarray((np.bincount(owner, minlength=n) > 0) & (value >= request.guarantee))


def _reasons(strategy: Strategy, origins: "pd.DataFrame", refused: Options) -> dict[int, list[str]]:
    """Return the reasons for which rows are refused, by applicant, each reason once."""
    reasons: dict[int, list[str]] = {}
    of_rows = reasons_against(strategy, origins.iloc[refused.owner], refused.table)
    for i, reason in zip(refused.owner.tolist(), of_rows, strict=True):
        if reason not in reasons.setdefault(i, []):
            reasons[i].append(reason)
    return reasons


def reasons_against(strategy: Strategy, origins: "pd.DataFrame", refused: "pd.DataFrame") -> list[str]:
    """Say of each refused row what the schema has against it for the applicant in `origins`, else the model."""
    return ["; ".join(words) or REFUSED_BY_MODEL for words in strategy.schema.violations(origins, refused)]


def _status_of_each(
    strategy: Strategy,
    applicants: Applicants,
    found: Found,
    delivered: Delivered,
    request: PlanRequest,
    run: Execution,
) -> tuple[Texts, Texts]:
    """Return statuses and messages of applicants for whom a plan was sought."""
    n, plans = len(applicants), found.plans
    counts = np.bincount(delivered.options.owner, minlength=n)
    n_found = np.bincount(found.options.owner, minlength=n)
    # Not those whose options are accepted today and have no guarantee.
    without = (counts == 0) & np.array([i in delivered.refused or n_found[i] == 0 for i in range(n)], dtype=bool)
    late = plans.outcomes == Outcome.TIMED_OUT
    plausible = np.fmax(plans.plausible, delivered.implausible)  # of the best row that is not plausible enough
    implausible = (counts == 0) & ~late & ~np.isnan(plausible)
    unreachable = ((plans.outcomes == Outcome.UNREACHABLE) | (~late & without)) & ~implausible
    verdicts = [late, unreachable | implausible, delivered.reached]
    status = np.select(verdicts, [TIME_LIMIT, INFEASIBLE, OK], FRAGILE).astype(object)
    message = np.full(n, "", dtype=object)
    if implausible.any():
        concerned = applicants.take(np.flatnonzero(implausible))
        message[implausible] = _implausibility(strategy, concerned, plausible[implausible], request)
    message[late] = "the time limit ended before this applicant's turn"
    fewer = (status == OK) & (counts < request.n_options)
    for i in np.flatnonzero(fewer).tolist():
        kind = "" if np.isnan(plausible[i]) else " plausible"
        several = f"{counts[i]}{kind} options that differ in what is done were"
        number = f"1{kind} option was" if counts[i] == 1 else several
        message[i] = f"only {number} found, {request.n_options} were asked for{_refusals(delivered.refused.get(i))}"
    aimless = (status == FRAGILE) & np.isnan(plans.highest)
    message[aimless] = f"the objective asks for no guarantee, and this plan does not reach {request.guarantee:g}"
    blocked = failed = np.flatnonzero(unreachable | ((status == FRAGILE) & ~aimless))
    if not request.expected:  # where a shortage says it all, nothing is searched for
        shortages = strategy.shortages(delivered.reliability)
        short = (status == FRAGILE) & (shortages != "")
        message[short] = shortages[short]
        blocked = blocked[~short[blocked]]
    if len(blocked):
        levels = np.where(unreachable, -1.0, request.guarantee)[blocked]
        message[blocked] = strategy.explain(applicants.take(blocked), plans.take(blocked), levels, request, run)
        fragile = blocked[(status[blocked] == FRAGILE) & (counts[blocked] > 0)]
        message[fragile] += [_below_highest(delivered, plans.highest[i], i) for i in fragile.tolist()]
    if not request.expected and ((status == FRAGILE) & ~short).any():
        _name_obstacles(delivered.ambiguity, found.options, request, (status == FRAGILE) & ~short, message)
    for i in np.flatnonzero(unreachable).tolist():
        message[i] = _stuck(strategy, applicants, i) + message[i] + _refusals(delivered.refused.get(i))
    remedy = how_to_offer(strategy.schema.features)
    for i, count in zip(failed.tolist(), _count_withheld(strategy, applicants.regions.own[failed]), strict=True):
        if count:
            rare = f"with fewer than {LEAST_ROWS} training rows: {counted(count, 'value')}"
            message[i] += f". Not offered, {rare} ({remedy})"
    return status, message


def _below_highest(delivered: Delivered, highest: float, i: int) -> str:
    """Say what the options of a fragile plan reach, where that is less than the highest level found."""
    best = rounded_down(delivered.best[i])
    if best == rounded_down(highest):
        return ""
    return (
        f". The options of this plan reach {best} at most, because they are also chosen for little effort and for "
        f"being different{_refusals(delivered.refused.get(i))}"
    )


def _name_obstacles(
    ambiguity: AmbiguitySet, options: Options, request: PlanRequest, fragile: Flags, message: Texts
) -> None:
    """Add to messages of fragile plans whether the radius or the family keeps the best option below the level."""
    others = {}
    if ambiguity.radius > 0.0:
        others[f"the radius of {ambiguity.radius:.3g}: at radius 0"] = replace(ambiguity, radius=0.0)
    if not isinstance(ambiguity, RefitScores) and ambiguity.family != "gaussian":
        others[f"the family {ambiguity.family!r}: with family='gaussian'"] = replace(ambiguity, family="gaussian")
    # Where one option reaches the level already, its radius is not what is in the way.
    concerned = fragile & (_best_of_each(ambiguity, options, len(message)) < request.guarantee)
    best = {what: _best_of_each(other, options, len(message)) for what, other in others.items()}
    for i in np.flatnonzero(concerned).tolist():
        reached = [what for what in others if best[what][i] >= request.guarantee]
        words = "; and ".join(f"{what} an option would have {rounded_down(best[what][i])}" for what in reached)
        message[i] += f". {OBSTACLE} {words}" if words else ""


def _best_of_each(ambiguity: AmbiguitySet, options: Options, n_applicants: int) -> Array:
    """Return the highest guarantee of each applicant's options, (N,); 0 without any."""
    best = np.zeros(n_applicants)
    np.maximum.at(best, options.owner, ambiguity.option_guarantees(options.points))
    return best


def _count_withheld(strategy: Strategy, rows: Array) -> list[int]:
    """Count the values that applicants with rows (N, F) are not offered for want of training rows, (N,)."""
    space, total = strategy.space, np.zeros(len(rows), dtype=np.int64)
    for f, feature in space.categorical if len(rows) else ():
        own = as_levels(rows[:, f]) - space.starts[f]
        total += np.append(count_withheld(feature), len(feature.withheld))[own]  # the last: from a missing value
    return [int(count) for count in total]


def _implausibility(strategy: Strategy, applicants: Applicants, best: Array, request: PlanRequest) -> list[str]:
    """Say how plausible the best row found is for applicants without plausible options, and their own rows."""
    own = strategy.space.plausibility_of(applicants.table)
    return [
        f"the most plausible accepted row that was found has a plausibility of {rounded_down(found)}, and "
        f"{request.plausibility:g} is asked for; this applicant's own row has {rounded_down(mine)} "
        "(plausibility=0 lifts this)"
        for found, mine in zip(best.tolist(), own.tolist(), strict=True)
    ]


def _refusals(reasons: list[str] | None) -> str:
    """Say why options that were found were refused; "" without reasons."""
    return f". Found but refused: {' | '.join(reasons)}" if reasons else ""


def _stuck(strategy: Strategy, applicants: Applicants, i: int) -> str:
    """Name the columns in which an applicant is outside the range and cannot come inside."""
    space, regions = strategy.space, applicants.regions
    held = [(feature, regions.own[i, f]) for f, feature in enumerate(space.numeric) if not regions.open_numbers[i, f]]
    for f, feature in space.categorical:
        own = int(regions.own[i, f]) - space.starts[f]
        ranged = (feature.lower is not None or feature.upper is not None) and own < len(feature.values or ())
        if ranged and regions.allowed[i, space.levels(f)].sum() == 1:
            held.append((feature, feature.numbers[own]))
    stuck = []
    for feature, own in held:
        if feature.is_special(own):
            continue
        way = f"may only {feature.direction}" if feature.direction != "both" else "nothing in its range can be reached"
        if feature.upper is not None and own > feature.upper:
            stuck.append(f"{feature.heading} is {own:.15g}, above its upper limit of {feature.upper:.15g}, and {way}")
        if feature.lower is not None and own < feature.lower:
            stuck.append(f"{feature.heading} is {own:.15g}, below its lower limit of {feature.lower:.15g}, and {way}")
    return f"{'; '.join(stuck)}: it can only stay as it is. Then " if stuck else ""


def plan_block(strategy: Strategy, table: "pd.DataFrame", request: PlanRequest, run: Execution) -> PlanBatch:
    """Plan for the applicants of a table; those with bad rows and those accepted already get a status."""
    started = perf_counter()
    n, read = len(table), read_rows(strategy, table)
    message = read.messages
    status = np.where(message != "", ERROR, "").astype(object)
    accepted = strategy.model.accepts_directly(read.rows)
    valid, declined = read.good[accepted], read.good[~accepted]
    if len(valid):
        status[valid] = ALREADY_VALID
        rows, encoded = read.rows.take(np.flatnonzero(accepted)), read.encoded[accepted]
        points = strategy.points(rows, np.arange(len(valid)), 1, run.n_jobs, encoded)
        guarantees = strategy.ambiguity(1).option_guarantees(points)
        message[valid] = [
            f"accepted today as it is; {strategy.shortage}"
            if strategy.shortage
            else f"accepted today as it is, and by the next model with probability at least {rounded_down(p)}"
            for p in guarantees
        ]
    run.advance(n - len(declined))
    rows = read.rows.take(np.flatnonzero(~accepted)) if len(valid) else read.rows
    applicants = strategy.read_applicants(rows, read.encoded[~accepted], n_jobs=run.n_jobs, deadline=run.deadline)
    searched = strategy.expecting() if request.expected else strategy
    found = searched.build(applicants, request, run)
    delivered = deliver(strategy, applicants.origins, found.options, request, run.n_jobs)
    if applicants.reliability is not None:  # also of those without options
        delivered = replace(delivered, reliability=applicants.reliability)
    highest = np.where(found.plans.highest == 0.0, delivered.best, found.plans.highest)  # 0: the strategy left it open
    found = replace(found, plans=found.plans._replace(highest=highest))
    rates = strategy.expected_rates(delivered.options, len(applicants), run.n_jobs, found.fidelity)
    intervals = searched.intervals(applicants, delivered.options, request, run)
    status[declined], message[declined] = _status_of_each(searched, applicants, found, delivered, request, run)
    highest = _spread(np.where(delivered.reached, np.nan, highest), declined, n, np.nan)
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    verdicts = (status, message, highest, seconds)
    return assemble(table, declined, delivered, verdicts, request, strategy.basis, rates, intervals)


class CheckedRows(NamedTuple):
    """Rows of a table after their check: messages, and the good ones encoded."""

    messages: Texts  # (N,), "" for a good row
    good: Indices  # (G,), positions of the good rows
    rows: ReadTable  # these G rows
    encoded: Array  # (G, k), by `Strategy.encode`


def read_rows(strategy: Strategy, rows: "pd.DataFrame | ReadTable", schema: FeatureSchema | None = None) -> CheckedRows:
    """Check and encode rows; the schema is the strategy's, unless another one is given."""
    table, schema = ReadTable.of(rows), strategy.schema if schema is None else schema
    messages = np.array(schema.check(table), dtype=object)
    good = np.flatnonzero(messages == "")
    table = table if len(good) == len(table) else table.take(good)
    try:
        encoded = strategy.encode(table)
    except Exception:  # noqa: BLE001 - a transformer raises what it likes; the message of each row says what it was
        encoded = _encode_each(strategy, table.frame, messages, good)
    else:
        messages[good[~np.isfinite(encoded).all(axis=1)]] = (
            "the pipeline encodes this row with a missing or infinite number; fill it in, or impute it"
        )
    kept = messages[good] == ""
    if not kept.all():
        table, good, encoded = table.take(np.flatnonzero(kept)), good[kept], encoded[kept]
    return CheckedRows(messages, good, table, encoded)


def _encode_each(strategy: Strategy, rows: "pd.DataFrame", messages: Texts, where: Any) -> Array:
    """Encode rows one by one, so that a bad row gets a message and does not fail the others."""
    width = strategy.encode(rows.iloc[:0]).shape[1]
    encoded = np.full((len(rows), width), np.nan)
    for k, i in enumerate(where.tolist()):
        row = rows.iloc[[k]]
        try:
            encoded[k] = strategy.encode(row)[0]
        except Exception as error:  # noqa: BLE001 - as above
            messages[i] = f"row {shown(row.index[0])}: the pipeline refuses it ({type(error).__name__}: {error})"
            continue
        if not np.isfinite(encoded[k]).all():
            messages[i] = f"row {shown(row.index[0])}: a missing or infinite number remains"
    return encoded


def assemble(
    table: "pd.DataFrame",
    whose: Any,
    delivered: Delivered,
    verdicts: tuple[Texts, Texts, Array, Array],
    request: PlanRequest,
    basis: PlanBasis,
    rates: ExpectedRates | None = None,
    intervals: Intervals | None = None,
) -> PlanBatch:
    """Make a batch of N applicants from the delivered rows of some, at positions `whose`, and the verdicts on all.

    The verdicts are status, message, highest level found and seconds; rates and intervals are of the options delivered.
    """
    options, bounds, n = delivered.options, delivered.bounds, len(table)
    status, message, highest, seconds = verdicts
    return PlanBatch(
        applicants=table,
        options=options.table,
        owner=np.asarray(whose, dtype=np.int64)[options.owner],
        status=status.astype(str),
        message=message.astype(str),
        effort=options.effort,
        change_effort=options.change_effort,
        plausibility=options.plausibility,
        accepted=options.accepted,
        option_lower=bounds.option_lower,
        option_weights=bounds.weights,
        lower=_spread(bounds.lower, whose, n, 0.0),
        upper=_spread(bounds.upper, whose, n, 1.0),
        any_lower=_spread(bounds.any_lower, whose, n, 0.0),
        gap=_spread(bounds.gap, whose, n, 1.0),
        highest_level=highest,
        points=options.points,
        reliability=_spread(delivered.reliability, whose, n, np.nan),
        ambiguity=delivered.ambiguity,
        seconds=seconds,
        request=request,
        basis=basis,
        **_rates_of_all(rates, whose, n),
        **({} if intervals is None else intervals._asdict()),
    )


def _rates_of_all(rates: ExpectedRates | None, whose: Any, n: int) -> dict[str, Any]:
    """Return columns of a batch of N applicants from the rates of some of them."""
    if rates is None:
        return {}
    per_applicant = ("all_rate", "any_rate", "fidelity")
    return rates._asdict() | {name: _spread(getattr(rates, name), whose, n, np.nan) for name in per_applicant}


def _spread(values: Array, whose: Any, n: int, otherwise: float) -> Array:
    """Return values of some applicants among all N."""
    result = np.full(n, otherwise)
    result[whose] = values
    return result
