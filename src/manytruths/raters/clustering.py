"""Which raters are alike: Ward's clustering of 1 − F1.

SciPy's ``ward`` is the variant that R calls ward.D2: Lance and Williams' update on squared differences, heights as
differences. Differences of 1 − F1 are not Euclidean, so that a height is a criterion and no variance.

Ward JH. J Am Stat Assoc 1963;58:236–244. doi:10.1080/01621459.1963.10500845. Murtagh F, Legendre P. J Classif
2014;31:274–295. doi:10.1007/s00357-014-9161-z. Lampert TA et al. 2016, 3.3. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tally
from .difference import rater_differences
from .identity import refuse_exchangeable


@dataclass(frozen=True)
class Clustering:
    """A dendrogram of raters."""

    raters: tuple[str, ...]
    """Those clustered; the numbers in ``linkage`` are their positions."""
    linkage: NDArray[np.float64]
    """SciPy's: for each merger the two clusters, their height, and how many raters they hold."""
    order: tuple[str, ...]
    """The leaves of the dendrogram from one side to the other."""
    apart: tuple[str, ...] = ()
    """Raters left out, as they cannot be compared with all the others."""


def cluster(tally: Tally) -> Clustering:
    """Ward's clustering of the raters by 1 − F1.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [0, 0, 1, 1, 1], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> cluster(t).order
    ('A', 'C', 'B', 'D')
    """
    refuse_exchangeable(tally, "clustering")
    differences = rater_differences(tally).pairs
    keep = _comparable(differences.values)
    names = tuple(differences.names[i] for i in keep)
    apart = tuple(name for name in differences.names if name not in names)
    if len(keep) < 2:
        return Clustering(names, np.empty((0, 4)), names, apart)
    linkage, order = _ward(differences.values[np.ix_(keep, keep)])
    return Clustering(names, linkage, tuple(names[i] for i in order), apart)


def _comparable(values: NDArray[np.float64]) -> list[int]:
    """Raters with a difference between every two, those who lack most left out first."""
    keep = list(range(len(values)))
    while keep:
        missing = np.isnan(_apart(values[np.ix_(keep, keep)])).sum(axis=1)
        if not missing.any():
            break
        keep.pop(int(np.argmax(missing)))
    return keep


def _apart(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Differences to the others; a rater who marked nothing has none to himself, which is no gap."""
    return np.where(np.eye(len(values), dtype=bool), 0, values)


def _ward(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from scipy.cluster import hierarchy

    linkage = hierarchy.linkage(values[np.triu_indices(len(values), 1)], "ward")
    return linkage, hierarchy.leaves_list(linkage)
