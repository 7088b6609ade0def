"""
Paradoxes of kappa
==================

Raters can agree nearly always and have a kappa of 0, or agree always and have an undefined kappa. Feinstein and
Cicchetti (1990, `doi:10.1016/0895-4356(90)90158-L <https://doi.org/10.1016/0895-4356(90)90158-L>`_) described two
such paradoxes; Cabitza and colleagues (2020, `doi:10.3390/app10114014 <https://doi.org/10.3390/app10114014>`_) use
them to argue for σ, the share of agreement that is genuine. This page computes all of them, and discusses when the
argument holds.
"""

import numpy as np

import manytruths as mt
from manytruths.charts import line_chart
from manytruths.ratings import Ratings, sigma
from manytruths.ratings.masks import ratings_from_tally

COLUMNS = {
    "agreement": mt.percent_agreement,
    "Cohen": mt.cohen_kappa,
    "Fleiss": mt.fleiss_kappa,
    "alpha": mt.krippendorff_alpha,
    "Gwet": mt.gwet_ac1,
}


def number(value):
    """Format a number with three digits, or as undefined."""
    return f"{value:11.3f}" if value == value else f"{'undefined':>11}"


def show(rows):
    """Print a line of statistics for each table of ratings by two raters."""
    print(f"{'':26}" + "".join(f"{name:>11}" for name in (*COLUMNS, "σ", "σ, c = 0.8")))
    for name, (a, b) in rows.items():
        given = {"A": a, "B": b}
        plain, sure = (sigma(Ratings.of(given, c, labels=[0, 1])).value for c in (None, 0.8))
        table = Ratings.of(given, labels=[0, 1]).tally()
        beside = [statistic(table) for statistic in COLUMNS.values()]
        print(f"{name:26}" + "".join(number(value) for value in (*beside, plain, sure)))


# %%
# The first: high agreement, low kappa
# ------------------------------------
# Two raters label 250 cases with 0, except that one of them gives one case the label 1. They agree in 99.6% of the
# cases. Kappa is 0 or slightly below: if labels were drawn at random with the raters' own shares, they would agree as
# often. If all cases have the same label, chance agreement is complete, and the denominator of kappa is 0.

zeros = [0] * 250
show(
    {
        "one dissent": (zeros, [*zeros[1:], 1]),
        "all labels equal": (zeros, zeros),
        "as the paper prints it": ([*zeros[1:], 1], [*zeros[1:], 1]),
    }
)

# %%
# The last line is the paradox as printed by Cabitza and colleagues: all raters agree on 0 "for all cases but one, and
# on assigning 1 to the remaining case". This gives a kappa of 1 and is no paradox. The raters have to disagree on
# that case.
#
# σ is defined in every line. Two remarks are necessary. Without confidence σ *is* percent agreement: it is not
# corrected for chance, and therefore does not collapse. With confidence, the correction depends on the chance model.
# Below, a rater who is uncertain draws a label with equal probabilities, or with the shares of the labels among all
# ratings. In the latter case 0 is expected by chance, and σ is lower:

for chance in ("uniform", "empirical"):
    value = sigma(Ratings.of({"A": zeros, "B": zeros}, 0.8, labels=[0, 1]), chance).value
    print(f"all labels equal, confidence 0.8, chance {chance:10} σ = {value:.3f}")

# %%
# The same agreement with different values of kappa
# -------------------------------------------------
# Agreement is fixed at 85% of 1,000 cases, disagreements are symmetric, and the share of the rarer label
# decreases. Kappa and alpha decrease with it, along the same line; Gwet's AC1 increases, σ is constant.


def ratings(both, first, second, neither):
    """Two raters' labels from the four cells of their table."""
    return [1] * (both + first) + [0] * (second + neither), [1] * both + [0] * first + [1] * second + [0] * neither


rare = np.arange(75, 501, 25)
tables = [Ratings.of(dict(zip("AB", ratings(n - 75, 75, 75, 925 - n), strict=True))) for n in rare]
curves = {name: (rare / 1000, [s(t.tally()) for t in tables]) for name, s in COLUMNS.items() if name != "agreement"}
curves |= {"σ": (rare / 1000, [sigma(t).value for t in tables])}
title = "What 85% agreement is worth"
chart = line_chart(curves, "share of the rarer label", "value", title, xlim=(0, 0.5), ylim=(-0.2, 1))

# %%
# The second: raters who differ get the higher kappa
# --------------------------------------------------
# These are Feinstein and Cicchetti's own tables. In the first two, agreement is 85%, and kappa is halved when one
# label is rare. In the last two, agreement is 60%; if both raters prefer the same label, kappa is 0.13; if they
# prefer opposite labels, it is twice as high.

show(
    {
        "balanced (0.70)": ratings(40, 9, 6, 45),
        "one label rare (0.32)": ratings(80, 10, 5, 5),
        "leaning alike (0.13)": ratings(45, 15, 25, 15),
        "leaning apart (0.26)": ratings(25, 35, 5, 35),
    }
)

# %%
# The values in brackets are the published values of Cohen's kappa.
#
# On masks
# --------
# A mask is a table of ratings with one rating per pixel, most of them background; therefore the first paradox is
# common. One rater left an image empty, the other marked a single pixel:

empty = np.zeros((10, 25), int)
stray = empty.copy()
stray[3, 7] = 1
whole = mt.tally({"A": empty, "B": stray})
for region, table in (("whole image", whole), ("what anybody marked", whole.restrict("union"))):
    print(f"{region:22} kappa {mt.fleiss_kappa(table):7.3f}   σ {sigma(ratings_from_tally(table)).value:.3f}")

# %%
# Both statistics are correct. The raters agree on 249 of 250 pixels, which is σ; of the pixels that at least one of
# them marked they agree on none, which kappa of the whole image already shows. With any statistic, one must decide
# which pixels count.
