"""A whole study of phantoms, marked by five raters and three algorithms whose faults are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..core.errors import CallError
from .phantoms import GROUPS, SMALLEST, Mask, Phantom, phantom
from .randomness import derive
from .raters import Marking, SimulatedRater
from .tissue import Image

RATERS = (
    SimulatedRater("A", bias=0.0, jitter=0.8, miss=0.02, false_alarm=0.02, rank_noise=0.03, expertise="senior"),
    SimulatedRater("B", bias=1.0, jitter=1.0, miss=0.03, false_alarm=0.03, rank_noise=0.05, expertise="senior"),
    SimulatedRater("C", bias=-2.0, jitter=1.2, miss=0.06, false_alarm=0.02, rank_noise=0.08, expertise="junior"),
    SimulatedRater("D", bias=0.5, jitter=4.5, miss=0.20, false_alarm=0.35, rank_noise=0.30, expertise="trainee"),
    SimulatedRater("E", bias=3.0, jitter=1.5, miss=0.03, false_alarm=0.08, rank_noise=0.08, expertise="junior"),
)
"""D is the careless one, C draws small, E draws large. Lengths are for images of 256 pixels and grow with the size."""

ALGORITHMS = (
    SimulatedRater("net", bias=0.3, jitter=1.0, miss=0.04, false_alarm=0.04),
    SimulatedRater("cautious", bias=-1.5, jitter=1.0, miss=0.12, false_alarm=0.01),
    SimulatedRater("filter", bias=1.5, jitter=2.5, miss=0.10, false_alarm=0.50),
)
"""What algorithms would predict: one that is good, one that leaves out what is faint, one that sees too much."""

TWICE, SOMETIMES_ABSENT = "B", "C"


@dataclass(frozen=True, eq=False)
class SimulatedCase:
    """One image, the truth about it, and who drew what."""

    name: str
    subject: str
    group: str
    phantom: Phantom
    readings: Mapping[tuple[str, str], Marking]
    """By rater and session. A rater who is not here did not see the image: that is not the same as marking nothing."""
    predictions: Mapping[str, Mask]
    """By algorithm."""

    @property
    def image(self) -> Image:
        """The image the raters saw."""
        return self.phantom.image

    @property
    def truth(self) -> Mask:
        """All lesions in one mask."""
        return self.phantom.truth


@dataclass(frozen=True)
class SimulatedStudy:
    """Cases made on demand, one at a time, and raters whose faults can be compared with what is estimated."""

    cases: int
    size: int
    seed: int
    raters: tuple[SimulatedRater, ...]
    algorithms: tuple[SimulatedRater, ...] = ()

    def __len__(self) -> int:
        return self.cases

    def __iter__(self) -> Iterator[SimulatedCase]:
        return (self._case(index) for index in range(self.cases))

    def __getitem__(self, name: str) -> SimulatedCase:
        if name not in self.names:
            raise CallError(f"no case {name!r}; there are {self.names[0]} to {self.names[-1]}")
        return self._case(self.names.index(name))

    @property
    def names(self) -> tuple[str, ...]:
        """``p01``, ``p02``, …"""
        return tuple(f"p{index + 1:02d}" for index in range(self.cases))

    @property
    def subjects(self) -> dict[str, str]:
        """The subject of each case: every eighth subject or so has two."""
        return {name: f"s{index + 1 - (index + 3) // 8:02d}" for index, name in enumerate(self.names)}

    @property
    def groups(self) -> dict[str, str]:
        """The histology of each case, in turn."""
        kinds = tuple(GROUPS)
        return {name: kinds[index % len(kinds)] for index, name in enumerate(self.names)}

    def sessions(self, case: str) -> list[tuple[str, str]]:
        """Who read a case, and in which session: B reads all twice, C never saw every seventh."""
        absent = {SOMETIMES_ABSENT} if self.names.index(case) % 7 == 3 else set()
        twice = [(r.name, s) for r in self.raters for s in ("1", "2") if s == "1" or r.name == TWICE]
        return [reading for reading in twice if reading[0] not in absent]

    def _case(self, index: int) -> SimulatedCase:
        name = self.names[index]
        group = self.groups[name]
        healthy = group == "Negative" and index // len(GROUPS) % 3 == 1
        drawn = phantom(derive(self.seed, "case", index), size=self.size, group=group, lesions=0 if healthy else None)
        raters = {rater.name: rater for rater in self.raters}
        readings = {
            (rater, session): raters[rater].mark(drawn, derive(self.seed, "reading", index, rater, session))
            for rater, session in self.sessions(name)
        }
        predicted = {a.name: a.mark(drawn, derive(self.seed, "prediction", index, a.name)) for a in self.algorithms}
        masks = {algorithm: marking.mask for algorithm, marking in predicted.items()}
        return SimulatedCase(name, self.subjects[name], group, drawn, readings, masks)


def simulate_study(cases: int = 24, size: int = 256, seed: int = 0) -> SimulatedStudy:
    """A study to try everything on: five raters, four groups, a second session, absences, three algorithms.

    >>> study = simulate_study(cases=4)
    >>> [case.group for case in study]
    ['Negative', 'CIN1', 'CIN2', 'CIN3']
    >>> study.raters[4].name, study.raters[4].bias
    ('E', 3.0)
    """
    for name, value, least in (("cases", cases, 1), ("size", size, SMALLEST), ("seed", seed, 0)):
        if value < least:
            raise CallError(f"{name} is {value}; it must be {least} or more")
    scale = size / 256
    raters, algorithms = (
        tuple(replace(r, bias=r.bias * scale, jitter=r.jitter * scale) for r in group) for group in (RATERS, ALGORITHMS)
    )
    return SimulatedStudy(cases, size, seed, raters, algorithms)
