"""Work in other processes: order, errors that do not travel well, processes that end."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from manytruths import FormatError, InputError, Study
from manytruths.core.errors import TooLarge
from manytruths.study.processes import Elsewhere, hold_signals, map_in_order


class Picky(Exception):
    """Pickles, and does not come back."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def doing(item, folder=None):
    """Squares, unless the item says otherwise."""
    if item == "allocate":
        return np.empty((1 << 40, 1 << 10))
    if item == "hidden":
        try:
            raise MemoryError
        except MemoryError:
            raise FormatError("x.png: does not fit") from None
    if item == "full":
        raise OSError(errno.ENOMEM, "Cannot allocate memory")
    if item == "picky":
        raise Picky("this", "that")
    if item == "local":
        return lambda: 0
    if item == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "leave":
        os._exit(3)
    if item == "wait":
        part = Path(folder) / f"{os.getpid()}"
        part.write_text("x")
        try:
            time.sleep(30)
        finally:
            part.unlink()
    if isinstance(item, Exception):
        raise item
    return item * item


def squares(items, jobs=2, **options):
    return list(map_in_order(partial(doing, **options), items, jobs, None))


@pytest.mark.parametrize("jobs", [1, 2, 3, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
def test_in_order(count, jobs):
    shown = []
    found = list(map_in_order(doing, list(range(count)), jobs, lambda *at: shown.append(at)))
    assert found == [i * i for i in range(count)]
    assert shown == [(i, count) for i in range(count + 1)]
    assert not active_children()


def test_large_results_and_items():
    items = [np.full(1 << 20, i, np.uint8) for i in range(12)]
    for result, item in zip(map_in_order(np.negative, items, 3, None), items, strict=True):
        assert (result == np.negative(item)).all()


def test_beside_a_thread():
    """No fork then."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert squares([1, 2, 3]) == [1, 4, 9]
        with pytest.raises(TooLarge, match="killed by signal 9"):
            squares([1, "die", 3])
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("item", ["allocate", "hidden", "full", MemoryError()], ids=str)
def test_too_little_memory(item, jobs):
    with pytest.raises(TooLarge, match=r"^does not fit into memory") as raised:
        squares([1, item, 2], jobs)
    assert isinstance(raised.value, MemoryError)
    assert not active_children()


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_size_of_a_case_is_told(jobs):
    study = Study.from_arrays({f"p{i}": np.zeros((3, 8, 9), np.uint8) for i in range(3)})
    with pytest.raises(TooLarge, match=r"^case p0: does not fit into memory") as raised:
        list(study.map(allocating, jobs=jobs))
    assert (raised.value.what, raised.value.pixels, raised.value.masks) == ("3 masks of 8×9", 72, 3)


def allocating(case):
    raise MemoryError


@pytest.mark.parametrize(
    ("item", "error", "told"),
    [
        ("die", TooLarge, "its process was killed by signal 9, probably for memory"),
        ("leave", InputError, "its process ended with status 3, without saying why; run it again with --jobs 1"),
    ],
)
def test_a_process_that_ends(item, error, told):
    """Memory is suspected only where the system would kill for it."""
    with pytest.raises(error, match=told):
        squares([1, item, *range(40)])
    assert not active_children()


def test_errors_that_do_not_travel():
    with pytest.raises(Elsewhere, match="Picky: this and that"):
        squares([1, "picky", 2])
    with pytest.raises(Exception, match=r"[Pp]ickle"):
        squares([1, "local", 2])


def test_errors_travel_with_their_traceback():
    with pytest.raises(FormatError, match=r"^x$") as raised:
        squares([FormatError("x"), 1])
    assert "in doing" in str(raised.value.__cause__)


def test_the_first_error_in_order():
    for _ in range(5):
        with pytest.raises(ValueError, match="first"):
            squares([1, 2, ValueError("first"), *range(30), ValueError("second")])


@pytest.mark.slow
def test_who_stops_asking_leaves_nobody_behind(tmp_path):
    found = map_in_order(partial(doing, folder=tmp_path), [2, *["wait"] * 8], 3, None)
    assert next(found) == 4
    for _ in range(500):
        if len(list(tmp_path.iterdir())) == 2:
            break
        time.sleep(0.01)
    found.close()
    assert not active_children()
    assert not list(tmp_path.iterdir()), "what was being written is cleared away"


def test_signals_wait_while_processes_are_started():
    reached = False
    try:
        with hold_signals():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)  # another thread of the process may get it, when it is its turn
            reached = True
    except KeyboardInterrupt:
        assert reached
    else:
        pytest.fail("the interrupt was lost")


def dying_at_first(item, folder, deaths):
    """Squares, after some processes have ended on the item."""
    before = len(list(Path(folder).glob(f"{item}-*")))
    if before < deaths.get(item, 0):
        (Path(folder) / f"{item}-{before}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("thread", [False, True])
def test_another_process_takes_the_place_of_one_that_ended(tmp_path, jobs, thread):
    over = threading.Event()
    if thread:
        threading.Thread(target=over.wait).start()
    try:
        work = partial(dying_at_first, folder=tmp_path, deaths={0: 2, 5: 1, 17: 2, 39: 1})
        assert list(map_in_order(work, range(40), jobs, None)) == [i * i for i in range(40)]
    finally:
        over.set()
    assert len(list(tmp_path.iterdir())) == 6
    assert not active_children()


def test_three_deaths_end_the_run(tmp_path):
    """Cases before it are done, and an error behind it does not come first."""
    work = partial(dying_at_first, folder=tmp_path, deaths={2: 1, 9: 3})
    shown = []
    with pytest.raises(TooLarge, match="killed by signal 9"):
        list(map_in_order(work, [*range(20), "x", *range(20)], 2, lambda done, _: shown.append(done)))
    assert shown[-1] == 9
    assert not active_children()
    assert len(list(tmp_path.glob("9-*"))) == 3
