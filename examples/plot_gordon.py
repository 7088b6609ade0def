"""
Five ellipses: how much background to count
===========================================

Gordon and colleagues (2009, `doi:10.1016/j.compmedimag.2008.12.002
<https://doi.org/10.1016/j.compmedimag.2008.12.002>`_) drew five overlapping ellipses, treated them as the masks of
five raters, and applied STAPLE twice: with the whole image as background, and with only as much background as
object. The example repeats both and compares the results with the paper's Tables 1 and 2.

The paper does not state the parameters of its ellipses. Those below are a reconstruction, so that the last digit of a
value may differ; the pattern of the rates and the rankings should be the same.
"""
# sphinx_gallery_thumbnail_number = 2

import numpy as np
from PIL import Image

import manytruths as mt
from manytruths.charts import contour_overlay, heat_overlay

SIDE = 512
ELLIPSES = {  # centre (x, y), half axes, and rotation in radians, on a square of side 1
    "I1": (0.48, 0.487, 0.364, 0.11, -0.114),
    "I2": (0.559, 0.517, 0.161, 0.076, 0.47),
    "I3": (0.382, 0.554, 0.084, 0.179, 0.472),
    "I4": (0.562, 0.458, 0.147, 0.048, 0.656),
    "I5": (0.528, 0.478, 0.034, 0.154, -1.515),
}


def ellipse(x0, y0, a, b, turn):
    """The pixels inside an ellipse."""
    y, x = (np.mgrid[:SIDE, :SIDE] + 0.5) / SIDE
    along = (x - x0) * np.cos(turn) + (y - y0) * np.sin(turn)
    across = (y - y0) * np.cos(turn) - (x - x0) * np.sin(turn)
    return (along / a) ** 2 + (across / b) ** 2 <= 1


masks = {name: ellipse(*measures) for name, measures in ELLIPSES.items()}
table = mt.tally(masks)
window = slice(150, 400), slice(40, 480)  # the part of the image to show
shown = {name: mask[window] for name, mask in masks.items()}
outlines = contour_overlay(None, shown, title="Five masks")
union = int(table.counts[table.marked > 0].sum())
print(f"{table.items:,} pixels, {union:,} of them marked by at least one rater")

# %%
# Two regions
# -----------
# Most of the image is background that no rater marked. All raters are right there, so that all specificities are
# close to 1 and contain little information. The *modified background* keeps the union of the masks and as many
# background pixels. In the table this changes one number: the count of the pattern "no rater marked it".

parts = {region: table.restrict(region) for region in ("whole", "modified_background")}
truths = {region: mt.staple(part) for region, part in parts.items()}
for region, found in truths.items():
    how = f"{found.convergence} after {found.iterations} steps"
    print(f"{region:20} {parts[region].items:8,} pixels; {how}")


def side_by_side(pictures):
    """Pictures in a row, on a white background."""
    size = sum(p.width for p in pictures), max(p.height for p in pictures)
    sheet = Image.new("RGB", size, "white")
    for i, picture in enumerate(pictures):
        sheet.paste(picture.convert("RGB"), (sum(p.width for p in pictures[:i]), 0))
    return sheet


words = {"whole": "whole image", "modified_background": "modified background"}
maps = {region: mt.paint(truth.probability, masks)[window] for region, truth in truths.items()}
look = {"most": 1.0, "discrete": False, "caption": "probability", "opacity": 1.0}
faint = {region: np.where(chance < 0.01, 0, chance) for region, chance in maps.items()}
panels = [heat_overlay(None, heat, title=words[region], **look) for region, heat in faint.items()]
picture = side_by_side(panels)

# %%
# The two maps differ most to the left of the centre, where only I1 and I3 overlap. The probabilities by pattern
# show by how much:

names = np.array(list(masks))
print(f"{'marked by':14}" + "".join(f"{words[region]:>22}" for region in truths))
for who in ("I1", "I1 I3", "I1 I2", "I1 I2 I3", "I1 I2 I4", "I1 I2 I4 I5"):
    row = int(np.flatnonzero((table.patterns == np.isin(names, who.split())).all(axis=1))[0])
    print(f"{who:14}" + "".join(f"{truth.probability[row]:22.3f}" for truth in truths.values()))

# %%
# With the whole image, the overlap of I1 with any other mask is likely or nearly certain. With the modified
# background it depends on the other mask.
#
# The rates of each mask: Table 1
# -------------------------------

TABLE_1 = {
    "whole": ([1.00, 0.48, 0.44, 0.31, 0.24], [0.94, 0.99, 0.98, 1.00, 1.00]),
    "modified_background": ([1.00, 0.67, 0.26, 0.46, 0.36], [0.68, 0.97, 0.86, 1.00, 1.00]),
}


def line(name, values, digits=2):
    """Print a row of numbers."""
    print(f"{name:30}" + "".join(f"{value:8.{digits}f}" for value in values))


print(f"{'':30}" + "".join(f"{name:>8}" for name in masks))
furthest = 0.0
for region, published in TABLE_1.items():
    found = truths[region]
    for name, theirs in zip(("sensitivity", "specificity"), published, strict=True):
        ours = getattr(found, name)
        print(f"{name}, {words[region]}")
        line("   here", ours)
        line("   paper", theirs)
        furthest = max(furthest, float(np.abs(ours - theirs).max()))
print(f"\nlargest difference {furthest:.3f}")

# %%
# With the whole image, I3 has a higher sensitivity than I4 and I5, although it lies outside the area where the
# others overlap. With the modified background it is last.
#
# Which mask is closest to the truth: Table 2
# -------------------------------------------
# Three metrics compare a mask with a probability map: Gordon's F (the harmonic mean of sensitivity and specificity),
# their arithmetic mean (which the paper calls PV), and accuracy.

MEASURES = {"F": mt.gordon_f, "PV": mt.balanced_accuracy, "accuracy": mt.soft_accuracy}
LARGE, SMALL, ACCURATE = "I1 I2 I3 I4 I5", "I1 I2 I4 I5 I3", "I2 I4 I5 I3 I1"
TABLE_2 = {
    ("whole", "F"): ([0.97, 0.65, 0.60, 0.47, 0.39], LARGE),
    ("modified_background", "F"): ([0.81, 0.79, 0.40, 0.63, 0.53], SMALL),
    ("whole", "PV"): ([0.97, 0.74, 0.71, 0.66, 0.62], LARGE),
    ("modified_background", "PV"): ([0.84, 0.82, 0.56, 0.73, 0.68], SMALL),
    ("whole", "accuracy"): ([0.945, 0.959, 0.947, 0.954, 0.950], ACCURATE),
    ("modified_background", "accuracy"): ([0.73, 0.92, 0.77, 0.91, 0.90], ACCURATE),
}

print(f"{'':30}" + "".join(f"{name:>8}" for name in masks))
rankings = {}
for (region, measure), (published, _) in TABLE_2.items():
    ours = MEASURES[measure](parts[region], truths[region])
    rankings[region, measure] = " ".join(names[np.argsort(-ours)])
    print(f"{measure}, {words[region]}")
    digits = 3 if (region, measure) == ("whole", "accuracy") else 2  # as the paper prints it
    line("   here", ours, digits)
    line("   paper", published, digits)

# %%
# The rankings, best first:

print(f"{'':30} {'here':16} paper")
for (region, measure), (_, theirs) in TABLE_2.items():
    same = "equal" if rankings[region, measure] == theirs else "differs"
    print(f"{measure + ', ' + words[region]:30} {rankings[region, measure]:16} {theirs:16} {same}")

# %%
# Accuracy gives the same ranking with either background; the other two metrics move I3 from the middle to the end.
#
# How complex is this case?
# -------------------------
# The spread of the probabilities over the pixels that at least one rater marked measures the uncertainty about the
# truth: see :doc:`/methods`. Five identical masks are included for comparison.

same = mt.tally(dict.fromkeys(masks, masks["I2"]))
for name, case in {"the five ellipses": table, "five identical masks": same}.items():
    found = mt.case_complexity(case)
    spread = f"entropy {found.entropy:.3f}, mean {found.mean:.3f}"
    print(f"{name:20} {spread}, ESM {found.esm:.3f}, SSM {found.ssm:.3f}")
