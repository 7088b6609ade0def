"""The command ``agree``: agreement, raters, heatmaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from ...agreement import SMYTH_LIMIT, case_condition
from ...claims.agreement import AgreementFacts, consider_agreement
from ...claims.algorithms import EqualMasks
from ...claims.claim import ClaimLog, Claims
from ...claims.distances import consider_distances
from ...claims.groups import GroupFacts, consider_groups
from ...claims.intervals import consider_rater_failures, consider_these_raters
from ...claims.lesions import LesionFacts, consider_lesions
from ...claims.masks import consider_masks, count_masks, mask_notes, suspicions_table
from ...claims.numbers import TableIndex
from ...claims.raters import consider_raters
from ...claims.readings import consider_readings
from ...claims.sentences import counted
from ...claims.sessions import consider_sessions, session_notes
from ...claims.sharing import tallied_notes
from ...claims.sizes import SizeFacts, consider_sizes
from ...core.tally import Tallies
from ...core.undefined import Note
from ...io.result_tables import Row, Table
from ...raters.broken_masks import pixel_name
from ...study import Progress, Study
from ...study.suspicions import Suspicion, find_suspicions
from ..adjudicated.references import find_adjudicated_references
from ..large_maps import LargeMaps, check_large_maps
from ..many import MOST_PAIR_CASES, SHOWN_PAIRS, many_raters, missing_references, pair_count, reference_notes
from ..paper_tables.formats import parse_formats
from ..result import Result, StudySource, Tables, console_or_stdout, open_study, results_folder, summary_of
from ..tables import NOTHING_MOVED, Moved, Settings, mark_resampled, region_of, subject_word
from .case import MEASURES, CaseAgreement, MapOptions, analyse_case, image_notes, large_notes, parse_measures
from .changes import change_notes
from .distances import StudyDistances, mean_distance_rows
from .edits import edit_notes, edited_pairs, edits_table
from .flow import flow_notes, flow_table, not_evaluable_cases
from .groups import compare_groups, find_groups, parse_by
from .lesions import lesion_notes, lesion_tables
from .raters import RaterAnalysis, raters_analysis, size_tests_without
from .references import (
    Equal,
    Voted,
    consider_given_references,
    find_equal_masks,
    find_votes,
    pool_by_reference,
    reference_table,
)
from .size_agreement import size_agreement_tables
from .sizes import cut_cases, size_notes, size_tables
from .tables import (
    agreement_table,
    confusion_table,
    curve_table,
    features_table,
    has_pair_cases,
    labels_left_out,
    pairs_table,
    raters_who_marked,
    regions_table,
)

NEED_PIXELS = ("heatmaps", "distances", "lesions", "diameters", "disputed regions", "image features")
"""What a study without pixels has none of."""


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """The result of :func:`manytruths.agree`.

    Attributes
    ----------
    study : Study
        The study that was analysed.
    tallies : Tallies
        The table of patterns of every case.
    settings : Settings
        Level of intervals, seed of the tests that permute raters, scale of words for kappa, groups left out.
    tables : Tables
        ``agreement``, ``curve``, ``pairs``, ``raters``, …, as in the files.
    raters : RaterAnalysis or None
        Differences, dependence and clustering of raters; None where raters are exchangeable.
    notes : tuple of str
        What a reader should know about the numbers.
    suspicions : tuple of Suspicion
        Masks that are probably broken, lost or copied: inverted, shifted, empty, …; see :func:`manytruths.check`.
    moved : Moved
        Which masks were resampled or moved to the grid of their case.
    maps : MapOptions
        How heatmaps, regions and image features are made.
    """

    command: ClassVar[str] = "agree"

    study: Study
    tallies: Tallies
    settings: Settings
    tables: Tables[Any]
    raters: RaterAnalysis | None = None
    notes: tuple[str, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    moved: Moved = NOTHING_MOVED
    maps: MapOptions = field(default_factory=MapOptions)
    map_files: tuple[Path, ...] = ()
    """Heatmaps that were written while the cases were read."""
    equal_references: Equal = field(default_factory=dict)
    """Cases in which a given reference is a rater's mask, by reference and rater."""
    voted_references: Voted = field(default_factory=dict)
    """Given references that are a vote of the raters."""
    pixel_word: str = "pixel"
    """``pixel``, or ``voxel`` for volumes."""
    groups: GroupFacts | None = None
    """Groups of raters and cases that were compared."""
    adjudicated_references: Mapping[str, EqualMasks] = field(default_factory=dict)
    """Given references that adjudicators made of the raters' masks."""

    @cached_property
    def claims(self) -> Claims:
        """What is said about the data, and what was considered and not said."""
        log = ClaimLog()
        masks = TableIndex("agree/masks.csv", suspicions_table(self.suspicions))
        consider_masks(log, self.suspicions, masks, count_masks(self.study))
        consider_sessions(log, self.study)
        consider_readings(log, TableIndex("agree/flow.csv", self.tables["flow"]))
        table, facts = TableIndex("agree/agreement.csv", self.agreement), self._facts
        consider_agreement(log, table, facts)
        if not self.study.options.exchangeable:
            consider_these_raters(log, table, facts.raters, facts.subject_word)
        alone, apart = self._without_overlap
        consider_rater_failures(log, table, facts.subject_word, alone=alone, apart=apart)
        if self.raters is not None:
            raters, pairs = (TableIndex(f"agree/{name}.csv", self.tables[name]) for name in ("raters", "pairs"))
            consider_raters(log, raters, pairs, self.raters.facts)
        consider_distances(log, table, facts)
        if "size_agreement" in self.tables:
            sizes, agreed = (TableIndex(f"agree/{name}.csv", self.tables[name]) for name in ("sizes", "size_agreement"))
            consider_sizes(log, agreed, sizes, SizeFacts(facts, cut_cases(sizes.table), "mask" in facts.region))
        consider_given_references(log, self)
        if "detection" in self.tables:
            names = ("detection", "detection_curve")
            found, curve = (TableIndex(f"agree/{name}.csv", self.tables[name]) for name in names)
            consider_lesions(log, found, curve, self._lesion_facts)
        if self.groups is not None:
            consider_groups(log, TableIndex("agree/groups.csv", self.tables["groups"]), self._group_facts(self.groups))
        return log.settle(primary=self.study.options.primary)

    @property
    def distance_unit(self) -> str:
        """The unit of distances: mm, or pixels where the spacing is not known."""
        known = all(tally.unit is not None for tally in self.tallies.values())
        return "mm" if known else f"{self.pixel_word}s"

    @property
    def counted_suspicions(self) -> tuple[Suspicion, ...]:
        """Suspicions about masks that enter the numbers: of the session that counts."""
        return _counted(self.study, self.tallies, self.suspicions)

    @property
    def agreement(self) -> Table:
        """The table ``agreement``."""
        table: Table = self.tables["agreement"]
        return table

    @property
    def curve(self) -> Table:
        """The table ``curve``."""
        table: Table = self.tables["curve"]
        return table

    @property
    def charts(self) -> dict[str, str]:
        """Charts as SVG by name."""
        from .presentation import charts

        return charts(self)

    def headline(self, statistic: str, scope: str = "mean") -> Row:
        """The row of ``agreement`` for all raters and cases; of several labels, overlaps are macro means."""
        row = TableIndex("agree/agreement.csv", self.agreement).row(statistic, scope)
        return self.agreement.find(statistic, scope) if row is None else row

    @property
    def _facts(self) -> AgreementFacts:
        study, labels = self.study, next(iter(self.tallies.values())).labels
        conditions = {case: case_condition(t) for case, t in self.tallies.items()}
        return AgreementFacts(
            raters=len(study.rater_names), subjects=len(study.subjects),
            subject_word=subject_word(study), pixel_word=self.pixel_word,
            region=region_of(self.tallies), scale=self.settings.kappa_scale,
            labels=tuple(labels.names[code] for code in labels.marks) if labels.several else (), doubt=self._doubt,
            background=labels.background is not None,
            nothing_marked=tuple(case for case, found in conditions.items() if found == "nothing_marked"),
            one_empty=tuple(case for case, found in conditions.items() if found == "one_empty"),
            left_out={label: cases for label, cases in labels_left_out(self.tallies).items() if cases},
            apart=self.raters is not None and len(self.raters.facts.components) > 1,
            exchangeable=study.options.exchangeable,
        )  # fmt: skip

    @property
    def _lesion_facts(self) -> LesionFacts:
        study, facts = self.study, self._facts
        read = [t.rated.max(initial=0) == len(t.raters) for t in self.tallies.values()]
        specks = tuple(s.case for s in self.counted_suspicions if s.kind == "speckle")
        return LesionFacts(
            raters=facts.raters, subjects=facts.subjects, subject=facts.subject_word, labels=facts.labels,
            rule=study.options.lesions, unit=self.distance_unit, instances=study.options.instances,
            everybody=all(read) and not study.options.exchangeable, specks=specks,
        )  # fmt: skip

    def _group_facts(self, groups: GroupFacts) -> GroupFacts:
        """With what is known of raters whose masks are doubtful."""
        groups = replace(groups, subject=subject_word(self.study))
        if self.raters is None:
            return groups
        facts = self.raters.facts
        copies = frozenset(rater for copy in facts.copies for rater in (copy.rater_a, copy.rater_b))
        return replace(groups, copies=frozenset() if facts.all_alike else copies, broken=frozenset(facts.broken))

    @property
    def _without_overlap(self) -> tuple[list[str], list[str]]:
        """Cases in which one rater alone marked anything, and others in which no two raters overlap."""
        cases: tuple[list[str], list[str]] = ([], [])
        for row in self.agreement.all("dice", "case"):
            if row.value == 0 and not row.label:
                cases[raters_who_marked(self.tallies[row.case]) > 1].append(row.case)
        return cases

    @property
    def _doubt(self) -> Note | None:
        copies = self.raters.dependence.copies if self.raters is not None else ()
        pairs = [f"{copy.rater_a} and {copy.rater_b}" for copy in copies]
        text = f"{'; '.join(pairs[:3])} drew nearly the same, so that they may not have worked alone"
        return Note("masks_doubtful", text) if pairs else None

    def summary(self) -> dict[str, Any]:
        """Versions, settings and the numbers of all tables, as ``summary.json`` has them."""
        return summary_of(
            "agree",
            [table for table in self.tables.values() if isinstance(table, Table)],
            cases=len(self.study),
            subjects=len(self.study.subjects),
            raters=list(self.study.rater_names),
            labels=self.tallies[next(iter(self.tallies))].labels.describe(),
            region=region_of(self.tallies),
            settings=self.settings,
            notes=list(self.notes),
        )

    def describe(self) -> str:
        """What was analysed, in one line."""
        sizes = {"rater": len(self.study.rater_names), "case": len(self.study), "subject": len(self.study.subjects)}
        return ", ".join(counted(count, thing) for thing, count in sizes.items())

    def write_maps(self, folder: Path) -> list[Path]:
        """Write the heatmaps of all cases, reading the cases again."""
        options = replace(self.maps, folder=folder / "heatmaps")
        cases = _analyse_cases(self.study, options, self.settings, None)
        return [path for case in cases.values() for path in case.files]

    def print(self, console: Any = None) -> None:
        """Print the headline numbers, groups, raters, disputed cases and notes."""
        from .presentation import print_agreement

        print_agreement(self, console_or_stdout(console))


def agree(
    study: StudySource,
    *,
    out: str | Path | None = None,
    kappa_scale: str = "landis_koch",
    exclude_group: Sequence[str] = (),
    by: str | Sequence[str] = (),
    level: float = 0.95,
    seed: int = 0,
    measure: str | Sequence[str] = MEASURES,
    pictures: bool = True,
    tolerance: float | None = None,
    error_ratio: float | None = None,
    tables: str | Sequence[str] = (),
    large_maps: LargeMaps = "same",
    window: int = 7,
    agreement_window: int = 3,
    rank_base: float = 0.77,
    rank_shift: float = 13,
    rank_largest: int = 10,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Agreement:
    """Measure agreement, identify raters who differ, and map where in each image raters agree.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``.
    out : str or Path, optional
        Folder for the results, written to ``out/agree/``; by default nothing is written. Heatmaps are written while
        the cases are read.
    kappa_scale : {"landis_koch", "fleiss", "altman", "shrout"}
        Scale of the words for kappa.
    exclude_group : sequence of str
        Groups to leave out of additional means.
    by : str or sequence of str
        Columns of ``raters.csv`` (expertise) or ``cases.csv`` (scanner) whose groups are compared.
    level : float
        Confidence level of intervals.
    seed : int
        Seed of the tests that permute raters or subjects: who differs from the others, and whether groups do.
    measure : str or sequence of str
        What to measure besides agreement: ``"sizes"`` of what raters marked (area or volume, lesions, diameters),
        ``"distances"`` between raters' outlines, ``"lesions"`` that raters have in common; ``"none"`` for none.
    pictures : bool
        Whether to make heatmaps, regions, image features and charts.
    tolerance : float, optional
        Tolerance of surface Dice, in mm (or pixels); by default from the distances between raters' outlines.
    error_ratio : float, optional
        Variance of the errors of a rater's sizes over that of the errors of a given reference's, where it is known: 1
        where both are as precise. The line between their sizes is then Deming's, else Passing and Bablok's.
    tables : str or sequence of str
        Formats of tables for a paper, written beside the CSV files: any of ``xlsx``, ``latex``, ``docx``, ``html`` and
        ``redcap``; by default none.
    large_maps : {"same", "ome-zarr", "tiff"}
        Format of the heatmaps of images from 16384 × 16384 pixels on: OME-Zarr or BigTIFF, with a pyramid; by default
        OME-Zarr for Zarr masks and outlines, and BigTIFF for all others.
    window, agreement_window : int
        Pixels across the windows of local contrast, and of the comparison of contrast with agreement.
    rank_base, rank_shift, rank_largest : float
        a, b and the largest rank of the ranking heatmap's a^(rank − b).
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Agreement
        Tables, charts, notes and :meth:`~Agreement.write`.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> a, b = np.zeros((8, 8), int), np.zeros((8, 8), int)
    >>> a[2:6, 2:6], b[2:6, 3:6] = 1, 1
    >>> result = mt.agree(mt.Study.from_arrays({"p1": {"anna": a, "ben": b}}), pictures=False)
    >>> print(f"{result.tables['pairs'].find('dice').value:.3f}")
    0.857
    """
    formats = parse_formats(tables, out, "agree")
    check_large_maps(large_maps)
    columns = parse_by(by)
    settings = Settings(seed, level, kappa_scale, tuple(exclude_group), jobs, columns, error_ratio)
    maps = MapOptions(
        measured=pictures, window=window, agreement_window=agreement_window,
        base=rank_base, shift=rank_shift, largest=rank_largest, measure=parse_measures(measure), tolerance=tolerance,
        large_maps=large_maps,
    )  # fmt: skip
    study = open_study(study)
    find_groups(study, columns)  # refused before anything is read
    with results_folder(out, "agree", jobs=jobs, keeps=True) as folder:
        into = folder / "heatmaps" if folder is not None and pictures else None
        result = compute_agreement(study, settings=settings, plan=replace(maps, folder=into), progress=progress)
        if folder is not None:
            result.write_into(folder, result.map_files, pictures=pictures, tables=formats)
    return result


def compute_agreement(
    study: Study,
    *,
    settings: Settings | None = None,
    plan: MapOptions | None = None,
    progress: Progress | None = None,
) -> Agreement:
    """Read every case once, and tabulate; heatmaps are written into ``plan.folder`` while the cases are read."""
    settings, plan = settings or Settings(), plan or MapOptions()
    return tabulate_agreement(study, _analyse_cases(study, plan, settings, progress), settings, plan)


def tabulate_agreement(
    study: Study, cases: Mapping[str, CaseAgreement], settings: Settings, maps: MapOptions | None = None
) -> Agreement:
    """The tables of cases that were analysed one by one."""
    maps = maps or MapOptions()
    tallies = study.gathered({name: case.tally for name, case in cases.items()})
    distances = StudyDistances.of({name: case.distances for name, case in cases.items()}, maps.tolerance)
    agreement = agreement_table(tallies, settings, {name: case.ranking_score for name, case in cases.items()})
    agreement.add(mean_distance_rows(distances, tallies, settings))
    tables = [agreement, curve_table(tallies)]
    suspicions = find_suspicions(study, {name: case.review for name, case in cases.items()})
    raters, adjudicated = None, find_adjudicated_references(study)
    if not study.options.exchangeable:
        raters = _analyse_raters(study, cases, tallies, settings, suspicions, frozenset(adjudicated))
        pairs = pairs_table(tallies, settings, distances)
        shown = {row.extra for row in pairs.rows if row.scope == "pooled"}
        pairs.add(raters.pair_rows(region_of(tallies), shown))
        tables += [pairs, raters.table]
    if next(iter(tallies.values())).labels.several:
        tables.append(confusion_table(tallies))
    given = {name: case.references for name, case in cases.items()}
    found_lesions = {name: case.reference_lesions for name, case in cases.items()}
    scores = reference_table(
        study, given, settings, methods=False, distances=distances, lesions=found_lesions, item=_pixel_word(cases)
    )
    tables += [scores] if scores.rows else []
    edits = edits_table(study, {name: case.edits for name, case in cases.items()}, settings)
    tables += [t for t in (regions_table(cases, tallies), features_table(cases, tallies), edits) if t.rows]
    tables += [suspicions_table(suspicions)] if suspicions else []
    sizes = {name: case.sizes for name, case in cases.items()}
    tables += [*size_tables(study, sizes, tallies, settings), flow_table(study, tallies)]
    tables += size_agreement_tables(tables, study, settings)
    touched = mark_resampled(study, ()).cases
    found = {name: case.lesions for name, case in cases.items()}
    plain, detection = lesion_tables(found, tallies, settings, touched)
    tables += detection
    groups = compare_groups(study, tallies, settings, {table.name: table for table in tables})
    tables += [groups[0]] if groups is not None else []
    moved = mark_resampled(study, tables)
    measured = (*size_notes(sizes), *change_notes(study, sizes), *lesion_notes(found))
    unmeasured = large_notes({name: case.left_out for name, case in cases.items()})
    others = (
        *flow_notes(study),
        *_notes(study, tallies, agreement, _pixel_word(cases)),
        *_left_out(study),
        *reference_notes(study),
        *measured,
        *image_notes(study, [case.note for case in cases.values()], "heatmaps"),
        *unmeasured,
    )
    notes = (
        *mask_notes(suspicions, count_masks(study)),
        *session_notes(study),
        *edit_notes(study),
        *moved.notes,
        *others,
        *tallied_notes(study, NEED_PIXELS),
    )
    files = tuple(path for case in cases.values() for path in case.files)
    return Agreement(
        study, tallies, settings, Tables([*tables, *plain]), raters, notes, suspicions, moved, maps, files,
        find_equal_masks(given), find_votes(given), _pixel_word(cases), None if groups is None else groups[1],
        adjudicated,
    )  # fmt: skip


def _pixel_word(cases: Mapping[str, CaseAgreement]) -> str:
    return pixel_name(max(case.axes for case in cases.values()))


def _analyse_raters(
    study: Study,
    cases: Mapping[str, CaseAgreement],
    tallies: Tallies,
    settings: Settings,
    suspicions: Sequence[Suspicion],
    adjudicated: frozenset[str],
) -> RaterAnalysis:
    """What is known of the raters, also against given references, with what claims about them must know."""
    given = {name: case.references for name, case in cases.items()}
    against = pool_by_reference(given)
    own = adjudicated | {reference for reference, _ in find_equal_masks(given)} | set(find_votes(given))
    found = raters_analysis(tallies, settings, against, own)
    doubted = _counted(study, tallies, suspicions)
    lacking = missing_references(study)
    facts = replace(
        found.facts,
        references={name: n - len(lacking.get(name, ())) for name, n in found.facts.references.items()},
        broken=tuple(dict.fromkeys(r for s in doubted if s.broken for r in s.raters)),
        lost={r: [s.case for s in doubted if s.kind == "missing_marks" and r in s.raters] for r in found.facts.raters},
        filled=tuple(r for s in doubted if s.kind in ("all_marked", "inverted") for r in s.raters),
        sizes_without_broken=size_tests_without(tallies, settings, _broken_masks(doubted)),
        edited=frozenset(edited_pairs(study)),
        subject=subject_word(study),
        pixel=_pixel_word(cases),
        sessions=bool(study.sessions),
        not_evaluable=not_evaluable_cases(study),
    )
    return replace(found, facts=facts)


def _broken_masks(suspicions: Sequence[Suspicion]) -> set[tuple[str, str]]:
    """Rater and case of masks whose size may not be meant; a rater all of whose doubtful masks are scaled may have the
    habit that is tested."""
    broken = [(r, s) for s in suspicions if s.broken and s.case for r in s.raters]
    otherwise = {rater for rater, found in broken if found.kind != "scaled"}
    return {(rater, found.case) for rater, found in broken if rater in otherwise}


def _counted(study: Study, tallies: Tallies, suspicions: Sequence[Suspicion]) -> tuple[Suspicion, ...]:
    """The suspicions about masks that count; a second session that is equal to the first leaves that as it is."""
    others = [s for s in suspicions if s.kind != "identical_sessions"]
    if study.options.exchangeable:
        return tuple(others)
    counted = {t.columns[i] for t in tallies.values() for i in t.raters}
    return tuple(s for s in others if counted.intersection(s.columns))


def _analyse_cases(
    study: Study, maps: MapOptions, settings: Settings, progress: Progress | None
) -> dict[str, CaseAgreement]:
    work = partial(analyse_case, plan=maps)
    results = study.map(work, jobs=settings.jobs, progress=progress, keep=True)
    return {case.name: result for case, result in results}


def _left_out(study: Study) -> Iterator[str]:
    """What the tables of pairs leave out."""
    pairs = pair_count(len(study.rater_names))
    if study.options.exchangeable or len(study.rater_names) < 2:
        return
    shown = min(pairs, SHOWN_PAIRS) if many_raters(len(study.rater_names)) else pairs
    if shown < pairs:
        yield (
            f"{len(study.rater_names)} raters make {pairs:,} pairs: pairs.csv has all numbers of the {shown} pairs "
            "with the lowest mean Dice, and of the others the means of kappa, Dice, relative volume difference and "
            "surface distance; size_agreement.csv and detection.csv have no numbers of pairs"
        )
    if not has_pair_cases(shown, len(study)):
        yield (
            f"pairs.csv has no rows of single cases: {counted(shown, 'pair')} of raters in {len(study):,} cases are "
            f"more than {MOST_PAIR_CASES:,}"
        )


def _notes(study: Study, tallies: Tallies, table: Table, pixel: str) -> Iterator[str]:
    if not any(t.marked.any() for t in tallies.values()):
        void = study.options.void
        asked = "" if void is None else f"; is void={void} the value of the marks?"
        yield Note("nothing_marked", f"no rater marked anything in any case{asked}")
    if len({t.unit for t in tallies.values()}) > 1:
        size = "volume" if pixel == "voxel" else "area"
        yield f"{pixel}s differ in size between cases: pooled numbers count {pixel}s, not {size}"
    bound = table.find("smyth_bound")
    if bound.value > SMYTH_LIMIT:
        digits = 1 if bound.value >= SMYTH_LIMIT + 0.0005 else 3
        yield f"Smyth's bound is {bound.value:.{digits}%}, above the recommended limit of {SMYTH_LIMIT:.0%}"
    if len(study.rater_names) == 2:
        yield (
            "Smyth's bound: of two raters it is half of the share on which they differ; do not compare it with that of "
            "more raters"
        )
    if study.options.exchangeable:
        yield Note("exchangeable", "raters are exchangeable: nothing is said about one of them or about pairs")
