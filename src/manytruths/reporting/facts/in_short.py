"""In short: five sentences, the cases to look at, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...agreement import level
from ...analyses.plan.topics import word
from ...analyses.rows import Row
from ...core.notes import code_of
from ...inference.intervals import LEAST_SUBJECTS
from ..findings import Findings
from ..parts import Block, Cell, Paragraphs, Section, Sentence
from .dependence import error_dependence
from .disputed import (
    cases_by_kappa,
    coverage_sentence,
    coverage_table,
    dispute_table,
    raters_per_case,
    why_no_kappa,
    why_no_overlap,
)
from .habits import outlier_summary, size_sentences
from .next_steps import next_steps
from .notes import note_sentences
from .numbers import TableIndex, find_table, has_interval, is_defined
from .standards import most_different
from .verdicts import algorithm_summary
from .wording import SCALES, capitalise, case_cell, join_parts, pixel_word, spell_count, spelled_interval, subject_word

UNNAMED_PATIENTS = (
    "Every case counts as a patient of its own. If some are of the same patient (two eyes, two slices), name patients "
    "in cases.csv; confidence intervals are too narrow otherwise."
)
DICE_END = ", where 1 would be the same drawing"
MOST_NAMED = 2
"""So many masks that lie wrong are told of one by one."""
MANY_LABELS = 6
"""With more labels only the ends are told."""


def section(findings: Findings) -> Section:
    """What a reader with a minute must know."""
    lead = (
        *_turned_masks(findings),
        *_overlap_sentences(findings),
        *_kappa_sentence(findings),
        *_label_sentence(findings),
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
    others = (note for note in findings.agreement.notes if code_of(note) != "turned_mask")
    notes = tuple((note,) for note in (*_unnamed_patients(findings), *note_sentences(findings, others)))
    if notes:
        yield Paragraphs(notes, "To know", listed=True, kind="note")


def _unnamed_patients(findings: Findings) -> Iterator[str]:
    """No patient is named, so that cases of the same one would be taken for several."""
    if len(findings.study) > 1 and all(case.subject == case.name for case in findings.study):
        yield UNNAMED_PATIENTS


def _turned_masks(findings: Findings) -> Iterator[Sentence]:
    """Masks that were probably saved the wrong way round: nothing else is worth reading before."""
    turns = [f"{turn.case}, {turn.words}" for turn in findings.agreement.turns]
    if turns:
        more = f"; and {word(len(turns) - MOST_NAMED)} more" if len(turns) > MOST_NAMED else ""
        yield (f"Before anything else: in case {'; in case '.join(turns[:MOST_NAMED])}{more}. All numbers count it "
               "as it is: turn it and make this page again.",)  # fmt: skip


def _who_marked_what(findings: Findings) -> str:
    study = findings.study
    raters = spell_count(len(study.rater_names), "rater")
    if study.options.exchangeable:
        return f"{raters_per_case(findings)} marked each of {spell_count(len(study), 'case')}"
    whole = all(len({c.name for c in case.masks}) == len(study.rater_names) for case in study)
    cases = spell_count(len(study), "case")
    same = "the same " if whole and len(study) > 1 else ""
    patients = f" of {spell_count(len(study.subjects), 'patient')}" if subject_word(findings) == "patient" else ""
    return f"{raters} marked {same}{cases}{patients}"


def _overlap_sentences(findings: Findings) -> Iterator[Sentence]:
    """Who marked what, and how far two drawings overlap."""
    table = find_table(findings, "agree", "agreement")
    dice, size, same = (table.row(s) for s in ("dice", "volume_difference", "percent_agreement"))
    who, two = _who_marked_what(findings), "they" if len(findings.study.rater_names) == 2 else "any two raters"
    if dice is None:
        yield capitalise(
            (
                f"{who}; two raters give the same label to ",
                _spelled_out(findings, table, "percent_agreement"),
                f" of the {pixel_word(findings)}s.",
            )
            if is_defined(same)
            else (f"{who}.",)
        )
    elif not is_defined(dice):
        who = who.replace(" marked ", " looked at ", 1)
        yield capitalise((f"{who}, but {why_no_overlap(findings)}: there is no overlap to measure.",))
    else:
        several = ", whatever the label," if len(_label_names(findings)) > 1 else ""
        sizes: Sentence = ()
        if size is not None and is_defined(size):
            sizes = (", and the sizes they mark differ by ", table.quote(size, 0, percent=True))
        mean = "mean Dice" if len(findings.study) > 1 or two != "they" else "Dice"
        if dice.n and dice.n < len(findings.study.subjects):
            several += (
                f" in the {word(dice.n)} {subject_word(findings)}{'s' if dice.n > 1 else ''} where that can be told"
            )
        yield capitalise(
            (
                f"{who}; {two} overlap{several} by a {mean} of ",
                _spelled_out(findings, table, "dice"),
                DICE_END,
                *sizes,
                ".",
            )
        )
    shown = same if dice is None else dice
    if is_defined(shown) and not has_interval(shown):
        yield (_why_no_interval(findings, shown),)


def _why_no_interval(findings: Findings, row: Row) -> str:
    """Why: there are too few, or the number is defined for too few of them."""
    there, defined = len(findings.study.subjects), row.n or 0
    if there < LEAST_SUBJECTS:
        many = f"there {'is' if there == 1 else 'are'} {spell_count(there, subject_word(findings))}"
        return (f"Numbers stand without confidence intervals: those are over {subject_word(findings)}s and need "
                f"{word(LEAST_SUBJECTS)} of them, and {many}.")  # fmt: skip
    what = "Dice" if row.statistic == "dice" else "This number"
    return (f"{what} stands without a confidence interval: it is defined for {word(defined)} of "
            f"{spell_count(there, subject_word(findings))}, and intervals need {word(LEAST_SUBJECTS)}.")  # fmt: skip


def _spelled_out(findings: Findings, table: TableIndex, statistic: str) -> Cell:
    """The first number says what stands behind it."""
    share: dict[str, Any] = {"digits": 0, "percent": True} if statistic == "percent_agreement" else {}
    return table.cell(statistic, level=spelled_interval(findings), **share)


def _kappa_sentence(findings: Findings) -> Iterator[Sentence]:
    """Kappa with its word, and how far cases differ."""
    table = find_table(findings, "agree", "agreement")
    kappa, dice = table.row("fleiss_kappa"), table.row("dice")
    if not is_defined(kappa):
        if dice is None or is_defined(dice):
            yield (f"Agreement beyond chance cannot be told: {why_no_kappa(findings)}.",)
        return
    if kappa.value == 1:
        yield (
            f"All raters drew exactly the same{' in every case' if len(findings.study) > 1 else ''}: Fleiss' kappa is ",
            table.quote(kappa),
            ".",
        )
        return
    scale = findings.settings.scale
    name = level(kappa.value, scale)
    low = level(kappa.low, scale) if has_interval(kappa) and kappa.low is not None else name
    sure = f", though its CI reaches down to {low}" if low != name else ""
    mean = f", on average over {subject_word(findings)}s" if len(findings.study) > 1 else ""
    yield (f"Agreement beyond chance is {name} by the scale of {SCALES.get(scale, scale)}{sure}: Fleiss' kappa is ",
           table.quote(kappa), mean, *_kappa_range(findings, table), ".")  # fmt: skip


def _kappa_range(findings: Findings, table: TableIndex) -> Sentence:
    rows = [row for row in cases_by_kappa(findings) if is_defined(row)]
    if len(rows) < 2 or rows[0].value == rows[-1].value:
        return ()
    least, most = rows[0], rows[-1]
    return ("; case by case it ranges from ", table.quote(least), " (", case_cell(least.case), ") to ",
            table.quote(most), " (", case_cell(most.case), ")")  # fmt: skip


def _label_names(findings: Findings) -> list[str]:
    rows = find_table(findings, "agree", "agreement").all("fleiss_kappa", "mean", label=None)
    return list(dict.fromkeys(row.label for row in rows if row.label))


def _label_sentence(findings: Findings) -> Iterator[Sentence]:
    """Kappa label by label."""
    table = find_table(findings, "agree", "agreement")
    rows = [r for r in (table.row("fleiss_kappa", label=name) for name in _label_names(findings)) if r is not None]
    rows = sorted((r for r in rows if is_defined(r)), key=lambda r: -r.value)
    if len(rows) < 2:
        return
    shown = rows if len(rows) <= MANY_LABELS else [rows[0], rows[-1]]
    where = "Label by label, kappa is " if shown is rows else f"Of {spell_count(len(rows), 'label')}, kappa is "
    yield (where, *join_parts([(table.quote(r), f" for {r.label}") for r in shown]), ".")


def _rater_sentences(findings: Findings) -> Iterator[Sentence]:
    """Who stands out; who draws larger or smaller."""
    if findings.study.options.exchangeable:
        yield ("Raters are not told apart here, so that nothing is said about one of them.",)
    elif is_defined(find_table(findings, "agree", "agreement").row("fleiss_kappa")):
        yield from outlier_summary(findings)
        yield from size_sentences(findings)


def _standard_sentences(findings: Findings) -> Iterator[Sentence]:
    """How far the reference standard depends on how it is made, and whether raters differ on the same pixels."""
    errors, pair = error_dependence(findings), most_different(findings)
    dice = find_table(findings, "agree", "agreement").row("dice")
    if pair and (dice is None or is_defined(dice)):
        much = "little" if pair.row.value >= 0.95 else "somewhat" if pair.row.value >= 0.85 else "much"
        which = ", which differ most," if pair.several else ""
        mean = "mean Dice" if len(findings.study) > 1 else "Dice"
        yield (f"The reference standard depends {much} on how it is made: {pair.names}{which} overlap by a {mean} of ",
               find_table(findings, "fuse", "differences").quote(pair.row), ".")  # fmt: skip
    if errors is not None and errors.few:
        yield capitalise((*errors.sentence, "."))
