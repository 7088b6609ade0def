"""The consensus and the individuals: one network with a head for the consensus and one for every rater.

What we know of the paper is its abstract, and what Zeng et al. say of it: that individual raters and their consensus
are learned together, there for objects. The rest is our reading of it, for pixels: the consensus head meets the shares
of the votes, each other head its rater, both by cross-entropy, and the two are held together by the squared difference
between the consensus head's probabilities and the mean of those of the raters who rated the pixel, summed over labels.

Sudre CH et al. Let's agree to disagree: learning highly debatable multirater labelling. MICCAI 2019, LNCS
11767:665–673. doi:10.1007/978-3-030-32251-9_73
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..core.errors import CallError
from .annotations import averaged, fit_together, known_reduction, looked_at, rated, sizes, spread, values_in_order, wide
from .confusion import chances
from .cross_entropy import against_labels, against_shares
from .soft_labels import vote_share


class ConsensusIndividualsLoss(nn.Module):
    """Cross-entropy of the consensus head and of the individual ones, and how far they are apart.

    ``input`` holds the logits of 1 + R heads one after the other, the consensus first: (N, (1 + R) · C, *spatial); C
    is the number of labels, or 1 for two labels by a sigmoid. :meth:`consensus` picks those to predict with. The head
    of a rater who did not rate a pixel gets nothing from it.

    Parameters
    ----------
    raters, labels
        How many of both.
    consensus_weight, individual_weight, consistency_weight
        Of the three terms: the consensus, the mean over individuals, and the squared difference between them.
    reduction
        ``"mean"``, ``"sum"``, or ``"none"``: (N, *spatial).
    check
        Whether to look at values that are not truth values; see :class:`ExtendedDiceLoss`.

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
        if raters < 1 or labels < 2:
            raise CallError(f"there is at least one rater, and two labels; got {raters} and {labels}")
        self.raters, self.labels = raters, labels
        self.weights = (consensus_weight, individual_weight, consistency_weight)
        self.reduction, self.check = known_reduction(reduction), check

    @staticmethod
    def consensus(input: Tensor, channels: int = 1) -> Tensor:
        """The logits of the consensus: the first of the heads, of so many channels each."""
        return input[:, :channels]

    def forward(self, input: Tensor, target: Tensor, present: Tensor | None = None) -> Tensor:
        """Of logits (N, (1 + R) · C, *spatial) against annotations (N, R, *spatial)."""
        fit_together(input, target, present)
        heads = self._heads(input, target)
        if looked_at(self.check):
            values_in_order(target, present, self.labels)
        together, alone, apart = self.weights
        consensus = against_shares(heads[0], vote_share(target, present, self.labels))
        share = _shares_of_raters(target, present)
        losses = together * consensus + alone * self._individuals(heads[1:], target, present, share)
        losses = losses + apart * _distance(heads, share)
        return averaged(losses, rated(target, present), self.reduction)

    def _heads(self, input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        """The logits of each head, the consensus first."""
        channels = input.shape[1] // (1 + self.raters)
        known = (1, 2) if self.labels == 2 else (self.labels,)
        if channels not in known or input.shape[1] % (1 + self.raters) or target.shape[1] != self.raters:
            wanted = " or ".join(str((1 + self.raters) * each) for each in known)
            raise CallError(
                f"{self.raters} raters and {self.labels} labels want logits of {wanted} channels and annotations of "
                f"{self.raters} raters; got {sizes(input)} and {sizes(target)}"
            )
        return torch.split(wide(input), channels, dim=1)

    def _individuals(self, heads: tuple[Tensor, ...], target: Tensor, present: Tensor | None, share: Tensor) -> Tensor:
        """(N, *spatial): the mean over those who rated."""
        known = target if present is None else torch.where(spread(present, target), target, 0)
        each = [against_labels(head, known[:, r]) * share[:, r] for r, head in enumerate(heads)]
        return torch.stack(each).sum(dim=0)


def _shares_of_raters(target: Tensor, present: Tensor | None) -> Tensor:
    """(N, R, *spatial) or (N, R, 1, …): one over the number of those who rated, and 0 for the others."""
    if present is None:
        return torch.full((1, target.shape[1], *(1,) * (target.ndim - 2)), 1 / target.shape[1], device=target.device)
    there = spread(present, target).float()
    return there / there.sum(dim=1, keepdim=True).clamp(min=1)


def _distance(heads: tuple[Tensor, ...], share: Tensor) -> Tensor:
    """(N, *spatial): squared, between the consensus and the mean of the individuals."""
    consensus, *individuals = map(chances, heads)
    mean = torch.stack([chance * share[:, r].unsqueeze(-1) for r, chance in enumerate(individuals)]).sum(dim=0)
    return (consensus - mean).square().sum(dim=-1)
