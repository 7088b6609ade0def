"""How near level sets come to the one that Lampert et al. published of the fissure, whose settings they did not.

Run ``python -m tests.simulations.level_sets``; it takes some minutes, and needs the data sets (``MANYTRUTHS_DATA``).
"""

from __future__ import annotations

from itertools import product

import numpy as np
from PIL import Image
from tests.data_folder import HOME

import manytruths as mt

FISSURE = HOME / "fissure"

PENALTIES = (0.5, 1, 2, 4, 8)
PRIORS = (0.5, 0.7, 0.9, "prevalence")
OUTLIERS = ("A1", "A4", "A11")


def main() -> None:
    published = np.asarray(Image.open(FISSURE / "published" / "gt_lsml.png")) > 0
    masks = {p.parent.name: np.asarray(Image.open(p)) > 0 for p in sorted(FISSURE.glob("raters/*/fissure.png"))}
    found = []
    for left_out, prior, penalty in product(((), OUTLIERS), PRIORS, PENALTIES):
        used = {name: mask for name, mask in masks.items() if name not in left_out}
        made = mt.lsml(used, penalty, prior=prior).hard
        differ = int(np.count_nonzero(made != published))
        found.append(differ)
        dice = 2 * np.count_nonzero(made & published) / (np.count_nonzero(made) + np.count_nonzero(published))
        print(
            f"{len(used)} raters, length penalty {penalty}, prior {prior}: {differ:,} pixels, Dice {dice:.3f}",
            flush=True,
        )
    print(f"{len(found)} settings; {min(found):,} to {max(found):,} pixels differ")


if __name__ == "__main__":
    main()
