"""``python -m benchmarks [JOB …]``: every job at its real size; wrong answers fail, missed figures are printed."""

from __future__ import annotations

import sys

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


def main(arguments: list[str]) -> None:
    missed = 0
    for name in arguments or list(JOBS):
        for result in JOBS[name]():
            print(result, flush=True)
            missed += not result.met
    print("every figure met" if not missed else f"{missed} missed")


if __name__ == "__main__":
    main(sys.argv[1:])
