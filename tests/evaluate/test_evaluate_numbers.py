"""Every number of ``evaluate``'s tables on masks, computed again pixel by pixel from the files.

Four raters, one absent from a case and one who marks nothing in another; three algorithms, of which one has no
prediction of a case and one predicts nothing in another; subjects of one to three cases, two groups.
"""

from __future__ import annotations

import math
import warnings
from functools import cache, partial
from itertools import product
from statistics import mean, stdev

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import manytruths as mt
from study_folders import run, table, write_png

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import surface_distance as peer

SUBJECTS = {"p1": "s1", "p2": "s1", "p3": "s2", "p4": "s2", "p5": "s2", "p6": "s3", "p7": "s4"}
GROUPS = {case: "easy" if case in ("p1", "p3", "p6") else "hard" for case in SUBJECTS}
RATERS, ALGORITHMS = "ABCD", "xyz"
ABSENT = {("D", "p2"), ("D", "p3")}
MISSING = {("x", "p3")}
EMPTY = {("B", "p4"), ("z", "p5"), ("z", "p4")}
MADE = ("vote:0.5", "staple")
TOLERANCE, ALL, MEAN = 1.5, "all raters", "mean of raters"
SIZE = 22

OVERLAPS = ("dice", "iou", "sensitivity", "specificity", "ppv", "cohen_kappa", "volume_difference")
DISTANCES = ("hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice")
SOFT = ("soft_accuracy", "gordon_f", "balanced_accuracy")
EXTENDED = ("extended_dice", "inner_outer_ratio")
LOWER = ("volume_difference", "hausdorff", "hausdorff_95", "mean_surface_distance")
BOUND = {name: 0.0 for name in (*OVERLAPS, *DISTANCES, *SOFT, *EXTENDED) if name not in LOWER} | {
    "cohen_kappa": -1.0,
    "volume_difference": 2.0,
}

NONE, ONE, BOTH = "no prediction", "one of the two marked nothing", "both marked nothing"


def blob(seed):
    """An uneven disc, elsewhere and of another size for every seed."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIZE, :SIZE] - SIZE / 2 - random.uniform(-2.5, 2.5, (2, 1, 1))
    rough = random.uniform(-1, 1, (SIZE, SIZE))
    return np.hypot(rows, columns) + rough < random.uniform(4, 7)


def drawn():
    """Masks by who and case."""
    names = list(product([*RATERS, *ALGORITHMS], SUBJECTS))
    made = {key: blob(i) for i, key in enumerate(names) if key not in ABSENT | MISSING}
    return {key: mask & (key not in EMPTY) for key, mask in made.items()}


MASKS = drawn()


# -- pixel by pixel ------------------------------------------------------------------------------


def overlaps(first, second):
    a = b = c = d = 0
    for p, q in zip(first.ravel().tolist(), second.ravel().tolist(), strict=True):
        a, b, c, d = a + (p and q), b + (p and not q), c + (q and not p), d + (not p and not q)
    found = {
        "dice": (2 * a, 2 * a + b + c),
        "iou": (a, a + b + c),
        "sensitivity": (a, a + c),
        "specificity": (d, b + d),
        "ppv": (a, a + b),
        "volume_difference": (2 * abs(b - c), 2 * a + b + c),
    }
    values = {name: n / m if m else None for name, (n, m) in found.items()}
    both_empty = not first.any() and not second.any()
    return values | {"cohen_kappa": None if both_empty else cohen_kappa_score(first.ravel(), second.ravel())}


def distances(first, second):
    if not first.any() or not second.any():
        return dict.fromkeys(DISTANCES, BOTH if not first.any() and not second.any() else ONE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses names that SciPy has moved
        found = peer.compute_surface_distances(first, second, (1, 1))
    there, back, sizes, sizes_back = (
        found[key] for key in ("distances_gt_to_pred", "distances_pred_to_gt", "surfel_areas_gt", "surfel_areas_pred")
    )
    return {
        "hausdorff": peer.compute_robust_hausdorff(found, 100),
        "hausdorff_95": peer.compute_robust_hausdorff(found, 95),
        "mean_surface_distance": (there @ sizes + back @ sizes_back) / (sizes.sum() + sizes_back.sum()),
        "surface_dice": peer.compute_surface_dice_at_tolerance(found, TOLERANCE),
    }


def soft(marked, chance):
    hit = miss = extra = spared = 0.0
    for yes, w in zip(marked.ravel().tolist(), chance.ravel().tolist(), strict=True):
        hit, miss = hit + w * yes, miss + w * (not yes)
        extra, spared = extra + (1 - w) * yes, spared + (1 - w) * (not yes)
    p, q = hit / (hit + miss), spared / (spared + extra)
    whole = hit + miss + extra + spared
    return {
        "soft_accuracy": (hit + spared) / whole,
        "gordon_f": 2 * p * q / (p + q) if p + q else 0.0,
        "balanced_accuracy": (p + q) / 2,
    }


def extended(marked, raters):
    inner, outer = np.logical_and.reduce(raters), np.logical_or.reduce(raters)
    up, whole = (marked & outer).sum() + (marked & inner).sum(), marked.sum() + inner.sum()
    return {
        "extended_dice": up / whole if whole else None,
        "inner_outer_ratio": inner.sum() / outer.sum() if outer.any() else None,
    }


def present(case, but=""):
    return [r for r in RATERS if (r, case) in MASKS and r != but]


def fused(method, case, but=""):
    """A consensus of the raters of a case, with its probability."""
    masks = {r: MASKS[r, case] for r in present(case, but)}
    t = mt.tally(masks)
    found = mt.staple(t) if method == "staple" else mt.vote(t, 0.5)
    return tuple(np.asarray(mt.paint(values, masks, t), kind) for values, kind in
                 ((found.hard, bool), (found.probability, float)))  # fmt: skip


CONSENSUS = {(m, c, b): fused(m, c, b) for m in MADE for c in SUBJECTS for b in ("", *RATERS)
             if not b or ((b, c) in MASKS and len(present(c)) > 2)}  # fmt: skip


@cache
def scored(who, case, against, but=""):
    """All statistics of a mask in a case; a reason instead of a number where there is none."""
    if against in RATERS and (against, case) not in MASKS:
        return dict.fromkeys((*OVERLAPS, *DISTANCES), "the rater is absent")
    names = EXTENDED if against == ALL else (*OVERLAPS, *DISTANCES, *(SOFT if against in MADE else ()))
    if (who, case) not in MASKS:
        return dict.fromkeys(names, NONE if who in ALGORITHMS else "the rater is absent")
    marked = MASKS[who, case]
    if against == ALL:
        return extended(marked, [MASKS[r, case] for r in present(case, but)])
    if against in RATERS:
        return overlaps(marked, MASKS[against, case]) | distances(marked, MASKS[against, case])
    hard, chance = CONSENSUS[against, case, but]
    return overlaps(marked, hard) | distances(marked, hard) | soft(marked, chance)


def number(value):
    return None if value is None or isinstance(value, str) else float(value)


def averaged(values):
    """The mean of those with a value; else what counts as the worst, if any does."""
    numbers = [number(v) for v in values if number(v) is not None]
    return mean(numbers) if numbers else next((v for v in values if v in (NONE, ONE)), None)


def against_raters(who, case, bad=False):
    found = [scored(who, case, r) for r in RATERS if r != who]
    return {name: averaged([worse(f[name], name, bad) for f in found]) for name in found[0]}


def against_the_others(who, case, against, bad=False):
    """A rater by what the others say; an algorithm by all of those, on average."""
    left_out = [r for r in present(case) if against == ALL or (against, case, r) in CONSENSUS]
    if who in RATERS:
        left_out = [r for r in left_out if r == who]
    found = [scored(who, case, against, but) for but in left_out]
    names = EXTENDED[:1] if against == ALL else (*OVERLAPS, *DISTANCES, *SOFT)
    return {name: averaged([worse(f[name], name, bad) for f in found]) for name in names}


def worse(value, statistic, bad):
    """Beside the human range, one who marked nothing is as far away as anybody is: rater or algorithm."""
    return worst_of_all(statistic) if bad and value == ONE else value


@cache
def worst_of_all(statistic):
    """The metric's bound, else the worst that any pair has that is measured at all."""
    if statistic in BOUND:
        return BOUND[statistic]
    pairs = [scored(w, c, r).get(statistic) for w in (*RATERS, *ALGORITHMS) for c in SUBJECTS for r in RATERS if r != w]
    for method, case, but in CONSENSUS:
        judged = [*ALGORITHMS, *([but] if but else [])]
        pairs += [scored(who, case, method, but).get(statistic) for who in judged]
    return max(number(v) for v in pairs if number(v) is not None)


# -- over cases ----------------------------------------------------------------------------------


def completed(statistic, table, missing):
    """{algorithm: {case: value}} with what is missing as the worst, or its cases left out for all."""
    if statistic == "inner_outer_ratio":
        return {a: {c: number(v) for c, v in row.items()} for a, row in table.items()}
    gaps = {c for row in table.values() for c, v in row.items() if v in (NONE, ONE)}
    if missing == "exclude":
        return {a: {c: None if c in gaps else number(v) for c, v in row.items()} for a, row in table.items()}
    known = [number(v) for row in table.values() for v in row.values() if number(v) is not None]
    worst = BOUND[statistic] if statistic in BOUND else max(known)
    return {a: {c: worst if v in (NONE, ONE) else number(v) for c, v in row.items()} for a, row in table.items()}


def by_subject(values, cases=tuple(SUBJECTS)):
    found = {}
    for subject in dict.fromkeys(SUBJECTS.values()):
        own = [values[c] for c in cases if SUBJECTS[c] == subject and values[c] is not None]
        found[subject] = mean(own) if own else None
    return [found[s] for s in dict.fromkeys(SUBJECTS[c] for c in cases)], found


@pytest.fixture(scope="module", params=["worst", "exclude"])
def evaluated(request, tmp_path_factory):
    from manytruths.cli import status

    folder = tmp_path_factory.mktemp(request.param)
    for (who, case), mask in MASKS.items():
        kind = "masks" if who in RATERS else "predictions"
        write_png(folder / kind / who / f"{case}.png", mask.astype(np.uint8) * 255)
    rows = [f"{case},{SUBJECTS[case]},{GROUPS[case]}" for case in SUBJECTS]
    (folder / "cases.csv").write_text("\n".join(["case,subject,kind", *rows, ""]))
    line = [
        "evaluate", f"{folder}/masks/{{rater}}/{{case}}.png", "--predictions",
        f"{folder}/predictions/{{algorithm}}/{{case}}.png", "--cases", f"{folder}/cases.csv", "--tolerance", TOLERANCE,
        "--missing", request.param, "--out", folder, "--resamples", 50, "--jobs", 1, "--quiet",
    ]  # fmt: skip
    assert status([str(part) for part in line]) == 0
    return folder / "evaluate", request.param


def cells(path, *keys):
    """{key: row}; a second row of a key is an error."""
    found = {}
    for row in table(path):
        key = tuple(row[k] for k in keys)
        assert key not in found, key
        found[key] = row
    return found


def agrees(row, wanted):
    found = float(row["value"])
    if number(wanted) is None:
        assert math.isnan(found), (row, wanted)
        if isinstance(wanted, str):
            assert row["reason"] == wanted
        assert row["reason"] not in ("", "undefined")
    else:
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9), row


def wanted_scores(truth):
    """{statistic: {algorithm: {case: value or reason}}} against a truth."""
    found = {}
    for who, case in product(ALGORITHMS, SUBJECTS):
        values = against_raters(who, case) if truth == MEAN else scored(who, case, truth)
        for name, value in values.items():
            found.setdefault(name, {}).setdefault(who, {})[case] = value
    return found


TRUTHS = [*RATERS, *MADE, ALL, MEAN]


@pytest.mark.parametrize("truth", TRUTHS)
def test_scores(evaluated, truth):
    folder, missing = evaluated
    rows = cells(folder / "scores.csv", "scope", "case", "group", "label", "algorithm", "against", "statistic")
    left = {key for key in rows if key[5] == truth}
    for name, by in wanted_scores(truth).items():
        whole = completed(name, by, missing)
        for who in ALGORITHMS:
            for case, wanted in by[who].items():
                key = ("case", case, GROUPS[case], "", who, truth, name)
                agrees(rows[key], wanted)
                assert int(rows[key]["n"]) == SIZE * SIZE
                left.remove(key)
            for subject, wanted in by_subject(whole[who])[1].items():
                agrees(rows["subject", subject, "", "", who, truth, name], wanted)
                left.remove(("subject", subject, "", "", who, truth, name))
            for group in ("", "easy", "hard"):
                cases = [c for c in SUBJECTS if GROUPS[c] == group or not group]
                each = by_subject(whole[who], cases)[0]
                known = [v for v in each if v is not None]
                row = rows["mean", "", group, "", who, truth, name]
                agrees(row, mean(known) if known else None)
                assert (int(row["n"]), int(row["n_undefined"])) == (len(known), len(each) - len(known))
                assert (row["low"], row["high"]) == ("", ""), "fewer than ten subjects"
                spread = rows["std", "", group, "", who, truth, name]
                agrees(spread, stdev(known) if len(known) > 1 else None)
                left -= {(scope, "", group, "", who, truth, name) for scope in ("mean", "std")}
    assert not left


def test_nothing_else_is_scored(evaluated):
    assert {row["against"] for row in table(evaluated[0] / "scores.csv")} == set(TRUTHS)


def test_a_missing_prediction_costs_or_is_left_out_for_all(evaluated):
    """Of s2, x lacks p3. By C its Dice there counts 0, or nobody's p3 counts."""
    folder, missing = evaluated
    rows = cells(folder / "scores.csv", "scope", "case", "algorithm", "against", "statistic", "group")
    found = float(rows["subject", "s2", "x", "C", "dice", ""]["value"])
    others = [overlaps(MASKS["x", c], MASKS["C", c])["dice"] for c in ("p4", "p5")]
    assert found == pytest.approx(sum(others) / (3 if missing == "worst" else 2))
    found = float(rows["subject", "s2", "y", "C", "dice", ""]["value"])
    cases = ("p3", "p4", "p5") if missing == "worst" else ("p4", "p5")
    assert found == pytest.approx(mean(overlaps(MASKS["y", c], MASKS["C", c])["dice"] for c in cases))
    # D is absent from p3, so that nobody is judged by him there
    assert rows["case", "p3", "x", "D", "dice", "easy"]["reason"] == "the rater is absent"


def human_pairs():
    for who in RATERS:
        yield from ((who, other, other, "") for other in RATERS if other != who)
        yield from ((who, f"{m} of the others", m, who) for m in (*MADE, ALL))


def test_raters_against_each_other_and_the_others(evaluated):
    rows = cells(evaluated[0] / "human.csv", "scope", "case", "group", "rater", "against", "statistic")
    left = set(rows)
    for who, shown, against, but in human_pairs():
        by = {}
        for case in SUBJECTS:
            there = (who, case) in MASKS and (against in RATERS or against == ALL or (against, case, who) in CONSENSUS)
            values = scored(who, case, against, but) if there else {}
            for name in EXTENDED if against == ALL else (*OVERLAPS, *DISTANCES, *(SOFT if against in MADE else ())):
                by.setdefault(name, {})[case] = values.get(name)
        for name, values in by.items():
            for case, wanted in values.items():
                key = ("case", case, GROUPS[case], who, shown, name)
                agrees(rows[key], number(wanted))
                left.remove(key)
            numbers = {c: number(v) for c, v in values.items()}
            each, subjects = by_subject(numbers)
            for subject, wanted in subjects.items():
                agrees(rows["subject", subject, "", who, shown, name], wanted)
            known = [v for v in each if v is not None]
            agrees(rows["mean", "", "", who, shown, name], mean(known))
            assert int(rows["mean", "", "", who, shown, name]["n"]) == len(known)
            left -= {key for key in left if key[3:] == (who, shown, name) and key[0] != "case"}
    assert not left


def test_verdicts(evaluated):
    folder, missing = evaluated
    rows = cells(folder / "verdicts.csv", "algorithm", "against", "statistic")
    left = set(rows)
    for against in ("raters", *MADE, ALL):
        score = partial(against_raters, bad=True)
        if against != "raters":
            score = partial(against_the_others, against=against, bad=True)
        table = {(who, case): score(who, case) for who in (*RATERS, *ALGORITHMS) for case in SUBJECTS}
        for name in {n for values in table.values() for n in values}:
            gaps = {c for a in ALGORITHMS for c in SUBJECTS if table[a, c].get(name) in (NONE, ONE)}
            kept = [c for c in SUBJECTS if missing == "worst" or c not in gaps]
            means = []
            for who in RATERS:
                own = {
                    c: number(table[who, c].get(name)) if (who, c) in MASKS and c in kept else None for c in SUBJECTS
                }
                means.append(mean(v for v in by_subject(own)[0] if v is not None))
            by = {a: {c: table[a, c].get(name) for c in SUBJECTS} for a in ALGORITHMS}
            for who, values in completed(name, by, missing).items():
                row = rows[who, against, name]
                value = mean(v for v in by_subject(values)[0] if v is not None)
                agrees(row, value)
                assert float(row["human_low"]) == pytest.approx(min(means))
                assert float(row["human_high"]) == pytest.approx(max(means))
                better = value > max(means) if name not in LOWER else value < min(means)
                inside = min(means) <= value <= max(means)
                assert row["verdict"] == ("inside" if inside else "above" if better else "below"), row
                assert row["certain"] == "", "no interval with fewer than ten subjects"
                left.remove((who, against, name))
    assert not left
    assert len({row["verdict"] for row in rows.values()}) > 1


def test_rankings(evaluated):
    folder, missing = evaluated
    rows = cells(folder / "rankings.csv", "against", "metric", "algorithm")
    left = set(rows)
    for truth in TRUTHS:
        for name, by in wanted_scores(truth).items():
            if truth == MEAN or name == "inner_outer_ratio":
                continue
            whole = completed(name, by, missing)
            means = {a: mean(v for v in by_subject(whole[a])[0] if v is not None) for a in ALGORITHMS}
            for who in ALGORITHMS:
                row = rows[truth, name, who]
                assert float(row["value"]) == pytest.approx(means[who], abs=1e-9)
                ahead = [a for a in ALGORITHMS if (means[a] < means[who] if name in LOWER else means[a] > means[who])]
                assert int(row["rank"]) == 1 + len(ahead)
                left.remove((truth, name, who))
    assert not left


def test_orders_are_those_of_the_rankings(evaluated):
    """``orders.csv``: every truth in one order, the algorithms in that of their ranks."""
    folder, _ = evaluated
    ranks = {}
    for row in table(folder / "rankings.csv"):
        ranks.setdefault((row["metric"], row["against"]), []).append((int(row["rank"]), row["algorithm"]))
    seen = []
    for row in table(folder / "orders.csv"):
        for truth in row["truths"].split("; "):
            seen.append((row["metric"], truth))
            assert row["order"].replace(" = ", " > ").split(" > ") == [a for _, a in sorted(ranks[seen[-1]])]
    assert sorted(seen) == sorted(ranks)


def test_intervals_and_certain_verdicts(capsys, tmp_path):
    """With ten subjects there are intervals, and a verdict is certain when both ends give it."""
    cases = [f"p{i}" for i in range(12)]
    masks = {(who, c): blob(1000 + 40 * i + k) for i, c in enumerate(cases) for k, who in enumerate("ABCx")}
    for (who, case), mask in masks.items():
        # y is what A drew, a pixel aside; z is all the image
        write_png(tmp_path / ("m" if who in RATERS else "p") / who / f"{case}.png", mask.astype(np.uint8))
        write_png(tmp_path / f"p/y/{case}.png", np.roll(masks["A", case], 1).astype(np.uint8)) if who == "A" else None
        write_png(tmp_path / f"p/z/{case}.png", np.ones((SIZE, SIZE), np.uint8))
    line = ["evaluate", tmp_path / "m/{rater}/{case}.png", "--predictions", tmp_path / "p/{algorithm}/{case}.png"]
    done = run(capsys, *line, "--out", tmp_path, "--resamples", 200, "--no-pictures", "--jobs", 1)
    assert (done.status, done.err) == (0, "")
    rows = cells(tmp_path / "evaluate/verdicts.csv", "algorithm", "against", "statistic")
    certain = set()
    for row in rows.values():
        low, high, least, most = (float(row[k]) for k in ("low", "high", "human_low", "human_high"))
        assert low <= float(row["value"]) <= high
        sides = [(end > most) - (end < least) for end in (low, high)]
        assert row["certain"] == ("yes" if sides[0] == sides[1] else "no")
        certain.add(row["certain"])
    assert certain == {"yes", "no"}
    assert rows["z", "raters", "dice"]["verdict"] == "below"
    assert rows["z", "raters", "sensitivity"]["verdict"] == "above"
    assert rows["y", "raters", "dice"]["verdict"] in ("inside", "above")
    assert "not certain" in done.out
