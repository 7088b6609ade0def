"""A study to a page: every analysis, the cases to look at, the tables beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from ..analyses.agree.agree import Agreement, tabulate_agreement
from ..analyses.agree.case import MapOptions
from ..analyses.evaluate.ranks import scores_of
from ..analyses.evaluate.scenes import EvaluatePlan
from ..analyses.evaluate.verb import Evaluation, evaluate
from ..analyses.fuse.fusing import FusePlan
from ..analyses.fuse.verb import fusion_of
from ..analyses.plan.topics import Wish
from ..analyses.plan.verb import Planned, plan
from ..analyses.rank.verb import Ranked, RankSettings, ranked
from ..analyses.summaries import Settings
from ..core.errors import InputError
from ..evaluation.ranking.rank import rank
from ..fusion.registry import estimator
from ..io.replacing import replacing
from ..study import Progress, Study
from .casework import CaseFindings, CasePlan, analyse_case
from .findings import FileRead, Findings, View, assign_colours
from .views.view import ViewPlan

MOST_INSIDE = 30
"""With more cases their pictures lie in a folder beside the page, and only small ones inside it."""
PAGE_BYTES = 2_300_000
"""Bytes for all cases inside the page."""
CASE_BYTES = 1_500_000
"""Bytes for one of them."""
MOST_RESAMPLES = 1000
"""Of rankings and plans, as those verbs have it."""
FILE_BYTES = 24_000_000
"""Bytes for one that lies beside the page."""

Step = Callable[[str], Any]


@dataclass(frozen=True)
class ReportPlan:
    """What to compute and what to show."""

    methods: tuple[str, ...] = ("vote:0.5", "staple")
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    evaluate: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the evaluation: missing, tolerance, skew, threshold, distances."""
    examine: MapOptions = field(default_factory=lambda: MapOptions(measured=True))
    images: bool = True
    viewer: bool = True
    title: str = ""
    coded: bool = False


def compute_findings(
    study: Study,
    plan: ReportPlan,
    folder: Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Findings:
    """Everything about a study; views that lie beside the page are written into ``folder``."""
    settings = settings or Settings()
    for method in plan.methods:
        estimator(method)
    clock, plain = _Clock(), replace(settings, without=())  # only agree leaves groups out
    with clock("reading, agreement and consensus by case"):
        seen, views = _analyse_cases(study, plan, folder, settings, progress)
    with clock("agreement: tables and intervals"):
        agreement = tabulate_agreement(study, {name: w.examined for name, w in seen.items()}, settings)
    with clock("consensus: tables and intervals"):
        fusing = FusePlan(plan.methods, plan.options, None, False)
        fusion = fusion_of(study, {name: w.fused for name, w in seen.items()}, fusing, plain)
    evaluation, ranking = None, None
    if study.options.predictions is not None:
        with clock("evaluation"):
            evaluation = _evaluate(study, plan, plain, progress)
        with clock("ranking"):
            ranking = _rank_algorithms(evaluation, settings)
    with clock("planning"):
        planned = _plan_more_raters(agreement, settings)
    # digests would tell who a case is to anybody who has the files
    files = () if plan.coded else _unique_files(seen)
    return Findings(
        study, settings, agreement, fusion, evaluation, ranking, planned, views, files, clock.seconds,
        options=plan.options, asked=plan.evaluate, title=plan.title, coded=plan.coded,
    )  # fmt: skip


def _unique_files(seen: Mapping[str, CaseFindings]) -> tuple[FileRead, ...]:
    """Every file once; one that holds several cases belongs to none."""
    found: dict[str, FileRead] = {}
    for one in (file for w in seen.values() for file in w.files):
        found[one.path] = replace(one, case="") if one.path in found else one
    return tuple(found.values())


class _Clock:
    """Seconds by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.seconds[step] = perf_counter() - start


def _analyse_cases(
    study: Study, plan: ReportPlan, folder: Path, settings: Settings, progress: Progress | None
) -> tuple[dict[str, CaseFindings], dict[str, View]]:
    """Every case, and its view; those in files stand in a folder when the last one is done."""
    fusing = FusePlan(plan.methods, plan.options, None, False)
    showing = _view_plan(study, plan) if plan.viewer else None
    numbers = {case.name: number for number, case in enumerate(study)}
    work_plan = CasePlan(plan.examine, fusing, showing, None, numbers)

    def run(own: CasePlan) -> dict[str, CaseFindings]:
        found = study.map(partial(analyse_case, plan=own), jobs=settings.jobs, progress=progress)
        return {case.name: one for case, one in found}

    if showing is None or len(study) <= MOST_INSIDE:
        seen = run(work_plan)
        return seen, {name: one.view for name, one in seen.items() if showing is not None}
    home = folder / "cases"
    with replacing(home) as (stage,):
        seen = run(replace(work_plan, folder=stage))
    return seen, {n: replace(w.view, file=f"{folder.name}/cases/{w.view.file}") for n, w in seen.items()}


def _view_plan(study: Study, plan: ReportPlan) -> ViewPlan:
    inside = len(study) <= MOST_INSIDE
    return ViewPlan(
        plan.images,
        min(CASE_BYTES, PAGE_BYTES // max(1, len(study))) if inside else FILE_BYTES,
        colours=assign_colours(study),
    )


def _evaluate(study: Study, plan: ReportPlan, settings: Settings, progress: Progress | None) -> Evaluation:
    options = dict(plan.evaluate)
    own = {name: options.pop(name) for name in ("threshold", "distances", "definition") if name in options}
    # curves are bounded by what any and what three quarters of the raters marked (Lampert 2016)
    votes = [method for method in plan.methods if method.startswith("vote")]
    bounded = tuple(dict.fromkeys(("vote:any", *votes, "vote:0.75", *plan.methods)))
    truths = bounded if study.options.grey else plan.methods
    asked = EvaluatePlan(truths, plan.options, **own)
    return evaluate(study, asked, settings=settings, progress=progress, **options)


def _rank_algorithms(evaluation: Evaluation, settings: Settings) -> Ranked | None:
    """The algorithms' ranking as ``rank`` makes it of the scores of all labels together."""
    if evaluation.hard is None or len(evaluation.study.algorithms) < 2:
        return None
    try:
        scores, resamples = scores_of(evaluation.hard.parts[0]), min(settings.resamples, MOST_RESAMPLES)
        ranking = rank(scores, missing=evaluation.missing, seed=settings.seed, resamples=resamples)
    except InputError:
        return None  # nobody has a score
    own = RankSettings(missing=evaluation.missing, resamples=resamples, seed=settings.seed)
    return ranked(ranking, own, resampled=bool(evaluation.moved.cases))


def _plan_more_raters(agreement: Agreement, settings: Settings) -> Planned | None:
    """Whether more raters would help, of what anybody marked; nothing where that cannot be asked."""
    try:
        pilot = agreement.tallies.map(lambda table: table.foreground().restrict("union"))
        raters = max(len(table.raters) for table in pilot.values())
        resamples = min(settings.resamples, MOST_RESAMPLES)
        wish = Wish(most=min(99, max(15, raters + 2)), seed=settings.seed, resamples=resamples)
        return plan(wish, pilot, moved=agreement.moved)
    except InputError:
        return None
