"""Losses on the annotations of several raters.

**Cross-entropy** against all raters at once, or against one reference standard made from them. It is linear in its
target, so its mean over raters equals cross-entropy against their vote shares: one pass is enough for any number of
raters. The mean is over all pixels that at least one rater rated.

**Extended Dice** (Zeng et al., eq. 3): predictions between what all raters marked and what any rater marked cost
nothing. With P the probabilities of a label, I the region where all raters gave it and O the region where any did ::

    L = (Σ (P − P O) + Σ (I − I P)) / Σ (P + I) = 1 − Σ P (I + O) / (Σ P + Σ I)

This equals 1 − extended Dice for a hard prediction, the Dice loss where raters agree, and 0 where I ⊆ P ⊆ O. Only
pixels that at least one rater rated count.

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

Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
doi:10.1007/978-3-030-78191-0_37
Tanno R et al. Learning from noisy labels by regularized estimation of annotator confusion. CVPR 2019:11244–11253.
doi:10.1109/CVPR.2019.01150
Sudre CH et al. Let's agree to disagree: learning highly debatable multirater labelling. MICCAI 2019, LNCS
11767:665–673. doi:10.1007/978-3-030-32251-9_73
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..core.errors import CallError
from .annotations import (
    at_least_float32,
    check_batch,
    check_reduction,
    check_values,
    expand_presence,
    inner_and_outer,
    inner_region,
    majority_vote,
    number_of_labels,
    outer_region,
    rated_pixels,
    reduce_losses,
    shape_text,
    vote_share,
)
from .batch_staple import staple_mask
from .fused.dice import FusedExtendedDice, fits

Reference = Literal["rater", "inner", "outer", "majority", "staple"]
REFERENCES = {"inner": inner_region, "outer": outer_region, "majority": majority_vote, "staple": staple_mask}
LEAST = 1e-20
"""Lower bound of probabilities, so that no logarithm is infinite."""


class AverageCrossEntropy(nn.Module):
    """Cross-entropy averaged over the raters of each pixel, and over all pixels that at least one rater rated.

    Call it with logits (N, C, *spatial), annotations (N, R, *spatial) and, optionally, ``present``
    (see :mod:`manytruths.learning.annotations`).

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        ``"none"`` gives (N, *spatial), with 0 where nobody rated.
    check : bool
        Whether to check values; see :class:`ExtendedDiceLoss`.

    Examples
    --------
    >>> import torch
    >>> AverageCrossEntropy()(torch.zeros(1, 1, 1, 2), torch.tensor([[[[1, 1]], [[1, 0]]]]))
    tensor(0.6931)
    """

    def __init__(self, reduction: str = "mean", check: bool = True) -> None:
        super().__init__()
        self.reduction, self.check = check_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        check_values(target, present, number_of_labels(input), self.check)
        losses = soft_cross_entropy(input, vote_share(target, present, number_of_labels(input)))
        return reduce_losses(losses, rated_pixels(target, present), self.reduction)


class ReferenceCrossEntropy(nn.Module):
    """Cross-entropy against one reference standard: a rater, the inner or outer region, the majority, or STAPLE.

    Call it with logits (N, C, *spatial), annotations (N, R, *spatial) and, optionally, ``present``
    (see :mod:`manytruths.learning.annotations`).

    Parameters
    ----------
    reference : {"majority", "rater", "inner", "outer", "staple"}
        What to take as reference standard; see :func:`majority_vote`, :func:`inner_region`, :func:`outer_region` and
        :func:`staple`, each computed for every image separately.
    rater : int, optional
        Index of the rater where the reference is ``"rater"``; pixels that they did not rate do not count.
    reduction, check
        As for :class:`AverageCrossEntropy`.

    Examples
    --------
    >>> import torch
    >>> loss = ReferenceCrossEntropy("rater", rater=1)
    >>> loss(torch.tensor([[[[9.0, -9.0]]]]), torch.tensor([[[[1, 1]], [[1, 0]]]]))
    tensor(0.0001)
    """

    def __init__(
        self,
        reference: Reference = "majority",
        rater: int | None = None,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        if reference not in ("rater", *REFERENCES):
            raise CallError(f"reference must be 'rater', {', '.join(map(repr, REFERENCES))}; got {reference!r}")
        if (reference == "rater") != (rater is not None):
            raise CallError(
                f"rater= goes with reference='rater' and only with it; got rater={rater!r}, reference={reference!r}"
            )
        self.reference, self.rater = reference, rater
        self.reduction, self.check = check_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        if self.rater is not None:
            target, present = self._select_rater(target, present)
        check_values(target, present, number_of_labels(input), self.check)
        reference = self._make_reference(target, present, number_of_labels(input))
        return reduce_losses(hard_cross_entropy(input, reference), rated_pixels(target, present), self.reduction)

    def _select_rater(self, target: Tensor, present: Tensor | None) -> tuple[Tensor, Tensor | None]:
        assert self.rater is not None
        if not 0 <= self.rater < target.shape[1]:
            raise CallError(
                f"there is no rater {self.rater}: the annotations have {target.shape[1]} raters, counted from 0"
            )
        here = slice(self.rater, self.rater + 1)
        return target[:, here], None if present is None else present[:, here]

    def _make_reference(self, target: Tensor, present: Tensor | None, labels: int) -> Tensor:
        if self.rater is None:
            return REFERENCES[self.reference](target, present, labels)
        return target[:, 0] if present is None else torch.where(expand_presence(present, target)[:, 0], target[:, 0], 0)


def soft_cross_entropy(input: Tensor, share: Tensor) -> Tensor:
    """(N, *spatial) against shares of the foreground (N, *spatial) or of every label (N, labels, *spatial)."""
    logits = at_least_float32(input)
    if input.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(logits[:, 0], share.to(logits.dtype), reduction="none")
    if input.shape[1] == 2:
        share = torch.stack([1 - share, share], dim=1)
    return functional.cross_entropy(logits, share.to(logits.dtype), reduction="none")


def hard_cross_entropy(input: Tensor, reference: Tensor) -> Tensor:
    """(N, *spatial) against one label for each pixel (N, *spatial)."""
    if input.shape[1] == 1:
        return soft_cross_entropy(input, reference)
    return functional.cross_entropy(at_least_float32(input), reference.long(), reduction="none")


class ExtendedDiceLoss(nn.Module):
    """1 − extended Dice, averaged over images and labels.

    Any prediction between the inner region (marked by all raters) and the outer region (marked by any rater) has a loss
    of 0. Call it with logits (N, C, *spatial), annotations (N, R, *spatial) and, optionally, ``present`` (see
    :mod:`manytruths.learning.annotations`).

    Where nothing is predicted and the inner region is empty, the loss is 0 without a gradient; likewise where the sum
    of both is too small to divide by (about 1e-19 in float32). Where nobody marked anything but something is predicted,
    however faintly, the loss is 1 without a gradient: the ratio is 0 for any prediction. With many such images, or
    labels absent from most images, use ``batch=True`` or add a cross-entropy. Images that nobody rated do not count.

    Parameters
    ----------
    include_background : bool
        Treat background as a label like the others. Ignored if there is one channel.
    batch : bool
        Sum over all images before dividing, instead of dividing for each image.
    smooth : float
        Added to the numerator and the denominator of the ratio.
    reduction : {"mean", "sum", "none"}
        ``"none"`` gives (N, labels), or (labels) with ``batch``.
    check : bool
        Reject labels out of range and batches that nobody rated. The check synchronises with the device, and is
        skipped in compiled code.

    References
    ----------
    Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
    doi:10.1007/978-3-030-78191-0_37

    Examples
    --------
    >>> import torch
    >>> annotations = torch.tensor([[[[1, 1, 0, 0]], [[1, 0, 0, 0]]]])  # one image of 1 × 4 pixels, two raters
    >>> logits = torch.tensor([[[[100.0, 100, 100, -100]]]])
    >>> ExtendedDiceLoss()(logits, annotations)
    tensor(0.2500)
    """

    def __init__(
        self,
        include_background: bool = False,
        batch: bool = False,
        smooth: float = 0.0,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__()
        if not smooth >= 0:
            raise CallError(f"smooth must be 0 or more; got {smooth!r}")
        self.include_background, self.batch, self.smooth = include_background, batch, smooth
        self.reduction, self.check = check_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Loss of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        check_batch(input, target, present)
        check_values(target, present, number_of_labels(input), self.check)
        if fits(input, target, present):
            first = int(input.shape[1] > 1 and not self.include_background)
            how = (first, self.batch, self.smooth, self.reduction)
            fused: Tensor = FusedExtendedDice.apply(input, target, present, *how)  # type: ignore[no-untyped-call]
            return fused
        losses = self._losses(self._probabilities(input), target, present, number_of_labels(input))
        rated = None if present is None or self.batch else present.flatten(1).any(dim=1, keepdim=True)
        return reduce_losses(losses, rated, self.reduction)

    def _probabilities(self, input: Tensor) -> Tensor:
        """(N, labels, *spatial) of the labels that count."""
        logits = at_least_float32(input)
        if input.shape[1] == 1:
            return torch.sigmoid(logits)
        return torch.softmax(logits, dim=1)[:, int(not self.include_background) :]

    def _losses(self, probability: Tensor, target: Tensor, present: Tensor | None, labels: int) -> Tensor:
        """(N, labels), or (labels) over the batch."""
        sums = [0, *range(2, probability.ndim)] if self.batch else list(range(2, probability.ndim))
        weight, inner = _regions(target, present, labels, probability.shape[1], sums)
        if present is not None and (self.batch or present.ndim > 2):
            probability = torch.where(rated_pixels(target, present).unsqueeze(1), probability, 0)  # type: ignore[union-attr]
        losses: Tensor = _OneMinusRatio.apply(probability, weight, inner, self.smooth, sums)  # type: ignore[no-untyped-call]
        return losses


def _regions(
    target: Tensor, present: Tensor | None, labels: int, counted: int, sums: list[int]
) -> tuple[Tensor, Tensor]:
    """I + O of the labels that count, the last ones, in bytes (N, counted, *spatial); and the sums of I."""
    each = [inner_and_outer(target, present, label, labels) for label in range(labels - counted, labels)]
    totals = [inner.unsqueeze(1).sum(dim=sums, dtype=torch.int32) for inner, _ in each]
    weights = [inner + outer for inner, outer in each]
    if counted == 1:
        return weights[0].unsqueeze(1), totals[0]
    return torch.stack(weights, dim=1), torch.cat(totals, dim=-1)


class _OneMinusRatio(torch.autograd.Function):
    """1 − Σ P (I + O) / (Σ P + Σ I), and 0 where there is nothing to divide by.

    PyTorch's own gradient would need more memory (here I + O stays in bytes until it is used) and more kernel launches.
    """

    @staticmethod
    def forward(ctx: Any, probability: Tensor, weight: Tensor, inner: Tensor, smooth: float, sums: list[int]) -> Tensor:
        above, below = weight.to(probability.dtype).mul_(probability).sum(dim=sums), probability.sum(dim=sums) + inner
        apart = below - above
        if smooth:
            above, below = above + smooth, below + smooth
        enough = below > torch.finfo(below.dtype).tiny ** 0.5  # its square must not vanish in the gradient
        below = torch.where(enough, below, torch.inf)
        ctx.save_for_backward(weight, above, below)
        ctx.sums = sums
        return apart / below

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise CallError("the extended Dice loss has no second derivatives; do not use create_graph=True")
        weight, above, below = ctx.saved_tensors
        ratio, scale = above / below, gradient / below
        for axis in ctx.sums:
            ratio, scale = ratio.unsqueeze(axis), scale.unsqueeze(axis)
        return weight.to(ratio.dtype).neg_().add_(ratio).mul_(scale), None, None, None, None


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
        check_values(target, present, self.labels, self.check)
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
        given = target[:, rater]
        rated = None if there is None else there[:, rater]
        place = (given if rated is None else torch.where(rated, given, 0)).long().unsqueeze(-1)
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
        check_values(target, present, self.labels, self.check)
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
