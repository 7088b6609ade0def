"""A trained network with everything needed to apply it, and the command ``predict``, which applies one to images."""

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

from ..core.errors import CallError, FormatError, InputError, ManytruthsError
from ..io import Location, Template, atomic, read_image, safe_name, write_map
from ..study import Progress
from .frames import Scaling, reduce_image
from .networks import NETWORKS, build_network

FORMAT = 1
"""Version of the file format; increased when older programs cannot read new files."""


@dataclass(frozen=True)
class Recipe:
    """How images are prepared for a network, and what its outputs mean."""

    network: str
    channels: int
    width: int
    outputs: int
    """Number of output channels; the first ones are those to predict with."""
    values: tuple[int, ...]
    """Label values in the masks."""
    names: tuple[str, ...]
    size: int | None
    scaling: Scaling
    mean: tuple[float, ...]
    """Of each channel over the training images, from 0 to 1."""
    std: tuple[float, ...]
    strategy: str = ""
    seed: int = 0
    raters: tuple[str, ...] = ()
    training: dict[str, Any] = field(default_factory=dict)
    """Epochs, batch, learning rate and the like, for the record."""

    @property
    def logits(self) -> int:
        """Number of channels to predict with: one for two labels."""
        return 1 if len(self.values) == 2 else len(self.values)

    def build(self) -> nn.Module:
        """The untrained network."""
        return build_network(self.network, self.channels, self.outputs, self.width)

    def normalise(self, images: Tensor) -> Tensor:
        """Shift and scale images (N, C, H, W), from 0 to 1 or bytes, to mean 0 and standard deviation 1."""
        images = images.float() / 255 if images.dtype == torch.uint8 else images.float()
        mean, std = (images.new_tensor(values)[:, None, None] for values in (self.mean, self.std))
        return (images - mean) / std


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network and its recipe, as ``manytruths train`` saves it.

    Attributes
    ----------
    recipe : Recipe
        How images are prepared, and what the outputs mean.
    net : torch.nn.Module
        The network, in evaluation mode.
    seconds : tuple of float
        Duration of each epoch, if it was trained in this process.
    """

    recipe: Recipe
    net: nn.Module
    seconds: tuple[float, ...] = ()

    def save(self, path: Path) -> None:
        """Save to one file, atomically; it holds numbers and names, no code."""
        state = {name: value.detach().cpu() for name, value in self.net.state_dict().items()}
        content = {
            "manytruths": manytruths.__version__,
            "format": FORMAT,
            "recipe": asdict(self.recipe),
            "state": state,
        }
        save(path, content)

    @classmethod
    def load(cls, path: Path | str, device: torch.device | str = "cpu") -> TrainedNetwork:
        """Load a file that :meth:`save` wrote.

        Parameters
        ----------
        path : Path or str
            A ``network.pt``.
        device : torch.device or str
            Where to put the network.

        Returns
        -------
        TrainedNetwork

        Raises
        ------
        FormatError
            If the file does not exist, is damaged, or holds anything else.
        """
        content = load(Path(path), device)
        if not isinstance(content, dict) or "recipe" not in content or "state" not in content:
            raise FormatError(f"{path}: is not a network of manytruths; give a network.pt that train wrote")
        if content.get("format") != FORMAT:
            raise FormatError(
                f"{path}: has another format ({content.get('format')}); use the version of manytruths that wrote it"
            )
        try:
            recipe = _read_recipe(content["recipe"])
            net = recipe.build().to(device)
            net.load_state_dict(content["state"])
        except (TypeError, KeyError, RuntimeError, ValueError) as error:
            raise FormatError(f"{path}: the network cannot be loaded ({_one_line(error)}); train it again") from error
        return cls(recipe, net.eval())

    @torch.inference_mode()
    def probabilities(self, image: NDArray[Any]) -> NDArray[np.float32]:
        """Probability of each label at each pixel.

        Parameters
        ----------
        image : ndarray
            (H, W) or (H, W, 3), of the kind that the network was trained on.

        Returns
        -------
        ndarray
            (labels, H, W) in float32.
        """
        recipe, shape = self.recipe, image.shape[:2]
        _check_image(image, recipe)
        planes = np.atleast_3d(recipe.scaling(reduce_image(image, recipe.size))).transpose(2, 0, 1)
        device = next(self.net.parameters()).device
        inputs = torch.from_numpy(np.array(planes)).to(device)[None]  # a copy: images may be read-only
        return _probabilities(self.logits(inputs, shape))[0].cpu().numpy()

    def logits(self, images: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Logits to predict with, of images that were reduced from a shape, at that shape."""
        logits: Tensor = self.net(self.recipe.normalise(images))[:, : self.recipe.logits].float()
        if logits.shape[2:] == shape:
            return logits
        return F.interpolate(logits, shape, mode="bilinear", align_corners=False)

    def predict(self, image: NDArray[Any]) -> NDArray[np.int64]:
        """The most probable label of each pixel.

        Parameters
        ----------
        image : ndarray
            As for :meth:`probabilities`.

        Returns
        -------
        ndarray
            (H, W), in the label values of the training masks.
        """
        codes = self.probabilities(image).argmax(axis=0)
        return np.asarray(np.array(self.recipe.values, np.int64)[codes])


def _probabilities(logits: Tensor) -> Tensor:
    """(N, labels, H, W); one logit gives background and foreground."""
    if logits.shape[1] > 1:
        return logits.softmax(dim=1)
    marked = logits.sigmoid()
    return torch.cat([1 - marked, marked], dim=1)


def save(path: Path, content: dict[str, Any]) -> None:
    """Write a file of tensors atomically."""
    with atomic(path) as temporary:
        try:
            torch.save(content, temporary)
        except RuntimeError as error:
            # PyTorch raises this when the disk is full
            raise OSError(None, _one_line(error)) from error


def load(path: Path, device: torch.device | str = "cpu") -> Any:
    """Read a file of tensors; any other pickled content is rejected."""
    try:
        with warnings.catch_warnings():
            # PyTorch warns about the content of a pickle, and then rejects it
            warnings.simplefilter("ignore")
            return torch.load(path, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise FormatError(f"{path}: does not exist; give a network.pt that train wrote") from None
    except Exception as error:
        raise FormatError(f"{path}: is damaged or not a PyTorch file; give a network.pt that train wrote") from error


def _check_image(image: NDArray[Any], recipe: Recipe) -> None:
    """Reject images of another kind than those that the network was trained on."""
    channels = np.atleast_3d(image).shape[2]
    if channels != recipe.channels:
        kinds = {1: "grey", 3: "colour"}
        have, wanted = (kinds.get(n, f"{n}-channel") for n in (channels, recipe.channels))
        raise InputError(f"this is a {have} image, but the network was trained on {wanted} images; convert it")
    if recipe.scaling.bytes and image.dtype != np.uint8:
        raise InputError(
            f"the image is {image.dtype}, but the network was trained on 8-bit images; convert it to 8 bits"
        )
    if not np.isfinite(image).all():
        raise InputError("the image has values that are not finite; correct the file")


def _read_recipe(fields: dict[str, Any]) -> Recipe:
    if fields["network"] not in NETWORKS:
        raise ValueError(f"there is no network {fields['network']!r}")
    many = {name: tuple(fields[name]) for name in ("values", "names", "mean", "std", "raters")}
    return Recipe(**{**fields, **many, "scaling": Scaling(**fields["scaling"])})


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]


def predict(
    network: Path | str,
    images: str,
    folder: Path | str,
    *,
    write_probability: bool = False,
    suffix: str = ".png",
    device: str = "auto",
    progress: Progress | None = None,
) -> list[Path]:
    """Apply a trained network to images, and write a mask for each.

    Parameters
    ----------
    network : Path or str
        A ``network.pt`` that ``manytruths train`` wrote.
    images : str
        Template of the images, as ``images/{case}.png``.
    folder : Path or str
        Where to write ``{case}{suffix}``.
    write_probability : bool
        Also write probabilities as float32 TIFF, of the foreground or one file for each label, to ``probability/``.
    suffix : str
        File extension of the masks: ``.png``, ``.tif``, ``.npy``, ``.nii.gz``, ``.nrrd`` or ``.mha``.
    device : str
        ``auto`` (a GPU if there is one), ``cpu``, ``cuda``, or ``cuda:1`` and so on.
    progress : callable, optional
        Called with the number of finished images and of all images.

    Returns
    -------
    list of Path
        The files written.
    """
    trained = TrainedNetwork.load(network, find_device(device))
    files = Template(images, require=("case",)).find()
    cases = [file.fields["case"] for file in files]
    twice = next((case for case in cases if cases.count(case) > 1), None)
    if twice is not None:
        raise InputError(
            f"template {images!r} matches several images of case {twice}; give each image its own case name"
        )
    paths: list[Path] = []
    for count, (case, file) in enumerate(zip(cases, files, strict=True), start=1):
        try:
            paths += _predict_case(trained, file.location, case, Path(folder), write_probability, suffix)
        except ManytruthsError as error:
            raise type(error)(f"case {case}: {error}") from None
        if progress:
            progress(count, len(files))
    return paths


def _predict_case(
    trained: TrainedNetwork, location: Location, case: str, folder: Path, write_probability: bool, suffix: str
) -> list[Path]:
    picture = read_image(location)
    if len(picture.grid.shape) != 2:
        raise InputError(f"{location} is a volume, but the network takes 2D images; save its slices as separate images")
    probabilities = trained.probabilities(picture.array)
    values, recipe = np.array(trained.recipe.values, np.int64), trained.recipe
    path = folder / f"{safe_name(case)}{suffix}"
    write_map(path, values[probabilities.argmax(axis=0)], picture.grid)
    if not write_probability:
        return [path]
    labels = [f"-{safe_name(name)}" for name in recipe.names]
    maps = {"": probabilities[1]} if len(values) == 2 else dict(zip(labels, probabilities, strict=True))
    paths = [path]
    for label, probability in maps.items():
        paths.append(folder / "probability" / f"{safe_name(case)}{label}.tif")
        write_map(paths[-1], probability)
    return paths


def find_device(name: str) -> torch.device:
    """The device of this name; ``auto`` is a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise CallError("PyTorch finds no GPU; use --device cpu, or install PyTorch with CUDA")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    if device.type not in ("cpu", "cuda") or (
        device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count()
    ):
        raise CallError(f"device must be auto, cpu, cuda, or one of several GPUs as cuda:1; got {name!r}")
    return device
