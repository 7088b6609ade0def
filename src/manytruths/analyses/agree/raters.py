"""The table ``raters`` of ``agree``: how far each rater is from the others, how they perform, and what they tend to do.

The pooled rows hold what Lampert's tables show. Of several labels, each is taken against the rest, and rows of the
macro mean are means over labels. Raters are compared on the cases that they share.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ... import agreement, raters
from ...agreement import PairStatistic, mean_over_labels
from ...claims.raters import RaterFacts
from ...claims.sentences import there_are
from ...core.columns import Column
from ...core.labels import MACRO
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Undefined, or_undefined
from ...inference.intervals import MIN_SUBJECTS
from ...inference.rater_tests import (
    FEWEST_RATERS,
    RaterGroupTest,
    RaterSizeTests,
    RaterTests,
    rater_group_test,
    rater_outlier_test,
    rater_size_tests,
)
from ...io.result_tables import CaseRows, Row, Table
from ...raters.dependence import COPY, average_dependence
from ...raters.performance import BINARY, performance_by_case, performance_tables
from ..label_rows import macro_rows
from ..many import many_raters, without_absent
from ..tables import Series, Settings, mean_rows, summarise, summarise_many

PERFORMANCE: tuple[PairStatistic, ...] = (
    agreement.sensitivity, agreement.specificity, agreement.ppv, agreement.npv, agreement.cohen_kappa, agreement.dice,
    agreement.iou,
)  # fmt: skip
AGAINST = {"consensus": "", "others": "_against_others"}
"""What raters are held against, and how their statistics end: the vote of all raters, and that of the others."""


@dataclass(frozen=True)
class RaterAnalysis:
    """The table ``raters``, what charts are made of, and what claims rest on."""

    table: Table
    differences: raters.RaterDifferences
    dependence: raters.RaterDependence
    tests: RaterTests
    facts: RaterFacts
    whole: Tally

    def pair_rows(self, region: str, shown: Container[tuple[object, ...]]) -> Iterator[Row]:
        """Rows of every two raters, for the table ``pairs``; of pairs that are not shown, what claims may rest on."""
        for row in _pair_rows(self.tests, self.dependence, region, shown):
            if row.extra in shown or (row.value > COPY if row.statistic == "same_label" else not math.isnan(row.value)):
                yield row

    @property
    def clustering(self) -> raters.RaterClustering:
        """The dendrogram, made when it is drawn: SciPy's clustering takes a while to import."""
        return raters.cluster_raters(self.whole)


def raters_analysis(
    tallies: Tallies,
    settings: Settings,
    against: Mapping[str, Mapping[str, Tally]] | None = None,
    own: frozenset[str] = frozenset(),
) -> RaterAnalysis:
    """Everything about each rater, pooled; performance also by case, with mean and deviation over subjects.

    ``against`` has the tables of raters and each given reference standard, over all cases, label by label; ``own``
    names those that hold the raters' own marks.
    """
    whole, several = pool(tallies, mixed=True), len(_labels(tallies)) > 1
    parts = {name: tallies.map(lambda t, name=name: t.only(name)) for name in _labels(tallies)} if several else {}
    missing = _missing_cases(tallies)
    lacking = {case for cases in missing.values() for case in cases}
    shared = [case for case in tallies if case not in lacking]
    differences = _differences(tallies, shared)
    dependence, tests = raters.rater_dependence(whole), _test_raters(tallies, settings)
    table = Table("raters", ("rater",))
    for label, part in (parts or {"": tallies}).items():
        table.add(_label_rows(label, part, settings))
    table.add(_macro_rows(parts, settings))
    main = MACRO if several else ""
    table.add(_difference_rows(differences, len(shared), main, whole.region))
    index = raters.williams_index(pool(tallies.select(shared), mixed=True) if shared else whole)
    table.add(_each("williams_index", index.raters, index.index, "no_two_others_comparable", whole.region, main))
    table.add(_dependence_rows(dependence, main, whole.region))
    table.add(_reference_rows(against or {}, own, main, whole.region))
    table.add(_test_rows(tests, main, whole.region))
    facts = RaterFacts(
        tests.raters, tests, dependence, raters.connected_raters(whole), len(shared), len(tallies),
        missing, main, _most_frequent(whole), dict.fromkeys(against or {}, len(tallies)), own,
    )  # fmt: skip
    return RaterAnalysis(table, differences, dependence, tests, facts, whole)


def _labels(tallies: Tallies) -> list[str]:
    labels = next(iter(tallies.values())).labels
    return [labels.names[code] for code in labels.marks]


def _most_frequent(whole: Tally) -> str:
    return whole.labels.names[int((whole.counts @ whole.votes).argmax())]


def _missing_cases(tallies: Tallies) -> dict[str, list[str]]:
    """The cases that each rater did not rate, of raters who rated any."""
    names = list(next(iter(tallies.values())).rater_names)
    read = {case: _present(t, names) for case, t in tallies.items()}
    missing = {name: [case for case, here in read.items() if not here[i]] for i, name in enumerate(names)}
    return {name: cases for name, cases in missing.items() if len(cases) < len(tallies)}


def _present(tally: Tally, names: Sequence[str]) -> list[bool]:
    """Who rated anything in a case."""
    rated = dict(zip(tally.rater_names, np.diagonal(tally.contingency.sum(axis=(-1, -2))).tolist(), strict=True))
    return [rated.get(name, 0) > 0 for name in names]


# -- tests over subjects ---------------------------------------------------------------------------


def size_tests_without(
    tallies: Tallies, settings: Settings, masks: Collection[tuple[str, str]]
) -> RaterSizeTests | None:
    """The tests of sizes without some masks, by rater and case; None where it is none."""
    if not masks:
        return None
    tables, subjects = _pair_tables(tallies)
    first = next(iter(tallies.values()))
    sizes = _sizes(tables, first.labels.marks)
    out = [[(rater, case) in masks for rater in first.rater_names] for case in tallies]
    sizes[:, np.array(out)] = np.nan
    return rater_size_tests(sizes, subjects, level=settings.level)


def _pair_tables(tallies: Tallies) -> tuple[NDArray[np.float64], list[str]]:
    """(cases, raters, raters, labels, labels) counts, in the order of the first case's raters; and the subjects."""
    names = next(iter(tallies.values())).rater_names
    pairs = [t.contingency[np.ix_(*[[t.rater_names.index(n) for n in names]] * 2)] for t in tallies.values()]
    return np.stack(pairs), [tallies.subjects[case] for case in tallies]


def _test_raters(tallies: Tallies, settings: Settings) -> RaterTests:
    first = next(iter(tallies.values()))
    names, labels = first.rater_names, first.labels
    tables, subjects = _pair_tables(tallies)
    sizes, distances = _sizes(tables, labels.marks), _distances(tables, first)
    tested = rater_size_tests(sizes, subjects, level=settings.level)
    return RaterTests(
        names,
        tuple(_labels(tallies)) if len(labels.marks) > 1 else ("",),
        len(set(subjects)),
        tested,
        rater_outlier_test(distances, subjects, seed=settings.seed, level=settings.level),
        _larger_first(rater_group_test(distances, subjects, seed=settings.seed), tested),
    )


def _larger_first(groups: RaterGroupTest, sizes: RaterSizeTests) -> RaterGroupTest:
    """The groups in such an order that the first draws larger, by the label in which they differ most."""
    logs = np.log(sizes.between_groups(groups.group)[0])
    known = logs[~np.isnan(logs)]
    if groups.group.min(initial=0) < 0 or not known.size or known[np.abs(known).argmax()] >= 0:
        return groups
    return replace(groups, group=1 - groups.group, within=(groups.within[1], groups.within[0]))


def _sizes(tables: NDArray[np.float64], marks: Sequence[int]) -> NDArray[np.float64]:
    """(labels, cases, raters) pixels that each rater gave each label; NaN where they did not read the case."""
    own = np.einsum("crrll->crl", tables)
    sizes = own[..., list(marks)] if marks else np.zeros((*own.shape[:2], 1))
    return np.where(own.sum(axis=2) > 0, sizes.transpose(2, 0, 1), np.nan)


def _distances(tables: NDArray[np.float64], tally: Tally) -> NDArray[np.float64]:
    """(cases, raters, raters) 1 − Dice; 0 where both marked nothing, NaN where one did not read the case."""
    apart = 1 - raters.label_dice.of(tables, tally.labels)
    return np.where(tables.sum(axis=(-1, -2)) > 0, np.nan_to_num(apart, nan=0.0), np.nan)


def _test_rows(tests: RaterTests, main: str, region: str) -> Iterator[Row]:
    """What the tests found about each rater, and about two groups of them."""

    def row(
        statistic: str, value: float, *ends: float, n: int | None, where: str = "", rater: str = "", label: str = main
    ) -> Row:
        few = _too_few(tests, n, where, tested=statistic.endswith("_p"))
        value = few if math.isnan(value) else float(value)
        low, high = (few if math.isnan(end) else float(end) for end in ends) if ends else (None, None)
        return Row("mean", statistic, value, "", "", label, region, (rater,), low, high, n)

    sizes, outliers, groups = tests.sizes, tests.outliers, tests.groups
    for i, rater in enumerate(tests.raters):
        for k, label in enumerate(tests.labels):
            ends, n = (sizes.relative_low[k, i], sizes.relative_high[k, i]), int(sizes.relative_n[k, i])
            relative = or_undefined(float(sizes.relative_size[k, i]), "one_empty")
            size = row("relative_size", 1.0, *ends, n=n, where=MARKED, rater=rater, label=label)
            yield replace(size, value=relative)
            n = sizes.decisive_n(k, i)
            yield row("larger_p", sizes.larger[k, i], n=n, where=MARKED, rater=rater, label=label)
            yield row("smaller_p", sizes.smaller[k, i], n=n, where=MARKED, rater=rater, label=label)
        n, where = int(outliers.n[i]), " with three raters, this one among them"
        excess = or_undefined(float(outliers.excess[i]), "no_two_others_comparable")
        ends = (outliers.low[i], outliers.high[i])
        yield replace(row("excess_distance", 1.0, *ends, n=n, where=where, rater=rater), value=excess)
        ends = (outliers.step_low[i], outliers.step_high[i])
        stepped = or_undefined(float(outliers.step_excess[i]), "no_two_others_comparable")
        yield replace(row("excess_distance_stepwise", 1.0, *ends, n=n, where=where, rater=rater), value=stepped)
        yield row("outlier_p", outliers.p_value[i], n=n, where=where, rater=rater)
        if groups.group[i] >= 0:
            yield row("rater_group", float(groups.group[i] + 1), n=None, rater=rater)
    if groups.group.min(initial=0) < 0:
        return
    named = {"within_group_1": groups.within[0], "within_group_2": groups.within[1], "between_groups": groups.between}
    for statistic, value in (named | {"group_gap": groups.gap, "group_p": groups.p_value}).items():
        yield row(statistic, value, n=groups.n, where=" that every two raters share")
    for label, *ratio in zip(tests.labels, *sizes.between_groups(groups.group), strict=True):
        yield row("group_size_ratio", *ratio, n=None, label=label)


MARKED = " in which this rater and another marked something"


def _too_few(tests: RaterTests, n: int | None, where: str, *, tested: bool) -> Undefined:
    """Why an interval or a p value is missing."""
    if tests.subjects < MIN_SUBJECTS:
        return Undefined("too_few_subjects", f"there are {tests.subjects}")
    if len(tests.raters) < FEWEST_RATERS and (tested or n == 0):
        return Undefined("too_few_raters_to_test", f"there are {len(tests.raters)}")
    detail = "" if n is None else f"{there_are(n)}{where}"
    return Undefined("too_few_shared_subjects" if tested else "too_few_subjects", detail)


def _pair_rows(
    tests: RaterTests, dependence: raters.RaterDependence, region: str, shown: Container[tuple[object, ...]]
) -> Iterator[Row]:
    """How often two raters gave the same label, and how their sizes compare; of pairs not shown, what was tested."""
    sizes, names = tests.sizes, tests.raters
    for p, (i, j) in enumerate(zip(sizes.first.tolist(), sizes.second.tolist(), strict=True)):
        extra = (names[i], names[j], "between")
        same = or_undefined(float(dependence.same.values[i, j]), "no_item_rated_by_both")
        yield Row("pooled", "same_label", same, "", "", "", region, extra)
        for k, label in enumerate(tests.labels):
            if math.isnan(sizes.p_holm[k, p]) and extra not in shown:
                continue
            n, gone = int(sizes.n[k, p]), int(sizes.n_undefined[k, p])
            few = Undefined("too_few_subjects", f"{there_are(n)} in which both marked something")
            row = Row("mean", "log_size_ratio", 0.0, "", "", label, region, extra, n=n, n_undefined=gone)
            numbers = [float(each[k, p]) for each in (sizes.log_ratio, sizes.low, sizes.high)]
            value, low, high = (few if math.isnan(number) else number for number in numbers)
            yield replace(row, value=value, low=low, high=high)
            value, low, high = (few if math.isnan(number) else math.exp(number) for number in numbers)
            yield replace(row, statistic="size_ratio", value=value, low=low, high=high)
            for statistic, each in (("size_p_value", sizes.p_value), ("size_p_holm", sizes.p_holm)):
                p_value = float(each[k, p])
                yield replace(row, statistic=statistic, value=few if math.isnan(p_value) else p_value)


# -- each rater ------------------------------------------------------------------------------------


def _label_rows(label: str, tallies: Tallies, settings: Settings) -> Iterator[Row | CaseRows]:
    """Performance and tendencies of one label; of several labels without rows of cases."""
    whole = pool(tallies, mixed=True)
    for against in AGAINST:
        yield from _pooled_performance(raters.rater_performance(whole, against), label, whole.region)
        series = _performance_series(tallies, against, label)
        if label or against == "others":
            yield from mean_rows(series, tallies, list(tallies), "", settings)
        else:
            if many_raters(len(whole.raters)):
                yield from without_absent(summarise(series, tallies, settings), len(whole.raters))
            else:
                yield from summarise_many(series, tallies, settings)
    for name, (values, code) in _tendencies(whole).items():
        yield from _each(name, whole.rater_names, values, code, whole.region, label)


def _pooled_performance(performance: raters.RaterPerformance, label: str, region: str) -> Iterator[Row]:
    suffix = AGAINST[performance.against]
    for rater, table in zip(performance.raters, performance.tables, strict=True):
        for s in PERFORMANCE:
            value, n = performance.value(rater, s), int(table.sum())
            yield Row("pooled", s.__name__ + suffix, value, label=label, region=region, extra=(rater,), n=n)


def _performance_series(tallies: Tallies, against: str, label: str) -> list[Series]:
    names = next(iter(tallies.values())).rater_names
    aligned = tallies.aligned
    if aligned is None:
        tables = np.stack([_in_order(names, *performance_tables(t, against)) for t in tallies.values()])
    else:
        here, tables = performance_by_case(aligned, against)
        tables = tables[:, [here.index(name) for name in names]]
    return [
        Series(s.__name__ + AGAINST[against], s.values(tables[:, i], BINARY), label, (rater,))
        for i, rater in enumerate(names)
        for s in PERFORMANCE
    ]


def _in_order(names: Sequence[str], raters: Sequence[str], tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """The tables of the raters in the order of the names: who is absent from a case stands last in its tally."""
    return tables[[raters.index(name) for name in names]]


def _tendencies(whole: Tally) -> dict[str, tuple[NDArray[np.float64], str]]:
    """What raters tend to do, and why a number is missing."""
    tendency = raters.rater_tendency(whole)
    return {
        "relative_area": (tendency.relative_area, "others_empty"),
        "misses": (tendency.misses, "others_agree_on_nothing"),
        "extra": (tendency.extra, "rater_marked_nothing"),
    }


def _macro_rows(parts: Mapping[str, Tallies], settings: Settings) -> Iterator[Row]:
    """Means over labels: performance by case, over subjects and pooled; what raters miss, and mark alone."""
    if not parts:
        return
    tallies = next(iter(parts.values()))
    whole = [pool(part, mixed=True) for part in parts.values()]
    for against, suffix in AGAINST.items():
        by_label = {name: _performance_series(part, against, name) for name, part in parts.items()}
        rows = macro_rows(by_label, tallies, settings)
        yield from rows if against == "consensus" else (r for r in rows if r.scope in ("mean", "std") and not r.group)
        pooled = [raters.rater_performance(table, against) for table in whole]
        for s in PERFORMANCE:
            values = _means([[p.value(rater, s) for rater in p.raters] for p in pooled])
            yield from _each(
                s.__name__ + suffix, pooled[0].raters, values, "undefined_for_every_label", whole[0].region, MACRO
            )
    tendencies = [_tendencies(table) for table in whole]
    for name in ("misses", "extra"):
        values = _means([tendency[name][0].tolist() for tendency in tendencies])
        code = tendencies[0][name][1]
        yield from _each(name, whole[0].rater_names, values, code, whole[0].region, MACRO)


def _means(by_label: Sequence[Sequence[float]]) -> list[float]:
    """The mean over labels of every value, over those that are defined."""
    return [mean_over_labels(values) for values in zip(*by_label, strict=True)]


def _differences(tallies: Tallies, shared: Sequence[str]) -> raters.RaterDifferences:
    """Dice distances over the cases that all raters read; no outliers where there is none."""
    if shared:
        return raters.rater_differences(pool(tallies.select(shared), mixed=True))
    found = raters.rater_differences(pool(tallies, mixed=True))
    apart = found.threshold if isinstance(found.threshold, Undefined) else Undefined("no_common_case")
    return replace(found, mean=apart, std=apart, threshold=apart, outliers=())


def _difference_rows(differences: raters.RaterDifferences, cases: int, label: str, region: str) -> Iterator[Row]:
    names, n = differences.raters, len(differences.raters)
    distances = differences.mean_difference
    yield from _each("mean_difference", names, distances, "rater_not_comparable", region, label, cases or None)
    refused = isinstance(differences.threshold, Undefined) and math.isnan(differences.mean)
    outlier = [math.nan if refused else float(rater in differences.outliers) for rater in names]
    code = differences.threshold.code if isinstance(differences.threshold, Undefined) else "rater_not_comparable"
    yield from _each("outlier", names, outlier, code, region, label)
    for scope, value in (("mean", differences.mean), ("std", differences.std)):
        yield Row(scope, "mean_difference", value, label=label, region=region, extra=("",), n=n)
    yield Row("pooled", "outlier_threshold", differences.threshold, label=label, region=region, extra=("",), n=n)


def _dependence_rows(dependence: raters.RaterDependence, main: str, region: str) -> Iterator[Row]:
    """What STAPLE makes of the raters, label by label, and what is left between them."""
    for label, part in (dependence.by_label or {"": dependence}).items():
        assert part.fit is not None
        sensitivity, specificity = part.fit.sensitivity, part.fit.specificity
        yield from _each("staple_sensitivity", part.raters, sensitivity, "staple_no_true_item", region, label)
        yield from _each("staple_specificity", part.raters, specificity, "staple_no_other_item", region, label)
        if label:
            yield _of_all("error_correlation", part.mean_correlation, part, label, region)
    yield _of_all("error_correlation", dependence.mean_correlation, dependence, main, region)
    yield _of_all("effective_raters", dependence.effective_raters, dependence, main, region)
    yield _of_all("possible_copies", float(len(dependence.copies)), dependence, "", region)


def _reference_rows(
    against: Mapping[str, Mapping[str, Tally]], own: frozenset[str], main: str, region: str
) -> Iterator[Row]:
    """Correlations of errors against each given reference, which stands in the column ``rater``."""
    for name, wholes in against.items():
        column = Column(name, "reference")
        by_label = {label: raters.rater_dependence(whole, reference=column) for label, whole in wholes.items()}
        found = average_dependence(by_label)
        for statistic, value in (
            ("error_correlation_against_reference", found.mean_correlation),
            ("effective_raters", found.effective_raters),
        ):
            shown = Undefined("raters_own_marks") if name in own else value
            yield replace(_of_all(statistic, shown, found, main, region), extra=(name,))


def _of_all(statistic: str, value: float, of: raters.RaterDependence, label: str, region: str) -> Row:
    """A row about all raters together."""
    return Row("pooled", statistic, value, label=label, region=region, extra=("",), n=len(of.raters))


def _each(
    statistic: str, names: Iterable[str], values: Iterable[float], code: str, region: str, label: str = "",
    n: int | None = None,
) -> Iterator[Row]:  # fmt: skip
    """A row for each rater; ``code`` says why a value is NaN."""
    for rater, value in zip(names, values, strict=True):
        yield Row("pooled", statistic, or_undefined(value, code), "", "", label, region, (rater,), n=n)
