"""Consensus methods and other reference standards: their names, what they do, and how far they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ...claims.consensus import HALF as HALF
from ...claims.consensus import INTERSECTION as INTERSECTION
from ...claims.consensus import UNION as UNION
from ...claims.consensus import half_vote, percentage
from ...claims.consensus import method_name as method_name
from ...claims.numbers import is_defined
from ...claims.sentences import Cell, text_cell
from ...fusion.registry import estimator
from ...io.result_tables import Row
from ...study import Study
from ..findings import Findings
from .formulas import cite

METHOD_HELP = {
    "excl": "leaves out outliers, then takes a vote",
    "staple": "weights raters by their estimated error rates: it estimates how probable a mark is from these rates, "
    "and the rates from the probabilities, in turn, as if errors were independent of each other",
    "staple_map": "STAPLE with a prior for equal labels of neighbouring pixels",
    "simple": "takes a weighted vote, and drops raters who do not fit it, step by step",
    "plurality": "gives each pixel the label that most raters gave it",
    "lesions": "keeps the lesions that enough raters found, and draws each as those who found it voted",
    "adjudicated": "is the base that the rule of the adjudication names, with what adjudicators chose or drew for each "
    "dispute that they settled; it is made of the raters' own marks",
    "lsml": "STAPLE with a smooth outline",
    "lsmlp": "STAPLE with an outline as detailed as the raters' outlines",
}
PRIORS = {
    "prevalence": "prior: mean share of votes",
    "marked": "prior: share of {item}s that any rater marked",
    "estimated": "prior estimated as well",
}


def method_help(method: str, raters: int = 0) -> str:
    """What a consensus method does, in a line."""
    name, _, rest = method.partition(":")
    if name != "vote":
        return METHOD_HELP.get(name, "")
    if method_name(method, raters) == UNION:
        return "marks what any rater marked"
    if rest in ("", "0.5"):
        return f"marks what at least half of the raters marked{'' if raters % 2 else '; a tie counts as marked'}"
    return (
        "marks only what every rater marked"
        if rest == "all"
        else f"marks what at least {percentage(rest)} of them marked"
    )


def method_sentence(method: str, raters: int) -> str:
    """The name of a method, its name in the tables, and what it does."""
    name, line = as_title(method_name(method, raters)), method_help(method, raters)
    return f"{name}, in the files {method}{': ' if line else ''}{line}."


def as_title(name: str) -> str:
    """With a capital letter, and without article: ``Majority vote``."""
    name = name.removeprefix("the ")
    return name[:1].upper() + name[1:]


def given_references(study: Study) -> list[str]:
    """Names of the reference standards that were given with the study."""
    return list(dict.fromkeys(column.name for case in study for column in case.references))


def consensus_methods(findings: Findings) -> list[str]:
    """The consensus methods that are shown or that algorithms are judged by."""
    judged = findings.evaluation.plan.consensus if findings.evaluation else ()
    return list(dict.fromkeys([*findings.fusion.methods, *judged]))


def standard_name(findings: Findings, name: str) -> str:
    """The name of a reference standard in a sentence; raters and given standards keep their names."""
    if name in given_references(findings.study) or name in findings.study.rater_names:
        return name
    return method_name(name, len(findings.study.rater_names)) if name in consensus_methods(findings) else name


def standard_cell(findings: Findings, name: str) -> Cell:
    """The name of a consensus, with a tooltip that says what the method does."""
    return text_cell(as_title(standard_name(findings, name)), why=method_help(name, len(findings.study.rater_names)))


@dataclass(frozen=True)
class StandardPair:
    """Two reference standards, and the mean of their Dice."""

    names: str
    row: Row
    several: bool
    """Whether other pairs are closer."""
    over: str
    """``over 11 of 14 cases``, after a blank, where that is not all of them; else empty."""


def most_different(findings: Findings) -> StandardPair | None:
    """The two consensus methods that differ most.

    None with fewer than two, where nothing was marked, or where their overlap is known beforehand.
    """
    table = findings.table("fuse/differences")
    rows = list(filter(is_defined, (table.row("dice", "mean", *pair) for pair in method_pairs(findings))))
    if not rows:
        return None
    least = min(rows, key=lambda r: r.value)
    first, second = map(str, least.extra)
    if findings.fusion.same_masks.tells_nothing(first, second):
        return None
    names = f"{standard_name(findings, first)} and {standard_name(findings, second)}"
    return StandardPair(names, least, len(rows) > 1, over_some(findings, least))


def over_some(findings: Findings, row: Row) -> str:
    """`` over 11 of 14 cases``; empty where a mean is over all subjects."""
    subjects = len(findings.study.subjects)
    return f" over {row.n} of {subjects} {findings.subject_word}s" if row.n is not None and row.n < subjects else ""


def size_word(findings: Findings) -> str:
    """``area``, or ``volume`` of volumes."""
    return "area" if findings.pixel_word == "pixel" else "volume"


def with_interval(findings: Findings, *, shown: bool) -> str:
    """``, with its 95% CI`` where a column shows any."""
    return f", with its {findings.interval_name}" if shown else ""


def method_pairs(findings: Findings) -> list[tuple[str, str]]:
    """All pairs of the consensus methods that are shown."""
    return list(combinations(findings.fusion.methods, 2))


def method_options(findings: Findings, method: str) -> dict[str, Any]:
    """The options of a consensus method that were given."""
    chosen, given = estimator(method)
    asked = {**findings.options.get(chosen.name, {}), **given}
    return {name: value for name, value in asked.items() if value is not None}


def cite_method(findings: Findings, method: str, item: str) -> str:
    """A consensus method for a methods section, with its options and citation."""
    name, options = estimator(method)[0].name, method_options(findings, method)
    threshold, length = options.get("threshold", 0.5), options.get("length_penalty", 2.0)
    texts = {
        "vote": _describe_vote(threshold, len(findings.study.rater_names)),
        "excl": f"a vote at {threshold} without outliers" + cite("Lampert 2016"),
        "plurality": "plurality (the label given most often)",
        "staple": f"STAPLE{cite('Warfield 2004')} ({describe_staple(options, item)})",
        "staple_map": f"STAPLE{cite('Warfield 2004')} ({describe_staple(options, item)})",
        "simple": f"SIMPLE{cite('Langerak 2010')} (α = {options.get('alpha', 1.5):g})",
        "lesions": f"a vote on lesions (kept if found by a share of at least {threshold} of the raters, and drawn as "
        "at least half of those who found them did)",
        "adjudicated": "the adjudicated reference standard",
        "lsml": f"the level set LSML{cite('Li 2011')} (λ = {length:g})",
        "lsmlp": f"the level set LSMLP, a variant of a published one{cite('Li 2011')} (λ = {length:g})",
    }
    return texts.get(name, method)


def _describe_vote(threshold: float | str, raters: int) -> str:
    if threshold == "any":
        return "the union of the markings"
    if threshold == "all" or threshold == 1:
        return "the intersection of the markings"
    if threshold == 0.5:
        named = {UNION: "the union of the markings", HALF: "a vote"}.get(half_vote(raters), "majority vote")
        return named if raters == 2 else f"{named} (marked by at least half of the raters)"
    return f"a vote (marked by a share of at least {threshold} of the raters)"


def describe_staple(options: Mapping[str, Any], item: str) -> str:
    """The options of STAPLE in words, with their citations."""
    prior = options.get("prior", "prevalence")
    text = PRIORS[prior].format(item=item) if isinstance(prior, str) else f"prior: {_format_number(prior)}"
    parts = [text + (cite("Dawid 1979") if prior == "estimated" else "")]
    if options.get("unanimous") == "exclude":
        parts.append(f"without {item}s on which all agree" + cite("Commowick 2012"))
    if options.get("map_prior"):
        parts.append(f"Beta prior {_format_number(options['map_prior'])} on the rates" + cite("Commowick 2010"))
    if options.get("smoothing"):
        parts.append(f"Potts smoothing, β = {options['smoothing']:g}" + cite("Zhang 1992"))
    if options.get("like") == "itk":
        parts.append("as in ITK")
    return ", ".join(parts)


def _format_number(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:g}"
    return "(" + ", ".join(f"{v:g}" for v in value) + ")" if isinstance(value, tuple | list) else "a map"
