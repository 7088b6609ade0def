"""The section of groups that were asked for: its numbers are those of the tables, also under codes."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from page_numbers import fits, held_against

import manytruths as mt

Y, X = np.mgrid[:32, :32]


@pytest.fixture(scope="module")
def study():
    rng, cases = np.random.default_rng(0), {}
    for k in range(12):
        radius = rng.uniform(7, 10)
        cases[f"p{k:02}"] = {
            f"R{j}": (np.hypot(Y - 16, X - 16) < radius * rng.lognormal(0, 0.05 if j < 4 else 0.12)).astype(np.uint8)
            for j in range(8)
        }
    groups = {case: f"scanner={'A' if k % 2 else 'B'}" for k, case in enumerate(cases)}
    known = {f"R{j}": {"expertise": "senior" if j < 4 else "junior", "name": f"Doctor {j}"} for j in range(8)}
    return mt.Study.from_arrays(cases, groups=groups, properties=known, primary="groups.raters")


@pytest.fixture(scope="module", params=[False, True], ids=["names", "codes"])
def report(request, study, tmp_path_factory):
    to = tmp_path_factory.mktemp("report") / "report.html"
    return mt.report(
        study, to=to, by="expertise,scanner", codes=request.param, measure="none", viewer=False, resamples=50
    )


def test_the_section_has_sentences_and_tables_with_addresses(report):
    page = report.path.read_text(encoding="utf-8")
    assert "Do groups differ?" in page
    assert "By expertise, raters of the group" in page
    assert re.search(
        r"No difference is claimed between the groups [AB] and [AB] \(scanner\): the difference has no interval", page
    )
    numbers = [number for number in held_against(report.path, report.folder) if "agree/groups.csv" in number.at]
    assert len(numbers) > 20
    assert [number for number in numbers if not fits(number)] == []
    assert report.claims.of("groups.raters").made


def test_the_section_draws_the_numbers_of_its_claims_and_says_what_is_adjusted(report):
    page = unescape(report.path.read_text(encoding="utf-8"))
    section = page[page.index("Do groups differ?") :]
    assert "Groups of raters by expertise" in section
    assert "Groups of cases by scanner" in section
    row = report.tables["agree/groups"].find("dice_difference", "mean", by="expertise")
    assert f"{row['group_a']} − {row['group_b']}: {row.value:.3f}".replace("-", "−") in section
    assert "Adjusted p values are Holm's, over 1 test of Dice (the primary claim) and, separately, 2 tests" in section
    assert "were compared by permuting whole raters, with p values adjusted by Holm's method" in page


def test_codes_keep_the_column_that_was_asked_for_and_no_other(report):
    page = report.path.read_text(encoding="utf-8")
    assert ("Doctor 3" in page) == (report.key is None)
    assert "senior" in page


def test_the_results_text_names_the_groups(report):
    page = report.path.read_text(encoding="utf-8")
    assert "agreed more with each other than those of the group" in page
    assert "Difference of two groups" in page


def test_where_no_claim_is_made_the_numbers_and_what_p_was_compared_with_are_given(tmp_path):
    """Of equal raters: which group is first is chance."""
    rng, cases = np.random.default_rng(5), {}
    for k in range(12):
        radius = rng.uniform(7, 10)
        sizes = radius * rng.lognormal(0, 0.08, 8)
        cases[f"p{k:02}"] = {f"R{j}": (np.hypot(Y - 16, X - 16) < sizes[j]).astype(np.uint8) for j in range(8)}
    known = {f"R{j}": {"tool": "new" if j < 4 else "old"} for j in range(8)}
    made = mt.report(
        mt.Study.from_arrays(cases, properties=known, primary="groups.raters"),
        to=tmp_path / "report.html", by="tool", measure="none", viewer=False, resamples=50,
    )  # fmt: skip
    (claim,) = made.claims.of("groups.raters")
    assert not claim.made
    page = re.sub(r"<[^>]+>", "", unescape(made.path.read_text(encoding="utf-8")))
    row = made.tables["agree/groups"].find("dice_difference", "mean", by="tool")
    p = made.tables["agree/groups"].find("dice_p_holm", "mean", by="tool").value
    assert f"by the test of new and old (tool) (adjusted p {p:.3f}, compared with 0.05)" in page
    difference = f"{row.value:.3f}".replace("-", "−")
    ends = " to ".join(f"{end:.3f}".replace("-", "−") for end in (row.low, row.high))
    assert (
        f"the difference (new minus old) was {difference} (95% CI {ends}), over twelve cases and for these raters "
        f"alone, adjusted p {p:.3f}." in page
    )
    assert re.search(r"By tool, the mean Dice of two raters was 0\.\d\d \(95% CI [^)]*\) within new and", page)
    assert "Groups of raters by tool were compared by permuting whole raters" in page
