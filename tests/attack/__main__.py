"""``python -m tests.attack --seed 0``: everything, with a table at the end and a status."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import local

if not __package__:
    sys.path.insert(0, str(Path(__file__).parents[2]))
    __package__ = "tests.attack"
    import tests.attack  # noqa: F401

from .inputs import catalogue
from .model import Failure
from .runner import Runner, repeat, table
from .signals import interruptions


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another seed, other damage and other moments")
    parser.add_argument("--only", default="", help="attacks whose name holds this")
    parser.add_argument("--keep", type=Path, help="a folder to keep inputs, results and what was printed in")
    parser.add_argument("--jobs", type=int, default=2, help="attacks at the same time")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    asked = parser.parse_args()
    chosen = [one for one in (*catalogue(), *interruptions(asked.seed)) if asked.only in one.name]
    if asked.list:
        print("\n".join(one.name for one in chosen))
        return 0
    with tempfile.TemporaryDirectory(prefix="manytruths-attack-") as folder:
        failures, counts = _run(chosen, asked.keep or Path(folder), asked.seed, bool(asked.keep), asked.jobs)
    print(table(counts))
    return 1 if failures else 0


def _run(chosen: list, folder: Path, seed: int, keep: bool, jobs: int) -> tuple[list[Failure], dict[str, Counter[str]]]:
    own, numbers, begun = local(), count(), time.monotonic()
    runners: list[Runner] = []

    def work(attack: object) -> list[Failure]:
        if not hasattr(own, "runner"):
            own.runner = Runner(folder / str(next(numbers)), seed, keep)
            runners.append(own.runner)
        return own.runner.attack(attack)

    failures: list[Failure] = []
    counts: dict[str, Counter[str]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for attack, found in zip(chosen, pool.map(work, chosen), strict=True):
            row = counts.setdefault(attack.family, Counter())
            row.update({"attacks": 1}, **Counter(failure.kind for failure in found))
            failures += found
            for failure in found:
                print(f"{failure.kind:10} {failure.attack} ({failure.command}): {failure.said}")
                print(f"           {repeat(failure.attack, seed)}", flush=True)
    for runner in runners:
        runner.close()
    print(f"{len(chosen)} attacks in {time.monotonic() - begun:.0f} s")
    return failures, counts


if __name__ == "__main__":
    sys.exit(main())
