"""From plans to promises: the options that can be promised, their contents, and the terms that they share."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.formats import Digest
from copa._core.reading import is_whole
from copa._core.words import hint, listed, shown, visible
from copa.data.schema.yaml_files import with_text_keys
from copa.data.tables.cells import alone, plain
from copa.data.tables.packing import pack_entry
from copa.exceptions import InvalidInputError
from copa.models.base import best_of
from copa.models.storage import pack_estimator
from copa.plans import PlanBatch
from copa.plans.frames import labels, option_numbers
from copa.promises._storage.layouts import pack_cells, pack_layout
from copa.promises.days import read_day, read_end
from copa.promises.deciding_model import model_and_threshold
from copa.promises.promised_rows import require_free_names
from copa.theory.sets.ambiguity import AmbiguitySet
from copa.theory.sets.set_files import pack_set

OK, FRAGILE = "ok", "fragile"  # statuses of plans whose options are promised: always, and when asked to
LONGEST_TEXT = 200


@dataclass(frozen=True)
class Terms:
    """Facts that the promises of a batch have in common."""

    layout: bytes  # columns and dtypes of the promised rows
    model_version: str
    made: date
    valid_until: date
    content: dict[str, Any]  # fingerprint, digests, confidence, label and columns that may differ


@dataclass(frozen=True)
class NewPromise:
    """An option that is to be promised."""

    applicant: str
    content: dict[str, Any]  # which says nothing of a person: number and guarantee of the option
    personal: dict[str, Any]  # row, changed columns, region, and digest of the certificate


def terms_of(batch: PlanBatch, *, model_version: Any, valid_for: Any, made: Any, model: Any, may_differ: Any) -> Terms:
    """Return the terms that all promises of a batch share, or raise for what is wrong with the arguments."""
    if not isinstance(batch, PlanBatch):
        raise InvalidInputError(f"batch must be a PlanBatch, got {type(batch).__name__}")
    require_free_names(batch.options.columns)
    day = read_day(made, "made")
    basis = batch.basis
    content = {
        "confidence": basis.confidence,
        "favourable": pack_entry(basis.favourable, "the favourable label"),
        "may_differ": read_columns(may_differ, batch.options.columns, "may_differ"),
        "model_fingerprint": _basis_digest(batch) if model is None else fingerprint(model),
        "schema_digest": Digest().add(with_text_keys(basis.schema.to_dict())).text(),
        "threshold": basis.threshold,
    }
    return Terms(
        pack_layout(batch.options),
        read_text(model_version, "model_version"),
        day,
        read_end(valid_for, day),
        content,
    )


def require_recordable(batches: Iterable[PlanBatch], terms: Mapping[str, Any]) -> None:
    """Raise what `Ledger.record` would raise for these batches, before there is a ledger."""
    arguments = dict(terms)
    recorded_by = arguments.pop("recorded_by")
    if recorded_by is not None:
        read_text(recorded_by, "recorded_by")
    for batch in batches:
        terms_of(batch, **arguments)
        people_of(batch)


def read_text(value: Any, name: str) -> str:
    """Read a short text of one line that is not empty."""
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > LONGEST_TEXT
        or visible(value, lines=False) != value
    ):
        raise InvalidInputError(
            f"{name} must be text of one line, of up to {LONGEST_TEXT} characters, got {shown(value)}"
        )
    return str(value)


def read_columns(given: Any, existing: Iterable[Any], name: str) -> list[str]:
    """Read names of existing columns."""
    names = [given] if isinstance(given, str) else list(given or ())
    columns = [str(column) for column in existing]
    for column in names:
        if column not in columns:
            raise InvalidInputError(f"{name}: there is no column {shown(column)}; {hint(column, columns)}")
    return sorted(set(names))


def fingerprint(model: Any) -> str:
    """Return the digest of the file that skops makes of an estimator, or of the model of a planner."""
    estimator, _ = model_and_threshold(model)
    return f"model:{Digest().add('model').add(pack_estimator(best_of(estimator)).hex()).text()}"


def _basis_digest(batch: PlanBatch) -> str:
    """Return a fingerprint without the model: of the facts that the plans rest on, and of their ambiguity set."""
    digest = Digest().add([batch.basis.subject, pack_entry(batch.basis.favourable, "the label")])
    return f"basis:{digest.add([batch.basis.threshold, set_digest(batch.ambiguity)]).text()}"


def set_digest(ambiguity: AmbiguitySet) -> str:
    """Return the digest of an ambiguity set."""
    try:
        description, arrays = pack_set(ambiguity)
    except InvalidInputError:  # a class of one's own
        description = {"kind": type(ambiguity).__name__}
        arrays = {"mean": ambiguity.mean, "cov": ambiguity.cov, "radius": np.float64(ambiguity.radius)}
    digest = Digest().add(description)
    for name in sorted(arrays):
        digest.add_array(name, arrays[name])
    return digest.text()


def certificate_digest(points: Array, ambiguity: str) -> str:
    """Return the digest of the subject of a plan's certificate: its options, and the digest of their set."""
    digest = Digest().add(ambiguity)
    digest.add_array("points", points)
    return digest.text()


def promises_of(batch: PlanBatch, options: Any = None, *, include_fragile: bool = False) -> Iterator[NewPromise]:
    """Yield the options of a batch that can be promised, or those given, in the order of the batch."""
    rows = chosen_options(batch, options, include_fragile=include_fragile)
    if not len(rows):
        return
    cells = pack_cells(batch.options.iloc[rows])
    numbers, people = option_numbers(batch)[rows].tolist(), people_of(batch)
    guarantees, owners = batch.option_lower[rows].tolist(), batch.owner[rows].tolist()
    ambiguity, proofs = set_digest(batch.ambiguity), dict[int, str]()
    for k, owner in enumerate(owners):
        if owner not in proofs:
            proofs = {owner: certificate_digest(batch[owner].points, ambiguity)}
        yield NewPromise(
            people[owner],
            {"guarantee": guarantees[k], "option": numbers[k]},
            {
                "certificate": proofs[owner],
                "changed": np.flatnonzero(batch.changed[rows[k]]).tolist(),
                "region": _region(batch, int(rows[k])),
                "row": cells[k],
            },
        )


def _region(batch: PlanBatch, row: int) -> dict[str, tuple[float, float]]:
    """Return the intervals of an option by column."""
    ends = ((name, batch.interval(row, k)) for k, name in enumerate(batch.options.columns))
    return {name: interval for name, interval in ends if interval is not None}


def people_of(batch: PlanBatch) -> list[str]:
    """Return the applicants of a batch as text; two of them must not become one."""
    given = batch.applicants.index.tolist()
    people = [alone(label) for label in labels(batch.applicants.index, np.arange(len(batch)))]
    seen: dict[str, Any] = {}
    for person, label in zip(people, given, strict=True):
        if type(seen.setdefault(person, label)) is not type(label):
            raise InvalidInputError(
                f"applicants {seen[person]!r} and {label!r} would both be called {shown(person)}; give other labels"
            )
    return people


def n_fragile(batch: PlanBatch, options: Any = None) -> int:
    """Return the number of options of fragile plans, which are left out unless `include_fragile` is set."""
    if isinstance(options, Mapping):  # each of which is an error then
        return 0
    both = chosen_options(batch, options, include_fragile=True)
    return int(np.count_nonzero(batch.status[batch.owner[both]] == FRAGILE))


def chosen_options(batch: PlanBatch, options: Any, *, include_fragile: bool = False) -> Any:
    """Return the positions of the options to promise, ascending.

    `options` are numbers of options, for all applicants or by applicant; None stands for all that can be promised.
    """
    statuses = (OK, FRAGILE) if include_fragile else (OK,)
    able = np.isin(batch.status[batch.owner], statuses) & batch.accepted
    numbers = option_numbers(batch)
    if options is None:
        return np.flatnonzero(able)
    if not isinstance(options, Mapping):
        return np.flatnonzero(able & np.isin(numbers, _numbers(options)))
    places: dict[Any, int] = {}
    for i, (label, person) in enumerate(zip(batch.applicants.index, people_of(batch), strict=True)):
        places.setdefault(person, i)
        places.setdefault(plain(label), i)
    chosen: list[int] = []
    for label, wanted in options.items():
        if plain(label) not in places:
            names = [key for key in places if isinstance(key, str)]
            raise InvalidInputError(f"applicant {shown(label)} is not among the plans; {hint(label, names)}")
        i = places[plain(label)]
        for number in _numbers(wanted):
            rows = np.flatnonzero((batch.owner == i) & (numbers == number))
            if not len(rows):
                raise InvalidInputError(
                    f"applicant {shown(label)} has no option {number}; there are {listed(numbers[batch.owner == i])}"
                )
            if not able[rows[0]]:
                raise InvalidInputError(
                    f"option {number} of applicant {shown(label)} cannot be promised: the plan is "
                    f"{batch.status[i]}{_why_not(batch, i, rows[0], include_fragile=include_fragile)}"
                )
            chosen.append(int(rows[0]))
    return np.unique(np.array(chosen, dtype=np.intp))


def _why_not(batch: PlanBatch, plan: int, row: int, *, include_fragile: bool) -> str:
    """Say why an option cannot be promised, beyond the status of its plan."""
    if not batch.accepted[row]:
        return ", and the model does not accept it today"
    if batch.status[plan] == FRAGILE and not include_fragile:
        return ", below the guarantee that was asked for; include_fragile=True (--include-fragile) promises it"
    return ""


def _numbers(given: Any) -> list[int]:
    options: list[Any] = [given] if is_whole(given) else [None]
    if isinstance(given, (list, tuple, set, np.ndarray)):
        options = list(given)
    for number in options:
        if not is_whole(number) or number < 1:
            raise InvalidInputError(f"options must be numbers of options, from 1, got {shown(given)}")
    return [int(number) for number in options]
