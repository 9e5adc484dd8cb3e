"""The radius that version 0.3 took from bootstrap samples, to compare with."""

import numpy as np

import copa


def resampling_radius(classifier, rows, labels, moments, *, n_samples, n_models=20, quantile=0.95):
    """Radius, in standard deviations of retraining, that reaches the moments of typical scores over bootstrap samples.

    It is a quantile, over the rows, of the distances between the moments of one score. Refits vary within a sample, and
    their means between samples.
    """
    rng = np.random.default_rng(0)
    samples = []
    while len(samples) < n_samples:
        drawn = rng.integers(len(rows), size=len(rows))
        if len(np.unique(labels[drawn])) == 2:
            settings = {"n_models": n_models, "random_state": rng}
            samples.append(copa.retrained_parameters(classifier, rows[drawn], labels[drawn], **settings))
    refits = np.stack(samples)
    centres = refits.mean(axis=1)
    within = np.mean([np.cov(sample, rowvar=False) for sample in refits], axis=0)
    # The means of K refits vary by within / K more than the samples' own means.
    cov = within + np.cov(centres, rowvar=False) - within / n_models
    points = np.column_stack([np.ones(len(rows)), rows])

    def spread(matrix):
        return np.sqrt(np.maximum(np.einsum("nd,de,ne->n", points, matrix, points, optimize=True), 0.0))

    unit = spread(moments.cov)
    moved = np.hypot(points @ (centres.mean(axis=0) - moments.mean), spread(cov) - unit)
    return float(np.quantile((moved / unit)[unit > 0.0], quantile, method="inverted_cdf"))
