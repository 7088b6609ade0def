"""Parts of the data, and simple predictions made of the raters' masks: always the same."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

CHASE = ("01L", "01R", "11R")
NODULES = 24


def png(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path)


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def smoothed(masks: list[np.ndarray], sigma: float = 1.5) -> np.ndarray:
    """Grey, 0 to 255: the smoothed share of those who marked."""
    votes = np.mean([m != 0 for m in masks], axis=0)
    return np.round(ndimage.gaussian_filter(votes, sigma) * 255).astype(np.uint8)


def shifted(mask: np.ndarray, by: int = 2) -> np.ndarray:
    return np.roll(mask, by, axis=0)


def eroded(mask: np.ndarray) -> np.ndarray:
    return np.where(ndimage.binary_erosion(mask != 0), mask, 0).astype(mask.dtype)


def demo_inputs(command: str, home: Path) -> None:
    """After the demo: grey predictions and an expert's grades."""
    if command != "demo":
        return
    study = home / "out/demo/study"
    for path in sorted((study / "masks/A/1").iterdir()):
        readings = [pixels(p) for p in sorted(study.glob(f"masks/*/1/{path.name}"))]
        png(home / "grey/votes" / path.name, smoothed(readings))
        png(home / "grey/first" / path.name, smoothed(readings[:1], 3))
    lines = [("case", "algorithm", "grade", "grader")]
    for i, path in enumerate(sorted((study / "predictions").glob("*/*.png"))):
        lines += [(path.stem, path.parent.name, 1 + (i * 7 + i // 3) % 4, "g1")]
        lines += [(path.stem, path.parent.name, 1 + (i * 5 + i // 4) % 4, "g2")]
    _table(home / "grades.csv", lines)


def fissure(data: Path, home: Path) -> None:
    """The authors' own truths as references, and detections at two thresholds as masks."""
    for path in (data / "fissure/published").glob("gt_*.png"):
        (home / "given" / path.stem).mkdir(parents=True)
        shutil.copy(path, home / "given" / path.stem / "fissure.png")
    for path in sorted((data / "fissure/predictions").glob("*/fissure.png")):
        png(home / "cut" / path.parent.name / "fissure.png", np.where(pixels(path) >= 100, 255, 0).astype(np.uint8))


def chase(data: Path, home: Path) -> None:
    folder = data / "chasedb1"
    patients = [("case", "subject", "eye")]
    patients += [(p.stem, p.stem[:2], p.stem[2]) for p in sorted((folder / "raters/1stHO").iterdir())]
    _table(home / "patients.csv", patients)
    for case in CHASE:
        masks = []
        for rater in sorted((folder / "raters").iterdir()):
            masks.append(pixels(rater / f"{case}.png"))
            (home / "some" / rater.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(rater / f"{case}.png", home / "some" / rater.name)
        first = np.where(masks[0] != 0, masks[0].max(), 0).astype(masks[0].dtype)
        png(home / "predictions/shifted" / f"{case}.png", shifted(first, 1))
        png(home / "predictions/eroded" / f"{case}.png", eroded(first))
        png(home / "grey/smoothed" / f"{case}.png", smoothed(masks))
        png(home / "grey/second" / f"{case}.png", smoothed(masks[1:], 3))


def lidc(data: Path, home: Path) -> None:
    """The first nodules, as an archive, with their patients."""
    with np.load(data / "lidc/lidc_4reader_masks.npz") as source:
        some = {name: source[name] for name in list(source)[:NODULES]}
    np.savez(home / "lidc.npz", **some)
    with (data / "lidc/lidc_nodule_ratings.csv").open(newline="") as file:
        patients = {f"n{int(row['nodule']):05}": row["patient"] for row in csv.DictReader(file)}
    large = {name: "large" if masks[0].size > 4000 else "small" for name, masks in some.items()}
    _table(home / "cases.csv", [("case", "subject", "extent"), *((n, patients[n], large[n]) for n in some)])
    for name, masks in some.items():
        for algorithm, made in (("shifted", shifted(masks[0], 1)), ("eroded", eroded(masks[1]))):
            (home / "predictions" / algorithm).mkdir(parents=True, exist_ok=True)
            np.save(home / "predictions" / algorithm / f"{name}.npy", made.astype(np.uint8))
        (home / "grey/votes").mkdir(parents=True, exist_ok=True)
        np.save(home / "grey/votes" / f"{name}.npy", smoothed(list(masks), 1) / 255)


def volume(data: Path, home: Path) -> None:
    import nibabel

    for i in (1, 2, 3):
        (home / f"masks/r{i}").mkdir(parents=True)
        shutil.copy(data / f"volume/seg_{i}.nii.gz", home / f"masks/r{i}/scan.nii.gz")
    first = nibabel.load(data / "volume/seg_1.nii.gz")
    array = np.asanyarray(first.dataobj)
    for algorithm, made in (("shifted", shifted(array, 1)), ("eroded", eroded(array))):
        (home / "predictions" / algorithm).mkdir(parents=True)
        nibabel.save(
            nibabel.Nifti1Image(made, first.affine, first.header), home / f"predictions/{algorithm}/scan.nii.gz"
        )


def ratings(data: Path, home: Path) -> None:
    """Worked examples with a column of cases; nodules' malignancy as ratings of slots."""
    for path in sorted((data / "worked").glob("*.csv")):
        with path.open(newline="") as file:
            head, *rows = list(csv.reader(file))
        numbered = (("case", *head), *((f"u{i:02}", *row) for i, row in enumerate(rows)))
        _table(home / f"{path.stem.split('_')[0]}_{path.stem.split('_')[1]}.csv", list(numbered))
    with (data / "lidc/lidc_nodule_ratings.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["n_readers"] == "4"][:400]
    lines = [(r["nodule"], f"slot {r['reader_slot']}", r["malignancy"], r["patient"]) for r in rows]
    _table(home / "malignancy.csv", [("case", "rater", "label", "subject"), *lines])


def _table(path: Path, rows: list[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
