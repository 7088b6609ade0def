"""What ``train`` writes: tidy numbers, and Zeng et al.'s Tables 2 and 3 as a paper would print them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analyses.files import summary_of, write_charts
from ..analyses.printing import number
from ..analyses.resampled import NOTHING_MOVED, Moved, mark_resampled, write_marked
from ..analyses.rows import Row, Table
from ..inference.intervals import Interval
from ..io.results import write_summary
from .comparing import Draws, best_single, spread, table
from .scoring import MAJORITY, Scores
from .strategies import KNOWN, SINGLE
from .training import Training

OURS = "extended_dice"
LOWER = ("hausdorff",)
"""Statistics that are better when smaller."""


@dataclass(frozen=True)
class Line:
    """A strategy as a line of a paper's table."""

    name: str
    """``single``, or the strategy's own."""
    strategy: str
    """Whose numbers these are: the best single rater's, or the strategy's."""
    title: str


@dataclass(frozen=True)
class Compared:
    """All tables of a training study."""

    training: Training
    strategies: Table
    differences: Table
    lines: dict[str, list[Line]]
    """By network."""
    moved: Moved = NOTHING_MOVED


def compare(found: Training) -> Compared:
    """Every strategy's means with intervals, and its difference to the extended Dice loss."""
    draws = Draws(found.settings.resamples, found.settings.level, found.settings.seed)
    means = Table("strategies", ("network", "strategy", "against", "seeds"))
    apart = Table("differences", ("network", "strategy", "minus", "against", "seeds"))
    for scores in found.scores:
        for network in found.plan.networks:
            means.add(_means(found, scores, network, draws))
            if any(s.name == OURS for s in found.strategies):
                apart.add(_differences(found, scores, network, draws))
    moved = mark_resampled(found.study, (means, apart))
    return Compared(found, means, apart, {network: lines(found, network) for network in found.plan.networks}, moved)


def _means(found: Training, scores: Scores, network: str, draws: Draws) -> Iterator[Row]:
    for strategy in found.strategies:
        values = table(scores, network, strategy.name)
        extra = (network, strategy.name, scores.against, values.shape[1])
        row = _row("mean", scores, draws.interval(values), extra)
        yield row
        yield Row(
            "std", scores.statistic, spread(scores, network, strategy.name), "", "", scores.label, "", extra, n=row.n
        )


def _differences(found: Training, scores: Scores, network: str, draws: Draws) -> Iterator[Row]:
    """The extended Dice loss minus every other strategy, case by case and seed by seed."""
    ours = table(scores, network, OURS)
    for strategy in (s for s in found.strategies if s.name != OURS):
        values = ours - table(scores, network, strategy.name)
        yield _row(
            "mean", scores, draws.interval(values), (network, OURS, strategy.name, scores.against, values.shape[1])
        )


def _row(scope: str, scores: Scores, found: Interval, extra: tuple[object, ...]) -> Row:
    return Row(
        scope, scores.statistic, found.value, "", "", scores.label, "", extra, found.low, found.high, found.n,
        found.n_undefined,
    )  # fmt: skip


def lines(found: Training, network: str) -> list[Line]:
    """The strategies in the paper's order; of the single raters the best."""
    singles = [s for s in found.strategies if s.name not in KNOWN]
    shown = []
    if singles:
        name = best_single(found.scores, network, [s.name for s in singles], MAJORITY, found.scores[0].label)
        shown = [Line(SINGLE, name, next(s.title for s in singles if s.name == name))]
    return shown + [Line(s.name, s.name, s.title) for s in found.strategies if s.name in KNOWN]


def printed(
    compared: Compared, network: str, statistics: Sequence[str], label: str
) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table: a column for every truth and statistic, means with their intervals."""
    rows = [r for r in compared.strategies.rows if r["network"] == network and r.label == label and r.scope == "mean"]
    columns = list(dict.fromkeys((r["against"], r.statistic) for r in rows if r.statistic in statistics))
    by = {(r["strategy"], r["against"], r.statistic): r for r in rows}
    body = [
        [line.title, *(interval_text(by[line.strategy, against, name]) for against, name in columns)]
        for line in compared.lines[network]
    ]
    return ["strategy", *(f"{against}: {name}" for against, name in columns)], body


def interval_text(row: Row) -> str:
    """``0.955 (0.950–0.960)``; distances with one digit."""
    digits = 1 if row.statistic in LOWER else 3
    if row.low is None or row.low != row.low:
        return number(row.value, digits)
    return f"{number(row.value, digits)} ({number(row.low, digits)}–{number(row.high, digits)})"


def labels_of(compared: Compared) -> list[str]:
    """All labels together is the empty one."""
    return list(dict.fromkeys(s.label for s in compared.training.scores))


def write(compared: Compared, folder: Path) -> list[Path]:
    """Tables, charts and summary into the folder of the runs."""
    paths = [compared.strategies.write(folder), compared.differences.write(folder)]
    for name, statistics in (("table2", ("dice", "iou", "hausdorff")), ("table3", (OURS,))):
        rows, header = [], ["strategy"]
        for network in compared.training.plan.networks:
            for label in labels_of(compared):
                header, body = printed(compared, network, statistics, label)
                rows += [[network, label, *cells] for cells in body]
        touched = [bool(compared.moved.cases)] * len(rows)
        write_marked(folder / f"{name}.csv", rows, ("network", "label", *header), touched)
        paths.append(folder / f"{name}.csv")
    from .charts import charts

    paths += write_charts(charts(compared), folder / "charts")
    return [*paths, write_summary(folder, summary(compared), paths)]


def summary(compared: Compared) -> dict[str, Any]:
    """The tables' numbers, with how they came about."""
    found = compared.training
    plan, frames = found.plan, found.bench.frames
    return summary_of(
        "train",
        [compared.strategies, compared.differences],
        cases=len(frames),
        subjects=len(set(frames.subjects)),
        tested=len(found.bench.tested),
        raters=list(frames.raters),
        networks=list(plan.networks),
        strategies=[s.name for s in found.strategies],
        seeds=list(plan.seeds),
        schedule=plan.schedule,
        size=plan.size,
        folds=len(found.bench.folds),
        settings=found.settings,
        single={network: lines[0].strategy for network, lines in compared.lines.items() if lines[0].name == SINGLE},
        claims=[claim for network in plan.networks for claim in claims(compared, network)],
        notes=list(compared.moved.notes),
    )


def claims(compared: Compared, network: str) -> list[dict[str, Any]]:
    """Whether the extended Dice loss comes first, truth by truth: its place, its rival, and how far apart they are."""
    told: list[dict[str, Any]] = []
    lines = compared.lines[network]
    if not any(line.name == OURS for line in lines) or len(lines) < 2:
        return told
    rows = [r for r in compared.strategies.rows if r["network"] == network and r.scope == "mean" and r.label == ""]
    by = {(r["strategy"], r["against"], r.statistic): r.value for r in rows}
    for against, statistic in dict.fromkeys((r["against"], r.statistic) for r in rows):
        sign = -1 if statistic in LOWER else 1
        order = sorted(lines, key=lambda line: -sign * by[line.strategy, against, statistic])
        own = by[OURS, against, statistic]
        place = 1 + sum(sign * by[line.strategy, against, statistic] > sign * own for line in lines)
        rival = next(line for line in order if line.name != OURS)
        told.append(
            {
                "network": network,
                "statistic": statistic,
                "against": against,
                "place": place,
                "level": sum(by[line.strategy, against, statistic] == own for line in lines) - 1,
                "of": len(order),
                "first": order[0].strategy,
                "rival": rival.strategy,
                **_apart(compared, network, against, statistic, rival),
            }
        )
    return told


def _apart(compared: Compared, network: str, against: object, statistic: str, rival: Line) -> dict[str, Any]:
    wanted = (network, rival.strategy, against, statistic, "")
    rows = compared.differences.rows
    row = next(r for r in rows if (r["network"], r["minus"], r["against"], r.statistic, r.label) == wanted)
    return {"difference": row.value, "low": row.low, "high": row.high}
