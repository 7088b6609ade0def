"""
A small challenge: who wins?
============================

Five algorithms were run on the same cases, and the organiser wants a winner. The scores are simulated, so that the
true quality of each algorithm is known. The example ranks the algorithms, measures how stable the ranking is, and
shows what a team would gain by not submitting its failures.

``manytruths rank scores.csv`` does the same for a table of scores, from ``manytruths evaluate`` or any other source.
"""
# sphinx_gallery_thumbnail_number = 1

import numpy as np

import manytruths as mt
from manytruths.charts import line_chart
from manytruths.charts.rankings import rank_blobs, significance_map

TRUE = {"atlas": 0.84, "blend": 0.83, "cascade": 0.80, "dummy": 0.60, "edge": 0.80}
rng = np.random.default_rng(4)
hard = rng.normal(0, 0.06, 40)  # some cases are hard for all algorithms
spread = {name: 0.12 if name == "edge" else 0.03 for name in TRUE}  # edge is often good and sometimes fails
rows = [mean + hard + rng.normal(0, spread[name], 40) for name, mean in TRUE.items()]
dice = np.clip(rows, 0, 1).round(3)
for name, row in zip(TRUE, dice, strict=True):
    print(f"{name:8} true mean {TRUE[name]:.2f}, found {row.mean():.3f}")

# %%
# A ranking
# ---------
# Rows are algorithms, columns are cases. If patients have several cases, ``subjects=`` gives the patient of each case.

table = mt.Scores.of(dice, list(TRUE), metrics=["dice"])
found = mt.rank_scores(table)
print(found)
print(found.verdict.sentence)

# %%
# How stable is it?
# -----------------
# Cases are resampled a thousand times, and the ranking is computed again each time.

overall = found.overall
low, high = overall.resampled_range  # of 95% of the resamples: a range, not a confidence interval
print(f"{'':8} rank  range  first in")
for name in found.order:
    i = found.algorithms.index(name)
    print(f"{name:8} {overall.places[i]:4}  {low[i]:.0f}–{high[i]:.0f} {overall.first_share[i]:9.0%}")

# %%
order = [found.algorithms.index(name) for name in found.order]
places = [float(overall.places[i]) for i in order]
title = "Ranks in resamples of the cases"
blobs = rank_blobs(overall.shares[order], found.order, title, ranks=places)

# %%
# Which algorithms do not differ significantly
# --------------------------------------------
# Every two algorithms are compared by Wilcoxon's test, adjusted for the number of tests. Neighbours without a
# significant difference form a group: their order may be due to chance.

for group in found.groups():
    print(group)
i, j = (found.algorithms.index(name) for name in ("cascade", "edge"))
print(f"cascade before edge in {overall.ahead_share[i, j]:.0%} of the resamples")

# %%
p_values = found.tests[0].p_holm[np.ix_(order, order)]
squares = significance_map(p_values, found.order, "Significant differences", alpha=found.alpha)

# %%
# The order depends on how scores become ranks
# --------------------------------------------
# ``mean`` ranks the means; ``rank`` ranks in every case and then averages the ranks; ``test`` counts significant
# wins. They answer different questions: edge is often good and sometimes fails.

for scheme in ("mean", "rank", "test"):
    standing = found.find(scheme=scheme)
    print(scheme, dict(zip(found.algorithms, standing.places.tolist(), strict=True)))
for tau in found.taus[:3]:
    print(f"Kendall's tau of {tau.first} and {tau.second}: {tau.value:.2f}")

# %%
# Missing predictions
# -------------------
# Suppose that blend does not submit predictions for its ten worst cases. A mean over the available scores would reward
# this.

cut = dice.copy()
cut[1, np.argsort(dice[1])[:10]] = np.nan
means = np.nanmean(cut, axis=1).round(3).tolist()
print("means of the available scores:", dict(zip(TRUE, means, strict=True)))
missing = mt.Scores.of(cut, list(TRUE), metrics=["dice"])
for how in ("worst", "exclude"):
    again = mt.rank_scores(missing, missing=how)
    print(f"{how:8}", " > ".join(again.order))

# %%
# By default, missing scores get the worst score, so that leaving one out is never an advantage. ``exclude``
# uses only the cases that all algorithms have, which are then the easier ones.
#
# How many cases are needed?
# --------------------------
# The share of resamples in which atlas is first, with the first 5, 10, 20, … cases:

sizes = [5, 10, 15, 20, 30, 40]
parts = [mt.rank_scores(mt.Scores.of(dice[:, :n], list(TRUE))) for n in sizes]
shares = np.array([part.overall.first_share for part in parts])
curves = {"atlas": (sizes, shares[:, 0]), "blend": (sizes, shares[:, 1])}
words = ("cases", "share of resamples in first place", "Who is first, by the number of cases")
chart = line_chart(curves, *words, xlim=(0, 40))
