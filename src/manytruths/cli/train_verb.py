"""``manytruths train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from .options import Common, Input, Template
from .terminal import console, progress, stages


def train(
    template: Template = ".",
    /,
    *,
    input: Input | None = None,
    common: Common | None = None,
    strategies: str = "all",
    networks: str = "unet,deeplab",
    seeds: str = "3",
    epochs: int = 20,
    batch: int = 5,
    learning_rate: float = 2e-4,
    augment: bool = True,
    size: int = 512,
    width: int = 32,
    test: float = 0.3,
    folds: int | None = None,
    split: Path | None = None,
    split_seed: int = 0,
    distances: bool = True,
    device: str = "auto",
    precision: Literal["auto", "float32", "bfloat16"] = "auto",
    at_once: int = 1,
    seed: int = 0,
    resamples: int = 2000,
) -> int:
    """Train networks on several annotations in up to nine ways, and judge each by every rater and by all of them.

    Epochs, batch, learning rate, augmentation and size are those of Zeng et al. as they come. A call that was stopped
    goes on where it was when it is repeated. Needs PyTorch: pip install "manytruths[torch]".

    Parameters
    ----------
    strategies
        all nine, or some of single, inner, outer, majority, average, confusion, individuals, staple, extended_dice;
        majority_dice is a control beside them: all,majority_dice.
    networks
        unet, deeplab, or both.
    seeds
        How many seeds, or which: 3, or 0,1,7.
    epochs
        Times that every image is seen; the learning rate falls to a tenth after half of them.
    batch
        Images a step.
    learning_rate
        Of Adam, in the first half.
    augment
        Scale by 0.8 to 1.2, rotate by up to 30°, shift brightness, contrast and saturation by up to 0.1.
    size
        Images larger than this on their longer side are made smaller; predictions are of the images' own size.
    width
        Channels of a network's first level: more is larger and slower.
    test
        Share of the subjects kept to judge by.
    folds
        Instead, test on every subject once, in so many folds.
    split
        Instead, a CSV with the columns case and part (train or test).
    split_seed
        Another seed, other subjects to test on.
    distances
        Measure Hausdorff distances.
    device
        auto (a GPU where there is one), cpu, cuda.
    precision
        Of the forward passes; auto is bfloat16 on a GPU and float32 elsewhere.
    at_once
        Runs trained at the same time, in processes of their own; a small network leaves a large GPU idle.
    seed
        Seed of the bootstrap over subjects and seeds.
    resamples
        Resamples of the bootstrap.
    """
    from ..analyses.printing import print_files
    from ..analyses.summaries import Settings
    from .parsing import names, seeds_of
    from .terminal import torch_or_error

    torch_or_error("train")
    from ..io.results import lock_folder, replacing
    from ..learning.fitting import Augmentation, Schedule
    from ..learning.results import compare, print_training, write
    from ..learning.training import TrainPlan
    from ..learning.training import train as run

    common = common or Common()
    change = Augmentation() if augment else Augmentation(0, 0, 0, 0, 0)
    schedule = Schedule(epochs, batch, learning_rate, change, precision, width)
    plan = TrainPlan(
        tuple(names(strategies) or ()), tuple(names(networks) or ()), seeds_of(seeds), schedule, size, test, folds,
        split, split_seed, distances, device, at_once,
    )  # fmt: skip
    settings = Settings(seed=seed, resamples=resamples, jobs=common.jobs)
    study, home = (input or Input()).open(template), common.out / "train"
    with lock_folder(home):
        with stages(common.quiet, "reading cases", "training", "judging") as (read, fit, judge):
            found = run(study, plan, home, settings=settings, reading=read, training=fit, judging=judge)
        compared = compare(found)
        with replacing(home, inside=True, run={"jobs": common.jobs}) as (stage,):
            paths = write(compared, stage)
    shown = console(common.quiet)
    print_training(compared, shown)
    print_files(paths, stage, home, shown)
    return 0


def predict(
    network: Path,
    images: str,
    /,
    *,
    out: Path = Path("manytruths-out"),
    probability: Annotated[bool, Parameter(negative="")] = False,
    suffix: str = ".png",
    device: str = "auto",
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Apply a network that train saved to images: a mask each, of the image's size.

    Parameters
    ----------
    network
        A network.pt that train wrote, as train/runs/unet/extended_dice/seed-0/fold-0/network.pt.
    images
        Template of the images, as images/{case}.png.
    out
        Folder for the results; masks go to predict/{case}.
    probability
        Write probabilities (float32 TIFF), too: of the foreground, or one file a label.
    suffix
        Ending of the masks: .png, .tif, .npy, .nii.gz or .nrrd.
    device
        auto (a GPU where there is one), cpu, cuda.
    quiet
        Print nothing but errors.
    """
    from .terminal import torch_or_error

    torch_or_error("predict")
    from ..io.results import replacing
    from ..learning.trained_network import predict as run

    with replacing(out / "predict") as (stage,), progress(quiet, "predicting") as bar:
        paths = run(network, images, stage, write_probability=probability, suffix=suffix, device=device, progress=bar)
    console(quiet).print(
        f"{len(paths)} files written to {out / 'predict'}", markup=False, highlight=False, soft_wrap=True
    )
    return 0
