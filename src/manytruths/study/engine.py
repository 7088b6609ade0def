"""Work on cases wherever there is a ``submit`` that gives futures: on Dask's workers, or in an executor of the caller.

Only ``submit``, the futures' ``result`` and ``cancel``, and waiting for them are used, since executors differ in the
rest (Dask's ``map`` has no chunks, and its ``shutdown`` cancels nothing). Cases are sent in batches of half a second of
work, as a task on another machine costs some ten milliseconds, with at most four batches for each worker on their way.
Results come in order, and are the same bytes as those of one process. Where a worker ends, the cases it had are sent
again, one by one and with nothing beside them; a case at which three workers ended while it was alone is named, and
ends the run: of several on a worker that ended, nobody knows which it was.
"""

from __future__ import annotations

import concurrent.futures as futures
import logging
import os
import pickle
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from ..core.errors import CallError, EngineError, InputError
from ..io.kept import code_version
from ..io.results import active_stages
from ..io.writing import WRITTEN, name_attempt
from .locations import find_locations
from .processes import DEATHS, Failure, Progress, answer, raise_failure

SECONDS = 0.5
"""Work in a batch."""
IN_FLIGHT = 4
"""Batches on their way, for each worker."""
PATIENCE = 10
"""Seconds to reach a scheduler."""
STARTING = 30
"""Seconds to see its first worker: on a busy machine one takes a while to start, in the place of one that ended."""

T = TypeVar("T")
R = TypeVar("R")


class Executor(Protocol):
    """What can be given as ``executor``: the part of :class:`concurrent.futures.Executor` that is used."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """A future of ``fn(*args)``."""
        ...


def map_on(
    executor: Executor,
    work: Callable[[T], R],
    items: Sequence[T],
    progress: Progress | None,
    *,
    about: object = None,
) -> Iterator[R]:
    """``work`` of every item on the workers of an executor, in order; errors are about the case of an item.

    ``about`` is that case where items are parts of one.
    """
    if progress:
        progress(0, len(items))
    flight = _Flight(executor, work, items, about)
    try:
        for index, item in enumerate(items):
            while index not in flight.done:
                flight.advance()
            result = flight.done.pop(index)
            what: Any = item if about is None else about
            if isinstance(result, Failure) and result.killed:
                case = f"case {what.name}: " if hasattr(what, "name") else ""
                raise EngineError(
                    f"{case}{result.killed}, perhaps for lack of memory; give them more, or try --engine processes"
                )
            if isinstance(result, Failure):
                raise_failure(result, what, flight.workers)
            if progress:
                progress(index + 1, len(items))
            yield result
    finally:
        flight.cancel()


class _Flight(Generic[T, R]):
    """Batches on their way to the workers and back."""

    def __init__(self, executor: Executor, work: Callable[[T], R], items: Sequence[T], about: object) -> None:
        self.executor, self.work, self.items, self.about = executor, work, items, about
        self.workers = count_slots(executor)
        self.done: dict[int, R | Failure] = {}
        self._sent: dict[Any, list[int]] = {}
        self._next = 0
        self._again: deque[int] = deque()
        """What workers that ended have left undone."""
        self._suspects = set[int]()
        """What was on its way with others when a worker ended, and is sent alone from then on."""
        self._deaths = Counter[int]()
        self._failed = False
        self._seconds, self._finished = 0.0, 0
        self._home, self._stages = os.getcwd(), tuple(str(folder / WRITTEN) for folder in active_stages())

    def advance(self) -> None:
        """Send what may be sent, and take what has come back."""
        self._send()
        if not self._sent:
            raise EngineError("the executor gives no results; run it again with --engine processes")
        back, _ = futures.wait(self._sent, return_when=futures.FIRST_COMPLETED)
        # in order, so that the same item is blamed in every run
        for future in sorted(back, key=lambda f: self._sent[f]):
            self._take(future, self._sent.pop(future))

    def _send(self) -> None:
        if self._again:
            if not self._sent:
                self._submit([self._again.popleft()])
            return
        while not self._failed and self._next < len(self.items) and len(self._sent) < IN_FLIGHT * self.workers:
            # at first one by one, until it is known how long they take; at the end, something for every worker
            pace = self._seconds / self._finished if self._finished else SECONDS
            left = len(self.items) - self._next
            size = max(1, min(int(SECONDS / max(pace, 1e-4)), left // self.workers, 1000))
            self._submit(list(range(self._next, self._next + size)))
            self._next += size

    def _submit(self, batch: list[int]) -> None:
        # packed here, as executors may pack only what their own kind of message can hold
        packed = pickle.dumps((self.work, [(index, self.items[index]) for index in batch]), pickle.HIGHEST_PROTOCOL)
        # a worker elsewhere must see the same files under the same names
        found = find_locations([self.items[index] for index in batch] if self.about is None else self.about)
        files = dict.fromkeys(str(location.path) for location in found if location is not None)
        there = tuple(filter(os.path.exists, files))
        try:
            future = self.executor.submit(run_batch, packed, code_version(), self._home, self._stages, there)
        except Exception as error:
            raise _lost_engine(error) from error
        self._sent[future] = batch

    def _take(self, future: Any, batch: list[int]) -> None:
        try:
            answers, seconds = future.result()
        except InputError:
            raise
        except (Exception, futures.CancelledError) as error:
            self._lost(batch, error)
            return
        self._seconds += seconds
        self._finished += len(answers)
        for message in answers:
            index, result = pickle.loads(message)
            self.done[index] = result
            self._failed = self._failed or isinstance(result, Failure)
        # a batch ends at its first failure; what comes behind it is not asked for

    def _lost(self, batch: list[int], error: BaseException) -> None:
        """Send a batch again whose worker ended, and give up a case at which that happened too often."""
        if type(error).__name__ != "KilledWorker":
            raise _lost_engine(error) from error
        # the scheduler has tried it on other workers already
        died = 1 + int(getattr(error, "allowed_failures", 0))
        if self._suspects.issuperset(batch):
            self._deaths[batch[0]] += died
            if self._deaths[batch[0]] >= DEATHS:
                self.done[batch[0]] = Failure(None, killed=f"{DEATHS} workers or more ended while at it")
                self._failed = True
                return
        self._suspects.update(batch)
        self._again = deque(sorted((*self._again, *batch)))

    def cancel(self) -> None:
        """Nobody waits for what is still on its way."""
        for future in self._sent:
            with suppress(Exception):
                future.cancel()


def _lost_engine(error: BaseException) -> EngineError:
    said = " ".join(str(error).split())[:200] or type(error).__name__
    if isinstance(error, futures.BrokenExecutor):
        return EngineError(f"a process of the executor ended ({said}); it can do no more work: make another one")
    if isinstance(error, ImportError | AttributeError | TypeError):
        return EngineError(
            f"the workers cannot do what they are asked ({said}); install this manytruths on all of them"
        )
    return EngineError(f"the workers or their scheduler are gone ({said}); start them again and repeat the command")


def run_batch(packed: bytes, version: str, *places: Any) -> tuple[list[bytes], float]:
    """On a worker: the answers of a batch, up to its first failure, and the seconds that they took.

    What else a version sends is looked at when it is known to be the same: the working directory, folders of results
    and the files of the cases, all of which the caller sees.
    """
    where = f"worker on {socket.gethostname()}"
    if version != code_version():
        raise EngineError(f"{where} has manytruths {code_version()}, this is {version}; install the same version there")
    home, stages, files = places
    for place in (home, *stages, *(os.path.join(home, file) for file in files)):
        if not os.path.exists(place):
            unseen = Path(place).parent.parent if place in stages else place
            raise EngineError(f"{where} does not see {unseen}; masks and results must be on disks that workers share")
    os.chdir(home)
    if stages:
        name_attempt(f"{where} {os.getpid()}")
    start = time.perf_counter()
    work, items = pickle.loads(packed)
    answers = []
    for index, item in items:
        answers.append(message := answer(work, index, item))
        if isinstance(pickle.loads(message)[1], Failure):
            break
    return answers, time.perf_counter() - start


def count_slots(executor: Any) -> int:
    """How many tasks an executor does at a time."""
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "ncores"):
        try:
            return max(1, int(sum(client.ncores().values())))
        except Exception as error:
            raise _lost_engine(error) from error
    return max(1, int(getattr(executor, "_max_workers", 0) or os.cpu_count() or 1))


# -- Dask ---------------------------------------------------------------------------------------------


@contextmanager
def open_engine(engine: str, jobs: int) -> Iterator[Executor | None]:
    """The executor of ``processes`` (none: processes of our own), ``dask`` (a local cluster), or a scheduler's address.

    A local cluster listens on the loopback alone, without a dashboard, and ends with the block.
    """
    if engine == "processes":
        yield None
        return
    if engine != "dask" and "://" not in engine:
        raise CallError(
            f"engine is processes, dask, or the address of a Dask scheduler, tcp://host:8786; got {engine!r}"
        )
    if jobs < 1:
        raise CallError(f"jobs must be at least 1; got {jobs}")
    try:
        import dask
        import distributed
    except ImportError as error:
        raise InputError("--engine dask needs the package distributed: pip install manytruths[dask]") from error
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": f"{PATIENCE}s"}))
        stack.enter_context(_silence("distributed"))
        address = engine if engine != "dask" else stack.enter_context(_local_cluster(jobs))
        try:
            connect: Any = distributed.Client
            client = stack.enter_context(connect(address, timeout=PATIENCE, set_as_default=False))
            threads = _wait_for_threads(client)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            said = " ".join(str(error).split())[:200]
            if isinstance(error, TypeError) and engine.startswith("tls:"):
                raise EngineError(
                    f"{engine} wants certificates ({said}); name them in Dask's configuration (distributed.comm.tls)"
                ) from error
            raise EngineError(
                f"no Dask scheduler answers at {engine} ({said}); start one with dask scheduler"
            ) from error
        if not threads:
            raise EngineError(f"the Dask scheduler at {engine} has no workers; start some with dask worker {engine}")
        if engine != "dask" and (several := [where for where, count in threads.items() if count > 1]):
            raise EngineError(f"worker {several[0]} has several threads; start workers with --nthreads 1")
        yield client.get_executor(pure=False)


def _wait_for_threads(client: Any) -> dict[str, int]:
    """How many threads each worker has, as soon as there is one: those that were seen before may have ended."""
    until = time.monotonic() + STARTING
    while True:
        threads: dict[str, int] = client.nthreads()
        if threads or time.monotonic() > until:
            return threads
        time.sleep(0.05)


@contextmanager
def _local_cluster(jobs: int) -> Iterator[Any]:
    import dask
    import distributed

    settings = {
        # who retries, and how often, is decided here
        "distributed.scheduler.allowed-failures": 0,
        "distributed.logging.distributed": "critical",
        "distributed.admin.tick.limit": "1h",
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.pause": False,
    }
    make: Any = distributed.LocalCluster
    with dask.config.set(settings), make(
        n_workers=jobs, threads_per_worker=1, host="127.0.0.1", memory_limit=0, silence_logs=logging.CRITICAL,
        # any free port of the loopback, where only the state of the cluster is served
        dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False}, worker_dashboard_address=None,
    ) as cluster:  # fmt: skip
        yield cluster


@contextmanager
def _silence(name: str) -> Iterator[None]:
    """Workers that come and go are dealt with here; Dask, whose loggers have levels of their own, need not tell."""
    names = [other for other in logging.root.manager.loggerDict if f"{other}.".startswith(f"{name}.")]
    before = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in before:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)
