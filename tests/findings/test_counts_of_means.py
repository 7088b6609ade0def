"""A mean that is not defined for all subjects says for how many it is, in its cell."""

from __future__ import annotations

import re

from printed import printed


def test_every_mean_says_of_how_many_patients_it_is(demo_page):
    """Printed before in one row under "mean over 21 patients": means of 20 and of 21 patients, alike."""
    part = demo_page.split("How far do the reference standards differ? (mean over patients)")[2]
    dice, size, changed = re.findall(r"[\d.]+%? \([\d.%]+–[\d.%]+\)(?: n = \d+)?", part)[:3]
    assert (dice.endswith(" n = 20"), size.endswith(" n = 20")) == (True, True)
    assert "n =" not in changed, "defined for all 21"


def test_a_title_has_no_number_of_patients_that_is_not_that_of_all_its_means(demo_page):
    """Printed before over means of 20, 19 and 17 patients: "mean over 21 patients"."""
    assert "Raters against each reference standard, mean over patients" in demo_page
    assert "All scores: algorithm by reference standard, mean over patients" in demo_page
    titles = re.findall(r"[^.]{0,60}, mean over 21 patients|[^.]{0,60}\(mean over 21 patients\)", demo_page)
    assert not titles


def test_the_terminal_says_it_too(demo):
    """Printed before: kappa of 20 subjects and percent agreement of 21 under "mean over subjects", alike."""
    text = printed("reliability", demo.template, *demo.options, "--out", demo.folder, "--no-pictures")
    assert "mean over 21 patients" in text
    assert re.search(r"Fleiss' kappa [\d.]+ \([\d.]+–[\d.]+\), n 20", text)
    assert re.search(r"percent agreement [\d.]+ \([\d.]+–[\d.]+\) ", text)
