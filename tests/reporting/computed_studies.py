"""Studies whose methods are told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import manytruths as mt
from manytruths import rank_scores, simulate_study
from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.agree.case import MapOptions
from manytruths.analyses.evaluate.evaluate import compute_evaluation
from manytruths.analyses.evaluate.marks import EvaluatePlan
from manytruths.analyses.evaluate.mask_scores import scores_of
from manytruths.analyses.fuse.case import FusePlan
from manytruths.analyses.fuse.fuse import compute_fusion
from manytruths.analyses.plan.plan import compute_plan
from manytruths.analyses.plan.topics import PlanSettings
from manytruths.analyses.rank.rank import tabulate_ranking
from manytruths.analyses.tables import Settings
from manytruths.io import write_csv, write_map
from manytruths.reporting.elements import Beside, PageTable, Paragraphs, Section, Text
from manytruths.reporting.findings import FileRead, Findings
from manytruths.reporting.sections import computation

SETTINGS = Settings()


def masks(cases=12, raters=3, size=12, **empty):
    """Discs that differ by a column, in every case; cases named in ``empty`` have nothing."""
    base = np.zeros((size, size), np.uint8)
    base[3:9, 3:8] = 1
    study = {}
    for c in range(cases):
        name = f"p{c + 1:02}"
        drawn = [np.roll(base, (c % 3, (r * (1 + c % 2)) % 3), (0, 1)) for r in range(raters)]
        study[name] = {chr(65 + r): drawn[r] * (name not in empty) for r in range(raters)}
    return study


def findings(study, methods=("vote:0.5",), **more) -> Findings:
    made = mt.Study.from_arrays(study, **more) if isinstance(study, dict) else study
    agreement = compute_agreement(made, settings=SETTINGS)
    fusion = compute_fusion(made, FusePlan(methods, {}, None), settings=SETTINGS)
    return Findings(made, SETTINGS, agreement, fusion, seconds={"agreement": 1.25})


def blocks(section: Section):
    for block in section.blocks:
        yield from block.blocks if isinstance(block, Beside) else (block,)


def block(found: Findings, name: str):
    return next(b for b in blocks(computation.section(found)) if getattr(b, "name", "") == name)


def methods(found: Findings) -> str:
    return block(found, "methods").text


def said(found: Findings) -> str:
    """Every word of the section."""
    parts = []
    for one in blocks(computation.section(found)):
        if isinstance(one, Text):
            parts.append(one.text)
        elif isinstance(one, PageTable):
            parts += [one.note, *(cell.shown + cell.why for row in one.rows for cell in row)]
        elif isinstance(one, Paragraphs):
            parts += [str(sentence) for sentence in one.sentences]
    return "\n".join(parts)


STUDIES: dict[str, Callable[[], Findings]] = {
    "two": lambda: findings(masks(raters=2)),
    "three": lambda: findings(masks(), ("vote:any", "staple", "simple", "plurality", "excl:0.5", "lsml", "lsmlp")),
    "exchangeable": lambda: findings(masks(), raters="exchangeable"),
    "few": lambda: findings(masks(cases=3)),
    "empty": lambda: findings(masks(cases=2, p01=0, p02=0)),
    "union": lambda: findings(masks(), region="modified_background"),
    "labels": lambda: findings(
        {c: {r: m * (1 + (int(c[1:]) % 2)) for r, m in by.items()} for c, by in masks().items()}
    ),
}


@cache
def computed(name: str) -> Findings:
    """What was found in one of the studies."""
    return STUDIES[name]()


def simulated_findings(home: Path) -> Findings:
    """The demo's study, small, with everything that a report is made of."""
    simulated = simulate_study(12, 64, 3)
    files = []
    for one in simulated:
        for (rater, session), marking in one.readings.items():
            path = home / "masks" / rater / session / f"{one.name}.png"
            write_map(path, marking.mask.astype(np.uint8))
            content = path.read_bytes()
            files.append(FileRead(str(path), "mask", one.name, len(content), hashlib.sha256(content).hexdigest()))
        for algorithm, mask in one.predictions.items():
            write_map(home / "predictions" / algorithm / f"{one.name}.png", mask.astype(np.uint8))
    write_csv(home / "cases.csv", [(n, simulated.subjects[n], simulated.groups[n]) for n in simulated.names],
              ("case", "subject", "histology"))  # fmt: skip
    write_csv(home / "raters.csv", [(r.name, r.expertise) for r in simulated.raters], ("rater", "expertise"))
    study = mt.Study.open(
        str(home / "masks/{rater}/{session}/{case}.png"),
        predictions=str(home / "predictions/{algorithm}/{case}.png"),
        cases=str(home / "cases.csv"),
        raters=str(home / "raters.csv"),
    )
    agreement = compute_agreement(study, settings=SETTINGS, plan=MapOptions(measured=True))
    fusion = compute_fusion(study, FusePlan(("vote:0.5", "staple"), {}, None), settings=SETTINGS)
    evaluation = compute_evaluation(study, EvaluatePlan(("vote:0.5", "staple")), settings=SETTINGS)
    ranking = tabulate_ranking(rank_scores(scores_of(evaluation.mask_scores.parts[0]), resamples=50))
    planned = compute_plan(PlanSettings(resamples=20), agreement.tallies)
    return Findings(study, SETTINGS, agreement, fusion, evaluation, ranking, planned, files=tuple(files))
