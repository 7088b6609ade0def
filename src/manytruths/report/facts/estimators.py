"""The methods that make a reference standard, in words."""

from __future__ import annotations

from dataclasses import dataclass

from ...analyses.rows import Row
from ...study import Study
from ..findings import Findings
from ..parts import Cell, words
from .numbers import known, numbers

UNION = "what any rater marked (union)"
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


def called(method: str, raters: int = 0) -> str:
    """A method as one speaks of it; half of two raters are any of them."""
    name, _, rest = method.partition(":")
    if name != "vote":
        return SPOKEN.get(name, name.upper())
    half = UNION if raters == 2 else "the majority vote"
    told = {
        "": half, "0.5": half, "0.75": "the three-quarters vote", "any": UNION,
        "all": "what all raters marked (intersection)",
    }  # fmt: skip
    return told.get(rest) or f"the {_share(rest)} vote"


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
        return "marks what at least half of the raters marked"
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
    own = [r for r in rows if not r.group and set(r.extra) <= set(found.fusion.methods) and known(r)]
    if not own:
        return None
    worst = min(own, key=lambda r: r.value)
    return Pair(" and ".join(spoken(found, str(method)) for method in worst.extra), worst, len(own) > 1)
