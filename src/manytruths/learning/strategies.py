"""Nine ways to train on several annotations of the same images, as Zeng et al. compare them, and a control.

Five of them make one truth beforehand and train on it with cross-entropy, four learn from all annotations at once. The
control trains on the majority, too, with a Dice loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from ..core.labels import VOID
from ..io import safe_name
from .confusion import ConfusionMatrixLoss
from .cross_entropy import AverageCrossEntropy
from .extended_dice import ExtendedDiceLoss
from .individuals import ConsensusIndividualsLoss
from .soft_labels import inner, majority, outer
from .staple import staple

Truth = Callable[[Tensor, Tensor | None, int], Tensor]
"""One code a pixel, from codes (N, R, H, W), presence and the number of labels."""

SINGLE = "single"
"""Stands for one strategy a rater."""
TOGETHER = 16
"""Images whose truth is made at once."""


@dataclass(frozen=True)
class Strategy:
    """A way to train: what the targets are, and which loss they meet."""

    name: str
    """As in folders and tables; of a single rater ``rater-`` and his name."""
    title: str
    """As in a table of a paper."""
    paper: str
    """What Zeng et al. call it."""
    truth: Truth | None = None
    """The truth that is made beforehand; None where all annotations go into the loss."""
    build: Callable[[int, int], nn.Module] = lambda raters, labels: AverageCrossEntropy(check=False)
    """The loss, of so many raters and labels."""
    heads: bool = False
    """Whether the network has an output a rater beside that of the consensus."""
    pace: float = 1.0
    """How many times the network's learning rate the loss's own parameters have."""
    warm_up: float = 0.0
    """The share of the epochs in which these stay as they are; begun epochs count whole."""

    def targets(self, annotations: Tensor, labels: int) -> Tensor:
        """Codes (N, R, H, W) to train on: R is 1 where one truth is made of them."""
        if self.truth is None:
            return annotations
        made = [self._made(part, labels) for part in torch.split(annotations, TOGETHER)]
        return torch.cat(made)[:, None]

    def _made(self, annotations: Tensor, labels: int) -> Tensor:
        assert self.truth is not None
        rated = annotations != VOID
        found = self.truth(torch.where(rated, annotations, 0), None if rated.all() else rated, labels)
        return torch.where(rated.any(dim=1), found.to(annotations.dtype), VOID)

    def outputs(self, raters: int, labels: int) -> int:
        """Channels that the network has to give: one where there are two labels."""
        return (1 + raters if self.heads else 1) * (1 if labels == 2 else labels)

    def logits(self, outputs: Tensor, labels: int) -> Tensor:
        """Those to predict with: of the consensus, which comes first."""
        return outputs[:, : 1 if labels == 2 else labels] if self.heads else outputs


def _staple(codes: Tensor, present: Tensor | None, labels: int) -> Tensor:
    return staple(codes, present, labels).hard


STRATEGIES = {
    one.name: one
    for one in (
        Strategy(SINGLE, "single rater", "Single Cardiologist"),
        Strategy("inner", "inner region", "Inner Boundary", inner),
        Strategy("outer", "outer region", "Outer Boundary", outer),
        Strategy("majority", "majority vote", "Consensus", majority),
        Strategy("average", "average cross-entropy", "Average Cross Entropy"),
        Strategy(
            "confusion", "confusion matrices", "Confusion Matrix",
            build=lambda raters, labels: ConfusionMatrixLoss(raters, labels, check=False), pace=10.0, warm_up=0.25,
        ),
        Strategy(
            "individuals", "consensus and individuals", "Consistency",
            build=lambda raters, labels: ConsensusIndividualsLoss(raters, labels, check=False), heads=True,
        ),
        Strategy("staple", "STAPLE", "STAPLE", _staple),
        Strategy(
            "extended_dice", "extended Dice loss", "Our method",
            build=lambda raters, labels: ExtendedDiceLoss(check=False),
        ),
    )
}  # fmt: skip
"""By name, in the order of the paper's tables."""

CONTROL = Strategy(
    "majority_dice",
    "Dice loss on the majority",
    "",
    majority,
    build=lambda raters, labels: ExtendedDiceLoss(check=False),
)
"""What the paper leaves open: how much of the extended Dice loss's success is that of Dice losses in general."""
KNOWN = {**STRATEGIES, CONTROL.name: CONTROL}
"""The nine, and the control."""


def strategies(names: Sequence[str], raters: Sequence[str]) -> list[Strategy]:
    """The strategies named; ``all`` are the paper's nine, ``single`` is one for each rater.

    >>> [one.name for one in strategies(["single", "staple"], ["A", "B"])]
    ['rater-A', 'rater-B', 'staple']
    """
    chosen: dict[str, Strategy] = {}
    wanted = [one for name in names for one in (STRATEGIES if name == "all" else (name,))]
    for name in wanted:
        if name not in KNOWN:
            raise CallError(f"no strategy {name!r}; there are {', '.join(KNOWN)}, or all")
        many = [single(rater, k) for k, rater in enumerate(raters)] if name == SINGLE else [KNOWN[name]]
        chosen |= {one.name: one for one in many}
    return list(chosen.values())


def single(rater: str, position: int) -> Strategy:
    """Training on one rater alone."""

    def truth(codes: Tensor, present: Tensor | None, labels: int) -> Tensor:
        own = codes[:, position]
        return own if present is None else torch.where(present[:, position], own, VOID)

    return Strategy(f"rater-{safe_name(rater)}", f"rater {rater} alone", "Single Cardiologist", truth)
