"""The exact problem of plans in a moment ball: what the kernels are given, and what they find."""

from dataclasses import dataclass

import numpy as np

from copa._core.arrays import Array
from copa._core.kernels import kernel
from copa._core.threads import interruption
from copa.bounds.certificate_list import Proofs
from copa.uncertainty.ambiguity import AmbiguitySet
from copa.uncertainty.score_units import Exponents, Scores

LOWER_BOUNDS = "copa.bounds._kernels.lower:lower_bounds"
SUREST_MIXTURES = "copa.bounds._kernels.mixture:surest_mixtures"
KERNELS = (LOWER_BOUNDS, SUREST_MIXTURES)


@dataclass(frozen=True, eq=False)
class BallSolution:
    """L*, U* and the surest mixtures of N plans of J options in a ball, for the family "any".

    Attributes
    ----------
    proofs : Proofs
    weights : ndarray of shape (N, J)
        The worst distribution's mass against each option.
    lower, ceiling : ndarray of shape (N,)
        L* is proven to lie between these.
    holds, fails : ndarray of shape (N,)
        Guarantees that the mixture `any_mixtures` of the options is accepted, and `upper_mixtures` refused.
    holding, failing : tuple of three ndarray of shape (N,)
        Mean, standard deviation and reach of the score of the first mixture, and of the opposite of the second.
    """

    proofs: Proofs
    weights: Array
    lower: Array
    ceiling: Array
    holds: Array
    fails: Array
    holding: tuple[Array, Array, Array]
    failing: tuple[Array, Array, Array]

    @classmethod
    def of(cls, scores: Scores, tolerance: float) -> "BallSolution":
        """Solve the problem of each plan, one after another.

        Parameters
        ----------
        scores : Scores
            Of N plans of J options.
        tolerance : float
            Gap between the two sides of L* at which a plan counts as solved.
        """
        lower_bounds, surest_mixtures = kernel(LOWER_BOUNDS), kernel(SUREST_MIXTURES)
        means, roots, reach_roots, exponents = scores
        n_plans, n_options, dimension = roots.shape
        proofs, stop = Proofs.empty(n_plans, n_options, dimension), interruption()
        weights, (lower, holds, fails), ceiling = np.zeros_like(means), np.zeros((3, n_plans)), np.ones(n_plans)
        lower_bounds(
            roots,
            means,
            scores.reaches,
            tolerance,
            stop,
            proofs.directions,
            np.empty_like(means),
            proofs.matrices,
            proofs.penalties,
            proofs.blocks,
            weights,
            lower,
            ceiling,
        )
        surest_mixtures(roots, reach_roots, means, stop, proofs.any_mixtures, holds)
        surest_mixtures(roots, reach_roots, -means, stop, proofs.upper_mixtures, fails)
        holding = _mixed(scores, proofs.any_mixtures)
        score, spread, reach = _mixed(scores, proofs.upper_mixtures)
        for mixtures in (proofs.any_mixtures, proofs.upper_mixtures):
            mixtures[:] = _in_given_units(mixtures, exponents)
        return cls(proofs, weights, lower, ceiling, holds, fails, holding, (-score, spread, reach))

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
