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
from ...parts import Block, Chart, Paragraphs, Section, Sentence, quoted
from ..human_words import place_words, verdict_words
from ..notes import notes_of
from ..standards import given_references, spoken
from ..verdicts import beside_rows
from ..wording import count, interval_name, joined, listed
from .curves import curve_blocks, curve_lead
from .ranks import dependence, rank_blocks, verdict
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

FEW = 4
"""Algorithms that get a sentence each."""
HUMAN_CHARTS = ("dice", "hausdorff_95")


def section(found: Findings) -> Section | None:
    """Everything about the algorithms; nothing without predictions."""
    if found.evaluation is None:
        return None
    blocks = (*_human(found), *score_tables(found), *curve_blocks(found), *rank_blocks(found), *_notes(found))
    return Section("algorithms", "How good are the algorithms?", tuple(_lead(found, found.evaluation)), blocks)


def _lead(found: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    if evaluation.hard is not None:
        yield from _scored(found, evaluation)
        yield from _beside_raters(found, evaluation)
    if evaluation.grey is not None:
        yield from curve_lead(found, evaluation.grey)
    if len(found.study.algorithms) == 1:
        yield ("There is one algorithm, and so nothing to rank.",)
    if found.ranking is not None:
        yield (*verdict(found, found.ranking),)
    yield from dependence(found)


def _scored(found: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Dice by the first standard."""
    rows, label = rows_of(evaluation, "mean"), judged_label(found)
    order = [*given_references(found.study), *main_standards(found), *standards_of(found, rows)]
    standard = next((s for s in order if s in standards_of(found, rows)), "")
    own = {a: rows[label, a, standard, "dice"] for a in algorithms_of(found) if (label, a, standard, "dice") in rows}
    known = {a: row for a, row in own.items() if not reason(row.value)}
    if not known:
        yield ("No algorithm has a Dice here: nothing was marked, or nothing was predicted.",)
        return
    best = sorted(known.items(), key=lambda one: -one[1].value)
    what = "mean Dice" if len(found.study.subjects) > 1 else "Dice"
    judge = spoken(found, standard)
    yield (
        f"Judged by {judge}, the {what} (overlap; 1 is the same mask) is ",
        *_each(found, best),
        ".",
    )


def _each(found: Findings, best: list[tuple[str, Row]]) -> Sentence:
    told: list[Sentence] = [
        (quoted(SCORES, row, level="" if i else interval_name(found)), f" for {name}")
        for i, (name, row) in enumerate(best[:FEW])
    ]
    return joined([*told, (f"less for {len(best) - FEW} more",)] if len(best) > FEW else told)


def _beside_raters(found: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Whether each lies among the raters, by Dice."""
    assert evaluation.hard is not None
    human = evaluation.hard.ranges.get((judged_label(found), OTHERS, "dice"))
    if found.study.options.exchangeable:
        yield (
            "The raters are not the same people in every case, so that algorithms cannot be set beside each of them.",
        )
    elif human is None or len(human.raters) < LEAST_RATERS:
        few = count(len(found.study.rater_names), "rater")
        yield (
            f"Whether the algorithms agree with the raters as these do with each other cannot be told: {few} make no "
            "range to compare with.",
        )
    else:
        yield from _verdicts(found, human)


def _verdicts(found: Findings, human: HumanRange) -> Iterator[Sentence]:
    names = list(human.differences)
    if len(names) > FEW:
        by: dict[str, list[str]] = {}
        for name in names:
            by.setdefault(verdict_words(human, name), []).append(name)
        told = "; ".join(f"{words}: {listed(own)}" for words, own in by.items())
        yield (f"Beside the raters, when both are judged by the other raters (Dice): {told}.",)
        return
    for i, row in enumerate(beside_rows(found)):
        name = str(row["algorithm"])
        its = " has a mean Dice against the raters of " if not i else " has "
        yield (algorithm_cell(found, name), its, quoted(VERDICTS, row),
               f", {place_words(human, name, float(row.value), first=not i)}.")  # fmt: skip


def _human(found: Findings) -> Iterator[Block]:
    """Charts of the human range, then the verdicts."""
    evaluation = found.evaluation
    if evaluation is None or evaluation.hard is None or len(found.study.rater_names) < LEAST_RATERS:
        return
    drawn = charts(evaluation)
    for part in evaluation.hard.parts:
        suffix = f"-{safe_name(part.label)}" if part.label else ""
        for statistic in HUMAN_CHARTS if part is evaluation.hard.parts[0] else HUMAN_CHARTS[:1]:
            name = f"human-{statistic}{suffix}"
            if name in drawn:
                told = (
                    "Each dot is one rater: how much more closely (right) or less closely (left) than this rater the "
                    f"algorithm agrees with the other raters, case by case. Whiskers: {interval_name(found)}."
                )
                yield Chart(f"evaluate-{name}", drawn[name], told)
    yield from verdict_table(found)


def _notes(found: Findings) -> Iterator[Block]:
    kinds = {
        "What to know before believing this": found.evaluation.notes if found.evaluation else (),
        "About the ranking": found.ranking.notes if found.ranking else (),
    }
    for title, notes in kinds.items():
        own = (note for note in notes if note not in found.agreement.notes)
        if told := tuple((note,) for note in notes_of(found, own)):
            yield Paragraphs(told, title, listed=True, kind="note")
