"""Two small networks: a U-Net, and a DeepLabv3+ on residual blocks.

Both take images (N, channels, H, W) of any size and return logits (N, outputs, H, W); neither needs pretrained weights.

Ronneberger O, Fischer P, Brox T. U-Net. MICCAI 2015, LNCS 9351:234–241. doi:10.1007/978-3-319-24574-4_28.
Chen LC et al. Encoder-decoder with atrous separable convolution for semantic image segmentation. ECCV 2018, LNCS
11211:833–851. doi:10.1007/978-3-030-01234-2_49
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..core.errors import CallError


def convolution(inputs: int, outputs: int, size: int = 3, *, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    """Convolution with padding, batch normalisation and ReLU."""
    pad = dilation * (size // 2)
    kernel = nn.Conv2d(inputs, outputs, size, stride, pad, dilation, bias=False)
    return nn.Sequential(kernel, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """U-Net: an encoder and a decoder with skip connections at every level.

    Parameters
    ----------
    channels : int
        Number of channels of the images.
    outputs : int
        Number of channels of the logits: one for two labels, otherwise one for each label.
    width : int
        Channels of the first level; each further level has twice as many.
    depth : int
        Number of times the resolution is halved.

    References
    ----------
    Ronneberger O, Fischer P, Brox T. U-Net. MICCAI 2015, LNCS 9351:234–241. doi:10.1007/978-3-319-24574-4_28

    Examples
    --------
    >>> net = UNet(1, 1, width=8)
    >>> net(torch.zeros(2, 1, 50, 70)).shape
    torch.Size([2, 1, 50, 70])
    """

    def __init__(self, channels: int, outputs: int, *, width: int = 32, depth: int = 4) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        starts = [channels, *widths[:-1]]
        self.down = nn.ModuleList(_two_convolutions(a, b) for a, b in zip(starts, widths, strict=True))
        self.narrow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairwise(widths))
        self.up = nn.ModuleList(_two_convolutions(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(width, outputs, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (N, outputs, H, W) of images (N, channels, H, W)."""
        x, skips = _pad(images, 2 ** len(self.up)), list[Tensor]()
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for level in reversed(range(len(self.up))):
            x = self.up[level](torch.cat([skips[level], self.narrow[level](x)], dim=1))
        return _crop(self.head(x), images)


class DeepLab(nn.Module):
    """DeepLabv3+: residual blocks down to 1/16, a pyramid of atrous convolutions, and a skip connection at 1/4.

    Parameters
    ----------
    channels : int
        Number of channels of the images.
    outputs : int
        Number of channels of the logits: one for two labels, otherwise one for each label.
    width : int
        Channels of the first level.
    rates : tuple of int
        Dilation rates of the pyramid.

    References
    ----------
    Chen LC et al. Encoder-decoder with atrous separable convolution for semantic image segmentation. ECCV 2018, LNCS
    11211:833–851. doi:10.1007/978-3-030-01234-2_49

    Examples
    --------
    >>> net = DeepLab(3, 2, width=8)
    >>> net(torch.zeros(2, 3, 50, 70)).shape
    torch.Size([2, 2, 50, 70])
    """

    def __init__(self, channels: int, outputs: int, *, width: int = 32, rates: tuple[int, ...] = (2, 4, 6)) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(channels, width, stride=2), convolution(width, width))
        self.fine = nn.Sequential(Residual(width, 2 * width, stride=2), Residual(2 * width, 2 * width))
        self.deep = nn.Sequential(
            Residual(2 * width, 4 * width, stride=2),
            Residual(4 * width, 4 * width),
            Residual(4 * width, 8 * width, stride=2),
            Residual(8 * width, 8 * width, dilation=2),
        )
        self.pyramid = Pyramid(8 * width, 4 * width, rates)
        self.slim = convolution(2 * width, width, 1)
        self.join = nn.Sequential(convolution(5 * width, 4 * width), convolution(4 * width, 4 * width))
        self.head = nn.Conv2d(4 * width, outputs, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Logits (N, outputs, H, W) of images (N, channels, H, W)."""
        padded = _pad(images, 16)
        fine = self.fine(self.stem(padded))
        wide = _resize(self.pyramid(self.deep(fine)), fine)
        logits = self.head(self.join(torch.cat([self.slim(fine), wide], dim=1)))
        return _crop(_resize(logits, padded), images)


class Residual(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self, inputs: int, outputs: int, *, stride: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.first = convolution(inputs, outputs, stride=stride, dilation=dilation)
        self.second = nn.Sequential(
            nn.Conv2d(outputs, outputs, 3, 1, dilation, dilation, bias=False), nn.BatchNorm2d(outputs)
        )
        same = inputs == outputs and stride == 1
        self.short = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The shortcut plus the convolutions."""
        return F.relu(self.short(x) + self.second(self.first(x)))


class Pyramid(nn.Module):
    """Features at several scales: a 1 × 1 convolution, atrous convolutions, and the mean of the whole image."""

    def __init__(self, inputs: int, outputs: int, rates: tuple[int, ...]) -> None:
        super().__init__()
        wide = [convolution(inputs, outputs, dilation=rate) for rate in rates]
        self.near = nn.ModuleList([convolution(inputs, outputs, 1), *wide])
        # batch normalisation needs more than one value for each channel
        self.whole = nn.Sequential(nn.Conv2d(inputs, outputs, 1), nn.ReLU(inplace=True))
        self.join = convolution((len(rates) + 2) * outputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """All scales, joined."""
        whole = self.whole(x.mean(dim=(2, 3), keepdim=True)).expand(-1, -1, *x.shape[2:])
        joined: Tensor = self.join(torch.cat([*(block(x) for block in self.near), whole], dim=1))
        return joined


NETWORKS: dict[str, type[UNet] | type[DeepLab]] = {"unet": UNet, "deeplab": DeepLab}


def build_network(name: str, channels: int, outputs: int, width: int = 32) -> UNet | DeepLab:
    """Build a network by its name.

    >>> sum(p.numel() for p in build_network("unet", 1, 1).parameters())
    7762465
    """
    if name not in NETWORKS:
        raise CallError(f"there is no network {name!r}; use {' or '.join(NETWORKS)}")
    return NETWORKS[name](channels, outputs, width=width)


def _two_convolutions(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(convolution(inputs, outputs), convolution(outputs, outputs))


def _pad(images: Tensor, multiple: int) -> Tensor:
    """Replicate the lower and right edges up to a multiple of ``multiple``, and twice that at least.

    Batch normalisation needs more than a single pixel at the coarsest level.
    """
    more = [max(-size % multiple, 2 * multiple - size) for size in images.shape[2:]]
    return F.pad(images, (0, more[1], 0, more[0]), mode="replicate") if any(more) else images


def _crop(x: Tensor, like: Tensor) -> Tensor:
    return x[..., : like.shape[2], : like.shape[3]]


def _resize(x: Tensor, like: Tensor) -> Tensor:
    return F.interpolate(x, like.shape[2:], mode="bilinear", align_corners=False)
