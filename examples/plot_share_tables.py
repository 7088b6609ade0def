"""
Two sites share tables, not pixels
==================================

Images and masks of patients often must not be shared outside a hospital. A tally contains no pixels and no positions,
only how often each pattern of decisions occurs; the sum of the tables of two sites is exactly the table of all their
cases.
"""

import tempfile
from pathlib import Path

import manytruths as mt
from manytruths.charts import contour_overlay


def first_session(case):
    """The masks of the first session, by rater."""
    readings = case.readings.items()
    return {rater: drawn.mask for (rater, session), drawn in readings if session == "1"}


simulated = mt.simulate_study(cases=20)
masks = {case.name: first_session(case) for case in simulated}
names = list(masks)
north = mt.Study.from_arrays({name: masks[name] for name in names[:10]})
south = mt.Study.from_arrays({name: masks[name] for name in names[10:]})

# %%
# Each site counts its own masks and saves one small text file per case. Its first line describes the columns and
# what was counted; it is followed by one row per pattern.

folder = Path(tempfile.mkdtemp())
for study in (north, south):
    for name, table in study.tally().items():
        mt.write_tally(table, folder / f"{name}.csv")

head, _, rows = (folder / "p01.csv").read_text().partition("\n")
print(rows)

# %%
# The analysis needs only these files. If patients have several cases, a table of the patient of each case is needed as
# well, for ``mt.Tallies(tables, subjects=...)``: intervals must resample patients, not cases.

tallies = {path.stem: mt.read_tally(path) for path in sorted(folder.glob("*.csv"))}
whole = mt.pool(tallies)
print(f"{whole.items:,} pixels of {len(tallies)} cases, {len(whole.counts)} patterns")
print(f"Fleiss' kappa {mt.confidence_interval(mt.fleiss_kappa, tallies)}")

# %%
# The sum is exact: it is identical, bit for bit, to the table of all masks at one site.

together = mt.pool(mt.Study.from_arrays(masks).tally())
print(together == whole)

# %%
# ``manytruths tally`` (:func:`manytruths.share_tallies`) writes all cases of a study to one file, with codes for cases
# and patients, which commands take in place of masks.
#
# Such a file does reveal the names of the raters (rename them before sharing if necessary), the size of the images,
# and how much each rater marked. Distances, boundaries and maps need the masks and are computed at the site: a site
# creates a map from the *pooled* result with its own masks.

truth = mt.vote(whole, 0.5)
for study in (north, south):
    case = next(iter(study))
    consensus = case.paint(truth.hard)
    print(f"{case.name}: {int(consensus.sum())} pixels in the majority's mask")

# %%
image = simulated[case.name].image
picture = contour_overlay(image, {"majority": consensus}, title=case.name)
