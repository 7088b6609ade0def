"""How much memory a command takes, and what to do where there is less."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import TooLarge

BYTES = {
    "check": (1, 1, 0),
    "agree": (36, 1, 75),
    "agree --no-pictures": (1, 1, 0),
    "fuse": (28, 1, 32),
    "evaluate": (30, 5, 0),
    "reliability": (14, 4, 0),
    "report": (36, 1, 75),
}
"""Bytes that a process takes at the most for each pixel of a case, for each pixel of each of its masks, and further for
each pixel where there is an image.

Measured with 2, 5 and 10 masks of 8 bits of 2048² and 4096² pixels, images in colour, and two algorithms to evaluate.
"""
ALONE = 0.06e9
"""Bytes of a process without a case."""


def too_large(error: TooLarge, given: Sequence[str]) -> str:
    """What did not fit, what it takes, and what to do."""
    command = given[0] if given else ""
    own = f"{command} --no-pictures" if "--no-pictures" in given else command
    each = f", in each of {error.jobs} processes" if error.jobs > 1 else ""
    taken = ""
    if error.what:
        known = own if own in BYTES else command
        size = needed(known, error) if known in BYTES else error.pixels * error.masks
        taken = f": {known} takes about" if known in BYTES else f": {command} takes far more than the"
        taken = f"{taken} {_gigabytes(size)} for {error.what}{each}"
    return f"{error}{taken}; {advice(given, error)}"


def needed(command: str, case: TooLarge) -> float:
    """Bytes that a process takes for a case."""
    pixel, mask, image = BYTES[command]
    return ALONE + case.pixels * (pixel + mask * case.masks + image * case.image)


def advice(given: Sequence[str], case: TooLarge | None = None) -> str:
    """What can be done about it."""
    if given and given[0] == "train":
        return "use a smaller --batch, --size or --width, or a smaller --at-once"
    ways = []
    if case is None or case.jobs > 1:
        ways.append("use fewer --jobs")
    lighter = f"{given[0]} --no-pictures" if given else ""
    if lighter in BYTES and "--no-pictures" not in given:
        about = f" (about {_gigabytes(needed(lighter, case))})" if case is not None and case.what else ""
        ways.append(f"use --no-pictures{about}")
    return ", or ".join([*ways, "crop the images or make them smaller"])


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
