"""What an attack is, and what may come of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Expected = Literal["refused", "either", "accepted", "streams"]
"""Refused with status 1 or 2 and nothing written; accepted with whole results; either of the two. With broken streams
nobody may hear why a run failed, and it may fail when its results are there: they are whole."""

Make = Callable[[Path, random.Random], None]
"""Writes the input into a folder, which is where the command is started."""


@dataclass(frozen=True)
class Attack:
    """One malformed input, the command that gets it, and what is acceptable."""

    name: str
    """``family/what``: unique."""
    make: Make
    line: Sequence[str]
    """Arguments of ``manytruths``; results go into ``out``."""
    expected: Expected = "either"
    pixels: Sequence[str] = ()
    """Masks that must be read as their format's reference reader reads them, if the input is accepted."""
    original: Make | None = None
    """Writes the same files undamaged: a file that was damaged where it does not matter may still be read so."""
    earlier: bool = False
    """Start over complete results of other data."""
    shell: str = ""
    """Instead of ``line``: a line for bash with ``$MANYTRUTHS`` in it."""
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    remove: Mapping[str, Any] = field(default_factory=dict)
    """A folder that somebody else deletes while the command runs."""
    then: Sequence[str] = ()
    """A second command, for what the first one wrote if it was accepted; it must be accepted, too."""
    agreement: str = ""
    """Template of the masks, where the kappas of ``agree`` are computed again from the reference reader's pixels."""
    needs: str = ""
    """``mount`` for attacks that need the right to mount a small disk."""

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def command(self) -> str:
        words = self.shell.partition("$MANYTRUTHS ")[2].replace("'", "").split() if self.shell else list(self.line)
        return " ".join(words[:2]) if words[:1] in (["export"], ["import"]) else "".join(words[:1]) or "manytruths"


@dataclass(frozen=True)
class Failure:
    """Something that must not be."""

    attack: str
    command: str
    kind: str
    """``traceback``, ``hang``, ``exit``, ``partial``, ``mixed``, ``pixels``, ``outside``, ``message``, ``left``."""
    said: str


@dataclass(frozen=True)
class Outcome:
    """What a run of the command gave."""

    status: int
    out: str
    err: str
    seconds: float
    hung: bool
    left: int
    """Processes that outlived it."""
    sent: bool = False
    """Whether the signal that was asked for found somebody."""
