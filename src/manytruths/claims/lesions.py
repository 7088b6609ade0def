"""Which lesions the raters found: how many, by how many of them, how alike they drew them, and how far a rule decides.

A lesion is a connected mark, or all pixels of a value where masks number their lesions. Where such marks are no unit
that anybody would count (the vessels of a retina are one mark and its fragments), nothing is said about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..core.undefined import Note, reason
from ..io.result_tables import Row
from ..lesions.rules import Rule
from .claim import ClaimKind, ClaimLog, Claims
from .numbers import TableIndex, is_defined, telling_digits
from .sentences import Cell, Sentence, compose, counted, label_words

MOST_MARKS = 100
"""With more marks a mask, on average, they are a texture."""
SPECK = 3
"""Pixels of a mark that may as well be noise."""
WHOLE = 0.9
"""Where the largest mark holds more of a mask, on average over masks with several, the others are its fragments."""
UNIT = (
    "A mask has more than one mark, but not more than 100 on average; half of the marks have more than 3 pixels; where "
    "there are several, the largest holds at most 90% of its mask, on average; and no mask has many single pixels."
)

FOUND = ClaimKind(
    "lesions.found", "description",
    "The raters marked so many lesions in so many cases, so many of them by all with a mask of the case and by one "
    "alone; of several labels, by label.",
    f"Somebody marked a lesion that two raters rated. {UNIT}",
)  # fmt: skip
AGREEMENT = ClaimKind(
    "lesions.agreement", "estimate",
    "The chance that another rater finds a lesion that one rater found (positive agreement) is so much, on average "
    "over subjects. Kappa is not defined, as nobody marks what is no lesion.",
    "As lesions.found; the interval needs ten subjects with a lesion.",
    "coverage of the interval",
)  # fmt: skip
DELINEATION = ClaimKind(
    "lesions.delineation", "estimate",
    "Lesions that two or more raters found overlap by a mean Dice of so much; the panoptic quality of two raters is so "
    "much.",
    "As lesions.found, and a lesion that two raters found; intervals need ten subjects.",
    "coverage of the intervals",
)  # fmt: skip
SPLIT = ClaimKind(
    "lesions.split", "description",
    "So many lesions were drawn as one by some raters and as several by others, and how the parts count.",
    "As lesions.found, and there is such a lesion.",
)  # fmt: skip
THRESHOLD = ClaimKind(
    "lesions.threshold", "description",
    "How many lesions all raters found, with the loosest and with the strictest rule.",
    "As lesions.found, and the number or that of all lesions depends on the rule.",
)  # fmt: skip
KINDS = (FOUND, AGREEMENT, DELINEATION, SPLIT, THRESHOLD)
IDS = tuple(kind.id for kind in KINDS)
FINDERS = ("lesions_compared", "lesions_found_by_all", "lesions_found_by_one", "lesions_overlapping_others")


@dataclass(frozen=True)
class LesionFacts:
    """What sentences on lesions need to know beside the tables.

    Attributes
    ----------
    raters, subjects : int
        How many there are; of exchangeable raters, the most of any case.
    subject : str
        ``case`` or ``patient``.
    labels : tuple of str
        The labels but background, where there are several.
    rule : Rule
        When two marks are the same lesion.
    unit : str
        Of distances: ``mm`` or ``pixels``.
    instances : bool
        Whether the values of masks number their lesions.
    everybody : bool
        Whether every rater read every case.
    specks : tuple of str
        Cases with a mask of many single pixels.
    """

    raters: int
    subjects: int
    subject: str = "case"
    labels: tuple[str, ...] = ()
    rule: Rule = field(default_factory=Rule)
    unit: str = "pixels"
    instances: bool = False
    everybody: bool = True
    specks: tuple[str, ...] = ()


def consider_lesions(log: ClaimLog, table: TableIndex, curve: TableIndex, facts: LesionFacts) -> None:
    """Consider every claim about lesions, label by label, from the tables ``detection`` and ``detection_curve``."""
    for label in facts.labels or ("",):
        about = f"label {label}" if label else ""
        why = _no_unit(table, label, facts)
        for kind in KINDS if why is not None else ():
            log.consider(kind, (kind.says,), about=about, why_not=why)
        if why is None:
            _consider_found(log, table, label, about, facts)
            _consider_agreement(log, table, label, about, facts)
            _consider_delineation(log, table, label, about, facts)
            _consider_split(log, table, label, about)
            _consider_threshold(log, curve, label, about, facts)


def lesion_labels(claims: Claims, labels: tuple[str, ...]) -> list[str]:
    """The labels (or an empty one, where there is one label only) whose marks can be counted as lesions."""
    said = {claim.about for claim in claims.of(FOUND.id).made}
    return [label for label in labels or ("",) if (f"label {label}" if label else "") in said]


def _no_unit(table: TableIndex, label: str, facts: LesionFacts) -> Note | None:
    """Why marks cannot be counted as lesions; None where they can."""
    names = ("lesions_compared", "marks", "most_marks", "median_mark", "largest_mark_share")
    lesions, marks, most, size, largest = (table.row(name, "pooled", "", "", label=label) for name in names)
    if lesions is None or marks is None or most is None:
        return Note("undefined", "it was not computed")
    if not is_defined(marks):
        return Note("too_many_lesions", reason(marks.value))
    if not lesions.value:
        return Note("no_lesion", "nobody marked anything that two raters could have marked")
    if most.value < 2:
        return Note("one_mark_each", "no mask has more than one mark: what is said of masks is said of lesions")
    a_mask = marks.value / (marks.n or 1)
    if a_mask > MOST_MARKS:
        return Note("texture", f"a mask has {a_mask:.0f} marks on average")
    if is_defined(size) and size.value <= SPECK:
        return Note("specks", f"half of the marks have {size.value:g} pixels or fewer")
    if is_defined(largest) and largest.value > WHOLE:
        share = f"{largest.value:.{telling_digits(largest.value, 0, percent=True)}%}"
        return Note("fragments", f"where masks have several marks, the largest holds {share} on average")
    if facts.specks:
        return Note("masks_doubtful", f"{counted(len(facts.specks), 'mask')} of many single pixels")
    return None


def rule_words(rule: Rule, unit: str, raters: int = 2) -> str:
    """When the marks of so many raters are the same lesion: of more than two, by the mean over pairs of marks.

    >>> rule_words(Rule(), ""), rule_words(Rule("distance", 5), "mm")
    ('an IoU of 0.50 or more', 'centres at most 5 mm apart')
    >>> rule_words(Rule(), "", raters=3), rule_words(Rule("distance", 5), "mm", raters=3)
    ('a mean IoU of 0.50 or more', 'centres at most 5 mm apart on average')
    """
    several = raters > 2
    if rule.name == "distance":
        return f"centres at most {rule.threshold:g} {unit} apart{' on average' if several else ''}"
    if rule.name == "overlap":
        return f"at least {rule.threshold:.0%} of the smaller one in common{' on average' if several else ''}"
    return f"{'a mean' if several else 'an'} IoU of {rule.threshold:.2f} or more"


def _consider_found(log: ClaimLog, table: TableIndex, label: str, about: str, facts: LesionFacts) -> None:
    rows = [table.row(name, "pooled", "", "", label=label) for name in FINDERS]
    every, by_all, by_one, near = (row for row in rows if row is not None)
    what = "values of the masks" if facts.instances else "connected marks"
    everybody = "all raters" if facts.everybody else "all with a mask of the case"
    who = "both raters" if facts.raters == 2 else everybody
    drawn = table.row("lesions", "pooled", "", "", label=label)
    rated = " that two or more of them rated" if drawn is not None and drawn.value > every.value else ""
    touching: Sentence = ()
    if near.value:
        verb = "overlaps" if near.value == 1 else "overlap"
        cell = table.quote(near, 0)
        which = compose("{} of these", cell) if by_one.value > 1 else (replace(cell, shown="it"),)
        touching = compose(" ({} {}, less closely, with what another rater drew)", which, verb)
    sentence = compose(
        "{start} raters marked {every} {lesions}{rated} ({what}; those with {rule} count as the same) in {cases}: "
        "{by_all} by {who}, and {by_one} by one rater alone{touching}.",
        start=f"Of {label_words(label)}, the" if label else "The", every=table.quote(every, 0),
        lesions="lesion" if every.value == 1 else "lesions", rated=rated, what=what,
        rule=rule_words(facts.rule, facts.unit, facts.raters),
        cases=counted(every.n or 0, "case"), by_all=table.quote(by_all, 0), who=who, by_one=table.quote(by_one, 0),
        touching=touching,
    )  # fmt: skip
    log.consider(FOUND, sentence, about=about, result=sentence)


def _of_label(label: str) -> str:
    return f" of {label_words(label)}" if label else ""


def _over(row: Row, facts: LesionFacts) -> str:
    """`` on average over 21 of 24 patients``; nothing with a single subject."""
    if facts.subjects < 2:
        return ""
    some = f"{row.n} of {facts.subjects}" if row.n is not None and row.n < facts.subjects else str(facts.subjects)
    return f" on average over {some} {facts.subject}s"


def _consider_agreement(log: ClaimLog, table: TableIndex, label: str, about: str, facts: LesionFacts) -> None:
    row = table.row("positive_agreement", "mean", "", "", label=label)
    if not is_defined(row):
        log.consider(AGREEMENT, (AGREEMENT.says,), about=about, why_not=_undefined(row))
        return
    who = "the other rater" if facts.raters == 2 else "another rater"

    def sentence(is_: str, finds: str) -> Sentence:
        text = "The chance that {} {} a lesion{} that one rater found (positive agreement) {} {}{}."
        value = table.quote(row, telling_digits(row.value))
        return compose(text, who, finds, _of_label(label), is_, value, _over(row, facts))

    log.consider(AGREEMENT, sentence("is", "finds"), about=about, result=sentence("was", "found"))


def _undefined(row: Row | None) -> Note:
    return Note("undefined", "it is undefined for every subject" if row is not None else "it was not computed")


def _consider_delineation(log: ClaimLog, table: TableIndex, label: str, about: str, facts: LesionFacts) -> None:
    dice, quality = (table.row(name, "mean", "", "", label=label) for name in ("matched_dice", "pq"))
    if not is_defined(dice) or not is_defined(quality):
        log.consider(DELINEATION, (DELINEATION.says,), about=about, why_not=_undefined(dice))
        return

    def sentence(overlap: str, is_: str) -> Sentence:
        text = "Lesions{} that {} found {} by a mean Dice of {}{}; the panoptic quality of two raters, in which missed "
        text += "lesions count, {} {}{}."
        numbers = [table.quote(row, telling_digits(row.value)) for row in (dice, quality)]
        finders = "both raters" if facts.raters == 2 else "two or more raters"
        also = _over(quality, facts) if quality.n != dice.n else ""
        return compose(
            text, _of_label(label), finders, overlap, numbers[0], _over(dice, facts), is_, numbers[1], also
        )  # fmt: skip

    log.consider(DELINEATION, sentence("overlap", "is"), about=about, result=sentence("overlapped", "was"))


def _consider_split(log: ClaimLog, table: TableIndex, label: str, about: str) -> None:
    split, every = (table.row(name, "pooled", "", "", label=label) for name in ("lesions_split", FINDERS[0]))
    if not is_defined(split) or not is_defined(every) or not split.value:
        why = Note("none_split", "no lesion was drawn as one by a rater and as several by another")
        log.consider(SPLIT, (SPLIT.says,), about=about, why_not=why)
        return

    def sentence(verb: str) -> Sentence:
        text = (
            "{} of the {} lesions{} {} drawn as one by some raters and as several by others: parts that do not match "
            "the whole count as lesions of their own, and a rater none of whose parts matches has not found it."
        )
        return compose(text, table.quote(split, 0), table.quote(every, 0), _of_label(label), verb)

    now, then = ("is", "was") if split.value == 1 else ("are", "were")
    log.consider(SPLIT, sentence(now), about=about, result=sentence(then))


def _consider_threshold(log: ClaimLog, curve: TableIndex, label: str, about: str, facts: LesionFacts) -> None:
    ends = list(_ends(curve, label, facts.rule))
    if len(ends) < 2 or len({(found.value, every.value) for _, found, every in ends}) == 1:
        why = Note("rule_does_not_matter", "the loosest and the strictest rule find the same lesions")
        log.consider(THRESHOLD, (THRESHOLD.says,), about=about, why_not=why)
        return

    def part(threshold: float, found: Row, every: Row, of: bool) -> Sentence:
        words = rule_words(Rule(facts.rule.name, threshold), facts.unit, facts.raters)
        numbers: tuple[Cell, Cell] = (curve.quote(found, 0), curve.quote(every, 0))
        return compose("{} of {}{} with {}", *numbers, " lesions" if of else "", words)

    def sentence(verb: str) -> Sentence:
        text = "How many lesions{} all raters found {} on how closely they must match: {}, and {}."
        parts = [part(*end, of=i == 0) for i, end in enumerate(ends)]
        return compose(text, _of_label(label), verb, *parts)

    log.consider(THRESHOLD, sentence("depends"), about=about, result=sentence("depended"))


def _ends(curve: TableIndex, label: str, rule: Rule) -> Iterator[tuple[float, Row, Row]]:
    """The loosest and the strictest threshold, with the lesions that all raters found, and all of them."""
    first, last = rule.series[0], rule.series[-1]
    for threshold in (last, first) if rule.name == "distance" else (first, last):
        rows = [curve.row(name, "pooled", "", "", threshold, label=label) for name in FINDERS[:2]]
        if is_defined(rows[0]) and is_defined(rows[1]):
            yield threshold, rows[1], rows[0]
