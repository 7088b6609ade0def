"""One case of a report: everything that is computed while its arrays are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..analyses.agree.case import CaseAgreement, MapOptions, analyse_reading
from ..analyses.evaluate.evaluate import CaseEvaluation
from ..analyses.evaluate.evaluate import analyse_reading as evaluate_reading
from ..analyses.evaluate.marks import EvaluatePlan
from ..analyses.fuse.case import CaseFusion, CaseMaps, FusePlan, estimate_case
from ..io import Location, write_text
from ..io.results import file_digest
from ..study import Case
from ..study.case import Reading, Sources
from .case_view import ViewPlan, thumbnail, view_data
from .layers import layer_case


@dataclass(frozen=True)
class FileRead:
    """A file that was read, and the digest of its content."""

    path: str
    kind: str
    """mask, image, prediction, …"""
    case: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class View:
    """What the page shows of a case: a thumbnail, and the data of the viewer, inside the page or in a file."""

    thumbnail: str = ""
    """A data URL; empty where cases are not shown."""
    inside: str = ""
    """The data as JSON; empty where it is in a file."""
    file: str = ""
    """The file, relative to the page."""


@dataclass(frozen=True)
class CasePlan:
    """How cases are analysed and shown."""

    maps: MapOptions
    fuse: FusePlan
    evaluate: EvaluatePlan | None
    """None: there are no predictions."""
    view: ViewPlan | None
    """None: cases are not shown."""
    folder: Path | None = None
    """Folder for views, one file each; without one, views go inside the page."""
    numbers: dict[str, int] = field(default_factory=dict)
    """The number of each case, which names its file."""


@dataclass(frozen=True)
class CaseFindings:
    """What the report needs of a case when its arrays are gone."""

    agreement: CaseAgreement
    fusion: CaseFusion
    evaluation: CaseEvaluation | None
    view: View
    files: tuple[FileRead, ...]


def analyse_case(case: Case, plan: CasePlan) -> CaseFindings:
    """Read the files of a case once, analyse them and make its view."""
    reading = case.read()
    agreement, fusing = analyse_reading(reading, plan.maps), estimate_case(reading, plan.fuse)
    view = _make_view(reading, fusing, plan, plan.view) if plan.view is not None else View()
    evaluation = evaluate_reading(reading, plan.evaluate) if plan.evaluate is not None else None
    return CaseFindings(agreement, fusing.kept, evaluation, view, tuple(_files_read(case)))


def _make_view(reading: Reading, fusing: CaseMaps, plan: CasePlan, showing: ViewPlan) -> View:
    import msgspec

    layered = layer_case(reading, fusing, plan.maps, responses=showing.images)
    content = msgspec.json.encode(view_data(reading, layered, showing)).decode()
    small = thumbnail(reading, layered, showing)
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
    listed: set[Path] = set()
    for kind, sources in kinds:
        for path in _paths(sources):
            # an image may be missing: the case is then shown without it
            if path not in listed and path.is_file():
                listed.add(path)
                size = path.stat().st_size
                yield FileRead(path.as_posix(), kind, case.name, size, _file_digest(path, size))


@lru_cache(maxsize=16)
def _file_digest(path: Path, size: int) -> str:
    """The digest of a file; an archive of many cases is read once."""
    return file_digest(path)


def _paths(sources: Sources | None) -> list[Path]:
    """The files of a mask or image; an empty mask that stands for no file has none."""
    locations = list(sources.values()) if isinstance(sources, dict) else [sources]
    return [place.path for place in locations if isinstance(place, Location) and not place.blank]
