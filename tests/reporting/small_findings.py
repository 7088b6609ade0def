"""Findings of small studies in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from manytruths import ManytruthsError, Study
from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.agree.case import MapOptions
from manytruths.analyses.fuse.case import FusePlan
from manytruths.analyses.fuse.fuse import compute_fusion
from manytruths.analyses.plan.plan import compute_plan
from manytruths.analyses.plan.topics import PlanSettings
from manytruths.analyses.tables import Settings
from manytruths.claims.sentences import Cell, plain_text
from manytruths.reporting.elements import Beside, Cases, PageTable, Paragraphs, Section
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections import summary

METHODS = ("vote:0.5", "staple")


def findings(cases: Any, methods: tuple[str, ...] = METHODS, **options: Any) -> Findings:
    """Everything but predictions, with a plan of few resamples."""
    study, settings = Study.from_arrays(cases, **options), Settings()
    agreement = compute_agreement(study, settings=settings, plan=MapOptions(measured=False))
    fusion = compute_fusion(study, FusePlan(methods, {}, None), settings=settings)
    try:
        pilot = agreement.tallies.map(lambda t: t.foreground().restrict("union"))
        planned = compute_plan(PlanSettings(resamples=60), pilot, item=agreement.pixel_word)
    except ManytruthsError:
        planned = None
    return Findings(study, settings, agreement, fusion, plan=planned)


def discs(count: int = 12, raters: str = "ABCDE", size: int = 24, seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    """A disc a case; the last rater draws a bar on one side of it, which is no shifted disc."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size]
    cases = {}
    for k in range(count):
        radius = {r: 5 + rng.integers(0, 2) for r in raters}
        masks = {r: ((y - 11) ** 2 + (x - 11) ** 2 < radius[r] ** 2) for r in raters}
        if len(raters) > 2:
            along, across = (y, x) if k % 2 else (x, y)
            masks[raters[-1]] = (abs(along - (16 if k % 4 < 2 else 6)) < radius[raters[-1]] - 2) & (
                abs(across - 11) < 8
            )
        cases[f"p{k + 1:02}"] = {r: m.astype(np.uint8) for r, m in masks.items()}
    return cases


def tables(section: Section) -> dict[str, PageTable]:
    """Every table of a section by its name."""
    found: dict[str, PageTable] = {}
    todo = list(section.blocks)
    for block in todo:
        if isinstance(block, Beside):
            todo += block.blocks
        elif isinstance(block, Cases):
            todo.append(block.table)
        elif isinstance(block, PageTable):
            found[block.name] = block
    return found


def cells(section: Section) -> list[Cell]:
    """Every cell of a section."""
    sentences = [*section.lead, *(s for b in section.blocks if isinstance(b, Paragraphs) for s in b.sentences)]
    found = [part for sentence in sentences for part in sentence if isinstance(part, Cell)]
    return found + [cell for table in tables(section).values() for row in table.rows for cell in row]


def lead(section: Section) -> str:
    """Its first sentences as text."""
    return " ".join(map(plain_text, section.lead))


def listed(section: Section, title: str) -> list[str]:
    """The sentences of a list."""
    blocks = [b for b in section.blocks if isinstance(b, Paragraphs) and b.title == title]
    return [plain_text(s) for b in blocks for s in b.sentences]


def mapped(change: Any, count: int = 12, who: str = "ABCDE") -> dict[str, dict[str, np.ndarray]]:
    """Discs that are changed by rater, case and mask."""
    return {case: {r: change(r, case, m) for r, m in own.items()} for case, own in discs(count, who).items()}


def steps(found: Findings) -> list[str]:
    """What to do next."""
    return listed(summary.section(found), "What to do next")


def to_know(found: Findings) -> list[str]:
    """Notes at the end of the first part."""
    return listed(summary.section(found), "Notes")
