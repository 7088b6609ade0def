"""
How many raters are enough?
===========================

How many raters and how many cases are needed for a reference standard? ``manytruths plan`` answers this question on the
command line; this page does the same in Python, from assumptions, from a pilot of ratings, and from a pilot of masks.
"""
# sphinx_gallery_thumbnail_number = 2

import numpy as np

import manytruths as mt
from manytruths.charts.panels import Way, nomogram_chart, panel_chart

# %%
# Independent errors
# ------------------
# If raters are right in 85% of the cases, and the majority should be right in 95%, five raters are needed.

needed = mt.raters_needed(0.95, 0.85)
print(f"{needed.n_raters} raters reach {needed.reached:.3f}; three {mt.majority_accuracy(3, 0.85):.3f}")
print(f"a fourth rater adds nothing, as ties are guessed: {mt.majority_accuracy(4, 0.85):.3f}")
shares = ", ".join(f"{k} raters {mt.slim_majority_share(k, 0.85):.0%}" for k in (3, 5, 7))
print(f"cases that one vote decides: {shares}")

# %%
# Correlated errors
# -----------------
# Some cases are hard for all raters. If the correctness of any two raters has a correlation of 0.3, no number of raters
# reaches 95%, because in 8% of the cases most raters are wrong.

print(mt.raters_needed(0.95, 0.85, correlation=0.3).reason)
sizes = list(range(1, 16, 2))
curves = {
    f"correlation {rho:g}": (sizes, [mt.majority_accuracy(k, 0.85, correlation=rho) for k in sizes])
    for rho in (0, 0.1, 0.2, 0.3, 0.5)
}
chart = panel_chart(curves, "Majorities of raters of accuracy 0.85", wanted=0.95, ordered=True)

# %%
# The correlation is the most important quantity of such a plan, and it is unknown in advance. It can be estimated
# from a pilot study.
#
# From a pilot
# ------------
# Thirteen simulated raters label 417 cases, as in :doc:`plot_cabitza`. The first four raters, on the first 100 cases,
# are the pilot; the remaining data are used to check the plan.

random = np.random.default_rng(7)
truth = (random.random(417) < 0.45).astype(int)
logit = random.normal(2.63, 0.35, 13) - random.normal(0, 2.43, 417)[:, None]
right = random.random(logit.shape) < 1 / (1 + np.exp(-logit))
every = mt.Ratings.of(np.where(right, truth[:, None], 1 - truth[:, None]), reference=truth)
pilot = every.select(cases=range(100), raters=every.raters[:4])

plan = mt.plan_from_pilot(pilot)
print(f"accuracy of a rater {plan.accuracy}, correlation {plan.correlation}")
later = mt.majorities(every)
print(f"13 raters, as the pilot has it: {plan.panels[12].accuracy}; as it came: {1 - later.wrong_share:.3f}")

# %%
# Four raters determine panels of up to four; for larger ones there is a range, which allows for other cases and other
# raters. It is all that the votes of four raters say.

odd = [panel for panel in plan.panels if panel.n_raters % 2]
ks = [panel.n_raters for panel in odd]
fitted = {"fitted to the pilot": (ks, [panel.accuracy.value for panel in odd])}
fitted["independent"] = (ks, [mt.majority_accuracy(k, plan.accuracy.value) for k in ks])
band = {"fitted to the pilot": ([panel.accuracy.low for panel in odd], [panel.accuracy.high for panel in odd])}
by_pilot = panel_chart(fitted, "Panels, by a pilot of four raters", bands=band)

# %%
# Without a reference, "right" is the answer that most raters would give. An error that most of them share cannot be
# detected: the results then measure how stable the majority is, not whether it is correct.

blind = mt.plan_from_pilot(pilot, source="panel")
print(f"as most raters would say, of 13: {blind.panels[12].accuracy}")

# %%
# From masks
# ----------
# Lesions are ratings, too: each connected component of the union of all masks was found or missed by every rater. This
# example uses the phantoms of ``manytruths demo``.


def first_session(case):
    """The masks of the first session, by rater."""
    return {rater: drawn.mask for (rater, session), drawn in case.readings.items() if session == "1"}


simulated = mt.simulate_study(cases=24, seed=0)
by_case = {case.name: mt.lesion_ratings(first_session(case)) for case in simulated}
lesions = mt.pool_lesions(by_case, simulated.subjects)
print(lesions)
print(f"one rater having found a lesion, another has in {mt.positive_agreement(lesions.tally):.2f}")
print(f"Dice of two who found it {lesions.delineation:.2f}")
found = mt.plan_from_pilot(lesions.ratings)
now = found.panels[found.n_raters - 1].accuracy
print(f"the majority of {found.n_raters} says what most would in {now.low:.2f} to {now.high:.2f} of the lesions")

# %%
# Interpret this result with care: lesions that no rater marked are not included, and every further rater may add some.
#
# Consequences for an algorithm
# -----------------------------
# An algorithm is evaluated against the majority of three raters, who agree in 80% of the cases, and has a reported
# accuracy of 95%. The nomogram of Cabitza and colleagues gives its actual accuracy, for two labels and independent
# raters. From the left: agreement, the accuracy of the majority, and, for a reported accuracy of an algorithm, its
# actual accuracy.

way = mt.nomogram(3, agreement=0.8, reported=0.95)
print(f"each rater is right in {way.rater_accuracy:.3f}, their majority in {way.majority_accuracy:.3f}")
print(f"the algorithm in {way.product:.3f} as the paper has it; {way.independent:.3f} where errors are independent; "
      f"{way.low:.3f} to {way.high:.3f} in any event")  # fmt: skip
back = mt.nomogram_for_accuracy(3, 0.9, reported=0.95)
print(f"to be right in 0.9, the truth must be in {back.majority_accuracy:.3f}: an agreement of {back.agreement:.3f}")

accuracies = np.linspace(0.5, 1, 201)
agreed = [mt.nomogram(1, rater_accuracy=a).agreement for a in accuracies]
panels = {k: (agreed, [mt.majority_accuracy(k, a) for a in accuracies]) for k in (1, 3, 5, 9, 15)}
through = Way(way.agreement, way.majority_accuracy, way.product, way.independent, way.low, way.high)
title = "From agreement to actual accuracy, three raters"
nomogram = nomogram_chart(
    panels, (0.85, 0.9, 0.95), "agreement of two raters, Po", title, raters=3, x=0.95, way=through
)

# %%
# If raters make the same errors, they agree without being right, and the nomogram is too optimistic. For the thirteen
# raters above it gives:

agreement = mt.percent_agreement(every.tally())
flattered = mt.nomogram(13, agreement=agreement)
print(f"agreement {agreement:.3f}, so the majority is right in {flattered.majority_accuracy:.4f}; "
      f"it is right in {1 - later.wrong_share:.3f}")  # fmt: skip

# %%
# How many cases?
# ---------------
# The interval of Fleiss' kappa should have a width of 0.2; the expected kappa is 0.6, and three cases in ten are
# marked. The number of ratings is smallest with three raters; with more raters, fewer cases are needed.

for one in mt.cases_for_kappa_width(0.2, kappa=0.6, prevalence=0.3, n_raters=range(2, 7)):
    print(f"{one.n_raters} raters: {one.n_cases} cases, {one.n_ratings} ratings")
