"""
A simulated study in ten lines
==============================

Five simulated raters mark phantoms with a known truth: D is careless, C draws small outlines, E draws large ones, and
C did not read every image. The example needs no files; ``manytruths demo`` writes the same study to a folder and
analyses it.
"""
# sphinx_gallery_thumbnail_number = 1

import manytruths as mt
from manytruths.charts import contour_overlay, heat_overlay, strip


def first_session(case):
    """The masks of the first session, by rater."""
    readings = case.readings.items()
    return {rater: drawn.mask for (rater, session), drawn in readings if session == "1"}


simulated = mt.simulate_study(cases=24, seed=0)
masks = {case.name: first_session(case) for case in simulated}
study = mt.Study.from_arrays(masks, subjects=simulated.subjects, groups=simulated.groups)
tallies = study.tally()
whole = mt.pool(tallies)
print(f"{whole.items:,} pixels, {len(whole.counts)} patterns of {len(whole.raters)} raters")
print(f"Fleiss' kappa, pooled   {mt.fleiss_kappa(whole):.3f}")
print(f"mean over subjects      {mt.confidence_interval(mt.fleiss_kappa, tallies)}")

# %%
# Pooled values and means over subjects are different quantities: pooling gives large lesions more weight, and the mean
# gives each patient the same weight. The interval is about *subjects*, never pixels; a pooled number has one only if
# subjects are many and of similar size.
#
# A heatmap
# ---------
# The heatmap shows how many raters marked each pixel of one case.

case = study["p08"]
table = tallies["p08"]
heat = case.paint(mt.common_heatmap(table))
image = simulated["p08"].image
picture = heat_overlay(image, heat, most=5, title="p08", caption="raters who marked it")
outlines = contour_overlay(image, masks["p08"], title="p08", subtitle="what each rater drew")

# %%
# Kappa of every pair, and by group
# ---------------------------------

for a, b, kappa in mt.pairwise(mt.cohen_kappa, whole).pairs():
    print(f"{a} and {b}: {kappa:.3f}, {mt.interpret_kappa(kappa)}")

# %%
by_group = {}
for name, one in tallies.items():
    by_group.setdefault(tallies.groups[name][0], []).append(mt.fleiss_kappa(one))
words = ("none", "slight", "fair", "moderate", "substantial", "almost perfect")
levels = list(zip((-1, 0, 0.2, 0.4, 0.6, 0.8), words, strict=True))
chart = strip(by_group, "Fleiss' kappa", "Agreement beyond chance, case by case", levels=levels)

# %%
# The region matters
# ------------------
# Kappa depends on how much background is counted. Therefore every kappa is printed with its region. Positive agreement
# does not depend on it.

for region in ("whole", "modified_background", "union"):
    part = whole.restrict(region)
    kappa, positive = mt.fleiss_kappa(part), mt.positive_agreement(part)
    print(f"{region:20} Fleiss' kappa {kappa:.3f}, positive agreement {positive:.3f}")

# %%
# Is the careless rater found?
# ----------------------------

differences = mt.rater_differences(whole)
tendency = mt.rater_tendency(whole)
for i, rater in enumerate(differences.raters):
    mark = "outlier" if rater in differences.outliers else ""
    area, apart = tendency.relative_area[i], differences.mean_difference[i]
    print(f"{rater}: area {area:.2f} of the others', mean difference {apart:.3f} {mark}")

# %%
# Undefined results have a reason
# -------------------------------

nothing = mt.tally({"A": [[0, 0, 0]], "B": [[0, 0, 0]]})
kappa = mt.cohen_kappa(nothing)
print(float(kappa), "-", mt.reason(kappa))
