"""Every number of ``evaluate``'s tables on masks, computed again pixel by pixel from the files.

Four raters, one absent from a case and one who marks nothing in another; three algorithms, of which one has no
prediction of a case and one predicts nothing in another; subjects of one to three cases, two groups.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from itertools import product
from statistics import mean, stdev

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import manytruths as mt
from manytruths.evaluation.ranking.missing_scores import make_boards
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
LENGTHS = LOWER[1:]
BOUND = {name: 0.0 for name in (*OVERLAPS, *DISTANCES, *SOFT, *EXTENDED) if name not in LOWER}
BOUND |= {"volume_difference": 2.0} | dict.fromkeys(LENGTHS, math.hypot(SIZE, SIZE))
"""What a missing prediction counts; a kappa below 0 would make its least value the worst."""
EQUAL = ("dice", "iou", "volume_difference", "cohen_kappa", *DISTANCES, "extended_dice")
"""What is undefined only where both marked nothing."""

NONE, ONE, BOTH = "no prediction", "one of the two marked nothing", "both marked nothing"
SAME = "both gave one and the same label to every item, so that chance agreement is complete"
NEITHER = "nothing was predicted, and no item was marked by all"
SILENT = (BOTH, SAME, NEITHER)


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
    values = {name: n / m if m else BOTH if name in EQUAL else None for name, (n, m) in found.items()}
    both_empty = not first.any() and not second.any()
    return values | {"cohen_kappa": SAME if both_empty else cohen_kappa_score(first.ravel(), second.ravel())}


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
        "extended_dice": up / whole if whole else NEITHER,
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


def averaged(values, statistic):
    """The mean over truths: as far away as can be where one marked nothing, the best where both did, if not all."""
    if NONE in values:
        return NONE
    if not values or all(v in SILENT for v in values):
        return values[0] if values else None
    best = 0.0 if statistic in LOWER else 1.0
    counted = [BOUND[statistic] if v == ONE else best if v in SILENT else number(v) for v in values]
    known = [v for v in counted if v is not None]
    return mean(known) if known else None


def against_raters(who, case, but=""):
    """By all raters but himself, and but one."""
    found = [scored(who, case, r) for r in RATERS if r not in (who, but)]
    return {name: averaged([f[name] for f in found], name) for name in found[0]}


def judged(who, case, against, rater):
    """By what a rater is judged by: the other raters, or what they say together."""
    if against == "raters":
        return against_raters(who, case, rater)
    if (against != ALL and (against, case, rater) not in CONSENSUS) or rater not in present(case):
        return {}
    found = scored(who, case, against, rater)
    return {name: averaged([value], name) for name, value in found.items()}


# -- over cases ----------------------------------------------------------------------------------


def completed(statistic, table, missing):
    """{algorithm: {case: value}} with what is missing as the worst, or its cases left out for all."""
    if statistic == "inner_outer_ratio":
        return {a: {c: number(v) for c, v in row.items()} for a, row in table.items()}
    gaps = {c for row in table.values() for c, v in row.items() if v == NONE} if missing == "exclude" else set()
    known = [number(v) for row in table.values() for v in row.values() if number(v) is not None]
    worst = min([BOUND[statistic], *known]) if statistic not in LOWER else BOUND[statistic]
    return {
        a: {c: None if c in gaps else worst if v in (NONE, ONE) else number(v) for c, v in row.items()}
        for a, row in table.items()
    }


FAILURES = ("failed_cases", "failures", "without_failures")


def check_failures(rows, keys, values, cases=tuple(SUBJECTS)):
    """Cases with a Dice of 0, the share of subjects who have one, and the mean over the other cases."""
    here = {c: values[c] for c in cases if values[c] is not None}
    failed = [c for c in here if here[c] == 0]
    if not 0 < len(failed) < len(here):
        assert rows == [None] * 3
        return set()
    count, share, rest = rows
    assert (float(count["value"]), int(count["n"])) == (len(failed), len(here))
    agrees(share, len({SUBJECTS[c] for c in failed}) / len({SUBJECTS[c] for c in here}))
    each = by_subject({c: values[c] or None for c in cases}, cases)[0]
    agrees(rest, mean(v for v in each if v is not None))
    assert int(rest["n_undefined"]) == each.count(None)
    return set(keys)


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
        "evaluate", f"{folder}/masks/{{rater}}/{{case}}.png", "--no-lesions", "--predictions",
        f"{folder}/predictions/{{algorithm}}/{{case}}.png", "--cases", f"{folder}/cases.csv", "--tolerance", TOLERANCE,
        "--missing", request.param, "--out", folder, "--jobs", 1, "--quiet",
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
                if name == "dice":
                    keys = [("mean", "", group, "", who, truth, f"dice_{part}") for part in FAILURES]
                    left -= check_failures([rows.get(key) for key in keys], keys, whole[who], cases)
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
            for group in ("", "easy", "hard") if name == "dice" else ():
                cases = [c for c in SUBJECTS if GROUPS[c] == group or not group]
                keys = [("mean", "", group, who, shown, f"dice_{part}") for part in FAILURES]
                left -= check_failures([rows.get(key) for key in keys], keys, numbers, cases)
    assert not left


def test_means_beside_the_raters(evaluated):
    folder, missing = evaluated
    rows = cells(folder / "beside_raters.csv", "algorithm", "against", "statistic")
    apart = cells(folder / "differences.csv", "algorithm", "rater", "against", "statistic")
    left, pairs = set(rows), set(apart)
    kept = [c for c in SUBJECTS if missing == "worst" or all((a, c) in MASKS for a in ALGORITHMS)]
    for against in ("raters", *MADE, ALL):
        truth = MEAN if against == "raters" else against
        for name, by in wanted_scores(truth).items():
            if name == "inner_outer_ratio":
                continue
            raw = {r: {c: human(r, c, against, name) if c in kept else None for c in SUBJECTS} for r in RATERS}
            own = {r: {c: number(v) for c, v in raw[r].items()} for r in RATERS}
            means = [mean(v for v in by_subject(own[r])[0] if v is not None) for r in RATERS]
            if against != "raters":
                by = {who: {c: beside(who, c, against, name) for c in SUBJECTS} for who in ALGORITHMS}
            for who, values in completed(name, by, missing).items():
                row = rows[who, against, name]
                agrees(row, mean(v for v in by_subject(values)[0] if v is not None))
                assert float(row["human_low"]) == pytest.approx(min(means))
                assert float(row["human_high"]) == pytest.approx(max(means))
                for rater in RATERS:
                    gains = {c: gain(who, c, against, name, rater, raw[rater][c]) for c in SUBJECTS}
                    agrees(apart[who, rater, against, name], mean(v for v in by_subject(gains)[0] if v is not None))
                    pairs.remove((who, rater, against, name))
                left.remove((who, against, name))
    assert not left
    assert not pairs


def beside(who, case, against, name):
    """An algorithm by what the raters say together without each of them, on average."""
    if (who, case) not in MASKS:
        return NONE
    found = [judged(who, case, against, r) for r in RATERS]
    return averaged([f[name] for f in found if name in f], name)


def human(rater, case, against, name):
    """A rater by the others; None where he is absent."""
    return judged(rater, case, against, rater).get(name) if (rater, case) in MASKS else None


def gain(who, case, against, name, rater, own):
    """By how much an algorithm is better than a rater whom the same truths judge; rightly nothing is the best."""
    value = judged(who, case, against, rater).get(name)
    value = BOUND[name] if value == NONE else value
    if value in SILENT and own in SILENT:
        return None
    best = 0.0 if name in LOWER else 1.0
    first, second = (best if v in SILENT else number(v) for v in (value, own))
    if first is None or second is None:
        return None
    return second - first if name in LOWER else first - second


def test_rankings(evaluated):
    folder, missing = evaluated
    rows = cells(folder / "rankings.csv", "against", "metric", "algorithm")
    left = set(rows)
    for truth in TRUTHS:
        for name, by in wanted_scores(truth).items():
            if truth == MEAN or name == "inner_outer_ratio":
                continue
            whole = ranked(name, by, wanted_scores(truth), missing)
            cases = list(next(iter(whole.values())))
            means = {a: mean(v for v in by_subject(whole[a], cases)[0] if v is not None) for a in ALGORITHMS}
            for who in ALGORITHMS:
                row = rows[truth, name, who]
                assert float(row["value"]) == pytest.approx(means[who], abs=1e-9)
                ahead = [a for a in ALGORITHMS if (means[a] < means[who] if name in LOWER else means[a] > means[who])]
                assert int(row["rank"]) == 1 + len(ahead)
                left.remove((truth, name, who))
    assert not left


def ranked(name, by, every, missing):
    """As ``rank`` has it: the best where both marked nothing, the worst where there is no value for another reason.

    One metric that says that both marked nothing says so for all. A case counts that anybody has a value for; with
    ``exclude``, one that all have a value for.
    """
    best = 0.0 if name in LOWER else 1.0
    known = [number(v) for row in by.values() for v in row.values() if number(v) is not None]
    worst = min([BOUND[name], *known]) if name not in LOWER else BOUND[name]

    def counted(who, case):
        value = by[who][case]
        if number(value) is None and value != NONE and any(every[n][who][case] in SILENT for n in every):
            return best
        return worst if number(value) is None else number(value)

    def counts(case):
        there = [number(by[a][case]) is not None for a in ALGORITHMS]
        return all(there) if missing == "exclude" else any(there) or any(by[a][case] in SILENT for a in ALGORITHMS)

    return {a: {c: counted(a, c) for c in SUBJECTS if counts(c)} for a in ALGORITHMS}


def test_rank_reads_them_in_the_same_order(evaluated):
    folder, missing = evaluated
    scores = mt.read_scores(folder / "scores.csv")
    names = {row["metric"] for row in table(folder / "rankings.csv")}
    chosen = scores.select(references=[*RATERS, *MADE, ALL])
    boards = make_boards(chosen, [m for m in scores.metrics if m in names], missing)
    found = {(board.metric, board.truth): board.means for board in boards}
    ours = cells(folder / "rankings.csv", "against", "metric", "algorithm")
    assert {(m, t) for m, t in found} == {(m, t) for t, m, _ in ours}
    for (metric, truth), means in found.items():
        for algorithm, value in zip(scores.algorithms, means, strict=True):
            assert float(ours[truth, metric, algorithm]["value"]) == pytest.approx(value, abs=1e-11)


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


def test_differences_from_each_rater_have_intervals_of_their_own(capsys, tmp_path):
    """With ten subjects there are intervals of the differences; a mask of all the image overlaps little."""
    cases = [f"p{i}" for i in range(12)]
    masks = {(who, c): blob(1000 + 40 * i + k) for i, c in enumerate(cases) for k, who in enumerate("ABCx")}
    for (who, case), mask in masks.items():
        write_png(tmp_path / ("m" if who in RATERS else "p") / who / f"{case}.png", mask.astype(np.uint8))
        write_png(tmp_path / f"p/z/{case}.png", np.ones((SIZE, SIZE), np.uint8))
    line = ["evaluate", tmp_path / "m/{rater}/{case}.png", "--predictions", tmp_path / "p/{algorithm}/{case}.png"]
    done = run(capsys, *line, "--out", tmp_path, "--no-pictures", "--jobs", 1)
    assert (done.status, done.err) == (0, "")
    apart = cells(tmp_path / "evaluate/differences.csv", "algorithm", "rater", "against", "statistic")
    for rater in "ABC":
        assert float(apart["z", rater, "raters", "dice"]["high"]) < 0
        assert float(apart["z", rater, "raters", "sensitivity"]["low"]) > 0
        assert float(apart["x", rater, "raters", "dice"]["low"]) < float(apart["x", rater, "raters", "dice"]["high"])
