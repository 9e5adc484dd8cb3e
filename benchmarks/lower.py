"""The lower bound L* of one plan, against general conic solvers.

*The paper's program* is Theorem 1 as printed, built with cvxpy and solved by Clarabel (asked for 1e-9). *Problem (P)*
is its canonical form, which does not depend on D, given to Clarabel directly; its time is the solver's own. Ours is the
kernel, the forming of scores from points included, and for comparison the complete `copa.validity_bounds`, which reads
and checks its input, factorises the covariance and returns every bound with its certificate. Of several random plans
with 0.05 < L* < 0.95 the one of median ratio is shown; gaps and differences are the largest of all.
"""

from itertools import islice

from threadpoolctl import threadpool_limits

import copa
from benchmarks.plans import Question, is_interesting, lower_call, questions
from benchmarks.reporting import Row
from benchmarks.timing import Timed, taking_turns, timed
from oracle.paper_programs import OracleValue, canonical_lower, verbatim_lower


def run(*, quick: bool) -> list[Row]:
    with threadpool_limits(1):
        rows = _against_the_paper(n_plans=3 if quick else 9, rounds=1 if quick else 3)
        rows += _against_clarabel(n_options=5, dimension=15, n_plans=5, repeats=20)
        rows += _against_clarabel(n_options=10, dimension=100, n_plans=1 if quick else 3, repeats=10)
        if not quick:
            rows += _against_clarabel(n_options=20, dimension=100, n_plans=2, repeats=5, at_least=200.0)
    return rows


def _interesting_plans(n_plans: int, n_options: int, dimension: int) -> list[Question]:
    drawn = questions(n_options, dimension)
    return list(islice((q for q in drawn if is_interesting(lower_call(q.points, q.ball)[0])), n_plans))


def _median(measured: list[dict[str, Timed]], ours: str, baseline: str) -> dict[str, Timed]:
    """The measurement whose ratio is the median (the lower one of two)."""
    ordered = sorted(measured, key=lambda m: m[baseline].seconds / m[ours].seconds)
    return ordered[(len(ordered) - 1) // 2]


def _against_the_paper(n_plans: int, rounds: int) -> list[Row]:
    measured = []
    for question in _interesting_plans(n_plans, n_options=5, dimension=15):
        ball = question.ball
        measured.append(
            taking_turns(
                {
                    "paper": (lambda q=question: verbatim_lower(*q.arguments), 1),
                    "kernel": (lambda q=question, b=ball: lower_call(q.points, b), 30),
                    "complete": (lambda q=question: copa.validity_bounds(*q.arguments), 30),
                },
                rounds,
            )
        )
    size = f"J = 5, D = 15, {n_plans} plans"
    papers: list[OracleValue] = [m["paper"].result for m in measured]
    status = f"{sum(p.is_optimal for p in papers)} of {n_plans} optimal"
    rows = []
    for ours, name in (("kernel", "L*: scores and kernel"), ("complete", "complete call: all bounds")):
        answers = [_answer(m[ours].result) for m in measured]
        gap = max(gap for _, gap in answers)
        difference = max(abs(a[0] - p.value) for a, p in zip(answers, papers, strict=True))
        middle = _median(measured, ours, "paper")
        shared = {"name": name, "size": size, "seconds": middle[ours].seconds, "status": status}
        accuracy = f"gap {gap:.0e}, differ by {difference:.0e}"
        rows += [
            Row(
                **shared,
                baseline="paper's program, build and solve",
                baseline_seconds=middle["paper"].seconds,
                at_least=1000.0,
                accuracy=accuracy,
            ),
            Row(
                **shared,
                baseline="paper's program, solver only",
                baseline_seconds=middle["paper"].result.seconds,
                accuracy=accuracy,
            ),
        ]
    return rows


def _answer(result: "copa.ValidityBounds | tuple[float, float]") -> tuple[float, float]:
    """Lower bound and gap, from the kernel or from the complete call."""
    return result if isinstance(result, tuple) else (float(result.lower), float(result.gap))


def _against_clarabel(
    n_options: int, dimension: int, n_plans: int, repeats: int, at_least: float | None = None
) -> list[Row]:
    measured, gap, difference, optimal = [], 0.0, 0.0, 0
    for question in _interesting_plans(n_plans, n_options, dimension):
        ball = question.ball
        before = timed(lambda q=question, b=ball: lower_call(q.points, b), repeats)
        baseline = canonical_lower(*question.arguments)
        after = timed(lambda q=question, b=ball: lower_call(q.points, b), repeats)
        ours = Timed(min(before.seconds, after.seconds), after.result)
        measured.append({"ours": ours, "clarabel": Timed(baseline.seconds, baseline)})
        gap = max(gap, ours.result[1])
        difference = max(difference, abs(ours.result[0] - baseline.value))
        optimal += baseline.is_optimal
    middle = _median(measured, "ours", "clarabel")
    return [
        Row(
            name="L*: scores and kernel",
            size=f"J = {n_options}, D = {dimension}, {n_plans} plans",
            seconds=middle["ours"].seconds,
            baseline="problem (P), Clarabel",
            baseline_seconds=middle["clarabel"].seconds,
            at_least=at_least,
            status=f"{optimal} of {n_plans} optimal",
            accuracy=f"gap {gap:.0e}, differ by {difference:.0e}",
        )
    ]
