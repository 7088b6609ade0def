"""Damaged files, always the same ones: what disks, hurried scripts and hostile people make of an honest export."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

HOSTILE = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e308",
    "-1e308",
    "4294967296",
    "99999999999999999999",
    "0.5",
    "",
    "x",
    "\u00e9",
)
"""What stands where a number was."""

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*|-?\d+(?:\.\d+)?")


def mutated(data: bytes, seed: int) -> bytes:
    """The file with one to three faults, of its bytes or of its numbers and words; the same for the same seed."""
    chance = random.Random(seed)
    faults = chance.choice((OF_BYTES, OF_WORDS))
    for _ in range(chance.choice((1, 1, 2, 3))):
        data = chance.choice(faults)(data, chance)
    return data


def _flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _chunk(data: bytes, chance: random.Random) -> tuple[int, int]:
    first = chance.randint(0, len(data))
    return first, min(len(data), first + chance.choice((1, 4, 16, 64, 256, 4096)))


def _deleted(data: bytes, chance: random.Random) -> bytes:
    first, last = _chunk(data, chance)
    return data[:first] + data[last:]


def _doubled(data: bytes, chance: random.Random) -> bytes:
    first, last = _chunk(data, chance)
    return data[:last] + data[first:last] * chance.choice((1, 1, 3)) + data[last:]


def _moved(data: bytes, chance: random.Random) -> bytes:
    first, last = _chunk(data, chance)
    rest = data[:first] + data[last:]
    to = chance.randint(0, len(rest))
    return rest[:to] + data[first:last] + rest[to:]


def _overwritten(data: bytes, chance: random.Random) -> bytes:
    first, last = _chunk(data, chance)
    return data[:first] + chance.choice((b"\0", b"\xff", b" ")) * (last - first) + data[last:]


def _renumbered(data: bytes, chance: random.Random) -> bytes:
    """One number, or as often all of them that read the same, is another."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    one, new = chance.choice(found), chance.choice(HOSTILE).encode()
    if chance.random() < 0.5:
        return data.replace(one.group(), new)
    return data[: one.start()] + new + data[one.end() :]


def _swapped(data: bytes, chance: random.Random) -> bytes:
    """Two words or numbers change places."""
    found = list(WORD.finditer(data))
    if len(found) < 2:
        return data
    one, other = sorted(chance.sample(found, 2), key=lambda match: match.start())
    between = data[one.end() : other.start()]
    return data[: one.start()] + other.group() + between + one.group() + data[other.end() :]


Fault = Callable[[bytes, random.Random], bytes]
OF_BYTES: tuple[Fault, ...] = (_flipped, _truncated, _deleted, _doubled, _moved, _overwritten)
OF_WORDS: tuple[Fault, ...] = (_renumbered, _renumbered, _swapped)
