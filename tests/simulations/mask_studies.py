"""Studies for tests of masks that are probably broken: simulated ones of other shapes than the demo, and real ones.

A rater sees a smooth random field with an own smooth error, and marks where it exceeds a threshold: structures differ
from case to case, raters of one case differ along borders and in what they overlook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, label
from tests import real_studies
from tests.data_folder import HOME

Mask = NDArray[Any]
Field = NDArray[np.float64]


@dataclass(frozen=True)
class MaskStudy:
    """Masks by case and rater, and of what family they are."""

    family: str
    masks: dict[str, dict[str, Mask]]
    exchangeable: bool = False
    labels: int = 1

    @property
    def n_masks(self) -> int:
        """Number of masks."""
        return sum(map(len, self.masks.values()))


# -- simulated studies -----------------------------------------------------------------------------


def smooth_field(rng: np.random.Generator, shape: tuple[int, ...], width: float) -> Field:
    """Random numbers of standard deviation 1 that are alike within so many pixels."""
    field = gaussian_filter(rng.normal(size=shape), width)
    return np.asarray(field / field.std())


def regions(rng: np.random.Generator, shape: tuple[int, ...]) -> Field:
    """Several regions of all sizes."""
    return smooth_field(rng, shape, max(shape) / 12) - 1.0


def lines(rng: np.random.Generator, shape: tuple[int, ...]) -> Field:
    """Thin lines that branch: where two random fields are equal."""
    field = smooth_field(rng, shape, max(shape) / 14)
    slope = np.sqrt(sum(g**2 for g in np.gradient(field)))
    return np.asarray(1.0 - np.abs(field) / np.maximum(slope, 0.02) / 2.5)


def lesion(rng: np.random.Generator, shape: tuple[int, ...]) -> Field:
    """One uneven lesion somewhere."""
    size = min(shape)
    radius = rng.uniform(0.08, 0.22) * size
    centre = [rng.uniform(radius, n - radius) for n in shape]
    axes = np.meshgrid(*(np.arange(n) - c for n, c in zip(shape, centre, strict=True)), indexing="ij")
    stretch = rng.uniform(0.6, 1.6, len(shape))
    far = np.sqrt(sum((a * s) ** 2 for a, s in zip(axes, stretch, strict=True)))
    return np.asarray(2 * (1 - far / radius) + 0.4 * smooth_field(rng, shape, radius / 2))


Opinion = Callable[[np.random.Generator, Field, Field, float], Field]
"""How a rater sees a case who differs from the others: from what one of them would see, an independent draw of the same
family, which is another structure of the image, and the raters' error."""


def simulate(
    rng: np.random.Generator, draw: Callable[[np.random.Generator, tuple[int, ...]], Field],
    shape: tuple[int, ...], cases: int, raters: int, error: float, cuts: tuple[float, ...] = (0.0,),
    opinion: Opinion | None = None,
) -> dict[str, dict[str, Mask]]:  # fmt: skip
    """A study; with several cuts, labels 1, 2, … from the outside to the inside. The last rater may be unlike."""
    names, masks = "ABCDEFGH"[:raters], {}
    habit = rng.normal(0, error / 2, raters)
    for case in range(1, cases + 1):
        truth = draw(rng, shape)
        seen = [truth + h + error * smooth_field(rng, shape, max(shape) / 25) for h in habit]
        if opinion is not None:
            seen[-1] = opinion(rng, seen[-1], draw(rng, shape), error)
        masks[f"c{case:02}"] = {
            name: sum((s > cut).astype(np.uint8) for cut in cuts) for name, s in zip(names, seen, strict=True)
        }
    return masks


SIMULATED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("regions, 3 raters", {"draw": regions, "shape": (150, 220), "cases": 20, "raters": 3, "error": 0.3}),
    ("lines, 4 raters", {"draw": lines, "shape": (240, 240), "cases": 20, "raters": 4, "error": 0.5}),
    ("one lesion, 5 raters", {"draw": lesion, "shape": (128, 128), "cases": 15, "raters": 5, "error": 0.4}),
    ("one lesion, 2 raters", {"draw": lesion, "shape": (180, 140), "cases": 30, "raters": 2, "error": 0.3}),
    ("volumes, 3 raters", {"draw": lesion, "shape": (44, 64, 64), "cases": 15, "raters": 3, "error": 0.4}),
    (
        "three labels, 4 raters",
        {"draw": regions, "shape": (130, 130), "cases": 15, "raters": 4, "error": 0.3, "cuts": (-0.6, 0.0, 0.6)},
    ),
)


def simulated_studies(studies: int, seed: int = 120) -> Iterator[MaskStudy]:
    """So many studies of each family."""
    for number, (family, how) in enumerate(SIMULATED):
        rng = np.random.default_rng([seed, number])
        for _ in range(studies):
            yield MaskStudy(family, simulate(rng, **how), labels=len(how.get("cuts", (0,))))


NOTHING = -9.0
"""Far below every cut."""


def sized(times: float) -> Opinion:
    """Marks so many times the area."""

    def see(rng: np.random.Generator, seen: Field, other: Field, error: float) -> Field:
        share = float((seen > 0).mean())
        return np.asarray(seen - np.quantile(seen, 1 - min(times * share, 0.9)))

    return see


def overlooks(rng: np.random.Generator, seen: Field, other: Field, error: float) -> Field:
    """Overlooks every second structure, whichever it is."""
    structures, count = label(seen > 0)
    lost = np.flatnonzero(rng.random(count) < 0.5) + 1
    return np.where(np.isin(structures, lost), NOTHING, seen)


def marks_another(rng: np.random.Generator, seen: Field, other: Field, error: float) -> Field:
    """Marks another structure in every second case."""
    return other if rng.random() < 0.5 else seen


def marks_neighbour(rng: np.random.Generator, seen: Field, other: Field, error: float) -> Field:
    """Marks a structure of the same shape beside it in every second case."""
    axis = int(rng.integers(seen.ndim))
    return np.roll(seen, seen.shape[axis] // 3, axis) if rng.random() < 0.5 else seen


def sees_nothing(rng: np.random.Generator, seen: Field, other: Field, error: float) -> Field:
    """Holds two cases in five for normal."""
    return np.full_like(seen, NOTHING) if rng.random() < 0.4 else seen


def is_careless(rng: np.random.Generator, seen: Field, other: Field, error: float) -> Field:
    """Errs three times as far, with a ragged outline."""
    return np.asarray(seen + 2.8 * error * smooth_field(rng, seen.shape, max(seen.shape) / 50))


def uses_threshold(rng: np.random.Generator, seen: Field, other: Field, error: float) -> Field:
    """Marks what is brighter than a threshold, with the noise of the image."""
    return np.asarray(seen + 0.3 * rng.normal(size=seen.shape))


OPINIONS: dict[str, Opinion] = {
    "marks twice the area": sized(2.0),
    "marks a third of the area": sized(1 / 3),
    "overlooks every second structure": overlooks,
    "marks another structure in every second case": marks_another,
    "is careless: errs three times as far": is_careless,
    "marks nothing in two of five cases": sees_nothing,
    "marks a like structure beside it in every second case": marks_neighbour,
    "marks by a threshold, with the noise of the image": uses_threshold,
}
"""Raters whose masks are sound, however unlike the others'."""


# -- real studies ----------------------------------------------------------------------------------


def real_names() -> list[str]:
    """The real studies that are there."""
    return ["CHASE_DB1", "LIDC", "fissure", "crowd"] if HOME.exists() else []


def real_study(name: str) -> MaskStudy:
    """A whole real study."""
    reader = {"CHASE_DB1": real_studies.chase, "LIDC": real_studies.lidc, "fissure": real_studies.fissure}
    return MaskStudy(name, reader.get(name, real_studies.crowd)(HOME), exchangeable=name == "LIDC")


def half_of(study: MaskStudy, seed: int = 121) -> MaskStudy:
    """A random half of the cases of a large study; a small one as it is."""
    if len(study.masks) < 40:
        return study
    rng, names = np.random.default_rng(seed), sorted(study.masks)
    kept = sorted(rng.choice(names, len(names) // 2, replace=False))
    return MaskStudy(f"half of {study.family}", {name: study.masks[name] for name in kept}, study.exchangeable)
