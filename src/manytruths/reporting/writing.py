"""The door: a study to a page, and the files beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import manytruths

from ..analyses.files import summary_of
from ..analyses.summaries import Settings
from ..core.errors import CallError, InputError
from ..io import write_csv, write_text
from ..io.results import replacing, write_summary
from ..io.tables import read_table
from ..study import Progress, Study
from ..study.deidentification import LETTERS, Codes, code_study
from .facts import sections_of
from .findings import Findings
from .making import ReportPlan, find
from .parts import plain


@dataclass(frozen=True)
class Report:
    """What was written, and what it says."""

    path: Path
    folder: Path
    """Tables, and the pictures of more cases than fit inside the page."""
    key: Path | None
    """Which code stands for which name."""
    found: Findings
    files: tuple[Path, ...]

    def __repr__(self) -> str:
        return f"<Report of {len(self.found.study)} cases: {self.path}>"

    def told(self) -> list[str]:
        """What the page says first, and where everything is."""
        from .facts import in_short
        from .facts.disputed import coverage_sentence

        told = (*in_short.section(self.found).lead, coverage_sentence(self.found))
        short = [plain(sentence) for sentence in told]
        size = self.path.stat().st_size / 1e6
        places = ["", f"the report:  {self.path} ({size:.1f} MB)", f"its tables:  {self.folder}"]
        if any(view.file for view in self.found.views.values()):
            places.append(f"pictures:    {self.folder / 'cases'}, which the page opens: keep the two together")
        if self.key is not None:
            places.append(f"the key:     {self.key}; it tells who is who, so do not send it along")
        return [*short, *places]


def report(
    study: Study,
    to: Path | str = "report.html",
    *,
    methods: Sequence[str] = ("vote:0.5", "staple"),
    images: bool = True,
    viewer: bool = True,
    codes: bool = False,
    title: str = "",
    seed: int = 0,
    resamples: int = 2000,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Everything about a study in one HTML file, with the tables it quotes in a folder beside it.

    Parameters
    ----------
    study
        With ``images`` the viewer shows them; with ``predictions`` the algorithms are judged.
    to
        The page; ``report.html`` has its tables in ``report_files``.
    methods
        What is taken as reference standard, as in :func:`manytruths.consensus`.
    images, viewer
        Whether the images are shown, and whether outlines and maps are.
    codes
        Replace the names of cases, subjects and raters by codes. The key is written beside the page, and is used again.
    title
        Of the page.
    seed, resamples
        Of the bootstrap over subjects.
    jobs, progress
        Processes that read cases, and what is called with how many are done.
    """
    plan = ReportPlan(tuple(methods), images=images, viewer=viewer, title=title, coded=codes)
    settings = Settings(seed=seed, resamples=resamples, jobs=jobs)
    return make_report(study, to, plan, settings=settings, progress=progress)


def make_report(
    study: Study,
    to: Path | str,
    plan: ReportPlan,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Report:
    """The same with all that can be asked for."""
    path = Path(to)
    if path.suffix.lower() not in (".html", ".htm"):
        raise CallError(f"a report is an HTML file; got {path}: give it the ending .html")
    folder = path.with_name(f"{path.stem}_files")
    key = path.with_name(f"{path.stem}_key.csv") if plan.coded else None
    run: dict[str, Any] = {"jobs": settings.jobs if settings else 1}
    beside = [] if key is None else [key]
    with replacing(folder, files=[path, *beside], run=run) as (stage, page, *keys):
        if key is not None:
            study = _under_codes(study, key, keys[0])
        found = find(study, plan, stage, settings=settings, progress=progress)
        files = [*write_tables(found, stage), *(stage.parent / v.file for v in found.views.values() if v.file)]
        write_summary(stage, _summary(found), files)
        write_text(page, html(found))
        run["seconds_by_step"] = found.seconds
    home = tuple(folder / file.relative_to(stage) for file in files)
    return Report(path, folder, key, found, home)


def _under_codes(study: Study, key: Path, to: Path) -> Study:
    """Codes of an earlier key stay; new names get new ones."""
    before: dict[Any, dict[str, str]] = {kind: {} for kind in LETTERS}
    for code, row in read_table(str(key), "code").items() if key.is_file() else ():
        if not {"kind", "name"} <= row.keys():
            raise InputError(f"{key} is no key of codes (kind, code, name); move it away, or choose another --out")
        before.setdefault(row["kind"], {})[row["name"]] = code
    codes = Codes.of(study, Codes(before))
    write_csv(to, codes.rows(), ("kind", "code", "name"))
    return code_study(study, codes)


def html(found: Findings) -> str:
    """The page."""
    from .page import CaseEntry, page

    study = found.study
    groups = {case.name: "; ".join(case.groups) for case in study}
    entries = [
        CaseEntry(number, name, groups[name], view.thumbnail, view.inside, view.file)
        for number, (name, view) in enumerate(found.views.items())
    ]
    raters, cases = len(study.rater_names), len(study)
    title = found.title or f"{raters} raters, {cases} case{'' if cases == 1 else 's'}: how far do they agree?"
    subtitle = f"A report by manytruths {manytruths.__version__}"
    footer = f"Made with manytruths {manytruths.__version__}."
    return page(sections_of(found), entries, title=title, subtitle=subtitle, footer=footer)


def write_tables(found: Findings, folder: Path, *, pictures: bool = False) -> list[Path]:
    """The tables of every verb, each in a folder of its name."""
    agreement = found.agreement
    paths = agreement.write_into(folder / "agree", agreement.map_files, pictures=pictures)
    paths += found.fusion.write_into(folder / "fuse", found.fusion.map_files, pictures=pictures)
    if found.evaluation is not None:
        maps = found.evaluation.write_maps(folder / "evaluate") if pictures else []
        paths += found.evaluation.write_into(folder / "evaluate", maps, pictures=pictures)
    if found.ranking is not None:
        paths += found.ranking.write_into(folder / "rank", pictures=pictures)
    if found.plan is not None:
        paths += found.plan.write_into(folder / "plan", pictures=pictures)
    return paths


def _summary(found: Findings) -> Mapping[str, Any]:
    told = {"cases": len(found.study), "raters": list(found.study.rater_names), "settings": found.settings}
    return summary_of("report", (), **told)
