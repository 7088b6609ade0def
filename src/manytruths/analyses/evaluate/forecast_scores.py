"""Scores of forecasts over a study: tables, calibration by bin, and rankings.

Scores are means over subjects, as those of masks are. A missing map or missing samples get the worst value of each
metric, unless their case is left out for all algorithms (``missing="exclude"``); a score without a worst value, that
of volumes, leaves the case out for all algorithms in any case.

Calibration is told by bins of the probability. Of every bin there are the pooled share, and its mean over the subjects
who have pixels in the bin, with Student's t: an interval over subjects, since pixels of one image are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...charts import line_chart
from ...claims.probability import ForecastFacts, SpreadFacts
from ...claims.sentences import counted
from ...core.columns import Column
from ...core.errors import few, name_cases
from ...core.labels import MACRO
from ...core.undefined import Note, Undefined, divide
from ...evaluation.probabilistic.binning import ReliabilityDiagram
from ...evaluation.probabilistic.forecasts import REGIONS, Region
from ...evaluation.probabilistic.samples import (
    SampleDistances,
    d_max,
    energy_distance,
    matched_iou,
    rater_diversity,
    sample_diversity,
)
from ...evaluation.ranking.by_reference import ReferenceRankings
from ...inference.intervals import (
    effective_subjects,
    few_effective_subjects,
    jackknife_interval,
    mean_intervals,
    subject_values,
    too_few_subjects,
)
from ...inference.scales import scale_of
from ...io import safe_name
from ...io.result_tables import Row, Table
from ...study import Study
from ...study.samples import averages_samples
from ..tables import Series, Settings, region_of, summarise
from .case_scores import EVERYBODY, Key, Values
from .forecasts import (
    ANOTHER,
    CURVAS,
    MOST_HELD_OUT,
    OTHER_MASKS,
    OTHERS,
    SAMPLE_SCORES,
    SHARE,
    VOLUME,
    CaseForecasts,
    LabelForecasts,
)
from .marks import EvaluatePlan
from .mask_scores import MEAN, LabelScores, mean_over_labels, rank_labels, score_rows, with_units
from .recalibration import Recalibration, name_numbers, tabulate_recalibration

REACH = (OTHERS, ANOTHER, OTHER_MASKS)


@dataclass(frozen=True)
class BinSums:
    """Sums of a reliability diagram by subject: (subjects, bins)."""

    edges: NDArray[np.float64]
    counts: NDArray[np.float64]
    forecasts: NDArray[np.float64]
    observed: NDArray[np.float64]

    @classmethod
    def of(cls, diagrams: Mapping[str, Sequence[ReliabilityDiagram]]) -> BinSums:
        """From the diagrams of the cases of each subject."""
        each = list(diagrams.values())
        parts = [[sum(getattr(d, n) for d in own) for own in each] for n in ("counts", "forecasts", "observed")]
        return cls(each[0][0].edges, *(np.array(part, np.float64) for part in parts))

    @property
    def mean_forecast(self) -> NDArray[np.float64]:
        """(subjects, bins); NaN where a subject has no pixel in a bin."""
        return divide(self.forecasts, self.counts)

    @property
    def observed_share(self) -> NDArray[np.float64]:
        """(subjects, bins) likewise."""
        return divide(self.observed, self.counts)

    @property
    def side(self) -> NDArray[np.float64]:
        """1 for bins above one half, −1 for those below; 0 for the lowest bin, which is nearly all background, and for
        one that holds one half."""
        middle = (self.edges[:-1] + self.edges[1:]) / 2
        side = np.where(np.abs(middle - 0.5) < 1e-9, 0.0, np.sign(middle - 0.5))
        side[0] = 0.0
        return side

    @property
    def confidence(self) -> NDArray[np.float64]:
        """By subject, the mean probability of what is called more likely, on those sides."""
        return self._of_called(self.forecasts)

    @property
    def agreement(self) -> NDArray[np.float64]:
        """By subject, the share of raters who agree with what is called more likely."""
        return self._of_called(self.observed)

    def _of_called(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        above, below = self.side > 0, self.side < 0
        called = sums[:, above].sum(axis=1) + (self.counts - sums)[:, below].sum(axis=1)
        return divide(called, self.counts[:, above | below].sum(axis=1))


Calibration = Mapping[tuple[str, str, str, Region], BinSums]
"""By label, algorithm, reference and region."""


@dataclass(frozen=True)
class ForecastScores:
    """Scores of probability maps and samples, calibration, and what raters reach themselves."""

    parts: tuple[LabelScores, ...]
    """Of algorithms, by label; of several, their macro mean first."""
    reached: tuple[LabelScores, ...]
    """Of raters, likewise."""
    scores: Table
    reach: Table
    calibration: Table
    bins: Calibration
    orders: Mapping[tuple[str, str], ReferenceRankings]
    samples: Mapping[str, Mapping[str, Mapping[Column, SampleDistances]]] = field(default_factory=dict)
    """By label and case, of algorithms."""
    notes: tuple[str, ...] = ()
    recalibration: Recalibration | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    """Algorithms whose maps are no probabilities, and why."""
    shares: Mapping[str, str] = field(default_factory=dict)
    """Of algorithms that give samples alone, how many their probabilities are shares of, in words."""
    whole: LabelScores | None = None
    """Scores of several labels at once."""

    @property
    def tables(self) -> list[Table]:
        """Those that have files of their own."""
        every = [self.reach, self.calibration, *([self.recalibration.table] if self.recalibration else [])]
        return [table for table in every if table.rows]

    @cached_property
    def forecasts(self) -> list[ForecastFacts]:
        """Forecasts and what raters marked, of each algorithm and label, in whole images."""
        return [
            ForecastFacts(
                *(who, label, sums.edges, sums.mean_forecast, sums.observed_share, sums.confidence, sums.agreement),
                samples=self.shares.get(who, ""),
            )
            for (label, who, whom, region), sums in self.bins.items()
            if (whom, region) == (SHARE.name, "image")
        ]

    @cached_property
    def spreads(self) -> list[SpreadFacts]:
        """How far samples, and raters, differ from each other, by subject."""
        found = []
        for part in self.parts if len(self.parts) == 1 else self.parts[1:]:
            for who in part.algorithms:
                if any((who, EVERYBODY) in by for by in part.scores.values()):
                    names = ("sample_diversity", "rater_diversity")
                    each = [subject_values(part.tallies, part.series(who, EVERYBODY, name)) for name in names]
                    found.append(SpreadFacts(who.name, part.label, *each))
        return found

    @property
    def bins_of_images(self) -> Table:
        """``calibration`` without the union, where what is right looks too low: what may be said goes by it."""
        columns = ("algorithm", "against", "from", "to")
        region = region_of(self.parts[0].tallies)
        return Table("calibration", columns, [row for row in self.calibration.rows if row.region == region])


def tabulate_forecasts(
    study: Study, cases: Mapping[str, CaseForecasts], plan: EvaluatePlan, settings: Settings
) -> ForecastScores:
    """The tables of forecasts that were scored case by case."""
    labels = list(dict.fromkeys(label for found in cases.values() for label in found))
    refused = _find_refused(cases)
    draws = _least_samples(cases)
    whole = None
    if len(labels) > 1 and "" in labels:
        labels.remove("")
        all_labels = {case: found[""] for case, found in cases.items() if "" in found}
        whole = _label_scores(study, "", all_labels, refused, draws)
    by_label = {label: {c: f[label] for c, f in cases.items() if label in f} for label in labels}
    parts = tuple(_label_scores(study, label, here, refused, draws) for label, here in by_label.items())
    reached = tuple(_reach_of(part, by_label[part.label]) for part in parts)
    if len(parts) > 1:
        parts, reached = (_macro(parts), *parts), (_macro(reached), *reached)
    scores = Table("scores", ("algorithm", "against"))
    reach = Table("reach", ("forecast", "against"))
    shown = parts if any(part.keys for part in parts) else ()
    if whole is not None and whole.keys:
        shown = (*shown, whole)
    for part in shown:
        for reference in [*part.references, MEAN]:
            scores.add(with_units(part, score_rows(part, reference, plan.missing, settings)))
    for part in reached:
        reach.add(with_units(part, _reach_rows(study, part, settings)))
    bins = dict(_bin_sums(study, by_label, refused))
    region = region_of(parts[0].tallies) if parts else ""
    calibration = Table("calibration", ("algorithm", "against", "from", "to"))
    calibration.add(_calibration_rows(study, bins, region, settings))
    scores.add(_pooled_errors(bins, region))
    samples = {label: {c: f.distances for c, f in here.items()} for label, here in by_label.items()}
    recalibrated = None
    if plan.recalibrate is not None:
        recalibrated = tabulate_recalibration(study, cases, plan.recalibrate, settings, refused)
    orders = rank_labels([part for part in shown if part.keys], plan.missing)
    challenge = _challenge_notes(plan, {row.statistic for row in scores.rows})
    notes = (*_notes(study, cases, refused), *challenge, *(recalibrated.notes if recalibrated else ()))
    return ForecastScores(
        parts, reached, scores, reach, calibration, bins, orders, samples, notes, recalibrated, refused,
        _shares_of_samples(study, cases), whole,
    )  # fmt: skip


# -- scores by case --------------------------------------------------------------------------------------


def _label_scores(
    study: Study, label: str, here: Mapping[str, LabelForecasts], refused: Mapping[str, str], draws: int
) -> LabelScores:
    tallies = study.labelled({case: found.tally for case, found in here.items()})
    scores: dict[str, dict[Key, Values]] = {}
    for case, found in here.items():
        own = {key: values for key, values in found.scores.items() if key[0] not in REACH}
        sampled = {*found.distances, *study[case].missing_samples}
        mine = {(who, whom): _without_maps(values, who in sampled) if who.name in refused else values
                for (who, whom), values in own.items()}  # fmt: skip
        for column, distances in found.distances.items():
            mine[column, EVERYBODY] = mine.get((column, EVERYBODY), {}) | _sample_scores(distances, draws)
        scores[case] = {key: values for key, values in mine.items() if values}
    judged = tuple(dict.fromkeys(who for by in scores.values() for who, _ in by))
    return LabelScores(
        label, tallies, scores, math.nan, dict.fromkeys(here, math.nan), axes=_axes(here), judged=judged
    )  # fmt: skip


def _without_maps(values: Values, sampled: bool) -> Values:
    """What was not made from a map; volumes are those of samples, where there are any."""
    kept = (*SAMPLE_SCORES, *((VOLUME,) if sampled else ()))
    return {name: value for name, value in values.items() if name in kept}


def _axes(here: Mapping[str, LabelForecasts]) -> int:
    return max((found.axes for found in here.values()), default=2)


def _sample_scores(distances: SampleDistances, draws: int) -> Values:
    """The scores of samples against all raters together."""
    values = {
        "energy_distance": energy_distance(distances),
        "energy_distance_unbiased_samples": energy_distance(distances, unbiased="samples"),
        "energy_distance_unbiased": energy_distance(distances, unbiased="both"),
        "matched_iou": matched_iou(distances),
        "d_max": d_max(distances, draws=draws),
        "sample_diversity": sample_diversity(distances),
        "rater_diversity": rater_diversity(distances),
    }
    values["diversity_difference"] = _difference(values["sample_diversity"], values["rater_diversity"])
    return values


def _difference(first: float, second: float) -> float:
    undefined = [value for value in (first, second) if isinstance(value, Undefined)]
    return undefined[0] if undefined else first - second


def _least_samples(cases: Mapping[str, CaseForecasts]) -> int:
    """How many samples every algorithm has of every case: the best of more is better, whatever the algorithm."""
    numbers = [len(d.samples) for found in cases.values() for f in found.values() for d in f.distances.values()]
    return min(numbers, default=1)


def _reach_of(part: LabelScores, here: Mapping[str, LabelForecasts]) -> LabelScores:
    scores = {
        case: {key: values for key, values in found.scores.items() if key[0] in REACH} for case, found in here.items()
    }
    return LabelScores(
        part.label, part.tallies, scores, math.nan, part.diagonals, axes=part.axes, judged=REACH
    )  # fmt: skip


def _macro(parts: Sequence[LabelScores]) -> LabelScores:
    """The mean over labels in every case."""
    first = parts[0]
    every = list(dict.fromkeys(case for part in parts for case in part.tallies))
    tallies = next((part.tallies for part in parts if len(part.tallies) == len(every)), first.tallies)
    scores = {c: mean_over_labels([p.scores[c] for p in parts if c in p.scores], math.nan) for c in tallies}
    judged = tuple(dict.fromkeys(who for part in parts for who in part.judged))
    return LabelScores(
        MACRO, tallies, scores, math.nan, dict.fromkeys(tallies, math.nan), axes=first.axes, judged=judged
    )


def _reach_rows(study: Study, part: LabelScores, settings: Settings) -> list[Row]:
    """What the others together, and another rater alone, reach against each rater and in the mean of them."""
    raters = [] if study.options.exchangeable else part.raters
    series = []
    for forecast in REACH:
        for reference in [*raters, MEAN]:
            for name in part.statistics_against(reference):
                if name in {n for key in part.keys if key[0] == forecast for n in part.statistics(key)}:
                    values = part.case_values(forecast, reference, name)
                    series.append(Series(name, values, part.label, (forecast.name, reference.name)))
    return summarise(series, part.tallies, settings)


# -- calibration -----------------------------------------------------------------------------------------


def _bin_sums(
    study: Study, by_label: Mapping[str, Mapping[str, LabelForecasts]], refused: Mapping[str, str]
) -> Iterator[tuple[tuple[str, str, str, Region], BinSums]]:
    for label, here in by_label.items():
        found: dict[tuple[Column, Column, Region], dict[str, list[ReliabilityDiagram]]] = {}
        for case, forecasts in here.items():
            for key, diagram in forecasts.diagrams.items():
                found.setdefault(key, {}).setdefault(study[case].subject, []).append(diagram)
        for (who, whom, region), diagrams in found.items():
            hidden = study.options.exchangeable and whom.role == "rater"
            if who.name not in refused and not hidden:
                yield (label, who.name, whom.name, region), BinSums.of(diagrams)


def _calibration_rows(study: Study, bins: Calibration, region: str, settings: Settings) -> Iterator[Row]:
    """Every bin that holds a pixel: the mean forecast and the share that was marked."""
    for (label, who, whom, part), sums in bins.items():
        where = region if part == "image" else part
        if part == "union" == region:
            continue  # the image is the union
        if part == "image":
            yield from _confidence_rows(sums, label, where, (who, whom), settings)
        means = {"mean_forecast": sums.mean_forecast, "observed_share": sums.observed_share}
        means["calibration_gap"] = means["observed_share"] - means["mean_forecast"]
        for k in np.flatnonzero(sums.counts.sum(axis=0)).tolist():
            extra = (who, whom, float(sums.edges[k]), float(sums.edges[k + 1]))
            yield from _pooled_bin(sums, k, label, where, extra, settings)
            for name, values in means.items():
                mean = mean_intervals(values[:, [k]], scale_of(name), level=settings.level)[0]
                yield Row(
                    "mean", name, mean.value, "", "", label, where, extra, mean.low, mean.high, mean.n,
                    len(values) - mean.n,
                )  # fmt: skip


def _pooled_errors(bins: Calibration, region: str) -> Iterator[Row]:
    """The calibration error of all cases together; within one case, chance alone makes a right forecast look wrong."""
    for (label, who, whom, part), sums in bins.items():
        name = "expected_calibration_error" + ("" if part == "image" else f"_{part}")
        total = float(sums.counts.sum())
        if total:
            error = float(np.abs((sums.forecasts - sums.observed).sum(axis=0)).sum()) / total
            yield Row("pooled", name, error, "", "", label, region, (who, whom), n=int(total))


def _confidence_rows(
    sums: BinSums, label: str, region: str, names: tuple[str, str], settings: Settings
) -> Iterator[Row]:
    """How sure the algorithm is of what it calls more likely, and how many agree, without the lowest and middle bin."""
    values = {"confidence": sums.confidence, "agreement": sums.agreement}
    values["overconfidence"] = values["confidence"] - values["agreement"]
    extra = (*names, float(sums.edges[1]), float(sums.edges[-1]))
    for name, by_subject in values.items():
        mean = mean_intervals(by_subject[:, None], scale_of(name), level=settings.level)[0]
        if mean.n:
            yield Row(
                "mean", name, mean.value, "", "", label, region, extra, mean.low, mean.high, mean.n,
                len(by_subject) - mean.n,
            )  # fmt: skip


def _pooled_bin(
    sums: BinSums, k: int, label: str, region: str, extra: tuple[object, ...], settings: Settings
) -> Iterator[Row]:
    n, f, y = sums.counts[:, k], sums.forecasts[:, k], sums.observed[:, k]
    total = int(n.sum())
    yield Row("pooled", "mean_forecast", float(f.sum() / n.sum()), "", "", label, region, extra, n=total)
    value = float(y.sum() / n.sum())
    refused = too_few_subjects(int(np.count_nonzero(n))) or few_effective_subjects(n)
    low: float | None = refused
    high: float | None = refused
    if refused is None:
        left_out = divide(y.sum() - y, n.sum() - n)
        freedom = effective_subjects(n) - 1
        found = jackknife_interval(value, left_out, freedom, "share", settings.level, len(n))
        low, high = found.low, found.high
    yield Row("pooled", "observed_share", value, "", "", label, region, extra, low, high, total)


# -- what is to be known ---------------------------------------------------------------------------------


def _find_refused(cases: Mapping[str, CaseForecasts]) -> dict[str, str]:
    """Algorithms whose maps are no probabilities in some case, and why."""
    refused: dict[str, str] = {}
    everywhere: dict[str, list[bool]] = {}
    for case, by_label in cases.items():
        for found in by_label.values():
            for name, why in found.refused.items():
                refused.setdefault(name, f"{why}" if why.startswith("whole") else f"{why} (case {case})")
            for name in {who.name for who, _, _ in found.diagrams}:
                everywhere.setdefault(name, []).append(name in found.only_bytes)
    for name, only in everywhere.items():
        if all(only):
            refused[name] = "no value is above 1 in any case; correct --limits"
    return refused


def _notes(study: Study, cases: Mapping[str, CaseForecasts], refused: Mapping[str, str]) -> Iterator[str]:
    for name, why in refused.items():
        yield Note("no_probabilities", f"{name} is scored by curves, not as a forecast: {why}")
    yield from _sample_notes(study, cases)
    raters = max((len(f.tally.raters) for found in cases.values() for f in found.values()), default=0)
    if raters > MOST_HELD_OUT:
        yield Note("many_raters", f"{raters} raters: what they reach themselves against each other is not measured")


CHALLENGES = {"qubiq": "soft_dice", "curvas": CURVAS}
"""The score of each."""
QUIRKS = {
    "qubiq": "soft_dice is QUBIQ's score: shares of few raters lie on its thresholds, so that many maps score alike, "
    "and a threshold that nothing reaches counts as 1; continuous_dice and the Brier score have no thresholds",
    "curvas": "curvas_crps is CURVAS's score of volumes: it saturates at three standard deviations of the raters' "
    "volumes, so that a prediction just beyond scores as one far beyond, and it rewards no right spread; crps_volume "
    "beside it does. curvas_calibration_error is its calibration error, of the likeliest label of every pixel: most "
    "pixels are background that everybody leaves, so that it is small for any map that knows them; "
    "expected_calibration_error_union is without them. curvas_dice is its Dice where all raters agree, which says "
    "nothing of the borders on which they differ; dice and extended_dice do. The challenge's published program "
    "averages Dice over rows of pixels instead",
}


SHARES = (
    "there are samples and no probability maps: the share of the samples that mark a pixel stands for its probability. "
    "The fewer samples, the nearer these shares are to 0 and 1 by chance, also where samples are drawn as raters draw: "
    "areas, Brier scores and calibration of algorithms compare at equal numbers, and none is called overconfident"
)
"""What to know of maps that are made of samples."""


def _challenge_notes(plan: EvaluatePlan, scores: Collection[str]) -> Iterator[str]:
    """What to know about the score of a challenge, where there is one."""
    if plan.like is not None and CHALLENGES[plan.like] in scores:
        yield Note(f"like_{plan.like}", QUIRKS[plan.like])


def _numbers_of_samples(cases: Mapping[str, CaseForecasts]) -> dict[str, dict[str, int]]:
    """By algorithm and case."""
    numbers: dict[str, dict[str, int]] = {}
    for case, found in cases.items():
        for forecasts in found.values():
            for column, distances in forecasts.distances.items():
                numbers.setdefault(str(column), {})[case] = len(distances.samples)
    return numbers


def _shares_of_samples(study: Study, cases: Mapping[str, CaseForecasts]) -> dict[str, str]:
    """How many samples the probabilities of each algorithm are shares of, where there are no maps."""
    if not any(averages_samples(case) for case in study):
        return {}
    return {name: name_numbers(by_case.values(), "sample") for name, by_case in _numbers_of_samples(cases).items()}


def _sample_notes(study: Study, cases: Mapping[str, CaseForecasts]) -> Iterator[str]:
    numbers = _numbers_of_samples(cases)
    if _shares_of_samples(study, cases):
        yield Note("shares_of_samples", SHARES)
    for name, by_case in numbers.items():
        lone = [case for case, number in by_case.items() if number == 1]
        if lone:
            text = f"{name} has one sample, so that its spread and the unbiased energy distances are undefined"
            yield Note("one_sample", name_cases(text, lone))
    every = sorted({number for by_case in numbers.values() for number in by_case.values()})
    if len(every) > 1:
        text = (
            f"there are {every[0]} to {every[-1]} samples of a case: energy_distance and crps_volume fall with their "
            "number; energy_distance_unbiased_samples does not, and compares; d_max is of "
            f"{counted(every[0], 'draw')}"
        )
        yield Note("numbers_of_samples", text)
    for column in study.algorithms:
        gone = [case.name for case in study if column in case.missing_samples and column not in case.missing]
        if gone and study.options.samples is not None:
            text = f"{column} has no samples of {len(gone)} of {counted(len(study), 'case')} ({few(gone, 3)})"
            yield Note("missing_samples", f"{text}: they count as missing predictions do")


# -- charts ----------------------------------------------------------------------------------------------


def calibration_charts(scores: ForecastScores, level: float) -> Iterator[tuple[str, str]]:
    """Reliability diagrams as SVG by name: what each algorithm says, and how often raters marked, over subjects."""
    names = dict.fromkeys((label, who) for label, who, _, _ in scores.bins)
    for label, who in names:
        curves: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        bands: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        raters = []
        for (of, algorithm, whom, region), sums in scores.bins.items():
            if (of, algorithm, region) != (label, who, REGIONS[0]):
                continue
            # bins without pixels do not break the line
            held = sums.counts.sum(axis=0) > 0
            both = (sums.mean_forecast[:, held], sums.observed_share[:, held])
            means = [mean_intervals(part, "share", level=level) for part in both]
            x, y = (np.array([float(m.value) for m in part]) for part in means)
            curves[whom] = x, y
            if whom == SHARE.name:
                bands[whom] = tuple(np.array([getattr(m, end) for m in means[1]], float) for end in ("low", "high"))  # type: ignore[assignment]
            elif whom in {c.name for part in scores.parts for c in part.raters}:
                raters.append(whom)
        shown = {SHARE.name: curves[SHARE.name]} | {name: curves[name] for name in raters}
        suffix = f"-{safe_name(label)}" if label else ""
        title, given = f"What {who} says, and how often raters marked", "probability that the algorithm gives"
        if who in scores.shares:
            title, given = f"Samples of {who}, and how often raters marked", "share of the samples that mark"
        yield f"calibration-{safe_name(who)}{suffix}", line_chart(
            shown, given, "share of raters who marked", f"{label}: {title}" if label else title,
            bands=bands, diagonal=True, faint=raters,
        )  # fmt: skip
