"""``python -m tests.golden make`` writes the numbers of today, ``compare`` says what differs from them."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from .commands import STUDIES
from .comparing import lines
from .running import compared, made, missing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("what", choices=["make", "compare"])
    parser.add_argument("names", nargs="*", metavar="NAMES", help=f"of {', '.join(STUDIES)}; all by default")
    parser.add_argument("--texts", action="store_true", help="compare sentences too: reasons, notes, answers")
    parser.add_argument("--at-once", type=int, default=2, help="studies that are computed at the same time")
    parser.add_argument("--times", action="store_true", help="print how long each command takes")
    asked = parser.parse_intermixed_args()
    if unknown := [name for name in asked.names if name not in STUDIES]:
        parser.error(f"no such study: {', '.join(unknown)}; there are {', '.join(STUDIES)}")

    def work(name: str) -> tuple[str, bool]:
        begun = time.monotonic()
        if lacking := missing(name):
            return f"{name}: no real data at {lacking}: set MANYTRUTHS_DATA to the folder that holds it", False
        if asked.what == "make":
            size = made(name, asked.times)
            return f"{name}: written, {size / 1024:.0f} KiB, {time.monotonic() - begun:.0f} s", True
        found = compared(name, asked.texts, asked.times)
        said = [*lines(found), f"{name}: {len(found) or 'no'} differences, {time.monotonic() - begun:.0f} s"]
        return "\n".join(said), not found

    good = True
    with ThreadPoolExecutor(asked.at_once) as pool:
        for said, same in pool.map(work, asked.names or STUDIES):
            print(said, flush=True)
            good &= same
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
