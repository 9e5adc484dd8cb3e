"""Whether a promise was kept by later models: exact binomial tests that know that promises break together."""

import math

KEPT, NOT_KEPT, UNKNOWN, FORECAST = "kept", "not kept", "too few transitions to say", "forecast only"
ERROR = 0.01  # of calling promises broken that were kept, for all transitions together
# One model answers all promises at once: their share varies about five times as much as that of independent ones, so
# that 60 promises tell as much as 12 (docs/moments.md).
PROMISES_PER_ANSWER = 5.0


def answers(n_promises: int) -> int:
    """Independent answers that a number of promises to one model amounts to, at least 1."""
    return max(1, int(n_promises / PROMISES_PER_ANSWER))


def below_promise(share: float, n_answers: int, level: float) -> float:
    """Probability that at most this share of independent answers is favourable, if each is so with `level`.

    Parameters
    ----------
    share : float
        Share of favourable answers that was seen; a number that is not whole is rounded up.
    n_answers : int
    level : float
        What was promised.

    Returns
    -------
    float
        Exact binomial probability: small where the promise was clearly not kept.

    Examples
    --------
    >>> from copa.analysis.verdicts import below_promise
    >>> round(below_promise(0.5, 10, 0.9), 4), below_promise(1.0, 10, 0.9)
    (0.0016, 1.0)
    """
    seen = min(n_answers, math.ceil(share * n_answers - 1e-9))
    return float(
        min(1.0, sum(math.comb(n_answers, k) * level**k * (1.0 - level) ** (n_answers - k) for k in range(seen + 1)))
    )


def is_broken(share: float, n_answers: int, level: float, n_tests: int = 1) -> bool:
    """Whether a share is clearly below what was promised, when so many shares are looked at.

    Parameters
    ----------
    share : float
    n_answers : int
    level : float
    n_tests : int
        Shares looked at: the error that is allowed is divided among them (Bonferroni).
    """
    return below_promise(share, n_answers, level) < ERROR / max(1, n_tests)


def highest_level(n_transitions: int) -> float:
    """Highest level that transitions can support: with n of them, nothing above n / (n + 1) can be seen to be kept."""
    return n_transitions / (n_transitions + 1.0)
