"""What is said of sizes and of distances between raters, and what is not."""

from __future__ import annotations

import re

import nibabel
import numpy as np
import pytest

import manytruths as mt
from manytruths.claims.claim import Claims
from manytruths.claims.sentences import plain_text
from manytruths.core.undefined import code_of

ALL = ("sizes.icc", "sizes.limits", "sizes.detectable_change")


def disc(radius: float, at: tuple[float, float] = (20, 20), size: int = 40) -> np.ndarray:
    y, x = np.mgrid[:size, :size]
    return ((y - at[0]) ** 2 + (x - at[1]) ** 2 < radius**2).astype(np.uint8)


def study(raters: str, cases: int = 12, *, careless: bool = False, empty: int = 0, **more) -> mt.Study:
    """Discs of different sizes that raters draw with errors; the last one marks nothing in ``empty`` cases."""
    rng, masks = np.random.default_rng(0), {}
    for i in range(cases):
        radius = rng.uniform(4, 14)
        drawn = {r: disc(radius * rng.uniform(0.9, 1.2)) for r in raters}
        if careless:
            drawn[raters[-1]] = disc(rng.uniform(2, 18))
        if i < empty:
            drawn[raters[-1]] = disc(0)
        masks[f"p{i}"] = drawn
    return mt.Study.from_arrays(masks, **more)


def claims(of: mt.Study, measure="sizes,distances") -> Claims:
    return mt.agree(of, pictures=False, measure=measure).claims.spell_intervals("95% CI")


def said(found: Claims, kind: str) -> str:
    (claim,) = found.of(kind)
    return claim.text if claim.made else ""


@pytest.fixture(scope="module")
def two() -> Claims:
    return claims(study("AB", empty=1, spacing=(0.5, 0.5)))


@pytest.fixture(scope="module")
def three() -> Claims:
    return claims(study("ABC", careless=True))


def why_not(found: Claims, kind: str) -> str:
    (claim,) = found.of(kind)
    return code_of(claim.why_not or "")


def test_two_raters_have_limits_between_them(two):
    assert re.fullmatch(
        r"The limits of agreement of areas, as ratios of A to B, are \S+ \(95% CI \S+ to \S+\) and \S+ "
        r"\(95% CI \S+ to \S+\), with a mean ratio of \S+ \(95% CI \S+ to \S+\), over eleven of twelve cases, without "
        r"one case in which one or both of them marked nothing\. 95% of ratios are expected between them, if log "
        r"ratios are normally distributed\.",
        said(two, "sizes.limits").replace("12 cases", "twelve cases"),
    )
    assert not said(two, "sizes.no_spacing")
    assert " mm apart by the 95% Hausdorff distance" in said(two, "distances.between")
    assert "Of 12 pairs of masks, 1 has no distance, as one of the two is empty." in said(two, "distances.between")


def test_the_smallest_detectable_change_is_a_factor(two, three):
    pattern = (
        r"The smallest detectable change of areas is a factor of \S+{}: two areas of one case by different raters are "
        r"expected to differ by less in 95% of cases, if log ratios are normally distributed\.{}"
    )
    of_two = (
        ", over eleven of twelve cases, without one case in which a rater marked nothing",
        " Its interval has no useful upper end: two raters tell too little about how far others differ.",
    )
    for found, parts in ((two, of_two), (three, (r" \(95% CI \S+ to \S+\)", ""))):
        assert re.fullmatch(pattern.format(*parts), said(found, "sizes.detectable_change"))
    (claim,) = two.of("sizes.detectable_change")
    assert ",area,mm²,log,all,,,smallest_detectable_change" in claim.numbers[0].at


CORRELATION = (
    r"The intraclass correlation of logarithms of areas \(two-way random, absolute agreement, single rater\) is \S+ "
    r"\(95% CI \S+ to \S+\)(, over \w+ of \w+ cases, without one case in which a rater marked nothing)?\."
)


def test_correlations_of_logarithms_have_the_interval(two, three):
    """Sizes themselves are skewed, and no interval of their correlation covers."""
    plain = r" That of the areas themselves is \d\.\d+(?:, over all twelve cases, with empty masks as 0)?\."
    without = [re.fullmatch(CORRELATION + plain, said(of, "sizes.icc"))[1] for of in (two, three)]
    assert [bool(part) for part in without] == [True, False]
    (claim,) = three.of("sizes.icc")
    assert [",log," in number.at for number in claim.numbers] == [True, False]
    assert [bool(number.low) for number in claim.numbers] == [True, False]


def test_without_ratios_there_is_no_factor():
    """Where somebody marked nothing in every case, the sizes themselves have a correlation all the same."""
    found = claims(study("AB", empty=12))
    assert why_not(found, "sizes.detectable_change") == "no_size_above_zero"
    text = said(found, "sizes.icc")
    assert text.startswith("The intraclass correlation of areas (two-way random, ")
    assert "logarithms" not in text
    assert "CI" not in text


def test_patients_with_several_cases_have_an_interval_of_these_raters(three):
    rng = np.random.default_rng(1)
    radii = rng.uniform(4, 14, 24)
    masks = {f"p{i:02}": {r: disc(radii[i] * rng.uniform(0.9, 1.2)) for r in "ABC"} for i in range(24)}
    several = mt.Study.from_arrays(masks, subjects={name: f"s{i // 2}" for i, name in enumerate(masks)})
    assert "). The interval is about other patients with these raters. That of" in said(claims(several), "sizes.icc")
    assert "these raters" not in said(three, "sizes.icc")


def test_more_raters_have_limits_with_the_mean(three):
    text = said(three, "sizes.limits")
    assert text.startswith("The limits of agreement with the mean are a factor of ")
    assert text.endswith("They are not limits between two raters.")
    assert "(two-way random, absolute agreement, single rater)" in said(three, "sizes.icc")
    assert said(three, "sizes.no_spacing") == "Sizes are in pixels, since the size of a pixel is unknown."


def test_no_words_for_a_correlation(two, three):
    for found in (two, three):
        for claim in found.of(*ALL):
            assert not re.search(r"excellent|good|moderate|poor|reliable", claim.text)


def test_results_are_in_the_past(two, three):
    for found in (two, three):
        for claim in found.made.of(*ALL, "distances.between", "sizes.no_spacing"):
            assert re.search(r"\b(was|were)\b", plain_text(claim.result))
            assert claim.numbers or claim.kind.id == "sizes.no_spacing"


def test_exchangeable_raters_have_a_one_way_correlation():
    masks = {f"p{i}": [disc(4 + i), disc(5 + i), disc(4.4 + i)] for i in range(12)}
    found = claims(mt.Study.from_arrays(masks, raters="exchangeable"))
    assert "(one-way random, single rater)" in said(found, "sizes.icc")
    assert "with the mean" in said(found, "sizes.limits")


def test_few_cases_have_no_intervals():
    found = claims(study("ABC", 5))
    for kind in (*ALL, "distances.between"):
        assert said(found, kind)
        assert "CI" not in said(found, kind)
    for kind, have in (("sizes.limits", "they have"), ("sizes.detectable_change", "it has")):
        assert said(found, kind).endswith(f"With fewer than ten cases, {have} no interval and may be far off.")


def test_nothing_is_said_of_sizes_that_do_not_differ():
    """A correlation of 0, limits of a factor of 1 and a change of 0 pixels would be no findings."""
    same = {f"p{i}": {"A": disc(5), "B": disc(5), "C": disc(5, (18, 20))} for i in range(12)}
    found = claims(mt.Study.from_arrays(same))
    for kind in ALL:
        assert why_not(found, kind) == "constant_sizes"
    shifted = {f"p{i}": {"A": disc(4 + i), "B": disc(4 + i, (18, 20))} for i in range(12)}
    found = claims(mt.Study.from_arrays(shifted))
    assert why_not(found, "sizes.limits") == "no_spread"
    assert why_not(found, "sizes.detectable_change") == "no_spread"


def test_labels_have_numbers_of_their_own():
    rng = np.random.default_rng(1)
    masks = {}
    for i in range(12):
        sizes = rng.uniform(3, 7, 2)
        masks[f"p{i}"] = {
            r: disc(sizes[0] * rng.uniform(0.9, 1.2), (10, 10)) + 2 * disc(sizes[1] * rng.uniform(0.9, 1.2), (28, 28))
            for r in "ABC"
        }
    found = claims(mt.Study.from_arrays(masks))
    for kind in (*ALL, "distances.labels"):
        assert "for label 1" in said(found, kind)
        assert "for label 2" in said(found, kind)
    assert "two labels, each against the rest" in said(found, "distances.between")


def test_marks_at_the_border_are_counted():
    masks = {f"p{i}": {r: disc(5 + i, (20, 3 if i < 2 else 20)) for r in "AB"} for i in range(6)}
    found = claims(mt.Study.from_arrays(masks))
    text = "In 2 of 6 cases (p0 and p1) a mark touches the border of the image: its size is a lower limit."
    assert said(found, "sizes.cut_by_border") == text


def test_cases_without_any_mark_count_as_zero():
    masks = {f"p{i}": {r: disc((4 + i + "AB".index(r) / 3) * (i > 0)) for r in "AB"} for i in range(12)}
    (claim,) = claims(mt.Study.from_arrays(masks)).of("sizes.icc")
    end = r"\. That of the areas themselves {} \S+; {} in which nobody marked anything {} as 0\."
    assert re.search(end.format("is", "one case", "counts") + "$", claim.text)
    assert re.search(end.format("was", "one case", "counted") + "$", plain_text(claim.result))
    two = masks | {"q": {r: disc(0) for r in "AB"}}
    assert re.search(end.format("is", "two cases", "count") + "$", said(claims(mt.Study.from_arrays(two)), "sizes.icc"))


def test_over_how_many_cases_the_sizes_themselves_are_correlated():
    """Printed before: "…, over 14 of 16 cases, … That of the areas themselves is 0.90", which was over all 16."""
    masks = {f"p{i:02}": {r: disc(5 + i + "ABC".index(r) / 3) for r in "ABC"} for i in range(14)}
    masks["p03"]["A"] = disc(0)
    (claim,) = claims(mt.Study.from_arrays(masks)).of("sizes.icc")
    first = ", over 13 of 14 cases, without one case in which a rater marked nothing. "
    assert first in claim.text
    assert claim.text.endswith(", over all 14 cases, with empty masks as 0.")
    linear = float(next(number.value for number in claim.numbers if ",linear," in number.at))
    areas = np.array([[of[r].sum() for r in "ABC"] for of in masks.values()], float)
    assert linear == pytest.approx(float(mt.icc(areas)))
    assert linear != pytest.approx(float(mt.icc(areas[areas.all(axis=1)])), abs=0.001)
    nobody = masks | {"q": dict.fromkeys("ABC", disc(0))}
    text = said(claims(mt.Study.from_arrays(nobody)), "sizes.icc")
    assert ", over 13 of 15 cases, without two cases in which a rater marked nothing. " in text
    assert text.endswith(", over all 15 cases, with empty masks as 0; in one case nobody marked anything.")


def test_cases_without_a_ratio_in_which_nobody_marked_anything_are_no_case_of_one_rater():
    """Printed before: "without one case in which a rater marked nothing", where all of them agreed on that."""
    masks = {f"p{i}": {r: disc((4 + i + "AB".index(r) / 3) * (i > 0)) for r in "AB"} for i in range(12)}
    found = claims(mt.Study.from_arrays(masks))
    for kind in ("sizes.icc", "sizes.limits", "sizes.detectable_change"):
        text = ", over eleven of twelve cases, without one case in which nobody marked anything"
        assert text in said(found, kind), kind


def test_the_range_of_sizes_says_that_other_readings_are_in_it(tmp_path):
    """Printed before: a range from the second reading on, beside a correlation of the first ones."""
    rng = np.random.default_rng(4)
    for i in range(12):
        for place in ("A/1", "B/1", "B/2"):
            (tmp_path / place).mkdir(parents=True, exist_ok=True)
            radius = 3 if (place, i) == ("B/2", 0) else rng.uniform(6, 14)
            np.save(tmp_path / place / f"p{i}.npy", disc(radius))
    found = claims(mt.Study.open(str(tmp_path / "{rater}/{session}/{case}.npy"), spacing=(1, 1)))
    assert re.match(rf"Areas in all readings range from {disc(3).sum()}(\.0)? to ", said(found, "sizes.range"))


def test_repeated_readings_name_the_rater(tmp_path):
    rng = np.random.default_rng(2)
    for i in range(12):
        radius = rng.uniform(4, 14)
        for place in ("A/1", "B/1", "B/2"):
            folder = tmp_path / place
            folder.mkdir(parents=True, exist_ok=True)
            np.save(folder / f"p{i}.npy", disc(radius * rng.uniform(0.9, 1.2)))
    found = claims(mt.Study.open(str(tmp_path / "{rater}/{session}/{case}.npy")))
    text = said(found, "sizes.repeatability")
    assert text.startswith("The repeatability coefficient of areas is a factor of ")
    assert "two areas of one case by rater B are expected to differ by less in 95% of cases, if log ratios" in text


def test_what_is_not_measured_is_not_mentioned():
    found = claims(study("AB"), measure="none")
    assert not [claim for claim in found if claim.kind.id.startswith(("sizes.", "distances."))]


def few_cases(**numbers: int) -> Claims:
    """Raters A and B measure twelve cases, others the first few."""
    rng, masks = np.random.default_rng(0), {}
    for i in range(12):
        radius = rng.uniform(4, 14)
        raters = ["A", "B", *(rater for rater, count in numbers.items() if i < count)]
        masks[f"p{i}"] = {r: disc(radius * rng.uniform(0.9, 1.2)) for r in raters}
    return claims(mt.Study.from_arrays(masks), measure="sizes")


def test_raters_with_few_cases_are_named():
    """One case moves the correlation and the limits, and tells hardly anything about its rater."""
    one, two, many = few_cases(cla=1), few_cases(cla=1, dan=9), few_cases(c=2, d=3, e=4, f=5, g=10)
    first, *others = ALL
    assert said(one, first).endswith(". Rater cla measured one of twelve cases.")
    assert said(two, first).endswith(". Rater cla measured one and rater dan measured nine of twelve cases.")
    assert said(many, first).endswith(". Of seven raters, four measured fewer than ten of twelve cases.")
    assert "measured" not in said(few_cases(cla=10), first)
    assert "measured" not in said(few_cases(), first)
    for kind in others:
        assert said(one, kind)
        assert "measured" not in said(one, kind), "once is enough"


def test_an_interval_without_a_useful_end_is_not_quoted():
    """B draws larger by a constant: of two raters, the variance between raters has one degree of freedom."""
    rng = np.random.default_rng(1)
    radii = rng.uniform(5, 16, 12)
    found = claims(mt.Study.from_arrays({f"p{i}": {"A": disc(r), "B": disc(1.1 * r)} for i, r in enumerate(radii)}))
    text = said(found, "sizes.detectable_change")
    assert "CI" not in text
    assert text.endswith(
        "Its interval has no useful upper end: two raters tell too little about how far others differ."
    )
    (claim,) = found.of("sizes.detectable_change")
    assert not claim.numbers[0].low


def test_an_interval_that_is_quoted_is_not_said_to_have_no_end():
    """Printed before: "5.19 for tumour and 1.52 (1.33–2.17) for fat: … Its interval has no useful upper end"."""

    def text_of(outer: float, inner: float) -> str:
        """B draws the tumour larger by one factor and the core by another; both differ a little from case to case."""
        masks = {}
        for i in range(14):
            drawn = {}
            for rater, (a, b) in {"A": (1, 1), "B": (outer, inner)}.items():
                more = 1 + 0.06 * (-1) ** i * (rater == "B")
                drawn[rater] = disc((11 + i / 3) * a * more, (25, 25), 90) + 2 * disc(
                    (9 + i / 4) * b * more, (68, 68), 90
                )
            masks[f"p{i}"] = drawn
        found = claims(mt.Study.from_arrays(masks, labels={1: "tumour", 2: "core"}))
        return said(found, "sizes.detectable_change")

    texts = text_of(1, 1), text_of(1, 1.3), text_of(1.3, 1.3)
    end = " no useful upper end: two raters tell too little about how far others differ."
    assert "upper end" not in texts[0]
    assert texts[1].count("95% CI") == 1
    assert texts[1].endswith(f"The interval for core has{end}")
    assert "CI" not in texts[2]
    assert re.search(rf"The intervals for \w+ and \w+ have{re.escape(end)}$", texts[2])


def test_the_cases_without_a_pixel_size_are_named(tmp_path):
    rng = np.random.default_rng(0)
    for rater in "AB":
        (tmp_path / rater).mkdir()
        np.save(tmp_path / rater / "p0.npy", disc(rng.uniform(6, 14)))
        for i in range(1, 4):
            volume = nibabel.Nifti1Image(disc(rng.uniform(6, 14))[..., None], np.diag([0.5, 0.5, 1, 1]))
            nibabel.save(volume, tmp_path / rater / f"p{i}.nii")
    found = claims(mt.Study.open(str(tmp_path / "{rater}/{case}")), measure="sizes")
    assert said(found, "sizes.no_spacing") == (
        "In 1 of 4 cases (p0.npy) sizes are in pixels, since the size of a pixel is unknown there."
    )


def test_cases_in_which_nobody_marked_a_label_are_counted_for_each_label():
    rng, masks = np.random.default_rng(5), {}
    for i in range(14):
        radius, drawn = rng.uniform(4, 12), {}
        for rater in "AB":
            drawn[rater] = disc(radius * rng.uniform(0.9, 1.1))
            if i >= 3:
                drawn[rater][disc(radius * rng.uniform(0.5, 0.6)) == 1] = 2
        masks[f"p{i:02}"] = drawn
    (claim,) = claims(mt.Study.from_arrays(masks, labels={1: "tumour", 2: "core"})).of("sizes.icc")
    said_so = "; cases in which nobody marked the label {} as 0, on which raters agree (three cases for core)."
    assert said_so.format("count") in claim.text
    assert said_so.format("counted") in plain_text(claim.result)


def test_a_correlation_of_nearly_one_is_not_written_with_six_digits():
    masks = {f"p{i:02}": {r: disc(10 + 4 * i, (90, 90), 180) for r in "AB"} for i in range(16)}
    for i, drawn in enumerate(masks.values()):
        drawn["B"][0, : 1 + i % 2] = 1
    text = said(claims(mt.Study.from_arrays(masks)), "sizes.icc")
    assert "single rater) is > 0.999" in text
    assert "themselves is > 0.999." in text
    assert not re.search(r"0\.9999|1\.0000", text)


def test_the_range_of_sizes_is_that_of_the_table(three):
    table = mt.agree(study("ABC", careless=True), pictures=False, measure="sizes").tables["sizes"]
    values = [row.value for row in table.all("area", "case")]
    assert said(three, "sizes.range") == f"Areas range from {min(values):.0f} to {max(values):.0f} pixels."
    (claim,) = claims(study("AB", empty=1)).of("sizes.range")
    assert plain_text(claim.result).startswith("Areas ranged from ")
    assert claim.text.endswith(" pixels (empty masks apart).")
    assert [float(number.value) > 0 for number in claim.numbers] == [True, True]


def test_the_unit_stands_with_the_range_of_every_label():
    rng, masks = np.random.default_rng(1), {}
    for i in range(10):
        drawn = {r: disc(rng.uniform(8, 14)) for r in "ABC"}
        for mask in drawn.values():
            mask[disc(rng.uniform(4, 7)) == 1] = 2
        masks[f"p{i}"] = drawn
    text = said(claims(mt.Study.from_arrays(masks, labels={1: "tumour", 2: "core"})), "sizes.range")
    assert re.fullmatch(r"Areas range from \d+ to \d+ pixels for tumour and from \d+ to \d+ pixels for core\.", text)


def test_sizes_that_do_not_differ_have_no_range():
    same = {f"p{i}": {r: disc(6) for r in "AB"} for i in range(12)}
    assert why_not(claims(mt.Study.from_arrays(same)), "sizes.range") == "no_range"
