"""Networks that draw masks, each as one rater might mark the image.

**Latent variables.** The logits η of an image are linear in a few random numbers, which are the same for all of its
pixels, so that a draw moves a whole outline and not single pixels ::

    η(ε) = μ + Σ_k ε_k f_k / √K,    ε_k ~ N(0, 1)

with μ and the K slopes f_k the outputs of the network: the low-rank part of Monteiro et al. The network is trained by
the energy score of M draws s_m = σ(η(ε_m)) against the raters' masks y_r, which is smallest on average if draws are
distributed as the raters' masks, as in Bouchacourt et al., plus cross-entropy of the mean of the draws ::

    L = 2 / (M R) Σ d(s_m, y_r) − 1 / (M (M − 1)) Σ d(s_m, s_n) + CE(mean of s_m, shares of votes)

with d = 1 − Σ min / Σ max, which is 1 − IoU of masks. Cross-entropy has a gradient where masks are empty or far apart.
The probabilistic U-Net of Kohl et al. needs a second network, of image and mask, and a bound on the likelihood. Here
the likelihood itself was tried, averaged over the same draws: draws differed far too much, since a wrong one costs next
to nothing where another is right.

**Heads.** The heads of the raters of :class:`~manytruths.learning.ConsensusIndividualsLoss` are draws, too: one each.

Monteiro M et al. Stochastic segmentation networks: modelling spatially correlated aleatoric uncertainty. NeurIPS 2020.
doi:10.48550/arXiv.2006.06015
Bouchacourt D, Mudigonda PK, Nowozin S. DISCO Nets: dissimilarity coefficients networks. NeurIPS 2016.
doi:10.48550/arXiv.1606.02556
Kohl SAA et al. A probabilistic U-Net for segmentation of ambiguous images. NeurIPS 2018.
doi:10.48550/arXiv.1806.05034
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..core.errors import CallError
from ..io import safe_name
from .annotations import (
    at_least_float32,
    check_batch,
    check_values,
    expand_presence,
    rated_pixels,
    reduce_losses,
    shape_text,
    vote_share,
)

LATENT = "latent"
"""Name of the strategy whose networks have latent variables."""
INDIVIDUALS = "individuals"
"""Name of the strategy whose networks have a head for each rater."""
RANK, DRAWS = 8, 16
"""Latent variables of an image, and draws of them in each step of training."""
SAMPLES = 16
"""Samples of an image, of a network that draws as many as are wanted."""
MEAN_OF = 64
"""Draws whose mean is the probability."""


class EnergyLoss(nn.Module):
    """Energy score of draws against the raters' masks, plus cross-entropy of their mean against the shares of votes.

    ``input`` holds (1 + rank) · C channels: the mean of the logits, then their slope along each latent variable; C is
    the number of labels, or 1 for two labels with a sigmoid. :meth:`draw` makes logits from them.

    Parameters
    ----------
    labels : int
        Number of labels, background included.
    rank : int
        Number of latent variables.
    draws : int
        Draws for each image and step, two or more; the energy score is unbiased for any number.
    check : bool
        Whether to check values; see :class:`ExtendedDiceLoss`.

    References
    ----------
    Bouchacourt D, Mudigonda PK, Nowozin S. DISCO Nets: dissimilarity coefficients networks. NeurIPS 2016.
    doi:10.48550/arXiv.1606.02556

    Examples
    --------
    >>> import torch
    >>> annotations = torch.tensor([[[[1, 1]], [[0, 0]]]])  # one image of 1 × 2 pixels: both marked, or neither
    >>> outputs = torch.tensor([0.0, 20.0]).reshape(1, 2, 1, 1).expand(1, 2, 1, 2)  # one variable moves both pixels
    >>> loss = EnergyLoss(rank=1)
    >>> alike, apart = (loss(outputs, annotations, noise=torch.tensor([[[a], [b]]])) for a, b in ((1, 1), (-1, 1)))
    >>> bool(apart < alike)
    True
    """

    def __init__(self, labels: int = 2, rank: int = RANK, draws: int = DRAWS, check: bool = True) -> None:
        super().__init__()
        if labels < 2 or rank < 1 or draws < 2:
            raise CallError(f"labels and draws must be 2 or more, rank 1 or more; got {labels}, {draws} and {rank}")
        self.labels, self.rank, self.draws, self.check = labels, rank, draws, check

    @staticmethod
    def draw(input: Tensor, noise: Tensor) -> Tensor:
        """Logits (N, draws, C, *spatial) of the outputs (N, (1 + rank) · C, *spatial) for noise (N, draws, rank)."""
        images, draws, rank = noise.shape
        channels, size = input.shape[1] // (1 + rank), input.shape[2:]
        slopes = input[:, channels:].reshape(images, rank, -1)
        moved = torch.einsum("nmk,nkp->nmp", noise / math.sqrt(rank), slopes)
        logits: Tensor = input[:, None, :channels] + moved.reshape(images, draws, channels, *size)
        return logits

    def forward(
        self, input: Tensor, target: Tensor, present: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        """Loss of outputs (N, (1 + rank) · C, *spatial) against annotations (N, R, *spatial).

        ``noise`` (N, draws, rank) are standard normal numbers; without it they are drawn.
        """
        check_batch(input, target, present)
        channels = input.shape[1] // (1 + self.rank)
        if channels not in ((1, 2) if self.labels == 2 else (self.labels,)) or input.shape[1] % (1 + self.rank):
            raise CallError(
                f"{self.rank} latent variables and {self.labels} labels need outputs of "
                f"{(1 + self.rank) * (1 if self.labels == 2 else self.labels)} channels; got {shape_text(input)}"
            )
        check_values(target, present, self.labels, self.check)
        if noise is None:
            noise = torch.randn(len(input), self.draws, self.rank, device=input.device)
        with torch.autocast(input.device.type, enabled=False):  # matrix products would be done in half
            outputs = at_least_float32(input)
            logits = self.draw(outputs, noise.reshape(len(input), -1, self.rank).to(outputs.dtype))
            chances = _log_probabilities(logits)
            score = _energy_score(chances[:, :, 1:].exp(), target, present)
            mean = torch.logsumexp(chances, dim=1) - math.log(chances.shape[1])
            losses = -(mean * _shares(target, present, self.labels)).sum(dim=1)
        heard = None if present is None else present.flatten(1).any(dim=1)
        return reduce_losses(score, heard, "mean") + reduce_losses(losses, rated_pixels(target, present), "mean")


def _log_probabilities(logits: Tensor) -> Tensor:
    """(N, draws, labels, *spatial)."""
    if logits.shape[2] == 1:
        return functional.logsigmoid(torch.cat([-logits, logits], dim=2))
    return torch.log_softmax(logits, dim=2)


def _shares(target: Tensor, present: Tensor | None, labels: int) -> Tensor:
    """(N, labels, *spatial): shares of votes; 0 where nobody rated."""
    share = vote_share(target, present, labels)
    return torch.stack([1 - share, share], dim=1) if labels == 2 else share


def _energy_score(marks: Tensor, target: Tensor, present: Tensor | None) -> Tensor:
    """(N): 2 E d(draw, rater) − E d(draw, other draw), averaged over the labels but background.

    ``marks`` are probabilities (N, draws, labels − 1, *spatial). Where not every rater rated every pixel, a draw and a
    rater are compared where the rater rated, and two draws where anyone did.
    """
    there = None if present is None else expand_presence(present, target)
    heard = None if there is None else there.flatten(2).any(dim=2)
    rated = rated_pixels(target, present)
    scores = []
    for label in range(marks.shape[2]):
        own = marks[:, :, label]
        given = (target == label + 1).to(own.dtype)
        to_raters = _distances(own, given, None if there is None else there.to(own.dtype))
        if heard is None:
            near = to_raters.mean(dim=(1, 2))
        else:
            near = torch.where(heard[:, None], to_raters, 0).sum(dim=(1, 2))
            near = near / (own.shape[1] * heard.sum(dim=1)).clamp(min=1)
        counted = own if rated is None else own * rated.unsqueeze(1)
        apart = _distances(counted, counted, None).sum(dim=(1, 2)) / (own.shape[1] * (own.shape[1] - 1))
        scores.append(2 * near - apart)
    return torch.stack(scores).mean(dim=0)


def _distances(one: Tensor, other: Tensor, there: Tensor | None) -> Tensor:
    """(N, A, B): 1 − Σ min / Σ max of each of (N, A, *spatial) and each of (N, B, *spatial); 0 of two empty ones.

    Σ min = (Σ a + Σ b − Σ |a − b|) / 2.
    """
    a, b = one.flatten(2), other.flatten(2)
    if there is None:
        apart, sizes = torch.cdist(a, b, p=1), a.sum(dim=2)[:, :, None]
    else:
        weight = there.expand_as(other).flatten(2)
        apart = torch.stack([(a - b[:, None, k]).abs().mul(weight[:, None, k]).sum(2) for k in range(b.shape[1])], 2)
        sizes, b = a @ weight.transpose(1, 2), b * weight
    total = sizes + b.sum(dim=2)[:, None]
    larger = (total + apart) / 2
    return torch.where(larger > 0, apart / torch.where(larger > 0, larger, 1), 0)


# -- draws of a trained network --------------------------------------------------------------------


def sample_names(strategy: str, raters: Sequence[str], count: int = SAMPLES) -> tuple[str, ...]:
    """File names of the samples of a network: numbers, or the raters where there is one sample for each.

    >>> sample_names("latent", "AB", 3), sample_names("individuals", "AB"), sample_names("majority", "AB")
    (('001', '002', '003'), ('A', 'B'), ())
    """
    if strategy == INDIVIDUALS:
        return tuple(safe_name(rater) for rater in raters)
    return tuple(f"{k:03}" for k in range(1, count + 1)) if strategy == LATENT else ()


def latent_noise(count: int, rank: int, key: str) -> Tensor:
    """(1, count, rank): standard normal numbers that depend on the key alone; fewer are the first of more.

    >>> bool((latent_noise(2, 3, "unet 0 p01") == latent_noise(5, 3, "unet 0 p01")[:, :2]).all())
    True
    """
    generator = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big"))
    return torch.stack([torch.randn(rank, generator=generator) for _ in range(count)])[None]
