"""The page about a study that runs: what a curator is told, and that every number is that of a table."""

from __future__ import annotations

import html
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from running_studies import RATERS, TODAY, write_running

import manytruths as mt
from browser import PHONE, chromium, opened
from manytruths import CallError
from manytruths.cli import status
from study_folders import table

sys.path.insert(0, str(Path(__file__).parent.parent / "reporting"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page of a study in which a rater drifts and another is behind, and its folder."""
    folder = tmp_path_factory.mktemp("running")
    write_running(folder / "study", drifts="Wilhelmina", unread={"Yevgenia": 12}, cases=60)
    given = ["progress", folder / "study", "--out", folder / "out", "--today", TODAY, "--quiet", "--for", "Wilhelmina"]
    assert status(list(map(str, given))) == 0
    return folder


def text_of(page):
    """What can be read on a page, without scripts and styles."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", shown)))


def page_of(study, to, **how):
    result = mt.progress(study, today=TODAY)
    page = mt.progress_page(result, to=to / "page.html", **how)
    return result, page.path.read_text(encoding="utf-8")


def test_it_tells_first_how_far_the_study_is_and_who_changes(made):
    told = text_of((made / "out/progress.html").read_text())
    rows = table(made / "out/progress/claims.csv")
    said = [row for row in rows if row["made"] == "yes" and row["claim"].startswith("progress.")]
    assert {"progress.coverage", "progress.agreement", "progress.drift_size"} <= {row["claim"] for row in said}
    lead = told[: told.index("What to do next")]
    for row in said:
        numbers = re.findall(r"\d+\.\d+|\d+", row["text"])
        assert numbers
        assert all(number in lead for number in numbers), row["text"]
    assert re.search(r"Rater +Wilhelmina has come to draw larger", lead)
    assert "228 of 240 readings are there; 12 of the others are late." in lead


def test_every_number_is_that_of_a_table(made):
    from page_numbers import Numbers, addresses

    page = (made / "out/progress.html").read_text()
    numbers = Numbers(page)
    lines = addresses(made / "out")
    assert len(numbers.found) > 60
    for number in numbers.found:
        (line,) = lines[number.at]
        assert (number.value, number.low, number.high) in (
            (line["value"], line["low"], line["high"]), (line["value"], "", "")
        ), number  # fmt: skip


def test_what_is_late_is_listed_with_who_and_since_when(made):
    page = (made / "out/progress.html").read_text()
    listed = page[page.index('id="table-late"') :]
    listed = listed[: listed.index("</table>")]
    late = table(made / "out/progress/late.csv")
    assert len(late) == 12
    assert listed.count("<tr") == 13
    assert all(row["case"] in listed and row["since"] in listed for row in late)
    assert "others have read the case" in listed


def test_charts_show_who_read_what_and_what_moves(made):
    page = (made / "out/progress.html").read_text()
    for name in ("how-far", "coverage", "agreement-so-far", "sizes-over-time", "dice-over-time", "minutes-over-time"):
        assert f'id="chart-{name}"' in page
        chart = (made / f"out/progress/charts/{name}.svg").read_text()
        assert chart in page
    # the marked half of the readings begins where the sentence says
    assert "later half" in page


def test_hints_name_the_next_commands(made):
    told = text_of((made / "out/progress.html").read_text())
    assert "manytruths next STUDY --budget 60" in told
    assert "manytruths progress STUDY --for NAME" in told


def test_the_page_is_one_file_that_asks_for_nothing(made):
    page = (made / "out/progress.html").read_text()
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]+"', page)
    assert "default-src 'none'" in html.unescape(page)


def test_both_pages_open_silently_also_on_a_phone(made):
    with chromium() as browser:
        for path in ("out/progress.html", "out/progress-Wilhelmina.html"):
            for options in ({}, {"viewport": PHONE, "color_scheme": "dark"}):
                with opened(browser, made / path, **options) as shown:
                    wide = shown.page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    assert wide <= 0
                    assert shown.clean()


def test_the_grid_can_be_reached_by_keyboard_where_it_scrolls(made):
    with chromium() as browser, opened(browser, made / "out/progress.html", viewport=PHONE) as shown:
        box = shown.page.locator("#chart-coverage .scroll")
        assert box.evaluate("box => box.tabIndex") == 0
        assert shown.page.locator("#chart-coverage svg").get_attribute("aria-label") == "Who read what"


def test_without_dates_nothing_is_drawn_over_time_and_it_is_said_why(tmp_path):
    result, page = page_of(write_running(tmp_path / "s", dates=False), tmp_path)
    assert not [name for name in result.charts if "time" in name]
    told = text_of(page)
    assert "It was not tested whether a rater changes" in told
    assert "neither dates of readings" in told


def test_two_raters_are_compared_but_not_tested(tmp_path):
    result, page = page_of(write_running(tmp_path / "s", raters=("Abelard", "Heloise")), tmp_path)
    assert {"sizes-over-time", "dice-over-time"} <= set(result.charts)
    told = text_of(page)
    assert "of two, nobody knows who drifts" in told
    assert "nothing to compare yet" not in told


def test_several_labels_have_sizes_of_their_own(tmp_path):
    result, page = page_of(write_running(tmp_path / "s", labels=3, cases=12), tmp_path)
    assert [name for name in result.charts if name.startswith("sizes")] == [f"sizes-over-time-{k}" for k in (1, 2, 3)]
    assert "Relative size, 2" in text_of(page)
    _, own = page_of(tmp_path / "s", tmp_path, rater="Zebulon")
    assert "Relative size, 3" in text_of(own)


def test_a_single_case_has_a_page(tmp_path):
    _, page = page_of(write_running(tmp_path / "s", cases=1), tmp_path)
    assert "4 of 4 readings are there" in text_of(page)


def test_raters_who_share_no_case_have_a_page(tmp_path):
    masks = {f"p{k}": {name: np.eye(6)} for k, name in enumerate("ABC")}
    _, page = page_of(mt.Study.from_arrays(masks), tmp_path)
    told = text_of(page)
    assert "How far do the raters agree so far?" not in told
    assert "It was not tested whether a rater changes" in told


def test_exchangeable_raters_have_a_page_without_names(tmp_path):
    masks = {f"p{k}": {name: np.eye(6) for name in "AB"} for k in range(3)}
    study = mt.Study.from_arrays(masks, raters="exchangeable")
    _, page = page_of(study, tmp_path)
    assert "Each rater beside the others" not in text_of(page)
    with pytest.raises(CallError, match="exchangeable"):
        page_of(study, tmp_path, rater="A")


def test_names_cannot_become_elements_or_scripts(tmp_path):
    rater, case = "<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>"
    masks = {name: {rater: np.eye(8), "b'\"&": np.tri(8), "C": np.ones((8, 8))} for name in (case, "p2")}
    study = mt.Study.from_arrays(masks)
    for how in ({}, {"rater": rater}):
        _, page = page_of(study, tmp_path, **how)
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert html.unescape("&lt;img src=x") in html.unescape(page)


@pytest.mark.slow
def test_a_thousand_cases_stay_below_five_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    few = [rng.random((6, 6)) < 0.5 for _ in range(40)]
    masks = {f"c{k}": {f"r{i:02}": few[(k * 7 + i) % 40] for i in range(12)} for k in range(1000)}
    result = mt.progress(mt.Study.from_arrays(masks), today=TODAY)
    page = mt.progress_page(result, to=tmp_path / "page.html")
    assert page.path.stat().st_size < 5_000_000
    assert 'class="scroll tall"' in page.path.read_text()


def test_a_page_is_an_html_file(tmp_path):
    study = mt.Study.from_arrays({"p": {"A": np.eye(3), "B": np.eye(3)}})
    assert mt.progress_page(study, to=tmp_path).path == tmp_path / "progress.html"
    with pytest.raises(CallError, match=r"\.html"):
        mt.progress_page(study, to=tmp_path / "page.pdf")
    with pytest.raises(CallError, match="examples"):
        mt.progress_page(study, to=tmp_path, examples=-1)


def test_the_result_shows_itself(made):
    page = mt.progress_page(made / "study", to=made / "again.html", title="Mine & yours")
    assert repr(page).startswith("<ProgressPage: the page: ")
    assert "readings are there" in page._repr_html_()
    assert "<title>Mine &amp; yours</title>" in page.path.read_text()


def test_the_command_says_where_pages_are_and_who_is_not_there(made, capsys):
    shutil.copytree(made / "study", made / "other", dirs_exist_ok=True)
    given = ["progress", str(made / "other"), "--out", str(made / "third"), "--today", TODAY]
    assert status([*given, "--for", "Zebulon,Quirinus"]) == 0
    told = capsys.readouterr().out.replace("\n", " ")
    assert "progress.html" in told
    for name in ("Zebulon", "Quirinus"):
        assert (made / f"third/progress-{name}.html").is_file()
    assert "do not send progress_key.csv along" in told
    refused = ["progress", str(made / "other"), "--out", str(made / "fourth"), "--for", "Zebulun"]
    assert status(refused) == 2
    assert "is it Zebulon?" in capsys.readouterr().err.replace("\n", " ")
    (made / "assignment.csv").write_text("rater,case\nNewcomer,c001\n")
    assert status([*refused[:-1], "Newcomer", "--assignment", str(made / "assignment.csv")]) == 2
    assert "has read nothing yet" in capsys.readouterr().err.replace("\n", " ")
    assert not (made / "fourth").exists()
    assert set(RATERS) == {row["name"] for row in table(made / "third/progress_key.csv")}
