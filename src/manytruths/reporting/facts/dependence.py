"""Whether raters differ on the same pixels, and whether some drew nearly the same, in words."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ...raters.dependence import PossibleCopy
from ..findings import Findings
from ..parts import Cell, Sentence
from .numbers import find_table, is_defined
from .wording import pixel_word, spell_count

HARDLY, WEAKLY = 0.1, 0.3
"""Below so much correlation of errors it is called so."""
LEAST_RATERS = 4
"""Fewer raters do not show whether their errors go together."""
FEW_EFFECTIVE = 0.8
"""Where fewer than this share of the raters weigh as independent ones, it is worth a word at the top."""
EASY = 0.95
"""Where two raters mostly overlap by so much, everybody draws nearly the same, and nobody is asked about copies."""


@dataclass(frozen=True)
class ErrorDependence:
    """How far the errors of two raters correlate, and as how many independent raters all of them weigh."""

    raters: int
    few: bool
    words: str
    """``weakly correlated``"""
    item: str
    correlation: Cell
    effective: Cell

    @property
    def weight(self) -> Sentence:
        """``five raters weigh about as much as 3.6 independent ones``."""
        return (f"{spell_count(self.raters, 'rater')} weigh about as much as ", self.effective, " independent ones")

    @property
    def sentence(self) -> Sentence:
        """The same in every part of the page, as it goes on after a comma or starts a sentence."""
        if not self.few:
            return (f"the raters' errors, as STAPLE sees them, are {self.words} (correlation ", self.correlation,
                    "): ", *self.weight)  # fmt: skip
        return (f"the raters' disagreements fall in part on the same {self.item}s, as along borders (their errors are "
                f"{self.words}, ", self.correlation, "), so that for STAPLE ", *self.weight,
                "; this need not mean that they influenced each other")  # fmt: skip


def error_dependence(findings: Findings) -> ErrorDependence | None:
    """Of named raters, where there are enough to tell and they differ anywhere."""
    table = find_table(findings, "agree", "raters")
    effective, shared = (table.row(name, "pooled", "") for name in ("effective_raters", "error_correlation"))
    agreed = find_table(findings, "agree", "agreement").row("percent_agreement", "pooled")
    if not is_defined(effective) or not is_defined(shared) or (agreed is not None and agreed.value == 1):
        return None
    raters = effective.n or len(findings.study.rater_names)
    few = effective.value < FEW_EFFECTIVE * raters
    return ErrorDependence(
        raters,
        few,
        _correlation_words(shared.value, few),
        pixel_word(findings),
        table.quote(shared),
        table.quote(effective, 1),
    )


def _correlation_words(correlation: float, few: bool) -> str:
    shown = round(correlation, 2)  # the words go by the number that stands beside them
    if shown < HARDLY:
        return "slightly correlated" if few else "hardly correlated" if shown > -HARDLY else "negatively correlated"
    return "weakly correlated" if shown < WEAKLY else "correlated"


@dataclass(frozen=True)
class PossibleCopies:
    """Pairs of raters who drew nearly the same."""

    pairs: tuple[PossibleCopy, ...]
    easy: bool
    """Whether most pairs did, so that it says more about what was drawn than about these."""

    @property
    def suspected(self) -> bool:
        """Whether some stand out as too alike."""
        return bool(self.pairs) and not self.easy


def possible_copies(findings: Findings) -> PossibleCopies:
    """Of named raters, by their Dice over all cases."""
    raters = findings.agreement.raters
    pairs = raters.dependence.copies if raters is not None else ()
    rows = [
        r
        for r in find_table(findings, "agree", "pairs").all("dice", "pooled")
        if r["relation"] == "between" and is_defined(r)
    ]
    easy = bool(rows) and (2 * len(pairs) > len(rows) or median(r.value for r in rows) >= EASY)
    return PossibleCopies(tuple(pairs), easy)
