"""
Thirteen radiologists, simulated
================================

Cabitza and colleagues (2020, `doi:10.3390/app10114014 <https://doi.org/10.3390/app10114014>`_) asked 13 radiologists
whether 417 knees are abnormal, and how confident they are. The ratings are not public. This page simulates such a
study 200 times from the values in the paper, and compares the results with the published ones: percent agreement,
alpha, σ, ρ and wrong majorities. One value cannot be reproduced, and the page explains why.
"""
# sphinx_gallery_thumbnail_number = 2

import numpy as np

import manytruths as mt
from manytruths.charts.panels import panel_chart
from manytruths.charts.reliability import roc_space

CASES, RATERS, RUNS = 417, 13, 200
random = np.random.default_rng(0)

# %%
# Raters who differ, cases that differ more
# -----------------------------------------
# Of the cases, 45% are abnormal. The ability of raters is normally distributed with mean 2.63 and standard deviation
# 0.35 logits, the difficulty of cases with mean 0 and standard deviation 2.43, and the logit of being right is
# ability minus difficulty. Confidence has five levels and is independent of being right; that of level l is l/5,
# which fits the paper's σ.


def simulated():
    """Simulate one study."""
    truth = (random.random(CASES) < 0.45).astype(int)
    ability, difficulty = random.normal(2.63, 0.35, RATERS), random.normal(0, 2.43, CASES)
    right = random.random((CASES, RATERS)) < 1 / (1 + np.exp(difficulty[:, None] - ability))
    labels = np.where(right, truth[:, None], 1 - truth[:, None])
    level = random.choice(np.arange(1, 6), p=[0.02, 0.05, 0.18, 0.48, 0.27], size=right.shape)
    return mt.Ratings.of(labels, level / 5, reference=truth)


study = simulated()
print(study)
print(mt.rater_accuracy(study, "reference"))
print(mt.majorities(study))

# %%
# The raters of this study in ROC space (the paper's Fig. 7a). They are similar to each other.

positive = study.reference == 1
hits, false = (study.codes[chosen].mean(axis=0) for chosen in (positive, ~positive))
points = {f"rater {name}": (x, y) for name, x, y in zip(study.raters, false, hits, strict=True)}
roc = roc_space(points, "Thirteen simulated raters", positive="abnormal")

# %%
# Two hundred studies
# -------------------
# There are four kinds of ρ, depending on how the raters' competence is determined: by the reference (the paper's
# ρ_a), by the majority of the others, and by a Rasch model of correct ratings, either by the reference (the paper's
# ρ_R) or by the majority of the others. All are computed in every run, so that 400 Rasch models are fitted.


def measured(ratings):
    """All statistics of one study."""
    table, won = ratings.tally(), mt.majorities(ratings)
    by = {source: mt.rater_accuracy(ratings, source).accuracy for source in ("reference", "majority")}
    model = {source: mt.rasch(ratings, source).accuracy for source in by}
    known = (ratings.codes == ratings.reference[:, None]).astype(float)  # 1 if a rating is right
    return {
        "mean accuracy of a rater": by["reference"].mean(),
        "percent agreement": mt.percent_agreement(table),
        "Krippendorff's alpha": mt.krippendorff_alpha(table),
        "Fleiss' kappa": mt.fleiss_kappa(table),
        "σ": mt.sigma(ratings).value,
        "ρ_a: accuracy by the reference": mt.rho(ratings, by["reference"]).value,
        "ρ: accuracy by the others": mt.rho(ratings, by["majority"]).value,
        "ρ_R: Rasch by the reference": mt.rho(ratings, model["reference"]).value,
        "ρ_R: Rasch by the others": mt.rho(ratings, model["majority"]).value,
        "ρ with every error known": mt.rho(ratings, known).value,
        "overwhelming majorities": won.overwhelming_share,
        "wrong majorities": won.wrong_share,
        "wrong and overwhelming": won.wrong_overwhelming_share,
    }


PAPER = {
    "mean accuracy of a rater": 0.81,
    "percent agreement": 0.82,
    "Krippendorff's alpha": 0.63,
    "Fleiss' kappa": 0.63,
    "σ": 0.62,
    "ρ_a: accuracy by the reference": 0.58,
    "ρ_R: Rasch by the reference": 0.45,
    "overwhelming majorities": 0.75,
    "wrong majorities": 0.14,
    "wrong and overwhelming": 0.06,
}

runs = [measured(simulated()) for _ in range(RUNS)]
print(f"{'':34}{'here':>7}{'± std':>9}{'paper':>8}")
means = {}
for name in runs[0]:
    values = np.array([run[name] for run in runs])
    means[name] = values.mean()
    published = f"{PAPER[name]:8.2f}" if name in PAPER else f"{'–':>8}"
    print(f"{name:34}{values.mean():7.3f}{values.std(ddof=1):9.3f}{published}")

# %%
# Agreement, alpha, σ, ρ_a and wrong majorities are equal to those of the paper. Majorities are somewhat more often
# overwhelming here (the paper reports 322 of 417 cases as 75%; it is 77%).
#
# Shared difficulty
# -----------------
# Why do cases have to differ so much? Independent raters of accuracy 0.81 could not agree that often: they
# agree if both are right or both are wrong, in a² + (1 − a)² of the cases, or fewer if their accuracies differ.
# The rest of the agreement is due to cases that are easy for all raters and cases that are hard for all raters. This is
# also the reason for wrong majorities: independent errors would cancel out.

a, po = PAPER["mean accuracy of a rater"], PAPER["percent agreement"]
print(f"agreement of independent raters of accuracy {a}: {a**2 + (1 - a) ** 2:.2f}; printed: {po}")
s = (a - 0.55) / 0.45  # sensitivity, if all raters were always right about normal cases
print(f"if all errors fell on the abnormal cases: {0.55 + 0.45 * (s**2 + (1 - s) ** 2):.2f}")
correlation = 1 - (1 - po) / (2 * a * (1 - a))
print(f"so their being right correlates by {correlation:.2f}")
alone, shared = mt.majority_accuracy(13, a), mt.majority_accuracy(13, a, spread=2.43)
print(f"wrong majorities of 13: {1 - alone:.1%} were they independent, {1 - shared:.1%} with this spread of difficulty")

# %%
# If raters were independent, three would be better than these thirteen. With shared difficulty, more raters gain almost
# nothing: in a case that most raters get wrong, more raters only make the error more certain. The paper's nomogram also
# assumes independent raters; from an agreement of 0.82 it concludes that each is right in 90% of the cases, and the
# majority of 13 practically always.

sizes = list(range(1, 22, 2))
curves = {
    "independent": (sizes, [mt.majority_accuracy(k, a) for k in sizes]),
    "shared difficulty": (sizes, [mt.majority_accuracy(k, a, spread=2.43) for k in sizes]),
}
chart = panel_chart(curves, "Majorities of raters who are right in 81% of the cases")
by_agreement = mt.nomogram(13, agreement=po)
print(f"by the nomogram: each right in {by_agreement.rater_accuracy:.2f}, "
      f"the majority in {by_agreement.majority_accuracy:.4f}")  # fmt: skip

# %%
# The value that cannot be reproduced
# -----------------------------------
# ρ_R is 0.54 here and 0.45 in the paper. ρ is meant to be the share of agreement that is genuine and right. With two
# labels, the share of agreement that is right can be computed without a model: the mean accuracy of raters is the
# share of pairs who are both right plus half of the share of pairs who disagree.

right = a - (1 - po) / 2
print(f"pairs who agree and are right: {a} − (1 − {po})/2 = {right:.2f}, which is {right / po:.0%} of those who agree")
print(f"the paper's σ times that: {0.62 * right / po:.3f}")
print(f"here, with every error known: {means['ρ with every error known']:.3f}, "
      f"by the Rasch model {means['ρ_R: Rasch by the reference']:.3f}")  # fmt: skip

# %%
# According to the paper's own agreement, accuracy and σ, this share is 0.54 (unless raters were less confident when
# they were right together), and the Rasch model, which uses the correct ratings, reproduces it. To obtain 0.45, more
# than a quarter of all genuine agreement would have to be wrong. The paper does not describe how abilities and
# difficulties were estimated.
#
# The other values of ρ are too high, each for a different reason. ρ_a assumes that the errors of two raters are
# independent in each case: it is then rare that two raters of accuracy 0.81 agree on the same error. The majority of
# the others errs in the same cases as the rater, so that nearly all ratings are counted as right. With a Rasch model
# of the majority, the difficulty of cases is estimated, but the errors of the majority still count as correct.
# Without a reference, ρ is too high.
