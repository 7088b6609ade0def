"""The parity engine: everything pixel by pixel and pair by pair, in exact fractions, with no table at all.

An item is a tuple of what each rater decided, None where he did not rate. Undefined is None.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np


def items(masks, void=None):
    """One tuple a pixel; a mask that is None was never made."""
    shape = next(np.shape(m) for m in masks if m is not None)
    found = []
    for where in product(*map(range, shape)):
        values = [None if m is None else m[where] for m in masks]
        found.append(tuple(None if v is None or v is np.ma.masked or v == void else int(v) for v in values))
    return found


def count(seen):
    """How often each pattern occurs."""
    return Counter(seen)


def of_tally(tally):
    """The patterns of a tally in the same terms."""
    values = dict(enumerate(tally.labels.values))
    rows = [tuple(values.get(code) for code in row) for row in tally.patterns.tolist()]
    return Counter(dict(zip(rows, tally.counts.tolist(), strict=True)))


def divide(a, b):
    return Fraction(a) / Fraction(b) if b else None


def rated(item):
    return [v for v in item if v is not None]


def marked(item):
    return sum(v != 0 for v in rated(item))


def union(seen):
    return [i for i in seen if marked(i)]


def modified_background(seen):
    """The union, and no more background than that, separately for each set of raters present."""
    kept = []
    for present in {tuple(v is None for v in i) for i in seen}:
        group = [i for i in seen if tuple(v is None for v in i) == present]
        ground = [i for i in group if not marked(i)]
        kept += union(group) + ground[: len(union(group))]
    return kept


# -- any number of raters ------------------------------------------------------------------------


def disagreement(seen):
    shares = []
    for item in map(rated, seen):
        pairs = list(permutations(item, 2))
        if pairs:
            shares.append(Fraction(sum(a != b for a, b in pairs), len(pairs)))
    return divide(sum(shares), len(shares))


def prevalence(seen, labels):
    there = [rated(i) for i in seen if rated(i)]
    return [divide(sum(Fraction(i.count(label), len(i)) for i in there), len(there)) for label in labels]


def beyond(seen, chance_agreement):
    apart = disagreement(seen)
    return None if apart is None or chance_agreement == 1 else 1 - apart / (1 - chance_agreement)


def percent_agreement(seen, labels):
    apart = disagreement(seen)
    return None if apart is None else 1 - apart


def fleiss_kappa(seen, labels):
    return None if disagreement(seen) is None else beyond(seen, sum(p * p for p in prevalence(seen, labels)))


def gwet_ac1(seen, labels):
    if disagreement(seen) is None or len(labels) < 2:
        return None
    return beyond(seen, sum(p * (1 - p) for p in prevalence(seen, labels)) / (len(labels) - 1))


def pabak(seen, labels):
    return beyond(seen, Fraction(1, len(labels))) if len(labels) > 1 else None


def prevalence_index(seen, labels):
    shares = prevalence(seen, labels)
    return None if None in shares else abs(sum(p if v else -p for v, p in zip(labels, shares, strict=True)))


def specific(seen, chosen):
    """Of ordered pairs of raters whose first says so, weighted by 1 / (m − 1), the share whose second does too."""
    yes = no = Fraction(0)
    for item in map(rated, seen):
        for a, b in permutations(item, 2):
            if chosen(a):
                yes, no = (
                    yes + Fraction(chosen(b), len(item) - 1),
                    no + Fraction(not chosen(b), len(item) - 1),
                )
    return divide(yes, yes + no)


def positive_agreement(seen, labels):
    return specific(seen, lambda v: v != 0)


def negative_agreement(seen, labels):
    return specific(seen, lambda v: v == 0)


def alpha(seen, labels, level, numbers=None):
    """From observed and expected disagreement over pairs of pairable values."""
    number = dict(zip(labels, map(Fraction, numbers or labels), strict=True))
    pairable = [rated(i) for i in seen if len(rated(i)) > 1]
    pool = Counter(v for item in pairable for v in item)

    def ordinal(a, b):
        low, high = sorted((a, b), key=number.__getitem__)
        between = sum(n for v, n in pool.items() if number[low] <= number[v] <= number[high])
        return (between - Fraction(pool[low] + pool[high], 2)) ** 2

    def ratio(a, b):
        return ((number[a] - number[b]) / (number[a] + number[b])) ** 2

    metric = {
        "nominal": lambda a, b: Fraction(1),
        "ordinal": ordinal,
        "interval": lambda a, b: (number[a] - number[b]) ** 2,
        "ratio": ratio,
    }[level]

    def apart(a, b):
        return metric(a, b) if a != b else Fraction(0)

    total = sum(pool.values())
    expected = sum(pool[a] * pool[b] * apart(a, b) for a, b in product(pool, pool))
    observed = sum(sum(apart(a, b) for a, b in permutations(item, 2)) / Fraction(len(item) - 1) for item in pairable)
    return 1 - (total - 1) * observed / expected if expected else None


def smyth_bound(seen, labels):
    wrong = sum(min(sum(v != truth for v in rated(i)) for truth in labels) for i in seen)
    return divide(wrong, sum(len(rated(i)) for i in seen))


def agreement_curve(seen, labels):
    raters = len(seen[0])
    return [divide(sum(marked(i) >= n for i in seen), len(union(seen))) for n in range(1, raters + 1)]


def unanimous(seen, labels):
    shared = [i for i in union(seen) if len(rated(i)) > 1]
    return divide(sum(marked(i) == len(rated(i)) for i in shared), len(shared))


def condition(seen, labels):
    raters = [[v for v in column if v is not None] for column in zip(*seen, strict=True)]
    has_marked = [any(column) for column in raters if column]
    if not any(has_marked):
        return "nothing_marked"
    if not all(has_marked):
        return "one_empty"
    return "" if len(has_marked) < 2 or any(marked(i) > 1 for i in seen) else "no_overlap"


# -- two raters ----------------------------------------------------------------------------------


def both(seen):
    return [(a, b) for a, b in seen if a is not None and b is not None]


def contingency(seen, labels):
    return [[sum(pair == (a, b) for pair in both(seen)) for b in labels] for a in labels]


def kappa(seen, weight):
    pairs = both(seen)
    expected = sum(weight(a, b) for (a, _), (_, b) in product(pairs, pairs))
    observed = sum(weight(a, b) for a, b in pairs)
    return 1 - Fraction(observed) * len(pairs) / expected if expected else None


def cohen_kappa(seen, labels):
    return kappa(seen, lambda a, b: a != b)


def linear_kappa(seen, labels):
    return kappa(seen, lambda a, b: abs(a - b))


def quadratic_kappa(seen, labels):
    return kappa(seen, lambda a, b: (a - b) ** 2)


def binary(seen):
    pairs = [(a != 0, b != 0) for a, b in both(seen)]
    return [pairs.count(p) for p in ((True, True), (True, False), (False, True), (False, False))]


def dice(seen, labels):
    a, b, c, _ = binary(seen)
    return divide(2 * a, 2 * a + b + c)


def iou(seen, labels):
    a, b, c, _ = binary(seen)
    return divide(a, a + b + c)


def sensitivity(seen, labels):
    a, _, c, _ = binary(seen)
    return divide(a, a + c)


def specificity(seen, labels):
    _, b, _, d = binary(seen)
    return divide(d, b + d)


def ppv(seen, labels):
    a, b, _, _ = binary(seen)
    return divide(a, a + b)


def npv(seen, labels):
    _, _, c, d = binary(seen)
    return divide(d, c + d)


def bias_index(seen, labels):
    a, b, c, d = binary(seen)
    return divide(abs(b - c), a + b + c + d)


def volume_difference(seen, labels):
    a, b, c, _ = binary(seen)
    return divide(abs(b - c), a + Fraction(b + c, 2))


def isolated_and_holes(mask: np.ndarray) -> tuple[int, int]:
    """Marked pixels without a marked neighbour, and unmarked ones between marked neighbours along every axis."""
    padded = np.pad(mask, 1)
    isolated = holes = 0
    for place in np.ndindex(mask.shape):
        around = padded[tuple(slice(i, i + 3) for i in place)]
        isolated += bool(mask[place]) and int(around.sum()) == 1
        beside = []
        for axis in range(mask.ndim):
            for step in (0, 2):
                at = [1] * mask.ndim
                at[axis] = step
                beside.append(bool(around[tuple(at)]))
        holes += not mask[place] and all(beside)
    return isolated, holes
