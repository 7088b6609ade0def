"""The verb ``agree``: agreement, raters, heatmaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...agreement import SMYTH_LIMIT, krippendorff_rule, level
from ...core.pooling import Tallies
from ...core.undefined import reason
from ...io.replacing import replacing
from ...io.results import write_summary
from ...study import Progress, Study
from ..files import summary_of, write_charts
from ..resampled import NOTHING_MOVED, Moved, mark_resampled
from ..rows import Row, Table, write_all
from ..summaries import Series, Settings, region_of, summarise
from .agreement import agreement_table, confusion_table, curve_table
from .edits import declared, edit_notes, edits_table
from .examining import Examined, Plan, examine
from .pairs import pairs_table
from .raters import Raters, raters_analysis


@dataclass(frozen=True)
class Agreement:
    """What ``agree`` found: tables, and what is printed or drawn."""

    study: Study
    tallies: Tallies
    settings: Settings
    agreement: Table
    curve: Table
    tables: list[Table] = field(default_factory=list)
    raters: Raters | None = None
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    """The heatmaps that were written on the way."""
    turns: tuple[str, ...] = ()
    """Masks that were probably saved the wrong way round."""
    moved: Moved = NOTHING_MOVED

    def headline(self, statistic: str, scope: str = "mean") -> Row:
        """One number of all raters and cases."""
        return self.agreement.find(statistic, scope)


def agree(
    study: Study,
    *,
    settings: Settings | None = None,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> Agreement:
    """Analyse a study; heatmaps are written into ``plan.folder`` while the cases pass by, tables are returned."""
    settings, plan = settings or Settings(), plan or Plan()
    return agreement_of(study, _examined(study, plan, settings, progress), settings)


def agreement_of(study: Study, seen: Mapping[str, Examined], settings: Settings) -> Agreement:
    """The tables of cases that were examined."""
    tallies = study.gathered({name: e.tally for name, e in seen.items()})
    agreement, curve = agreement_table(tallies, settings), curve_table(tallies)
    _add_ranking(agreement, seen, tallies, settings)
    tables = [agreement, curve]
    raters = None
    if not study.options.exchangeable:
        tables.append(pairs_table(tallies, settings))
        raters = raters_analysis(tallies, settings)
        tables.append(raters.table)
    if len(next(iter(tallies.values())).labels.marks) > 1:
        tables.append(confusion_table(tallies))
    tables += [t for t in (_regions(seen, tallies), _features(seen, tallies)) if t.rows]
    edits = edits_table(study, {name: e.edits for name, e in seen.items()}, settings)
    tables += [edits] if edits.rows else []
    turns = tuple(f"case {name}: {told}" for name, e in seen.items() for told in e.turns)
    moved = mark_resampled(study, tables)
    others = (*_notes(study, tallies, agreement, raters), *_without_image(seen))
    notes = (*edit_notes(study), *turns, *moved.notes, *others)
    files = tuple(path for e in seen.values() for path in e.files)
    return Agreement(study, tallies, settings, agreement, curve, tables, raters, notes, files, turns, moved)


def _without_image(seen: Mapping[str, Examined]) -> list[str]:
    """Cases whose heatmap lacks its image: each, or the first with how many more there are."""
    told = [e.note for e in seen.values() if e.note]
    return told if len(told) < 4 else [f"{told[0]}; and so {len(told) - 1} more cases"]


def _examined(study: Study, plan: Plan, settings: Settings, progress: Progress | None) -> dict[str, Examined]:
    """Every case, its heatmaps moved into place when the last one is done."""
    if plan.folder is None:
        return {c.name: e for c, e in study.map(partial(examine, plan=plan), jobs=settings.jobs, progress=progress)}
    with replacing(plan.folder) as (stage,):
        work = partial(examine, plan=replace(plan, folder=stage))
        seen = {c.name: e for c, e in study.map(work, jobs=settings.jobs, progress=progress)}
    home = plan.folder
    return {n: replace(e, files=tuple(home / f.relative_to(stage) for f in e.files)) for n, e in seen.items()}


def write(found: Agreement, folder: Path, *, pictures: bool = True) -> list[Path]:
    """Tables, summary and, with pictures, charts into a folder; what only an earlier run wrote there goes."""
    drawn = []
    if pictures:
        from .charts import charts

        drawn = write_charts(charts(found), folder / "charts")
    paths = [*write_all(found.tables, folder), *drawn, *found.files]
    return [*paths, write_summary(folder, summary(found), paths)]


def summary(found: Agreement) -> dict[str, Any]:
    """The tables' numbers, with versions and settings."""
    return summary_of(
        "agree",
        found.tables,
        cases=len(found.study),
        subjects=len(found.study.subjects),
        raters=list(found.study.rater_names),
        labels=found.tallies[next(iter(found.tallies))].labels.describe(),
        region=region_of(found.tallies),
        settings=found.settings,
        notes=list(found.notes),
    )


def _add_ranking(table: Table, seen: Mapping[str, Examined], tallies: Tallies, settings: Settings) -> None:
    scored = {name: e.ranking_score for name, e in seen.items() if e.ranking_score is not None}
    if scored:
        chosen = tallies.select(scored)
        table.add(summarise([Series("ranking_heatmap_score", list(scored.values()))], chosen, settings))


def _regions(seen: Mapping[str, Examined], tallies: Tallies) -> Table:
    """The regions of each heatmap in order of score: where to take the biopsy."""
    table = Table("regions", ("rank", "centroid", "site"))
    for name, one in seen.items():
        for r in one.regions:
            extra = (r.rank, " ".join(f"{x:.1f}" for x in r.centroid), " ".join(map(str, r.site)))
            for statistic, value in (("peak", r.peak), ("mean", r.mean), ("area", float(r.area))):
                group = "; ".join(tallies.groups[name])
                table.rows.append(Row("case", statistic, value, name, group, "", "union", extra, n=r.area))
    return table


def _features(seen: Mapping[str, Examined], tallies: Tallies) -> Table:
    """Correlation of the number of raters who marked a pixel with what the image shows there."""
    table = Table("features", ("feature",))
    for name, one in seen.items():
        for feature, found in one.features.items():
            for statistic, value in (("correlation", found.r), ("p_value", found.p)):
                group = "; ".join(tallies.groups[name])
                table.rows.append(Row("case", statistic, value, name, group, "", "whole", (feature,), n=found.n))
    return table


def _notes(study: Study, tallies: Tallies, table: Table, raters: Raters | None) -> Iterator[str]:
    if len({t.unit for t in tallies.values()}) > 1:
        yield "items differ in size between cases: pooled numbers count items, not volume"
    bound = table.find("smyth_bound")
    if bound.value > SMYTH_LIMIT:
        yield f"Smyth's bound is {bound.value:.1%}, above the {SMYTH_LIMIT:.0%} that he recommends as a limit"
    raters_here = len(study.rater_names)
    if raters_here == 2:
        yield "Smyth's bound: with two raters any disagreement counts fully, so do not compare it with other numbers"
    if raters is not None and raters.differences.outliers:
        yield "somebody often lies above mean + one standard deviation, also among equals: look, do not drop"
    if study.options.exchangeable:
        yield "raters are exchangeable: nothing is said about one of them or about pairs"
    if raters is not None:
        told = declared(study)
        for copy in (c for c in raters.dependence.copies if frozenset((c.rater_a, c.rater_b)) not in told):
            alike = f"{copy.rater_a} and {copy.rater_b} have a Dice of {copy.dice:.3f}: is one a copy or an edit? "
            yield alike + "If so, say it under based_on in reads.csv (--reads)"
    alpha = table.find("krippendorff_alpha")
    if alpha.low is not None and not reason(alpha.low):
        rule = krippendorff_rule(alpha.low)
        yield f"Krippendorff's rule, stricter than such words, by the lower end of alpha ({alpha.low:.3f}): {rule}"


def words(found: Agreement) -> str:
    """The level of the mean Fleiss' kappa by the scale chosen."""
    return level(found.headline("fleiss_kappa").value, found.settings.scale)
