"""Claims: what is said about a study, the numbers it rests on, and why other claims were not made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Literal

from ..core.undefined import Note, code_of
from ..io.result_tables import PlainTable
from .sentences import Cell, Sentence, plain_text, spell_intervals

ALPHA = 0.05
"""Error rate that the tested claims of one command share."""
HEADER = ("claim", "about", "made", "text", "why_not", "code", "kind", "p_value", "alpha", "numbers")


@dataclass(frozen=True)
class ClaimKind:
    """What a claim says, when it is made, and where its error rate is measured.

    Attributes
    ----------
    id : str
        ``subject.claim``, such as ``raters.larger``.
    kind : {"difference", "equivalence", "estimate", "description"}
        Difference claims are tested at 0, equivalence claims at their margin; estimates are judged by the coverage of
        their interval, descriptions by whether they are right.
    says : str
        The claim in one sentence, for the documentation.
    guard : str
        When it is made.
    null : str
        The least favourable point at which its error rate is measured; empty for descriptions.
    """

    id: str
    kind: Literal["difference", "equivalence", "estimate", "description"]
    says: str
    guard: str
    null: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence about a study that was made, or considered and not made.

    Attributes
    ----------
    kind : ClaimKind
        What kind of claim it is.
    sentence : Sentence
        Texts and numbers in sequence, in the present tense.
    about : str
        The rater, algorithm, case or label that it is about; empty for the whole study.
    result : Sentence
        The same in the past tense, for the results section of a paper; empty where it does not belong there.
    rests_on : tuple of Cell
        Numbers with their addresses in the tables that do not stand in the sentence.
    why_not : Note or None
        Why it was not made, with a code; None where it was.
    withheld : Note or None
        Why it is not made even if its test supports it; where the test does not, that is the reason.
    p_value : float
        Of the test behind it, adjusted for the other claims of its kind; NaN where it is not tested.
    alpha : float
        What the p value was compared with; NaN where it is not tested.
    """

    kind: ClaimKind
    sentence: Sentence
    about: str = ""
    result: Sentence = ()
    rests_on: tuple[Cell, ...] = ()
    why_not: Note | None = None
    p_value: float = math.nan
    alpha: float = math.nan
    withheld: Note | None = None

    @property
    def made(self) -> bool:
        """Whether it is said."""
        return self.why_not is None

    @property
    def text(self) -> str:
        """The sentence as plain text."""
        return plain_text(self.sentence)

    @property
    def numbers(self) -> tuple[Cell, ...]:
        """The numbers it rests on, each with its address in the tables."""
        return tuple(part for part in (*self.sentence, *self.rests_on) if isinstance(part, Cell) and part.at)

    def __str__(self) -> str:
        return self.text if self.made else f"not said: {self.text} ({self.why_not})"


class Claims(tuple[Claim, ...]):
    """The claims of a command, made and not made."""

    __slots__ = ()

    @property
    def made(self) -> Claims:
        """Those that are said."""
        return Claims(claim for claim in self if claim.made)

    def of(self, *ids: str) -> Claims:
        """The claims of some kinds, by identifier."""
        return Claims(claim for claim in self if claim.kind.id in ids)

    def sentences(self, *ids: str) -> tuple[Sentence, ...]:
        """The sentences of the claims that are said; of some kinds, where any are named."""
        return tuple(claim.sentence for claim in (self.of(*ids) if ids else self).made)

    def spell_intervals(self, interval: str) -> Claims:
        """The claims with their intervals as words: ``0.63 (95% CI 0.51 to 0.69)``."""
        return Claims(
            replace(c, sentence=spell_intervals(c.sentence, interval), result=spell_intervals(c.result, interval))
            for c in self
        )

    def table(self) -> PlainTable:
        """The table ``claims``: one row for each claim that was made or considered."""
        return PlainTable("claims", HEADER, (_cells(claim) for claim in self))

    def __repr__(self) -> str:
        return f"<Claims: {len(self.made)} made, {len(self) - len(self.made)} considered and not made>"

    def __str__(self) -> str:
        return "\n".join(claim.text for claim in self.made)

    def _repr_html_(self) -> str:
        return "<ul>" + "".join(f"<li>{escape(claim.text)}</li>" for claim in self.made) + "</ul>"


def _cells(claim: Claim) -> tuple[object, ...]:
    numbers = " | ".join(f"{cell.at}={_as_in_file(cell)}" for cell in claim.numbers)
    tested = [None if math.isnan(value) else value for value in (claim.p_value, claim.alpha)]
    why = (str(claim.why_not or ""), code_of(claim.why_not or ""))
    made = "yes" if claim.made else "no"
    return (claim.kind.id, claim.about, made, claim.text, *why, claim.kind.kind, *tested, numbers)


def _as_in_file(cell: Cell) -> str:
    """The number with all digits, and its interval or range: ``0.631 (0.51 to 0.69)``."""
    return f"{cell.value} ({cell.low} to {cell.high})" if cell.low else cell.value


@dataclass
class ClaimLog:
    """Collects claims while they are considered.

    >>> kind = ClaimKind("raters.example", "difference", "A rater differs.", "p below 0.05")
    >>> log = ClaimLog()
    >>> log.consider(kind, ("A differs.",), about="A", p_value=0.001)
    >>> log.consider(kind, ("B differs.",), about="B", p_value=0.3)
    >>> print(log.settle())
    A differs.
    """

    claims: list[Claim] = field(default_factory=list)

    def consider(
        self,
        kind: ClaimKind,
        sentence: Sentence,
        *,
        about: str = "",
        result: Sentence = (),
        rests_on: Sequence[Cell] = (),
        why_not: Note | None = None,
        p_value: float = math.nan,
        withheld: Note | None = None,
    ) -> None:
        """Add a claim; without ``why_not`` it is made, unless its p value turns out too large.

        ``withheld`` is why a claim that its p value supports is not made.
        """
        numbers = tuple(rests_on)
        self.claims.append(Claim(kind, sentence, about, result, numbers, why_not, p_value, withheld=withheld))

    def settle(self, *, alpha: float = ALPHA, primary: str = "") -> Claims:
        """Decide which tested claims are made, as :func:`settle_claims` does."""
        return settle_claims(self.claims, alpha=alpha, primary=primary)


def settle_claims(claims: Iterable[Claim], *, alpha: float = ALPHA, primary: str = "") -> Claims:
    """Decide which of the tested claims are made, so that any false one is made in at most ``alpha`` of null studies.

    Kinds of claims are adjusted by Holm's method with the smallest p value of each kind, since p values are already
    adjusted within their kind. The primary kind is tested at ``alpha``, and all others together at half of it.
    Considered claims stay in the result with their reason.

    Holm S. A simple sequentially rejective multiple test procedure. Scand J Stat 1979.
    """
    claims = tuple(claims)
    thresholds = _thresholds(claims, alpha, primary)
    return Claims(_settled(claim, thresholds) for claim in claims)


def _is_tested(claim: Claim) -> bool:
    return claim.made and not math.isnan(claim.p_value)


def _thresholds(claims: Sequence[Claim], alpha: float, primary: str) -> dict[str, float]:
    """What the p values of each kind are compared with."""
    smallest: dict[str, float] = {}
    for claim in claims:
        if not math.isnan(claim.p_value):
            # what was tested and is then forbidden counts as a test, too: otherwise data would choose their number
            p = claim.p_value if claim.made and claim.withheld is None else 1.0
            smallest[claim.kind.id] = min(p, smallest.get(claim.kind.id, math.inf))
    thresholds = {primary: alpha} if primary in smallest else {}
    others = sorted((p, kind) for kind, p in smallest.items() if kind not in thresholds)
    shared = alpha / 2 if primary else alpha
    limit, failed = shared, False
    for rank, (p, kind) in enumerate(others):
        limit = limit if failed else shared / (len(others) - rank)
        thresholds[kind] = limit
        failed = failed or p > limit
    return thresholds


def _settled(claim: Claim, thresholds: dict[str, float]) -> Claim:
    if not _is_tested(claim):
        return claim
    limit = thresholds[claim.kind.id]
    refused = (
        claim.withheld
        if claim.p_value <= limit
        else Note("not_significant", f"p = {claim.p_value:.2g}, above {limit:.2g}")
    )
    return replace(claim, why_not=refused, alpha=limit)
