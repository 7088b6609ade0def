"""Cases whose masks are files of outlines: which image they were drawn on, and which label each class is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core.columns import natural_key
from ..core.errors import ManytruthsError, StudyError
from ..core.labels import MAX_LABELS, Labels
from ..io import Location
from ..io.files import Canvas
from ..io.geojson import UNCLASSIFIED
from ..io.outline_files import is_outline_file, list_classes
from .case import Case
from .options import Options


def place_outlines(cases: Sequence[Case], options: Options) -> list[Case]:
    """Cases whose files of outlines know their image and labels; labels that are not declared are the classes."""
    drawn = [source for case in cases for by_label in case.masks.values() for source in by_label.values()]
    drawn = [source for source in drawn if is_outline_file(source) and not source.blank]  # type: ignore[union-attr]
    beside = any(is_outline_file(source) for case in cases for source in _sources_beside(case))
    if not drawn and not beside:
        return list(cases)
    if drawn and options.instances:
        raise StudyError("instances means that values of the masks number lesions, and outlines have no numbers")
    named = any(case.structures for case in cases)
    if drawn and options.labels is None and not named:
        options = replace(options, labels=_find_labels(drawn))
    return [_place(case, options, named) for case in cases]


def _find_labels(drawn: Sequence[Any]) -> Labels | None:
    """The classes of all files, numbered in natural order; None where nothing is classified."""
    names = set[str]()
    for source in drawn:
        with suppress(ManytruthsError):  # said where the file is read for its outlines
            names |= list_classes(source.path)
    if names <= {UNCLASSIFIED}:
        return None
    if len(names) >= MAX_LABELS:
        raise StudyError(
            f"the outlines have {len(names)} classes, more than {MAX_LABELS - 1}; unite them in the tool, or declare "
            "labels"
        )
    return Labels.of(dict(enumerate(sorted(names, key=natural_key), start=1)))


def _place(case: Case, options: Options, named: bool) -> Case:
    labels = (
        None
        if named or options.labels is None
        else tuple(zip(options.labels.names, options.labels.values, strict=True))
    )
    size = None if options.image_size is None else (options.image_size[1], options.image_size[0])
    canvas, plain = Canvas(case.image, size, labels), Canvas(case.image, size)

    def on(source: Any, where: Canvas = canvas) -> Any:
        if isinstance(source, Mapping):
            return {name: on(part, where) for name, part in source.items()}
        return replace(source, canvas=where) if isinstance(source, Location) and is_outline_file(source) else source

    edits = {
        column: replace(edit, source=on(edit.source), origin=None if edit.origin is None else on(edit.origin))
        for column, edit in case.edits.items()
    }
    return replace(
        case, options=options, masks=on(case.masks), predictions=on(case.predictions), references=on(case.references),
        samples=on(case.samples),
        edits=edits, roi=on(case.roi, plain), training=on(case.training, plain),
    )  # fmt: skip


def _sources_beside(case: Case) -> list[Any]:
    groups: list[Mapping[Any, Any]] = [case.predictions, case.references, case.training, *case.samples.values()]
    found = [part for group in groups for source in group.values() for part in _parts(source)]
    return [*found, *([] if case.roi is None else [case.roi])]


def _parts(source: Any) -> list[Any]:
    return [part for each in source.values() for part in _parts(each)] if isinstance(source, Mapping) else [source]
