"""One large case on several workers: what is done with its tiles is done elsewhere, band by band.

A case whose masks stay on disk is worked on by the calling process, which hands out bands of tiles and adds up what
comes back. Only locations cross processes: a worker opens the masks itself. Arrays that the caller gave are read by
threads of the caller. Tables add exactly and no chunk is written by two workers, so that results are the same bytes.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.tiles import is_lazy
from ..io import Location, files, stays_on_disk
from .engine import Executor, count_slots, map_on
from .processes import Crew, Failure, raise_failure, run_packed

if TYPE_CHECKING:
    from .case import Case

T = TypeVar("T")
R = TypeVar("R")


class CaseSpread:
    """Works on parts of a case where there are workers; called like the built-in ``map``.

    Where nobody is left, and in other processes, the parts are worked on by whoever calls.
    """

    in_memory = False
    """Whether the workers see the arrays of this process."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __call__(self, work: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        return map(work, items)

    def __reduce__(self) -> tuple[Any, ...]:
        return CaseSpread, (self.case,)


class _OverProcesses(CaseSpread):
    def __init__(self, case: Case, crew: Crew) -> None:
        super().__init__(case)
        self.crew: Crew | None = crew

    def __call__(self, work: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        todo, done = list(items), 0
        if self.crew is not None and len(todo) > 1:
            results = self.crew.map(work, todo)
            try:
                for result in results:
                    if isinstance(result, Failure):
                        raise_failure(result, self.case, self.crew.jobs)
                    done += 1
                    yield result
            finally:
                results.close()  # type: ignore[attr-defined]
        # there are no workers any more, or none could be started
        yield from map(work, todo[done:])


class _OnExecutor(CaseSpread):
    def __init__(self, case: Case, executor: Executor) -> None:
        super().__init__(case)
        self.executor: Executor | None = executor

    def __call__(self, work: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        todo = list(items)
        if self.executor is None or len(todo) < 2:
            return map(work, todo)
        packed = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
        return map_on(self.executor, run_packed, [(packed, item) for item in todo], None, about=self.case)


class _InThreads(CaseSpread):
    in_memory = True

    def __init__(self, case: Case, jobs: int) -> None:
        super().__init__(case)
        self.jobs = jobs

    def __call__(self, work: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        with ThreadPoolExecutor(self.jobs) as pool:
            # not all at once: results wait in memory until they are asked for
            waiting, todo = [], iter(items)
            try:
                for item in todo:
                    waiting.append(pool.submit(work, item))
                    if len(waiting) > 2 * self.jobs:
                        yield waiting.pop(0).result()
                while waiting:
                    yield waiting.pop(0).result()
            finally:
                for future in waiting:
                    future.cancel()


@contextmanager
def spread_case(case: Case, executor: Executor | None, jobs: int) -> Iterator[Case]:
    """The case with workers for its tiles, as long as the block lasts."""
    if any(not isinstance(mask, Location) for parts in case.masks.values() for mask in parts.values()):
        yield replace(case, spread=_InThreads(case, jobs))
        return
    if executor is not None:
        on = _OnExecutor(case, executor)
        try:
            yield replace(case, spread=on)
        finally:
            on.executor = None
        return
    crew = Crew(jobs)
    over = _OverProcesses(case, crew)
    try:
        crew.start()
        yield replace(case, spread=over)
    finally:
        over.crew = None
        crew.end()


def choose_spread(cases: Sequence[Case], executor: Executor | None, jobs: int) -> set[str]:
    """The cases whose tiles are spread: large ones that would leave workers idle if each had one of its own.

    With as many large cases as workers, or twice as many, each worker has its own; the rest is shared by all of them.
    """
    slots = jobs if executor is None else count_slots(executor)
    if slots < 2:
        return set()
    large = [case.name for case in cases if is_large_case(case)]
    return set(large[len(large) - len(large) % slots :])


def is_large_case(case: Case) -> bool:
    """Whether the masks of a case stay on disk for their size, by the header of the first one."""
    if case.counted is not None or not case.masks:
        return False
    source = next(iter(next(iter(case.masks.values())).values()))
    if isinstance(source, Location):
        return stays_on_disk(source)
    return (is_lazy(source) or source.ndim == 2) and math.prod(source.shape) >= files.LARGE
