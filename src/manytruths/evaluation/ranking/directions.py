"""Which way a metric is better, and how good and how bad it can be.

Names are compared without regard to case, and ``-``, blank and ``_`` are the same; what stands in brackets after a name
(``dice [tumour]``) says of what the metric is and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from ...core.errors import CallError

Direction = Literal["higher", "lower"]

_SHARES = """
    accuracy auc average_precision balanced_accuracy dice dsc extended_dice f1 f1_score gordon_f iou jaccard npv nsd
    pbar_area ppv pr_area precision recall roc_area sensitivity soft_accuracy soft_sensitivity soft_specificity
    specificity surface_dice tnr tpr
"""
_CORRELATIONS = "cci cco cohen_kappa kappa matthews_correlation mcc"
_ERROR_SHARES = "fnr fpr"
_DISTANCES = frozenset(
    ["asd", "assd", "hausdorff", "hausdorff_95", "hd", "hd95", "masd", "mean_surface_distance", "msd"]
)
_ERRORS = "error mae mse rmse"

_HIGHER: dict[str, tuple[float, float]] = {
    **dict.fromkeys(_SHARES.split(), (0.0, 1.0)),
    # below 0 there is worse, but 0 is what an empty or a constant prediction gets, and so what none should get
    **dict.fromkeys(_CORRELATIONS.split(), (0.0, 1.0)),
}
_LOWER: dict[str, tuple[float | None, float]] = {
    **dict.fromkeys(_ERROR_SHARES.split(), (1.0, 0.0)),
    "volume_difference": (2.0, 0.0),
    **dict.fromkeys((*_DISTANCES, *_ERRORS.split()), (None, 0.0)),
}
"""What counts as the worst, and the best."""

DESCRIPTIVE = frozenset({"bias_index", "inner_outer_ratio", "prevalence", "prevalence_index", "tolerance"})
"""What says something about a case or its raters, not about who is better."""

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
    found = _found(metric, given)
    if found is None:
        raise CallError(
            f"whether higher or lower is better is not known for {metric!r}; say it with --direction "
            f"'{metric}=higher' or '{metric}=lower', or choose other metrics with --metric"
        )
    return found


def has_direction(metric: str, given: Mapping[str, str] = NONE_GIVEN) -> bool:
    """Whether :func:`direction` has an answer."""
    return _found(metric, given) is not None


def worst(metric: str) -> float | None:
    """The worst value of a metric, of a correlation 0; None where there is no bound, or none is known.

    >>> worst("dice"), worst("cohen_kappa"), worst("hausdorff")
    (0.0, 0.0, None)
    """
    return _bounds(metric)[0]


def best(metric: str) -> float | None:
    """The best value that a metric can take; None where none is known.

    >>> best("dice"), best("hausdorff")
    (1.0, 0.0)
    """
    return _bounds(metric)[1]


def is_distance(metric: str) -> bool:
    """Whether a metric is a distance within the image, which is no longer than its diagonal."""
    return plain(metric) in _DISTANCES


def describes_the_case(metric: str) -> bool:
    """Whether a statistic is about the case, so that nobody can be ranked by it."""
    return plain(metric) in DESCRIPTIVE


def _bounds(metric: str) -> tuple[float | None, float | None]:
    known = plain(metric)
    return _HIGHER.get(known) or _LOWER.get(known) or (None, None)


def _found(metric: str, given: Mapping[str, str]) -> Direction | None:
    wanted = {written(name): way for name, way in given.items()}
    way = wanted.get(written(metric), wanted.get(plain(metric)))
    if way is None:
        known = plain(metric)
        return "higher" if known in _HIGHER else "lower" if known in _LOWER else None
    if way == "higher" or way == "lower":
        return way  # type: ignore[return-value]
    raise CallError(f"the direction of {metric!r} is 'higher' or 'lower'; got {way!r}")


def written(name: str) -> str:
    """A name as it is compared: ``Surface-Dice`` is ``surface_dice``."""
    return re.sub(r"[-\s_]+", "_", name.strip().casefold())


def plain(name: str) -> str:
    """As names are compared: in small letters, without what stands in brackets."""
    return written(re.sub(r"\s*\[.*\]$", "", name.strip()))
