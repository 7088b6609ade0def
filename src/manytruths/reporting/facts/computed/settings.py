"""What was asked for: the options of the study, of the reference standards, of the evaluation; versions."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import manytruths

from ....analyses.evaluate.verb import Evaluation
from ....analyses.summaries import region_of
from ....core.labels import Labels
from ....study.options import PATHS
from ...findings import Findings
from ...parts import Column, PageTable, text_cell
from ..standards import method_options
from ..wording import SCALES, join_names, subject_word
from .counts import StudyCounts

Line = tuple[str, str, str]
"""Part, setting, value."""

MISSING = {
    "worst": "a missing prediction counts as the worst score there is",
    "exclude": "a case without a prediction is left out for all algorithms",
}


def versions_table(findings: Findings) -> PageTable:
    """Of what computed it."""
    rows = [("manytruths", manytruths.__version__), ("Python", platform.python_version())]
    rows += [(title, version(name)) for title, name in (("NumPy", "numpy"), ("SciPy", "scipy"), ("Pillow", "pillow"))]
    rows += [("Platform", f"{platform.system()}, {platform.machine()}")]
    same = "data, options, key of codes and versions" if findings.coded else "data, options and versions"
    note = f"The same {same} give the same page; when it was made, and how long it took, stands in run.json."
    return _text_table("versions", "Versions", ("Software", "Version"), rows, note)


def settings_table(findings: Findings) -> PageTable:
    """Everything that numbers depend on."""
    rows = [*_study_settings(findings), *_resampling_settings(findings), *_consensus_settings(findings)]
    if findings.evaluation is not None:
        rows += _evaluation_settings(findings, findings.evaluation)
    rows += [*_ranking_settings(findings), *_plan_settings(findings)]
    note = "What is not listed was left at its default."
    if findings.coded:
        note += " Names were replaced by codes, so that paths are not shown."
    return _text_table("settings", "Settings", ("Part", "Setting", "Value"), rows, note)


def _text_table(name: str, title: str, heads: tuple[str, ...], rows: list[Any], note: str = "") -> PageTable:
    columns = tuple(Column(head, number=False) for head in heads)
    return PageTable(name, title, columns, tuple(tuple(text_cell(cell) for cell in row) for row in rows), note)


def _study_settings(findings: Findings) -> Iterator[Line]:
    options, part = findings.study.options, "study"
    yield part, "region (what is counted)", region_of(findings.agreement.tallies)
    tables = findings.agreement.tallies.values()
    yield part, "labels", ", ".join(next(iter(tables)).labels.describe())
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in ("region", "labels") or not value or value == field.default:
            continue
        yield part, field.name, _value_text(findings, field.name, value)
    if not options.masks:
        yield part, "masks", "arrays in memory"


def _value_text(findings: Findings, name: str, value: Any) -> str:
    if name in PATHS:
        return "given" if findings.coded else str(value)
    if name == "exclude":
        masks = sum(map(len, value.values()))
        named = "; ".join(f"{rater}: {', '.join(cases)}" for rater, cases in value.items())
        return f"{masks} mask{'' if masks == 1 else 's'}" if findings.coded else named
    if isinstance(value, Labels):
        return ", ".join(value.describe())
    if isinstance(value, bool):
        return "yes"
    return ", ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(value)


def _resampling_settings(findings: Findings) -> Iterator[Line]:
    own, part = findings.settings, "intervals"
    drawn = f"bias-corrected and accelerated, {own.resamples:,} resamples"
    none = f"none: too few {subject_word(findings)}s have a value"
    yield part, f"bootstrap over {subject_word(findings)}s", drawn if StudyCounts(findings).resampled else none
    yield part, "level", f"{own.level:.0%}"
    yield part, "seed", str(own.seed)
    yield "words", "scale for kappa", SCALES.get(own.scale, own.scale)
    if own.without:
        yield "means", "also without groups", ", ".join(own.without)


def _consensus_settings(findings: Findings) -> Iterator[Line]:
    for method in findings.fusion.methods:
        given = {k: v for k, v in method_options(findings, method).items() if method.partition(":")[2] != str(v)}
        text = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in given.items())
        yield "reference standard", method, text or "default options"


def tolerances(findings: Findings) -> list[str]:
    """Of surface Dice, by label, with the unit."""
    judged = findings.evaluation
    if judged is None or judged.hard is None or not judged.plan.distances:
        return []
    unit = "mm" if next(iter(judged.hard.parts[0].tallies.values())).unit else "pixels"
    parts = [p for p in judged.hard.parts if not math.isnan(p.tolerance)]
    return [f"{p.tolerance:.3g} {unit}" + (f" ({p.label})" if p.label else "") for p in parts]


def _evaluation_settings(findings: Findings, judged: Evaluation) -> Iterator[Line]:
    part = "evaluation"
    yield part, "algorithms", str(len(findings.study.algorithms))
    yield part, "reference standards", ", ".join(judged.plan.truths)
    yield part, "missing predictions", MISSING[judged.missing]
    if judged.plan.threshold is not None:
        yield part, "grey predictions cut at", f"{judged.plan.threshold:g}"
    if judged.hard is not None and judged.plan.distances:
        yield part, "surfaces", judged.plan.definition
        yield part, "tolerance of surface Dice", join_names(tolerances(findings)) or "none"
    if judged.grey is not None:
        low, high = judged.grey.skew
        yield part, "prevalences of P̄", f"{low:.3g} to {high:.3g}"
    if judged.plan.boundaries:
        yield part, "boundaries", f"{judged.plan.boundaries}, within {judged.plan.share:g} of the diagonal"


def _ranking_settings(findings: Findings) -> Iterator[Line]:
    if findings.ranking is None:
        return
    ranking, part = findings.ranking.ranking, "ranking"
    yield part, "scheme", ranking.scheme + (f" ({ranking.aggregate})" if ranking.scheme == "mean" else "")
    yield part, "metrics", ", ".join(ranking.metrics)
    yield part, "under", f"{len(ranking.truths)} raters and reference standards"
    drawn = f"{ranking.resamples:,}, {ranking.seed}"
    yield part, "resamples and seed", f"none: too few {subject_word(findings)}s" if ranking.overall.refusal else drawn
    yield part, "missing scores", str(findings.ranking.settings.missing)
    yield part, "level of tests", f"{ranking.alpha:g}, after Holm"


def _plan_settings(findings: Findings) -> Iterator[Line]:
    if findings.plan is not None:
        wish = findings.plan.wish
        yield "more raters", "panels up to", f"{wish.most} raters"
        yield "more raters", "enough when two more add less than", f"{wish.gain:g}"
        yield "more raters", "resamples and seed", f"{wish.resamples:,}, {wish.seed}"
