"""The reference standards of a table of patterns: raters, given references, consensuses and levels of votes.

A reference standard says of every pattern whether its pixels are positive, and whether they count: what a rater did
not rate does not count under that rater. Everything but background is positive; ``tally.only(label)`` takes one label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tally, find_rows
from ..fusion import Consensus
from .curves import divide

Flags = NDArray[np.bool_]
Kind = Literal["rater", "reference", "consensus", "votes"]


@dataclass(frozen=True, eq=False)
class ReferenceStandards:
    """Reference standards by pattern."""

    tally: Tally
    """The table of the patterns."""
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    """What each is: ``rater``, ``reference``, ``consensus`` or ``votes``."""
    positive: Flags
    """(references, patterns): whether a pixel is positive."""
    rated: Flags
    """(references, patterns): whether it counts."""

    def __post_init__(self) -> None:
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise CallError(f"reference standards have distinct names; rename what is there twice: {', '.join(twice)}")

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<ReferenceStandards {', '.join(self.names)} of {len(self.tally.counts):,} patterns>"

    @property
    def prevalence(self) -> NDArray[np.float64]:
        """The share of positives under each reference standard; nan where nothing counts."""
        return divide(self.positive @ self.tally.counts, self.rated @ self.tally.counts)

    def onto(self, tally: Tally) -> ReferenceStandards:
        """The same over the patterns of another table: of one case, say, where these are of all together."""
        if tally is self.tally:
            return self
        where = find_patterns(self.tally, tally)
        return ReferenceStandards(tally, self.names, self.kinds, self.positive[:, where], self.rated[:, where])


def reference_standards(
    tally: Tally,
    consensus: Mapping[str, Consensus | ArrayLike] | None = None,
    *,
    raters: bool = True,
    references: bool = True,
    levels: bool = False,
) -> ReferenceStandards:
    """The reference standards of a table, under which curves are computed.

    Parameters
    ----------
    tally : Tally
        Table of raters and references.
    consensus : mapping of str to Consensus or array_like, optional
        By name: a consensus by pattern, of this table or of one of fewer columns; or one boolean per pattern. A
        consensus that is a map (LSML) is a column: ``tally(masks, references={"lsml": result.hard})``. A pixel that no
        rater rated does not count.
    raters, references : bool
        Whether each rater (in the first session), and each column of role "reference", is a reference standard.
        Exchangeable raters are not identified, and so are none.
    levels : bool
        Whether to add ``votes>=k`` for every k. Pixels that fewer than k raters rated do not count.

    Returns
    -------
    ReferenceStandards
        Positive or not, by reference standard and pattern.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})
    >>> found = reference_standards(t, {"vote": mt.vote(t)}, levels=True)
    >>> found, found.prevalence
    (<ReferenceStandards A, B, vote, votes>=1, votes>=2 of 3 patterns>, array([0.5 , 0.25, 0.5 , 0.5 , 0.25]))
    """
    entries: list[tuple[str, Kind, Flags, Flags]] = []
    marked = np.isin(tally.patterns, tally.labels.marks)
    given = tally.patterns != VOID
    if raters and not tally.exchangeable:
        entries += [(tally.columns[i].name, "rater", marked[:, i], given[:, i]) for i in tally.raters]
    if references:
        where = [i for i, column in enumerate(tally.columns) if column.role == "reference"]
        entries += [(str(tally.columns[i]), "reference", marked[:, i], given[:, i]) for i in where]
    known: dict[int, NDArray[np.intp]] = {}
    for name, truth in (consensus or {}).items():
        entries.append((name, "consensus", _decided(tally, name, truth, known), tally.rated > 0))
    if levels:
        entries += [
            (f"votes>={k}", "votes", tally.marked >= k, tally.rated >= k) for k in range(1, len(tally.raters) + 1)
        ]
    if not entries:
        raise CallError(
            "there is no reference standard: no rater, reference or consensus was asked for; levels=True adds the votes"
        )
    names, kinds, positive, rated = zip(*entries, strict=True)
    counted = np.stack(rated)
    return ReferenceStandards(tally, names, kinds, np.stack(positive) & counted, counted)


def _decided(tally: Tally, name: str, truth: Consensus | ArrayLike, known: dict[int, NDArray[np.intp]]) -> Flags:
    """Whether each pattern is positive under a consensus; several often come of one table, looked up once."""
    hard: NDArray[Any] = np.asanyarray(truth.hard if isinstance(truth, Consensus) else truth)
    if isinstance(truth, Consensus) and truth.kind == "map":
        raise CallError(
            f"consensus {name!r} is a map ({truth.method} looks at neighbours), not a value a pattern: "
            f"count it as a column, tally(masks, references={{{name!r}: found.hard}})"
        )
    source: Tally | None = getattr(hard, "tally", None)
    flags = np.asarray(hard)
    if flags.dtype != np.bool_ and isinstance(truth, Consensus):
        flags = np.isin(flags, truth.labels.marks)
    if flags.dtype != np.bool_ or flags.shape != (source or tally).counts.shape:
        wanted = f"one boolean a pattern, {len(tally.counts)}"
        raise CallError(f"consensus {name!r} is a consensus or {wanted}; got {flags.dtype} of shape {flags.shape}")
    if source is None or source is tally:
        return flags
    if id(source) not in known:
        known[id(source)] = find_patterns(source, tally)
    return np.asarray(flags[known[id(source)]])


def find_patterns(source: Tally, target: Tally) -> NDArray[np.intp]:
    """Where each pattern of ``target`` stands in ``source``; a column that only ``source`` has is VOID."""
    if source == target:
        return np.arange(len(target.counts))
    shared = [column for column in source.columns if column in target.columns]
    rows = target.patterns[:, [target.columns.index(column) for column in shared]]
    codes = np.full((len(rows), len(source.columns)), VOID, np.uint8)
    known = np.zeros(256, bool)
    known[VOID] = True
    table = np.full(256, VOID, np.uint8)
    for code, value in enumerate(target.labels.values):
        if value in source.labels.values:
            known[code], table[code] = True, source.labels.values.index(value)
    codes[:, [source.columns.index(column) for column in shared]] = table[rows]
    where = np.where(known[rows].all(axis=1), find_rows(source, codes), -1)
    if (where < 0).any():
        raise CallError(
            f"{int((where < 0).sum())} of {len(where)} patterns are not in the table that the consensus was made of: "
            "make it of this table, or of one pooled of all cases, over the same raters"
        )
    return where
