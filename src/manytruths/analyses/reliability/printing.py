"""What a person reads after ``reliability``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...charts.svg import shorten
from ...core.undefined import reason
from ...inference.intervals import Interval
from ..printing import counted, grid, number
from .intervals import LEVELS
from .notes import majorities_text
from .raters import strange

if TYPE_CHECKING:
    from rich.console import Console

    from .verb import Reliability

NAMES = {
    "percent_agreement": "percent agreement",
    "sigma": "sigma: genuine agreement",
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
}
LONGEST = 18
"""Letters of a rater's name, so that his line stays one."""
SHORT = {"reference": "reference", "majority": "others", "given": "given", "rasch": "Rasch"}


def print_reliability(found: Reliability, console: Console) -> None:
    """The headline numbers, ρ by source, majorities in words, raters and notes."""
    ratings = found.ratings
    subjects = len(set(ratings.subjects))
    sizes = [
        (len(ratings.raters), "rater"),
        (len(ratings), "case"),
        *([(subjects, "subject")] * (subjects < len(ratings))),
    ]
    missing = int((~ratings.given).sum())
    gaps = f"; {counted(missing, 'rating')} missing" if missing else ""
    shown = ", ".join(ratings.labels[:8]) + (", …" if len(ratings.labels) > 8 else "")
    console.print(f"[bold]{', '.join(counted(*size) for size in sizes)}[/bold]{gaps}; ", end="")
    console.print(f"{ratings.kind} labels {shown}\n", markup=False, highlight=False)
    for part in (_headline(found), _sources(found), _raters(found)):
        console.print(part)
    console.print(majorities_text(found.majorities), style="bold", markup=False, highlight=False)
    for note in found.notes:
        console.print(f"• {note}", markup=False, highlight=False)


def _with(value: Interval) -> str:
    known = not reason(value.low)
    return number(value.value) + (f" ({number(value.low)}–{number(value.high)})" if known else "")


def _headline(found: Reliability) -> Any:
    rows = []
    for name, title in NAMES.items():
        value = found.headline[name]
        told = f"{title} ({LEVELS[found.ratings.kind]})" if name == "krippendorff_alpha" else title
        rows.append([told, _with(value), reason(value.value)])
    refused = reason(found.headline["sigma"].low)
    intervals = "" if refused else f", with {found.settings.level:.0%} intervals over {_units(found)}"
    return grid(f"Reliability of the data set{intervals}", ["", "value", ""], rows)


def _units(found: Reliability) -> str:
    return "subjects" if len(set(found.ratings.subjects)) < len(found.ratings) else "cases"


def _sources(found: Reliability) -> Any:
    rows = []
    for source in found.sources:
        known = source.accuracy[~np.isnan(source.accuracy)]
        spread = f"{number(float(known.min()), 2)}–{number(float(known.max()), 2)}" if len(known) else "–"
        mean = number(float(known.mean()), 2) if len(known) else "–"
        rows.append([source.title, _with(found.headline[f"rho {source.name}"]), mean, spread])
    header = ["competence by", "rho", "mean accuracy", "of raters"]
    return grid("rho: genuine and right agreement, by where the raters' competence comes from", header, rows)


def _raters(found: Reliability) -> Any:
    ratings, odd = found.ratings, strange(found.ratings)
    sources = [s for s in found.sources if s.name != "rasch"]
    model = next((s.rasch for s in found.sources if s.rasch is not None), None)
    rows = []
    for i, rater in enumerate(ratings.raters):
        sure = ratings.confidence[:, i]
        sure = sure[~np.isnan(sure)]
        row = [
            shorten(rater, LONGEST),
            str(int(ratings.given[:, i].sum())),
            number(float(sure.mean()), 2) if len(sure) else "–",
        ]
        row += [number(float(source.accuracy[i]), 2) for source in sources]
        row += [number(float(found.sigma.by_rater[i]), 2)]
        if model is not None:
            error = f" ± {number(float(model.ability_error[i]), 2)}"
            row += [number(float(model.ability[i]), 2) + error, number(float(model.infit[i]), 2)]
            row += [number(float(model.outfit[i]), 2)]
        warnings = {"one_label": "one label only", "never_agrees": "never agrees"}
        told = [words for name, words in warnings.items() if rater in odd[name]]
        rows.append([*row, *([", ".join(told)] if any(odd.values()) else [])])
    accuracies = [f"right, {SHORT[s.name]}" for s in sources]
    rasch = ["ability", "infit", "outfit"] if model is not None else []
    last = [""] if any(odd.values()) else []
    return grid("Raters", ["", "ratings", "confidence", *accuracies, "sigma", *rasch, *last], rows)
