"""Tables of ratings: long and wide, in every format, and bad ones of every kind."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data_folder import data
from manytruths import CallError, FormatError, read_ratings
from manytruths.ratings.tables import RatingsOptions, open_ratings

LONG = """case,rater,label,confidence
p1,A,ill,0.8
p1,B,ill,0.5
p2,A,well,1
p2,B,,
p3,A,NA,0.9
p3,B,well,
"""
WIDE = """case,A,B,A confidence,B:confidence
p1,ill,ill,0.8,0.5
p2,well,,1,
p3,NA,well,0.9,
"""


def written(folder, text, name="ratings.csv", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_ratings(path, **options)


def refused(folder, text, **options) -> str:
    with pytest.raises((FormatError, CallError)) as caught:
        written(folder, text, **options)
    assert "ratings.csv" in str(caught.value) or isinstance(caught.value, CallError)
    return str(caught.value)


def same(a, b) -> bool:
    return (
        (a.cases, a.raters, a.labels, a.kind, a.subjects) == (b.cases, b.raters, b.labels, b.kind, b.subjects)
        and np.array_equal(a.codes, b.codes)
        and np.allclose(a.confidence, b.confidence, equal_nan=True)
        and (a.reference is None) == (b.reference is None)
        and (a.reference is None or np.array_equal(a.reference, b.reference))
    )


@pytest.mark.parametrize("text", [LONG, WIDE, "\ufeff" + LONG, LONG.replace(",", ";"), WIDE.replace(",", "\t")])
def test_long_and_wide_and_their_separators(tmp_path, text):
    found = written(tmp_path, text)
    assert (found.cases, found.raters, found.labels) == (("p1", "p2", "p3"), ("A", "B"), ("ill", "well"))
    assert found.codes.tolist() == [[0, 0], [1, -1], [-1, 1]]
    assert found.confidence == pytest.approx(np.array([[0.8, 0.5], [1, np.nan], [np.nan, np.nan]]), nan_ok=True)
    assert found.reference is None
    assert found.subjects == found.cases


def test_blank_lines_and_blanks_are_nothing(tmp_path):
    found = written(tmp_path, "case, rater ,label\n\n p1 ,A, ill \n,,\np1,B,ill\n")
    assert (found.cases, found.raters, found.labels) == (("p1",), ("A", "B"), ("ill",))


def test_columns_under_other_names(tmp_path):
    text = "image,who,dx,sure,patient,gt,site\ni1,A,1,3,s1,1,x\ni1,B,0,1,s1,1,x\ni2,A,1,2,s1,0,y\ni2,B,1,3,s1,0,y\n"
    names = {"case": "image", "rater": "who", "label": "dx", "confidence": "sure", "subject": "patient"}
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    found = open_ratings(path, RatingsOptions(names, confidence_levels=3, reference_column="gt"))
    ratings = found.ratings
    assert ratings.codes.tolist() == [[1, 0], [1, 1]]
    assert ratings.confidence == pytest.approx(np.array([[1, 1 / 3], [2 / 3, 1]]))
    assert ratings.subjects == ("s1", "s1")
    assert ratings.reference is not None
    assert ratings.reference.tolist() == [1, 0]
    assert found.notes == ("confidence is level / 3", "columns not read: site")


@pytest.mark.parametrize(
    ("rule", "levels", "texts", "values"),
    [
        ("share", 5, "12345", [0.2, 0.4, 0.6, 0.8, 1]),
        ("span", 5, "12345", [0, 0.25, 0.5, 0.75, 1]),
        ("share", ["low", "medium", "high"], ["low", "Medium", "high", "high", "low"], [1 / 3, 2 / 3, 1, 1, 1 / 3]),
        ("span", ["low", "medium", "high"], ["low", "medium", "high", "", "NA"], [0, 0.5, 1, np.nan, np.nan]),
        ("share", None, ["0", "1", "0.25", "1e-1", ""], [0, 1, 0.25, 0.1, np.nan]),
        ("share", 5, ["1.0", "5.0", "3", "", "2"], [0.2, 1, 0.6, np.nan, 0.4]),
    ],
)
def test_levels_of_confidence(tmp_path, rule, levels, texts, values):
    rows = "".join(f"p{i},A,x,{text}\np{i},B,y,{text}\n" for i, text in enumerate(texts))
    found = written(tmp_path, "case,rater,label,confidence\n" + rows, confidence_levels=levels, confidence_rule=rule)
    assert found.confidence[:, 0] == pytest.approx(values, nan_ok=True)


@pytest.mark.parametrize(
    ("levels", "text", "told"),
    [
        (5, "6", "confidence '6' is no level from 1 to 5"),
        (5, "0.8", "confidence '0.8' is no level from 1 to 5"),
        (5, "high", "confidence 'high' is no level from 1 to 5"),
        (["low", "high"], "3", "confidence '3' is none of the levels low, high"),
        (
            None,
            "4",
            "confidence '4' is not from 0 to 1; if it is a level of a scale, say of how many: --confidence-levels 5",
        ),
        (None, "-0.1", "confidence '-0.1' is not from 0 to 1"),
        (None, "inf", "confidence 'inf' is not from 0 to 1"),
        (None, "high", "confidence 'high' is not a number; levels are named in order by --confidence-levels"),
    ],
)
def test_confidence_out_of_scale(tmp_path, levels, text, told):
    rows = f"case,rater,label,confidence\np1,A,x,1\np1,B,y,{text}\n".replace(
        "x,1", "x,low" if levels == ["low", "high"] else "x,1"
    )
    message = refused(tmp_path, rows, confidence_levels=levels)
    assert f"ratings.csv, line 3: {told}" in message
    assert message.endswith("(case p1, rater B)")


def test_a_decimal_comma_is_named(tmp_path):
    message = refused(tmp_path, "case;rater;label;confidence\np1;A;x;0,5\np1;B;x;0.5\n")
    assert "line 2: confidence '0,5' has a decimal comma; write 0.5" in message


def test_a_rating_that_was_not_given_needs_no_confidence(tmp_path):
    found = written(tmp_path, "case,rater,label,confidence\np1,A,x,0.5\np1,B,,0.7\np2,A,x,1\np2,B,x,1\n")
    assert np.isnan(found.confidence[0, 1])


def test_the_first_ten_faults_in_order_of_lines(tmp_path):
    rows = ["case,rater,label,confidence"]
    rows += [
        f"p{i},{rater},{'odd' if i == 7 and rater == 'B' else 'x'},{2 if i < 6 else 1}"
        for i in range(8)
        for rater in "AB"
    ]
    rows += ["p0,A,x,1", "p1,A,x"]
    message = refused(tmp_path, "\n".join(rows), labels=["x", "y"])
    assert "line 19: has 3 cells, the header 4" in message
    message = refused(tmp_path, "\n".join(rows[:-1]), labels=["x", "y"])
    lines = message.splitlines()
    assert lines[0].endswith("ratings.csv: 14 cells or lines cannot be used; correct them")
    assert [line.split(":")[0].strip() for line in lines[1:11]] == [f"line {n}" for n in range(2, 12)]
    assert lines[11:] == ["  and 4 more"]
    rows = [row.replace(",2", ",1") for row in rows[:-1]]
    message = refused(tmp_path, "\n".join(rows), labels=["x", "y"])
    assert "line 17: label 'odd' is none of x, y (case p7, rater B)" in message
    assert "line 18: case p0 was rated by A in line 2 already" in message


def test_lines_are_counted_as_an_editor_does(tmp_path):
    message = refused(tmp_path, 'case,rater,label,remark\np1,A,x,"a\nb"\n\np2,B,odd,\n', labels=["x"])
    assert "line 5: label 'odd'" in message


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("", {}, "is empty; give a table with a header"),
        ("case,rater,label\n", {}, "has no ratings; give a line for every case"),
        ("image,rater,label\np1,A,x\n", {}, "has no column 'case' (columns: image, rater, label); name it with"),
        ("case,rater,dx\np1,A,x\n", {}, "has 'rater' for the rater but no column 'label' among case, rater, dx"),
        ("case,who,label\np1,A,x\n", {}, "has 'label' for the label but no column 'rater'"),
        ("case,A,A\np1,x,x\n", {}, "two columns have the same name among case, A, A"),
        ("case,A,\np1,x,x\n", {}, "column 3 has no name"),
        ("case,rater,label\np1,A,x\np2,A,y\n", {}, "agreement needs two raters or more; there is only A"),
        ("case,A\np1,x\np2,y\n", {}, "there is only A"),
        ("case,A,B\np1,x,y\np1,x,x\n", {}, "line 3: case p1 is in line 2 already"),
        ("case,A,B\n,x,y\n", {}, "line 2: the case is empty"),
        ("case,rater,label\np1,,x\n", {}, "line 2: the rater is empty"),
        ("case,A,B,C confidence\np1,x,y,1\n", {}, "'C confidence' is the confidence of 'C', who has no column"),
        ("case,A,B,confidence\np1,x,y,1\n", {}, "'confidence' does not say whose confidence it is"),
        ("case,A,B\np1,x,y\n", {"columns": {"team": "A"}}, "--columns knows case, rater, label"),
        ("case,A,B\np1,x,y\n", {"columns": {"case": "image"}}, "has no column 'image' but case, A, B"),
        ("case,A,B\np1,x,y\n", {"filters": {"site": "1"}}, "has no column 'site' to filter by"),
        ("case,A,B,site\np1,x,y,1\n", {"filters": {"site": "2"}}, "no line has site=2; there are 1"),
        ("case,A,B\np1,x,y\n", {"kind": "ordinal"}, "label 'x' is not a number, so its rank is not known: --labels"),
        ("case,A,B\np1,1,y\n", {"kind": "numeric"}, "line 2: label 'y' is not a number (case p1, rater B)"),
        ("case,A,B\np1,1,inf\n", {"kind": "numeric"}, "label 'inf' is not finite"),
        ("case,A,B\np1,1,2\n", {"kind": "numeric", "labels": ["1", "b"]}, "numeric labels are numbers"),
        ("case,A,B\np1,x,y\n", {"confidence_levels": 5}, "--confidence-levels is of confidence"),
        ("case,A,B,A confidence\np1,x,y,1\n", {"confidence_levels": 1}, "a scale has two levels or more; got 1"),
        ("case,A,B\np1,x,y\n", {"reference_rater": "Z"}, "no rater 'Z' to take as the reference; there are A, B"),
        ("case,A,B\np1,x,y\n", {"reference_rater": "A"}, "there is only B"),
        ("case,rater,label\np1,A,x\np1,B,x\n", {"raters": ["A", "Z"]}, "no rater 'Z'; there are A, B"),
        ("case,A,B,truth\np1,x,y,z\n", {"labels": ["x", "y"]}, "line 2: reference 'z' of case p1 is none of x, y"),
        ("case,rater,label,truth\np1,A,x,x\np1,B,x,y\n", {}, "line 3: the reference of case p1 is 'y' here and"),
        ("case,rater,label,subject\np1,A,x,s\np1,B,x,t\n", {}, "line 3: case p1 is of subject 't' here and of 's'"),
        ("case,A,B\np1,1,2\n", {"cut": 5}, "--cut 5 leaves nothing on one side of the ratings from 1 to 2"),
        ("case,A,B\np1,1,x\n", {"cut": 1}, "leaves nothing on one side"),
        ("case,A,B\np1,1,2\np2,2,x\n", {"cut": 2}, "line 3: rating 'x' is not a number (case p2, rater B)"),
        ("case,A,B\np1,1,9\n", {"cut": 3, "rating_range": (1, 5)}, "rating '9' is beyond the scale from 1 to 5"),
        ("case,A,B\np1,1,2\n", {"cut": 2, "labels": ["a", "b", "c"]}, "--cut makes two labels"),
        ("case,A,B,truth\np1,1,2,4\n", {"cut": 2}, "reference '4' of case p1 is none of 0, 1"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, text, options, told):
    assert told in refused(tmp_path, text, **options)


def test_words_that_look_like_gaps_can_be_labels(tmp_path):
    text = "case,A,B\np1,none,mild\np2,-,none\np3,NA,mild\n"
    assert written(tmp_path, text).labels == ("-", "mild", "none")
    declared = written(tmp_path, text, labels=["none", "mild", "-", "NA"])
    assert declared.codes.tolist() == [[0, 1], [2, 0], [3, 1]]


def test_nominal_numbers_are_in_their_order(tmp_path):
    assert written(tmp_path, "case,A,B\np1,10,9\np2,2,2\n").labels == ("2", "9", "10")


def test_ordinal_and_numeric_labels(tmp_path):
    text = "case,A,B\np1,1,2.0\np2,5,1.0\n"
    found = written(tmp_path, text, kind="ordinal")
    assert (found.labels, found.codes.tolist()) == (("1", "2", "5"), [[0, 1], [2, 0]])
    assert (
        open_ratings(tmp_path / "ratings.csv", RatingsOptions(kind="ordinal"))
        .notes[0]
        .startswith("labels are those that occur (1, 2, 5); --labels names all of the scale")
    )
    scale = written(tmp_path, text, kind="ordinal", labels=["5", "4", "3", "2", "1"])
    assert (scale.labels, scale.codes.tolist()) == (("5", "4", "3", "2", "1"), [[4, 3], [0, 4]])
    numeric = written(tmp_path, "case,A,B\np1,0.5,-2\np2,10,.5\n", kind="numeric")
    assert (numeric.labels, numeric.numbers) == (("-2", "0.5", "10"), (-2.0, 0.5, 10.0))
    words = written(tmp_path, "case,A,B\np1,mild,severe\n", kind="ordinal", labels=["none", "mild", "severe"])
    assert words.codes.tolist() == [[1, 2]]


def test_ratings_cut_in_two(tmp_path):
    """Whole numbers: the border lies half a step below the cut, and both ends of the scale are certain."""
    text = "case,A,B,truth\n" + "".join(f"p{i},{i},{i},{int(i > 2)}\n" for i in range(1, 6))
    found = written(tmp_path, text, cut=3)
    assert found.labels == ("0", "1")
    assert found.codes[:, 0].tolist() == [0, 0, 1, 1, 1]
    assert found.confidence[:, 0] == pytest.approx([1, 1 / 3, 0.2, 0.6, 1])
    assert found.reference is not None
    assert found.reference.tolist() == [0, 0, 1, 1, 1]
    wider = written(tmp_path, text, cut=3, rating_range=(0, 10), labels=["well", "ill"])
    assert wider.labels == ("well", "ill")
    assert wider.confidence[:, 0] == pytest.approx([1.5 / 2.5, 0.2, 0.5 / 7.5, 1.5 / 7.5, 2.5 / 7.5])
    real = written(tmp_path, "case,A,B\np1,0,1\np2,0.5,0.25\n", cut=0.5)
    assert real.confidence == pytest.approx(np.array([[1, 1], [0, 0.5]]))


def test_the_scale_is_that_of_the_whole_file(tmp_path):
    text = "case,A,B,arm\np1,2,3,1\np2,4,2,1\np3,1,5,2\n"
    found = written(tmp_path, text, cut=3, filters={"arm": "1"})
    assert found.cases == ("p1", "p2")
    assert found.confidence == pytest.approx(np.array([[1 / 3, 0.2], [0.6, 1 / 3]]))


def test_confidence_of_the_table_comes_before_the_distance_from_a_cut(tmp_path):
    text = "case,rater,label,confidence\np1,A,1,2\np1,B,5,4\n"
    found = written(tmp_path, text, cut=3, confidence_levels=4)
    assert found.confidence.tolist() == [[0.5, 1.0]]
    assert found.codes.tolist() == [[0, 1]]


def test_a_rater_as_the_reference(tmp_path):
    found = written(tmp_path, "case,A,B,panel\np1,x,y,y\np2,x,x,\n", reference_rater="panel")
    assert found.raters == ("A", "B")
    assert found.reference is not None
    assert found.reference.tolist() == [1, -1]
    cut = written(tmp_path, "case,A,B,panel\np1,1,3,5\np2,4,2,2\n", reference_rater="panel", cut=3)
    assert cut.reference is not None
    assert cut.reference.tolist() == [1, 0]
    chosen = written(tmp_path, "case,A,B,C,panel\np1,x,y,y,x\n", reference_rater="panel", raters=["A", "C"])
    assert (chosen.raters, chosen.reference.tolist()) == (("A", "C"), [0])


def test_which_columns_are_raters(tmp_path):
    text = "case,age,A,B,label\np1,63,x,y,z\n"
    found = written(tmp_path, text, raters=["A", "B"])
    assert (found.raters, found.labels) == (("A", "B"), ("x", "y"))
    long = written(tmp_path, "case,rater,label\np1,A,x\np1,B,y\np1,C,z\n", raters=["A", "C"])
    assert (long.raters, long.labels) == (("A", "C"), ("x", "z"))


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_a_second_table_of_confidence(tmp_path, layout):
    (tmp_path / "wide.csv").write_text("case,B,A\np2,3,1\np1,2,\n")
    (tmp_path / "long.csv").write_text("case,rater,confidence\np1,B,2\np2,A,1\np2,B,3\np9,A,7\n")
    found = written(tmp_path, "case,A,B\np1,x,y\np2,x,x\n", confidence=tmp_path / f"{layout}.csv", confidence_levels=4)
    assert found.confidence == pytest.approx(np.array([[np.nan, 0.5], [0.25, 0.75]]), nan_ok=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("case,A,B\np1,9,1\n", "sure.csv, line 2: confidence '9' is no level from 1 to 4 (case p1, rater A)"),
        ("case,A,B\nq1,1,1\n", "sure.csv: has no confidence of any case and rater of the ratings"),
        ("case,rater,confidence\np1,A,1\np1,A,2\n", "sure.csv, line 3: case p1 was rated by A in line 2 already"),
    ],
)
def test_faults_of_the_second_table(tmp_path, text, told):
    (tmp_path / "sure.csv").write_text(text)
    with pytest.raises(FormatError) as caught:
        written(tmp_path, "case,A,B\np1,x,y\n", confidence=tmp_path / "sure.csv", confidence_levels=4)
    assert told in str(caught.value)


def test_subjects_of_another_file(tmp_path):
    (tmp_path / "cases.csv").write_text("case,subject\np1,s\np2,s\np3,p3\n")
    found = written(tmp_path, "case,A,B\np1,x,y\np2,x,x\np3,x,x\n", cases=tmp_path / "cases.csv")
    assert found.subjects == ("s", "s", "p3")
    (tmp_path / "cases.csv").write_text("case,subject\np1,s\n")
    with pytest.raises(FormatError, match="does not list p2, p3"):
        read_ratings(tmp_path / "ratings.csv", cases=tmp_path / "cases.csv")


@pytest.mark.parametrize("name", ["ratings.parquet", "ratings.xlsx"])
def test_parquet_and_excel_are_read_as_the_same_text(tmp_path, name):
    import pandas

    (tmp_path / "ratings.csv").write_text("case,A,B,C,truth,A confidence\n1,2,1,none,2,4\n2,,2,NA,,5\n3,1,1,1,1,\n")
    frame = pandas.DataFrame({
        "case": [1, 2, 3], "A": [2, None, 1], "B": [1, 2, 1], "C": ["none", "NA", "1"], "truth": [2.0, None, 1.0],
        "A confidence": [4, 5, None],
    })  # fmt: skip
    if name.endswith("xlsx"):
        frame.to_excel(tmp_path / name, index=False)
    else:
        frame.set_index("case").to_parquet(tmp_path / name)
    found, text = (read_ratings(tmp_path / n, confidence_levels=5) for n in (name, "ratings.csv"))
    assert same(found, text)
    assert found.labels == ("1", "2", "none")
    unit = "row 2" if name.endswith("parquet") else "line 3"
    with pytest.raises(FormatError, match=f"{unit}: confidence '5' is no level from 1 to 4"):
        read_ratings(tmp_path / name, confidence_levels=4)


@pytest.mark.parametrize("name", ["ratings.parquet", "ratings.xlsx"])
def test_what_is_no_parquet_or_excel(tmp_path, name):
    with pytest.raises(FormatError, match="there is no such file; correct the path"):
        read_ratings(tmp_path / name)
    (tmp_path / name).write_text(LONG)
    with pytest.raises(FormatError, match="cannot be read"):
        read_ratings(tmp_path / name)
    with pytest.raises(FormatError, match=r"save it as \.xlsx"):
        read_ratings(tmp_path / "ratings.xls")


@pytest.mark.parametrize(("name", "module"), [("ratings.parquet", "pyarrow"), ("ratings.xlsx", "openpyxl")])
def test_an_absent_library_is_named_with_its_extra(tmp_path, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FormatError, match=rf'needs {module}; install it with pip install "manytruths\[tables\]"'):
        read_ratings(tmp_path / name)


cells = st.sampled_from(["", "a", "b", "c d"])
sure = st.sampled_from(["", "1", "2", "3"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(cells, sure), min_size=3, max_size=3), min_size=1, max_size=5), st.data())
def test_long_in_any_order_is_wide(tmp_path, table, data):
    raters, labels = ["R, 1", 'the "second"', "3"], ["a", "b", "c d"]
    with open(tmp_path / "wide.csv", "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(["case", *raters, *(f"{r} confidence" for r in raters)])
        out.writerows([f"p{i}", *(x for x, _ in row), *(c for _, c in row)] for i, row in enumerate(table))
    lines = [[f"p{i}", r, *cell] for i, row in enumerate(table) for r, cell in zip(raters, row, strict=True)]
    with open(tmp_path / "long.csv", "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream, delimiter=";")
        out.writerow(["case", "rater", "label", "confidence"])
        out.writerows(data.draw(st.permutations(lines)))
    wide = read_ratings(tmp_path / "wide.csv", labels=labels, confidence_levels=3)
    long = read_ratings(tmp_path / "long.csv", labels=labels, confidence_levels=3)
    order = [long.cases.index(case) for case in wide.cases]
    assert same(long.select(order, wide.raters), wide)


def test_van_dyke():
    path = data("ratings", "VanDyke.csv")
    found = read_ratings(path, filters={"treatment": "1"}, cut=3)
    assert (len(found), found.raters, found.labels) == (114, ("1", "2", "3", "4", "5"), ("0", "1"))
    assert found.given.all()
    with open(path, newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["treatment"] == "1"]
    assert found.reference is not None
    for row in rows:
        x, i = found.cases.index(row["case"]), found.raters.index(row["reader"])
        rating = int(row["rating"])
        assert found.codes[x, i] == (rating >= 3)
        assert found.confidence[x, i] == pytest.approx({1: 1, 2: 1 / 3, 3: 0.2, 4: 0.6, 5: 1}[rating])
        assert found.reference[x] == int(row["truth"])


def test_a_long_table_without_cases_says_what_it_needs(tmp_path):
    """Nobody can say which ratings are of the same case."""
    path = tmp_path / "long.csv"
    path.write_text("rater,label\nA,0\nB,1\nA,1\nB,1\n")
    with pytest.raises(FormatError, match="which case the line is about: add the column, or give every rater a column"):
        read_ratings(path)


def test_a_wide_table_without_cases_has_a_case_in_every_row(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("A,B,C\n" + "1,1,0\n0,0,0\n1,0,1\n1,1,1\n" * 4)
    file = open_ratings(path)
    assert file.ratings.raters == ("A", "B", "C")
    assert file.ratings.cases[:2] == ("line 2", "line 3")
    assert len(file.ratings) == 16
    assert any("every row is a case" in note for note in file.notes)
    # a column that names the rows is no rater
    path.write_text("image,A,B\n" + "".join(f"p{i},1,0\n" for i in range(5)))
    with pytest.raises(FormatError, match=r"has no column 'case' \(columns: image, A, B\)"):
        open_ratings(path)
