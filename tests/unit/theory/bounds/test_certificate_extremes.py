"""Certificates with numbers of any size, and data that change behind their back: they never prove too much."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from copa.exceptions import CertificateError
from copa.theory.bounds import validity_bounds
from copa.theory.bounds.canonical import slack_blocks
from oracle.instances import instances

# Verification recomputes sums of a few dozen numbers of size one: it may differ from the kernels in the last digits.
ROUNDING = 1e-12


@pytest.mark.parametrize("size", [1e-308, 1e-200, 1e-100, 1e-30, 1e30, 1e59, 1e200, 1e290])
@pytest.mark.parametrize("field", ["any_mixture", "upper_mixture"])
def test_weights_of_any_size_prove_no_more_than_their_proportions(bounds, field, size):
    plain = replace(bounds.certificate, **{field: np.ones_like(bounds.weights)}).verify()
    with suppress(CertificateError):  # refused: too large to be computed with
        proven = replace(bounds.certificate, **{field: np.full_like(bounds.weights, size)}).verify()
        assert proven.any_lower <= plain.any_lower + ROUNDING
        assert proven.all_upper >= plain.all_upper - ROUNDING


@pytest.mark.parametrize("seed", range(300))
def test_numbers_of_any_size_prove_no_falsehood(seed):
    rng = np.random.default_rng([41, seed])
    instance = list(instances(30, 8))[seed % 30]
    found = validity_bounds(instance.points, instance.mean, instance.cov, instance.radius, instance.drift)
    field = ["matrix", "blocks", "penalty", "any_mixture", "upper_mixture"][seed % 5]
    value = np.array(getattr(found.certificate, field), dtype=float)
    hit = rng.random(value.shape) < rng.choice([0.2, 1.0])
    extreme = rng.choice([-1.0, 1.0], value.shape) * 10.0 ** rng.uniform(-308.0, 308.0, value.shape)
    value = np.where(hit, rng.choice([0.0, 1.0], value.shape) * extreme, value)
    if value.ndim >= 2:
        value = np.tril(value) + np.swapaxes(np.tril(value, -1), -1, -2)
    damaged = replace(found.certificate, **{field: float(value) if value.ndim == 0 else value})
    with suppress(CertificateError):  # refused
        proven = damaged.verify()
        assert 0.0 <= proven.lower <= found.lower + found.gap + ROUNDING
        assert found.lower - ROUNDING <= proven.upper <= 1.0
        assert proven.any_lower <= found.any_lower + 1e-9
        assert proven.all_upper >= found.upper - 1e-9


def test_a_certificate_does_not_change_with_the_callers_arrays():
    points, mean, cov = np.array([[1.0, 0.5], [1.0, -0.2]]), np.array([1.0, 0.3]), 0.1 * np.eye(2)
    certificate = validity_bounds(points, mean, cov, 0.1).certificate
    before = certificate.verify()
    points[:], mean[:], cov[:] = 9.0, -9.0, 0.0
    assert certificate.verify() == before
    with pytest.raises(ValueError, match="read-only"):
        certificate.points[0, 0] = 2.0


@pytest.mark.parametrize("instance", list(instances(20, seed=23)), ids=lambda i: f"J{len(i.points)}-D{i.mean.size}")
def test_a_certificate_on_the_edge_of_feasibility_pays_for_the_rounding_of_its_verifier(instance):
    """Eigenvalues are known to about n eps times the size of their matrix: one that looks like zero may be negative."""
    certificate = validity_bounds(
        instance.points, instance.mean, instance.cov, instance.radius, instance.drift
    ).certificate
    plan = certificate.aligned()
    n = len(certificate.matrix)
    # M + d I adds d to the smallest eigenvalue of the blocks, or less where a reach is short: a few rounds end at zero.
    edge = certificate
    for _ in range(60):
        blocks = slack_blocks(plan.frames, edge.matrix, edge.penalty)
        least = min(np.linalg.eigvalsh(blocks).min(), np.linalg.eigvalsh(edge.matrix)[0])
        edge = replace(edge, matrix=edge.matrix - least * np.eye(n))
    worth = 1.0 - edge.penalty - np.trace(edge.matrix)
    uncertain = n * np.finfo(float).eps * (1.0 + edge.penalty + np.abs(np.diag(edge.matrix)).sum())
    assert edge.verify().lower <= max(0.0, worth - (n + 1 + len(instance.points)) * 4.0 * uncertain)
