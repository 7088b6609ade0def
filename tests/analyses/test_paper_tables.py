"""Tables for a paper: the numbers of the CSV files, in every format, the same bytes in every run."""

from __future__ import annotations

import csv
import math
import re
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import manytruths as mt
from manytruths.analyses.paper_tables.formats import FORMATS
from manytruths.analyses.paper_tables.latex import escape_latex
from manytruths.analyses.paper_tables.redcap import DICTIONARY
from manytruths.analyses.paper_tables.wide import show
from study_folders import disc, run, write_study

RATERS = ("=1+1", "@b_{c}", "C & D", "<i>é</i>")
"""Names that mean something to spreadsheets, LaTeX and HTML."""
WITHOUT_CASES = tuple(name for name in FORMATS if name != "redcap")


def study() -> mt.Study:
    cases = {
        f"p{i:02}": {r: disc(24, x=x, y=i % 3, radius=6 + (i + x) % 3) for x, r in enumerate(RATERS)} for i in range(12)
    }
    return mt.Study.from_arrays(cases)


@pytest.fixture(scope="module")
def results(tmp_path_factory: Any) -> dict[str, tuple[Any, Path]]:
    """Every command that analyses, written in all formats."""
    out, rng = tmp_path_factory.mktemp("out"), np.random.default_rng(0)
    scores = mt.Scores.of(rng.uniform(0.5, 1, (3, 12)), ["unet", "=net", "v_net"])
    ratings = mt.Ratings.of({r: rng.integers(0, 2, 12).tolist() for r in "ABC"}, confidence=0.8)
    made: list[Any] = [
        mt.agree(study(), out=out, pictures=False, tables=FORMATS),
        mt.fuse(study(), out=out, pictures=False, tables=FORMATS),
        mt.rank(scores, out=out, pictures=False, resamples=50, tables="xlsx, latex,docx,html"),
        mt.plan(wanted=0.95, rater_accuracy=0.85, out=out, pictures=False, tables=WITHOUT_CASES),
        mt.reliability(ratings, out=out, pictures=False, tables=WITHOUT_CASES),
    ]
    return {result.command: (result, out / result.command) for result in made}


@pytest.fixture(params=["agree", "fuse", "rank", "plan", "reliability"])
def written(request: Any, results: Any) -> Any:
    return results[request.param]


def lines_of(path: Path) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_every_number_is_one_of_the_files(written):
    result, folder = written
    papers = result.tabled().papers
    assert papers
    files: dict[str, dict[str, list[str]]] = {}
    for entry in (entry for table in papers for row in table.rows for entry in row if entry.at):
        name, _, key = entry.at.partition("#")
        if name not in files:
            header, *lines = lines_of(folder.parent / name)
            value = header.index("value")
            files[name] = {repr(line[:value]): line[value : value + 3] for line in lines}
        (cells,) = csv.reader([key])
        value, low, high = files[name][repr(cells)]
        assert float(value) == entry.value or (value == "nan" and math.isnan(entry.value))
        if entry.low is not None:
            assert (float(low), float(high)) == (entry.low, entry.high)


def test_the_first_table_of_agreement(results):
    table = results["agree"][0].tabled().papers[0]
    assert table.heads() == ["Statistic", "Mean over subjects (95% CI)", "SD", "Pooled", "n"]
    dice = next(row for row in table.rows if row[0].text == "Dice, mean of pairs")
    mean = results["agree"][0].tables["agreement"].find("dice", "mean")
    assert dice[1].text == f"{mean.value:.3f} ({mean.low:.3f}–{mean.high:.3f})"
    assert dice[-1].text == "12"


def test_numbers_as_people_write_them():
    assert [show(value, "number") for value in (0.12345, -0.5, -1e-9, 12.345, 1234.5)] == [
        "0.123", "−0.500", "0.000", "12.35", "1,234.5",
    ]  # fmt: skip
    assert [show(value, "p") for value in (0.0004, 0.04321)] == ["<0.001", "0.043"]
    assert [show(0.1234, "percent"), show(1234.0, "count"), show(math.nan, "number")] == ["12.3%", "1,234", "–"]


def test_the_workbook_has_the_tables_and_says_what_they_are(written):
    from openpyxl import load_workbook

    result, folder = written
    book = load_workbook(folder / "tables.xlsx")
    papers, tables = result.tabled().papers, result.tabled().tables
    assert len(book.sheetnames) == 1 + len(papers) + len(tables)
    about = {str(row[0]): row[1] for row in book["About"].iter_rows(min_col=1, max_col=2, values_only=True)}
    assert about[f"manytruths {result.command}"] == f"manytruths {mt.__version__}"
    assert [about[name] for name in book.sheetnames[1 : 1 + len(papers)]] == [table.title for table in papers]
    assert any(str(key).startswith("settings.") for key in about)
    for sheet in book.worksheets[1:]:
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref == sheet.dimensions
        assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)
    for table in tables:
        rows = list(book[f"{table.name}.csv"].iter_rows(values_only=True))
        assert rows[0] == tuple(table.header)
        assert len(rows) == len(table) + 1
    for table, sheet in zip(papers, book.worksheets[1:], strict=False):
        numbers = [v for row in sheet.iter_rows(min_row=2, values_only=True) for v in row if isinstance(v, int | float)]
        wanted = [
            part for row in table.rows for entry in row if entry.kind != "text"
            for part in (entry.value, entry.low, entry.high) if part is not None and not math.isnan(part)
        ]  # fmt: skip
        assert numbers == pytest.approx(wanted, rel=1e-15, abs=0), "a workbook keeps 16 digits"


def test_cells_of_the_workbook_have_formats_and_are_no_formulas(results):
    from openpyxl import load_workbook

    book = load_workbook(results["agree"][1] / "tables.xlsx")
    sheet = book["1 agreement"]
    formats = {row[0].value: row[1].number_format for row in sheet.iter_rows(min_row=2)}
    assert formats["Fleiss' kappa"] == "0.000"
    assert formats["Percent agreement"] == "0.0%"
    assert next(sheet.iter_rows(min_row=2))[-1].number_format == "#,##0"
    names = [row[0] for row in book[next(name for name in book.sheetnames if name.endswith(" pairs"))].iter_rows()]
    risky = [cell for cell in names if cell.value == "=1+1"]
    assert risky
    assert all(cell.data_type == "s" and cell.quotePrefix for cell in risky)
    tests = load_workbook(results["rank"][1] / "tables.xlsx")["3 tests"]
    assert {row[-1].number_format for row in tests.iter_rows(min_row=2) if row[-1].value is not None} == {
        '[<0.001]"<0.001";0.000'
    }


def test_the_document_has_real_tables(written):
    from docx import Document

    result, folder = written
    document, papers = Document(str(folder / "tables.docx")), result.tabled().papers
    assert len(document.tables) == len(papers)
    for table, paper in zip(document.tables, papers, strict=True):
        assert [cell.text for cell in table.rows[0].cells] == paper.heads()
        assert [[cell.text for cell in row.cells] for row in list(table.rows)[1:]] == [
            [entry.text for entry in row] for row in paper.rows
        ]
    captions = [p.text for p in document.paragraphs if p.style.name.lower() == "caption"]
    assert captions == [f"Table {k}. {paper.title}" for k, paper in enumerate(papers, 1)]


def test_latex_has_a_file_for_each_table_and_no_sign_with_a_meaning(written):
    result, folder = written
    papers = result.tabled().papers
    assert sorted(path.name for path in (folder / "latex").iterdir()) == sorted(f"{p.name}.tex" for p in papers)
    for paper in papers:
        text = (folder / "latex" / f"{paper.name}.tex").read_text(encoding="utf-8")
        assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
        body = re.search(r"\\toprule\n(.*)\\bottomrule", text, re.S)[1].replace("\\midrule\n", "")
        lines = [line for line in body.splitlines() if line.strip()]
        assert len(lines) == 1 + len(paper.rows)
        for line in lines:
            assert line.endswith(r" \\")
            assert len(re.findall(r"(?<!\\)&", line)) == len(paper.columns) - 1
            assert not re.search(r"(?<!\\)[%#_]|[–−]", line)


def test_signs_of_latex():
    assert escape_latex(r"a\b{c}_1^2~3$&#%") == (
        r"a\textbackslash{}b\{c\}\_1\textasciicircum{}2\textasciitilde{}3\$\&\#\%"
    )
    assert escape_latex("[x] P̄") == r"{[}x] $\bar{P}$"


class _Cells(HTMLParser):
    """The texts of cells by table."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[str]] = []
        self.links: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag == "table":
            self.tables.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.tables[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.tables[-1][-1] += data


def test_the_page_has_the_tables_and_needs_nothing_else(written):
    result, folder = written
    cells = _Cells()
    cells.feed((folder / "tables.html").read_text(encoding="utf-8"))
    assert cells.links == []
    wanted = [[*p.heads(), *(entry.text for row in p.rows for entry in row)] for p in result.tabled().papers]
    assert cells.tables == wanted


def test_records_for_redcap_are_cases_with_their_numbers(results):
    for command, table, statistic in (("agree", "agreement", "dice"), ("fuse", "complexity", "esm")):
        result, folder = results[command]
        header, *rows = lines_of(folder / "redcap" / "data.csv")
        dictionary_header, *fields = lines_of(folder / "redcap" / "dictionary.csv")
        assert tuple(dictionary_header) == DICTIONARY
        assert len(dictionary_header) == 18
        assert [line[0] for line in fields] == header
        assert header[:2] == ["record_id", "subject"]
        assert all(re.fullmatch(r"[a-z](?:_?[a-z0-9])*", name) and len(name) <= 100 for name in header)
        assert len(set(header)) == len(header)
        assert {line[7] for line in fields[2:]} <= {"number", ""}
        assert [row[0] for row in rows] == [f"p{i:02}" for i in range(12)]
        column = header.index(f"{table}_{statistic}")
        for row in rows:
            value = next(r.value for r in result.tables[table].all(statistic, "case") if r.case == row[0])
            assert float(row[column]) == value


def test_the_files_have_no_time_in_them(results, tmp_path):
    result, folder = results["agree"]
    again = result.write(tmp_path, pictures=False, tables=["docx", "html", "latex", "redcap", "xlsx"])
    assert "tables.xlsx" in [path.name for path in again]
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "run.json"):
        same = tmp_path / "agree" / path.relative_to(folder)
        assert same.read_bytes() == path.read_bytes(), path.name
    for name in ("tables.xlsx", "tables.docx"):
        with zipfile.ZipFile(folder / name) as packed:
            assert {part.date_time for part in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            assert not re.search(rb"20[2-9]\d-\d\d-\d\d", packed.read("docProps/core.xml"))


def test_several_labels_have_lines_of_their_own(tmp_path):
    masks = {
        f"p{i:02}": {r: disc(24, x=x, y=i % 3, radius=9) + disc(24, x=x, y=i % 3, radius=4) for x, r in enumerate("AB")}
        for i in range(3)
    }
    cases = mt.Study.from_arrays(masks, labels={1: "gland", 2: "tumour"})
    result = mt.agree(cases, pictures=False, out=tmp_path, tables="docx")
    papers = {paper.name: paper for paper in result.tabled().papers}
    assert [row[0].text for row in papers["agreement_by_label"].rows] == ["gland", "tumour"]
    assert papers["pairs"].columns[:3] == ("Label", "Rater A", "Rater B")
    assert {"gland", "tumour"} < {row[0].text for row in papers["pairs"].rows}


def test_distances_have_their_unit(tmp_path):
    masks = {f"p{i}": {r: disc(24, x=x, y=i, radius=7) for x, r in enumerate("AB")} for i in range(2)}
    predictions = {case: {"net": disc(24, x=3, radius=7)} for case in masks}
    for spacing, unit in (((0.5, 0.5), "mm"), (None, "pixels")):
        cases = mt.Study.from_arrays(masks, predictions=predictions, spacing=spacing)
        scores = mt.evaluate(cases, pictures=False).tabled().papers[0]
        assert f"95% Hausdorff distance, {unit}" in scores.columns


def test_a_report_has_the_tables_of_all_commands(tmp_path):
    from openpyxl import load_workbook

    masks = {f"Anna{i}": {r: disc(24, x=x, y=i, radius=7) for x, r in enumerate(("Bea", "Carl"))} for i in range(2)}
    study = mt.Study.from_arrays(masks)
    made = mt.report(study, to=tmp_path / "r.html", tables="xlsx,latex,redcap", codes=True, viewer=False, resamples=20)
    assert {made.folder / "tables.xlsx", made.folder / "redcap" / "data.csv"} < set(made.files)
    sheets = load_workbook(made.folder / "tables.xlsx").sheetnames
    assert {"About", "agree pairs.csv", "fuse performance.csv"} < set(sheets)
    assert (made.folder / "latex" / "agree" / "pairs.tex").is_file()
    header, *rows = lines_of(made.folder / "redcap" / "data.csv")
    assert len(rows) == 2
    assert {"agreement_dice", "complexity_esm"} < set(header)
    for path in (made.folder / "redcap").iterdir():
        assert not re.search("anna|bea|carl", path.read_text().lower()), "names are replaced by codes"


def test_a_missing_library_is_named_before_anything_is_read(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(mt.InputError, match=r'xlsx.*pip install "manytruths\[tables\]"'):
        mt.agree("not/there/{rater}/{case}.png", out=tmp_path, tables="xlsx")
    assert list(tmp_path.iterdir()) == []


def test_wrong_calls_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(mt.CallError, match="some of xlsx, latex, docx, html, redcap; got 'pdf'"):
        mt.fuse("not/there/{rater}/{case}.png", out=tmp_path, tables=["xlsx", "pdf"])
    with pytest.raises(mt.CallError, match="out="):
        mt.agree("not/there/{rater}/{case}.png", tables="xlsx")
    for function in (mt.plan, lambda **more: mt.rank("not there.csv", **more)):
        with pytest.raises(mt.CallError, match="no numbers by case"):
            function(out=tmp_path, tables="redcap")


def test_the_command_line_writes_and_lists_them(tmp_path, capsys):
    every = ("--no-pictures", "--jobs", 1, "--out", tmp_path / "out")
    template = write_study(tmp_path)
    done = run(capsys, "agree", template, "--tables", "xlsx,html", *every)
    assert done.status == 0
    folder = tmp_path / "out" / "agree"
    assert {"tables.xlsx", "tables.html"} < {path.name for path in folder.iterdir()}
    assert '"tables.xlsx"' in (folder / "summary.json").read_text()
    assert run(capsys, "agree", template, *every).status == 0
    assert not (folder / "tables.xlsx").exists(), "a run without it takes it away"
    assert run(capsys, "agree", template, "--tables", "pdf", *every).status == 2
