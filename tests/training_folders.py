"""Small studies to train on: bright discs in noise, which a network learns in a few steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from manytruths import Study
from manytruths.learning import Augmentation, Schedule, TrainPlan
from study_folders import disc, write_png

# threads that wait for each other on a busy machine take minutes for what one does in seconds; and sums of several
# threads are of another order than those of one
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

STILL = Augmentation(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Folder:
    """Where a study to train on lies."""

    path: Path

    @property
    def template(self) -> str:
        return f"{self.path}/masks/{{rater}}/{{case}}.png"

    @property
    def images(self) -> str:
        return f"{self.path}/images/{{case}}.png"

    @property
    def cases(self) -> str:
        return f"{self.path}/cases.csv"

    @property
    def arguments(self) -> list[str]:
        """As the command line takes them."""
        return [self.template, "--images", self.images, "--cases", self.cases]

    def open(self, **options: Any) -> Study:
        return Study.open(self.template, **{"images": self.images, "cases": self.cases, **options})


def write_training(
    folder: Path, subjects: int = 6, frames: int = 2, size: int = 32, raters: Sequence[str] = "ABC"
) -> Folder:
    """A disc a case, each rater's a little larger than the last one's; the image shows it in noise."""
    random, rows = np.random.default_rng(0), ["case,subject"]
    for subject in range(1, subjects + 1):
        for frame in range(1, frames + 1):
            case, (x, y) = f"s{subject:02}-f{frame}", random.uniform(-size / 8, size / 8, 2)
            for k, rater in enumerate(raters):
                mask = disc(size, x, y, size / 5 + k * size / 40)
                write_png(folder / "masks" / rater / f"{case}.png", mask)
            write_png(folder / "images" / f"{case}.png", seen(disc(size, x, y, size / 5 + size / 40), random))
            rows.append(f"{case},s{subject:02}")
    (folder / "cases.csv").write_text("\n".join(rows) + "\n")
    return Folder(folder)


def seen(mask: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """What a mask looks like, in grey."""
    return (60 + 120 * mask + random.normal(0, 12, mask.shape)).clip(0, 255).astype(np.uint8)


def small_plan(**changes: Any) -> TrainPlan:
    """A plan for seconds on a CPU; what belongs to the schedule goes there."""
    own = {name: changes.pop(name) for name in list(changes) if name in Schedule.__dataclass_fields__}
    schedule = replace(Schedule(epochs=3, batch=4, learning_rate=1e-2, augmentation=STILL, width=4), **own)
    plain: dict[str, Any] = {"strategies": ("majority",), "networks": ("unet",), "seeds": (0,), "size": 32}
    return TrainPlan(**{**plain, "schedule": schedule, "distances": False, "device": "cpu", **changes})


SMALL = ("--networks", "unet", "--seeds", "1", "--size", "32", "--width", "4", "--jobs", "1")
"""The same on the command line."""
