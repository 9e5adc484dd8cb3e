"""Tests of the rule behind `confidence`, on populations whose next models are known: its benchmark wrote the table."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.location_set import LocationSet

TESTED_LEVELS = (0.8, 0.95)
TESTED_ROWS = (300, 3000)


@dataclass(frozen=True)
class TestedRule:
    """Options promised on generated training samples, and judged by models trained on fresh samples.

    Attributes
    ----------
    confidence : float
        Confidence that they were planned with.
    n_samples, n_populations : int
        Training samples that delivered options at one of the levels tested, and the laws that they were drawn from.
    kept : float
        Share of the options delivered that the promised share of fresh models accept, averaged over samples and levels.
    samples_below : float
        Share of the samples, each at each level, in which fewer than 95 % of the options were kept.
    worst : float
        Share kept in the worst sample, at its worst level, of those with at least 10 options.
    """

    __test__ = False  # not a test of pytest's

    confidence: float
    n_samples: int
    n_populations: int
    kept: float
    samples_below: float
    worst: float

    def in_words(self) -> str:
        """Return the results as a sentence; shares are rounded towards the less flattering side."""
        return (
            f"Tested for logistic regressions at confidence {self.confidence:g} and levels from 0.8 to 0.95 on "
            f"{self.n_samples} training samples of {self.n_populations} generated populations: on average "
            f"{int(1000 * self.kept) / 10:g} % of the options delivered met this; in "
            f"{-int(-1000 * self.samples_below // 1) / 10:g} % of the samples fewer than 95 % did, at worst "
            f"{int(100 * self.worst)} %."
        )


@cache
def tested_rules() -> tuple[TestedRule, ...]:
    """Return the rows of the table, by confidence."""
    rows = json.loads(files("copa.plans").joinpath("tested.json").read_text(encoding="utf-8"))["rules"]
    return tuple(sorted((TestedRule(**row) for row in rows), key=lambda rule: rule.confidence))


def tested_rule(confidence: float) -> TestedRule | None:
    """Return the row of the largest confidence up to the given one; None where there is none so low."""
    below = [rule for rule in tested_rules() if rule.confidence <= confidence + 1e-9]
    return below[-1] if below else None


def is_tested(ambiguity: AmbiguitySet) -> bool:
    """Return whether a set is of the kind that was tested: one score at a time, unimodal."""
    return type(ambiguity) is LocationSet and ambiguity.family == "unimodal" and not ambiguity.simultaneous
