"""What is typed after an option, as what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.errors import CallError

if TYPE_CHECKING:
    from ..core.labels import Labels
    from ..ratings.concordance import Chance


def labels(text: str | None) -> Labels | None:
    from ..core.errors import CallError, LabelError
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


def excluded(pairs: list[str] | None) -> dict[str, list[str]] | None:
    excluded: dict[str, list[str]] = {}
    for pair in [pair for pair in pairs or () if not _is_template(pair)]:
        rater, sign, case = pair.partition("=")
        if not (rater and sign and case):
            raise CallError(f"--exclude wants RATER=CASE; got {pair!r}")
        excluded.setdefault(rater, []).append(case)
    return excluded or None


def areas(given: list[str] | None) -> str | None:
    """The template among what to exclude, where there is one."""
    found = [text for text in given or () if _is_template(text)]
    if len(found) > 1:
        raise CallError(f"--exclude takes one template of areas; got {', '.join(found)}")
    return found[0] if found else None


def _is_template(text: str) -> bool:
    return "{case}" in text or "{algorithm}" in text


def two_numbers(text: str | None, option: str) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(number) for number in text.split(","))
        if not -float("inf") < low < high < float("inf"):
            raise ValueError
        return low, high
    except ValueError:
        raise CallError(f"{option} wants two numbers, the smaller first, as in 0.1,0.5; got {text!r}") from None


def whole_numbers(text: str, option: str) -> tuple[int, int]:
    try:
        low, high = (int(number) for number in text.split(","))
        return low, high
    except ValueError:
        raise CallError(f"{option} wants two whole numbers, as in 1,4; got {text!r}") from None


def numbers(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(float(number) for number in text.split(","))
        if not all(0 < number < float("inf") for number in numbers):
            raise ValueError
        return numbers
    except ValueError:
        raise CallError(f"--spacing wants positive numbers, as in 0.5,0.5; got {text!r}") from None


def methods_of(
    text: str, smoothing: float, staple: dict[str, Any], option: str = "--method"
) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Methods as named, STAPLE in the form that smooths where that is asked for, and the options of each."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if smoothing:
        names = ["staple_map" if name == "staple" else name for name in names]
    if not names or len(set(names)) < len(names):
        raise CallError(f"{option} wants one or more different methods, with commas; got {text!r}")
    return tuple(names), {"staple": staple, "staple_map": {**staple, "smoothing": smoothing}}


def prior_of(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def beta_of(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise CallError(f"--map-prior wants numbers, as in 5,1.5; got {text!r}") from None


def names(text: str | None) -> list[str] | None:
    """``a,b`` as a list; None where nothing was given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def pairs(option: str, text: str | None) -> dict[str, str]:
    """``a=b,c=d`` as a mapping."""
    found: dict[str, str] = {}
    for item in names(text) or ():
        key, sign, value = (part.strip() for part in item.partition("="))
        if not (key and sign and value) or key in found:
            raise CallError(f"{option} wants name=value,name=value, each name once; got {text!r}")
        found[key] = value
    return found


def shares(option: str, text: str | None) -> dict[str, float]:
    """``a=0.6,b=0.4`` as numbers by name."""
    found = pairs(option, text)
    try:
        return {name: float(value) for name, value in found.items()}
    except ValueError:
        raise CallError(f"{option} wants name=number,name=number; got {text!r}") from None


def chance_of(text: str) -> Chance:
    """``uniform``, ``empirical``, or a share for each label."""
    if text == "uniform" or text == "empirical":
        return text  # type: ignore[return-value]
    if "=" not in text:
        raise CallError(f"--chance is uniform, empirical or a share for each label (a=0.6,b=0.4); got {text!r}")
    return shares("--chance", text)


def seeds_of(text: str) -> tuple[int, ...]:
    """``3`` are the seeds 0, 1, 2; ``0,7`` those two, and ``7,`` that one."""
    try:
        given = tuple(int(part) for part in text.removesuffix(",").split(","))
        found = given if "," in text else tuple(range(given[0]))
        if not found or min(found) < 0 or len(set(found)) < len(found):
            raise ValueError
        return found
    except ValueError:
        raise CallError(f"--seeds is a number, or different seeds with commas, as in 0,1,7; got {text!r}") from None
