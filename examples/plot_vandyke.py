"""
Five raters, two ways to image: what ρ adds to kappa
====================================================

Van Dyke and colleagues (1993) showed 114 patients to five raters twice, by two kinds of magnetic resonance imaging,
here called treatments 1 and 2; in 45 of them the aorta was dissected, which is known. Raters answered on a scale from 1
(certainly not) to 5 (certainly). The data have been used to compare methods of ROC analysis ever since.

Here they are a rated data set: the label is "dissected" from a rating of 3 on, and how far the rating lies from the cut
says how sure the rater was. The page puts kappa and ρ side by side, one treatment at a time.

The data do not come with this package. The program looks for ``ratings/VanDyke.csv`` in the folder that the environment
variable ``MANYTRUTHS_DATA`` names; where they are missing it says so and stops, and this page then shows the program
without its results.
"""
# sphinx_gallery_thumbnail_number = 2

import os
from pathlib import Path

import numpy as np

import manytruths as mt
from manytruths.charts import strip
from manytruths.charts.reliability import confidence_errors

data = Path(os.environ.get("MANYTRUTHS_DATA") or "../../shared/data") / "ratings" / "VanDyke.csv"
if not data.is_file():
    raise SystemExit(f"skipped: no {data}; set MANYTRUTHS_DATA to the folder above ratings")

# %%
# From a scale to labels
# ----------------------
# On a scale from 1 to 5 with the cut at 3, ratings of 1 and 5 are certain, and those beside the cut are hardly more
# than a guess. The border lies between 2 and 3, so that of the two labels the one with fewer levels has larger steps:
#
# ==========  =====  =====  =========  =========  =========
# rating      1      2      3          4          5
# ==========  =====  =====  =========  =========  =========
# label       0      0      1          1          1
# confidence  1      0.33   0.2        0.6        1
# ==========  =====  =====  =========  =========  =========

studies = {number: mt.read_ratings(data, filters={"treatment": number}, cut=3) for number in "12"}
for number, ratings in studies.items():
    print(f"treatment {number}: {ratings}, mean confidence {ratings.confidence.mean():.2f}")

# %%
# Kappa and ρ
# -----------
# ρ by three sources of the raters' competence, and, as the truth is known, the share that ρ estimates: genuine
# agreement on the right label.


def measured(ratings):
    """All numbers of one treatment."""
    table, reference = ratings.tally(), mt.rater_accuracy(ratings, "reference").accuracy
    known = (ratings.codes == ratings.reference[:, None]).astype(float)
    return {
        "mean accuracy of a rater": reference.mean(),
        "wrong majorities": mt.majorities(ratings).wrong_share,
        "percent agreement": mt.percent_agreement(table),
        "Fleiss' kappa": mt.fleiss_kappa(table),
        "σ": mt.sigma(ratings).value,
        "ρ, accuracy by the reference": mt.rho(ratings, reference).value,
        "ρ, accuracy by the others": mt.rho(ratings, mt.rater_accuracy(ratings).accuracy).value,
        "ρ, Rasch by the reference": mt.rho(ratings, mt.rasch(ratings).accuracy).value,
        "ρ with every error known": mt.rho(ratings, known).value,
    }


found = {number: measured(ratings) for number, ratings in studies.items()}
print(f"{'treatment':32}{'1':>8}{'2':>8}")
for name in found["1"]:
    print(f"{name:32}" + "".join(f"{numbers[name]:8.3f}" for numbers in found.values()))

# %%
# **The two disagree about the treatments.** By kappa raters agree better under treatment 2, by σ and ρ under treatment
# 1. Kappa sees labels only. Under treatment 2 raters gave the same label more often, and were less sure of it.
#
# How certain is that? Cases are drawn again, the same for both treatments:


def kappas(draw):
    """Fleiss' kappa of each treatment in a draw of the cases; every case has five votes."""
    for ratings in studies.values():
        votes = ratings.votes[draw]
        apart = 1 - (votes * (votes - 1)).sum(axis=1).mean() / 20
        share = votes.sum(axis=0) / votes.sum()
        yield 1 - apart / (1 - (share**2).sum())


random, cases = np.random.default_rng(0), len(studies["1"])
sigmas = {number: mt.sigma(ratings).by_case for number, ratings in studies.items()}
draws = [random.integers(0, cases, cases) for _ in range(2000)]
gains = {
    "kappa": [np.subtract(*reversed(list(kappas(draw)))) for draw in draws],
    "σ": [(sigmas["2"] - sigmas["1"])[draw].mean() for draw in draws],
}
for name, values in gains.items():
    low, high = np.quantile(values, [0.025, 0.975])
    print(f"{name:6} treatment 2 − treatment 1: {np.mean(values):+.3f} ({low:+.3f} to {high:+.3f})")

# %%
# Not certain at all: both intervals hold 0. What can be said is that a choice between the treatments by kappa alone
# would rest on the raters' labels and not on their doubts.
#
# Doubt is worth knowing
# ----------------------
# Here doubt means something: those who were less sure were more often wrong. A rating of 3 counts as "dissected" with a
# confidence of 0.2, and most of these are wrong. (It also says that a cut at 4 would be a better one.)

first = studies["1"]
levels = np.unique(first.confidence)
wrong = first.codes != first.reference[:, None]
judged = [(first.confidence == level).sum() for level in levels]
errors = [wrong[first.confidence == level].sum() for level in levels]
chart = confidence_errors(
    [f"{level:.2g}" for level in levels], judged, errors, "Wrong ratings by confidence, treatment 1"
)

# %%
# Case by case
# ------------
# A kappa belongs to a data set. σ and ρ have a value for every case, and so tell which labels to trust. All cases with
# five equal votes have an agreement of 1; their σ are anything from 0.35 to 1:

votes = first.votes.max(axis=1)
groups = {f"{n} of 5 votes": sigmas["1"][votes == n].tolist() for n in (5, 4, 3)}
spread = strip(groups, "σ of a case", "The same votes, more or less sure (treatment 1)")

# %%
# Does that find the cases in which the majority is wrong? The chance that such a case has the lower value than a case
# that was labelled rightly, ties counting half (½ is no better than guessing):


def area(values, bad):
    """The chance that a bad case has the lower value."""
    apart = np.subtract.outer(values[bad], values[~bad])
    return (apart < 0).mean() + (apart == 0).mean() / 2


for number, ratings in studies.items():
    won = mt.majorities(ratings)
    share = (ratings.votes * (ratings.votes - 1)).sum(axis=1) / 20
    weighted = mt.rho(ratings, mt.rater_accuracy(ratings).accuracy).by_case
    print(f"treatment {number}, {won.count('wrong'):2} wrong majorities: agreement {area(share, won.wrong):.2f}, "
          f"σ {area(sigmas[number], won.wrong):.2f}, ρ {area(weighted, won.wrong):.2f}")  # fmt: skip

# %%
# What competence adds
# --------------------
# Little, here. Raters are right in 84% of the cases under treatment 1, so that by eq. 6 two of them who agree are right
# in 97%. Counted, it is 92%: raters err in the same cases. But those who err together are mostly unsure; of genuine
# agreement, 96% is right (0.540 of 0.565). So σ has done most of ρ's work already, and the sources of competence hardly
# differ. Where raters are sure of what is wrong, they do: :doc:`plot_cabitza`.
#
# And one rater should make us careful:

accuracy = mt.rater_accuracy(first, "reference").accuracy
by_rater = mt.sigma(first).by_rater
print(f"{'rater':8}{'accuracy':>10}{'confidence':>12}{'σ':>8}")
for i, rater in enumerate(first.raters):
    print(f"{rater:8}{accuracy[i]:10.2f}{first.confidence[:, i].mean():12.2f}{by_rater[i]:8.2f}")

# %%
# Rater 2 is as often right as raters 1 and 3, but keeps to the middle of the scale, and so has the lowest σ of all.
# That may be doubt, or a habit; σ cannot tell. Where raters use a scale each in his own way, agree on what its levels
# mean before collecting ratings.
