"""``python -m tests.simulations.progress``: studies of twelve weeks, watched week by week (docs/progress.md).

Healthy studies, in which nobody changes, are watched for false alarms: claims that a rater drifts, copies, names a
label otherwise, or hands in odd masks, at the end of any week. In others a rater drifts, copies, or changes a label
from a known week on.

What may look like a change differs from study to study at random: raters with habits (who always draw larger, or less
exactly), cases that become larger or harder with time, a second centre from some week on, few raters, readings that are
missing, raters who read the cases in an order of their own, and two labels.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

import manytruths as mt
from manytruths.analyses.progress.case import CaseProgress, bare_study, describe_case
from manytruths.analyses.progress.progress import ProgressSettings, StudyProgress, summarise
from manytruths.inference.drift_tests import Drift, Readings, choose_looks, distance_drift, size_drift
from manytruths.study.read_times import ReadTime, name_place

Mask = NDArray[np.uint8]

WEEKS, SIDE = 12, 64
START = date(2026, 1, 5)
NAMES = ("anna", "ben", "clara", "dora", "emil", "fay")


@dataclass(frozen=True)
class Scenario:
    """How a study is; by default it is healthy and even."""

    raters: int = 5
    cases: int = 5
    """A week."""
    larger: float = 0.0
    """By how much cases grow over the study (log radius)."""
    harder: float = 0.0
    """By how much the raters' errors grow over the study (log)."""
    second_centre: int = WEEKS + 1
    """From which week on the cases are those of another centre: smaller, and harder."""
    missing: float = 0.0
    own_order: bool = False
    """Whether each rater reads the cases in an order of their own."""
    labels: int = 1
    habit: float = 0.05
    """Spread of the raters' usual sizes (log radius), and three times that of their errors."""
    error: float = 0.07
    """Of an outline, over its radius, at first: two raters overlap by a Dice of about 0.9."""
    drift: float = 0.0
    """By how much the first rater's radius grows from week 4 to the end (log)."""
    relabelled: int = WEEKS + 1
    """From which week on the second rater writes another label."""
    copied: int = WEEKS + 1
    """From which week on the fourth rater copies the third."""
    worse: float = 0.0
    """By how much the first rater's errors grow from week 4 to the end (log)."""


HEALTHY = Scenario()


def any_healthy(rng: np.random.Generator) -> Scenario:
    """A healthy study with something that may look like a change."""
    return Scenario(
        raters=int(rng.integers(3, 7)), cases=int(rng.integers(2, 7)), larger=float(rng.choice([0, 0.3, -0.3])),
        harder=float(rng.choice([0, 0.3])), second_centre=int(rng.choice([WEEKS + 1, 6])),
        missing=float(rng.choice([0, 0.15])), own_order=bool(rng.random() < 0.3), labels=int(rng.choice([1, 1, 2])),
        habit=float(rng.choice([0.02, 0.08])),
    )  # fmt: skip


@dataclass(frozen=True)
class Watched:
    """A study with all its readings and when they were made."""

    masks: Mapping[str, Mapping[str, Mask]]
    times: Mapping[tuple[str, str], datetime]
    groups: Mapping[str, str]
    found: dict[tuple[str, tuple[str, ...]], CaseProgress] = field(default_factory=dict)
    """What is known of a case by who has read it."""

    def look(self, today: date) -> StudyProgress | None:
        """What ``progress`` says on a day; None before two raters have read."""
        read = {
            case: {rater: mask for rater, mask in by.items() if self.times[case, rater].date() < today}
            for case, by in self.masks.items()
        }
        read = {case: by for case, by in read.items() if by}
        if len({rater for by in read.values() for rater in by}) < 2:
            return None
        study = mt.Study.from_arrays(read, groups={case: self.groups[case] for case in read})
        known = {}
        for case in bare_study(study):
            key = case.name, tuple(read[case.name])
            if key not in self.found:
                self.found[key] = describe_case(case)
            known[case.name] = self.found[key]
        log = {
            name_place(case, rater, ""): ReadTime(0, "done", self.times[case, rater], "", None)
            for case, by in read.items()
            for rater in by
        }
        settings = ProgressSettings(None, None, 14, 7, 0.1, today.isoformat(), 0.95)
        return summarise(study, known, settings, log)

    def weekly(self) -> Iterator[tuple[int, StudyProgress]]:
        """What is said at the end of every week, from 1 on."""
        for week in range(1, WEEKS + 1):
            result = self.look(START + timedelta(days=7 * week))
            if result is not None:
                yield week, result


def draw_study(scenario: Scenario, rng: np.random.Generator) -> Watched:
    """A study."""
    s, names = scenario, NAMES[: scenario.raters]
    y, x = np.mgrid[:SIDE, :SIDE]
    habits, care = rng.normal(0, s.habit, s.raters), np.exp(rng.normal(0, 3 * s.habit, s.raters))
    masks: dict[str, dict[str, Mask]] = {}
    groups: dict[str, str] = {}
    for week in range(1, WEEKS + 1):
        passed = (week - 1) / (WEEKS - 1)
        late = max(0, week - 4) / (WEEKS - 4)
        for k in range(s.cases):
            case, second = f"w{week:02}-{k}", week >= s.second_centre
            radius = rng.uniform(7, 11) * np.exp(s.larger * (passed - 0.5)) * (0.8 if second else 1)
            error = s.error * np.exp(s.harder * passed) * rng.lognormal(0, 0.2) * (1.3 if second else 1)
            middle = SIDE / 2 + rng.uniform(-10, 10, 2)
            masks[case], groups[case] = {}, "second" if second else "first"
            inner = rng.uniform(0.4, 0.6)
            for i, rater in enumerate(names):
                edge = gaussian_filter(rng.normal(size=(SIDE, SIDE)), 4)
                own = error * care[i] * np.exp(s.worse * late * (i == 0))
                far = np.hypot(y - middle[0], x - middle[1]) * np.exp(own * edge / edge.std())
                size = radius * np.exp(habits[i] + s.drift * late * (i == 0))
                mask = (far < size).astype(np.uint8)
                if s.labels > 1:
                    mask[far < inner * size] = 2
                if i == 1 and week >= s.relabelled:
                    mask = np.where(mask == 1, s.labels + 1, mask).astype(np.uint8)
                masks[case][rater] = mask
            if week >= s.copied:
                masks[case]["dora"] = masks[case]["clara"]
    days = {case: 7.0 * (int(case[1:3]) - 1) for case in masks}
    times = {}
    for rater in names:
        order = list(masks)
        planned = [days[case] for case in order]
        if s.own_order:
            order = [order[k] for k in rng.permutation(len(order))]
        for case, day in zip(order, planned, strict=True):
            times[case, rater] = datetime(2026, 1, 5) + timedelta(days=day + float(rng.uniform(0, 6.5)))
    kept = {
        case: {rater: mask for rater, mask in by.items() if rng.random() >= s.missing} for case, by in masks.items()
    }
    return Watched({case: by for case, by in kept.items() if by}, times, groups)


@dataclass(frozen=True)
class Seen:
    """What was said in a study, by the claim and whom it is about, and the first week in which it was."""

    alarms: Mapping[tuple[str, str], int]
    masks: Mapping[tuple[str, str], int]
    """Claims about masks that are probably broken, at any look."""


def watch(study: Watched) -> Seen:
    """All weeks of a study."""
    alarms, masks = dict[tuple[str, str], int](), dict[tuple[str, str], int]()
    for week, result in study.weekly():
        for claim in result.alarms:
            alarms.setdefault((claim.kind.id, claim.about), week)
        for claim in result.claims.made:
            if claim.kind.id.startswith("masks."):
                masks.setdefault((claim.kind.id, claim.about), week)
    return Seen(alarms, masks)


def watch_healthy(seed: int, error: float = HEALTHY.error) -> Seen:
    """A healthy study."""
    rng = np.random.default_rng([seed, 1])
    return watch(draw_study(replace(any_healthy(rng), error=error), rng))


def watch_scenario(seed: int, scenario: Scenario) -> Seen:
    """A study of a scenario."""
    return watch(draw_study(scenario, np.random.default_rng([seed, 2])))


CHANGES: dict[str, tuple[Scenario, str, str]] = {
    "draws 4% larger (radius) by the end": (replace(HEALTHY, drift=np.log(1.04)), "progress.drift_size", "anna"),
    "draws 8% larger": (replace(HEALTHY, drift=np.log(1.08)), "progress.drift_size", "anna"),
    "draws 16% larger": (replace(HEALTHY, drift=np.log(1.16)), "progress.drift_size", "anna"),
    "draws 16% larger, of three raters": (
        replace(HEALTHY, drift=np.log(1.16), raters=3), "progress.drift_size", "anna"
    ),
    "errors twice as large by the end": (replace(HEALTHY, worse=np.log(2)), "progress.drift_distance", "anna"),
    "errors four times as large": (replace(HEALTHY, worse=np.log(4)), "progress.drift_distance", "anna"),
    "another label from week 5 on": (replace(HEALTHY, relabelled=5), "progress.labels", "ben"),
    "copies from week 7 on": (replace(HEALTHY, copied=7), "progress.copies", "clara and dora"),
}  # fmt: skip


# -- the tests alone ---------------------------------------------------------------------------------


def draw_readings(
    rng: np.random.Generator, raters: int = 4, subjects: int = 48, drift: float = 0.0, away: float = 0.0,
    missing: float = 0.0,
) -> Readings:  # fmt: skip
    """Raters as points around a truth, four subjects a week; the first draws larger with time, or goes away."""
    when = np.arange(subjects) / subjects
    sizes = np.exp(rng.normal(6, 0.7, (subjects, 1)) + rng.normal(0, 0.1, (subjects, raters)))
    sizes[:, 0] *= np.exp(drift * when)
    hard = rng.lognormal(-2, 0.3, (subjects, 1, 1))
    points = rng.normal(size=(subjects, raters, 3)) * hard
    points[:, 0] += (away * when)[:, None] * rng.choice([-1, 1], (subjects, 3))
    distances = 1 - np.exp(-np.linalg.norm(points[:, :, None] - points[:, None], axis=-1))
    times = np.repeat(np.arange(subjects)[:, None], raters, axis=1).astype(float)
    gone = rng.random((subjects, raters)) < missing
    sizes[gone], times[gone] = np.nan, np.nan
    distances[gone[:, :, None] | gone[:, None, :]] = np.nan
    looks = np.where(gone, -1, np.arange(subjects)[:, None] // 4)
    return Readings(sizes[None], distances, times, looks, np.zeros(subjects, np.intp))


def drifts_of(data: Readings) -> tuple[Drift, Drift]:
    """Both tests over all looks."""
    periods = choose_looks(data, int(data.looks.max()))
    return size_drift(data, periods), distance_drift(data, periods)


def is_named(drift: Drift, rater: int | None = None) -> bool:
    """Whether anybody, or one rater, is said to drift, as one of two kinds of claims."""
    p = drift.p_value if rater is None else drift.p_value[:, rater]
    return bool((p <= 0.025).any())


def drift_rates(raters: int, studies: int, seed: int = 0, **how: float) -> tuple[float, float, float, float]:
    """How often the first rater is said to drift, and how often another, for sizes and for distances."""
    rng = np.random.default_rng([seed, raters])
    named = np.zeros(4)
    for _ in range(studies):
        for k, drift in enumerate(drifts_of(draw_readings(rng, raters, **how))):  # type: ignore[arg-type]
            named[2 * k] += is_named(drift, 0)
            named[2 * k + 1] += any(is_named(drift, rater) for rater in range(1, raters))
    first, other, near, far = (named / studies).tolist()
    return first, other, near, far


def _rates(job: tuple[int, int, dict[str, float]]) -> tuple[float, float, float, float]:
    raters, studies, how = job
    return drift_rates(raters, studies, **how)


def report_tests(studies: int, pool: ProcessPoolExecutor) -> None:
    """Print how often the tests name the first rater, and another, of 48 subjects over twelve weeks."""
    worlds: dict[str, dict[str, float]] = {
        "nobody drifts": {}, "a third of the readings is missing": {"missing": 0.33},
        "the first grows by 35%": {"drift": 0.3}, "by 65%": {"drift": 0.5}, "the first goes away": {"away": 0.3},
        "twice as far": {"away": 0.6},
    }  # fmt: skip
    jobs = [(raters, studies, how) for how in worlds.values() for raters in (3, 5, 8)]
    found = iter(pool.map(_rates, jobs))
    print("| | raters | size: the first | another | distance: the first | another |")
    print("|---|---|---|---|---|---|")
    for world in worlds:
        for raters in (3, 5, 8):
            cells = " | ".join(f"{rate:.1%}" for rate in next(found))
            print(f"| {world} | {raters} | {cells} |", flush=True)


def report_healthy(studies: int, error: float, pool: ProcessPoolExecutor) -> None:
    """Print how many healthy studies have a false alarm."""
    seen = list(pool.map(partial(watch_healthy, error=error), range(studies), chunksize=5))
    some = sum(bool(one.alarms) for one in seen)
    every = sum(bool(one.alarms or one.masks) for one in seen)
    print(
        f"healthy studies, error {error:g}: a false alarm about a change in {some} of {studies} ({some / studies:.1%})"
    )
    print(f"  with claims about broken masks in {every} of {studies} ({every / studies:.1%})")
    for kind, count in Counter(kind for one in seen for kind in {k for k, _ in one.alarms}).most_common():
        print(f"  {kind}: {count}")
    odd = sum(bool(one.masks) for one in seen)
    print(f"  claims about broken masks: {odd} of {studies}")
    for kind, count in Counter(kind for one in seen for kind in {k for k, _ in one.masks}).most_common():
        print(f"    {kind}: {count}")


def report_changes(studies: int, pool: ProcessPoolExecutor) -> None:
    """Print how often a change is found, when, and who is blamed for it."""
    print("| what happens | found | first said in week (median, range) | somebody else is blamed |")
    print("|---|---|---|---|")
    for name, (scenario, kind, who) in CHANGES.items():
        seen = list(pool.map(partial(watch_scenario, scenario=scenario), range(studies), chunksize=2))
        weeks = [one.alarms[kind, who] for one in seen if (kind, who) in one.alarms]
        blamed = sum(any(not is_right(about, who) for _, about in one.alarms) for one in seen)
        when = f"{np.median(weeks):g}, {min(weeks)} to {max(weeks)}" if weeks else "–"
        print(f"| {name} | {len(weeks)} of {studies} | {when} | {blamed} of {studies} |", flush=True)


def is_right(about: str, who: str) -> bool:
    """Whether a claim is about whom it should be about: of two raters who are alike, both are named."""
    return set(about.split(" and ")) <= set(who.split(" and "))


def main() -> None:
    """Print all tables."""
    healthy, changed = (int(text) for text in (*sys.argv[1:3], "200", "40")[:2]) if len(sys.argv) > 2 else (200, 40)
    with ProcessPoolExecutor() as pool:
        for error in (HEALTHY.error, 2 * HEALTHY.error):
            report_healthy(healthy, error, pool)
        report_changes(changed, pool)
        report_tests(2 * healthy, pool)


if __name__ == "__main__":
    main()
