"""The command ``fuse``: consensus masks and probability maps, raters against them, differences, complexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ...agreement import (
    MeanPairwise,
    PairStatistic,
    contingency,
    dice,
    iou,
    sensitivity,
    specificity,
    volume_difference,
)
from ...claims.sentences import counted
from ...complexity import STATISTICS, GroupClassifier, fit_complexity_groups
from ...core.errors import CallError, InputError
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Note, Undefined, code_of, ratio, reason
from ...evaluation.ranking.standings import fractional_ranks
from ...fusion import Consensus, estimate
from ...fusion.registry import estimator, options_by_name, parse_methods
from ...fusion.result import MARKED_NOTHING, first_readings
from ...fusion.staple import Prior
from ...io import write_text
from ...io.result_tables import PlainTable, Row, Table
from ...raters import rater_dependence, rater_performance
from ...study import Progress, Study
from ..result import OUT, Result, Tables, console_or_stdout, open_study, results_folder, summary_of
from ..tables import (
    NOTHING_MOVED,
    Moved,
    Series,
    Settings,
    mark_resampled,
    marked_rows,
    mean_rows,
    region_of,
    summarise,
)
from .case import CaseFusion, FusePlan, consensus_column, fuse_case, on_modified_background, rater_table

HARD: tuple[PairStatistic, ...] = (iou, sensitivity, specificity, dice)
"""Each rater against each consensus (Yang 2023, eqs. 13–15)."""

LEAST_CASES = 10
"""Fewer cases make no groups."""
COMPLEXITY = "complexity"
"""The code of a note about complexity, not about a method."""

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
        Resampling of intervals.
    plan : FusePlan
        The methods and their options.
    methods : tuple of str
        The consensus methods.
    cases : mapping of str to CaseFusion
        Each case's table of raters and consensuses, convergence and complexity.
    tallies : Tallies
        The tables of all cases.
    tables : Tables
        ``performance``, ``differences``, ``complexity`` and ``convergence``, as in the files.
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
            (self.performance, self.differences, self.complexity),
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

    def write(self, out: str | Path = OUT, *, pictures: bool = True) -> list[Path]:
        """Write the files that the command writes, into ``out/fuse/``; the cases are read again for the maps.

        Parameters
        ----------
        out : str or Path
            Folder for the results.
        pictures : bool
            Whether to write pictures and charts beside masks, probability maps and tables.

        Returns
        -------
        list of Path
            The files, ``summary.json`` last. Files from earlier runs that this one did not write are removed.
        """
        folder = Path(out) / self.command
        with results_folder(out, self.command, jobs=self.settings.jobs, goes_on=True) as stage:
            assert stage is not None
            plan = replace(self.plan, folder=stage, earlier=folder, pictures=pictures)
            cases = _fuse_cases(self.study, plan, self.settings, None)
            maps = [path for case in cases.values() for path in case.files]
            paths = self.write_into(stage, maps, pictures=pictures)
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
    study: Study | str | Path,
    *,
    out: str | Path | None = None,
    consensus: str | Sequence[str] = ("vote:0.5", "staple"),
    prior: Prior | str = "prevalence",
    rates: Literal["case", "pooled"] = "case",
    unanimous: Literal["keep", "exclude"] = "keep",
    map_prior: tuple[float, ...] | None = None,
    smoothing: float = 0.0,
    simple_alpha: float = 1.5,
    length_penalty: float = 2.0,
    pictures: bool = True,
    seed: int = 0,
    resamples: int = 2000,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Fusion:
    """Estimate consensus masks, compare them with each other and with the raters, and measure each case's complexity.

    :func:`manytruths.consensus` gives the masks themselves as arrays.

    Parameters
    ----------
    study : Study, str or Path
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``.
    out : str or Path, optional
        Folder for the results, written to ``out/fuse/``; by default nothing is written. A run that was interrupted
        continues there: cases that are done with the same settings are not done again.
    consensus : str or sequence of str
        One or more of :func:`manytruths.consensus_methods`, as a list or separated by commas.
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
    pictures : bool
        Whether to write pictures of the probability maps, and charts.
    seed, resamples : int
        Seed and number of resamples of the bootstrap over subjects.
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
    methods = parse_methods(consensus, smoothing=smoothing)
    options = options_by_name(
        prior=prior, unanimous=unanimous, map_prior=map_prior, smoothing=smoothing,
        simple_alpha=simple_alpha, length_penalty=length_penalty,
    )  # fmt: skip
    if rates not in ("case", "pooled"):
        raise CallError(f"rates is 'case' or 'pooled'; got {rates!r}")
    settings = Settings(seed=seed, resamples=resamples, jobs=jobs)
    study = open_study(study)
    with results_folder(out, "fuse", jobs=jobs, goes_on=True) as folder:
        earlier = None if out is None else Path(out) / "fuse"
        plan = FusePlan(methods, options, folder, pictures, earlier)
        result = compute_fusion(study, plan, pooled_rates=rates == "pooled", settings=settings, progress=progress)
        if folder is not None:
            result.write_into(folder, result.map_files, pictures=pictures)
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
    return {case.name: result for case, result in study.map(work, jobs=settings.jobs, progress=progress)}


def tabulate_fusion(study: Study, cases: Mapping[str, CaseFusion], plan: FusePlan, settings: Settings) -> Fusion:
    """The tables of cases that were fused one by one."""
    tallies = study.gathered({name: case.tally for name, case in cases.items()})
    complexity, groups = _complexity(cases, tallies, settings)
    performance = _performance(cases, tallies, plan.methods, settings)
    differences = _differences(cases, tallies, plan.methods, settings)
    moved = mark_resampled(study, (performance, differences, complexity))
    rows = [(name, e.method, e.ended, e.iterations, e.note) for name, case in cases.items() for e in case.convergence]
    header, touched = ("case", "method", "ended", "iterations", "note"), [row[0] in moved.cases for row in rows]
    convergence = PlainTable("convergence", *marked_rows(rows, header, touched))
    tables = Tables([performance, differences, complexity, convergence])
    notes = (*moved.notes, *_notes(cases, groups))
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
    cases: Mapping[str, CaseFusion], tallies: Tallies, methods: Sequence[str], settings: Settings
) -> Table:
    """Each rater against each consensus; where raters are exchangeable, their mean in each case."""
    table, whole, absent = Table("performance", ("method", "rater")), pool(tallies, mixed=True), Undefined("absent")
    for method in methods:
        column = consensus_column(method)
        if whole.exchangeable:
            means = {s.__name__: [_mean_over_raters(t, t.position(column), s) for t in tallies.values()] for s in HARD}
            series = [Series(name, values, extra=(method, "")) for name, values in means.items()]
            table.add(summarise(series, tallies, settings))
            continue
        by_case = [rater_performance(t, column) for t in tallies.values()]
        pooled = rater_performance(whole, column)
        each = [(rater, s) for rater in pooled.raters for s in HARD]
        series = [
            Series(s.__name__, [p.value(r, s) if r in p.raters else absent for p in by_case], extra=(method, r))
            for r, s in each
        ]
        series += _soft_series(cases, method, pooled.raters)
        table.add(summarise(series, tallies, settings))
        for rater, s in each:
            row = Row("pooled", s.__name__, pooled.value(rater, s), region=whole.region, extra=(method, rater))
            table.append(row)
    if "staple" in methods and not whole.exchangeable:
        table.add(_dependence(first_readings(whole)))
    return table


def _dependence(whole: Tally) -> Iterator[Row]:
    """Whether the raters make errors together; STAPLE assumes that they do not."""
    if whole.labels.background is None:
        return
    result = rater_dependence(whole)
    values = {"effective_raters": result.effective_raters, "error_correlation": result.mean_correlation}
    for name, value in values.items():
        yield Row("pooled", name, value, region=whole.region, extra=("staple", ""), n=len(result.raters))


def _mean_over_raters(tally: Tally, reference: int, statistic: PairStatistic) -> float:
    values = statistic.of(contingency(tally, [*tally.raters, reference])[:-1, -1], tally.labels)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else Undefined(statistic.undefined)


def _soft_series(cases: Mapping[str, CaseFusion], method: str, raters: Sequence[str]) -> list[Series]:
    """Gordon's measures against the probability, where a method has one by pattern."""
    by_case = [{(r, s): v for m, r, s, v in f.soft if m == method} for f in cases.values()]
    names = list(dict.fromkeys(s for values in by_case for _, s in values))
    absent = Undefined("absent_or_no_probability")
    return [Series(s, [v.get((r, s), absent) for v in by_case], extra=(method, r)) for r in raters for s in names]


def _differences(
    cases: Mapping[str, CaseFusion], tallies: Tallies, methods: Sequence[str], settings: Settings
) -> Table:
    """Method against method, and each against itself on the modified background."""
    table = Table("differences", ("method_a", "method_b"))
    region, united = region_of(tallies), {e.method for f in cases.values() for e in f.convergence if e.united}
    for a, b in combinations(methods, 2):
        # what only tells marked from not gives no label that could differ
        tables = [t.foreground() if united & {a, b} else t for t in tallies.values()]
        pairs, labels = [_pair(t, a, b) for t in tables], tables[0].labels
        statistics = {s.__name__: partial(s.value, labels=labels) for s in BETWEEN} | {"changed": _changed}
        series = [Series(name, [value(p) for p in pairs], extra=(a, b)) for name, value in statistics.items()]
        table.add(summarise(series, tallies, settings))
        whole = np.sum(pairs, axis=0)
        table.add(Row("pooled", name, value(whole), region=region, extra=(a, b)) for name, value in statistics.items())
    for method in methods:
        table.add(summarise(_region_series(cases, method), tallies, settings))
    return table


def _pair(tally: Tally, a: str, b: str) -> NDArray[np.float64]:
    """The labels that two methods give, items by labels of the one and of the other."""
    where = [tally.position(consensus_column(method)) for method in (a, b)]
    return np.asarray(contingency(tally, where)[0, 1])


def _changed(pair: NDArray[np.float64]) -> float:
    """The share of items to which the two give different labels."""
    return ratio(float(pair.sum() - np.trace(pair)), float(pair.sum()), "no_item_decided_by_both")


def _region_series(cases: Mapping[str, CaseFusion], method: str) -> list[Series]:
    """Each case's Dice and changed share, where the method reads the table of the whole image."""
    regions = [next((r[1:] for r in f.regions if r[0] == method), None) for f in cases.values()]
    if not any(regions):
        return []
    extra, none = (method, on_modified_background(method)), (Undefined("other_region"),) * 2
    values = zip(*(r or none for r in regions), strict=True)
    return [Series(name, each, extra=extra) for name, each in zip(("dice", "changed"), values, strict=True)]


def _complexity(
    cases: Mapping[str, CaseFusion], tallies: Tallies, settings: Settings
) -> tuple[Table, GroupClassifier | None]:
    """The complexity of each case beside the raters' Dice, and groups of cases where there are enough."""
    table = Table("complexity", ("class",))
    values = {name: case.complexity for name, case in cases.items()}
    groups = None
    if len(values) >= LEAST_CASES:
        with suppress(InputError):
            groups = fit_complexity_groups(list(values.values()), seed=settings.seed)
    classes = {name: groups.classify(value) if groups else "" for name, value in values.items()}
    series = [Series(s, [getattr(value, s) for value in values.values()], extra=("",)) for s in STATISTICS]
    overlap = Series("dice", [_pair_dice(tally) for tally in tallies.values()], extra=("",))
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
    return table, groups


def _pair_dice(tally: Tally) -> float:
    """Mean Dice of every two raters, and over labels where there are several."""
    raters = first_readings(tally)
    if raters.labels.background is None:
        return Undefined("no_background")
    by_label = [MeanPairwise(dice)(raters.only(raters.labels.names[mark])) for mark in raters.labels.marks]
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


def _notes(cases: Mapping[str, CaseFusion], groups: GroupClassifier | None) -> Iterator[str]:
    """Each note once, with the methods and cases it applies to; empty masks are reported by ``check``."""
    # dicts that keep the order and hold everything once
    applies: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name, case in cases.items():
        for convergence in case.convergence:
            notes = [f"ended: {convergence.ended}"] if convergence.ended in ("stopped", "vanished") else []
            notes += [note for note in convergence.notes if code_of(note) != MARKED_NOTHING]
            for note in notes:
                methods, names = applies.setdefault(note, ({}, {}))
                methods[convergence.method] = names[name] = None
    for note, (methods, names) in applies.items():
        where = ", ".join(list(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield f"{', '.join(methods)}: {note} ({where})"
    if groups is not None and groups.note:
        yield Note(COMPLEXITY, f"complexity: {groups.note}")
