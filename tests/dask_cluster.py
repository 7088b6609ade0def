"""A Dask cluster as it is run elsewhere: scheduler and workers are processes of their own, over TCP on the loopback."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path


class Cluster:
    """A scheduler and workers, each of which is started again when it ends."""

    def __init__(self, workers=2, threads=1, protocol="tcp"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"{protocol}://127.0.0.1:{free.getsockname()[1]}"
        # workers import what the tests define here
        paths = filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
        self._quiet, self._threads = quiet, str(threads)
        port = self.address.rpartition(":")[2]
        options = ["--protocol", protocol, "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
        self.scheduler = subprocess.Popen([sys.executable, "-m", "dask", "scheduler", *options], **quiet)
        self.workers = [self._worker() for _ in range(workers)]
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep)
        self._keeper.start()
        self.kills = 0

    def _worker(self):
        options = [
            "--nthreads",
            self._threads,
            "--no-nanny",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--memory-limit",
            "0",
        ]
        command = [sys.executable, "-m", "dask", "worker", self.address, *options]
        return subprocess.Popen(command, **self._quiet)

    def _keep(self):
        while not self._over.wait(0.05):
            self.workers = [w if w.poll() is None else self._worker() for w in self.workers]

    def kill_some(self, seed, times, pause):
        """Kill a worker at random moments, in a thread that ends by itself."""

        def kill():
            dice = random.Random(seed)
            for _ in range(times):
                if self._over.wait(dice.uniform(*pause)):
                    return
                with suppress(ProcessLookupError):
                    os.kill(dice.choice(self.workers).pid, signal.SIGKILL)
                self.kills += 1

        thread = threading.Thread(target=kill)
        thread.start()
        return thread

    def __enter__(self):
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            if self.workers:
                client.wait_for_workers(len(self.workers), timeout=60)
        return self

    def __exit__(self, *exc):
        self._over.set()
        self._keeper.join()
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def kill_worker(item, deadly, folder, times):
    """Squares; on the deadly item, the worker is killed, some times."""
    marks = Path(folder)
    if item == deadly and len(list(marks.iterdir())) < times:
        (marks / str(time.time_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return item * item


def keep_at_once():
    """From now on, this worker writes what it keeps for the next run after every case."""
    from manytruths.io import kept

    kept.SECONDS = 0
