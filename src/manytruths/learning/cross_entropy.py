"""Cross-entropy against all raters at once, or against one truth made of them.

Cross-entropy is linear in its target, so that its mean over raters is cross-entropy against the shares of their votes:
however many there are, one pass does. The mean is over the pixels that anybody rated, as if each image were an ordinary
batch of pixels.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..core.errors import CallError
from .annotations import (
    averaged,
    fit_together,
    known_reduction,
    labels_of,
    looked_at,
    rated,
    spread,
    values_in_order,
    wide,
)
from .soft_labels import inner, majority, outer, vote_share
from .staple import staple_mask

Reference = Literal["rater", "inner", "outer", "majority", "staple"]
TRUTHS = {"inner": inner, "outer": outer, "majority": majority, "staple": staple_mask}


class AverageCrossEntropy(nn.Module):
    """The mean over the raters of a pixel of cross-entropy against each; the mean over all pixels that anybody rated.

    Parameters
    ----------
    reduction
        ``"mean"``, ``"sum"``, or ``"none"``: (N, *spatial), 0 where nobody rated.
    check
        Whether to look at values that are not truth values; see :class:`ExtendedDiceLoss`.

    >>> import torch
    >>> AverageCrossEntropy()(torch.zeros(1, 1, 1, 2), torch.tensor([[[[1, 1]], [[1, 0]]]]))
    tensor(0.6931)
    """

    def __init__(self, reduction: str = "mean", check: bool = True) -> None:
        super().__init__()
        self.reduction, self.check = known_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        fit_together(input, target, present)
        if looked_at(self.check):
            values_in_order(target, present, labels_of(input))
        losses = against_shares(input, vote_share(target, present, labels_of(input)))
        return averaged(losses, rated(target, present), self.reduction)


class ReferenceCrossEntropy(nn.Module):
    """Cross-entropy against one truth: a rater, what all or any marked, the majority, or STAPLE's mask.

    Parameters
    ----------
    reference
        ``"rater"``, ``"inner"``, ``"outer"``, ``"majority"`` (see :mod:`.soft_labels`), or ``"staple"``, of each image
        by itself.
    rater
        Which one, counted from 0, where the reference is a rater; pixels that he did not rate count nothing.
    reduction, check
        As for :class:`AverageCrossEntropy`.

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
        if reference not in ("rater", *TRUTHS):
            raise CallError(f"reference is 'rater', {', '.join(map(repr, TRUTHS))}; got {reference!r}")
        if (reference == "rater") != (rater is not None):
            raise CallError(f"rater= says which one is the reference 'rater'; got {rater!r} with {reference!r}")
        self.reference, self.rater = reference, rater
        self.reduction, self.check = known_reduction(reduction), check

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Of logits (N, C, *spatial) against annotations (N, R, *spatial)."""
        fit_together(input, target, present)
        if self.rater is not None:
            target, present = self._own(target, present)
        if looked_at(self.check):
            values_in_order(target, present, labels_of(input))
        truth = self._truth(target, present, labels_of(input))
        return averaged(against_labels(input, truth), rated(target, present), self.reduction)

    def _own(self, target: Tensor, present: Tensor | None) -> tuple[Tensor, Tensor | None]:
        assert self.rater is not None
        if not 0 <= self.rater < target.shape[1]:
            raise CallError(f"rater {self.rater} is none of the {target.shape[1]} (from 0) of these annotations")
        here = slice(self.rater, self.rater + 1)
        return target[:, here], None if present is None else present[:, here]

    def _truth(self, target: Tensor, present: Tensor | None, labels: int) -> Tensor:
        if self.rater is None:
            return TRUTHS[self.reference](target, present, labels)
        return target[:, 0] if present is None else torch.where(spread(present, target)[:, 0], target[:, 0], 0)


def against_shares(input: Tensor, share: Tensor) -> Tensor:
    """(N, *spatial): of logits, against shares of one mark (N, *spatial) or of every label (N, labels, *spatial)."""
    logits = wide(input)
    if input.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(logits[:, 0], share.to(logits.dtype), reduction="none")
    if input.shape[1] == 2:
        share = torch.stack([1 - share, share], dim=1)
    return functional.cross_entropy(logits, share.to(logits.dtype), reduction="none")


def against_labels(input: Tensor, truth: Tensor) -> Tensor:
    """(N, *spatial): of logits, against one label a pixel."""
    if input.shape[1] == 1:
        return against_shares(input, truth)
    return functional.cross_entropy(wide(input), truth.long(), reduction="none")
