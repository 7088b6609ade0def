"""The confusion-matrix model: a network for the truth, and for each rater a matrix of how he gives labels to it.

With p the network's probabilities of the true label of a pixel, A_r[k, g] the chance that rater r gives the label g
to a pixel of label k, and y_r what he gave ::

    L = mean over decisions of −log Σ_k p_k A_r[k, y_r] + λ · mean over raters of trace(A_r)

The trace is made small: of all the matrices that explain the raters equally well, that takes the ones that trust them
least, and so leaves the truth to the network.

Tanno R et al. Learning from noisy labels by regularized estimation of annotator confusion. CVPR 2019:11244–11253.
doi:10.1109/CVPR.2019.01150
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from .annotations import fit_together, known_reduction, labels_of, looked_at, spread, values_in_order, wide

LEAST = 1e-20
"""Chances below are taken for this, so that no logarithm is infinite."""


class ConfusionMatrixLoss(nn.Module):
    """Cross-entropy of each rater's labels under his own confusion matrix, plus the trace of the matrices.

    The matrices are parameters of the loss: give ``[*network.parameters(), *loss.parameters()]`` to the optimiser. Each
    is a softmax of free numbers along its rows. A rater of whom a batch has no decision changes nothing, not even by
    the trace: without decisions to hold it, his matrix would drift for as long as he is away.

    At a network's learning rate the matrices hardly move. ``manytruths train`` gives them ten times that rate, once a
    quarter of the epochs is over; at twice that pace they fell far below the raters' true rates on a phantom.

    Parameters
    ----------
    raters, labels
        How many of both.
    trace_weight
        λ.
    start
        How far raters are trusted at first: the diagonal of every matrix, the rest being shared out evenly.
    reduction
        ``"mean"`` over all decisions, or their ``"sum"``; the trace is added once to either.
    check
        Whether to look at values that are not truth values; see :class:`ExtendedDiceLoss`.

    >>> ConfusionMatrixLoss(raters=2).matrices[0].detach()
    tensor([[0.9500, 0.0500],
            [0.0500, 0.9500]])
    """

    def __init__(
        self,
        raters: int,
        labels: int = 2,
        trace_weight: float = 0.01,
        start: float = 0.95,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        if raters < 1 or labels < 2:
            raise CallError(f"there is at least one rater, and two labels; got {raters} and {labels}")
        if not 1 / labels < start < 1:
            raise CallError(f"start is above 1/{labels}, that of guessing, and below 1; got {start!r}")
        self.raters, self.labels, self.trace_weight = raters, labels, trace_weight
        self.reduction, self.check = known_reduction(reduction, ("mean", "sum")), check
        odds = math.log(start * (labels - 1) / (1 - start))
        self.free = nn.Parameter(odds * torch.eye(labels).repeat(raters, 1, 1))

    @property
    def matrices(self) -> Tensor:
        """(raters, truth, given): rows sum to 1."""
        return torch.softmax(self.free, dim=-1)

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Of logits (N, C, *spatial) of the true labels against annotations (N, R, *spatial)."""
        fit_together(input, target, present)
        self._known(input, target)
        if looked_at(self.check):
            values_in_order(target, present, self.labels)
        there = None if present is None else spread(present, target)
        with torch.autocast(input.device.type, enabled=False):  # matrix products would be done in half
            chance, matrices = chances(wide(input)), self.matrices.to(wide(input).dtype)
            losses = [self._loss(chance @ matrices[r], target, there, r) for r in range(self.raters)]
            trace = matrices.diagonal(dim1=1, dim2=2).sum(dim=1)
        decisions, total = self._decisions(target, there), torch.stack(losses).sum()
        if self.reduction == "mean":
            total = total / decisions.sum().clamp(min=1)
        heard = decisions > 0
        return total + self.trace_weight * torch.where(heard, trace, 0).sum() / heard.sum().clamp(min=1)

    def _known(self, input: Tensor, target: Tensor) -> None:
        if labels_of(input) != self.labels or target.shape[1] != self.raters:
            raise CallError(
                f"the matrices are those of {self.raters} raters and {self.labels} labels, and this batch has "
                f"{target.shape[1]} raters and logits of {labels_of(input)} labels"
            )

    def _loss(self, chance: Tensor, target: Tensor, there: Tensor | None, rater: int) -> Tensor:
        """Summed over the pixels (N, *spatial, labels) that a rater rated."""
        own = target[:, rater]
        rated = None if there is None else there[:, rater]
        place = (own if rated is None else torch.where(rated, own, 0)).long().unsqueeze(-1)
        losses = -chance.gather(-1, place).squeeze(-1).clamp(min=LEAST).log()
        return (losses if rated is None else torch.where(rated, losses, 0)).sum()

    def _decisions(self, target: Tensor, there: Tensor | None) -> Tensor:
        """(raters): how many each made."""
        if there is None:
            return target.new_full((self.raters,), target[:, 0].numel(), dtype=torch.int64)
        return there.expand_as(target).transpose(0, 1).flatten(1).sum(dim=1)


def chances(logits: Tensor) -> Tensor:
    """(N, *spatial, labels): of every label, that of background too."""
    if logits.shape[1] == 1:
        logits = torch.cat([-logits, logits], dim=1) / 2
    return torch.softmax(logits.movedim(1, -1), dim=-1)
