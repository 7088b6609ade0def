"""What the gallery of examples needs: pictures on the pages, an order, and which data are there."""

from __future__ import annotations

import os
from pathlib import Path

from PIL import Image

ORDER = (
    "plot_fissure.py",
    "plot_evaluate_fissure.py",
    "plot_demo.py",
    "plot_import.py",
    "plot_consensus.py",
    "plot_challenge.py",
    "plot_extended_dice_loss.py",
    "plot_vandyke.py",
    "plot_cabitza.py",
    "plot_how_many_raters.py",
    "plot_paradoxes.py",
    "plot_gordon.py",
    "plot_share_tables.py",
)
NEEDED = {"fissure": ("plot_fissure.py", "plot_evaluate_fissure.py"), "ratings/VanDyke.csv": ("plot_vandyke.py",)}
"""Data that do not come with the package, and the examples that need them."""


def absent() -> dict[str, tuple[str, ...]]:
    """Data that are not here, and the examples that are then shown without their results."""
    root = Path(os.environ.get("MANYTRUTHS_DATA") or Path(__file__).parents[1] / ".." / "shared" / "data")
    return {path: examples for path, examples in NEEDED.items() if not (root / path).exists()}


def order(name: str) -> int:
    """Where an example stands in the gallery."""
    return ORDER.index(name) if name in ORDER else len(ORDER)


def scraper(block, block_vars, gallery_conf) -> str:
    """Show every Pillow picture and every SVG chart that a block has assigned to a name."""
    variables = block_vars["example_globals"]
    seen = variables.setdefault("__shown__", [])
    lines = []
    for value in list(variables.values()):
        if _is_picture(value) and not any(value is other for other in seen):
            seen.append(value)
            lines.append(_saved(value, next(block_vars["image_path_iterator"]), gallery_conf))
    return "\n".join(lines)


def _is_picture(value: object) -> bool:
    return isinstance(value, Image.Image) or (isinstance(value, str) and value.startswith("<svg"))


def _saved(value: Image.Image | str, path: str, gallery_conf) -> str:
    from sphinx_gallery.scrapers import figure_rst

    path = Path(path)
    if isinstance(value, str):
        path = path.with_suffix(".svg")
        path.write_text(value, encoding="utf-8")
    else:
        value.save(path, optimize=True)
    return figure_rst([path], gallery_conf["src_dir"])
