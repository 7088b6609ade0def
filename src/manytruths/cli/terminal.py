"""What is shown while and after a verb runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..study import Progress


@contextmanager
def progress(quiet: bool, doing: str = "reading cases") -> Iterator[Progress | None]:
    """A bar on a terminal; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def console(quiet: bool) -> Any:
    """Where tables are printed; wide enough for them where nobody looks at a terminal."""
    from rich.console import Console

    return Console(quiet=quiet, width=None if sys.stdout.isatty() else 110)


def torch_or_error(verb: str) -> None:
    """Say what to install where PyTorch is not there."""
    from importlib.util import find_spec

    from ..errors import InputError

    if find_spec("torch") is None:
        raise InputError(f'{verb} needs PyTorch; install it with pip install "manytruths[torch]"')
