"""
Thirteen raters, one aerial image
=================================

The fissure case of Lampert, Stumpf and Gançarski (2016, `doi:10.1109/TIP.2016.2544703
<https://doi.org/10.1109/TIP.2016.2544703>`_): thirteen raters marked the cracks in one aerial image of a landslide.
Cracks are thin and hard to see, so that the raters differ much. The example repeats the paper's analysis of the
raters and compares the results with the published ones.

The data belong to the authors and are not part of this package. The program reads them from the folder given by the
environment variable ``MANYTRUTHS_DATA``; if they are missing, it stops with a message, and this page shows the program
without its results.
"""
# sphinx_gallery_thumbnail_number = 1

import json
import os
from pathlib import Path

import manytruths as mt
from manytruths.charts import curve, dendrogram, heat_overlay, matrix

data = Path(os.environ.get("MANYTRUTHS_DATA") or "../../shared/data") / "fissure"
if not data.is_dir():
    raise SystemExit(f"skipped: no {data}; set MANYTRUTHS_DATA to the folder above it")
published = json.loads((data / "published.json").read_text())

# %%
# From masks to a table
# ---------------------
# One pass over the masks counts how often each pattern of thirteen decisions occurs. More than a million pixels
# become a few thousand rows, and all statistics below are computed from these rows.

masks, images = data / "raters/{rater}/{case}.png", data / "images/{case}.png"
study = mt.Study.open(masks, images=str(images))
case = study["fissure"]
table = case.tally()
print(f"{table.items:,} pixels, {len(table.counts):,} patterns of {len(table.raters)} raters")

# %%
# Where they agree
# ----------------
# A map assigns one value per pattern to the pixels; here the value is the number of raters who marked the pixel.

heat = case.paint(mt.common_heatmap(table))
picture = heat_overlay(case.picture(), heat, most=13, title="Fissures", caption="raters")

# %%
# How far they agree
# ------------------
# Smyth's bound is the smallest mean error of raters who differ this much, whatever the truth. It is small
# because nearly all of the image is background. Of the pixels that at least one rater marked, very few were marked by
# all raters.


def beside(name, ours, theirs, digits=4):
    """Print our value, the paper's, and whether they are equal to the last printed digit."""
    same = "equal" if round(float(ours), digits) == theirs else "differs"
    print(f"{name:34} {ours:9.{digits}f} {theirs:9.{digits}f}   {same}")


print(f"{'':34} {'here':>9} {'paper':>9}")
beside("Smyth's bound", mt.smyth_bound(table), published["smyth_lower_error_bound"])
beside("agreed by all, percent", 100 * mt.unanimous(table), published["agreed_by_all_percent"])

# %%
# The curve shows the same share for every number of raters.

agreement = mt.agreement_curve(table)
words = ("at least so many raters", "share of marked pixels", "How many marked the same")
chart = curve(agreement.raters, agreement.share, *words, ylim=(0, 1))

# %%
# Statistics that are not in the paper: kappa is corrected for chance and therefore depends on how much background is
# counted; positive agreement does not.

for region in ("whole", "modified_background"):
    part = table.restrict(region)
    kappa = mt.fleiss_kappa(part)
    print(f"{region:20} Fleiss' kappa {kappa:.4f} ({mt.interpret_kappa(kappa)}), "
          f"positive agreement {mt.positive_agreement(part):.4f}")  # fmt: skip

# %%
# Who differs from the others
# ---------------------------
# The difference of two raters is the Dice distance, 1 − F1 (F1 is Dice's coefficient). A rater is an outlier if the
# mean difference from the others is more than one sample standard deviation above the mean of all raters.

differences = mt.rater_differences(table)
theirs = published["mean_f1_difference"]
print(f"{'':34} {'here':>9} {'paper':>9}")
beside("mean of the mean differences", differences.mean, theirs["mean"])
beside("their standard deviation", differences.std, theirs["std"])
for rater in differences.outliers:
    value = differences.mean_difference[differences.raters.index(rater)]
    beside(f"{rater} (outlier)", value, theirs["outliers"][rater])

# %%
squares = matrix(1 - differences.pairs.values, differences.raters, "Dice between raters")

# %%
# Groups of similar raters: Ward's clustering of the same differences, with outliers highlighted.

tree = mt.cluster_raters(table)
branches = dendrogram(tree.linkage, tree.raters, marked=differences.outliers)

# %%
# Performance of each rater
# -------------------------
# Each rater is compared with the majority of all thirteen, as in the paper's Table 6.

columns = ("sensitivity", "specificity", "ppv", "npv", "cohen_kappa")
performance = mt.rater_performance(table)
print(f"{'':5}" + "".join(f"{name:>13}" for name in columns) + "   against Table 6")
for rater in performance.raters:
    row = [round(performance.value(rater, getattr(mt, name)), 4) for name in columns]
    same = "all equal" if row == published["table6"][rater] else "differs"
    print(f"{rater:5}" + "".join(f"{value:13.4f}" for value in row) + f"   {same}")

# %%
# Each rater has a vote in that majority, and is thus partly compared with their own mask. Against the majority of the
# others, kappa is lower for all raters.

others = mt.rater_performance(table, "others")
for rater in others.raters:
    kappas = (found.value(rater, mt.cohen_kappa) for found in (performance, others))
    print(f"{rater:5} " + " → ".join(f"{kappa:.4f}" for kappa in kappas))

# %%
# Which image features are related to agreement
# ---------------------------------------------
# The number of raters is correlated with features of the image: fissures are dark and have a high contrast.

found = mt.image_feature_correlations(heat, case.picture(), window=7)
print(f"{'':34} {'here':>9} {'paper':>9}")
for name, value in published["table5_feature_correlation"].items():
    beside(name, found[name].r, value)

# %%
# The paper's text states a window of 3×3 pixels for contrast; a window of 7×7 comes closest to the published value.
# Therefore the correlation with contrast is the only value on this page that is not equal to the last digit.
