"""The report: facts (dataclasses), templates, one HTML file."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .making import ReportPlan
from .writing import Report, make_report, report

__all__ = ["Report", "ReportPlan", "make_report", "report"]


class _Room(ModuleType):
    """This room, which is also the function of its name: ``mt.report(study)``; see the room ``consensus``."""

    def __call__(self, *arguments: Any, **options: Any) -> Report:
        return report(*arguments, **options)


sys.modules[__name__].__class__ = _Room
