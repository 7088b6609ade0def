"""Many raters and many cases: seconds of all processes together, and their memory, with answers checked."""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter
from tests.real_studies import crowd

import manytruths as mt

from .consensus import DATA
from .measuring import Cost, Result, at_most, cost
from .phantoms import Masks, smooth
from .report import opened

RATERS, SIZE = 200, 512


def ragged(raters: int, size: int, seed: int) -> Masks:
    """A disc whose outline every rater frays in another way."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size] / size - 0.5
    radius = np.hypot(y, x).astype(np.float32)
    masks = []
    for _ in range(raters):
        noise = gaussian_filter(rng.standard_normal((size // 4, size // 4)).astype(np.float32), 1.2)
        frayed = radius + 0.008 * np.kron(noise / noise.std(), np.ones((4, 4), np.float32))
        masks.append((frayed < 0.3 + 0.01 * rng.standard_normal()).astype(np.uint8))
    return masks


def many_raters() -> Iterator[Result]:
    """200 raters, two cases: ``agree``, ``fuse``, ``reliability`` and ``report``, each in one process."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        cases = {f"c{i}": dict(_named(ragged(RATERS, SIZE, i))) for i in range(2)}
        _write(root / "masks", cases.items())
        study = f"{root}/masks/{{rater}}/{{case}}.png"
        tallies = {name: mt.tally(masks) for name, masks in cases.items()}
        whole = mt.pool(tallies)
        for command in ("agree", "fuse", "reliability", "report"):
            target = ["--to", f"{root}/report.html"] if command == "report" else ["--out", f"{root}/out"]
            taken = _run([command, study, *target, "--jobs", "1", "--quiet"])
            job = f"{command}, {RATERS} raters × {SIZE}² × 2 cases"
            yield at_most(job, "", taken.seconds, 20, unit="CPU s")
            yield at_most("  its memory", "", taken.memory, 500, unit="MB")
        found = _numbers(root / "out/agree/agreement.csv", "pooled")
        assert found["fleiss_kappa"] == mt.fleiss_kappa(whole), "another kappa"
        without = [mt.fleiss_kappa(whole.without(name)) for name in whole.rater_names[:3]]
        assert np.allclose(mt.fleiss_kappa.without_each(whole, whole.rater_names[:3]), without, rtol=0, atol=1e-12)
        assert abs(found["dice"] - mt.mean_pairwise(mt.dice, whole)) < 1e-12, "another Dice"
        largest = max(path.stat().st_size for path in root.rglob("*") if path.suffix in (".csv", ".json", ".html"))
        yield at_most("  its largest file", "", largest / 1e6, 10, unit="MB")


def crowd_study() -> Iterator[Result]:
    """47 objects in photographs, 41 to 47 of 202 workers each."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if not (DATA / "crowd").is_dir():
            print("the crowd data are not there; set MANYTRUTHS_DATA")
            return
        cases = crowd(DATA)
        _write(root / "masks", cases.items())
        _write_images(DATA / "crowd", root / "images", cases)
        common = [f"{root}/masks/{{rater}}/{{case}}.png", "--images", f"{root}/images/{{case}}.png", "--quiet"]
        total, peak = 0.0, 0.0
        for command in ("agree", "fuse", "report"):
            target = ["--to", f"{root}/report.html"] if command == "report" else ["--out", f"{root}/out"]
            taken = _run([command, *common, *target, "--jobs", "1"])
            print(f"  {command}: {taken.seconds:.1f} CPU s, {taken.memory:.0f} MB", flush=True)
            total, peak = total + taken.seconds, max(peak, taken.memory)
        found = _numbers(root / "out/agree/agreement.csv", "pooled")
        whole = mt.pool([mt.tally(masks) for masks in cases.values()], mixed=True)
        assert abs(found["fleiss_kappa"] - mt.fleiss_kappa(whole)) < 1e-12, "another kappa"
        yield at_most(
            "agree, fuse and report of 202 crowd workers", "", total, 120, unit="CPU s", times=f"{peak:.0f} MB"
        )
        largest = max(path.stat().st_size for path in root.rglob("*") if path.suffix in (".csv", ".json", ".html"))
        yield at_most("  its largest file", "", largest / 1e6, 10, unit="MB")


def thousand_cases() -> Iterator[Result]:
    """A report of 1,000 small cases, and how soon a browser shows it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write(root / "masks", ((f"c{i:04d}", dict(_named(smooth(4, 64, seed=i)))) for i in range(1000)))
        page = root / "report.html"
        taken = _run(["report", f"{root}/masks/{{rater}}/{{case}}.png", "--to", str(page), "--jobs", "1", "--quiet"])
        by_case = _numbers(root / "report_files/agree/agreement.csv", "case", case="c0007")
        assert by_case["fleiss_kappa"] == mt.fleiss_kappa(mt.tally(smooth(4, 64, seed=7))), "another kappa"
        yield at_most("report, 1,000 cases × 64² × 4", "", taken.seconds, 60, unit="CPU s")
        yield at_most("  its memory", "", taken.memory, 400, unit="MB")
        shown, _ = opened(page, "c0007")
        yield at_most("  opens in Chromium, all shown", "", shown, 3, unit="s")


def ten_thousand_cases() -> Iterator[Result]:
    """Agreement alone of 10,000 cases against decoding them, both in two processes; then of a fifth of them."""
    with tempfile.TemporaryDirectory() as folder:
        root, count = Path(folder), 10_000
        drawn = [dict(_named(smooth(5, 256, seed=i))) for i in range(100)]
        # moved by a few pixels, since cases with the same masks are reported one by one
        for name, number in (("masks", count), ("part", count // 5)):
            _write(root / name, ((f"c{i:05d}", _moved(drawn[i % 100], i // 100)) for i in range(number)))
        options = ["--no-pictures", "--measure", "none", "--jobs", "2", "--quiet"]
        part = f"{root}/part/{{rater}}/{{case}}.png"
        fewer = _run(["agree", part, *options, "--out", f"{root}/part-out"])
        taken = _run(["agree", f"{root}/masks/{{rater}}/{{case}}.png", *options, "--out", f"{root}/out"])
        decoded = _decode_all(sorted((root / "masks").rglob("*.png")))
        found = _numbers(root / "out/agree/agreement.csv", "case", case="c00042")
        assert abs(found["fleiss_kappa"] - mt.fleiss_kappa(mt.tally(drawn[42]))) < 1e-12, "another kappa"
        times = f"{taken.seconds:.1f} and {decoded:.1f} CPU s"
        job = "agree, 10,000 cases × 5 × 256², 2 processes"
        yield at_most(job, "decoding, 2 processes", taken.seconds / decoded, 1.6, times)
        linear = taken.seconds / fewer.seconds / 5
        yield at_most("  its time", "5 × that of 2,000 cases", linear, 1.1, f"{fewer.seconds:.1f} CPU s")
        times = f"{taken.memory:.0f} and {fewer.memory:.0f} MB"
        yield at_most("  its memory", "that of 2,000 cases", taken.memory / fewer.memory, 1.5, times)


def _moved(masks: Mapping[str, NDArray[np.uint8]], pixels: int) -> dict[str, NDArray[np.uint8]]:
    return {rater: np.roll(mask, pixels, axis=1) for rater, mask in masks.items()}


def _named(masks: Masks) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    return ((f"r{i:03d}", mask) for i, mask in enumerate(masks))


def _write(folder: Path, cases: Iterable[tuple[str, Mapping[str, NDArray[np.uint8]]]]) -> None:
    for case, masks in cases:
        for rater, mask in masks.items():
            path = folder / rater / f"{case}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask * 255).save(path, compress_level=1)


def _write_images(data: Path, folder: Path, cases: Mapping[str, object]) -> None:
    def rows(name: str) -> list[dict[str, str]]:
        with (data / name).open(newline="") as file:
            return list(csv.DictReader(file))

    files = {row["id"]: row["filename"] for row in rows("image.csv")}
    photographs = {row["id"]: files[row["image_id"]] for row in rows("object.csv")}
    folder.mkdir()
    for case in cases:
        Image.open(data / "images" / f"{photographs[case]}.jpg").save(folder / f"{case}.png")


def _run(arguments: list[str]) -> Cost:
    """A command, and the processes it starts."""
    return cost([sys.executable, "-m", "manytruths", *arguments])


def _decode(paths: list[Path]) -> float:
    start = time.process_time()
    for path in paths:
        np.asarray(Image.open(path))
    return time.process_time() - start


def _decode_all(paths: list[Path]) -> float:
    """CPU seconds of decoding in two processes."""
    with ProcessPoolExecutor(2) as pool:
        return sum(pool.map(_decode, [paths[::2], paths[1::2]]))


def _numbers(path: Path, scope: str, case: str = "") -> dict[str, float]:
    with path.open(newline="") as file:
        rows = [
            row for row in csv.DictReader(file) if row["scope"] == scope and row["case"] == case and not row["label"]
        ]
    summary = json.loads((path.parent / "summary.json").read_text())
    assert summary["command"] == path.parent.name, "the summary is of another command"
    return {row["statistic"]: float(row["value"]) for row in rows}


JOBS = {
    "many-raters": many_raters, "crowd": crowd_study, "thousand-cases": thousand_cases,
    "ten-thousand-cases": ten_thousand_cases,
}  # fmt: skip
