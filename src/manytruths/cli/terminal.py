"""What is shown while a command runs, and after it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import TaskID

    from ..analyses.result import Result
    from ..study import Progress, Study


PAUSE = 0.1
"""Seconds between two drawings of a bar."""


@contextmanager
def progress(quiet: bool, doing: str = "reading cases") -> Iterator[Progress | None]:
    """A bar on a terminal; nothing elsewhere."""
    with stages(quiet, doing) as (bar,):
        yield bar


@contextmanager
def working(study: Study, engine: str, jobs: int, quiet: bool) -> Iterator[Progress | None]:
    """The bar of a study whose cases are worked on by an engine."""
    from ..study.engine import open_engine

    with open_engine(engine, jobs) as executor, progress(quiet) as bar:
        study.executor = executor
        yield bar


@contextmanager
def stages(quiet: bool, *doing: str) -> Iterator[tuple[Progress | None, ...]]:
    """Bars beneath each other, each shown from its first step on."""
    if quiet or not sys.stderr.isatty():
        yield (None,) * len(doing)
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    # without a thread that draws: beside threads, processes are not forked
    with Bar(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        tasks = [bar.add_task(what, total=None, visible=len(doing) == 1) for what in doing]
        drawn = 0.0

        def of(task: TaskID) -> Progress:
            def show(done: int, total: int) -> None:
                nonlocal drawn
                now = time.monotonic()
                due = now - drawn > PAUSE or done == total
                bar.update(task, completed=done, total=total, visible=True, refresh=due)
                drawn = now if due else drawn

            return show

        bar.refresh()
        yield tuple(map(of, tasks))


def console(quiet: bool) -> Any:
    """Where tables are printed; wide enough for them where nobody looks at a terminal."""
    from rich.console import Console

    return Console(quiet=quiet, width=None if sys.stdout.isatty() else 110)


def present(result: Result, out: Path, *, quiet: bool) -> None:
    """Print a result, and where its files are."""
    from ..analyses.printing import print_written

    screen = console(quiet)
    result.print(screen)
    print_written(out / result.command, screen)


def require_torch(command: str) -> None:
    """Raise an error that says what to install if there is no PyTorch."""
    from importlib.util import find_spec

    from ..core.errors import InputError

    if find_spec("torch") is None:
        raise InputError(f'{command} needs PyTorch; install it with pip install "manytruths[torch]"')
