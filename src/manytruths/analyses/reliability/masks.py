"""How far masks can be trusted as a truth, item by item and lesion by lesion.

``mask_reliability.csv``, ``detection.csv`` and ``lesions.csv`` of a study. By case, ρ takes the accuracies that the
raters have in the whole study; pooled, intervals draw subjects, and accuracies are found anew in every draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...agreement import fleiss_kappa, gwet_ac1, krippendorff_alpha, percent_agreement, positive_agreement
from ...core.tallies import Tallies, pool
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...inference.intervals import pooled_intervals, too_few_subjects
from ...ratings.competence import Competence, competence
from ...ratings.concordance import Chance, rho, sigma
from ...ratings.findings import FLOOR, LesionRatings, pool_lesions
from ...ratings.lesions import lesion_ratings
from ...ratings.masks import Confidence, ratings_of
from ...ratings.statistics import RhoStatistic, SigmaStatistic
from ...study import Case, Progress, Study
from ..resampled import mark_resampled
from ..rows import Row, Table
from ..summaries import Series, Settings, groups_of, region_of, summarise

Statistic = Callable[[Tally], float]

BESIDE: dict[str, Statistic] = {
    "percent_agreement": percent_agreement,
    "fleiss_kappa": fleiss_kappa,
    "krippendorff_alpha": krippendorff_alpha,
    "gwet_ac1": gwet_ac1,
}
"""What is printed beside σ and ρ."""

LESIONS = "lesions"
"""The region of what counts lesions, not items."""

NOBODY = "rater_not_comparable"


@dataclass(frozen=True)
class Assumptions:
    """What σ and ρ are told: how sure each rater is, how labels fall by chance, and how often each rater is right."""

    confidence: Confidence = None
    chance: Chance = "uniform"
    accuracy: str | Mapping[str, float] = "majority"

    @property
    def of_lesions(self) -> Assumptions:
        """Shares by label are of pixels; found and missed are as likely."""
        return replace(self, chance="uniform") if isinstance(self.chance, Mapping) else self

    def statistics(self) -> dict[str, Statistic]:
        """Those of a table."""
        own = SigmaStatistic(self.confidence, self.chance), RhoStatistic(self.accuracy, self.confidence, self.chance)
        return {"sigma": own[0], "rho": own[1], **BESIDE}

    def competence(self, whole: Tally) -> Competence:
        """The raters' accuracies in the whole study."""
        return competence(ratings_of(whole, self.confidence), self.accuracy)

    def rho(self, table: Tally, raters: Competence) -> float:
        """Of one case, with the accuracies of the study."""
        ratings = ratings_of(table, self.confidence)
        own = dict(zip(raters.raters, raters.accuracy.tolist(), strict=True))
        return rho(ratings, [own[name] for name in ratings.raters], self.chance).value


@dataclass(frozen=True)
class LesionRule:
    """What is a lesion, and who has found it; see :func:`manytruths.ratings.lesion_ratings`."""

    connectivity: int | None = None
    least: int = 1
    overlap: float | None = None


@dataclass(frozen=True)
class MaskReliability:
    """Tables, and what is printed or drawn."""

    tallies: Tallies
    lesions: LesionRatings
    """Of all cases."""
    masks: Table
    detection: Table
    listed: Table
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """All of them."""
        return [self.masks, self.detection, self.listed]


def mask_reliability(
    study: Study,
    *,
    settings: Settings | None = None,
    assumptions: Assumptions | None = None,
    rule: LesionRule | None = None,
    progress: Progress | None = None,
) -> MaskReliability:
    """σ, ρ and what stands beside them, for the masks of a study and for its lesions; every case is read once."""
    settings, given = settings or Settings(), assumptions or Assumptions()
    work = partial(_counted, rule=rule or LesionRule())
    counted = {case.name: found for case, found in study.map(work, jobs=settings.jobs, progress=progress)}
    tallies = study.gathered({name: table for name, (table, _) in counted.items()})
    by_case = {name: lesions for name, (_, lesions) in counted.items()}
    lesions = pool_lesions(by_case, tallies.subjects)
    named = not study.options.exchangeable
    masks = mask_table(tallies, settings, given, named=named)
    detection = detection_table(by_case, tallies, settings, given.of_lesions, named=named)
    listed = lesion_table(lesions, tallies)
    moved = mark_resampled(study, (masks, detection, listed))
    notes = (*moved.notes, *_notes(tallies, lesions, given))
    return MaskReliability(tallies, lesions, masks, detection, listed, notes)


def _counted(case: Case, rule: LesionRule) -> tuple[Tally, LesionRatings]:
    reading = case.read()
    region = case.region(reading.grid)
    table = reading.tally(region)  # first, as it says best what is wrong with a mask
    lesions = lesion_ratings(
        {**reading.masks, **dict.fromkeys(case.absent)},
        connectivity=rule.connectivity,
        least=rule.least,
        overlap=rule.overlap,
        spacing=reading.grid.spacing,
        labels=case.labels,
        region=None if isinstance(region, str) else region,
        void=case.options.void,
        foreground=case.options.foreground,
    )
    return table, lesions


def mask_table(tallies: Tallies, settings: Settings, given: Assumptions, *, named: bool = True) -> Table:
    """Item by item: by case, subject and group, pooled, by label and, unless raters are slots, by rater."""
    table, whole, region = Table("mask_reliability", ("rater",)), pool(tallies, mixed=True), region_of(tallies)
    table.add(_concordance(tallies, whole, settings, given, given.statistics(), ("",)))
    found = sigma(ratings_of(whole, given.confidence), given.chance)
    for label, value in zip(found.labels, found.by_label.tolist(), strict=True):
        known = Undefined("label_not_given") if np.isnan(value) else value
        table.append(Row("pooled", "sigma", known, label=label, region=region, extra=("",)))
    if named:
        raters = given.competence(whole)
        by_rater = {"sigma": found.by_rater, "accuracy": raters.accuracy}
        table.add(_each(by_rater, raters.raters, region, ()))
    return table


def detection_table(
    by_case: Mapping[str, LesionRatings],
    tallies: Tallies,
    settings: Settings,
    given: Assumptions,
    *,
    named: bool = True,
) -> Table:
    """Lesion by lesion, all labels together and, where there are several, one by one."""
    table = Table("detection", ("rater", "raters"))
    labels = sorted({lesion.label for one in by_case.values() for lesion in one.lesions})
    for label in ["", *labels] if len(labels) > 1 else [""]:
        chosen = {case: one.of_label(label) if label else one for case, one in by_case.items()}
        tables = {case: replace(one.tally, region=LESIONS) for case, one in chosen.items()}
        counted = Tallies(tables, tallies.subjects, tallies.groups)
        rows = [*_detection(chosen, counted, settings, given), *_summed(pool_lesions(chosen), named)]
        table.add(replace(row, label=label) for row in rows)
    return table


def _detection(
    by_case: Mapping[str, LesionRatings], counted: Tallies, settings: Settings, given: Assumptions
) -> Iterator[Row]:
    whole, extra = pool(counted, mixed=True), ("", "")
    chosen: dict[str, Statistic] = {"positive_agreement": positive_agreement, **given.statistics()}
    yield from _concordance(counted, whole, settings, given, chosen, extra)
    drawn = [
        Series("lesions", [float(len(one)) for one in by_case.values()], extra=extra),
        Series("dice", [one.delineation for one in by_case.values()], extra=extra),
    ]
    yield from summarise(drawn, counted, settings)


def _summed(whole: LesionRatings, named: bool) -> Iterator[Row]:
    """What is counted over all lesions of the study."""
    n, blank = len(whole), ("", "")
    sums = {"lesions": float(n), "bridged": float(whole.bridged), "specks": float(whole.specks)}
    for name, value in {**sums, "dice": whole.delineation}.items():
        yield Row("pooled", name, value, region=LESIONS, extra=blank, n=n)
    for k, (count, share) in enumerate(zip(whole.found_by()[1:].tolist(), whole.curve.share.tolist(), strict=True)):
        at_least = Undefined("no_lesion") if np.isnan(share) else share
        yield Row("pooled", "found_by", float(count), region=LESIONS, extra=("", k + 1), n=n)
        yield Row("pooled", "found_by_at_least", at_least, region=LESIONS, extra=("", k + 1), n=n)
    if named:
        found = whole.findings()
        alone = {"found": found.share, "found_of_others": found.of_others, "found_alone": found.alone.astype(float)}
        yield from _each(alone, found.raters, LESIONS, ("",), {"found": found.rated, "found_of_others": found.others})


def _each(
    values: Mapping[str, np.ndarray],
    raters: tuple[str, ...],
    region: str,
    rest: tuple[object, ...],
    counts: Mapping[str, np.ndarray] | None = None,
) -> Iterator[Row]:
    """One row a rater."""
    for name, by_rater in values.items():
        counted = (counts or {}).get(name)
        for i, (rater, value) in enumerate(zip(raters, by_rater.tolist(), strict=True)):
            known = Undefined(NOBODY) if np.isnan(value) else float(value)
            n = None if counted is None else int(counted[i])
            yield Row("pooled", name, known, region=region, extra=(rater, *rest), n=n)


def _concordance(
    tallies: Tallies,
    whole: Tally,
    settings: Settings,
    given: Assumptions,
    chosen: Mapping[str, Statistic],
    extra: tuple[object, ...],
) -> Iterator[Row]:
    """Statistics by case, subject and group, and pooled with intervals over subjects."""
    raters = given.competence(whole)
    by_case: dict[str, Statistic] = {**chosen, "rho": partial(given.rho, raters=raters)}
    series = [Series(name, [s(t) for t in tallies.values()], extra=extra) for name, s in by_case.items()]
    yield from summarise(series, tallies, settings)
    yield from (replace(row, extra=extra) for row in _pooled(tallies, whole, settings, chosen))
    for group, cases in groups_of(tallies).items():
        part = pool(tallies.select(cases), mixed=True)
        for name, statistic in chosen.items():
            yield Row("group", name, statistic(part), "", group, "", part.region, extra, n=part.items)


def _pooled(tallies: Tallies, whole: Tally, settings: Settings, chosen: Mapping[str, Statistic]) -> Iterator[Row]:
    subjects = len(tallies.by_subject())
    refused = too_few_subjects(subjects)
    if refused is not None:
        for name, statistic in chosen.items():
            row = Row("pooled", name, statistic(whole), region=whole.region, n=whole.items)
            yield replace(row, low=refused, high=refused)
        return
    options = ("bca", settings.resamples, settings.level, settings.seed)
    for name, i in zip(chosen, pooled_intervals(list(chosen.values()), tallies, *options), strict=True):
        row = Row("pooled", name, i.value, region=whole.region, low=i.low, high=i.high, n=whole.items)
        yield replace(row, n_undefined=i.n_undefined)


def lesion_table(lesions: LesionRatings, tallies: Tallies) -> Table:
    """Every lesion: its size, how many found it, and the Dice of those who did."""
    table = Table("lesions", ("lesion", "place", "extent", "found_by", "missed_by", "bridged"))
    for one in lesions.lesions:
        extent = None if np.isnan(one.extent) else one.extent
        place = " ".join(f"{x:.1f}" for x in one.place)
        who = "; ".join(one.found_by), "; ".join(one.missed_by), "yes" if one.bridged else "no"
        shown = Row("lesion", "", 0.0, one.case, "; ".join(tallies.groups[one.case]), one.label, LESIONS)
        raters = len(one.found_by) + len(one.missed_by)
        values = {"size": float(one.size), "found_by": float(len(one.found_by)), "dice": one.dice}
        extra = (one.name, place, extent, *who)
        table.add(replace(shown, statistic=s, value=v, extra=extra, n=raters) for s, v in values.items())
    return table


def _notes(tallies: Tallies, lesions: LesionRatings, given: Assumptions) -> Iterator[str]:
    if region_of(tallies) == "whole":
        yield (
            "items that nobody marked count as agreement: on the whole image σ, ρ and the raters' accuracies are close "
            "to 1; a region (union) says more"
        )
    if given.confidence is None:
        yield "nobody gave a confidence: σ is percent agreement, and ρ what of it is right"
    elif isinstance(given.chance, Mapping):
        yield "the shares of --chance are of the items' labels; who guesses about a lesion finds or misses it equally"
    if not isinstance(given.accuracy, Mapping):
        yield "the interval of ρ's mean over subjects takes accuracies as they are; that of all together does not"
    if len(lesions):
        yield FLOOR
    if lesions.bridged:
        yield (
            f"{lesions.bridged} of {len(lesions)} lesions are bridged: one rater drew in one blob what another drew in "
            "several; they count as one lesion, found by everybody who drew a part of it"
        )
    if lesions.specks:
        yield f"{lesions.specks} components were too small to be lesions, and were left out"
