"""What the page says, a module a section: results in, sentences, tables and charts out."""

from __future__ import annotations

from ..findings import Findings
from ..parts import Section

__all__ = ["make_sections"]


def make_sections(findings: Findings) -> list[Section]:
    """The sections that there is something to say in, in the order of the page."""
    from . import agreement, algorithms, cases, complexity, computed, in_short, raters, truth

    makers = (in_short, agreement, raters, cases, truth, complexity, algorithms, computed)
    return [made for made in (maker.section(findings) for maker in makers) if made is not None]
