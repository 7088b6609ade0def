"""What to make of a study that is to be trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ...core.errors import CallError
from ...fusion.registry import estimator

Disputed = Literal["reference", "ignore", "soft", "replicate"]
"""What becomes of pixels on which raters disagree."""


@dataclass(frozen=True)
class ExportPlan:
    """Which reference standard, what of disputed pixels, and how subjects are split."""

    reference: str = "staple"
    """A method of ``fuse``."""
    disputed: Disputed = "reference"
    folds: int | None = None
    """Five, or as many as there are subjects, where nothing is said."""
    seed: int = 0
    channel: str = "image"
    """What the channel of a grey image is called; nnU-Net scales by it."""
    link: bool = False
    """Name the images where they lie instead of writing copies."""

    def __post_init__(self) -> None:
        if "," in self.reference:
            raise CallError(f"--reference is one method, as staple or vote:0.5; got {self.reference!r}")
        estimator(self.reference)
        if self.disputed not in get_args(Disputed):
            raise CallError(f"--disputed is one of {', '.join(get_args(Disputed))}; got {self.disputed!r}")
        if self.folds is not None and self.folds < 2:
            raise CallError(f"--folds is at least 2; got {self.folds}")
        if self.seed < 0:
            raise CallError(f"--seed is at least 0; got {self.seed}")
        if not self.channel.strip():
            raise CallError("--channel is the name of what the images show, as CT; got nothing")
