"""What the authors' published program does where the paper does not say, or says otherwise: training, and its own seed.

It trains logistic regressions by full-batch gradient steps from random weights, on the sum of the losses, with a small
weight decay. A fit ends after a number of steps, or after five steps in a row that lower the loss by less than 1e-5.

It scales numbers by their ranges in D1 and D2 together. For SBA and Student its models have the numbers in
alphabetical order, while the names that it gives to DiCE are in the order of the file. So DiCE weighs the changes of
each number as if it were another one, and proximity is measured from an applicant whose numbers are in each other's
places.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reproduction.data.encoding import Array, Encoding
from reproduction.data.shifted import Table

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case
    from reproduction.data.shifted import ShiftedData

RATE, DECAY = 0.005, 1e-3
PATIENCE, IMPROVEMENT = 5, 1e-5
REFIT_STEPS, DEPLOYED_STEPS = 200, 2000
ASKED_STEPS = 1500  # what the program asks of its refits; its training does not take the number, and does 200
BATCH_SIZE = 50  # models at a time, so that their numbers stay in the processor's cache

SEED = 124
SPLIT_SEED, HELD_OUT = 1, 0.2
SORTED = ("sba", "student")  # where the order of the file is not that of the models


def train_stopped(
    rows: Array, good: Array, *, n_models: int, fraction: float, steps: int, rng: np.random.Generator
) -> Array:
    """Train models on random subsets.

    Parameters
    ----------
    rows : ndarray of shape (n, D)
        Vectors, the intercept first.
    good : ndarray of shape (n,)
        Outcomes, 1 for the favourable one.
    n_models : int
    fraction : float
        Share of the rows in each subset.
    steps : int
        At most so many.
    rng : Generator

    Returns
    -------
    ndarray of shape (n_models, D)
        Parameters.
    """
    inside, start = random_starts(rows, n_models=n_models, fraction=fraction, rng=rng)
    chunks = [slice(k, k + BATCH_SIZE) for k in range(0, n_models, BATCH_SIZE)]
    return np.vstack([train_from(rows, good, inside[chunk], start[chunk], steps)[0] for chunk in chunks])


def random_starts(rows: Array, *, n_models: int, fraction: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw subsets, (n_models, n) with 1 for a row inside, and weights to start from, (n_models, D)."""
    n, dimension = rows.shape
    size = round(fraction * n)
    inside = np.zeros((n_models, n))
    for k in range(n_models):
        inside[k, rng.permutation(n)[:size]] = 1.0
    return inside, rng.uniform(-1.0, 1.0, (n_models, dimension)) / np.sqrt(dimension - 1)


def train_from(rows: Array, good: Array, inside: Array, start: Array, steps: int) -> tuple[Array, npt.NDArray[np.intp]]:
    """Train models from `start` (m, D), each on the rows that `inside` (m, n) marks by 1.

    Returns
    -------
    parameters : ndarray of shape (m, D)
    steps : ndarray of shape (m,), int
        How many each took.
    """
    from scipy.special import expit

    theta = start.copy()
    before, idle = np.zeros(len(theta)), np.zeros(len(theta), dtype=int)
    going, taken = np.arange(len(theta)), np.zeros(len(theta), dtype=np.intp)
    for _ in range(steps):
        odds = theta[going] @ rows.T
        loss = (inside[going] * (np.logaddexp(0.0, odds) - good * odds)).sum(axis=1)
        theta[going] -= RATE * ((inside[going] * (expit(odds) - good)) @ rows + DECAY * theta[going])
        taken[going] += 1
        idle[going] = np.where(before[going] - loss <= IMPROVEMENT, idle[going] + 1, 0)
        before[going] = loss
        going = going[idle[going] < PATIENCE]
        if going.size == 0:
            break
    return theta, taken


def both_tables(data: "ShiftedData") -> Table:
    """D1 and D2 in one table."""
    import pandas as pd

    features = pd.concat([data.present.features, data.shifted.features], ignore_index=True)
    return Table(features, np.concatenate([data.present.favourable, data.shifted.favourable]))


def both_ranges(data: "ShiftedData") -> Encoding:
    """Return the encoding in which 0 and 1 are the ends of a number's range in D1 and D2 together."""
    return Encoding.of(both_tables(data).features)


def program_numbers(case: "Case") -> tuple[str, ...]:
    """Names of the numbers in the order of the program's models."""
    names = case.encoding.numbers
    return tuple(sorted(names)) if case.data.name in SORTED else names


def random_start(n_inputs: int, seed: int) -> Array:
    """Return the intercept and weights, (1 + n_inputs,), that a linear layer of torch has after `manual_seed(seed)`.

    Its generator is the Mersenne twister; a uniform number is made of the last 24 bits, weights first.
    """
    twister = np.random.RandomState(seed)  # the same stream as torch
    bits = twister.randint(0, 2**32, size=n_inputs + 1, dtype=np.uint32) % 2**24
    drawn = (2.0 * bits / 2**24 - 1.0) / np.sqrt(n_inputs)
    return np.concatenate([drawn[-1:], drawn[:-1]])


def program_classifier(case: "Case") -> tuple[Array, int]:
    """Train the deployed classifier from the program's start on the program's rows; return it (D,) and its steps."""
    rows, good = case.encoding.encode(case.data.present.features), case.data.present.favourable
    inside = np.zeros((1, len(rows)))
    inside[0, _split(case)[0]] = 1.0
    start = np.zeros((1, rows.shape[1]))
    start[0, _program_coordinates(case)] = random_start(rows.shape[1] - 1, SEED + 7)
    theta, steps = train_from(rows, good.astype(np.float64), inside, start, DEPLOYED_STEPS)
    return theta[0], int(steps[0])


def program_applicants(case: "Case", theta: Array) -> "pd.DataFrame":
    """Return up to `n_applicants` declined rows of D1: those that were held out come first."""
    training, held_out = _split(case)
    order = np.concatenate([held_out, training])
    people = case.data.present.features.iloc[order]
    return people[case.encoding.encode(people) @ theta < 0.0].head(case.settings.n_applicants)


def program_noise(case: "Case") -> Array:
    """Return what the program adds to every applicant to start COPA, (J, D): the same for all of them."""
    twister = np.random.RandomState(SEED + 3)  # the stream of the program
    drawn = twister.standard_normal((case.settings.n_options, case.encoding.dimension))
    noise = np.zeros_like(drawn)
    noise[:, _program_coordinates(case)] = drawn
    return noise


def displaced(case: "Case", rows: Array) -> Array:
    """Return vectors (n, D) with the numbers in each other's places, as the program compares them with the options."""
    found = rows.copy()
    for file_name, model_name in zip(case.encoding.numbers, program_numbers(case), strict=True):
        found[:, case.encoding.blocks[file_name]] = rows[:, case.encoding.blocks[model_name]]
    return found


def displaced_weights(case: "Case", features: "pd.DataFrame") -> dict[str, float]:
    """Return what DiCE multiplies the change of each number with: 1 / MAD of the number whose place it takes."""
    numbers = features[list(case.encoding.numbers)].to_numpy(dtype=np.float64)
    scaled = (numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0)
    deviation = np.median(np.abs(scaled - np.median(scaled, axis=0)), axis=0)
    weights = np.round(1.0 / np.where(deviation > 0.0, deviation, 1.0), 2)
    return dict(zip(program_numbers(case), weights.tolist(), strict=True))


def _program_coordinates(case: "Case") -> npt.NDArray[np.intp]:
    """Where the program's coordinates (intercept, numbers, categories) lie in ours."""
    blocks = case.encoding.blocks
    names = [*program_numbers(case), *(name for name, _ in case.encoding.choices)]
    return np.concatenate([[0], *(blocks[name] for name in names)])


def _split(case: "Case") -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Positions of the rows of D1 that the program trains on, and of those that it holds out."""
    from sklearn.model_selection import train_test_split

    good = case.data.present.favourable
    training, held_out = train_test_split(
        np.arange(len(good)), test_size=HELD_OUT, random_state=SPLIT_SEED, stratify=good
    )
    return training, held_out
