"""The sections of the page, one module for each: results in; sentences, tables and charts out."""

from __future__ import annotations

from ..elements import Section, colour_names, spell_section
from ..findings import Findings

__all__ = ["make_sections"]


def make_sections(findings: Findings) -> list[Section]:
    """Make every section that has content, in the order of the page."""
    from . import (
        adjudication,
        agreement,
        algorithms,
        cases,
        complexity,
        computation,
        given_reference,
        groups,
        lesions,
        raters,
        reference_standard,
        sizes,
        summary,
    )

    interval = findings.interval_name
    before = (
        summary,
        agreement,
        raters,
        groups,
        lesions,
        sizes,
        cases,
        reference_standard,
        adjudication,
        given_reference,
    )
    modules = (*before, complexity, algorithms, computation)
    sections = (module.section(findings) for module in modules)
    spelled = [spell_section(section, interval) for section in sections if section is not None]
    return [colour_names(section, findings.colours) for section in spelled]
