"""Tables of scores: ours, anybody's, and bad ones of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from manytruths import CallError, FormatError, read_scores
from manytruths.evaluation.ranking.scores import BOTH_EMPTY, MISSING, PRESENT, UNDEFINED

OURS = "scope,case,group,label,region,algorithm,against,statistic,value,low,high,n,n_undefined,reason,code"


def ours(*rows: tuple[str, ...]) -> str:
    """Scope, case, label, algorithm, against, statistic, value, code, as our own file has them."""
    lines = [f"{s},{c},,{lab},whole,{a},{t},{m},{v},,,,,in words,{why}" for s, c, lab, a, t, m, v, why in rows]
    return "\n".join([OURS, *lines, ""])


def written(folder, text, **options):
    path = folder / "scores.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_scores(path, **options)


def refused(folder, text, **options) -> str:
    with pytest.raises((FormatError, CallError)) as caught:
        written(folder, text, **options)
    assert "scores.csv" in str(caught.value) or isinstance(caught.value, CallError)
    return str(caught.value)


def test_our_own_table(tmp_path):
    found = written(tmp_path, ours(
        ("case", "p1", "", "unet", "staple", "dice", "0.9", ""),
        ("case", "p1", "", "vnet", "staple", "dice", "nan", "both_empty"),
        ("case", "p2", "", "unet", "staple", "dice", "", "first_empty"),
        ("case", "p1", "", "unet", "A", "dice", "0.8", ""),
        ("subject", "p1", "", "unet", "staple", "dice", "0.1", ""),
        ("mean", "", "", "unet", "staple", "dice", "0.2", ""),
    ))  # fmt: skip
    assert (found.algorithms, found.cases, found.references) == (("unet", "vnet"), ("p1", "p2"), ("staple", "A"))
    assert found.metrics == ("dice",)
    assert found.values[0, 0, :, 0].tolist() == [0.9, 0.8]
    assert found.gaps[:, :, 0, 0].tolist() == [[PRESENT, UNDEFINED], [BOTH_EMPTY, MISSING]]
    assert found.subjects == ("p1", "p2")


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("both_empty", BOTH_EMPTY),
        ("one_label_by_both", BOTH_EMPTY),
        ("nothing_predicted_nor_agreed", BOTH_EMPTY),
        ("no_prediction", MISSING),
        ("one_empty", UNDEFINED),
        ("both marked nothing", UNDEFINED),
        ("", UNDEFINED),
    ],
)
def test_codes_of_gaps(tmp_path, why, kind):
    rows = [("case", "p1", "", "unet", "x", "dice", "nan", f'"{why}"'), ("case", "p1", "", "v", "x", "dice", "1", "")]
    assert written(tmp_path, ours(*rows)).gaps[0, 0, 0, 0] == kind


def test_labels_and_regions(tmp_path):
    rows = [("case", "p1", lab, a, "x", "dice", "0.5", "") for a in ("u", "v") for lab in ("", "gland", "tumour")]
    together = written(tmp_path, ours(*rows))
    assert together.metrics == ("dice",)
    assert "gland, tumour" in together.notes[0]
    assert written(tmp_path, ours(*rows), labels=["gland", "tumour"]).metrics == ("dice [gland]", "dice [tumour]")
    assert written(tmp_path, ours(*rows), labels=["gland"]).metrics == ("dice",)
    assert written(tmp_path, ours(*(r for r in rows if r[2]))).metrics == ("dice [gland]", "dice [tumour]")
    assert "no scores of the label 'bone'; there are: gland, tumour" in refused(tmp_path, ours(*rows), labels=["bone"])
    text = ours(*rows[:1], *rows[3:4])
    union = text.replace("whole", "union").partition("\n")[2]
    assert written(tmp_path, text + union).metrics == ("dice [whole]", "dice [union]")


def test_a_long_table_of_somebody_else(tmp_path):
    text = "image;team;name;score;gt\ni1;t1;Dice;0.9;A\ni1;t2;Dice;n/a;A\n\ni1;t1;HD95;3;A\n"
    columns = {"case": "image", "algorithm": "team", "metric": "name", "value": "score", "reference": "gt"}
    found = written(tmp_path, text, columns=columns)
    assert (found.metrics, found.references) == (("Dice", "HD95"), ("A",))
    assert found.gaps[:, 0, 0].tolist() == [[PRESENT, PRESENT], [UNDEFINED, MISSING]]


def test_one_metric_without_a_column_of_metrics(tmp_path):
    found = written(tmp_path, "case,algorithm,DSC\np,a,0.5\n", columns={"value": "DSC"})
    assert found.metrics == ("DSC",)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_wide_table(tmp_path, separator):
    rows = [
        ["Case", "Algorithm", "dice", "hd95", "site", "subject"],
        ["p1", "a", "0.9", "3", "north", "s"],
        ["p2", "a", "", "inf", "south", "s"],
        ["p1", "b", "NaN", "1e1", "", "s"],
    ]
    text = "\ufeff" + "\r\n".join(separator.join(row) for row in rows) + "\r\n"
    found = written(tmp_path, text)
    assert found.metrics == ("dice", "hd95")
    assert found.references == ("truth",)
    assert found.subjects == ("s", "s")
    assert found.gaps[:, :, 0].tolist() == [[[PRESENT] * 2, [UNDEFINED] * 2], [[UNDEFINED, PRESENT], [MISSING] * 2]]
    assert "site" in found.notes[0]


def test_subjects_from_a_table_of_cases(tmp_path):
    (tmp_path / "cases.csv").write_text("case,subject\np1,s\np2,s\np3,t\n")
    text = "case,algorithm,dice\np1,a,0.5\np2,a,0.6\n"
    found = written(tmp_path, text, cases=tmp_path / "cases.csv")
    assert found.subjects == ("s", "s")
    assert len(found.subject_names) == 1
    (tmp_path / "cases.csv").write_text("case,subject\np1,s\n")
    with pytest.raises(FormatError, match=r"cases\.csv: does not list p2"):
        written(tmp_path, text, cases=tmp_path / "cases.csv")
    (tmp_path / "cases.csv").write_text("case,group\np1,s\np2,s\n")
    with pytest.raises(FormatError, match="no column 'subject'"):
        written(tmp_path, text, cases=tmp_path / "cases.csv")


def test_diagonals_from_a_table_of_cases(tmp_path):
    """That of evaluate, which lies beside its scores, or one that is given."""
    text = "case,algorithm,hd,subject\np1,a,0.5,s\np2,a,0.6,s\n"
    assert written(tmp_path, text).diagonals == ()
    (tmp_path / "cases.csv").write_text("case,subject,group,diagonal\np2,v,,30.5\np1,u,,\n")
    found = written(tmp_path, text)
    assert found.subjects == ("u", "v")
    assert np.isnan(found.diagonals[0])
    assert found.diagonals[1] == 30.5
    assert np.array_equal(found.lengths, [np.nan, 30.5], equal_nan=True)
    (tmp_path / "own.csv").write_text("case,diagonal\np2,3\np1,4\n")
    own = written(tmp_path, text, cases=tmp_path / "own.csv")
    assert (own.diagonals, own.subjects) == ((4, 3), ("s", "s"))
    for bad in ("0", "-1", "inf", "long"):
        (tmp_path / "own.csv").write_text(f"case,diagonal\np2,3\np1,{bad}\n")
        with pytest.raises(FormatError, match=rf"own\.csv, case p1: diagonal '{bad}'"):
            written(tmp_path, text, cases=tmp_path / "own.csv")


def test_names_are_kept_as_they_are(tmp_path):
    found = written(tmp_path, 'case,algorithm,dice\n"a, ""b""",[bold]net,0.5\n"a, b", Ünet ,0.6\n')
    assert found.algorithms == ("[bold]net", "Ünet")
    assert found.cases == ('a, "b"', "a, b")


def test_quoted_line_ends_do_not_shift_line_numbers(tmp_path):
    told = refused(tmp_path, 'case,algorithm,reason,dice\np1,a,"x\ny",0.5\np2,a,,bad\np3,a,,0.5\n')
    assert "scores.csv, line 4: dice 'bad' is not a number" in told


HEAD = "case,algorithm,dice\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        (HEAD, "no scores of cases"),
        (OURS + "\n", "no scores of cases"),
        ("image,team,dice\np,a,1\n", "no column 'case' (columns: image, team, dice); name it with --columns case=NAME"),
        ("case,team,dice\np,a,1\n", "--columns algorithm=NAME"),
        ("case,algorithm,metric,dice\np,a,x,1\n", "--columns value=NAME"),
        ("case,algorithm,site\np,a,north\n", "neither a column 'value' nor a column of numbers"),
        ("case,algorithm,dice,dice\np,a,1,1\n", "same name"),
        (HEAD + "p,a,0.5\np,b\n", "line 3: has 2 cells, the header 3"),
        (HEAD + "p,a,0,5\n", "line 2: has 4 cells, the header 3; write decimals with a point"),
        (HEAD.replace(",", ";") + "p;a;0,5\n", "line 2: dice '0,5' has a decimal comma; write 0.5"),
        (HEAD + 'p,a,"0,85"\n', "write 0.85"),
        (HEAD + "p,a,0.5\np,b,good\n", "line 3: dice 'good' is not a number"),
        (HEAD + "p,a,1_0\np,b,1\n", "line 2: dice '1_0' is not a number"),
        (HEAD + ",a,0.5\n", "line 2: the case is empty"),
        (HEAD + "p, ,0.5\n", "line 2: the algorithm is empty"),
        ("case,algorithm,metric,value\np,a,,1\n", "line 2: the metric is empty"),
        ("case,algorithm,truth,dice\np,a,,1\n", "line 2: the reference is empty"),
        (HEAD + "p,a,0.5\nq,a,0.5\np,a,0.6\n", "line 4: dice of a for case p against truth is in line 2 already"),
        ("case,subject,algorithm,dice\np,s,a,1\np,t,b,1\n", "line 3: case p is of subject 't' here and of 's' above"),
        (HEAD.encode() + b"p\xff,a,1\n", "not text in UTF-8"),
        (HEAD + 'p,a,"' + "x" * 200_000 + '"\n', "line 2: a cell has more than 131,072 characters"),
    ],
)
def test_bad_tables(tmp_path, text, told):
    assert told in refused(tmp_path, text)


def test_ten_problems_are_told_and_the_others_counted(tmp_path):
    rows = "".join(f"p{i},a,{'bad' if i % 2 else 0.5}\n" for i in range(40))
    told = refused(tmp_path, HEAD + rows).splitlines()
    assert told[0].endswith("20 cells or lines cannot be used; correct them")
    assert [line.split(":")[0].strip() for line in told[1:11]] == [f"line {i}" for i in range(3, 23, 2)]
    assert told[11].strip() == "and 10 more"
    assert len(told) == 12


def test_wrong_columns(tmp_path):
    text = HEAD + "p,a,1\n"
    assert "got 'team'" in refused(tmp_path, text, columns={"team": "algorithm"})
    assert "no column 'gt' but case, algorithm, dice" in refused(tmp_path, text, columns={"reference": "gt"})


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FormatError, match="there is no such file"):
        read_scores(tmp_path / "none.csv")
    with pytest.raises(FormatError, match="is a folder"):
        read_scores(tmp_path)


def test_the_order_of_rows_does_not_matter(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"p{c},a{a},t{t},{rng.random():.3f}" for a in range(3) for c in range(4) for t in range(2)]
    head = "case,algorithm,truth,dice"
    one = written(tmp_path, "\n".join([head, *rows]))
    other = written(tmp_path, "\n".join([head, *rng.permutation(rows)]))
    pick = np.ix_(
        *[[b.index(n) for n in a] for a, b in (
            (one.algorithms, other.algorithms), (one.cases, other.cases),
            (one.references, other.references), ("dice", "dice"),
        ) if a != "dice"], [0],
    )  # fmt: skip
    assert (one.values == other.values[pick]).all()


def test_numbers_beyond_all_scores(tmp_path):
    text = "case,algorithm,dice\np1,a,1e308\np1,b,0.5\np2,a,inf\np2,b,0.5\n"
    assert "line 2: dice '1e308' is larger than any score" in refused(tmp_path, text)
