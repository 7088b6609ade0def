"""Task lists of annotation tools for readings that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args

from ...core.errors import CallError
from ...exchange.labelstudio import write_labelstudio_tasks

TaskList = Literal["labelstudio"]
"""Tools that take lists of tasks."""


def check_tasks(tasks: TaskList | None) -> None:
    """Refuse a tool for which there is no list."""
    if tasks is not None and tasks not in get_args(TaskList):
        raise CallError(f"--tasks is one of {', '.join(get_args(TaskList))}; got {tasks!r}")


def write_tasks(folder: Path, readings: Iterable[tuple[str, int, str]], images: Mapping[str, str]) -> Path:
    """Write one task for each case: whom it is for, and its place among the readings of each of them.

    Parameters
    ----------
    folder : Path
        Where the file goes.
    readings : iterable of (str, int, str)
        Rater, place and case.
    images : mapping of str to str
        What the tool calls the image of a case; the case itself where it is not there.

    Returns
    -------
    Path
        The file.
    """
    by_case: dict[str, dict[str, int]] = {}
    for rater, order, case in readings:
        by_case.setdefault(case, {})[rater] = order
    tasks = []
    for case, orders in by_case.items():
        places = {f"order of {rater}": order for rater, order in orders.items()}
        tasks.append((images.get(case, case), {"case": case, "asked": ", ".join(orders), **places}))
    write_labelstudio_tasks(folder / "labelstudio.json", tasks)
    return folder / "labelstudio.json"
