"""Nine strategies to train on several annotations of the same images, as Zeng et al. compare them, and three more.

Five strategies make one reference standard beforehand and train on it with cross-entropy; four learn from all
annotations at once. The control trains on the majority vote with a Dice loss; of the other two, one trains on STAPLE's
probabilities, and the networks of the other draw masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from ..core.labels import VOID
from ..io import safe_name
from .annotations import inner_region, majority_vote, outer_region
from .batch_staple import staple_hard
from .losses import AverageCrossEntropy, ConfusionMatrixLoss, ConsensusIndividualsLoss, ExtendedDiceLoss
from .sampling import DRAWS, INDIVIDUALS, LATENT, RANK, EnergyLoss
from .soft_labels import SoftCrossEntropy, staple_probability

Reference = Callable[[Tensor, Tensor | None, int], Tensor]
"""Makes one label for each pixel from labels (N, R, H, W), presence and the number of labels."""

SINGLE = "single"
"""Stands for one strategy for each rater."""
CHUNK = 16
"""Number of images whose reference is computed at once."""


@dataclass(frozen=True)
class Strategy:
    """A way to train: the targets, and the loss."""

    name: str
    """As in folders and tables; for a single rater ``rater-`` and their name."""
    title: str
    """As in printed tables."""
    reference: Reference | None = None
    """Makes the reference standard beforehand; None where all annotations go into the loss."""
    build: Callable[[int, int], nn.Module] = lambda raters, labels: AverageCrossEntropy(check=False)
    """Builds the loss for so many raters and labels."""
    heads: bool = False
    """Whether the network has one output for each rater besides that of the consensus."""
    soft: bool = False
    """Whether the reference is made of probabilities (N, labels − 1, H, W) instead of labels."""
    rank: int = 0
    """Number of latent variables, for each of which the network has one output besides that of the mean."""
    pace: float = 1.0
    """Learning rate of the loss's own parameters, as a multiple of the network's."""
    warm_up: float = 0.0
    """Share of the epochs, rounded up, in which these parameters stay fixed."""

    def targets(self, annotations: Tensor, labels: int) -> Tensor:
        """Labels (N, R, H, W) to train on; R is 1 where one reference standard is made from them.

        Of a soft reference the probabilities (N, labels − 1, H, W). Both are ``VOID`` where nobody rated.
        """
        if self.reference is None:
            return annotations
        parts = torch.split(annotations, CHUNK)
        made = torch.cat([self._make_reference(part, labels) for part in parts])
        return made if self.soft else made[:, None]

    def _make_reference(self, annotations: Tensor, labels: int) -> Tensor:
        assert self.reference is not None
        rated = annotations != VOID
        reference = self.reference(torch.where(rated, annotations, 0), None if rated.all() else rated, labels)
        if self.soft:
            return torch.where(rated.any(dim=1, keepdim=True), reference, VOID)
        return torch.where(rated.any(dim=1), reference.to(annotations.dtype), VOID)

    def outputs(self, raters: int, labels: int) -> int:
        """Number of output channels of the network; one for two labels."""
        return (1 + self.rank + (raters if self.heads else 0)) * (1 if labels == 2 else labels)

    @property
    def noise(self) -> int:
        """Number of random numbers that the loss takes for each image and step."""
        return DRAWS * self.rank


def _dice_loss(raters: int, labels: int) -> nn.Module:
    return ExtendedDiceLoss(check=False)


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy(SINGLE, "single rater"),
        Strategy("inner", "inner region", inner_region),
        Strategy("outer", "outer region", outer_region),
        Strategy("majority", "majority vote", majority_vote),
        Strategy("average", "average cross-entropy"),
        Strategy(
            "confusion", "confusion matrices",
            build=lambda raters, labels: ConfusionMatrixLoss(raters, labels, check=False), pace=10.0, warm_up=0.25,
        ),
        Strategy(
            INDIVIDUALS, "consensus and individuals",
            build=lambda raters, labels: ConsensusIndividualsLoss(raters, labels, check=False), heads=True,
        ),
        Strategy("staple", "STAPLE", staple_hard),
        Strategy("extended_dice", "extended Dice loss", build=_dice_loss),
    )
}  # fmt: skip
"""By name, in the order of Zeng et al.'s tables."""

CONTROL = Strategy("majority_dice", "Dice loss on the majority", majority_vote, build=_dice_loss)
"""Shows how much of the effect of the extended Dice loss is due to Dice losses in general; not in the paper."""
MORE = (
    CONTROL,
    Strategy(
        "soft_staple", "STAPLE's probabilities", staple_probability,
        build=lambda raters, labels: SoftCrossEntropy(check=False), soft=True,
    ),
    Strategy(
        LATENT, "latent variables", build=lambda raters, labels: EnergyLoss(labels, check=False), rank=RANK
    ),
)  # fmt: skip
KNOWN = STRATEGIES | {strategy.name: strategy for strategy in MORE}
"""The nine strategies, the control, and two that the paper does not have."""


def find_strategies(names: Sequence[str], raters: Sequence[str]) -> list[Strategy]:
    """The strategies of these names; ``all`` are the nine of the paper, ``single`` is one for each rater.

    >>> [strategy.name for strategy in find_strategies(["single", "staple"], ["A", "B"])]
    ['rater-A', 'rater-B', 'staple']
    """
    chosen: dict[str, Strategy] = {}
    for name in (each for given in names for each in (STRATEGIES if given == "all" else (given,))):
        if name not in KNOWN:
            raise CallError(f"there is no strategy {name!r}; use all, or some of {', '.join(KNOWN)}")
        many = [single_rater(rater, k) for k, rater in enumerate(raters)] if name == SINGLE else [KNOWN[name]]
        chosen |= {strategy.name: strategy for strategy in many}
    return list(chosen.values())


def single_rater(rater: str, position: int) -> Strategy:
    """Training on one rater alone."""

    def reference(codes: Tensor, present: Tensor | None, labels: int) -> Tensor:
        given = codes[:, position]
        return given if present is None else torch.where(present[:, position], given, VOID)

    return Strategy(f"rater-{safe_name(rater)}", f"rater {rater} alone", reference)
