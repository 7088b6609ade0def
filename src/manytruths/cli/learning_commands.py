"""The commands that train and apply networks: train and predict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from .options import (
    RESULTS,
    OutputOptions,
    Quiet,
    StudyOptions,
    Template,
    flag,
    in_advanced,
    in_method,
)  # fmt: skip
from .parsing import parse_names, parse_seeds
from .terminal import console, progress, require_torch, stages


def train(
    template: Template = ".",
    /,
    *,
    study: StudyOptions | None = None,
    output: OutputOptions | None = None,
    strategies: str = "all",
    networks: str = "unet,deeplab",
    seeds: str = "3",
    epochs: int = 20,
    device: str = "auto",
    batch: Annotated[int, in_method] = 5,
    learning_rate: Annotated[float, in_method] = 2e-4,
    augment: Annotated[bool, in_method] = True,
    size: Annotated[int, in_method] = 512,
    width: Annotated[int, in_method] = 32,
    test: Annotated[float, in_method] = 0.3,
    folds: Annotated[int | None, in_method] = None,
    split: Annotated[Path | None, in_method] = None,
    split_seed: Annotated[int, in_method] = 0,
    distances: Annotated[bool, in_method] = True,
    write_probability: Annotated[bool, in_method] = True,
    draws: Annotated[int, in_method] = 16,
    precision: Annotated[Literal["auto", "float32", "bfloat16"], in_advanced] = "auto",
    at_once: Annotated[int, in_advanced] = 1,
) -> int:
    """Train networks on all annotations, in up to twelve ways.

    Each network is scored against every rater and all of them together. Epochs, batch size, learning rate,
    augmentation and size default to those of Zeng et al. A stopped run continues where it stopped. Needs PyTorch:
    pip install "manytruths[torch]".

    Parameters
    ----------
    strategies
        all (the nine of Zeng et al.), or some of single, inner, outer, majority, average, confusion, individuals,
        staple, extended_dice; beside these majority_dice, a control, soft_staple, and latent, whose networks draw
        masks: all,majority_dice,latent.
    networks
        unet, deeplab, or both.
    seeds
        Number of seeds, or the seeds: 3, or 0,1,7.
    epochs
        Number of epochs. The learning rate falls to a tenth after half of them.
    device
        auto (a GPU if there is one), cpu or cuda.
    batch
        Images in a batch.
    learning_rate
        Learning rate of Adam in the first half.
    augment
        Scale by 0.8 to 1.2, rotate by up to 30°, change brightness, contrast and saturation by up to 0.1.
    size
        Longest side of an image in pixels; larger images are reduced. Predictions have the images' own size.
    width
        Channels of a network's first level.
    test
        Share of the subjects to test on.
    folds
        Number of folds, to test on every subject once; instead of --test.
    split
        CSV file with the columns case and part (train or test); instead of --test.
    split_seed
        Seed of the split.
    distances
        Measure Hausdorff distances.
    write_probability
        Write probability maps, too (float32 TIFF): of the foreground, or one file for each label.
    draws
        Number of samples of an image, of a network trained by latent; individuals has one for each rater.
    precision
        Precision of the forward passes; auto is bfloat16 on a GPU and float32 elsewhere.
    at_once
        Number of networks to train at the same time, each in a process; small networks leave a large GPU idle.
    """
    from ..analyses.printing import print_files
    from ..analyses.tables import Settings

    require_torch("train")
    from ..io.results import lock_folder, replacing
    from ..learning.fitting import Augmentation, Schedule
    from ..learning.results import compare, print_training, write
    from ..learning.training import TrainPlan
    from ..learning.training import train as run

    output = output or OutputOptions()
    change = Augmentation() if augment else Augmentation(0, 0, 0, 0, 0)
    schedule = Schedule(epochs, batch, learning_rate, change, precision, width)
    plan = TrainPlan(
        tuple(parse_names(strategies) or ()), tuple(parse_names(networks) or ()), parse_seeds(seeds), schedule, size,
        test, folds, split, split_seed, distances, write_probability, draws, device, at_once,
    )  # fmt: skip
    settings = Settings(jobs=output.jobs)
    opened, home = (study or StudyOptions()).open(template), output.out / "train"
    with lock_folder(home):
        with stages(output.quiet, "reading cases", "training", "judging") as (read, fit, judge):
            trained = run(opened, plan, home, settings=settings, reading=read, training=fit, judging=judge)
        compared = compare(trained)
        with replacing(home, inside=True, run={"jobs": output.jobs}) as (stage,):
            paths = write(compared, stage)
    shown = console(output.quiet)
    print_training(compared, shown)
    print_files(paths, stage, home, shown)
    return 0


def predict(
    network: Path,
    images: str,
    /,
    *,
    out: Path = RESULTS,
    write_probability: Annotated[bool, flag] = False,
    draws: int = 0,
    suffix: str = ".png",
    device: str = "auto",
    quiet: Quiet = False,
) -> int:
    """Apply a trained network to images.

    Parameters
    ----------
    network
        A network.pt that train wrote, as train/runs/unet/extended_dice/seed-0/fold-0/network.pt.
    images
        Template of the images: images/{case}.png.
    out
        Folder for the results; masks are written to OUT/predict/{case}.png.
    write_probability
        Write probability maps, too (float32 TIFF): of the foreground, or one file for each label.
    draws
        Number of samples of an image, of a network trained by latent; individuals has one for each rater.
    suffix
        Suffix of the masks: .png, .tif, .npy, .nii.gz, .nrrd or .mha.
    device
        auto (a GPU if there is one), cpu or cuda.
    """
    require_torch("predict")
    from ..io.results import replacing
    from ..learning.trained_network import predict as run

    with replacing(out / "predict") as (stage,), progress(quiet, "predicting") as bar:
        paths = run(
            network, images, stage, write_probability=write_probability, draws=draws, suffix=suffix,
            device=device, progress=bar,
        )  # fmt: skip
    console(quiet).print(
        f"{len(paths)} files written to {out / 'predict'}", markup=False, highlight=False, soft_wrap=True
    )
    return 0
