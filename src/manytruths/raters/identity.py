"""Raters must be people before anything is said about one of them."""

from __future__ import annotations

from ..core.errors import CallError
from ..core.tally import Tally


def refuse_exchangeable(tally: Tally, what: str) -> None:
    """Raise where slots are not people."""
    if tally.exchangeable:
        raise CallError(
            f"{what} is about each rater, but raters are exchangeable here: a slot is not the same person in every "
            "case; name the raters when counting, or use statistics of all raters together"
        )
