"""Several labels are not one foreground: macro means, each label, and kappa of all at once."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from scipy import stats

import manytruths as mt
from label_studies import three_labels, tissue_maps
from manytruths.core.labels import MACRO
from manytruths.core.undefined import code


def coarse_tissues():
    """Every other row and column, which show the same in a quarter of the time."""
    return {case: {rater: m[::2, ::2] for rater, m in by.items()} for case, by in tissue_maps().items()}


@pytest.fixture(scope="module")
def tissue():
    return mt.agree(mt.Study.from_arrays(coarse_tissues()), pictures=False)


@pytest.fixture(scope="module")
def three():
    return mt.agree(mt.Study.from_arrays(three_labels()), pictures=False)


def dice_of(a: np.ndarray, b: np.ndarray, label: int) -> float:
    one, other = a == label, b == label
    return 2 * (one & other).sum() / (one.sum() + other.sum()) if (one | other).any() else np.nan


def mean_dice(masks: dict[str, np.ndarray], label: int) -> float:
    """The mean over pairs of raters for which it is defined."""
    names = sorted(masks)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    values = [dice_of(masks[a], masks[b], label) for a, b in pairs]
    return np.nanmean(values) if not np.isnan(values).all() else np.nan


def test_the_headline_of_two_tissues_is_the_mean_of_their_dice(tissue):
    dice = {row.label: row.value for row in tissue.agreement.all("dice", "mean")}
    assert set(dice) == {MACRO, "1", "2"}
    assert dice["1"] == pytest.approx(0.75, abs=0.01)
    assert dice["2"] == pytest.approx(0.94, abs=0.01)
    assert tissue.headline("dice").value == pytest.approx((dice["1"] + dice["2"]) / 2)
    assert tissue.headline("fleiss_kappa").label == ""
    united = mt.agree(mt.Study.from_arrays(tissue_maps(3), foreground="any"), pictures=False)
    assert united.headline("dice").value > 0.99, "what uniting labels would say"


@pytest.mark.parametrize("name", ["dice", "iou", "volume_difference", "positive_agreement", "unanimous"])
def test_no_overlap_is_that_of_united_labels(name, tissue, three):
    for result in (tissue, three):
        assert result.agreement.all(name, "mean")
        assert all(row.label for row in result.agreement.rows if row.statistic == name)


def test_the_macro_mean_goes_over_subjects_then_over_labels(three):
    """A label that nobody used in a case is undefined there, and counted."""
    cases = three_labels()
    by_label = {label: [mean_dice(masks, label) for masks in cases.values()] for label in (1, 2, 3)}
    means = [np.nanmean(values) for values in by_label.values()]
    assert three.headline("dice").value == pytest.approx(np.mean(means))
    wrong = np.nanmean([np.nanmean(values) for values in zip(*by_label.values(), strict=True)])
    assert abs(np.mean(means) - wrong) > 0.01, "the study does not tell the two apart"
    rare = three.agreement.find("dice", "mean", label="3")
    assert (rare.n, rare.n_undefined) == (3, 9)
    first = [np.nanmean([values[0] for values in by_label.values()]), np.nanmean([by_label[1][1], by_label[2][1]])]
    for case, value in zip(("q01", "q02"), first, strict=True):
        assert three.agreement.find("dice", "case", case=case, label=MACRO).value == pytest.approx(value)


def test_a_label_of_few_subjects_has_no_interval(three):
    for scope in ("mean", "pooled"):
        rare, common, macro = (three.agreement.find("dice", scope, label=label) for label in ("3", "2", MACRO))
        assert np.isnan(rare.low)
        assert np.isnan(rare.high)
        assert scope == "pooled" or common.low < common.value < common.high
        assert np.isnan(macro.low), "one of the labels has too few subjects"
        assert macro.cells()[-1] == "label_of_few_subjects"


def test_a_label_that_nobody_used_is_said_and_left_out():
    labels = {1: "gland", 2: "tumour", 4: "stroma"}
    cases = {name: {r: np.where(m == 3, 0, m) for r, m in by.items()} for name, by in three_labels().items()}
    result = mt.agree(mt.Study.from_arrays(cases, labels=mt.Labels.of(labels)), pictures=False)
    rows = {row.label: row for row in result.agreement.all("dice", "mean")}
    assert np.isnan(rows["stroma"].value)
    assert rows[MACRO].value == pytest.approx((rows["gland"].value + rows["tumour"].value) / 2)
    assert rows[MACRO].low < rows[MACRO].value
    assert "Nobody used stroma." in result.claims.of("agreement.labels")[0].text


def test_intervals_of_macro_means_are_those_of_the_subjects_means(tissue):
    """Where every label is defined for every subject."""
    row = tissue.agreement.find("dice", "mean", label=MACRO)
    means = [np.mean([mean_dice(masks, label) for label in (1, 2)]) for masks in coarse_tissues().values()]
    alone = mt.agreement.contributions(np.array([[m, m] for m in means]))
    assert alone == pytest.approx(means)
    assert row.low < np.mean(means) < row.high
    assert row.high - row.low < 4 * np.std(means, ddof=1) / np.sqrt(len(means)) * 1.3


def test_contributions_have_the_macro_mean_for_their_mean():
    values = np.array([[0.8, 0.6, np.nan], [0.6, np.nan, 0.1], [0.7, 0.9, np.nan], [np.nan] * 3])
    each = mt.agreement.contributions(values)
    assert np.nanmean(each) == pytest.approx(np.mean([0.7, 0.75, 0.1]))
    assert np.isnan(each[-1])


def test_confusions_include_the_background(tissue):
    table = tissue.tables["confusions"]
    pairs = {(row["label_a"], row["label_b"]) for row in table.rows}
    assert {("background", "background"), ("background", "1"), ("background", "2"), ("1", "2")} <= pairs
    raters, pixels = 4, 300 * 300 * 12
    assert sum(row.value for row in table.rows) == pixels * raters * (raters - 1) / 2


def test_curves_are_those_of_each_label(three):
    labels = {row.label for row in three.curve.rows}
    assert labels == {"1", "2", "3"}


def test_pairs_have_macro_means_and_each_label(three):
    cases = three_labels()
    row = three.tables["pairs"].find("dice", "mean", rater_a="A", rater_b="B", relation="between", label=MACRO)
    each = [np.nanmean([dice_of(by["A"], by["B"], label) for by in cases.values()]) for label in (1, 2, 3)]
    assert row.value == pytest.approx(np.mean(each))
    assert {r.label for r in three.tables["pairs"].all("dice", "mean")} == {MACRO, "1", "2", "3"}


def test_without_background_every_value_is_a_label():
    """A tissue map without background is legal."""
    cases = tissue_maps(3, 60, ground=False)
    labels = mt.Labels.of({1: "grey", 2: "white"})
    result = mt.agree(
        mt.Study.from_arrays(cases, labels=labels, background="none", raters="exchangeable"),
        pictures=False,
    )
    assert {row.label for row in result.agreement.all("dice", "mean")} == {MACRO, "grey", "white"}
    zero = {case: {r: m - 1 for r, m in by.items()} for case, by in cases.items()}
    names = mt.Labels.of({0: "grey", 1: "white"})
    same = mt.agree(mt.Study.from_arrays(zero, labels=names, background="none", raters="exchangeable"), pictures=False)
    for row, other in zip(result.agreement.rows, same.agreement.rows, strict=True):
        if not row.statistic.startswith("krippendorff_alpha_"):
            assert (row.label, row.value) == (other.label, pytest.approx(other.value, nan_ok=True))
    fused = mt.consensus(mt.Study.from_arrays(zero, labels=names, background="none"), "plurality")["t01"]
    assert set(np.unique(fused.values)) == {0, 1}


def test_without_background_labels_are_declared_and_unlabelled_pixels_are_void():
    cases = tissue_maps(2, 60)
    with pytest.raises(mt.StudyError, match="needs the labels"):
        mt.Study.from_arrays(cases, background="none")
    with pytest.raises(mt.StudyError, match="exclude each other"):
        mt.Study.from_arrays(cases, background="none", foreground="any")
    study = mt.Study.from_arrays(cases, labels=mt.Labels.of({1: "a", 2: "b"}), background="none", void=0)
    table = study.tally()["t01"]
    assert table.labels.values == (1, 2)
    assert table.labels.background is None
    assert mt.Tally.from_csv(table.to_csv()) == table


# -- what is said ----------------------------------------------------------------------------------


def page_text(path) -> str:
    html = re.sub(r"<script.*?</script>|<style.*?</style>|<svg.*?</svg>", "", path.read_text(), flags=re.DOTALL)
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))


@pytest.mark.slow
def test_terminal_report_and_claims_say_the_same_of_two_tissues(tissue, tmp_path, capsys):
    tissue.print()
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    page = mt.report(mt.Study.from_arrays(coarse_tissues()), to=tmp_path / "report.html", resamples=200)
    text = page_text(page.path)
    for kind in ("agreement.overlap", "agreement.labels", "agreement.beyond_chance"):
        claim = tissue.claims.of(kind)[0]
        assert claim.made
        assert claim.text in printed
        words = re.sub(r"[\d.]+(?: \(.*?\))?", "", claim.text)[:40]
        assert words.strip() in re.sub(r"[\d.]+(?: \(.*?\))?", "", text)
    assert "mean Dice of 1.00" not in text.split("reference standard")[0]
    assert "each against the rest" in text
    assert "there are enough" not in text


@pytest.mark.parametrize(("cases", "size"), [(1, 600), pytest.param(12, 60, marks=pytest.mark.slow)])
def test_the_report_of_two_tissues_without_background_says_nothing_of_them_united(cases, size, tmp_path):
    """Labels 1 and 2 fill the image: as one foreground, raters and algorithm would be the same everywhere."""
    maps = tissue_maps(cases, size, ground=False)
    raters = {case: {r: mask for r, mask in by.items() if r != "D"} for case, by in maps.items()}
    study = mt.Study.from_arrays(
        raters, predictions={case: {"net": by["D"]} for case, by in maps.items()},
        labels=mt.Labels.of({1: "grey", 2: "white"}), background="none",
    )  # fmt: skip
    page = mt.report(study, to=tmp_path / "report.html", resamples=50)
    text = re.split(r"Claims: \d+ made", page_text(page.path))[0]
    for words in ("possible cop", "drew nearly the same", "is identical to", "gave the same label to", "are enough"):
        assert words not in text
    range_of_plan = re.search(r"agrees with that of a very large panel.*?not seen\.", text)
    said = text.replace(range_of_plan.group(), "") if range_of_plan else text
    assert not re.search(r"(?<!\d)100%", said)
    lead = text.split("Most disputed cases")[0].split("The plurality")[0]
    assert "Dice of 1.00" not in lead
    assert "draws larger and rater" not in text
    assert re.search(r"0\.9\d .*for white and 0\.[67]\d .*for grey", lead)
    mt.fuse(study, out=tmp_path / "out", pictures=False)
    masks = [np.load(path) for path in (tmp_path / "out/fuse/consensus").rglob("*.npy")]
    assert len(masks) == 2 * cases
    assert all(set(np.unique(mask)) == {1, 2} for mask in masks)


def test_macro_means_have_an_interval_over_subjects_and_raters(tissue, three):
    """Each of its parts by leaving out a subject, a rater, and both."""
    rows = [result.agreement.find("dice_over_both", "mean", label=MACRO) for result in (tissue, three)]
    assert code(rows[1].low) == "label_of_few_subjects"
    cases, names = coarse_tissues(), "ABCD"

    def macro(subjects, raters):
        by_label = [
            np.nanmean([mean_dice({r: cases[s][r] for r in raters}, label) for s in subjects]) for label in (1, 2)
        ]
        return np.mean(by_label)

    subjects = list(cases)
    without = {s: [o for o in subjects if o != s] for s in subjects}
    others = {r: [o for o in names if o != r] for r in names}
    theta = macro(subjects, names)
    by_subject = np.array([macro(without[s], names) for s in subjects])
    by_rater = np.array([macro(subjects, others[r]) for r in names])
    n, k = len(subjects), len(names)
    of_subjects = (n - 1) / n * ((by_subject - by_subject.mean()) ** 2).sum()
    of_raters = (k - 1) / k * ((by_rater - by_rater.mean()) ** 2).sum()
    joint = np.array([[macro(without[s], others[r]) for r in names] for s in subjects])
    common = (n - 1) * (k - 1) / (n * k) * ((joint - by_subject[:, None] - by_rater + theta) ** 2).sum()
    whole = max(of_subjects + of_raters - common, of_subjects, of_raters)
    df = whole**2 / (of_subjects**2 / (n - 1) + of_raters**2 / (k - 1))
    assert rows[0].value == pytest.approx(theta)
    # on the scale of the logit
    half = stats.t.ppf(0.975, df) * np.sqrt(whole) / (theta * (1 - theta))
    ends = [1 / (1 + np.exp(-(np.log(theta / (1 - theta)) + sign * half))) for sign in (-1, 1)]
    assert (rows[0].low, rows[0].high) == pytest.approx(ends)


def test_level_words_cover_the_interval_and_name_the_region(tissue, three):
    for result in (tissue, three):
        row = result.headline("fleiss_kappa")
        text = result.claims.of("agreement.beyond_chance")[0].text
        words = {mt.interpret_kappa(end) for end in (row.low, row.high)}
        assert "over all pixels that were rated" in text
        assert all(word in text for word in words)
        assert f"({row.low:.2f}–{row.high:.2f})" in text


def test_no_word_without_an_interval():
    few = mt.agree(mt.Study.from_arrays(three_labels(5)), pictures=False)
    text = " ".join(claim.text for claim in few.claims.made)
    assert "by the scale of" not in text
    assert not few.claims.of("agreement.reliable", "agreement.tentative", "agreement.unreliable").made


def test_two_raters_get_no_verdict():
    two = mt.agree(mt.Study.from_arrays(three_labels(12, raters="AB")), pictures=False)
    rule = two.claims.of("agreement.reliable", "agreement.tentative", "agreement.unreliable", "agreement.undecided")
    assert len(rule) == 4
    assert not rule.made
    assert {claim.why_not.code for claim in rule} == {"too_few_raters"}
    assert two.claims.of("agreement.overlap")[0].text.startswith("The two raters overlap by a mean Dice of")


def noisy(reliability: float) -> mt.Study:
    rng = np.random.default_rng(0)
    cases = {}
    for number in range(15):
        truth = rng.random((40, 40)) < 0.5
        wrong = {r: rng.random((40, 40)) < rng.uniform(0.5, 1.5) * (1 - reliability) for r in "ABC"}
        cases[f"p{number:02}"] = {r: (truth ^ flip).astype(np.uint8) for r, flip in wrong.items()}
    return mt.Study.from_arrays(cases)


@pytest.mark.parametrize(
    ("reliability", "kind"),
    [(0.98, "agreement.reliable"), (0.94, "agreement.tentative"), (0.8, "agreement.unreliable")],
)
def test_krippendorffs_rule_goes_by_the_limits_of_the_mean(reliability, kind):
    result = mt.agree(noisy(reliability), pictures=False)
    alpha = result.agreement.find("krippendorff_alpha", "mean")
    rule = result.claims.of("agreement.reliable", "agreement.tentative", "agreement.unreliable", "agreement.undecided")
    assert [claim.kind.id for claim in rule.made] == [kind]
    limits = {"agreement.reliable": alpha.low >= 0.8, "agreement.tentative": 0.667 <= alpha.low < 0.8,
              "agreement.unreliable": alpha.high < 0.667}  # fmt: skip
    assert limits[kind]
    assert not any("Krippendorff" in note for note in result.notes), "the rule is said once"
