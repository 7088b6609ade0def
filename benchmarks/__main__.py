"""``python -m benchmarks [--json FILE] [JOB …]``: every job at its real size.

Wrong answers fail, missed figures are printed. With ``--json`` the results of each job are kept in a file, beside those
of jobs that ran before: :mod:`benchmarks.page` makes the page of it.
"""

from __future__ import annotations

import argparse
import traceback
from pathlib import Path

from . import (
    adjudication,
    audit,
    boundaries,
    consensus,
    engine,
    evaluation,
    foundation,
    intraclass,
    learning,
    lesions,
    many,
    next_reads,
    outlines,
    polygons,
    probabilistic,
    progress,
    ranking,
    reliability,
    report,
    scaling,
    sizes,
    surfaces,
)
from .results import Run

JOBS = (
    foundation.JOBS
    | consensus.JOBS
    | evaluation.JOBS
    | surfaces.JOBS
    | sizes.JOBS
    | boundaries.JOBS
    | lesions.JOBS
    | ranking.JOBS
    | reliability.JOBS
    | intraclass.JOBS
    | report.JOBS
    | learning.JOBS
    | polygons.JOBS
    | engine.JOBS
    | many.JOBS
    | scaling.JOBS
    | outlines.JOBS
    | adjudication.JOBS
    | audit.JOBS
    | probabilistic.JOBS
    | progress.JOBS
    | next_reads.JOBS
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("jobs", nargs="*", metavar="JOB")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.jobs) - set(JOBS))
    if unknown:
        parser.error(f"no job {', '.join(unknown)}; there are {', '.join(JOBS)}")
    missed, failed = 0, list[str]()
    for name in chosen.jobs or list(JOBS):
        run = Run()
        try:
            for result in JOBS[name]():
                print(result, flush=True)
                run.results.append(result)
                missed += not result.met
        except Exception:
            # the others still run: all of them take most of an hour
            traceback.print_exc()
            failed.append(name)
            continue
        if chosen.json:
            run.keep(chosen.json, name)
    print("every figure met" if not missed else f"{missed} missed")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
