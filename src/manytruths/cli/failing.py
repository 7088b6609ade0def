"""Whatever a command raises, as one line and a status."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import CallError, ManytruthsError, StudyError, TooLarge, find_memory_error, one_line
from .stopping import received

CHECKED = ("agree", "fuse", "evaluate", "reliability", "plan", "report", "train")
"""Commands that stop at the first problem."""
_SAID = {
    r"\. Did you mean (.*)\?$": r" (did you mean \1?)",
    r"^Unused Tokens: \[(.*)\]$": r"nothing takes \1",
    r'^Command ".*" parameter (\S+) requires an argument$': r"\1 needs a value",
}
"""What the parser says, and how it is said here."""
LONGEST = 300
"""Signs of a message that is not ours."""
GOING_ON = ("fuse", "train", "phantom")
"""Commands that keep what they have done."""
ALL_PROBLEMS = " (manytruths check lists all problems)"


@dataclass(frozen=True)
class Failure:
    """What is printed, and the status."""

    line: str
    status: int


def failure_of(error: BaseException, given: Sequence[str]) -> Failure:
    """What to say of an error of a command."""
    number = received()
    # whatever came of a signal, in the middle of an import for instance, came of the signal
    if number is not None or isinstance(error, KeyboardInterrupt):
        return _stopped(number or signal.SIGINT, given)
    if isinstance(error, CallError):
        return Failure(str(error), 2)
    if isinstance(error, TooLarge):
        from .memory import too_large

        return Failure(too_large(error, given), 1)
    if isinstance(error, ManytruthsError):
        return Failure(f"{error}{ALL_PROBLEMS if _more(given, error) else ''}", 1)
    return _wrong_call(error) or _of_python(error, given)


def _stopped(number: int, given: Sequence[str]) -> Failure:
    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    goes_on = given and given[0] in GOING_ON
    what = "run it again to go on where it stopped" if goes_on else "no results were left half-written"
    return Failure(f"stopped{by}; {what}", 128 + number)


def _more(given: Sequence[str], error: Exception) -> bool:
    """Whether ``check`` would say this and more: it looks at cases, but not at grades or at what is asked for."""
    command = given[0] if given else ""
    own = command in ("agree", "fuse") or str(error).startswith("case ")
    return command in CHECKED and own and not isinstance(error, StudyError)


def _wrong_call(error: BaseException) -> Failure | None:
    """What the parser found."""
    cyclopts = sys.modules.get("cyclopts")
    if cyclopts is None or not isinstance(error, cyclopts.CycloptsError):
        return None
    told = " ".join(str(error).split()).partition(" Available commands:")[0].removesuffix(".")
    for found, said in _SAID.items():
        told = re.sub(found, said, told)
    command = " ".join(["manytruths", *(error.command_chain or ())])
    # not KIND, which is a name
    told = told if told[1:2].isupper() else f"{told[:1].lower()}{told[1:]}"
    return Failure(f"{told}; see {command} --help", 2)


def _of_python(error: BaseException, given: Sequence[str]) -> Failure:
    short = find_memory_error(error)
    if short is not None:
        from .memory import advice

        asked = f" ({_text(short)})" if str(short) else ""
        return Failure(f"out of memory{asked}; {advice(given)}", 1)
    if isinstance(error, OSError) and error.filename is not None:
        return Failure(f"{error.filename}: {error.strerror}; check the path, its rights and the space left", 1)
    return Failure(f"unexpected error: {_named(error)}; run again with --debug for the traceback", 1)


def _named(error: BaseException) -> str:
    # an error of another process that could not be brought here has its name in its text
    name = "" if type(error).__name__ == "Elsewhere" else type(error).__name__
    return ": ".join(part for part in (name, _text(error)) if part)


def _text(error: BaseException) -> str:
    try:
        # an import that failed tells at its end what it came of
        text = str(error).strip().splitlines()[-1] if isinstance(error, ImportError) else str(error)
    except Exception:
        text = ""
    return " ".join(text.split())[:LONGEST]


def tell(failure: Failure) -> None:
    """Print it."""
    # several problems are told beneath each other
    told = "\n  ".join(map(one_line, failure.line.split("\n  ")))
    print(f"manytruths: {told}", file=sys.stderr)
