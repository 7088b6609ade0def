"""The sections of the page, one module for each: results in; sentences, tables and charts out."""

from __future__ import annotations

from ..elements import Section
from ..findings import Findings

__all__ = ["make_sections"]


def make_sections(findings: Findings) -> list[Section]:
    """Make every section that has content, in the order of the page."""
    from . import agreement, algorithms, cases, complexity, computation, raters, reference_standard, summary

    modules = (summary, agreement, raters, cases, reference_standard, complexity, algorithms, computation)
    return [section for section in (module.section(findings) for module in modules) if section is not None]
