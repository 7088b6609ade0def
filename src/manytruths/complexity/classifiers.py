"""Classifiers of cases by their complexity: a threshold between hard and easy, and groups.

The threshold is the value halfway between neighbouring ones that makes Youden's index largest ::

    J = sensitivity + specificity − 1 = 2 balanced accuracy − 1

where sensitivity is the share of hard cases with a value above it, and specificity that of easy cases with one not
above it; for the mean, which is high where raters agree, below takes the place of above. Of thresholds that are
equally good, the one in the widest gap between values; of equal gaps, the one that calls more cases hard.

Groups come from k-means on entropy and mean, each divided by its sample standard deviation. They are named by the mean
of W at their centres, as Gordon saw them ::

    A   the lowest     strong disagreement      (low entropy, low mean)
    B   the highest    agreement                (low entropy, high mean)
    C   in between     some disagreement        (high entropy, middling mean)

With more groups, C, D, … are those in between from low to high; with two there are A and B. Where the groups in
between have no higher entropy than A and B, as happens with many raters, a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from string import ascii_uppercase
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, InputError
from ..io.format_versions import check_format_version
from .descriptors import STATISTICS, Complexity, rater_note

Values = NDArray[np.float64]

CHANCE = "no threshold does better than chance"
OTHER_SHAPE = "the group with the middle mean (C) does not have the highest entropy here, as it has in Gordon (2009)"
MAX_STEPS = 300
VERSION = 1


class Stored:
    """A classifier that can be written as text and read again."""

    kind: ClassVar[str]

    def to_json(self) -> str:
        """The classifier as text."""
        import msgspec

        fields = {"manytruths": self.kind, "version": VERSION, **asdict(cast(Any, self))}
        return msgspec.json.format(msgspec.json.encode(fields), indent=2).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The classifier back from :meth:`to_json`, equal in every field."""
        import msgspec

        try:
            fields: Any = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise InputError(f"a {cls.kind} is read from the text of to_json(); this is not JSON: {error}") from error
        given = fields.get("manytruths") if isinstance(fields, dict) else None
        if given != cls.kind:
            raise InputError(f"a {cls.kind} is read from the text of to_json(); got {given or type(fields).__name__}")
        check_format_version(f"this {cls.kind}", fields.get("version"), VERSION, InputError)
        try:
            return msgspec.convert(fields, cls)
        except msgspec.ValidationError as error:
            raise InputError(f"this {cls.kind} is damaged: {error}") from error


@dataclass(frozen=True)
class ThresholdClassifier(Stored):
    """Tells hard cases from easy ones by one statistic of their complexity.

    Attributes
    ----------
    statistic : str
        One of entropy, std, mean, esm, ssm.
    threshold : float
        Above it (for the mean: below it) a case is hard.
    sensitivity : float
        Share of the hard cases classified as hard, among those it was fitted to: new cases will do a little worse.
    specificity : float
        Share of the easy cases classified as easy, among those it was fitted to.
    hard : int
        Number of hard cases it was fitted to.
    easy : int
        Number of easy cases it was fitted to.
    left_out : int
        Number of cases whose value was undefined.
    note : str
        What to know before using it.
    """

    kind: ClassVar[str] = "threshold classifier"

    statistic: str
    threshold: float
    sensitivity: float
    specificity: float
    hard: int
    easy: int
    left_out: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        _check_statistic(self.statistic)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of sensitivity and specificity: ½ is chance."""
        return (self.sensitivity + self.specificity) / 2

    def classify(self, case: Complexity | float) -> str:
        """``hard``, ``easy``, or ``undefined``."""
        value = _value(case, self.statistic)
        if math.isnan(value):
            return "undefined"
        sign = _sign(self.statistic)
        return "hard" if sign * value > sign * self.threshold else "easy"


def fit_complexity_threshold(
    values: Sequence[Complexity] | Sequence[float], hard: Sequence[bool], statistic: str = "esm"
) -> ThresholdClassifier:
    """Learn a threshold from cases that are known to be hard or easy.

    Parameters
    ----------
    values : sequence of Complexity or float
        One per case: its complexity, or the statistic itself; undefined ones are left out, and counted.
    hard : sequence of bool
        Whether the case is hard, in the same order.
    statistic : {"esm", "entropy", "std", "mean", "ssm"}
        What the threshold is of.

    Returns
    -------
    ThresholdClassifier
        The classifier.

    References
    ----------
    Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput Med
    Imaging Graph 2009;33:205–216, 3.1. doi:10.1016/j.compmedimag.2008.12.002
    Youden WJ. Index for rating diagnostic tests. Cancer 1950;3:32–35.
    doi:10.1002/1097-0142(1950)3:1<32::AID-CNCR2820030106>3.0.CO;2-3

    Examples
    --------
    >>> import manytruths as mt
    >>> fit = mt.fit_complexity_threshold([0.4, 0.9, 1.1, 2.0, 3.5], [False, False, True, False, True])
    >>> fit.threshold, fit.balanced_accuracy, fit.classify(1.6)
    (1.0, 0.8333333333333333, 'hard')
    """
    _check_statistic(statistic)
    x, known = np.array([_value(v, statistic) for v in values], np.float64), np.asarray(hard)
    if known.ndim != 1 or not np.isin(known, (0, 1)).all():
        raise CallError(f"hard is a list of True and False; got {hard!r:.80}")
    known = known.astype(bool)
    if x.shape != known.shape:
        raise CallError(f"values and hard need one entry per case; got {len(x)} values and {len(known)} of hard")
    defined = ~np.isnan(x)
    signed, known = _sign(statistic) * x[defined], known[defined]
    _check_both_kinds(signed, known, statistic)
    cut = _best_cut(np.sort(signed[known]), np.sort(signed[~known]))
    sensitivity, specificity = float((signed[known] > cut).mean()), float((signed[~known] <= cut).mean())
    notes = [CHANCE] if sensitivity + specificity <= 1 else []
    notes += filter(None, [rater_note(v for v in values if isinstance(v, Complexity) and not v.reason)])
    n, left_out = int(known.sum()), int((~defined).sum())
    counts = n, len(known) - n, left_out
    return ThresholdClassifier(
        statistic, _sign(statistic) * cut, sensitivity, specificity, *counts, note="; ".join(notes)
    )


def _best_cut(hard: Values, easy: Values) -> float:
    """The cut of sorted values with the largest index, in whole numbers so that ties are ties."""
    values = np.unique(np.concatenate([hard, easy]))
    low, high = values[:-1], values[1:]
    middle = low + (high - low) / 2
    middle = np.where(middle < high, middle, low)
    above = len(hard) - np.searchsorted(hard, middle, side="right")
    below = np.searchsorted(easy, middle, side="right")
    score = above * len(easy) + below * len(hard)
    return float(middle[np.argmax(np.where(score == score.max(), high - low, -1))])


def _value(case: Complexity | float, statistic: str) -> float:
    return float(getattr(case, statistic) if isinstance(case, Complexity) else case)


def _sign(statistic: str) -> int:
    return -1 if statistic == "mean" else 1


def _check_statistic(statistic: str) -> None:
    if statistic not in STATISTICS:
        raise CallError(f"statistic is one of {', '.join(STATISTICS)}; got {statistic!r}")


def _check_both_kinds(values: Values, hard: NDArray[np.bool_], statistic: str) -> None:
    n = int(hard.sum())
    if n in (0, len(hard)):
        raise InputError(f"a threshold needs hard and easy cases with a value; got {n} hard, {len(hard) - n} easy")
    if values.min() == values.max():
        raise InputError(f"every case has {statistic} {abs(values[0]):.4g}: no threshold parts them")


@dataclass(frozen=True)
class GroupClassifier(Stored):
    """Classifies cases by entropy and mean.

    Attributes
    ----------
    names : tuple of str
        A, B, C, …
    centres : tuple of tuple of float
        Entropy and mean at the centre of each group.
    sizes : tuple of int
        Number of cases in each, among those that it was fitted to.
    scale : tuple of float
        What entropy and mean are divided by before distances are taken.
    explained : float
        Share of the variance of all cases that lies between the groups.
    left_out : int
        Number of cases whose complexity was undefined.
    note : str
        What to know before using it.
    """

    kind: ClassVar[str] = "group classifier"

    names: tuple[str, ...]
    centres: tuple[tuple[float, float], ...]
    sizes: tuple[int, ...]
    scale: tuple[float, float]
    explained: float
    left_out: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.centres) == len(self.sizes) or not min(self.scale) > 0:
            raise CallError("a group has a name, a centre and a size, and scales are positive")

    def classify(self, case: Complexity) -> str:
        """The name of the nearest group, or ``undefined``; of equally near ones the first."""
        if case.reason:
            return "undefined"
        scale = np.array(self.scale)
        return self.names[int(find_nearest(_points([case]) / scale, np.array(self.centres) / scale)[0])]


def fit_complexity_groups(complexities: Sequence[Complexity], k: int = 3, seed: int = 0) -> GroupClassifier:
    """Group cases that are alike in entropy and mean, by k-means.

    The same cases, in any order, with the same seed give the same groups.

    Parameters
    ----------
    complexities : sequence of Complexity
        One per case; undefined ones are left out, and counted.
    k : int
        Number of groups.
    seed : int
        Seed of the restarts of k-means.

    Returns
    -------
    GroupClassifier
        The groups.

    References
    ----------
    Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput Med
    Imaging Graph 2009;33:205–216, 3.1, 4.1, Fig. 4. doi:10.1016/j.compmedimag.2008.12.002

    Examples
    --------
    >>> import manytruths as mt
    >>> at = [(0.3, 0.5), (0.2, 0.5), (0.2, 0.9), (0.3, 0.9), (1.0, 0.7), (0.9, 0.7)]
    >>> cases = [mt.Complexity(e, 0.1, m, e / m**2, 0.1 / m**2, raters=2, items=100) for e, m in at]
    >>> groups = mt.fit_complexity_groups(cases)
    >>> [groups.classify(case) for case in cases]
    ['A', 'A', 'B', 'B', 'C', 'C']
    """
    if not 2 <= k <= len(ascii_uppercase):
        raise CallError(f"k is 2 to {len(ascii_uppercase)} groups; got {k}")
    used = [case for case in complexities if not case.reason]
    points = _points(sorted(used, key=lambda case: (case.entropy, case.mean)))
    distinct = len(np.unique(points, axis=0))
    if distinct < k:
        raise InputError(f"{k} groups need {k} or more distinct cases with a complexity; "
                         f"there {'is' if distinct == 1 else 'are'} {distinct}")  # fmt: skip
    scale = points.std(axis=0, ddof=1)
    scale[scale == 0] = 1
    return _make_classifier(
        k_means(points / scale, k, seed), points, scale, len(complexities) - len(used), rater_note(used)
    )


def _points(cases: Sequence[Complexity]) -> NDArray[np.float64]:
    return np.array([(case.entropy, case.mean) for case in cases], np.float64).reshape(-1, 2)


def _make_classifier(
    means: Means, points: NDArray[np.float64], scale: NDArray[np.float64], left_out: int, note: str
) -> GroupClassifier:
    centres = means.centres * scale
    rising = np.lexsort((centres[:, 0], centres[:, 1])).tolist()
    order = [rising[0], rising[-1], *rising[1:-1]]
    entropy = centres[order, 0]
    notes = [OTHER_SHAPE] if len(order) > 2 and entropy[:2].max() > entropy[2:].max() else []
    total = float((((points - points.mean(axis=0)) / scale) ** 2).sum())
    return GroupClassifier(
        tuple(ascii_uppercase[: len(order)]),
        tuple((float(centres[i, 0]), float(centres[i, 1])) for i in order),
        tuple(int((means.member == i).sum()) for i in order),
        (float(scale[0]), float(scale[1])),
        1 - means.within / total,
        left_out,
        "; ".join(filter(None, [*notes, note])),
    )


@dataclass(frozen=True, eq=False)
class Means:
    """Centres, and the points that belong to each."""

    centres: Values
    member: NDArray[np.intp]
    """Of each point, the centre."""
    within: float
    """Sum of squared distances to the own centre."""


def k_means(points: Values, k: int, seed: int, restarts: int = 20) -> Means:
    """The best of several restarts. There must be ``k`` distinct points or more.

    Each restart draws its first centres by k-means++ (the next one with a probability in proportion to the squared
    distance to the nearest so far), then gives each point to the nearest centre and moves each centre to the mean of
    its points, until nothing moves.

    Arthur D, Vassilvitskii S. k-means++: the advantages of careful seeding. SODA 2007, 1027–1035.
    Lloyd SP. IEEE Trans Inf Theory 1982;28:129–137. doi:10.1109/TIT.1982.1056489

    >>> k_means(np.array([[0.0], [1.0], [10.0]]), 2, seed=0).within
    0.5
    """
    random = np.random.default_rng(seed)
    runs = [_run_lloyd(points, _draw_centres(points, k, random)) for _ in range(restarts)]
    return min(runs, key=lambda means: means.within)


def _draw_centres(points: Values, k: int, random: np.random.Generator) -> Values:
    """k-means++."""
    chosen = [int(random.integers(len(points)))]
    while len(chosen) < k:
        apart = _distances(points, points[chosen]).min(axis=1)
        chosen.append(int(random.choice(len(points), p=apart / apart.sum())))
    return points[chosen]


def _run_lloyd(points: Values, centres: Values) -> Means:
    """Lloyd's steps until no point changes its centre."""
    member = find_nearest(points, centres)
    for _ in range(MAX_STEPS):
        centres = _move_centres(points, member, centres)
        last, member = member, find_nearest(points, centres)
        if (member == last).all():
            break
    return Means(centres, member, float(((points - centres[member]) ** 2).sum()))


def _move_centres(points: Values, member: NDArray[np.intp], centres: Values) -> Values:
    """Each centre to the mean of its points; one without any to the point that lies worst."""
    moved = centres.copy()
    for i in range(len(centres)):
        members = member == i
        worst = int(np.argmax(((points - centres[member]) ** 2).sum(axis=1)))
        moved[i] = points[members].mean(axis=0) if members.any() else points[worst]
    return moved


def find_nearest(points: Values, centres: Values) -> NDArray[np.intp]:
    """Of each point, the nearest centre; of equally near ones the first."""
    return np.asarray(_distances(points, centres).argmin(axis=1))


def _distances(points: Values, centres: Values) -> Values:
    """Squared, (points, centres)."""
    return np.asarray(((points[:, None] - centres) ** 2).sum(axis=2))
