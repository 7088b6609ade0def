"""Scores of lesions against a reference: one-to-one matches of every two masks that are compared.

Lesions are matched greedily by falling IoU, under the rule of the study.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.runs import LabelRuns, read_runs
from ...core.tally import Tally
from ...core.undefined import Undefined, ratio
from ...lesions.marks import TooManyLesions, find_marks
from ...lesions.matching import LesionMatch, LesionPair
from ...shape.components import find_components, number_runs
from ...study.case import Reading
from ...study.consensus import binary_mask, decided_marks
from ...study.lesions import lesion_mask

Array = NDArray[Any]
Key = tuple[Column, Column]
"""Who is scored, and against whom."""
Scores = dict[str, float]
ReferenceLesions = Mapping[str, Mapping[Key, Scores]]
"""Of one case: scores by label, and by who is scored against which given reference."""
LESIONS = ("lesion_sensitivity", "lesion_precision", "lesion_f1", "lesion_pq", "lesion_sq", "lesion_rq")


def match_pairs(
    reading: Reading, masks: Mapping[Column, Array], pairs: Iterable[Key], outside: NDArray[np.bool_] | None = None
) -> dict[Key, LesionPair | None]:
    """The matched lesions of pairs of masks, without what lies in ``outside``; None where there are too many."""
    keys = list(pairs)
    columns = list(dict.fromkeys(column for key in keys for column in key))
    names = {column: str(i) for i, column in enumerate(columns)}
    try:
        match = find_lesions(reading, {names[c]: masks[c] for c in columns}, outside)
    except TooManyLesions:
        return dict.fromkeys(keys)
    return {(who, whom): match.pair(names[whom], names[who]) for who, whom in keys}


def find_lesions(reading: Reading, masks: Mapping[str, Array], outside: NDArray[np.bool_] | None = None) -> LesionMatch:
    """All lesions of some masks, of which only pairs are looked at."""
    inside, options = reading.inside, reading.case.options
    if outside is not None and reading.is_large:
        rest = reading.runs(outside).marks().complement()
        inside = rest if inside is None else rest.intersect(read_runs(inside))
    elif outside is not None:
        inside = ~outside if inside is None else inside & ~outside
    marks = find_marks(masks, spacing=reading.grid.spacing, instances=options.instances, region=inside)
    return LesionMatch(marks, options.lesions, np.zeros(len(marks), np.intp))


def number_components(mask: Array | LabelRuns) -> Array:
    """A mask as an instance map of its components; of runs, as runs."""
    if isinstance(mask, LabelRuns):
        numbered = number_runs(mask.marks())
        return LabelRuns(mask.shape, numbered.starts, numbered.stops, numbered.owner + 1)  # type: ignore[return-value]
    marks = np.ma.filled(mask, False).astype(bool)
    found, numbers = find_components(marks), np.zeros(marks.shape, np.int32)
    numbers[found.box] = found.numbers
    return numbers


def lesion_scores(pair: LesionPair | None, *, turned: bool = False) -> Scores:
    """The scores of the second of a pair against the first, or the other way round."""
    if pair is None:
        return dict.fromkeys(LESIONS, Undefined("too_many_lesions"))
    reference, judged = (pair.count_b, pair.count_a) if turned else (pair.count_a, pair.count_b)
    if not reference and not judged:
        return dict.fromkeys(LESIONS, Undefined("both_empty"))
    values = (
        ratio(pair.matched, reference, "second_empty"), ratio(pair.matched, judged, "first_empty"),
        pair.f1, pair.pq, pair.sq, pair.rq,
    )  # fmt: skip
    return dict(zip(LESIONS, values, strict=True))


def score_reference_lesions(
    reading: Reading,
    table: Tally,
    labels: Mapping[str, int | None],
    consensus: Mapping[str, Array | LabelRuns] | None = None,
) -> ReferenceLesions:
    """Raters and consensuses of a case against each given reference, by label and its value; None is any mark.

    ``consensus`` are masks in the labels of the raters. Nothing where no label is background.
    """
    if not reading.references or table.labels.background is None:
        return {}
    raters = {c: reading.masks[c] for c in (table.columns[i] for i in table.raters) if c in reading.masks}
    drawn = {**raters, **reading.references}
    decided = {Column(name, "algorithm"): decided_marks(array) for name, array in (consensus or {}).items()}
    keys = [(who, whom) for who in (*raters, *decided) for whom in reading.references]
    scored: dict[int | None, dict[Key, Scores]] = {}
    for value in dict.fromkeys(labels.values()):
        masks = {c: lesion_mask(array, value, reading) for c, array in drawn.items()}
        marked = {c: binary_mask(array, value, None) for c, array in decided.items()}
        numbered = reading.case.options.instances
        masks |= {c: number_components(mask) if numbered else mask for c, mask in marked.items()}
        scored[value] = {key: lesion_scores(pair) for key, pair in match_pairs(reading, masks, keys).items()}
    return {label: scored[value] for label, value in labels.items()}
