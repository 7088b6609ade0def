"""Claims about raters: who draws larger or smaller, outliers, two groups, copies, shared errors, unequal cases.

All of them compare raters with each other, or with a reference that was given: never with a consensus that their own
marks entered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ..core.undefined import Note
from ..inference.intervals import MIN_SUBJECTS
from ..inference.rater_tests import FEWEST_IN_GROUPS, FEWEST_RATERS, MOST_IN_GROUPS, RaterTests
from ..io.result_tables import Row
from ..raters.dependence import COPY, FEWEST, PossibleCopy, RaterDependence
from .claim import ALPHA, ClaimKind, ClaimLog
from .numbers import TableIndex, is_defined
from .sentences import (
    Cell,
    Sentence,
    capitalise,
    case_links,
    compose,
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
    f"{TESTED}; paired t tests of log ratios of sizes between all pairs, adjusted by Holm over pairs and labels; no "
    "mask of the rater that is probably filled or inverted",
    EQUAL,
)
SMALLER = ClaimKind(
    "raters.smaller", "difference", "A rater draws smaller than more than half of the others.", LARGER.guard, EQUAL
)
OUTLIER = ClaimKind(
    "raters.outlier",
    "difference",
    "A rater is farther from the others than they are from each other.",
    f"{TESTED}; max-T step-down test by permutations of raters within subjects; no possible copies, no mask of the "
    "rater that is probably broken, and no two groups of raters",
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
    f"the same label for more than {COPY:.0%} of the pixels where either left the most frequent label; not where most "
    "pairs are nearly as much alike",
)
ALIKE = ClaimKind(
    "raters.alike",
    "description",
    "Most raters gave the same labels nearly everywhere.",
    f"more than half of the pairs gave the same label to more than {COPY:.0%} of the pixels where either left the most "
    "frequent label, or half of the pairs to more than 90%",
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
    "Raters read different cases and are compared on those that they share.",
    "some rater did not read a case that another read",
)
DEPENDENCE = ClaimKind(
    "raters.dependence",
    "description",
    "The correlation of the raters' errors that STAPLE leaves unexplained, called optimistic.",
    f"at least {FEWEST} raters",
)
EFFECTIVE = ClaimKind(
    "raters.effective",
    "description",
    "How many raters with independent errors these raters are worth.",
    "against a given reference only that is no rater's mask in any case, and no vote of the raters",
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
    references: tuple[str, ...] = ()
    """Given reference standards."""
    own_references: frozenset[str] = frozenset()
    """Those that hold the raters' own marks: one rater's mask in some case, or their vote."""
    broken: tuple[str, ...] = ()
    """Raters with a mask that is probably broken."""
    filled: tuple[str, ...] = ()
    """Raters with a mask that is probably filled or inverted, so that its size means nothing."""
    edited: frozenset[frozenset[str]] = frozenset()
    """Pairs of whom one is known to have edited the other's masks."""
    subject: str = "case"
    pixel: str = "pixel"
    sessions: bool = False
    """Whether raters have several sessions, of which one counts."""

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
        words = spell_count(facts.tests.subjects, "subject")
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
        shared = f"{spell_count(facts.shared, 'case')} that all of them read"
        start = "Not all raters read every case" if facts.shared else "No case was read by all raters"
        pooled = f"over the {shared}" if facts.shared else "of different cases for different pairs"
        text = (
            f"{start} ({{missing}}): raters {{are}} compared within the cases that they share, so that nobody gains by "
            f"leaving out a hard one; pooled Dice distances {{are}} {pooled}."
        )
        now, then = (compose(text, missing=_missing(facts), are=are) for are in ("are", "were"))
        if facts.sessions:
            now, then = (("In the session that counts, ", *lower_first(sentence)) for sentence in (now, then))
        log.consider(DIFFERENT_CASES, now, result=then)
    else:
        why = Note("same_cases", "every rater has a mask of every case")
        log.consider(DIFFERENT_CASES, (DIFFERENT_CASES.says,), why_not=why)


def _missing(facts: RaterFacts) -> Sentence:
    """``no mask of E in c03, no mask of F in c01 and c02``."""
    lacking = [(rater, cases) for rater, cases in facts.missing.items() if cases]
    parts: list[Sentence] = [
        compose("no mask of {} in {}", Cell(rater), case_links(cases, 3)) for rater, cases in lacking[:MOST_LACKING]
    ]
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
            "{} gave the same label to more than {} of the {}s where either of two left the most frequent label ({}): "
            "what they marked is so large or so easy to see that all draw alike, or else they did not work alone."
        )
        sentence = compose(text, who, f"{COPY:.0%}", facts.pixel, facts.most_frequent)
        log.consider(ALIKE, sentence, rests_on=[_same(pairs, copy) for copy in facts.copies[:MOST_CONSIDERED]])
        return
    for copy in facts.copies[:MOST_CONSIDERED]:
        text = (
            "Raters {} and {} gave the same label to {} of the {}s where either of them left the most frequent label "
            "({}): is one a copy or an edit? If so, say it under based_on in reads.csv."
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
    if why is not None or not order:
        nobody = Note("nobody_far", "nobody is farther from the others than they are from each other")
        log.consider(OUTLIER, ("A rater is an outlier.",), why_not=why or nobody, p_value=math.nan if why else 1.0)
        return
    for i in order[:MOST_CONSIDERED]:
        rater = facts.raters[i]
        log.consider(
            OUTLIER,
            _outlier_sentence(raters, rater, facts, "is"),
            about=rater,
            result=_outlier_sentence(raters, rater, facts, "was"),
            rests_on=[raters.cell("outlier_p", "mean", rater, label=facts.label, digits=3)],
            why_not=_no_outlier(rater, facts),
            p_value=float(test.p_value[i]),
        )


def _no_outlier(rater: str, facts: RaterFacts) -> Note | None:
    """Why a rater is not called an outlier, however far they are from the others."""
    if rater in facts.broken:
        return Note("broken_mask", "a mask of this rater is probably broken")
    if facts.tests.groups.p_value <= ALPHA and facts.tests.groups.gap > 0:
        return Note("one_of_a_group", "the raters seem to fall into two groups, within which they agree")
    return None


def _outlier_sentence(raters: TableIndex, rater: str, facts: RaterFacts, verb: str) -> Sentence:
    test, i = facts.tests.outliers, facts.raters.index(rater)
    before = [r for r, step in zip(facts.raters, test.step, strict=True) if step < test.step[i]]
    excess = raters.cell("excess_distance_stepwise", "mean", rater, label=facts.label)
    text = (
        "Rater {} {} an outlier{}: over {}, their mean Dice distance{} to the others {} {} larger than that of the "
        "others among themselves{}."
    )
    without: Sentence = (
        (" once ", *_names(before), f" {'is' if len(before) == 1 else 'are'} left out") if before else ()
    )
    reasons = list(_outlier_reasons(raters, rater, facts, past=verb == "was"))
    why: Sentence = ("; with all cases pooled, ", *join_parts(reasons)) if reasons else ()
    subjects = spell_count(int(test.n[i]), facts.subject)
    return compose(text, Cell(rater), verb, without, subjects, _over_labels(facts), verb, excess, why)


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


def _consider_clusters(log: ClaimLog, raters: TableIndex, facts: RaterFacts) -> None:
    test = facts.tests.groups
    why = _too_little(facts, FEWEST_IN_GROUPS) or _suspicious(facts)
    if why is None and len(facts.raters) > MOST_IN_GROUPS:
        why = Note("too_many_raters", f"groups are looked for among at most {MOST_IN_GROUPS} raters")
    if why is None and math.isnan(test.p_value):
        why = Note("too_few_shared_subjects", f"some two raters share {test.n} subjects; it takes {MIN_SUBJECTS}")
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
    end = compose("; the first group {}{} {} times as large as the second.", draws, what, _ratio(raters, most))
    return (*start, *end)


# -- sizes -----------------------------------------------------------------------------------------


def _consider_sizes(log: ClaimLog, kind: ClaimKind, raters: TableIndex, pairs: TableIndex, facts: RaterFacts) -> None:
    """Who draws larger, or smaller, than more than half of the others, label by label."""
    tests, word = facts.tests.sizes, kind.id.removeprefix("raters.")
    p = tests.larger if kind is LARGER else tests.smaller
    found = sorted((p[k, i], k, i) for k in range(p.shape[0]) for i in range(p.shape[1]) if p[k, i] < 1)
    why = _too_little(facts)
    if why is not None or not found:
        nobody = Note("not_beyond_half", f"nobody draws {word} than more than half of the others")
        text = f"A rater draws {word} than most others."
        log.consider(kind, (text,), why_not=why or nobody, p_value=math.nan if why else 1.0)
        return
    for p_value, k, i in found[:MOST_CONSIDERED]:
        rater, label = facts.raters[i], facts.tests.labels[k]
        beyond = _beyond(tests.p_holm[k], tests.log_ratio[k] * (1 if kind is LARGER else -1), i, facts)
        rests = [pairs.cell("size_p_holm", "mean", *pair, "between", label=label, digits=3) for pair, _ in beyond]
        others = [other for _, other in beyond]
        log.consider(
            kind,
            _size_sentence(raters, rater, label, others, facts, word, ("draws", "marks")),
            about=f"{rater}, {label}" if label else rater,
            result=_size_sentence(raters, rater, label, others, facts, word, ("drew", "marked")),
            rests_on=rests,
            why_not=Note("broken_mask", FILLED_MASK) if rater in facts.filled else None,
            p_value=float(p_value),
        )


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
    raters: TableIndex, rater: str, label: str, others: Sequence[str], facts: RaterFacts, word: str,
    verbs: tuple[str, str],
) -> Sentence:  # fmt: skip
    row = raters.row("relative_size", "mean", rater, label=label)
    whom: Sentence = _names(others)
    every = len(others) == len(facts.raters) - 1
    if every:
        whom = ("all the other raters",) if len(others) > 2 else _names(others)
    elif len(others) > MOST_NAMED:
        whom = (f"{number_word(len(others))} of the {number_word(len(facts.raters) - 1)} other raters",)
    does = compose("{} {}", verbs[1], label_words(label)) if label else (verbs[0],)
    ratio: Sentence = ()
    # who lies beyond most of the others need not lie beyond their mean, which one of them can move
    if is_defined(row) and (row.value > 1) == (word == "larger"):
        text = ": {} times the size of {} others (geometric mean over them and {}s)"
        ratio = compose(text, _ratio(raters, row), "the" if every else "all the", facts.subject)
    return compose("Rater {} {} {} than {}{}.", Cell(rater), does, word, whom, ratio)


def _ratio(raters: TableIndex, row: Row | None) -> Cell:
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
            "Given STAPLE's estimate of the truth{}, the raters' errors {} a mean correlation of {}. This is "
            "optimistic where raters share errors, which STAPLE takes for truth{}."
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
        log.consider(EFFECTIVE, ("The raters weigh as much as fewer independent ones.",), why_not=why)
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
        numbers, pooled = (raters.quote(shared), spell_count(len(facts.raters), "rater")), _pooled(facts, ", with")
        sentence, result = (
            compose(EFFECT, Cell(reference), pooled, have, *numbers, weigh, raters.quote(effective, 1))
            for have, weigh in (("have", "weigh"), ("had", "weighed"))
        )
        log.consider(EFFECTIVE, sentence, about=reference, result=result)
        return
    log.consider(EFFECTIVE, ("The raters weigh as much as fewer independent ones.",), about=reference, why_not=why)


def _pooled(facts: RaterFacts, before: str) -> str:
    """That numbers are of all cases pooled, where there are several."""
    return f"{before} all cases pooled" if facts.cases > 1 else ""


EFFECT = (
    "Against the given reference {}{}, the raters' errors {} a mean correlation of {}: if it was made without these "
    "raters, {} {} about as much as {} with independent errors."
)
