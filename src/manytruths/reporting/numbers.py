"""The numbers that sections quote: rows of the tables, and counts of the study."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from ..analyses.agree.flow import not_evaluable_cases
from ..study import Study

LEAST_JACKKNIFED = 5
"""Fewest raters for intervals over raters."""


@dataclass(frozen=True)
class StudyCounts:
    """How many raters, cases, subjects and masks a study has."""

    study: Study

    @property
    def raters(self) -> int:
        """Raters who marked at least one case; of exchangeable raters, the most of any case."""
        return len(self.study.rater_names)

    @property
    def cases(self) -> int:
        """Images or volumes."""
        return len(self.study)

    @property
    def subjects(self) -> int:
        """Patients, or cases where no patient is named."""
        return len(self.study.subjects)

    @property
    def grouped(self) -> bool:
        """Whether a subject has several cases."""
        return self.subjects < self.cases

    @property
    def wanted(self) -> int:
        """Masks if every rater had marked every case."""
        return self.raters * self.cases

    @cached_property
    def there(self) -> int:
        """Of these, how many there are; repeated readings count once."""
        return sum(len({column.name for column in case.masks}) for case in self.study)

    @property
    def missing(self) -> int:
        """Of these, how many are missing."""
        return self.wanted - self.there

    @cached_property
    def not_evaluable(self) -> int:
        """Of these, how many the rater found not evaluable."""
        here = {case.name for case in self.study}
        return sum(case in here for cases in not_evaluable_cases(self.study).values() for case in cases)

    @cached_property
    def repeated(self) -> dict[str, int]:
        """By rater, the cases that they marked more than once."""
        readings = (Counter(column.name for column in case.masks) for case in self.study)
        return dict(Counter(name for by_rater in readings for name, times in by_rater.items() if times > 1))

    @cached_property
    def groups(self) -> dict[str, int]:
        """Cases by group."""
        return dict(Counter(name for case in self.study for name in case.groups))

    @property
    def predictions_missing(self) -> int:
        """Missing predictions, over all algorithms."""
        return sum(len(case.missing) for case in self.study)

    @property
    def jackknifed(self) -> bool:
        """Whether there are enough raters for jackknife intervals over them."""
        return self.raters >= LEAST_JACKKNIFED
