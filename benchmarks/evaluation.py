"""Overlaps of many columns, and curves of grey-level predictions under many truths, against scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import manytruths as mt
from manytruths.evaluation.curves import ResponseCounts
from manytruths.evaluation.references import reference_standards
from manytruths.evaluation.responses import count_indexed_responses, index_masks

from .measuring import Result, at_least, side_by_side
from .phantoms import smooth

DATA = Path(os.environ.get("MANYTRUTHS_DATA") or Path(__file__).parents[2] / "shared" / "data")
METHODS = ("vote:any", "vote:0.5", "vote:0.75", "staple", "excl:0.5")
Array = NDArray[Any]


@dataclass(frozen=True)
class Fissure:
    """Lampert's image: 13 raters, four algorithms, LSML as its authors made it."""

    folder: Path

    def picture(self, *parts: str) -> Array:
        from PIL import Image

        return np.asarray(Image.open(self.folder.joinpath(*parts)))

    @cached_property
    def masks(self) -> dict[str, Array]:
        return {f"A{i}": self.picture("raters", f"A{i}", "fissure.png") > 0 for i in range(1, 14)}

    @cached_property
    def lsml(self) -> dict[str, Array]:
        return {"lsml": self.picture("published", "gt_lsml.png") > 0}

    @cached_property
    def predictions(self) -> dict[str, Array]:
        return {n: self.picture("predictions", n, "fissure.png") for n in ("2D-GWLC", "Gauss", "C-S", "Top-Hat")}

    @cached_property
    def trained_on(self) -> dict[str, Array]:
        return {"2D-GWLC": self.picture("training", "2D-GWLC", "fissure.png") > 0}

    @cached_property
    def consensus(self) -> dict[str, mt.Consensus]:
        table = mt.tally(self.masks)
        return {name: mt.consensus(table, name) for name in METHODS}

    def counts(self) -> dict[str, ResponseCounts]:
        """From arrays in memory to the counts of all algorithms under all truths."""
        found = index_masks(self.masks, references=self.lsml)
        every = reference_standards(found.tally, self.consensus)
        counts = {}
        for name, prediction in self.predictions.items():
            met = count_indexed_responses(prediction, found.index, found.tally, exclude=self.trained_on.get(name))
            counts[name] = met.against(every)
        return counts

    def maps(self) -> dict[str, Array]:
        """Every truth as an image."""
        painted = {name: mt.paint(found.hard, self.masks) for name, found in self.consensus.items()}
        return {**self.masks, **self.lsml, **painted}


def by_sklearn(fissure: Fissure, maps: Mapping[str, Array]) -> Callable[[], list[tuple[Array, ...]]]:
    """Every curve by scikit-learn; the pixels of each are picked before."""
    from sklearn.metrics import precision_recall_curve

    pairs = []
    for name, prediction in fissure.predictions.items():
        keep = ~fissure.trained_on.get(name, np.zeros(prediction.shape, bool))
        response = prediction[keep]
        pairs += [(truth[keep], response) for truth in maps.values()]
    return lambda: [precision_recall_curve(truth, response) for truth, response in pairs]


def pbar_areas() -> Iterator[Result]:
    """Four algorithms under 19 truths, from arrays in memory; only the consensuses are there already."""
    if not (DATA / "fissure").is_dir():
        print("P̄-R areas on fissure: skipped, the data are not there")
        return
    fissure = Fissure(DATA / "fissure")
    maps = fissure.maps()
    theirs = by_sklearn(fissure, maps)

    def ours() -> Array:
        return np.stack([found.pbar_areas(0.1, 0.5) for found in fissure.counts().values()])

    curves = [found.curve(truth) for found in fissure.counts().values() for truth in maps]
    for mine, (precision, recall, thresholds) in zip(curves, theirs(), strict=True):
        assert np.array_equal(mine.thresholds[1:], thresholds[::-1]), "the thresholds differ"
        assert np.abs(mine.recall[1:] - recall[-2::-1]).max() < 1e-12, "the recalls differ"
        assert np.abs(mine.precision[1:] - precision[-2::-1]).max() < 1e-12, "the precisions differ"
    assert np.array_equal(ours().ravel().argsort(), np.argsort([c.pbar_area(0.1, 0.5) for c in curves]))
    quick, slow = side_by_side(ours, theirs, 3)
    times = f"{quick * 1e3:.0f} ms, scikit-learn {slow:.2f} s"
    job = f"P̄-R areas on fissure, {len(fissure.predictions)} algorithms × {len(maps)} truths"
    yield at_least(job, f"{len(curves)} × precision_recall_curve", slow / quick, 60, times)


def overlaps() -> Iterator[Result]:
    """Every two of five raters and three algorithms: the confusion matrix, and all that is read off it."""
    from itertools import combinations

    from sklearn.metrics import confusion_matrix

    masks = smooth(8, 2048)
    raters, algorithms = dict(zip("ABCDE", masks[:5], strict=True)), dict(zip("uvw", masks[5:], strict=True))
    flat = [m.ravel() for m in masks]

    def ours() -> mt.Overlaps:
        table = mt.tally(raters, predictions=algorithms)
        found = mt.overlaps(table, table.columns, table.columns)
        for statistic in (mt.dice, mt.iou, mt.sensitivity, mt.specificity, mt.ppv, mt.cohen_kappa):
            found.values(statistic)
        return found

    def theirs() -> list[Array]:
        return [confusion_matrix(flat[i], flat[j]) for i, j in combinations(range(8), 2)]

    found = ours()
    for (i, j), matrix in zip(combinations(range(8), 2), theirs(), strict=True):
        assert np.array_equal(found.tables[i, j], matrix), "the counts differ"
    quick, slow = side_by_side(ours, theirs, 2)
    times = f"{quick * 1e3:.0f} ms, scikit-learn {slow:.1f} s"
    job = "all pair overlaps, 5 raters + 3 algorithms, 2048²"
    yield at_least(job, "28 × confusion_matrix", slow / quick, 100, times)


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"overlaps": overlaps, "pbar_areas": pbar_areas}
