"""The kernel equals the plain statement of scoring, and stored trees that are not sound never reach it."""

import numpy as np
import pytest

from copa.exceptions import DataError
from copa.models.trees import TreeEnsembles
from copa.models.trees.arrays import LEAF, MISSING_LEFT, MISSING_RIGHT, SET, Links, TreeArrays
from oracle.tree_scores import tree_scores
from tree_models import table

N_CODES = np.array([9, 70, 3, 200])


def random_tree(rng, n_leaves, sets):
    """Nodes of a random tree, level by level: kind, column, cut, left, right, value."""
    n_words = [-(-int(n) // 64) for n in N_CODES]
    splits = np.zeros(2 * n_leaves - 1, dtype=bool)
    open_nodes, n_nodes = [0], 1
    children = {}
    while n_nodes < len(splits):
        node = open_nodes.pop(int(rng.integers(len(open_nodes))))
        children[node] = [n_nodes, n_nodes + 1]
        open_nodes += children[node]
        n_nodes += 2
    nodes = []
    for node in range(n_nodes):
        column = int(rng.integers(len(N_CODES)))
        kind = int(rng.choice([MISSING_RIGHT, MISSING_LEFT, *([SET] if sets else [])]))
        cut = int(rng.integers(N_CODES[column] - 2))
        if kind == SET:
            cut = int(rng.integers(50 - n_words[column]))
        if node not in children:
            kind, column, cut = LEAF, 0, 0
        nodes.append((kind, column, cut, *children.get(node, [node, node]), rng.normal() if kind == LEAF else 0.0))
    return nodes


def random_trees(seed, sizes, *, sets=True, probability=False):
    """Ensembles of trees with these numbers of leaves."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n, sets) for own in sizes for n in own]
    roots = np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.int64)
    rows = np.array([node for tree in trees for node in tree])
    moved = np.repeat(roots[:-1], np.diff(roots))
    value = np.abs(rows[:, 5]) % 1.0 if probability else rows[:, 5]
    arrays = TreeArrays(
        ensembles=np.concatenate([[0], np.cumsum([len(own) for own in sizes])]).astype(np.int64),
        roots=roots,
        kind=rows[:, 0].astype(np.uint8),
        column=rows[:, 1].astype(np.int32),
        cut=rows[:, 2].astype(np.int32),
        left=(rows[:, 3] + moved).astype(np.int32),
        right=(rows[:, 4] + moved).astype(np.int32),
        value=np.ascontiguousarray(value),
        sets=rng.integers(2**63, size=50, dtype=np.uint64),
        n_codes=N_CODES,
    )
    k = len(sizes)
    links = Links(
        base=rng.normal(size=k) * (not probability),
        divisor=np.array([float(len(own)) for own in sizes]),
        is_single=np.arange(k) % 2 == 1,
        is_probability=np.full(k, probability),
        sign=np.where(np.arange(k) % 3 == 2, -1.0, 1.0),
        limit=np.full(k, 7.0),
        threshold=0.1 * np.arange(k),
        tie=np.full(k, -1e-9),
    )
    cuts = tuple(np.arange(n - 2.0) for n in N_CODES[:-1])
    values = (None, None, None, {f"value {code}": code for code in range(198)})
    return TreeEnsembles(("a", "b", "c", "d"), (*cuts, None), values, arrays, links), rng.integers(
        N_CODES, size=(700, 4)
    )


SIZES = {
    "small": [[1, 2, 31, 32], [5] * 9, [32] * 3],
    "large": [[33, 400], [64] * 9, [200]],
    "both": [[20, 50, 2], [33], [1]],
}


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_scores_are_those_of_the_plain_statement_to_the_last_bit(size, sets):
    read, codes = random_trees(3, SIZES[size], sets=sets)
    expected = tree_scores(read.arrays, read.links, codes[:300])
    for n_rows in (1, 2, 7, 8, 16, 17, 257, 300):
        np.testing.assert_array_equal(read.scores(codes[:n_rows].astype(np.int32)), expected[:, :n_rows])
    assert read.scores(codes[:0].astype(np.int32)).shape == (3, 0)


def test_shares_become_log_odds_and_are_clipped():
    read, codes = random_trees(5, [[3, 40], [1], [2, 2, 2]], probability=True)
    expected = tree_scores(read.arrays, read.links, codes[:50])
    np.testing.assert_allclose(read.scores(codes[:50].astype(np.int32)), expected, rtol=0.0, atol=1e-14)


def test_sums_do_not_depend_on_the_number_of_threads():
    read, codes = random_trees(7, [[30] * 20, [300] * 4])
    codes = np.tile(codes, (20, 1)).astype(np.int32)
    np.testing.assert_array_equal(read.scores(codes, n_jobs=1), read.scores(codes, n_jobs=3))


def test_rows_with_codes_that_there_are_not_are_refused():
    read, codes = random_trees(3, [[4]])
    for wrong in (-1, 9):
        codes[3, 0] = wrong
        with pytest.raises(ValueError, match="a code that its column has not"):
            read.scores(codes.astype(np.int32))
    with pytest.raises(ValueError, match="rows of 4 codes"):
        read.scores(np.zeros((2, 3), dtype=np.int32))


def test_codes_of_numbers_and_values():
    read, _ = random_trees(3, [[4]])
    np.testing.assert_array_equal(
        read.codes_of_numbers(0, np.array([-1.0, 0.0, 0.5, 6.0, 7.0, np.nan])), [0, 0, 1, 6, 7, 8]
    )
    given = ["value 3", "never seen", None, np.nan, ["a list"]]
    np.testing.assert_array_equal(read.codes_of_values(3, given), [3, 198, 199, 199, 198])
    X, _ = table(5)
    frame = X[["age"]].assign(a=X.age, b=1.0, c=np.nan, d=["value 1", "value 0", "other", None, "value 1"])
    codes = read.codes(frame)
    np.testing.assert_array_equal(codes[:, 0], 7)
    np.testing.assert_array_equal(codes[:, 3], [1, 0, 198, 199, 1])


def packed(read):
    arrays = {}
    content = read.pack("trees", arrays)
    return content, {name: array.copy() for name, array in arrays.items()}


def test_what_is_packed_is_read_back():
    read, codes = random_trees(3, SIZES["both"])
    content, arrays = packed(read)
    again = TreeEnsembles.unpack(content, "trees", arrays)
    codes = codes.astype(np.int32)
    np.testing.assert_array_equal(again.scores(codes), read.scores(codes))
    assert again.columns == read.columns
    assert again.values == read.values


def forge_cycle(arrays):
    inner = np.flatnonzero(arrays["trees/kind"])
    arrays["trees/left"][inner[-1]] = inner[-1]
    arrays["trees/right"][inner[-1]] = inner[-1] + 1


def forge_shared_child(arrays):
    size = int(arrays["trees/roots"][1])
    inner = np.flatnonzero(arrays["trees/kind"][:size])
    arrays["trees/left"][inner[-1]], arrays["trees/right"][inner[-1]] = size - 2, size - 1
    arrays["trees/left"][inner[-2]], arrays["trees/right"][inner[-2]] = size - 2, size - 1


FORGERIES = {
    "two ways to a node": forge_shared_child,
    "a cut that overflows": lambda a: a["trees/cut"].__setitem__(0, 2**31 - 1),
    "a cycle": forge_cycle,
    "a child beyond its tree": lambda a: a["trees/right"].__setitem__(0, 10**6),
    "a column that there is not": lambda a: a["trees/column"].__setitem__(0, 4),
    "a column below zero": lambda a: a["trees/column"].__setitem__(0, -1),
    "a cut beyond the codes": lambda a: a["trees/cut"].__setitem__(0, 10**5),
    "a cut below zero": lambda a: a["trees/cut"].__setitem__(0, -1),
    "a kind that is not known": lambda a: a["trees/kind"].__setitem__(0, 4),
    "a leaf that is not a number": lambda a: a["trees/value"].__setitem__(-1, np.nan),
    "roots out of order": lambda a: a["trees/roots"].__setitem__(1, 0),
    "roots beyond the nodes": lambda a: a["trees/roots"].__setitem__(-1, 10**6),
    "ensembles beyond the trees": lambda a: a["trees/ensembles"].__setitem__(-1, 99),
    "fewer nodes in one field": lambda a: a.update({"trees/cut": a["trees/cut"][:-1]}),
    "fewer words": lambda a: a.update({"trees/sets": a["trees/sets"][:1]}),
    "numbers of another type": lambda a: a.update({"trees/left": a["trees/left"].astype(np.int64)}),
    "other numbers of codes": lambda a: a["trees/n_codes"].__setitem__(0, 10**6),
    "no divisor": lambda a: a["trees/divisor"].__setitem__(0, 0.0),
    "a link for another number": lambda a: a.update({"trees/sign": a["trees/sign"][:1]}),
    "cuts that do not ascend": lambda a: a["trees/cuts/0"].__setitem__(0, 99.0),
    "an array less": lambda a: a.pop("trees/kind"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_trees_are_refused(forgery):
    read, _ = random_trees(3, SIZES["both"])
    content, arrays = packed(read)
    FORGERIES[forgery](arrays)
    with pytest.raises(DataError, match="trees are damaged"):
        TreeEnsembles.unpack(content, "trees", arrays)


def test_forged_columns_are_refused():
    read, _ = random_trees(3, SIZES["small"])
    for change in (
        {"columns": ["a"]},
        {"values": None},
        {"values": [None, None, None, ["x", "x"]]},
        {"columns": [1, 2, 3, 4]},
    ):
        content, arrays = packed(read)
        with pytest.raises(DataError, match="trees are damaged"):
            TreeEnsembles.unpack(content | change, "trees", arrays)
