"""
Compiled kernels. Arrays are checked, and the interpreter's lock is released while a kernel works.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def project_points(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], normal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], needed: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], projected: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Project every point (M, F) onto its half-space {normal'x >= needed} and its box, into `projected`.
    """

def lower_bounds(roots: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], reaches: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], tolerance: float, stop: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], reach: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], matrices: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], penalties: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], blocks: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], ceiling: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Solve every plan of a batch and report only what is proven.

    Parameters
    ----------
    roots : (N, J, K) rows whose inner products are the covariances of the options' scores
    means : (N, J) mean scores
    reaches : (N, J) how far each score can be moved at the cost of the whole radius
    tolerance : gap at which a plan counts as solved
    stop : (1,) not zero once the solution is not wanted any more; the plan at work then keeps what is
        proven of it, and those after it are left as they are
    directions, reach : (N, J, n), (N, J); receive the canonical form, n = min(J, K) + 1
    matrices, penalties : (N, n, n), (N,); receive M and g
    blocks : (N, J, n, n); receives the X_j
    weights : (N, J); receives lambda_j
    lower, ceiling : (N,); receive the proven lower and upper value of L*
    """

def surest_mixtures(roots: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], reach_roots: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stop: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], mixtures: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], held: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Find the surest mixture of every plan of a batch.

    Parameters
    ----------
    roots : (N, J, K) rows whose inner products are the covariances of the options' scores
    reach_roots : (N, J, L) rows whose lengths are the options' reaches
    means : (N, J) mean scores
    stop : (1,) not zero once the best mixtures are not wanted any more; plans that are left are then not looked at
    mixtures : (N, J); receives the weights, in the units of the options given
    held : (N,); receives the probability with which the mixture holds in the worst case
    """

def read_applicants(origins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cov: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], margin: float, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], tilts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bounds: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], feasible: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Describe what applicants may do, in moves z = scale * (x - origin) of the free coordinates.

    Parameters
    ----------
    origins : (N, D) applicants
    mean, cov : (D,), (D, D) moments of the parameters
    free, scale : (n,) coordinates that may change, ascending, and their cost weights
    lower, upper : (N, D) boxes
    margin : least mean score
    scores : (N, 3); receives the applicant's mean score, its variance, and what the moves must add to the mean score
    tilts : (N, n); receives half of the variance's slope at the applicant
    bounds : (N, 2, n); receives the box of the moves
    feasible : (N,); receives whether the margin can be reached
    """

def deliver_options(origins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], free: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], margin: float, moves: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    Write options (N, J, D) for the moves (N, J, n): inside the box exactly, fixed coordinates as they are.

    Where rounding, or a margin out of reach, leaves the score short, the option is projected once more.
    """

def lbfgs_descents(problems: object, temperatures: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_steps: int, stop: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], plans: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Project every start onto what is allowed and descend from it, at one temperature after another.

    Parameters
    ----------
    problems : the named tuple of objective/arguments.py
    temperatures : (T,) of the soft minimum, falling
    max_steps : most steps at one temperature
    stop : (1,) not zero once the descents are not wanted any more
    plans : (N, S, J, n) starts of every applicant; receives where they lead to
    values : (N, S); receives their objectives
    """

def interior_point_descents(problems: object, max_steps: int, stop: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], plans: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Descend from every allowed plan to where the objective, with all its kinks, cannot be lowered.

    Parameters
    ----------
    problems : the named tuple of objective/arguments.py
    max_steps : most Newton steps; 0 only puts coordinates onto the bounds and own values that they all but have
    stop : (1,) not zero once the descents are not wanted any more
    plans : (N, S, J, n) plans of every applicant; receives where they lead to
    values : (N, S) their objectives; receives the new ones
    """

def find_plans(problem: object, prices: object, regions: object, starts: object, goals: object, settings: object, found: object) -> None:
    """
    Find the plan of every applicant, and write it to `found`; the named tuples of search/arguments.py.
    """

def nearest_rows(problem: object, regions: object, starts: object, goals: object, targets: object, found: object) -> None:
    """
    Find for every target the row nearest to it that meets the goal (where none does, the nearest attempt).
    """

def compare_halves(problem: object, prices: object, regions: object, starts: object, goals: object, halves: object, found: object) -> None:
    """
    Sum the scores of rows that halves of the data choose for every applicant, by these halves and by the others.
    """

def select_options(prices: object, choice: object) -> None:
    """
    Choose a plan from rows that are known already, by the same criterion as `find_plans`.
    """

def search_trees(problem: object, trees: object, links: object, prices: object, regions: object, codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slack: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], training: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], settings: object, found: object) -> None:
    """
    Search good rows on tree ensembles, and write them to `found`; the named tuples of search/tree_arguments.py.
    """

def prove_tree_row(problem: object, trees: object, links: object, prices: object, regions: object, codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], requirement: object, proof: object) -> None:
    """
    Prove what the first applicant's rows cost at least, and write it to `proof`; named tuples as above.
    """

def leaf_boxes(trees: object, codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], high: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Narrow boxes of codes (M, C) around coded rows (M, C) until no tree comes to another leaf within them.
    """

VARIANTS: int = 24

def lay_out_trees(trees: object, small: object) -> None:
    """
    Write the tests and leaves of small trees to `small`; the named tuples of models/trees/arrays.py, sound.
    """

def score_trees(trees: object, small: object, links: object, codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: int, last: int, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Score coded rows (N, C), from `first` up to `last`, by K tree ensembles, into `scores` (K, N); the named tuples of models/trees/arrays.py, sound.
    """
