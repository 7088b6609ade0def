"""The results of ``train``: tidy tables, Zeng et al.'s Tables 2 and 3, charts, and what is printed in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.printing import grid
from ..analyses.result import summary_of, write_charts
from ..analyses.tables import NOTHING_MOVED, Moved, mark_resampled, marked_rows
from ..charts.bars import Value, dot_chart
from ..claims.sentences import counted, number
from ..inference.scales import Scale, scale_of
from ..io import safe_name
from ..io.result_tables import PlainTable, Row, Table
from ..io.results import write_summary
from .sampling import LATENT
from .scores import ALL_RATERS, MAJORITY, Scores, Values, best_single, mean_interval, standard_deviation, values_by_seed
from .strategies import KNOWN, SINGLE
from .training import Training
from .uncertainty import UNCERTAINTY

if TYPE_CHECKING:
    from rich.console import Console


OURS = "extended_dice"
DRAWN = LATENT
"""Whose probabilities and samples the others are compared with."""
LOWER = ("hausdorff",)
"""Statistics for which lower is better."""
STATISTIC_TITLES = {"extended_dice": "extended Dice", "dice": "Dice"}
GAP = 3
"""Between columns in the terminal."""


@dataclass(frozen=True)
class Line:
    """One line of a printed table."""

    name: str
    """``single``, or the name of the strategy."""
    strategy: str
    """The strategy whose numbers these are; for ``single``, that of the best single rater."""
    title: str


@dataclass(frozen=True)
class Comparison:
    """All tables of a training study."""

    training: Training
    strategies: Table
    differences: Table
    lines: dict[str, list[Line]]
    """By network."""
    moved: Moved = NOTHING_MOVED


def compare(training: Training) -> Comparison:
    """Mean scores of each strategy with intervals, and differences of the extended Dice loss, or latent variables."""
    means = Table("strategies", ("network", "strategy", "against", "seeds"))
    differences = Table("differences", ("network", "strategy", "minus", "against", "seeds"))
    for scores in training.scores:
        for network in training.plan.networks:
            means.add(_means(training, scores, network))
            first = DRAWN if scores.statistic in UNCERTAINTY else OURS
            if any(s.name == first for s in training.strategies):
                differences.add(_differences(training, scores, network, first))
    moved = mark_resampled(training.study, (means, differences))
    lines = {network: _lines(training, network) for network in training.plan.networks}
    return Comparison(training, means, differences, lines, moved)


def _means(training: Training, scores: Scores, network: str) -> Iterator[Row]:
    for strategy in training.strategies:
        values = values_by_seed(scores, network, strategy.name)
        extra = (network, strategy.name, scores.against, values.shape[1])
        row = _row(scores, values, scale_of(scores.statistic), training.settings.level, extra)
        yield row
        if scores.by_run:
            deviation = standard_deviation(scores, network, strategy.name)
            yield Row("std", scores.statistic, deviation, "", "", scores.label, "", extra, n=row.n)


def _differences(training: Training, scores: Scores, network: str, first: str) -> Iterator[Row]:
    """One strategy minus every other one, paired by subject and seed."""
    ours = values_by_seed(scores, network, first)
    for strategy in (s for s in training.strategies if s.name != first):
        values = ours - values_by_seed(scores, network, strategy.name)
        extra = (network, first, strategy.name, scores.against, values.shape[1])
        yield _row(scores, values, "plain", training.settings.level, extra)


def _row(scores: Scores, values: Values, scale: Scale, level: float, extra: tuple[object, ...]) -> Row:
    i = mean_interval(values, scale, level)
    undefined = len(values) - i.n
    return Row("mean", scores.statistic, i.value, "", "", scores.label, "", extra, i.low, i.high, i.n, undefined)


def _lines(training: Training, network: str) -> list[Line]:
    """The strategies in the order of the paper; of the single raters, the best."""
    singles = [s for s in training.strategies if s.name not in KNOWN]
    shown = []
    if singles:
        name = best_single(training.scores, network, [s.name for s in singles], MAJORITY, training.scores[0].label)
        shown = [Line(SINGLE, name, next(s.title for s in singles if s.name == name))]
    return shown + [Line(s.name, s.name, s.title) for s in training.strategies if s.name in KNOWN]


def printed_table(
    comparison: Comparison, network: str, statistics: Sequence[str], label: str
) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table with a column for every reference standard and statistic: means with intervals."""
    rows = [r for r in comparison.strategies.rows if r["network"] == network and r.label == label and r.scope == "mean"]
    columns = list(dict.fromkeys((r["against"], r.statistic) for r in rows if r.statistic in statistics))
    by = {(r["strategy"], r["against"], r.statistic): r for r in rows}
    body = [
        [line.title, *(_interval_text(by[line.strategy, against, name]) for against, name in columns)]
        for line in comparison.lines[network]
    ]
    return ["strategy", *(f"{against}: {name}" for against, name in columns)], body


def _interval_text(row: Row) -> str:
    """``0.955 (0.950–0.960)``, or ``-0.02 (-0.03 to 0.01)``; distances with one digit."""
    digits = 1 if row.statistic in LOWER else 3
    if row.low is None or row.low != row.low:
        return number(row.value, digits)
    low, high = number(row.low, digits), number(row.high, digits)
    return f"{number(row.value, digits)} ({low}{'–' if row.low >= 0 else ' to '}{high})"


def _labels(comparison: Comparison, statistics: Sequence[str] = (OURS,)) -> list[str]:
    """The labels of the tables of some statistics; all labels together are the empty one."""
    return list(dict.fromkeys(s.label for s in comparison.training.scores if s.statistic in statistics))


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """Write tables, charts and summary to the folder of the runs."""
    paths = [comparison.strategies.write(folder), comparison.differences.write(folder)]
    printed = {"table2": ("dice", "iou", "hausdorff"), "table3": (OURS,)}
    if comparison.training.plan.write_probability:
        printed["uncertainty"] = UNCERTAINTY
    for name, statistics in printed.items():
        rows, header = [], ["strategy"]
        for network in comparison.training.plan.networks:
            for label in _labels(comparison, statistics):
                header, body = printed_table(comparison, network, statistics, label)
                rows += [[network, label, *cells] for cells in body]
        touched = [bool(comparison.moved.cases)] * len(rows)
        paths.append(PlainTable(name, *marked_rows(rows, ("network", "label", *header), touched)).write(folder))
    paths += write_charts(charts(comparison), folder / "charts")
    return [*paths, write_summary(folder, summary(comparison), paths)]


def summary(comparison: Comparison) -> dict[str, Any]:
    """The numbers of the tables, and the settings."""
    training = comparison.training
    plan, frames = training.plan, training.bench.frames
    return summary_of(
        "train",
        [comparison.strategies, comparison.differences],
        cases=len(frames),
        subjects=len(set(frames.subjects)),
        tested=len(training.bench.test_cases),
        raters=list(frames.raters),
        networks=list(plan.networks),
        strategies=[s.name for s in training.strategies],
        seeds=list(plan.seeds),
        schedule=plan.schedule,
        size=plan.size,
        folds=len(training.bench.folds),
        settings=training.settings,
        single={network: lines[0].strategy for network, lines in comparison.lines.items() if lines[0].name == SINGLE},
        claims=[rank for network in plan.networks for rank in rank_extended_dice(comparison, network)],
        notes=list(comparison.moved.notes),
    )


def rank_extended_dice(comparison: Comparison, network: str) -> list[dict[str, Any]]:
    """For each statistic and reference standard, the rank of the extended Dice loss and its distance to the best
    rival."""
    ranks: list[dict[str, Any]] = []
    lines = comparison.lines[network]
    if not any(line.name == OURS for line in lines) or len(lines) < 2:
        return ranks
    rows = [r for r in comparison.strategies.rows if r["network"] == network and r.scope == "mean" and r.label == ""]
    rows = [r for r in rows if r.statistic not in UNCERTAINTY]
    by = {(r["strategy"], r["against"], r.statistic): r.value for r in rows}
    for against, statistic in dict.fromkeys((r["against"], r.statistic) for r in rows):
        sign = -1 if statistic in LOWER else 1
        order = sorted(lines, key=lambda line: -sign * by[line.strategy, against, statistic])
        value = by[OURS, against, statistic]
        place = 1 + sum(sign * by[line.strategy, against, statistic] > sign * value for line in lines)
        rival = next(line for line in order if line.name != OURS)
        ranks.append(
            {
                "network": network,
                "statistic": statistic,
                "against": against,
                "place": place,
                "level": sum(by[line.strategy, against, statistic] == value for line in lines) - 1,
                "of": len(order),
                "first": order[0].strategy,
                "rival": rival.strategy,
                **_difference(comparison, network, against, statistic, rival),
            }
        )
    return ranks


def _difference(comparison: Comparison, network: str, against: object, statistic: str, rival: Line) -> dict[str, Any]:
    wanted = (network, rival.strategy, against, statistic, "")
    rows = comparison.differences.rows
    row = next(r for r in rows if (r["network"], r["minus"], r["against"], r.statistic, r.label) == wanted)
    return {"difference": row.value, "low": row.low, "high": row.high}


# -- charts ----------------------------------------------------------------------------------------


def charts(comparison: Comparison) -> dict[str, str]:
    """SVG by name: extended Dice, and Dice against each reference standard."""
    return {name: svg for label in _labels(comparison) for name, svg in _charts_of_label(comparison, label)}


def _charts_of_label(comparison: Comparison, label: str) -> Iterator[tuple[str, str]]:
    rows = [row for row in comparison.strategies.rows if row.scope == "mean" and row.label == label]
    for statistic, against in dict.fromkeys(
        (r.statistic, str(r["against"])) for r in rows if r.statistic in STATISTIC_TITLES
    ):
        chosen = [r for r in rows if (r.statistic, r["against"]) == (statistic, against)]
        parts = (statistic, "" if statistic == "extended_dice" else against.replace(":", "-"), label)
        title = f"{STATISTIC_TITLES[statistic]} against {against}" + (f", {label}" if label else "")
        words = f"{STATISTIC_TITLES[statistic]}, mean over subjects and seeds"
        yield (
            "-".join(safe_name(part) for part in parts if part),
            dot_chart(_chart_values(comparison, chosen), words, title),
        )


def _chart_values(comparison: Comparison, rows: list[Row]) -> dict[str, dict[str, Value]]:
    """By strategy, then network; the best single rater may differ between networks."""
    by = {(r["network"], r["strategy"]): _value(r) for r in rows}
    values: dict[str, dict[str, Value]] = {}
    for network, lines in comparison.lines.items():
        for line in lines:
            title = "best single rater" if line.name == "single" else line.title
            values.setdefault(title, {})[network] = by[network, line.strategy]
    return values


def _value(row: Row) -> Value:
    nan = float("nan")
    return row.value, nan if row.low is None else row.low, nan if row.high is None else row.high


# -- the terminal ----------------------------------------------------------------------------------


def print_training(comparison: Comparison, console: Console) -> None:
    """Print the data, the tables of every network, and the rank of the extended Dice loss."""
    training = comparison.training
    frames, plan, test_cases = training.bench.frames, training.plan, set(training.bench.test_cases)
    tested = [case for case in training.study if case.name in test_cases]
    console.print(
        f"[bold]{counted(len(frames), 'case')}, {counted(len(frames.raters), 'rater')}; tested on "
        f"{counted(len(tested), 'case')} of {counted(len({c.subject for c in tested}), 'subject')}, "
        f"{counted(len(plan.seeds), 'seed')}[/bold]\n"
    )
    for network in plan.networks:
        for label in _labels(comparison):
            _print_table(comparison, network, label, console)
        if training.plan.write_probability:
            _print_uncertainty(comparison, network, console)
        for line in rank_sentences(comparison, network):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        console.print()
    for note in comparison.moved.notes:
        console.print(f"• {note}", markup=False, highlight=False)


def _print_table(comparison: Comparison, network: str, label: str, console: Console) -> None:
    """Print one table, split into several where the terminal is too narrow."""
    where, what = f"{network}, {label}" if label else network, "extended Dice, and Dice against each"
    header, rows = _terminal_table(comparison, network, label)
    for columns in split_columns(header, rows, console.width):
        names, *body = ([row[k] for k in columns] for row in (header, *rows))
        console.print(grid(f"{where}: {what}", names, body))
        what = "Dice against each, continued"


def _print_uncertainty(comparison: Comparison, network: str, console: Console) -> None:
    """Print what is known of probabilities and samples."""
    for label in _labels(comparison, UNCERTAINTY):
        header, rows = printed_table(comparison, network, UNCERTAINTY, label)
        names = [name.removeprefix(f"{ALL_RATERS}: ").replace("_", " ") for name in header]
        short = [[row[0], *(cell.split(" (")[0] for cell in row[1:])] for row in rows]
        where = f"{network}, {label}" if label else network
        console.print(grid(f"{where}: probabilities and samples against all raters", names, short))


def split_columns(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Distribute columns over tables of a given width, with the first column in each.

    >>> split_columns(["strategy", "A", "B", "C"], [["inner", "0.5", "0.6", "0.7"]], 24)
    [[0, 1, 2], [0, 3]]
    """
    wide = [GAP + max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    tables = [[0]]
    for k in range(1, len(header)):
        if len(tables[-1]) > 1 and sum(wide[c] for c in (*tables[-1], k)) > width:
            tables.append([0])
        tables[-1].append(k)
    return tables


def _terminal_table(comparison: Comparison, network: str, label: str) -> tuple[list[str], list[list[str]]]:
    """Extended Dice with its interval, and Dice against each reference standard without."""
    first, second = (printed_table(comparison, network, (name,), label) for name in (OURS, "dice"))
    short = [[cell.split(" (")[0] for cell in row[1:]] for row in second[1]]
    header = ["strategy", "extended Dice", *(name.removesuffix(": dice") for name in second[0][1:])]
    return header, [[*row[:2], *rest] for row, rest in zip(first[1], short, strict=True)]


def rank_sentences(comparison: Comparison, network: str) -> list[str]:
    """Sentences: the rank of the extended Dice loss in extended Dice, and how often it is best otherwise."""
    ranks = rank_extended_dice(comparison, network)
    lines = [_sentence(rank) for rank in ranks if rank["statistic"] == OURS]
    for statistic in dict.fromkeys(c["statistic"] for c in ranks if c["statistic"] != OURS):
        chosen = [c for c in ranks if c["statistic"] == statistic]
        first = sum(c["place"] == 1 for c in chosen)
        places = ", ".join(f"{c['against']} {c['place']}" for c in chosen)
        lines.append(
            f"{statistic}: the extended Dice loss ranks first against {first} of {len(chosen)} reference standards "
            f"(ranks: {places})"
        )
    return lines


def _sentence(rank: dict[str, Any]) -> str:
    difference = f"{number(rank['difference'])}"
    if rank["low"] is not None and rank["low"] == rank["low"]:
        difference += f" ({number(rank['low'])} to {number(rank['high'])})"
    place = "first" if rank["place"] == 1 else f"{rank['place']} of {rank['of']}"
    if rank["level"]:
        place += f", tied with {rank['level']}"
    return f"extended Dice: the extended Dice loss ranks {place}; difference to {rank['rival']}: {difference}"
