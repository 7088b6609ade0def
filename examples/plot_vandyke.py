"""
Five raters, two imaging methods: what ρ adds to kappa
======================================================

Van Dyke and colleagues (1993) showed images of 114 patients to five raters twice, with two kinds of magnetic resonance
imaging, here called treatments 1 and 2; in 45 of the patients the aorta was known to be dissected. Raters answered on a
scale from 1 (certainly not) to 5 (certainly). The data have often been used to compare methods of ROC analysis.

Here they are used as a rated data set: the label is "dissected" for ratings of 3 or more, and the distance of the
rating from the cut gives the confidence of the rater. The page compares kappa and ρ for each treatment.

The data are not part of this package. The program reads ``ratings/VanDyke.csv`` from the folder given by the
environment variable ``MANYTRUTHS_DATA``; if it is missing, it stops with a message, and this page shows the program
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
# On a scale from 1 to 5 with the cut at 3, ratings of 1 and 5 are certain, and those next to the cut are little more
# than a guess. The border lies between 2 and 3, so that the label with fewer levels has larger steps of confidence:
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
# ρ is computed with three sources of the raters' competence. Because the truth is known, the share that ρ estimates can
# also be computed: genuine agreement on the right label.


def measured(ratings):
    """All statistics of one treatment."""
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
# **Kappa and ρ differ in their order of the treatments.** By kappa raters agree better under treatment 2, by σ and ρ
# under treatment 1. Kappa uses only labels. Under treatment 2 raters gave the same label more often, but with less
# confidence.
#
# How certain is this result? Cases are resampled, the same for both treatments:


def kappas(draw):
    """Fleiss' kappa of each treatment in a resample of the cases; every case has five votes."""
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
# It is not certain: both intervals contain 0. However, a choice between the treatments by kappa alone
# would be based on the raters' labels and not on their confidence.
#
# Confidence is informative
# -------------------------
# In these data, ratings with lower confidence were more often wrong. A rating of 3 counts as "dissected" with a
# confidence of 0.2, and most of these ratings are wrong. (This also shows that a cut at 4 would be better.)

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
# Kappa is defined for a data set. σ and ρ have a value for every case, and therefore show which labels can be
# trusted. All cases with five equal votes have an agreement of 1; their σ ranges from 0.35 to 1:

votes = first.votes.max(axis=1)
groups = {f"{n} of 5 votes": sigmas["1"][votes == n].tolist() for n in (5, 4, 3)}
spread = strip(groups, "σ of a case", "The same votes, more or less sure (treatment 1)")

# %%
# Does this identify the cases in which the majority is wrong? The output shows the probability that such a case has a
# lower value than a case with a correct majority, ties counted as half (½ is no better than guessing):


def area(values, bad):
    """The probability that a bad case has the lower value."""
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
# In these data, competence adds little. Raters are right in 84% of the cases under treatment 1, so that by eq. 6 two
# raters who agree are right in 97%. The observed share is 92%: raters err in the same cases. But raters who make the
# same error mostly have a low confidence; of genuine agreement, 96% is right (0.540 of 0.565). Therefore σ already
# contains most of the information in ρ, and the sources of competence differ little. If raters are confident about
# wrong labels, the sources do differ: :doc:`plot_cabitza`.
#
# One rater shows a limitation:

accuracy = mt.rater_accuracy(first, "reference").accuracy
by_rater = mt.sigma(first).by_rater
print(f"{'rater':8}{'accuracy':>10}{'confidence':>12}{'σ':>8}")
for i, rater in enumerate(first.raters):
    print(f"{rater:8}{accuracy[i]:10.2f}{first.confidence[:, i].mean():12.2f}{by_rater[i]:8.2f}")

# %%
# Rater 2 is right as often as raters 1 and 3, but uses the middle of the scale, and therefore has the lowest σ of
# all. This may be low confidence or a habit; σ cannot distinguish between them. If raters use a scale in different
# ways, agree on the meaning of its levels before collecting ratings.
