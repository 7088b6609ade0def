"""
Two sites share tables, not pixels
==================================

Images and masks of patients often may not leave a hospital. A tally holds no pixel and no position, only how often
each pattern of decisions occurs; tables of two sites add up to exactly the table of all their cases together.
"""

import tempfile
from pathlib import Path

import manytruths as mt
from manytruths.charts import contour_overlay


def first_session(case):
    """Who drew what; second readings are left out."""
    readings = case.readings.items()
    return {rater: drawn.mask for (rater, session), drawn in readings if session == "1"}


simulated = mt.simulate_study(cases=20)
masks = {case.name: first_session(case) for case in simulated}
names = list(masks)
north = mt.Study.from_arrays({name: masks[name] for name in names[:10]})
south = mt.Study.from_arrays({name: masks[name] for name in names[10:]})

# %%
# Each site counts its own masks and saves one small text file a case. Its first line says who the columns are and
# what was counted; below it stands a row a pattern.

folder = Path(tempfile.mkdtemp())
for study in (north, south):
    for name, table in study.tally().items():
        mt.write_tally(table, folder / f"{name}.csv")

head, _, rows = (folder / "p01.csv").read_text().partition("\n")
print(rows)

# %%
# Whoever analyses the study needs these files alone. Where patients have several cases, a table of which case belongs
# to whom goes along, for ``mt.Tallies(tables, subjects=...)``: intervals must draw patients, not cases.

tallies = {path.stem: mt.read_tally(path) for path in sorted(folder.glob("*.csv"))}
whole = mt.pool(tallies)
print(f"{whole.items:,} pixels of {len(tallies)} cases, {len(whole.counts)} patterns")
print(f"Fleiss' kappa {mt.confidence_interval(mt.fleiss_kappa, tallies, seed=0)}")

# %%
# The sum is exact: the same table, bit for bit, as from all the masks at one place.

together = mt.pool(mt.Study.from_arrays(masks).tally())
print(together == whole)

# %%
# What such a file does tell: who the raters are (give them other names before sharing where that matters), how large
# the images are, and how much each rater marked. Distances, boundaries and maps need the masks and stay at the site:
# a site paints a map from the *pooled* result with its own masks.

truth = mt.vote(whole, 0.5)
for study in (north, south):
    case = next(iter(study))
    consensus = case.paint(truth.hard)
    print(f"{case.name}: {int(consensus.sum())} pixels in the majority's mask")

# %%
image = simulated[case.name].image
picture = contour_overlay(image, {"majority": consensus}, title=case.name)
