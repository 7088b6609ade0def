"""The first section, In short: the main findings, the cases to look at, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from statistics import median

from ...analyses.agree.tables import labels_left_out
from ...analyses.tables import region_of
from ...claims.agreement import VERDICTS
from ...claims.masks import IDS, KINDS, count_as_is
from ...claims.numbers import TableIndex, has_interval, is_defined, telling_digits
from ...claims.raters import COMPARISONS, size_ratio
from ...claims.readings import NOT_EVALUABLE
from ...claims.sentences import (
    Cell,
    Sentence,
    capitalise,
    case_cell,
    case_links,
    compose,
    join_parts,
    label_words,
    lower_first,
    number_word,
    spell_count,
    spell_intervals,
)
from ...core.tally import Tally
from ...core.undefined import code, code_of
from ...inference.intervals import MIN_SUBJECTS
from ...io.result_tables import Row
from ..elements import Block, Paragraphs, Section
from ..findings import Findings
from .algorithms import algorithm_summary
from .cases import (
    case_scores,
    cases_by_kappa,
    coverage_sentence,
    coverage_table,
    dispute_table,
    has_overlap,
    marked_anything,
    most_disputed,
    raters_per_case,
    why_no_kappa,
    why_no_overlap,
)
from .raters import broken_raters, claimed_raters, copies_suspected, rater_sentences
from .standards import most_different
from .vocabulary import note_sentences, rater_cell, rater_names, spelled_interval

UNNAMED_PATIENTS = (
    "Every case counts as a patient of its own. If cases share a patient (two eyes, two slices), name the patients "
    "in cases.csv; otherwise confidence intervals are too narrow."
)
MOST_NAMED = 4
"""Most suspicions about masks that are spelled out."""


def section(findings: Findings) -> Section:
    """What a reader with one minute must know."""
    lead = (
        *_broken_masks(findings),
        *_overlap_sentences(findings),
        *_kappa_sentence(findings),
        *_rater_sentences(findings),
        *_standard_sentences(findings),
        *algorithm_summary(findings),
    )
    return Section("in-short", "In short", lead, tuple(_blocks(findings)))


def _blocks(findings: Findings) -> Iterator[Block]:
    if (table := dispute_table(findings)) is not None:
        yield table
    if sentences := next_steps(findings):
        yield Paragraphs(sentences, "What to do next", listed=True)
    yield coverage_table(findings) or Paragraphs((coverage_sentence(findings),))
    others = (note for note in findings.agreement.notes if code_of(note) not in KINDS)
    notes = [UNNAMED_PATIENTS] if len(findings.study) > 1 and findings.subject_word == "case" else []
    notes += note_sentences(findings, others)
    if notes:
        yield Paragraphs(tuple((note,) for note in notes), "Notes", listed=True, kind="note")


def _broken_masks(findings: Findings) -> Iterator[Sentence]:
    """Masks that are probably broken, before everything else."""
    said = findings.agreement.claims.sentences(*IDS)
    for i, sentence in enumerate(said[:MOST_NAMED]):
        yield ("First of all: ", *lower_first(sentence)) if i == 0 else sentence
    if said:
        left = len(said) - MOST_NAMED
        are = "is one" if left == 1 else f"are {number_word(left)}"
        more = f"There {are} more: see agree/masks.csv. " if left > 0 else ""
        counted = count_as_is(findings.agreement.suspicions)
        them = "it" if "this mask" in counted else "them"
        yield (f"{more}{counted}: correct {them}, or leave {them} out, and make the report again.",)


def _who_marked_what(findings: Findings) -> str:
    study = findings.study
    patients = f" of {spell_count(len(study.subjects), 'patient')}" if findings.subject_word == "patient" else ""
    cases = spell_count(len(study), "case") + patients
    if study.options.exchangeable:
        others = " each, not necessarily the same," if len(study) > 1 else ""
        return f"{raters_per_case(findings)}{others} read {cases}"
    raters = spell_count(len(study.rater_names), "rater")
    unread = findings.counts.missing - findings.counts.not_evaluable
    if len(study) > 1 and not unread:
        return f"{raters} read the same {cases}"
    return f"{raters} read {cases}" + (", but not all of them every case" if unread else "")


def _overlap_sentences(findings: Findings) -> Iterator[Sentence]:
    """Who marked what, and the overlap of two raters."""
    table, who = findings.table("agree/agreement"), _who_marked_what(findings)
    dice, same = table.row("dice"), table.row("percent_agreement")
    level = spelled_interval(findings)  # of the first number of the page
    if dice is None and is_defined(same):
        share = table.quote(same, 0, percent=True, level=level)
        text = "{}; two raters give the same label to {} of the {}s."
        yield capitalise(compose(text, who, share, findings.pixel_word))
    elif dice is None:
        yield capitalise((f"{who}.",))
    elif is_defined(dice):
        yield capitalise((f"{who}.",))
        yield from findings.agreement.claims.sentences(NOT_EVALUABLE.id)
        yield from _first_interval(findings.agreement.claims.sentences("agreement.overlap", "agreement.labels"), level)
    else:
        yield capitalise((f"{who}. There is no overlap to measure: {why_no_overlap(findings)}.",))
    shown = same if dice is None else dice
    if is_defined(shown) and not has_interval(shown):
        yield (_why_no_interval(findings, shown),)


def _first_interval(sentences: Sequence[Sentence], level: str) -> Iterator[Sentence]:
    """The sentences, with the name of the interval at the first number of the page."""
    for number, sentence in enumerate(sentences):
        first = next((i for i, part in enumerate(sentence) if isinstance(part, Cell) and part.low), None)
        named = sentence if number or first is None else (
            *sentence[:first], *spell_intervals(sentence[first : first + 1], level), *sentence[first + 1 :],
        )  # fmt: skip
        yield named


def _why_no_interval(findings: Findings, row: Row) -> str:
    """Why there is no interval: too few subjects, or too few with a value."""
    there, defined = len(findings.study.subjects), row.n or 0
    if there < MIN_SUBJECTS:
        many = f"there {'is' if there == 1 else 'are'} {number_word(there)}"
        return (
            f"There are no confidence intervals over {findings.subject_word}s: they need {number_word(MIN_SUBJECTS)}, "
            f"and {many}.{over_raters(findings)}"
        )
    if code(row.low or 0.0) == "label_of_few_subjects":
        return (
            f"The mean over labels stands without a confidence interval: that needs {number_word(MIN_SUBJECTS)} "
            f"{findings.subject_word}s for every label, and one of them has fewer."
        )
    what = "Dice" if row.statistic == "dice" else "This number"
    subjects = spell_count(there, findings.subject_word)
    return (
        f"{what} stands without a confidence interval: it is defined for {number_word(defined)} of {subjects}, and "
        f"intervals need {number_word(MIN_SUBJECTS)}."
    )


def over_raters(findings: Findings) -> str:
    """A remark on intervals over raters, where there are no others."""
    rows = findings.table("agree/agreement").rows
    if not findings.counts.jackknifed or not any(has_interval(r) for r in rows if r.statistic.endswith("_over_raters")):
        return ""
    these = f"these {findings.subject_word}s" if len(findings.study.subjects) > 1 else f"this {findings.subject_word}"
    return f" Intervals over raters are in the table of agreement: they hold for other raters and {these}."


def _kappa_sentence(findings: Findings) -> Iterator[Sentence]:
    """Kappa with its level, and its range over cases."""
    table = findings.table("agree/agreement")
    kappa, dice = table.row("fleiss_kappa"), table.row("dice")
    if not is_defined(kappa):
        if dice is None or is_defined(dice):
            yield (f"Agreement beyond chance cannot be computed: {why_no_kappa(findings)}.",)
        return
    if kappa.value == 1:
        where = " in every case" if len(findings.study) > 1 else ""
        yield compose("All raters marked exactly the same{}: Fleiss' kappa is {}.", where, table.quote(kappa))
        return
    yield from findings.agreement.claims.sentences("agreement.beyond_chance", *FOR_OTHER_RATERS)
    if spread := _kappa_range(findings, table):
        yield spread


FOR_OTHER_RATERS = ("agreement.over_both", "agreement.these_raters")
"""Claims about whom the intervals of the headline numbers are about."""


def _kappa_range(findings: Findings, table: TableIndex) -> Sentence:
    rows = [row for row in cases_by_kappa(findings) if is_defined(row)]
    if len(rows) < 2 or rows[0].value == rows[-1].value:
        return ()
    ends = [cell for row in (rows[0], rows[-1]) for cell in (table.quote(row), case_cell(row.case))]
    return compose("Case by case, kappa ranges from {} ({}) to {} ({}).", *ends)


def _rater_sentences(findings: Findings) -> Iterator[Sentence]:
    """Outliers, and raters who draw larger or smaller."""
    if findings.study.options.exchangeable:
        yield ("Raters are exchangeable, so nothing is reported about single raters.",)
    elif is_defined(findings.table("agree/agreement").row("fleiss_kappa")):
        yield from rater_sentences(findings, *COMPARISONS)


def _standard_sentences(findings: Findings) -> Iterator[Sentence]:
    """How far the reference standard depends on the method, and whether raters differ on the same pixels."""
    yield from findings.fusion.claims.sentences("consensus.same", "consensus.bound")
    pair = most_different(findings)
    dice = findings.table("agree/agreement").row("dice")
    if pair and (dice is None or is_defined(dice)):
        which = ", the reference standards that differ most," if pair.several else ""
        mean = "mean Dice" if len(findings.study) > 1 else "Dice"
        value = findings.table("fuse/differences").quote(pair.row, telling_digits(pair.row.value))
        yield capitalise(compose("{}{} overlap by a {} of {}{}.", pair.names, which, mean, value, pair.over))
    yield from rater_sentences(findings, "raters.effective")


# --- what to do next

CLEARLY = 0.05
"""Cases whose kappa (mean Dice of several labels) lies so far below the median are to be looked at again."""
DIFFERENT_SIZE = 0.01
"""Differences of size that are smaller are no reason to agree on anything."""
HIGH_AGREEMENT, FAR_ABOVE_KAPPA, UNEQUAL_PREVALENCE = 0.8, 0.25, 0.5
"""Percent agreement, its distance above kappa and the prevalence index from which on a warning is shown."""


def next_steps(findings: Findings) -> tuple[Sentence, ...]:
    """What to do next, and what to be careful about, the most useful first."""
    parts: tuple[Callable[[Findings], Iterator[Sentence]], ...] = (
        _look_again,
        _partly_empty,
        _no_overlap,
        _talk_to_outliers,
        _agree_on_border,
        _ask_about_copies,
        _second_look,
        _more_raters,
        _no_intervals,
        _percent_agreement_warning,
        _krippendorff_rule,
    )
    return tuple(sentence for part in parts for sentence in part(findings))


def _look_again(findings: Findings) -> Iterator[Sentence]:
    if rows := clearly_disputed(findings):
        # the colours of exchangeable raters are no persons
        see = "the masks" if findings.study.options.exchangeable else "who drew what"
        # of several labels the order goes by their mean Dice
        least = "overlap least" if findings.agreement.tallies[rows[0].case].labels.several else "agree least"
        click = f" Click a name to see {see}." if findings.study.tallied is None else ""
        text = f"Look again at {{}}: the raters {least} there.{click}"
        yield compose(text, case_links([row.case for row in rows]))


def clearly_disputed(findings: Findings) -> list[Row]:
    """Of the cases with the lowest score those that lie clearly below the median of all."""
    scores = case_scores(findings)
    return [row for row in most_disputed(findings) if scores[row.case] <= median(scores.values()) - CLEARLY]


def _partly_empty(findings: Findings) -> Iterator[Sentence]:
    """Cases in which some raters marked nothing, or none of a label."""
    cases = [case for case, t in _with_background(findings).items() if len(set(marked_anything(t).values())) > 1]
    if cases:
        where = spell_count(len(cases), "case") if len(findings.study) > 1 else "the case"
        text = (
            "In {} ({}) some raters marked nothing and others something: settle whether there is anything to mark "
            "before you compare outlines."
        )
        yield compose(text, where, case_links(cases))
    for label, left in labels_left_out(findings.agreement.tallies).items():
        if others := [case for case in left if case not in cases]:
            where = spell_count(len(others), "case") if len(findings.study) > 1 else "the case"
            text = (
                "In {} ({}) some raters marked {} and others did not: settle where it is before you compare outlines."
            )
            yield compose(text, where, case_links(others), label_words(label))


def _with_background(findings: Findings) -> dict[str, Tally]:
    """The tallies of the cases in which something may be left unmarked."""
    return {case: t for case, t in findings.agreement.tallies.items() if t.labels.background is not None}


def _no_overlap(findings: Findings) -> Iterator[Sentence]:
    """Cases without a pixel that two raters marked: they have no useful reference standard."""
    found = {case: t for case, t in _with_background(findings).items() if any(t.marked > 0) and not has_overlap(t)}
    alone = [case for case, t in found.items() if t.rated.max() == 1]
    if alone:
        text = "Do not judge anything by a consensus of {}: only one rater has a mask there, which it is."
        yield compose(text, case_links(alone))
    cases = [case for case in found if case not in alone]
    if cases:
        text = (
            "Do not judge anything by a consensus of {}: no two raters marked a common place there, so that it is "
            "empty, or holds what single raters marked."
        )
        yield compose(text, case_links(cases))


def _talk_to_outliers(findings: Findings) -> Iterator[Sentence]:
    if out := claimed_raters(findings, "raters.outlier"):
        text = (
            "Go through {} with {}{} another rater: do they follow the same rules? A distance alone is no reason to "
            "exclude a rater."
        )
        which = "some cases" if len(findings.study) > 1 else "the case"
        beside = " and" if len(out) == 1 else ", and with"
        yield compose(text, which, rater_names(findings, out), beside)


def _agree_on_border(findings: Findings) -> Iterator[Sentence]:
    """Raters who draw larger, and raters who draw smaller; two groups of raters."""
    if findings.agreement.claims.of("raters.clusters").made:
        yield ("Agree on rules first: the raters fall into two groups, which may follow different ones.",)
        return
    sizes = list(_claimed_sizes(findings))
    big, small = ([row["rater"] for word, row in sizes if word == kind] for kind in ("larger", "smaller"))
    if any(row.label for _, row in sizes):
        table = findings.table("agree/raters")
        parts = [
            compose("rater {} draws {} {} ({} times the size)", rater_cell(findings, str(row["rater"])),
                    label_words(row.label), word, size_ratio(table, row))
            for word, row in sizes
        ]  # fmt: skip
        yield compose("Agree on where labels end: {} than most of the others.", join_parts(parts))
    elif big and small:
        draws = [part for side in (big, small) for part in (rater_names(findings, side), "s" if len(side) == 1 else "")]
        text = "Agree on where the border runs: {} draw{} larger and {} draw{} smaller than most of the others."
        yield compose(text, *draws)


def _claimed_sizes(findings: Findings) -> Iterator[tuple[str, Row]]:
    """Who draws larger or smaller, with the row of their relative size; not where that is nearly 1."""
    raters, table = findings.agreement.raters, findings.table("agree/raters")
    if raters is None:
        return
    for word in ("larger", "smaller"):
        about = {claim.about for claim in findings.agreement.claims.of(f"raters.{word}").made}
        for rater, label in product(raters.facts.raters, raters.facts.tests.labels):
            row = table.row("relative_size", "mean", rater, label=label)
            claimed = (f"{rater}, {label}" if label else rater) in about
            if claimed and is_defined(row) and abs(row.value - 1) >= DIFFERENT_SIZE:
                yield word, row


def _ask_about_copies(findings: Findings) -> Iterator[Sentence]:
    """Raters with nearly the same masks; where most are similar, the task may be easy."""
    yield from rater_sentences(findings, "raters.alike")
    if copies := rater_sentences(findings, "raters.copies"):
        yield from copies
        yield ("Ask whether they worked alone: copies and edits make agreement look better than it is. Named under "
               "based_on in reads.csv, they are left out.",)  # fmt: skip


def _second_look(findings: Findings) -> Iterator[Sentence]:
    """Regions that algorithms mark and raters may have missed."""
    rows = findings.table("evaluate/second_look").rows
    if places := {(row.case, row["rank"]) for row in rows}:
        text = "Look at {} that algorithms mark and most raters do not, in {}: raters may have missed something."
        yield compose(
            text, spell_count(len(places), "place"), case_links(list(dict.fromkeys(row.case for row in rows)))
        )


def _more_raters(findings: Findings) -> Iterator[Sentence]:
    """What is known about larger panels, and what is not; nothing where masks are doubtful."""
    if findings.plan is None or broken_raters(findings) or copies_suspected(findings):
        return
    said = findings.plan.claims.sentences("plan.more_raters", "plan.third_rater", "plan.enough_raters")
    for i, sentence in enumerate(said):
        yield sentence if i else ("Would more raters help? ", *sentence)


def _no_intervals(findings: Findings) -> Iterator[Sentence]:
    """A warning where there are no intervals."""
    row = findings.table("agree/agreement").row("fleiss_kappa")
    if is_defined(row) and not findings.resampled:
        many = len(findings.study.subjects) > 1
        each = findings.subject_word
        these = f"these {each}s" if many else f"this {each}"
        yield (f"Take the numbers for {these} only: without confidence intervals over {each}s, nothing is known about "
               "others.",)  # fmt: skip


def _percent_agreement_warning(findings: Findings) -> Iterator[Sentence]:
    table = findings.table("agree/agreement")
    agreed, kappa = table.row("percent_agreement"), table.row("fleiss_kappa")
    rare = table.row("prevalence_index")
    if agreed is None or kappa is None or rare is None or region_of(findings.agreement.tallies) == "union":
        return
    far_above = agreed.value >= HIGH_AGREEMENT and agreed.value - kappa.value >= FAR_ABOVE_KAPPA
    if not (far_above and rare.value >= UNEQUAL_PREVALENCE):
        return
    why, instead = "are marked by nearly everybody", "Kappa and negative agreement"
    if _marked_share(findings) < 0.5:
        why, instead = "are background that nobody marks", "Kappa, Dice and positive agreement"
    text = "Do not quote percent agreement alone: it is {} because most {}s {}. {} say more."
    yield compose(text, table.quote(agreed, 0, percent=True), findings.pixel_word, why, instead)


def _marked_share(findings: Findings) -> float:
    """The share of pixels that raters marked, which only selects the wording."""
    tables = findings.agreement.tallies.values()
    marks, chances = sum(int(t.marked @ t.counts) for t in tables), sum(int(t.rated @ t.counts) for t in tables)
    return marks / chances if chances else 0.0


def _krippendorff_rule(findings: Findings) -> Iterator[Sentence]:
    """Krippendorff's limits, applied to the mean over subjects."""
    yield from findings.agreement.claims.sentences(*VERDICTS)
