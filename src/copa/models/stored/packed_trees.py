"""Many decision trees as a few arrays."""

import json
from typing import Any

import numpy as np

from copa.archive import Budget

LARGEST_NODE = 1024  # bytes; scikit-learn's have 64
TREE_STATE = ("max_depth", "node_count", "nodes", "values")  # of scikit-learn's trees


def tree_arguments(tree: Any) -> Any:
    """What a tree is made with, before it has nodes."""
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
        "dtype": np.frombuffer(json.dumps(_described(nodes.dtype)).encode(), dtype=np.uint8),
        **fields,
    }


def _described(dtype: Any) -> dict[str, Any]:
    """A type of nodes as JSON holds it, with the gaps between its fields."""
    fields = {name: [dtype.fields[name][0].str, dtype.fields[name][1]] for name in dtype.names}
    return {"fields": fields, "size": dtype.itemsize}


def unpack_trees(arrays: dict[str, Any], budget: Budget) -> dict[int, Any]:
    """States of the trees, by their places; the budget is that of the file which the arrays are from."""
    if "trees/place" not in arrays:
        return {}
    counts, shapes = arrays["trees/count"].tolist(), arrays["trees/shapes"]
    described = budget.parse_json(arrays["trees/dtype"].tobytes(), "trees/dtype")
    names = list(described["fields"])
    formats, offsets = zip(*described["fields"].values(), strict=True)
    dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": described["size"]})
    columns = {name: arrays[f"trees/nodes/{name}"] for name in names}
    n_nodes = int(sum(counts))
    if dtype.itemsize > LARGEST_NODE or any(column.shape != (n_nodes,) for column in columns.values()):
        raise ValueError("its trees have another number of nodes than they say")  # before there is room made for them
    nodes = np.zeros(n_nodes, dtype=dtype)
    for name, column in columns.items():
        nodes[name] = column
    ends, value_ends = np.cumsum(counts), np.cumsum(shapes.prod(axis=1))
    states = {}
    for j, place in enumerate(arrays["trees/place"].tolist()):
        values = arrays["trees/values"][value_ends[j] - shapes[j].prod() : value_ends[j]].reshape(shapes[j])
        own = nodes[ends[j] - counts[j] : ends[j]].copy()
        depth = int(arrays["trees/depth"][j])
        states[place] = {"max_depth": depth, "node_count": counts[j], "nodes": own, "values": values.copy()}
    return states
