"""What may be said of probability maps and samples: how often raters mark where an algorithm says so, and its spread.

All of it is about whole images, or the region of interest. In the union of what raters marked, pixels are chosen by
what was observed, so that a forecast that is right looks too low there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.undefined import Note
from ..evaluation.interchangeability import LEAST_RATERS
from ..evaluation.ranking.pair_tests import holm
from ..evaluation.ranking.ranking import format_p
from ..inference.equivalence import mean_limits
from ..inference.forecast_tests import ShareGap, compare_share
from ..inference.intervals import MIN_SUBJECTS
from ..io.result_tables import Row
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, has_interval, is_defined
from .sentences import Cell, Sentence, compose, spell_count

Values = NDArray[np.float64]

ENOUGH = f"at least {LEAST_RATERS} raters and {MIN_SUBJECTS} subjects"
NO_SHARES = "not of shares of samples, which by chance are nearer to 0 and 1 than the model's probabilities"

SAYS = ClaimKind(
    "probability.says", "estimate",
    "Where the algorithm gives about 80%, so many of the raters mark, in the mean over subjects.",
    f"at least {MIN_SUBJECTS} subjects have pixels in the bin of probabilities that holds 80%; that bin, whatever the "
    "data say; where there are samples alone, it is said of the share of them that mark",
)  # fmt: skip
CONFIDENCE = ClaimKind(
    "probability.confidence", "difference",
    "The algorithm is overconfident or underconfident: the probability of what it calls more likely is higher, or "
    "lower, than the share of raters who agree with it.",
    f"{ENOUGH}; of pixels that it gives more than 7%; t test over subjects whose standard error is at least that of "
    f"four decisions a subject; adjusted for the number of algorithms and labels; {NO_SHARES}",
    "calibrated forecasts, raters who depend on each other fully or not at all",
)  # fmt: skip
FREQUENCY = ClaimKind(
    "probability.frequency", "difference",
    "Where the algorithm gives a probability, raters mark more often, or less often, than it says; of the bin of "
    "probabilities where that is clearest.",
    f"{ENOUGH} with pixels in the bin; t test over subjects whose standard error is at least that of one decision a "
    f"subject; adjusted for the number of bins above the lowest, algorithms and labels; {NO_SHARES}",
    "calibrated forecasts, raters who depend on each other fully or not at all",
)  # fmt: skip
SPREAD = ClaimKind(
    "probability.spread", "difference",
    "The algorithm's samples differ less, or more, from each other than the raters do.",
    f"{ENOUGH}, two samples of each case; paired t test over subjects, cautious where differences are skewed; adjusted "
    "for the number of algorithms and labels",
    "samples drawn as the raters draw",
)  # fmt: skip

TYPICAL = 0.8
"""The probability that is told of."""
SURE_DECISIONS, BIN_DECISIONS = 4.0, 1.0
"""Decisions a subject of which standard errors are at least: measured in ``tests/simulations/probability.py``."""


@dataclass(frozen=True)
class ForecastFacts:
    """Forecasts and what raters marked, by subject and bin, of one algorithm and label."""

    algorithm: str
    label: str
    edges: Values
    forecast: Values
    """(subjects, bins) mean forecast; NaN where there is no pixel."""
    observed: Values
    """(subjects, bins) share of raters who marked."""
    confidence: Values
    """By subject: the mean probability of what is called more likely, in all bins but the lowest and the middle."""
    agreement: Values
    """By subject: the share of raters who agree with it."""
    samples: str = ""
    """How many samples its probabilities are shares of, in words; empty where it gives probabilities."""


@dataclass(frozen=True)
class SpreadFacts:
    """How far samples and raters differ among themselves, by subject, of one algorithm and label."""

    algorithm: str
    label: str
    samples: Values
    raters: Values


@dataclass(frozen=True)
class Population:
    """Who was asked."""

    raters: int
    subject: str = "subject"


def consider_forecasts(
    log: ClaimLog, facts: Sequence[ForecastFacts], table: TableIndex, against: str, people: Population
) -> None:
    """How often raters mark where algorithms say so; ``table`` has the bins."""
    every = [compare_share(f.confidence, f.agreement, decisions=SURE_DECISIONS) for f in facts]
    tested = [math.nan if f.samples else gap.p for f, gap in zip(facts, every, strict=True)]
    for found, gap, p in zip(facts, every, _adjusted(tested), strict=True):
        _consider_typical(log, found, table, against, people)
        _consider_confidence(log, found, gap, p, table, against, people)
    _consider_bins(log, facts, table, against, people)


def _consider_typical(
    log: ClaimLog, found: ForecastFacts, table: TableIndex, against: str, people: Population
) -> None:  # fmt: skip
    k = int(np.searchsorted(found.edges[1:-1], TYPICAL))
    row = _bin_row(table, "observed_share", found, k, against)
    if row is None or not has_interval(row):
        n = 0 if row is None else row.n or 0
        given = "that {:.0%} or so of its samples mark" if found.samples else "to which it gives about {:.0%}"
        text = f"{spell_count(n, people.subject)} with pixels {given.format(TYPICAL)}"
        why = Note("too_few_subjects", f"{text}; an interval needs {MIN_SUBJECTS}")
        log.consider(SAYS, (SAYS.says,), about=found.algorithm, why_not=why)
        return
    sentences = [_say_bin(found, table, against, k, people, "", past) for past in (False, True)]
    log.consider(SAYS, sentences[0], about=found.algorithm, result=sentences[1])


def _say_bin(
    found: ForecastFacts, table: TableIndex, against: str, k: int, people: Population, end: str, past: bool
) -> Sentence:
    """``Where net gives 80% to 87% (83% on average), 62% (54–70%) of the raters mark the pixel, …``.

    Of an algorithm that gives samples alone: ``Where 80% to 87% of the samples of net mark (83% on average), …``.
    """
    forecast, observed = (_bin_row(table, name, found, k, against) for name in ("mean_forecast", "observed_share"))
    assert forecast is not None
    assert observed is not None
    range_ = f"{found.edges[k]:.0%} to {found.edges[k + 1]:.0%}"
    start = "Where {who}{label} {gives} {range}"
    if found.samples:
        start = "Where {range} of the samples of {who}{label} {mark} a pixel"
    return compose(
        start + " ({} on average), {} of the raters {mark} the pixel, in the mean over {}{}.",
        table.quote(forecast, 0, percent=True, interval=False), table.quote(observed, 0, percent=True),
        spell_count(observed.n or 0, people.subject), end,
        who=Cell(found.algorithm), label=_of_label(found.label), range=range_,
        gives="gave" if past else "gives", mark="marked" if past else "mark",
    )  # fmt: skip


def _of_label(label: str) -> str:
    return f", label {label}," if label else ""


def _bin_row(table: TableIndex, statistic: str, found: ForecastFacts, k: int, against: str) -> Row | None:
    ends = float(found.edges[k]), float(found.edges[k + 1])
    return table.row(statistic, "mean", found.algorithm, against, *ends, label=found.label)


def _consider_confidence(
    log: ClaimLog, found: ForecastFacts, gap: ShareGap, p: float, table: TableIndex, against: str, people: Population
) -> None:  # fmt: skip
    whole = float(found.edges[1]), float(found.edges[-1])
    rows = [
        table.row(name, "mean", found.algorithm, against, *whole, label=found.label)
        for name in ("confidence", "agreement", "overconfidence")
    ]
    why = _why_not_tested(gap.n, people, found.samples)
    if why is not None or not all(is_defined(row) for row in rows):
        why = why or Note("no_pixels", "it gives no pixel more than 7%")
        log.consider(CONFIDENCE, (CONFIDENCE.says,), about=found.algorithm, why_not=why)
        return
    over = "overconfident" if gap.mean < 0 else "underconfident"
    confidence, agreement, difference = (row for row in rows if row is not None)
    text = (
        "{}{} {is_} {}: where it {gives} more than 7%, what it {calls} more likely {has} a probability of {} on "
        "average, and {} of the raters {agree} (difference {} in the mean over {}; p {})."
    )
    tenses = (
        {"is_": "is", "gives": "gives", "calls": "calls", "has": "has", "agree": "agree"},
        {"is_": "was", "gives": "gave", "calls": "called", "has": "had", "agree": "agreed"},
    )
    parts = (
        Cell(found.algorithm), _of_label(found.label), over, table.quote(confidence, 0, percent=True, interval=False),
        table.quote(agreement, 0, percent=True, interval=False), table.quote(difference, 2),
        spell_count(gap.n, people.subject), format_p(p),
    )  # fmt: skip
    sentence, result = (compose(text, *parts, **words) for words in tenses)
    log.consider(CONFIDENCE, sentence, about=found.algorithm, result=result, p_value=p)


def _consider_bins(
    log: ClaimLog, facts: Sequence[ForecastFacts], table: TableIndex, against: str, people: Population
) -> None:
    """Of each algorithm, the bin in which raters most clearly mark otherwise than it says."""
    tests = [
        (i, k, compare_share(f.forecast[:, k], f.observed[:, k], decisions=BIN_DECISIONS))
        for i, f in enumerate(facts)
        for k in range(1, f.forecast.shape[1])
        if not f.samples
    ]
    tests = [test for test in tests if not math.isnan(test[2].p)]
    adjusted = _adjusted([gap.p for _, _, gap in tests])
    for i, found in enumerate(facts):
        mine = [(p, k, gap) for (j, k, gap), p in zip(tests, adjusted, strict=True) if j == i]
        why = _why_not_tested(MIN_SUBJECTS if mine else 0, people, found.samples)
        if why is not None:
            log.consider(FREQUENCY, (FREQUENCY.says,), about=found.algorithm, why_not=why)
            continue
        p, k, gap = min(mine, key=lambda test: (test[0], -abs(test[2].mean)))
        less = "less often" if gap.mean < 0 else "more often"
        sentences = [
            _say_bin(found, table, against, k, people, f": they {'marked' if past else 'mark'} {less} than it "
                     f"{'said' if past else 'says'} (p {format_p(p)})", past)
            for past in (False, True)
        ]  # fmt: skip
        log.consider(FREQUENCY, sentences[0], about=found.algorithm, result=sentences[1], p_value=p)


def consider_spread(log: ClaimLog, facts: Sequence[SpreadFacts], table: TableIndex, people: Population) -> None:
    """Whether samples differ as raters do; ``table`` has both distances."""
    tested = [mean_limits(f.samples - f.raters) for f in facts]
    raw = [
        math.nan if t.n < MIN_SUBJECTS else float(min(t.p_above(0.0), t.p_under(0.0))) for t in tested
    ]  # fmt: skip
    for found, limits, p in zip(facts, tested, _adjusted(raw), strict=True):
        why = _why_not_tested(int(limits.n), people)
        if why is not None and not np.isfinite(found.samples).any():
            why = Note("one_sample", "one sample of each case")
        names = ("sample_diversity", "rater_diversity", "diversity_difference")
        rows = [table.row(name, "mean", found.algorithm, "all raters", label=found.label) for name in names]
        if why is not None or not all(is_defined(row) for row in rows):
            why = why or Note("undefined", "the distances are not defined")
            log.consider(SPREAD, (SPREAD.says,), about=found.algorithm, why_not=why)
            continue
        samples, raters, difference = (row for row in rows if row is not None)
        text = (
            "The samples of {}{} {differ} {} from each other than the raters {do}: the mean distance (1 − IoU) {is_} "
            "{} between samples and {} between raters (difference {} in the mean over {}; p {})."
        )
        parts = (
            Cell(found.algorithm), _of_label(found.label), "less" if limits.mean < 0 else "more",
            table.quote(samples, interval=False), table.quote(raters, interval=False), table.quote(difference),
            spell_count(int(limits.n), people.subject), format_p(p),
        )  # fmt: skip
        tenses = ({"differ": "differ", "do": "do", "is_": "is"}, {"differ": "differed", "do": "did", "is_": "was"})
        sentence, result = (compose(text, *parts, **words) for words in tenses)
        log.consider(SPREAD, sentence, about=found.algorithm, result=result, p_value=p)


def _why_not_tested(subjects: int, people: Population, samples: str = "") -> Note | None:
    if samples:
        text = f"its probabilities are shares of {samples}, which by chance are nearer to 0 and 1 than those of more"
        return Note("shares_of_samples", text)
    if people.raters < LEAST_RATERS:
        text = f"{spell_count(people.raters, 'rater')}; a verdict needs at least {LEAST_RATERS}"
        return Note("too_few_raters", text)
    if subjects < MIN_SUBJECTS:
        text = f"{spell_count(subjects, people.subject)}; a verdict needs at least {MIN_SUBJECTS}"
        return Note("too_few_subjects", text)
    return None


def _adjusted(p: Iterable[float]) -> list[float]:
    """Holm's p values; nan where there is no test."""
    every = np.array(list(p), np.float64)
    known = ~np.isnan(every)
    if known.any():
        every[known] = holm(every[known])
    return [float(value) for value in every]
