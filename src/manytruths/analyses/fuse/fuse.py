"""The command ``fuse``: consensus masks and probability maps, raters against them, differences, complexity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ...agreement import (
    ONE_LABEL,
    PairMatrix,
    PairStatistic,
    contingency,
    dice,
    iou,
    mean_over_labels,
    one_label_tables,
    sensitivity,
    specificity,
    volume_difference,
)
from ...claims.algorithms import consider_adjudicated_references, consider_equal_references, consider_voted_references
from ...claims.claim import ClaimLog, Claims
from ...claims.consensus import SameMasks, consider_left_out, consider_same_masks
from ...claims.numbers import TableIndex
from ...claims.sentences import counted, join_names
from ...claims.sessions import session_notes
from ...claims.sharing import tallied_notes
from ...complexity import STATISTICS, Complexity, GroupClassifier, fit_complexity_groups
from ...core.columns import Column
from ...core.errors import CallError, InputError, name_cases
from ...core.labels import MACRO, VOID, Labels
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Note, Undefined, code, code_of, ratio, reason
from ...evaluation.ranking.standings import fractional_ranks
from ...fusion import Consensus, estimate
from ...fusion.registry import estimator, options_by_name, parse_methods
from ...fusion.result import MARKED_NOTHING, first_readings
from ...fusion.staple import Prior
from ...io import write_text
from ...io.result_tables import PlainTable, Row, Table
from ...raters import rater_dependence, rater_performance
from ...raters.broken_masks import pixel_name
from ...study import Progress, Study
from ...study.adjudicated import METHOD, find_logs
from ...study.consensus import default_methods, prepare
from ...study.crew import is_large_case
from ...study.outlines import NOT_THERE
from ..adjudicated.references import find_adjudicated_references
from ..agree.case import image_notes, large_notes
from ..agree.distances import DISTANCES, StudyDistances, check_tolerance, mean_of
from ..agree.flow import name_gaps
from ..agree.references import find_equal_masks, find_votes, reference_table
from ..label_rows import macro_rows
from ..large_maps import LargeMaps, check_large_maps
from ..many import many_raters, without_absent
from ..paper_tables.formats import parse_formats
from ..result import OUT, Result, StudySource, Tables, console_or_stdout, open_study, results_folder, summary_of
from ..tables import (
    NOTHING_MOVED,
    Moved,
    Series,
    Settings,
    group_names,
    mark_resampled,
    marked_rows,
    mean_rows,
    region_of,
    subject_word,
    summarise,
)
from .case import CaseFusion, FusePlan, consensus_column, fuse_case, on_modified_background, rater_table
from .same_masks import count_present, find_same_masks

HARD: tuple[PairStatistic, ...] = (iou, sensitivity, specificity, dice)
"""Each rater against each consensus (Yang 2023, eqs. 13–15)."""

NEED_PIXELS = ("consensus masks", "probability maps", "distances", "lesions")
"""What a study without pixels has none of."""
LEAST_CASES = 10
"""Fewer cases make no groups."""
LEAST_RATERS = 3
"""Of fewer raters, a case is in no group."""
SAID_OTHERWISE = (MARKED_NOTHING, "tied_labels", "label_gaps")
"""Codes of notes on a case that are counted over all cases, or that ``check`` reports."""
COMPLEXITY = "complexity"
"""The code of a note about complexity, not about a method."""
UNJUDGED = "unjudged_cases"
"""The code of a note about cases in which no rater is judged."""

ABSENT = NOT_THERE.undefined
"""The code of a distance to a mask that is not there."""
BETWEEN: tuple[PairStatistic, ...] = (dice, iou, volume_difference)
"""One consensus against another."""


@dataclass(frozen=True, repr=False)
class Fusion(Result):
    """The result of :func:`manytruths.fuse`.

    Attributes
    ----------
    study : Study
        The study that was analysed.
    settings : Settings
        Level of intervals, and seed of k-means.
    plan : FusePlan
        The methods and their options.
    methods : tuple of str
        The consensus methods.
    cases : mapping of str to CaseFusion
        Each case's table of raters and consensuses, convergence and complexity.
    tallies : Tallies
        The tables of all cases.
    tables : Tables
        ``performance``, ``differences``, ``complexity``, ``left_out`` (where a method leaves raters out) and
        ``convergence``, as in the files.
    groups : GroupClassifier or None
        Groups of cases by complexity; None with few cases.
    notes : tuple of str
        What a reader should know about the numbers.
    moved : Moved
        Which masks were resampled or moved to the grid of their case.
    """

    command: ClassVar[str] = "fuse"

    study: Study
    settings: Settings
    plan: FusePlan
    cases: Mapping[str, CaseFusion]
    tallies: Tallies
    tables: Tables[Any]
    groups: GroupClassifier | None
    notes: tuple[str, ...] = ()
    moved: Moved = NOTHING_MOVED

    @property
    def methods(self) -> tuple[str, ...]:
        """The consensus methods."""
        return self.plan.methods

    @property
    def pixel_word(self) -> str:
        """``pixel``, or ``voxel`` of volumes."""
        return _pixel_word(self.cases)

    @property
    def performance(self) -> Table:
        """The table ``performance``: each rater against each consensus."""
        return cast(Table, self.tables["performance"])

    @property
    def differences(self) -> Table:
        """The table ``differences``: each consensus against the others."""
        return cast(Table, self.tables["differences"])

    @property
    def complexity(self) -> Table:
        """The table ``complexity``: how complex each case is."""
        return cast(Table, self.tables["complexity"])

    @property
    def left_out(self) -> Table:
        """The table ``left_out``: whom ``excl`` and ``simple`` left out; empty where no method does that."""
        return cast(Table, self.tables.get("left_out", Table("left_out", LEFT_OUT)))

    @cached_property
    def same_masks(self) -> SameMasks:
        """Which methods give the same masks in all cases, or are the union or the intersection."""
        return find_same_masks(self.tallies, self.methods, len(self.study.rater_names))

    @cached_property
    def claims(self) -> Claims:
        """What is said about the consensus, and what was considered and not said."""
        log = ClaimLog()
        differences = TableIndex("fuse/differences.csv", self.differences)
        consider_same_masks(log, differences, self.same_masks, self.methods)
        consider_left_out(log, TableIndex("fuse/left_out.csv", self.left_out), self.methods)
        given = {name: case.references for name, case in self.cases.items()} if self.study.exact else {}
        for of in ("rater", "consensus"):
            equal = find_equal_masks(given, "algorithm" if of == "consensus" else "rater")
            consider_equal_references(log, equal, of=of)
        consider_voted_references(log, find_votes(given))
        consider_adjudicated_references(log, find_adjudicated_references(self.study))
        return log.settle(primary=self.study.options.primary)

    @property
    def map_files(self) -> tuple[Path, ...]:
        """The maps that were written while the cases were read."""
        return tuple(path for case in self.cases.values() for path in case.files)

    @property
    def charts(self) -> dict[str, str]:
        """Charts as SVG by name."""
        from .presentation import charts

        return charts(self)

    def summary(self) -> dict[str, Any]:
        """Versions, settings and the numbers of the tables, as ``summary.json`` has them."""
        return summary_of(
            "fuse",
            (self.performance, self.differences, self.complexity, *([self.left_out] if self.left_out.rows else [])),
            methods=list(self.methods),
            cases=len(self.study),
            subjects=len(self.study.subjects),
            raters=list(self.study.rater_names),
            region=region_of(self.tallies),
            settings=self.settings,
            notes=list(self.notes),
        )

    def describe(self) -> str:
        """What was analysed, in one line."""
        sizes = {"method": len(self.methods), "case": len(self.study), "rater": len(self.study.rater_names)}
        return ", ".join(counted(count, thing) for thing, count in sizes.items())

    def write(self, out: str | Path = OUT, *, pictures: bool = True, tables: str | Sequence[str] = ()) -> list[Path]:
        """Write the files that the command writes, into ``out/fuse/``; the cases are read again for the maps.

        Parameters
        ----------
        out : str or Path
            Folder for the results.
        pictures : bool
            Whether to write pictures and charts beside masks, probability maps and tables.
        tables : str or sequence of str
            Formats of tables for a paper, as in ``["xlsx", "docx"]``: xlsx, latex, docx, html, redcap.

        Returns
        -------
        list of Path
            The files, ``summary.json`` last. Files from earlier runs that this one did not write are removed.
        """
        folder, formats = Path(out) / self.command, parse_formats(tables, out, self.command)
        with results_folder(out, self.command, jobs=self.settings.jobs, goes_on=True) as stage:
            assert stage is not None
            plan = replace(self.plan, folder=stage, earlier=folder, pictures=pictures)
            cases = _fuse_cases(self.study, plan, self.settings, None)
            maps = [path for case in cases.values() for path in case.files]
            paths = self.write_into(stage, maps, pictures=pictures, tables=formats)
        return [folder / path.relative_to(stage) for path in paths]

    def write_more(self, folder: Path) -> list[Path]:
        """Write the classifier of complexity groups."""
        if self.groups is None:
            return []
        path = folder / "complexity-groups.json"
        write_text(path, self.groups.to_json())
        return [path]

    def print(self, console: Any = None) -> None:
        """Print how the methods differ, raters against them, complexity and notes."""
        from .presentation import print_fusion

        print_fusion(self, console_or_stdout(console))


def fuse(
    study: StudySource,
    *,
    out: str | Path | None = None,
    consensus: str | Sequence[str] | None = None,
    prior: Prior | str = "prevalence",
    rates: Literal["case", "pooled"] = "case",
    unanimous: Literal["keep", "exclude"] = "keep",
    map_prior: tuple[float, ...] | None = None,
    smoothing: float = 0.0,
    simple_alpha: float = 1.5,
    length_penalty: float = 2.0,
    distances: bool = True,
    tolerance: float | None = None,
    lesions: bool = True,
    pictures: bool = True,
    tables: str | Sequence[str] = (),
    large_maps: LargeMaps = "same",
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Fusion:
    """Estimate consensus masks, compare them with each other and with the raters, and measure each case's complexity.

    :func:`manytruths.consensus` gives the masks themselves as arrays.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``.
    out : str or Path, optional
        Folder for the results, written to ``out/fuse/``; by default nothing is written. A run that was interrupted
        continues there: cases that are done with the same settings are not done again.
    consensus : str or sequence of str, optional
        One or more of :func:`manytruths.consensus_methods`, as a list or separated by commas; by default
        ``vote:0.5,staple``, and of several labels ``plurality,staple``.
    prior : {"prevalence", "marked", "estimated"} or float
        Prior of STAPLE; see :func:`manytruths.staple`.
    rates : {"case", "pooled"}
        Whether rates are estimated for each case or from the whole study.
    unanimous : {"keep", "exclude"}
        Whether items on which all raters agree count for STAPLE's rates.
    map_prior : tuple of float, optional
        Beta prior of STAPLE's rates: (a, b) or (a_p, b_p, a_q, b_q).
    smoothing : float
        Potts smoothing of STAPLE's map; 0 is none.
    simple_alpha : float
        SIMPLE drops raters who score below the mean minus so many standard deviations.
    length_penalty : float
        Length penalty of the level-set methods.
    distances : bool
        Whether to measure the distances of raters to each consensus.
    tolerance : float, optional
        Tolerance of surface Dice, in mm (or pixels); by default from the distances between raters' outlines.
    lesions : bool
        Whether to match the lesions of raters and consensuses with those of given references.
    pictures : bool
        Whether to write pictures of the probability maps, and charts.
    tables : str or sequence of str
        Formats of tables for a paper, written beside the CSV files: any of ``xlsx``, ``latex``, ``docx``, ``html`` and
        ``redcap``; by default none.
    large_maps : {"same", "ome-zarr", "tiff"}
        Format of the maps of images from 16384 × 16384 pixels on, which are written by tile and with a pyramid.
        ``"same"`` is OME-Zarr where the masks are Zarr or outlines, else BigTIFF.
    seed : int
        Seed of k-means, which groups the cases by complexity.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Fusion
        Tables, charts, notes and :meth:`~Fusion.write`.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> a, b = np.zeros((8, 8), int), np.zeros((8, 8), int)
    >>> a[2:6, 2:6], b[2:6, 3:6] = 1, 1
    >>> study = mt.Study.from_arrays({"p1": {"anna": a, "ben": b}, "p2": {"anna": b, "ben": a}})
    >>> result = mt.fuse(study, consensus="vote:any,vote:all")
    >>> print(f"{result.tables['differences'].find('dice', 'pooled').value:.3f}")
    0.857
    """
    formats = parse_formats(tables, out, "fuse")
    if consensus is not None:
        parse_methods(consensus, smoothing=smoothing)  # refused before the study is opened
    options = options_by_name(
        prior=prior, unanimous=unanimous, map_prior=map_prior, smoothing=smoothing,
        simple_alpha=simple_alpha, length_penalty=length_penalty,
    )  # fmt: skip
    if rates not in ("case", "pooled"):
        raise CallError(f"rates is 'case' or 'pooled'; got {rates!r}")
    check_large_maps(large_maps)
    check_tolerance(tolerance)
    settings = Settings(seed=seed, jobs=jobs)
    study = open_study(study)
    methods = parse_methods(default_methods(study) if consensus is None else consensus, smoothing=smoothing)
    study = prepare(study, methods)
    with results_folder(out, "fuse", jobs=jobs, goes_on=True, keeps=True) as folder:
        earlier = None if out is None else Path(out) / "fuse"
        measures = {"distances": distances, "tolerance": tolerance, "lesions": lesions, "large_maps": large_maps}
        plan = FusePlan(methods, options, folder, pictures, earlier, **measures)  # type: ignore[arg-type]
        result = compute_fusion(study, plan, pooled_rates=rates == "pooled", settings=settings, progress=progress)
        if folder is not None:
            result.write_into(folder, result.map_files, pictures=pictures, tables=formats)
    return result


def compute_fusion(
    study: Study,
    plan: FusePlan,
    *,
    pooled_rates: bool = False,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Fusion:
    """Estimate, write the maps into ``plan.folder`` while the cases are read, and tabulate."""
    settings = settings or Settings()
    if pooled_rates:
        plan = _pool_rates(study, plan, settings)
    return tabulate_fusion(study, _fuse_cases(study, plan, settings, progress), plan, settings)


def _fuse_cases(study: Study, plan: FusePlan, settings: Settings, progress: Progress | None) -> dict[str, CaseFusion]:
    work = partial(fuse_case, plan=plan)
    # others are found again by their pixels, also after a run that was complete
    found = study.map(work, jobs=settings.jobs, progress=progress, keep=is_large_case)
    return {case.name: result for case, result in found}


def tabulate_fusion(study: Study, cases: Mapping[str, CaseFusion], plan: FusePlan, settings: Settings) -> Fusion:
    """The tables of cases that were fused one by one."""
    tallies = study.gathered({name: case.tally for name, case in cases.items()})
    complexity, groups = _complexity(cases, tallies, settings)
    distances = StudyDistances.of({name: case.distances for name, case in cases.items()}, plan.tolerance)
    performance = _performance(cases, tallies, plan.methods, settings, distances)
    differences = _differences(cases, tallies, plan.methods, settings)
    left_out = _left_out(cases, tallies, plan.methods)
    moved = mark_resampled(study, (performance, differences, complexity, left_out))
    rows = [
        (name, e.method, e.ended, e.iterations, "; ".join(e.left_out), e.tied, e.gaps, e.note)
        for name, case in cases.items()
        for e in case.convergence
    ]
    header = ("case", "method", "ended", "iterations", "left_out", "tied", "gaps", "note")
    convergence = PlainTable("convergence", *marked_rows(rows, header, [row[0] in moved.cases for row in rows]))
    given = {name: case.references for name, case in cases.items()}
    lesions = {name: case.lesions for name, case in cases.items()}
    scores = reference_table(
        study, given, settings, methods=True, distances=distances, lesions=lesions, item=_pixel_word(cases)
    )
    more = [table for table in (left_out, scores) if table.rows]
    tables = Tables([performance, differences, complexity, *more, convergence])
    notes = (*session_notes(study), *_absences(study, tallies, performance), *moved.notes,
             *_own_marks(study, plan.methods), *_tied_votes(tallies, plan.methods), *_notes(cases, groups),
             *_unjudged_notes(tallies),
             *large_notes({name: case.left_out for name, case in cases.items()}))  # fmt: skip
    notes = (*notes, *tallied_notes(study, NEED_PIXELS))
    lacking = [f"case {n}: pictures without its image: {c.without_image}" for n, c in cases.items() if c.without_image]
    notes = (*notes, *image_notes(study, lacking, "pictures"))
    return Fusion(study, settings, plan, cases, tallies, tables, groups, notes, moved)


def _pool_rates(study: Study, plan: FusePlan, settings: Settings) -> FusePlan:
    """Every method fitted once, to the table of the whole study."""
    spatial = [m for m in plan.methods if estimator(m)[0].spatial]
    if spatial:
        raise CallError(f"{', '.join(spatial)} works case by case; rates cannot be pooled over the study")
    if study.options.exchangeable:
        raise CallError("raters are exchangeable: rates of a slot cannot be pooled over cases")
    read = study.map(rater_table, jobs=settings.jobs)
    tables = list(study.gathered({case.name: table for case, table in read}).values())
    if any(t.region != "whole" for t in tables):
        return replace(plan, pooled=_estimates(plan, tables))
    cut = [t.restrict("modified_background") for t in tables]
    return replace(plan, pooled=_estimates(plan, tables), pooled_cut=_estimates(plan, cut))


def _estimates(plan: FusePlan, tables: Sequence[Tally]) -> dict[str, Consensus]:
    whole = pool(tables, mixed=True)
    return {m: estimate(whole, m, **plan.options_of(m)) for m in plan.methods}


def _performance(
    cases: Mapping[str, CaseFusion],
    tallies: Tallies,
    methods: Sequence[str],
    settings: Settings,
    distances: StudyDistances,
) -> Table:
    """Each rater against each consensus; where raters are exchangeable, their mean in each case."""
    table, whole = Table("performance", ("method", "rater")), pool(tallies, mixed=True)
    labels = [whole.labels.names[code] for code in whole.labels.marks] if whole.labels.several else [""]
    parts = {label: tallies.map(lambda t, label=label: t.only(label)) if label else tallies for label in labels}
    judged = [not lacks_common_mark(t) for t in tallies.values()]
    for method in methods:
        by_label = {
            label: _without_unjudged(
                [*_performance_series(part, method, label), *_distance_series(part, method, label, distances)], judged
            )
            for label, part in parts.items()
        }
        if whole.labels.several:
            table.add(distances.with_units(macro_rows(by_label, tallies, settings)))
            table.add(_pooled_performance(parts, method, judged))
        for label, series in by_label.items():
            soft = [] if whole.exchangeable or label else _soft_series(cases, tallies, method, whole.rater_names)
            rows = summarise([*series, *_without_unjudged(soft, judged)], tallies, settings)
            table.add(distances.with_units(without_absent(rows, len(whole.raters))))
            table.add(_pooled_performance({label: parts[label]}, method, judged))
    if "staple" in methods and not whole.exchangeable:
        table.add(_dependence(first_readings(whole)))
    return table


def lacks_common_mark(tally: Tally) -> bool:
    """Whether no item was marked by two raters, of two or more, so that nobody is judged by a consensus of them."""
    if tally.labels.background is None or count_present(tally) < 2:
        return False
    return int(np.max(tally.marked, initial=0, where=tally.counts > 0)) == 1


def _without_unjudged(series: Sequence[Series], judged: Sequence[bool]) -> list[Series]:
    """The series without cases in which nobody is judged: otherwise only who marked something would lose by them."""
    gap = Undefined("no_item_marked_twice")
    return [replace(s, values=[v if keep else gap for v, keep in zip(s.values, judged, strict=True)]) for s in series]


def _performance_series(tallies: Tallies, method: str, label: str) -> list[Series]:
    """Each rater against a consensus by case; the raters' mean where they are exchangeable."""
    column, absent = consensus_column(method), Undefined("absent")
    if next(iter(tallies.values())).exchangeable:
        means = {s.__name__: [_mean_over_raters(t, t.position(column), s) for t in tallies.values()] for s in HARD}
        return [Series(name, values, label, (method, "")) for name, values in means.items()]
    by_case = [rater_performance(t, column) for t in tallies.values()]
    raters = pool(tallies, mixed=True).rater_names
    return [
        Series(s.__name__, [p.value(r, s) if r in p.raters else absent for p in by_case], label, (method, r))
        for r in raters
        for s in HARD
    ]


def _distance_series(tallies: Tallies, method: str, label: str, distances: StudyDistances) -> list[Series]:
    """The distances of each rater to a consensus by case; the raters' mean where they are exchangeable."""
    if not distances.cases:
        return []
    whole, column = pool(tallies, mixed=True), Column(method, "algorithm")
    raters = [whole.columns[i] for i in whole.raters]
    found = {r: [distances.values(case, label, r, column) for case in tallies] for r in raters}
    if whole.exchangeable:
        slots = list(zip(*found.values(), strict=True))
        means = {s: [mean_of([v[s] for v in each if code(v[s]) != ABSENT]) for each in slots] for s in DISTANCES}
        return [Series(name, values, label, (method, "")) for name, values in means.items()]
    gap = Undefined("absent")
    return [
        Series(s, [gap if code(v[s]) == ABSENT else v[s] for v in by_case], label, (method, rater.name))
        for rater, by_case in found.items()
        for s in DISTANCES
    ]


def _pooled_performance(parts: Mapping[str, Tallies], method: str, judged: Sequence[bool]) -> Iterator[Row]:
    """Each rater against a consensus, all judged cases as one; of several parts, the mean over these labels."""
    first = pool(next(iter(parts.values())), mixed=True)
    if first.exchangeable:
        return
    kept = {label: [t for t, keep in zip(p.values(), judged, strict=True) if keep] for label, p in parts.items()}
    pooled = {
        label: rater_performance(pool(tables, mixed=True), consensus_column(method)) if tables else None
        for label, tables in kept.items()
    }
    gap = Undefined("no_item_marked_twice")
    for rater in first.rater_names:
        for s in HARD:
            values = [p.value(rater, s) if p and rater in p.raters else gap for p in pooled.values()]
            value, label = (values[0], next(iter(pooled))) if len(values) == 1 else (mean_over_labels(values), MACRO)
            yield Row("pooled", s.__name__, value, "", "", label, first.region, (method, rater))


LEFT_OUT = ("method", "rater")
LEAVES_OUT = ("excl", "simple")
"""Methods that may leave raters out."""


def _left_out(cases: Mapping[str, CaseFusion], tallies: Tallies, methods: Sequence[str]) -> Table:
    """Whether each rater was left out by a method in each case that they marked, and in how many."""
    table = Table("left_out", LEFT_OUT)
    if next(iter(tallies.values())).exchangeable:
        return table  # a slot is nobody
    for method in [m for m in methods if estimator(m)[0].name in LEAVES_OUT]:
        gone = {name: e.left_out for name, case in cases.items() for e in case.convergence if e.method == method}
        for rater in pool(tallies, mixed=True).rater_names:
            here = [name for name, t in tallies.items() if rater in _present(t)]
            flags = [float(rater in gone[name]) for name in here]
            extra = (method, rater)
            for name, flag in zip(here, flags, strict=True):
                group = group_names(tallies, name)
                table.append(Row("case", "left_out", flag, name, group, "", tallies[name].region, extra))
            table.append(Row("pooled", "left_out", sum(flags), "", "", "", region_of(tallies), extra, n=len(here)))
    return table


def _present(tally: Tally) -> list[str]:
    """The raters who rated anything, in their first reading."""
    here = np.atleast_1d((tally.patterns[:, tally.raters] != VOID).any(axis=0))
    return [name for name, present in zip(tally.rater_names, here.tolist(), strict=True) if present]


def _dependence(whole: Tally) -> Iterator[Row]:
    """Whether the raters make errors together; STAPLE assumes that they do not."""
    if whole.labels.background is None or whole.labels.several:
        return
    result = rater_dependence(whole)
    values = {"effective_raters": result.effective_raters, "error_correlation": result.mean_correlation}
    for name, value in values.items():
        yield Row("pooled", name, value, region=whole.region, extra=("staple", ""), n=len(result.raters))


def _mean_over_raters(tally: Tally, reference: int, statistic: PairStatistic) -> float:
    values = statistic.of(contingency(tally, [*tally.raters, reference])[:-1, -1], tally.labels)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else Undefined(statistic.undefined)


def _soft_series(cases: Mapping[str, CaseFusion], tallies: Tallies, method: str, raters: Sequence[str]) -> list[Series]:
    """Gordon's measures against the probability, where a method has one by pattern."""
    by_case = [{(r, s): v for m, r, s, v in f.soft if m == method} for f in cases.values()]
    names = list(dict.fromkeys(s for values in by_case for _, s in values))
    if many_raters(len(raters)):
        # of many raters most are absent from a case, and have no rows there
        gap, there = Undefined("absent"), [set(_who_rated(tally)) for tally in tallies.values()]
        by_case = [
            {key: v if key[0] in here else gap for key, v in values.items()}
            for values, here in zip(by_case, there, strict=True)
        ]
    absent = Undefined("absent_or_no_probability")
    return [Series(s, [v.get((r, s), absent) for v in by_case], extra=(method, r)) for r in raters for s in names]


def _who_rated(tally: Tally) -> Iterator[str]:
    """The raters who decided about any pattern."""
    return (tally.columns[i].name for i in tally.raters if (tally.patterns[:, i] != VOID).any())


def _differences(
    cases: Mapping[str, CaseFusion], tallies: Tallies, methods: Sequence[str], settings: Settings
) -> Table:
    """Method against method, and each against itself on the modified background."""
    table = Table("differences", ("method_a", "method_b"))
    labels = next(iter(tallies.values())).labels
    for a, b in combinations(methods, 2):
        pairs = np.stack([_pair(t, a, b) for t in tallies.values()])
        if labels.several:
            table.add(_label_differences(pairs, labels, tallies, (a, b), settings))
        else:
            statistics = {s.__name__: partial(s.value, labels=labels) for s in BETWEEN}
            table.add(_difference_rows(pairs, statistics, tallies, (a, b), settings))
        table.add(_difference_rows(pairs, {"changed": _changed}, tallies, (a, b), settings))
    for method in methods:
        table.add(summarise(_region_series(cases, method, labels), tallies, settings))
    return table


def _difference_rows(
    pairs: NDArray[np.float64], statistics: Mapping[str, Callable[[NDArray[np.float64]], float]], tallies: Tallies,
    methods: tuple[str, str], settings: Settings, label: str = "",
) -> Iterator[Row]:  # fmt: skip
    """How two methods differ by case, over subjects, and with all cases as one."""
    series = [Series(name, [value(p) for p in pairs], label, methods) for name, value in statistics.items()]
    yield from summarise(series, tallies, settings)
    whole = pairs.sum(axis=0)
    for name, value in statistics.items():
        yield Row("pooled", name, value(whole), "", "", label, region_of(tallies), methods)


def _label_differences(
    pairs: NDArray[np.float64], labels: Labels, tallies: Tallies, methods: tuple[str, str], settings: Settings
) -> Iterator[Row]:
    """The macro means, then each label against the rest."""
    statistics = {s.__name__: partial(s.value, labels=ONE_LABEL) for s in BETWEEN}
    parts = {labels.names[code]: one_label_tables(pairs, code) for code in labels.marks}
    by_label = {
        label: [Series(name, [value(p) for p in part], label, methods) for name, value in statistics.items()]
        for label, part in parts.items()
    }
    yield from macro_rows(by_label, tallies, settings)
    for name, value in statistics.items():
        pooled = mean_over_labels(value(part.sum(axis=0)) for part in parts.values())
        yield Row("pooled", name, pooled, "", "", MACRO, region_of(tallies), methods)
    for label, part in parts.items():
        yield from _difference_rows(part, statistics, tallies, methods, settings, label)


def _pair(tally: Tally, a: str, b: str) -> NDArray[np.float64]:
    """The labels that two methods give, items by labels of the one and of the other."""
    where = [tally.position(consensus_column(method)) for method in (a, b)]
    return np.asarray(contingency(tally, where)[0, 1])


def _changed(pair: NDArray[np.float64]) -> float:
    """The share of items to which the two give different labels."""
    return ratio(float(pair.sum() - np.trace(pair)), float(pair.sum()), "no_item_decided_by_both")


def _region_series(cases: Mapping[str, CaseFusion], method: str, labels: Labels) -> list[Series]:
    """Each case's Dice and changed share, where the method reads the table of the whole image."""
    regions = [next((r[1:] for r in f.regions if r[0] == method), None) for f in cases.values()]
    if not any(regions):
        return []
    extra, none = (method, on_modified_background(method)), (Undefined("other_region"),) * 2
    overlaps, changed = zip(*(r or none for r in regions), strict=True)
    of = MACRO if labels.several else ""
    return [Series("dice", overlaps, of, extra), Series("changed", changed, extra=extra)]


def _complexity(
    cases: Mapping[str, CaseFusion], tallies: Tallies, settings: Settings
) -> tuple[Table, GroupClassifier | None]:
    """The complexity of each case beside the raters' Dice, and groups of cases where there are enough."""
    table = Table("complexity", ("class",))
    values = {name: case.complexity for name, case in cases.items()}
    groups, grouped = None, [value for value in values.values() if can_be_grouped(value)]
    if len(grouped) >= LEAST_CASES:
        with suppress(InputError):
            groups = fit_complexity_groups(grouped, seed=settings.seed)
            groups = replace(groups, left_out=len(values) - len(grouped))
    classes = {name: group_of(groups, value) for name, value in values.items()}
    series = [Series(s, [getattr(value, s) for value in values.values()], extra=("",)) for s in STATISTICS]
    of = MACRO if next(iter(tallies.values())).labels.several else ""
    overlap = Series("dice", [_pair_dice(tally) for tally in tallies.values()], of, ("",))
    esm = next(s for s in series if s.statistic == "esm")
    rows = summarise([*series, overlap], tallies, settings)
    for row in rows:
        row.region = "modified_background" if row.statistic in STATISTICS else row.region
        if row.scope == "case":
            row.extra = (classes[row.case],)
            row.n = values[row.case].items if row.statistic in STATISTICS else row.n
    table.add(rows)
    for name in groups.names if groups else ():
        members = [case for case in tallies if classes[case] == name]
        means = mean_rows([replace(s, extra=(name,)) for s in (esm, overlap)], tallies, members, "", settings)
        table.add(row for row in means if row.scope == "mean")
    table.append(_correlation(esm, overlap, tallies))
    table.add(_label_complexity(cases, tallies, settings))
    return table, groups


def can_be_grouped(complexity: Complexity) -> bool:
    """Whether a case has a complexity that rests on three raters or more.

    Two raters give three patterns where any of them marked: the probabilities are those of A alone, B alone and both.
    """
    return not complexity.reason and complexity.raters >= LEAST_RATERS


def group_of(groups: GroupClassifier | None, complexity: Complexity) -> str:
    """The group of a case: empty where there are no groups, ``undefined`` where it is in none."""
    if groups is None:
        return ""
    return groups.classify(complexity) if can_be_grouped(complexity) else "undefined"


def why_no_groups(cases: Mapping[str, CaseFusion]) -> Note:
    """Why cases are not grouped by their complexity."""
    known = [case.complexity for case in cases.values() if not case.complexity.reason]
    grouped = [value for value in known if can_be_grouped(value)]
    if len(grouped) >= LEAST_CASES:
        return Note("cases_alike", "too few of them differ in complexity")
    if known and not grouped:
        text = (
            "with two raters, STAPLE's probabilities take at most three values where any rater marked (one rater "
            "alone, the other alone, both), so that they add little to how far the two overlap"
        )
        return Note("two_raters", text)
    of = f" of {LEAST_RATERS} raters or more" if len(grouped) < len(known) else ""
    have = "has" if len(grouped) == 1 else "have"
    count = f"{counted(len(grouped), 'case')}{of} {have} a complexity" if grouped else f"no case{of} has a complexity"
    return Note("few_cases", f"{count}, and fewer than {LEAST_CASES} make no groups")


def _label_complexity(cases: Mapping[str, CaseFusion], tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """The complexity of each of several labels; cases are not grouped by it."""
    unused = Undefined("nobody_marked")
    labels = dict.fromkeys(label for case in cases.values() for label in case.complexity_by_label)
    for label in labels:
        by_case = [case.complexity_by_label.get(label) for case in cases.values()]
        series = [Series(s, [getattr(c, s) if c else unused for c in by_case], label, ("",)) for s in STATISTICS]
        for row in summarise(series, tallies, settings):
            row.region = "modified_background"
            yield row


def _pair_dice(tally: Tally) -> float:
    """Mean Dice of every two raters, and over labels where there are several."""
    names = tuple(map(str, range(len(tally.raters))))
    parts = [one_label_tables(tally.contingency, mark) for mark in tally.labels.marks]
    by_label = [PairMatrix("dice", names, dice.of(part, ONE_LABEL)).mean() for part in parts]
    known = [value for value in by_label if not reason(value)]
    return float(np.mean(known)) if known else by_label[0] if by_label else Undefined("nobody_marked")


def _correlation(esm: Series, overlap: Series, tallies: Tallies) -> Row:
    """Spearman's correlation, over cases, of ESM with the mean Dice of two raters."""
    pairs = np.array([esm.values, overlap.values], np.float64)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    n = pairs.shape[1]
    value: float = Undefined("too_few_cases_to_correlate")
    if n >= LEAST_CASES and (np.ptp(pairs, axis=1) > 0).all():
        value = float(np.corrcoef(*fractional_ranks(pairs))[0, 1])
    return Row("pooled", "esm_dice_correlation", value, region=region_of(tallies), extra=("",), n=n)


def _absences(study: Study, tallies: Tallies, performance: Table) -> Iterator[str]:
    """Raters without a mask of some cases, whose means are over other cases than those of the others."""
    named = () if study.options.exchangeable else study.rater_names
    if many_raters(len(named)):
        there = Counter(name for tally in tallies.values() for name in _readers(tally))
        counts = sorted(there[name] for name in named if there[name] < len(tallies))
        if counts:
            yield Note(
                "absent_rater",
                f"{len(counts)} of {len(named)} raters have no mask of some cases: they have masks of {counts[0]} "
                f"to {counts[-1]} of {len(tallies)}, and each rater's means are over the cases with their own mask",
            )
        return
    # of raters with several sessions this is said with their sessions
    for name in (name for name in named if name not in study.sessions):
        gaps = [case for case, tally in tallies.items() if not _rated(tally, name)]
        if 0 < len(gaps) < len(tallies):
            read = f"they have masks of {len(tallies) - len(gaps)} of {counted(len(tallies), 'case')}"
            over = _mean_counts(study, performance, name)
            which = join_names(name_gaps(study, name, gaps), 3)
            yield Note("absent_rater", f"rater {name} has no mask of {which}: {read}{over}")


def _readers(tally: Tally) -> set[str]:
    """The raters who rated anything, in their first session."""
    rated = (tally.patterns[tally.counts > 0][:, list(tally.raters)] != VOID).any(axis=0)
    return {name for name, there in zip(tally.rater_names, rated.tolist(), strict=True) if there}


def _mean_counts(study: Study, performance: Table, rater: str) -> str:
    """Over how many subjects a rater's mean overlap with a consensus is."""
    means = [r for r in performance.all("dice", "mean") if r["rater"] == rater and not r.group]
    counts = sorted({r.n or 0 for r in means if r.label in ("", MACRO)})
    if not counts:
        return ""
    many = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f", and their mean overlap with a consensus is over {many} {subject_word(study)}{'s' * (counts[-1] != 1)}"


def _unjudged_notes(tallies: Tallies) -> Iterator[str]:
    """Cases that are left out where raters are compared with a consensus."""
    if gone := [case for case, tally in tallies.items() if lacks_common_mark(tally)]:
        text = f"raters are compared with a consensus without {join_names(gone, 3)}, where no item was marked by two"
        yield Note(UNJUDGED, text)


def _rated(tally: Tally, rater: str) -> bool:
    if rater not in tally.rater_names:
        return False
    column = tally.patterns[:, tally.raters[tally.rater_names.index(rater)]]
    return bool(((column != VOID) & (tally.counts > 0)).any())


def _own_marks(study: Study, methods: Sequence[str]) -> Iterator[str]:
    """That raters are part of what they are compared with, which an adjudication hides better than a vote."""
    if METHOD not in methods:
        return
    text = (
        "adjudicated: it is made of the raters' own marks, so that the numbers of raters against it favour those whose "
        "outlines were taken"
    )
    raters = {name.casefold() for name in study.rater_names}
    names = {entry.adjudicator for log in find_logs(study) for entry in log.entries}
    too = sorted(name for name in names if name.casefold() in raters)
    text += f"; {', '.join(too)} {'is a rater' if len(too) == 1 else 'are raters'}, too" if too else ""
    yield Note("own_marks", text)


def _tied_votes(tallies: Tallies, methods: Sequence[str]) -> Iterator[str]:
    """With an even number of raters, half of them are enough for vote:0.5."""
    panels = {len(tally.raters) for tally in tallies.values()}
    if "vote:0.5" not in methods or next(iter(tallies.values())).labels.several or all(n % 2 for n in panels):
        return
    if panels == {2}:
        text = "vote:0.5 of two raters is what either of them marked: half of the votes is enough"
        yield Note("vote_of_two", text)
    else:
        yield Note("vote_of_half", "vote:0.5 marks what half of the raters marked, also where the other half did not")


def _notes(cases: Mapping[str, CaseFusion], groups: GroupClassifier | None) -> Iterator[str]:
    """Each note once, with the methods and cases it applies to; empty masks are reported by ``check``."""
    # dicts that keep the order and hold everything once
    applies: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name, case in cases.items():
        for convergence in case.convergence:
            for note in (note for note in convergence.notes if code_of(note) not in SAID_OTHERWISE):
                methods, names = applies.setdefault(note, ({}, {}))
                methods[convergence.method] = names[name] = None
    for note, (methods, names) in applies.items():
        yield name_cases(f"{', '.join(methods)}: {note}", list(names))
    yield from _open_notes(cases)
    if groups is not None and groups.note:
        yield Note(COMPLEXITY, f"complexity: {groups.note}")
    few = [name for name, case in cases.items() if not (case.complexity.reason or can_be_grouped(case.complexity))]
    if groups is not None and few:
        text = f"complexity: {join_names(few, 3)} {'is' if len(few) == 1 else 'are'} in no group, with two raters each"
        yield Note(COMPLEXITY, text.removesuffix(" each") if len(few) == 1 else text)
    # below ten cases nobody expects groups; those of several labels are not described as one
    if groups is None and len(cases) >= LEAST_CASES and not next(iter(cases.values())).tally.labels.several:
        yield Note(COMPLEXITY, f"complexity: the cases are not grouped: {why_no_groups(cases)}")


def _pixel_word(cases: Mapping[str, CaseFusion]) -> str:
    return pixel_name(max(case.axes for case in cases.values()))


def _open_notes(cases: Mapping[str, CaseFusion]) -> Iterator[str]:
    """Ties and gaps of votes among several labels, over all cases."""
    methods = dict.fromkeys(e.method for case in cases.values() for e in case.convergence)
    tied = "two labels, or a label and background, are tied (the lower value was taken)"
    if next(iter(cases.values())).tally.labels.background is None:
        tied = "two labels are tied (the lower value was taken)"
    texts, pixels = {"tied": tied, "gaps": "no label has enough votes"}, f"{_pixel_word(cases)}s"
    for method in methods:
        ends = [(case.tally.items, e) for case in cases.values() for e in case.convergence if e.method == method]
        for what, text in texts.items():
            shares = [getattr(e, what) / items for items, e in ends if getattr(e, what)]
            if shares:
                many = f"{len(shares)} of {counted(len(ends), 'case')}"
                yield Note(f"label_{what}", f"{method}: {text} in {many}, for up to {max(shares):.2%} of the {pixels}")
