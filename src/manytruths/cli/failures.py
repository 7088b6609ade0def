"""What a command prints when it fails: one line and an exit status, with advice where memory was short."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import (
    CallError,
    EngineError,
    FormatError,
    InputError,
    ManytruthsError,
    StudyError,
    TooLarge,
    WriteError,
    find_memory_error,
    one_line,
)
from .process import received_signal

CHECKED = ("agree", "fuse", "evaluate", "reliability", "plan", "report", "tally", "train")
"""Commands whose problems ``check`` lists all at once."""
_REWORDED = {
    r"\. Did you mean (.*)\?$": r" (did you mean \1?)",
    r"^Unused Tokens: \[(.*)\]$": r"nothing takes \1",
    r'^Command ".*" parameter (\S+) requires an argument$': r"\1 needs a value",
}
"""Messages of the parser, and how they read here."""
_KEYWORD = re.compile(r"[a-z_]+(?=:| is | must )")
"""A name at the start of a message that says what is wrong with it."""
LONGEST = 300
"""Characters of a message from other packages."""
RESUMABLE = ("fuse", "train", "phantom")
"""Commands that always keep finished cases when they are stopped; others do after some seconds of work."""
ALL_PROBLEMS = " (manytruths check lists all problems)"


@dataclass(frozen=True)
class Failure:
    """The line to print and the exit status."""

    line: str
    status: int


def describe_failure(error: BaseException, given: Sequence[str]) -> Failure:
    """The line and status for an error of a command."""
    number = received_signal()
    # an error that a signal caused, such as a broken import, is reported as the signal
    if number is not None or isinstance(error, KeyboardInterrupt):
        return _stopped(number or signal.SIGINT, given)
    if isinstance(error, CallError):
        return Failure(name_option(str(error), given), 2)
    if isinstance(error, TooLarge):
        return Failure(describe_too_large(error, given), 1)
    if isinstance(error, ManytruthsError):
        text = name_option(str(error), given)
        return Failure(f"{text}{ALL_PROBLEMS if _check_lists_more(given, error) else ''}", 1)
    return _wrong_call(error) or _other_failure(error, given)


def name_option(message: str, given: Sequence[str]) -> str:
    """A message that begins with a keyword of the call, with the option that was typed for it instead.

    >>> name_option("exclude_rater: there is no rater 'Z'", ["agree", "--exclude-rater", "Z"])
    "--exclude-rater: there is no rater 'Z'"
    >>> name_option("raters are exchangeable", ["agree", "--raters", "exchangeable"])
    'raters are exchangeable'
    """
    word = _KEYWORD.match(message)
    if word is None:
        return message
    option = f"--{word[0].replace('_', '-')}"
    typed = any(text.partition("=")[0] == option for text in given)
    return option + message[word.end() :] if typed else message


def _stopped(number: int, given: Sequence[str]) -> Failure:
    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    results = sys.modules.get("manytruths.io.results")
    goes_on = (given and given[0] in RESUMABLE) or (results is not None and results.left_to_go_on())
    what = "run it again to go on where it stopped" if goes_on else "no results were left half-written"
    return Failure(f"stopped{by}; {what}", 128 + number)


def _check_lists_more(given: Sequence[str], error: Exception) -> bool:
    """Whether ``check`` would say this and more: it looks at cases, but not at grades or at what is asked for."""
    command = given[0] if given else ""
    if any(argument.endswith(".tally") for argument in given[1:2]):
        return False  # it has no masks to look at
    of_a_case = isinstance(error, InputError) and bool(error.case)
    # without a case, a file that cannot be read is one that an option names
    of_all = command in ("agree", "fuse") and not isinstance(error, FormatError)
    return command in CHECKED and (of_a_case or of_all) and not isinstance(error, EngineError | StudyError | WriteError)


def _wrong_call(error: BaseException) -> Failure | None:
    """The failure for a mistake that the parser found."""
    cyclopts = sys.modules.get("cyclopts")
    if cyclopts is None or not isinstance(error, cyclopts.CycloptsError):
        return None
    message = " ".join(str(error).split()).partition(" Available commands:")[0].removesuffix(".")
    for pattern, reworded in _REWORDED.items():
        message = re.sub(pattern, reworded, message)
    command = " ".join(["manytruths", *(error.command_chain or ())])
    # a name in capitals, such as KIND, stays as it is
    message = message if message[1:2].isupper() else f"{message[:1].lower()}{message[1:]}"
    return Failure(f"{message}; see {command} --help", 2)


def _other_failure(error: BaseException, given: Sequence[str]) -> Failure:
    short = find_memory_error(error)
    if short is not None:
        asked = f" ({_text(short)})" if str(short) else ""
        return Failure(f"out of memory{asked}; {memory_advice(given)}", 1)
    if isinstance(error, OSError) and error.filename is not None:
        return Failure(f"{error.filename}: {error.strerror}; check the path, its rights and the space left", 1)
    return Failure(f"unexpected error: {_name_and_text(error)}; run again with --debug for the traceback", 1)


def _name_and_text(error: BaseException) -> str:
    # an error of a worker process that could not be pickled has its name in its text
    name = "" if type(error).__name__ == "Elsewhere" else type(error).__name__
    return ": ".join(part for part in (name, _text(error)) if part)


def _text(error: BaseException) -> str:
    try:
        # the last line of a failed import names the cause
        text = str(error).strip().splitlines()[-1] if isinstance(error, ImportError) else str(error)
    except Exception:
        text = ""
    return " ".join(text.split())[:LONGEST]


def print_failure(failure: Failure) -> None:
    """Print the line to standard error; several problems stand beneath each other."""
    lines = "\n  ".join(map(one_line, failure.line.split("\n  ")))
    print(f"manytruths: {lines}", file=sys.stderr)


BYTES = {
    "check": (6, 1, 0),
    "agree": (9, 2, 110),
    "agree --no-pictures": (4, 3, 0),
    "agree --no-pictures --measure none": (1, 2, 0),
    "fuse": (28, 1, 32),
    "evaluate": (24, 7, 0),
    "reliability": (14, 4, 0),
    "report": (40, 1, 75),
}
"""The most bytes that a process takes for each pixel of a case, for each pixel of each mask, and in addition for each
pixel of an image.

Measured with 2, 5 and 10 masks of 8 bits of 2048² and 4096² pixels, images in colour, and as many algorithms as raters.
"""
LIGHTER = ("--no-pictures", "--measure none")
"""Options of agree that save memory."""
ALONE = 0.06e9
"""Bytes that a process takes before it reads a case."""


def describe_too_large(error: TooLarge, given: Sequence[str]) -> str:
    """What did not fit into memory, how much it takes, and what to do."""
    command = given[0] if given else ""
    own = " ".join([command, *(option for option in LIGHTER if _is_given(option, given))])
    each = f", in each of {error.jobs} processes" if error.jobs > 1 else ""
    taken = ""
    if error.what:
        known = own if own in BYTES else command
        size = bytes_needed(known, error) if known in BYTES else error.pixels * error.masks
        taken = f": {known} takes about" if known in BYTES else f": {command} takes far more than the"
        taken = f"{taken} {_gigabytes(size)} for {error.what}{each}"
    return f"{error}{taken}; {memory_advice(given, error)}"


def _is_given(option: str, given: Sequence[str]) -> bool:
    """Whether an option, with its value, is among the arguments of a call."""
    return option in " ".join(given).replace("=", " ")


def bytes_needed(command: str, case: TooLarge) -> float:
    """Bytes that a process takes for a case."""
    pixel, mask, image = BYTES[command]
    return ALONE + case.pixels * (pixel + mask * case.masks + image * case.image)


def memory_advice(given: Sequence[str], case: TooLarge | None = None) -> str:
    """What to do when memory is short."""
    if given and given[0] == "train":
        return "use a smaller --batch, --size or --width, or a smaller --at-once"
    ways = []
    if case is None or case.jobs > 1:
        ways.append("use fewer --jobs")
    lighter = [option for option in LIGHTER if not _is_given(option, given)]
    least = " ".join([given[0], *LIGHTER]) if given else ""
    if lighter and least in BYTES:
        about = f" (about {_gigabytes(bytes_needed(least, case))})" if case is not None and case.what else ""
        ways.append(f"use {' '.join(lighter)}{about}")
    return ", or ".join([*ways, "crop the images or make them smaller"])


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
