"""Consensus against SimpleITK and against the same algorithm pixel by pixel."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import manytruths as mt

from .measuring import Result, at_least, at_most, best, cost, cpu, peak, side_by_side
from .phantoms import Masks, noise, smooth

DATA = Path(os.environ.get("MANYTRUTHS_DATA", Path(__file__).parents[2] / "shared" / "data"))
ITK = "SimpleITK, from its own images"


def ragged(raters: int, shape: tuple[int, ...], seed: int = 0) -> Masks:
    """A ball, marked by raters who err in patches of their own: EM takes some iterations over it."""
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    grid = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij", sparse=True)
    radius = np.sqrt(sum(g**2 for g in grid))
    coarse = [max(4, n // 16) for n in shape]
    masks = []
    for _ in range(raters):
        noise = ndimage.zoom(rng.standard_normal(coarse), np.array(shape) / coarse, order=1)
        masks.append((radius + 0.08 * noise + 0.03 * rng.standard_normal() < 0.5).astype(np.uint8))
    return masks


def against_itk(job: str, masks: Masks, wanted: float, copies: float | None = None) -> Iterator[Result]:
    """Masks to probability map: the same map, rates and iterations as ITK's, and how much faster."""
    import SimpleITK as sitk

    def ours() -> tuple[mt.Staple, NDArray[Any]]:
        found = mt.staple(mt.tally(masks), like="itk", max_iter=100_000)
        return found, mt.paint(found.probability, masks)

    images = [sitk.GetImageFromArray(m) for m in masks]
    peer = sitk.STAPLEImageFilter()
    peer.SetForegroundValue(1)
    theirs = sitk.GetArrayFromImage(peer.Execute(images))
    found, painted = ours()
    assert np.abs(painted - theirs).max() <= 1e-7, "the maps differ"
    assert np.abs(found.sensitivity - peer.GetSensitivity()).max() <= 1e-9, "the sensitivities differ"
    assert np.abs(found.specificity - peer.GetSpecificity()).max() <= 1e-9, "the specificities differ"
    assert found.iterations == peer.GetElapsedIterations(), "the iterations differ"
    quick, slow = cpu(ours), cpu(lambda: peer.Execute(images), 1)
    times = f"{quick * 1e3:.1f} ms, ITK {slow:.2f} s of CPU time, {found.iterations} iterations"
    yield at_least(job, ITK, slow / quick, wanted, times)
    if copies:
        stack = np.stack(masks)
        target = np.empty_like(stack)
        quick, copy = side_by_side(ours, lambda: np.copyto(target, stack), 7)
        yield at_most("  the same", "a warm copy of the masks", quick / copy, copies, f"copy {copy * 1e3:.2f} ms")


def staples() -> Iterator[Result]:
    yield from against_itk("binary STAPLE, masks to map, 5 × 2048²", ragged(5, (2048, 2048)), 100, 18)
    yield from against_itk("binary STAPLE, 5 × 256×256×128", ragged(5, (128, 256, 256)), 40)
    yield from against_itk("binary STAPLE, 20 raters, 2048², smooth outlines", smooth(20, 2048), 100)
    yield from twenty_ragged()
    yield from several_labels()


def twenty_ragged() -> Iterator[Result]:
    yield from against_itk("binary STAPLE, 20 raters, 2048², ragged outlines", ragged(20, (2048, 2048)), 60)


def crowd() -> Iterator[Result]:
    """200 raters, masks to map, against crowd-kit, which takes every pixel for itself.

    Its model is another (one error rate a rater), and its products underflow here, so that only times are compared.
    """
    try:
        peer = load_crowdkit()
    except ImportError:
        print("STAPLE of 200 raters: skipped; pip install --no-deps crowd-kit")
        return
    import pandas as pd

    masks = ragged(200, (512, 512))

    def ours() -> tuple[mt.Staple, NDArray[Any]]:
        found = mt.staple(mt.tally(masks))
        return found, mt.paint(found.probability, masks)

    found, painted = ours()
    assert np.abs(painted - e_step_by_pixel(masks, found)).max() <= 1e-9, "the map is not that of the rates"
    marked = [float(painted[m > 0].sum() / painted.sum()) for m in masks]
    assert np.abs(np.array(marked) - found.sensitivity).max() <= 1e-6, "the rates are not those of the map"
    frame = pd.DataFrame({"task": 0, "worker": range(200), "segmentation": [m.astype(bool) for m in masks]})
    quick, slow = cpu(ours, 3), cpu(lambda: peer.fit_predict(frame), 1)
    job, times = "STAPLE, 200 raters, 512², ragged, masks to map", f"{quick:.2f} s, crowd-kit {slow:.1f} s of CPU time"
    yield at_least(job, "crowd-kit's SegmentationEM", slow / quick, 100, times)
    yield at_most("  its time", "", quick, 1, f"{found.iterations} iterations", unit="s")
    yield at_most("  its memory", "", peak(ours), 500, unit="MB")


def load_crowdkit() -> Any:
    """Its estimator alone: the whole package imports PyTorch."""
    import importlib
    import types

    import crowdkit  # type: ignore[import-not-found]

    part = types.ModuleType("crowdkit.aggregation")
    part.__path__ = [str(Path(crowdkit.__file__).parent / "aggregation")]
    sys.modules.setdefault(part.__name__, part)
    return importlib.import_module("crowdkit.aggregation.image_segmentation.segmentation_em").SegmentationEM()


def e_step_by_pixel(masks: Masks, found: mt.Staple) -> NDArray[np.float64]:
    """W of every pixel from the rates."""
    odds = np.full(masks[0].shape, np.log(found.prior) - np.log1p(-np.float64(found.prior)))
    for mask, p, q in zip(masks, found.sensitivity, found.specificity, strict=True):
        odds += np.where(mask > 0, np.log(p) - np.log1p(-q), np.log1p(-p) - np.log(q))
    return np.asarray(1 / (1 + np.exp(-odds)))


def fuses() -> Iterator[Result]:
    """The whole command on masks of noise, of many labels, and of many raters."""
    yield from fuse_command("fuse, 20 raters of pure noise, 512²", [noise(20, 512)], 10)
    yield from fuse_command("fuse, 40 raters of pure noise, 512²", [noise(40, 512)], 10)
    yield from fuse_command("fuse, 50 labels, 6 × 512²", [many_labels(6, 512, 50)], 10)
    yield from fuse_command("fuse, 200 raters, 2 × 512²", [ragged(200, (512, 512), seed) for seed in range(2)], 20, 500)


def fuse_command(job: str, cases: list[Masks], limit: float, memory: float | None = None) -> Iterator[Result]:
    """The masks that it writes are those of the functions."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number, masks in enumerate(cases):
            for rater, mask in enumerate(masks):
                path = root / f"masks/r{rater:03d}/c{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(mask).save(path)
        line = [sys.executable, "-m", "manytruths", "fuse", str(root / "masks/{rater}/{case}.png"), "--jobs", "1"]
        taken = cost([*line, "--quiet", "--out", str(root / "out")])
        written = np.asarray(Image.open(root / "out/fuse/consensus/staple/c0.png"))
        wanted = mt.paint(mt.staple(mt.tally(cases[0])).values, cases[0])
        assert (written == wanted).all(), "fuse wrote another consensus"
        yield at_most(job, "", taken.seconds, limit, f"{taken.memory:.0f} MB", unit="s")
        if memory:
            yield at_most("  its memory", "", taken.memory, memory, unit="MB")


def many_labels(raters: int, size: int, labels: int, seed: int = 0) -> Masks:
    """Cells of a Voronoi diagram, their borders moved by every rater; one pixel in twenty has any label."""
    from scipy import ndimage, spatial

    rng = np.random.default_rng(seed)
    tree = spatial.cKDTree(rng.random((labels, 2)) * size)
    grid = np.moveaxis(np.indices((size, size), np.float64), 0, -1)
    masks = []
    for _ in range(raters):
        moved = [ndimage.zoom(4 * rng.standard_normal((32, 32)), size / 32, order=1) for _ in range(2)]
        places = (grid + np.moveaxis(np.array(moved), 0, -1)).reshape(-1, 2)
        mask = np.asarray(tree.query(places)[1]).reshape(size, size)
        masks.append(
            np.where(rng.random(mask.shape) < 0.05, rng.integers(0, labels, mask.shape), mask).astype(np.uint8)
        )
    return masks


def several_labels() -> Iterator[Result]:
    import SimpleITK as sitk

    parts = [ragged(5, (2048, 2048), seed) for seed in range(3)]
    masks = [np.add.reduce([part[r] for part in parts]).astype(np.uint8) for r in range(5)]

    def ours() -> NDArray[Any]:
        return mt.paint(mt.staple(mt.tally(masks), like="itk").values, masks)

    images = [sitk.GetImageFromArray(m) for m in masks]
    peer = sitk.MultiLabelSTAPLEImageFilter()
    peer.SetLabelForUndecidedPixels(255)
    theirs = sitk.GetArrayFromImage(peer.Execute(images))
    assert (ours() == theirs)[theirs != 255].all(), "the labels differ"
    quick, slow = best(ours), best(lambda: peer.Execute(images), 1)
    yield at_least("4-label STAPLE, 5 × 2048²", ITK, slow / quick, 30, f"{quick * 1e3:.1f} ms, ITK {slow:.2f} s")


def simple_by_pixel(masks: Masks, alpha: float = 1.5) -> NDArray[np.bool_]:
    """SIMPLE on the masks themselves."""
    stack = np.stack(masks).astype(bool)
    kept, weights = np.ones(len(stack), bool), np.ones(len(stack))
    for _ in range(100):
        truth = np.tensordot(weights * kept, stack, 1) >= 0.5 * (weights * kept).sum()
        scores = np.array([2 * (s & truth).sum() / (s.sum() + truth.sum()) for s in stack])
        still = kept & (scores >= scores[kept].mean() - alpha * scores[kept].std())
        if (still == kept).all() and np.allclose(scores, weights, rtol=0, atol=1e-12):
            return truth
        kept, weights = still, scores
    return truth


def simples() -> Iterator[Result]:
    """Where nobody is dropped; and where the last one marks a place of his own, and is."""
    moved = np.roll(smooth(1, 2048, seed=9)[0], (500, 300), (0, 1))
    yield from simple_against_pixels("SIMPLE, 5 × 2048², nobody dropped", smooth(5, 2048))
    yield from simple_against_pixels("SIMPLE, 5 × 2048², one dropped", [*smooth(4, 2048), moved])


def simple_against_pixels(job: str, masks: Masks) -> Iterator[Result]:
    def ours() -> NDArray[Any]:
        return mt.paint(mt.simple(mt.tally(masks)).hard, masks)

    assert (ours() == simple_by_pixel(masks)).all(), "the estimates differ"
    quick, slow = side_by_side(ours, lambda: simple_by_pixel(masks), 7)
    times = f"{quick * 1e3:.1f} ms, by pixel {slow:.2f} s"
    yield at_least(job, "the same algorithm by pixel in NumPy", slow / quick, 20, times)


def level_sets() -> Iterator[Result]:
    """LSML on the fissure image, to its early stop."""
    from PIL import Image

    folder = DATA / "fissure"
    if not folder.is_dir():
        print("LSML on fissure: skipped, the data are not there")
        return
    masks = {p.parent.name: np.asarray(Image.open(p)) for p in sorted(folder.glob("raters/*/fissure.png"))}
    found = mt.lsml(masks)
    truth = np.asarray(Image.open(folder / "published/gt_lsml.png")) > 0
    assert mt.dice(mt.tally({"ours": found.hard, "theirs": truth})) >= 0.87, "LSML is far from the authors'"
    seconds = best(lambda: mt.lsml(masks), 1)
    yield at_most("LSML on fissure, 13 × 907×1426", "", seconds, 20, found.convergence, unit="s")
    yield at_most("  its memory", "", peak(lambda: mt.lsml(masks)), 500, unit="MB")


def nodules() -> Iterator[Result]:
    """STAPLE of each of the 897 nodules, masks to maps."""
    import SimpleITK as sitk

    path = DATA / "lidc" / "lidc_4reader_masks.npz"
    if not path.is_file():
        print("STAPLE on LIDC: skipped, the data are not there")
        return
    with np.load(path) as archive:
        cases = {name: [np.ascontiguousarray(m).astype(np.uint8) for m in archive[name]] for name in archive.files}
    images = {name: [sitk.GetImageFromArray(m) for m in masks] for name, masks in cases.items()}

    def ours() -> dict[str, NDArray[Any]]:
        found = mt.staple_each(mt.tally_each(cases), like="itk")
        return mt.paint_each({name: result.probability for name, result in found.items()}, cases)

    def theirs() -> dict[str, NDArray[Any]]:
        peer = sitk.STAPLEImageFilter()
        peer.SetForegroundValue(1)
        return {name: sitk.GetArrayFromImage(peer.Execute(stack)) for name, stack in images.items()}

    mine, wanted = ours(), theirs()
    assert max(np.abs(mine[name] - wanted[name]).max() for name in cases) <= 1e-7, "the maps differ"
    quick, slow = cpu(ours), cpu(theirs, 1)
    times = f"{quick:.3f} s, ITK {slow:.2f} s of CPU time"
    yield at_least("STAPLE on each of 897 LIDC nodules", "SimpleITK nodule by nodule", slow / quick, 15, times)


JOBS: dict[str, Callable[[], Iterator[Result]]] = {
    "staples": staples,
    "twenty_ragged": twenty_ragged,
    "staple_crowd": crowd,
    "fuses": fuses,
    "simples": simples,
    "level_sets": level_sets,
    "nodules": nodules,
}
