"""Scores of coded rows by tree ensembles, as `copa.models.trees.arrays` states them: one row and one node at a time."""

import numpy as np

from copa.models.trees.arrays import LEAF, MISSING_LEFT, SET, Links, TreeArrays


def tree_scores(arrays: TreeArrays, links: Links, codes: np.ndarray) -> np.ndarray:
    """Scores (K, N)."""
    n_ensembles = len(arrays.ensembles) - 1
    scores = np.zeros((n_ensembles, len(codes)))
    for k in range(n_ensembles):
        for row, own in enumerate(codes):
            total = links.base[k]
            for tree in range(arrays.ensembles[k], arrays.ensembles[k + 1]):
                total = total + arrays.value[_leaf(arrays, int(arrays.roots[tree]), own)]
                total = float(np.float32(total)) if links.is_single[k] else total
            scores[k, row] = _score(links, k, total)
    return scores


def _leaf(arrays: TreeArrays, node: int, codes: np.ndarray) -> int:
    while arrays.kind[node] != LEAF:
        column = arrays.column[node]
        code, cut = int(codes[column]), int(arrays.cut[node])
        if arrays.kind[node] == SET:
            left = bool(int(arrays.sets[cut + code // 64]) >> (code % 64) & 1)
        elif code == arrays.n_codes[column] - 1:
            left = arrays.kind[node] == MISSING_LEFT
        else:
            left = code <= cut
        node = int((arrays.left if left else arrays.right)[node])
    return node


def _score(links: Links, k: int, total: float) -> float:
    odds = total / links.divisor[k]
    if links.is_probability[k]:
        with np.errstate(divide="ignore"):
            odds = np.log(odds) - np.log1p(-odds)
    score = links.sign[k] * np.clip(odds, -links.limit[k], links.limit[k]) - links.threshold[k]
    return float(links.tie[k] if score == 0.0 else score)
