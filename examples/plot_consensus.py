"""
What to take as truth: five answers
===================================

A vote, STAPLE, SIMPLE and two level sets each make one mask out of many. The example puts them side by side, measures
how far they differ, and then asks the same of a simulated study, where the truth is known.

The first half uses the fissure image of Lampert, Stumpf and Gançarski (2016, `doi:10.1109/TIP.2016.2544703
<https://doi.org/10.1109/TIP.2016.2544703>`_) where it is at hand (the folder that ``MANYTRUTHS_DATA`` names), and else
one case of the simulated study.
"""
# sphinx_gallery_thumbnail_number = 1

import os
from pathlib import Path

import numpy as np
from PIL import Image

import manytruths as mt
from manytruths.charts import heat_overlay, matrix, strip

METHODS = ("vote:0.5", "staple", "simple", "lsml", "lsmlp")


def first_session(case):
    """Who drew what; second readings are left out."""
    readings = case.readings.items()
    return {rater: drawn.mask for (rater, session), drawn in readings if session == "1"}


simulated = mt.simulate_study(cases=24, seed=0)
data = Path(os.environ.get("MANYTRUTHS_DATA") or "../../shared/data") / "fissure"
if data.is_dir():
    study = mt.Study.open(data / "raters/{rater}/{case}.png", images=str(data / "images/{case}.png"))
    case = study["fissure"]
    masks = {column.name: mask for column, mask in case.read().masks.items()}
    image = case.picture()
    window = slice(300, 660), slice(500, 960)  # the part of the image to show
else:
    masks, image = first_session(simulated["p08"]), simulated["p08"].image
    window = slice(None), slice(None)
print(f"{len(masks)} raters, {image.shape[1]} × {image.shape[0]} pixels")

# %%
# One door
# --------
# Every estimator is called by its name and gives the same kind of result: a probability, a hard decision, and how it
# ended. Votes, STAPLE and SIMPLE decide pattern by pattern; level sets look at neighbours and give maps.

found = {method: mt.consensus(masks, method) for method in METHODS}
for result in found.values():
    print(result)

# %%
# As maps. Where a method decides by pattern, its values are painted back onto the pixels.


def painted(result, values, masks):
    """A map, whichever kind of result it is."""
    return np.asarray(mt.paint(values, masks) if result.kind == "pattern" else values)


def sheet(pictures, columns=2):
    """Pictures in rows, on white."""
    wide, high = max(p.width for p in pictures), max(p.height for p in pictures)
    rows = -(-len(pictures) // columns)
    page = Image.new("RGB", (wide * columns, high * rows), "white")
    for i, picture in enumerate(pictures):
        page.paste(picture.convert("RGB"), (i % columns * wide, i // columns * high))
    return page


chances = {method: painted(result, result.probability, masks) for method, result in found.items()}
votes = mt.paint(mt.common_heatmap(mt.tally(masks)), masks)
panels = [heat_overlay(image[window], votes[window], most=len(masks), title="how many marked it")]
look = {"most": 1.0, "discrete": False, "caption": "probability"}
for method, chance in chances.items():
    faint = np.where(chance < 0.01, 0, chance)[window]
    panels.append(heat_overlay(image[window], faint, title=method, **look))
picture = sheet(panels)

# %%
# How sure is each? Of the pixels that anybody marked, the share with a value below 0.05 or above 0.95:

for method, chance in chances.items():
    inside = chance[votes > 0]
    print(f"{method:9} {np.mean((inside < 0.05) | (inside > 0.95)):.0%}")

# %%
# A vote's "probability" is the share of the raters. STAPLE and the level sets weigh each rater by the rates that they
# estimate, and are much surer: they take raters for independent, which people who look at the same image are not. Read
# such a map as a ranking of pixels, not as a chance.
#
# Who was heard
# -------------
# SIMPLE drops raters, STAPLE weighs them.

simple, staple = found["simple"], found["staple"]
print("SIMPLE dropped", ", ".join(simple.dropped) or "nobody")
print(f"{'':5}{'score':>9}{'sensitivity':>14}{'specificity':>14}")
columns = staple.raters, simple.scores, staple.sensitivity, staple.specificity
for rater, score, p, q in zip(*columns, strict=True):
    print(f"{rater:5}{score:9.3f}{p:14.3f}{q:14.4f}")

# %%
# How far they differ
# -------------------
# The masks in one table, each as a column; any two are then compared as two raters would be.

hard = {method: painted(result, result.hard, masks) for method, result in found.items()}
together = mt.tally(hard)
squares = matrix(mt.pairwise(mt.dice, together).values, METHODS, "Dice between methods")
for method, mask in hard.items():
    print(f"{method:9} {int(mask.sum()):8,} pixels")

# %%
# Which is right?
# ---------------
# On real images nobody knows. In a simulated study the truth is known: five raters, one careless, one who draws small,
# one who draws large. Dice of each method with the truth, case by case:

scores, empty = {method: [] for method in METHODS}, {}
for one in simulated:
    drawn = first_session(one)
    results = {method: mt.consensus(drawn, method) for method in METHODS}
    marked = {method: painted(result, result.hard, drawn) for method, result in results.items()}
    if not one.truth.any():
        empty[one.name] = marked, results["staple"].note
        continue
    for method, mask in marked.items():
        scores[method].append(mt.dice(mt.tally({"method": mask, "truth": one.truth})))
chart = strip(scores, "Dice with the truth", "Each method, case by case")

# %%
for method, values in scores.items():
    print(f"{method:9} mean {np.mean(values):.3f}, smallest {min(values):.3f}, of {len(values)} cases")

# %%
# The faults of these raters were chosen; with other raters, another method may do best. Try them on cases like yours.
#
# Where there is nothing to find
# ------------------------------
# Some images of the study show no lesion. How much each method marks there, and what the result says about itself:

for name, (marked, note) in empty.items():
    print(name, {method: int(mask.sum()) for method, mask in marked.items()})
    print("    " + note)

# %%
# Where no item has half of the votes, a level set starts from those that have the most, and so can end up with what a
# single rater drew. Whoever uses a consensus should look at ``note`` first; ``manytruths fuse`` writes it to
# ``convergence.csv`` for every case and method.
