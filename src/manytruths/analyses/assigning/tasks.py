"""Tasks of annotation tools for readings that are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from ...core.errors import CallError, InputError, find_name_fault
from ...exchange.cvat_tasks import write_cvat_task
from ...exchange.labelstudio import write_labelstudio_tasks
from ...io import Location, Template, safe_name
from ...study import Study
from ..importing.layout import image_names

TaskList = Literal["cvat", "labelstudio"]
"""Tools that take tasks."""


@dataclass(frozen=True)
class TaskImages:
    """Images of cases, as far as they are known.

    Attributes
    ----------
    names : mapping of str to str
        What a tool calls the image of a case; the case itself where it is not there.
    files : mapping of str to Location
        Where the images are.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Location] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study) -> TaskImages:
        """Of a study; also of cases that nobody has read, where a template says where images are."""
        files = {case.name: case.image for case in study if case.image is not None}
        own = {name: location.path.name for name, location in files.items()}
        if study.options.images:
            for match in Template(study.options.images, require=("case",)).find():
                place = (match.fields.get("subject", ""), match.fields["case"])
                files.setdefault("/".join(filter(None, place)), match.location)
        return cls(own | image_names(study), files)


def check_tasks(tasks: TaskList | None) -> None:
    """Refuse a tool for which there are no tasks."""
    if tasks is not None and tasks not in get_args(TaskList):
        raise CallError(f"--tasks is one of {', '.join(get_args(TaskList))}; got {tasks!r}")


def write_tasks(
    folder: Path, tool: TaskList, readings: Iterable[tuple[str, int, str]], images: TaskImages, labels: Sequence[str]
) -> list[Path]:
    """Write the tasks of everybody: for Label Studio one list, for CVAT a backup for each rater.

    Parameters
    ----------
    folder : Path
        Where the files go.
    tool : {"cvat", "labelstudio"}
        For which tool.
    readings : iterable of (str, int, str)
        Rater, place and case.
    images : TaskImages
        The images of the cases.
    labels : sequence of str
        Names of what is marked, for tasks of CVAT.

    Returns
    -------
    list of Path
        The files.
    """
    readings = sorted(readings, key=lambda one: one[1])
    if tool == "labelstudio":
        return [_write_list(folder / "labelstudio.json", readings, images.names)]
    by_rater: dict[str, list[str]] = {}
    for rater, _, case in readings:
        by_rater.setdefault(rater, []).append(case)
    return [
        write_cvat_task(folder / "cvat" / f"{safe_name(rater)}.zip", rater, _name_files(cases, images), labels)
        for rater, cases in by_rater.items()
    ]


def _write_list(path: Path, readings: Iterable[tuple[str, int, str]], images: Mapping[str, str]) -> Path:
    """One task for each case: whom it is for, and its place among the readings of each of them."""
    by_case: dict[str, dict[str, int]] = {}
    for rater, order, case in readings:
        by_case.setdefault(case, {})[rater] = order
    tasks = []
    for case, orders in by_case.items():
        places = {f"order of {rater}": order for rater, order in orders.items()}
        tasks.append((images.get(case, case), {"case": case, "asked": ", ".join(orders), **places}))
    write_labelstudio_tasks(path, tasks)
    return path


def _name_files(cases: Iterable[str], images: TaskImages) -> dict[str, Location]:
    """The images of a rater's cases in order, by their names in CVAT."""
    named, often = dict[str, Location](), Counter(images.names.values())
    for case in cases:
        at = images.files.get(case)
        if at is None or not at.path.is_file():
            where = "is not there" if at is None else f"{at.path} is not there"
            raise InputError(
                f"case {case}: its image {where}, and a CVAT task holds its images; say where they are: "
                'next --images "FOLDER/{case}.png", or assign "FOLDER/{case}.png"'
            )
        known = images.names.get(case, "")
        called = _name_file(case, at, known if often[known] == 1 else "")
        if called in named:
            raise InputError(f"case {case}: its image is called {called!r} as that of another case; rename one")
        named[called] = at
    return named


def _name_file(case: str, at: Location, known: str) -> str:
    """As the tool called the image before, so that what comes back belongs to the same case; else as the case."""
    pieces = PurePosixPath(known).parts
    fitting = known and not find_name_fault(known) and not {"..", "/"} & {*pieces} and not {*"?\\:"} & {*known}
    if fitting and PurePosixPath(known).suffix.lower() == at.path.suffix.lower():
        return "/".join(pieces)
    return "/".join(map(safe_name, case.split("/"))) + at.path.suffix
