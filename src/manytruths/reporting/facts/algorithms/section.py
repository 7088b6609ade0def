"""The section on algorithms: are they as good as the raters, is one of them best, and by which standard."""

from __future__ import annotations

from collections.abc import Iterator

from ....analyses.evaluate.charts import charts
from ....analyses.evaluate.human_range import LEAST_RATERS, OTHERS, HumanRange
from ....analyses.evaluate.verb import Evaluation
from ....analyses.rows import Row
from ....core.undefined import reason
from ....io import safe_name
from ...findings import Findings
from ...parts import Block, Chart, Paragraphs, Section, Sentence, number_cell
from ..human_words import place_text, verdict_text
from ..notes import note_sentences
from ..standards import given_references, standard_name
from ..verdicts import rater_comparison
from ..wording import interval_name, join_names, join_parts, spell_count
from .curves import curve_blocks, curve_lead
from .ranks import order_sentences, rank_blocks, winner_sentence
from .tables import (
    SCORES,
    VERDICTS,
    algorithm_cell,
    algorithms_of,
    judged_label,
    main_standards,
    rows_of,
    score_tables,
    standards_of,
    verdict_table,
)

MOST_SENTENCES = 4
"""Algorithms that get a sentence each."""
HUMAN_CHARTS = ("dice", "hausdorff_95")


def section(findings: Findings) -> Section | None:
    """Everything about the algorithms; nothing without predictions."""
    if findings.evaluation is None:
        return None
    blocks = (
        *_human_range_blocks(findings),
        *score_tables(findings),
        *curve_blocks(findings),
        *rank_blocks(findings),
        *_notes(findings),
    )
    return Section("algorithms", "How good are the algorithms?", tuple(_lead(findings, findings.evaluation)), blocks)


def _lead(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    if evaluation.hard is not None:
        yield from _dice_sentence(findings, evaluation)
        yield from _comparison_sentences(findings, evaluation)
    if evaluation.grey is not None:
        yield from curve_lead(findings, evaluation.grey)
    if len(findings.study.algorithms) == 1:
        yield ("There is one algorithm, and so nothing to rank.",)
    if findings.ranking is not None:
        yield (*winner_sentence(findings, findings.ranking),)
    yield from order_sentences(findings)


def _dice_sentence(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Dice by the first standard."""
    rows, label = rows_of(evaluation, "mean"), judged_label(findings)
    order = [*given_references(findings.study), *main_standards(findings), *standards_of(findings, rows)]
    standard = next((s for s in order if s in standards_of(findings, rows)), "")
    own = {a: rows[label, a, standard, "dice"] for a in algorithms_of(findings) if (label, a, standard, "dice") in rows}
    known = {a: row for a, row in own.items() if not reason(row.value)}
    if not known:
        yield ("No algorithm has a Dice here: nothing was marked, or nothing was predicted.",)
        return
    best = sorted(known.items(), key=lambda pair: -pair[1].value)
    what = "mean Dice" if len(findings.study.subjects) > 1 else "Dice"
    judge = standard_name(findings, standard)
    yield (
        f"Judged by {judge}, the {what} (overlap; 1 is the same mask) is ",
        *_dice_by_algorithm(findings, best),
        ".",
    )


def _dice_by_algorithm(findings: Findings, best: list[tuple[str, Row]]) -> Sentence:
    parts: list[Sentence] = [
        (number_cell(SCORES, row, level="" if i else interval_name(findings)), f" for {name}")
        for i, (name, row) in enumerate(best[:MOST_SENTENCES])
    ]
    return join_parts(
        [*parts, (f"less for {len(best) - MOST_SENTENCES} more",)] if len(best) > MOST_SENTENCES else parts
    )


def _comparison_sentences(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Whether each lies among the raters, by Dice."""
    assert evaluation.hard is not None
    human = evaluation.hard.ranges.get((judged_label(findings), OTHERS, "dice"))
    if findings.study.options.exchangeable:
        yield (
            "The raters are not the same people in every case, so that algorithms cannot be set beside each of them.",
        )
    elif human is None or len(human.raters) < LEAST_RATERS:
        few = spell_count(len(findings.study.rater_names), "rater")
        yield (
            f"Whether the algorithms agree with the raters as these do with each other cannot be told: {few} make no "
            "range to compare with.",
        )
    else:
        yield from _verdict_sentences(findings, human)


def _verdict_sentences(findings: Findings, human: HumanRange) -> Iterator[Sentence]:
    names = list(human.differences)
    if len(names) > MOST_SENTENCES:
        by: dict[str, list[str]] = {}
        for name in names:
            by.setdefault(verdict_text(human, name), []).append(name)
        text = "; ".join(f"{words}: {join_names(own)}" for words, own in by.items())
        yield (f"Beside the raters, when both are judged by the other raters (Dice): {text}.",)
        return
    for i, row in enumerate(rater_comparison(findings)):
        name = str(row["algorithm"])
        its = " has a mean Dice against the raters of " if not i else " has "
        yield (algorithm_cell(findings, name), its, number_cell(VERDICTS, row),
               f", {place_text(human, name, float(row.value), first=not i)}.")  # fmt: skip


def _human_range_blocks(findings: Findings) -> Iterator[Block]:
    """Charts of the human range, then the verdicts."""
    evaluation = findings.evaluation
    if evaluation is None or evaluation.hard is None or len(findings.study.rater_names) < LEAST_RATERS:
        return
    svgs = charts(evaluation)
    for part in evaluation.hard.parts:
        suffix = f"-{safe_name(part.label)}" if part.label else ""
        for statistic in HUMAN_CHARTS if part is evaluation.hard.parts[0] else HUMAN_CHARTS[:1]:
            name = f"human-{statistic}{suffix}"
            if name in svgs:
                caption = (
                    "Each dot is one rater: how much more closely (right) or less closely (left) than this rater the "
                    f"algorithm agrees with the other raters, case by case. Whiskers: {interval_name(findings)}."
                )
                yield Chart(f"evaluate-{name}", svgs[name], caption)
    yield from verdict_table(findings)


def _notes(findings: Findings) -> Iterator[Block]:
    kinds = {
        "What to know before believing this": findings.evaluation.notes if findings.evaluation else (),
        "About the ranking": findings.ranking.notes if findings.ranking else (),
    }
    for title, notes in kinds.items():
        own = (note for note in notes if note not in findings.agreement.notes)
        if sentences := tuple((note,) for note in note_sentences(findings, own)):
            yield Paragraphs(sentences, title, listed=True, kind="note")
