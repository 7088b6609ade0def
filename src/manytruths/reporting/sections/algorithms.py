"""The section on algorithms: how they compare with the raters, which is best, and by which reference standard."""

from __future__ import annotations

from collections.abc import Iterator

from ...analyses.evaluate.charts import charts
from ...analyses.evaluate.evaluate import Evaluation
from ...analyses.evaluate.human_range import LEAST_RATERS, OTHERS, HumanRange
from ...analyses.evaluate.rankings import Orders
from ...analyses.rows import Row
from ...core.undefined import reason
from ...io import safe_name
from ..elements import Block, Chart, Paragraphs, Section, Sentence, number_cell
from ..findings import Findings
from ..numbers import is_defined
from .algorithm_curves import area_range, curve_blocks, curve_lead
from .algorithm_ranking import order_sentences, rank_blocks, winner_sentence
from .algorithm_scores import (
    SCORES,
    VERDICTS,
    algorithm_cell,
    algorithms_of,
    judged_label,
    main_standards,
    one_more_rater,
    place_text,
    rows_of,
    score_tables,
    standards_of,
    verdict_table,
    verdict_text,
)
from .vocabulary import (
    given_references,
    join_names,
    join_parts,
    note_sentences,
    spell_count,
    standard_name,
)

MOST_SENTENCES = 4
"""Most algorithms that get a sentence each."""
HUMAN_CHARTS = ("dice", "hausdorff_95")


def section(findings: Findings) -> Section | None:
    """The section on algorithms; None without predictions."""
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
    if evaluation.mask_scores is not None:
        yield from _dice_sentence(findings, evaluation)
        yield from _comparison_sentences(findings, evaluation)
    if evaluation.probability_scores is not None:
        yield from curve_lead(findings, evaluation.probability_scores)
    if len(findings.study.algorithms) == 1:
        yield ("There is one algorithm, and so nothing to rank.",)
    if findings.ranking is not None:
        yield (*winner_sentence(findings, findings.ranking),)
    yield from order_sentences(findings)


def _dice_sentence(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """Dice against the first reference standard."""
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
        (number_cell(SCORES, row, level="" if i else findings.interval_name), f" for {name}")
        for i, (name, row) in enumerate(best[:MOST_SENTENCES])
    ]
    return join_parts(
        [*parts, (f"less for {len(best) - MOST_SENTENCES} more",)] if len(best) > MOST_SENTENCES else parts
    )


def _comparison_sentences(findings: Findings, evaluation: Evaluation) -> Iterator[Sentence]:
    """How each algorithm compares with the raters, by Dice."""
    assert evaluation.mask_scores is not None
    human = evaluation.mask_scores.ranges.get((judged_label(findings), OTHERS, "dice"))
    if findings.study.options.exchangeable:
        yield ("Raters are exchangeable, so algorithms cannot be compared with each of them.",)
    elif human is None or len(human.raters) < LEAST_RATERS:
        few = spell_count(len(findings.study.rater_names), "rater")
        yield (
            f"Whether the algorithms agree with the raters as these do with each other cannot be determined: {few} "
            "make "
            "no range to compare with.",
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
        yield (f"Compared with the raters, both judged by the other raters (Dice): {text}.",)
        return
    for i, row in enumerate(rater_comparison(findings)):
        name = str(row["algorithm"])
        its = " has a mean Dice against the raters of " if not i else " has "
        yield (algorithm_cell(findings, name), its, number_cell(VERDICTS, row),
               f", {place_text(human, name, float(row.value), first=not i)}.")  # fmt: skip


def _human_range_blocks(findings: Findings) -> Iterator[Block]:
    """Charts of the human range, then the verdicts."""
    evaluation = findings.evaluation
    if evaluation is None or evaluation.mask_scores is None or len(findings.study.rater_names) < LEAST_RATERS:
        return
    svgs = charts(evaluation)
    for part in evaluation.mask_scores.parts:
        suffix = f"-{safe_name(part.label)}" if part.label else ""
        for statistic in HUMAN_CHARTS if part is evaluation.mask_scores.parts[0] else HUMAN_CHARTS[:1]:
            name = f"human-{statistic}{suffix}"
            if name in svgs:
                caption = (
                    "Each dot is one rater: how much more closely (right) or less closely (left) than this rater the "
                    f"algorithm agrees with the other raters, case by case. Whiskers: {findings.interval_name}."
                )
                yield Chart(f"evaluate-{name}", svgs[name], caption)
    yield from verdict_table(findings)


def _notes(findings: Findings) -> Iterator[Block]:
    kinds = {
        "Notes on the evaluation": findings.evaluation.notes if findings.evaluation else (),
        "Notes on the ranking": findings.ranking.notes if findings.ranking else (),
    }
    for title, notes in kinds.items():
        own = (note for note in notes if note not in findings.agreement.notes)
        if sentences := tuple((note,) for note in note_sentences(findings, own)):
            yield Paragraphs(sentences, title, listed=True, kind="note")


# --- the algorithms in two sentences, for the summary

MOST_NAMED = 4
"""Most algorithms that the summary names."""
PBAR = "area under the precision–recall curve averaged over prevalences (P̄-R, 1 is best)"


def algorithm_summary(findings: Findings) -> Iterator[Sentence]:
    """The algorithms in two sentences, for the summary; nothing without predictions."""
    if findings.evaluation is None:
        return
    grey = findings.evaluation.mask_scores is None
    yield from _area_summary(findings) if grey else _comparison_summary(findings) or _dice_summary(findings)
    yield from _order_summary(findings)


def main_orders(findings: Findings) -> Orders | None:
    """The orders by Dice, or by area for probabilities; None where no algorithm has a score."""
    assert findings.evaluation is not None
    metric = "dice" if findings.evaluation.mask_scores is not None else "pbar_area"
    orders = findings.evaluation.orders.get((judged_label(findings), metric))
    return orders if orders is not None and orders.rankings else None


def rater_comparison(findings: Findings) -> list[Row]:
    """The mean Dice of every algorithm that was compared with the raters, the best first."""
    label, table = judged_label(findings), findings.table("evaluate/verdicts")
    rows = [
        r for r in table.all("dice", "mean", label=label) if r["against"] == OTHERS and r["verdict"] and is_defined(r)
    ]
    return sorted(rows, key=lambda r: -r.value)


def _comparison_summary(findings: Findings) -> list[Sentence]:
    """Each algorithm and each rater judged by the other raters."""
    assert findings.evaluation is not None
    hard, label, table = (
        findings.evaluation.mask_scores,
        judged_label(findings),
        findings.table("evaluate/verdicts"),
    )
    rows = rater_comparison(findings)
    if hard is None or not rows:
        return []
    human = hard.ranges[label, OTHERS, "dice"]
    parts: list[Sentence] = []
    for i, row in enumerate(rows[:MOST_NAMED]):
        name = str(row["algorithm"])
        has = " " if i else " has a mean Dice of "
        place = place_text(human, name, float(row.value), first=i == 0)
        parts.append((algorithm_cell(findings, name), has, table.quote(row), f", {place}"))
    of = f" ({label})" if label else ""
    sentence = (f"Against the raters{of}, ", *join_parts(parts, "; ", "; "), _more_algorithms(len(rows)), ".")
    return [(*sentence, f" {one_more_rater(findings)}" if one_more_rater(findings) else "")]


def _more_algorithms(rows: int) -> str:
    return f", and {spell_count(rows - MOST_NAMED, 'algorithm')} more" if rows > MOST_NAMED else ""


def _dice_summary(findings: Findings) -> Iterator[Sentence]:
    """Without a human range: Dice against the first reference standard that gives the most common order."""
    orders, standards = main_orders(findings), main_standards(findings)
    usual = orders.rankings[0].truths if orders else standards
    standard = next((truth for truth in standards if truth in usual), standards[0])
    table = findings.table("evaluate/scores")
    own = table.all("dice", "mean", label=judged_label(findings))
    rows = sorted(
        (r for r in own if not r.group and r["against"] == standard and is_defined(r)), key=lambda r: -r.value
    )
    if not rows:
        yield ("The algorithms cannot be evaluated: there is no reference standard to judge them by.",)
        return
    parts: list[Sentence] = [
        (algorithm_cell(findings, str(r["algorithm"])), " ", table.quote(r)) for r in rows[:MOST_NAMED]
    ]
    yield (
        f"Against {standard_name(findings, standard)}, the mean Dice is: ",
        *join_parts(parts),
        _more_algorithms(len(rows)),
        ".",
    )


def _area_summary(findings: Findings) -> Iterator[Sentence]:
    """Probabilities: the range of areas over all reference standards, in the most common order."""
    assert findings.evaluation is not None
    assert findings.evaluation.probability_scores is not None
    table, orders = findings.table("evaluate/scores"), main_orders(findings)
    names = orders.rankings[0].order if orders else [c.name for c in findings.evaluation.probability_scores.counts]
    ends = {name: both for name in names if (both := area_range(findings.evaluation.probability_scores, name))}
    if not ends:
        yield ("The algorithms cannot be evaluated: there is no reference standard to judge them by.",)
        return
    parts: list[Sentence] = [
        (algorithm_cell(findings, name), " " if i else " reaches ", table.quote(low), " to ", table.quote(high))
        for i, (name, (low, high)) in enumerate(list(ends.items())[:MOST_NAMED])
    ]
    yield (
        f"By the {PBAR}, depending on the reference standard, ",
        *join_parts(parts),
        _more_algorithms(len(ends)),
        ".",
    )


def _order_summary(findings: Findings) -> Iterator[Sentence]:
    """Whether the order is the same under every reference standard."""
    orders = main_orders(findings)
    if orders is None:
        return
    first = orders.rankings[0]
    places = [join_names(place) + (" (level)" if len(place) > 1 else "") for place in first.places[:MOST_NAMED]]
    order = ", then ".join(places) + (", …" if len(first.places) > MOST_NAMED else "")
    of = sum(len(r.truths) for r in orders.rankings)
    if len(orders.rankings) == 1:
        yield (f"Their order is the same whichever rater or consensus is taken as the reference standard: {order}.",)
    else:
        yield (f"Their order depends on the reference standard: {order} under {len(first.truths)} "
               f"of {of}, another under the rest. Do not name a winner without naming the standard.",)  # fmt: skip
