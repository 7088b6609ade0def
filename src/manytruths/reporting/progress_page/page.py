"""``mt.progress_page``: one HTML file about a study that runs, or about one rater's readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import manytruths

from ...analyses.progress.progress import StudyProgress
from ...analyses.result import StudySource, console_or_stdout, open_raters
from ...claims.sentences import counted, plain_text
from ...core.columns import closest_name
from ...core.errors import CallError
from ...io import safe_name, write_csv, write_text
from ...study.deidentification import Codes, read_key
from ...study.study import Study
from ..elements import Section, colour_names, spell_section
from ..page import page_html
from . import curator, feedback
from .curator import Shown
from .feedback import Feedback

KEY = "progress_key.csv"
"""Which code stands for which rater, beside the pages."""


@dataclass(frozen=True, repr=False)
class ProgressPage:
    """A page that was written; see :func:`progress_page`.

    Attributes
    ----------
    path : Path
        The page.
    key : Path or None
        Which code stands for which rater, beside a rater's own page.
    rater : str
        Whose page it is; empty for who runs the study.
    lead : tuple of str
        Its first sentences.
    """

    path: Path
    key: Path | None
    rater: str
    lead: tuple[str, ...]

    def describe(self) -> str:
        """Whose page it is, where it is, and how large."""
        whose = f"the page of {self.rater}" if self.rater else "the page"
        return f"{whose}: {self.path} ({self.path.stat().st_size / 1e6:.1f} MB)"

    def print(self, console: Any = None) -> None:
        """Print where the page is."""
        console = console_or_stdout(console)
        key = f"; do not send {self.key.name} along, which identifies the others" if self.key is not None else ""
        console.print(f"{self.describe()}{key}", markup=False, highlight=False, soft_wrap=True)

    def __repr__(self) -> str:
        return f"<ProgressPage: {self.describe()}>"

    def _repr_html_(self) -> str:
        link = f'<a href="{quote(self.path.as_posix())}" target="_blank">{escape(str(self.path))}</a>'
        return f"<div><b>Progress</b>: {link}{''.join(f'<p>{escape(sentence)}</p>' for sentence in self.lead)}</div>"


def progress_page(
    progress: StudyProgress | StudySource,
    *,
    to: str | Path = "progress.html",
    rater: str | None = None,
    examples: int = 6,
    show_images: bool = True,
    title: str = "",
) -> ProgressPage:
    """Write how far a study is to one HTML file; or, for one rater, how their readings lie beside the others'.

    The page for who runs a study shows who read what, what is late, how far raters agree so far and how that moves,
    each rater beside the others, and masks to look at again. A rater's own page names nobody else: the others have
    codes. It shows the cases in which the rater differs most from the others, of those that the rater has read.

    Parameters
    ----------
    progress : StudyProgress, or a study
        What :func:`manytruths.progress` returns, or a study, of which it is then computed with its defaults.
    to : str or Path
        The page. A folder gets a ``progress.html``, or ``progress-anna.html`` for the rater anna.
    rater : str, optional
        Whose page it is; by default it is for who runs the study.
    examples : int
        Largest number of cases on a rater's page.
    show_images : bool
        Whether to show the images beneath the outlines.
    title : str
        Title of the page.

    Returns
    -------
    ProgressPage
        Where the page is, and its first sentences. The key to the codes is written beside a rater's page
        (``progress_key.csv``); it keeps codes the same on all pages.

    Raises
    ------
    CallError
        If nobody is called so, if raters are exchangeable, or if ``to`` is neither a folder nor an HTML file.

    Examples
    --------
    >>> import manytruths as mt
    >>> found = mt.progress("study")  # doctest: +SKIP
    >>> mt.progress_page(found, to="progress.html")  # doctest: +SKIP
    >>> mt.progress_page(found, rater="anna", to="progress-anna.html")  # doctest: +SKIP
    """
    result = progress if isinstance(progress, StudyProgress) else manytruths.progress(open_raters(progress))
    if isinstance(examples, bool) or not isinstance(examples, int) or examples < 0:
        raise CallError(f"examples (--examples) is a number of cases, 0 or more; got {examples!r}")
    path = _page_path(Path(to), rater)
    if rater is None:
        return _write_page(result, path, title)
    check_page_rater(result.study, rater, result.coverage.raters)
    if rater not in result.readings:
        raise _nothing_read(rater)
    return _write_feedback(result, path, rater, examples, show_images, title)


def _page_path(to: Path, rater: str | None) -> Path:
    """The page; a folder gets a ``progress.html``."""
    if to.suffix.lower() in (".html", ".htm"):
        return to
    if to.suffix and not to.is_dir():
        raise CallError(f"a page is an HTML file; got {to}: give it the ending .html")
    return to / ("progress.html" if rater is None else f"progress-{safe_name(rater)}.html")


def check_page_rater(study: Study, rater: str, known: Sequence[str]) -> None:
    """Whether there can be a page for the rater; ``known`` are all who read something or were asked to."""
    if study.options.exchangeable:
        raise CallError("raters are exchangeable: nobody knows whose readings are whose, so that no rater has a page")
    if rater not in known:
        close = closest_name(rater, list(known))
        hint = f"is it {close}?" if close else f"raters are {', '.join(known)}"
        raise CallError(f"rater (--for) {rater!r} is not in the study; {hint}")
    if rater not in study.rater_names:
        raise _nothing_read(rater)


def _nothing_read(rater: str) -> CallError:
    return CallError(f"rater (--for) {rater!r} has read nothing yet: there is nothing to show")


def _write_page(result: StudyProgress, path: Path, title: str) -> ProgressPage:
    shown = Shown(result)
    sections = [colour_names(section, shown.colours) for section in _spelled(curator.sections(shown), shown)]
    who = f"{counted(len(result.coverage.raters), 'rater')}, {counted(len(result.coverage.cases), 'case')}"
    _write(path, sections, [], title or f"{who}: how far is the study?", result)
    return ProgressPage(path, None, "", _lead(sections))


def _write_feedback(
    result: StudyProgress, path: Path, rater: str, examples: int, show_images: bool, title: str
) -> ProgressPage:
    key = path.with_name(KEY)
    codes, everybody = Codes.of_others(result.study, rater, read_key(key))
    shown = Shown(result)
    made = Feedback(shown, rater, codes, examples, show_images)
    sections = _spelled(feedback.sections(made), shown)
    _write(path, sections, made.entries, title or f"{rater}: your readings so far", result)
    write_csv(key, everybody.rows(), ("kind", "code", "name"))
    return ProgressPage(path, key, rater, _lead(sections))


def _spelled(sections: list[Section], shown: Shown) -> list[Section]:
    return [spell_section(section, shown.interval_name) for section in sections]


def _lead(sections: list[Section]) -> tuple[str, ...]:
    return tuple(plain_text(sentence) for sentence in sections[0].lead)


def _write(path: Path, sections: list[Section], entries: list[Any], title: str, result: StudyProgress) -> None:
    subtitle = f"As of {result.settings.today}, by manytruths {manytruths.__version__}"
    footer = f"Made with manytruths {manytruths.__version__}."
    write_text(path, page_html(sections, entries, title=title, subtitle=subtitle, footer=footer))
