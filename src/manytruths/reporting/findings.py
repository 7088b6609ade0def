"""The findings of a report: the results of every analysis of a study, and the views of its cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from ..analyses.adjudicated.adjudicated import Adjudicated, tabulate_adjudicated
from ..analyses.adjudicated.decisions import CaseOutcome, outcome_of
from ..analyses.agree.agree import Agreement, tabulate_agreement
from ..analyses.agree.case import CaseAgreement, MapOptions, analyse_reading
from ..analyses.evaluate.evaluate import CaseEvaluation, Evaluation, check_plan, tabulate_evaluation
from ..analyses.evaluate.evaluate import analyse_reading as evaluate_reading
from ..analyses.evaluate.marks import EvaluatePlan
from ..analyses.evaluate.mask_scores import scores_of
from ..analyses.fuse.case import CaseFusion, CaseMaps, FusePlan, estimate_case
from ..analyses.fuse.fuse import Fusion, tabulate_fusion
from ..analyses.fuse.large import fuse_large_case
from ..analyses.plan.plan import Plan, compute_plan
from ..analyses.plan.topics import PlanSettings
from ..analyses.rank.rank import RankResult, RankSettings, tabulate_ranking
from ..analyses.tables import Settings, subject_word
from ..claims.claim import Claim, Claims
from ..claims.numbers import TableIndex, has_interval
from ..claims.planning import doubt_masks
from ..core.errors import InputError
from ..evaluation.ranking.ranking import rank_scores
from ..fusion.registry import estimator
from ..inference.intervals import check_resamples
from ..io import Location, write_text
from ..io.result_tables import Table
from ..io.results import file_digest, replacing
from ..io.zarr_store import is_store, store_bytes, store_digest
from ..study import Case, Progress, Study
from ..study.adjudicated import find_logs
from ..study.case import Reading, Sources
from ..study.consensus import OF_ONE_LABEL, decide_by_runs
from ..study.samples import averages_samples
from .case_view import ViewPlan, layer_case, thumbnail, view_data
from .large_view import large_view
from .numbers import StudyCounts


@dataclass(frozen=True)
class FileRead:
    """A file that was read, and the digest of its content."""

    path: str
    kind: str
    """mask, image, prediction, …"""
    case: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class View:
    """What the page shows of a case: a thumbnail, and the data of the viewer, inside the page or in a file."""

    thumbnail: str = ""
    """A data URL; empty where cases are not shown."""
    inside: str = ""
    """The data as JSON; empty where it is in a file."""
    file: str = ""
    """The file, relative to the page."""
    large: bool = False
    """Whether the case is too large to be shown at once."""
    places: int = 0
    """How many places of it are shown at full resolution."""


@dataclass(frozen=True)
class CasePlan:
    """How cases are analysed and shown."""

    maps: MapOptions
    fuse: FusePlan
    evaluate: EvaluatePlan | None
    """None: there are no predictions."""
    view: ViewPlan | None
    """None: cases are not shown."""
    folder: Path | None = None
    """Folder for views, one file each; without one, views go inside the page."""
    numbers: dict[str, int] = field(default_factory=dict)
    """The number of each case, which names its file."""


@dataclass(frozen=True)
class CaseFindings:
    """What the report needs of a case when its arrays are gone."""

    agreement: CaseAgreement
    fusion: CaseFusion
    evaluation: CaseEvaluation | None
    view: View
    files: tuple[FileRead, ...]
    adjudicated: CaseOutcome | None = None


def analyse_case(case: Case, plan: CasePlan) -> CaseFindings:
    """Read the files of a case once, analyse them and make its view."""
    reading = case.read(by_tile=True)
    decide_by_runs(reading, plan.fuse.methods, plan.fuse.options)
    if plan.evaluate is not None:
        decide_by_runs(reading, plan.evaluate.spatial, plan.evaluate.options, united=True)
    # of a large case everything is read off the list of its patterns, which are found in one pass
    counted = reading.by_pattern
    agreement, fusing = analyse_reading(reading, plan.maps), estimate_case(counted, plan.fuse)
    kept = fuse_large_case(reading, plan.fuse) if reading.is_large else fusing.kept
    view = _make_view(reading, fusing, plan, plan.view, agreement) if plan.view is not None else View()
    evaluation = evaluate_reading(reading, plan.evaluate) if plan.evaluate is not None else None
    outcome = outcome_of(reading.adjudicated) if case.decisions is not None else None
    return CaseFindings(agreement, kept, evaluation, view, tuple(_files_read(case)), outcome)


def _make_view(reading: Reading, fusing: CaseMaps, plan: CasePlan, showing: ViewPlan, agreement: CaseAgreement) -> View:
    import msgspec

    if reading.is_large and len(reading.grid.shape) > 2:
        return View(large=True)  # a volume of this size is not shown
    if reading.is_large:
        data, small = large_view(reading, fusing, plan.maps, showing)
    else:
        layered = layer_case(reading, fusing, plan.maps, responses=showing.images)
        data, small = view_data(reading, layered, showing, agreement.lesions), thumbnail(reading, layered, showing)
    content, places = msgspec.json.encode(data).decode(), len(data.get("parts", ()))
    if plan.folder is None:
        return View(small, content, large=reading.is_large, places=places)
    number = plan.numbers[reading.case.name]
    write_text(plan.folder / f"{number}.js", f"manytruthsCase({number}, {content});\n")
    return View(small, file=f"{number}.js", large=reading.is_large, places=places)


def _tally_files(study: Study) -> Iterator[FileRead]:
    for path in map(Path, study.tallied.paths if study.tallied else ()):
        yield FileRead(path.as_posix(), "tally file", "", path.stat().st_size, file_digest(path))


def _files_read(case: Case) -> Iterator[FileRead]:
    """Every file of a case, with its digest."""
    kinds: list[tuple[str, Sources | None]] = [("mask", source) for source in case.masks.values()]
    kinds += [("edited mask", edit.source) for edit in case.edits.values()]
    kinds += [("mask edited", edit.origin) for edit in case.edits.values()]
    kinds += [("rank map", source) for source in case.ranks.values()]
    kinds += [("prediction", source) for source in case.predictions.values()]
    if not averages_samples(case):
        kinds += [("sample", sources) for sources in case.samples.values()]  # type: ignore[misc]
    kinds += [("reference", source) for source in case.references.values()]
    kinds += [("training area", source) for source in case.training.values()]
    kinds += [("image", case.image), ("region", case.roi)]
    listed: set[Path] = set()
    for kind, sources in kinds:
        for path in _paths(sources):
            # an image may be missing: the case is then shown without it
            if path not in listed and (path.is_file() or is_store(path)):
                listed.add(path)
                size = store_bytes(path) if is_store(path) else path.stat().st_size
                yield FileRead(path.as_posix(), kind, case.name, size, _file_digest(path, size))


@lru_cache(maxsize=16)
def _file_digest(path: Path, size: int) -> str:
    """The digest of a file, or of the files of a Zarr store; an archive of many cases is read once."""
    return store_digest(path) if is_store(path) else file_digest(path)


def _paths(sources: Sources | None) -> list[Path]:
    """The files of a mask or image; an empty mask that stands for no file has none."""
    if isinstance(sources, Mapping):
        return [path for part in sources.values() for path in _paths(part)]
    return [sources.path] if isinstance(sources, Location) and not sources.blank else []


MOST_INSIDE = 30
"""With more cases, their views are files in a folder beside the page, and the page holds only thumbnails."""
PAGE_BYTES = 2_300_000
"""Size of the views of all cases inside the page."""
CASE_BYTES = 1_500_000
"""Size of a view inside the page."""
FILE_BYTES = 24_000_000
"""Size of a view in a file beside the page."""


@dataclass(frozen=True)
class ReportPlan:
    """What to compute and what to show."""

    methods: tuple[str, ...] = OF_ONE_LABEL
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of the consensus methods."""
    evaluate: Mapping[str, Any] = field(default_factory=dict)
    """Options of the evaluation: missing, tolerance, skew, threshold, distances."""
    maps: MapOptions = field(default_factory=lambda: MapOptions(measured=True))
    images: bool = True
    """Whether images are shown beneath the outlines."""
    viewer: bool = True
    """Whether cases are shown at all."""
    title: str = ""
    coded: bool = False
    """Whether names were replaced by codes."""
    resamples: int = 1000
    """Of the subjects, for the ranking, and of the raters, for the plan: the default of these commands."""

    def __post_init__(self) -> None:
        check_resamples(self.resamples)


@dataclass(frozen=True)
class Findings:
    """Results of all commands, views of the cases, and the files that were read."""

    study: Study
    settings: Settings
    agreement: Agreement
    fusion: Fusion
    evaluation: Evaluation | None = None
    """None where the study has no predictions."""
    ranking: RankResult | None = None
    """None where fewer than two algorithms have scores."""
    plan: Plan | None = None
    """Whether more raters would help, with the masks as a pilot; None where that cannot be estimated."""
    views: Mapping[str, View] = field(default_factory=dict)
    files: tuple[FileRead, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Duration of each step."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of the consensus methods."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """Options of the evaluation."""
    title: str = ""
    coded: bool = False
    """Whether names were replaced by codes."""
    adjudicated: Adjudicated | None = None
    """None where nobody decided about disputes of the study."""

    @cached_property
    def tables(self) -> dict[str, TableIndex]:
        """Every table of every command: ``agree/agreement`` is in the file ``agree/agreement.csv``."""
        by_command: dict[str, Iterable[object]] = {
            "agree": self.agreement.tables.values(),
            "fuse": self.fusion.tables.values(),
            "evaluate": self.evaluation.tables.values() if self.evaluation else (),
            "rank": self.ranking.tables.values() if self.ranking else (),
            "plan": (self.plan.table,) if self.plan else (),
            "adjudicated": self.adjudicated.tables.values() if self.adjudicated else (),
        }
        tables = [(command, t) for command, results in by_command.items() for t in results if isinstance(t, Table)]
        return {f"{command}/{t.name}": TableIndex(f"{command}/{t.name}.csv", t) for command, t in tables}

    def table(self, name: str) -> TableIndex:
        """A table by command and name; empty where it was not made."""
        return self.tables.get(name) or TableIndex(f"{name}.csv", Table(name))

    @cached_property
    def claims(self) -> Claims:
        """What is said about the data by every command, and what was considered and not said; each once."""
        results = (self.agreement, self.fusion, self.adjudicated, self.evaluation, self.ranking, self.plan)
        unique: dict[tuple[str, str, str], Claim] = {}
        for claim in (claim for result in results if result is not None for claim in result.claims):
            unique.setdefault((claim.kind.id, claim.about, claim.text), claim)
        return Claims(unique.values())

    @cached_property
    def counts(self) -> StudyCounts:
        """How many raters, cases, subjects and masks there are."""
        return StudyCounts(self.study)

    @cached_property
    def resampled(self) -> bool:
        """Whether any statistic of all raters has an interval over subjects."""
        rows = [row for row in self.table("agree/agreement").rows if row.scope in ("mean", "pooled")]
        return any(has_interval(row) for row in rows if not row.statistic.endswith(("_over_raters", "_over_both")))

    @cached_property
    def subject_word(self) -> str:
        """The unit of means and intervals: patient where any is named, else case."""
        return subject_word(self.study)

    @property
    def pixel_word(self) -> str:
        """``pixel``, or ``voxel`` for volumes."""
        return self.agreement.pixel_word

    @property
    def interval_name(self) -> str:
        """``95% CI``."""
        return f"{100 * self.settings.level:g}% CI"

    @cached_property
    def colours(self) -> Mapping[str, str]:
        """``#rrggbb`` of every rater and algorithm, the same on the whole page."""
        return assign_colours(self.study)


def assign_colours(study: Study) -> dict[str, str]:
    """``#rrggbb`` by name; algorithms are keyed ``algorithm NAME``, as a rater may have the same name."""
    from ..charts.colours import hexadecimal, rater_colours

    names = [*study.rater_names, *(f"algorithm {c}" for c in study.algorithms)]
    return dict(zip(names, map(hexadecimal, rater_colours(len(names))), strict=True))


def compute_findings(
    study: Study,
    plan: ReportPlan,
    folder: Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Findings:
    """Run every analysis of a study; views that do not fit inside the page are written into ``folder``."""
    settings = settings or Settings()
    for method in plan.methods:
        estimator(method)
    clock, all_groups = _Clock(), replace(settings, exclude_group=())  # only agree leaves groups out
    distances = "distances" in plan.maps.measure
    fusing = FusePlan(
        plan.methods, plan.options, None, False, distances=distances, tolerance=plan.maps.tolerance,
        lesions="lesions" in plan.maps.measure,
    )  # fmt: skip
    evaluating = _evaluate_plan(study, plan)
    with clock("reading, agreement, consensus and evaluation by case"):
        cases, views = _analyse_cases(study, plan, fusing, evaluating, folder, settings, progress)
    with clock("agreement: tables and intervals"):
        agreed = {name: case.agreement for name, case in cases.items()}
        agreement = tabulate_agreement(study, agreed, settings, plan.maps)
    with clock("consensus: tables and intervals"):
        fusion = tabulate_fusion(study, {name: case.fusion for name, case in cases.items()}, fusing, all_groups)
    evaluation, ranking = None, None
    if evaluating is not None:
        with clock("evaluation: tables and intervals"):
            judged = {name: case.evaluation for name, case in cases.items() if case.evaluation is not None}
            evaluation = tabulate_evaluation(study, judged, evaluating, all_groups)
        with clock("ranking"):
            ranking = rank_algorithms(evaluation, seed=settings.seed, resamples=plan.resamples)
    settled = None
    if any(case.adjudicated for case in cases.values()):
        with clock("adjudication"):
            outcomes = {name: case.adjudicated for name, case in cases.items() if case.adjudicated is not None}
            settled = tabulate_adjudicated(study, find_logs(study), outcomes, all_groups)
    with clock("planning"):
        planned = _plan_more_raters(agreement, seed=settings.seed, resamples=plan.resamples)
    # anybody who has the files could identify a case by a checksum
    files = () if plan.coded else (*_tally_files(study), *_unique_files(cases))
    return Findings(
        study, settings, agreement, fusion, evaluation, ranking, planned, views, files, clock.seconds,
        options=plan.options, asked=plan.evaluate, title=plan.title, coded=plan.coded,
        adjudicated=settled,
    )  # fmt: skip


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
    study: Study,
    plan: ReportPlan,
    fusing: FusePlan,
    evaluating: EvaluatePlan | None,
    folder: Path,
    settings: Settings,
    progress: Progress | None,
) -> tuple[dict[str, CaseFindings], dict[str, View]]:
    """Analyse every case and make its view; views in files appear in ``folder`` when all of them are written."""
    showing = _view_plan(study, plan) if plan.viewer and study.tallied is None else None
    numbers = {case.name: number for number, case in enumerate(study)}
    case_plan = CasePlan(plan.maps, fusing, evaluating, showing, None, numbers)

    def run(case_plan: CasePlan) -> dict[str, CaseFindings]:
        results = study.map(partial(analyse_case, plan=case_plan), jobs=settings.jobs, progress=progress, keep=True)
        return {case.name: result for case, result in results}

    if showing is None or len(study) <= MOST_INSIDE:
        cases = run(case_plan)
        return cases, {name: case.view for name, case in cases.items() if case.view.inside}
    with replacing(folder / "cases") as (stage,):
        cases = run(replace(case_plan, folder=stage))
    beside = f"{folder.name}/cases"
    shown = {name: case.view for name, case in cases.items() if case.view.file}
    return cases, {name: replace(view, file=f"{beside}/{view.file}") for name, view in shown.items()}


def _view_plan(study: Study, plan: ReportPlan) -> ViewPlan:
    inside = min(CASE_BYTES, PAGE_BYTES // max(1, len(study)))
    largest = inside if len(study) <= MOST_INSIDE else FILE_BYTES
    return ViewPlan(plan.images, largest, colours=assign_colours(study))


def _unique_files(cases: Mapping[str, CaseFindings]) -> tuple[FileRead, ...]:
    """Every file once; a file that holds several cases belongs to none of them."""
    files: dict[str, FileRead] = {}
    for file in (file for case in cases.values() for file in case.files):
        files[file.path] = replace(file, case="") if file.path in files else file
    return tuple(files.values())


def _evaluate_plan(study: Study, plan: ReportPlan) -> EvaluatePlan | None:
    """How predictions are evaluated; None where there are none."""
    if not study.options.has_predictions:
        return None
    # curves are bounded by what any and what three quarters of the raters marked (Lampert 2016)
    votes = [method for method in plan.methods if method.startswith("vote")]
    bounded = tuple(dict.fromkeys(("vote:any", *votes, "vote:0.75", *plan.methods)))
    methods = bounded if study.options.probability else plan.methods
    return check_plan(study, EvaluatePlan(methods, plan.options, **plan.evaluate))


def rank_algorithms(evaluation: Evaluation, *, seed: int = 0, resamples: int = 1000) -> RankResult | None:
    """Rank the algorithms by the scores of all labels together, as the command ``rank`` does."""
    if evaluation.mask_scores is None or len(evaluation.study.algorithms) < 2:
        return None
    try:
        scores = scores_of(evaluation.mask_scores.parts[0])
        ranking = rank_scores(scores, missing=evaluation.missing, seed=seed, resamples=resamples)
    except InputError:
        return None  # no algorithm has a score
    trained_on = evaluation.study.options.trained_on
    rank_settings = RankSettings(missing=evaluation.missing, resamples=resamples, seed=seed, trained_on=trained_on)
    copies = {name: same.note for name, same in evaluation.copies.items()}
    return tabulate_ranking(ranking, rank_settings, resampled=bool(evaluation.moved.cases), copies=copies)


MOST_PLANNED = 40
"""Raters from which on nothing is said about larger panels."""


def _plan_more_raters(agreement: Agreement, *, seed: int, resamples: int) -> Plan | None:
    """What larger panels would decide, with the masks as a pilot; None where that is impossible."""
    try:
        pilot = agreement.tallies
        raters = max(len(table.raters) for table in pilot.values())
        if raters > MOST_PLANNED:
            return None
        wish = PlanSettings(max_raters=min(99, max(15, raters + 2)), seed=seed, resamples=resamples)
        doubt = doubt_masks(agreement.suspicions, pilot)
        return compute_plan(wish, pilot, moved=agreement.moved, doubt=doubt, item=agreement.pixel_word)
    except InputError:
        return None
