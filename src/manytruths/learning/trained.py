"""A trained network with all that it needs to be applied: grey levels, size, labels, and how it was trained."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

import manytruths

from ..core.errors import FormatError, InputError
from ..core.labels import Labels
from ..io import atomic
from .networks import NETWORKS, network
from .scaling import Scaling, reduced, smaller

FORMAT = 1
"""Of the files; it grows when older programs could not read them."""


@dataclass(frozen=True)
class Recipe:
    """How images become what a network is fed with, and what its outputs mean."""

    network: str
    channels: int
    width: int
    outputs: int
    """Channels that the network gives; the first of them are those to predict with."""
    values: tuple[int, ...]
    """Of the labels, in the masks."""
    names: tuple[str, ...]
    size: int | None
    scaling: Scaling
    mean: tuple[float, ...]
    """Of each channel, from 0 to 1, over the images trained on."""
    std: tuple[float, ...]
    strategy: str = ""
    seed: int = 0
    raters: tuple[str, ...] = ()
    training: dict[str, Any] = field(default_factory=dict)
    """Epochs, batch, learning rate and the like, for whoever asks later."""

    @property
    def labels(self) -> Labels:
        return Labels(self.values, self.names)

    @property
    def logits(self) -> int:
        """Channels to predict with: one where there are two labels."""
        return 1 if len(self.values) == 2 else len(self.values)

    def build(self) -> nn.Module:
        """The network, untrained."""
        return network(self.network, self.channels, self.outputs, self.width)

    def normalised(self, images: Tensor) -> Tensor:
        """Images (N, C, H, W), from 0 to 1 or as bytes, with mean 0 and standard deviation 1."""
        images = images.float() / 255 if images.dtype == torch.uint8 else images.float()
        mean, std = (images.new_tensor(values)[:, None, None] for values in (self.mean, self.std))
        return (images - mean) / std


@dataclass(frozen=True, eq=False)
class Trained:
    """A network and its recipe."""

    recipe: Recipe
    net: nn.Module
    seconds: tuple[float, ...] = ()
    """That each epoch took, where it was trained just now."""

    def save(self, path: Path) -> None:
        """One file, whole or not at all; it holds numbers and names, nothing that runs."""
        state = {name: value.detach().cpu() for name, value in self.net.state_dict().items()}
        whole = {"manytruths": manytruths.__version__, "format": FORMAT, "recipe": asdict(self.recipe), "state": state}
        save(path, whole)

    @classmethod
    def load(cls, path: Path | str, device: torch.device | str = "cpu") -> Trained:
        """From a file that :meth:`save` wrote."""
        whole = load(Path(path), device)
        if not isinstance(whole, dict) or "recipe" not in whole or "state" not in whole:
            raise FormatError(f"{path}: holds no network of manytruths; give the network.pt that train wrote")
        if whole.get("format") != FORMAT:
            raise FormatError(
                f"{path}: is of another format ({whole.get('format')}); read it with the version that wrote it"
            )
        try:
            recipe = _recipe(whole["recipe"])
            net = recipe.build().to(device)
            net.load_state_dict(whole["state"])
        except (TypeError, KeyError, RuntimeError, ValueError) as error:
            raise FormatError(f"{path}: is no network that can be used ({_line(error)}); train it again") from error
        return cls(recipe, net.eval())

    @torch.inference_mode()
    def probabilities(self, image: NDArray[Any]) -> NDArray[np.float32]:
        """(labels, H, W) of an image (H, W) or (H, W, 3), at the image's own size."""
        recipe, shape = self.recipe, image.shape[:2]
        _refuse(image, recipe)
        planes = np.atleast_3d(recipe.scaling(reduced(image, recipe.size))).transpose(2, 0, 1)
        device = next(self.net.parameters()).device
        fed = torch.from_numpy(np.array(planes)).to(device)[None]  # a copy: images may be read-only
        outputs = self.net(recipe.normalised(fed))[:, : recipe.logits].float()
        if smaller(shape, recipe.size) != shape:
            outputs = F.interpolate(outputs, shape, mode="bilinear", align_corners=False)
        return chances(outputs)[0].cpu().numpy()

    def predict(self, image: NDArray[Any]) -> NDArray[np.int64]:
        """The most likely label of every pixel, in the values of the masks."""
        codes = self.probabilities(image).argmax(axis=0)
        return np.asarray(np.array(self.recipe.values, np.int64)[codes])


def chances(logits: Tensor) -> Tensor:
    """(N, labels, H, W) probabilities; of one logit, of not and of so."""
    if logits.shape[1] > 1:
        return logits.softmax(dim=1)
    marked = logits.sigmoid()
    return torch.cat([1 - marked, marked], dim=1)


def save(path: Path, whole: dict[str, Any]) -> None:
    """A file of tensors, whole or not at all."""
    with atomic(path) as temporary:
        try:
            torch.save(whole, temporary)
        except RuntimeError as error:
            # how PyTorch says that a disk is full
            raise OSError(None, _line(error)) from error


def load(path: Path, device: torch.device | str = "cpu") -> Any:
    """A file of tensors; anything else that a pickle could hold is refused."""
    try:
        with warnings.catch_warnings():
            # PyTorch warns of what a pickle holds, and then refuses it
            warnings.simplefilter("ignore")
            return torch.load(path, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise FormatError(f"{path}: is not there; give the network.pt that train wrote") from None
    except Exception as error:
        raise FormatError(
            f"{path}: is no file of tensors, or cut short; give the network.pt that train wrote"
        ) from error


def _refuse(image: NDArray[Any], recipe: Recipe) -> None:
    """Refuse what the network never saw the like of."""
    channels = np.atleast_3d(image).shape[2]
    if channels != recipe.channels:
        kinds = {1: "grey", 3: "in colour"}
        have, wanted = (kinds.get(n, f"of {n} channels") for n in (channels, recipe.channels))
        raise InputError(f"the image is {have}, and the network was trained on images {wanted}; convert it")
    if recipe.scaling.bytes and image.dtype != np.uint8:
        raise InputError(f"the image is of {image.dtype}, and the network was trained on bytes; convert it to 8 bits")
    if not np.isfinite(image).all():
        raise InputError("the image holds values that are not finite; write it again")


def _recipe(told: dict[str, Any]) -> Recipe:
    if told["network"] not in NETWORKS:
        raise ValueError(f"no network {told['network']!r}")
    many = {name: tuple(told[name]) for name in ("values", "names", "mean", "std", "raters")}
    return Recipe(**{**told, **many, "scaling": Scaling(**told["scaling"])})


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
