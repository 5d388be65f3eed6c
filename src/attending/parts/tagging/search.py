"""Exact nearest neighbours among many points with many, but correlated, coordinates.

The usual tree search is slow on the 83 scores of a flat scheme of 41 types, and comparing every
word with every training word costs as much as the encoder does. But scores hardly vary along most
directions. So points are turned to their principal axes, which changes no distance, and halved
along the widest of these until a cell holds some hundreds. A query's nearest cells give a
distance that its k-th neighbour can't exceed; a cell whose box is further than that holds none of
its neighbours. What is left is compared cell by cell, for all queries of a cell at once, as one
matrix product over the first axes and the length of the rest: as | |a| - |b| | <= |a - b|, that
is never more than the distance. All this is in single precision with room for its error. The few
points that remain are measured in double precision: the outcome is exact.

Points of a few coordinates, the scores of one or two types, are left to SciPy's k-d tree, which is
several times faster there.

Source: boxes and bounds as in k-d trees (Friedman, Bentley, Finkel 1977).

Letters: M points, D coordinates, Q queries, C cells, s points of the largest cell.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
_FEW = 6
"""Coordinates up to which a k-d tree is faster."""
_POINTS = 400
_BOX_AXES = 8
_AXES = 24
_BLOCK = 8192
_ROWS = 128
_SLACK = 1e-5
"""Share of a size, or of a squared size, that single precision may be wrong by."""


def search_among(points: Doubles) -> "ExactSearch | TreeSearch":
    """Return what finds the nearest of points (M, D) fastest."""
    return TreeSearch(points) if points.shape[1] <= _FEW else ExactSearch(points)


def few_of_each(points: NDArray[np.float32], most: int) -> Ints:
    """Return the numbers of points (M, D), at most so many that stand at the same place.

    More than k at one place add nothing to k neighbours, and no search could tell them apart: it
    would have to look at all of them. The first ones are kept.
    """
    _, place, count = np.unique(
        np.ascontiguousarray(points), axis=0, return_inverse=True, return_counts=True
    )
    order = np.argsort(place.ravel(), kind="stable")
    number = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    return np.sort(order[number < most])


class TreeSearch:
    """Finds the nearest of fixed points with few coordinates.

    Args:
        points: (M, D).
    """

    def __init__(self, points: Doubles) -> None:
        self.tree = cKDTree(points)

    def nearest(self, queries: Doubles, k: int) -> Ints:
        """Return the numbers of the k nearest points, (Q, k) or fewer if there are fewer."""
        found = self.tree.query(queries, np.arange(1, min(k, self.tree.n) + 1))[1]
        return np.asarray(found, dtype=np.int64)


class ExactSearch:
    """Finds the nearest of fixed points.

    Args:
        points: (M, D).
    """

    def __init__(self, points: Doubles) -> None:
        self.middle = points.mean(axis=0)
        moved = points - self.middle
        _, axes = np.linalg.eigh(moved.T @ moved)
        self.axes = axes[:, ::-1]
        points = moved @ self.axes
        halvings = max(0, int(np.ceil(np.log2(len(points) / _POINTS))))
        cells = _halved(points, np.arange(len(points)), halvings)
        self.numbers = np.concatenate(cells)
        self.points = points[self.numbers]  # cell by cell
        self.starts = np.cumsum([0, *map(len, cells)])
        self.sizes = np.diff(self.starts)
        self.whole = _Cells(self.points, self.starts)
        self.short = _Cells(_shortened(self.points), self.starts)
        self.centres = _columns(self.whole.centres)
        first = self.points[:, :_BOX_AXES]
        spare = _SLACK * np.abs(self.points).max()
        low = np.minimum.reduceat(first, self.starts[:-1], axis=0) - spare
        high = np.maximum.reduceat(first, self.starts[:-1], axis=0) + spare
        self.low, self.high = low.astype(np.float32), high.astype(np.float32)

    def nearest(self, queries: Doubles, k: int) -> Ints:
        """Return the numbers of the k nearest points of queries (Q, D), nearest first, (Q, k)."""
        k = min(k, len(self.points))
        found = np.zeros((len(queries), k), dtype=np.int64)
        for start in range(0, len(queries), _BLOCK):
            here = slice(start, start + _BLOCK)
            found[here] = self._block((queries[here] - self.middle) @ self.axes, k)
        return found

    def _block(self, queries: Doubles, k: int) -> Ints:
        reach = self._reach(queries, k)
        short = _shortened(queries)
        rows, points = [], []
        for cell, members in self._pairs(self._in_reach(queries.astype(np.float32), reach)):
            bounds, slack = self.short.apart(short[members], cell)
            near = np.flatnonzero(bounds <= (reach[members] + slack)[:, None])
            row, column = np.divmod(near, bounds.shape[1])
            rows.append(members[row])
            points.append(self.starts[cell] + column)
        row, point = np.concatenate(rows), np.concatenate(points)
        order = np.lexsort((point, self._measured(queries, row, point), row))
        first = np.searchsorted(row[order], np.arange(len(queries)))
        return np.asarray(self.numbers[point[order][first[:, None] + np.arange(k)]])

    def _reach(self, queries: Doubles, k: int) -> Singles:
        """Return a squared distance that the k-th nearest point does not exceed, (Q,)."""
        apart = _rows(queries) @ self.centres
        # So many cells hold k points, whichever they are.
        few = min(len(self.sizes), max(2, int(np.ceil(k / self.sizes.min()))))
        chosen = np.zeros(apart.shape, dtype=bool)
        near = np.argpartition(apart, few - 1, axis=1)[:, :few]
        np.put_along_axis(chosen, near, True, axis=1)
        shape = len(queries), few, int(self.sizes.max())
        distances = np.full(shape, np.inf, dtype=np.float32)
        used = np.zeros(len(queries), dtype=np.int64)
        for cell, members in self._pairs(chosen):
            found, slack = self.whole.apart(queries[members], cell)
            distances[members, used[members], : self.sizes[cell]] = found + slack[:, None]
            used[members] += 1
        flat = distances.reshape(len(queries), -1)
        return np.partition(flat, k - 1, axis=1)[:, k - 1]

    def _in_reach(self, queries: Singles, reach: Singles) -> NDArray[np.bool_]:
        """Return which cells' boxes are within reach of which queries, (Q, C)."""
        near = np.zeros((len(queries), len(self.sizes)), dtype=bool)
        for start in range(0, len(queries), _ROWS):  # as many as stay in the processor's cache
            here = slice(start, start + _ROWS)
            bound = np.zeros((len(queries[here]), len(self.sizes)), dtype=np.float32)
            below, above = np.empty_like(bound), np.empty_like(bound)
            for axis in range(self.low.shape[1]):
                at = queries[here, axis, None]
                np.subtract(self.low[:, axis], at, out=below)
                np.subtract(at, self.high[:, axis], out=above)
                np.maximum(below, above, out=below)
                np.maximum(below, 0, out=below)
                np.multiply(below, below, out=below)
                np.add(bound, below, out=bound)
            near[here] = bound <= reach[here, None]
        return near

    def _pairs(self, chosen: NDArray[np.bool_]) -> Iterator[tuple[int, Ints]]:
        """Yield each cell that queries (Q, C) have chosen, with these queries."""
        cells, members = np.nonzero(chosen.T)
        edges = np.searchsorted(cells, np.arange(chosen.shape[1] + 1))
        for cell in np.unique(cells).tolist():
            yield cell, members[edges[cell] : edges[cell + 1]]

    def _measured(self, queries: Doubles, row: Ints, point: Ints) -> Doubles:
        """Return the squared distances of pairs, in double precision."""
        found = np.zeros(len(row))
        for start in range(0, len(row), 8 * _ROWS):
            here = slice(start, start + 8 * _ROWS)
            apart = queries[row[here]] - self.points[point[here]]
            found[here] = np.einsum("pd,pd->p", apart, apart)
        return found


class _Cells:
    """Points of cells, each cell from its own centre, so that sizes and errors are small.

    Args:
        ordered: Points cell by cell, (M, D).
        starts: Where cells begin, (C + 1,).
    """

    def __init__(self, ordered: Doubles, starts: Ints) -> None:
        sizes = np.diff(starts)
        self.centres = np.add.reduceat(ordered, starts[:-1], axis=0) / sizes[:, None]
        inside = ordered - np.repeat(self.centres, sizes, axis=0)
        self.radii = np.maximum.reduceat((inside**2).sum(axis=1), starts[:-1])
        self.columns = [_columns(inside[a:b]) for a, b in pairwise(starts.tolist())]

    def apart(self, queries: Doubles, cell: int) -> tuple[Singles, Singles]:
        """Return squared distances of queries (Q, D) to a cell's points, and what may be wrong."""
        rows = _rows(queries - self.centres[cell])
        slack: Singles = _SLACK * (rows[:, -2] + np.float32(self.radii[cell]))
        return rows @ self.columns[cell], slack


def _shortened(points: Doubles) -> Doubles:
    """Return the first coordinates and the length of the others."""
    if points.shape[1] <= _AXES + 1:
        return points
    rest = np.linalg.norm(points[:, _AXES:], axis=1)
    return np.concatenate([points[:, :_AXES], rest[:, None]], axis=1)


def _rows(queries: Doubles) -> Singles:
    """Return q, |q|^2 and 1 (Q, D + 2), so that a product with columns is a squared distance."""
    sizes = (queries**2).sum(axis=1, keepdims=True)
    return np.hstack([queries, sizes, np.ones_like(sizes)]).astype(np.float32)


def _columns(points: Doubles) -> Singles:
    """Return -2x, 1 and |x|^2, (D + 2, M)."""
    sizes = (points**2).sum(axis=1, keepdims=True)
    made = np.hstack([-2 * points, np.ones_like(sizes), sizes]).astype(np.float32)
    return np.ascontiguousarray(made.T)


def _halved(points: Doubles, which: Ints, times: int) -> list[Ints]:
    """Halve points along the axis in which they vary most, again and again; C lists of them."""
    if not times:
        return [which]
    axis = int(points[which][:, : 2 * _BOX_AXES].var(axis=0).argmax())
    half = len(which) // 2
    order = which[np.argpartition(points[which, axis], half)]
    return [*_halved(points, order[:half], times - 1), *_halved(points, order[half:], times - 1)]
