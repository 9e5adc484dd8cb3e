"""The refits of a model in a file: the first one whole, of the others what differs from it.

A forest holds a hundred trees, and a planner some sixty forests. Written one by one they take skops the better part of
a minute, because each part of each tree is described anew. Here only the first is described; of the others there is
what differs: numbers, texts and arrays, in the order in which a walk through the first one meets them.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from copa._core.archive import Budget, read_arrays, repacked
from copa._core.words import listed
from copa.exceptions import DataError, InvalidInputError
from copa.models.black_box import BlackBox
from copa.models.storage import UntrustedTypesError, pack_estimator, storable, unpack_estimator, untrusted_types
from copa.models.trusted_types import is_tree, require_sound

if TYPE_CHECKING:
    import pandas as pd

MEMBERS = r"refits/[0-9]{4,6}\.(?:skops|npz)"
WHOLE, DIFFERENCES = "skops", "npz"


def pack_refits(fits: Sequence[BlackBox], rows: "pd.DataFrame") -> dict[str, bytes]:
    """Return the members of a file that hold some refits, by name.

    A refit is stored by its differences only if, put together again, it gives the same scores of `rows` as before.
    """
    first = pack_estimator(fits[0].estimator)
    pattern = Pattern(_loaded_again(first))
    members = {_member(0, WHOLE): first}
    for k, fit in enumerate(fits[1:], start=1):
        differences = _differences(pattern, fit, rows)
        if differences is None:
            members[_member(k, WHOLE)] = pack_estimator(fit.estimator)
        else:
            members[_member(k, DIFFERENCES)] = differences
    return members


def _member(k: int, kind: str) -> str:
    return f"refits/{k:04d}.{kind}"


def _loaded_again(raw: bytes) -> Any:
    """Load what skops wrote: it keeps the names of functions, and not all of them can be found again."""
    try:
        return unpack_estimator(raw, untrusted_types(raw))
    except DataError as error:
        raise InvalidInputError(
            f"the model's refits cannot be loaded again by skops: {error}. Give the functions in the model a module "
            "and a name of their own"
        ) from error


def _differences(pattern: "Pattern", fit: BlackBox, rows: "pd.DataFrame") -> bytes | None:
    """Return the differences of a refit from the pattern; None where they do not say all of it."""
    try:
        raw = pattern.pack(storable(fit.estimator))
    except NotAlikeError:
        return None
    again = fit.replaced(pattern.unpack(raw))
    return raw if np.array_equal(again.scores(rows), fit.scores(rows), equal_nan=True) else None


def unpack_refits(
    members: Mapping[str, bytes], n_refits: int, model: BlackBox, budget: Budget | None
) -> tuple[BlackBox, ...]:
    """Load the refits of a file, of no other types than the model in force, whose types its owner trusts.

    Raises
    ------
    DataError
        If they are damaged, or hold other types: these are named before anything is made.
    """
    trusted = untrusted_types(pack_estimator(model.estimator))

    def member(k: int, kind: str) -> bytes:
        if _member(k, kind) not in members:
            raise DataError(f"it lacks {_member(k, kind)}")
        return members[_member(k, kind)]

    try:
        pattern = Pattern(unpack_estimator(member(0, WHOLE), trusted, budget))
        fits = [pattern.estimator]
        for k in range(1, n_refits):
            if _member(k, WHOLE) in members:
                fits.append(unpack_estimator(member(k, WHOLE), trusted, budget))
            else:
                fits.append(pattern.unpack(member(k, DIFFERENCES), budget))
    except UntrustedTypesError as error:
        raise DataError(
            f"its refits hold parts that neither scikit-learn nor the model given has: {listed(error.types)}"
        ) from error
    except DataError as error:
        raise DataError(f"a refit: {error}") from error
    return tuple(model.replaced(fit) for fit in fits)


TREE_STATE = ("max_depth", "node_count", "nodes", "values")  # of scikit-learn's trees


def tree_arguments(tree: Any) -> Any:
    """Return the arguments that a tree is made with, before it has nodes."""
    return tree.__reduce__()[1]


def tree_form(tree: Any) -> tuple[Any, ...]:
    """Numbers of columns, classes and outputs, and what its state consists of."""
    n_features, n_classes, n_outputs = tree_arguments(tree)
    return int(n_features), tuple(np.asarray(n_classes).tolist()), int(n_outputs), tuple(sorted(tree.__getstate__()))


def pack_trees(trees: dict[int, Any]) -> dict[str, Any]:
    """All trees one after the other, each field of their nodes by itself: that packs into half the space."""
    states = [tree.__getstate__() for tree in trees.values()]
    nodes = np.concatenate([state["nodes"] for state in states])
    values = [state["values"] for state in states]
    fields = {f"nodes/{name}": np.ascontiguousarray(nodes[name]) for name in nodes.dtype.names or ()}
    return {
        "place": np.array(list(trees), dtype=np.int64),
        "depth": np.array([state["max_depth"] for state in states], dtype=np.int64),
        "count": np.array([state["node_count"] for state in states], dtype=np.int64),
        "values": np.concatenate([array.ravel() for array in values]),
        "shapes": np.array([array.shape for array in values], dtype=np.int64),
        **fields,
    }


def unpack_trees(arrays: dict[str, Any], node_type: Any) -> dict[int, Any]:
    """States of the trees, by their places; `node_type` is the dtype of nodes in the pattern's own trees."""
    if "trees/place" not in arrays:
        return {}
    counts, shapes = arrays["trees/count"].tolist(), arrays["trees/shapes"]
    columns = {name: arrays[f"trees/nodes/{name}"] for name in node_type.names}
    n_nodes = int(sum(counts))
    if any(column.shape != (n_nodes,) for column in columns.values()):
        raise ValueError("its trees have another number of nodes than they say")  # before there is room made for them
    nodes = np.zeros(n_nodes, dtype=node_type)
    for name, column in columns.items():
        nodes[name] = column
    ends, value_ends = np.cumsum(counts), np.cumsum(shapes.prod(axis=1))
    states = {}
    for j, place in enumerate(arrays["trees/place"].tolist()):
        values = arrays["trees/values"][value_ends[j] - shapes[j].prod() : value_ends[j]].reshape(shapes[j])
        own_nodes = nodes[ends[j] - counts[j] : ends[j]].copy()
        depth = int(arrays["trees/depth"][j])
        states[place] = {"max_depth": depth, "node_count": counts[j], "nodes": own_nodes, "values": values.copy()}
    return states


ARRAYS = r"walk|plain|array/[0-9]+|trees/[a-z_/]+"
PLAIN = (type(None), bool, int, float, str)


class NotAlikeError(Exception):
    """A fit has other parts than the pattern, or parts that cannot be taken apart."""


@dataclass
class Differences:
    """Parts in which a fit differs from the pattern, by their numbers on the walk.

    Attributes
    ----------
    plain : dict of int to object
        Numbers and texts.
    arrays : dict of int to ndarray
        Of any type but object.
    trees : dict of int to object
        Of scikit-learn.
    """

    plain: dict[int, Any] = field(default_factory=dict)
    arrays: dict[int, Any] = field(default_factory=dict)
    trees: dict[int, Any] = field(default_factory=dict)

    def keep(self, pattern: Any, other: Any, k: int) -> None:
        """Keep part k of another fit, where it differs from that of the pattern."""
        if isinstance(pattern, PLAIN):
            same = pattern == other or (pattern != pattern and other != other)  # noqa: PLR0124 - NaN
            if type(pattern) is not type(other) or not same:
                self.plain[k] = other
        elif is_tree(pattern):
            if tree_form(pattern) != tree_form(other) or tree_form(pattern)[-1] != TREE_STATE:
                raise NotAlikeError
            self.trees[k] = other
        elif isinstance(pattern, (np.ndarray, np.generic)):
            if np.asarray(pattern).dtype.kind != np.asarray(other).dtype.kind or not np.asarray(pattern).dtype.isnative:
                raise NotAlikeError
            if not _same_array(pattern, other):
                self.arrays[k] = np.asarray(other)
        elif isinstance(pattern, np.random.RandomState):
            self.arrays[k] = _pack_random(other)
        elif pattern is not other and not _is_constant(pattern, other):
            raise NotAlikeError

    def made(self, pattern: Any, _: Any, k: int) -> Any:
        """Make part k again: that of the pattern, or what was kept."""
        if isinstance(pattern, PLAIN):
            return self.plain.get(k, pattern)
        if is_tree(pattern):
            tree = type(pattern)(*tree_arguments(pattern))
            tree.__setstate__(self.trees[k])
            return tree
        if k not in self.arrays:
            return pattern
        array = self.arrays[k]
        if isinstance(pattern, np.random.RandomState):
            source = np.random.RandomState()
            source.set_state(("MT19937", array[:-1], int(array[-1]), 0, 0.0))
            return source
        if array.dtype.kind != np.asarray(pattern).dtype.kind:
            raise ValueError("an array is of another type than the model's")
        return array[()] if isinstance(pattern, np.generic) else array


class Pattern:
    """A fit by whose parts others are taken apart, and put together again.

    Parameters
    ----------
    estimator : object
        As it comes out of a file, so that its parts are the same whenever it does.

    Attributes
    ----------
    walk : ndarray of shape (2,)
        Number and checksum of its leaves: parts are known by their places on the walk.
    node_type : dtype or None
        Of the nodes of its trees.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        leaves: list[Any] = []

        def note(leaf: Any, _: Any, __: int) -> Any:
            leaves.append(leaf)
            return leaf

        _walk_both(estimator, estimator, note, {}, count())
        kinds = " ".join("plain" if isinstance(leaf, PLAIN) else type(leaf).__qualname__ for leaf in leaves)
        self.walk = np.array([len(leaves), crc32(kinds.encode())], dtype=np.int64)
        self.node_type = next((leaf.__getstate__()["nodes"].dtype for leaf in leaves if is_tree(leaf)), None)

    def pack(self, other: Any) -> bytes:
        """Return what another fit has that this one has not.

        Raises
        ------
        NotAlikeError
            If that does not say all of it.
        """
        differences = Differences()
        _walk_both(self.estimator, other, differences.keep, {}, count())
        arrays = {"walk": self.walk} | {f"array/{k}": array for k, array in differences.arrays.items()}
        arrays["plain"] = np.frombuffer(json.dumps(list(differences.plain.items())).encode(), dtype=np.uint8)
        if differences.trees:
            arrays |= {f"trees/{name}": array for name, array in pack_trees(differences.trees).items()}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return repacked(buffer.getvalue())

    def unpack(self, raw: bytes, budget: Budget | None = None) -> Any:
        """Make the fit that `pack` has written, of no other types than this one has, within the budget of its file."""
        try:
            budget = Budget(len(raw)) if budget is None else budget
            arrays = read_arrays(raw, ARRAYS, budget)
            self._require_same_walk(arrays.pop("walk"))
            plain = {int(k): _plain(value) for k, value in budget.parse_json(arrays.pop("plain").tobytes(), "plain")}
            stored = {int(name.split("/")[1]): array for name, array in arrays.items() if name.startswith("array/")}
            differences = Differences(plain, stored, unpack_trees(arrays, self.node_type))
            estimator = _walk_both(self.estimator, self.estimator, differences.made, {}, count())
            require_sound(estimator)
        except MemoryError:
            raise
        except Exception as error:  # a damaged file can go wrong anywhere, and means the same wherever it does
            raise DataError(f"its numbers are damaged: {type(error).__name__}: {error}") from error
        return estimator

    def _require_same_walk(self, stored: Any) -> None:
        if not np.array_equal(stored, self.walk):
            raise ValueError("the model's parts are other ones; was it made with another version of scikit-learn?")


def _plain(value: Any) -> Any:
    if not isinstance(value, PLAIN):
        raise TypeError(f"a number or text is {type(value).__name__}")
    return value


def _parts(part: Any) -> list[Any] | None:
    """The parts of something that is nothing but its parts; None for what is not looked into."""
    from sklearn.utils import Bunch

    if type(part) in (dict, Bunch):
        return list(part.values())
    if type(part) in (list, tuple):
        return list(part)
    if isinstance(part, np.ndarray) and part.dtype == object:
        return list(part.ravel())
    return list(vars(part).values()) if _is_its_attributes(type(part)) else None


def _is_its_attributes(kind: Any) -> bool:
    """Return whether objects of a type of scikit-learn are copied by copying their attributes."""
    from sklearn.base import BaseEstimator

    if not kind.__module__.startswith("sklearn.") or not kind.__dictoffset__:
        return False
    usual = kind.__reduce__ is object.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__
    return usual and (issubclass(kind, BaseEstimator) or kind.__getstate__ is object.__getstate__)


def _names(part: Any) -> Any:
    """Return what must agree, besides their types, for two parts to be taken apart alike."""
    if isinstance(part, dict):
        return list(part)
    if isinstance(part, np.ndarray):
        return part.shape
    return len(part) if isinstance(part, (list, tuple)) else list(vars(part))


def _walk_both(
    pattern: Any, other: Any, leaf: Callable[[Any, Any, int], Any], met: dict[int, Any], places: Iterator[int]
) -> Any:
    """Walk through a pattern and another fit side by side, and return what `leaf` makes of their leaves, put together.

    Parameters
    ----------
    pattern, other : object
    leaf : callable
        Of both leaves, and the number of the part.
    met : dict
        By the identity of a part of the pattern: its partner, and what was made of them.
    places : iterator of int
        Numbers of the parts.
    """
    if isinstance(pattern, PLAIN) and isinstance(other, PLAIN):
        return leaf(pattern, other, next(places))
    if type(pattern) is not type(other):
        raise NotAlikeError
    if id(pattern) in met:  # a part in two places is one part
        partner, made = met[id(pattern)]
        if partner is not other:
            raise NotAlikeError
        return made
    inner, others = _parts(pattern), _parts(other)
    if inner is None or others is None:
        made = leaf(pattern, other, next(places))
    else:
        if _names(pattern) != _names(other):
            raise NotAlikeError
        kind: Any = type(pattern)
        holder = None if isinstance(pattern, (tuple, np.ndarray)) else kind.__new__(kind)
        met[id(pattern)] = other, holder  # before its parts are, which may hold it in turn
        parts = [_walk_both(one, two, leaf, met, places) for one, two in zip(inner, others, strict=True)]
        made = _filled(holder, pattern, parts)
    met[id(pattern)] = other, made
    return made


def _filled(holder: Any, pattern: Any, parts: list[Any]) -> Any:
    """A list, dictionary or estimator with its parts, or a new tuple or array of them."""
    if isinstance(pattern, tuple):
        return tuple(parts)
    if isinstance(pattern, np.ndarray):
        array = np.empty(len(parts), dtype=object)
        for k, part in enumerate(parts):  # one by one: numpy would take lists apart
            array[k] = part
        return array.reshape(pattern.shape)
    if isinstance(pattern, list):
        holder.extend(parts)
    elif isinstance(pattern, dict):
        holder.update(zip(pattern, parts, strict=True))
    else:
        vars(holder).update(zip(vars(pattern), parts, strict=True))
    return holder


def _is_constant(pattern: Any, other: Any) -> bool:
    """Return whether two things that are not looked into describe themselves alike."""
    if isinstance(pattern, (np.dtype, slice)):
        return bool(pattern == other)
    if not type(pattern).__module__.startswith(("sklearn.", "_loss")):  # its compiled losses, before 1.9
        return False
    try:
        return bool(pattern.__reduce__() == other.__reduce__())
    except (TypeError, ValueError):  # it has arrays, or cannot be copied
        return False


def _pack_random(source: Any) -> Any:
    """The state of a source of random numbers, (625,)."""
    _, keys, position, has_gauss, _ = source.get_state()
    if has_gauss:
        raise NotAlikeError
    return np.append(keys, np.uint32(position)).astype(np.uint32)


def _same_array(one: Any, other: Any) -> bool:
    first, second = np.asarray(one), np.asarray(other)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
