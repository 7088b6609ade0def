"""Studies of phantoms, marked by five raters and three algorithms whose faults are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .phantoms import (
    GROUPS,
    SMALLEST,
    Field,
    Image,
    Lesion,
    Mask,
    Phantom,
    derive,
    draw_blob,
    generator,
    phantom,
    smooth_noise,
)

FAINTEST = 0.1
"""Visibility of a false alarm, which is drawn like a very faint lesion."""


# -- raters -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Marking:
    """What one rater drew on one image, in one session."""

    ranks: NDArray[np.uint8]
    """0 where nothing is marked, else the rank the rater gave; 1 is the most severe."""

    @property
    def mask(self) -> Mask:
        """The marked pixels."""
        return self.ranks > 0


@dataclass(frozen=True)
class SimulatedRater:
    """A rater with known faults; one without any draws the truth.

    >>> from manytruths.simulate import phantom
    >>> image = phantom(1, group="CIN3")
    >>> bool((SimulatedRater("perfect").mark(image, seed=0).mask == image.truth).all())
    True
    """

    name: str
    bias: float = 0.0
    """Pixels by which every outline lies outside (+) or inside (−) the true one."""
    jitter: float = 0.0
    """Pixels by which an outline wanders, smoothly, on a clear lesion (standard deviation); up to twice that on a
    faint one."""
    miss: float = 0.0
    """Probability of overlooking a clear lesion; up to twice that for a faint one."""
    false_alarm: float = 0.0
    """Probability of marking, once an image, a place where nothing is."""
    rank_noise: float = 0.0
    """Standard deviation of the error in judging a lesion's visibility, by which lesions are ranked."""
    expertise: str = ""

    def __post_init__(self) -> None:
        for field in ("miss", "false_alarm"):
            if not 0 <= getattr(self, field) <= 1:
                raise CallError(f"rater {self.name}: {field} is {getattr(self, field)}; a probability is 0 to 1")
        for field in ("jitter", "rank_noise"):
            if not getattr(self, field) >= 0:
                raise CallError(f"rater {self.name}: {field} is {getattr(self, field)}; it must be 0 or more")

    def mark(self, phantom: Phantom, seed: int) -> Marking:
        """What this rater draws; the same phantom, rater and seed give the same marking."""
        size = phantom.size
        random = generator(seed, self.name)
        wander = smooth_noise(random, size, size / 20)
        drawn = self._find_lesions(random, phantom)
        if not drawn:
            return Marking(np.zeros((size, size), np.uint8))
        reach = np.stack([self._reach(lesion, wander) for lesion in drawn])
        errors = random.normal(0, 1, len(drawn)) * self.rank_noise
        return Marking(_rank(reach, [s.visibility + e for s, e in zip(drawn, errors, strict=True)]))

    def _find_lesions(self, random: np.random.Generator, phantom: Phantom) -> list[Lesion]:
        """The lesions that the rater sees, and perhaps one that is not there."""
        chances = random.random(len(phantom.lesions))
        lesions = [s for s, chance in zip(phantom.lesions, chances, strict=True) if chance >= self.miss * _harder(s)]
        alarm, radius = random.random(), random.uniform(0.04, 0.09) * phantom.size
        if alarm < self.false_alarm:
            lesions.append(Lesion(draw_blob(random, phantom.size, radius), FAINTEST, len(lesions) + 1))
        return lesions

    def _reach(self, lesion: Lesion, wander: Field) -> Field:
        """How far inside this rater's outline each pixel lies."""
        return self.bias + self.jitter * _harder(lesion) * wander - lesion.distance


def _harder(lesion: Lesion) -> float:
    """1 for a clear lesion, towards 2 for a faint one."""
    return 2 - lesion.visibility


def _rank(reach: Field, severity: list[float]) -> NDArray[np.uint8]:
    """Give each pixel to the lesion it lies deepest in, and the lesions that have pixels ranks 1, 2, …"""
    owner = np.where(reach.max(axis=0) > 0, reach.argmax(axis=0), -1)
    drawn = [lesion for lesion in range(len(reach)) if (owner == lesion).any()]
    ranks = np.zeros(owner.shape, np.uint8)
    for rank, lesion in enumerate(sorted(drawn, key=lambda lesion: -severity[lesion]), start=1):
        ranks[owner == lesion] = rank
    return ranks


# -- studies ------------------------------------------------------------------------------------------


RATERS = (
    SimulatedRater("A", bias=0.0, jitter=0.8, miss=0.02, false_alarm=0.02, rank_noise=0.03, expertise="senior"),
    SimulatedRater("B", bias=1.0, jitter=1.0, miss=0.03, false_alarm=0.03, rank_noise=0.05, expertise="senior"),
    SimulatedRater("C", bias=-2.0, jitter=1.2, miss=0.06, false_alarm=0.02, rank_noise=0.08, expertise="junior"),
    SimulatedRater("D", bias=0.5, jitter=4.5, miss=0.20, false_alarm=0.35, rank_noise=0.30, expertise="trainee"),
    SimulatedRater("E", bias=3.0, jitter=1.5, miss=0.03, false_alarm=0.08, rank_noise=0.08, expertise="junior"),
)
"""D is careless, C draws small, E draws large. Lengths are for images of 256 pixels and grow with the size."""
ALGORITHMS = (
    SimulatedRater("net", bias=0.3, jitter=1.0, miss=0.04, false_alarm=0.04),
    SimulatedRater("cautious", bias=-1.5, jitter=1.0, miss=0.12, false_alarm=0.01),
    SimulatedRater("filter", bias=1.5, jitter=2.5, miss=0.10, false_alarm=0.50),
)
"""Three algorithms: a good one, one that leaves out faint lesions, one that finds too much."""
TWICE, SOMETIMES_ABSENT = "B", "C"


@dataclass(frozen=True, eq=False)
class SimulatedCase:
    """One image, its true mask, and the masks of raters and algorithms."""

    name: str
    subject: str
    group: str
    phantom: Phantom
    readings: Mapping[tuple[str, str], Marking]
    """By rater and session. A rater who is missing did not read the image, which is not the same as marking nothing."""
    predictions: Mapping[str, Mask]
    """By algorithm."""

    @property
    def image(self) -> Image:
        """The image that the raters read."""
        return self.phantom.image

    @property
    def truth(self) -> Mask:
        """All lesions in one mask."""
        return self.phantom.truth


@dataclass(frozen=True)
class SimulatedStudy:
    """Cases made on demand, one at a time, and raters whose known faults can be compared with estimates."""

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
        """Who read a case, and in which session: B reads all cases twice, C misses every seventh."""
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
    """Simulate a study to try everything on: five raters, four groups, a second session, absences, three algorithms.

    Parameters
    ----------
    cases : int
        Number of images.
    size : int
        Pixels along each side of an image, 32 or more.
    seed : int
        Seed of the simulation; another seed gives another study.

    Returns
    -------
    SimulatedStudy
        The cases, made on demand, and the raters with their known faults.

    Examples
    --------
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
