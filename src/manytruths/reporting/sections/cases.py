"""The section on cases: one row each, the most disputed first; which cases are disputed, and who marked what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ...analyses.agree.flow import not_evaluable_cases
from ...charts.colours import count_colours, hexadecimal
from ...charts.pairs import MANY
from ...claims.numbers import TableIndex, is_defined, telling_digits
from ...claims.sentences import (
    Cell,
    Sentence,
    case_cell,
    join_names,
    join_parts,
    label_words,
    number_word,
    plain_text,
    spell_count,
    text_cell,
)
from ...core.labels import VOID
from ...core.tally import Tally
from ...core.undefined import reason
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Cases, ColourKey, Column, PageTable, Section
from ..findings import Findings
from .algorithm_scores import judged_label, main_standards
from .complexity import HEADS, group_name
from .standards import as_title, standard_name
from .vocabulary import meaning, rater_cell, size_difference_title

MOST_ALGORITHMS = 4
"""With more algorithms, the table of cases leaves their scores out."""
MOST_STEPS = 12
"""Colours in the key of the small pictures."""


def section(findings: Findings) -> Section:
    """All cases, to sort, filter and open."""
    columns = [
        *_name_columns(findings),
        *_agreement_columns(findings),
        *_complexity_columns(findings),
        *_standard_columns(findings),
        *_algorithm_columns(findings),
    ]
    title = spell_count(len(findings.study), "case").capitalize()
    by = ", by Dice, mean over labels" * _several(findings)
    note = f"The most disputed come first{by}." if len(findings.study) > 1 else ""
    table = make_table("cases", title, cases_by_agreement(findings), columns, note, filter=True)
    lead = (_lead(findings), *_large_lead(findings)) if findings.views else ()
    return Section("cases", "Case by case", lead, (Cases(table, _colour_key(findings)),))


def _colour_key(findings: Findings) -> ColourKey | None:
    """What the colours of the small pictures stand for: 1 to all raters of a case."""
    sizes = sorted({len({column.name for column in case.masks}) for case in findings.study})
    most = sizes[-1]
    if not findings.views or not most:
        return None
    what = "gave a pixel another label than most did" if _several(findings) else "marked a pixel"
    last = str(most) if len(sizes) == 1 else "all who read the case"
    colours = tuple(map(hexadecimal, count_colours(min(most, MOST_STEPS))))
    return ColourKey(f"Colours: how many raters {what}", colours, "1", last if most > 1 else "")


def _lead(findings: Findings) -> Sentence:
    which = "the case" if len(findings.study) == 1 else "a case"
    if findings.study.options.exchangeable:
        text = "its image, its masks, and where they differ. A colour is a mask of the case, not the same person in all"
        return (f"Open {which} to see {text}.",)
    return (f"Open {which} to see its image, what each rater drew, and where they differ.",)


def _large_lead(findings: Findings) -> Iterator[Sentence]:
    """How cases are shown that are too large to be shown at once."""
    unseen = [case.name for case in findings.study if case.name not in findings.views]
    if unseen:
        what = "a volume that is" if len(unseen) == 1 else "volumes that are"
        yield (f"{join_names(unseen, 4)} {'is' if len(unseen) == 1 else 'are'} {what} too large to be shown.",)
    large = {name: view for name, view in findings.views.items() if view.large}
    if not large:
        return
    names = join_names(list(large), 4)
    which = f"{names} {'is' if len(large) == 1 else 'are'} too large to be shown at once"
    most = max(view.places for view in large.values())
    if not most:
        yield (f"{which}: the viewer shows an overview; no pixel is disputed.",)
        return
    some = f"up to {spell_count(most, 'place')}" if most > 1 else "one place"
    yield (
        f"{which}: the viewer shows an overview and {some} at full resolution. These are the windows with most "
        f"{findings.pixel_word}s on which raters differ: the first of the whole image, each next one of what is left.",
    )


def _name_columns(findings: Findings) -> Iterator[ColumnOf[Row]]:
    yield text_column("Case"), lambda row: case_cell(row.case)
    texts = {row.case: describe_case(findings, row.case) for row in cases_by_kappa(findings)}
    if any(texts.values()):
        named = not findings.study.options.exchangeable
        help = "Raters who marked nothing" + ", or whose mask is furthest from those of the others" * named
        if _several(findings):
            help = "Raters who marked nothing, or none of a label, and the label with the lowest Dice"
        yield text_column("What to look at", help), lambda row: text_cell(texts[row.case])
    if any(case.groups for case in findings.study):
        yield text_column("Group"), lambda row: text_cell(row.group)
    if findings.subject_word == "patient":
        yield text_column("Patient"), lambda row: text_cell(findings.study[row.case].subject)


def _score_of(table: TableIndex, statistic: str, *extra: object, **how: Any) -> Callable[[Row], Cell]:
    def cell(row: Row) -> Cell:
        own = table.row(statistic, "case", *extra, case=row.case, label=how.get("label", ""))
        shown = telling_digits(own.value if own else 0.0, how.get("digits", 2), percent=how.get("percent", False))
        return table.cell(statistic, "case", *extra, case=row.case, **{**how, "digits": shown})

    return cell


def _agreement_columns(findings: Findings) -> Iterator[ColumnOf[Row]]:
    table, several = findings.table("agree/agreement"), _several(findings)
    every = _at_once(findings)
    macro = " Each label against the rest, mean over labels." * several
    kappa: ColumnOf[Row] = (Column("Fleiss' kappa", meaning(findings, "fleiss_kappa") + every), table.quote)
    dice: ColumnOf[Row] = (Column("Dice", meaning(findings, "dice") + macro), _score_of(table, "dice"))
    measured = table.row("dice") is not None
    # the number that cases are sorted by comes first
    yield from ((dice, kappa) if several else (kappa, dice)) if measured else (kappa,)
    if measured:
        size = _score_of(table, "volume_difference", digits=0, percent=True)
        what = size_difference_title(findings)
        yield Column(what, meaning(findings, "volume_difference") + macro), size
        positive = _score_of(table, "positive_agreement")
        yield Column("Positive agreement", meaning(findings, "positive_agreement") + macro), positive


def _complexity_columns(findings: Findings) -> Iterator[ColumnOf[Row]]:
    table = findings.table("fuse/complexity")
    entropy = {row.case: row for row in table.all("entropy", "case")}
    if not any(map(is_defined, entropy.values())):
        return
    if findings.fusion.groups is not None:
        help = "Groups of these cases by the mean and entropy of STAPLE's probabilities; not by their agreement"
        yield (
            text_column("STAPLE's probabilities", help),
            lambda row: text_cell(group_name(str(entropy[row.case]["class"]))),
        )
    yield Column(*HEADS["entropy"]), lambda row: table.quote(entropy[row.case])


def _standard_columns(findings: Findings) -> Iterator[ColumnOf[Row]]:
    """How far two reference standards differ: the first, and STAPLE or else the second."""
    first, *others = findings.fusion.methods
    if not others:
        return
    second = "staple" if "staple" in others else others[0]
    if findings.fusion.same_masks.tells_nothing(first, second):
        return
    a, b = (standard_name(findings, method) for method in (first, second))
    help = f"Dice of two reference standards, {a} and {b}: the lower, the more it matters which is taken."
    yield Column(as_title(f"{a} and {b}"), help), _score_of(findings.table("fuse/differences"), "dice", first, second)


def _algorithm_columns(findings: Findings) -> Iterator[ColumnOf[Row]]:
    """The Dice of every algorithm with the first reference standard, where there are few."""
    if findings.evaluation is None or findings.evaluation.mask_scores is None:
        return
    names = [column.name for column in findings.study.algorithms]
    if len(names) > MOST_ALGORITHMS:
        return
    truth, label, table = main_standards(findings)[0], judged_label(findings), findings.table("evaluate/scores")
    for name in names:
        help = f"Dice of the prediction of {name} with {standard_name(findings, truth)}."
        yield Column(f"{name}: Dice", help), _score_of(table, "dice", name, truth, label=label)


# --- disputed cases, and who marked what

MOST_DISPUTED = 5
"""Number of disputed cases in the summary."""


def cases_by_kappa(findings: Findings) -> list[Row]:
    """The kappa of every case, the lowest first, undefined ones last."""
    rows = findings.table("agree/agreement").all("fleiss_kappa", "case")
    return sorted(rows, key=lambda row: (bool(reason(row.value)), row.value if not reason(row.value) else 0.0))


def _several(findings: Findings) -> bool:
    """Whether there are several labels, which are never united."""
    return next(iter(findings.agreement.tallies.values())).labels.several


def _at_once(findings: Findings) -> str:
    """What kappa is about where there are several labels."""
    labels = next(iter(findings.agreement.tallies.values())).labels
    ground = " and background" if labels.background is not None else ""
    return f" Of all labels{ground} at once." if labels.several else ""


def case_scores(findings: Findings) -> dict[str, float]:
    """The defined scores that cases are ordered by: kappa or, of several labels, their mean Dice."""
    table = findings.table("agree/agreement")
    overlap = _several(findings) and table.row("dice") is not None
    rows = table.all("dice" if overlap else "fleiss_kappa", "case")
    return {row.case: row.value for row in filter(is_defined, rows)}


def cases_by_agreement(findings: Findings) -> list[Row]:
    """The kappa of every case, the most disputed case first, those without a score last."""
    scores = case_scores(findings)
    return sorted(cases_by_kappa(findings), key=lambda row: scores.get(row.case, math.inf))


def why_no_kappa(findings: Findings) -> str:
    """Why no case has a kappa."""
    text = _why_nothing(findings) or next((reason(row.value) for row in cases_by_kappa(findings)), "")
    return text or "there is nothing to compare"


def why_no_overlap(findings: Findings) -> str:
    """Why no case has an overlap of two raters."""
    return _why_nothing(findings) or "nothing was marked in the cases that two raters looked at"


def _why_nothing(findings: Findings) -> str:
    """What is missing in every case."""
    raters = [marked_anything(table) for table in findings.agreement.tallies.values()]
    if not any(any(marked.values()) for marked in raters):
        return "nobody marked anything"
    return "no case was marked by two raters" if all(len(marked) < 2 for marked in raters) else ""


def raters_per_case(findings: Findings) -> str:
    """How many exchangeable raters a case has: ``three to five raters``."""
    sizes = sorted({len({c.name for c in case.masks}) for case in findings.study})
    fewest = f"{number_word(sizes[0])} to " if len(sizes) > 1 else ""
    return fewest + spell_count(sizes[-1], "rater")


def most_disputed(findings: Findings) -> list[Row]:
    """The cases with the lowest score, at most half of those that have one."""
    scores = case_scores(findings)
    rows = [row for row in cases_by_agreement(findings) if row.case in scores]
    return [row for row in rows[: min(MOST_DISPUTED, len(rows) // 2)] if scores[row.case] < 1]


def dispute_table(findings: Findings) -> PageTable | None:
    """The most disputed cases, with links."""
    rows, table = most_disputed(findings), findings.table("agree/agreement")
    if not rows:
        return None
    columns: list[ColumnOf[Row]] = [(text_column("Case"), lambda row: case_cell(row.case))]
    if any(row.group for row in rows):
        columns.append((text_column("Group"), lambda row: text_cell(row.group)))
    several = _several(findings)
    help = "Agreement of all raters beyond chance: 1 is full agreement, 0 is chance."
    help += _at_once(findings)
    kappa: ColumnOf[Row] = (Column("Fleiss' kappa", help), table.quote)
    help = f"Overlap of two raters' masks, mean over {'labels and ' * several}pairs of raters."
    dice: ColumnOf[Row] = (Column("Dice", help), _score_of(table, "dice"))
    measured = bool(table.table.all("dice", "case"))
    columns += ([dice, kappa] if several else [kappa, dice]) if measured else [kappa]
    if any(describe_case(findings, row.case) for row in rows):
        columns.append((text_column("What to look at"), lambda row: text_cell(describe_case(findings, row.case))))
    return make_table("disputed-cases", "Most disputed cases", rows, columns)


def describe_case(findings: Findings, case: str) -> str:
    """What is special about a case: raters who marked nothing, no overlap, or the rater furthest from the vote.

    Of several labels also raters who left one out, and the label with the lowest Dice.
    """
    table = findings.agreement.tallies[case]
    if table.labels.background is None:
        return "; ".join(_label_remarks(findings, case, set())) or _furthest_rater(findings, case)
    marked = marked_anything(table)
    if not any(marked.values()):
        return "nobody marked anything"
    empty = [name for name, any_mark in marked.items() if not any_mark]
    who = spell_count(len(empty), "rater") if table.exchangeable else join_names(empty, 4)
    remarks = [f"{who} marked nothing"] if empty else []
    if not has_overlap(table):
        remarks.append(f"no {findings.pixel_word} was marked by two raters")
    if _several(findings):
        remarks += _label_remarks(findings, case, set(empty))
    return "; ".join(remarks) or _furthest_rater(findings, case)


def _label_remarks(findings: Findings, case: str, empty: set[str]) -> Iterator[str]:
    """Raters who marked none of a label that others marked, and the label with the lowest Dice."""
    table, index = findings.agreement.tallies[case], findings.table("agree/agreement")
    known = []
    for label in (table.labels.names[code] for code in table.labels.marks):
        marked = marked_anything(table.only(label))
        without = [name for name, any_mark in marked.items() if not any_mark and name not in empty]
        if any(marked.values()) and without:
            who = spell_count(len(without), "rater") if table.exchangeable else join_names(without, 4)
            yield f"{who} marked no {label_words(label)}"
        if is_defined(row := index.row("dice", "case", case=case, label=label)):
            known.append(row)
    if len(known) > 1:
        least = min(known, key=lambda row: row.value)
        yield f"{label_words(least.label)} overlaps least (Dice {index.quote(least).shown})"


def marked_anything(table: Tally) -> dict[str, bool]:
    """Of the raters present, each in their first session, whether they marked anything."""
    rows = table.patterns[table.counts > 0][:, list(table.raters)]
    marks = np.atleast_1d(np.isin(rows, table.labels.marks).any(axis=0)).tolist()
    here = np.atleast_1d((rows != VOID).any(axis=0)).tolist()
    return {name: m for name, m, present in zip(table.rater_names, marks, here, strict=True) if present}


def has_overlap(table: Tally) -> bool:
    """Whether any pixel was marked by two raters."""
    return bool(((table.marked > 1) & (table.counts > 0)).any())


def _furthest_rater(findings: Findings, case: str) -> str:
    """The rater with the least mean Dice to the others, of three raters or more."""
    if findings.agreement.raters is None:
        return ""
    table, apart = findings.table("agree/pairs"), dict[str, list[float]]()
    for pair in combinations(findings.agreement.raters.differences.raters, 2):
        if is_defined(row := table.row("dice", "case", *pair, "between", case=case)):
            for rater in pair:
                apart.setdefault(rater, []).append(row.value)
    means = sorted((sum(values) / len(values), rater) for rater, values in apart.items())
    if len(means) < 3 or means[0][0] == means[1][0]:
        return ""
    return f"{means[0][1]} is furthest from the others"


def coverage_sentence(findings: Findings) -> Sentence:
    """Whether every rater marked every case, and how many reads are edits."""
    return (*_presence_sentence(findings), *_edits_sentence(findings))


def _edits_sentence(findings: Findings) -> Sentence:
    """How many masks were edited from another rater's, and whether they count."""
    edits = sum(len(case.edits) for case in findings.study)
    if not edits:
        return ()
    single = edits == 1
    start = f" {spell_count(edits, 'reading').capitalize()} started from another rater's mask, and "
    if findings.study.options.edited == "keep":
        return (f"{start}{'is' if single else 'are'} kept.",)
    return (f"{start}{'is' if single else 'are'} left out; what was changed is in agree/edits.csv.",)


MOST_ABSENT = 12
"""Raters whose absence is told one by one."""


def _presence_sentence(findings: Findings) -> Sentence:
    study = findings.study
    if study.options.exchangeable:
        return (f"Every case was read by {raters_per_case(findings)}, who need not be the same in each case.",)
    absent = {rater: gaps for rater in study.rater_names if (gaps := _absent_cases(findings, rater))}
    judged = {rater: gone for rater in study.rater_names if (gone := _not_evaluable(findings, rater))}
    if not absent and not judged:
        every = f"There is a mask of every rater for {'every' if len(study) > 1 else 'the'} case"
        without = {str(c): [case.name for case in study if c not in case.masks] for c in study.columns}
        lacking = [f"{column} has none of {join_names(cases, 4)}" for column, cases in without.items() if cases]
        return (f"{every}, but not of every session: {', '.join(lacking)}." if lacking else f"{every}.",)
    if len(absent) > MOST_ABSENT:
        counts = sorted(map(len, absent.values()))
        span = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else f"{counts[0]}"
        who = f"{len(absent)} of {len(study.rater_names)} raters"
        return (f"{who} are absent from some cases, each from {span} of {len(study)}; votes and pairs are of fewer "
                "raters there.",)  # fmt: skip
    parts: list[Sentence] = [
        (rater_cell(findings, rater), f" is absent from {spell_count(len(gaps), 'case')}", _also(judged.get(rater, ())))
        for rater, gaps in absent.items()
    ]
    parts += [
        (rater_cell(findings, rater), f" found {spell_count(len(gone), 'case')} not evaluable")
        for rater, gone in judged.items()
        if rater not in absent
    ]
    return (*join_parts(parts), "; votes and pairs are of fewer raters there.")


def _also(not_evaluable: Sequence[str]) -> str:
    """What is said beside the cases from which the same rater is absent."""
    return f" and found {number_word(len(not_evaluable))} not evaluable" if not_evaluable else ""


def _absent_cases(findings: Findings, rater: str) -> list[str]:
    """Cases without a mask of the session that counts, but for those that the rater found not evaluable."""
    judged = _not_evaluable(findings, rater)
    first = next(column for column in findings.study.columns if column.name == rater)
    return [case.name for case in findings.study if first not in case.masks and case.name not in judged]


def _not_evaluable(findings: Findings, rater: str) -> list[str]:
    """Cases that the rater read and found not evaluable."""
    here = {case.name for case in findings.study}
    return [case for case in not_evaluable_cases(findings.study).get(rater, ()) if case in here]


def coverage_table(findings: Findings) -> PageTable | None:
    """Who marked how many cases; None where raters are exchangeable."""
    if findings.study.options.exchangeable:
        return None
    study = findings.study
    found = [marked_anything(table) for table in findings.agreement.tallies.values()]

    def readings(rater: str) -> list[int]:
        return [sum(column.name == rater for column in case.masks) for case in study]

    columns: list[ColumnOf[str]] = [
        (text_column("Rater"), lambda rater: rater_cell(findings, rater)),
        (text_column("Cases read", "Cases with a mask of the rater, if only an empty one."),
         lambda rater: text_cell(f"{sum(map(bool, readings(rater)))} of {len(study)}")),
        (Column("Empty masks", "Cases in which the rater marked nothing (in the first reading)."),
         lambda rater: text_cell(sum(marked.get(rater) is False for marked in found))),
        (Column("Second readings", "Cases that the rater marked twice or more."),
         lambda rater: text_cell(sum(count > 1 for count in readings(rater)))),
        (text_column("Absent from"), lambda rater: text_cell(join_names(_absent_cases(findings, rater), 4))),
    ]  # fmt: skip
    if findings.counts.not_evaluable:
        judged = text_column("Not evaluable", "Cases that the rater read, and of which nothing could be said.")
        columns.append((judged, lambda rater: text_cell(join_names(_not_evaluable(findings, rater), 4))))
    note = plain_text(coverage_sentence(findings))
    many = len(study.rater_names) > MANY
    return make_table("coverage", "Who marked what", study.rater_names, columns, note, filter=many, closed=many)
