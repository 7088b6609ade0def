"""The verb ``evaluate``: how good algorithms are where there is no single truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import CallError, InputError
from ...fusion.registry import estimator
from ...io.results import write_summary
from ...study import Progress, Study
from ..files import summary_of, write_charts
from ..resampled import NOTHING_MOVED, Moved, mark_resampled, write_marked
from ..rows import Table, write_all
from ..summaries import Settings, region_of
from .boundary_tables import boundary_table
from .extras import ExtraPlan, Extras, make_extras, write_places
from .gaps import Missing
from .grey import GreyScores, judge_grey
from .hard import HardScores, judge
from .notes import notes
from .paper_table import paper_table
from .ranks import Orders, orders_of, rank_rows
from .scenes import EvaluatePlan


@dataclass(frozen=True)
class Evaluation:
    """What ``evaluate`` found."""

    study: Study
    settings: Settings
    plan: EvaluatePlan
    more: ExtraPlan
    missing: Missing
    hard: HardScores | None
    grey: GreyScores | None
    orders: Mapping[tuple[str, str], Orders]
    """Rankings under every truth, by label and metric."""
    extras: Extras
    tables: Sequence[Table]
    notes: tuple[str, ...]
    moved: Moved = NOTHING_MOVED

    def table(self, name: str) -> Table:
        """A table by the name of its file; empty where there is none."""
        return next((t for t in self.tables if t.name == name), Table(name))


def evaluate(
    study: Study,
    plan: EvaluatePlan,
    *,
    skew: tuple[float, float] | None = None,
    tolerance: float | None = None,
    missing: Missing = "worst",
    more: ExtraPlan | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Judge every algorithm by every rater and every truth; tables are returned."""
    settings = settings or Settings()
    _refuse(study, plan, tolerance, skew)
    if missing == "exclude" and all(case.missing for case in study):
        raise InputError("no case has a prediction of every algorithm; use --missing worst, or add predictions")
    grey = hard = None
    if study.options.grey:
        grey = judge_grey(study, plan, skew=skew, missing=missing, settings=settings, progress=progress)
    if not study.options.grey or plan.threshold is not None:
        hard = judge(study, plan, tolerance=tolerance, missing=missing, settings=settings, progress=progress)
    scores, rankings = (
        Table("scores", ("algorithm", "against")),
        Table("rankings", ("against", "metric", "rank", "algorithm")),
    )
    orders: dict[tuple[str, str], Orders] = {}
    for found in (f for f in (hard, grey) if f is not None):
        scores.add(found.scores.rows)
    if hard is not None:
        orders = orders_of(hard, missing)
        rankings.add(rank_rows(orders, region_of(hard.parts[0].tallies)))
    if grey is not None and grey.orders is not None:
        orders["", "pbar_area"] = grey.orders
        rankings.add(grey.rankings.rows)
    tables = [scores, rankings]
    # slots of exchangeable raters are nobody: there is no human range
    tables += [t for t in (hard.human, hard.verdicts, hard.differences) if t.rows] if hard else []
    tables += [grey.curves, grey.correlations] if grey else []
    if plan.boundaries:
        tables.append(boundary_table(study, plan, missing, jobs=settings.jobs, progress=progress))
    more = more or ExtraPlan()
    extras = make_extras(study, more, hard, plan.threshold, missing, settings, progress)
    tables += [part.table for part in (extras.looks, extras.frames) if part is not None]
    tables += extras.graded.tables if extras.graded else ()
    moved = mark_resampled(study, tables, judged=True)
    said = (*moved.notes, *notes(study, plan, missing, hard, grey), *extras.notes)
    return Evaluation(study, settings, plan, more, missing, hard, grey, orders, extras, tables, said, moved)


def _refuse(study: Study, plan: EvaluatePlan, tolerance: float | None, skew: tuple[float, float] | None) -> None:
    for method in plan.truths:
        estimator(method)
    if tolerance is not None and not 0 <= tolerance < float("inf"):
        raise CallError(f"tolerance is a distance, 0 or more; got {tolerance}")
    if skew is not None and not 0 <= skew[0] < skew[1] <= 1:
        raise CallError(f"skew is a range of prevalences within 0 to 1, as in 0.1,0.5; got {skew[0]:g},{skew[1]:g}")
    if plan.threshold is not None and plan.threshold != plan.threshold:
        raise CallError("threshold is a number to cut grey predictions at; got nan")
    given = {"--threshold": plan.threshold, "--skew": skew, "--limits": study.options.limits}
    for option, value in given.items():
        if value is not None and not study.options.grey:
            raise CallError(f"{option} is for grey predictions; say --grey, or leave it out")
    if study.options.predictions is None:
        raise CallError("evaluate wants --predictions, as in --predictions unet/{case}.png")
    if not study.algorithms:
        raise InputError(
            f"{study.options.predictions!r} has no prediction of any case of the study; name the cases as the masks do"
        )
    if study.options.region == "modified_background":
        raise CallError(
            "--region modified_background depends on where the pixels lie once there are predictions; "
            "give the region as masks (--roi)"
        )
    references = {c.name for case in study for c in case.references}
    clash = [name for name in plan.truths if name in {*study.rater_names, *references}]
    if clash:
        raise InputError(
            f"a rater or reference is called {clash[0]!r} like a method; rename it, or leave out the method"
        )
    twice = sorted(references.intersection(study.rater_names))
    if twice:
        raise InputError(f"a reference is called {twice[0]!r} like a rater; rename its files or folder")


def write(found: Evaluation, folder: Path, *, pictures: bool = True) -> list[Path]:
    """Tables, distinct rankings, charts and summary into a folder; what only an earlier run wrote there goes."""
    paths = write_all(found.tables, folder)
    size = found.hard.parts[0].diagonals if found.hard else {}
    cases = [(case.name, case.subject, "; ".join(case.groups), size.get(case.name)) for case in found.study]
    touched = found.moved.cases
    header = "case", "subject", "group", "diagonal"
    write_marked(folder / "cases.csv", cases, header, [case.name in touched for case in found.study])
    paths.append(folder / "cases.csv")
    columns, cells = paper_table(found.table("scores"))
    write_marked(folder / "by_truth.csv", cells, columns, [bool(touched)] * len(cells))
    paths.append(folder / "by_truth.csv")
    rows = [
        (label, metric, number, str(ranking), "; ".join(ranking.truths))
        for (label, metric), orders in found.orders.items()
        for number, ranking in enumerate(orders.rankings, start=1)
    ]
    if rows:
        names = "label", "metric", "ranking", "order", "truths"
        write_marked(folder / "orders.csv", rows, names, [bool(touched)] * len(rows))
        paths.append(folder / "orders.csv")
    if pictures:
        from .charts import charts

        paths += write_charts(charts(found), folder / "charts")
        if found.extras.looks is not None:
            home = folder / "second_look"
            paths += write_places(found.study, found.extras.looks, found.more, found.plan.threshold, home)
    return [*paths, write_summary(folder, summary(found), paths)]


def summary(found: Evaluation) -> dict[str, Any]:
    """The tables' numbers (but the points of curves), with versions and settings."""
    return summary_of(
        "evaluate",
        [t for t in found.tables if t.name != "curves"],
        cases=len(found.study),
        subjects=len(found.study.subjects),
        raters=list(found.study.rater_names),
        algorithms=[str(c) for c in found.study.algorithms],
        truths=list(found.plan.truths),
        missing=found.missing,
        skew=found.grey.skew if found.grey else None,
        tolerance={p.label: p.tolerance for p in found.hard.parts} if found.hard else None,
        surfaces=found.plan.definition if found.hard and found.plan.distances else None,
        settings=found.settings,
        notes=list(found.notes),
        orders=[
            {"label": label, "metric": metric, "order": list(r.order), "truths": list(r.truths)}
            for (label, metric), orders in found.orders.items()
            for r in orders.rankings
        ],
    )
