"""How it was computed: texts, references, formulas, checklist, settings, what has no value."""

from .section import section

__all__ = ["section"]
