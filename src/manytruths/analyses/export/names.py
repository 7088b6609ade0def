"""Names that every program takes for a file: plain letters, digits, dots, dashes and underscores."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

LONGEST = 120
"""Signs of a name; the number of a channel and the ending follow it."""

_OTHER = re.compile(r"[^A-Za-z0-9._-]|^[.-]")


def plain_names(names: Sequence[Sequence[str]]) -> list[str]:
    """One for each sequence of names, joined by two underscores.

    A name that had to be changed, or differs from another in nothing but capitals, carries a digest of the original.

    >>> plain_names([["p1"], ["a/b"], ["p1", "A"]])
    ['p1', 'a_b-c14cdd', 'p1__A']
    """
    joined = ["__".join(parts) for parts in names]
    plain = [_OTHER.sub("_", text)[:LONGEST] or "_" for text in joined]
    often = Counter(text.casefold() for text in plain)
    changed = [short != text or often[short.casefold()] > 1 for short, text in zip(plain, joined, strict=True)]
    return [
        f"{short}-{_digest(parts)}" if other else short
        for short, parts, other in zip(plain, names, changed, strict=True)
    ]


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:6]
