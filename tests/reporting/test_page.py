"""The page as text: what stands on it, what cannot get out of its place, and that it asks nobody for anything."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser

import pytest

from manytruths.claims.numbers import number_cell
from manytruths.claims.sentences import Cell, plain_text, spell_intervals, text_cell
from manytruths.io.front_files import in_script, module_order, script_digest
from manytruths.io.result_tables import Row
from manytruths.reporting import page as page_module
from manytruths.reporting.elements import Beside, Cases, Chart, Column, PageTable, Paragraphs, Section, Text
from manytruths.reporting.page import CaseEntry, halves, headline, page_html, width

WICKED = ("<script>alert(1)</script>", '"onload="alert(2)', "</script><!--<script>", "{{ 7 * 7 }}", "p'&amp;")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" width="40" height="20"><title>dots</title></svg>'


class Elements(HTMLParser):
    """Every element with its attributes, and the text of those that hold text alone."""

    def __init__(self, html: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[int, str] = {}
        self.open: list[int] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.open.append(len(self.found))
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag in ("meta", "img", "input", "br"):
            self.open.pop()

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        for place in self.open:
            self.texts[place] = self.texts.get(place, "") + data

    def all(self, tag, **wanted):
        """(attributes, text) of the elements that fit."""
        fits = {name.strip("_").replace("_", "-"): value for name, value in wanted.items()}
        return [
            (attributes, self.texts.get(place, ""))
            for place, (name, attributes) in enumerate(self.found)
            if name == tag and all(attributes.get(key) == value for key, value in fits.items())
        ]


def number(statistic: str, value: float, *, low=None, high=None, case="p01") -> Cell:
    return number_cell(
        "agree/agreement.csv", Row("case", statistic, value, case=case, region="whole", low=low, high=high)
    )


def table(names, name="cases", **more) -> PageTable:
    columns = (Column("Case", number=False), Column("Dice"), Column("Fleiss' kappa", "Agreement beyond chance."))
    rows = tuple(
        (
            text_cell(case, case=case),
            number("dice", 0.5, low=0.25, high=0.75, case=case),
            number("kappa", -0.125, case=case),
        )
        for case in names
    )
    return PageTable(name, "All cases", columns, rows, **more)


def made(names=("p01", "p02"), **more) -> str:
    lead = (
        ("Kappa is ", number("kappa", 0.4375, low=0.375, high=0.5), "; see ", text_cell(names[0], case=names[0]), "."),
    )
    blocks = (
        Paragraphs(
            (("Rater ", text_cell("D", colour="#e69f00"), " stands out."),), title="Next", listed=True, kind="note"
        ),
        Beside((Chart("dots", SVG, "Dots."), Chart("more", SVG, ""))),
        Text("methods", "Methods", "One.\n\nTwo.", button="Copy methods text", file="methods.txt"),
        Text("bibtex", "BibTeX", "@article{a,\n  b}", exact=True, closed=True),
        table([f"q{i}" for i in range(90)], "long", filter=True, closed=True, note="A note."),
    )
    sections = (Section("summary", "In short", lead), Section("all", "All", (), (*blocks, Cases(table(names)))))
    entries = [
        CaseEntry(i, case, f"group {i}", "data:image/webp;base64,AAAA", json.dumps({"name": case}))
        for i, case in enumerate(names)
    ]
    return page_html(sections, entries, title="A study", subtitle="today", footer="the end", **more)


def test_numbers_carry_their_address_all_digits_and_interval():
    seen = Elements(made())
    [(attributes, shown), *_] = seen.all("data")
    assert shown == "0.44 (0.38–0.50)"
    assert attributes["value"] == "0.4375"
    assert (attributes["data-low"], attributes["data-high"]) == ("0.375", "0.5")
    assert attributes["data-at"] == "agree/agreement.csv#case,p01,,,whole,kappa"
    assert attributes["title"] == "0.4375 (0.375 to 0.5), from agree/agreement.csv"


def test_every_cell_of_a_table_carries_its_address():
    lines = table([f"q{i}" for i in range(90)]).rows
    seen = Elements(made())
    at = {attributes["data-at"]: (attributes, text) for attributes, text in seen.all("td") if "data-at" in attributes}
    for cell in (cell for row in lines for cell in row if cell.at):
        attributes, text = at[cell.at]
        assert (attributes["data-v"], attributes.get("data-low", ""), text) == (cell.value, cell.low, cell.shown)


def test_an_undefined_number_says_why():
    undefined = Cell("–", "nan", at="agree/agreement.csv#x", why="nobody marked anything")
    html = page_html((Section("a", "A", ((undefined,),)),), (), title="", subtitle="", footer="")
    assert Elements(html).all("data", value="nan", title="nobody marked anything")[0][1] == "–"


def test_tables_read_without_a_script():
    seen = Elements(made())
    assert len(seen.all("tr")) == 91 + 3
    assert [text for _, text in seen.all("caption")] == ["All cases", "All cases"]
    assert len(seen.all("th", scope="col")) == 6
    assert len(seen.all("th", scope="row")) == 92
    assert seen.all("table", id="table-long", class_="long")
    assert seen.all("p", class_="rest", data_table="long")[0][1] == "… and 30 more lines in the CSV file"
    assert "hidden" in seen.all("p", class_="rest", data_table="cases")[0][0]
    assert [text for _, text in seen.all("dd")] == ["Agreement beyond chance."] * 2


def test_only_cases_that_can_be_looked_at_open():
    seen = Elements(made())
    assert {attributes["data-case"] for attributes, _ in seen.all("button") if "data-case" in attributes} == {
        "p01",
        "p02",
    }
    assert seen.all("tr", data_case="p02", data_group="group 1")
    assert [text for _, text in seen.all("li", data_name="p01")] == ["p010.50 (0.25–0.75)"]


@pytest.mark.parametrize("name", WICKED)
def test_names_stay_text(name):
    seen = Elements(made((name, "p02")))
    scripts = [attributes for attributes, _ in seen.all("script")]
    assert [s.get("type") for s in scripts] == ["application/json"] * 3 + ["module"]
    assert not [(tag, key) for tag, attributes in seen.found for key in attributes if key.startswith("on")]
    assert name in [text for _, text in seen.all("button", data_case=name)]
    assert json.loads(seen.all("script", id="case-list")[0][1])[0]["name"] == name
    assert json.loads(seen.all("script", id="case-0")[0][1]) == {"name": name}


def test_words_of_every_kind_are_escaped():
    wicked = WICKED[0]
    blocks = (
        Text(wicked, wicked, wicked, wicked, wicked, exact=True),
        Text("b", wicked, wicked, closed=True),
        Paragraphs(((wicked,),), title=wicked),
        Chart(wicked, SVG, wicked),
        PageTable(wicked, wicked, (Column(wicked, wicked),), ((text_cell(wicked, why=wicked),),), wicked, filter=True),
    )
    html = page_html((Section(wicked, wicked, ((wicked,),), blocks),), (), title=wicked, subtitle=wicked, footer=wicked)
    assert "alert(1)" in html
    assert wicked not in html
    assert len(Elements(html).all("script")) == 2


def test_json_cannot_end_its_element():
    text = json.dumps({"a": WICKED[2]})
    assert "<" not in in_script(text)
    assert json.loads(in_script(text)) == json.loads(text)


def test_the_page_asks_nobody():
    html = made()
    addresses = set(re.findall(r"\w+://[^\s\"'<>)]*", html))
    # names of XML, which nobody looks up
    assert addresses <= {f"http://www.w3.org/{name}" for name in ("2000/svg", "1999/xhtml", "1999/xlink")}
    seen = Elements(html)
    assert not seen.all("link")
    assert not [a for tag, a in seen.found if a.get("src", "data:")[:5] != "data:" or a.get("href", "#")[0] != "#"]
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html), "but for parts of the same picture"


def test_only_its_own_script_may_run():
    seen = Elements(made())
    [(_, script)] = seen.all("script", type="module")
    [(meta, _)] = seen.all("meta", http_equiv="Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in meta["content"].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{script_digest(script)}'"


def test_scripts_of_cases_may_come_from_beside_the_page():
    html = page_html((), [CaseEntry(0, "p01", file="report_files/cases/0.js")], title="", subtitle="", footer="")
    seen = Elements(html)
    assert seen.all("meta", http_equiv="Content-Security-Policy")[0][0]["content"].count("'self' file:") == 1
    assert json.loads(seen.all("script", id="case-list")[0][1])[0]["file"] == "report_files/cases/0.js"
    assert not seen.all("script", id="case-0")


def test_landmarks_and_headings_are_in_order():
    html = made()
    seen = Elements(html)
    assert [len(seen.all(tag)) for tag in ("nav", "header", "main", "footer", "h1")] == [1, 1, 1, 1, 1]
    levels = [int(level) for level in re.findall(r"<h([1-6])", html)]
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    names = [attributes["id"] for _, attributes in seen.found if "id" in attributes]
    assert len(names) == len(set(names))


def test_texts_keep_their_lines():
    seen = Elements(made())
    assert seen.all("pre")[0][1].lstrip("\n") == "@article{a,\n  b}"
    assert seen.all("button", data_text="methods", data_file="methods.txt")


def test_the_bundle_is_one_module():
    script = page_module.scripts()
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert "</script" not in script.lower()
    assert "<!--" not in script
    order = module_order(page_module.FRONT, page_module.ENTRY)
    assert order[-1] == "page.js"
    assert {path.name for path in page_module.FRONT.glob("*.js")} == set(order)


def test_no_two_modules_use_the_same_name():
    declared = r"^(?:async function\*?|function\*?|class|const|let|var) +([\w$]+)"
    names = re.findall(declared, page_module.scripts(), re.MULTILINE)
    assert names
    assert not {name for name in names if names.count(name) > 1}


def test_modules_come_behind_those_they_import(tmp_path):
    (tmp_path / "page.js").write_text(
        'import {\n  a,\n  b,\n} from "./one.js";\nimport { c } from "./two.js";\na(b, c);\n'
    )
    (tmp_path / "one.js").write_text('import { c } from "./two.js";\nexport function a() {}\nexport const b = c;\n')
    (tmp_path / "two.js").write_text("export class c {}\n")
    assert page_module.scripts(tmp_path) == "class c {}\n\nfunction a() {}\nconst b = c;\n\na(b, c);\n"


def test_small_helpers():
    assert halves(Cell("0.44 (0.37–0.50)", "0.4", "0.3", "0.5")) == ("0.44", " (0.37–0.50)")
    assert halves(Cell("net (old)")) == ("net (old)", "")
    assert width(SVG) == 40
    assert width("<svg>") == 560
    assert headline(table(["p01"])) == 1
    assert headline(PageTable("a", "A", (Column("Case", number=False),), ())) is None


@pytest.mark.parametrize(
    ("low", "high", "name", "table", "sentence"),
    [
        (0.375, 0.5, "", "0.44 (0.38–0.50)", "0.44 (95% CI 0.38 to 0.50)"),
        (-0.375, 0.5, "", "0.44 (−0.38 to 0.50)", "0.44 (95% CI −0.38 to 0.50)"),
        (-0.5, -0.375, "90% CI", "0.44 (90% CI −0.50 to −0.38)", "0.44 (90% CI −0.50 to −0.38)"),
        (None, None, "", "0.44", "0.44"),
    ],
)
def test_intervals_have_a_name_in_sentences(low, high, name, table, sentence):
    cell = number_cell("agree/agreement.csv", Row("mean", "dice", 0.4375, low=low, high=high), level=name)
    assert cell.shown == table
    assert plain_text(spell_intervals(("Dice is ", cell), "95% CI")) == f"Dice is {sentence}"
