"""The vocabulary of reference standards: what they are called, what each does, how a methods section names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...analyses.rows import Row
from ...fusion.registry import estimator
from ...study import Study
from ..findings import Findings
from ..parts import Cell, words
from .computed.references import cite
from .numbers import known, numbers

UNION, ALL = "what any rater marked (union)", "what all raters marked (intersection)"
MAJORITY, HALF = "the majority vote", "the vote of at least half"
"""Of an even number of raters, half of them is no majority."""
SPOKEN = {
    "excl": "the vote without outliers",
    "staple_map": "STAPLE with neighbours",
    "plurality": "the plurality",
}
DOES = {
    "excl": "leaves out raters who stand out from the others, then takes a vote",
    "staple": "weighs raters by how well each seems to do: it finds the likely reference standard from the raters' "
    "error rates, and the error rates from the likely reference standard, in turn",
    "staple_map": "does as STAPLE does, and prefers that neighbouring pixels are alike",
    "simple": "takes a weighted vote, and drops raters who do not fit it, step by step",
    "plurality": "gives each pixel the label that most raters gave it",
    "lsml": "does as STAPLE does, but looks for one smooth outline",
    "lsmlp": "does as STAPLE does, but looks for an outline with as much detail as the raters draw",
}
PRIORS = {
    "prevalence": "prior: mean share of votes",
    "marked": "prior: share of {item}s that any rater marked",
    "estimated": "prior estimated as well",
}


def called(method: str, raters: int = 0) -> str:
    """A method as one speaks of it; half of two raters are any of them."""
    name, _, rest = method.partition(":")
    if name != "vote":
        return SPOKEN.get(name, name.upper())
    told = {"": _half(raters), "0.5": _half(raters), "0.75": "the three-quarters vote", "any": UNION, "all": ALL}
    return told.get(rest) or f"the {_share(rest)} vote"


def _half(raters: int) -> str:
    """What a vote at one half is: a tie counts as marked."""
    if raters == 2:
        return UNION
    return MAJORITY if raters % 2 or not raters else HALF


def _share(text: str) -> str:
    try:
        return f"{100 * float(text):.3g}%"
    except ValueError:
        return text


def does(method: str, raters: int = 0) -> str:
    """What a method does, in a line."""
    name, _, rest = method.partition(":")
    if name != "vote":
        return DOES.get(name, "")
    if called(method, raters) == UNION:
        return "marks what any rater marked"
    if rest in ("", "0.5"):
        return f"marks what at least half of the raters marked{'' if raters % 2 else '; a tie counts as marked'}"
    return (
        "marks only what every rater marked" if rest == "all" else f"marks what at least {_share(rest)} of them marked"
    )


def described(method: str, raters: int) -> str:
    """Name, name in the tables, and what it does."""
    name, line = titled(called(method, raters)), does(method, raters)
    return f"{name}, in the files {method}{': ' if line else ''}{line}."


def titled(name: str) -> str:
    """With a capital, and without an article: ``Majority vote``."""
    name = name.removeprefix("the ")
    return name[:1].upper() + name[1:]


def given_references(study: Study) -> list[str]:
    """Names of reference standards that came with the study."""
    return list(dict.fromkeys(column.name for case in study for column in case.references))


def methods_of(found: Findings) -> list[str]:
    """What reference standards were made by, to look at or to judge algorithms by."""
    judged = found.evaluation.plan.truths if found.evaluation else ()
    return list(dict.fromkeys([*found.fusion.methods, *judged]))


def spoken(found: Findings, name: str) -> str:
    """A reference standard as one speaks of it; raters and given ones are called by their names."""
    if name in given_references(found.study) or name in found.study.rater_names:
        return name
    return called(name, len(found.study.rater_names)) if name in methods_of(found) else name


def standard_cell(found: Findings, name: str) -> Cell:
    """The name of a reference standard that was made of the raters, with what it does."""
    return words(titled(spoken(found, name)), why=does(name, len(found.study.rater_names)))


@dataclass(frozen=True)
class Pair:
    """Two reference standards, and the mean of their Dice."""

    names: str
    row: Row
    several: bool
    """Whether other pairs are closer."""


def furthest(found: Findings) -> Pair | None:
    """The two reference standards that differ most; None where there are no two, or nothing was marked."""
    rows = numbers(found, "fuse", "differences").all("dice", "mean")
    own = [r for r in rows if not r.group and {r["method_a"], r["method_b"]} <= set(found.fusion.methods) and known(r)]
    if not own:
        return None
    worst = min(own, key=lambda r: r.value)
    return Pair(
        " and ".join(spoken(found, str(method)) for method in (worst["method_a"], worst["method_b"])),
        worst,
        len(own) > 1,
    )


def options_of(found: Findings, method: str) -> dict[str, Any]:
    """What an estimator was called with, as far as it was not left at its default."""
    chosen, own = estimator(method)
    asked = {**found.options.get(chosen.name, {}), **own}
    return {name: value for name, value in asked.items() if value is not None}


def in_words(found: Findings, method: str, item: str) -> str:
    """A reference standard as a methods section names it, with what was chosen, and its reference."""
    name, options = estimator(method)[0].name, options_of(found, method)
    threshold, length = options.get("threshold", 0.5), options.get("length", 2.0)
    told = {
        "vote": _vote(threshold, len(found.study.rater_names)),
        "excl": f"a vote at {threshold} without outliers" + cite("Lampert 2016"),
        "plurality": "plurality (the label given most often)",
        "staple": f"STAPLE{cite('Warfield 2004')} ({_staple(options, item)})",
        "staple_map": f"STAPLE{cite('Warfield 2004')} ({_staple(options, item)})",
        "simple": f"SIMPLE{cite('Langerak 2010')} (α = {options.get('alpha', 1.5):g})",
        "lsml": f"the level set LSML{cite('Li 2011')} (λ = {length:g})",
        "lsmlp": f"the level set LSMLP, a variant of a published one{cite('Li 2011')} (λ = {length:g})",
    }
    return told.get(name, method)


def _vote(threshold: float | str, raters: int) -> str:
    if threshold == "any":
        return "the union of the markings"
    if threshold == "all" or threshold == 1:
        return "the intersection of the markings"
    if threshold == 0.5:
        named = {UNION: "the union of the markings", HALF: "a vote"}.get(_half(raters), "majority vote")
        return named if raters == 2 else f"{named} (marked by at least half of the raters)"
    return f"a vote (marked by a share of at least {threshold} of the raters)"


def _staple(options: Mapping[str, Any], item: str) -> str:
    prior = options.get("prior", "prevalence")
    said = PRIORS[prior].format(item=item) if isinstance(prior, str) else f"prior: {_number(prior)}"
    parts = [said + (cite("Dawid 1979") if prior == "estimated" else "")]
    if options.get("consensus_items") == "leave_out":
        parts.append(f"without {item}s on which all agree" + cite("Commowick 2012"))
    if options.get("map_prior"):
        parts.append(f"Beta prior {_number(options['map_prior'])} on the rates" + cite("Commowick 2010"))
    if options.get("smoothing"):
        parts.append(f"Potts smoothing, β = {options['smoothing']:g}" + cite("Zhang 1992"))
    if options.get("like") == "itk":
        parts.append("as in ITK")
    return ", ".join(parts)


def _number(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:g}"
    return "(" + ", ".join(f"{v:g}" for v in value) + ")" if isinstance(value, tuple | list) else "a map"
