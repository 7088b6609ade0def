"""What is done with one case while its masks are in memory: everything, so that it is read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..analyses.agree.case import CaseAgreement, MapOptions, analyse_reading
from ..analyses.fuse.fused import Fused
from ..analyses.fuse.fusing import FusePlan, fused
from ..io import Location, write_text
from ..io.ledger import file_digest
from ..study import Case
from ..study.case import Reading, Sources
from .findings import FileRead, View
from .views.layers import layer_case
from .views.view import ViewPlan, thumbnail, view_data


@dataclass(frozen=True)
class CasePlan:
    """How cases are examined, fused and shown."""

    examine: MapOptions
    fuse: FusePlan
    view: ViewPlan | None
    """None shows nothing of any case."""
    folder: Path | None = None
    """Where views are written, each as a file; inside the page where there is none."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Of each case."""


@dataclass(frozen=True)
class CaseFindings:
    """What is kept of a case."""

    examined: CaseAgreement
    fused: Fused
    view: View
    files: tuple[FileRead, ...]


def analyse_case(case: Case, plan: CasePlan) -> CaseFindings:
    """One case, read once."""
    reading = case.read()
    found, made = analyse_reading(reading, plan.examine), fused(reading, plan.fuse)
    shown = View()
    if plan.view is not None:
        seen = layer_case(reading, made, plan.examine, responses=plan.view.images)
        content = _json(view_data(reading, seen, plan.view))
        shown = _place_view(reading, plan, content, thumbnail(reading, seen, plan.view))
    return CaseFindings(found, made.kept, shown, tuple(_files_read(case)))


def _json(value: object) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _place_view(reading: Reading, plan: CasePlan, content: str, small: str) -> View:
    if plan.folder is None:
        return View(small, content)
    number = plan.numbers[reading.case.name]
    write_text(plan.folder / f"{number}.js", f"manytruthsCase({number}, {content});\n")
    return View(small, file=f"{number}.js")


def _files_read(case: Case) -> Iterator[FileRead]:
    """Every file of a case, with its digest."""
    kinds: list[tuple[str, Sources | None]] = [("mask", source) for source in case.masks.values()]
    kinds += [("edited mask", edit.source) for edit in case.edits.values()]
    kinds += [("mask edited", edit.origin) for edit in case.edits.values()]
    kinds += [("rank map", source) for source in case.ranks.values()]
    kinds += [("prediction", source) for source in case.predictions.values()]
    kinds += [("reference", source) for source in case.references.values()]
    kinds += [("training area", source) for source in case.training.values()]
    kinds += [("image", case.image), ("region", case.roi)]
    seen: set[Path] = set()
    for kind, sources in kinds:
        for place in _locations(sources):
            # an image may be missing: the case is then shown without it
            if place.path not in seen and place.path.is_file():
                seen.add(place.path)
                size = place.path.stat().st_size
                yield FileRead(place.path.as_posix(), kind, case.name, size, _file_digest(place.path, size))


@lru_cache(maxsize=16)
def _file_digest(path: Path, size: int) -> str:
    """Of a file's content; an archive of many cases is read once."""
    return file_digest(path)


def _locations(source: Sources | None) -> list[Location]:
    """The files; an empty mask that stands for no file is none."""
    several = list(source.values()) if isinstance(source, dict) else [source]
    return [one for one in several if isinstance(one, Location) and not one.blank]
