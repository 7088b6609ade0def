"""
Thirteen radiologists, simulated
================================

Cabitza and colleagues (2020, `doi:10.3390/app10114014 <https://doi.org/10.3390/app10114014>`_) let 13 radiologists say
of 417 knees whether anything is abnormal, and how sure they are. The ratings are not public. This page simulates such a
study 200 times from what the paper prints, and puts the paper's numbers beside what comes out: percent agreement,
alpha, σ, ρ and wrong majorities. One of them does not come out, and the page says why it cannot.
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
# Of the cases, 45% are abnormal. A rater's ability is normal around 2.63 with a standard deviation of 0.35 logits, a
# case's difficulty around 0 with one of 2.43, and the logit of being right is the one minus the other. Confidence has
# five levels and nothing to do with being right; that of level l is l/5, which is what fits the paper's σ.


def simulated():
    """One study."""
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
# Where the raters of this one study stand (the paper's Fig. 7a). They are much alike.

positive = study.reference == 1
hits, false = (study.codes[chosen].mean(axis=0) for chosen in (positive, ~positive))
points = {f"rater {name}": (x, y) for name, x, y in zip(study.raters, false, hits, strict=True)}
roc = roc_space(points, "Thirteen simulated raters", positive="abnormal")

# %%
# Two hundred studies
# -------------------
# ρ comes in four kinds, by where the raters' competence comes from: the reference (the paper's ρ_a), the majority of
# the others, and a Rasch model of who was right, by the reference (the paper's ρ_R) and by the majority of the others.
# All are computed in every run, so that 400 Rasch models are fitted.


def measured(ratings):
    """All numbers of one study."""
    table, won = ratings.tally(), mt.majorities(ratings)
    by = {source: mt.rater_accuracy(ratings, source).accuracy for source in ("reference", "majority")}
    model = {source: mt.rasch(ratings, source).accuracy for source in by}
    known = (ratings.codes == ratings.reference[:, None]).astype(float)  # 1 where a rating is right
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
# Agreement, alpha, σ, ρ_a and wrong majorities are those of the paper. Majorities are somewhat more often overwhelming
# here (the paper prints 322 of 417 cases as 75%; it is 77%).
#
# Shared difficulty
# -----------------
# Why do cases have to differ so much? Because independent raters of accuracy 0.81 could never agree that often: they
# agree where both are right or both are wrong, in a² + (1 − a)² of the cases, or less where their accuracies differ.
# The rest of the agreement comes from cases that are easy for everybody and cases that are hard for everybody. That is
# also why the majority errs: independent errors would cancel out.

a, po = PAPER["mean accuracy of a rater"], PAPER["percent agreement"]
print(f"agreement of independent raters of accuracy {a}: {a**2 + (1 - a) ** 2:.2f}; printed: {po}")
s = (a - 0.55) / 0.45  # sensitivity, if everybody were always right about what is normal
print(f"if all errors fell on the abnormal cases: {0.55 + 0.45 * (s**2 + (1 - s) ** 2):.2f}")
correlation = 1 - (1 - po) / (2 * a * (1 - a))
print(f"so their being right correlates by {correlation:.2f}")
alone, shared = mt.majority_accuracy(13, a), mt.majority_accuracy(13, a, spread=2.43)
print(f"wrong majorities of 13: {1 - alone:.1%} were they independent, {1 - shared:.1%} with this spread of difficulty")

# %%
# Were they independent, three would do better than these thirteen do. As it is, even more raters gain next to nothing:
# in a case that most raters get wrong, more raters only make the error surer. The paper's nomogram takes raters for
# independent as well; from an agreement of 0.82 it concludes that each is right in 90% of the cases, and the majority
# of 13 practically always.

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
# The number that does not come out
# ---------------------------------
# ρ_R is 0.54 here and 0.45 in the paper. ρ is meant to be the share of agreement that is genuine and right. With two
# labels, how much agreement is right needs no model at all: a rater's mean accuracy is the share of pairs who are both
# right plus half of those who disagree.

right = a - (1 - po) / 2
print(f"pairs who agree and are right: {a} − (1 − {po})/2 = {right:.2f}, which is {right / po:.0%} of those who agree")
print(f"the paper's σ times that: {0.62 * right / po:.3f}")
print(f"here, with every error known: {means['ρ with every error known']:.3f}, "
      f"by the Rasch model {means['ρ_R: Rasch by the reference']:.3f}")  # fmt: skip

# %%
# So the paper's own agreement, accuracy and σ put that share at 0.54 (unless raters were less sure where they were
# right together), and the Rasch model, which knows who was right, finds it. To get 0.45, more than a quarter of all
# genuine agreement would have to be wrong. The paper does not say how abilities and difficulties were found.
#
# The other ρ are too high, each for its own reason. ρ_a takes the two raters' errors for independent, case by case:
# that two raters of accuracy 0.81 agree by erring in the same way is then rare. The majority of the others errs where
# they do, and so finds nearly everybody right. With a Rasch model on top it learns that cases differ, and still takes
# the majority's errors for truth. Without a reference, read ρ as too high.
