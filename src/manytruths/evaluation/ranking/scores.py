"""Scores of algorithms: a value, or the kind of gap, for every algorithm, case, reference standard and metric.

Metrics are known by their names: whether higher or lower is better, and the best and the worst value. Names are
compared without regard to case, and ``-``, blank and ``_`` are the same; what stands in brackets after a name
(``dice [tumour]``) says of what the metric is and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import CallError

Direction = Literal["higher", "lower"]

PRESENT, MISSING, UNDEFINED, BOTH_EMPTY, NO_REFERENCE = 0, 1, 2, 3, 4
"""A value; no prediction; undefined; undefined as neither reference nor prediction marked anything; no reference mask.
"""

Values = NDArray[np.float64]
_SHARES = """
    accuracy auc average_precision balanced_accuracy curvas_dice dice dsc extended_dice f1 f1_score gordon_f iou jaccard
    lesion_f1 lesion_pq lesion_precision lesion_rq lesion_sensitivity lesion_sq npv nsd
    continuous_dice d_max matched_iou pbar_area ppv pr_area precision recall roc_area sensitivity soft_accuracy
    soft_dice soft_sensitivity soft_specificity specificity surface_dice tnr tpr
"""
_CORRELATIONS = "cci cco cohen_kappa kappa matthews_correlation mcc"
_ERROR_SHARES = """
    brier brier_union curvas_calibration_error ece expected_calibration_error expected_calibration_error_union fnr fpr
"""
_ENERGY = "energy_distance energy_distance_unbiased energy_distance_unbiased_samples"
_DISTANCES = frozenset(
    ["asd", "assd", "hausdorff", "hausdorff_95", "hd", "hd95", "masd", "mean_surface_distance", "msd"]
)
_ERRORS = "crps crps_volume curvas_crps error mae mse rmse"

_HIGHER: dict[str, tuple[float, float]] = {
    **dict.fromkeys(_SHARES.split(), (0.0, 1.0)),
    # below 0 there is worse, but 0 is what an empty or a constant prediction gets, and so what none should get
    **dict.fromkeys(_CORRELATIONS.split(), (0.0, 1.0)),
}
_LOWER: dict[str, tuple[float | None, float]] = {
    **dict.fromkeys(_ERROR_SHARES.split(), (1.0, 0.0)),
    "volume_difference": (2.0, 0.0),
    **dict.fromkeys(_ENERGY.split(), (2.0, 0.0)),
    **dict.fromkeys((*_DISTANCES, *_ERRORS.split()), (None, 0.0)),
}
"""What counts as the worst, and the best."""

DESCRIPTIVE = frozenset(
    [
        "bias_index",
        "diversity_difference",
        "inner_outer_ratio",
        "log_size_ratio",
        "prevalence",
        "prevalence_index",
        "rater_diversity",
        "sample_diversity",
        "size_difference",
        "tolerance",
    ]
)
"""Statistics that describe a case, its raters or a size, not how good an algorithm is."""

OF_PROBABILITIES = frozenset({"balanced_accuracy", "gordon_f", "soft_accuracy", "soft_sensitivity", "soft_specificity"})
"""Scores against the probabilities of a consensus, not against its mask."""

NONE_GIVEN: Mapping[str, str] = MappingProxyType({})


def direction(metric: str, given: Mapping[str, str] = NONE_GIVEN) -> Direction:
    """``"higher"`` or ``"lower"``: which is better, as ``given`` for this metric or as known.

    >>> direction("Dice"), direction("HD95"), direction("loss", {"loss": "lower"})
    ('higher', 'lower', 'lower')

    Raises
    ------
    CallError
        For a metric that is neither known nor given.
    """
    way = _find_direction(metric, given)
    if way is None:
        raise CallError(
            f"whether higher or lower is better is not known for {metric!r}; say it with --direction "
            f"'{metric}=higher' or '{metric}=lower', or choose other metrics with --metric"
        )
    return way


def has_direction(metric: str, given: Mapping[str, str] = NONE_GIVEN) -> bool:
    """Whether :func:`direction` has an answer."""
    return _find_direction(metric, given) is not None


def worst_value(metric: str) -> float | None:
    """The worst value of a metric, of a correlation 0; None where there is no bound, or none is known.

    >>> worst_value("dice"), worst_value("cohen_kappa"), worst_value("hausdorff")
    (0.0, 0.0, None)
    """
    return _bounds(metric)[0]


def best_value(metric: str) -> float | None:
    """The best value that a metric can take; None where none is known.

    >>> best_value("dice"), best_value("hausdorff")
    (1.0, 0.0)
    """
    return _bounds(metric)[1]


def is_distance(metric: str) -> bool:
    """Whether a metric is a distance within the image, which is no longer than its diagonal."""
    return metric_name(metric) in _DISTANCES


def describes_the_case(metric: str) -> bool:
    """Whether a statistic is about the case, so that nobody can be ranked by it."""
    return metric_name(metric) in DESCRIPTIVE


def _bounds(metric: str) -> tuple[float | None, float | None]:
    known = metric_name(metric)
    return _HIGHER.get(known) or _LOWER.get(known) or (None, None)


def _find_direction(metric: str, given: Mapping[str, str]) -> Direction | None:
    wanted = {normalise_name(name): way for name, way in given.items()}
    way = wanted.get(normalise_name(metric), wanted.get(metric_name(metric)))
    if way is None:
        known = metric_name(metric)
        return "higher" if known in _HIGHER else "lower" if known in _LOWER else None
    if way == "higher" or way == "lower":
        return way  # type: ignore[return-value]
    raise CallError(f"the direction of {metric!r} is 'higher' or 'lower'; got {way!r}")


@lru_cache(maxsize=1024)
def normalise_name(name: str) -> str:
    """A name as it is compared: ``Surface-Dice`` is ``surface_dice``."""
    return re.sub(r"[-\s_]+", "_", name.strip().casefold())


@lru_cache(maxsize=1024)
def metric_name(name: str) -> str:
    """As names are compared: in small letters, without what stands in brackets."""
    return normalise_name(re.sub(r"\s*\[.*\]$", "", name.strip()))


@dataclass(frozen=True, eq=False)
class Scores:
    """A table of scores.

    Parameters
    ----------
    algorithms, cases : tuple of str
        Names.
    subjects : tuple of str
        The subject of every case; the case itself where none is named.
    references, metrics : tuple of str
        Names of the reference standards and of the metrics.
    values : numpy.ndarray
        Algorithms × cases × reference standards × metrics; nan exactly where ``gaps`` is not 0.
    gaps : numpy.ndarray
        The kind of gap, of the same shape: 0 none, 1 missing, 2 undefined, 3 neither marked anything, 4 the reference
        standard has no mask of the case.
    notes : tuple of str
        What to know about the scores.
    diagonals : tuple of float
        The length of the diagonal of every case's image, in the unit of distances; nan, or empty, where unknown.
    resampled : tuple of str
        Cases for whose scores masks were resampled.
    """

    algorithms: tuple[str, ...]
    cases: tuple[str, ...]
    subjects: tuple[str, ...]
    references: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Values
    gaps: NDArray[np.uint8]
    notes: tuple[str, ...] = ()
    diagonals: tuple[float, ...] = ()
    """The length of the diagonal of every case's image, in the unit of distances; nan, or empty, where unknown."""
    resampled: tuple[str, ...] = ()
    """Cases for whose scores masks were resampled."""

    def __post_init__(self) -> None:
        axes = (self.algorithms, self.cases, self.references, self.metrics)
        shape = tuple(len(axis) for axis in axes)
        if self.values.shape != shape or self.gaps.shape != shape or len(self.subjects) != len(self.cases):
            raise CallError(
                f"values and gaps are algorithms × cases × reference standards × metrics, {shape}, with a subject for "
                f"each case; got {self.values.shape}, {self.gaps.shape} and {len(self.subjects)} subjects"
            )
        if any(len(set(axis)) < len(axis) for axis in axes):
            raise CallError("an algorithm, case, reference standard or metric is named twice; give each name once")
        if (np.isfinite(self.values) != (self.gaps == PRESENT)).any():
            raise CallError("values must be finite where gaps is 0, and nan where it is not")
        lengths = np.array(self.diagonals, np.float64)
        if len(lengths) not in (0, len(self.cases)) or (lengths <= 0).any() or np.isinf(lengths).any():
            got = f"got {len(lengths)} for {len(self.cases)} cases"
            raise CallError(f"diagonals are one length a case, above 0 or nan where unknown, or none at all; {got}")

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        algorithms: Sequence[str],
        *,
        cases: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        references: Sequence[str] = ("truth",),
        metrics: Sequence[str] = ("dice",),
        diagonals: Sequence[float] = (),
    ) -> Scores:
        """Scores from an array.

        Parameters
        ----------
        values : array_like
            Algorithms × cases (× reference standards × metrics); values that are not finite are missing.
        algorithms : sequence of str
            Names.
        cases, subjects : sequence of str, optional
            Names of the cases, and the subject of each.
        references, metrics : sequence of str
            Names of the reference standards and of the metrics.
        diagonals : sequence of float
            The length of the diagonal of every case's image.

        Returns
        -------
        Scores

        Examples
        --------
        >>> Scores.of([[0.9, 0.8], [0.7, float("nan")]], ["unet", "vnet"])
        Scores(2 algorithms, 2 cases, 2 subjects; against truth; dice)
        """
        whole: Values = np.array(values, np.float64)
        whole = whole.reshape((*whole.shape, 1, 1, 1, 1)[:4])
        known = np.isfinite(whole)
        whole[~known] = np.nan
        names = tuple(cases) if cases is not None else tuple(f"case {i + 1}" for i in range(whole.shape[1]))
        people = names if subjects is None else tuple(subjects)
        gaps = np.where(known, PRESENT, MISSING).astype(np.uint8)
        lengths = tuple(map(float, diagonals))
        return cls(
            tuple(algorithms), names, people, tuple(references), tuple(metrics), whole, gaps, diagonals=lengths
        )  # fmt: skip

    @property
    def subject_names(self) -> tuple[str, ...]:
        """Every subject once."""
        return tuple(dict.fromkeys(self.subjects))

    @property
    def owners(self) -> NDArray[np.intp]:
        """The number of each case's subject."""
        numbers = {name: i for i, name in enumerate(self.subject_names)}
        return np.array([numbers[name] for name in self.subjects], np.intp)

    @property
    def lengths(self) -> Values:
        """The diagonal of every case's image, nan where unknown."""
        return np.array(self.diagonals or [np.nan] * len(self.cases), np.float64)

    def same_references(self, metrics: Sequence[str] = ()) -> tuple[tuple[str, ...], ...]:
        """Reference standards that give every algorithm the same scores in every case, as equal masks do.

        Scores by the probabilities of a consensus count only if they are among ``metrics``: they differ for equal
        masks.

        >>> Scores.of([[[0.9, 0.9, 0.8]], [[0.7, 0.7, 0.7]]], "ab", references=["A", "copy", "B"]).same_references()
        (('A', 'copy'),)
        """
        chosen = [i for i, m in enumerate(self.metrics) if m in metrics or metric_name(m) not in OF_PROBABILITIES]
        values, gaps = np.nan_to_num(self.values[..., chosen]) + 0.0, self.gaps[..., chosen]
        contents = {r: (values[:, :, k].tobytes(), gaps[:, :, k].tobytes()) for k, r in enumerate(self.references)}
        return equal_names(contents) if chosen else ()

    def select(
        self,
        algorithms: Sequence[str] | None = None,
        references: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> Scores:
        """Select algorithms, reference standards and metrics by their names.

        Parameters
        ----------
        algorithms, references, metrics : sequence of str, optional
            Names; where there is no such name, capitals do not count, and in a metric nor do ``-``, ``_`` and blanks.

        Returns
        -------
        Scores

        Examples
        --------
        >>> Scores.of([[0.9], [0.7]], ["U-Net", "vnet"]).select(algorithms=["u-net"], metrics=["Dice"])
        Scores(1 algorithms, 1 cases, 1 subjects; against truth; dice)
        """
        rows = _positions("algorithm", self.algorithms, algorithms, str.casefold)
        layers = _positions("reference standard", self.references, references, str.casefold)
        columns = _positions("metric", self.metrics, metrics, normalise_name)
        pick = np.ix_(rows, range(len(self.cases)), layers, columns)
        return Scores(
            tuple(self.algorithms[i] for i in rows), self.cases, self.subjects,
            tuple(self.references[i] for i in layers), tuple(self.metrics[i] for i in columns),
            self.values[pick], self.gaps[pick], self.notes, self.diagonals, self.resampled,
        )  # fmt: skip

    def __repr__(self) -> str:
        sizes = f"{len(self.algorithms)} algorithms, {len(self.cases)} cases, {len(self.subject_names)} subjects"
        return f"Scores({sizes}; against {', '.join(self.references)}; {', '.join(self.metrics)})"


def equal_names(contents: Mapping[str, Hashable]) -> tuple[tuple[str, ...], ...]:
    """The names whose contents are equal, two or more together.

    >>> equal_names({"A": 1, "B": 2, "C": 1})
    (('A', 'C'),)
    """
    groups: dict[Hashable, list[str]] = {}
    for name, content in contents.items():
        groups.setdefault(content, []).append(name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def names_among(groups: Iterable[Sequence[str]], names: Container[str]) -> tuple[tuple[str, ...], ...]:
    """The groups with these names only, where two or more are left.

    >>> names_among([("A", "B", "C"), ("D", "E")], {"A", "C", "D"})
    (('A', 'C'),)
    """
    left = (tuple(name for name in group if name in names) for group in groups)
    return tuple(group for group in left if len(group) > 1)


def _positions(
    what: str, names: tuple[str, ...], wanted: Sequence[str] | None, plain: Callable[[str], str]
) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    positions = [_position(what, names, name, plain) for name in wanted]
    if not positions or len(set(positions)) < len(positions):
        raise CallError(f"each {what} once, and at least one; there are {', '.join(names)}")
    return positions


def _position(what: str, names: tuple[str, ...], wanted: str, plain: Callable[[str], str]) -> int:
    if wanted in names:
        return names.index(wanted)
    alike = [i for i, name in enumerate(names) if plain(name) == plain(wanted)]
    if not alike:
        raise CallError(f"no {what} {wanted!r}; there are {', '.join(names)}")
    if len(alike) > 1:
        raise CallError(f"{what} {wanted!r} may be {' or '.join(names[i] for i in alike)}; write it as it is there")
    return alike[0]
