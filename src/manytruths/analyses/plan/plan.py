"""The command ``plan``: how many raters, and how many cases, would be enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ...claims.claim import ClaimLog, Claims
from ...claims.numbers import TableIndex
from ...claims.planning import allowance_words, consider_planning, doubt_masks
from ...claims.sentences import counted
from ...claims.sharing import tallied_notes
from ...core.errors import CallError
from ...core.tally import Tallies, Tally
from ...core.undefined import Note
from ...io.result_tables import Table
from ...raters.broken_masks import MaskReview, pixel_name
from ...ratings.ratings import Ratings
from ...ratings.tables import RatingsOptions, open_ratings
from ...study import Case, Study
from ...study.suspicions import find_suspicions, review_reading
from ..paper_tables.formats import parse_formats
from ..printing import grid, print_parts
from ..reliability.reliability import names_masks
from ..result import Result, StudySource, Tables, console_or_stdout, open_raters, results_folder, summary_of
from ..tables import NOTHING_MOVED, Moved, mark_all, mark_resampled
from .kappa import kappa_topic
from .majority import majority_topic
from .nomogram import nomogram_topic
from .pilot import NAME as PILOT
from .pilot import count_raters, item_word, pilot_topic, subject_of
from .topics import EXTRA, PlanSettings, Topic

NOTHING = (
    "no question given; try --wanted 0.95 --rater-accuracy 0.85, or --pilot ratings.csv, or --agreement 0.8 --n-raters "
    "3 --reported-accuracy 0.9, or --kappa 0.6 --prevalence 0.3 --kappa-width 0.2"
)


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """The result of :func:`manytruths.plan`.

    Attributes
    ----------
    settings : PlanSettings
        The arguments.
    topics : tuple of Topic
        The answers to each question: sentences, rows and charts.
    tables : Tables
        ``plan``, as in the file.
    """

    command: ClassVar[str] = "plan"

    settings: PlanSettings
    topics: tuple[Topic, ...]
    tables: Tables[Table]
    moved: Moved = NOTHING_MOVED
    """Which masks of the pilot were resampled."""
    doubt: Note | None = None
    """Why the masks of the pilot are doubtful, so that nothing is claimed."""
    item: str = ""
    """The word for what the pilot counts: case, pixel or voxel."""
    subject: str = "case"
    """The word for the pilot's subjects: patient or case."""
    raters: int = 0
    """Number of the pilot's raters, though fewer may have read a case."""

    @cached_property
    def claims(self) -> Claims:
        """What is said about more raters, from a pilot."""
        log, index = ClaimLog(), TableIndex("plan/plan.csv", self.table)
        for topic in self.topics:
            if topic.pilot is not None:
                consider_planning(
                    log, index, topic.pilot, item=self.item, subject=self.subject, raters=self.raters,
                    wanted=self.settings.wanted, doubt=self.doubt,
                )  # fmt: skip
        return log.settle()

    @property
    def allowance(self) -> str:
        """What the ranges of a pilot allow for: ``for patients and raters``, or one of the two; empty for neither."""
        pilot = next((topic.pilot for topic in self.topics if topic.pilot is not None), None)
        return "" if pilot is None else allowance_words(pilot, self.subject)

    @property
    def table(self) -> Table:
        """The table ``plan``."""
        return self.tables["plan"]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answers in words."""
        return tuple(words for topic in self.topics for words in self._answers(topic))

    def _answers(self, topic: Topic) -> Sequence[str]:
        return topic.sentences if topic.pilot is None else [claim.text for claim in self.claims.made]

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The assumptions behind the answers."""
        doubt = [f"nothing is said about more raters, since {self.doubt}; see manytruths check"] if self.doubt else []
        return tuple(dict.fromkeys((*doubt, *(n for topic in self.topics for n in topic.notes), *self.moved.notes)))

    @property
    def charts(self) -> dict[str, str]:
        """Charts as SVG by name."""
        return {name: svg for topic in self.topics for name, svg in topic.charts().items()}

    def summary(self) -> dict[str, Any]:
        """Versions, arguments, answers and the numbers of the table, as ``summary.json`` has them."""
        facts = {"settings": self.settings, "answers": list(self.sentences), "notes": list(self.notes)}
        return summary_of("plan", self.tables.values(), **facts)

    def describe(self) -> str:
        """The questions, in one line."""
        return f"{counted(len(self.topics), 'question')} ({', '.join(topic.name for topic in self.topics)})"

    def print(self, console: Any = None) -> None:
        """Print answers, their tables and the notes."""
        console = console_or_stdout(console)
        for topic in self.topics:
            for words in self._answers(topic):
                console.print(words, style="bold", markup=False, highlight=False)
            console.print()
            print_parts(console, (grid(part.title, part.header, part.rows) for part in topic.grids), ())
        print_parts(console, (), self.notes)


def plan(
    *,
    out: str | Path | None = None,
    wanted: float | None = None,
    rater_accuracy: float | Sequence[float] | None = None,
    rater_std: float = 0.01,
    correlation: float = 0.0,
    spread: float = 0.0,
    n_labels: int = 2,
    n_raters: int | None = None,
    agreement: float | None = None,
    rho: float | None = None,
    reported_accuracy: float | None = None,
    wanted_actual: float | None = None,
    pilot: Ratings | StudySource | None = None,
    columns: Mapping[str, str] | None = None,
    reference_column: str | None = None,
    filter: Mapping[str, str] | None = None,
    cut: float | None = None,
    cost_rater: float | None = None,
    cost_error: float | None = None,
    kappa: float | None = None,
    prevalence: float | None = None,
    kappa_width: float | None = None,
    n_cases: int | None = None,
    max_raters: int = 15,
    gain: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
    pictures: bool = True,
    tables: str | Sequence[str] = (),
) -> Plan:
    """Plan a study: how many raters, and how many cases, would be enough.

    Four questions can be asked, alone or together: the accuracy of the majority of raters of known accuracy
    (``rater_accuracy``), the actual accuracy of an algorithm (``agreement`` or ``rho``, and ``reported_accuracy``), the
    number of raters from a pilot study (``pilot``), and the number of cases for an interval of kappa (``kappa``,
    ``prevalence``, and ``kappa_width`` or ``n_cases``).

    Parameters
    ----------
    out : str or Path, optional
        Folder for the results, written to ``out/plan/``; by default nothing is written.
    wanted : float, optional
        Accuracy that the majority is to have.
    rater_accuracy : float or sequence of float, optional
        Accuracy of all raters, or of each.
    rater_std : float
        Standard deviation of the raters' accuracies, for the chart of random panels.
    correlation : float
        Correlation of the raters' errors, from 0 to 1.
    spread : float
        Standard deviation of the cases' difficulty in logits, for raters who differ.
    n_labels : int
        Number of labels.
    n_raters : int, optional
        Number of raters.
    agreement, rho : float, optional
        Share of cases on which two raters agree, or the weighted concordance ρ: where the nomogram starts.
    reported_accuracy : float, optional
        Accuracy of an algorithm measured against the raters' majority.
    wanted_actual : float, optional
        Accuracy that the algorithm is to have in fact.
    pilot : Ratings, Study, str, Path or sequence of these, optional
        Ratings or masks of a pilot study, or the path of a table of ratings, a template of masks, or tally files.
    columns : mapping, optional
        For a table of ratings: columns of other names, as ``{"case": "image", "rater": "reader", "label": "dx"}``.
    reference_column : str, optional
        For a table of ratings: column of the reference standard; ``reference`` or ``truth`` by default.
    filter : mapping, optional
        For a table of ratings: keep only lines with these values, as ``{"treatment": "1"}``.
    cut : float, optional
        For a table of ratings: those from here on are label 1, those below label 0.
    cost_rater, cost_error : float, optional
        Costs of one rating of one case and of one wrong label, in the same currency.
    kappa, prevalence : float, optional
        Expected Fleiss' kappa, and expected share of cases that a rater marks.
    kappa_width : float, optional
        Wanted width of kappa's interval.
    n_cases : int, optional
        Number of cases, for the width of kappa's interval.
    max_raters : int
        Largest panel to compute.
    gain : float, optional
        Margin for a pilot: two more raters are worth it if they add at least this accuracy. Without a margin, nothing
        is said about whether the raters are enough.
    level : float
        Confidence level of intervals, and of a pilot's allowance for its subjects and raters.
    seed, resamples : int
        Seed and number of resamples of the pilot's raters.
    pictures : bool
        Whether to write charts.
    tables : str or sequence of str
        Formats of tables for a paper, written beside the CSV files: any of ``xlsx``, ``latex``, ``docx`` and ``html``;
        by default none.

    Returns
    -------
    Plan
        Sentences, table, charts, notes and ``write()``.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014
    Donner A, Eliasziw M. Stat Med 1992;11:1511–1519. doi:10.1002/sim.4780111109

    Examples
    --------
    >>> import manytruths as mt
    >>> print(*mt.plan(wanted=0.95, rater_accuracy=0.85).sentences)
    Five raters of accuracy 0.85 reach 0.973; three reach 0.939, less than the 0.95 wanted.
    """
    formats = parse_formats(tables, out, "plan")
    accuracies = (rater_accuracy,) if isinstance(rater_accuracy, int | float) else tuple(rater_accuracy or ())
    settings = PlanSettings(
        wanted, accuracies, rater_std, correlation, spread, n_labels, n_raters, agreement, rho, reported_accuracy,
        wanted_actual, kappa, prevalence, kappa_width, n_cases, cost_rater, cost_error, max_raters, gain, level, seed,
        resamples,
    )  # fmt: skip
    reading = {"columns": columns, "reference_column": reference_column, "filter": filter, "cut": cut}
    read = _read_pilot(pilot, reading)
    with results_folder(out, "plan") as folder:
        result = compute_plan(settings, read.data, moved=read.moved, doubt=read.doubt, item=read.item)
        if folder is not None:
            result.write_into(folder, pictures=pictures, tables=formats)
    return result


@dataclass(frozen=True)
class _Pilot:
    """A pilot's ratings, or the tallies of its masks; which of these were resampled, why they are doubtful, and the
    word for their items."""

    data: Ratings | Tallies | None = None
    moved: Moved = NOTHING_MOVED
    doubt: Note | None = None
    item: str = ""


def _read_pilot(pilot: Ratings | StudySource | None, reading: Mapping[str, Any]) -> _Pilot:
    unused = next((f"--{name.replace('_', '-')}" for name, value in reading.items() if value is not None), "")
    if pilot is None:
        if unused:
            raise CallError(f"{unused} is for reading a pilot; give --pilot ratings.csv too")
        return _Pilot()
    if isinstance(pilot, Ratings):
        if unused:
            raise CallError(f"{unused} is for reading a table of ratings, but pilot is a Ratings object")
        return _Pilot(pilot)
    if isinstance(pilot, Study) or names_masks(pilot):
        if unused:
            name = pilot if isinstance(pilot, str | Path) else "a study"
            raise CallError(f"{unused} is for reading a table of ratings, but the pilot {name} has masks")
        return _read_masks(open_raters(pilot))
    given = {name: value for name, value in reading.items() if value is not None}
    assert isinstance(pilot, str | Path)
    return _Pilot(open_ratings(pilot, RatingsOptions(**given, sure=False)).ratings)


def _read_masks(study: Study) -> _Pilot:
    cases = {case.name: counts for case, counts in study.map(_count_raters)}
    tallies = study.gathered({name: table for name, (table, _, _) in cases.items()})
    suspicions = find_suspicions(study, {name: review for name, (_, _, review) in cases.items()})
    item = pixel_name(max(axes for _, axes, _ in cases.values()))
    moved = mark_resampled(study, ())
    moved = replace(moved, notes=(*moved.notes, *tallied_notes(study, ())))
    return _Pilot(tallies, moved, doubt_masks(suspicions, tallies), item)


def _count_raters(case: Case) -> tuple[Tally, int, MaskReview]:
    """The table of a case, the axes of its masks and what they show; predictions, which are not used, are not read."""
    reading = case.read(by_tile=True)
    table = reading.tally(judged=False)
    whole = table if table.region == "whole" else reading.tally("whole", judged=False)
    return table, len(reading.grid.shape), review_reading(reading, whole)


def compute_plan(
    settings: PlanSettings,
    pilot: Ratings | Tallies | None = None,
    *,
    moved: Moved = NOTHING_MOVED,
    doubt: Note | None = None,
    item: str = "",
) -> Plan:
    """Answer every question that the settings ask.

    ``moved`` tells which masks of the pilot were resampled, ``doubt`` why nothing can be claimed about them, ``item``
    whether these consist of pixels or voxels.
    """
    item = item or item_word(pilot)
    topics = tuple(_topics(settings, pilot, item))
    _check_unused(settings, {topic.name for topic in topics})
    if not topics:
        raise CallError(NOTHING)
    table = Table("plan", EXTRA)
    for topic in topics:
        if topic.name == PILOT and moved.cases:
            mark_all([Table(topic.name, rows=list(topic.rows))])
        table.add(topic.rows)
    return Plan(settings, topics, Tables((table,)), moved, doubt, item, subject_of(pilot), count_raters(pilot))


def _topics(settings: PlanSettings, pilot: Ratings | Tallies | None, item: str) -> Iterator[Topic]:
    reported, actual = settings.reported_accuracy is not None, settings.wanted_actual is not None
    if settings.agreement is not None and settings.rho is not None:
        raise CallError("--agreement and --rho are alternatives; give one of them")
    if settings.measured and settings.rater_accuracy:
        raise CallError("the raters' accuracy follows from --agreement or --rho; give only one of the three")
    if settings.rater_accuracy:
        yield majority_topic(settings)
    entered = settings.measured or bool(settings.rater_accuracy and reported)
    if entered or (actual and (reported or settings.rater_accuracy)):
        yield nomogram_topic(settings)
    if pilot is not None:
        yield pilot_topic(settings, pilot, item)
    if any(x is not None for x in (settings.kappa, settings.prevalence, settings.kappa_width, settings.n_cases)):
        yield kappa_topic(settings)


def _check_unused(settings: PlanSettings, topics: set[str]) -> None:
    """Reject arguments that no question uses."""
    wants = {
        "wanted": ({"majority", "pilot"}, "--rater-accuracy or --pilot"),
        "correlation": ({"majority"}, "--rater-accuracy"),
        "spread": ({"majority"}, "--rater-accuracy"),
        "reported_accuracy": ({"nomogram"}, "--agreement, --rho, --rater-accuracy or --wanted-actual"),
        "wanted_actual": ({"nomogram"}, "--reported-accuracy, --agreement, --rho or --rater-accuracy"),
        "cost_rater": ({"pilot"}, "--pilot"),
        "cost_error": ({"pilot"}, "--pilot"),
        "gain": ({"pilot"}, "--pilot"),
        "n_raters": ({"majority", "nomogram", "kappa"}, "--rater-accuracy, --agreement, --rho or --kappa"),
    }
    if not topics:
        # alone it asks nothing, and the error lists what could be asked
        del wants["n_raters"]
    for name, (useful, needs) in wants.items():
        if getattr(settings, name) and not useful & topics:
            raise CallError(f"--{name.replace('_', '-')} needs {needs} too")
