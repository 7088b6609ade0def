"""Networks that draw masks, each as one rater might mark the image.

**Latent variables.** The logits η of an image are linear in a few random numbers, which are the same for all of its
pixels, so that a draw moves a whole outline and not single pixels ::

    η(ε) = μ + Σ_k ε_k f_k,    ε_k ~ N(0, 1)

with μ and f_k the outputs of the network. Given ε the pixels are independent, and a rater's mask y_r is one draw::

    L = −(1 / decisions) Σ_r log (1/M Σ_m exp Σ_pixels log p(y_r | η(ε_m)))

with M draws of ε for each image. This is the stochastic segmentation network of Monteiro et al. with a covariance of
low rank and no variance of single pixels. The probabilistic U-Net of Kohl et al. draws from a latent space, too, but
needs a second network and a bound on the likelihood to learn it; here the likelihood itself is averaged over draws.

**Heads.** The heads of the raters of :class:`~manytruths.learning.ConsensusIndividualsLoss` are draws, too: one each.

Monteiro M et al. Stochastic segmentation networks: modelling spatially correlated aleatoric uncertainty. NeurIPS 2020.
doi:10.48550/arXiv.2006.06015
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
from .annotations import at_least_float32, check_batch, check_values, expand_presence, shape_text

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


class LatentCrossEntropy(nn.Module):
    """Likelihood of each rater's mask, averaged over draws of a few latent variables of the image.

    ``input`` holds (1 + rank) · C channels: the mean of the logits, then their slope along each latent variable; C is
    the number of labels, or 1 for two labels with a sigmoid. :meth:`draw` makes logits from them.

    Parameters
    ----------
    labels : int
        Number of labels, background included.
    rank : int
        Number of latent variables.
    draws : int
        Draws for each image and step; more make the loss more exact.
    check : bool
        Whether to check values; see :class:`ExtendedDiceLoss`.

    References
    ----------
    Monteiro M et al. Stochastic segmentation networks: modelling spatially correlated aleatoric uncertainty.
    NeurIPS 2020. doi:10.48550/arXiv.2006.06015

    Examples
    --------
    >>> import torch
    >>> annotations = torch.tensor([[[[1, 1]], [[0, 0]]]])  # one image of 1 × 2 pixels: both marked, or neither
    >>> apart = torch.tensor([0.0, 20.0]).reshape(1, 2, 1, 1).expand(1, 2, 1, 2)  # mean 0; one variable moves both
    >>> noise = torch.tensor([[[-1.0], [1.0]]])
    >>> LatentCrossEntropy(rank=1)(apart, annotations, noise=noise)  # half of the draws are right: log 2 for 2 pixels
    tensor(0.3466)
    """

    def __init__(self, labels: int = 2, rank: int = RANK, draws: int = DRAWS, check: bool = True) -> None:
        super().__init__()
        if labels < 2 or rank < 1 or draws < 1:
            raise CallError(f"labels must be 2 or more, rank and draws 1 or more; got {labels}, {rank} and {draws}")
        self.labels, self.rank, self.draws, self.check = labels, rank, draws, check

    @staticmethod
    def draw(input: Tensor, noise: Tensor) -> Tensor:
        """Logits (N, draws, C, *spatial) of the outputs (N, (1 + rank) · C, *spatial) for noise (N, draws, rank)."""
        channels = input.shape[1] // (1 + noise.shape[2])
        slopes = input[:, channels:].unflatten(1, (noise.shape[2], channels))
        moved = torch.einsum("nmk,nkp->nmp", noise, slopes.flatten(2)).unflatten(2, slopes.shape[2:])
        return input[:, None, :channels] + moved

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
            likelihood, decisions = _log_likelihood(logits, target, present)
        losses = math.log(logits.shape[1]) - torch.logsumexp(likelihood, dim=1)
        return torch.where(decisions > 0, losses, 0).sum() / decisions.sum().clamp(min=1)


def _log_likelihood(logits: Tensor, target: Tensor, present: Tensor | None) -> tuple[Tensor, Tensor]:
    """(N, draws, R): log-likelihood of each rater's labels under each draw; (N, R): how many pixels they rated."""
    if logits.shape[2] == 1:
        chances = functional.logsigmoid(torch.cat([-logits, logits], dim=2)).flatten(3)
    else:
        chances = torch.log_softmax(logits, dim=2).flatten(3)
    there = None if present is None else expand_presence(present, target)
    total = chances.new_zeros(len(logits), logits.shape[1], target.shape[1])
    decisions = chances.new_zeros(target.shape[:2])
    for label in range(chances.shape[2]):
        chosen = target == label if there is None else (target == label) & there
        flat = chosen.flatten(2).to(chances.dtype)
        total = total + chances[:, :, label] @ flat.transpose(1, 2)
        decisions = decisions + flat.sum(dim=2)
    return total, decisions


# -- draws of a trained network --------------------------------------------------------------------


def sample_names(strategy: str, raters: Sequence[str], count: int = SAMPLES) -> tuple[str, ...]:
    """File names of the samples of a network: numbers, or the raters where there is one sample for each.

    >>> sample_names("latent", "AB", 3), sample_names("individuals", "AB"), sample_names("majority", "AB")
    (('1', '2', '3'), ('A', 'B'), ())
    """
    if strategy == INDIVIDUALS:
        return tuple(safe_name(rater) for rater in raters)
    return tuple(f"{k:0{len(str(count))}}" for k in range(1, count + 1)) if strategy == LATENT else ()


def latent_noise(count: int, rank: int, key: str) -> Tensor:
    """(1, count, rank): standard normal numbers that depend on the key alone; fewer are the first of more.

    >>> bool((latent_noise(2, 3, "unet 0 p01") == latent_noise(5, 3, "unet 0 p01")[:, :2]).all())
    True
    """
    generator = torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big"))
    return torch.stack([torch.randn(rank, generator=generator) for _ in range(count)])[None]
