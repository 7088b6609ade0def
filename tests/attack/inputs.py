"""The catalogue: every malformed input, by family."""

from __future__ import annotations

from collections import Counter
from functools import cache

from .families import exports, names, options, pixel_files, places, streams, structure, tables, values
from .model import Attack

FAMILIES = (pixel_files, values, names, structure, tables, options, exports, places, streams)


@cache
def catalogue() -> tuple[Attack, ...]:
    """All attacks, each under a name of its own."""
    found = tuple(attack for family in FAMILIES for attack in family.attacks())
    twice = [name for name, many in Counter(attack.name for attack in found).items() if many > 1]
    assert not twice, twice
    return found


def families() -> tuple[str, ...]:
    return tuple(dict.fromkeys(attack.family for attack in catalogue()))
