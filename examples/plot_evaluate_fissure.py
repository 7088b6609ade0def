"""
Four detectors, thirteen raters: which is best?
===============================================

The second half of the fissure case of Lampert, Stumpf and Gançarski (2016, `doi:10.1109/TIP.2016.2544703
<https://doi.org/10.1109/TIP.2016.2544703>`_): four detectors of cracks give a response at every pixel of an aerial
image (a probability map), and thirteen raters disagree on where the cracks are. Which detector is best therefore
depends on the reference standard. The example recomputes the paper's Tables 7 and 8 and compares the results with the
published ones; :doc:`plot_fissure` analyses the raters.

The data belong to the authors and are not part of this package. The program reads them from the folder given by the
environment variable ``MANYTRUTHS_DATA``; if they are missing, it stops with a message, and this page shows the program
without its results.
"""
# sphinx_gallery_thumbnail_number = 1

import json
import os
from pathlib import Path

import numpy as np
from PIL import Image

import manytruths as mt
from manytruths.charts import contour_overlay, line_chart, rater_difference_chart

data = Path(os.environ.get("MANYTRUTHS_DATA") or "../../shared/data") / "fissure"
if not data.is_dir():
    raise SystemExit(f"skipped: no {data}; set MANYTRUTHS_DATA to the folder above it")
published = json.loads((data / "published.json").read_text())


def picture_of(*parts):
    """An image file as an array."""
    return np.asarray(Image.open(data.joinpath(*parts)))


RATERS = [f"A{i}" for i in range(1, 14)]
DETECTORS = ["2D-GWLC", "Gauss", "C-S", "Top-Hat"]
masks = {name: picture_of("raters", name, "fissure.png") > 0 for name in RATERS}
detected = {name: picture_of("predictions", name, "fissure.png") for name in DETECTORS}

# %%
# The reference standards
# -----------------------
# Each rater is a reference standard. Others are estimated from all raters: votes, STAPLE with either prior, SIMPLE, a
# vote without outliers. Those that are maps, our LSML and the authors' own maps, are additional columns of the table.

FILES = {"staple": "gt_staple.png", "lsml": "gt_lsml.png", "excl": "gt_excl_05.png"}
maps = {f"authors' {name}": picture_of("published", file) > 0 for name, file in FILES.items()}
maps["lsml"] = mt.lsml(masks).hard
table = mt.tally(masks, references=maps)
made = {
    "any": mt.vote(table, "any"),
    "0.5": mt.vote(table, 0.5),
    "0.75": mt.vote(table, 0.75),
    "staple, marked": mt.staple(table, prior="marked"),
    "staple": mt.staple(table),
    "simple": mt.simple(table),
    "excl": mt.vote_without_outliers(table, 0.5),
}
every = mt.reference_standards(table, made)
print(f"{len(every)} reference standards of {table.items:,} pixels, {len(table.counts):,} patterns")


def in_columns(cells, wide, columns=3):
    """Print short texts in columns."""
    for i in range(0, len(cells), columns):
        print("".join(f"{cell:{wide}}" for cell in cells[i : i + columns]).rstrip())


print("The share of pixels that are cracks:")
shares = zip(every.names, every.prevalence, strict=True)
in_columns([f"{name:16}{share:6.2%}" for name, share in shares], wide=28)

# %%
# One pass over each detector
# ---------------------------
# One pass counts how often each response occurs with each pattern. All curves below, under all reference standards, are
# computed from these counts. 2D-GWLC was trained on a part of the image, and is not scored on that part.


def counted(name, truths, exclude=None):
    """The responses of a detector under the given reference standards."""
    found = mt.count_responses(detected[name], masks, table, references=maps, exclude=exclude)
    return found.against(truths)


trained = {"2D-GWLC": picture_of("training", "2D-GWLC", "fissure.png") > 0}
judged = {name: counted(name, every, trained.get(name)) for name in DETECTORS}
for name, counts in judged.items():
    items = int(counts.positives[0].sum() + counts.negatives[0].sum())
    print(f"{name:8} {len(counts.levels)} levels, {items:,} pixels")

# %%
# Response and agreement: Table 7
# -------------------------------
# Does a detector respond more strongly where more raters agree? CCO is the correlation over the pixels that at least
# one rater marked, CCI that over the whole image. As in the paper, both include the pixels of the training area.

print(f"{'':10}{'CCO':>9}{'paper':>9}{'CCI':>12}{'paper':>9}")
for name in DETECTORS:
    whole = counted(name, every)
    ours = round(mt.correlation_in_object(whole).r, 4), round(mt.correlation_in_image(whole).r, 4)
    theirs = tuple(published["table7"][name])
    same = "equal" if ours == theirs else "differs"
    print(f"{name:10}{ours[0]:9.4f}{theirs[0]:9.4f}{ours[1]:12.4f}{theirs[1]:9.4f}   {same}")

# %%
# The values of all four detectors are equal to the last digit. Top-Hat has the lowest CCI by far: it often responds
# where no rater marked anything.
#
# Detection improves as more raters agree: Fig. 12
# ------------------------------------------------
# Cracks are rare, and precision decreases with their prevalence. P̄ is the mean precision over a range of
# prevalences, here 0.1 to 0.5 as in the paper, so that reference standards with few and with many cracks can be
# compared. The numbers after the names are areas under the curves.

LOW, HIGH = published["table8_skew_range"]
levels = mt.reference_standards(table, raters=False, references=False, levels=True)


def points(curve, count=600):
    """Points of a P̄-R curve. Between thresholds both rates are interpolated linearly."""
    at, known = np.linspace(0, len(curve.tp) - 1, count), np.arange(len(curve.tp))
    recall, fall_out = (np.interp(at, known, rate) for rate in (curve.recall, curve.fall_out))
    there = recall > 0
    return recall[there], mt.mean_precision(recall[there], fall_out[there], LOW, HIGH)


def drawn(curves, title, **look):
    """Chart of P̄-R curves by name, with their areas."""
    notes = {name: f"{curve.pbar_area(LOW, HIGH):.3f}" for name, curve in curves.items()}
    shapes = {name: points(curve) for name, curve in curves.items()}
    return line_chart(shapes, "recall", "mean precision P̄", title, notes=notes, **look)


def by_level(name):
    """The curves of a detector by the number of raters who must agree."""
    counts = counted(name, levels, trained.get(name))
    return {f"≥ {k}": counts.curve(f"votes>={k}") for k in range(1, 14)}


figure_12 = drawn(by_level("C-S"), "C-S as more raters must agree", ordered=True)

# %%
figure_12b = drawn(by_level("2D-GWLC"), "2D-GWLC as more raters must agree", ordered=True)

# %%
# The best detector depends on the reference standard: Table 8
# ------------------------------------------------------------
# The four detectors are ranked by the area under P̄-R, under every reference standard.

areas = np.array([judged[name].pbar_areas(LOW, HIGH) for name in DETECTORS])
rankings = mt.rank_by_reference(areas, DETECTORS, every.names)
for number, ranking in enumerate(rankings.rankings, start=1):
    print(f"{number}.  {ranking}")
    print(f"    under {', '.join(ranking.references)}")

# %%
# Comparison with the paper, which numbers the rankings in a different order:

NUMBERS, PRINTED = {}, {}
for name, entry in published["table8"].items():
    NUMBERS[tuple(entry["order"])] = name[-1]
    PRINTED |= dict.fromkeys(entry["ground_truths"], name[-1])
PRINTED["excl"] = PRINTED.pop("excl_05")
cells = []
for truth in every.names:
    ours = NUMBERS[rankings.of(truth).order]
    theirs = PRINTED[truth.removeprefix("authors' ").partition(",")[0]]
    cells.append(f"{truth:16}{ours}  {theirs}  {'' if ours == theirs else 'differs'}")
print(f"{'':14}here, paper")
in_columns(cells, wide=32)

# %%
# Under all thirteen raters, the three votes, the authors' own maps of STAPLE and LSML, and our SIMPLE and LSML, the
# ranking is the published one. The differences are:
#
# - **STAPLE depends on its prior.** The authors' map is identical, in every pixel, to ours with the share of pixels
#   that at least one rater marked as prior (``marked``). With our default, the mean share of votes, STAPLE ranks like
#   most raters.
# - **The vote without outliers** (``excl``) is printed under ranking 1, but gives ranking 2. It is the only entry of
#   the table that cannot be reproduced: the authors' own map, equal to ours in every pixel, also gives ranking 2.
#
# Differences between the maps:

flags = dict(zip(every.names, every.positive, strict=True))
pairs = ("staple, marked", "authors' staple"), ("excl", "authors' excl"), ("excl", "simple")
for one, other in pairs:
    differ = table.counts[flags[one] != flags[other]].sum()
    print(f"{one} and {other} differ in {differ:,} pixels, {differ / table.items:.2%}")

# %%
# One figure for each ranking: Fig. 13
# ------------------------------------


def compared(truth):
    """All detectors under one reference standard."""
    curves = {name: counts.curve(truth) for name, counts in judged.items()}
    return drawn(curves, f"Under {truth}")


first = compared("any")

# %%
second = compared("0.5")

# %%
third = compared("0.75")

# %%
# One detector under every reference standard: Fig. 14
# ----------------------------------------------------

curves = {truth: judged["2D-GWLC"].curve(truth) for truth in every.names}
figure_14 = drawn(curves, "2D-GWLC under every reference standard", faint=RATERS)

# %%
# Bounds of the scores
# --------------------
# The paper uses the union of all masks, and the vote of three quarters, as bounds of a detector's score. They need not
# be bounds. Therefore the smallest and the largest score over all reference standards are given, too.

print(f"{'':10}{'any':>8}{'0.75':>8}{'least':>9}{'most':>17}")
for bound in rankings.bounds("any", "0.75"):
    least = f"{bound.smallest:.3f} ({bound.smallest_under})"
    most = f"{bound.largest:.3f} ({bound.largest_under})"
    row = f"{bound.algorithm:10}{bound.loose:8.3f}{bound.strict:8.3f}  {least:14}{most:14}"
    print(row + (f" below any: {', '.join(bound.below)}" if bound.below else ""))

# %%
# 2D-GWLC lies below its "lower bound" under A1 and A4, two of the three outliers. The output shows which differences
# hold under every reference standard:

for one, other in (("2D-GWLC", "C-S"), ("C-S", "Gauss"), ("Gauss", "Top-Hat")):
    pair = rankings.separate(one, other)
    where = "every reference standard" if pair.under_each else f"{len(pair.ahead)} of {pair.of} reference standards"
    print(f"{one} is ahead of {other} under {where}")

# %%
# As masks
# --------
# The responses are cut at the threshold with the largest Dice with the majority (this choice uses the reference
# standard and is therefore optimistic), so that detectors can be compared with the raters. Each rater and the
# detector are scored against the same twelve other raters: by how much is the mean Dice of the detector better than
# that of the rater? γ is the mean Dice distance of the detector to the raters, minus that between raters.

cuts = {name: counts.curve("0.5").best_dice().threshold for name, counts in judged.items()}
cut = {name: detected[name] >= cuts[name] for name in DETECTORS}
both = mt.tally(masks, predictions=cut)
apart = mt.pairwise(mt.dice, both).values  # 1 for a rater with themselves
own = (apart.sum(axis=1) - 1) / 12
least, most = (RATERS[i] for i in (own.argmin(), own.argmax()))
print(f"raters with each other: {own.min():.3f} ({least}) to {own.max():.3f} ({most})")
extended = mt.extended_dice(both)
better, words = {}, {}
for name, values in zip(DETECTORS, mt.overlaps(both).values(mt.dice), strict=True):
    others = (values.sum() - values) / 12  # without each rater in turn
    better[name] = {rater: (value, np.nan, np.nan) for rater, value in zip(RATERS, others - own, strict=True)}
    further = mt.interchangeability([both], name).gamma.value  # than raters from each other
    words[name] = f"γ = {further:+.3f}"
    print(f"{name:8} cut at {cuts[name]:3.0f}: {values.mean():.3f}, {words[name]}, extended Dice {extended[name]:.3f}")

# %%
# One image gives no intervals; ``manytruths evaluate`` computes them if there are ten patients or more.

title = "Detectors against each rater, both scored against the other twelve"
beside = rater_difference_chart(better, "better by (Dice)", title, verdicts=words)

# %%
# Extended Dice is not informative here: the raters overlap so little that nearly any mask between them scores highly.

print(mt.extended_dice_counts(both, "2D-GWLC").note)

# %%
# A second look
# -------------
# Where several detectors respond and few raters marked anything, the detectors may be wrong, or the raters may have
# missed something. Such areas are listed, the strongest first, so that they can be shown to the raters again.

found = mt.second_look(cut, masks, algorithms=3, raters=0.1, least=30)
print(f"{len(found.places)} places, {found.specks} smaller ones")
for place in found.places[:5]:
    who = ", ".join(f"{name} {share:.0%}" for name, share in place.algorithms.items())
    print(f"{place.area:4} pixels around row {place.point[0]}, column {place.point[1]}: {who}")

# %%
place = found.places[0]
around = tuple(slice(max(0, p - 60), p + 60) for p in place.point)
shown = {name: mask[around] for name, mask in cut.items()}
marked = np.sum([mask[around] for mask in masks.values()], axis=0)
image = picture_of("images", "fissure.png")[around]
outlines = {**shown, "any rater": marked > 0}
look = contour_overlay(image, outlines, title="The strongest place")

# %%
# On the command line
# -------------------
# The following command writes all tables and charts to a folder::
#
#     manytruths evaluate "raters/{rater}/{case}.png" --predictions "predictions/{algorithm}/{case}.png" \
#         --probability --skew 0.1,0.5 --training "training/{algorithm}/{case}.png" --images "images/{case}.png"
