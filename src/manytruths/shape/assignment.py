"""One-to-one matching of two sets of pixels, of which only near ones may be matched.

The largest number of pairs is a maximum flow. The rows that some largest matching leaves out are those reached from an
unmatched row by alternating paths; what they may be matched with is matched in all (Dulmage and Mendelsohn). So the
graph falls in two: a part in which every column, and a part in which every row has a partner. The smallest total
distance is then a plain assignment problem in each, without a price for staying unmatched.

Dulmage AL, Mendelsohn NS. Coverings of bipartite graphs. Can J Math 1958;10:517–534. doi:10.4153/CJM-1958-052-0.
Jonker R, Volgenant A. Computing 1987;38:325–340. doi:10.1007/BF02278710
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reach:
    """Who may be matched with whom: row ``i`` with ``columns[starts[i] : starts[i + 1]]``."""

    starts: Indices
    columns: Indices
    row_at: Indices
    """Where each row's pixel lies, (rows, 2)."""
    column_at: Indices
    """Where each column's pixel lies, (columns, 2)."""

    @property
    def height(self) -> int:
        return len(self.row_at)

    @property
    def width(self) -> int:
        return len(self.column_at)

    @property
    def rows(self) -> Indices:
        """The row of each edge."""
        return np.repeat(np.arange(self.height), np.diff(self.starts))

    def owners(self, partner: Indices) -> Indices:
        """The row of each column, or −1, from the column of each row."""
        owner = np.full(self.width, -1)
        owner[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
        return owner

    def lengths(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        return pixel_distances(self.row_at[rows], self.column_at[columns])


def pixel_distances(first: Indices, second: Indices) -> NDArray[np.float64]:
    """How far the two pixels of each pair are apart."""
    distances: NDArray[np.float64] = np.sqrt(((first - second) ** 2).sum(axis=1))
    return distances


def maximum_matching(reach: Reach, start: Indices | None = None) -> Indices:
    """The column of each row in some matching of the most pairs; −1 for a row without one.

    ``start`` is a matching to begin with, where one is known. A flow, and not SciPy's ``maximum_bipartite_matching``,
    which takes exponential time on lines that run side by side (scipy/scipy#26147).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    height, width, rows = reach.height, reach.width, reach.rows
    partner = np.full(height, -1) if start is None else start.copy()
    sink, source, free = height + width, height + width + 1, np.flatnonzero(partner < 0)
    # A free row is fed, a free column drains; a pair to begin with leads back, from its column to its row.
    onward = np.where(reach.owners(partner) < 0, sink, reach.owners(partner))
    new = partner[rows] != reach.columns
    targets = np.concatenate([reach.columns[new] + height, onward, free])
    degrees = np.concatenate([np.bincount(rows[new], minlength=height), np.ones(width, np.intp), [0, len(free)]])
    ends = np.append(0, np.cumsum(degrees))
    links = (np.ones(len(targets), np.int32), targets.astype(np.int32), ends.astype(np.int32))
    flow = maximum_flow(csr_array(links, shape=(source + 1, source + 1)), source, sink).flow
    used = np.flatnonzero(flow.data[: flow.indptr[height]] > 0)
    partner[np.searchsorted(flow.indptr, used, side="right") - 1] = flow.indices[used] - height
    return partner


def find_spare_rows(reach: Reach, partner: Indices) -> Flags:
    """Rows that some largest matching leaves without a column; all other rows have one in every largest matching."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    height, free = reach.height, np.flatnonzero(partner < 0)
    rival = reach.owners(partner)[reach.columns]
    rival = np.where(rival < 0, reach.rows, rival)
    targets, ends = np.concatenate([rival, free]), np.append(reach.starts, len(rival) + len(free))
    links = (np.ones(len(targets), np.int8), targets.astype(np.int32), ends.astype(np.int32))
    reached = breadth_first_order(csr_array(links, shape=(height + 1, height + 1)), height, return_predecessors=False)
    out = np.zeros(height + 1, bool)
    out[reached] = True
    return out[:-1]


def shortest_matching(reach: Reach, partner: Indices) -> Indices:
    """The column of each row, or −1, in a matching of the smallest total distance among those of the most pairs."""
    out, rows = find_spare_rows(reach, partner), reach.rows
    matching = choose_columns(reach, out)
    contested = np.zeros(reach.width, bool)
    contested[reach.columns[out[rows]]] = True
    edges = np.flatnonzero(~out[rows] & ~contested[reach.columns])
    at, to = rows[edges], reach.columns[edges]
    best = _assigned(at, to, reach.lengths(at, to))
    matching[at[best]] = to[best]
    return matching


def choose_columns(reach: Reach, rows: Flags) -> Indices:
    """For rows that may be left out, the columns of those that the smallest total distance takes; −1 elsewhere."""
    matching, at = np.full(reach.height, -1), reach.rows
    edges = np.flatnonzero(rows[at])
    at, to = at[edges], reach.columns[edges]
    best = _assigned(to, at, reach.lengths(at, to))
    matching[at[best]] = to[best]
    return matching


def _assigned(agents: Indices, tasks: Indices, lengths: NDArray[np.float64]) -> Indices:
    """Which edges give every agent a task of its own at the smallest total length; there must be such a choice."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    if not len(agents):
        return np.empty(0, np.intp)
    agent, task = _numbered(agents), _numbered(tasks)
    height, width = int(agent.max()) + 1, int(task.max()) + 1
    # A spare task for each agent, too dear to be taken, makes SciPy's first look for any full matching trivial: it
    # uses the function that may take exponential time. Costs start at 1, as it drops those of 0.
    spare = np.full(height, 1 + lengths.sum() + len(lengths))
    costs = np.concatenate([lengths + 1, spare])
    at, to = np.concatenate([agent, np.arange(height)]), np.concatenate([task, width + np.arange(height)])
    links = coo_array((costs, (at, to)), shape=(height, width + height)).tocsr()
    _, taken = min_weight_full_bipartite_matching(links)
    best: Indices = np.flatnonzero(taken[agent] == task)
    return best


def _numbered(names: Indices) -> Indices:
    """The same names as 0, 1, 2, … in rising order."""
    there = np.zeros(int(names.max()) + 1, bool)
    there[names] = True
    numbers: Indices = (np.cumsum(there) - 1)[names]
    return numbers
