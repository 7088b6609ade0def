"""A trained network with everything needed to apply it, and the command ``predict``, which applies one to images."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
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
from ..io.format_versions import check_format_version
from ..study import Progress
from .frames import Scaling, reduce_image
from .networks import NETWORKS, build_network
from .sampling import INDIVIDUALS, LATENT, MEAN_OF, SAMPLES, EnergyLoss, latent_noise, sample_names

FORMAT = 1
"""Version of the file format; increased when older programs cannot read new files."""
AT_ONCE = 8
"""Draws in memory at a time."""


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

    @property
    def rank(self) -> int:
        """Number of latent variables."""
        return self.outputs // self.logits - 1 if self.strategy == LATENT else 0

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
        check_format_version(path, content.get("format"), FORMAT)
        try:
            recipe = _read_recipe(content["recipe"])
            net = recipe.build().to(device)
            net.load_state_dict(content["state"])
        except (TypeError, KeyError, RuntimeError, ValueError) as error:
            raise FormatError(f"{path}: the network cannot be loaded ({_one_line(error)}); train it again") from error
        return cls(recipe, net.eval())

    def probabilities(self, image: NDArray[Any]) -> NDArray[np.float32]:
        """Probability of each label at each pixel; of a network with latent variables the mean over draws.

        Parameters
        ----------
        image : ndarray
            (H, W) or (H, W, 3), of the kind that the network was trained on.

        Returns
        -------
        ndarray
            (labels, H, W) in float32.
        """
        return self.apply_to_image(image).probability

    def samples(self, image: NDArray[Any], count: int = SAMPLES) -> dict[str, NDArray[np.int64]]:
        """Masks, each as one rater might mark the image; the same for the same image.

        Parameters
        ----------
        image : ndarray
            As for :meth:`probabilities`.
        count : int
            Number of draws of a network with latent variables. A network of the strategy ``individuals`` has one
            sample for each rater, with their name; other networks have none.

        Returns
        -------
        dict of str to ndarray
            (H, W) each, in the label values of the training masks.
        """
        values = np.array(self.recipe.values, np.int64)
        return {name: values[codes] for name, codes in self.apply_to_image(image).samples(count).items()}

    def apply_to_image(self, image: NDArray[Any]) -> Prediction:
        """The prediction for an image as it is in its file."""
        recipe, shape = self.recipe, image.shape[:2]
        _check_image(image, recipe)
        planes = np.atleast_3d(recipe.scaling(reduce_image(image, recipe.size))).transpose(2, 0, 1)
        inputs = torch.from_numpy(np.array(planes))  # a copy: images may be read-only
        return next(self.apply(inputs[None], shape))

    @torch.inference_mode()
    def apply(self, images: Tensor, shape: tuple[int, ...]) -> Iterator[Prediction]:
        """Predictions for images (N, channels, H, W) that were reduced from a shape, at that shape."""
        device = next(self.net.parameters()).device
        outputs: Tensor = self.net(self.recipe.normalise(images.to(device))).float()
        if outputs.shape[2:] != shape:
            outputs = F.interpolate(outputs, shape, mode="bilinear", align_corners=False)
        yield from (Prediction(self.recipe, own, digest(image)) for own, image in zip(outputs, images, strict=True))

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


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a network says of one image."""

    recipe: Recipe
    outputs: Tensor
    """(outputs, H, W)."""
    key: str
    """A digest of the image, on which draws depend besides the seed."""

    @property
    def finite(self) -> bool:
        """Whether the network gave numbers."""
        return bool(self.outputs.isfinite().all())

    @cached_property
    def probability(self) -> NDArray[np.float32]:
        """(labels, H, W)."""
        if not self.recipe.rank:
            return _probabilities(self.outputs[: self.recipe.logits]).cpu().numpy()
        total = sum(_probabilities(logits) for logits in self._draw(MEAN_OF))
        return (torch.as_tensor(total) / MEAN_OF).cpu().numpy()

    @property
    def codes(self) -> NDArray[np.int64]:
        """(H, W): the most probable label of each pixel."""
        return np.asarray(self.probability.argmax(axis=0))

    def samples(self, count: int = SAMPLES) -> dict[str, NDArray[np.int64]]:
        """(H, W) each, by name: the most probable labels of each draw, or of each rater's head."""
        names = sample_names(self.recipe.strategy, self.recipe.raters, count)
        if self.recipe.rank:
            drawn: Iterable[Tensor] = self._draw(count)
        else:
            drawn = torch.split(self.outputs, self.recipe.logits)[1 : 1 + len(names)]
        return {
            name: _probabilities(logits).argmax(dim=0).cpu().numpy() for name, logits in zip(names, drawn, strict=True)
        }

    def _draw(self, count: int) -> Iterator[Tensor]:
        """Logits (C, H, W) of each draw, made a few at a time."""
        noise = latent_noise(count, self.recipe.rank, f"{self.recipe.seed} {self.key}").to(self.outputs.device)
        for part in torch.split(noise, AT_ONCE, dim=1):
            yield from EnergyLoss.draw(self.outputs[None], part)[0]


def digest(image: Tensor) -> str:
    """A hash of the pixels of an image."""
    return hashlib.sha256(np.ascontiguousarray(image.cpu().numpy()).data).hexdigest()


def _probabilities(logits: Tensor) -> Tensor:
    """(labels, H, W); one logit gives background and foreground."""
    if len(logits) > 1:
        return logits.softmax(dim=0)
    marked = logits.sigmoid()
    return torch.cat([1 - marked, marked])


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
    draws: int = 0,
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
    draws : int
        Also write so many samples to ``samples/{case}/{sample}{suffix}``, each as one rater might mark the image. A
        network of the strategy ``individuals`` has one sample for each rater, whatever the number.
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
    if draws < 0:
        raise CallError(f"draws must be 0 or more; got {draws}")
    if draws and not sample_names(trained.recipe.strategy, trained.recipe.raters):
        raise InputError(
            f"{network}: a network of the strategy {trained.recipe.strategy} makes one mask and draws no samples; "
            f"train one of the strategy {LATENT} or {INDIVIDUALS}"
        )
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
            paths += _predict_case(trained, file.location, case, Path(folder), write_probability, draws, suffix)
        except ManytruthsError as error:
            raise type(error)(f"case {case}: {error}") from None
        if progress:
            progress(count, len(files))
    return paths


def _predict_case(
    trained: TrainedNetwork,
    location: Location,
    case: str,
    folder: Path,
    write_probability: bool,
    draws: int,
    suffix: str,
) -> list[Path]:
    picture = read_image(location)
    if len(picture.grid.shape) != 2:
        raise InputError(f"{location} is a volume, but the network takes 2D images; save its slices as separate images")
    prediction, values = trained.apply_to_image(picture.array), np.array(trained.recipe.values, np.int64)
    paths = [folder / f"{safe_name(case)}{suffix}"]
    write_map(paths[0], values[prediction.codes], picture.grid)
    if write_probability:
        paths += write_probabilities(folder / "probability", case, prediction)
    if draws:
        drawn = prediction.samples(draws)
        for name, path in zip(drawn, sample_paths(folder / "samples", case, drawn, suffix), strict=True):
            write_map(path, values[drawn[name]], picture.grid)
            paths.append(path)
    return paths


def write_probabilities(folder: Path, case: str, prediction: Prediction) -> list[Path]:
    """Write the map of the foreground, or of each label."""
    paths, whole = probability_paths(folder, case, prediction.recipe.names), prediction.probability
    for path, probability in zip(paths, whole[1:] if len(paths) == 1 else whole, strict=True):
        write_map(path, probability)
    return paths


def probability_paths(folder: Path, case: str, names: Sequence[str]) -> list[Path]:
    """``{case}.tif`` of two labels, otherwise ``{case}-{label}.tif`` of each."""
    labels = [""] if len(names) == 2 else [f"-{safe_name(name)}" for name in names]
    return [folder / f"{safe_name(case)}{label}.tif" for label in labels]


def sample_paths(folder: Path, case: str, samples: Iterable[str], suffix: str) -> list[Path]:
    """``{case}/{sample}{suffix}``."""
    return [folder / safe_name(case) / f"{name}{suffix}" for name in samples]


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
