"""``python -m tests.simulations.masks [STUDIES] [PART …]``: broken masks that are found, and alarms about sound ones.

Masks of other studies than the demo are broken in every way that is looked for; what ``check`` says
of them and of all others is counted, as docs/masks.md has it. Parts are ``masks`` (single masks) and ``many`` (raters
of whose masks many are broken); of a part that is not named the tables stay.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tests.data_folder import HOME
from tests.mask_mistakes import MISTAKES, move
from tests.simulations.mask_studies import (
    OPINIONS,
    SIMULATED,
    Mask,
    MaskStudy,
    Opinion,
    half_of,
    real_names,
    real_study,
    simulate,
    simulated_studies,
)

import manytruths as mt
from manytruths.claims.masks import SHORT, count_masks, find_many, may_be_meant
from manytruths.raters.broken_masks import MaskReview
from manytruths.study.problems import check_case
from manytruths.study.suspicions import SEVERAL, Suspicion, find_suspicions

STUDIES = 6
"""Simulated studies of each family."""
BROKEN = 8
"""Share of the cases in which a mask is broken: one in so many."""
REPEATED = 2
"""How many times a real study is spoiled by each mistake."""
PAGE = Path(__file__).parents[2] / "docs" / "masks.md"
PARTS = ("masks", "many")

Key = tuple[str, str]
"""Case and rater."""
Masks = dict[Any, Mask]
"""By rater, or by rater and session."""
Break = Callable[[MaskStudy, list[Key], np.random.Generator], dict[str, Masks]]
"""All masks of the cases that change."""


@dataclass(frozen=True)
class Mistake:
    """A way to break masks, what should be said of it, and which masks it can be tried on."""

    name: str
    kinds: tuple[str, ...]
    spoil: Break
    moves: bool = False
    """Whether it counts only where it changes much: Dice with the other raters falls to less than half."""
    whole: bool = False
    """Whether all masks of a rater are broken."""
    labels: bool | None = None
    """Whether it needs several labels, or one."""


# -- ways to break masks ---------------------------------------------------------------------------


def each(change: Callable[[Mask, np.random.Generator], Mask]) -> Break:
    """Change one mask of each case."""

    def spoil(study: MaskStudy, keys: list[Key], rng: np.random.Generator) -> dict[str, Masks]:
        return {case: {**study.masks[case], rater: change(study.masks[case][rater], rng)} for case, rater in keys}

    return spoil


def rotated(mask: Mask, rng: np.random.Generator) -> Mask:
    """By 90 degrees where two axes have the same length, else by 180."""
    axes = (mask.ndim - 2, mask.ndim - 1)
    quarter = mask.shape[axes[0]] == mask.shape[axes[1]]
    return np.rot90(mask, int(rng.choice([1, 3])) if quarter else 2, axes).copy()


def shifted(mask: Mask, rng: np.random.Generator) -> Mask:
    """By a tenth to a third of the image along one axis or two."""
    axes = rng.choice(mask.ndim, rng.integers(1, 3), replace=False)
    return move(mask, {int(a): int(rng.choice((-1, 1)) * rng.uniform(0.1, 0.33) * mask.shape[a]) for a in axes})


def scaled(mask: Mask, rng: np.random.Generator) -> Mask:
    """Drawn at a half, two thirds or three quarters of the resolution, and saved into a corner."""
    factor, result = rng.choice([1 / 2, 2 / 3, 3 / 4]), np.zeros_like(mask)
    places = [np.floor(np.arange(int(n * factor)) / factor).astype(int) for n in mask.shape]
    result[tuple(slice(len(p)) for p in places)] = mask[np.ix_(*places)]
    return result


def filled(mask: Mask, rng: np.random.Generator) -> Mask:
    """All foreground, in every second larger mask but for two rows."""
    result = np.full_like(mask, mask.max())
    if rng.random() < 0.5 and len(mask) > 50:
        result[:1], result[-1:] = 0, 0
    return result


def speckled(mask: Mask, rng: np.random.Generator) -> Mask:
    """One pixel in 50 to 500 is wrong."""
    return np.where(rng.random(mask.shape) < rng.uniform(0.002, 0.02), mask.max(), mask).astype(mask.dtype)


def pierced(mask: Mask, rng: np.random.Generator) -> Mask:
    """One pixel in 5 to 30 of what is marked is a hole."""
    return np.where(rng.random(mask.shape) < rng.uniform(0.03, 0.2), 0, mask).astype(mask.dtype)


def exchange_cases(study: MaskStudy, keys: list[Key], rng: np.random.Generator) -> dict[str, Masks]:
    """Two cases of a rater change places."""
    found = {}
    for (a, rater), (b, _) in list(pairwise(keys))[::2]:
        here, there = study.masks[a], study.masks[b]
        if rater in there and here[rater].shape == there[rater].shape:
            found[a], found[b] = {**here, rater: there[rater]}, {**there, rater: here[rater]}
    return found


def copy_rater(study: MaskStudy, keys: list[Key], rng: np.random.Generator) -> dict[str, Masks]:
    """The mask of another rater of the case."""
    found = {}
    for case, rater in keys:
        other = str(rng.choice([name for name in study.masks[case] if name != rater]))
        found[case] = {**study.masks[case], rater: study.masks[case][other].copy()}
    return found


def copy_case(study: MaskStudy, keys: list[Key], rng: np.random.Generator) -> dict[str, Masks]:
    """The rater's mask of another case, which stays there."""
    found = {}
    for case, rater in keys:
        shape = study.masks[case][rater].shape
        others = [c for c, by in study.masks.items() if c != case and rater in by and by[rater].shape == shape]
        if others:
            found[case] = {**study.masks[case], rater: study.masks[str(rng.choice(others))][rater].copy()}
    return found


def copy_one_case(study: MaskStudy, keys: list[Key], rng: np.random.Generator) -> dict[str, Masks]:
    """One mask in all cases of the rater."""
    case, rater = keys[0]
    mask = study.masks[case][rater]
    return {
        c: {**by, rater: mask.copy()} for c, by in study.masks.items() if rater in by and by[rater].shape == mask.shape
    }


def copy_session(study: MaskStudy, keys: list[Key], rng: np.random.Generator) -> dict[str, Masks]:
    """A second session that is the first."""
    return {case: {**study.masks[case], (rater, "2"): study.masks[case][rater].copy()} for case, rater in keys}


def shift_rater(study: MaskStudy, keys: list[Key], rng: np.random.Generator) -> dict[str, Masks]:
    """All masks of the rater by the same few pixels, 2% to 5% of the image and at least 3."""
    rater = keys[0][1]
    share, sign = rng.uniform(0.02, 0.05), int(rng.choice((-1, 1)))

    def shift(mask: Mask) -> Mask:
        return move(mask, dict.fromkeys(range(mask.ndim), sign * max(3, round(share * max(mask.shape)))))

    return {case: {**by, rater: shift(by[rater])} for case, by in study.masks.items() if rater in by}


def renumbered(mask: Mask, rng: np.random.Generator) -> Mask:
    """Labels 1, 2, 3 in another order, none in its place where there are three."""
    return np.array([0, 2, 3, 1] if rng.random() < 0.5 else [0, 3, 1, 2], mask.dtype)[mask]


MISTAKEN = (
    Mistake("all foreground", ("all_marked",), each(filled)),
    Mistake("inverted", ("inverted", "all_marked"), each(MISTAKES["inverted"]), labels=False),
    Mistake("flipped", ("turned",), each(MISTAKES["turned"]), moves=True),
    Mistake("rotated", ("turned",), each(rotated), moves=True),
    Mistake("shifted, one mask", ("shifted",), each(shifted), moves=True),
    Mistake("shifted, all masks of a rater", ("always_shifted",), shift_rater, whole=True),
    Mistake("scaled", ("scaled",), each(scaled), moves=True),
    Mistake("exchanged with another case", ("other_case",), exchange_cases, moves=True),
    Mistake("identical to another rater's", ("identical_raters",), copy_rater),
    Mistake("identical to the rater's of another case", ("identical_cases",), copy_case),
    Mistake("identical in all cases of a rater", ("identical_cases",), copy_one_case, whole=True),
    Mistake("identical sessions", ("identical_sessions",), copy_session),
    Mistake("empty where the others mark much", ("missing_marks",), each(MISTAKES["missing_marks"])),
    Mistake("speckle", ("speckle",), each(speckled)),
    Mistake("holes of one pixel", ("pinholes",), each(pierced)),
    Mistake("other numbering of labels", ("other_labels",), each(renumbered), labels=True),
)


# -- what is said of them --------------------------------------------------------------------------


@dataclass
class Count:
    """Broken masks, how many were found, and alarms about others."""

    broken: int = 0
    named: int = 0
    """Under the right name."""
    found: int = 0
    """Under any name."""
    others: int = 0
    """Alarms about sound masks of the same studies."""

    def __add__(self, other: Count) -> Count:
        return Count(
            self.broken + other.broken, self.named + other.named, self.found + other.found, self.others + other.others
        )

    def __str__(self) -> str:
        if not self.broken:
            return "–"
        more = f" ({self.found / self.broken:.0%})" if self.found > self.named else ""
        return f"{self.named / self.broken:.0%}{more} of {self.broken}"


@dataclass
class Reviewed:
    """A study whose cases were looked at."""

    study: MaskStudy
    reviews: dict[str, MaskReview] = field(default_factory=dict)

    @classmethod
    def of(cls, study: MaskStudy) -> Reviewed:
        return cls(study, review(open_study(study)))

    @cached_property
    def alarms(self) -> set[tuple[str, str]]:
        """Kinds and cases of what is suspected of the study as it is."""
        return {(s.kind, s.case) for s in self.suspicions()}

    def suspicions(self, changed: dict[str, Masks] | None = None) -> tuple[Suspicion, ...]:
        """What is suspected after some cases have changed."""
        study, changed = open_study(self.study, changed), changed or {}
        return find_suspicions(study, {**self.reviews, **review(study, list(changed))})


def open_study(study: MaskStudy, changed: dict[str, Masks] | None = None) -> mt.Study:
    """The study with other masks in some cases."""
    how: dict[str, Any] = {"raters": "exchangeable"} if study.exchangeable else {}
    return mt.Study.from_arrays({**study.masks, **(changed or {})}, **how)


def review(study: mt.Study, cases: list[str] | None = None) -> dict[str, MaskReview]:
    """What each of the cases shows, as ``check`` sees it."""
    names = [case.name for case in study] if cases is None else cases
    return {name: check_case(study[name]).review for name in names}


def fit(masks: Masks, rater: str) -> float:
    """Median Dice of a mask with those of the other raters, each label against the rest."""
    mine = masks[rater]
    labels = np.unique(mine[mine > 0])
    if not len(labels):
        return 0.0
    fits = [np.mean([dice(mine == label, m == label) for label in labels]) for r, m in masks.items() if r != rater]
    return float(np.median(fits))


def dice(a: Mask, b: Mask) -> float:
    """Of two masks, not both empty."""
    return float(2 * np.count_nonzero(a & b) / max(1, np.count_nonzero(a) + np.count_nonzero(b)))


def choose(study: MaskStudy, mistake: Mistake, rng: np.random.Generator) -> list[Key]:
    """One mask of each of some cases: of one rater throughout where files change places."""
    marked = {c: [r for r, m in by.items() if m.any()] for c, by in study.masks.items()}
    if mistake.kinds == ("missing_marks",):
        usual = np.median([(m > 0).mean() for by in study.masks.values() for m in by.values() if m.any()])
        much = {c for c, by in study.masks.items() if np.median([(m > 0).mean() for m in by.values()]) >= usual}
        marked = {c: raters if c in much and len(raters) == len(study.masks[c]) else [] for c, raters in marked.items()}
    cases = Counter(r for raters in marked.values() for r in raters)
    if mistake.whole:
        cases = Counter({r: n for r, n in cases.items() if n >= SEVERAL and not study.exchangeable})
    if not cases:
        return []
    one = str(rng.choice(sorted(cases)))
    single = mistake.whole or mistake.spoil is exchange_cases
    keys = [(c, one if single else str(rng.choice(r))) for c, r in marked.items() if r and (not single or one in r)]
    number = max(2, len(study.masks) // BROKEN)
    return [keys[i] for i in rng.permutation(len(keys))[:number]]


def spoil_and_look(sound: Reviewed, mistake: Mistake, rng: np.random.Generator) -> Count:
    """Break some masks of a study, and count what is said."""
    study = sound.study
    keys = choose(study, mistake, rng)
    changed = mistake.spoil(study, keys, rng) if keys else {}
    if not changed:
        return Count()
    broken = {(case, rater) for case, rater in keys if case in changed}
    if mistake.whole:
        broken = {(case, keys[0][1]) for case in changed}
    suspicions = sound.suspicions(changed)
    about = [(s, {(s.case, name) for name in s.raters}) for s in suspicions]
    others = sum(not (whom & broken) and s.case != "" and (s.kind, s.case) not in sound.alarms for s, whom in about)
    others += sum(s.case == "" and not {r for _, r in broken} & set(s.raters) for s in suspicions)
    if mistake.whole:
        rater = keys[0][1]
        return Count(
            1, int(any(s.kind in mistake.kinds and rater in s.raters for s in suspicions)),
            int(any(rater in s.raters for s in suspicions)), others,
        )  # fmt: skip
    if mistake.moves:
        broken = {(c, r) for c, r in broken if 2 * fit(changed[c], r) < fit(study.masks[c], r)}
    said: dict[Key, set[str]] = defaultdict(set)
    for s, whom in about:
        for key in whom:
            said[key].add(s.kind)
    named = sum(bool(said[key] & set(mistake.kinds)) for key in broken)
    return Count(len(broken), named, sum(bool(said[key]) for key in broken), others)


# -- the tables ------------------------------------------------------------------------------------


def power(studies: list[Reviewed], times: int = 1, seed: int = 122) -> dict[str, dict[str, Count]]:
    """By mistake and family of studies, each of which is spoiled so many times."""
    found: dict[str, dict[str, Count]] = {mistake.name: defaultdict(Count) for mistake in MISTAKEN}
    for number, mistake in enumerate(MISTAKEN):
        rng = np.random.default_rng([seed, number])
        for sound in studies:
            if mistake.labels is None or mistake.labels == (sound.study.labels > 1):
                for _ in range(times):
                    found[mistake.name][sound.study.family] += spoil_and_look(sound, mistake, rng)
    return found


def power_table(found: dict[str, dict[str, Count]], families: list[str]) -> str:
    lines = [f"| mistake | {' | '.join(families)} |", "|---" * (len(families) + 1) + "|"]
    for name, counts in found.items():
        lines.append(f"| {name} | {' | '.join(str(counts.get(f, Count())) for f in families)} |")
    others = [sum(counts[f].others for counts in found.values() if f in counts) for f in families]
    return "\n".join([*lines, f"| *alarms about sound masks* | {' | '.join(map(str, others))} |"])


def alarm_line(name: str, studies: list[Reviewed]) -> str:
    """Alarms about the masks as they are."""
    kinds = Counter(s.kind for sound in studies for s in sound.suspicions())
    masks = sum(sound.study.n_masks for sound in studies)
    what = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    return f"| {name} | {len(studies)} | {masks:,} | {what} |"


ALARMS = "| studies as they are | studies | masks | alarms |\n|---|---|---|---|"


def simulated_tables(studies: int) -> Iterator[str]:
    """Power and false alarms of simulated studies."""
    reviewed = [Reviewed.of(study) for study in simulated_studies(studies)]
    families = list(dict.fromkeys(sound.study.family for sound in reviewed))
    yield power_table(power(reviewed), families)
    by_family = [alarm_line(f, [s for s in reviewed if s.study.family == f]) for f in families]
    yield "\n".join([ALARMS, *by_family])


def real_tables() -> Iterator[str]:
    """Power on held-out halves of real studies, and false alarms on the whole of them."""
    whole = [Reviewed.of(real_study(name)) for name in real_names()]
    halves = [Reviewed.of(half_of(sound.study)) for sound in whole]
    yield power_table(power(halves, REPEATED), [sound.study.family for sound in halves])
    yield "\n".join([ALARMS, *(alarm_line(sound.study.family, [sound]) for sound in whole)])


# -- raters with many broken masks -----------------------------------------------------------------

TIMES_MORE = 4
"""How many times as many studies of each family and kind of rater."""
FEW_CASES, CASES = 10, 12
"""Of studies of sound masks, and of those in which masks are broken."""
SHARES = {"a third": 1 / 3, "half": 1 / 2, "all": 1.0}
SOUND, SPOILED = 330, 340
"""Seeds of studies that were drawn after it was settled which kinds get "or meant so" (on those of 130 to 140)."""


@dataclass(frozen=True)
class Said:
    """Of how many raters it is said that many of their masks are broken or lost."""

    said: int = 0
    of: int = 0

    def __add__(self, other: Said) -> Said:
        return Said(self.said + other.said, self.of + other.of)

    def __str__(self) -> str:
        return f"{self.said} of {self.of}" if self.of else "–"


def named(sound: Reviewed, changed: dict[str, Masks] | None = None) -> dict[str, bool]:
    """Raters of whom it is said, and whether as of masks that may be meant so."""
    found = find_many(sound.suspicions(changed), count_masks(open_study(sound.study, changed)))
    return {rater: may_be_meant(kinds) for rater, kinds in found.items()}


def sound_raters(studies: int, family: str, opinion: Opinion | None, seed: int) -> tuple[Said, Said, int]:
    """The last rater of every study, who may be of another opinion, the others, and what is said without reserve."""
    how, last, others, sure = dict(SIMULATED)[family], Said(), Said(), 0
    rng = np.random.default_rng([seed, list(dict(SIMULATED)).index(family)])
    for _ in range(studies):
        masks = simulate(rng, **{**how, "cases": FEW_CASES, "opinion": opinion})
        *those, unlike = sorted(masks["c01"])
        of = named(Reviewed.of(MaskStudy(family, masks, labels=len(how.get("cuts", (0,))))))
        last += Said(int(unlike in of), 1)
        others += Said(len(of.keys() & set(those)), len(those))
        sure += sum(not meant for meant in of.values())
    return last, others, sure


def sound_table(studies: int) -> str:
    """How often it is said of raters none of whose masks is broken."""
    families = [family for family, _ in SIMULATED]
    lines, sure, beside = [], Counter[str](), dict.fromkeys(families, Said())
    for number, (name, opinion) in enumerate({"is like the others": None, **OPINIONS}.items(), SOUND):
        cells = []
        for family in families:
            last, others, without = sound_raters(studies, family, opinion, number)
            sure[family] += without
            beside[family] += others if opinion else Said()
            cells.append(last if opinion else last + others)
        lines.append((name, *cells))
    lines.append(("*the others in these studies*", *beside.values()))
    lines.append(('*all of these, said without "or meant so"*', *(sure[f] for f in families)))
    return table_of(("a rater who", *families), lines)


def table_of(head: Sequence[object], lines: Iterable[Sequence[object]]) -> str:
    """A table of the page."""
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in (head, ["---"] * len(head), *lines))


def real_raters() -> str:
    """The same of the real masks as they are."""
    lines = []
    for name in real_names():
        study = real_study(name)
        raters = {rater for by in study.masks.values() for rater in by}
        said = Said(len(named(Reviewed.of(study))), len(raters))
        lines.append((name, "nobody, as raters are exchangeable" if study.exchangeable else said))
    return table_of(("masks as they are", "raters of whom it is said"), lines)


def spoiled_raters(sound: Reviewed, mistake: Mistake, share: float, rng: np.random.Generator) -> tuple[Said, Said]:
    """Break a share of the masks of one rater: whether the rater is named, and who else is."""
    study = sound.study
    rater = str(rng.choice(sorted(study.masks["c01"])))
    cases = [case for case, by in study.masks.items() if by[rater].any()]
    chosen = rng.permutation(len(cases))[: round(share * len(study.masks))]
    of = named(sound, mistake.spoil(study, [(cases[i], rater) for i in chosen], rng))
    return Said(int(rater in of), 1), Said(len(of.keys() - {rater}), len(study.masks["c01"]) - 1)


def spoiled_table(studies: int, seed: int = SPOILED) -> str:
    """How often it is said of a rater a third, half or all of whose masks are broken in one way."""
    columns = [f"{share}, {panel} raters" for panel in ("3 to 5", "2") for share in SHARES]
    lines, reviewed, others = [], list(_twelve_cases(studies, seed)), dict.fromkeys(columns, Said())
    for number, mistake in enumerate(m for m in MISTAKEN if not m.whole and set(m.kinds) & SHORT.keys()):
        rng, cells = np.random.default_rng([seed, number]), dict.fromkeys(columns, Said())
        for sound in reviewed:
            panel = "2" if len(sound.study.masks["c01"]) == 2 else "3 to 5"
            if mistake.labels is None or mistake.labels == (sound.study.labels > 1):
                for share, part in SHARES.items():
                    right, wrong = spoiled_raters(sound, mistake, part, rng)
                    cells[f"{share}, {panel} raters"] += right
                    others[f"{share}, {panel} raters"] += wrong
        lines.append((mistake.name, *cells.values()))
    lines.append(("*the other raters*", *others.values()))
    return table_of(("broken", *columns), lines)


def _twelve_cases(studies: int, seed: int) -> Iterator[Reviewed]:
    for number, (family, how) in enumerate(SIMULATED):
        rng = np.random.default_rng([seed, 100 + number])
        for _ in range(studies):
            masks = simulate(rng, **{**how, "cases": CASES})
            yield Reviewed.of(MaskStudy(family, masks, labels=len(how.get("cuts", (0,)))))


def many_tables(studies: int) -> Iterator[str]:
    """Raters of whom it is said that many of their masks are broken."""
    yield sound_table(TIMES_MORE * studies)
    if real_names():
        yield real_raters()
    yield spoiled_table(studies)


# -- the page --------------------------------------------------------------------------------------


def single_tables(studies: int) -> Iterator[str]:
    """Single masks, simulated and real."""
    yield from simulated_tables(studies)
    if real_names():
        yield from real_tables()


def main(studies: int, parts: Sequence[str]) -> int:
    started = time.perf_counter()
    for part in parts:
        tables = []
        for table in {"masks": single_tables, "many": many_tables}[part](studies):
            print(table, flush=True)
            tables.append(table)
        if not real_names():
            print(
                f"no real data at {HOME}: set MANYTRUTHS_DATA to the folder that holds it; docs/masks.md stays as it is"
            )
            continue
        start, end = f"<!-- {part}: start -->", f"<!-- {part}: end -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
        text = "\n\n".join([start, *tables, end])
        PAGE.write_text(before + text + rest.partition(end)[2], encoding="utf-8")
    print(f"{time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    chosen = [argument for argument in sys.argv[1:] if not argument.isdigit()]
    sys.exit(main(numbers[0] if numbers else STUDIES, chosen or PARTS))
