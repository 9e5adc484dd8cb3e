"""Fitted estimators as bytes: skops, which names every type in a file before it makes any. Nothing is unpickled."""

import copy
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

import numpy as np

from copa._core.archive import ArchiveReader, Budget, repacked, require_arrays
from copa._core.words import listed
from copa.exceptions import DataError, InvalidInputError, MissingPackageError
from copa.models.trusted_types import LOADERS, require_sound, untabled_types

OLDEST_SKOPS = (0, 14)
SCHEMA = "schema.json"  # member of a skops file that describes its objects
MEMBERS = r"schema\.json|[0-9]+\.np[yz]|[0-9a-f-]+\.bin"
OLDEST_PROTOCOL = 2  # of skops; before it, entries of a file say elsewhere what is made
TRUSTED_ARE = "those of scikit-learn that the page on models lists are"
INSTEAD = "Use copa.RecoursePlanner from Python, whose `save` and `load` take the types of your model"


class UntrustedTypesError(DataError):
    """A file names types that nobody has vouched for; none of them was made."""

    def __init__(self, types: list[str]) -> None:
        super().__init__(f"it holds types that are not trusted: {listed(types)}")
        self.types = types


class ForeignTypeError(InvalidInputError):
    """A planner or its model has parts of types that COPA makes from no file."""


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


def unpack_model(raw: bytes, name: str) -> Any:
    """Load a model from the bytes of a skops file, which messages call by a name.

    Raises
    ------
    InvalidInputError
        If there are types in it beyond the trusted ones, before any is made.
    DataError
        If it is no skops file, or is damaged.
    """
    try:
        return unpack_estimator(raw)
    except UntrustedTypesError as error:
        raise InvalidInputError(
            f"the model {name} holds types that are not trusted: {listed(error.types)}; {TRUSTED_ARE}. {INSTEAD}"
        ) from error
    except DataError as error:
        raise DataError(f"the model {name} cannot be loaded: {error}") from error


def pack_estimator(estimator: Any) -> bytes:
    """Return the bytes of a skops file, or say why there can be none; the same estimator gives the same bytes."""
    skops_io = _skops()
    try:
        return repacked(_renumbered(bytes(skops_io.dumps(storable(estimator)))), compresslevel=6)
    except Exception as error:  # skops raises what its parts raise
        raise InvalidInputError(
            f"skops cannot save {type(estimator).__name__} ({type(error).__name__}: {error}); leave out of the model "
            "what holds functions or open resources"
        ) from error


def _renumbered(raw: bytes) -> bytes:
    """Number the objects of a skops file from 0, and name its arrays so: skops takes addresses in memory for both."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def renumber(node: Any) -> Any:
        if isinstance(node, list):
            return [renumber(part) for part in node]
        if not isinstance(node, dict):
            return node
        numbered = {key: renumber(part) for key, part in node.items()}
        if isinstance(node.get("__id__"), int):
            # Whether two equal numbers or texts are one object is chance; of all else it says what belongs together.
            identity = object() if node.get("is_json") else node["__id__"]
            numbered["__id__"] = numbers.setdefault(identity, len(numbers))
        file = node.get("file")
        if isinstance(file, str) and file in members:
            numbered["file"] = files.setdefault(file, f"{len(files)}{PurePath(file).suffix}")
        return numbered

    schema = json.dumps(renumber(json.loads(members.pop(SCHEMA))))
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as archive:
        for name in sorted(members, key=lambda name: files.get(name, name)):
            archive.writestr(files.get(name, name), _without_padding(members[name]))
        archive.writestr(SCHEMA, schema)
    return result.getvalue()


def _without_padding(raw: bytes) -> bytes:
    """Return an array in a file with zeros between its fields: the nodes of trees hold there what was in memory."""
    if not raw.startswith(b"\x93NUMPY") or b"('', '|V" not in raw[:1000]:
        return raw
    nodes = np.load(io.BytesIO(raw), allow_pickle=False)
    clean = np.zeros(nodes.shape, nodes.dtype)
    for name in nodes.dtype.names:
        clean[name] = nodes[name]
    return raw[: len(raw) - nodes.nbytes] + clean.tobytes("A")


def storable(estimator: Any) -> Any:
    """The estimator, or one that says the same and that skops can save."""
    return _without_tables(copy.deepcopy(estimator)) if _has_tables(estimator) else estimator


def unpack_estimator(raw: bytes, trusted: Iterable[str] = (), budget: Budget | None = None) -> Any:
    """Make an estimator from the bytes of a skops file, and check what its compiled code will read.

    Parameters
    ----------
    trusted : names of types beyond those of `copa.models.trusted_types` that may be made; what they hold is not checked
    budget : of the file which the bytes are inside of; None for a file of its own

    Raises
    ------
    UntrustedTypesError
        Before anything is made.
    DataError
        If the bytes are no such file, or it is damaged.
    """
    skops_io = _skops()
    allowed = {*LOADERS, *trusted}
    try:
        nodes = _read_nodes(raw, Budget(len(raw)) if budget is None else budget)
        unknown = sorted(_untrusted(raw, nodes) - set(trusted))
        if not unknown:
            estimator = skops_io.loads(raw, trusted=sorted(allowed))
            require_sound(estimator)
            return estimator
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
        raise DataError(f"it is not a skops file, or is damaged: {type(error).__name__}: {error}") from error
    raise UntrustedTypesError(unknown)


def untrusted_types(raw: bytes) -> list[str]:
    """Names of the types in a skops file whose parts are not checked, so that they are made only if someone asks."""
    return sorted(_untrusted(raw, _read_nodes(raw, Budget(len(raw)))))


def _untrusted(raw: bytes, nodes: list[dict[str, Any]]) -> set[str]:
    return untabled_types(nodes) | (set(_skops().get_untrusted_types(data=raw)) - set(LOADERS))


def _read_nodes(raw: bytes, budget: Budget) -> list[dict[str, Any]]:
    """Return the entries that say how something is made, once everything that skops would read is within the budget."""
    with ArchiveReader(raw, MEMBERS, budget) as archive:
        entries: list[dict[str, Any]] = []

        def keep(entry: dict[str, Any]) -> dict[str, Any]:
            entries.append(entry)
            return entry

        schema = archive.read_json(SCHEMA, object_hook=keep)
        if schema["protocol"] < OLDEST_PROTOCOL:
            raise DataError("it was written by an old version of skops; save the model again")
        named = Counter(file for entry in entries if isinstance(file := entry.get("file"), str))
        for name in archive.names:
            budget.take(archive.size(name) * max(1, named[name]), name)  # skops reads a member each time it is named
            if name.endswith(".npy"):
                archive.require_array(name)
            elif name.endswith(".npz"):
                require_arrays(archive.read(name), budget)
    return [entry for entry in entries if "__loader__" in entry]


def _skops() -> Any:
    try:
        import skops
        import skops.io
    except ImportError as error:
        raise MissingPackageError(
            "models are stored in files by skops, which is not installed: pip install 'copa-recourse[cli]'"
        ) from error
    if tuple(int(part) for part in re.findall(r"\d+", skops.__version__)[:2]) < OLDEST_SKOPS:
        raise MissingPackageError(
            f"COPA requires skops {'.'.join(map(str, OLDEST_SKOPS))} or newer, and {skops.__version__} is installed: "
            "pip install --upgrade 'copa-recourse[cli]'"
        )
    return skops.io


def _without_tables(model: Any) -> Any:
    """The model with lists where a ColumnTransformer was given pandas' columns, which skops cannot save."""
    for transformer in _column_transformers(model):
        for name, value in vars(transformer).items():  # it also keeps them where no public attribute says so
            setattr(transformer, name, _listed(value))
    return model


def _has_tables(model: Any) -> bool:
    return any(_is_of_pandas(part[2]) for inner in _column_transformers(model) for part in inner.transformers_)


def _listed(value: Any) -> Any:
    """Pandas' columns as a list, also within lists and tuples; anything else as it is."""
    if type(value) in (list, tuple):
        return type(value)(_listed(part) for part in value)
    return value.tolist() if _is_of_pandas(value) else value


def _is_of_pandas(value: Any) -> bool:
    return type(value).__module__.startswith("pandas")


def _column_transformers(model: Any) -> Iterator[Any]:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _column_transformers(step)
    elif isinstance(model, ColumnTransformer):
        yield model
        for _, step, _ in model.transformers_:
            yield from _column_transformers(step)
