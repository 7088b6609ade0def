"""The files that something is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from ..io import Location
from .options import Options


def find_locations(value: object) -> Iterator[Location | None]:
    """All files of a case, in order; None for an array."""
    if isinstance(value, Location):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from find_locations(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from find_locations(each)
    elif is_dataclass(value) and not isinstance(value, type | Options):
        for item in fields(value):
            if item.name != "spread":
                yield from find_locations(getattr(value, item.name))
    elif hasattr(value, "shape"):
        yield None
