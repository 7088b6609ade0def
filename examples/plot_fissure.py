"""
Thirteen raters, one aerial image
=================================

The fissure case of Lampert, Stumpf and Gançarski (2016, `doi:10.1109/TIP.2016.2544703
<https://doi.org/10.1109/TIP.2016.2544703>`_): thirteen raters marked the cracks in one aerial image of a landslide.
Cracks are thin and hard to see, so the raters differ much. The example recomputes what the paper says about the
raters and puts its numbers beside ours.

The data are the authors' and do not come with this package. The program looks for them in the folder that the
environment variable ``MANYTRUTHS_DATA`` names; where they are missing it says so and stops, and this page then shows
the program without its results.
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
# become a few thousand rows, and everything below reads those rows.

masks, images = data / "raters/{rater}/{case}.png", data / "images/{case}.png"
study = mt.Study.open(masks, images=str(images))
case = study["fissure"]
table = case.tally()
print(f"{table.items:,} pixels, {len(table.counts):,} patterns of {len(table.raters)} raters")

# %%
# Where they agree
# ----------------
# A map is a value per pattern painted back onto the pixels; here the number of raters who marked each one.

heat = case.paint(mt.common_heatmap(table))
picture = heat_overlay(case.picture(), heat, most=13, title="Fissures", caption="raters")

# %%
# How far they agree
# ------------------
# Smyth's bound is the error that raters who differ so much must make on average, whatever the truth. It looks small
# because nearly all of the image is background. Of the pixels that anybody marked, hardly any were marked by all.


def beside(name, ours, theirs, digits=4):
    """Our number, the paper's, and whether they are the same to the last printed digit."""
    same = "equal" if round(float(ours), digits) == theirs else "differs"
    print(f"{name:34} {ours:9.{digits}f} {theirs:9.{digits}f}   {same}")


print(f"{'':34} {'here':>9} {'paper':>9}")
beside("Smyth's bound", mt.smyth_bound(table), published["smyth_lower_error_bound"])
beside("agreed by all, percent", 100 * mt.unanimous(table), published["agreed_by_all_percent"])

# %%
# The curve says the same for every number of raters.

agreement = mt.agreement_curve(table)
words = ("at least so many raters", "share of marked pixels", "How many marked the same")
chart = curve(agreement.raters, agreement.share, *words, ylim=(0, 1))

# %%
# Numbers that the paper does not print: kappa corrects for chance and so depends on how much background is counted;
# positive agreement does not.

for region in ("whole", "modified_background"):
    part = table.restrict(region)
    kappa = mt.fleiss_kappa(part)
    print(f"{region:20} Fleiss' kappa {kappa:.4f} ({mt.interpret_kappa(kappa)}), "
          f"positive agreement {mt.positive_agreement(part):.4f}")  # fmt: skip

# %%
# Who differs from the others
# ---------------------------
# The Dice distance of two raters is 1 − F1 (F1 is Dice's coefficient). An outlier is a rater whose mean distance to the
# others is more than one sample standard deviation above the mean of all.

differences = mt.rater_differences(table)
theirs = published["mean_f1_difference"]
print(f"{'':34} {'here':>9} {'paper':>9}")
beside("mean of the mean differences", differences.mean, theirs["mean"])
beside("their standard deviation", differences.std, theirs["std"])
for rater in differences.outliers:
    value = differences.mean_difference[differences.raters.index(rater)]
    beside(f"{rater} is an outlier", value, theirs["outliers"][rater])

# %%
squares = matrix(1 - differences.pairs.values, differences.raters, "Dice between raters")

# %%
# Who draws like whom: Ward's clustering of the same differences, with those who stand out marked.

tree = mt.cluster_raters(table)
branches = dendrogram(tree.linkage, tree.raters, marked=differences.outliers)

# %%
# How each rater did
# ------------------
# Against the majority of all thirteen, as in the paper's Table 6.

columns = ("sensitivity", "specificity", "ppv", "npv", "cohen_kappa")
performance = mt.rater_performance(table)
print(f"{'':5}" + "".join(f"{name:>13}" for name in columns) + "   against Table 6")
for rater in performance.raters:
    row = [round(performance.value(rater, getattr(mt, name)), 4) for name in columns]
    same = "all equal" if row == published["table6"][rater] else "differs"
    print(f"{rater:5}" + "".join(f"{value:13.4f}" for value in row) + f"   {same}")

# %%
# A rater has a vote in that majority, so that each is partly compared with himself. Against the majority of the
# others, kappa is lower for everybody.

others = mt.rater_performance(table, "others")
for rater in others.raters:
    kappas = (found.value(rater, mt.cohen_kappa) for found in (performance, others))
    print(f"{rater:5} " + " → ".join(f"{kappa:.4f}" for kappa in kappas))

# %%
# What in the image goes with agreement
# -------------------------------------
# The correlation of the number of raters with what the image shows: fissures are dark and rich in contrast.

found = mt.image_feature_correlations(heat, case.picture(), window=7)
print(f"{'':34} {'here':>9} {'paper':>9}")
for name, value in published["table5_feature_correlation"].items():
    beside(name, found[name].r, value)

# %%
# The paper's text has a window of 3×3 pixels for contrast; the nearest to its printed figure comes from 7×7, which is
# why the correlation with contrast is the one number on this page that is not equal to the last digit.
