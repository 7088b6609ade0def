"""What a person reads in the terminal after ``train``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..analyses.printing import counted, grid, number
from .tables import OURS, Compared, claims, labels_of, printed

if TYPE_CHECKING:
    from rich.console import Console

GAP = 3
"""Between the columns of a table in the terminal."""


def print_training(compared: Compared, console: Console) -> None:
    """What was trained on what, every network's tables, and how the extended Dice loss fares."""
    found = compared.training
    frames, plan = found.bench.frames, found.plan
    tested = [case for case in found.study if case.name in set(found.bench.tested)]
    console.print(
        f"[bold]{counted(len(frames), 'case')}, {counted(len(frames.raters), 'rater')}; tested on "
        f"{counted(len(tested), 'case')} of {counted(len({c.subject for c in tested}), 'subject')}, "
        f"{counted(len(plan.seeds), 'seed')}[/bold]\n"
    )
    for network in plan.networks:
        for label in labels_of(compared):
            _print_table(compared, network, label, console)
        for line in told(compared, network):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        console.print()
    for note in compared.moved.notes:
        console.print(f"• {note}", markup=False, highlight=False)


def _print_table(compared: Compared, network: str, label: str, console: Console) -> None:
    """As many tables beneath each other as it takes to read all of it on a narrow terminal."""
    where, what = f"{network}, {label}" if label else network, "extended Dice, and Dice against each"
    header, rows = _shown(compared, network, label)
    for columns in fitting(header, rows, console.width):
        names, *body = ([row[k] for k in columns] for row in (header, *rows))
        console.print(grid(f"{where}: {what}", names, body))
        what = "Dice against each, continued"


def fitting(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Which columns go together into tables of a width, the first column in each of them.

    >>> fitting(["strategy", "A", "B", "C"], [["inner", "0.5", "0.6", "0.7"]], 24)
    [[0, 1, 2], [0, 3]]
    """
    wide = [GAP + max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    tables = [[0]]
    for k in range(1, len(header)):
        if len(tables[-1]) > 1 and sum(wide[c] for c in (*tables[-1], k)) > width:
            tables.append([0])
        tables[-1].append(k)
    return tables


def _shown(compared: Compared, network: str, label: str) -> tuple[list[str], list[list[str]]]:
    """The terminal's choice of columns, without intervals but that of extended Dice."""
    first, second = (printed(compared, network, (name,), label) for name in (OURS, "dice"))
    short = [[cell.split(" (")[0] for cell in row[1:]] for row in second[1]]
    header = ["strategy", "extended Dice", *(name.removesuffix(": dice") for name in second[0][1:])]
    return header, [[*row[:2], *rest] for row, rest in zip(first[1], short, strict=True)]


def told(compared: Compared, network: str) -> list[str]:
    """In sentences: whether the extended Dice loss is first in extended Dice, and how often best against a truth."""
    found = claims(compared, network)
    lines = [_sentence(claim) for claim in found if claim["statistic"] == OURS]
    for statistic in dict.fromkeys(c["statistic"] for c in found if c["statistic"] != OURS):
        own = [c for c in found if c["statistic"] == statistic]
        first = sum(c["place"] == 1 for c in own)
        places = ", ".join(f"{c['against']} {c['place']}" for c in own)
        lines.append(
            f"{statistic}: the extended Dice loss is best against {first} of {len(own)} truths (places: {places})"
        )
    return lines


def _sentence(claim: dict[str, Any]) -> str:
    apart = f"{number(claim['difference'])}"
    if claim["low"] is not None and claim["low"] == claim["low"]:
        apart += f" ({number(claim['low'])} to {number(claim['high'])})"
    place = "first" if claim["place"] == 1 else f"in place {claim['place']} of {claim['of']}"
    if claim["level"]:
        place += f", level with {claim['level']}"
    return f"extended Dice: the extended Dice loss is {place}; minus {claim['rival']}: {apart}"
