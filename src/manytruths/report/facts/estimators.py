"""The methods that make a reference standard, in words."""

from __future__ import annotations

from ...study import Study


def called(method: str) -> str:
    """A method as one speaks of it."""
    name, _, rest = method.partition(":")
    if name == "vote":
        told = {"": "majority vote", "0.5": "majority vote", "any": "vote of any rater", "all": "vote of all raters"}
        return f"the {told.get(rest) or f'{_share(rest)} vote'}"
    spoken = {"excl": "the vote without outliers", "staple_map": "STAPLE with neighbours", "plurality": "the plurality"}
    return spoken.get(name, name.upper())


def _share(text: str) -> str:
    try:
        return f"{100 * float(text):.3g}%"
    except ValueError:
        return text


def does(method: str, raters: int = 0) -> str:
    """What a method does, in a line."""
    name, _, rest = method.partition(":")
    if name == "vote":
        if rest in ("", "0.5"):
            pair = "; of two raters, that is what either marked" if raters == 2 else ""
            return f"marks what at least half of the raters marked{pair}"
        told = {"any": "marks what any rater marked", "all": "marks only what every rater marked"}
        return told.get(rest) or f"marks what at least {_share(rest)} of the raters marked"
    return {
        "excl": "leaves out raters who stand out from the others, then takes a vote",
        "staple": "weighs raters by how well each seems to do: it finds the likely truth from the raters' error rates, "
        "and the error rates from the likely truth, in turn",
        "staple_map": "does as STAPLE does, and prefers that neighbouring pixels are alike",
        "simple": "takes a weighted vote, and drops raters who do not fit it, step by step",
        "plurality": "gives each pixel the label that most raters gave it",
        "lsml": "does as STAPLE does, but looks for one smooth outline",
        "lsmlp": "does as STAPLE does, but looks for an outline with as much detail as the raters draw",
    }.get(name, "")


def candidate(method: str, raters: int) -> str:
    """Name, name in the tables, and what it does."""
    name, line = called(method).removeprefix("the "), does(method, raters)
    return f"{name[0].upper()}{name[1:]} ({method}){': ' if line else ''}{line}."


def given_references(study: Study) -> list[str]:
    """Names of reference standards that came with the study."""
    return list(dict.fromkeys(column.name for case in study for column in case.references))
