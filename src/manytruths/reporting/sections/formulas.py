"""The formula of every statistic, by its name in the files, and the references of the methods.

``formulas.csv`` has a line for each formula. Names that mean something else in another file are prefixed by that file's
name. Suffixes that change what a statistic is about, but not its formula, have entries of their own.
``references.bib`` has the references: ``[Fleiss 1971]`` in a text cites the key ``Fleiss1971``.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import manytruths

from ...claims.numbers import has_interval
from ...fusion.registry import estimator
from ..building import text_table
from ..elements import PageTable
from ..findings import Findings


@dataclass(frozen=True)
class Formula:
    """The formula of a statistic."""

    of: str
    """What the statistic describes: all raters, a case, an algorithm, …"""
    title: str
    formula: str
    meaning: str
    undefined: str = ""
    """When the statistic is undefined; empty where it never is."""
    cited: tuple[str, ...] = ()


def _read_formulas() -> dict[str, Formula]:
    with Path(__file__).with_name("formulas.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {
        name: Formula(of, title, formula, meaning, undefined, tuple(filter(None, cited.split("; "))))
        for name, of, title, formula, meaning, undefined, cited in rows
    }


FORMULAS = _read_formulas()
"""By name."""
SUFFIXES = {
    "_over_raters": "over_raters",
    "_over_both": "over_both",
    "_modified_background": "modified_background",
    "_both_marked": "both_marked",
    "_failed_cases": "failed_cases",
    "_without_failures": "without_failures",
    "_failures": "failures",
    "_against_others": "against_others",
    "_without_condition_1": "without_conditions",
    "_without_conditions_1_2": "without_conditions",
}
ALIKE = {"detection_curve": "detection", "reference_sizes": "sizes"}
"""Tables whose statistics have the names and formulas of another."""
NUMBERED = re.compile(r"(?<=found_by|centroid)_\d+$")
"""Numbers of raters and axes that names end in."""
OF_GROUPS = {
    "_difference": "group_difference",
    "_p_value": "group_permutation_p",
    "_p_holm": "group_permutation_p_holm",
    "_arrangements": "group_arrangements",
}
"""Suffixes of ``groups.csv``."""
NOTATION = (
    "R raters; m of them rated a pixel (voxel), A marked it, nⱼ gave it label j; pⱼ mean of nⱼ/m; L labels; "
    "D mean over pixels with m ≥ 2 of the share of pairs of raters who disagree, 1 − Σ nⱼ(nⱼ − 1) / (m(m − 1)). "
    "Of two masks, a pixels are marked by both, b by the first only, c by the second only, d by neither."
)


def used_formulas(findings: Findings) -> dict[str, Formula]:
    """The formulas of every statistic with a value, and of the methods that were run, by name."""
    met = set(_computed_names(findings))
    if not findings.counts.jackknifed:
        met.discard("over_raters")
    both = (row for row in findings.table("agree/agreement").rows if row.statistic.endswith("_over_both"))
    if not any(map(has_interval, both)):
        met.discard("over_both")
    return {name: formula for name, formula in FORMULAS.items() if name in met}


def _computed_names(findings: Findings) -> Iterator[str]:
    for index in findings.tables.values():
        for statistic in {row.statistic for row in index.rows if not math.isnan(row.value)}:
            yield from formula_names(index.table.name, statistic)
    methods = [*findings.fusion.methods, *(findings.evaluation.plan.consensus if findings.evaluation else ())]
    used = {f"method.{estimator(method)[0].name}" for method in methods}
    if "method.staple" in used and next(iter(findings.agreement.tallies.values())).labels.several:
        used.add("method.staple_labels")
    yield from used


def formula_names(table: str, statistic: str) -> list[str]:
    """The names of the formulas of a statistic: its own, and that of its suffix."""
    table, statistic = ALIKE.get(table, table), NUMBERED.sub("", statistic)
    prefixed = f"{table}.{statistic}"
    if prefixed in FORMULAS:
        return [prefixed]
    of_groups = OF_GROUPS if table == "groups" and statistic not in FORMULAS else {}
    for suffix, meaning in (SUFFIXES | of_groups).items():
        if statistic.endswith(suffix):
            return [meaning, *formula_names(table, statistic.removesuffix(suffix))]
    return [statistic] if statistic in FORMULAS else []


def formula_table(findings: Findings) -> PageTable:
    """The table of every formula that is used."""
    heads = ("Number", "Of", "Formula", "What it means", "Undefined where", "Reference")
    rows = [
        (formula.title, formula.of, formula.formula, formula.meaning, formula.undefined or "never",
         "; ".join(formula.cited))
        for formula in used_formulas(findings).values()
    ]  # fmt: skip
    return text_table("formulas", "Formulas", heads, rows, NOTATION, filter=True, closed=True)


# --- references

SOFTWARE = "manytruths"
CITATION = re.compile(r" \[([^\[\]]+)\]")


def _read_references() -> dict[str, str]:
    """The entries of the BibTeX file by how a text cites them: name and year."""
    text = Path(__file__).with_name("references.bib").read_text(encoding="utf-8")
    entries = text.replace("VERSION", manytruths.__version__).strip().split("\n\n")
    keys = (re.findall(r"@\w+\{(.+?)(\d{4})?,\n", entry)[0] for entry in entries)
    return {" ".join(filter(None, key)): entry for key, entry in zip(keys, entries, strict=True)}


REFERENCES = _read_references()


def cite(*cited: str) -> str:
    """The citation that follows a name: `` [Fleiss 1971; Gwet 2008]``; empty without references."""
    unknown = [reference for reference in cited if reference not in REFERENCES]
    assert not unknown, f"cited in formulas.csv, without an entry in references.bib: {', '.join(unknown)}"
    return f" [{'; '.join(dict.fromkeys(cited))}]" if cited else ""


def cited_in(text: str) -> list[str]:
    """The references that a text cites, each once, in order of appearance."""
    citations = [reference for group in CITATION.findall(text) for reference in group.split("; ")]
    return list(dict.fromkeys(reference for reference in citations if reference in REFERENCES))


def cite_once(text: str) -> str:
    """The text with every reference cited only where it first appears."""
    earlier: set[str] = set()

    def first(group: re.Match[str]) -> str:
        cited = group[1].split("; ")
        if not all(reference in REFERENCES for reference in cited):
            return group[0]
        fresh = [reference for reference in cited if reference not in earlier]
        earlier.update(fresh)
        return cite(*fresh)

    return CITATION.sub(first, text)


def bibliography(cited: Iterable[str]) -> str:
    """The entries of the cited references by key, the software last."""
    return "\n\n".join(REFERENCES[reference] for reference in sorted(set(cited))) + "\n"
