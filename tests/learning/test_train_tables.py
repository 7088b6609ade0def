"""The numbers of ``train`` again, from ``evaluate`` and plain loops."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

from manytruths.cli import status
from manytruths.learning import train
from manytruths.learning.results import Comparison, compare, rank_extended_dice, rank_sentences, split_columns, write
from manytruths.learning.scores import mean_interval
from study_folders import table
from training_folders import small_plan, write_training

pytestmark = pytest.mark.slow

SEEDS = (0, 3)
STRATEGIES = ("rater-A", "rater-B", "rater-C", "majority", "extended_dice")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A study of two folds, so that every subject is tested on, with its tables and what evaluate says."""
    folder = write_training(tmp_path_factory.mktemp("tables"), subjects=11, frames=2)
    home = folder.path / "out" / "train"
    plan = small_plan(
        strategies=("single", "majority", "extended_dice"),
        seeds=SEEDS,
        folds=2,
        epochs=4,
        distances=True,
        write_probability=False,
    )
    compared = compare(train(folder.open(), plan, home))
    write(compared, home)
    predictions = f"{home}/predictions/{{algorithm}}/{{case}}.png"
    call = ["evaluate", *folder.arguments, "--predictions", predictions, "--consensus", "vote:0.5", "--no-second-look"]
    assert status([*call, "--out", str(folder.path / "ev"), "--jobs", "1", "-q"]) == 0
    return SimpleNamespace(home=home, compared=compared, scores=by_run(folder.path / "ev" / "evaluate" / "scores.csv"))


def by_run(path):
    """Values by case of every algorithm, truth and statistic."""
    found = defaultdict(dict)
    for row in table(path):
        if row["scope"] == "case" and row["label"] == "":
            found[row["algorithm"], row["against"], row["statistic"]][row["case"]] = float(row["value"])
    return found


def values(done, strategy, against, statistic):
    """(subjects, seeds): means over the cases of every subject."""
    columns = []
    for seed in SEEDS:
        own = done.scores[f"unet-{strategy}-{seed}", against, statistic]
        subjects = sorted({case[:3] for case in own})
        columns.append([np.mean([v for case, v in own.items() if case[:3] == s]) for s in subjects])
    return np.array(columns).T


KEYS = [(a, s) for a in ("A", "B", "C", "vote:0.5") for s in ("dice", "iou", "hausdorff")]
EXTENDED = ("all raters", "extended_dice")


def asked(done, strategy, against, statistic):
    names = {a for _, a, s in done.scores if s == "extended_dice"}
    assert len(names) == 1
    return values(done, strategy, next(iter(names)) if against == "all raters" else against, statistic)


def rows(done, name, scope="mean"):
    return [row for row in table(done.home / f"{name}.csv") if row["scope"] == scope]


@pytest.mark.slow
def test_every_mean_is_that_of_evaluate_over_subjects_and_seeds(done):
    found = rows(done, "strategies")
    assert len(found) == len(STRATEGIES) * (len(KEYS) + 1)
    assert {(r["against"], r["statistic"]) for r in found} == {*KEYS, EXTENDED}
    assert len({r["value"] for r in found}) > 20
    for row in found:
        own = asked(done, row["strategy"], row["against"], row["statistic"])
        assert own.shape == (11, 2)
        assert float(row["value"]) == pytest.approx(own.mean(), abs=1e-12)
        assert (row["network"], row["seeds"], row["n"]) == ("unet", "2", "11")


def test_every_spread_is_that_of_all_images_and_seeds(done):
    for row in rows(done, "strategies", "std"):
        if row["against"] != "all raters":
            own = [done.scores[f"unet-{row['strategy']}-{s}", row["against"], row["statistic"]] for s in SEEDS]
            every = [value for one in own for value in one.values()]
            assert len(every) == 44
            assert float(row["value"]) == pytest.approx(np.std(every, ddof=1), abs=1e-12)


def ends(values, scale, level=0.95):
    """Student's t with the variance components of a two-way table, from its sums of squares."""
    n, k = values.shape
    mean, rows, columns = values.mean(), values.mean(axis=1), values.mean(axis=0)
    rest = values - rows[:, None] - columns + mean
    of_rows, of_columns = rows.var(ddof=1) / n, columns.var(ddof=1) / k
    common = (rest**2).sum() / ((n - 1) * (k - 1)) / (n * k)
    whole = max(of_rows + of_columns - common, of_rows, of_columns)
    df = whole**2 / (of_rows**2 / (n - 1) + of_columns**2 / (k - 1))
    reach = stats.t.ppf((1 + level) / 2, df) * math.sqrt(whole)
    if scale == "share":
        return special.expit(special.logit(mean) + np.array([-1, 1]) * reach / (mean * (1 - mean)))
    return mean * np.exp(np.array([-1, 1]) * reach / mean) if scale == "positive" else mean + np.array([-1, 1]) * reach


SCALES = {"hausdorff": "positive"}


@pytest.mark.parametrize(("against", "statistic"), [EXTENDED, ("B", "dice"), ("vote:0.5", "hausdorff")])
def test_intervals_are_students_t_over_subjects_and_seeds(done, against, statistic):
    for row in rows(done, "strategies"):
        if (row["against"], row["statistic"]) == (against, statistic):
            low, high = ends(asked(done, row["strategy"], against, statistic), SCALES.get(statistic, "share"))
            assert (float(row["low"]), float(row["high"])) == pytest.approx((low, high), abs=1e-9)


def test_differences_are_paired_by_subject_and_seed(done):
    found = rows(done, "differences")
    assert len(found) == (len(STRATEGIES) - 1) * (len(KEYS) + 1)
    for row in found:
        key = row["against"], row["statistic"]
        apart = asked(done, "extended_dice", *key) - asked(done, row["minus"], *key)
        assert row["strategy"] == "extended_dice"
        assert float(row["value"]) == pytest.approx(apart.mean(), abs=1e-12)
        if row["minus"] == "majority":
            if np.ptp(apart) < 1e-12:
                assert (row["low"], row["code"]) == ("", "no_spread")
            else:
                assert (float(row["low"]), float(row["high"])) == pytest.approx(tuple(ends(apart, "plain")), abs=1e-9)


def test_what_is_undefined_is_left_out_of_means():
    values = np.random.default_rng(0).random((12, 3))
    values[5] = np.nan
    known = np.delete(values, 5, axis=0)
    found = mean_interval(values, "share")
    assert found.value == pytest.approx(known.mean())
    assert (found.low, found.high) == pytest.approx(tuple(ends(known, "share")), abs=1e-12)
    assert found.n == 11
    values[2, 1] = np.nan
    gap = mean_interval(values, "share")
    assert gap.value == pytest.approx(np.nanmean(np.delete(values, 5, axis=0), axis=1).mean())
    assert gap.low < gap.value < gap.high
    few = mean_interval(values[:8], "share")
    assert math.isnan(few.low)
    assert few.n == 7


def test_one_seed_speaks_of_subjects_alone():
    values = np.random.default_rng(0).random((12, 1))
    found = mean_interval(values, "plain", 0.9)
    assert (found.low, found.high) == pytest.approx(stats.ttest_1samp(values[:, 0], 0).confidence_interval(0.9))


def test_seeds_that_differ_widen_the_interval():
    """With two seeds that ended at different levels, an interval over subjects alone would be far too narrow."""
    values = 0.8 + np.random.default_rng(0).normal(0, 0.02, (20, 1)) + np.array([[-0.05, 0.05, 0.0]])
    found, alone = mean_interval(values, "share"), mean_interval(values.mean(axis=1, keepdims=True), "share")
    assert found.value == pytest.approx(alone.value)
    assert found.high - found.low > 3 * (alone.high - alone.low)


def test_single_is_the_rater_with_the_best_dice_against_the_majority(done):
    means = {r: asked(done, f"rater-{r}", "vote:0.5", "dice").mean() for r in "ABC"}
    best = max(means, key=means.get)
    told = json.loads((done.home / "summary.json").read_text())
    assert told["single"] == {"unet": f"rater-{best}"}
    for name in ("table2", "table3"):
        assert [row["strategy"] for row in table(done.home / f"{name}.csv")] == [
            f"rater {best} alone", "majority vote", "extended Dice loss",
        ]  # fmt: skip


def test_the_tables_of_the_paper_hold_means_with_intervals(done):
    by = {(r["strategy"], r["against"], r["statistic"]): r for r in rows(done, "strategies")}
    two, three = (table(done.home / f"table{k}.csv")[-1] for k in (2, 3))
    assert list(two) == ["network", "label", "strategy", *(f"{a}: {s}" for a, s in KEYS)]
    assert list(three) == ["network", "label", "strategy", "all raters: extended_dice"]
    for line, keys in ((two, KEYS), (three, [EXTENDED])):
        for against, statistic in keys:
            row, digits = by["extended_dice", against, statistic], 1 if statistic == "hausdorff" else 3
            shown = [float(x) for x in re.fullmatch(r"(.+) \((.+)–(.+)\)", line[f"{against}: {statistic}"]).groups()]
            assert shown == [round(float(row[k]), digits) for k in ("value", "low", "high")]


def test_claims_count_who_is_better(done):
    found = rank_extended_dice(done.compared, "unet")
    assert len(found) == len(KEYS) + 1
    lines = [line.strategy for line in done.compared.lines["unet"]]
    for claim in found:
        key = claim["against"], claim["statistic"]
        sign = -1 if claim["statistic"] == "hausdorff" else 1
        means = {name: sign * asked(done, name, *key).mean() for name in lines}
        assert claim["place"] == 1 + sum(v > means["extended_dice"] + 1e-12 for v in means.values())
        assert means[claim["rival"]] == max(v for name, v in means.items() if name != "extended_dice")
        apart = asked(done, "extended_dice", *key).mean() - asked(done, claim["rival"], *key).mean()
        assert claim["difference"] == pytest.approx(apart, abs=1e-12)


def test_ties_share_a_place(done, tmp_path):
    """Where every network predicts the same, nobody is better."""
    found = done.compared.training
    same = [
        one.__class__(
            one.label, one.statistic, one.against,
            dict.fromkeys(one.by_run, next(iter(one.by_run.values()))),
            dict.fromkeys(one.by_subject, next(iter(one.by_subject.values()))),
        ) for one in found.scores
    ]  # fmt: skip
    level: Comparison = compare(found.__class__(**{**vars(found), "scores": tuple(same)}))
    assert {claim["place"] for claim in rank_extended_dice(level, "unet")} == {1}
    assert {claim["difference"] for claim in rank_extended_dice(level, "unet")} == {0}
    assert rank_sentences(level, "unet")[0].startswith(
        "extended Dice: the extended Dice loss ranks first, tied with 2; difference to "
    )


def test_columns_are_dealt_to_tables_that_fit():
    header = ["strategy", *(f"rater{k}" for k in range(9))]
    body = [["consensus and individuals", *(["0.955"] * 9)]]
    for width in (40, 80, 120):
        tables = split_columns(header, body, width)
        assert [k for one in tables for k in one[1:]] == list(range(1, 10))
        assert all(one[0] == 0 and 28 + 9 * (len(one) - 1) <= width for one in tables)
    assert len(split_columns(header, body, 10)) == 9
