"""Probability maps and samples in ``evaluate``: held against loops over pixels, and what is refused."""

from __future__ import annotations

import io
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import norm

import manytruths as mt
from manytruths.analyses.evaluate.printing import print_evaluation
from manytruths.core.undefined import code, code_of
from study_folders import disc, run, table, write_npy, write_png, write_study

RATERS = "ABC"
NAMES = [f"p{i:02}" for i in range(12)]


@cache
def masks() -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    return {name: {r: disc(radius=5 + k + rng.normal() / 2) for k, r in enumerate(RATERS)} for name in NAMES}


@cache
def drawn() -> dict[str, dict[str, list[np.ndarray]]]:
    rng = np.random.default_rng(2)
    return {name: {"net": [disc(radius=6 + rng.normal()) for _ in range(4)]} for name in NAMES}


@cache
def maps() -> dict[str, dict[str, np.ndarray]]:
    rows, columns = np.mgrid[:24, :24] - 12
    away = np.hypot(rows, columns)
    return {name: {"net": 1 / (1 + np.exp(away - 6 - i % 3))} for i, name in enumerate(NAMES)}


@cache
def evaluation() -> mt.Evaluation:
    study = mt.Study.from_arrays(masks(), predictions=maps(), samples=drawn(), probability=True)
    return mt.evaluate(study, lesions=False)


def by_case(statistic: str, against: str, result: mt.Evaluation | None = None, label: str = "") -> dict[str, float]:
    rows = (result or evaluation()).tables["scores"].all(statistic, "case")
    return {r.case: r.value for r in rows if r["against"] == against and r.label == label}


def brier(p: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((p - y) ** 2))


def iou_distance(a: np.ndarray, b: np.ndarray) -> float:
    union = np.logical_or(a, b).sum()
    return 1 - float(np.logical_and(a, b).sum() / union) if union else 0.0


def test_brier_scores_are_those_of_a_loop_over_pixels() -> None:
    for name in NAMES:
        p, raters = maps()[name]["net"], masks()[name]
        share = np.mean(list(raters.values()), axis=0)
        union = share > 0
        each = [brier(p, y) for y in raters.values()]
        assert by_case("brier", "A")[name] == pytest.approx(each[0], rel=1e-12)
        assert by_case("brier", "mean of raters")[name] == pytest.approx(np.mean(each), rel=1e-12)
        assert by_case("brier", "vote share")[name] == pytest.approx(brier(p, share), rel=1e-12)
        assert by_case("brier_union", "B")[name] == pytest.approx(brier(p[union], raters["B"][union]), rel=1e-12)
        assert by_case("brier", "vote:0.5")[name] == pytest.approx(brier(p, share >= 0.5), rel=1e-12)


def test_calibration_errors_are_those_of_a_loop_over_bins() -> None:
    for name in NAMES:
        p, y = maps()[name]["net"].ravel(), masks()[name]["A"].ravel()
        where = np.clip(np.ceil(p * 15) - 1, 0, 14)
        gaps = [np.sum(where == k) * abs(np.mean(p[where == k]) - np.mean(y[where == k])) for k in np.unique(where)]
        assert by_case("expected_calibration_error", "A")[name] == pytest.approx(sum(gaps) / len(p), rel=1e-9)


def test_energy_distances_are_those_of_a_double_loop() -> None:
    for name in NAMES:
        samples, raters = drawn()[name]["net"], list(masks()[name].values())
        cross = np.mean([iou_distance(s, r) for s in samples for r in raters])
        own = np.mean([iou_distance(a, b) for a, b in combinations(samples, 2)])
        theirs = np.mean([iou_distance(a, b) for a, b in combinations(raters, 2)])
        v_form = 2 * cross - own * 3 / 4 - theirs * 2 / 3
        assert by_case("energy_distance", "all raters")[name] == pytest.approx(v_form, rel=1e-12)
        assert by_case("energy_distance_unbiased", "all raters")[name] == pytest.approx(2 * cross - own - theirs)
        assert by_case("sample_diversity", "all raters")[name] == pytest.approx(own, rel=1e-12)
        assert by_case("rater_diversity", "all raters")[name] == pytest.approx(theirs, rel=1e-12)
        alone = 2 * np.mean([iou_distance(s, raters[0]) for s in samples]) - own
        assert by_case("energy_distance_unbiased_samples", "A")[name] == pytest.approx(alone, rel=1e-12)


def test_volumes_of_samples_are_scored_by_crps() -> None:
    for name in NAMES:
        sizes, rater = np.array([s.sum() for s in drawn()[name]["net"]], float), masks()[name]["A"].sum()
        crps = np.mean(np.abs(sizes - rater)) - np.mean(np.abs(sizes[:, None] - sizes)) / 2
        assert by_case("crps_volume", "A")[name] == pytest.approx(crps, rel=1e-12)


@pytest.mark.parametrize("sampled", [False, True])
def test_volumes_are_of_pixels_that_both_speak_of(tmp_path: Path, sampled: bool) -> None:
    """Not of what the rater did not rate, nor of where the algorithm is not judged."""
    box, area = np.zeros((20, 20), np.uint8), np.zeros((20, 20), np.uint8)
    box[4:16, 2:18], area[:, :10] = 1, 1
    unrated = box.copy()
    unrated[:8] = 9
    for rater, mask in (("A", box), ("B", box), ("C", unrated)):
        write_png(tmp_path / f"masks/{rater}/p01.png", mask)
    given = {"predictions": str(tmp_path / "prob/{algorithm}/{case}.npy"), "probability": True}
    write_npy(tmp_path / "prob/net/p01.npy", box.astype(np.float32))
    if sampled:
        for k in "12":
            write_png(tmp_path / f"samples/net/p01/{k}.png", box)
        given = {"samples": str(tmp_path / "samples/{algorithm}/{case}/{sample}.png")}
    write_png(tmp_path / "area/net/p01.png", area)
    template = str(tmp_path / "masks/{rater}/{case}.png")
    for training in (None, str(tmp_path / "area/{algorithm}/{case}.png")):
        result = mt.evaluate(mt.Study.open(template, training=training, void=9, **given), lesions=False)
        assert [by_case("crps_volume", rater, result)["p01"] for rater in RATERS] == [0, 0, 0]
        reached = [r.value for r in result.tables["reach"].all("crps_volume", "case")]
        assert reached
        assert set(reached) == {0.0}


def test_what_the_raters_reach_is_against_the_same_rater() -> None:
    rows = evaluation().tables["reach"]
    for name in NAMES:
        a, others = masks()[name]["A"], [masks()[name][r] for r in "BC"]
        found = {
            (str(r["forecast"]), r.statistic): r.value for r in rows.rows if r.case == name and r["against"] == "A"
        }
        assert found["vote share of the others", "brier"] == pytest.approx(brier(np.mean(others, axis=0), a))
        assert found["another rater", "brier"] == pytest.approx(np.mean([brier(o, a) for o in others]))
        cross = 2 * np.mean([iou_distance(o, a) for o in others]) - iou_distance(*others)
        assert found["masks of the others", "energy_distance_unbiased_samples"] == pytest.approx(cross)


def test_what_the_raters_reach_does_not_depend_on_what_an_algorithm_was_trained_on(tmp_path: Path) -> None:
    area = np.zeros((24, 24), np.uint8)
    area[:, :12] = 1
    for name in NAMES[:2]:
        for rater, mask in masks()[name].items():
            write_png(tmp_path / f"masks/{rater}/{name}.png", mask)
        write_png(tmp_path / f"area/net/{name}.png", area)
        for k, mask in enumerate(drawn()[name]["net"]):
            write_png(tmp_path / f"samples/net/{name}/{k}.png", mask)
    study = mt.Study.open(
        str(tmp_path / "masks/{rater}/{case}.png"), training=str(tmp_path / "area/{algorithm}/{case}.png"),
        samples=str(tmp_path / "samples/{algorithm}/{case}/{sample}.png"),
    )  # fmt: skip
    name = "energy_distance_unbiased_samples"
    cases = [
        {(r.case, r["against"]): r.value for r in result.tables["reach"].all(name, "case") if r.case in NAMES[:2]}
        for result in (mt.evaluate(study, lesions=False), evaluation())
    ]
    assert cases[0]
    assert cases[0] == pytest.approx(cases[1], rel=1e-12)


def test_calibration_tells_of_every_bin_what_was_said_and_what_was_marked() -> None:
    rows = [r for r in evaluation().tables["calibration"].rows if (r["against"], r.region) == ("vote share", "whole")]
    p = np.stack([maps()[name]["net"] for name in NAMES])
    share = np.stack([np.mean(list(masks()[name].values()), axis=0) for name in NAMES])
    inside = (p > 12 / 15) & (p <= 13 / 15)
    found = {(r.scope, r.statistic): r for r in rows if round(r["from"] * 15) == 12}
    assert found["pooled", "observed_share"].value == pytest.approx(share[inside].mean())
    assert found["pooled", "mean_forecast"].value == pytest.approx(p[inside].mean())
    assert found["pooled", "observed_share"].n == inside.sum()
    gaps = [share[i][inside[i]].mean() - p[i][inside[i]].mean() for i in range(12) if inside[i].any()]
    row = found["mean", "calibration_gap"]
    assert (row.value, row.n) == (pytest.approx(np.mean(gaps)), len(gaps))
    if len(gaps) >= 10:
        assert row.low < row.value < row.high


def test_samples_alone_make_a_probability_map() -> None:
    result = mt.evaluate(mt.Study.from_arrays(masks(), samples=drawn()), lesions=False)
    name = NAMES[0]
    p = np.mean(drawn()[name]["net"], axis=0)
    assert by_case("brier", "A", result)[name] == pytest.approx(brier(p, masks()[name]["A"]), rel=1e-12)
    assert by_case("pbar_area", "A", result)


def test_missing_samples_count_as_the_worst_and_are_said() -> None:
    samples = {name: by for name, by in drawn().items() if name != "p03"}
    study = mt.Study.from_arrays(masks(), predictions=maps(), samples=samples, probability=True)
    result = mt.evaluate(study, lesions=False)
    (note,) = [note for note in result.notes if code_of(note) == "missing_samples"]
    assert "1 of 12 cases (p03)" in note
    values = by_case("energy_distance", "all raters", result)
    assert np.isnan(values["p03"])
    mean = result.tables["scores"].find("energy_distance", "mean", algorithm="net", against="all raters")
    assert mean.value == pytest.approx((sum(v for v in values.values() if not np.isnan(v)) + 2) / 12)
    # a score of volumes has no worst value, so that its case is left out
    crps = result.tables["scores"].find("crps_volume", "mean", algorithm="net", against="A")
    assert (crps.n, crps.n_undefined) == (11, 1)


def test_samples_are_scored_beside_maps_that_are_no_probabilities() -> None:
    responses = {name: {"net": 3 * by["net"]} for name, by in maps().items()}
    study = mt.Study.from_arrays(masks(), predictions=responses, samples=drawn(), probability=True)
    result = mt.evaluate(study, lesions=False)
    assert not by_case("brier", "A", result)
    for name, against in (("crps_volume", "A"), ("energy_distance", "all raters")):
        assert by_case(name, against, result) == by_case(name, against)


def printed_of(result: mt.Evaluation) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_evaluation(result, console)
    return " ".join(console.file.getvalue().split())


def test_the_terminal_says_what_each_score_is_against() -> None:
    study = mt.Study.from_arrays(masks(), predictions=maps(), samples=drawn(), probability=True)
    result = mt.evaluate(study, lesions=False)
    printed = printed_of(result)
    assert "mean over raters unless said" in printed
    for header in ("Brier score", "soft Dice (vote share)", "energy distance (all raters)"):
        assert header in printed


def test_a_map_of_all_labels_is_said_not_to_be_scored_by_label() -> None:
    halves = {name: {r: m + (m & (np.arange(24) > 11)) for r, m in by.items()} for name, by in masks().items()}
    left = np.arange(24) <= 11
    each = {
        name: {"net": np.stack([by["net"] * left, by["net"] * ~left]), "one": by["net"]} for name, by in maps().items()
    }
    study = mt.Study.from_arrays(halves, predictions=each, probability=True, labels={1: "left", 2: "right"})
    result = mt.evaluate(study, lesions=False)
    assert {r["algorithm"] for r in result.tables["scores"].all("brier", "mean")} == {"net"}
    (note,) = [note for note in result.notes if code_of(note) == "no_probabilities"]
    assert note.startswith("one is scored by curves, not as a forecast: it has one map of all labels")


def test_an_algorithm_without_any_sample_is_refused() -> None:
    with pytest.raises(mt.CallError, match="there is no sample of 'net' in case 'p00'"):
        mt.Study.from_arrays(masks(), samples={"p00": {"net": []}})


def test_one_sample_has_no_spread() -> None:
    one = {name: {"net": by["net"][:1]} for name, by in drawn().items()}
    result = mt.evaluate(mt.Study.from_arrays(masks(), samples=one), lesions=False)
    assert "one_sample" in {code_of(note) for note in result.notes}
    assert np.isnan(by_case("sample_diversity", "all raters", result)["p00"])
    assert by_case("energy_distance", "all raters", result)["p00"] > 0
    (spread,) = [claim for claim in result.claims if claim.kind.id == "probability.spread"]
    assert (code_of(spread.why_not), str(spread.why_not)) == ("one_sample", "one sample of each case")


def test_the_best_of_more_samples_is_not_compared_with_the_best_of_fewer() -> None:
    more = {name: {"net": by["net"], "few": by["net"][:2]} for name, by in drawn().items()}
    result = mt.evaluate(mt.Study.from_arrays(masks(), samples=more), lesions=False)
    (note,) = [note for note in result.notes if code_of(note) == "numbers_of_samples"]
    assert "2 to 4 samples" in note
    assert "2 draws" in note


def test_the_calibration_error_of_single_cases_prefers_what_is_too_sure(tmp_path: Path) -> None:
    """So that rank says it of such a ranking, and of the energy distance that it falls with the number of samples."""
    rng = np.random.default_rng(8)
    rows, columns = np.mgrid[:24, :24] - 12
    away, study_masks, given = np.hypot(rows, columns), {}, {}
    for name in NAMES:
        study_masks[name] = {r: (away < 7 + rng.normal()).astype(np.uint8) for r in RATERS}
        given[name] = {"right": norm.sf(away, 7, 1), "sure": (away < 7).astype(float)}
    made = mt.evaluate(mt.Study.from_arrays(study_masks, predictions=given, probability=True), lesions=False)
    pooled = {r["algorithm"]: r.value for r in made.tables["scores"].all("expected_calibration_error", "pooled")
              if r["against"] == "vote share"}  # fmt: skip
    assert pooled["right"] < pooled["sure"]
    made.write(tmp_path)
    ranked = {
        metric: mt.rank(tmp_path / "evaluate/scores.csv", metric=metric, against=list(RATERS))
        for metric in ("expected_calibration_error", "brier")
    }
    assert {metric: result.ranking.order[0] for metric, result in ranked.items()} == {
        "expected_calibration_error": "sure", "brier": "right",
    }  # fmt: skip
    codes = {metric: {code_of(note) for note in result.notes} for metric, result in ranked.items()}
    assert "ranked_by_expected_calibration_error" in codes["expected_calibration_error"]
    assert not any(name.startswith("ranked_by") for name in codes["brier"])


def test_rankings_know_that_lower_is_better() -> None:
    other = {name: {"net": by["net"], "worse": np.full((24, 24), 0.5)} for name, by in maps().items()}
    result = mt.evaluate(mt.Study.from_arrays(masks(), predictions=other, probability=True), lesions=False)
    for metric in ("brier", "expected_calibration_error"):
        assert {r.order[0] for r in result.orders["", metric].rankings} == {"net"}


# -- several labels ------------------------------------------------------------------------------------

LABELS = {1: "core", 2: "rim"}


def labelled(radius: float) -> np.ndarray:
    return disc(radius=radius + 3) * 2 - disc(radius=radius)


@cache
def label_masks() -> dict[str, dict[str, np.ndarray]]:
    return {name: {r: labelled(3 + k + i % 2) for k, r in enumerate(RATERS)} for i, name in enumerate(NAMES)}


@cache
def label_maps() -> dict[str, np.ndarray]:
    """Channels: background, core, rim."""
    found = {}
    for i, name in enumerate(NAMES):
        every = [labelled(3.3 + k / 2 + i % 2) for k in range(3)]
        found[name] = np.stack([np.mean([m == value for m in every], axis=0) for value in (0, 1, 2)])
    return found


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("background", [True, False])
def test_channels_are_scored_by_label(axis: int, background: bool) -> None:
    predictions = {
        name: {"net": np.moveaxis(maps[0 if background else 1 :], 0, axis)} for name, maps in label_maps().items()
    }
    study = mt.Study.from_arrays(label_masks(), predictions=predictions, labels=LABELS, probability=True)
    result = mt.evaluate(study, lesions=False)
    for name in NAMES[:3]:
        values = []
        for value, label in LABELS.items():
            y = label_masks()[name]["A"] == value
            values.append(brier(label_maps()[name][value], y))
            assert by_case("brier", "A", result, label)[name] == pytest.approx(values[-1], rel=1e-12)
        assert by_case("brier", "A", result, "macro mean")[name] == pytest.approx(np.mean(values), rel=1e-12)


def test_samples_of_several_labels_are_compared_label_by_label() -> None:
    samples = {name: {"net": [labelled(3), labelled(4.5)]} for name in NAMES}
    result = mt.evaluate(mt.Study.from_arrays(label_masks(), samples=samples, labels=LABELS), lesions=False)
    name = NAMES[0]
    first, second = (m == 1 for m in samples[name]["net"])
    assert by_case("sample_diversity", "all raters", result, "core")[name] == pytest.approx(iou_distance(first, second))
    p = np.mean([first, second], axis=0)
    assert by_case("brier", "A", result, "core")[name] == pytest.approx(brier(p, label_masks()[name]["A"] == 1))


# -- what cannot be used -------------------------------------------------------------------------------


def test_responses_without_a_scale_have_curves_and_no_calibration() -> None:
    grey = {name: {"net": (by["net"] * 255).astype(np.uint8)} for name, by in maps().items()}
    study = mt.Study.from_arrays(masks(), predictions=grey, probability=True)
    result = mt.evaluate(study, lesions=False)
    (note,) = [note for note in result.notes if code_of(note) == "no_probabilities"]
    assert "--limits 0,255" in note
    assert by_case("pbar_area", "A", result)
    assert not by_case("brier", "A", result)
    assert "calibration" not in result.tables
    scaled = mt.evaluate(
        mt.Study.from_arrays(masks(), predictions=grey, probability=True, limits=(0.0, 255.0)), lesions=False
    )
    p = grey["p00"]["net"] / 255
    assert by_case("brier", "A", scaled)["p00"] == pytest.approx(brier(p, masks()["p00"]["A"]), rel=1e-12)


def test_numbers_beyond_one_are_counted_and_placed() -> None:
    odd = {name: {"net": by["net"].copy()} for name, by in maps().items()}
    odd["p02"]["net"][3, 4] = 1.5
    result = mt.evaluate(mt.Study.from_arrays(masks(), predictions=odd, probability=True), lesions=False)
    (note,) = [note for note in result.notes if code_of(note) == "no_probabilities"]
    assert "1 of 576 values are not between 0 and 1, such as 1.5 at (3, 4) (case p02)" in note


def evaluate_labels(change: Any) -> None:
    predictions = {name: {"net": change(maps.copy())} for name, maps in label_maps().items()}
    study = mt.Study.from_arrays(label_masks(), predictions=predictions, labels=LABELS, probability=True)
    mt.evaluate(study, lesions=False)


def test_labels_that_do_not_add_up_are_refused_with_where_and_by_how_much() -> None:
    def change(maps: np.ndarray) -> np.ndarray:
        maps[1, 2, 3] += 0.5
        return maps

    with pytest.raises(mt.InputError, match=r"do not add up to 1 in 1 of 576 pixels; they are 1.5 at \(2, 3\)"):
        evaluate_labels(change)


def test_channels_that_fit_no_labels_are_refused() -> None:
    with pytest.raises(mt.InputError, match=r"4×24×24 has as many channels as fit no labels; save 2 channels"):
        evaluate_labels(lambda maps: np.concatenate([maps, maps[:1]]))


def test_a_sample_that_is_no_mask_is_refused() -> None:
    wrong = {name: {"net": [(by["net"] * 255).astype(np.uint8)]} for name, by in maps().items()}
    with pytest.raises(mt.LabelError, match=r"case p00, sample 1 of net: holds .* values: it is no mask"):
        mt.evaluate(mt.Study.from_arrays(masks(), samples=wrong), lesions=False)


# -- files ---------------------------------------------------------------------------------------------


def write_samples(folder: Path) -> None:
    for case in ("p1", "p2"):
        for k in range(3):
            write_png(folder / f"drawn/net/{case}/{k}.png", disc(radius=5 + k))


def test_samples_are_found_by_their_template(capsys: Any, tmp_path: Path) -> None:
    template = write_study(tmp_path)
    write_samples(tmp_path)
    done = run(capsys, "evaluate", template, "--samples", f"{tmp_path}/drawn/{{algorithm}}/{{case}}/{{sample}}.png",
               "--out", tmp_path / "out")  # fmt: skip
    assert done.status == 0, done.err
    rows = table(tmp_path / "out/evaluate/scores.csv")
    assert {r["algorithm"] for r in rows if r["statistic"] == "energy_distance"} == {"net"}


@pytest.mark.slow
def test_maps_of_labels_may_be_files_of_their_own(capsys: Any, tmp_path: Path) -> None:
    for r in RATERS:
        for case in NAMES[:2]:
            write_png(tmp_path / f"masks/{r}/{case}.png", label_masks()[case][r].astype(np.uint8))
    for case in NAMES[:2]:
        for value, label in LABELS.items():
            write_npy(tmp_path / f"pred/net/{label}/{case}.npy", label_maps()[case][value])
    predictions = f"{tmp_path}/pred/{{algorithm}}/{{label}}/{{case}}.npy"
    call = ("evaluate", f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--probability", "--labels", "1=core,2=rim",
            "--predictions", predictions, "--out", tmp_path / "out")  # fmt: skip
    assert run(capsys, *call).status == 0
    rows = table(tmp_path / "out/evaluate/scores.csv")
    assert {r["label"] for r in rows if r["statistic"] == "brier"} == {"macro mean", "core", "rim"}
    without = [word for word in call if word not in ("--labels", "1=core,2=rim")]
    done = run(capsys, *without)
    assert done.status == 1
    assert "has {label}, and no labels are declared; name them as the files do (--labels 1=NAME,2=NAME)" in done.err
    (tmp_path / "pred/net/rim/p00.npy").unlink()
    done = run(capsys, *call)
    assert done.status == 1
    assert "there is no map of label rim" in done.err


def test_check_lists_what_is_wrong_with_samples(capsys: Any, tmp_path: Path) -> None:
    template = write_study(tmp_path)
    write_samples(tmp_path)
    for k in (1, 2):
        (tmp_path / f"drawn/net/p1/{k}.png").unlink()
    write_png(tmp_path / "drawn/net/p2/1.png", disc(size=20))
    done = run(capsys, "check", template, "--samples", f"{tmp_path}/drawn/{{algorithm}}/{{case}}/{{sample}}.png",
               "--out", tmp_path / "out")  # fmt: skip
    assert done.status == 1
    messages = [r["message"] for r in table(tmp_path / "out/check/problems.csv")]
    assert any("case p1: there is one sample of net" in m for m in messages)
    assert any("20×20" in m and "case p2" in m for m in messages)


# -- recalibration -------------------------------------------------------------------------------------


def sharp_maps() -> dict[str, dict[str, np.ndarray]]:
    """Too sure of themselves: logits are four times what they should be."""
    found = {}
    for name, by in maps().items():
        p = np.clip(by["net"], 1e-6, 1 - 1e-6)
        found[name] = {"net": 1 / (1 + ((1 - p) / p) ** 4)}
    return found


@pytest.mark.parametrize("way", ["temperature", "isotonic"])
def test_what_was_learnt_on_some_subjects_is_measured_on_the_others(way: Any) -> None:
    groups = {name: f"split={'calibration' if i % 2 else 'test'}" for i, name in enumerate(NAMES)}
    study = mt.Study.from_arrays(masks(), predictions=sharp_maps(), probability=True, groups=groups)
    rows = mt.evaluate(study, lesions=False, recalibrate=way).tables["recalibration"].rows
    found = {(r.statistic, r["when"]): r for r in rows if r["against"] == "vote share"}
    test = NAMES[::2]
    learn = [(sharp_maps()[n]["net"], masks()[n]) for n in NAMES[1::2]]
    counts = sum((mt.count_forecasts(p, m) for p, m in learn[1:]), start=mt.count_forecasts(*learn[0]))
    learnt = (mt.fit_temperature if way == "temperature" else mt.fit_isotonic)(counts)
    shares = {n: np.mean(list(masks()[n].values()), axis=0) for n in test}
    before = np.mean([brier(sharp_maps()[n]["net"], shares[n]) for n in test])
    after = np.mean([brier(learnt.apply(sharp_maps()[n]["net"]), shares[n]) for n in test])
    assert found["brier", "before"].value == pytest.approx(before, rel=1e-9)
    assert found["brier", "after"].value == pytest.approx(after, rel=1e-6)
    assert found["brier", "change"].value == pytest.approx(after - before, rel=1e-6)
    assert after < before
    assert found["brier", "change"].n == len(test)


def test_a_random_half_is_by_subject_and_the_same_for_a_seed() -> None:
    subjects = {name: f"s{i // 2}" for i, name in enumerate(NAMES)}
    study = mt.Study.from_arrays(masks(), predictions=maps(), probability=True, subjects=subjects)
    first, again = (mt.evaluate(study, lesions=False, recalibrate="temperature", seed=3) for _ in range(2))
    assert first.forecast_scores is not None
    assert again.forecast_scores is not None
    assert first.forecast_scores.recalibration is not None
    split = first.forecast_scores.recalibration.split
    assert again.forecast_scores.recalibration is not None
    assert again.forecast_scores.recalibration.split == split
    assert not {subjects[n] for n in split["calibration"]} & {subjects[n] for n in split["test"]}


@pytest.mark.parametrize(
    ("split", "said"),
    [
        (lambda i: "test", "there is no case for calibration"),
        (lambda i: "calibration", "there is no case for test"),
        (lambda i: "calibration" if i % 2 else "test", "s0, s1, s2, s3 and 2 more has cases in both parts"),
    ],
)
def test_a_split_that_cannot_be_used_is_refused(split: Any, said: str) -> None:
    groups = {name: f"split={split(i)}" for i, name in enumerate(NAMES)}
    subjects = {name: f"s{i // 2}" for i, name in enumerate(NAMES)}
    study = mt.Study.from_arrays(masks(), predictions=maps(), probability=True, groups=groups, subjects=subjects)
    with pytest.raises(mt.InputError, match=said):
        mt.evaluate(study, lesions=False, recalibrate="isotonic")


def test_a_constant_map_has_nothing_to_learn() -> None:
    constant = {name: {"net": np.full((24, 24), 0.5)} for name in NAMES}
    study = mt.Study.from_arrays(masks(), predictions=constant, probability=True)
    with pytest.raises(mt.InputError, match=r"--recalibrate isotonic, net, on .*: the map is 0.5 everywhere"):
        mt.evaluate(study, lesions=False, recalibrate="isotonic")


# -- bands ---------------------------------------------------------------------------------------------


def coverage(result: mt.Evaluation, against: str) -> dict[str, Any]:
    return {r.statistic: r for r in result.tables["bands"].rows if r["against"] == against}


def half() -> dict[str, str]:
    return {name: f"split={'calibration' if i % 2 else 'test'}" for i, name in enumerate(MANY)}


MANY = [f"q{i:02}" for i in range(24)]


@cache
def many() -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(5)
    return {name: {r: disc(size=40, radius=9 + rng.normal()) for r in RATERS} for name in MANY}


def test_a_band_of_distances_holds_references_as_often_as_it_does() -> None:
    predictions = {name: {"net": disc(size=40, radius=9)} for name in MANY}
    study = mt.Study.from_arrays(many(), predictions=predictions, groups=half())
    result = mt.evaluate(study, consensus="vote:0.5", lesions=False, band=0.9)
    rows = coverage(result, "vote:0.5")
    margins = {
        n: mt.smallest_margin(disc(size=40, radius=9), np.mean(list(many()[n].values()), axis=0) >= 0.5) for n in MANY
    }
    learnt = mt.conformal_margin(margins=[margins[n] for n in MANY[1::2]], coverage=0.9)
    assert rows["band_margin"].value == pytest.approx(learnt.margin)
    assert (rows["band_margin"].n, rows["band_margin"].unit) == (12, "pixels")
    held = [margins[n] <= learnt.margin for n in MANY[::2]]
    assert rows["band_coverage"].value == pytest.approx(np.mean(held))
    assert rows["band_expected_coverage"].high == pytest.approx(0.9 + 1 / 13)
    printed = printed_of(result)
    assert "Bands around outlines that hold the whole reference standard of a new subject with a prob" in printed
    low, high = (rows["band_coverage"].low, rows["band_coverage"].high)
    reached = f"{np.mean(held):.3f} ({low:.3f}–{high:.3f})"
    assert f"net vote:0.5 {learnt.margin:.4g} pixels 0.900 to {0.9 + 1 / 13:.3f} {reached}" in printed
    assert "bands_hold_all" not in {code_of(note) for note in result.notes}


def test_bands_that_hold_everything_are_said_to_say_nothing() -> None:
    """A map that is certain and wrong, and a mask that is missed."""
    p = disc(size=40, radius=4).astype(float)
    study = mt.Study.from_arrays(many(), predictions={n: {"net": p} for n in MANY}, groups=half(), probability=True)
    empty = mt.Study.from_arrays(
        many(), predictions={n: {"net": np.zeros((40, 40), np.uint8)} for n in MANY}, groups=half()
    )
    for made, margin in ((study, 0.5), (empty, np.inf)):
        result = mt.evaluate(made, consensus="vote:0.5", lesions=False, band=0.8)
        assert coverage(result, "vote:0.5")["band_margin"].value == margin
        (note,) = [note for note in result.notes if code_of(note) == "bands_hold_all"]
        assert note.endswith("say nothing of where the outline is: net against vote:0.5")


def test_bands_stand_in_the_order_of_reference_standards() -> None:
    """Not in that of a set, which differs from run to run."""
    methods = ("vote:0.25", "vote:0.5", "staple", "vote:0.75", "vote:any", "vote:all")
    study = mt.Study.from_arrays(many(), predictions={n: {"net": disc(size=40, radius=9)} for n in MANY})
    result = mt.evaluate(study, consensus=methods, lesions=False, band=0.8)
    rows = [r["against"] for r in result.tables["bands"].all("band_margin", "pooled")]
    assert rows == [r["against"] for r in result.tables["scores"].all("dice", "mean") if r["against"] in methods]


def test_a_band_knows_nothing_of_pixels_that_do_not_count(tmp_path: Path) -> None:
    """Neither of what lies outside the region of interest, nor of what the algorithm was trained on."""
    truth, roi, area = disc(), np.ones((24, 24), np.uint8), np.zeros((24, 24), np.uint8)
    roi[19:, :6], area[:, :9] = 0, 1
    predicted = truth.copy()
    predicted[:, :9] = 0
    predicted[20:, :4] = 1
    for name in NAMES:
        for rater in RATERS:
            write_png(tmp_path / f"masks/{rater}/{name}.png", truth)
        write_png(tmp_path / f"pred/net/{name}.png", predicted)
        write_png(tmp_path / f"area/net/{name}.png", area)
        write_png(tmp_path / f"roi/{name}.png", roi)
    study = mt.Study.open(
        str(tmp_path / "masks/{rater}/{case}.png"), predictions=str(tmp_path / "pred/{algorithm}/{case}.png"),
        training=str(tmp_path / "area/{algorithm}/{case}.png"), roi=str(tmp_path / "roi/{case}.png"),
    )  # fmt: skip
    result = mt.evaluate(study, consensus="vote:0.5", lesions=False, band=0.8)
    assert result.tables["scores"].find("dice", "mean", algorithm="net", against="A").value == 1
    row = coverage(result, "vote:0.5")["band_margin"]
    assert (row.value, row.region) == (
        0,
        result.tables["scores"].find("dice", "mean", algorithm="net", against="A").region,
    )


def test_a_band_of_probabilities_is_that_of_the_worst_pixel() -> None:
    rows, columns = np.mgrid[:40, :40] - 20
    p = 1 / (1 + np.exp(np.hypot(rows, columns) - 9))
    study = mt.Study.from_arrays(
        many(), predictions={n: {"net": p} for n in MANY}, groups=half(), probability=True
    )  # fmt: skip
    result = mt.evaluate(study, consensus="vote:0.5", lesions=False, band=0.8)
    masks = {n: np.mean(list(many()[n].values()), axis=0) >= 0.5 for n in MANY}
    margins = {n: mt.smallest_margin(p, masks[n], band="probability") for n in MANY}
    learnt = mt.conformal_margin(margins=[margins[n] for n in MANY[1::2]], coverage=0.8, band="probability")
    assert coverage(result, "vote:0.5")["band_margin"].value == pytest.approx(learnt.margin)


@pytest.mark.parametrize("options", [{"band": 0.8}, {"recalibrate": "temperature"}])
def test_nothing_is_learnt_from_maps_that_are_no_probabilities(options: dict[str, Any]) -> None:
    bytes_of = {name: {"net": (255 * maps()[name]["net"]).astype(np.uint8)} for name in NAMES}
    study = mt.Study.from_arrays(masks(), predictions=bytes_of, probability=True)
    with pytest.raises(mt.InputError, match=r"^--.*: there is nothing to learn from: net: whole numbers have no scale"):
        mt.evaluate(study, lesions=False, **options)


def test_one_map_that_is_no_probability_leaves_the_algorithm_without_a_band() -> None:
    """As it is without scores, and not with a band that was learnt on the other cases."""
    both = {name: {"net": by["net"], "other": by["net"] + 2 * (name == "p03")} for name, by in maps().items()}
    study = mt.Study.from_arrays(masks(), predictions=both, probability=True)
    result = mt.evaluate(study, consensus="vote:0.5", lesions=False, band=0.8)
    assert {r["algorithm"] for r in result.tables["bands"].rows} == {"net"}


@pytest.mark.parametrize("options", [{"band": 0.8}, {"recalibrate": "temperature"}])
def test_subjects_without_a_map_are_not_said_to_be_learnt_from(options: dict[str, Any]) -> None:
    some = {name: by for name, by in maps().items() if name not in ("p03", "p04")}
    groups = {name: f"split={'calibration' if i % 2 else 'test'}" for i, name in enumerate(NAMES)}
    study = mt.Study.from_arrays(masks(), predictions=some, probability=True, groups=groups)
    result = mt.evaluate(study, consensus="vote:0.5", lesions=False, **options)
    (note,) = [note for note in result.notes if code_of(note) in ("bands", "recalibration")]
    assert "on 5 subjects" in note
    assert "on 5 others" in note


def test_too_few_calibration_subjects_are_refused() -> None:
    study = mt.Study.from_arrays(many(), predictions={n: {"net": disc(size=40, radius=9)} for n in MANY}, groups=half())
    with pytest.raises(
        mt.InputError, match=r"a coverage of 0.95 needs at least 19 .* are 12; give more, or a lower coverage"
    ):
        mt.evaluate(study, consensus="vote:0.5", lesions=False, band=0.95)


# -- challenges ----------------------------------------------------------------------------------------


def test_scores_of_challenges_are_named_with_what_is_odd_about_them() -> None:
    study = mt.Study.from_arrays(masks(), predictions=maps(), probability=True)
    result = mt.evaluate(study, lesions=False, like="curvas")
    (note,) = [note for note in result.notes if code_of(note) == "like_curvas"]
    assert "saturates" in note
    for name in NAMES:
        raters = mt.Volumes([m.sum() for m in masks()[name].values()])
        wanted = mt.curvas_crps(float(maps()[name]["net"].sum()), raters)
        assert by_case("curvas_crps", "all raters", result)[name] == pytest.approx(wanted, rel=1e-6)
    assert not by_case("curvas_crps", "all raters")
    responses = {name: {"net": 3 * by["net"]} for name, by in maps().items()}
    unscaled = mt.Study.from_arrays(masks(), predictions=responses, probability=True)
    for like in ("curvas", "qubiq"):
        said = {code_of(note) for note in mt.evaluate(unscaled, lesions=False, like=like).notes}
        assert "no_probabilities" in said
        assert f"like_{like}" not in said
    (note,) = [note for note in mt.evaluate(study, lesions=False, like="qubiq").notes if code_of(note) == "like_qubiq"]
    assert "soft_dice" in note


def test_the_calibration_error_of_curvas_is_of_all_labels_at_once(tmp_path: Path) -> None:
    """Without what a rater did not rate, and where an algorithm is not judged."""
    area = np.zeros((24, 24), np.uint8)
    area[:, :5] = 1
    for name in ("p00", "p01"):
        for rater, mask in label_masks()[name].items():
            mask = mask.copy()
            mask[:3] = 9 if rater == "B" else mask[:3]
            write_png(tmp_path / f"masks/{rater}/{name}.png", mask)
        write_npy(tmp_path / f"maps/net/{name}.npy", label_maps()[name])
        write_npy(tmp_path / f"maps/worse/{name}.npy", np.roll(label_maps()[name], 7, axis=1))
        write_png(tmp_path / f"area/net/{name}.png", area)
    study = mt.Study.open(
        str(tmp_path / "masks/{rater}/{case}.png"), predictions=str(tmp_path / "maps/{algorithm}/{case}.npy"),
        training=str(tmp_path / "area/{algorithm}/{case}.png"), probability=True, labels=LABELS, void=9,
    )  # fmt: skip
    result = mt.evaluate(study, lesions=False, like="curvas")
    rows = [r for r in result.tables["scores"].all("curvas_calibration_error", "case") if r["algorithm"] == "net"]
    assert [(r.case, r.label, r["against"]) for r in rows] == [(n, "", "all raters") for n in ("p00", "p01")]
    for row in rows:
        every, errors = label_maps()[row.case], []
        for rater, mask in label_masks()[row.case].items():
            counts, gaps = 0, np.zeros(51)
            for i, j in np.ndindex(24, 24):
                if j >= 5 and not (rater == "B" and i < 3):
                    p, hit = every[:, i, j].max(), every[:, i, j].argmax() == mask[i, j]
                    gaps[int(np.searchsorted(np.linspace(0, 1, 51), p, side="right")) - 1] += p - hit  # 1 has its own
                    counts += 1
            errors.append(np.abs(gaps).sum() / counts)
        assert row.value == pytest.approx(np.mean(errors), abs=1e-6)
    for name in ("p00", "p01"):
        rows = [r for r in result.tables["scores"].all("curvas_dice", "case") if r.case == name]
        found = {r.label: r.value for r in rows if r["algorithm"] == "worse"}
        masks = {r: m.astype(int) for r, m in label_masks()[name].items()}
        masks["B"][:3] = 9
        wanted = mt.curvas_dice(dict(enumerate(np.roll(label_maps()[name], 7, axis=1))), masks, void=9)
        assert [found[LABELS[value]] for value in wanted] == pytest.approx(list(wanted.values()), abs=1e-12)
        assert found["macro mean"] == pytest.approx(np.mean(list(wanted.values())))
        assert found["macro mean"] < 1
    printed = printed_of(result)
    assert "all labels: As forecasts of what each rater marks" in printed
    assert "CURVAS's calibration error (all raters)" in printed
    # scores of all labels at once are ranked, too, beside the macro means of the others
    result.write(tmp_path)
    ranked = mt.rank(tmp_path / "evaluate/scores.csv", metric=["curvas_calibration_error", "brier", "pbar_area"])
    assert {board.metric for board in ranked.ranking.boards} == {"curvas_calibration_error", "brier", "pbar_area"}


def test_the_calibration_error_of_curvas_of_one_label_and_of_missing_maps() -> None:
    some = {name: by for name, by in maps().items() if name != "p03"}
    result = mt.evaluate(
        mt.Study.from_arrays(masks(), predictions=some, probability=True), lesions=False, like="curvas"
    )
    found = by_case("curvas_calibration_error", "all raters", result)
    assert found["p00"] == pytest.approx(mt.curvas_calibration_error({1: maps()["p00"]["net"]}, masks()["p00"]))
    assert code(found["p03"]) == "no_prediction"
    (mean,) = result.tables["scores"].all("curvas_calibration_error", "mean")
    every = [value for name, value in found.items() if name != "p03"]
    assert mean.value == pytest.approx((sum(every) + 1) / 12), "what is missing counts as the worst"
    dice = by_case("curvas_dice", "all raters", result)
    assert dice["p00"] == mt.curvas_dice({1: maps()["p00"]["net"]}, masks()["p00"])[1]
    assert code(dice["p03"]) == "no_prediction"
    (mean,) = result.tables["scores"].all("curvas_dice", "mean")
    assert mean.value == pytest.approx(sum(v for n, v in dice.items() if n != "p03") / 12), "the worst is 0"
    assert "curvas_calibration_error" not in {r.statistic for r in evaluation().tables["scores"].rows}
