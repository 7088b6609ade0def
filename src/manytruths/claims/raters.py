"""Claims about raters: who draws larger or smaller, outliers, two groups, copies, shared errors, unequal cases.

All of them compare raters with each other, or with a reference that was given: never with a consensus that their own
marks entered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..core.undefined import Note
from ..inference.intervals import MIN_SUBJECTS
from ..inference.rater_tests import FEWEST_IN_GROUPS, FEWEST_RATERS, MOST_IN_GROUPS, RaterSizeTests, RaterTests
from ..io.result_tables import Row
from ..raters.dependence import COPY, FEWEST, PossibleCopy, RaterDependence
from .claim import ALPHA, Claim, ClaimKind, ClaimLog, Claims
from .numbers import TableIndex, has_interval, is_defined
from .sentences import (
    Cell,
    Sentence,
    capitalise,
    case_links,
    compose,
    join_names,
    join_parts,
    label_words,
    lower_first,
    number_word,
    spell_count,
)

TESTED = f"at least {MIN_SUBJECTS} subjects and {FEWEST_RATERS} raters, all of whom share cases, if only through others"
EQUAL = "All raters are equal: their names can be exchanged within each subject."
LARGER = ClaimKind(
    "raters.larger",
    "difference",
    "A rater draws larger than more than half of the others.",
    f"{TESTED}; {MIN_SUBJECTS} subjects in which the rater and another marked something, with more than half of the "
    "others; paired t tests of log ratios of sizes between all pairs, adjusted by Holm over pairs and labels; no mask "
    "of the rater that is probably filled or inverted, and the same result without the masks, of anybody, that are "
    "probably broken (unless all of these of a rater are of another scale only)",
    EQUAL,
)
SMALLER = ClaimKind(
    "raters.smaller", "difference", "A rater draws smaller than more than half of the others.", LARGER.guard, EQUAL
)
OUTLIER = ClaimKind(
    "raters.outlier",
    "difference",
    "A rater is farther from the others than they are from each other.",
    f"{TESTED}; max-T step-down test by permutations of raters within subjects, of raters with {MIN_SUBJECTS} of them; "
    "no possible copies, no mask of the rater that is probably broken (empty masks, which may be lost, are named), no "
    "two groups of raters, and fewer than half of the raters who would be outliers, one after another",
    EQUAL,
)
CLUSTERS = ClaimKind(
    "raters.clusters",
    "difference",
    "The raters fall into two groups.",
    f"at least {MIN_SUBJECTS} subjects that every two raters share and {FEWEST_IN_GROUPS} to {MOST_IN_GROUPS} raters; "
    "the largest gap over all divisions into two groups of two or more, compared with permutations of raters within "
    "subjects; no possible copies",
    EQUAL,
)
COPIES = ClaimKind(
    "raters.copies",
    "description",
    "Two raters gave the same labels nearly everywhere.",
    f"the same label for more than {COPY:.0%} of the pixels where either gave another label than the most frequent "
    "one; not where most pairs are nearly as much alike",
)
ALIKE = ClaimKind(
    "raters.alike",
    "description",
    "Most raters gave the same labels nearly everywhere.",
    f"more than half of the pairs gave the same label to more than {COPY:.0%} of the pixels where either gave another "
    "label than the most frequent one, or half of the pairs to more than 90%",
)
SILENT = ClaimKind("raters.silent", "description", "A rater marked nothing.", "no pixel of the rater has a label")
DISCONNECTED = ClaimKind(
    "raters.disconnected",
    "description",
    "Some raters share no case with the others and are not compared with them.",
    "no case was read by raters of both sides",
)
DIFFERENT_CASES = ClaimKind(
    "raters.different_cases",
    "description",
    "Raters read different cases: which numbers are over the cases that all read, and which over each rater's own.",
    "some rater did not read a case that another read",
)
DEPENDENCE = ClaimKind(
    "raters.dependence",
    "description",
    "The correlation of the raters' errors that STAPLE leaves unexplained, called too low where errors are shared.",
    f"at least {FEWEST} raters",
)
EFFECTIVE = ClaimKind(
    "raters.effective",
    "description",
    "How many raters with independent errors these raters are worth.",
    "against a given reference only that is no rater's mask in any case, no vote of the raters, and not made of their "
    "masks by adjudicators",
)
KINDS = (
    LARGER, SMALLER, OUTLIER, CLUSTERS, COPIES, ALIKE, SILENT, DISCONNECTED, DIFFERENT_CASES, DEPENDENCE, EFFECTIVE,
)  # fmt: skip

COMPARISONS = (
    "raters.disconnected", "raters.different_cases", "raters.silent", "raters.clusters", "raters.outlier",
    "raters.larger", "raters.smaller",
)  # fmt: skip
"""What is said when raters are compared with each other."""
EASY = 0.9
"""Median share of the same labels from which on similar masks do not suggest copies."""
MOST_NAMED = 6
"""Of more raters, only their number is given."""
MOST_CONSIDERED = 10
"""Most raters for whom a claim of one kind is considered, those with the smallest p values."""
MANY_MISSED, MANY_ALONE = 0.25, 0.15
"""Shares from which on missed pixels, and pixels that nobody else marked, are mentioned."""


@dataclass(frozen=True)
class RaterFacts:
    """What claims about raters rest on besides the tables."""

    raters: tuple[str, ...]
    tests: RaterTests
    dependence: RaterDependence
    components: tuple[tuple[str, ...], ...]
    """Raters who can be compared; one group where all can."""
    shared: int
    """Cases that all raters read."""
    cases: int
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The cases of which raters have no mask."""
    label: str = ""
    """Label of the rows about all labels together."""
    most_frequent: str = "background"
    """The most frequent label."""
    references: Mapping[str, int] = field(default_factory=dict)
    """Given reference standards, and the number of cases that have them."""
    own_references: frozenset[str] = frozenset()
    """Those that hold the raters' own marks: one rater's mask in some case, or their vote."""
    broken: tuple[str, ...] = ()
    """Raters with a mask that is probably broken: inverted, shifted, …; not those whose empty masks may be lost."""
    lost: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The cases of which a rater's mask is empty where the others mark much."""
    filled: tuple[str, ...] = ()
    """Raters with a mask that is probably filled or inverted, so that its size means nothing."""
    sizes_without_broken: RaterSizeTests | None = None
    """The tests of sizes without the masks that are probably broken; None where none is."""
    edited: frozenset[frozenset[str]] = frozenset()
    """Pairs of whom one is known to have edited the other's masks."""
    subject: str = "case"
    pixel: str = "pixel"
    sessions: bool = False
    """Whether raters have several sessions, of which one counts."""
    not_evaluable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The cases that raters read and found not evaluable."""

    @property
    def which_cases(self) -> tuple[str, str]:
        """Which cases all raters have in common, and which two of them; a case that is not evaluable was read."""
        if any(self.not_evaluable.values()):
            return "with masks of all of them", "with masks of both"
        return "that all of them read", "that both read"

    @property
    def copies(self) -> tuple[PossibleCopy, ...]:
        """Pairs that may be copies, and are not known to be."""
        return tuple(c for c in self.dependence.copies if frozenset((c.rater_a, c.rater_b)) not in self.edited)

    @property
    def all_alike(self) -> bool:
        """Whether most pairs are nearly the same, so that the task is easy rather than masks copied."""
        known = [value for _, _, value in self.dependence.same.pairs() if not math.isnan(value)]
        return bool(known) and (2 * len(self.dependence.copies) > len(known) or median(known) >= EASY)


def consider_raters(log: ClaimLog, raters: TableIndex, pairs: TableIndex, facts: RaterFacts) -> None:
    """Consider every claim about raters."""
    _consider_design(log, facts)
    _consider_silent(log, raters, facts)
    _consider_copies(log, pairs, facts)
    _consider_outliers(log, raters, facts)
    _consider_clusters(log, raters, facts)
    for kind in (LARGER, SMALLER):
        _consider_sizes(log, kind, raters, pairs, facts)
    _consider_dependence(log, raters, facts)


def _names(names: Sequence[str]) -> Sentence:
    return join_parts([(Cell(name),) for name in names])


# -- what forbids comparisons ----------------------------------------------------------------------


def _too_little(facts: RaterFacts, fewest: int = FEWEST_RATERS) -> Note | None:
    """Why raters cannot be compared; None where they can."""
    if len(facts.components) > 1:
        return Note("disconnected_raters", "some raters share no case with the others")
    if len(facts.raters) < fewest:
        return Note("too_few_raters", f"there are {len(facts.raters)} raters; it takes {fewest}")
    if facts.tests.subjects < MIN_SUBJECTS:
        words = spell_count(facts.tests.subjects, facts.subject)
        return Note("too_few_subjects", f"there {'is' if facts.tests.subjects == 1 else 'are'} {words}; "
                                        f"it takes {number_word(MIN_SUBJECTS)}")  # fmt: skip
    return None


def _suspicious(facts: RaterFacts) -> Note | None:
    if facts.copies:
        return Note("possible_copies", "some raters may be copies, beside whom all others would seem far off")
    return None


def _consider_design(log: ClaimLog, facts: RaterFacts) -> None:
    """Raters who share no case, and raters who read different cases."""
    apart = facts.components[1:]
    if apart:
        others = [(*_names(group),) for group in apart]
        text = "{} {} no case with the other raters: nothing is said about how they compare with them."
        verbs = ("shares", "shared") if sum(map(len, apart)) == 1 else ("share", "shared")
        who = join_parts([("rater ", *other) if len(group) == 1 else ("raters ", *other)
                          for group, other in zip(apart, others, strict=True)])  # fmt: skip
        sentence, result = (capitalise(compose(text, who, verb)) for verb in verbs)
        log.consider(DISCONNECTED, sentence, result=result)
    elif facts.shared < facts.cases:
        shared = f"{spell_count(facts.shared, 'case')} {facts.which_cases[0]}"
        start = "Not all raters read every case" if facts.shared else "No case was read by all raters"
        if any(facts.not_evaluable.values()):
            start = f"{'Not every' if facts.shared else 'No'} case has a mask of every rater"
        pooled = f"over the {shared}" if facts.shared else "of different cases for different pairs"
        text = (
            f"{start} ({{missing}}): tests compare{{d}} raters within cases, and pooled Dice distances and Williams' "
            f"index {{are}} {pooled}; every other number of a rater {{is_}} over that rater's own cases, so that these "
            "numbers give no order of raters."
        )
        now, then = (
            compose(text, missing=_missing(facts), d=d, are=are, is_=is_)
            for d, are, is_ in (("", "are", "is"), ("d", "were", "was"))
        )
        if facts.sessions:
            now, then = (("In the session that counts, ", *lower_first(sentence)) for sentence in (now, then))
        log.consider(DIFFERENT_CASES, now, result=then)
    else:
        why = Note("same_cases", "every rater has a mask of every case")
        log.consider(DIFFERENT_CASES, (DIFFERENT_CASES.says,), why_not=why)


def _missing(facts: RaterFacts) -> Sentence:
    """``no mask of E in c03, no mask of F in c01 and c02``; cases that are not evaluable are called so."""
    lacking = [(rater, cases) for rater, cases in facts.missing.items() if cases]
    parts: list[Sentence] = []
    for rater, cases in lacking[:MOST_LACKING]:
        judged = facts.not_evaluable.get(rater, ())
        absent = [case for case in cases if case not in judged]
        if absent:
            parts.append(compose("no mask of {} in {}", Cell(rater), case_links(absent, 3)))
        if gone := [case for case in cases if case in judged]:
            parts.append(compose("not evaluable to {}: {}", Cell(rater), case_links(gone, 3)))
    if len(lacking) > MOST_LACKING:
        parts.append((f"and so on for {spell_count(len(lacking) - MOST_LACKING, 'more rater')}",))
    return join_parts(parts, ", ")


MOST_LACKING = 3
"""Raters whose missing masks a sentence names."""


def _consider_silent(log: ClaimLog, raters: TableIndex, facts: RaterFacts) -> None:
    silent = [r for r in facts.raters if _marked_nothing(raters, r, facts)]
    for rater in silent:
        areas = [raters.quote(row) for row in _areas(raters, rater, facts)]
        sentence = compose("Rater {} marked nothing.", Cell(rater))
        log.consider(SILENT, sentence, about=rater, result=sentence, rests_on=areas)


def _areas(raters: TableIndex, rater: str, facts: RaterFacts) -> list[Row]:
    rows = (raters.row("relative_area", "pooled", rater, label=label) for label in facts.tests.labels)
    return [row for row in rows if is_defined(row)]


def _marked_nothing(raters: TableIndex, rater: str, facts: RaterFacts) -> bool:
    areas = _areas(raters, rater, facts)
    return bool(areas) and all(row.value == 0 for row in areas)


# -- copies ----------------------------------------------------------------------------------------


def _consider_copies(log: ClaimLog, pairs: TableIndex, facts: RaterFacts) -> None:
    if not facts.copies:
        log.consider(COPIES, (COPIES.says,), why_not=Note("none_found", "no two raters are so much alike"))
        return
    if facts.all_alike:
        who = "The two raters" if len(facts.raters) == 2 else "Most raters"
        text = (
            "{} gave the same label to more than {} of the {}s where either of two gave another label than the most "
            "frequent one ({}): what they marked is so large or so easy to see that all draw alike, or else they did "
            "not work alone."
        )
        sentence = compose(text, who, f"{COPY:.0%}", facts.pixel, facts.most_frequent)
        log.consider(ALIKE, sentence, rests_on=[_same(pairs, copy) for copy in facts.copies[:MOST_CONSIDERED]])
        return
    for copy in facts.copies[:MOST_CONSIDERED]:
        text = (
            "Raters {} and {} gave the same label to {} of the {}s where either of them gave another label than the "
            "most frequent one ({}): is one a copy or an edit? If so, say it under based_on in reads.csv."
        )
        names = (Cell(copy.rater_a), Cell(copy.rater_b))
        log.consider(
            COPIES,
            compose(text, *names, _same(pairs, copy), facts.pixel, facts.most_frequent),
            about=f"{copy.rater_a} and {copy.rater_b}",
        )


def _same(pairs: TableIndex, copy: PossibleCopy) -> Cell:
    return pairs.cell("same_label", "pooled", copy.rater_a, copy.rater_b, "between", digits=1, percent=True)


# -- outliers and groups ---------------------------------------------------------------------------


def _consider_outliers(log: ClaimLog, raters: TableIndex, facts: RaterFacts) -> None:
    why = _too_little(facts) or _suspicious(facts)
    test = facts.tests.outliers
    order = [
        i for i in np.lexsort((test.p_value, test.step)).tolist() if test.step_excess[i] > 0 and test.p_value[i] < 1
    ]
    if why is None and np.isnan(test.p_value).all():
        why = _share_too_few(test.n.tolist(), facts, WITH_THREE)
    if why is not None or not order:
        nobody = Note("nobody_far", "nobody is farther from the others than they are from each other")
        log.consider(OUTLIER, ("A rater is an outlier.",), why_not=why or nobody, p_value=math.nan if why else 1.0)
    if why is not None:
        return
    for i in order[:MOST_CONSIDERED]:
        rater = facts.raters[i]
        log.consider(
            OUTLIER,
            _outlier_sentence(raters, rater, facts, "is"),
            about=rater,
            result=_outlier_sentence(raters, rater, facts, "was"),
            rests_on=[raters.cell("outlier_p", "mean", rater, label=facts.label, digits=3)],
            withheld=_no_outlier(rater, facts),
            p_value=float(test.p_value[i]),
        )
    for i in np.flatnonzero(np.isnan(test.p_value)).tolist()[:MOST_CONSIDERED]:
        few = _share_too_few([int(test.n[i])], facts, WITH_THREE)
        log.consider(OUTLIER, compose("Rater {} is an outlier.", Cell(facts.raters[i])), about=facts.raters[i],
                     why_not=few)  # fmt: skip


WITH_THREE = "with three raters who read them"
BOTH_MARKED = "in which both raters of a pair marked something"


def _share_too_few(counts: Sequence[int], facts: RaterFacts, which: str) -> Note:
    return Note("too_few_shared_subjects", f"not tested: {_too_few_words(counts, facts, which)}")


def _too_few_words(counts: Sequence[int], facts: RaterFacts, which: str) -> str:
    """``five to seven cases in which both raters of a pair marked something; it takes ten``."""
    return f"{_span(counts, facts, which)}; it takes {number_word(MIN_SUBJECTS)}"


def _span(counts: Sequence[int], facts: RaterFacts, which: str = "") -> str:
    """``five to seven cases``, and which."""
    low, high = min(counts), max(counts)
    span = (
        f"up to {spell_count(high, facts.subject)}"
        if low == 0 < high
        else (
            f"{number_word(low)} to {spell_count(high, facts.subject)}"
            if low < high
            else spell_count(high, facts.subject)
        )
    )
    return f"{span} {which}" if which else span


def _no_outlier(rater: str, facts: RaterFacts) -> Note | None:
    """Why a rater is not called an outlier, however far they are from the others."""
    if rater in facts.broken:
        return Note("broken_mask", "a mask of this rater is probably broken")
    if facts.tests.groups.p_value <= ALPHA and facts.tests.groups.gap > 0:
        return Note("one_of_a_group", "the raters seem to fall into two groups, within which they agree")
    if facts.tests.outliers.no_majority(ALPHA):
        return Note("no_majority", "one after another, half of the raters or more would be outliers")
    return None


def _outlier_sentence(raters: TableIndex, rater: str, facts: RaterFacts, verb: str) -> Sentence:
    test, i = facts.tests.outliers, facts.raters.index(rater)
    before = [r for r, step in zip(facts.raters, test.step, strict=True) if step < test.step[i]]
    excess = raters.cell("excess_distance_stepwise", "mean", rater, label=facts.label)
    text = (
        "Rater {} {} an outlier{}: over {}, their mean Dice distance{} to the others {} {} larger than that of the "
        "others among themselves{}{}."
    )
    without: Sentence = (
        (" once ", *_names(before), f" {verb if len(before) == 1 else {'is': 'are', 'was': 'were'}[verb]} left out")
        if before
        else ()
    )
    reasons = list(_outlier_reasons(raters, rater, facts, past=verb == "was"))
    why: Sentence = ("; with all cases pooled, ", *join_parts(reasons)) if reasons else ()
    subjects = spell_count(int(test.n[i]), facts.subject)
    lost = _lost_masks(facts.lost.get(rater, ()), past=verb == "was")
    return compose(text, Cell(rater), verb, without, subjects, _over_labels(facts), verb, excess, why, lost)


def _lost_masks(cases: Sequence[str], *, past: bool) -> Sentence:
    """That some of the rater's masks are empty, and may be lost."""
    if not cases:
        return ()
    are, mark = (("was", "were")[len(cases) > 1], "marked") if past else (("is", "are")[len(cases) > 1], "mark")
    text = "; {} of their masks ({}) {} empty where the others {} much, and may be lost"
    return compose(text, number_word(len(cases)), case_links(cases, 3), are, mark)


def _over_labels(facts: RaterFacts) -> str:
    """What a distance is where there are several labels."""
    return " (mean over the labels of a case)" if facts.label else ""


def _outlier_reasons(raters: TableIndex, rater: str, facts: RaterFacts, *, past: bool) -> Iterator[Sentence]:
    misses, alone = (raters.row(s, "pooled", rater, label=facts.label) for s in ("misses", "extra"))
    if is_defined(misses) and misses.value >= MANY_MISSED:
        text = "they {} {} of what at least half of the others {}"
        words = ("missed", "marked") if past else ("miss", "mark")
        yield compose(text, words[0], raters.quote(misses, 0, percent=True), words[1])
    if is_defined(alone) and alone.value >= MANY_ALONE:
        text = "nobody else marked {} of what they {}"
        yield compose(text, raters.quote(alone, 0, percent=True), "marked" if past else "mark")


def _too_many(facts: RaterFacts) -> Note | None:
    if len(facts.raters) > MOST_IN_GROUPS:
        return Note("too_many_raters", f"groups are looked for among at most {MOST_IN_GROUPS} raters")
    return None


def _consider_clusters(log: ClaimLog, raters: TableIndex, facts: RaterFacts) -> None:
    test = facts.tests.groups
    why = _too_little(facts, FEWEST_IN_GROUPS) or _suspicious(facts) or _too_many(facts)
    if why is None and math.isnan(test.p_value):
        why = _share_too_few([test.n], facts, EVERY_TWO)
    if why is not None or test.gap <= 0:
        nothing = Note("no_gap", "no division of the raters has larger distances between groups than within both")
        p_value = math.nan if why else 1.0
        log.consider(CLUSTERS, ("The raters fall into two groups.",), why_not=why or nothing, p_value=p_value)
        return
    log.consider(
        CLUSTERS,
        _cluster_sentence(raters, facts, ("fall", "is", "draws")),
        result=_cluster_sentence(raters, facts, ("fell", "was", "drew")),
        rests_on=[raters.cell(s, "mean", "", label=facts.label, digits=3) for s in ("group_gap", "group_p")],
        p_value=test.p_value,
    )


EVERY_TWO = "that every two raters share"


def _cluster_sentence(raters: TableIndex, facts: RaterFacts, verbs: tuple[str, str, str]) -> Sentence:
    fall, is_, draws = verbs
    groups = [[r for r, g in zip(facts.raters, facts.tests.groups.group, strict=True) if g == k] for k in (0, 1)]
    statistics = ("within_group_1", "within_group_2", "between_groups")
    distances = [raters.cell(s, "mean", "", label=facts.label) for s in statistics]
    text = (
        "The raters {} into two groups, one of {} and one of {}: the mean Dice distance{} {} {} and {} within them and "
        "{} between them"
    )
    start = compose(text, fall, _names(groups[0]), _names(groups[1]), _over_labels(facts), is_, *distances)
    rows = [raters.row("group_size_ratio", "mean", "", label=label) for label in facts.tests.labels]
    known = [row for row in rows if is_defined(row) and row.value > 0]
    if not known:
        return (*start, ".")
    most = max(known, key=lambda row: abs(math.log(row.value)))
    what = f" {label_words(most.label)}" if most.label else ""
    end = compose("; the first group {}{} {} times as large as the second.", draws, what, size_ratio(raters, most))
    return (*start, *end)


# -- sizes -----------------------------------------------------------------------------------------


def _consider_sizes(log: ClaimLog, kind: ClaimKind, raters: TableIndex, pairs: TableIndex, facts: RaterFacts) -> None:
    """Who draws larger, or smaller, than more than half of the others, label by label."""
    tests, word = facts.tests.sizes, kind.id.removeprefix("raters.")
    p = tests.larger if kind is LARGER else tests.smaller
    found = sorted((p[k, i], k, i) for k in range(p.shape[0]) for i in range(p.shape[1]) if p[k, i] < 1)
    why = _too_little(facts)
    if why is None and np.isnan(p).all():
        why = _share_too_few(tests.n.ravel().tolist(), facts, BOTH_MARKED)
    if why is not None or not found:
        nobody = Note("not_beyond_half", f"nobody draws {word} than more than half of the others")
        text = f"A rater draws {word} than most others."
        log.consider(kind, (text,), why_not=why or nobody, p_value=math.nan if why else 1.0)
    if why is not None:
        return
    for p_value, k, i in found[:MOST_CONSIDERED]:
        rater, label = facts.raters[i], facts.tests.labels[k]
        beyond = _beyond(tests.p_holm[k], tests.log_ratio[k] * (1 if kind is LARGER else -1), i, facts)
        rests = [pairs.cell("size_p_holm", "mean", *pair, "between", label=label, digits=3) for pair, _ in beyond]
        log.consider(
            kind,
            _size_sentence(raters, pairs, (rater, label), beyond, facts, word, ("draws", "marks", "are")),
            about=f"{rater}, {label}" if label else rater,
            result=_size_sentence(raters, pairs, (rater, label), beyond, facts, word, ("drew", "marked", "were")),
            rests_on=rests,
            withheld=_no_size(kind, k, i, facts),
            p_value=float(p_value),
        )
    for k, i in np.argwhere(np.isnan(p)).tolist()[:MOST_CONSIDERED]:
        rater, label = facts.raters[i], facts.tests.labels[k]
        does = compose("marks {}", label_words(label)) if label else ("draws",)
        sentence = compose("Rater {} {} {} than more than half of the others.", Cell(rater), does, word)
        few = _share_too_few([tests.decisive_n(k, i)], facts, "in which the rater and another marked something")
        log.consider(kind, sentence, about=f"{rater}, {label}" if label else rater, why_not=few)


def _no_size(kind: ClaimKind, label: int, rater: int, facts: RaterFacts) -> Note | None:
    """Why nothing is said of a rater's sizes, however far they are from the others'."""
    if facts.raters[rater] in facts.filled:
        return Note("broken_mask", FILLED_MASK)
    rest = facts.sizes_without_broken
    if rest is None:
        return None
    p_value = float((rest.larger if kind is LARGER else rest.smaller)[label, rater])
    if math.isnan(p_value):
        return Note("broken_mask", "without the masks that are probably broken, too little is left to test it")
    return None if p_value <= ALPHA else Note("broken_mask", "without masks that are probably broken, it does not hold")


def _beyond(
    p_holm: NDArray[np.float64], apart: NDArray[np.float64], rater: int, facts: RaterFacts
) -> list[tuple[tuple[str, str], str]]:
    """The pairs in which the rater lies beyond the other by the test, and who that is."""
    tests, names, pairs = facts.tests.sizes, facts.raters, []
    needed = (len(names) - 1) // 2
    for q, (a, b) in enumerate(zip(tests.first.tolist(), tests.second.tolist(), strict=True)):
        beyond = (a == rater and apart[q] > 0) or (b == rater and apart[q] < 0)
        if beyond and not math.isnan(p_holm[q]):
            pairs.append((float(p_holm[q]), (names[a], names[b]), names[b] if a == rater else names[a]))
    pairs.sort(key=lambda pair: pair[0])
    limit = max(CERTAIN, pairs[min(needed, len(pairs) - 1)][0])
    chosen = [pair for pair in pairs if pair[0] <= limit]
    order = {name: k for k, name in enumerate(names)}
    return [(pair, other) for _, pair, other in sorted(chosen, key=lambda found: order[found[2]])]


FILLED_MASK = "a mask of this rater is probably filled or inverted"
CERTAIN = 0.001
"""Others are named whose adjusted p value is no larger than this, or than that of the claim."""


def _size_sentence(
    raters: TableIndex, pairs: TableIndex, about: tuple[str, str], beyond: Sequence[tuple[tuple[str, str], str]],
    facts: RaterFacts, word: str, verbs: tuple[str, str, str],
) -> Sentence:  # fmt: skip
    (rater, label), others = about, [other for _, other in beyond]
    row = raters.row("relative_size", "mean", rater, label=label)
    whom: Sentence = _names(others)
    if len(others) == len(facts.raters) - 1:
        whom = ("all the other raters",) if len(others) > 2 else _names(others)
    elif len(others) > MOST_NAMED:
        whom = (f"{number_word(len(others))} of the {number_word(len(facts.raters) - 1)} other raters",)
    does = compose("{} {}", verbs[1], label_words(label)) if label else (verbs[0],)
    # who lies beyond most of the others need not lie beyond their mean, which one of them can move
    if _is_beyond_one(row, word):
        text = ": on geometric average over the other raters {} times as large (over {})"
        ratio = compose(text, size_ratio(raters, row), spell_count(row.n or 0, facts.subject))
    else:
        ratio = _pair_ratios(pairs, [pair for pair, _ in beyond], label, verbs[2])
    return compose("Rater {} {} {} than {}{}.", Cell(rater), does, word, whom, ratio)


def _is_beyond_one(row: Row | None, word: str) -> TypeGuard[Row]:
    """Whether a ratio, and its interval where it has one, lies on the side of 1 that a word says."""
    if not is_defined(row):
        return False
    ends = (row.value, row.low, row.high) if has_interval(row) else (row.value,)
    return all(end is not None and (end > 1 if word == "larger" else end < 1) for end in ends)


def _pair_ratios(pairs: TableIndex, beyond: Sequence[tuple[str, str]], label: str, be: str) -> Sentence:
    """The ratios of the pairs that were tested, as the table has them; nothing of many."""
    if len(beyond) > MOST_NAMED:
        return ()
    parts: list[Sentence] = []
    for pair in beyond:
        row = pairs.row("size_ratio", "mean", *pair, "between", label=label)
        if is_defined(row):
            parts.append(compose("{} to {} {}", *map(Cell, pair), size_ratio(pairs, row)))
    one = len(parts) == 1
    is_ = {"are": "is", "were": "was"}[be] if one else be
    return compose(f": the mean ratio{'' if one else 's'} of sizes {is_} {{}}", join_parts(parts)) if parts else ()


def size_ratio(raters: TableIndex, row: Row | None) -> Cell:
    """A ratio with so many digits that one near 1 can be told from it."""
    if not is_defined(row):
        return Cell("–")
    apart = abs(row.value - 1)
    return raters.quote(row, 2 if apart >= NEAR_ONE else 3 if apart >= NEAR_ONE / 10 else 4)


NEAR_ONE = 0.05
"""Ratios that differ less from 1 have three digits."""


# -- shared errors ---------------------------------------------------------------------------------


def _consider_dependence(log: ClaimLog, raters: TableIndex, facts: RaterFacts) -> None:
    residual = raters.row("error_correlation", "pooled", "", label=facts.label)
    if is_defined(residual):
        text = (
            "Given STAPLE's estimate of the truth{}, the raters' errors {} a mean correlation of {}. This is too low "
            "where raters share errors, which STAPLE takes for truth{}."
        )
        number, more, pooled = raters.quote(residual), "", _pooled(facts, " from")
        if facts.own_references.issuperset(facts.references):
            more = "; how many independent raters they are worth can be seen only against a given reference"
        log.consider(
            DEPENDENCE, compose(text, pooled, "have", number, more), result=compose(text, pooled, "had", number, "")
        )
    else:
        why = Note("too_few_raters", f"STAPLE explains any {FEWEST - 1} raters by independence")
        log.consider(DEPENDENCE, ("The raters' errors are correlated.",), why_not=why)
    if not facts.references:
        why = Note("no_reference_for_dependence", "there is no given reference, and a consensus hides shared errors")
        log.consider(EFFECTIVE, (FEWER,), why_not=why)
    for name in facts.references:
        _consider_effective(log, raters, facts, name)


def _consider_effective(log: ClaimLog, raters: TableIndex, facts: RaterFacts, reference: str) -> None:
    shared = raters.row("error_correlation_against_reference", "pooled", reference, label=facts.label)
    effective = raters.row("effective_raters", "pooled", reference, label=facts.label)
    if reference in facts.own_references:
        why = Note("raters_own_marks", f"{reference} is a mask or a vote of these raters, and hides their errors")
    elif not (is_defined(shared) and is_defined(effective)):
        why = Note("no_errors", f"no two raters' errors against {reference} can be compared")
    else:
        numbers = raters.quote(shared), spell_count(len(facts.raters), "rater")
        pooled, n = _pooled(facts, ", with"), facts.references[reference]
        if n < facts.cases:
            pooled = f", with the {number_word(n)} of {spell_count(facts.cases, 'case')} pooled that have it"
        where = ""
        if facts.shared < facts.cases:
            read = number_word(facts.shared) if facts.shared else "none"
            where = f"in a case that all of them read ({read} of {number_word(facts.cases)}), "
        sentence, result = (
            compose(EFFECT, Cell(reference), pooled, have, *numbers, are, raters.quote(effective, 1), where=where)
            for have, are in (("have", "are"), ("had", "were"))
        )
        log.consider(EFFECTIVE, sentence, about=reference, result=result)
        return
    log.consider(EFFECTIVE, (FEWER,), about=reference, why_not=why)


def _pooled(facts: RaterFacts, before: str) -> str:
    """That numbers are of all cases pooled, where there are several."""
    return f"{before} all cases pooled" if facts.cases > 1 else ""


EFFECT = (
    "Against the given reference {}{}, the raters' errors {} a mean correlation of {}: {where}{} {} worth about "
    "{} raters with independent errors. If these raters' marks entered the reference, that number is too high."
)
FEWER = "These raters are worth fewer raters with independent errors."


# -- what was tested -------------------------------------------------------------------------------


TESTS = ("raters.outlier", "raters.clusters", "raters.larger", "raters.smaller")
"""Claims that need a test."""


def describe_tests(facts: RaterFacts, claims: Claims) -> Iterator[Sentence]:
    """What the tests of raters did not show, what they show and is not said, and what could not be tested."""
    why = _too_little(facts)
    if why is not None:
        yield from _not_tested_at_all(why, facts)
        return
    withheld = [c for c in claims.of(*TESTS) if c.withheld is not None and c.why_not == c.withheld]
    many = [claim for claim in withheld if claim.withheld is not None and claim.withheld.code == "no_majority"]
    if many:
        names = join_parts([(Cell(claim.about),) for claim in many])
        text = "The test would call rater{} {} {}; this is not said, because {}."
        words = ("", "an outlier") if len(many) == 1 else ("s", "outliers")
        yield compose(text, words[0], names, words[1], str(many[0].withheld))
    for claim in withheld:
        if claim not in many:
            text = "The test would call {} {}; this is not said, because {}."
            yield compose(text, *_whom(claim, facts), str(claim.withheld))
    parts = [*_outlier_parts(facts), *_size_parts(facts), *_group_parts(facts)]
    made = [part for part in parts if not part.why]
    if made and not withheld and not claims.of(*TESTS).made:
        counts = {count for part in made for count in part.counts}
        over, said = "", [(f"{part.asks} ({_span(part.counts, facts, part.which)})",) for part in made]
        if len(counts) == 1:
            over, said = f" over {_span([*counts], facts)}", [(part.asks,) for part in made]
        text = "No rater can be told from the others by the {}{} of {}. This does not show that the raters are alike."
        yield compose(text, "test" if len(made) == 1 else "tests", over, join_parts(said, ", and "))
    if left := [(f"{part.asks} ({part.why})",) for part in parts if part.why]:
        yield compose("Not tested: {}.", join_parts(left, ", and "))


def _not_tested_at_all(why: Note, facts: RaterFacts) -> Iterator[Sentence]:
    if why.code == "too_few_subjects":
        yield (f"Whether raters differ is not tested: {why}. The tables show the numbers.",)
    elif why.code == "too_few_raters":
        known = not np.isnan(facts.tests.sizes.relative_low).all()
        text = "With two raters neither is called larger or an outlier; the ratio of their sizes{} is in the table."
        yield (text.format(" with its interval" if known else ""),)


def _whom(claim: Claim, facts: RaterFacts) -> tuple[Sentence, str]:
    """The rater, and what the test would call them."""
    rater = next(r for r in facts.raters if claim.about == r or claim.about.startswith(f"{r}, "))
    label = claim.about.removeprefix(rater).removeprefix(", ")
    called = "an outlier"
    if claim.kind is not OUTLIER:
        of = f" in {label_words(label)}" if label else ""
        called = f"{claim.kind.id.removeprefix('raters.')}{of} than more than half of the others"
    return ("rater ", Cell(rater)), called


@dataclass(frozen=True)
class _Question:
    """A question about raters, over how many subjects it was tested, or why it was not."""

    asks: str
    counts: Sequence[int] = ()
    which: str = ""
    why: str = ""


def _outlier_parts(facts: RaterFacts) -> Iterator[_Question]:
    test, copies = facts.tests.outliers, _suspicious(facts)
    if copies is not None:
        yield _Question("who is an outlier", why=copies)
        return
    tested = ~np.isnan(test.p_value)
    if tested.any():
        yield _Question("who is an outlier", test.n[tested].tolist())
    if not tested.all():
        which = "who is" if not tested.any() else _whether(~tested, facts, ("is", "are"))
        an = "an outlier" if not tested.any() or (~tested).sum() == 1 else "outliers"
        yield _Question(f"{which} {an}", why=_too_few_words(test.n[~tested].tolist(), facts, WITH_THREE))


def _whether(which: NDArray[np.bool_], facts: RaterFacts, verbs: tuple[str, str]) -> str:
    """``whether D is``, ``whether seven of the raters are``."""
    names = [rater for rater, here in zip(facts.raters, which, strict=True) if here]
    who = join_names(names) if len(names) <= MOST_NAMED else f"{number_word(len(names))} of the raters"
    return f"whether {who} {verbs[len(names) > 1]}"


def _size_parts(facts: RaterFacts) -> Iterator[_Question]:
    tests = facts.tests.sizes
    tested = ~np.isnan(tests.larger)
    if tested.any():
        yield _Question("who draws larger or smaller", tests.n[tests.n >= MIN_SUBJECTS].tolist(), BOTH_MARKED)
    for k, label in enumerate(facts.tests.labels):
        of = f" {label_words(label)}" if label else ""
        if not tested[k].any():
            why = _too_few_words(tests.n[k].tolist(), facts, BOTH_MARKED)
            yield _Question(f"who draws{of} larger or smaller", why=why)
        elif not tested[k].all():
            who = _whether(~tested[k], facts, ("draws", "draw"))
            counts = [tests.decisive_n(k, i) for i in np.flatnonzero(~tested[k]).tolist()]
            yield _Question(f"{who}{of} larger or smaller", why=_too_few_words(counts, facts, BOTH_MARKED))


def _group_parts(facts: RaterFacts) -> Iterator[_Question]:
    test, asks = facts.tests.groups, "whether there are two groups"
    why = _too_little(facts, FEWEST_IN_GROUPS) or _suspicious(facts) or _too_many(facts)
    if why is not None:
        yield _Question(asks, why=why)
    elif math.isnan(test.p_value):
        yield _Question(asks, why=_too_few_words([test.n], facts, EVERY_TWO))
    else:
        yield _Question(asks, [test.n], EVERY_TWO)
