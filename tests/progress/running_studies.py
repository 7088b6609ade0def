"""Studies that run, on the disk: discs with wobbly outlines, a reading log with dates."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 48
START = date(2026, 1, 5)
TODAY = "2026-03-30"
RATERS = ("Zebulon", "Quirinus", "Wilhelmina", "Yevgenia")


def disc(rng: np.random.Generator, centre: tuple[float, float], radius: float) -> np.ndarray:
    """A disc whose outline wobbles."""
    y, x = np.mgrid[:SIDE, :SIDE]
    angle = np.arctan2(y - centre[0], x - centre[1])
    wobble = 1 + sum(0.02 * rng.normal() * np.sin(k * angle + rng.uniform(0, 6)) for k in (2, 3, 5))
    return np.hypot(y - centre[0], x - centre[1]) < radius * wobble


def write_running(
    folder: Path,
    raters: Iterable[str] = RATERS,
    cases: int = 36,
    *,
    drifts: str = "",
    dates: bool = True,
    log: bool = True,
    unread: Mapping[str, int] | None = None,
    labels: int = 1,
    depth: int = 0,
    images: bool = True,
    sessions: bool = False,
    seed: int = 0,
) -> Path:
    """A study of some weeks; ``unread`` are the last cases of raters, ``drifts`` draws larger and larger."""
    rng, rows = np.random.default_rng(seed), []
    names = tuple(raters)
    for k in range(cases):
        case, centre, radius = f"case{k:03}", tuple(rng.normal(SIDE / 2, 2, 2)), rng.uniform(9, 13)
        if images:
            (folder / "images").mkdir(parents=True, exist_ok=True)
            bright = disc(rng, centre, radius) * 90 + rng.normal(70, 8, (SIDE, SIDE))
            save(folder / "images" / f"{case}.png", bright.astype(np.uint8), depth)
        for i, rater in enumerate(names):
            grown = 1 + (0.6 * max(0, k / cases - 0.3) if rater == drifts else 0)
            there = k < cases - (unread or {}).get(rater, 0)
            day = START + timedelta(days=int(60 * k / cases) + i)
            done = {"started": f"{day}T09:00:00", "seconds": 90 + 10 * i} if dates else {}
            if there:
                mask = disc(rng, centre, radius * grown).astype(np.uint8)
                for label in range(2, labels + 1):
                    mask[disc(rng, centre, radius * grown * (1 - label / (labels + 2)))] = label
                session = "first" if sessions else ""
                save(folder / "masks" / rater / session / f"{case}.png", mask if labels > 1 else mask * 255, depth)
            rows.append(
                {"case": case, "rater": rater, "status": "done" if there else "unread", **(done if there else {})}
            )
    with open(folder / "reads.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ("case", "rater", "session", "status", "started", "seconds"))
        writer.writeheader()
        writer.writerows([row | {"session": "first"} for row in rows] if sessions else rows)
    kind = "npy" if depth else "png"
    place = "{rater}/{session}" if sessions else "{rater}"
    lines = [f'masks = "masks/{place}/{{case}}.{kind}"']
    lines += [f'images = "images/{{case}}.{kind}"'] if images else []
    lines += ['reads = "reads.csv"'] if log else []
    (folder / "study.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def save(path: Path, array: np.ndarray, depth: int) -> None:
    """A picture, or a volume of equal slices that shrink towards its ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not depth:
        Image.fromarray(array).save(path)
        return
    stack = np.stack([array] * depth)
    stack[0] = 0
    np.save(path.with_suffix(".npy"), stack)
