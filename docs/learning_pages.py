"""Tables and pictures of the page on learning, from what ``manytruths train`` wrote: ``docs/learning/*/*.csv``.

``python docs/learning_pages.py echo echo-study/train`` takes over from a finished study what they are made of;
``echo-draws`` and ``chase-draws`` stand for the studies of probabilities and samples, and
``python docs/learning_pages.py gpu FILE`` takes the times that ``benchmarks/gpu.py --json FILE`` measured.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

import manytruths as mt
from manytruths.charts import contour_overlay
from manytruths.charts.bars import dot_chart
from manytruths.charts.svg import format_number
from manytruths.inference.scales import Scale

HERE = Path(__file__).parent / "learning"
STUDIES = {"echo": "Contrast-echo phantom", "chase": "CHASE_DB1"}
DRAWS, CHASE_DRAWS, GPU = "echo-draws", "chase-draws", "gpu"
"""The studies of probabilities and samples, on the phantom and on CHASE_DB1."""
SMALL = {"subjects": 120, "frames": 1, "size": 64}
"""The phantom of the former."""
SCALES: dict[str, Scale] = {"sample_diversity": "share", "squared_error": "share"}
"""Of the intervals of means; the others are plain."""
GROUPS = 20
"""Groups of five raters, who are the population that the five of the study stand for."""
NETWORKS = {"unet": "U-Net", "deeplab": "DeepLabv3+"}
STATISTICS = {"dice": 1, "iou": 1, "hausdorff": -1}
"""And whether more is better."""
OURS = "extended Dice loss"
NAMES = {
    "inner region": "inner", "outer region": "outer", "majority vote": "majority", "average cross-entropy": "average",
    "confusion matrices": "confusion", "consensus and individuals": "individuals", "STAPLE": "staple",
    OURS: "extended_dice", "Dice loss on the majority": "majority_dice",
}  # fmt: skip
"""Of the strategies in the tidy tables, by their titles; that of a single rater is in the title itself."""
SHOWN = "s001-f04", "s002-f07", "s003-f02", "s006-f05"
"""Frames of a good, a fair and two poor subjects."""
WINDOW = slice(40, 460), slice(95, 445)
TABLES = "strategies", "differences", "table2", "table3"
RUN = "network", "strategy", "seed", "fold"
Found = tuple[float, float, float]
"""A value and the ends of its interval."""


def rows_of(study: str, table: str) -> list[dict[str, str]]:
    """A table of a study."""
    with (HERE / study / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def strategy(title: str) -> str:
    """The name of a strategy in the tidy tables."""
    return NAMES.get(title) or f"rater-{title.split()[1]}"


def found(study: str, table: str, network: str, own: str, statistic: str = "extended_dice") -> Found:
    """A mean and its interval; of ``differences`` the extended Dice loss minus a strategy."""
    column = "minus" if table == "differences" else "strategy"
    row = next(
        r for r in rows_of(study, table)
        if (r["network"], r[column], r["statistic"], r["scope"]) == (network, own, statistic, "mean")
    )  # fmt: skip
    return float(row["value"]), float(row["low"]), float(row["high"])


def page_tables(study: str) -> dict[str, list[list[str]]]:
    """By file name: Table 3 with differences, and Table 2 by network and statistic."""
    made = {"extended-dice": _third(study)}
    for network in NETWORKS:
        for statistic in STATISTICS:
            made[f"{network}-{statistic}"] = _second(study, network, statistic)
    return made


def _third(study: str) -> list[list[str]]:
    shown = {n: [r for r in rows_of(study, "table3") if r["network"] == n] for n in NETWORKS}
    header = ["strategy", *NETWORKS.values()]
    header += [f"{words}: {OURS} minus it" for words in NETWORKS.values()]
    lines = []
    for k, first in enumerate(shown["unet"]):
        cells = [_cell(shown[n][k]["all raters: extended_dice"]) for n in NETWORKS]
        apart = [_apart(study, n, strategy(shown[n][k]["strategy"])) for n in NETWORKS]
        lines.append([first["strategy"], *cells, *apart])
    return [header, *_bold(lines, [1, 2])]


def _apart(study: str, network: str, own: str) -> str:
    if own == NAMES[OURS]:
        return ""
    value, low, high = found(study, "differences", network, own)
    return f"{format_number(value, 3)} ({format_number(low, 3)} to {format_number(high, 3)})"


def _second(study: str, network: str, statistic: str) -> list[list[str]]:
    shown = [r for r in rows_of(study, "table2") if r["network"] == network]
    truths = [column.removesuffix(f": {statistic}") for column in shown[0] if column.endswith(f": {statistic}")]
    lines = [[r["strategy"], *(_cell(r[f"{truth}: {statistic}"]) for truth in truths)] for r in shown]
    return [["strategy", *truths], *_bold(lines, range(1, len(truths) + 1), STATISTICS[statistic])]


def _cell(words: str) -> str:
    """An interval is not broken at its dash."""
    return words.replace("–", "\u2060–\u2060")


def _bold(lines: list[list[str]], columns: Iterable[int], sign: int = 1) -> list[list[str]]:
    """The best mean of every column, and what is printed alike."""
    for k in columns:
        best = max(sign * float(own[k].split()[0]) for own in lines)
        for own in lines:
            value, rest = own[k].split(" ", 1)
            own[k] = f"**{value}** {rest}" if sign * float(value) == best else own[k]
    return lines


def write_tables() -> None:
    """Beside the tables that they are made of."""
    for study in STUDIES:
        for table, lines in page_tables(study).items():
            _write_page(study, table, lines)
    for study in (DRAWS, CHASE_DRAWS):
        _write_page(study, "draws", draws_table(study))
    _write_page(DRAWS, "population", population_table())
    _write_page(GPU, "times", times_table())


def _write_page(study: str, table: str, lines: list[list[str]]) -> None:
    with (HERE / study / f"page-{table}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def extended_dice_chart(study: str) -> str:
    """Extended Dice of every strategy and network, with intervals."""
    titles = [r["strategy"] for r in rows_of(study, "table3") if r["network"] == "unet"]
    drawn = {
        title: {words: found(study, "strategies", n, strategy(title)) for n, words in NETWORKS.items()}
        for title in titles
    }
    return dot_chart(drawn, "extended Dice, mean over subjects and seeds", STUDIES[study])


def echo_strip() -> Image.Image:
    """Four frames of the phantom with everybody's outlines, and one legend; few grey levels make a small file."""
    study = mt.simulate_echo(size=512)
    panels = []
    for shown in SHOWN:
        frame = study[shown]
        masks = {rater: mask[WINDOW] for rater, mask in frame.markings.items()}
        image, title = frame.image[WINDOW] // 10 * 10, f"{shown}: {frame.quality}"
        panels.append(contour_overlay(image, masks, title=title).convert("RGB"))
    cut = WINDOW[1].stop - WINDOW[1].start + 26  # what stands right of the image is the legend
    parts = [panel.crop((0, 0, cut, panel.height)) for panel in panels[:-1]]
    return Image.fromarray(np.hstack([np.asarray(part) for part in (*parts, panels[-1])]))


def gather(study: str, home: Path) -> None:
    """Tables of a finished study, how long its runs took, the matrices learned and, of the phantom, the true ones."""
    for table in TABLES:
        shutil.copyfile(home / f"{table}.csv", HERE / study / f"{table}.csv")
    times = ((*run, len(rows), round(sum(float(r["seconds"]) for r in rows), 3)) for run, rows in _of_runs(home, "log"))
    _write(study, "runs", (*RUN, "epochs", "seconds"), times)
    learned = ((*run, *r.values()) for run, rows in _of_runs(home, "confusion") for r in rows)
    _write(study, "confusion", (*RUN, "rater", "truth", "given", "rate"), learned)
    if study == "echo":
        with (home / "split.csv").open(encoding="utf-8", newline="") as file:
            names = [row["case"] for row in csv.DictReader(file) if row["part"] == "train"]
        _write(study, "rates", ("rater", "truth", "rate"), true_rates(names))


def _of_runs(home: Path, table: str) -> Iterator[tuple[tuple[str, ...], list[dict[str, str]]]]:
    for path in sorted((home / "runs").glob(f"*/*/*/*/{table}.csv")):
        network, own, seed, fold = path.relative_to(home / "runs").parts[:4]
        with path.open(encoding="utf-8", newline="") as file:
            yield (network, own, seed.removeprefix("seed-"), fold.removeprefix("fold-")), list(csv.DictReader(file))


def _write(study: str, table: str, header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    with (HERE / study / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def true_rates(names: Iterable[str]) -> Iterator[tuple[str, str, float]]:
    """How often each rater of the phantom gives background to background, and marks what is muscle."""
    study = mt.simulate_echo(subjects=100, frames=10, size=256)
    right: dict[tuple[str, str], int] = {}
    there = {"background": 0, "1": 0}
    for name in names:
        frame = study[name]
        for label, region in zip(there, (~frame.truth, frame.truth), strict=True):
            there[label] += int(region.sum())
            for rater, mask in frame.markings.items():
                agreed = int((region & (mask == frame.truth)).sum())
                right[rater, label] = right.get((rater, label), 0) + agreed
    yield from ((rater, label, count / there[label]) for (rater, label), count in right.items())


# -- probabilities and samples ---------------------------------------------------------------------


def gather_draws(study: str, home: Path) -> None:
    """Tables of a finished study of probabilities and samples, and of the phantom how they compare with the truth."""
    (HERE / study).mkdir(exist_ok=True)
    for table in ("strategies", "differences", "uncertainty"):
        shutil.copyfile(home / f"{table}.csv", HERE / study / f"{table}.csv")
    _write(study, "runs", (*RUN, "epochs"), ((*run, len(rows)) for run, rows in _of_runs(home, "log")))
    if study == DRAWS:
        _write(DRAWS, "population", ("strategy", "statistic", "value", "low", "high", "n"), against_population(home))


def population() -> mt.EchoStudy:
    """The phantom, marked by many raters: the five habits, with other guesses in every group of five."""
    study = mt.simulate_echo(**SMALL)
    raters = (
        replace(rater, name=f"{rater.name}-{k}", school=f"{rater.school}-{k}")
        for k in range(GROUPS)
        for rater in study.raters
    )
    return replace(study, raters=tuple(raters))


def against_population(home: Path) -> Iterator[tuple[object, ...]]:
    """Means over subjects and seeds of what networks, and the five raters of the study, say of the population."""
    from manytruths.learning.scores import mean_interval

    with (home / "split.csv").open(encoding="utf-8", newline="") as file:
        names = [row["case"] for row in csv.DictReader(file) if row["part"] == "test"]
    runs = sorted(path.name for path in (home / "predictions").iterdir())
    by_run: dict[str, list[dict[str, float]]] = {run: [] for run in ("raters", *runs)}
    five, many = mt.simulate_echo(**SMALL), population()
    for name in names:
        masks = [mask.astype(np.uint8) for mask in many[name].markings.values()]
        own = [mask.astype(np.uint8) for mask in five[name].markings.values()]
        by_run["raters"].append(_of_population(own, np.mean(own, axis=0), masks, "samples"))
        for run in runs:
            chance = np.asarray(Image.open(home / "probability" / run / f"{name}.tif"), np.float64)
            paths = sorted((home / "samples" / run / name).glob("*.png"))
            drawn = [np.asarray(Image.open(p)) for p in paths or [home / "predictions" / run / f"{name}.png"]]
            form = "samples" if "-latent-" in run else False
            by_run[run].append(_of_population(drawn, chance, masks, form))
    values: dict[str, dict[str, np.ndarray]] = {}
    for way in ("raters", *dict.fromkeys(run.split("-")[1] for run in runs)):
        chosen = [rows for run, rows in by_run.items() if run == way or run.startswith(f"unet-{way}-")]
        for statistic in chosen[0][0]:
            stack = np.array([[row[statistic] for row in rows] for rows in chosen]).T
            values.setdefault(statistic, {})[way] = stack
    for statistic, by_way in values.items():
        latent = by_way["latent"]
        for way, stack in by_way.items():
            parts = [(way, stack)] if way == "latent" else [(way, stack), (f"latent minus {way}", latent - stack)]
            for title, each in parts:
                i = mean_interval(each, "plain" if " minus " in title else SCALES.get(statistic, "plain"))
                ends = ("" if np.isnan(end) else end for end in (i.low, i.high))
                yield title, statistic, i.value, *ends, i.n


def _of_population(
    drawn: list[np.ndarray], chance: np.ndarray, masks: list[np.ndarray], form: str | bool
) -> dict[str, float]:
    distances = mt.sample_distances(drawn, masks, labels=[0, 1])
    truth = np.mean(masks, axis=0)
    spread = mt.sample_diversity(distances) if len(drawn) > 1 else 0.0
    return {
        "model_energy_distance": mt.energy_distance(distances, unbiased=form),
        "sample_diversity": spread,
        "diversity_difference": spread - mt.sample_diversity(masks),
        "squared_error": float(np.mean((chance - truth) ** 2)),
    }


def draws_table(study: str) -> list[list[str]]:
    """A line for each strategy: what is known of its probabilities and samples."""
    rows = rows_of(study, "uncertainty")
    columns = [column for column in rows[0] if column.startswith("all raters: ")]
    titles = [column.removeprefix("all raters: ").replace("_", " ") for column in columns]
    # what begins with a minus has an apostrophe before it in files for spreadsheets
    return [["strategy", *titles], *([r["strategy"], *(_cell(r[c].lstrip("'")) for c in columns)] for r in rows)]


def population_table() -> list[list[str]]:
    """The same against the population; differences of the latent variables to the others."""
    found = {(r["strategy"], r["statistic"]): r for r in rows_of(DRAWS, "population")}
    ways = [way for way, statistic in found if statistic == "model_energy_distance" and " minus " not in way]
    columns = "model_energy_distance", "sample_diversity", "diversity_difference", "squared_error"
    header = [
        "samples or probabilities of",
        *(name.replace("_", " ") for name in columns),
        "model energy distance: latent minus it",
    ]
    lines = []
    for way in ways:
        apart = found.get((f"latent minus {way}", "model_energy_distance"))
        cells = [_with_interval(found[way, column]) for column in columns]
        lines.append([way, *cells, _with_interval(apart) if apart else ""])
    return [header, *lines]


def _with_interval(row: dict[str, str], digits: int = 3) -> str:
    value = format_number(float(row["value"]), digits)
    if not row["low"]:
        return value
    low, high = (format_number(float(row[name]), digits) for name in ("low", "high"))
    return f"{value} ({low} to {high})"


# -- times on a GPU --------------------------------------------------------------------------------

JOBS = {
    ("losses", "Dice of one target, eager"): "Dice loss of one target, PyTorch's operations",
    ("losses", "Dice of one target, compiled"): "the same, `torch.compile`",
    ("losses", "old"): "extended Dice loss of five raters, PyTorch's operations",
    ("losses", "extended Dice, compiled"): "the same, `torch.compile`",
    ("losses", "new"): "**the same, fused kernels**",
    ("labels", "4 labels, old"): "extended Dice loss of four labels, 8 images, PyTorch's operations",
    ("labels", "4 labels, new"): "**the same, fused kernels**",
    ("labels", "presence by pixel, old"): "extended Dice loss, raters absent in some pixels, PyTorch's operations",
    ("labels", "presence by pixel, new"): "**the same, fused kernels**",
    ("STAPLE", "CPU, mt.staple one by one"): "STAPLE of five raters, `mt.staple` image by image on the CPU",
    ("STAPLE", "CPU, batch"): "the same, the batch on the CPU, 16 threads",
    ("STAPLE", "old"): "the same, PyTorch's operations and EM in one kernel",
    ("STAPLE", "new"): "**the same, fused kernels**",
    ("energy", "CPU"): "energy distance of 16 samples and five raters, the batch on the CPU, 16 threads",
    ("energy", "old"): "the same, PyTorch's operations",
    ("energy", "new"): "**the same, fused kernels**",
}
"""What the page shows of the jobs of ``benchmarks/gpu.py``."""
WAYS = {"alone": "one call at a time", "queued": "many calls", "replayed": "the device alone"}


def gather_times(path: Path) -> None:
    """Milliseconds, and what the device is."""
    found = json.loads(path.read_text(encoding="utf-8"))
    (HERE / GPU).mkdir(exist_ok=True)
    rows = []
    for group, name in JOBS:
        own = found[group][name]
        times = [own["ms"], "", ""] if "ms" in own else [own[way].get("median", "") for way in WAYS]
        rows.append((group, name, *times, own.get("MB", ""), found[group].get("bytes", "")))
    _write(GPU, "times", ("group", "job", *WAYS, "MB", "bytes"), rows)
    _write(GPU, "device", ("what", "value"), found["device"].items())


def times_table() -> list[list[str]]:
    """Milliseconds of each job."""
    found = {(r["group"], r["job"]): r for r in rows_of(GPU, "times")}
    cells = [[f"{float(found[key][way]):.3g}" if found[key][way] else "" for way in WAYS] for key in JOBS]
    return [["job", *WAYS.values()], *([title, *each] for title, each in zip(JOBS.values(), cells, strict=True))]


if __name__ == "__main__":
    if sys.argv[1] == GPU:
        gather_times(Path(sys.argv[2]))
    elif sys.argv[1] in (DRAWS, CHASE_DRAWS):
        gather_draws(sys.argv[1], Path(sys.argv[2]))
    else:
        gather(sys.argv[1], Path(sys.argv[2]))
