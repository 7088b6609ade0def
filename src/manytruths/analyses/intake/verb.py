"""From reads to a study on the disk: all of it, or nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...core.errors import GridError, InputError, StudyError, few
from ...exchange.gathering import Gathered
from ...exchange.reads import NoPicture, Read
from ...io import Template, probe, write_csv, write_text
from ...io.location import SUFFIXES
from ...io.replacing import replacing
from ...io.writing import PART
from ...study import Progress
from ...study.parallel import in_order
from .drawing import Drawn, Overlap, draw
from .layout import FIRST, Layout, on_disk
from .notes import models_of, notes_of

PICTURES = "images/{case}.*"
AT_ONCE = 1 << 28
"""Pixels of all reads that are drawn at the same time: each takes up to three bytes."""
MOST_ROWS = 1 << 20
"""Of a study: cases times raters, whoever read what."""
READS = ("case", "rater", "session", "status", "based_on", "tool", "started", "seconds", "checksum")
OURS = "# Imported by manytruths."
IMAGES = "images.csv"
"""What the tool calls the image of each case: the way back needs it."""
WRITTEN = ("masks", "ranks", "images", "study.toml", "reads.csv", "cases.csv", "left_out.csv", IMAGES)
"""All that an import may write."""


@dataclass(frozen=True)
class IntakePlan:
    """What to make of the reads."""

    overlap: Overlap = "smaller"
    images: str | None = None
    """Template of images that stay where they are."""
    ranks: bool = True
    unfinished: bool = False
    """Whether unfinished reads count as done."""
    replace: bool = False
    """Whether an earlier import in the folder goes."""


@dataclass(frozen=True)
class Imported:
    """A study that was written."""

    folder: Path
    gathered: Gathered
    rows: tuple[tuple[object, ...], ...]
    """Of ``reads.csv``."""
    notes: tuple[str, ...]

    @property
    def statuses(self) -> Mapping[str, int]:
        return Counter(str(row[READS.index("status")]) for row in self.rows)


def write_study(
    found: Gathered,
    to: Path | str,
    plan: IntakePlan | None = None,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Imported:
    """Write reads as a study: masks, ``study.toml``, ``reads.csv``, and ranks and images where there are any."""
    plan, folder = plan or IntakePlan(), Path(to)
    check_folder(folder, plan.replace)
    found = replace(found, reads=tuple(_finished(read) if plan.unfinished else read for read in found.reads))
    layout = Layout.of(found)
    reads = [read for read in found.reads if read.status in ("done", "empty")]
    if not reads:
        raise StudyError("nobody finished reading any image; take unfinished ones, too, with --unfinished keep")
    if len(found.cases) * len(found.raters) > MOST_ROWS:
        raise StudyError(
            f"{len(found.cases)} cases of {len(found.raters)} raters are more than {MOST_ROWS} reads; import them in "
            "parts, or say which field names the rater (--rater-field)"
        )
    ranked = plan.ranks and any(mark.rank is not None for read in reads for mark in read.marks)
    with replacing(folder.resolve(), ours=_ours(folder, plan.images)) as (stage,):
        check_folder(folder, plan.replace)
        work = partial(draw, folder=stage, layout=layout, overlap=plan.overlap, ranked=ranked)
        _some_images(found, layout, plan.images)
        most = max(1, AT_ONCE // max(math.prod(read.grid.shape) for read in reads))
        drawn = list(in_order(work, reads, min(jobs, most), progress))
        pictures = _pictures(found, stage, layout) if plan.images is None else {}
        rows = tuple(_rows(found, layout, dict(zip(map(_key, reads), drawn, strict=True))))
        write_csv(stage / "reads.csv", rows, READS)
        subjects = {read.case: read.subject for read in found.reads if read.subject}
        if subjects:
            told = [(layout.cases[case], subjects.get(case, case)) for case in found.cases]
            write_csv(stage / "cases.csv", told, ("case", "subject"))
        if found.left_out:
            lost = [(layout.cases[c], on_disk(r), kind, n) for (c, r, kind), n in found.left_out.items()]
            write_csv(stage / "left_out.csv", lost, ("case", "rater", "kind", "count"))
        names = {layout.cases[read.case]: read.image for read in found.reads}
        write_csv(stage / IMAGES, names.items(), ("case", "image"))
        models = {on_disk(rater): [layout.cases[c] for c in cases] for rater, cases in models_of(found).items()}
        text = _toml(layout, plan, "" in pictures.values(), ranked, bool(subjects))
        write_text(stage / "study.toml", text + _excluded(models))
    return Imported(folder, found, rows, tuple(notes_of(found, reads, drawn, pictures, plan.images is not None)))


def _finished(read: Read) -> Read:
    return replace(read, status="done" if read.marks else "empty") if read.status == "unfinished" else read


def _key(read: Read) -> tuple[str, str, str]:
    return read.case, read.rater, read.session


# -- the folder --------------------------------------------------------------------------------------


def check_folder(folder: Path, again: bool) -> None:
    """Refuse a folder that holds anything but an import that may go."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose a new folder with --to")
    there = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    inside = sorted(name for name in there if not name.startswith(PART))
    if not inside:
        return
    mark = folder / "study.toml"
    ours = mark.is_file() and mark.read_text(encoding="utf-8", errors="replace").startswith(OURS)
    if ours and again:
        return
    what = "an earlier import; put this one in its place with --replace" if ours else f"{', '.join(inside[:3])}"
    raise InputError(f"{folder}: holds {what}{'' if ours else '; choose an empty or a new folder with --to'}")


def _ours(folder: Path, images: str | None) -> list[str]:
    """What an earlier import wrote; images that somebody else put there stay."""
    mark = folder / "study.toml"
    before = mark.read_text(encoding="utf-8", errors="replace") if mark.is_file() else ""
    named = images is not None and Path(images).resolve().is_relative_to((folder / "images").resolve())
    ours = f"images = {_quoted(PICTURES)}" in before and not named
    return [name for name in WRITTEN if name != "images" or ours]


def _toml(layout: Layout, plan: IntakePlan, pictures: bool, ranked: bool, subjects: bool) -> str:
    # as absolute paths, images are found wherever the study lies
    images = PICTURES if pictures else plan.images and str(Path(plan.images).absolute())
    lines = [OURS, f'masks = "{layout.masks}"', 'reads = "reads.csv"']
    lines += [f"images = {_quoted(images)}"] if images else []
    lines += [f'ranks = "{layout.ranks}"'] if ranked else []
    lines += ['cases = "cases.csv"'] if subjects else []
    lines += ['overlap = "union"'] if plan.overlap == "union" and len(layout.structures) > 1 else []
    lines += [f"labels = {{ 1 = {_quoted(layout.structures[0])} }}"] if len(layout.structures) == 1 else []
    return "\n".join(lines) + "\n"


def _excluded(models: Mapping[str, Sequence[str]]) -> str:
    """Models that raters started from are no raters."""
    lines = [f"{_quoted(name)} = [{', '.join(map(_quoted, cases))}]" for name, cases in models.items()]
    return "\n".join(["", "[exclude]", *lines, ""]) if lines else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


# -- images ------------------------------------------------------------------------------------------


def _pictures(found: Gathered, stage: Path, layout: Layout) -> dict[str, str]:
    """Write the images that came with the annotations: by case, why there is none; nothing where there is one."""
    first: dict[str, Read] = {}
    for read in found.reads:
        if read.picture is not None and read.picture.suffix in SUFFIXES:
            first.setdefault(read.case, read)
    return {case: _written(case, read, stage, layout) for case, read in first.items()}


def _written(case: str, read: Read, stage: Path, layout: Layout) -> str:
    assert read.picture is not None
    target = stage / "images" / f"{layout.cases[case]}{read.picture.suffix}"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        read.picture.write(target)
    except NoPicture as error:
        return str(error)
    there = probe(target).shape
    if len(read.grid.shape) == 2 and there != read.grid.shape:
        told = " × ".join(map(str, reversed(read.grid.shape)))
        raise GridError(
            f"case {case}: {read.source} says that its image has {told} pixels, and {read.picture} has "
            f"{' × '.join(map(str, reversed(there)))}; export the annotations of this image again"
        )
    return ""


# -- who read what -----------------------------------------------------------------------------------


def _rows(found: Gathered, layout: Layout, drawn: Mapping[tuple[str, str, str], Drawn]) -> Iterator[tuple[object, ...]]:
    """Of every rater and case, also where there is nothing."""
    by: dict[tuple[str, str], list[Read]] = {}
    for read in found.reads:
        by.setdefault((read.case, read.rater), []).append(read)
    for case in found.cases:
        for rater in found.raters:
            who = on_disk(rater)
            for read in sorted(by.get((case, rater), ()), key=lambda one: one.session):
                known = drawn.get(_key(read))
                yield (
                    layout.cases[case], who, layout.session(read), read.status, layout.parent(read), read.tool,
                    read.started, read.seconds, known.checksum if known else "",
                )  # fmt: skip
            if (case, rater) not in by:
                yield layout.cases[case], who, FIRST if layout.sessions else "", "unread", "", "", "", None, ""


def check_images(template: str | None) -> None:
    """Refuse a template of images that cannot be one, or that nothing fits."""
    if template is not None:
        Template(template, require=("case",)).find()


def _some_images(found: Gathered, layout: Layout, template: str | None) -> None:
    """Refuse a template that fits other images than those of the study."""
    if template is None:
        return
    there = {one.fields["case"] for one in Template(template).find()}
    if not there & set(layout.cases.values()):
        raise StudyError(
            f"--images {template!r} finds {few(sorted(there), 3)}, and cases are called {few(found.cases, 3)}; "
            "name the images, or the cases (--cases OLD=NEW), alike"
        )
