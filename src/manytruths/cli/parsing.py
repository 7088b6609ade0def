"""Values of options as the types that the functions take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..core.errors import CallError

if TYPE_CHECKING:
    from ..core.labels import Labels
    from ..ratings.concordance import Chance


def parse_labels(text: str | None) -> Labels | None:
    from ..core.errors import LabelError
    from ..core.labels import Labels

    if text is None:
        return None
    try:
        pairs = [item.split("=", 1) for item in text.split(",")]
        named = {int(pair[0]): pair[-1].strip() for pair in pairs}
        if len(named) < len(pairs) or not all(named.values()):
            raise ValueError
        return Labels.of(named)
    except (ValueError, LabelError):
        raise CallError(f"--labels wants value=name,value=name, each once; got {text!r}") from None


def parse_exclude(pairs: list[str] | None) -> dict[str, list[str]] | None:
    excluded: dict[str, list[str]] = {}
    for pair in pairs or ():
        rater, sign, case = pair.partition("=")
        if not (rater and sign and case):
            raise CallError(f"--exclude wants RATER=CASE; got {pair!r}")
        excluded.setdefault(rater, []).append(case)
    return excluded or None


def parse_range(text: str | None, option: str) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(number) for number in text.split(","))
        if not -float("inf") < low < high < float("inf"):
            raise ValueError
        return low, high
    except ValueError:
        raise CallError(f"{option} wants two numbers, the smaller first, as in 0.1,0.5; got {text!r}") from None


def parse_whole_range(text: str, option: str) -> tuple[int, int]:
    try:
        low, high = (int(number) for number in text.split(","))
        return low, high
    except ValueError:
        raise CallError(f"{option} wants two whole numbers, as in 1,4; got {text!r}") from None


def parse_spacing(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(float(number) for number in text.split(","))
        if not all(0 < number < float("inf") for number in numbers):
            raise ValueError
        return numbers
    except ValueError:
        raise CallError(f"--spacing wants positive numbers, as in 0.5,0.5; got {text!r}") from None


def parse_prior(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def parse_beta(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise CallError(f"--map-prior wants numbers, as in 5,1.5; got {text!r}") from None


def parse_names(text: str | None) -> list[str] | None:
    """``a,b`` as a list; None where nothing was given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_pairs(option: str, text: str | None) -> dict[str, str]:
    """``a=b,c=d`` as a mapping."""
    found: dict[str, str] = {}
    for item in parse_names(text) or ():
        key, sign, value = (part.strip() for part in item.partition("="))
        if not (key and sign and value) or key in found:
            raise CallError(f"{option} wants name=value,name=value, each name once; got {text!r}")
        found[key] = value
    return found


def parse_numbers(option: str, text: str | None) -> dict[str, float]:
    """``a=0.6,b=0.4`` as numbers by name."""
    found = parse_pairs(option, text)
    try:
        return {name: float(value) for name, value in found.items()}
    except ValueError:
        raise CallError(f"{option} wants name=number,name=number; got {text!r}") from None


def parse_chance(text: str) -> Chance:
    """``uniform``, ``empirical``, or a share for each label."""
    if text == "uniform" or text == "empirical":
        return text  # type: ignore[return-value]
    if "=" not in text:
        raise CallError(f"--chance is uniform, empirical or a share for each label (a=0.6,b=0.4); got {text!r}")
    return parse_numbers("--chance", text)


def parse_seeds(text: str) -> tuple[int, ...]:
    """``3`` are the seeds 0, 1, 2; ``0,7`` those two, and ``7,`` that one."""
    try:
        given = tuple(int(part) for part in text.removesuffix(",").split(","))
        found = given if "," in text else tuple(range(given[0]))
        if not found or min(found) < 0 or len(set(found)) < len(found):
            raise ValueError
        return found
    except ValueError:
        raise CallError(
            f"--seeds must be a number, or different seeds with commas, as in 0,1,7; got {text!r}"
        ) from None


def parse_missing(text: str) -> Literal["worst", "exclude"] | float:
    """``worst``, ``exclude``, or a number."""
    if text == "worst" or text == "exclude":
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise CallError(f"--missing is worst, exclude or a number; got {text!r}") from None


def parse_confidence_levels(text: str | None) -> int | list[str] | None:
    """``5``, or names in order."""
    levels = parse_names(text)
    if levels is None or len(levels) != 1:
        return levels
    if not levels[0].isdecimal():
        raise CallError(f"--confidence-levels must be a number of levels, or two names or more in order; got {text!r}")
    return int(levels[0])


def parse_accuracies(text: str | None) -> tuple[float, ...]:
    """``0.8,0.9`` as numbers."""
    try:
        return tuple(float(number) for number in text.split(",")) if text else ()
    except ValueError:
        raise CallError(f"--rater-accuracy wants numbers from 0 to 1, as in 0.85 or 0.8,0.9; got {text!r}") from None


def parse_renames(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``OLD=NEW``, given several times or with commas; a comma in a name is kept."""
    renames: dict[str, str] = {}
    for given in texts or ():
        parts = given.split(",")
        for text in parts if all("=" in part for part in parts) else [given]:
            old, sign, new = (piece.strip() for piece in text.partition("="))
            if not (old and sign and new) or renames.setdefault(old, new) != new:
                raise CallError(f"{option} wants OLD=NEW, each once; got {text!r}")
    return renames
