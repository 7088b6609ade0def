"""Groups that are known beforehand, ``groups.csv``: of raters (a column of raters.csv), and of cases (of cases.csv).

Rows of raters have the agreement within a group (``group_a`` and ``group_b`` are the same) and between two groups; rows
of cases have the mean of a group (``group_b`` is empty). ``<statistic>_difference`` is the number of ``group_a`` minus
that of ``group_b``, ``<statistic>_p_value`` the p value of the permutation test, ``<statistic>_p_holm`` the same
adjusted by Holm's method over the ``n`` tests of its family, and ``<statistic>_arrangements`` the number of ways to
divide the members into groups of these sizes, of which the test tried ``n``.

Groups of raters and groups of cases are two questions, which are two kinds of claims. All tests of a question are one
family: all statistics, pairs of groups and columns. If the question is the primary one, the statistic that claims are
about is a family of its own, and the others are another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ... import agreement
from ...agreement import ONE_LABEL, PairStatistic, one_label_tables
from ...claims.groups import WORDS, GroupFacts, GroupPair
from ...core.errors import CallError, InputError, few
from ...core.labels import MACRO
from ...core.tally import Tallies
from ...core.undefined import undefined_like
from ...inference.group_tests import GroupComparison, compare_case_groups, compare_rater_groups
from ...inference.intervals import Interval
from ...inference.rater_tests import PERMUTATIONS, holm
from ...inference.scales import scale_of
from ...io.result_tables import Row, Table
from ...study import Study
from ..many import many_raters
from ..tables import Settings, region_of

Values = NDArray[np.float64]
Members = dict[str, list[int]]
"""Positions of the members of each group, groups as they come."""

EXTRA = ("by", "of", "group_a", "group_b")
"""The columns of ``groups.csv``."""
MOST_GROUPS = 10
"""Of one column: they are compared pair by pair."""
RESAMPLES_PER_TEST, MOST_RESAMPLES = 100, 10_000
"""Random arrangements of a test are as many as 100 for each of the tests, so that adjusted p values can be small."""
OF_PAIRS: tuple[PairStatistic, ...] = (agreement.dice, agreement.cohen_kappa, agreement.volume_difference)
OF_CASES = ("dice", "positive_agreement", "fleiss_kappa", "cohen_kappa", "volume_difference")
DISTANCES = ("surface_dice", "hausdorff_95", "mean_surface_distance")
"""Where they are in the tables."""


@dataclass(frozen=True)
class Groups:
    """The groups of one column."""

    of: str
    """``raters`` or ``cases``."""
    by: str
    members: Members


@dataclass(frozen=True)
class Compared:
    """Two groups and one statistic."""

    groups: Groups
    first: str
    second: str
    statistic: str
    label: str
    found: GroupComparison


@dataclass(frozen=True)
class Adjusted:
    """An adjusted p value."""

    p: float
    tests: int
    """Of its family."""


def parse_by(by: str | Sequence[str]) -> tuple[str, ...]:
    """Columns as they are given: ``"expertise,scanner"``, or a sequence."""
    names = by.split(",") if isinstance(by, str) else by
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def find_groups(study: Study, by: Sequence[str]) -> list[Groups]:
    """The groups that columns of raters.csv and cases.csv name; refuses columns that are not there, or say nothing."""
    of_raters = list(dict.fromkeys(c for row in study.properties.values() for c in row))
    of_cases = list(dict.fromkeys(c for case in study for c in case.properties))
    found: list[Groups] = []
    for column in dict.fromkeys(by):
        if column not in of_raters and column not in of_cases:
            files = (("raters.csv", of_raters), ("cases.csv", of_cases))
            there = [f"{name} has {few(columns)}" for name, columns in files if columns]
            known = "; ".join(there) or "the study has neither: give them with --raters and --cases"
            raise CallError(f"--by: there is no column {column!r} of raters or cases; {known}")
        if column in of_raters:
            if study.options.exchangeable:
                raise CallError(f"--by {column}: raters are exchangeable, so that they have no groups")
            found.append(_rater_groups(study, column))
        if column in of_cases:
            found.append(_case_groups(study, column))
    return found


def _rater_groups(study: Study, column: str) -> Groups:
    values = {rater: study.properties.get(rater, {}).get(column, "") for rater in study.rater_names}
    without = [rater for rater, value in values.items() if not value]
    if without:
        raise InputError(
            f"--by {column}: raters.csv says nothing about {few(without)}; fill in the column, or leave "
            f"{'them' if len(without) > 1 else 'this rater'} out with --exclude-rater"
        )
    return _groups("raters", column, list(values.values()))


def _case_groups(study: Study, column: str) -> Groups:
    # a case without a value is in no group
    return _groups("cases", column, [case.properties.get(column, "") for case in study])


def _groups(of: str, by: str, values: Sequence[str]) -> Groups:
    members: Members = {}
    for position, value in enumerate(values):
        if value:
            members.setdefault(value, []).append(position)
    if len(members) < 2:
        known = f"all {of} are {next(iter(members))!r}" if members else f"no {of[:-1]} has a value"
        raise InputError(f"--by {by}: {known}; a comparison needs two groups")
    if len(members) > MOST_GROUPS:
        raise InputError(
            f"--by {by}: the {of} have {len(members)} different values, which are compared pair by pair; at most "
            f"{MOST_GROUPS}: write ranges, or name another column"
        )
    return Groups(of, by, members)


def compare_groups(
    study: Study, tallies: Tallies, settings: Settings, tables: Mapping[str, Table]
) -> tuple[Table, GroupFacts] | None:
    """``groups.csv``, and what claims about groups must know; None where no groups are asked for."""
    if not settings.by:
        return None
    planned = []
    for groups in find_groups(study, settings.by):
        of_raters = groups.of == "raters"
        values = _pair_values(tallies, study.rater_names, tables) if of_raters else _case_values(tallies, tables)
        planned.append((groups, values))
    found: list[Compared] = []
    for groups, values in planned:
        tests = sum(len(v) * math.comb(len(g.members), 2) for g, v in planned if g.of == groups.of)
        found += _compare(groups, values, tallies, settings, tests)
    adjusted = _adjust(found, study.options.primary)
    table, units = Table("groups", EXTRA), _units(tables["agreement"])
    seen: set[tuple[object, ...]] = set()
    for compared, holm_p in zip(found, adjusted, strict=True):
        for row in _rows(compared, holm_p, region_of(tallies), units.get(compared.statistic, "")):
            key = (row.statistic, row.label, row.extra)
            # the mean of a group stands beside each of the others
            if key not in seen:
                seen.add(key)
                table.append(row)
    return table, GroupFacts(tuple(_facts(found, adjusted, study)), len(study.rater_names))


def _adjust(found: Sequence[Compared], primary: str) -> list[Adjusted]:
    """Holm's p values over all tests of a question; of the primary one, its claims' statistic apart from the others."""
    families: dict[tuple[str, bool], list[int]] = {}
    for i, c in enumerate(found):
        apart = primary == f"groups.{c.groups.of}" and c.statistic == _claimed(found, c.groups.of)
        families.setdefault((c.groups.of, apart), []).append(i)
    adjusted: dict[int, Adjusted] = {}
    for here in families.values():
        p = np.array([float(found[i].found.p_value) for i in here])
        tests = int((~np.isnan(p)).sum())
        for i, value in zip(here, holm(p).tolist(), strict=True):
            raw = found[i].found.p_value
            adjusted[i] = Adjusted(undefined_like(raw) if math.isnan(raw) else value, tests)
    return [adjusted[i] for i in range(len(found))]


def _claimed(found: Sequence[Compared], of: str) -> str:
    """The statistic that claims are about: the first that the masks allow."""
    here = {c.statistic for c in found if c.groups.of == of}
    return next((statistic for statistic in WORDS if statistic in here), "")


def _compare(
    groups: Groups, values: Mapping[tuple[str, str], Values], tallies: Tallies, settings: Settings, tests: int
) -> Iterator[Compared]:
    subjects = [tallies.subjects[case] for case in tallies]
    compare = compare_rater_groups if groups.of == "raters" else compare_case_groups
    permutations = max(PERMUTATIONS, min(RESAMPLES_PER_TEST * tests, MOST_RESAMPLES))
    for (statistic, label), numbers in values.items():
        for first, second in combinations(groups.members, 2):
            found = compare(
                numbers, groups.members[first], groups.members[second], subjects,
                permutations=permutations, seed=settings.seed, level=settings.level, scale=scale_of(statistic),
            )  # fmt: skip
            yield Compared(groups, first, second, statistic, label, found)


def _pair_values(tallies: Tallies, names: Sequence[str], tables: Mapping[str, Table]) -> dict[tuple[str, str], Values]:
    """(cases, raters, raters, labels) numbers of every two raters, by statistic and label of its rows."""
    labels = next(iter(tallies.values())).labels
    counts = np.stack([
        t.contingency[np.ix_(*[[t.rater_names.index(n) for n in names]] * 2)] for t in tallies.values()
    ])  # fmt: skip
    values: dict[tuple[str, str], Values] = {}
    for statistic in OF_PAIRS:
        name = statistic.__name__
        if statistic is agreement.cohen_kappa:
            values[name, ""] = statistic.of(counts, labels)
        elif labels.several:
            parts = [statistic.of(one_label_tables(counts, mark), ONE_LABEL) for mark in labels.marks]
            values[name, MACRO] = np.stack(parts, axis=-1)
        elif labels.background is not None:
            values[name, ""] = statistic.of(counts, labels)
    return values | _pair_distances(tables["pairs"], list(tallies), names)


def _units(table: Table) -> dict[str, str]:
    """The unit of every distance; none of those that have different ones in different cases, which have no mean."""
    units: dict[str, set[str]] = {}
    for row in table.rows:
        if row.scope == "case" and row.statistic in DISTANCES:
            units.setdefault(row.statistic, set()).add(row.unit)
    return {statistic: unit for statistic, (unit, *others) in units.items() if not others}


def _pair_distances(pairs: Table, cases: list[str], names: Sequence[str]) -> dict[tuple[str, str], Values]:
    """Distances of every two raters, where they are in ``pairs.csv``."""
    place, where = {case: i for i, case in enumerate(cases)}, {name: i for i, name in enumerate(names)}
    found: dict[tuple[str, str], Values] = {}
    known = {} if many_raters(len(names)) else _units(pairs)  # of many raters, not every pair has rows of cases
    for row in pairs.rows:
        if row.scope == "case" and row.statistic in known and row.label in ("", MACRO):
            if row["relation"] != "between":
                continue
            empty = np.full((len(cases), len(names), len(names)), np.nan)
            table = found.setdefault((row.statistic, row.label), empty)
            i, j = where[row["rater_a"]], where[row["rater_b"]]
            table[place[row.case], i, j] = table[place[row.case], j, i] = row.value
    return _one_label_each(found)


def _one_label_each(found: dict[tuple[str, str], Values]) -> dict[tuple[str, str], Values]:
    """Macro means instead of rows without label, where there are both."""
    several = {statistic for statistic, label in found if label == MACRO}
    return {key: values for key, values in found.items() if key[1] == MACRO or key[0] not in several}


def _case_values(tallies: Tallies, tables: Mapping[str, Table]) -> dict[tuple[str, str], Values]:
    """(cases, labels) numbers by statistic and label of its rows; of several labels, those of each of them."""
    labels = next(iter(tallies.values())).labels
    names = [labels.names[mark] for mark in labels.marks] if labels.several else []
    place = {case: i for i, case in enumerate(tallies)}
    found: dict[tuple[str, str], Values] = {}
    wanted = (*OF_CASES, *_units(tables["agreement"]))
    for row in tables["agreement"].rows:
        if row.scope == "case" and row.statistic in wanted and not row.label:
            found.setdefault((row.statistic, ""), np.full((len(place), 1), np.nan))[place[row.case], 0] = row.value
        elif row.scope == "case" and row.statistic in wanted and row.label in names:
            table = found.setdefault((row.statistic, MACRO), np.full((len(place), len(names)), np.nan))
            table[place[row.case], names.index(row.label)] = row.value
    # kappa and alpha of all labels at once need no mean over labels
    whole = {statistic for statistic, label in found if not label}
    chosen = {key: values for key, values in found.items() if not key[1] or key[0] not in whole}
    order = {name: i for i, name in enumerate(wanted)}
    return dict(sorted(chosen.items(), key=lambda item: order[item[0][0]]))


def _rows(compared: Compared, adjusted: Adjusted, region: str, unit: str) -> Iterator[Row]:
    c, found, groups = compared, compared.found, compared.groups
    of_raters = groups.of == "raters"

    def row(statistic: str, first: str, second: str, value: Interval) -> Row:
        extra = (groups.by, groups.of, first, second)
        ends = Row("mean", statistic, value.value, "", "", c.label, region, extra, value.low, value.high, value.n)
        return replace(ends, n_undefined=value.n_undefined, unit=unit)

    for name, value in ((c.first, found.first), (c.second, found.second)):
        yield row(c.statistic, name, name if of_raters else "", value)
    if of_raters:
        yield row(c.statistic, c.first, c.second, found.between)
    difference = row(f"{c.statistic}_difference", c.first, c.second, found.difference)
    yield difference
    p = replace(difference, statistic=f"{c.statistic}_p_value", value=found.p_value, low=None, high=None, unit="")
    yield replace(p, n_undefined=None)
    yield replace(p, statistic=f"{c.statistic}_p_holm", value=adjusted.p, n=adjusted.tests, n_undefined=None)
    tried = replace(p, statistic=f"{c.statistic}_arrangements", value=float(found.arrangements), n_undefined=None)
    yield replace(tried, n=found.tried)


def _facts(found: Sequence[Compared], adjusted: Sequence[Adjusted], study: Study) -> Iterator[GroupPair]:
    """Each pair of groups by the statistic that claims are about."""
    claimed = {of: _claimed(found, of) for of in ("raters", "cases")}
    for c, holm_p in zip(found, adjusted, strict=True):
        if c.statistic != claimed[c.groups.of]:
            continue
        raters: tuple[str, ...] = ()
        if c.groups.of == "raters":
            raters = tuple(study.rater_names[i] for g in (c.first, c.second) for i in c.groups.members[g])
        groups = (c.groups.of, c.groups.by, c.first, c.second)
        smallest = min(1.0, holm_p.tests * c.found.smallest_p)
        yield GroupPair(*groups, c.statistic, c.label, holm_p.p, raters, holm_p.tests, smallest)
