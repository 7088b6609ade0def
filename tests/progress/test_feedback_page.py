"""A rater's own page: it names nobody else, shows nothing unread, and says nothing that was not found."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
from running_studies import RATERS, TODAY, write_running

import manytruths as mt
from browser import chromium, opened
from manytruths import CallError
from manytruths.reporting.progress_page.views import CONSENSUS
from study_folders import table


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Wilhelmina drifts; Zebulon and Yevgenia have not read the last cases."""
    folder = tmp_path_factory.mktemp("Quirinus was here")
    unread = {"Yevgenia": 12, "Zebulon": 5}
    return write_running(folder / "study", drifts="Wilhelmina", unread=unread, cases=60, sessions=True)


@pytest.fixture(scope="module")
def result(study):
    return mt.progress(study, today=TODAY)


def page_of(result, folder, rater, **how):
    return mt.progress_page(result, to=folder, rater=rater, **how).path.read_text(encoding="utf-8")


def views_of(page):
    """What the viewer has, by case."""
    found = [
        json.loads(text) for text in re.findall(r'<script type="application/json" id="case-\d+">(.*?)</script>', page)
    ]
    return {view["name"]: view for view in found}


def text_of(page):
    shown = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", shown)))


@pytest.mark.parametrize("rater", RATERS)
def test_no_other_rater_is_named_anywhere(result, study, tmp_path, rater):
    page = page_of(result, tmp_path, rater)
    assert rater in page
    others = [name for name in RATERS if name != rater]
    assert not [name for name in others if name.casefold() in page.casefold()]
    # neither paths nor names of sessions
    assert str(study) not in page
    assert "Quirinus was here" not in page
    assert "reads.csv" not in page
    assert not any(view["columns"][0]["session"] == "first" for view in views_of(page).values())


@pytest.mark.parametrize("how", [{"dates": False}, {"labels": 2}, {"depth": 4}, {"raters": RATERS[:2]}, {"log": False}])
def test_nor_where_little_is_known(tmp_path, how):
    folder = write_running(tmp_path / "s", **({"cases": 12, "unread": {"Quirinus": 3}} | how))
    page = page_of(mt.progress(folder, today=TODAY), tmp_path, "Quirinus")
    assert not [name for name in RATERS if name != "Quirinus" and name.casefold() in page.casefold()]
    assert str(folder) not in page


def test_the_key_is_beside_the_page_and_keeps_codes(result, tmp_path):
    first = views_of(page_of(result, tmp_path, "Wilhelmina"))
    key = {row["name"]: row["code"] for row in table(tmp_path / "progress_key.csv")}
    assert set(key) == set(RATERS)
    assert sorted(key.values()) == ["R1", "R2", "R3", "R4"]
    again = views_of(page_of(result, tmp_path, "Wilhelmina"))
    assert first == again
    shown = {column["name"] for view in first.values() for column in view["columns"]}
    assert shown <= {"Wilhelmina", CONSENSUS, *(key[name] for name in RATERS if name != "Wilhelmina")}
    assert key["Wilhelmina"] not in shown


def test_only_cases_that_the_rater_has_read_are_shown(result, tmp_path):
    page = page_of(result, tmp_path, "Zebulon", examples=100)
    views = views_of(page)
    assert len(views) > 10
    assert not {f"case{k:03}" for k in range(55, 60)} & set(views)
    for view in views.values():
        assert "Zebulon" in {column["name"] for column in view["columns"]}


def test_what_is_said_is_about_this_rater_alone(result, tmp_path):
    mine, other = (text_of(page_of(result, tmp_path, rater)) for rater in ("Wilhelmina", "Quirinus"))
    assert "Rater Wilhelmina has come to draw larger beside the others" in mine
    assert "What you do differently" in mine
    assert "has come to draw" not in other
    assert "Nothing shows that rater Quirinus changes over time" in other
    assert "What you do differently" not in other


def test_the_numbers_are_those_of_the_tables(result, tmp_path):
    told = text_of(page_of(result, tmp_path, "Wilhelmina"))
    comparison = result.index("comparison")
    for statistic in ("dice", "relative_size"):
        row = comparison.row(statistic, "mean", "Wilhelmina")
        assert f"{row.value:.2f} (95% CI {row.low:.2f} to {row.high:.2f})" in told


def test_examples_are_the_cases_that_differ_most(result, tmp_path):
    page = page_of(result, tmp_path, "Wilhelmina", examples=3)
    mine = result.readings["Wilhelmina"]
    # where only one other has read a case, as far as others usually lie from each other
    among = np.where(np.isnan(mine.among), np.nanmedian(mine.among), mine.among)
    excess = dict(zip(mine.cases, (among - mine.dice).tolist(), strict=True))
    worst = sorted((case for case in excess if np.isfinite(excess[case])), key=lambda case: -excess[case])[:3]
    assert list(views_of(page)) == worst
    assert page.count("<li data-name=") == 3
    # the rater who draws larger and larger differs most late
    assert min(int(case[4:]) for case in worst) > 30


def test_confidential_images_can_be_left_out(result, tmp_path):
    shown, bare = (views_of(page_of(result, tmp_path, "Wilhelmina", show_images=show)) for show in (True, False))
    assert all(view["image"] for view in shown.values())
    assert not any(view["image"] for view in bare.values())


def test_a_missing_image_does_not_tell_its_path(study, tmp_path):
    for path in (study / "images").iterdir():
        path.rename(study / f"{path.stem}.gone")
    try:
        page = page_of(mt.progress(study, today=TODAY), tmp_path, "Wilhelmina")
    finally:
        for path in study.glob("*.gone"):
            path.rename(study / "images" / f"{path.stem}.png")
    assert "it is missing or cannot be read" in page
    assert str(study) not in page


def test_where_nothing_differs_that_is_said(tmp_path):
    same = {f"p{k}": dict.fromkeys(("Ann", "Bob", "Cid"), np.eye(9, k=k % 3)) for k in range(12)}
    told = text_of(page_of(mt.progress(mt.Study.from_arrays(same), today=TODAY), tmp_path, "Ann"))
    assert (
        "In none of the twelve shared cases do your masks lie farther from the others' than these from each other."
        in told
    )
    assert "What you do differently" not in told


def test_the_same_masks_as_of_the_only_other_rater_are_called_the_same(tmp_path):
    same = {f"p{k}": dict.fromkeys(("Ann", "Bob"), np.eye(9, k=k)) for k in range(3)}
    told = text_of(page_of(mt.progress(mt.Study.from_arrays(same), today=TODAY), tmp_path, "Ann"))
    assert "In all three shared cases, your masks are the same as those of the other rater." in told


def test_no_examples_are_shown_where_none_are_wanted(result, tmp_path):
    told = text_of(page_of(result, tmp_path / "new" / "folder", "Wilhelmina", examples=0))
    assert "Cases to look at" not in told
    assert "In none of" not in told


def test_who_shares_no_case_is_told_so(tmp_path):
    masks = {"p1": {"Ann": np.eye(5)}, "p2": {"Bob": np.eye(5), "Cid": np.eye(5)}}
    told = text_of(page_of(mt.progress(mt.Study.from_arrays(masks), today=TODAY), tmp_path, "Ann"))
    assert "No case was marked by you and by another rater yet: there is nothing to compare." in told


def test_with_one_other_rater_cases_that_differ_are_shown(tmp_path):
    masks = {f"p{k}": {"Ann": np.eye(9), "Bob": np.eye(9) if k else np.tri(9)} for k in range(4)}
    page = page_of(mt.progress(mt.Study.from_arrays(masks), today=TODAY), tmp_path, "Ann")
    assert list(views_of(page)) == ["p0"]


def test_copies_are_a_matter_for_the_curator(tmp_path):
    rng = np.random.default_rng(0)
    masks = {}
    for k in range(20):
        drawn = [rng.random((30, 30)) < 0.5 for _ in range(3)]
        masks[f"p{k:02}"] = {"Ann": drawn[0], "Bob": drawn[1], "Cid": drawn[2], "Dot": drawn[2]}
    result = mt.progress(mt.Study.from_arrays(masks), today=TODAY)
    assert result.claims.of("progress.copies").made
    told = text_of(page_of(result, tmp_path, "Dot"))
    assert "copy" not in told
    assert "Cid" not in told


def test_volumes_tell_which_slice_is_shown(tmp_path):
    folder = write_running(tmp_path / "s", cases=12, depth=5, drifts="Zebulon")
    page = page_of(mt.progress(folder, today=TODAY), tmp_path, "Zebulon")
    assert re.search(r"slice [2-5]\b", text_of(page))
    assert all(view["shape"][0] > 1 for view in views_of(page).values())


def test_unknown_raters_and_those_without_readings_are_refused(study, result, tmp_path):
    with pytest.raises(CallError, match="is it Wilhelmina"):
        mt.progress_page(result, to=tmp_path, rater="Wilhelmine")
    lazy = write_running(tmp_path / "lazy", cases=4, unread={"Yevgenia": 4})
    with pytest.raises(CallError, match="has read nothing yet"):
        mt.progress_page(mt.progress(lazy, today=TODAY), to=tmp_path, rater="Yevgenia")


def test_names_of_raters_may_be_names_of_codes(tmp_path):
    masks = {f"p{k}": {"R1": np.tri(9), "R2": np.eye(9), "R3": np.tri(9, k=1)} for k in range(3)}
    page = page_of(mt.progress(mt.Study.from_arrays(masks), today=TODAY), tmp_path, "R2")
    names = {column["name"] for view in views_of(page).values() for column in view["columns"]}
    assert "R2" in names
    assert not {"R1", "R3"} & names


def test_a_page_of_a_rater_whose_name_is_no_file_name(tmp_path):
    masks = {"p1": {"../a/b": np.eye(5), "B": np.tri(5)}}
    page = mt.progress_page(mt.progress(mt.Study.from_arrays(masks), today=TODAY), to=tmp_path, rater="../a/b")
    assert page.path.parent == tmp_path
    assert page.path.is_file()


def test_the_viewer_opens_with_own_outline_and_consensus_alone(result, tmp_path):
    page = mt.progress_page(result, to=tmp_path, rater="Wilhelmina").path
    with chromium() as browser, opened(browser, page) as shown:
        name = shown.page.locator(".thumbnails li").first.get_attribute("data-name")
        shown.page.locator(".thumbnails li button").first.click()
        shown.viewer.loaded(name)
        ticked = shown.page.locator("input[data-place]:checked")
        names = [ticked.nth(k).get_attribute("data-column") for k in range(ticked.count())]
        assert names == ["Wilhelmina", CONSENSUS]
        assert shown.clean()
