"""What to know of an import before its numbers are read.

From reads to a study on the disk: all of it, or nothing.

What is printed of an import.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ...core.errors import GridError, InputError, StudyError, few, one_line
from ...exchange.reading_set import ReadingSet
from ...exchange.readings import NoPicture, Reading
from ...io import Template, probe, write_csv, write_text
from ...io.location import SUFFIXES
from ...io.replacing import replacing
from ...io.writing import PART
from ...study import Progress
from ...study.parallel import in_order
from ..printing import counted
from .layout import FIRST, Layout, on_disk
from .masks import Drawn, Overlap, draw

if TYPE_CHECKING:
    from rich.console import Console


SAYING = ("Label Studio", "LabelMe")
"""Tools that say whether an image was opened."""


def notes_of(
    found: ReadingSet, reads: Sequence[Reading], drawn: Sequence[Drawn], pictures: Mapping[str, str], elsewhere: bool
) -> Iterator[str]:
    """What to know of an import; ``elsewhere`` where images stay where they are."""
    lost = sum(one.lost for one in drawn)
    if lost:
        yield f"{lost} marks hold no pixel's centre, or lie outside of the image, and mark nothing"
    blank = [
        f"{read.rater} in {read.case}" for read in found.reads if read.status == "empty" and read.tool not in SAYING
    ]
    if blank:
        yield f"no mark of {few(blank, 3)}: counted as read and found empty (--blank unread, if nobody opened them)"
    same = _identical(reads, drawn)
    if same:
        pair, count = same.most_common(1)[0]
        yield (
            f"{' and '.join(pair)} have identical masks in {count} of the cases that they marked: one may be a copy or "
            "an edit of the other; if so, say it as based_on in reads.csv"
        )
    edits = [f"{read.rater} in {read.case}" for read in reads if read.based_on]
    if edits:
        yield f"edits of another's read are left out of agreement and consensus: {few(edits, 3)} (--edited keep, later)"
    models = list(models_of(found))
    if models:
        yield f"models that reads started from are no raters: {few(models, 3)} ([exclude] in study.toml)"
    yield from _given_to_one(found)
    there = sum(not why for why in pictures.values())
    if not elsewhere and not pictures:
        yield 'no image came along; say where they are, as --images "FOLDER/{case}.png", to see outlines over them'
    if 0 < there < len(found.cases):
        yield f"{len(found.cases) - there} of {len(found.cases)} cases came without their image"
    yield from _pictureless({case: why for case, why in pictures.items() if why})
    for kind in sorted({kind for *_, kind in found.left_out}):
        yield f"left out, {kind}: {sum(n for (*_, own), n in found.left_out.items() if own == kind)} (left_out.csv)"


def _given_to_one(found: ReadingSet) -> Iterator[str]:
    raters = defaultdict[str, set[str]](set)
    for read in found.reads:
        raters[read.case].add(read.rater)
    alone = [case for case, of in raters.items() if len(of) == 1]
    if alone and len(found.raters) > 1:
        yield (
            f"{len(alone)} of {len(found.cases)} cases are in the files of one rater alone ({few(alone, 3)}): is an "
            "image called differently in another file? (--cases OLD=NEW)"
        )


def models_of(found: ReadingSet) -> dict[str, list[str]]:
    """By name, the cases in which somebody's read started from a model's."""
    parents = {(read.case, read.based_on) for read in found.reads if read.based_on}
    by: dict[str, list[str]] = {}
    for read in found.reads:
        if read.automatic and (read.case, read.rater) in parents:
            by.setdefault(read.rater, []).append(read.case)
    return by


def _pictureless(reasons: Mapping[str, str]) -> Iterator[str]:
    for case, why in list(reasons.items())[:1]:
        others = f"; likewise {len(reasons) - 1} more" if len(reasons) > 1 else ""
        yield f"case {case}: its images could not be read ({why}), so that the study has none{others}"


def _identical(reads: Sequence[Reading], drawn: Sequence[Drawn]) -> Counter[tuple[str, str]]:
    """Pairs of raters, and in how many cases their masks are the same, pixel by pixel, and not empty."""
    seen: dict[tuple[str, str], list[str]] = {}
    for read, one in zip(reads, drawn, strict=True):
        if one.marked and not read.based_on:
            seen.setdefault((read.case, one.checksum), []).append(read.rater)
    pairs = Counter[tuple[str, str]]()
    for raters in seen.values():
        names = sorted(set(raters))
        pairs.update((a, b) for i, a in enumerate(names) for b in names[i + 1 :])
    return pairs


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
    gathered: ReadingSet
    rows: tuple[tuple[object, ...], ...]
    """Of ``reads.csv``."""
    notes: tuple[str, ...]

    @property
    def statuses(self) -> Mapping[str, int]:
        return Counter(str(row[READS.index("status")]) for row in self.rows)


def write_study(
    found: ReadingSet,
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


def _finished(read: Reading) -> Reading:
    return replace(read, status="done" if read.marks else "empty") if read.status == "unfinished" else read


def _key(read: Reading) -> tuple[str, str, str]:
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


def _pictures(found: ReadingSet, stage: Path, layout: Layout) -> dict[str, str]:
    """Write the images that came with the annotations: by case, why there is none; nothing where there is one."""
    first: dict[str, Reading] = {}
    for read in found.reads:
        if read.picture is not None and read.picture.suffix in SUFFIXES:
            first.setdefault(read.case, read)
    return {case: _written(case, read, stage, layout) for case, read in first.items()}


def _written(case: str, read: Reading, stage: Path, layout: Layout) -> str:
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


def _rows(
    found: ReadingSet, layout: Layout, drawn: Mapping[tuple[str, str, str], Drawn]
) -> Iterator[tuple[object, ...]]:
    """Of every rater and case, also where there is nothing."""
    by: dict[tuple[str, str], list[Reading]] = {}
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


def _some_images(found: ReadingSet, layout: Layout, template: str | None) -> None:
    """Refuse a template that fits other images than those of the study."""
    if template is None:
        return
    there = {one.fields["case"] for one in Template(template).find()}
    if not there & set(layout.cases.values()):
        raise StudyError(
            f"--images {template!r} finds {few(sorted(there), 3)}, and cases are called {few(found.cases, 3)}; "
            "name the images, or the cases (--cases OLD=NEW), alike"
        )


def print_import(found: Imported, console: Console) -> None:
    """Who read what, what to know, and how to go on."""
    lines = (*_told(found), *(f"note: {note}" for note in found.notes), *_next(found))
    for line in lines:
        console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def _told(found: Imported) -> list[str]:
    gathered = found.gathered
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(found.statuses.items()))
    return [
        f"{counted(len(gathered.cases), 'case')}, {counted(len(gathered.raters), 'rater')} "
        f"({_some(gathered.raters)}): {counted(len(found.rows), 'read')}, {statuses}",
        f"structures: {_some(gathered.structures) or 'none was marked'}",
    ]


def _some(names: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _next(found: Imported) -> list[str]:
    study = quote(str(found.folder / "study.toml"))
    there = ", ".join(name for name in WRITTEN if (found.folder / name).exists())
    return [f"written to {found.folder}: {there}", f"next: manytruths report {study}"]
