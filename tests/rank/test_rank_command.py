"""The verb ``rank`` on real files: what it writes, prints and refuses."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import manytruths as mt
from manytruths.cli import status
from study_folders import run, table

HEAD = ["scope", "case", "group", "label", "region"]
TAIL = ["statistic", "value", "low", "high", "n", "n_undefined", "reason", "code"]
EXTRA = {
    "rankings": ["scheme", "against", "metric", "rank", "algorithm"],
    "pairs": ["scheme", "against", "metric", "algorithm_a", "algorithm_b"],
    "tau": ["between", "scheme", "against", "metric", "a", "b"],
}
NAMES = ("unet", "<b>&net", "a name that is longer than the room that charts have for names")


def files(folder) -> dict[str, bytes]:
    """Contents by name, but run.json's."""
    found = (p for p in folder.rglob("*") if p.is_file() and p.name != "run.json")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}


def write_scores(path, algorithms=NAMES, cases=14, truths=("A", "vote:0.5"), seed=0):
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow([*HEAD, "algorithm", "against", *TAIL])
        for a, name in enumerate(algorithms):
            for truth in truths:
                for c in range(cases):
                    dice = float(np.clip(rng.normal(0.9 - 0.04 * a, 0.03), 0, 1))
                    row = ["case", f"p{c}", "", "", "whole", name, truth]
                    if c == 3 and a == 1:
                        out.writerow([*row, "dice", "nan", "", "", "", "", "both marked nothing", "both_empty"])
                    elif c != 5 or a != 2:
                        out.writerow([*row, "dice", dice, "", "", "", "", "", ""])
                        out.writerow([*row, "hausdorff_95", 50 * (1 - dice), "", "", "", "", "", ""])
    return path


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranked")
    path = write_scores(folder / "scores.csv")
    for out in ("one", "two"):
        assert status(["rank", str(path), "--out", str(folder / out), "-q", "--title", "Our challenge"]) == 0
    return folder


def test_every_table_has_its_columns(ranked):
    found = {path.stem: path for path in (ranked / "one/rank").glob("*.csv")}
    assert found.pop("claims").is_file()
    assert set(found) == set(EXTRA)
    for name, path in found.items():
        with open(path, newline="", encoding="utf-8") as stream:
            assert next(csv.reader(stream)) == [*HEAD, *EXTRA[name], *TAIL]


def test_the_same_scores_give_the_same_bytes(ranked):
    one, two = (files(ranked / out) for out in ("one", "two"))
    assert one == two
    assert len(one) > 10


def test_rankings(ranked):
    rows = table(ranked / "one/rank/rankings.csv")
    overall = [r for r in rows if r["scope"] == "overall" and r["statistic"] == "rank" and r["scheme"] == "mean"]
    whole = [r for r in overall if not r["metric"] and not r["against"]]
    assert [r["algorithm"] for r in whole] == list(NAMES)
    assert [r["rank"] for r in whole] == ["1", "2", "3"]
    assert all(float(r["low"]) <= float(r["value"]) <= float(r["high"]) for r in whole)
    assert {(r["against"], r["metric"]) for r in overall} == {
        ("", ""), ("A", ""), ("vote:0.5", ""), ("", "dice"), ("", "hausdorff_95"),
    }  # fmt: skip
    assert {r["statistic"] for r in rows if r["scope"] == "ranking"} == {
        "rank", "resampled_rank", "mean", "mean_rank", "wins", "first_share", "missing", "undefined", "both_empty",
    }  # fmt: skip
    gaps = {
        (r["statistic"], r["algorithm"]): float(r["value"])
        for r in rows
        if r["metric"] == "dice" and r["against"] == "A" and not r["scheme"]
    }
    assert (gaps["missing", NAMES[2]], gaps["both_empty", NAMES[1]], gaps["missing", "unet"]) == (1, 1, 0)
    left = [r for r in rows if r["scope"] == "without_truth"]
    assert {r["against"] for r in left} == {"A", "vote:0.5"}
    means = [r for r in rows if r["statistic"] == "mean"]
    assert len(means) == 3 * 4
    assert all(float(r["low"]) <= float(r["value"]) <= float(r["high"]) for r in means)


def test_pairs_and_taus(ranked):
    from statsmodels.stats.multitest import multipletests

    pairs = table(ranked / "one/rank/pairs.csv")
    assert {r["statistic"] for r in pairs} == {"p_value", "p_holm", "mean_difference", "ahead_share"}
    boards = {(r["against"], r["metric"]) for r in pairs if r["statistic"] == "p_holm"}
    assert len(boards) == 4 + 1
    largest = np.zeros(6)
    for against, metric in boards - {("", "")}:
        own = [r for r in pairs if (r["against"], r["metric"]) == (against, metric)]
        p, adjusted = ([float(r["value"]) for r in own if r["statistic"] == s] for s in ("p_value", "p_holm"))
        assert adjusted == pytest.approx(multipletests(p, method="holm")[1])
        largest = np.maximum(largest, adjusted)
    overall = [float(r["value"]) for r in pairs if r["statistic"] == "p_holm" and r["scope"] == "overall"]
    assert overall == pytest.approx(largest)
    for first, second in ((0, 1), (1, 2)):
        one, other = (
            next(float(r["value"]) for r in pairs if r["statistic"] == "ahead_share" and r["scope"] == "overall"
                 and r["scheme"] == "mean" and not r["against"] and not r["metric"]
                 and (r["algorithm_a"], r["algorithm_b"]) == (NAMES[a], NAMES[b]))
            for a, b in ((first, second), (second, first))
        )  # fmt: skip
        assert one + other == pytest.approx(1)
        assert one > 0.5
    taus = table(ranked / "one/rank/tau.csv")
    assert {r["between"] for r in taus} == {"schemes", "truths", "metrics", "resamples"}
    for row in taus:
        assert row["reason"] if row["value"] == "nan" else -1 <= float(row["value"]) <= 1


def test_mean_differences(ranked):
    rows = [r for r in table(ranked / "one/rank/pairs.csv") if r["statistic"] == "mean_difference"]
    assert len(rows) == 6 * 4
    assert {(r["scope"], r["scheme"], r["n"]) for r in rows} == {("ranking", "mean", "14")}
    found = {(r["against"], r["metric"], r["algorithm_a"], r["algorithm_b"]): r for r in rows}
    scores = {
        (r["algorithm"], r["case"]): float(r["value"])
        for r in table(ranked / "scores.csv") if r["against"] == "A" and r["statistic"] == "dice"
    }  # fmt: skip
    best, gap = {(NAMES[1], "p3"): 1.0}, {(NAMES[2], "p5"): 0.0}
    counted = {key: value for key, value in scores.items() if not np.isnan(value)} | best | gap
    for first, second in ((0, 1), (1, 2), (2, 0)):
        apart = np.array([counted[NAMES[first], f"p{c}"] - counted[NAMES[second], f"p{c}"] for c in range(14)])
        row, turned = found["A", "dice", NAMES[first], NAMES[second]], found["A", "dice", NAMES[second], NAMES[first]]
        low, value, high = (float(row[name]) for name in ("low", "value", "high"))
        assert value == pytest.approx(apart.mean())
        assert low < value < high
        assert [float(turned[n]) for n in ("low", "value", "high")] == pytest.approx([-high, -value, -low])


def test_leaderboard_and_summary(ranked):
    board = json.loads((ranked / "one/rank/leaderboard.json").read_text())
    assert board["schema_version"] == 1
    assert board["title"] == "Our challenge"
    assert [a["name"] for a in board["algorithms"]] == list(NAMES)
    assert [a["rank"] for a in board["algorithms"]] == [1, 2, 3]
    assert board["metrics"] == [{"name": "dice", "better": "higher"}, {"name": "hausdorff_95", "better": "lower"}]
    first = board["algorithms"][0]
    assert set(first) == {
        "name", "rank", "low", "high", "resampled_low", "resampled_high", "first_share", "missing", "undefined",
        "both_empty", "scores",
    }  # fmt: skip
    assert len(first["scores"]) == 4
    assert board["algorithms"][2]["missing"] == 4
    assert board["winner"] in (None, "unet")
    assert board["verdict"].endswith(".")
    summary = json.loads((ranked / "one/rank/summary.json").read_text())
    assert summary["schema_version"] == 1
    assert summary["command"] == "rank"
    assert summary["order"] == list(NAMES)
    assert summary["files"] == sorted(n for n in files(ranked / "one/rank") if n != "summary.json")


def test_charts_are_xml_with_every_name(ranked):
    charts = sorted((ranked / "one/rank/charts").glob("*.svg"))
    boards = [f"{m}-{t}" for m in ("dice", "hausdorff_95") for t in ("A", "vote-0.5")]
    assert {c.stem for c in charts} == {
        "stability", "truths", *(f"{kind}-{b}" for kind in ("ranks", "significance") for b in ("overall", *boards))
    }  # fmt: skip
    for chart in charts:
        words = "".join(ElementTree.fromstring(chart.read_text()).itertext())
        assert all(name in words for name in NAMES)


def test_another_run_clears_what_it_does_not_write(tmp_path, capsys):
    path = write_scores(tmp_path / "scores.csv")
    assert run(capsys, "rank", path, "--out", tmp_path).status == 0
    assert (tmp_path / "rank/charts/truths.svg").exists()
    (tmp_path / "rank/mine.txt").write_text("mine")
    assert run(capsys, "rank", path, "--out", tmp_path, "--no-pictures").status == 0
    assert not (tmp_path / "rank/charts").exists()
    assert (tmp_path / "rank/mine.txt").exists()


def test_names_need_not_be_written_as_in_the_table(tmp_path, capsys):
    path = write_scores(tmp_path / "scores.csv")
    options = ["--metric", "Dice,Hausdorff 95", "--against", "VOTE:0.5", "--algorithm", "UNet,<B>&net"]
    done = run(capsys, "rank", path, "--out", tmp_path, *options)
    assert (done.status, done.err) == (0, "")
    board = json.loads((tmp_path / "rank/leaderboard.json").read_text())
    assert [m["name"] for m in board["metrics"]] == ["dice", "hausdorff_95"]
    assert board["references"] == ["vote:0.5"]
    assert {a["name"] for a in board["algorithms"]} == set(NAMES[:2])


def test_all_metrics(tmp_path, capsys):
    rng = np.random.default_rng(0)
    metrics = ["dice", "iou", "ppv", "hd95", "loss", "prevalence"]
    rows = [f"p{c},{a}," + ",".join(f"{v:.3f}" for v in rng.random(6)) for c in range(12) for a in "ab"]
    (tmp_path / "s.csv").write_text("\n".join([",".join(["case", "algorithm", *metrics]), *rows]))

    def ranked_by(*options: str) -> list[str]:
        assert run(capsys, "rank", tmp_path / "s.csv", "--out", tmp_path, "--no-pictures", *options).status == 0
        board = json.loads((tmp_path / "rank/leaderboard.json").read_text())
        return [m["name"] for m in board["metrics"]]

    assert ranked_by() == ["dice"]
    assert ranked_by("--metric", "all") == ranked_by("--metric", "ALL") == metrics[:4]
    assert ranked_by("--metric", "all", "--direction", "loss=lower") == metrics[:5]
    assert "all" in run(capsys, "rank", "--help").out


def test_missing_distances_count_as_diagonals(tmp_path, capsys):
    path = write_scores(tmp_path / "scores.csv")
    options = ["--metric", "hausdorff_95", "--out", tmp_path, "--no-pictures"]
    without = run(capsys, "rank", path, *options).out
    assert "give a column diagonal in --cases, or --missing VALUE" in " ".join(without.split())
    assert "no subjects are named" in without
    own = tmp_path / "own.csv"
    own.write_text("\n".join(["case,subject,diagonal", *(f"p{c},s{c},{100 + c}" for c in range(14))]))
    done = run(capsys, "rank", path, *options, "--cases", own)
    assert done.status == 0
    told = " ".join(done.out.split())
    assert "4 scores missing or undefined, counted as hausdorff_95 the diagonal of the image" in told
    assert "can pay" not in told
    assert "no subjects are named" not in told
    means = {
        (r["algorithm"], r["against"]): float(r["value"])
        for r in table(tmp_path / "rank/rankings.csv") if r["statistic"] == "mean"
    }  # fmt: skip
    own_values = [
        float(r["value"]) for r in table(path)
        if (r["algorithm"], r["against"], r["statistic"]) == (NAMES[2], "A", "hausdorff_95")
    ]  # fmt: skip
    assert means[NAMES[2], "A"] == pytest.approx((sum(own_values) + 105) / 14)


def test_what_is_printed(tmp_path, capsys):
    path = write_scores(tmp_path / "scores.csv", ("[red]net", "vnet"))
    done = run(capsys, "rank", path, "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    assert "2 algorithms, 14 cases, 14 subjects, 2 metrics, 2 reference standards" in done.out
    assert "[red]net" in done.out
    for told in (
        "Rank under each reference standard",
        "distinct ranking",
        "Kendall's tau between schemes",
        "both marked nothing",
    ):
        assert told in done.out
    assert run(capsys, "rank", path, "--out", tmp_path, "--quiet").out == ""


def test_one_metric_and_truth(tmp_path, capsys):
    path = write_scores(tmp_path / "scores.csv", cases=8)
    done = run(
        capsys, "rank", path, "--out", tmp_path, "--metric", "dice", "--against", "A", "--algorithm", "unet,<b>&net"
    )
    assert done.status == 0
    assert "no tests, no sets of ranks, no resamples: it takes 10 subjects, and there are 8" in done.out
    assert "By mean dice against A, unet is first, but no winner can be named from 8 cases" in " ".join(
        done.out.split()
    )
    assert "Holm" not in done.out
    assert "told apart" not in done.out
    assert "too narrow" not in done.out
    assert "with 95% intervals" not in done.out
    rows = [r for r in table(tmp_path / "rank/rankings.csv") if r["statistic"] == "rank"]
    assert all(not r["low"] and "at least 10" in r["reason"] for r in rows)
    board = json.loads((tmp_path / "rank/leaderboard.json").read_text())
    assert board["algorithms"][0]["low"] is None
    assert board["algorithms"][0]["first_share"] is None
    assert (board["groups"], board["winner"]) == ([], None)
    assert {c.stem for c in (tmp_path / "rank/charts").iterdir()} == {"ranks-overall"}
    assert "–" not in (tmp_path / "rank/charts/ranks-overall.svg").read_text()
    untested = {"first_share", "wins", "p_value", "p_holm", "ahead_share", "mean_kendall_tau"}
    rows = [r for name in ("rankings", "pairs", "tau") for r in table(tmp_path / f"rank/{name}.csv")]
    found = {r["statistic"]: set() for r in rows if r["statistic"] in untested}
    for r in rows:
        found.get(r["statistic"], set()).add((r["value"], r["code"]))
    assert found == {name: {("nan", "too_few_subjects_to_test")} for name in untested}
    claim = table(tmp_path / "rank/claims.csv")[0]
    assert (claim["made"], claim["code"], claim["p_value"]) == ("no", "too_few_subjects", "")
    assert "adjusted p" not in claim["text"]


def test_a_case_without_a_mask_of_the_rater_is_named(tmp_path, capsys):
    """Printed before: "cases left out as undefined for every algorithm: 1 (dice against A)"."""
    lines = ["case,algorithm,against,metric,value,reason,code"]
    for case, name in ((c, n) for c in range(12) for n in ("unet", "vnet")):
        lines.append(f"p{case},{name},B,dice,0.{case + 10},,")
        value = "nan,the rater is absent,rater_absent" if case == 4 else f"0.{case + 20},,"
        lines.append(f"p{case},{name},A,dice,{value}")
    (tmp_path / "s.csv").write_text("\n".join(lines))
    told = " ".join(run(capsys, "rank", tmp_path / "s.csv", "--out", tmp_path, "--no-pictures").out.split())
    assert "A has no mask of p4" in told
    assert "left out as undefined" not in told


def test_the_agreement_of_standards_is_that_of_the_ranking_shown(tmp_path):
    """Printed before: the mean over the schemes mean and rank."""
    rng = np.random.default_rng(3)
    values = rng.normal(0.7, 0.1, (3, 12, 3, 1))
    found = mt.rank(mt.Scores.of(values, ["a", "b", "c"], references=["x", "y", "z"]), resamples=20)
    taus = [t.value for t in found.ranking.taus if (t.between, t.scheme, t.metric) == ("truths", "mean", "dice")]
    assert len(taus) == 3
    assert f"Kendall's tau between reference standards: mean {np.mean(taus):.2f}" in " ".join(found.notes)


def test_anybodys_table_with_subjects(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [f"i{c};{t};{rng.random():.3f};{rng.random():.3f}" for c in range(24) for t in ("t1", "t2")]
    (tmp_path / "wide.csv").write_text("\n".join(["image;team;Dice;Loss", *rows]))
    (tmp_path / "cases.csv").write_text("\n".join(["case,subject", *(f"i{c},s{c // 2}" for c in range(24))]))
    options = ["--columns", "case=image,algorithm=team", "--cases", tmp_path / "cases.csv"]
    done = run(capsys, "rank", tmp_path / "wide.csv", "--out", tmp_path, *options)
    assert done.status == 0
    assert "24 cases, 12 subjects, 1 metric, 1 reference standard" in done.out
    assert "not ranked by Loss" in done.out
    both = run(capsys, "rank", tmp_path / "wide.csv", "--out", tmp_path, *options, "--direction", "loss=lower")
    assert "12 subjects, 2 metrics" in both.out
    median = run(capsys, "rank", tmp_path / "wide.csv", "--out", tmp_path, *options, "--aggregate", "median")
    assert "median Dice" in median.out
    assert {r["statistic"] for r in table(tmp_path / "rank/rankings.csv")} >= {"median"}


def test_gaps_by_choice(tmp_path, capsys):
    path = write_scores(tmp_path / "scores.csv")
    done = run(capsys, "rank", path, "--out", tmp_path, "--missing", "exclude", "--metric", "dice")
    assert done.status == 0
    assert "cases left out as not scored for every algorithm: 2 (dice against A)" in done.out
    given = run(capsys, "rank", path, "--out", tmp_path, "--missing", "0.5", "--metric", "dice")
    assert "counted as dice 0.5" in given.out
    assert "2 scores undefined as both marked nothing (or all), counted as the best" in given.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--metric", "loss"], "no metric 'loss'; there are dice, hausdorff_95"),
        (["--metric", ""], "metric"),
        (["--against", "gold"], "no reference standard 'gold'; there are A, vote:0.5"),
        (["--algorithm", "gold"], "no algorithm 'gold'"),
        (["--direction", "dice"], "--direction wants name=value"),
        (["--direction", "dice=up"], "'higher' or 'lower'; got 'up'"),
        (["--columns", "case"], "--columns wants name=value"),
        (["--columns", "team=algorithm"], "got 'team'"),
        (["--missing", "best"], "--missing is worst, exclude or a number; got 'best'"),
        (["--missing", "nan"], "finite"),
        (["--missing", "0"], "hausdorff_95"),
        (["--resamples", "0"], "resamples"),
        (["--seed", "-1"], "seed"),
        (["--alpha", "1"], "alpha"),
        (["--label", "tumour"], "no scores of the label 'tumour'"),
    ],
)
def test_wrong_calls(tmp_path, capsys, options, told):
    path = write_scores(tmp_path / "scores.csv")
    done = run(capsys, "rank", path, "--out", tmp_path / "out", *options)
    assert done.status == 2
    assert told in done.line
    assert not (tmp_path / "out").exists()


def test_wrong_words(tmp_path, capsys):
    assert run(capsys, "rank").status == 2
    assert run(capsys, "rank", "x.csv", "--scheme", "best").status == 2
    assert run(capsys, "rank", "x.csv", "--nonsense").status == 2


def test_unknown_direction(tmp_path, capsys):
    (tmp_path / "s.csv").write_text("case,algorithm,loss\np,a,1\np,b,2\n")
    done = run(capsys, "rank", tmp_path / "s.csv", "--out", tmp_path / "out")
    assert done.status == 2
    assert "'loss'" in done.line
    assert "--direction" in done.line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("case,algorithm,dice\np,a,0.5\n", "only one algorithm, a"),
        ("case,algorithm,dice\np,a,0.5\np,b,x\np,c,0.1\n", "line 3: dice 'x' is not a number"),
        ("case,algorithm,dice\np,a,0.5\np,a,0.6\n", "line 3: dice of a for case p against truth is in line 2 already"),
        ("case,algorithm,dice\np,a,0.5\nq,b,0.5\n", ""),
    ],
)
def test_unusable_input(tmp_path, capsys, text, told):
    (tmp_path / "s.csv").write_text(text)
    options = () if told else ("--missing", "exclude")
    done = run(capsys, "rank", tmp_path / "s.csv", "--out", tmp_path / "out", *options)
    assert done.status == 1
    assert (told or "no case has a value of every algorithm") in done.line
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there(tmp_path, capsys):
    done = run(capsys, "rank", tmp_path / "none.csv")
    assert done.status == 1
    assert "there is no such file" in done.line


def test_what_evaluate_writes(tmp_path, capsys):
    """Rows without a prediction are missing ones; the mean of raters is no truth besides them."""
    path = write_scores(tmp_path / "scores.csv", truths=("A", "B", "mean of raters"))
    text = path.read_text().replace("both_empty", "no_prediction")
    path.write_text(text)
    done = run(capsys, "rank", path, "--out", tmp_path, "--metric", "dice")
    assert done.status == 0
    board = json.loads((tmp_path / "rank/leaderboard.json").read_text())
    assert board["references"] == ["A", "B"]
    entry = next(a for a in board["algorithms"] if a["name"] == NAMES[1])
    assert (entry["missing"], entry["undefined"], entry["both_empty"]) == (2, 0, 0)
    only = run(capsys, "rank", path, "--out", tmp_path, "--against", "mean of raters")
    assert only.status == 0
    assert "1 reference standard" in only.out
