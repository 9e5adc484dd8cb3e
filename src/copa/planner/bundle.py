"""A bundle: the planner, its model and a template of its columns, in one file in which there is nothing to execute.

For a model that is not linear the planner brings the refits with it, of no other types than the model has.

The digests show that a bundle is as it was written; they are no signature. What keeps a forged bundle from doing harm
is that loading it makes objects of known types only, and runs nothing.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.archive import Budget
from copa._core.files import write_atomically
from copa._core.formats import Archive, Format, made_with, require_known_entries
from copa._core.words import listed
from copa.data.tables.casting import KINDS, kinds_of, template_of
from copa.data.tables.cells import as_text
from copa.exceptions import CopaError, DataError, InvalidInputError
from copa.models.storage import UntrustedTypesError, pack_estimator, unpack_estimator, untrusted_types
from copa.planner.persistence import ForeignTypeError, pack_planner
from copa.planner.recourse_planner import RecoursePlanner
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.options import Options, read_options
from copa.plans import PlanBatch
from copa.plans.frames import option_numbers

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.strategies.base import Strategy

ENCODING = 1e-9  # relative difference of an entry of an encoded row that is rounding
WITHDRAWN = ("infeasible", "error")  # statuses of options that are not offered: their message says what is wrong
ACCEPTED = ("ok", "fragile")  # statuses that say that today's model accepts all options
ANOTHER_SET = "the ambiguity set is another one than that of the bundle"
TRUSTED_ARE = "those of scikit-learn that the page on models lists are"
INSTEAD = "Use copa.RecoursePlanner from Python, whose `save` and `load` take the types of your model"
PLANNER, MODEL = "planner.zip", "model.skops"


def _require_known_kinds(content: dict[str, Any]) -> None:
    require_known_entries(content["kinds"].values(), KINDS, "kind of column", content)


FORMAT = Format(
    "copa-bundle",
    what="a bundle",
    content="manifest.json",
    versions=(1,),
    members=r"planner\.zip|model\.skops",
    check=_require_known_kinds,
)


@dataclass(frozen=True, eq=False)
class Bundle:
    """What a bundle holds.

    Attributes
    ----------
    planner : RecoursePlanner
        Fitted.
    template : DataFrame
        The columns that the model and the schema need, in the model's order and in the dtypes of the training data,
        without rows.
    facts : dict
        What is known of the fit, for people to read.
    made_with : dict
        Versions of the packages that wrote it, by name.
    sha256 : str
        Of the file.
    """

    planner: RecoursePlanner
    template: "pd.DataFrame"
    facts: dict[str, Any]
    made_with: dict[str, Any]
    sha256: str

    @property
    def fitted(self) -> "Strategy":
        """What the planner has learned."""
        fitted: Strategy = self.planner.strategy_
        return fitted


def save_bundle(path: Path, planner: RecoursePlanner, template: "pd.DataFrame", facts: Mapping[str, Any]) -> None:
    """Write a bundle, all of it or nothing.

    Parameters
    ----------
    path : Path
    planner : RecoursePlanner
        Fitted.
    template : DataFrame
        Columns that applicants must have, in the dtypes of the training data; its rows are not kept.
    facts : Mapping
        What is known of the fit, as JSON has it.

    Raises
    ------
    InvalidInputError
        If the model has parts that no bundle may hold.
    """
    write_atomically(path, pack_bundle(planner, template, facts))


def pack_bundle(planner: RecoursePlanner, template: "pd.DataFrame", facts: Mapping[str, Any]) -> bytes:
    """Return the bytes of a bundle; see `save_bundle`."""
    import sklearn

    members = {PLANNER: pack_planner(planner), MODEL: pack_model(planner.model)}
    content = {
        "made_with": made_with() | {"scikit-learn": sklearn.__version__},
        "kinds": kinds_of(template),
        "facts": dict(facts),
        "members": {name: hashlib.sha256(raw).hexdigest() for name, raw in members.items()},
    }
    return FORMAT.pack(Archive(content, members=members))


def load_bundle(path: Path) -> Bundle:
    """Read a bundle; nothing in it is executed.

    Raises
    ------
    InvalidInputError
        If there is no such file.
    DataError
        If the file is no bundle, is damaged or changed, or of a newer version.
    """
    if not path.is_file():
        raise InvalidInputError(
            f"the bundle {path} does not exist (looked for {path.absolute()}); `copa fit` makes one"
        )
    return unpack_bundle(path.read_bytes(), path)


def unpack_bundle(raw: bytes, path: Path) -> Bundle:
    """Read the bytes of a bundle, which errors call by a path; see `load_bundle`."""
    budget = Budget(len(raw))
    with FORMAT.opened(raw, path, budget) as (content, _, reader):
        members = {name: reader.read(name, content["members"][name]) for name in (PLANNER, MODEL)}
        template = template_of(content["kinds"])
    try:
        model = unpack_model(members[MODEL], f"in {path}", budget)
    except InvalidInputError as error:  # a bundle of ours holds no such types
        raise DataError(f"{path} is not a bundle that `copa fit` made: {error}") from error
    try:
        # From memory: a file in between would stay behind where the process is killed.
        planner = RecoursePlanner._unpack(  # noqa: SLF001 - a planner inside a file is no public matter
            members[PLANNER], model, path=f"{PLANNER} in {path}", budget=budget
        )
    except CopaError as error:
        raise DataError(f"{error}; make the bundle again with `copa fit`") from error
    return Bundle(planner, template, content["facts"], content["made_with"], hashlib.sha256(raw).hexdigest())


def unpack_model(raw: bytes, name: str, budget: Budget | None = None) -> Any:
    """Load a model from the bytes of a skops file.

    Parameters
    ----------
    raw : bytes
    name : str
        Where the bytes come from, for messages.
    budget : Budget, optional
        That of the file which they are inside of; None for a file of its own.

    Raises
    ------
    InvalidInputError
        If there are types in it beyond the trusted ones, before any is made.
    DataError
        If it is no skops file, or is damaged.
    """
    try:
        return unpack_estimator(raw, budget=budget)
    except UntrustedTypesError as error:
        raise InvalidInputError(
            f"the model {name} holds types that are not trusted: {listed(error.types)}; {TRUSTED_ARE}. {INSTEAD}"
        ) from error
    except DataError as error:
        raise DataError(f"the model {name} cannot be loaded: {error}") from error


def pack_model(model: Any) -> bytes:
    """Return the bytes of a skops file that `unpack_model` loads; a ForeignTypeError says why there is none."""
    try:
        raw = pack_estimator(getattr(model, "best_estimator_", model))
        untrusted = untrusted_types(raw)
    except InvalidInputError as error:
        raise ForeignTypeError(
            f"the model cannot be put into a bundle: {error}; or use copa.RecoursePlanner from Python"
        ) from error
    if untrusted:
        raise ForeignTypeError(
            f"the model cannot be put into a bundle: loading its parts {listed(untrusted)} could run code of others, "
            f"or read what nobody has checked; {TRUSTED_ARE}. {INSTEAD}"
        )
    return raw


def bundle_violations(batch: PlanBatch, bundle: Bundle) -> Iterator[str]:
    """Yield what contradicts a bundle in saved plans: its ambiguity set, terms, model, schema, and what it recomputes.

    Recomputed are the rows' points, acceptance, efforts, plausibility, rates of held-out refits and intervals.

    Parameters
    ----------
    batch : PlanBatch
    bundle : Bundle
    """
    fitted = bundle.fitted
    different = list(terms_violations(batch, fitted))
    yield from different
    if ANOTHER_SET in different:
        return
    yield from _applicant_violations(batch, fitted)
    if len(batch.options):
        yield from _option_violations(batch, fitted, Execution.of(bundle.planner, len(fitted.space.columns)))


def terms_violations(batch: PlanBatch, fitted: "Strategy") -> Iterator[str]:
    """Yield what plans rest on and a planner does not: their ambiguity set, or the facts beside it."""
    if not batch.ambiguity.same_as(fitted.ambiguity(_n_options(batch))):
        yield ANOTHER_SET
        return
    basis, own = vars(batch.basis), vars(fitted.basis)
    different = [name for name, value in own.items() if basis[name] != value]
    if batch.request.cost != fitted.space.cost.name:
        different.append("cost")
    if different:
        yield f"the terms are not those of the bundle: {', '.join(different)} differ"


def _n_options(batch: PlanBatch) -> int:
    """Most options of a plan: an ambiguity set of scores has a dimension for each, and one more."""
    return batch.ambiguity.dimension - 1


def _applicant_violations(batch: PlanBatch, fitted: "Strategy") -> Iterator[str]:
    """Applicants who are said to need nothing, though the model does not accept them."""
    idle = np.flatnonzero(batch.status == "already_valid")
    if len(idle):
        for i in idle[~fitted.model.accepts(batch.applicants.iloc[idle])].tolist():
            yield f"{_applicant(batch, i)}: the model does not accept the row, and the status is already_valid"


def _option_violations(batch: PlanBatch, fitted: "Strategy", run: Execution) -> Iterator[str]:
    whose, owner = np.unique(batch.owner, return_inverse=True)
    origins = batch.applicants.iloc[whose]
    options = read_options(fitted, origins, batch.options, owner, _n_options(batch), run.n_jobs)
    encoded = options.points
    # Entry by entry: a column of large numbers would hide what differs in the others.
    near = np.abs(encoded - batch.points) <= ENCODING * np.maximum(1.0, np.abs(encoded))
    far = np.count_nonzero(near, axis=1) < encoded.shape[1]
    accepted = options.accepted
    violations = fitted.schema.violations(batch.applicants.iloc[batch.owner], batch.options)
    numbers, statuses = option_numbers(batch), batch.status[batch.owner]
    different = _different_numbers(batch, fitted, whose, options, run)
    for k, (place, status) in enumerate(zip(batch.owner.tolist(), statuses.tolist(), strict=True)):
        found = ["its row is not the one that the certificate is about"] if far[k] else []
        if accepted[k] != batch.accepted[k]:
            found.append("the model answers otherwise")
        elif status in ACCEPTED and not accepted[k]:
            found.append(f"the model does not accept it, and the status is {status}")
        if status not in WITHDRAWN:
            found += [f"breaks the schema: {violation}" for violation in violations[k]]
        found += [f"the bundle gives another {name}" for name, other in different.items() if other[k]]
        yield from (f"{_applicant(batch, place)}, option {numbers[k]}: {violation}" for violation in found)


def _different_numbers(
    batch: PlanBatch, fitted: "Strategy", whose: Any, options: Options, run: Execution
) -> dict[str, Any]:
    """Flag the options (M,) of which a planner gives other numbers than a batch says, by what they are about."""
    found = {
        "effort": _other(batch.effort, options.effort) | _other(batch.change_effort, options.change_effort).any(axis=1),
        "plausibility": _other(batch.plausibility, options.plausibility),
    }
    everyone = np.ones(len(batch.options), dtype=bool)
    if batch.n_held_out:
        rates = fitted.expected_rates(options, len(whose), run.n_jobs)
        found["expected rate"] = everyone
        if rates is not None:
            plans = _other(batch.all_rate[whose], rates.all_rate) | _other(batch.any_rate[whose], rates.any_rate)
            shares = _other(batch.expected_rate, rates.expected_rate) | (batch.n_held_out != rates.n_held_out)
            found["expected rate"] = shares | plans[options.owner]
    ranged = ~np.isnan(batch.at_least).all(axis=1)
    if ranged.any():
        searched = fitted if not batch.request.expected else fitted.expecting()
        applicants = Applicants.read(fitted, batch.applicants.iloc[whose])
        right = searched.intervals(applicants, options, batch.request, run)
        found["interval"] = ranged
        if right is not None:
            ends = _other(batch.at_least, right.at_least) | _other(batch.at_most, right.at_most)
            found["interval"] = ends.any(axis=1) | (ranged & _other(batch.interval_level, right.interval_level))
    return found


def _other(claimed: Any, right: Any) -> Any:
    """Flag numbers that differ by more than rounding; NaN claims nothing."""
    return ~np.isclose(claimed, right, rtol=ENCODING, atol=ENCODING) & ~np.isnan(claimed)


def _applicant(batch: PlanBatch, i: int) -> str:
    return f"applicant {as_text(batch.applicants.index[i])}"
