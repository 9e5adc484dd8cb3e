"""The upper bound U* and the bound for "at least one option holds", against the paper's Theorem 2.

The baseline is Theorem 2's program as printed, built with cvxpy and solved by Clarabel (asked for 1e-9); for
"at least one" it is given the options with their signs turned. The mean rejects some options and accepts others. Ours
includes the forming of scores from points. Of several random plans with bounds in (0.05, 0.95) the one of median ratio
is shown; the difference is the largest of all.
"""

from collections.abc import Callable
from itertools import islice

from threadpoolctl import threadpool_limits

from benchmarks.plans import Question, any_call, is_interesting, questions, upper_call
from benchmarks.reporting import Row
from benchmarks.timing import taking_turns
from oracle.paper_programs import verbatim_upper

N_OPTIONS, DIMENSION = 5, 15


def run(*, quick: bool) -> list[Row]:
    n_plans, rounds = (3, 1) if quick else (9, 3)
    rows = []
    with threadpool_limits(1):
        for name, bound in (("U*", upper_call), ("at least one", any_call)):
            drawn = questions(N_OPTIONS, DIMENSION, rejected=True)
            chosen = list(islice((q for q in drawn if is_interesting(bound(q.points, q.ball))), n_plans))
            rows.append(_compare(name, bound, chosen, rounds))
    return rows


def _compare(name: str, bound: Callable[..., float], chosen: list[Question], rounds: int) -> Row:
    def paper(question: Question) -> tuple[float, bool]:
        if bound is upper_call:
            answer = verbatim_upper(*question.arguments)
            return answer.value, answer.is_optimal
        answer = verbatim_upper(-question.points, *question.arguments[1:])
        return 1.0 - answer.value, answer.is_optimal

    measured = []
    for question in chosen:
        ball = question.ball
        measured.append(
            taking_turns(
                {
                    "paper": (lambda q=question: paper(q), 1),
                    "ours": (lambda q=question, b=ball: bound(q.points, b), 200),
                },
                rounds,
            )
        )
    difference = max(abs(m["ours"].result - m["paper"].result[0]) for m in measured)
    optimal = sum(m["paper"].result[1] for m in measured)
    middle = sorted(measured, key=lambda m: m["paper"].seconds / m["ours"].seconds)[(len(measured) - 1) // 2]
    return Row(
        name=name,
        size=f"J = {N_OPTIONS}, D = {DIMENSION}, {len(chosen)} plans",
        seconds=middle["ours"].seconds,
        baseline="paper's program, build and solve",
        baseline_seconds=middle["paper"].seconds,
        at_least=2000.0,
        status=f"{optimal} of {len(chosen)} optimal",
        accuracy=f"differ by {difference:.0e}",
    )
