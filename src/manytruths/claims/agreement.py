"""How far the raters agree: overlap, kappa and alpha with their intervals, words for them, and Krippendorff's rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..agreement import interpret_interval
from ..core.undefined import Note, code, reason
from ..inference.intervals import MIN_SUBJECTS
from ..io.result_tables import Row
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, has_interval, is_defined, telling_digits
from .sentences import (
    Cell,
    Sentence,
    case_links,
    compose,
    counted,
    join_names,
    join_parts,
    label_words,
    number_word,
    spell_count,
    there_are,
)

LEAST_RATERS = 3
"""Fewest raters for a verdict."""
FIRM, TENTATIVE = 0.8, 0.667
"""Krippendorff's limits of alpha, for conclusions and for tentative ones."""
SMALL = 0.1
"""Shares below it have a decimal."""
UNLIKELY = 0.05
"""Failures that would go unseen with this chance are mentioned, unless they are as rare as that."""
MANY_LABELS = 6
"""With more labels, only those with the most and the least overlap are named."""

SCALES = {"landis_koch": "Landis and Koch", "fleiss": "Fleiss", "altman": "Altman", "shrout": "Shrout"}
"""Authors of the scales of words for kappa."""

COUNTED_REGIONS = {
    "whole": "all {item}s that were rated",
    "mask": "the {item}s of each case's region of interest",
    "union": "the {item}s that any rater marked",
    "modified_background": "the {item}s that any rater marked, and at most as many of the background",
    "mixed": "a region that differs between cases",
}
"""Which items count, by the name of the region in tables."""

OVERLAP = ClaimKind(
    "agreement.overlap", "estimate",
    "Two raters overlap by a Dice of so much, on average over pairs and subjects; of several labels, the macro mean. "
    "Where both marked, their areas or volumes differ by so much.",
    "Dice is defined for a subject; the interval needs ten subjects, and of several labels ten that have each of them.",
    "coverage of the interval",
)  # fmt: skip
LABELS = ClaimKind(
    "agreement.labels", "estimate",
    "Label by label, each against the rest, two raters overlap by a Dice of so much.",
    "There are several labels; a label has a number where anybody used it, and an interval from ten such subjects on.",
    "coverage of the intervals",
)  # fmt: skip
BEYOND_CHANCE = ClaimKind(
    "agreement.beyond_chance", "estimate",
    "Fleiss' kappa is so much over a region, and of whole images so much with only as much background as was marked; "
    "the words of a scale cover the intervals of both. Labels whose own kappa gets other words are named.",
    "Kappa is defined for a subject; words need the interval, and so ten subjects, and three raters.",
    "coverage of the interval",
)  # fmt: skip
ALPHA = ClaimKind(
    "agreement.alpha", "estimate",
    "Krippendorff's alpha is so much, on average over subjects; of whole images, also with only as much background as "
    "was marked.",
    "Alpha is defined for a subject; the interval needs ten subjects.",
    "coverage of the interval",
)  # fmt: skip
OVER_BOTH = ClaimKind(
    "agreement.over_both", "estimate",
    "The same means with intervals that hold for other subjects and other raters like these.",
    "The intervals over subjects and raters exist: ten subjects and three raters who are named.",
    "coverage of the intervals over both",
)  # fmt: skip
RELIABLE = ClaimKind(
    "agreement.reliable", "equivalence",
    "By Krippendorff's rule the marks are reliable enough for conclusions; labels for which alone this is not shown "
    "are named.",
    "The lower limit of mean alpha is 0.8 or more, of whole images also with only as much background as was marked; "
    "ten subjects, three raters, and no masks that look like copies.",
    "mean alpha over subjects of 0.8",
)  # fmt: skip
FOR_TENTATIVE = ClaimKind(
    "agreement.tentative", "equivalence",
    "By Krippendorff's rule tentative conclusions can be drawn; labels for which alone this is not shown are named.",
    "The lower limit of mean alpha is 0.667 or more and below 0.8, of whole images also with only as much background "
    "as was marked; ten subjects, three raters, no apparent copies.",
    "mean alpha over subjects of 0.667",
)  # fmt: skip
UNRELIABLE = ClaimKind(
    "agreement.unreliable", "difference",
    "By Krippendorff's rule the marks are not reliable enough to draw conclusions; labels that alone are, are named.",
    "The upper limit of mean alpha is below 0.667; ten subjects and three raters.",
    "mean alpha over subjects of 0.667",
)  # fmt: skip
UNDECIDED = ClaimKind(
    "agreement.undecided", "description",
    "Whether the marks are reliable enough by Krippendorff's rule cannot be told; below 0.8, whether for tentative "
    "conclusions.",
    "The interval of mean alpha holds 0.667; ten subjects and three raters.",
)  # fmt: skip
REGION_DECIDES = ClaimKind(
    "agreement.region_decides", "description",
    "Whether the marks are reliable enough by Krippendorff's rule depends on how much background is counted.",
    "Over whole images the rule allows conclusions, and not the same ones with only as much background as was marked; "
    "ten subjects, three raters, no apparent copies.",
)  # fmt: skip
EMPTY = ClaimKind(
    "agreement.empty", "description",
    "In so many cases nobody marked anything, or some raters marked nothing, or none of a label, where others did.",
    "There is such a case.",
)  # fmt: skip
KINDS = (
    OVERLAP, LABELS, EMPTY, BEYOND_CHANCE, ALPHA, OVER_BOTH, RELIABLE, FOR_TENTATIVE, UNRELIABLE, UNDECIDED,
    REGION_DECIDES,
)  # fmt: skip
VERDICTS = (RELIABLE.id, FOR_TENTATIVE.id, UNRELIABLE.id, UNDECIDED.id, REGION_DECIDES.id)
"""Claims about Krippendorff's rule."""


@dataclass(frozen=True)
class AgreementFacts:
    """What the sentences on agreement need to know beside the table."""

    raters: int
    subjects: int
    subject_word: str = "case"
    pixel_word: str = "pixel"
    region: str = "whole"
    scale: str = "landis_koch"
    labels: tuple[str, ...] = ()
    """The labels but background, where there are several."""
    background: bool = True
    """Whether there is background beside the labels."""
    apart: bool = False
    """Whether some raters share no case with the others, so that no number is about all of them."""
    exchangeable: bool = False
    doubt: Note | None = None
    """Why masks cannot be taken for independent readings, so that nothing is called reliable."""
    nothing_marked: tuple[str, ...] = ()
    """Cases in which nobody marked anything."""
    one_empty: tuple[str, ...] = ()
    """Cases in which some raters marked nothing, and others did."""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of several labels, the cases in which some raters marked none of one, and others did."""

    @property
    def where(self) -> str:
        """Which pixels count."""
        known = COUNTED_REGIONS.get(self.region)
        return f"over {known.format(item=self.pixel_word)}" if known else f"over the region {self.region}"


def consider_agreement(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    """Consider every claim about the agreement of all raters, from the table ``agreement``."""
    _consider_overlap(log, table, facts)
    if facts.labels:
        _consider_labels(log, table, facts)
    _consider_empty(log, table, facts)
    _consider_kappa(log, table, facts)
    _consider_both(log, table, facts)
    _consider_alpha(log, table, facts)


def _undefined(row: Row | None) -> Note:
    return Note("undefined", "it is undefined for every subject" if row is not None else "it was not computed")


def _consider_overlap(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    row = table.row("dice")
    if not is_defined(row):
        log.consider(OVERLAP, ("Two raters overlap.",), why_not=_undefined(row))
        return
    sizes = _size_difference(table, row, facts)
    text = "{who} overlap{ed} by a {mean}Dice of {dice}{over}{size}."

    def sentence(past: bool) -> Sentence:
        be = tuple(p.replace("{be}", "was" if past else "is") if isinstance(p, str) else p for p in sizes)
        return compose(
            text, who=two_raters(facts), ed="ped" * past,
            mean="mean " if facts.subjects > 1 or facts.raters > 2 or facts.labels else "",
            dice=table.quote(row, telling_digits(row.value)),
            over=averaged_over(row, facts), size=be,
        )  # fmt: skip

    log.consider(OVERLAP, sentence(False), result=sentence(True))


def size_difference(pixel_word: str) -> str:
    """``relative area difference``, of volumes ``relative volume difference``."""
    return f"relative {'area' if pixel_word == 'pixel' else 'volume'} difference"


def _size_difference(table: TableIndex, dice: Row, facts: AgreementFacts) -> Sentence:
    """The difference of sizes where both of two raters marked: with an empty mask it is 200%, whatever the other is."""
    every, row = (table.row(f"volume_difference{part}") for part in ("", "_both_marked"))
    if not is_defined(row) or not is_defined(every):
        return ()
    quoted, name = table.quote(row, 1 if row.value < SMALL else 0, percent=True), size_difference(facts.pixel_word)
    if (row.value, row.n) == (every.value, every.n):
        return (f"; their {name} {{be}} ", quoted)
    some = f" over {spell_count(row.n or 0, facts.subject_word)}" if row.n != dice.n else ""
    return (f"; where both of them marked, their {name} {{be}} ", quoted, some)


def two_raters(facts: AgreementFacts) -> str:
    """The subject of a sentence about two raters of any case."""
    if facts.raters == 2 and not facts.exchangeable:
        return "The two raters"
    return "Two raters of the same case" if facts.apart else "Two raters"


def averaged_over(row: Row, facts: AgreementFacts) -> str:
    """`` over pairs, 10 of 12 patients and two labels, each against the rest``."""
    some = f"{row.n} of {facts.subjects}" if row.n is not None and row.n < facts.subjects else str(facts.subjects)
    over = ["pairs of raters"] if facts.raters > 2 else []
    over += [f"{some} {facts.subject_word}s"] if facts.subjects > 1 else []
    over += [f"{spell_count(len(facts.labels), 'label')}, each against the rest"] if facts.labels else []
    return f" over {join_names(over)}" if over else ""


def _some_subjects(row: Row, facts: AgreementFacts) -> str:
    """For how many subjects a mean is defined, where not for all."""
    if row.n is None or row.n >= facts.subjects:
        return ""
    return f" (defined for {number_word(row.n)} of {facts.subjects})"


def _consider_labels(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    """Dice of each label, the highest first."""
    known = list(filter(is_defined, (table.row("dice", label=label) for label in facts.labels)))
    rows = sorted(known, key=lambda row: -row.value)
    if not rows:
        log.consider(LABELS, ("Dice differs between labels.",), why_not=_undefined(None))
        return
    shown = rows if len(rows) <= MANY_LABELS else [rows[0], rows[-1]]
    parts: list[Sentence] = [
        (table.quote(row, telling_digits(row.value)), f" for {label_words(row.label)}{_some_subjects(row, facts)}")
        for row in shown
    ]
    unused = [label for label in facts.labels if label not in {row.label for row in rows}]
    rest = f" Nobody used {' or '.join(map(label_words, unused[:MANY_LABELS]))}." if unused else ""
    many = f", the most and the least of {len(rows)} labels" if shown is not rows else ""
    values = join_parts(parts)

    def sentence(verb: str) -> Sentence:
        return compose("Label by label, Dice {} {}{}.{}", verb, values, many, rest)

    others = tuple(table.quote(row) for row in rows if row not in shown)
    log.consider(LABELS, sentence("is"), result=sentence("was"), rests_on=others)


def _consider_empty(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    """Cases in which nobody, or only some raters, marked anything."""
    texts = {
        "nothing_marked": "In {} of {} ({}) nobody marked anything: overlap and kappa {} undefined there.",
        "condition_1": "In {} of {} ({}) some raters marked nothing where others did: their Dice with them {} 0 there.",
    }
    found = {"nothing_marked": facts.nothing_marked, "condition_1": facts.one_empty}
    for name, cases in found.items():
        row = table.row(name, "pooled")
        if cases and is_defined(row):
            verbs = ("are", "were") if name == "nothing_marked" else ("is", "was")
            numbers = (table.quote(row, 0), counted(row.n or 0, "case"), case_links(cases))
            sentence, result = (compose(texts[name], *numbers, verb) for verb in verbs)
            log.consider(EMPTY, sentence, about=name, result=result)
    for label in facts.labels:
        _consider_left_out(log, table, label, facts.left_out.get(label, ()))
    if not any((*found.values(), *facts.left_out.values())):
        every = ", and every label that another marked there" if facts.labels else ""
        why = Note("none_empty", f"every rater marked something in every case that they read{every}")
        log.consider(EMPTY, ("Some raters marked nothing in some cases.",), why_not=why)


def _consider_left_out(log: ClaimLog, table: TableIndex, label: str, cases: Sequence[str]) -> None:
    """Cases in which some raters marked none of a label, and Dice among the pairs who both marked it."""
    row, nobody = (table.row(name, "pooled", label=label) for name in ("condition_1", "nothing_marked"))
    if not cases or not is_defined(row) or not is_defined(nobody):
        return
    both = table.row("dice_both_marked", label=label)

    def sentence(verb: str) -> Sentence:
        rest: Sentence = ()
        if is_defined(both):
            rest = compose("; where both of two raters did, mean Dice {} {}", verb, table.quote(both))
        used = counted((row.n or 0) - int(nobody.value), "case")
        text = "In {} of the {} in which anybody marked {} ({}) some raters marked none of it{}."
        return compose(text, table.quote(row, 0), used, label_words(label), case_links(cases), rest)

    log.consider(EMPTY, sentence("is"), about=f"label {label}", result=sentence("was"))


def _on_average(row: Row, facts: AgreementFacts) -> str:
    """`` on average over patients``, or over how many of them; nothing with a single subject."""
    if facts.subjects < 2:
        return ""
    some = f"{row.n} of {facts.subjects} " if row.n is not None and row.n < facts.subjects else ""
    return f" on average over {some}{facts.subject_word}s"


def _consider_kappa(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    row = table.row("fleiss_kappa")
    if not is_defined(row):
        log.consider(BEYOND_CHANCE, ("Raters agree beyond chance.",), why_not=_undefined(row))
        return
    ground = " and background" if facts.background else ""
    of = f" of {spell_count(len(facts.labels), 'label')}{ground} at once" if facts.labels else ""
    other = _with_less_background(table, row)
    word = level_words(row, facts.scale, facts.raters, other)
    words = f": {word} by the scale of {SCALES[facts.scale]}" if word else ""

    def sentence(verb: str) -> Sentence:
        text = "Fleiss' kappa, the agreement beyond chance{} {}, {} {}{}{}{}."
        less: Sentence = ()
        if other is not None:
            depends = "depends" if verb == "is" else "depended"
            more = f"; it {depends} on how much background {verb} counted, and {verb} {{}} {LESS_BACKGROUND}"
            less = compose(more, table.quote(other))
        alone = _other_words(table, facts, word, verb)
        return compose(text, of, facts.where, verb, table.quote(row), _on_average(row, facts), less, (words, *alone))

    log.consider(BEYOND_CHANCE, sentence("is"), result=sentence("was"))


def _other_words(table: TableIndex, facts: AgreementFacts, word: str, verb: str) -> Sentence:
    """The labels whose own kappa gets other words than that of all labels at once."""
    parts: list[Sentence] = []
    for label in facts.labels if word else ():
        row = table.row("fleiss_kappa", label=label)
        own = level_words(row, facts.scale, facts.raters) if is_defined(row) else ""
        if row is not None and own and own != word:
            parts.append((f"{label_words(label)} (kappa ", table.quote(row), f") {verb} {own}"))
    return ("; taken alone, ", *join_parts(_few(parts))) if parts else ()


def _few(parts: list[Sentence]) -> list[Sentence]:
    """The first parts and, in words, how many more there are."""
    if len(parts) <= MANY_LABELS:
        return parts
    return [*parts[:MANY_LABELS], (f"{number_word(len(parts) - MANY_LABELS)} more labels likewise",)]


LESS_BACKGROUND = "with only as much background as was marked"


def _with_less_background(table: TableIndex, row: Row) -> Row | None:
    """The same number with only as much background as was marked; None where that is no other number."""
    other = table.row(f"{row.statistic}_modified_background")
    return other if is_defined(other) and other.value != row.value else None


def _consider_both(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    """Dice and kappa with intervals over subjects and raters."""
    names = {"dice": "the mean Dice", "fleiss_kappa": "Fleiss' kappa"}
    rows = [(name, table.row(f"{statistic}_over_both")) for statistic, name in names.items()]
    parts: list[Sentence] = [(f"{name} ", "{be} ", table.quote(row)) for name, row in rows if has_interval(row)]
    if not parts:
        each = f"other {facts.subject_word}s and other raters"
        text = f"The mean Dice and Fleiss' kappa have intervals that hold for {each}."
        log.consider(OVER_BOTH, (text,), why_not=_why_not_both([row for _, row in rows], facts))
        return
    text = f"With intervals that hold for other {facts.subject_word}s and other raters like these, {{}}."

    def sentence(verb: str) -> Sentence:
        said = join_parts(parts)
        return compose(text, tuple(f"{verb} " if part == "{be} " else part for part in said))

    log.consider(OVER_BOTH, sentence("is"), result=sentence("was"))


def _why_not_both(rows: Sequence[Row | None], facts: AgreementFacts) -> Note:
    """Why there is no interval over subjects and raters."""
    if facts.exchangeable:
        return Note("raters_not_named", "raters are exchangeable: what one of them contributes is not known")
    if facts.raters < LEAST_RATERS:
        return Note("too_few_raters", f"it takes {LEAST_RATERS} raters; {there_are(facts.raters)}")
    known = [row for row in rows if row is not None]
    lacks = next((reason(end) for row in known for end in (row.value, row.low) if end is not None and code(end)), "")
    return Note("no_interval_over_both", lacks or "it was not computed")


def level_words(row: Row, scale: str, raters: int, *others: Row | None) -> str:
    """The words of a scale that the interval of a kappa covers, and those of the same kappa over other regions.

    Empty where there is no interval, or with fewer than three raters: then it says nothing about raters at all.
    """
    if raters < LEAST_RATERS or not has_interval(row):
        return ""
    known = [r for r in (row, *others) if has_interval(r)]
    low, high = min(float(r.low or 0.0) for r in known), max(float(r.high or 0.0) for r in known)
    return interpret_interval(low, high, scale)


def _consider_alpha(log: ClaimLog, table: TableIndex, facts: AgreementFacts) -> None:
    """Alpha, and Krippendorff's rule on its mean over subjects."""
    row = table.row("krippendorff_alpha")
    if not is_defined(row):
        log.consider(ALPHA, ("Krippendorff's alpha is known.",), why_not=_undefined(row))
        return

    other = _with_less_background(table, row)
    less = compose(", and {} {}", table.quote(other), LESS_BACKGROUND) if other is not None else ()

    def sentence(verb: str) -> Sentence:
        text = "Krippendorff's alpha, {}, {} {}{}{}."
        return compose(text, facts.where, verb, table.quote(row), _on_average(row, facts), less)

    log.consider(ALPHA, sentence("is"), result=sentence("was"))
    _consider_rule(log, table, row, other, facts)


TENSES = ({"be": "are", "could": "can", "cannot": "cannot"}, {"be": "were", "could": "could", "cannot": "could not"})
"""Of verbs in texts: present and past."""
RULE = "Krippendorff asks for an alpha of 0.80, or of 0.667 for tentative conclusions"


def _consider_rule(log: ClaimLog, table: TableIndex, row: Row, other: Row | None, facts: AgreementFacts) -> None:
    few = _too_few(row, facts)
    low, high = (0.0, 1.0) if few or row.low is None or row.high is None else (row.low, row.high)
    made = _rule(low, high)
    region = _region_decides(row, other, made)
    rests_on = [table.quote(each) for each in (row, other) if each is not None]
    firm = "; whether firm ones {could}, too, {cannot} be told" if high >= FIRM else "; firm ones {cannot}"
    texts = {
        RELIABLE: "the marks {be} reliable enough for conclusions{granted}",
        FOR_TENTATIVE: "tentative conclusions {could} be drawn{granted}" + firm,
        UNRELIABLE: "the marks {be} not reliable enough to draw conclusions",
        UNDECIDED: "whether the marks {be} reliable enough {cannot} be told",
    }
    if high < FIRM:
        texts[UNDECIDED] = (
            "the marks {be} not reliable enough for firm conclusions; whether for tentative ones {cannot} be told"
        )
    by = f"by the confidence interval of its mean over {facts.subject_word}s"
    for kind, text in texts.items():
        favourable = kind in (RELIABLE, FOR_TENTATIVE)
        unseen = unseen_failures(row.n or 0, facts.subject_word) if favourable else ("", "")
        now, then = (text.format(**words, granted=more) for words, more in zip(TENSES, unseen, strict=True))
        why = few or (None if kind is made else Note("other_side", f"the interval is {low:.2f} to {high:.2f}"))
        why = why or ((region or facts.doubt) if favourable else None)
        alone = (_labels_alone(table, facts, kind, past=past) for past in (False, True))
        said, told = (
            (f"{RULE}; {by}, {words}", *labels, ".") for words, labels in zip((now, then), alone, strict=True)
        )
        log.consider(kind, said, result=told, rests_on=rests_on, why_not=why)
    _consider_region(log, rests_on, made, other, few or (facts.doubt if region else NO_MATTER), facts)


def _labels_alone(table: TableIndex, facts: AgreementFacts, kind: ClaimKind, *, past: bool) -> Sentence:
    """The labels that, each against the rest, do not reach a favourable verdict, or reach more than another one."""
    rows = [row for label in facts.labels if is_defined(row := table.row("krippendorff_alpha", label=label))]
    asked = {RELIABLE: FIRM, FOR_TENTATIVE: TENTATIVE}.get(kind)
    if asked is not None:
        lacking = [row for row in rows if not has_interval(row) or (row.low or 0.0) < asked]
        named: list[Sentence] = [(f"{label_words(r.label)} (alpha ", table.quote(r), ")") for r in lacking]
        be = "was" if past else "is"
        return (f"; this {be} not shown for ", *join_parts(_few(named)), " taken alone") if named else ()
    reach, parts = "reached" if past else "reaches", list[Sentence]()
    for row in rows:
        low = (row.low or 0.0) if has_interval(row) else 0.0
        if low >= TENTATIVE:
            limit = "0.80" if low >= FIRM else "0.667"
            parts.append((f"{label_words(row.label)} (alpha ", table.quote(row), f") {reach} {limit}"))
    return ("; taken alone, ", *join_parts(_few(parts))) if parts else ()


NO_MATTER = Note("region_does_not_matter", "the rule says the same for the regions compared, or there is one only")
MET = {RELIABLE: "it {} met", FOR_TENTATIVE: "it {} met for tentative conclusions", UNRELIABLE: "it {} not met"}
"""What Krippendorff's rule says; of others it cannot be told."""


def _region_decides(row: Row, other: Row | None, made: ClaimKind) -> Note | None:
    """Why a verdict over whole images is withheld: with less background it is another one."""
    if not has_interval(row) or not has_interval(other) or _rule(other.low or 0.0, other.high or 0.0) is made:
        return None
    ends = [f"{r.low:.2f} to {r.high:.2f}" for r in (row, other)]
    return Note("region_decides", f"the interval is {ends[0]} over whole images, and {ends[1]} {LESS_BACKGROUND}")


def _consider_region(
    log: ClaimLog, rests_on: Sequence[Cell], made: ClaimKind, other: Row | None, why: Note | None, facts: AgreementFacts
) -> None:
    """Consider saying that the verdict depends on how much background is counted."""
    found = _rule(other.low or 0.0, other.high or 0.0) if has_interval(other) else made
    if why is None and made not in (RELIABLE, FOR_TENTATIVE):
        why = Note("not_favourable", "over whole images the rule allows no conclusions, so that none is withheld")
    by = f"by the confidence intervals of mean alpha over {facts.subject_word}s"

    def sentence(be: str, depends: str, cannot: str) -> Sentence:
        here, there = (MET.get(kind, f"it {cannot} be told").format(be) for kind in (made, found))
        return (f"{RULE}; whether this {be} met {depends} on how much background {be} counted: {by}, {here} "
                f"{facts.where}, and {there} {LESS_BACKGROUND}.",)  # fmt: skip

    now, then = sentence("is", "depends", "cannot"), sentence("was", "depended", "could not")
    log.consider(REGION_DECIDES, now, result=then, rests_on=rests_on, why_not=why)


def unseen_failures(n: int, subject: str, what: str = "a study") -> tuple[str, str]:
    """What a favourable verdict takes for granted, now and in the past: no interval knows of failures not seen."""
    share = 1 - UNLIKELY ** (1 / n) if n else 1.0
    if share < UNLIKELY:
        return "", ""
    text = (
        f", provided that {subject}s without agreement {{}} rare ({what} of {n} can miss a share of up to {share:.0%})"
    )
    return text.format("are"), text.format("were")


def _rule(low: float, high: float) -> ClaimKind:
    if low >= TENTATIVE:
        return RELIABLE if low >= FIRM else FOR_TENTATIVE
    return UNRELIABLE if high < TENTATIVE else UNDECIDED


def _too_few(row: Row, facts: AgreementFacts) -> Note | None:
    if facts.raters < LEAST_RATERS:
        return Note("too_few_raters", f"a verdict needs {LEAST_RATERS} raters; {there_are(facts.raters)}")
    if facts.apart:
        return Note("disconnected_raters", "some raters share no case with the others")
    if not has_interval(row):
        return Note("too_few_subjects", f"a verdict needs {MIN_SUBJECTS} subjects; {there_are(row.n or 0)}")
    return None
