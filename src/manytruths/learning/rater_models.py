"""Losses that model each rater: confusion matrices, and a network with one head for each rater.

**Confusion matrices** (Tanno et al.). With p the network's probabilities of the true label of a pixel, A_r[k, g] the
probability that rater r gives label g to a pixel of label k, and y_r the label they gave ::

    L = mean over decisions of −log Σ_k p_k A_r[k, y_r] + λ · mean over raters of trace(A_r)

Minimising the trace selects, among all matrices that explain the raters equally well, those that trust the raters
least, so that the network explains as much as possible.

**Consensus and individuals** (after Sudre et al.): one network with a head for the consensus and one for each rater.
From the abstract of the paper, and from what Zeng et al. report, individual raters and their consensus are learned
together, there for objects. The details here, for pixels, are our interpretation: cross-entropy of the consensus head
against the vote shares and of each other head against its rater, plus the squared difference between the probabilities
of the consensus head and the mean of those of the raters who rated the pixel, summed over labels.

Tanno R et al. Learning from noisy labels by regularized estimation of annotator confusion. CVPR 2019:11244–11253.
doi:10.1109/CVPR.2019.01150
Sudre CH et al. Let's agree to disagree: learning highly debatable multirater labelling. MICCAI 2019, LNCS
11767:665–673. doi:10.1007/978-3-030-32251-9_73
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from .annotations import (
    at_least_float32,
    can_check_values,
    check_batch,
    check_reduction,
    check_values,
    expand_presence,
    number_of_labels,
    rated_pixels,
    reduce_losses,
    shape_text,
    vote_share,
)
from .cross_entropy import hard_cross_entropy, soft_cross_entropy

LEAST = 1e-20
"""Lower bound of probabilities, so that no logarithm is infinite."""


class ConfusionMatrixLoss(nn.Module):
    """Cross-entropy of each rater's labels under their own confusion matrix, plus the trace of the matrices.

    The matrices are parameters of the loss: give ``[*network.parameters(), *loss.parameters()]`` to the optimiser. Each
    is a row-wise softmax of free parameters. A rater without decisions in a batch contributes nothing, not even to the
    trace; otherwise their matrix would drift while they are absent. Call the loss with logits (N, C, *spatial) of the
    true labels, annotations (N, R, *spatial) and, optionally, ``present``.

    At a network's learning rate the matrices hardly change. ``manytruths train`` uses ten times that rate for them,
    after the first quarter of the epochs; at twenty times they fell far below the raters' true rates on a phantom.

    Parameters
    ----------
    raters : int
        Number of raters.
    labels : int
        Number of labels, background included.
    trace_weight : float
        λ, the weight of the trace.
    start : float
        Initial diagonal of every matrix; the rest of each row is shared evenly.
    reduction : {"mean", "sum"}
        Over all decisions; the trace is added once to either.
    check : bool
        Whether to check values; see :class:`ExtendedDiceLoss`.

    References
    ----------
    Tanno R et al. Learning from noisy labels by regularized estimation of annotator confusion. CVPR 2019:11244–11253.
    doi:10.1109/CVPR.2019.01150

    Examples
    --------
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
        _check_sizes(raters, labels)
        if not 1 / labels < start < 1:
            raise CallError(f"start must be above 1/{labels} (guessing) and below 1; got {start!r}")
        self.raters, self.labels, self.trace_weight = raters, labels, trace_weight
        self.reduction, self.check = check_reduction(reduction, ("mean", "sum")), check
        odds = math.log(start * (labels - 1) / (1 - start))
        self.free = nn.Parameter(odds * torch.eye(labels).repeat(raters, 1, 1))

    @property
    def matrices(self) -> Tensor:
        """(raters, true label, given label); rows sum to 1."""
        return torch.softmax(self.free, dim=-1)

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) of the true labels against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        if number_of_labels(input) != self.labels or target.shape[1] != self.raters:
            raise CallError(
                f"the loss was built for {self.raters} raters and {self.labels} labels, but this batch has "
                f"{target.shape[1]} raters and logits of {number_of_labels(input)} labels"
            )
        if can_check_values(self.check):
            check_values(target, present, self.labels)
        there = None if present is None else expand_presence(present, target)
        with torch.autocast(input.device.type, enabled=False):  # matrix products would be done in half
            logits = at_least_float32(input)
            probability, matrices = _probabilities(logits), self.matrices.to(logits.dtype)
            losses = [self._loss(probability @ matrices[r], target, there, r) for r in range(self.raters)]
            trace = matrices.diagonal(dim1=1, dim2=2).sum(dim=1)
        decisions, total = self._count_decisions(target, there), torch.stack(losses).sum()
        if self.reduction == "mean":
            total = total / decisions.sum().clamp(min=1)
        heard = decisions > 0
        return total + self.trace_weight * torch.where(heard, trace, 0).sum() / heard.sum().clamp(min=1)

    def _loss(self, probability: Tensor, target: Tensor, there: Tensor | None, rater: int) -> Tensor:
        """Sum over the pixels (N, *spatial, labels) that a rater rated."""
        own = target[:, rater]
        rated = None if there is None else there[:, rater]
        place = (own if rated is None else torch.where(rated, own, 0)).long().unsqueeze(-1)
        losses = -probability.gather(-1, place).squeeze(-1).clamp(min=LEAST).log()
        return (losses if rated is None else torch.where(rated, losses, 0)).sum()

    def _count_decisions(self, target: Tensor, there: Tensor | None) -> Tensor:
        """(raters): number of decisions of each."""
        if there is None:
            return target.new_full((self.raters,), target[:, 0].numel(), dtype=torch.int64)
        return there.expand_as(target).transpose(0, 1).flatten(1).sum(dim=1)


class ConsensusIndividualsLoss(nn.Module):
    """Cross-entropy of a consensus head and of one head for each rater, plus the distance between them.

    ``input`` holds the logits of 1 + R heads one after the other, the consensus first: (N, (1 + R) · C, *spatial); C is
    the number of labels, or 1 for two labels with a sigmoid. :meth:`consensus` selects the logits to predict with. The
    head of a rater who did not rate a pixel gets no gradient from it.

    Parameters
    ----------
    raters : int
        Number of raters.
    labels : int
        Number of labels, background included.
    consensus_weight, individual_weight, consistency_weight : float
        Weights of the three terms: the consensus, the mean over individuals, and the squared difference between them.
    reduction : {"mean", "sum", "none"}
        ``"none"`` gives (N, *spatial).
    check : bool
        Whether to check values; see :class:`ExtendedDiceLoss`.

    References
    ----------
    Sudre CH et al. Let's agree to disagree: learning highly debatable multirater labelling. MICCAI 2019, LNCS
    11767:665–673. doi:10.1007/978-3-030-32251-9_73

    Examples
    --------
    >>> import torch
    >>> loss = ConsensusIndividualsLoss(raters=2)
    >>> loss(torch.zeros(1, 3, 1, 2), torch.tensor([[[[1, 1]], [[1, 0]]]]))
    tensor(1.3863)
    """

    def __init__(
        self,
        raters: int,
        labels: int = 2,
        consensus_weight: float = 1.0,
        individual_weight: float = 1.0,
        consistency_weight: float = 1.0,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        _check_sizes(raters, labels)
        self.raters, self.labels = raters, labels
        self.weights = (consensus_weight, individual_weight, consistency_weight)
        self.reduction, self.check = check_reduction(reduction), check

    @staticmethod
    def consensus(input: Tensor, channels: int = 1) -> Tensor:
        """Logits of the consensus: those of the first head, which has so many channels."""
        return input[:, :channels]

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, (1 + R) · C, *spatial) against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        heads = self._heads(input, target)
        if can_check_values(self.check):
            check_values(target, present, self.labels)
        together, alone, apart = self.weights
        consensus = soft_cross_entropy(heads[0], vote_share(target, present, self.labels))
        share = _shares_of_raters(target, present)
        losses = together * consensus + alone * self._individuals(heads[1:], target, present, share)
        losses = losses + apart * _squared_distance(heads, share)
        return reduce_losses(losses, rated_pixels(target, present), self.reduction)

    def _heads(self, input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        """The logits of each head, the consensus first."""
        channels = input.shape[1] // (1 + self.raters)
        known = (1, 2) if self.labels == 2 else (self.labels,)
        if channels not in known or input.shape[1] % (1 + self.raters) or target.shape[1] != self.raters:
            wanted = " or ".join(str((1 + self.raters) * each) for each in known)
            raise CallError(
                f"{self.raters} raters and {self.labels} labels need logits of {wanted} channels and annotations of "
                f"{self.raters} raters; got {shape_text(input)} and {shape_text(target)}"
            )
        return torch.split(at_least_float32(input), channels, dim=1)

    def _individuals(self, heads: tuple[Tensor, ...], target: Tensor, present: Tensor | None, share: Tensor) -> Tensor:
        """(N, *spatial): mean over the raters who rated."""
        known = target if present is None else torch.where(expand_presence(present, target), target, 0)
        each = [hard_cross_entropy(head, known[:, r]) * share[:, r] for r, head in enumerate(heads)]
        return torch.stack(each).sum(dim=0)


def _check_sizes(raters: int, labels: int) -> None:
    if raters < 1 or labels < 2:
        raise CallError(f"raters must be 1 or more and labels 2 or more; got {raters} and {labels}")


def _probabilities(logits: Tensor) -> Tensor:
    """(N, *spatial, labels): of every label, background included."""
    if logits.shape[1] == 1:
        logits = torch.cat([-logits, logits], dim=1) / 2
    return torch.softmax(logits.movedim(1, -1), dim=-1)


def _shares_of_raters(target: Tensor, present: Tensor | None) -> Tensor:
    """(N, R, *spatial) or (N, R, 1, …): one over the number of raters who rated, and 0 for the others."""
    if present is None:
        return torch.full((1, target.shape[1], *(1,) * (target.ndim - 2)), 1 / target.shape[1], device=target.device)
    there = expand_presence(present, target).float()
    return there / there.sum(dim=1, keepdim=True).clamp(min=1)


def _squared_distance(heads: tuple[Tensor, ...], share: Tensor) -> Tensor:
    """(N, *spatial): between the consensus and the mean of the individuals."""
    consensus, *individuals = map(_probabilities, heads)
    mean = torch.stack([p * share[:, r].unsqueeze(-1) for r, p in enumerate(individuals)]).sum(dim=0)
    return (consensus - mean).square().sum(dim=-1)
