"""The command ``agree``: agreement, raters, heatmaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ...agreement import SMYTH_LIMIT, interpret_alpha
from ...claims.sentences import counted
from ...core.tally import Tallies
from ...core.undefined import Note, reason
from ...io.result_tables import Row, Table
from ...study import Progress, Study
from ..result import Result, Tables, console_or_stdout, open_study, results_folder, summary_of
from ..tables import NOTHING_MOVED, Moved, Settings, mark_resampled, region_of
from .case import CaseAgreement, MapOptions, TurnedMask, analyse_case
from .edits import edit_notes, edited_pairs, edits_table
from .tables import (
    RaterAnalysis,
    agreement_table,
    confusion_table,
    curve_table,
    features_table,
    pairs_table,
    raters_analysis,
    regions_table,
)


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
        Level and resampling of intervals, scale of words for kappa, groups left out.
    tables : Tables
        ``agreement``, ``curve``, ``pairs``, ``raters``, …, as in the files.
    raters : RaterAnalysis or None
        Differences, dependence and clustering of raters; None where raters are exchangeable.
    notes : tuple of str
        What a reader should know about the numbers.
    turns : tuple of TurnedMask
        Masks that were probably saved flipped or rotated.
    moved : Moved
        Which masks were resampled or moved to the grid of their case.
    maps : MapOptions
        How heatmaps, regions and image features are made.
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
        from .presentation import charts

        return charts(self)

    def headline(self, statistic: str, scope: str = "mean") -> Row:
        """The row of ``agreement`` for all raters and cases."""
        return self.agreement.find(statistic, scope)

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
    agreement = agreement_table(tallies, settings, {name: case.ranking_score for name, case in cases.items()})
    tables = [agreement, curve_table(tallies)]
    raters = None
    if not study.options.exchangeable:
        tables.append(pairs_table(tallies, settings))
        raters = raters_analysis(tallies, settings)
        tables.append(raters.table)
    if len(next(iter(tallies.values())).labels.marks) > 1:
        tables.append(confusion_table(tallies))
    edits = edits_table(study, {name: case.edits for name, case in cases.items()}, settings)
    tables += [t for t in (regions_table(cases, tallies), features_table(cases, tallies), edits) if t.rows]
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
    return notes if len(notes) < 4 else [f"{notes[0]}; likewise {len(notes) - 1} more cases"]


def _notes(study: Study, tallies: Tallies, table: Table, raters: RaterAnalysis | None) -> Iterator[str]:
    if not any(t.marked.any() for t in tallies.values()):
        void = study.options.void
        asked = "" if void is None else f"; is void={void} the value of the marks?"
        yield Note("nothing_marked", f"no rater marked anything in any case{asked}")
    if len({t.unit for t in tallies.values()}) > 1:
        yield "pixels differ in size between cases: pooled numbers count pixels, not volume"
    bound = table.find("smyth_bound")
    if bound.value > SMYTH_LIMIT:
        yield f"Smyth's bound is {bound.value:.1%}, above the recommended limit of {SMYTH_LIMIT:.0%}"
    if len(study.rater_names) == 2:
        yield "Smyth's bound: with two raters any disagreement counts fully, so do not compare it with other numbers"
    if raters is not None and raters.differences.outliers:
        text = "one rater often exceeds mean + 1 SD even when all are equally good: inspect before excluding"
        yield Note("outliers", text)
    if study.options.exchangeable:
        yield Note("exchangeable", "raters are exchangeable: nothing is said about one of them or about pairs")
    if raters is not None:
        edited = edited_pairs(study)
        for copy in (c for c in raters.dependence.copies if frozenset((c.rater_a, c.rater_b)) not in edited):
            alike = f"{copy.rater_a} and {copy.rater_b} have a Dice of {copy.dice:.3f}: is one a copy or an edit? "
            yield Note("possible_copy", alike + "If so, say it under based_on in reads.csv (--reads)")
    alpha = table.find("krippendorff_alpha")
    if alpha.low is not None and not reason(alpha.low):
        rule = interpret_alpha(alpha.low)
        text = f"Krippendorff's rule, stricter than such words, by the lower end of alpha ({alpha.low:.3f}): {rule}"
        yield Note("krippendorff_rule", text)
