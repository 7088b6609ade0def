"""``mt.report``: one HTML file about a study, and the files beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import manytruths

from ..analyses.agree.case import MEASURES, MapOptions, parse_measures
from ..analyses.agree.groups import find_groups, parse_by
from ..analyses.paper_tables.formats import parse_formats, write_formats
from ..analyses.result import StudySource, Tables, console_or_stdout, open_study, show_tables, summary_of
from ..analyses.tables import Settings
from ..claims.claim import Claims
from ..claims.sentences import counted, plain_text, spell_intervals
from ..core.errors import CallError
from ..fusion.registry import options_by_name, parse_methods
from ..io import write_csv, write_text
from ..io.result_tables import Table
from ..io.results import replacing, write_summary
from ..study import Progress, Study
from ..study.adjudicated import METHOD, has_decisions, refuse_shown_algorithms, with_decisions
from ..study.consensus import default_methods, prepare
from ..study.deidentification import Codes, code_study, read_key
from .findings import Findings, ReportPlan, compute_findings
from .sections import make_sections
from .sections.computation import write_file_list


@dataclass(frozen=True, repr=False)
class Report:
    """The result of :func:`manytruths.report`: the files that were written, and every table that the page quotes.

    Attributes
    ----------
    path : Path
        The page.
    folder : Path
        Tables, and the pictures of cases where there are too many to fit inside the page.
    key : Path or None
        Which code stands for which name, where names were replaced by codes.
    findings : Findings
        Results of all analyses on the page.
    files : tuple of Path
        Every file in ``folder``.
    tables : Tables
        Tables of all commands, by command and name: ``tables["agree/pairs"].to_frame()`` is a pandas DataFrame.
    """

    path: Path
    folder: Path
    key: Path | None
    findings: Findings
    files: tuple[Path, ...]

    @cached_property
    def tables(self) -> Tables[Table]:
        """Tables of all commands, by command and name."""
        tables: Tables[Table] = Tables(())
        tables.update((name, index.table) for name, index in self.findings.tables.items())
        return tables

    @property
    def claims(self) -> Claims:
        """What the report says about the data, and what was considered and not said."""
        return self.findings.claims

    @cached_property
    def lead(self) -> tuple[str, ...]:
        """The first sentences of the page."""
        from .sections import summary
        from .sections.cases import coverage_sentence

        sentences = (*summary.section(self.findings).lead, coverage_sentence(self.findings))
        interval = self.findings.interval_name
        return tuple(plain_text(spell_intervals(sentence, interval)) for sentence in sentences)

    def describe(self) -> str:
        """The page and its study, in one line."""
        study, size = self.findings.study, self.path.stat().st_size / 1e6
        counts = ((len(study.rater_names), "rater"), (len(study), "case"), (len(study.subjects), "subject"))
        return f"{', '.join(counted(*pair) for pair in counts)}; {self.path} ({size:.1f} MB)"

    def print(self, console: Any = None) -> None:
        """Print what the page says first, and where the files are."""
        console = console_or_stdout(console)
        for line in (*self.lead, "", *self._places()):
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _places(self) -> Iterator[str]:
        yield f"the report:  {self.path} ({self.path.stat().st_size / 1e6:.1f} MB)"
        yield f"its tables:  {self.folder}"
        if any(view.file for view in self.findings.views.values()):
            yield f"pictures:    {self.folder / 'cases'}, which the page opens: keep the two together"
        if self.key is not None:
            yield f"the key:     {self.key}; it identifies raters, cases and subjects, so do not send it along"

    def __repr__(self) -> str:
        return f"<Report: {self.describe()}; tables: {', '.join(self.tables)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: a link to the page, its first sentences, and the tables to be opened."""
        link = f'<a href="{quote(self.path.as_posix())}" target="_blank">{escape(str(self.path))}</a>'
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.lead)
        return f"<div><b>Report</b>: {link}{sentences}{show_tables(self.tables)}</div>"


def report(
    study: StudySource,
    *,
    to: str | Path = "report.html",
    title: str = "",
    consensus: str | Sequence[str] | None = None,
    prior: float | str = "prevalence",
    threshold: float | None = None,
    tolerance: float | None = None,
    margin: float | None = None,
    distances: bool = True,
    measure: str | Sequence[str] = MEASURES,
    error_ratio: float | None = None,
    missing: Literal["worst", "exclude"] = "worst",
    kappa_scale: str = "landis_koch",
    exclude_group: Sequence[str] = (),
    by: str | Sequence[str] = (),
    show_images: bool = True,
    viewer: bool = True,
    codes: bool = False,
    tables: str | Sequence[str] = (),
    seed: int = 0,
    resamples: int = 1000,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Write everything about a study to one HTML file, with the tables that it quotes in a folder beside it.

    The page holds agreement, raters, every case with its outlines, the reference standard, complexity, the algorithms
    where the study has predictions, and how everything was computed. It needs no network.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``. With
        ``predictions`` the algorithms are evaluated.
    to : str or Path
        The page. A folder gets a ``report.html``; the tables of ``report.html`` are written to ``report_files``.
    title : str
        Title of the page.
    consensus : str or sequence of str, optional
        Consensus methods to show as reference standards, as in :func:`manytruths.consensus`: ``"vote:0.5"``,
        ``"staple"``, ``"lsml"``, …; by default ``vote:0.5,staple``, and of several labels ``plurality,staple``.
    prior : float or str
        Prior of STAPLE: ``"prevalence"``, ``"marked"``, ``"estimated"``, or a number.
    threshold : float, optional
        Threshold at which predicted probabilities are also evaluated as masks.
    tolerance : float, optional
        Distance within which outlines count as equal (surface Dice); by default from those of the raters.
    margin : float, optional
        Largest difference of Dice that does not matter, such as 0.05: within it, an algorithm agrees with a rater as
        another rater would. By default that of the study, and without any there is no verdict.
    distances : bool
        Whether to compute distances between outlines, of raters, consensuses and algorithms.
    measure : str or sequence of str
        What to measure besides agreement: any of ``sizes``, ``distances`` and ``lesions``, as a list or separated by
        commas, or ``none``. By default all of them.
    error_ratio : float, optional
        Variance of the errors of sizes of raters and algorithms over that of the errors of a given reference's, where
        it is known: 1 where both are as precise. The line between them is then Deming's, else Passing and Bablok's.
    missing : {"worst", "exclude"}
        Missing predictions get the worst score, or exclude their case for every algorithm.
    kappa_scale : {"landis_koch", "fleiss", "altman", "shrout"}
        Scale of the words for kappa.
    exclude_group : sequence of str
        Groups to leave out of additional means.
    by : str or sequence of str
        Columns of ``raters.csv`` (expertise) or ``cases.csv`` (scanner) whose groups are compared.
    show_images : bool
        Whether to show the images beneath the outlines.
    viewer : bool
        Whether to show outlines and maps of the cases at all.
    codes : bool
        De-identify: replace the names of cases, subjects and raters by codes. The key is written beside the page
        (``report_key.csv``) and keeps the codes the same in the next report.
    tables : str or sequence of str
        Formats of tables for a paper, of all commands together, written to the folder beside the page: any
        of ``xlsx``, ``latex``, ``docx``, ``html`` and ``redcap``; by default none.
    seed : int
        Seed of everything random: tests that permute raters or subjects, groups of cases by complexity, and resamples.
    resamples : int
        Number of resamples of the subjects, for the stability of the ranking of algorithms, and largest number of those
        of the raters, for the plan of more raters. Intervals of means are not resampled.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Report
        The paths that were written, ``tables``, and what the page says first.

    Raises
    ------
    CallError
        If ``to`` is neither a folder nor an HTML file, or if a consensus method is unknown or named twice.

    Examples
    --------
    >>> import manytruths as mt
    >>> study = mt.Study.open("manytruths-demo/study")  # doctest: +SKIP
    >>> mt.report(study, to="report.html").tables["agree/pairs"].to_frame()  # doctest: +SKIP
    """
    formats = parse_formats(tables, to, "report")
    if consensus is not None:
        parse_methods(consensus)  # refused before the study is opened
    study = open_study(study)
    methods = parse_methods(default_methods(study) if consensus is None else consensus)
    study = _with_decisions(study, methods, codes)
    evaluate = {
        "threshold": threshold, "tolerance": tolerance, "margin": margin, "distances": distances, "missing": missing,
        "lesions": "lesions" in parse_measures(measure), "sizes": "sizes" in parse_measures(measure),
    }  # fmt: skip
    measures = tuple(name for name in parse_measures(measure) if distances or name != "distances")
    plan = ReportPlan(
        methods, options_by_name(prior=prior), evaluate,
        MapOptions(measured=True, measure=measures, tolerance=tolerance),
        images=show_images, viewer=viewer, title=title, coded=codes, resamples=resamples,
    )  # fmt: skip
    left_out = (exclude_group,) if isinstance(exclude_group, str) else tuple(exclude_group)
    columns = parse_by(by)
    find_groups(study, columns)  # refused before anything is read
    settings = Settings(
        seed=seed, kappa_scale=kappa_scale, exclude_group=left_out, jobs=jobs, by=columns, error_ratio=error_ratio
    )
    return _write_report(study, _page_path(Path(to)), plan, settings, progress, formats)


def _with_decisions(study: Study, methods: Sequence[str], codes: bool) -> Study:
    """The study with the decisions of adjudicators, where there are any; codes leave them out, as logs hold names."""
    if not codes or METHOD in methods:
        if codes:
            raise CallError("codes (--codes) replace names by which decisions are found; leave out one of them")
        decided = study.tallied is None and has_decisions(study)
        study = prepare(with_decisions(study) if decided else study, methods)
        if METHOD in methods:
            refuse_shown_algorithms(study)
    return study


def _page_path(to: Path) -> Path:
    """The page; a folder gets a ``report.html``."""
    if to.suffix.lower() in (".html", ".htm"):
        return to
    if to.suffix and not to.is_dir():
        raise CallError(f"a report is an HTML file; got {to}: give it the ending .html")
    return to / "report.html"


def _write_report(
    study: Study, path: Path, plan: ReportPlan, settings: Settings, progress: Progress | None, formats: Sequence[str]
) -> Report:
    folder = path.with_name(f"{path.stem}_files")
    key = path.with_name(f"{path.stem}_key.csv") if plan.coded else None
    run: dict[str, Any] = {"jobs": settings.jobs}
    beside = [] if key is None else [key]
    with replacing(folder, files=[path, *beside], keeps=True, run=run) as (stage, page, *keys):
        if key is not None:
            study = _replace_names(study, key, keys[0], settings.by)
        findings = compute_findings(study, plan, stage, settings=settings, progress=progress)
        views = [stage.parent / view.file for view in findings.views.values() if view.file]
        files = [*write_tables(findings, stage), findings.claims.table().write(stage), *views]
        files += write_file_list(findings, stage)
        if formats:
            made = (findings.agreement, findings.fusion, findings.evaluation, findings.ranking, findings.plan)
            every = [result.tabled() for result in made if result is not None]
            files += write_formats(formats, every, stage, plan.title or "manytruths report")
        about = {"cases": len(study), "raters": list(study.rater_names), "settings": findings.settings}
        about["resamples"] = plan.resamples
        write_summary(stage, summary_of("report", (), **about), files)
        write_text(page, render_page(findings))
        run["seconds_by_step"] = findings.seconds
    return Report(path, folder, key, findings, tuple(folder / file.relative_to(stage) for file in files))


def _replace_names(study: Study, key: Path, to: Path, keep: Sequence[str] = ()) -> Study:
    """The study under codes; codes of an earlier key are kept, and the key is written to ``to``.

    ``keep`` names columns of raters.csv that are shown.
    """
    codes = Codes.of(study, read_key(key))
    write_csv(to, codes.rows(), ("kind", "code", "name"))
    return code_study(study, codes, keep)


def render_page(findings: Findings) -> str:
    """The page as HTML."""
    from .page import CaseEntry, page_html

    study = findings.study
    groups = {case.name: "; ".join(case.groups) for case in study}
    numbers = {case.name: number for number, case in enumerate(study)}
    entries = [
        CaseEntry(numbers[name], name, groups[name], view.thumbnail, view.inside, view.file)
        for name, view in findings.views.items()
    ]
    cases = counted(len(study), "case")
    sizes = sorted({len({column.name for column in case.masks}) for case in study})
    some = f"{sizes[0]} to {counted(sizes[-1], 'rater')}" if len(sizes) > 1 else counted(sizes[-1], "rater")
    named = f"{counted(len(study.rater_names), 'rater')}, {cases}"
    who = f"{cases}, {some} each" if study.options.exchangeable else named
    title = findings.title or f"{who}: how far do they agree?"
    subtitle = f"A report by manytruths {manytruths.__version__}"
    footer = f"Made with manytruths {manytruths.__version__}."
    return page_html(make_sections(findings), entries, title=title, subtitle=subtitle, footer=footer)


def write_tables(findings: Findings, folder: Path, *, pictures: bool = False) -> list[Path]:
    """Write the tables of every command, each in a folder of its name."""
    agreement = findings.agreement
    paths = agreement.write_into(folder / "agree", agreement.map_files, pictures=pictures)
    paths += findings.fusion.write_into(folder / "fuse", findings.fusion.map_files, pictures=pictures)
    if findings.evaluation is not None:
        maps = findings.evaluation.write_maps(folder / "evaluate") if pictures else []
        paths += findings.evaluation.write_into(folder / "evaluate", maps, pictures=pictures)
    if findings.ranking is not None:
        paths += findings.ranking.write_into(folder / "rank", pictures=pictures)
    if findings.adjudicated is not None:
        paths += findings.adjudicated.write_into(folder / "adjudicated", pictures=pictures)
    if findings.plan is not None:
        paths += findings.plan.write_into(folder / "plan", pictures=pictures)
    return paths
