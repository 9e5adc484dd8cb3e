"""The exact problem of plans in a moment ball, solved by the kernels: bounds, and the numbers that prove them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.threads import interruption
from copa._kernels import lower_bounds, surest_mixtures
from copa.theory.bounds.canonical import plan_violations
from copa.theory.bounds.certificate import PROOF, BallCertificate, Certificate, proof_shapes
from copa.theory.sets.ambiguity import AmbiguitySet, Exponents, Scores

TOLERANCE = 1e-9  # gap at which a plan counts as solved: a thousandth of what is called tight


@dataclass(frozen=True, eq=False)
class BallSolution:
    """L*, U* and the surest mixtures of N plans of J options in a ball, for the family "any".

    Attributes
    ----------
    directions, matrix, penalty, blocks, any_mixture, upper_mixture : ndarray
        The numbers of each plan's `BallCertificate`, with a leading N.
    weights : ndarray of shape (N, J)
        The worst distribution's mass against each option.
    lower, ceiling : ndarray of shape (N,)
        L* is proven to lie between these.
    holds, fails : ndarray of shape (N,)
        Guarantees that the mixture `any_mixture` of the options is accepted, and `upper_mixture` refused.
    holding, failing : tuple of three ndarray of shape (N,)
        Mean, standard deviation and reach of the score of the first mixture, and of the opposite of the second.
    """

    directions: Array
    matrix: Array
    penalty: Array
    blocks: Array
    any_mixture: Array
    upper_mixture: Array
    weights: Array
    lower: Array
    ceiling: Array
    holds: Array
    fails: Array
    holding: tuple[Array, Array, Array]
    failing: tuple[Array, Array, Array]

    @classmethod
    def of(cls, scores: Scores) -> "BallSolution":
        """Solve the problem of each plan, one after another."""
        means, roots, reach_roots, exponents = scores
        n_plans, n_options, dimension = roots.shape
        shapes, stop = proof_shapes(n_options, dimension), interruption()
        proof: dict[str, Any] = {name: np.zeros((n_plans, *shape)) for name, shape in shapes.items()}
        weights, (lower, holds, fails), ceiling = np.zeros_like(means), np.zeros((3, n_plans)), np.ones(n_plans)
        lower_bounds(
            roots,
            means,
            scores.reaches,
            TOLERANCE,
            stop,
            proof["directions"],
            np.empty_like(means),
            proof["matrix"],
            proof["penalty"],
            proof["blocks"],
            weights,
            lower,
            ceiling,
        )
        any_mixture, upper_mixture = proof["any_mixture"], proof["upper_mixture"]
        surest_mixtures(roots, reach_roots, means, stop, any_mixture, holds)
        surest_mixtures(roots, reach_roots, -means, stop, upper_mixture, fails)
        holding = _mixed(scores, any_mixture)
        score, spread, reach = _mixed(scores, upper_mixture)
        for mixture in (any_mixture, upper_mixture):
            mixture[:] = _in_given_units(mixture, exponents)
        return cls(
            **proof,
            weights=weights,
            lower=lower,
            ceiling=ceiling,
            holds=holds,
            fails=fails,
            holding=holding,
            failing=(-score, spread, reach),
        )

    def mixtures_in(self, ambiguity: AmbiguitySet) -> tuple[Array, Array]:
        """Return the guarantees `holds` and `fails` of the same two mixtures in another set, (N,) each."""
        return ambiguity.guarantee(*self.holding), ambiguity.guarantee(*self.failing)


def _mixed(scores: Scores, mixtures: Array) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and reach, (N,) each, of mixtures (N, J) of options, all in units of their own."""
    roots, reach_roots = (np.einsum("nj,njd->nd", mixtures, rows) for rows in (scores.roots, scores.reach_roots))
    mean: Array = np.einsum("nj,nj->n", mixtures, scores.means)
    return mean, np.linalg.norm(roots, axis=1), np.linalg.norm(reach_roots, axis=1)


def _in_given_units(mixtures: Array, exponents: Exponents) -> Array:
    """Weights (N, J) of options as the caller gave them, from those of options in units 2**exponent; at most 1."""
    digits, sizes = np.frexp(mixtures)
    sizes = np.where(digits > 0.0, sizes - exponents, np.int32(-(2**30)))
    weights: Array = np.ldexp(digits, sizes - sizes.max(axis=1, keepdims=True))
    return weights


def certify(points: Array, ambiguity: AmbiguitySet) -> Certificate:
    """Make the certificate of a plan (J, D): the same numbers whenever, and beside whatever plans, it is asked for."""
    if not ambiguity.in_ball or plan_violations(points[None])[0]:
        return Certificate(points, ambiguity)
    solution = BallSolution.of(ambiguity.scores(points[None]))
    numbers: dict[str, Any] = {name: getattr(solution, name)[0] for name in PROOF}
    return BallCertificate(points, ambiguity, **(numbers | {"penalty": float(numbers["penalty"])}))
