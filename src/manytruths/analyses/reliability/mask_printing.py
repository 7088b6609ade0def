"""What a person reads after ``reliability`` of masks; and its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...io.results import write_summary
from ..files import summary_of
from ..printing import counted, grid, number, with_interval
from ..rows import Row, Table, write_all
from ..summaries import Settings, region_of

if TYPE_CHECKING:
    from rich.console import Console

    from .masks import MaskReliability

NAMES = {
    "sigma": "σ, genuine agreement",
    "rho": "ρ, genuine and right",
    "percent_agreement": "percent agreement",
    "positive_agreement": "positive agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "dice": "Dice of those who found it",
    "lesions": "lesions",
}


def print_mask_reliability(found: MaskReliability, console: Console) -> None:
    """Items, lesions, raters, and what to know."""
    ratings = found.lesions.ratings
    console.print(
        f"[bold]{counted(len(ratings.raters), 'rater')}, {counted(len(found.tallies), 'case')}, "
        f"{counted(len(found.tallies.by_subject()), 'subject')}, {counted(len(ratings), 'lesion')}[/bold]\n"
    )
    title = f"Item by item (region: {region_of(found.tallies)}), with intervals over subjects"
    console.print(_means(title, found.masks))
    console.print(_means("Lesion by lesion: found or missed", found.detection))
    console.print(_raters(found))
    for note in found.notes:
        console.print(f"• {note}", markup=False, highlight=False)


def _means(title: str, table: Table) -> Any:
    def row(name: str, scope: str) -> Row | None:
        rows = [r for r in table.all(name, scope) if not r.group and not r.label and not any(r.extra)]
        return rows[0] if rows else None

    cells = []
    for name, words in NAMES.items():
        found = [row(name, scope) for scope in ("mean", "pooled")]
        if any(found):
            cells.append([words, *("–" if one is None else with_interval(one) for one in found)])
    return grid(title, ["", "mean over subjects", "all together"], cells)


def _raters(found: MaskReliability) -> Any:
    def value(table: Table, name: str, rater: str, digits: int = 3) -> str:
        rows = [r for r in table.all(name, "pooled") if "rater" in r.columns and r["rater"] == rater and not r.label]
        return number(rows[0].value, digits) if rows else "–"

    rows = [
        [
            rater,
            value(found.masks, "accuracy", rater),
            value(found.detection, "found", rater),
            value(found.detection, "found_of_others", rater),
            value(found.detection, "found_alone", rater, 0),
        ]
        for rater in found.lesions.ratings.raters
    ]
    header = ["", "accuracy, items", "lesions found", "of what most others found", "found alone"]
    return grid("Raters, against the majority of the others, all cases together", header, rows)


def write_mask_reliability(found: MaskReliability, settings: Settings, folder: Path) -> list[Path]:
    """Tables and summary into a folder."""
    paths = write_all(found.tables, folder)
    told = summary_of(
        "reliability",
        found.tables,
        of="masks",
        cases=len(found.tallies),
        subjects=len(found.tallies.by_subject()),
        raters=list(found.lesions.ratings.raters),
        lesions=len(found.lesions.ratings),
        region=region_of(found.tallies),
        settings=settings,
        notes=list(found.notes),
    )
    return [*paths, write_summary(folder, told, paths)]
