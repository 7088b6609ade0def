"""What was asked for: the options of the study, of the reference standards, of the evaluation; versions."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import manytruths

from ....analyses.evaluate.evaluate import Evaluation
from ....analyses.summaries import region_of
from ....core.labels import Labels
from ....study.options import PATHS
from ...findings import Findings
from ...parts import Column, PageTable, words
from ..standards import options_of
from ..wording import SCALES, listed, unit
from .counts import Counts

Line = tuple[str, str, str]
"""Part, setting, value."""

MISSING = {
    "worst": "a missing prediction counts as the worst score there is",
    "exclude": "a case without a prediction is left out for all algorithms",
}


def versions(found: Findings) -> PageTable:
    """Of what computed it."""
    rows = [("manytruths", manytruths.__version__), ("Python", platform.python_version())]
    rows += [(title, version(name)) for title, name in (("NumPy", "numpy"), ("SciPy", "scipy"), ("Pillow", "pillow"))]
    rows += [("Platform", f"{platform.system()}, {platform.machine()}")]
    same = "data, options, key of codes and versions" if found.coded else "data, options and versions"
    note = f"The same {same} give the same page; when it was made, and how long it took, stands in run.json."
    return _table("versions", "Versions", ("Software", "Version"), rows, note)


def settings(found: Findings) -> PageTable:
    """Everything that numbers depend on."""
    rows = [*_study(found), *_resampling(found), *_standards(found)]
    if found.evaluation is not None:
        rows += _evaluation(found, found.evaluation)
    rows += [*_ranking(found), *_plan(found)]
    note = "What is not listed was left at its default."
    if found.coded:
        note += " Names were replaced by codes, so that paths are not shown."
    return _table("settings", "Settings", ("Part", "Setting", "Value"), rows, note)


def _table(name: str, title: str, heads: tuple[str, ...], rows: list[Any], note: str = "") -> PageTable:
    columns = tuple(Column(head, number=False) for head in heads)
    return PageTable(name, title, columns, tuple(tuple(words(cell) for cell in row) for row in rows), note)


def _study(found: Findings) -> Iterator[Line]:
    options, part = found.study.options, "study"
    yield part, "region (what is counted)", region_of(found.agreement.tallies)
    tables = found.agreement.tallies.values()
    yield part, "labels", ", ".join(next(iter(tables)).labels.describe())
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in ("region", "labels") or not value or value == field.default:
            continue
        yield part, field.name, _shown(found, field.name, value)
    if not options.masks:
        yield part, "masks", "arrays in memory"


def _shown(found: Findings, name: str, value: Any) -> str:
    if name in PATHS:
        return "given" if found.coded else str(value)
    if name == "exclude":
        masks = sum(map(len, value.values()))
        named = "; ".join(f"{rater}: {', '.join(cases)}" for rater, cases in value.items())
        return f"{masks} mask{'' if masks == 1 else 's'}" if found.coded else named
    if isinstance(value, Labels):
        return ", ".join(value.describe())
    if isinstance(value, bool):
        return "yes"
    return ", ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(value)


def _resampling(found: Findings) -> Iterator[Line]:
    own, part = found.settings, "intervals"
    drawn = f"bias-corrected and accelerated, {own.resamples:,} resamples"
    none = f"none: too few {unit(found)}s have a value"
    yield part, f"bootstrap over {unit(found)}s", drawn if Counts(found).resampled else none
    yield part, "level", f"{own.level:.0%}"
    yield part, "seed", str(own.seed)
    yield "words", "scale for kappa", SCALES.get(own.scale, own.scale)
    if own.without:
        yield "means", "also without groups", ", ".join(own.without)


def _standards(found: Findings) -> Iterator[Line]:
    for method in found.fusion.methods:
        given = {k: v for k, v in options_of(found, method).items() if method.partition(":")[2] != str(v)}
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in given.items())
        yield "reference standard", method, told or "default options"


def tolerances(found: Findings) -> list[str]:
    """Of surface Dice, by label, with the unit."""
    judged = found.evaluation
    if judged is None or judged.hard is None or not judged.plan.distances:
        return []
    unit = "mm" if next(iter(judged.hard.parts[0].tallies.values())).unit else "pixels"
    parts = [p for p in judged.hard.parts if not math.isnan(p.tolerance)]
    return [f"{p.tolerance:.3g} {unit}" + (f" ({p.label})" if p.label else "") for p in parts]


def _evaluation(found: Findings, judged: Evaluation) -> Iterator[Line]:
    part = "evaluation"
    yield part, "algorithms", str(len(found.study.algorithms))
    yield part, "reference standards", ", ".join(judged.plan.truths)
    yield part, "missing predictions", MISSING[judged.missing]
    if judged.plan.threshold is not None:
        yield part, "grey predictions cut at", f"{judged.plan.threshold:g}"
    if judged.hard is not None and judged.plan.distances:
        yield part, "surfaces", judged.plan.definition
        yield part, "tolerance of surface Dice", listed(tolerances(found)) or "none"
    if judged.grey is not None:
        low, high = judged.grey.skew
        yield part, "prevalences of P̄", f"{low:.3g} to {high:.3g}"
    if judged.plan.boundaries:
        yield part, "boundaries", f"{judged.plan.boundaries}, within {judged.plan.share:g} of the diagonal"


def _ranking(found: Findings) -> Iterator[Line]:
    if found.ranking is None:
        return
    ranking, part = found.ranking.ranking, "ranking"
    yield part, "scheme", ranking.scheme + (f" ({ranking.aggregate})" if ranking.scheme == "mean" else "")
    yield part, "metrics", ", ".join(ranking.metrics)
    yield part, "under", f"{len(ranking.truths)} raters and reference standards"
    drawn = f"{ranking.resamples:,}, {ranking.seed}"
    yield part, "resamples and seed", f"none: too few {unit(found)}s" if ranking.overall.refusal else drawn
    yield part, "missing scores", str(found.ranking.settings.missing)
    yield part, "level of tests", f"{ranking.alpha:g}, after Holm"


def _plan(found: Findings) -> Iterator[Line]:
    if found.plan is not None:
        settings = found.plan.settings
        yield "more raters", "panels up to", f"{settings.max_raters} raters"
        yield "more raters", "enough when two more add less than", f"{settings.gain:g}"
        yield "more raters", "resamples and seed", f"{settings.resamples:,}, {settings.seed}"
