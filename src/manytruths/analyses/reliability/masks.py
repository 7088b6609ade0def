"""Reliability of masks, pixel by pixel and lesion by lesion.

By case, ρ uses the raters' accuracies in the whole study; pooled, intervals resample subjects, and accuracies are
estimated anew in every resample. Unless accuracies are given, right means: as the majority of the other raters.
Exchangeable raters have one accuracy in common and no rows of their own, since their slots are arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...agreement import fleiss_kappa, gwet_ac1, krippendorff_alpha, percent_agreement, positive_agreement
from ...claims.numbers import has_interval
from ...claims.sentences import counted, number
from ...claims.sessions import session_notes
from ...claims.sharing import tallied_notes
from ...core.errors import CallError, StudyError
from ...core.runs import TooManyRuns
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Note, or_undefined, reason
from ...inference.intervals import too_few_subjects
from ...io.result_tables import Row, Table
from ...lesions.marks import TooManyLesions
from ...lesions.rules import Rule
from ...measures.sizes import MM3_PER_ML
from ...raters.broken_masks import pixel_name
from ...ratings.accuracy import RaterAccuracy, common_accuracy, rater_accuracy
from ...ratings.concordance import Chance, RhoStatistic, SigmaStatistic, rho, sigma
from ...ratings.lesions import FLOOR, LesionRatings, lesion_ratings, pool_lesions
from ...ratings.masks import Confidence, ratings_from_tally
from ...study import Case, Progress, Study
from ...study.case import NO_PIXELS
from ..agree.case import large_notes
from ..agree.references import size_unit
from ..many import absence_notes
from ..printing import grid, print_parts, with_count, with_interval
from ..result import Result, Tables, console_or_stdout, summary_of
from ..tables import Series, Settings, mark_resampled, pooled_rows, region_of, subject_word, summarise

Statistic = Callable[[Tally], float]

BESIDE: dict[str, Statistic] = {
    "percent_agreement": percent_agreement,
    "fleiss_kappa": fleiss_kappa,
    "krippendorff_alpha": krippendorff_alpha,
    "gwet_ac1": gwet_ac1,
}
"""Statistics reported along with σ and ρ."""

LesionItems = Literal["union", "matched"]

LESIONS = "lesions"
"""In the column ``region``: rows that count lesions, not pixels."""

MASK_STATISTICS = {
    "sigma": "σ, genuine agreement",
    "rho": "ρ, genuine and as most others",
    "percent_agreement": "percent agreement",
    "positive_agreement": "positive agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "dice": "Dice of those who found it",
}
RHO_OF_GIVEN = "ρ, genuine and right by the accuracies given"


@dataclass(frozen=True)
class Assumptions:
    """Assumptions of σ and ρ: the raters' confidences, the chance distribution, and the raters' accuracies."""

    confidence: Confidence = None
    chance: Chance = "uniform"
    accuracy: str | Mapping[str, float] = "majority"

    @property
    def of_lesions(self) -> Assumptions:
        """For lesions: shares by label are those of pixels, so found and missed are equally likely."""
        return replace(self, chance="uniform") if isinstance(self.chance, Mapping) else self

    def statistics(self) -> dict[str, Statistic]:
        """The statistics of a tally."""
        rho = RhoStatistic(self.accuracy, self.confidence, self.chance)
        return {"sigma": SigmaStatistic(self.confidence, self.chance), "rho": rho, **BESIDE}

    @property
    def by_majority(self) -> bool:
        """Whether right means: as the majority of the other raters."""
        return not isinstance(self.accuracy, Mapping)

    def accuracies(self, whole: Tally) -> RaterAccuracy:
        """Accuracies of the raters in the whole study; one for all where a slot is not a person."""
        raters = rater_accuracy(ratings_from_tally(whole, self.confidence), self.accuracy)
        return common_accuracy(raters) if whole.exchangeable else raters

    def rho(self, table: Tally, raters: RaterAccuracy) -> float:
        """ρ of one case, with the accuracies of the study."""
        ratings = ratings_from_tally(table, self.confidence)
        accuracies = dict(zip(raters.raters, raters.accuracy.tolist(), strict=True))
        return rho(ratings, [accuracies[name] for name in ratings.raters], self.chance).value


@dataclass(frozen=True, repr=False)
class MaskReliability(Result):
    """The result of :func:`manytruths.reliability` for masks.

    Attributes
    ----------
    tallies : Tallies
        The table of patterns of every case.
    lesions : LesionRatings or None
        The lesions of all cases, and who found them; None where the study comes from tally files.
    settings : Settings
        Level of intervals.
    tables : Tables
        ``mask_reliability``, ``detection`` and ``lesions``, as in the files.
    notes : tuple of str
        What a reader should know about the numbers.
    assumptions : Assumptions
        Confidences, chance distribution and accuracies.
    rule : Rule or None
        By which lesions are matched; None where they are components of the union of all marks.
    pixel, subject : str
        The words for what masks consist of, pixel or voxel, and for what intervals are over, patient or case.
    """

    command: ClassVar[str] = "reliability"

    tallies: Tallies
    lesions: LesionRatings | None
    settings: Settings
    tables: Tables[Table]
    notes: tuple[str, ...] = ()
    assumptions: Assumptions = field(default_factory=Assumptions)
    pixel: str = "pixel"
    subject: str = "case"
    rule: Rule | None = None

    @property
    def exchangeable(self) -> bool:
        """Whether a slot is not a person, so that nothing is said about a rater."""
        return any(table.exchangeable for table in self.tallies.values())

    @property
    def raters(self) -> tuple[str, ...]:
        """The names of the raters."""
        return pool(self.tallies, mixed=True).rater_names if self.lesions is None else self.lesions.ratings.raters

    @property
    def masks(self) -> Table:
        """The table ``mask_reliability``."""
        return self.tables["mask_reliability"]

    @property
    def detection(self) -> Table:
        """The table ``detection``."""
        return self.tables["detection"]

    def summary(self) -> dict[str, Any]:
        """Versions, settings and the numbers of all tables, as ``summary.json`` has them."""
        return summary_of(
            "reliability",
            self.tables.values(),
            of="masks",
            cases=len(self.tallies),
            subjects=len(self.tallies.by_subject()),
            raters=list(self.raters),
            **({} if self.lesions is None else {"lesions": len(self.lesions.ratings)}),
            lesion_items="union" if self.rule is None else "matched",
            lesion_rule=self.rule,
            region=region_of(self.tallies),
            settings=self.settings,
            notes=list(self.notes),
        )

    def describe(self) -> str:
        """What was analysed, in one line."""
        sizes = {
            "rater": len(self.raters),
            "case": len(self.tallies),
            self.subject: len(self.tallies.by_subject()),
        } | ({} if self.lesions is None else {"lesion": len(self.lesions)})
        return ", ".join(counted(count, thing) for thing, count in sizes.items())

    def print(self, console: Any = None) -> None:
        """Print pixels, lesions, raters and notes."""
        console = console_or_stdout(console)
        console.print(f"[bold]{self.describe()}[/bold]\n")
        title = f"{self.pixel.capitalize()} by {self.pixel} (region: {region_of(self.tallies)})"
        parts = [_means_grid(self, title, self.masks)]
        if self.lesions is not None:
            parts.append(_means_grid(self, "Lesion by lesion: found or missed", self.detection))
        parts += [] if self.exchangeable else [_raters_grid(self)]
        print_parts(console, parts, self.notes)


def mask_reliability(
    study: Study,
    *,
    settings: Settings | None = None,
    assumptions: Assumptions | None = None,
    min_size: int = 1,
    overlap: float | None = None,
    items: LesionItems = "union",
    progress: Progress | None = None,
) -> MaskReliability:
    """Compute σ, ρ and agreement statistics of the pixels and the lesions of a study; every case is read once.

    ``min_size`` and ``overlap`` say what counts as a lesion, and as found; see :func:`manytruths.lesion_ratings`. With
    the ``items`` ``matched``, lesions are matched by the rule of the study.
    """
    if items not in get_args(LesionItems):
        raise CallError(f"lesion_items must be one of {', '.join(get_args(LesionItems))}; got {items!r}")
    rule = study.options.lesions if items == "matched" else None
    if rule is not None and overlap is not None:
        raise CallError("lesion_overlap is for components of the union; matched lesions have a threshold")
    if study.tallied is not None and (rule is not None or overlap is not None or min_size != 1):
        raise StudyError(f"a rule of lesions {NO_PIXELS}, or leave it out")
    settings, given = settings or Settings(), assumptions or Assumptions()
    if study.options.exchangeable and not given.by_majority:
        raise CallError("raters are exchangeable: a column is not a person, so accuracies of raters cannot be given")
    work = partial(_read_case, min_size=min_size, overlap=overlap, rule=rule)
    found = study.map(work, jobs=settings.jobs, progress=progress, keep=True)
    cases = {case.name: parts for case, parts in found}
    tallies = study.gathered({name: table for name, (table, _, _) in cases.items()})
    by_case = {name: lesions for name, (_, lesions, _) in cases.items() if lesions is not None}
    pixel, subject = pixel_name(max(axes for _, _, axes in cases.values())), subject_word(study)
    named = not study.options.exchangeable
    tables, lesions = [mask_table(tallies, settings, given, named=named)], None
    if by_case:
        measured = (
            tallies if len(by_case) == len(tallies) else study.labelled({name: tallies[name] for name in by_case})
        )
        lesions = pool_lesions(by_case, measured.subjects)
        tables.append(detection_table(by_case, measured, settings, given.of_lesions, named=named))
        tables.append(lesion_table(lesions, measured, named=named))
    moved = mark_resampled(study, tables)
    result = MaskReliability(tallies, lesions, settings, Tables(tables), (), given, pixel, subject, rule)
    large = {} if study.tallied else dict.fromkeys((name for name in cases if name not in by_case), "lesions")
    about = (*session_notes(study), *_absences(study))
    notes = (*moved.notes, *about, *_notes(result), *tallied_notes(study, ["lesions"]), *large_notes(large))
    return replace(result, notes=notes)


def _read_case(
    case: Case, min_size: int, overlap: float | None, rule: Rule | None
) -> tuple[Tally, LesionRatings | None, int]:
    """The table of a case, its lesions where neighbours are seen, and the axes of its masks."""
    reading = case.read(by_tile=True)
    region = reading.region
    table = reading.tally(region, judged=False)  # first, since its error messages are the best
    matching: dict[str, Any] = {}
    if rule is not None:
        matching = {"rule": rule.name, "threshold": rule.threshold, "instances": case.options.instances}
    if not reading.sees_neighbours or (reading.is_large and table.labels.background is None):
        return table, None, len(reading.grid.shape)
    try:
        lesions = lesion_ratings(
            {**reading.masks, **dict.fromkeys(case.absent)},
            min_size=min_size,
            overlap=overlap,
            spacing=reading.grid.spacing,
            labels=case.labels,
            region=None if isinstance(region, str) else region,
            void=case.options.void,
            foreground=case.options.foreground,
            **matching,
        )
    except TooManyRuns:
        return table, None, len(reading.grid.shape)
    except TooManyLesions as error:
        raise TooManyLesions(f"case {case.name}: {error}") from None
    return table, lesions, len(reading.grid.shape)


def mask_table(tallies: Tallies, settings: Settings, given: Assumptions, *, named: bool = True) -> Table:
    """Pixel by pixel: by case, subject and group, pooled, by label and, unless raters are exchangeable, by rater."""
    table, whole, region = Table("mask_reliability", ("rater",)), pool(tallies, mixed=True), region_of(tallies)
    table.add(_concordance_rows(tallies, settings, given, given.statistics(), ("",)))
    concordance = sigma(ratings_from_tally(whole, given.confidence), given.chance)
    for label, value in zip(concordance.labels, concordance.by_label.tolist(), strict=True):
        known = or_undefined(value, "label_not_given")
        table.append(Row("pooled", "sigma", known, label=label, region=region, extra=("",)))
    if named:
        raters = given.accuracies(whole)
        table.add(_rater_rows("sigma", concordance.by_rater, raters.raters, region, ()))
        table.add(_rater_rows("accuracy", raters.accuracy, raters.raters, region, ()))
    return table


def detection_table(
    by_case: Mapping[str, LesionRatings],
    tallies: Tallies,
    settings: Settings,
    given: Assumptions,
    *,
    named: bool = True,
) -> Table:
    """Lesion by lesion, for all labels together and, if there are several, for each."""
    table = Table("detection", ("rater", "raters"))
    labels = sorted({lesion.label for part in by_case.values() for lesion in part.lesions})
    for label in ["", *labels] if len(labels) > 1 else [""]:
        chosen = {case: part.select_label(label) if label else part for case, part in by_case.items()}
        tables = {case: replace(part.tally, region=LESIONS, exchangeable=not named) for case, part in chosen.items()}
        detected = Tallies(tables, tallies.subjects, tallies.groups)
        rows = [*_detection_rows(chosen, detected, settings, given), *_lesion_sums(pool_lesions(chosen), named)]
        table.add(replace(row, label=label) for row in rows)
    return table


def _detection_rows(
    by_case: Mapping[str, LesionRatings], detected: Tallies, settings: Settings, given: Assumptions
) -> Iterator[Row]:
    chosen: dict[str, Statistic] = {"positive_agreement": positive_agreement, **given.statistics()}
    yield from _concordance_rows(detected, settings, given, chosen, ("", ""))
    values = {"lesions": [float(len(part)) for part in by_case.values()]}
    values["dice"] = [part.delineation for part in by_case.values()]
    series = [Series(name, each, extra=("", "")) for name, each in values.items()]
    yield from summarise(series, detected, settings)


def _lesion_sums(whole: LesionRatings, named: bool) -> Iterator[Row]:
    """Counts over all lesions of the study."""
    n = len(whole)
    sums = {"lesions": float(n), "bridged": float(whole.bridged), "specks": float(whole.specks)}
    for name, value in {**sums, "dice": whole.delineation}.items():
        yield Row("pooled", name, value, region=LESIONS, extra=("", ""), n=n)
    counts = zip(whole.count_by_finders()[1:].tolist(), whole.curve.share.tolist(), strict=True)
    for k, (count, share) in enumerate(counts, start=1):
        yield Row("pooled", "found_by", float(count), region=LESIONS, extra=("", k), n=n)
        yield Row("pooled", "found_by_at_least", or_undefined(share, "no_lesion"), region=LESIONS, extra=("", k), n=n)
    if named:
        each = whole.findings()
        yield from _rater_rows("found", each.share, each.raters, LESIONS, ("",), each.rated)
        yield from _rater_rows("found_of_others", each.of_others, each.raters, LESIONS, ("",), each.others)
        yield from _rater_rows("found_alone", each.alone, each.raters, LESIONS, ("",))


def _rater_rows(
    statistic: str,
    values: NDArray[Any],
    raters: tuple[str, ...],
    region: str,
    rest: tuple[object, ...],
    counts: NDArray[np.int64] | None = None,
) -> Iterator[Row]:
    """One row for each rater."""
    numbers = [None] * len(raters) if counts is None else counts.tolist()
    for rater, value, n in zip(raters, values.tolist(), numbers, strict=True):
        known = or_undefined(value, "rater_not_comparable")
        yield Row("pooled", statistic, known, region=region, extra=(rater, *rest), n=n)


def _concordance_rows(
    tallies: Tallies,
    settings: Settings,
    given: Assumptions,
    chosen: Mapping[str, Statistic],
    extra: tuple[object, ...],
) -> Iterator[Row]:
    """Statistics by case, subject and group, and pooled with intervals over subjects."""
    raters = given.accuracies(pool(tallies, mixed=True))
    by_case: dict[str, Statistic] = {**chosen, "rho": partial(given.rho, raters=raters)}
    series = [Series(name, [s(t) for t in tallies.values()], extra=extra) for name, s in by_case.items()]
    yield from summarise(series, tallies, settings)
    yield from pooled_rows(chosen, tallies, settings, extra=extra, count_undefined=True)


def lesion_table(lesions: LesionRatings, tallies: Tallies, *, named: bool = True) -> Table:
    """Size, finders and Dice coefficient of every lesion; who found it, unless raters are exchangeable."""
    table = Table("lesions", ("lesion", "place", "extent", "unit", "found_by", "missed_by", "bridged"))
    for lesion in lesions.lesions:
        known = not np.isnan(lesion.extent)
        unit = size_unit(tallies[lesion.case]) if known else ""
        extent = lesion.extent / (MM3_PER_ML if unit == "ml" else 1) if known else None
        place = " ".join(f"{x:.1f}" for x in lesion.centroid)
        who = ("; ".join(lesion.found_by), "; ".join(lesion.missed_by)) if named else ("", "")
        start = Row("lesion", "", 0.0, lesion.case, "; ".join(tallies.groups[lesion.case]), lesion.label, LESIONS)
        raters = len(lesion.found_by) + len(lesion.missed_by)
        values = {"size": float(lesion.size), "found_by": float(len(lesion.found_by)), "dice": lesion.dice}
        extra = (lesion.name, place, extent, unit, *who, "yes" if lesion.bridged else "no")
        table.add(replace(start, statistic=s, value=v, extra=extra, n=raters) for s, v in values.items())
    return table


CONNECTED = (
    "a lesion is what is connected in the marks of all raters together: agree, which matches their outlines, can count "
    "more lesions (--lesion-items matched counts as agree does)"
)
"""What lesions are, unless they are matched."""


def _absences(study: Study) -> Iterator[Note]:
    """Raters without a mask of some cases, and what their numbers are then."""
    notes = list(absence_notes(study))
    yield from notes
    if notes:
        yield Note("absent_rater", "numbers of a rater are over that rater's own cases, so that they give no order")


def _notes(result: MaskReliability) -> Iterator[str]:
    tallies, lesions, given = result.tallies, result.lesions, result.assumptions
    few = too_few_subjects(len(tallies.by_subject()))
    if few is not None:
        yield f"no intervals: {reason(few)}"
    if region_of(tallies) == "whole":
        yield (
            f"{result.pixel}s that nobody marked count as agreement, which raises σ, ρ and the raters' accuracies on "
            "the whole image; use --region union"
        )
    if given.confidence is None:
        yield "without confidences σ equals percent agreement, and ρ estimates the part of it that is right"
    elif isinstance(given.chance, Mapping):
        yield (
            f"the shares of --chance are those of {result.pixel}s; for lesions, found and missed are equally likely by "
            "chance"
        )
    if given.by_majority:
        yield from _majority_notes(result)
    if lesions is None:
        return
    if len(lesions):
        yield FLOOR
    if result.rule is not None:
        yield (
            f"lesions are matched ({result.rule}): two outlines of one lesion that match less count as two lesions, "
            "each missed by one of the two raters"
        )
    elif len(lesions):
        yield CONNECTED
    if lesions.bridged:
        are = "is" if lesions.bridged == 1 else "are"
        yield (
            f"{lesions.bridged} of {len(lesions)} lesions {are} bridged: one rater drew a single piece where another "
            "drew several; each counts as one lesion, found by every rater who drew a part of it"
        )
    if lesions.specks:
        yield f"{lesions.specks} components were too small to count as lesions"


def _majority_notes(result: MaskReliability) -> Iterator[str]:
    """What right means without a reference."""
    yield (
        "there is no reference: right means as the majority of the other raters, so that errors that most share count "
        "as right"
    )
    if len(result.raters) == 2:
        yield "with two raters the majority of the others is the other rater, so that accuracy is their agreement"
    if result.exchangeable:
        yield "raters are exchangeable: ρ uses one accuracy for all of them, and nothing is said about a single rater"
    if too_few_subjects(len(result.tallies.by_subject())) is None:
        yield f"the interval of the mean ρ over {result.subject}s treats the raters' accuracies as known"


def _means_grid(result: MaskReliability, title: str, table: Table) -> Any:
    def row(name: str, scope: str) -> Row | None:
        rows = [r for r in table.all(name, scope) if not r.group and not r.label and not any(r.extra)]
        return rows[0] if rows else None

    n, cells, shown = len(result.tallies.by_subject()), [], []
    for name, words in MASK_STATISTICS.items():
        mean, pooled = (row(name, scope) for scope in ("mean", "pooled"))
        if mean or pooled:
            right = words if name != "rho" or result.assumptions.by_majority else RHO_OF_GIVEN
            mean_text = "–" if mean is None else with_count(mean, n)
            cells.append([right, mean_text, "–" if pooled is None else with_interval(pooled)])
            shown += [mean, pooled]
    mean, pooled = (row("lesions", scope) for scope in ("mean", "pooled"))
    if mean is not None and pooled is not None:
        cells += [["lesions of a case", with_count(mean, n), ""], ["lesions in all", "", number(pooled.value, 0)]]
    intervals = ""
    if any(has_interval(each) for each in shown):
        intervals = f", with {result.settings.level:.0%} intervals over {result.subject}s"
    return grid(f"{title}{intervals}", ["", f"mean over {counted(n, result.subject)}", "all together"], cells)


def _raters_grid(result: MaskReliability) -> Any:
    def value(table: Table, name: str, rater: str, digits: int = 3) -> str:
        rows = [r for r in table.all(name, "pooled") if "rater" in r.columns and r["rater"] == rater and not r.label]
        return number(rows[0].value, digits) if rows else "–"

    by_majority = result.assumptions.by_majority
    accuracy = f"as most others, {result.pixel}s" if by_majority else "accuracy given"
    rows = []
    if result.lesions is None:
        rows = [[rater, value(result.masks, "accuracy", rater)] for rater in result.raters]
        return grid("Raters, against the majority of the others, all cases together", ["", accuracy], rows)
    for rater in result.raters:
        found = [value(result.detection, name, rater) for name in ("found", "found_of_others")]
        alone = value(result.detection, "found_alone", rater, 0)
        rows.append([rater, value(result.masks, "accuracy", rater), *found, alone])
    header = ["", accuracy, "lesions found", "of those that most others found", "found alone"]
    return grid("Raters, against the majority of the others, all cases together", header, rows)
