"""What may be said of algorithms: beside the raters, in a ranking, and of the reference standards that judge them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ..core.labels import MACRO
from ..core.undefined import Note
from ..evaluation.interchangeability import LEAST_RATERS, Interchangeability
from ..evaluation.ranking.by_reference import ReferenceRankings
from ..evaluation.ranking.pair_tests import holm
from ..evaluation.ranking.ranking import Ranking, format_p
from ..inference.equivalence import CAUTION, Verdict
from ..inference.intervals import MIN_SUBJECTS
from .claim import ClaimKind, ClaimLog
from .intervals import consider_failures
from .numbers import TableIndex, has_interval, is_defined
from .orders import all_standards, first_places, same_scores
from .sentences import Cell, Sentence, compose, counted, join_names, join_parts, label_words, number_word, spell_count

ENOUGH = f"at least {LEAST_RATERS} raters and {MIN_SUBJECTS} subjects"

NOT_DEPENDENT = "not trained on cases of the study, and no copy of a rater's masks in a tenth of the cases"
DISTANCE = ClaimKind(
    "algorithms.distance", "estimate",
    "How much further the algorithm lies from the raters than these from each other (γ), and the smallest margin "
    "within which it agrees with a rater as another rater would.",
    f"two raters or more; its interval, and the margin, with {ENOUGH}",
)  # fmt: skip
INTERCHANGEABLE = ClaimKind(
    "algorithms.interchangeable", "equivalence",
    "The algorithm agrees with a rater as another rater would, within the margin.",
    f"a margin is given; {ENOUGH}; the upper end of the 99% interval of γ lies below the margin, as a small sample may "
    "hold none of the cases that fail, and the lower end of the 95% interval not above 0; adjusted for the number of "
    f"algorithms; {NOT_DEPENDENT}",
    "γ equal to the margin",
)  # fmt: skip
WORSE = ClaimKind(
    "algorithms.worse", "difference",
    "The algorithm agrees with the raters less than they do with each other, by more than the margin.",
    f"a margin is given; {ENOUGH}; the lower limit of γ lies above the margin; adjusted for the number of algorithms",
    "γ equal to the margin",
)  # fmt: skip
WORSE_WITHIN = ClaimKind(
    "algorithms.worse_within", "difference",
    "The algorithm agrees with the raters less than they do with each other, by less than the margin.",
    f"a margin is given; {ENOUGH}; the lower end of the 95% interval of γ lies above 0, and the upper end of the 99% "
    f"interval below the margin; adjusted for the number of algorithms; {NOT_DEPENDENT}",
    "γ equal to 0, and γ equal to the margin",
)  # fmt: skip
FAILURES = ClaimKind(
    "algorithms.failures", "description",
    "In so many subjects the algorithm has no overlap with the first reference standard, or no prediction; its mean "
    "Dice in the others is given.",
    "some subjects, but not all of them, have a Dice of 0",
)  # fmt: skip
ORDER = ClaimKind(
    "algorithms.order", "description",
    "The order of the algorithms under the reference standards used, or that it differs between them; a description, "
    "not tested. Standards that give the same scores are named.",
    "two or more algorithms have scores; raters whose masks an algorithm has (`algorithms.copy`) are no reference "
    "standard here, and are named",
)  # fmt: skip
WINNER = ClaimKind(
    "algorithms.winner", "difference",
    "One algorithm is better than every other under every metric and reference standard.",
    f"it comes first; at least {MIN_SUBJECTS} subjects under every metric and reference standard; one-sided Wilcoxon "
    "tests after Holm against every other under each of them (the largest p counts); first in 95% of the resamples "
    f"under each; {NOT_DEPENDENT}",
    "two or more algorithms are equal, and better than the others",
)  # fmt: skip
TRAINED_HERE = ClaimKind(
    "algorithms.trained_here", "description",
    "The algorithm was trained on cases of this study: its scores do not tell how it does in others.",
    "the study or --trained-on says so",
)  # fmt: skip
COPY = ClaimKind(
    "algorithms.copy", "description",
    "The algorithm's masks are those of a rater, or a consensus of the raters, in so many cases.",
    "every pixel is the same in a tenth of the cases in which the algorithm marks anything, and in two at least",
)  # fmt: skip
EQUALS_RATER = ClaimKind(
    "reference.equals_rater", "description",
    "The given reference standard is one rater's mask, in so many cases.",
    "every pixel is the same in at least one case in which either marked something",
)  # fmt: skip
EQUALS_CONSENSUS = ClaimKind(
    "reference.equals_consensus", "description",
    "The given reference standard is a consensus of the raters.",
    "every pixel is the same in every case",
)  # fmt: skip
EQUALS_VOTE = ClaimKind(
    "reference.equals_vote", "description",
    "The given reference standard is a vote of the raters: what at least so many of them marked.",
    "in every pixel of every case that all raters read, with the same number of votes",
)  # fmt: skip
EQUALS_ADJUDICATED = ClaimKind(
    "reference.equals_adjudicated", "description",
    "The given reference standard is what adjudicators made of these raters' own masks, in so many cases.",
    "decisions about the study can be read, and every pixel is the same in at least one case in which the reference "
    "marks something",
)  # fmt: skip
RATERS_SCORED = ClaimKind(
    "reference.raters_scored", "estimate",
    "The raters' mean Dice against a given reference standard.",
    f"a reference standard is given that is not the rater's own mask in any case, no vote of the raters, and not made "
    f"of their masks by adjudicators whose decisions can be read; intervals from {MIN_SUBJECTS} subjects on",
)  # fmt: skip

KINDS = {"within": INTERCHANGEABLE, "worse": WORSE, "worse_within": WORSE_WITHIN}
TEXTS = {
    "within": "By Dice{over}, within a margin of {margin}, {name} agree{s} with a rater as another rater "
    "would{limits}.",
    "worse": "By Dice{over}, and by more than the margin of {margin}, {name} agree{s} with the raters less than these "
    "{do} with each other.",
    "worse_within": "By Dice{over}, {name} agree{s} with the raters less than these {do} with each other, by less than "
    "the margin of {margin}{limits}.",
}
TENSES = ({"s": "s", "do": "do"}, {"s": "d", "do": "did"})
"""Of verbs in texts: present and past."""


# -- beside the raters -------------------------------------------------------------------------------


@dataclass(frozen=True)
class BesideRaters:
    """What is known of the algorithms' distances to the raters, beside the table."""

    compared: Mapping[str, Interchangeability]
    """By algorithm, with all raters and labels."""
    subject: str = "subject"
    labels: tuple[str, ...] = ()
    """Where there are several."""
    outliers: tuple[str, ...] = ()
    """Raters who are outliers by a test; the table also has rows without them."""
    not_without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Algorithms that are within the margin, and the raters without whom that would not be shown."""
    dependent: Mapping[str, Note] = field(default_factory=dict)
    """Why an algorithm is near to these raters for another reason than that it is good.

    That it is far from them can still be said.
    """


def consider_interchangeability(log: ClaimLog, table: TableIndex, facts: BesideRaters) -> None:
    """γ of every algorithm, and what its interval says about the margin."""
    _consider_distances(log, table, facts)
    compared = facts.compared
    margins = [found.margin for found in compared.values() if found.margin is not None]
    verdicts = {name: verdict for name, found in compared.items() if (verdict := found.verdict) is not None}
    raw = [_p_value(compared[name], verdict) for name, verdict in verdicts.items()]
    adjusted = dict(zip(verdicts, holm(raw).tolist() if raw else [], strict=True))
    for name, found in compared.items():
        why = _why_no_verdict(found)
        for kind_of, kind in KINDS.items():
            chosen = verdicts.get(name) == kind_of
            margin = f"{margins[0]:g}" if margins else "…"
            text, who = TEXTS[kind_of], Cell(name)
            limits = _limits_of_verdict(table, facts, name) if chosen and kind_of != "worse" else ()
            over = ", mean over the labels of a case" if facts.labels else ""
            sentence, result = (
                compose(text, margin=margin, name=who, over=over, limits=limits, **verbs) for verbs in TENSES
            )
            rests_on = [table.cell("interchangeability", "mean", name, "", "", digits=3)]
            refused = why or (None if chosen else _why_not(found, kind_of))
            if kind_of != "worse":
                refused = refused or facts.dependent.get(name)
            log.consider(
                kind, sentence, about=name, result=result, rests_on=rests_on, why_not=refused,
                p_value=adjusted[name] if chosen else np.nan,
            )  # fmt: skip


def _limits_of_verdict(table: TableIndex, facts: BesideRaters, name: str) -> Sentence:
    """What a verdict within the margin does not hold for: single labels, or without one rater."""
    found, parts = facts.compared[name], list[Sentence]()
    bounds = {label: table.row("smallest_margin", "mean", name, "", "", label=label) for label in facts.labels}
    far = [label for label, row in bounds.items() if not is_defined(row) or row.value >= (found.margin or 0)]
    if far:
        parts.append((f"for {join_names([label_words(label) for label in far])} alone",))
    if raters := facts.not_without.get(name):
        gamma = table.cell("interchangeability", "mean", name, "", "; ".join(raters), digits=3)
        bound = table.row("smallest_margin", "mean", name, "", "; ".join(raters))
        needed = compose(", smallest margin {}", table.quote(bound, 3)) if is_defined(bound) else ()
        who = name_outliers(raters) if raters == facts.outliers else f"rater {raters[0]}"
        parts.append(compose("without {} (γ {}{})", who, gamma, needed))
    return ("; this is not shown ", *join_parts(parts, ", nor ")) if parts else ()


def _consider_distances(log: ClaimLog, table: TableIndex, facts: BesideRaters) -> None:
    of_labels = ", mean over the labels of a case" if facts.labels else ""
    for name, found in facts.compared.items():
        row, margin = (table.row(s, "mean", name, "", "") for s in ("interchangeability", "smallest_margin"))
        if row is None or margin is None:
            continue
        sides = [table.cell(f"distance_{s}_raters", "mean", name, "", "", interval=False) for s in ("to", "between")]
        empty = f" (all are empty in {spell_count(found.empty, 'case')})" if found.empty else ""
        text = (
            f"Over {spell_count(row.n or 0, facts.subject)}, the mean Dice distance (1 − Dice{of_labels}; two empty "
            f"masks 0{empty}, one empty 1) {{was}} {{}} from {{}} to the raters and {{}} between raters, which is a "
            "difference γ of {}{below}"
        )
        numbers: list[Cell | str] = [sides[0], Cell(name), sides[1], table.quote(row, 3)]
        if is_defined(margin) and margin.value and name not in facts.dependent and found.verdict != "worse":
            text += (
                f"; the smallest margin for interchangeability {{was}} {{}} (upper end at {100 * found.caution:.3g}%)"
            )
            numbers.append(table.quote(margin, 3))
        beneath = has_interval(row) and row.high is not None and row.high < 0
        below = ", below 0 as it is for masks that run between the raters' own or copy one" if beneath else ""
        rest = {was: _without_outliers(table, facts, name, was) for was in ("is", "was")}
        sentence, result = (
            compose(f"{text}{{without}}.", *numbers, below=below, was=was, without=rest[was]) for was in rest
        )
        log.consider(DISTANCE, sentence, about=name, result=result, why_not=None)


def _without_outliers(table: TableIndex, facts: BesideRaters, name: str, was: str) -> Sentence:
    """``; without rater D, on average farther from …, γ is −0.016 (−0.09 to 0.06) and the smallest margin 0.108``."""
    whom = "; ".join(facts.outliers)
    row, margin = (table.row(s, "mean", name, "", whom) for s in ("interchangeability", "smallest_margin"))
    if not facts.outliers or not is_defined(row):
        return ()
    who, gamma = name_outliers(facts.outliers), table.quote(row, 3)
    worse = facts.compared[name].verdict == "worse"
    if not is_defined(margin) or not margin.value or name in facts.dependent or worse:
        return compose("; without {}, γ {was} {}", who, gamma, was=was)
    return compose("; without {}, γ {was} {} and the smallest margin {}", who, gamma, table.quote(margin, 3), was=was)


def name_outliers(raters: Sequence[str]) -> str:
    """Who is left out, in words that claim no difference: that is for ``raters.outlier``, with its guard."""
    who = f"rater{'s' * (len(raters) > 1)} {join_names(raters)}"
    return f"{who}, on average farther from the others than these from each other"


def _why_no_verdict(found: Interchangeability) -> Note | None:
    """Why nothing is said about a margin."""
    if len(found.raters) < LEAST_RATERS:
        text = f"{spell_count(len(found.raters), 'rater')}; a verdict needs at least {LEAST_RATERS}"
        return Note("too_few_raters", text)
    if found.gamma.n < MIN_SUBJECTS:
        text = f"{spell_count(found.gamma.n, 'subject')}; a verdict needs at least {MIN_SUBJECTS}"
        return Note("too_few_subjects", text)
    return Note("no_margin", "no margin is given (--margin)") if found.margin is None else None


def _why_not(found: Interchangeability, kind_of: str) -> Note:
    gamma, margin, bound = found.gamma, found.margin or 0.0, found.smallest_margin
    if kind_of != "worse" and gamma.high < margin <= bound:
        at = f"{100 * (1 - (1 - gamma.level) / CAUTION):.3g}%"
        text = f"the upper end of the interval of γ is {gamma.high:.3f}, but at {at} it is {bound:.3f}, and the margin"
        return Note("near_margin", f"{text} {margin:g}: a small sample may hold none of the cases that fail")
    ends = f"{gamma.low:.3f} to {gamma.high:.3f}"
    return Note("interval_elsewhere", f"the interval of γ is {ends}, and the margin {margin:g}")


def _p_value(found: Interchangeability, verdict: Verdict) -> float:
    """The two-sided p of what is claimed; 1 where nothing is."""
    limits, margin = found.limits, found.margin or 0.0
    return {
        "within": float(limits.p_below(margin)),
        "worse": float(limits.p_above(margin)),
        "worse_within": max(float(limits.p_above(0.0)), float(limits.p_below(margin))),
        "unknown": 1.0,
    }[verdict]


def consider_algorithm_failures(
    log: ClaimLog, table: TableIndex, reference: str, algorithms: Mapping[str, bool], labels: Sequence[str], each: str
) -> None:
    """How many subjects each algorithm failed in, of every label; ``algorithms`` says who lacks predictions."""
    for label, (name, lacks) in product(labels, algorithms.items()):
        where = {"": "", MACRO: " in any label"}.get(label, f" in label {label}")
        text = "{} {} not overlap {}{}" + (", or {} no prediction" if lacks else "")
        verbs = (("does", "has"), ("did", "had"))
        now, then = (compose(text, Cell(name), does, reference, where, has) for does, has in verbs)
        consider_failures(
            log, table, name, reference, label=label, each=each, who=(now, then), title="its mean Dice", about=name,
            kind=FAILURES,
        )  # fmt: skip


def consider_training(log: ClaimLog, trained_on: Mapping[str, str], algorithms: Sequence[str]) -> None:
    """Which algorithms were trained on cases of the study."""
    text = "{} {} trained on cases of this study ({}): its scores {} not tell how it {} in others."
    for name, reference in trained_on.items():
        if name in algorithms:
            sentence, result = (
                compose(text, Cell(name), "was", reference, *verbs) for verbs in (("do", "does"), ("did", "would do"))
            )
            log.consider(TRAINED_HERE, sentence, about=name, result=result)
    if not trained_on:
        none = Note("not_trained_here", "no algorithm is said to have been (--trained-on)")
        log.consider(TRAINED_HERE, (TRAINED_HERE.says,), why_not=none)


@dataclass(frozen=True)
class CopiedMasks:
    """Masks of an algorithm that are, pixel by pixel, those of a rater or a consensus."""

    kind: str
    """``rater`` or ``consensus``."""
    whose: str
    """``rater A``, ``the consensus staple``."""
    cases: int
    marked: int
    """In how many cases the algorithm marks anything."""

    @property
    def share(self) -> str:
        """``14 of the 14 cases``."""
        return f"{self.cases} of the {counted(self.marked, 'case')}"

    @property
    def note(self) -> Note:
        """Why nothing good is concluded."""
        text = f"its masks are those of {self.whose} in {self.share} in which it marks anything"
        return Note(f"copies_of_{self.kind}", text)


def consider_copies(log: ClaimLog, copies: Mapping[str, CopiedMasks]) -> None:
    """Which algorithms have the masks of a rater or a consensus."""
    text = (
        "The masks of {} {} those of {} in {} in which it {} anything: that it {} with these raters {} no evidence "
        "of its quality."
    )
    tenses = ("are", "marks", "agrees", "is"), ("were", "marked", "agreed", "was")
    for name, same in copies.items():
        sentence, result = (
            compose(text, Cell(name), are, same.whose, same.share, *rest) for are, *rest in tenses
        )  # fmt: skip
        log.consider(COPY, sentence, about=name, result=result)
    if not copies:
        log.consider(COPY, (COPY.says,), why_not=Note("no_copy", "no algorithm has the masks of a rater or consensus"))


def trained_here(reference: str) -> Note:
    """Why nothing good is concluded about an algorithm that was trained on the study."""
    return Note("trained_here", f"it was trained on cases of this study ({reference})")


# -- order and winner --------------------------------------------------------------------------------

MOST_NAMED = 6


def consider_orders(
    log: ClaimLog, orders: ReferenceRankings | None, metric: str, rests_on: Sequence[Cell] = (), untested: str = "",
    copied: Mapping[str, Sequence[str]] | None = None,
) -> None:  # fmt: skip
    """Whether the order is the same under every reference standard, by one metric.

    ``rests_on`` are the scores that the orders go by; ``untested`` says why no test follows, where none does;
    ``copied`` are raters whose masks algorithms have, with these: they are no reference standard for the order.
    """
    if orders is None or not orders.rankings:
        return
    gone = {rater: names for rater, names in (copied or {}).items() if rater in orders.references}
    kept = orders.without(gone) if gone else orders
    if not kept.rankings:
        why = Note("copies_of_rater", "every reference standard is a rater whose masks an algorithm has")
        log.consider(ORDER, (ORDER.says,), why_not=why)
        return
    now, then = (
        f"By {metric}{f' ({untested})' if untested else ''}, {_order(kept, past)}{_left_out(gone, past)}."
        for past in (False, True)
    )
    log.consider(ORDER, (now,), result=(then,), rests_on=rests_on)


def _left_out(copied: Mapping[str, Sequence[str]], past: bool) -> str:
    """``; rater A is left out, as net has A's masks``."""
    are, have = ("was", "had") if past else ("is", "has")
    return "".join(
        f"; rater {rater} {are} left out as a reference standard, as {join_names(names)} "
        f"{have if len(names) == 1 or past else 'have'} {rater}'s masks"
        for rater, names in copied.items()
    )


def _order(orders: ReferenceRankings, past: bool) -> str:
    """``the nine reference standards give two orders: …``, or the one order that they give."""
    count, best = sum(len(r.references) for r in orders.rankings), orders.rankings[0]
    same = same_scores(orders.same, count, past=past)
    if len(orders.rankings) > 1:
        give, many = "gave" if past else "give", spell_count(len(orders.rankings), "order")
        first = first_places(orders, past=past)
        return f"the {number_word(count)} reference standards{same} {give} {many}: {first}"
    order = str(best) if len(best.order) <= MOST_NAMED else f"{join_names(best.places[0])} first"
    under = f"{'' if count == 1 else 'the same '}under {all_standards(count)}{same.removesuffix(',')}"
    return f"the order of the algorithms {'was' if past else 'is'} {under}: {order}"


def consider_winner(
    log: ClaimLog, ranking: Ranking, pairs: TableIndex, metric_names: Mapping[str, str],
    dependent: Mapping[str, Note] | None = None,
) -> None:  # fmt: skip
    """Whether one algorithm is better than every other; tested under every metric and reference standard.

    ``dependent`` says why an algorithm is near to the reference standards for another reason than that it is good.
    """
    evidence = ranking.evidence()
    first, *others = evidence.order
    name = ranking.algorithms[first]
    metrics = join_names([metric_names.get(metric, metric) for metric in ranking.metrics])
    second = max(others, key=lambda i: evidence.p[first, i])
    whom: Cell | str = "every other algorithm" if len(others) > 1 else Cell(ranking.algorithms[second])
    p = float(evidence.p[first, second])
    row = pairs.row("p_holm", "overall", "test", "", "", name, ranking.algorithms[second])
    if row is None:
        board = ranking.boards[0]
        row = pairs.row("p_holm", "ranking", "test", board.truth, board.metric, name, ranking.algorithms[second])
    shown = format_p(p)
    cell: Cell | str = shown
    if is_defined(row):
        quoted = pairs.quote(row, 3)
        cell = Cell(shown, quoted.value, at=quoted.at)
    every = f" under {all_standards(len(ranking.references), 'each of {}')}" if len(ranking.references) > 1 else ""
    largest = "largest " if len(others) > 1 or len(ranking.boards) > 1 else ""
    tested: Sentence = () if evidence.refusal else (f" ({largest}adjusted p ", cell, ")")
    text = "By {}, {} {} better than {}{}{}."
    sentence, result = (compose(text, metrics, Cell(name), was, whom, every, tested) for was in ("is", "was"))
    verdict = ranking.verdict
    refused = None if verdict.winner else Note(verdict.code, verdict.sentence)
    refused = refused or (dependent or {}).get(name)
    log.consider(WINNER, sentence, about=name, result=result, why_not=refused, p_value=p)


# -- given reference standards -----------------------------------------------------------------------


@dataclass(frozen=True)
class EqualMasks:
    """Where a given reference is, pixel by pixel, the mask of a rater or a consensus."""

    cases: tuple[str, ...]
    """In which both mark something."""
    empty: int
    """In how many more both mark nothing."""
    given: int
    """In how many the reference is given."""

    @property
    def everywhere(self) -> bool:
        """Whether it is so in every case."""
        return len(self.cases) + self.empty == self.given

    def __str__(self) -> str:
        both_empty = f" ({number_word(self.empty)} of them empty in both)" if self.empty else ""
        if self.everywhere:
            return f"every case{both_empty}" if self.given > 1 else "the case"
        where = " in which either marks something" if self.empty else ""
        return f"{_share(len(self.cases), self.given - self.empty)}{where}"


def consider_equal_references(log: ClaimLog, equal: Mapping[tuple[str, str], EqualMasks], of: str = "rater") -> None:
    """Given references that are a rater's masks, or a consensus, by reference and rater or method."""
    kind, what = (EQUALS_RATER, "the mask of rater") if of == "rater" else (EQUALS_CONSENSUS, "the consensus")
    for (reference, name), same in equal.items():
        many = str(same)
        # of few raters, a consensus is one rater's mask now and then
        few = None if same.everywhere or of == "rater" else Note("not_in_every_case", f"it is so in {many}")
        text = "The given reference {} {} {} {} in {}, pixel by pixel."
        sentence, result = (
            compose(text, Cell(reference), was, what, Cell(name), many) for was in ("is", "was")
        )  # fmt: skip
        log.consider(kind, sentence, about=name, result=result, why_not=few)


def consider_voted_references(log: ClaimLog, voted: Mapping[str, tuple[int, int]]) -> None:
    """Given references that are a vote of the raters: how many of how many marked what is in them."""
    for reference, (votes, raters) in voted.items():
        whom = f"at least {number_word(votes)} of the {number_word(raters)} raters"
        whom = f"all {number_word(raters)} raters" if votes == raters else "any rater" if votes == 1 else whom
        text = "The given reference {} {} a vote of these raters, pixel by pixel: it {} what {} marked."
        sentence, result = (
            compose(text, Cell(reference), *verbs, whom) for verbs in (("is", "holds"), ("was", "held"))
        )  # fmt: skip
        log.consider(EQUALS_VOTE, sentence, about=reference, result=result)


def consider_adjudicated_references(log: ClaimLog, found: Mapping[str, EqualMasks]) -> None:
    """Given references that adjudicators made of the raters' own masks."""
    for reference, same in found.items():
        text = "The given reference {} {} what adjudicators made of these raters' own masks in {}, pixel by pixel."
        sentence, result = (compose(text, Cell(reference), was, str(same)) for was in ("is", "was"))
        log.consider(EQUALS_ADJUDICATED, sentence, about=reference, result=result)


def _share(count: int, of: int) -> str:
    """``three of twelve cases``."""
    return f"{number_word(count)} of {spell_count(of, 'case')}"


def consider_raters_scored(
    log: ClaimLog, table: TableIndex, raters: Sequence[str], references: Sequence[str],
    equal: Mapping[tuple[str, str], EqualMasks], voted: Mapping[str, tuple[int, int]],
    adjudicated: Mapping[str, EqualMasks], subjects: int, subject: str,
) -> None:  # fmt: skip
    """The raters' mean Dice against each given reference; not of a rater whose own marks are in it."""
    for reference in references:
        rows = {rater: table.row("dice", "mean", rater, reference) for rater in raters}
        known = {rater: row for rater, row in rows.items() if is_defined(row) and (reference, rater) not in equal}
        unequal = len({row.n for row in known.values()}) > 1
        parts: list[Sentence] = []
        for rater, row in known.items():
            n = f" (n = {row.n})" if unequal else ""
            parts.append(compose("{} for {}{}", table.quote(row), Cell(rater) if rater else "the mean of raters", n))
        judged = next((row.n for row in known.values() if row.n is not None), subjects)
        over = f", over {number_word(judged)} of {spell_count(subjects, subject)}" if judged < subjects else ""
        text = "Against the given reference {}, the mean Dice {} {}"
        text += "; means with different n are over different cases and not to be compared." if unequal else f"{over}."
        if len(parts) > MOST_NAMED:
            parts = [*parts[:MOST_NAMED], (f"{len(parts) - MOST_NAMED} more in the table",)]
        why = None if parts else Note("no_rater_scored", "no rater has a Dice against it, or it is their own mask")
        if reference in voted:
            why = Note("raters_own_vote", "it is a vote of these raters: their own marks are in it")
        if reference in adjudicated:
            why = Note("raters_own_marks", "adjudicators made it of these raters' masks: their own marks are in it")
        shown = join_parts(parts) or ("–",)
        sentence, result = (compose(text, Cell(reference), was, shown) for was in ("is", "was"))
        log.consider(RATERS_SCORED, sentence, about=reference, result=result, why_not=why)
