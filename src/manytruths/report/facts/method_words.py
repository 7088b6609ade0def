"""Reference standards and their options in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...consensus.door import estimator
from ..findings import Findings
from .references import cite

PRIORS = {
    "prevalence": "prior: mean share of votes",
    "marked": "prior: share of {item}s that any rater marked",
    "estimated": "prior estimated as well",
}


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
        return "the union of the markings" if raters == 2 else "majority vote (marked by at least half of the raters)"
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
