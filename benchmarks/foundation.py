"""Counting, agreement, intervals, files, starting."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import manytruths as mt

from .measuring import Result, at_least, at_most, best, command, peak, side_by_side
from .phantoms import Masks, noise, smooth


def naive_counts(masks: Masks) -> dict[tuple[int, ...], int]:
    """The joint table by sorting one code a pixel."""
    weights = [1 << i for i in range(len(masks))]
    codes = sum(m.astype(np.uint64) * np.uint64(w) for m, w in zip(masks, weights, strict=True))
    values, counts = np.unique(codes, return_counts=True)
    return {tuple(int(v) >> i & 1 for i in range(len(masks))): int(c) for v, c in zip(values, counts, strict=True)}


def table(name: str, masks: Masks, limit: float) -> Iterator[Result]:
    """Masks to the joint table, against a copy of the same bytes."""
    found = mt.tally(masks)
    rows = zip(map(tuple, found.patterns.tolist()), found.counts.tolist(), strict=True)
    assert dict(rows) == naive_counts(masks), "the joint table is wrong"
    stack = np.stack(masks)
    target = np.empty_like(stack)
    ours, copy = side_by_side(lambda: mt.tally(masks), lambda: np.copyto(target, stack), 7)
    times = f"{ours * 1e3:.1f} ms, copy {copy * 1e3:.1f} ms"
    yield at_most(
        f"joint table, {name}, {len(masks)} × 4096²", "a warm np.copyto of the same bytes", ours / copy, limit, times
    )
    yield at_most(
        f"  its memory beyond the masks, {name}, {len(masks)}", "", peak(lambda: mt.tally(masks)), 64, unit="MB"
    )


def tables() -> Iterator[Result]:
    yield from table("smooth", smooth(5, 4096), 2.5)
    yield from table("noise", noise(5, 4096), 2.5)
    yield from table("smooth", smooth(13, 4096), 8)
    yield from table("smooth", smooth(47, 4096), 10)


def kappas() -> Iterator[Result]:
    """Ten Cohen's kappas, Fleiss and alpha."""
    import krippendorff
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    masks = smooth(5, 2048)
    flat = [m.ravel() for m in masks]

    def ours() -> tuple[list[float], float, float]:
        tally = mt.tally(masks)
        pairs = [value for _, _, value in mt.pairwise(mt.cohen_kappa, tally).pairs()]
        return pairs, mt.fleiss_kappa(tally), mt.krippendorff_alpha(tally)

    def peers() -> tuple[list[float], float, float]:
        pairs = [cohen_kappa_score(flat[i], flat[j]) for i in range(5) for j in range(i + 1, 5)]
        votes, _ = aggregate_raters(np.stack(flat, axis=1))
        alpha = krippendorff.alpha(np.stack(flat), level_of_measurement="nominal")
        return pairs, fleiss_kappa(votes), alpha

    mine, theirs = ours(), peers()
    assert np.allclose(mine[0], theirs[0], rtol=0, atol=1e-12), "Cohen's kappas differ"
    assert abs(mine[1] - theirs[1]) <= 1e-12, "Fleiss' kappas differ"
    assert abs(mine[2] - theirs[2]) <= 1e-12, "alphas differ"
    quick, slow = best(ours), best(peers, 1)
    times = f"{quick * 1e3:.1f} ms, peers {slow:.1f} s"
    job = "ten Cohen's kappas + Fleiss + alpha, 5 × 2048²"
    yield at_least(job, "scikit-learn + statsmodels + krippendorff", slow / quick, 300, times)


def intervals() -> Iterator[Result]:
    """2,000 resamples of a study of 1,000 cases and 5 raters."""
    rng = np.random.default_rng(0)
    truth = rng.random((1000, 400)) < 0.3
    cases = {str(i): mt.tally([t ^ (rng.random(400) < 0.1) for _ in range(5)]) for i, t in enumerate(truth)}
    seeds = iter(range(9))
    seconds = best(lambda: mt.confidence_interval(mt.fleiss_kappa, cases, method="bca", seed=next(seeds)), 3)
    yield at_most("2,000 BCa resamples, 1,000 cases × 5 raters", "", seconds, 2, unit="s")
    seconds = best(lambda: mt.confidence_interval(mt.fleiss_kappa, cases, over="both", of="mean"), 3)
    yield at_most("interval over subjects and raters, 1,000 cases × 5 raters", "", seconds, 1, unit="s")


DECODE = """
import sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
from PIL import Image
def decode(path):
    return int(np.asarray(Image.open(path))[0, 0])
if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(decode, sys.stdin.read().split("\\n"), chunksize=16)))
"""


def files() -> Iterator[Result]:
    """``agree`` on PNG files, against decoding them and nothing else."""
    import subprocess

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write_masks(root)
        (root / "decode.py").write_text(DECODE)
        paths = "\n".join(map(str, sorted((root / "masks").rglob("*.png"))))

        def decode() -> None:
            run = subprocess.run([sys.executable, str(root / "decode.py")], input=paths, text=True, capture_output=True)
            assert run.returncode == 0, run.stderr

        agree = [sys.executable, "-m", "manytruths", "agree", str(root / "masks/{rater}/{case}.png"), "--no-pictures"]
        agree += ["--measure", "none", "--jobs", "2", "--quiet", "--out", str(root / "out")]
        ours, peer = side_by_side(lambda: command(agree), decode, 3)
        _check_written(root)
        times = f"{ours:.2f} s, decoding {peer:.2f} s"
        job = "agree --no-pictures --measure none, 200 cases × 5 × 1024² PNG, 2 jobs"
        yield at_most(job, "decoding the PNGs in 2 processes", ours / peer, 1.5, times)


def _write_masks(root: Path) -> None:
    from PIL import Image

    for case in range(200):
        for rater, mask in zip("ABCDE", smooth(5, 1024, seed=case), strict=True):
            path = root / "masks" / rater / f"c{case:03d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask * 255).save(path)


def measures() -> Iterator[Result]:
    """``agree`` with sizes, distances and lesions, against ``agree`` without, with pictures and without."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write_masks(root)
        masks = str(root / "masks/{rater}/{case}.png")
        for pictures, limit in (("--pictures", 1.5), ("--no-pictures", 0.0)):
            line = [sys.executable, "-m", "manytruths", "agree", masks, pictures, "--jobs", "2", "--quiet"]

            def agree(*more: str, line: list[str] = line) -> None:
                command([*line, "--out", str(root / "out"), *more])

            ours, peer = side_by_side(agree, lambda agree=agree: agree("--measure", "none"), 3)  # type: ignore[misc]
            agree()
            _check_distances(root)
            times = f"{ours:.2f} s, without {peer:.2f} s"
            job = f"agree {pictures} with sizes, distances, lesions, 200 × 5 × 1024²"
            if limit:
                yield at_most(job, "agree --measure none", ours / peer, limit, times)
            else:
                yield Result(job, "agree --measure none", ours / peer, "", True, times)


def _check_distances(root: Path) -> None:
    """One pair's distance in the table is that of its masks."""
    lines = (root / "out/agree/pairs.csv").read_text().splitlines()
    start = "case,c007,,,whole,A,B,between,hausdorff,"
    row = next(line for line in lines if line.startswith(start))
    a, b = smooth(5, 1024, seed=7)[:2]
    assert float(row.removeprefix(start).split(",")[0]) == mt.hausdorff(a, b), "agree wrote another distance"


def _check_written(root: Path) -> None:
    """One case's kappa in the table is that of its masks."""
    lines = (root / "out/agree/agreement.csv").read_text().splitlines()
    row = next(line.split(",") for line in lines if line.startswith("case,c007,") and ",fleiss_kappa," in line)
    assert float(row[6]) == mt.fleiss_kappa(mt.tally(smooth(5, 1024, seed=7))), "agree wrote another kappa"


def start() -> Iterator[Result]:
    """The help, against starting Python and importing NumPy."""
    ours = [sys.executable, "-m", "manytruths", "--help"]
    quick, peer = side_by_side(lambda: command(ours), lambda: command([sys.executable, "-c", "import numpy"]), 7)
    times = f"{quick * 1e3:.0f} ms, Python and NumPy {peer * 1e3:.0f} ms"
    yield at_most("manytruths --help", "starting Python and importing NumPy", quick / peer, 3, times)


JOBS = {
    "tables": tables,
    "kappas": kappas,
    "intervals": intervals,
    "files": files,
    "measures": measures,
    "start": start,
}
