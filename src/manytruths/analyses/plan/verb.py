"""The verb ``plan``: how many raters, and how many cases, would be enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import CallError
from ...core.tallies import Tallies
from ...io.results import write_summary
from ...ratings.ratings import Ratings
from ..files import summary_of, write_charts
from ..printing import grid
from ..resampled import NOTHING_MOVED, Moved, mark_all
from ..rows import Table
from .kappa import kappa_topic
from .majority import majority_topic
from .nomogram import nomogram_topic
from .pilot import NAME as PILOT
from .pilot import pilot_topic
from .topics import EXTRA, Topic, Wish

if TYPE_CHECKING:
    from rich.console import Console

NOTHING = (
    "nothing is asked; try --wanted 0.95 --rater-accuracy 0.85, or --pilot ratings.csv, or --agreement 0.8 --raters 3 "
    "--reported-accuracy 0.9, or --kappa 0.6 --prevalence 0.3 --width 0.2"
)


@dataclass(frozen=True)
class Planned:
    """What ``plan`` found."""

    wish: Wish
    topics: tuple[Topic, ...]
    table: Table
    moved: Moved = NOTHING_MOVED
    """What was done to the pilot's masks."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All answers."""
        return tuple(words for topic in self.topics for words in topic.sentences)

    @property
    def notes(self) -> tuple[str, ...]:
        """What they rest on."""
        return tuple(dict.fromkeys((*(note for topic in self.topics for note in topic.notes), *self.moved.notes)))


def plan(wish: Wish, pilot: Ratings | Tallies | None = None, *, moved: Moved = NOTHING_MOVED) -> Planned:
    """Answer every question that is asked; ``moved`` is what was done to the masks of the pilot."""
    topics = tuple(_topics(wish, pilot))
    _unused(wish, {topic.name for topic in topics})
    if not topics:
        raise CallError(NOTHING)
    table = Table("plan", EXTRA)
    for topic in topics:
        if topic.name == PILOT and moved.cases:
            mark_all([Table(topic.name, rows=list(topic.rows))])
        table.add(topic.rows)
    return Planned(wish, topics, table, moved)


def _topics(wish: Wish, pilot: Ratings | Tallies | None) -> Iterator[Topic]:
    if wish.agreement is not None and wish.rho is not None:
        raise CallError("--agreement and --rho each lead into the nomogram; give one of them")
    if wish.measured and wish.rater_accuracy:
        raise CallError("the raters' accuracy follows from --agreement or --rho; give it or one of those")
    if wish.rater_accuracy:
        yield majority_topic(wish)
    entered = wish.measured or bool(wish.rater_accuracy and wish.reported is not None)
    if entered or (wish.wanted_actual is not None and (wish.reported is not None or wish.rater_accuracy)):
        yield nomogram_topic(wish)
    if pilot is not None:
        yield pilot_topic(wish, pilot)
    if any(x is not None for x in (wish.kappa, wish.prevalence, wish.width, wish.cases)):
        yield kappa_topic(wish)


def _unused(wish: Wish, topics: set[str]) -> None:
    """What was given and led nowhere is a mistake."""
    wants = {
        "wanted": ({"majority", "pilot"}, "--rater-accuracy or --pilot"),
        "correlation": ({"majority"}, "--rater-accuracy"),
        "spread": ({"majority"}, "--rater-accuracy"),
        "reported": ({"nomogram"}, "--agreement, --rho, --rater-accuracy or --wanted-actual"),
        "wanted_actual": ({"nomogram"}, "--reported-accuracy, --agreement, --rho or --rater-accuracy"),
        "cost_rater": ({"pilot"}, "--pilot"),
        "cost_error": ({"pilot"}, "--pilot"),
        "raters": ({"majority", "nomogram", "kappa"}, "--rater-accuracy, --agreement, --rho or --kappa"),
    }
    if not topics:
        # alone it asks nothing, and what could be asked is told
        del wants["raters"]
    for name, (useful, needs) in wants.items():
        if getattr(wish, name) and not useful & topics:
            option = "reported-accuracy" if name == "reported" else name.replace("_", "-")
            raise CallError(f"--{option} needs {needs} beside it")


def write(found: Planned, folder: Path, *, pictures: bool = True) -> list[Path]:
    """Table, summary and charts into a folder; what only an earlier run wrote there goes."""
    charts = {name: svg for topic in found.topics for name, svg in topic.charts().items()} if pictures else {}
    drawn = write_charts(charts, folder / "charts")
    paths = [found.table.write(folder), *drawn]
    return [*paths, write_summary(folder, summary(found), paths)]


def summary(found: Planned) -> dict[str, Any]:
    """The table's numbers, with version, questions and answers."""
    return summary_of(
        "plan",
        [found.table],
        settings=found.wish,
        answers=list(found.sentences),
        notes=list(found.notes),
    )


def print_plan(found: Planned, console: Console) -> None:
    """Answers, their tables, and what they rest on."""
    for topic in found.topics:
        for words in topic.sentences:
            console.print(words, style="bold", markup=False, highlight=False)
        console.print()
        for part in topic.grids:
            console.print(grid(part.title, part.header, part.rows))
    for note in found.notes:
        console.print(f"• {note}", markup=False, highlight=False)
