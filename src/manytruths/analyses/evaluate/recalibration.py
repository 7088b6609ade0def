"""Recalibration on one part of the subjects, and what it changes on the others.

The split is by subject, as cases of one subject are alike: the column ``split`` of ``cases.csv`` says ``calibration``
or ``test`` of each case (others are in neither part), else a random half of the subjects is for calibration. A
temperature or an isotonic function is learnt against all raters, of each algorithm and label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

import numpy as np

from ...claims.sentences import counted
from ...core.columns import Column
from ...core.errors import InputError, few
from ...core.tally import Tallies
from ...core.undefined import Note
from ...evaluation.probabilistic.forecasts import count_forecasts
from ...evaluation.probabilistic.recalibration import Isotonic, Temperature, fit_isotonic, fit_temperature
from ...evaluation.responses import Responses
from ...inference.intervals import mean_intervals, subject_values
from ...inference.scales import scale_of
from ...io.result_tables import Row, Table
from ...study import Study
from ..tables import Settings, region_of
from .case_scores import in_order
from .forecasts import CaseForecasts, LabelForecasts, score_map
from .marks import unpack

Way = Literal["temperature", "isotonic"]
Split = Mapping[str, Sequence[str]]
"""The cases of each part."""
CALIBRATION, TEST = "calibration", "test"
SHARE = 0.5
"""Of the subjects, for calibration, where it is not said which."""


@dataclass(frozen=True)
class Recalibration:
    """What was learnt, and the table of what it changes."""

    split: Split
    learnt: Mapping[tuple[str, str], Temperature | Isotonic]
    """By label and algorithm."""
    table: Table
    notes: tuple[str, ...] = ()


def split_subjects(study: Study, seed: int, why: str) -> Split:
    """The cases for calibration and for the test; refused where a part is empty, or a subject is in both."""
    said = {case.name: case.properties.get("split", "").strip().casefold() for case in study}
    if any(said.values()):
        parts = {part: [name for name, where in said.items() if where == part] for part in (CALIBRATION, TEST)}
    else:
        subjects = list(study.subjects)
        chosen = np.random.default_rng(seed).permutation(len(subjects))[: int(len(subjects) * SHARE)]
        mine = {subjects[i] for i in chosen}
        parts = {CALIBRATION: [c.name for c in study if c.subject in mine]}
        parts[TEST] = [c.name for c in study if c.subject not in mine]
    for part, cases in parts.items():
        if not cases:
            there = (
                few(sorted({where for where in said.values() if where})) or f"{counted(len(study.subjects), 'subject')}"
            )
            raise InputError(
                f"{why}: there is no case for {part} ({there}); write {CALIBRATION} or {TEST} for each case into the "
                "column split of cases.csv, or give more subjects"
            )
    both = {study[c].subject for c in parts[CALIBRATION]} & {study[c].subject for c in parts[TEST]}
    if both:
        raise InputError(
            f"{why}: {few(sorted(both), 4)} has cases in both parts of the split; put each subject into one"
        )
    return parts


def raise_no_forecast(what: str, skip: Mapping[str, str]) -> NoReturn:
    """Nothing can be learnt where no prediction of any algorithm can be used."""
    why = "; ".join(f"{name}: {reason}" for name, reason in skip.items()) or "there is no prediction of any case"
    raise InputError(f"{what}: there is nothing to learn from: {why}")


def name_numbers(numbers: Iterable[int], thing: str) -> str:
    """How many, where algorithms have predictions of different cases.

    >>> name_numbers([12, 12], "subject"), name_numbers([12, 10], "other")
    ('12 subjects', '10 to 12 others')
    """
    every = sorted(set(numbers))
    return f"{every[0]} to " * (len(every) > 1) + counted(every[-1], thing)


def tabulate_recalibration(
    study: Study, cases: Mapping[str, CaseForecasts], way: Way, settings: Settings, skip: Mapping[str, str]
) -> Recalibration:
    """Learn from the calibration part, and score the rest before and after."""
    split = split_subjects(study, settings.seed, f"--recalibrate {way}")
    table = Table("recalibration", ("algorithm", "against", "when"))
    learnt: dict[tuple[str, str], Temperature | Isotonic] = {}
    labels = list(dict.fromkeys(label for found in cases.values() for label in found))
    numbers: list[tuple[int, ...]] = []
    for label in labels:
        here = {name: found[label] for name, found in cases.items() if label in found}
        responses = {name: unpack(found.packed) for name, found in here.items() if found.packed is not None}
        columns = dict.fromkeys(c for by_column in responses.values() for c in by_column if c.name not in skip)
        for column in columns:
            there = {
                part: [name for name in names if column in responses.get(name, {})] for part, names in split.items()
            }
            numbers.append(tuple(len({study[name].subject for name in there[part]}) for part in (CALIBRATION, TEST)))
            learnt[label, column.name] = _learn(responses, column, split[CALIBRATION], way, label)
            table.add(_rows(study, here, responses, column, learnt[label, column.name], split[TEST], label, settings))
    if not learnt:
        raise_no_forecast(f"--recalibrate {way}", skip)
    how = "the column split of cases.csv" if any(c.properties.get("split") for c in study) else "a random half"
    on, test = (list(part) for part in zip(*numbers, strict=True))
    text = f"recalibrated ({way}) on {name_numbers(on, 'subject')}, scored on {name_numbers(test, 'other')} ({how})"
    return Recalibration(split, learnt, table, (Note("recalibration", text),))


def _learn(
    responses: Mapping[str, Mapping[Column, Responses]], column: Column, cases: Sequence[str], way: Way, label: str
) -> Temperature | Isotonic:
    parts = [count_forecasts(responses[name][column]) for name in cases if column in responses.get(name, {})]
    about = f"--recalibrate {way}, {column}{f', label {label}' if label else ''}"
    if not parts:
        raise InputError(f"{about}: there is no map of any of the calibration cases ({few(list(cases), 4)})")
    try:
        return (fit_temperature if way == "temperature" else fit_isotonic)(sum(parts[1:], start=parts[0]))
    except InputError as error:
        raise InputError(f"{about}, on {few(list(cases), 4)}: {error}") from None


def _rows(
    study: Study, here: Mapping[str, LabelForecasts], responses: Mapping[str, Mapping[Column, Responses]],
    column: Column, learnt: Temperature | Isotonic, cases: Sequence[str], label: str, settings: Settings,
) -> Iterator[Row]:  # fmt: skip
    """Every score before and after, and their difference, by case and as means over the subjects of the test."""
    names = [name for name in cases if column in responses.get(name, {})]
    if not names:
        raise InputError(f"{column}: there is no map of any of the test cases ({few(list(cases), 4)})")
    tallies: Tallies = study.labelled({name: here[name].tally for name in names})
    before = [score_map(responses[name][column], here[name].tally) for name in names]
    after = [score_map(_apply(responses[name][column], learnt), here[name].tally) for name in names]
    if isinstance(learnt, Temperature):
        yield Row("pooled", "temperature", learnt.temperature, "", "", label, region_of(tallies), (column.name, "", ""))
    keys = list(dict.fromkeys(key for scores in before for key in scores))
    for reference in dict.fromkeys(reference for reference, _ in keys):
        hidden = study.options.exchangeable and reference.role == "rater"
        for statistic in () if hidden else in_order(name for of, name in keys if of == reference):
            key = reference, statistic
            each = [np.array([float(s.get(key, np.nan)) for s in scores]) for scores in (before, after)]
            values = {"before": each[0], "after": each[1], "change": each[1] - each[0]}
            for when, by_case in values.items():
                extra = (column.name, reference.name, when)
                scale = "plain" if when == "change" else scale_of(statistic)
                by_subject = subject_values(tallies, by_case)
                mean = mean_intervals(by_subject[:, None], scale, level=settings.level)[0]
                region = region_of(tallies)
                row = Row("mean", statistic, mean.value, "", "", label, region, extra, mean.low, mean.high, mean.n)
                row.n_undefined = len(by_subject) - mean.n
                yield row


def _apply(responses: Responses, learnt: Temperature | Isotonic) -> Responses:
    """The same with other probabilities; a function that is flat somewhere makes several values one."""
    levels, place = np.unique(learnt.apply(responses.levels), return_inverse=True)
    return replace(responses, levels=levels, level=place.reshape(-1)[responses.level])
