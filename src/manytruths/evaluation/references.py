"""The reference standards of a table of patterns: raters, given references, consensuses and levels of votes.

A reference standard says of every pattern whether its pixels are positive, and whether they count: what a rater did
not rate does not count under that rater. Everything but background is positive; ``tally.only(label)`` takes one label.
Consensus decisions can be further columns of the table, so that predictions are scored against them as against raters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tally, find_rows
from ..fusion import Consensus, estimate
from ..fusion.registry import options_of
from ..fusion.result import first_readings
from .curves import divide

Flags = NDArray[np.bool_]
Kind = Literal["rater", "reference", "consensus", "votes"]
Options = Mapping[str, Mapping[str, Any]]

LEAST_LEFT = 2
"""At least so many raters must remain when one is left out."""


@dataclass(frozen=True, eq=False)
class ReferenceStandards:
    """Reference standards by pattern."""

    tally: Tally
    """The table of the patterns."""
    names: tuple[str, ...]
    """The name of each: of a rater, a given reference or a consensus, or ``votes>=k``."""
    kinds: tuple[Kind, ...]
    """What each is: ``rater``, ``reference``, ``consensus`` or ``votes``."""
    positive: Flags
    """(references, patterns): whether a pixel is positive."""
    rated: Flags
    """(references, patterns): whether it counts."""

    def __post_init__(self) -> None:
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise CallError(f"reference standards must have distinct names; rename: {', '.join(twice)}")

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
    >>> standards = reference_standards(t, {"vote": mt.vote(t)}, levels=True)
    >>> standards, standards.prevalence
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
    for name, decided in (consensus or {}).items():
        entries.append((name, "consensus", _positive_patterns(tally, name, decided, known), tally.rated > 0))
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


def _positive_patterns(
    tally: Tally, name: str, consensus: Consensus | ArrayLike, known: dict[int, NDArray[np.intp]]
) -> Flags:
    """Whether each pattern is positive under a consensus; several often come of one table, looked up once."""
    hard: NDArray[Any] = np.asanyarray(consensus.hard if isinstance(consensus, Consensus) else consensus)
    if isinstance(consensus, Consensus) and consensus.kind == "map":
        raise CallError(
            f"consensus {name!r} is a map ({consensus.method} looks at neighbours), not a value a pattern: "
            f"count it as a column, tally(masks, references={{{name!r}: result.hard}})"
        )
    source: Tally | None = getattr(hard, "tally", None)
    flags = np.asarray(hard)
    if flags.dtype != np.bool_ and isinstance(consensus, Consensus):
        flags = np.isin(flags, consensus.labels.marks)
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


def with_consensus(tally: Tally, methods: Sequence[str], options: Options | None = None) -> Tally:
    """Add the decisions of each consensus method as a column of role ``reference``.

    Spatial methods need the masks: estimate them with :func:`manytruths.consensus` and count their map as
    ``references={name: map}``.

    Parameters
    ----------
    tally : Tally
        Table of raters and predictions.
    methods : sequence of str
        Methods of consensus, such as ``"vote:0.5"``.
    options : mapping, optional
        Options of the methods, by the name of the estimator.

    Returns
    -------
    Tally
        The table with one more column per method.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0], "B": [1, 0, 0], "C": [1, 1, 1]}, predictions={"unet": [1, 1, 0]})
    >>> t = with_consensus(t, ["vote:0.5", "vote:all"])
    >>> mt.dice(t.pair("unet", "vote:all"))
    0.6666666666666666
    """
    return append_estimates(tally, estimate_all(tally, methods, options))


def estimate_all(
    tally: Tally,
    methods: Sequence[str],
    options: Options | None = None,
    *,
    left_out: bool = False,
    raters: Tally | None = None,
) -> dict[Column, PatternEstimate]:
    """Estimate every method on the patterns of a table; with ``left_out`` also without each of the raters.

    ``raters`` is the table to estimate from; by default the raters of ``tally``, in their first session.

    A rater who is scored against a consensus that they contributed to looks too good. Against that of the others they
    do not, and an algorithm that is scored against the same can be compared with them. There is none with fewer than
    two others.
    """
    raters = first_readings(tally) if raters is None else raters
    estimates = {consensus_column(m): PatternEstimate.of(raters, m, options, tally) for m in methods}
    present = [c for c in raters.columns if (raters.patterns[:, raters.position(c)] != VOID).any()]
    for rater in present if left_out and len(present) > LEAST_LEFT else ():
        others = raters.without(rater)
        estimates |= {consensus_column(m, rater.name): PatternEstimate.of(others, m, options, tally) for m in methods}
    return estimates


def append_estimates(tally: Tally, estimates: Mapping[Column, PatternEstimate]) -> Tally:
    """The table with estimates as further columns."""
    for column, estimated in estimates.items():
        if column in tally.columns:
            raise CallError(f"there is a column {column} already; leave it out, or rename it")
        tally = tally.append(column, estimated.codes)
    return tally


def consensus_column(method: str, without: str = "") -> Column:
    """The column of a method's decisions, perhaps without one of the raters."""
    return Column(method, "reference", left_out=without)


@dataclass(frozen=True, eq=False)
class PatternEstimate:
    """A consensus on the patterns of a larger table."""

    codes: NDArray[np.uint8]
    probability: NDArray[np.float64]
    """How likely each pattern is marked."""
    consensus: Consensus

    @classmethod
    def of(cls, raters: Tally, method: str, options: Options | None, tally: Tally) -> PatternEstimate:
        """A method estimated from the raters' own table."""
        result = estimate(raters, method, **options_of(method, options or {}))
        where = find_rows(raters, tally.patterns[:, [tally.position(c) for c in raters.columns]])
        hard, chance = np.asarray(result.hard), np.asarray(result.probability)
        if chance.ndim == 2:
            chance = 1 - chance[:, raters.labels.background or 0]
        rated = raters.rated[where] > 0
        # of several labels, what only tells marked from not gives the first of them
        codes = np.where(hard, raters.labels.marks[0], 0) if hard.dtype == bool else hard
        return cls(np.where(rated, codes[where], VOID).astype(np.uint8), chance[where], result)
