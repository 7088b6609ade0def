"""How far the outlines of two raters are apart."""

from __future__ import annotations

from ..core.undefined import Note, code, reason
from ..io.result_tables import Row
from .agreement import MANY_LABELS, AgreementFacts, averaged_over, two_raters
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, is_defined, significant_digits
from .sentences import Cell, Sentence, compose, join_parts, label_words, number_word, spell_count

BETWEEN = ClaimKind(
    "distances.between", "estimate",
    "The outlines of two raters are so far apart, by the 95% Hausdorff and the mean surface distance, in mm or pixels; "
    "so many pairs of masks have no distance, as one of the two is empty.",
    "The distances are defined for a subject and have one unit; the interval needs ten subjects, and of several labels "
    "ten that have each of them.",
    "coverage of the interval, which a long tail of distances makes too short",
)  # fmt: skip
LABELS = ClaimKind(
    "distances.labels", "estimate",
    "Label by label, the mean surface distance of two raters is so much.",
    "There are several labels; a label has a number where two raters marked it, and an interval from ten such subjects "
    "on.",
    "as distances.between",
)  # fmt: skip
KINDS = (BETWEEN, LABELS)

FAR, MEAN = "hausdorff_95", "mean_surface_distance"


def consider_distances(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    """Consider every claim about distances between raters, from the table ``agreement``."""
    far, mean = (table.row(name) for name in (FAR, MEAN))
    if far is None and mean is None:
        return
    if not is_defined(far) or not is_defined(mean):
        gap = far.value if far is not None and code(far.value) else None
        why = Note(code(gap), reason(gap)) if gap is not None else Note("undefined", "it was not computed")
        log.consider(BETWEEN, ("The distance between the outlines of two raters is known.",), why_not=why)
        return
    of = two_raters(facts)
    of = f"{of[:1].lower()}{of[1:]}"

    def sentence(past: bool) -> Sentence:
        text = (
            "The outlines of {of} {be} {far} {unit} apart by the 95% Hausdorff distance and {mean} {unit} by the mean "
            "surface distance{average}{over}.{gaps}"
        )
        average = ", on average" if facts.subjects > 1 or facts.raters > 2 or facts.labels else ""
        return compose(
            text, of=of, be="were" if past else "are", far=_quote(table, far), mean=_quote(table, mean),
            unit=far.unit, average=average, over=averaged_over(far, facts),
            gaps=() if facts.labels else _gaps(table, past),
        )  # fmt: skip

    log.consider(BETWEEN, sentence(False), result=sentence(True))
    if facts.labels:
        _consider_labels(log, table, facts)


def _quote(table: TableIndex, row: Row) -> Cell:
    return table.quote(row, significant_digits(row.value))


def _gaps(table: TableIndex, past: bool) -> Sentence:
    """How many pairs of masks have no distance, as one of the two is empty, or both are."""
    one, both = (table.row(f"distances_{which}_empty", "pooled") for which in ("one", "both"))
    is_, are, have = ("was", "were", "had") if past else ("is", "are", "have")
    parts: list[tuple[Row, str]] = []
    if is_defined(one) and one.value:
        parts.append((one, f"as one of the two {is_} empty"))
    if is_defined(both) and both.value:
        parts.append((both, f"as both {are}{'' if parts else ' empty'}"))
    if not parts:
        return ()
    (first, why), *rest = parts
    have = "has" if first.value == 1 and not past else have
    said = compose(f" Of {first.n:,} pairs of masks, {{}} {have} no distance, {why}", table.quote(first, 0))
    more = (compose(f", and {{}} more, {reason_}", table.quote(row, 0)) for row, reason_ in rest)
    return (*said, *(part for sentence in more for part in sentence), ".")


def _consider_labels(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    rows = [row for row in (table.row(MEAN, label=label) for label in facts.labels) if is_defined(row)]
    rows = sorted(rows, key=lambda row: row.value)
    shown = rows if len(rows) <= MANY_LABELS else [rows[0], rows[-1]]
    parts = [
        (_quote(table, row), f" {row.unit} for {label_words(row.label)}{_some(table, row, facts)}") for row in shown
    ]
    many = f", the least and the most of {number_word(len(rows))} labels" if shown is not rows else ""

    def sentence(verb: str) -> Sentence:
        return compose("Label by label, the mean surface distance {} {}{}.", verb, join_parts(parts), many)

    others = tuple(_quote(table, row) for row in rows if row not in shown)
    log.consider(LABELS, sentence("is"), result=sentence("was"), rests_on=others)


def _some(table: TableIndex, row: Row, facts: AgreementFacts) -> str:
    """For how many subjects the distance of a label is defined, where not for all."""
    if row.n is None or row.n >= facts.subjects:
        return ""
    return f" (over {number_word(row.n)} of {spell_count(facts.subjects, facts.subject_word)})"
