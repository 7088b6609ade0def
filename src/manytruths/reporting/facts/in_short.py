"""In short: five sentences, the cases to look at, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...agreement import interpret_kappa
from ...analyses.printing import number_word
from ...analyses.rows import Row
from ...core.notes import code_of
from ...inference.intervals import MIN_SUBJECTS
from ..findings import Findings
from ..parts import Block, Cell, Paragraphs, Section, Sentence
from .dependence import dependence
from .disputed import by_dispute, coverage_sentence, coverage_table, dispute_table, no_kappa, no_overlap, slots
from .habits import habits, who_stands_out
from .next_steps import steps
from .notes import notes_of
from .numbers import Numbers, bounded, known, numbers
from .standards import furthest
from .verdicts import verdicts
from .wording import SCALES, capital, case_cell, count, item, joined, spelled_interval, unit

ALIKE = (
    "Every case counts as a patient of its own. If some are of the same patient (two eyes, two slices), name patients "
    "in cases.csv; confidence intervals are too narrow otherwise."
)
SAME = ", where 1 would be the same drawing"
NAMED = 2
"""So many masks that lie wrong are told of one by one."""
MANY_LABELS = 6
"""With more labels only the ends are told."""


def section(found: Findings) -> Section:
    """What a reader with a minute must know."""
    lead = (
        *_turned(found), *_overlap(found), *_beyond_chance(found), *_labels(found), *_raters(found), *_reference(found),
        *verdicts(found),
    )  # fmt: skip
    return Section("in-short", "In short", lead, tuple(_blocks(found)))


def _blocks(found: Findings) -> Iterator[Block]:
    if (table := dispute_table(found)) is not None:
        yield table
    if told := steps(found):
        yield Paragraphs(told, "What to do next", listed=True)
    yield coverage_table(found) or Paragraphs((coverage_sentence(found),))
    others = (note for note in found.agreement.notes if code_of(note) != "turned_mask")
    notes = tuple((note,) for note in (*_alike(found), *notes_of(found, others)))
    if notes:
        yield Paragraphs(notes, "To know", listed=True, kind="note")


def _alike(found: Findings) -> Iterator[str]:
    """No patient is named, so that cases of the same one would be taken for several."""
    if len(found.study) > 1 and all(case.subject == case.name for case in found.study):
        yield ALIKE


def _turned(found: Findings) -> Iterator[Sentence]:
    """Masks that were probably saved the wrong way round: nothing else is worth reading before."""
    turns = [f"{turn.case}, {turn.words}" for turn in found.agreement.turns]
    if turns:
        more = f"; and {number_word(len(turns) - NAMED)} more" if len(turns) > NAMED else ""
        yield (f"Before anything else: in case {'; in case '.join(turns[:NAMED])}{more}. All numbers count it "
               "as it is: turn it and make this page again.",)  # fmt: skip


def _who(found: Findings) -> str:
    study = found.study
    raters = count(len(study.rater_names), "rater")
    if study.options.exchangeable:
        return f"{slots(found)} marked each of {count(len(study), 'case')}"
    whole = all(len({c.name for c in case.masks}) == len(study.rater_names) for case in study)
    cases = count(len(study), "case")
    same = "the same " if whole and len(study) > 1 else ""
    patients = f" of {count(len(study.subjects), 'patient')}" if unit(found) == "patient" else ""
    return f"{raters} marked {same}{cases}{patients}"


def _overlap(found: Findings) -> Iterator[Sentence]:
    """Who marked what, and how far two drawings overlap."""
    table = numbers(found, "agree", "agreement")
    dice, size, same = (table.row(s) for s in ("dice", "volume_difference", "percent_agreement"))
    who, two = _who(found), "they" if len(found.study.rater_names) == 2 else "any two raters"
    if dice is None:
        yield capital((f"{who}; two raters give the same label to ", _first(found, table, "percent_agreement"),
                       f" of the {item(found)}s.") if known(same) else (f"{who}.",))  # fmt: skip
    elif not known(dice):
        who = who.replace(" marked ", " looked at ", 1)
        yield capital((f"{who}, but {no_overlap(found)}: there is no overlap to measure.",))
    else:
        several = ", whatever the label," if len(_label_names(found)) > 1 else ""
        sizes: Sentence = ()
        if size is not None and known(size):
            sizes = (", and the sizes they mark differ by ", table.quote(size, 0, percent=True))
        mean = "mean Dice" if len(found.study) > 1 or two != "they" else "Dice"
        if dice.n and dice.n < len(found.study.subjects):
            several += f" in the {number_word(dice.n)} {unit(found)}{'s' if dice.n > 1 else ''} where that can be told"
        yield capital(
            (f"{who}; {two} overlap{several} by a {mean} of ", _first(found, table, "dice"), SAME, *sizes, ".")
        )
    shown = same if dice is None else dice
    if known(shown) and not bounded(shown):
        yield (_no_interval(found, shown),)


def _no_interval(found: Findings, row: Row) -> str:
    """Why: there are too few, or the number is defined for too few of them."""
    there, defined = len(found.study.subjects), row.n or 0
    if there < MIN_SUBJECTS:
        many = f"there {'is' if there == 1 else 'are'} {count(there, unit(found))}"
        return (f"Numbers stand without confidence intervals: those are over {unit(found)}s and need "
                f"{number_word(MIN_SUBJECTS)} of them, and {many}.")  # fmt: skip
    what = "Dice" if row.statistic == "dice" else "This number"
    return (f"{what} stands without a confidence interval: it is defined for {number_word(defined)} of "
            f"{count(there, unit(found))}, and intervals need {number_word(MIN_SUBJECTS)}.")  # fmt: skip


def _first(found: Findings, table: Numbers, statistic: str) -> Cell:
    """The first number says what stands behind it."""
    share: dict[str, Any] = {"digits": 0, "percent": True} if statistic == "percent_agreement" else {}
    return table.cell(statistic, level=spelled_interval(found), **share)


def _beyond_chance(found: Findings) -> Iterator[Sentence]:
    """Kappa with its word, and how far cases differ."""
    table = numbers(found, "agree", "agreement")
    kappa, dice = table.row("fleiss_kappa"), table.row("dice")
    if not known(kappa):
        if dice is None or known(dice):
            yield (f"Agreement beyond chance cannot be told: {no_kappa(found)}.",)
        return
    if kappa.value == 1:
        yield (f"All raters drew exactly the same{' in every case' if len(found.study) > 1 else ''}: Fleiss' kappa is ",
               table.quote(kappa), ".")  # fmt: skip
        return
    scale = found.settings.scale
    name = interpret_kappa(kappa.value, scale)
    low = interpret_kappa(kappa.low, scale) if bounded(kappa) and kappa.low is not None else name
    sure = f", though its CI reaches down to {low}" if low != name else ""
    mean = f", on average over {unit(found)}s" if len(found.study) > 1 else ""
    yield (f"Agreement beyond chance is {name} by the scale of {SCALES.get(scale, scale)}{sure}: Fleiss' kappa is ",
           table.quote(kappa), mean, *_range(found, table), ".")  # fmt: skip


def _range(found: Findings, table: Numbers) -> Sentence:
    rows = [row for row in by_dispute(found) if known(row)]
    if len(rows) < 2 or rows[0].value == rows[-1].value:
        return ()
    least, most = rows[0], rows[-1]
    return ("; case by case it ranges from ", table.quote(least), " (", case_cell(least.case), ") to ",
            table.quote(most), " (", case_cell(most.case), ")")  # fmt: skip


def _label_names(found: Findings) -> list[str]:
    rows = numbers(found, "agree", "agreement").all("fleiss_kappa", "mean", label=None)
    return list(dict.fromkeys(row.label for row in rows if row.label))


def _labels(found: Findings) -> Iterator[Sentence]:
    """Kappa label by label."""
    table = numbers(found, "agree", "agreement")
    rows = [r for r in (table.row("fleiss_kappa", label=name) for name in _label_names(found)) if r is not None]
    rows = sorted((r for r in rows if known(r)), key=lambda r: -r.value)
    if len(rows) < 2:
        return
    shown = rows if len(rows) <= MANY_LABELS else [rows[0], rows[-1]]
    where = "Label by label, kappa is " if shown is rows else f"Of {count(len(rows), 'label')}, kappa is "
    yield (where, *joined([(table.quote(r), f" for {r.label}") for r in shown]), ".")


def _raters(found: Findings) -> Iterator[Sentence]:
    """Who stands out; who draws larger or smaller."""
    if found.study.options.exchangeable:
        yield ("Raters are not told apart here, so that nothing is said about one of them.",)
    elif known(numbers(found, "agree", "agreement").row("fleiss_kappa")):
        yield from who_stands_out(found)
        yield from habits(found)


def _reference(found: Findings) -> Iterator[Sentence]:
    """How far the reference standard depends on how it is made, and whether raters differ on the same pixels."""
    errors, pair = dependence(found), furthest(found)
    dice = numbers(found, "agree", "agreement").row("dice")
    if pair and (dice is None or known(dice)):
        much = "little" if pair.row.value >= 0.95 else "somewhat" if pair.row.value >= 0.85 else "much"
        which = ", which differ most," if pair.several else ""
        mean = "mean Dice" if len(found.study) > 1 else "Dice"
        yield (f"The reference standard depends {much} on how it is made: {pair.names}{which} overlap by a {mean} of ",
               numbers(found, "fuse", "differences").quote(pair.row), ".")  # fmt: skip
    if errors is not None and errors.few:
        yield capital((*errors.told, "."))
