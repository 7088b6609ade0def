"""Complexity of a case: how far the raters' markings leave the truth open.

W is STAPLE's map of the modified background, stretched linearly so that its smallest value over the counted items
is 0 and its largest 1. Over the n items that any rater marked, with h the shares of 100 bins of W ::

    entropy = − Σ h log h              std = √(Σ (W − mean)² / (n − 1))
    ESM     = entropy / mean²          SSM = std / mean²

STAPLE has the prior ``prevalence``: it is ITK's, which Gordon used, and gives Gordon's Table 1. On the modified
background ``marked`` would be ½ whatever was drawn, and take a large marking around a small one for agreement.

Bins are k/100 ≤ W < (k + 1)/100, the last with 1; W is rounded to six places first, as STAPLE with two raters often
ends at ½, an edge, up to where EM stops. Where W is equal everywhere there is nothing to stretch: if everybody marked
every item it is 1, complete agreement; else STAPLE learned nothing (the raters overlap no more than by chance), and
complexity is undefined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tally
from ..core.undefined import Undefined, code, ratio, reason
from ..fusion import Staple, staple
from ..fusion.staple import StapleOptions

Values = NDArray[np.float64]

BINS = 100
PLACES = 1e-6
"""W is known to about so much; differences below it do not part two bins."""

FLAT = 1e-3
"""W that varies less is equal everywhere, up to where EM stops; on real masks it varies by more than ½."""

STATISTICS = ("entropy", "std", "mean", "esm", "ssm")

ALONE = "fewer_than_two_raters"
NOBODY = "nobody_marked"
NO_OVERLAP = "no_item_marked_twice"
NO_TRUTH = "staple_without_truth"
UPSIDE_DOWN = "hardly any overlap: to STAPLE, what all raters marked is not the most likely to be true"


@dataclass(frozen=True)
class Complexity:
    """Complexity of one case; its numbers are :class:`Undefined` where it cannot be computed.

    Attributes
    ----------
    entropy : float
        Entropy of the histogram of W inside the union of markings, in nats: 0 to log 100.
    std : float
        Sample standard deviation of W there; undefined for a single pixel.
    mean : float
        Mean of W there.
    esm : float
        Entropy scaled by mean: high where raters differ.
    ssm : float
        Standard deviation scaled by mean: likewise.
    raters : int
        Number of raters who rated anything.
    items : int
        Number of pixels that any rater marked.
    note : str
        What to know before using it.
    """

    entropy: float
    std: float
    mean: float
    esm: float
    ssm: float
    raters: int
    items: int
    note: str = ""

    @property
    def reason(self) -> str:
        """Why the case has no complexity; empty where it has one."""
        return reason(self.entropy)

    @property
    def code(self) -> str:
        """The same for programs."""
        return code(self.entropy)


def case_complexity(tally: Tally) -> Complexity:
    """Compute how complex a case is, from STAPLE's map of the modified background.

    Complete agreement has entropy 0 and mean 1; low entropy with a low mean is strong disagreement. More raters make
    more values of the map, so that only cases with equally many raters can be compared. All labels but background count
    as marked, and raters in their first session only.

    Parameters
    ----------
    tally : Tally
        Table of one case, of the whole image.

    Returns
    -------
    Complexity
        The descriptors. Undefined where fewer than two raters rated, nobody marked, no pixel was marked by two (Gordon
        leaves such cases out; STAPLE then follows whoever marked most, or nobody), or STAPLE finds every pixel equally
        likely.

    References
    ----------
    Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput Med
    Imaging Graph 2009;33:205–216, 3.1. doi:10.1016/j.compmedimag.2008.12.002

    Examples
    --------
    >>> import manytruths as mt
    >>> a, b = [1] * 6 + [0] * 14, [1] * 4 + [0] * 16
    >>> complexity = mt.case_complexity(mt.tally({"A": a, "B": b}))
    >>> round(complexity.entropy, 4), round(complexity.mean, 4), round(complexity.esm, 4), complexity.items
    (0.6365, 0.8333, 0.9166, 6)
    >>> mt.case_complexity(mt.tally({"A": a, "B": a})).entropy
    0.0
    """
    return complexity_beside(tally)


def complexity_beside(tally: Tally, known: object = None) -> Complexity:
    """The same beside a consensus that is known, which is not estimated again if it is of the same table."""
    marks = _rater_marks(tally)
    table = marks.restrict("modified_background")
    inside, most = table.marked > 0, table.marked.max(initial=0)
    counts = table.counts[inside]
    raters, items = int((marks.patterns != VOID).any(axis=0).sum()), int(counts.sum())
    if raters < 2 or most < 2:
        return _undefined(ALONE if raters < 2 else NO_OVERLAP if most else NOBODY, raters, items)
    fit = known if isinstance(known, Staple) and _is_fit_of(known, table) else staple(table, "prevalence")
    values = _stretch(np.asarray(fit.probability))
    if values.max() < 1 - FLAT:
        return _undefined(NO_TRUTH, raters, items)
    entropy, std, mean = _describe(values[inside], counts, items)
    square, low = mean**2, "mean_zero"
    ssm = std if reason(std) else ratio(std, square, low)
    return Complexity(entropy, std, mean, ratio(entropy, square, low), ssm, raters, items, _note(table, values, fit))


def _rater_marks(tally: Tally) -> Tally:
    """What the raters marked, and nothing else."""
    if tally.labels.background is None:
        raise CallError(
            f"complexity needs background (0) among the labels; there are {', '.join(tally.labels.describe())}"
        )
    if tally.region == "union":
        raise CallError("complexity needs background around the union, which this tally lacks: count the whole image")
    return tally.project(tally.columns[i] for i in tally.raters).foreground()


def _is_fit_of(known: Staple, table: Tally) -> bool:
    """Whether it is what STAPLE would find for a table; small images of noise have no background to cut."""
    own = known.tally
    return (
        own is not None
        and known.options == StapleOptions()
        and len(own.labels) == len(table.labels) == 2
        and own.labels.background == table.labels.background == 0
        and np.array_equal(own.counts, table.counts)
        and np.array_equal(own.patterns[:, own.raters], table.patterns[:, table.raters])
    )


def _undefined(code: str, raters: int, items: int) -> Complexity:
    nothing = Undefined(code)
    return Complexity(nothing, nothing, nothing, nothing, nothing, raters, items)


def _stretch(values: Values) -> Values:
    """From 0 to 1; as they are where they are all equal."""
    low, high = values.min(), values.max()
    return np.asarray((values - low) / (high - low)) if high - low >= FLAT else values


def _describe(values: Values, counts: NDArray[np.int64], items: int) -> tuple[float, float, float]:
    """Entropy, standard deviation and mean of values that occur so often."""
    bins = np.minimum(np.rint(values / PLACES).astype(np.int64) // round(1 / PLACES / BINS), BINS - 1)
    shares = np.bincount(bins, counts) / items
    shares = shares[shares > 0]
    mean = float(counts @ values / items)
    variance = ratio(float(counts @ (values - mean) ** 2), items - 1, "single_item")
    std = variance if reason(variance) else variance**0.5
    return abs(float(shares @ np.log(shares))), std, mean


def _note(table: Tally, values: Values, fit: Staple) -> str:
    notes = [f"STAPLE did not converge in {fit.iterations} iterations"] if fit.convergence == "stopped" else []
    shared = values[(table.marked > 1) & (table.marked == table.rated)]
    if len(shared) and shared.max() < 1 - PLACES:
        notes.append(UPSIDE_DOWN)
    return "; ".join(notes)


def rater_note(cases: Iterable[Complexity]) -> str:
    """A warning where cases differ in their number of raters; empty where they do not."""
    numbers = sorted({case.raters for case in cases})
    if len(numbers) < 2:
        return ""
    return f"cases have {numbers[0]} to {numbers[-1]} raters, on which the values depend: compare equal numbers"
