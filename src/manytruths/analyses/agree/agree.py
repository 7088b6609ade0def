"""The verb ``agree``: agreement, raters, heatmaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ...agreement import SMYTH_LIMIT, interpret_alpha, interpret_kappa
from ...core.tally import Tallies
from ...core.undefined import Note, reason
from ...study import Progress, Study
from ..files import summary_of
from ..printing import counted
from ..resampled import NOTHING_MOVED, Moved, mark_resampled
from ..result import Result, Tables, console_or_stdout, open_study, results_folder
from ..rows import Row, Table
from ..summaries import Series, Settings, region_of, summarise
from .agreement_table import agreement_table, confusion_table, curve_table
from .case import CaseAgreement, MapOptions, TurnedMask, analyse_case
from .edits_table import declared, edit_notes, edits_table
from .pairs_table import pairs_table
from .raters_table import RaterAnalysis, raters_analysis


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """The result of :func:`manytruths.agree`.

    Attributes
    ----------
    study : Study
        The study that was analysed.
    tallies : Tallies
        The table of patterns of every case.
    tables : Tables
        ``agreement``, ``curve``, ``pairs``, ``raters``, …, as in the files.
    raters : RaterAnalysis or None
        Differences, dependence and clustering of raters; None where raters are exchangeable.
    turns : tuple of TurnedMask
        Masks that were probably saved turns or rotated.
    """

    command: ClassVar[str] = "agree"

    study: Study
    tallies: Tallies
    settings: Settings
    tables: Tables[Table]
    raters: RaterAnalysis | None = None
    notes: tuple[str, ...] = ()
    turns: tuple[TurnedMask, ...] = ()
    moved: Moved = NOTHING_MOVED
    maps: MapOptions = field(default_factory=MapOptions)
    map_files: tuple[Path, ...] = ()
    """Heatmaps that were written while the cases were read."""

    @property
    def agreement(self) -> Table:
        """The table ``agreement``."""
        return self.tables["agreement"]

    @property
    def curve(self) -> Table:
        """The table ``curve``."""
        return self.tables["curve"]

    @property
    def charts(self) -> dict[str, str]:
        """Charts as SVG by name."""
        from .charts import charts

        return charts(self)

    def headline(self, statistic: str, scope: str = "mean") -> Row:
        """The row of ``agreement`` for all raters and cases."""
        return self.agreement.find(statistic, scope)

    def kappa_level(self) -> str:
        """The word for the mean Fleiss' kappa on the chosen scale."""
        return interpret_kappa(self.headline("fleiss_kappa").value, self.settings.scale)

    def summary(self) -> dict[str, Any]:
        """Versions, settings and the numbers of all tables, as ``summary.json`` has them."""
        return summary_of(
            "agree",
            self.tables.values(),
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
        study = self.study
        return ", ".join(
            counted(count, thing)
            for count, thing in (
                (len(study.rater_names), "rater"),
                (len(study), "case"),
                (len(study.subjects), "subject"),
            )
        )

    def write_maps(self, folder: Path) -> list[Path]:
        """Write the heatmaps of all cases, reading the cases again."""
        options = replace(self.maps, folder=folder / "heatmaps")
        cases = _analyse_cases(self.study, options, self.settings, None)
        return [path for case in cases.values() for path in case.files]

    def print(self, console: Any = None) -> None:
        """Print the headline numbers, groups, raters, disputed cases and notes."""
        from .printing import print_agreement

        print_agreement(self, console_or_stdout(console))


def agree(
    study: Study | str | Path,
    *,
    out: str | Path | None = None,
    kappa_scale: str = "landis_koch",
    exclude_group: Sequence[str] = (),
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 2000,
    pictures: bool = True,
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
    study : Study, str or Path
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``.
    out : str or Path, optional
        Folder for the results, written to ``out/agree/``; by default nothing is written. Heatmaps are written while
        the cases are read.
    kappa_scale : {"landis_koch", "fleiss", "altman", "shrout"}
        Scale of the words for kappa.
    exclude_group : sequence of str
        Groups to leave out of additional means.
    level : float
        Confidence level of intervals.
    seed, resamples : int
        Seed and number of resamples of the bootstrap over subjects.
    pictures : bool
        Whether to make heatmaps, regions, image features and charts.
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
    settings = Settings(seed, resamples, level, kappa_scale, tuple(exclude_group), jobs)
    maps = MapOptions(
        measured=pictures, window=window, agreement_window=agreement_window,
        base=rank_base, shift=rank_shift, largest=rank_largest,
    )  # fmt: skip
    study = open_study(study)
    with results_folder(out, "agree", jobs=jobs) as folder:
        into = folder / "heatmaps" if folder is not None and pictures else None
        result = compute_agreement(study, settings=settings, plan=replace(maps, folder=into), progress=progress)
        if folder is not None:
            result.write_into(folder, result.map_files, pictures=pictures)
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
    tallies = study.gathered({name: case.tally for name, case in cases.items()})
    agreement = agreement_table(tallies, settings)
    _add_ranking(agreement, cases, tallies, settings)
    tables = [agreement, curve_table(tallies)]
    raters = None
    if not study.options.exchangeable:
        tables.append(pairs_table(tallies, settings))
        raters = raters_analysis(tallies, settings)
        tables.append(raters.table)
    if len(next(iter(tallies.values())).labels.marks) > 1:
        tables.append(confusion_table(tallies))
    edits = edits_table(study, {name: case.edits for name, case in cases.items()}, settings)
    tables += [t for t in (_regions(cases, tallies), _features(cases, tallies), edits) if t.rows]
    turns = tuple(turn for case in cases.values() for turn in case.turns)
    moved = mark_resampled(study, tables)
    others = (*_notes(study, tallies, agreement, raters), *_without_image(cases))
    notes = (*edit_notes(study), *(turn.note for turn in turns), *moved.notes, *others)
    files = tuple(path for case in cases.values() for path in case.files)
    maps = maps or MapOptions()
    return Agreement(study, tallies, settings, Tables(tables), raters, notes, turns, moved, maps, files)


def _analyse_cases(
    study: Study, maps: MapOptions, settings: Settings, progress: Progress | None
) -> dict[str, CaseAgreement]:
    work = partial(analyse_case, plan=maps)
    return {case.name: result for case, result in study.map(work, jobs=settings.jobs, progress=progress)}


def _without_image(cases: Mapping[str, CaseAgreement]) -> list[str]:
    """Cases whose heatmap lacks its image: each, or the first and the number of others."""
    notes = [case.note for case in cases.values() if case.note]
    return notes if len(notes) < 4 else [f"{notes[0]}; and so {len(notes) - 1} more cases"]


def _add_ranking(table: Table, cases: Mapping[str, CaseAgreement], tallies: Tallies, settings: Settings) -> None:
    scored = {name: e.ranking_score for name, e in cases.items() if e.ranking_score is not None}
    if scored:
        chosen = tallies.select(scored)
        table.add(summarise([Series("ranking_heatmap_score", list(scored.values()))], chosen, settings))


def _regions(cases: Mapping[str, CaseAgreement], tallies: Tallies) -> Table:
    """The regions of each heatmap in order of score: where to take the biopsy."""
    table = Table("regions", ("rank", "centroid", "site"))
    for name, case in cases.items():
        for r in case.regions:
            extra = (r.rank, " ".join(f"{x:.1f}" for x in r.centroid), " ".join(map(str, r.site)))
            for statistic, value in (("peak", r.peak), ("mean", r.mean), ("area", float(r.area))):
                group = "; ".join(tallies.groups[name])
                table.append(Row("case", statistic, value, name, group, "", "union", extra, n=r.area))
    return table


def _features(cases: Mapping[str, CaseAgreement], tallies: Tallies) -> Table:
    """Correlation of the number of raters who marked a pixel with what the image shows there."""
    table = Table("features", ("feature",))
    for name, case in cases.items():
        for feature, found in case.features.items():
            for statistic, value in (("correlation", found.r), ("p_value", found.p)):
                group = "; ".join(tallies.groups[name])
                table.append(Row("case", statistic, value, name, group, "", "whole", (feature,), n=found.n))
    return table


def _notes(study: Study, tallies: Tallies, table: Table, raters: RaterAnalysis | None) -> Iterator[str]:
    if len({t.unit for t in tallies.values()}) > 1:
        yield "items differ in size between cases: pooled numbers count items, not volume"
    bound = table.find("smyth_bound")
    if bound.value > SMYTH_LIMIT:
        yield f"Smyth's bound is {bound.value:.1%}, above the {SMYTH_LIMIT:.0%} that he recommends as a limit"
    raters_here = len(study.rater_names)
    if raters_here == 2:
        yield "Smyth's bound: with two raters any disagreement counts fully, so do not compare it with other numbers"
    if raters is not None and raters.differences.outliers:
        text = "somebody often lies above mean + one standard deviation, also among equals: look, do not drop"
        yield Note("outliers", text)
    if study.options.exchangeable:
        yield Note("exchangeable", "raters are exchangeable: nothing is said about one of them or about pairs")
    if raters is not None:
        told = declared(study)
        for copy in (c for c in raters.dependence.copies if frozenset((c.rater_a, c.rater_b)) not in told):
            alike = f"{copy.rater_a} and {copy.rater_b} have a Dice of {copy.dice:.3f}: is one a copy or an edit? "
            yield Note("possible_copy", alike + "If so, say it under based_on in reads.csv (--reads)")
    alpha = table.find("krippendorff_alpha")
    if alpha.low is not None and not reason(alpha.low):
        rule = interpret_alpha(alpha.low)
        text = f"Krippendorff's rule, stricter than such words, by the lower end of alpha ({alpha.low:.3f}): {rule}"
        yield Note("krippendorff_rule", text)
