"""Ranks have sets that hold the true rank; what resampling gives is called that."""

from __future__ import annotations

import numpy as np
from printed import printed

from study_folders import table


def write_scores(path, means, cases=14, seed=0):
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.05, cases)
    lines = ["case,algorithm,metric,value"]
    for name, mean in means.items():
        scores = np.clip(mean + hard + rng.normal(0, 0.03, cases), 0, 1)
        lines += [f"p{case:02},{name},dice,{score:.6f}" for case, score in enumerate(scores)]
    path.write_text("\n".join([*lines, ""]))


def rank_sets(folder, *arguments) -> tuple[str, dict[str, tuple[float, float]]]:
    text = printed("rank", folder / "scores.csv", "--out", folder, "--no-pictures", "--resamples", 200, *arguments)
    rows = [r for r in table(folder / "rank/rankings.csv") if (r["statistic"], r["scheme"]) == ("rank", "mean")]
    return text, {
        row["algorithm"]: (float(row["low"]), float(row["high"])) for row in rows if row["scope"] == "ranking"
    }


def test_who_cannot_be_told_apart_has_a_set_of_both_ranks(tmp_path):
    """Printed before: rank "1 (1–1)" and "2 (2–2)" of two algorithms that "cannot be told apart"."""
    found = []
    for seed in range(12):
        write_scores(tmp_path / "scores.csv", {"unet": 0.86, "vnet": 0.845, "wnet": 0.6}, seed=seed)
        text, sets = rank_sets(tmp_path)
        if "unet and vnet cannot be told apart" in text:
            found.append((sets["unet"], sets["vnet"]))
    assert len(found) > 6
    assert set(found) == {((1, 2), (1, 2))}


def test_sets_of_ranks_hold_all_true_ranks(tmp_path):
    """Before, ranges of resampled ranks that were called 95% intervals held all of them in 23 of 30 studies."""
    means, held = {f"net{number}": 0.82 - 0.004 * number for number in range(6)}, []
    for seed in range(30):
        write_scores(tmp_path / "scores.csv", means, cases=20, seed=seed)
        _, sets = rank_sets(tmp_path)
        held.append(all(sets[name][0] <= rank <= sets[name][1] for rank, name in enumerate(means, start=1)))
    assert np.mean(held) >= 0.95


def test_a_range_of_resampled_ranks_is_not_called_an_interval(demo_page):
    """Printed before: rank "1 (1–1)", "with its 95% CI over resamples of the patients"."""
    assert "95% CI over resamples" not in demo_page
    assert "simultaneous 95% set" in demo_page
    assert "in 95% of the resamples of the patients: no CI" in demo_page


def test_shares_of_resamples_are_not_called_probability_of_superiority(demo_page):
    """Printed before: "(probability of superiority)", which means something else."""
    assert "is ahead of" in demo_page
    assert "probability of superiority" not in demo_page
