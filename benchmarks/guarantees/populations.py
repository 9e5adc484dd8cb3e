"""Populations with a known law: tables of numbers and categories, a rule that says who is favourable, and a schema.

Each is drawn afresh as often as one likes, so that a promise about models on new data can be tried on new data. All
effects were drawn once, from the seed of the population's name, and never changed since.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from copa import Feature, FeatureSchema

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
LARGE = 40_000  # rows from which the ranges, the units and the base rate of a population are taken
INSIDE = (0.5, 99.5)  # percentiles between which options may move a number


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a population.

    Attributes
    ----------
    numbers : ndarray of shape (n, p)
    codes : ndarray of shape (n, c)
        Positions of the levels of the categorical columns.
    favourable : ndarray of shape (n,)
    """

    numbers: Array
    codes: Codes
    favourable: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.favourable)

    def take(self, rows: npt.NDArray[np.intp]) -> "Sample":
        """Some of the rows."""
        return Sample(self.numbers[rows], self.codes[rows], self.favourable[rows])


@dataclass(frozen=True, eq=False)
class Population:
    """A law from which tables are drawn.

    Attributes
    ----------
    name : str
    sizes : tuple of int
        Number of levels of each categorical column.
    draw_rows : callable
        From a number of rows and a generator to numbers (n, p) and codes (n, c).
    effect : callable
        From numbers and codes to log-odds, up to a constant.
    share : float
        Of favourable rows, on average.
    C : float
        Of the logistic regressions trained on it.
    fixed : tuple of int
        Columns that no option changes, numeric ones first.
    """

    name: str
    sizes: tuple[int, ...]
    draw_rows: Callable[[int, np.random.Generator], tuple[Array, Codes]]
    effect: Callable[[Array, Codes], Array]
    share: float = 0.5
    C: float = 1.0
    fixed: tuple[int, ...] = ()

    @cached_property
    def _large(self) -> tuple[Array, Codes]:
        return self.draw_rows(LARGE, generator(self.name, "large"))

    @cached_property
    def constant(self) -> float:
        """What makes the share of favourable rows what it is to be."""
        odds, low, high = self.effect(*self._large), -50.0, 50.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if logistic(odds + middle).mean() < self.share else (low, middle)
        return high

    @property
    def n_numeric(self) -> int:
        """Number of numeric columns."""
        return self._large[0].shape[1]

    @property
    def n_encoded(self) -> int:
        """Number of parameters of a linear model on it, the intercept included."""
        return 1 + self.n_numeric + sum(self.sizes)

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        """A table of n rows, both classes in it."""
        while True:
            numbers, codes = self.draw_rows(n, rng)
            favourable = rng.random(n) < logistic(self.effect(numbers, codes) + self.constant)
            if 0 < favourable.sum() < n:
                return Sample(numbers, codes, favourable)

    @cached_property
    def units(self) -> Array:
        """Standard deviations of the numeric columns, (p,)."""
        units: Array = self._large[0].std(axis=0)
        return units

    @cached_property
    def schema(self) -> FeatureSchema:
        """Ranges of the numbers, and what cannot be changed; units of effort are left to the planner."""
        ends = np.percentile(self._large[0], INSIDE, axis=0)
        features = [
            Feature(f"x{j}", "numeric", lower=float(ends[0, j]), upper=float(ends[1, j]), immutable=j in self.fixed)
            for j in range(self.n_numeric)
        ]
        for c, size in enumerate(self.sizes):
            immutable = self.n_numeric + c in self.fixed
            features.append(Feature(f"c{c}", "categorical", values=level_names(size), immutable=immutable))
        return FeatureSchema(features)

    def frame(self, sample: Sample) -> pd.DataFrame:
        """The rows as a table."""
        columns = {f"x{j}": sample.numbers[:, j] for j in range(self.n_numeric)}
        for c, size in enumerate(self.sizes):
            columns[f"c{c}"] = np.array(level_names(size), dtype=object)[sample.codes[:, c]]
        return pd.DataFrame(columns)


def level_names(size: int) -> tuple[str, ...]:
    """Names of the levels of a categorical column."""
    return tuple(f"l{k:02d}" for k in range(size))


def generator(*words: object) -> np.random.Generator:
    """A stream of random numbers of its own for every combination of words."""
    return np.random.default_rng([zlib.crc32(str(word).encode()) for word in words])


def logistic(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    p: Array = 1.0 / (1.0 + np.exp(-x))
    return p


def _normal(n: int, p: int, correlation: float, rng: np.random.Generator) -> Array:
    """Standard normal numbers, every two columns equally correlated."""
    shared = rng.standard_normal((n, 1))
    own: Array = rng.standard_normal((n, p))
    return np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own


def _levels(n: int, shares: list[Array], rng: np.random.Generator) -> Codes:
    """Levels with given shares, independent of each other."""
    if not shares:
        return np.zeros((n, 0), dtype=np.intp)
    return np.column_stack([rng.choice(len(s), size=n, p=s) for s in shares])


def _even(sizes: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    """Shares of levels that are all common."""
    return [rng.dirichlet(np.full(size, 6.0)) for size in sizes]


def _level_effects(sizes: tuple[int, ...], spread: float, rng: np.random.Generator) -> list[Array]:
    return [spread * rng.standard_normal(size) for size in sizes]


def _of_levels(effects: list[Array], codes: Codes) -> Array:
    total = np.zeros(len(codes))
    for c, effect in enumerate(effects):
        total += effect[codes[:, c]]
    return total


def _linear(
    name: str, p: int, sizes: tuple[int, ...], *, size: float, share: float = 0.5, C: float = 1.0
) -> Population:
    rng = generator(name, "effects")
    slopes, shares, effects = size * rng.standard_normal(p), _even(sizes, rng), _level_effects(sizes, size, rng)
    return Population(
        name,
        sizes,
        lambda n, rng: (_normal(n, p, 0.3, rng), _levels(n, shares, rng)),
        lambda x, codes: x @ slopes + _of_levels(effects, codes),
        share=share,
        C=C,
        fixed=(0, p),
    )


def plain() -> Population:
    """A logistic law, linear in what the model sees."""
    return _linear("plain", 6, (4, 4), size=0.6)


def wide() -> Population:
    """The same with 60 encoded columns."""
    return _linear("wide", 20, (5,) * 8, size=0.35)


def rare_class() -> Population:
    """8 % favourable rows."""
    return _linear("rare class", 8, (5, 5, 5), size=0.5, share=0.08)


def heavy_tails() -> Population:
    """Raw columns with heavy tails: amounts that matter by their logarithm, and some that matter as they are."""
    name, sizes = "heavy tails", (4, 4)
    rng = generator(name, "effects")
    shares, effects = _even(sizes, rng), _level_effects(sizes, 0.5, rng)
    slopes = rng.choice([-1.0, 1.0], 8) * rng.uniform(0.3, 0.9, 8)

    def draw_rows(n: int, rng: np.random.Generator) -> tuple[Array, Codes]:
        latent = _normal(n, 8, 0.2, rng)
        amounts = np.exp(np.array([1.0, 1.2, 1.4, 1.0, 1.6]) * latent[:, :5])
        tails = rng.standard_t(3, size=(n, 3)) + latent[:, 5:]
        return np.column_stack([amounts, tails]), _levels(n, shares, rng)

    def effect(x: Array, codes: Codes) -> Array:
        return np.log(x[:, :5]) @ slopes[:5] + np.tanh(x[:, 5:] / 2.0) @ (2.0 * slopes[5:]) + _of_levels(effects, codes)

    return Population(name, sizes, draw_rows, effect, fixed=(3, 8))


def collinear() -> Population:
    """Pairs of columns with a correlation of .97, of which sometimes one matters and sometimes both."""
    name, sizes = "collinear", (4, 4, 4)
    rng = generator(name, "effects")
    shares, effects = _even(sizes, rng), _level_effects(sizes, 0.5, rng)
    slopes = np.array([0.9, 0.0, -0.8, -0.3, 0.5, 0.4, 0.0, 0.7])

    def draw_rows(n: int, rng: np.random.Generator) -> tuple[Array, Codes]:
        pairs = np.repeat(_normal(n, 4, 0.1, rng), 2, axis=1)
        return np.sqrt(0.97) * pairs + np.sqrt(0.03) * rng.standard_normal((n, 8)), _levels(n, shares, rng)

    return Population(name, sizes, draw_rows, lambda x, codes: x @ slopes + _of_levels(effects, codes), fixed=(8,))


def rare_levels() -> Population:
    """Categories of which most are rare, and all matter."""
    name, sizes = "rare levels", (14, 14, 14)
    rng = generator(name, "effects")
    shares = [rng.permutation(s / s.sum()) for s in (1.0 / np.arange(1.0, 15.0) ** 1.5,) * 3]
    effects, slopes = _level_effects(sizes, 0.8, rng), 0.6 * rng.standard_normal(4)
    return Population(
        name,
        sizes,
        lambda n, rng: (_normal(n, 4, 0.2, rng), _levels(n, shares, rng)),
        lambda x, codes: x @ slopes + _of_levels(effects, codes),
        fixed=(0,),
    )


def misspecified() -> Population:
    """Thresholds, products and an effect that turns: nothing that a linear model can hold."""
    name, sizes = "mis-specified", (3, 4, 5, 6)
    rng = generator(name, "effects")
    shares, effects = _even(sizes, rng), _level_effects(sizes, 0.5, rng)
    slopes = 0.4 * rng.standard_normal(8)

    def effect(x: Array, codes: Codes) -> Array:
        steps = 1.2 * (x[:, 0] > 0.5) - 1.0 * (x[:, 1] < -0.3) + 0.8 * (x[:, 2] > 1.0)
        products = 0.7 * x[:, 3] * x[:, 4] + 0.6 * x[:, 5] * (codes[:, 0] == 1) - 0.6 * x[:, 5] * (codes[:, 1] == 2)
        return x @ slopes + steps + products - 0.35 * x[:, 6] ** 2 + _of_levels(effects, codes)

    return Population(
        name, sizes, lambda n, rng: (_normal(n, 8, 0.3, rng), _levels(n, shares, rng)), effect, fixed=(7, 8), C=0.5
    )


def mixture() -> Population:
    """Held back: three groups of people that differ in everything, in one table that does not name them."""
    name, sizes, p = "mixture of groups", (3, 5, 6), 7
    rng = generator(name, "effects")
    shares = [_even(sizes, rng) for _ in range(3)]
    centres, scales = 1.2 * rng.standard_normal((3, p)), rng.uniform(0.5, 1.8, (3, p))
    slopes, offsets = 0.35 * rng.standard_normal(p) + 0.35 * rng.standard_normal((3, p)), np.array([-1.0, 0.0, 1.2])
    effects = _level_effects(sizes, 0.5, rng)

    def draw_rows(n: int, rng: np.random.Generator) -> tuple[Array, Codes]:
        group = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
        codes = np.stack([_levels(n, shares[g], rng) for g in range(3)])[group, np.arange(n)]
        return centres[group] + scales[group] * rng.standard_normal((n, p)), codes

    def effect(x: Array, codes: Codes) -> Array:
        # The group is not in the table: its average effect at a row is, by Bayes' rule for the numbers.
        gaps = ((x[:, None] - centres) / scales) ** 2
        weight = np.log([0.6, 0.3, 0.1]) - 0.5 * gaps.sum(axis=2) - np.log(scales).sum(axis=1)
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        return (weight * (x @ slopes.T + offsets)).sum(axis=1) + _of_levels(effects, codes)

    return Population(name, sizes, draw_rows, effect, share=0.4, fixed=(1, 8))


def ordered() -> Population:
    """Held back: effects that come in steps, and categories that go together."""
    name, sizes, p = "steps and correlated categories", (5, 5, 6, 7, 8), 5
    rng = generator(name, "effects")
    steps = [np.cumsum(rng.exponential(0.35, size) * rng.choice([1.0, 1.0, -0.5], size)) for size in sizes]
    cuts = rng.uniform(-1.0, 1.0, (p, 2))
    jumps = 0.7 * rng.standard_normal((p, 2))

    def draw_rows(n: int, rng: np.random.Generator) -> tuple[Array, Codes]:
        latent = _normal(n, p + len(sizes), 0.5, rng)
        parts = [1.0 / (1.0 + np.exp(-1.7 * latent[:, p + c])) ** 1.5 for c in range(len(sizes))]
        codes = [np.minimum((size * u).astype(np.intp), size - 1) for size, u in zip(sizes, parts, strict=True)]
        return np.round(10.0 * np.exp(0.6 * latent[:, :p])), np.column_stack(codes)

    def effect(x: Array, codes: Codes) -> Array:
        latent = np.log(np.maximum(x, 0.5) / 10.0) / 0.6
        return _of_levels(steps, codes) + ((latent[:, :, None] > cuts) * jumps).sum(axis=(1, 2))

    return Population(name, sizes, draw_rows, effect, share=0.6, fixed=(0,))


POPULATIONS = (plain, wide, heavy_tails, collinear, rare_levels, rare_class, misspecified)
HELD_BACK = (mixture, ordered)
