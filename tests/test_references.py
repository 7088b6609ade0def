"""Every DOI in code and documentation is well formed, stands for one work, and is in the list of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dois import WELL_FORMED, find_dois, read_list, trim

LISTED = read_list()
PLACES = list(find_dois())


def test_the_list_has_every_doi_and_no_other():
    there = {place.doi.lower() for place in PLACES if place.path.name != "references.csv"}
    assert len(there) > 100
    assert {work.doi.lower() for work in LISTED} == there


def test_dois_are_well_formed():
    assert [place.doi for place in PLACES if not WELL_FORMED.fullmatch(place.doi)] == []


def test_a_work_has_one_doi():
    assert [doi for doi, n in Counter(work.doi.lower() for work in LISTED).items() if n > 1] == []
    assert [text for text, n in Counter(work.work.lower() for work in LISTED).items() if n > 1] == []


def test_every_line_says_what_was_done():
    assert {work.checked for work in LISTED} == {"true", "false"}
    assert [work.doi for work in LISTED if not (work.author and work.work and work.how and work.year.isdigit())] == []


def test_beside_every_doi_stands_the_author_of_its_work():
    """The same DOI for another work, or another DOI for this one, would stand beside another name."""
    author = {work.doi.lower(): work.author for work in LISTED}
    wrong = [
        (place.doi, place.path.name)
        for place in PLACES
        if _bare(author[place.doi.lower()]) not in _bare(place.before + place.after)
    ]
    assert wrong == []


def _bare(text: str) -> str:
    """Without the ways that accents are written in BibTeX."""
    return text.replace("{\\'a}", "á").replace("{\\'e}", "é").replace("{\\'i}", "í").casefold()


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.1016/S0140-6736%2886%2990837-8).", "10.1016/S0140-6736(86)90837-8"),
        ("10.1016/0895-4356(93)90018-V)", "10.1016/0895-4356(93)90018-V"),
        ("10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2)", "10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2"),
        ("10.1037/h0031619>", "10.1037/h0031619"),
        ("10.1037/h0031619;", "10.1037/h0031619"),
    ],
)
def test_a_doi_ends_where_its_sentence_goes_on(text, doi):
    assert trim(text) == doi


def test_the_page_marks_what_was_not_checked(tmp_path, monkeypatch):
    docs = Path(__file__).parents[1] / "docs"
    monkeypatch.syspath_prepend(str(docs))
    from reference_list import write_references_page

    (tmp_path / "references.csv").write_bytes((docs / "references.csv").read_bytes())
    write_references_page(tmp_path)
    page = (tmp_path / "references.md").read_text(encoding="utf-8")
    unchecked = [work for work in LISTED if work.checked == "false"]
    assert page.count("| **unchecked**: ") == len(unchecked)
    assert f"{len(LISTED) - len(unchecked)} of {len(LISTED)} checked" in page
