"""What the page says, a module a section: results in, sentences, tables and charts out."""

from __future__ import annotations

from ..findings import Findings
from ..parts import Section

__all__ = ["sections_of"]


def sections_of(found: Findings) -> list[Section]:
    """The sections that there is something to say in, in the order of the page."""
    from . import agreement, algorithms, cases, complexity, computed, in_short, raters, truth

    makers = (in_short, agreement, raters, cases, truth, complexity, algorithms, computed)
    return [made for made in (maker.section(found) for maker in makers) if made is not None]
