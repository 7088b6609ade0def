"""Two tissues that fill the image are two labels, in every command: nobody is told that the raters agree in all."""

from __future__ import annotations

import re

import numpy as np
import pytest
from printed import page, printed, write_masks

from label_studies import tissue_maps
from study_folders import pixels, table

LABELS = ("1", "2")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Four raters with a Dice of 0.75 and 0.94 in the two labels, and of 0.99 in any label."""
    folder = tmp_path_factory.mktemp("tissues")
    return folder, write_masks(folder / "masks", tissue_maps(10, 120))


@pytest.fixture(scope="module")
def agreed(study):
    folder, template = study
    return printed("agree", template, "--out", folder), folder / "agree"


@pytest.fixture(scope="module")
def report(study):
    folder, template = study
    return page(template, folder)


def test_the_overlap_of_the_study_is_that_of_its_labels(agreed):
    """Printed before: Dice 0.993 of two raters, whatever the label."""
    rows = [r for r in table(agreed[1] / "agreement.csv") if r["statistic"] == "dice" and r["scope"] == "mean"]
    by_label = {row["label"]: float(row["value"]) for row in rows}
    assert [by_label[label] for label in LABELS] == pytest.approx([0.75, 0.94], abs=0.02)
    assert max(by_label.values()) < 0.95, "labels are united"
    assert "Dice is 0.93" in agreed[0] or "Dice is 0.94" in agreed[0]


def test_the_report_gives_the_mean_over_labels_and_each_label(report):
    """Printed before: "any two raters overlap, whatever the label, by a mean Dice of 0.99"."""
    assert re.search(r"Two raters overlap by a mean Dice of 0\.8\d .* two labels, each against the rest", report)
    assert "whatever the label" not in report
    assert re.search(r"Label by label, Dice is 0\.9\d .* for label 2 and 0\.7\d .* for label 1\.", report)


def test_the_results_text_gives_no_united_overlap(report):
    """Printed before: "the Dice coefficient of two raters was 0.99"."""
    text = report.split("Copy results text")[1].split("References (BibTeX)")[0]
    assert re.search(r"Dice \D*0\.8\d", text)
    assert not re.search(r"Dice coefficient of two raters was (0\.99|1\.00)", text)


def test_nobody_is_said_to_differ_little(agreed, report):
    """Printed before: "No rater differs much from the others: the mean Dice distance to them is at most 0.01"."""
    assert "differs much" not in report
    rows = [r for r in table(agreed[1] / "raters.csv") if r["statistic"] == "mean_difference" and r["rater"]]
    assert min(float(row["value"]) for row in rows) > 0.1


def test_nothing_is_said_of_a_background_that_cannot_be_reduced(report):
    """There is less background than marks; shown before: a table in which nothing changes."""
    assert "Does it matter how much background is counted?" not in report
    assert "and at most as much background" in report


def test_nobody_is_suspected_of_copying(agreed, report):
    """Printed before, of all six pairs: "have a Dice of 0.997: is one a copy or an edit?"."""
    assert "copy or an edit" not in agreed[0]
    assert "drew nearly the same" not in report
    assert "draw alike, or else they did not work alone" not in report


def test_raters_have_rows_of_each_label(agreed):
    """There was no row with a label before."""
    rows = [r for r in table(agreed[1] / "raters.csv") if r["statistic"] == "sensitivity" and r["rater"] == "A"]
    assert {row["label"] for row in rows} > set(LABELS)


def test_confusions_count_every_pixel_of_every_pair(agreed):
    """Left out before: the pixels that either rater left to the background."""
    rows = table(agreed[1] / "confusions.csv")
    assert sum(float(row["value"]) for row in rows) == 6 * 10 * 120 * 120
    assert {"background", *LABELS} == {row["label_a"] for row in rows} | {row["label_b"] for row in rows}


def test_heatmaps_show_where_labels_differ(study, agreed):
    """Before, nearly every pixel counted four raters who "marked it"."""
    masks = np.stack([pixels(study[0] / f"masks/{rater}/t01.png") for rater in "ABCD"])
    most = np.max([(masks == label).sum(axis=0) for label in range(3)], axis=0)
    assert (pixels(agreed[1] / "heatmaps/t01.tif") == 4 - most).all()


def test_the_viewer_shows_where_labels_differ(study, report):
    """Its map was "Raters who marked it": the whole image, by four of four."""
    html = (study[0] / "report.html").read_text(encoding="utf-8")
    assert html.count("Raters who differ from the most frequent label") >= 10
    assert "Raters who marked it" not in html


def test_the_default_consensus_keeps_the_labels_apart(study):
    """The first method before wrote masks of 0 and 1."""
    folder, _ = study
    template = write_masks(folder / "two", tissue_maps(2, 60))
    printed("fuse", template, "--out", folder)
    written = sorted((folder / "fuse/consensus").rglob("t01.*"))
    assert len(written) == 2
    for path in written:
        assert set(np.unique(pixels(path))) >= {1, 2}, path


def test_the_plan_is_that_of_each_label(study):
    """Printed before: one rater "says what most raters would in 0.992 of the cases", and four "are more than that"."""
    folder, template = study
    text = printed("plan", "--pilot", template, "--out", folder, "--no-pictures")
    rows = [r for r in table(folder / "plan/plan.csv") if r["statistic"] == "majority_accuracy"]
    assert {row["label"] for row in rows} == set(LABELS)
    assert "are more than that" not in text
    assert "are enough" not in text
    assert "Of two labels, this is about label 1, whose range is the lowest." in text
    assert "cases for label 1 and " in text
    assert "of 10 cases for label 2" in text


def test_the_report_does_not_call_four_raters_enough(study, report):
    """Printed before: in 99% of the pixels, and "two more would add less than 1 percentage point"."""
    assert "two more would add less" not in report
    assert "there are enough" not in report
