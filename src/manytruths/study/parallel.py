"""Work on cases in several processes; results come in order, the same whatever the number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from ..core.errors import CallError, InputError, ManytruthsError, TooLarge, find_memory_error
from ..io.reading import probe
from .processes import Elsewhere, Failure, failure_of, spread

T = TypeVar("T")
R = TypeVar("R")

KILLED = "by signal 9"
"""How the system ends a process where memory runs out."""
Progress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


def in_order(work: Callable[[T], R], items: Sequence[T], jobs: int, progress: Progress | None) -> Iterator[R]:
    """``work`` of every item, ``jobs`` at a time."""
    if jobs < 1:
        raise CallError(f"jobs is a positive number; got {jobs}")
    if progress:
        progress(0, len(items))
    for done, result in enumerate(_results(work, items, min(jobs, len(items))), start=1):
        if progress:
            progress(done, len(items))
        yield result


def _results(work: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    done = 0
    for result in spread(work, items, jobs) if jobs > 1 else ():
        if isinstance(result, Failure):
            _raise(result, items[done], jobs)
        yield result
        done += 1
    # one process was asked for, or no other could be started
    for item in items[done:]:
        try:
            result = work(item)
        except Exception as error:
            if find_memory_error(error) is None:
                raise
            short = failure_of(error)
        else:
            yield result
            continue
        # out here the frames of the error are gone, and with them what they held
        _raise(short, item, 1)


def _raise(failure: Failure, item: Any, jobs: int) -> NoReturn:
    """The error of an item, with how large it is where it was too large."""
    error = failure.error
    if failure.killed and failure.killed != KILLED:
        case = getattr(item, "name", "")
        where = f"case {case}: " if case else ""
        raise InputError(f"{where}its process ended {failure.killed}, without saying why; run it again with --jobs 1")
    if error is None or isinstance(error, MemoryError):
        raise _too_large(item, jobs, failure) from (Elsewhere(failure.traceback) if failure.traceback else None)
    raise error from Elsewhere(f"in another process:\n{failure.traceback}")


def _too_large(item: Any, jobs: int, failure: Failure) -> TooLarge:
    case = getattr(item, "name", None) or getattr(item, "case", None)
    where = f"case {case}: " if case else ""
    masks, shape = len(getattr(item, "masks", ())), _shape(item)
    what = f"{masks} masks of {'×'.join(map(str, shape))}" if masks and shape else ""
    asked = f" ({failure.error})" if str(failure.error or "") else ""
    if failure.killed:
        told = f"{where}its process was killed {failure.killed}, probably for memory"
    else:
        told = f"{where}does not fit into memory{asked}"
    image = getattr(item, "image", None) is not None
    return TooLarge(told, what, math.prod(shape) if what else 0, masks, image, jobs)


def _shape(item: Any) -> tuple[int, ...]:
    """The size of a case's first mask, by its header."""
    try:
        sources = next(iter(getattr(item, "masks", {}).values()))
        source = next(iter(sources.values()))
        return source.shape if hasattr(source, "shape") else probe(source).shape
    except (StopIteration, ManytruthsError, AttributeError, MemoryError):
        return ()
