"""How many raters, cases, subjects and masks there are: what a methods section starts with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from ....analyses.rows import Row
from ...findings import Findings
from ..numbers import find_table, has_interval

LEAST_JACKKNIFED = 5


@dataclass(frozen=True)
class StudyCounts:
    """Of a study."""

    findings: Findings

    @property
    def raters(self) -> int:
        """Who marked at least one case; of exchangeable raters, the most of any case."""
        return len(self.findings.study.rater_names)

    @property
    def cases(self) -> int:
        """Images or volumes."""
        return len(self.findings.study)

    @property
    def subjects(self) -> int:
        """Patients, or cases where no patient is named."""
        return len(self.findings.study.subjects)

    @property
    def grouped(self) -> bool:
        """Whether a subject has several cases."""
        return self.subjects < self.cases

    @property
    def wanted(self) -> int:
        """Masks, had every rater marked every case."""
        return self.raters * self.cases

    @cached_property
    def there(self) -> int:
        """Of these, how many there are; a second reading is no further one."""
        return sum(len({column.name for column in case.masks}) for case in self.findings.study)

    @property
    def missing(self) -> int:
        """Of these, how many are not there."""
        return self.wanted - self.there

    @cached_property
    def repeated(self) -> dict[str, int]:
        """By rater, the cases that he marked more than once."""
        again: Counter[str] = Counter()
        for case in self.findings.study:
            readings = Counter(column.name for column in case.masks)
            again.update(name for name, times in readings.items() if times > 1)
        return dict(again)

    @cached_property
    def groups(self) -> dict[str, int]:
        """Cases by group."""
        return dict(Counter(name for case in self.findings.study for name in case.groups))

    @property
    def predictions_missing(self) -> int:
        """Cases that an algorithm has no prediction of, over all algorithms."""
        return sum(len(case.missing) for case in self.findings.study)

    @property
    def jackknifed(self) -> bool:
        """Whether there are enough raters for intervals over them to mean something."""
        return self.raters >= LEAST_JACKKNIFED

    @cached_property
    def resampled(self) -> bool:
        """Whether any number of all raters has an interval over subjects."""
        return any(
            has_interval(row) and _over_subjects(row)
            for row in find_table(self.findings, "agree", "agreement").table.rows
        )


def _over_subjects(row: Row) -> bool:
    return row.scope in ("mean", "pooled") and not row.statistic.endswith("_over_raters")
