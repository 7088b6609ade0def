"""Whether raters differ on the same pixels, and whether some drew nearly the same, in words."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ...raters.dependence import PossibleCopy
from ..findings import Findings
from ..parts import Cell, Sentence
from .numbers import known, numbers
from .wording import count, item

HARDLY, WEAKLY = 0.1, 0.3
"""Below so much correlation of errors it is called so."""
LEAST_RATERS = 4
"""Fewer raters do not show whether their errors go together."""
FEW = 0.8
"""Where fewer than this share of the raters weigh as independent ones, it is worth a word at the top."""
EASY = 0.95
"""Where two raters mostly overlap by so much, everybody draws nearly the same, and nobody is asked about copies."""


@dataclass(frozen=True)
class Dependence:
    """How far the errors of two raters correlate, and as how many independent raters all of them weigh."""

    raters: int
    few: bool
    words: str
    """``weakly correlated``"""
    item: str
    correlation: Cell
    effective: Cell

    @property
    def weighed(self) -> Sentence:
        """``five raters weigh about as much as 3.6 independent ones``."""
        return (f"{count(self.raters, 'rater')} weigh about as much as ", self.effective, " independent ones")

    @property
    def told(self) -> Sentence:
        """The same in every part of the page, as it goes on after a comma or starts a sentence."""
        if not self.few:
            return (f"the raters' errors, as STAPLE sees them, are {self.words} (correlation ", self.correlation,
                    "): ", *self.weighed)  # fmt: skip
        return (f"the raters' disagreements fall in part on the same {self.item}s, as along borders (their errors are "
                f"{self.words}, ", self.correlation, "), so that for STAPLE ", *self.weighed,
                "; this need not mean that they influenced each other")  # fmt: skip


def dependence(found: Findings) -> Dependence | None:
    """Of named raters, where there are enough to tell and they differ anywhere."""
    table = numbers(found, "agree", "raters")
    effective, shared = (table.row(name, "pooled", "") for name in ("effective_raters", "error_correlation"))
    agreed = numbers(found, "agree", "agreement").row("percent_agreement", "pooled")
    if not known(effective) or not known(shared) or (agreed is not None and agreed.value == 1):
        return None
    raters = effective.n or len(found.study.rater_names)
    few = effective.value < FEW * raters
    return Dependence(
        raters, few, _words(shared.value, few), item(found), table.quote(shared), table.quote(effective, 1)
    )


def _words(correlation: float, few: bool) -> str:
    shown = round(correlation, 2)  # the words go by the number that stands beside them
    if shown < HARDLY:
        return "slightly correlated" if few else "hardly correlated" if shown > -HARDLY else "negatively correlated"
    return "weakly correlated" if shown < WEAKLY else "correlated"


@dataclass(frozen=True)
class Copies:
    """Pairs of raters who drew nearly the same."""

    pairs: tuple[PossibleCopy, ...]
    easy: bool
    """Whether most pairs did, so that it says more about what was drawn than about these."""

    @property
    def suspected(self) -> bool:
        """Whether some stand out as too alike."""
        return bool(self.pairs) and not self.easy


def copies(found: Findings) -> Copies:
    """Of named raters, by their Dice over all cases."""
    raters = found.agreement.raters
    pairs = raters.dependence.copies if raters is not None else ()
    rows = [
        r for r in numbers(found, "agree", "pairs").all("dice", "pooled") if r["relation"] == "between" and known(r)
    ]
    easy = bool(rows) and (2 * len(pairs) > len(rows) or median(r.value for r in rows) >= EASY)
    return Copies(tuple(pairs), easy)
