"""What is said about tally files: what they leave out, and what merging patterns changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.undefined import Note
from ..study import Study
from .sentences import counted, join_names

LEFT_OUT = "tallied"
"""The code of the note on what tally files have no pixels for."""
MERGED = "merged_patterns"
"""The code of the note on patterns that were merged."""


def tallied_notes(study: Study, needs_pixels: Sequence[str]) -> Iterator[Note]:
    """What a command leaves out where the study comes from tally files, and how far their tables were changed."""
    found = study.tallied
    if found is None:
        return
    files = "a tally file" if len(found.about) == 1 else f"{len(found.about)} tally files"
    stayed = sorted({what for about in found.about for what in about.left_out})
    without = join_names([*needs_pixels, *stayed], 20)
    yield Note(LEFT_OUT, f"the study comes from {files}, without pixels{f'; left out: {without}' if without else ''}")
    if found.merged:
        pixels = sum(int(case.counted.counts.sum()) for case in study if case.counted is not None)
        least = sorted({about.least for about in found.about if about.least > 1})
        yield Note(
            MERGED,
            f"patterns of fewer than {' or '.join(map(str, least))} pixels were merged when the files were written: "
            f"{found.merged:,} of {pixels:,} pixels ({found.merged / pixels:.2g} of all) have another pattern than in "
            "the masks, so that numbers differ a little from theirs",
        )


def sharing_notes(
    *, cases: int, merged: int, pixels: int, patterns: int, area: float, dice: float, least: int, stayed: Sequence[str]
) -> Iterator[str]:
    """What a tally file does not hold of its study, and what merging patterns changed."""
    if stayed:
        yield f"not in the file: {join_names(list(stayed), 20)}"
    if least > 1:
        yield (
            f"patterns of fewer than {least} pixels: {counted(patterns, 'pattern')} in {counted(cases, 'case')} merged "
            f"into the nearest; {merged:,} of {pixels:,} pixels changed. The number of pixels that a rater marked in a "
            f"case changes by at most {area:.2%}, the mean Dice of two raters in a case by at most {dice:.4f}"
        )
    else:
        yield "patterns of single pixels are in the file; --least 5 merges patterns of fewer than 5 pixels into others"
