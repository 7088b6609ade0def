"""Tables and options that broke ``reliability`` once, and numbers that a sceptic would check by himself."""

from __future__ import annotations

import importlib
import time
from dataclasses import replace

import numpy as np
import pytest

import manytruths as mt
from manytruths import CallError, Ratings, rater_accuracy, reason, rho, sigma
from manytruths.analyses.reliability.intervals import _RhoParts, beyond_chance, rho_interval
from manytruths.analyses.reliability.masks import Assumptions
from manytruths.analyses.reliability.reliability import ReliabilitySettings
from manytruths.cli import status
from manytruths.ratings.concordance import genuineness, label_closeness
from manytruths.ratings.tables import RatingsOptions, open_ratings


def lines(labels=("x", "y"), cases=12, raters="ABC", separator=",", end="\n", head=("case", "rater", "label")):
    rows = [head] + [
        (f"p{i}", r, labels[(i * i + k) % len(labels)]) for i in range(cases) for k, r in enumerate(raters)
    ]
    return "".join(separator.join(row) + end for row in rows)


@pytest.fixture
def ask(tmp_path, capsys):
    def run(content, *options, name="r.csv"):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        code = status(["reliability", str(path), *options, "--out", str(tmp_path / "out")])
        told = capsys.readouterr()
        # a file of a run that failed would pass for a result
        assert code == 0 or not any(p.is_file() for p in (tmp_path / "out").rglob("*"))
        assert "Traceback" not in told.err
        return code, " ".join(told.out.split()), told.err

    return run


def read(folder, text, **options):
    path = folder / "r.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_ratings(path, RatingsOptions(**options))


@pytest.mark.parametrize(
    "text",
    [
        lines(),
        "\n \n" + lines(separator=";"),
        "sep=;\r\n" + lines(separator=";", end="\r\n"),
        '"sep=;"\n' + lines(separator=";"),
        lines(end=",,\n"),
        lines(end=" , \r\n", separator=" , "),
        lines(end="\r"),
        b"\xef\xbb\xbf\n" + lines(separator="\t").encode(),
    ],
)
def test_spreadsheets_save_tables_in_many_ways(tmp_path, text):
    found, plain = read(tmp_path, text).ratings, read(tmp_path, lines()).ratings
    assert (found.cases, found.raters, found.labels) == (plain.cases, plain.raters, plain.labels)
    assert np.array_equal(found.codes, plain.codes)


def test_a_column_with_cells_but_no_name_is_still_refused(ask):
    code, _, err = ask("case,A,B,\np1,x,y,\np2,x,y,note\n")
    assert (code, err.count("\n")) == (1, 1)
    assert "column 4 has no name" in err


def test_a_number_written_in_two_ways_is_one_label(tmp_path):
    # so does pandas write whole numbers of a column with a gap
    found = read(tmp_path, "case,A,B\np1,1.0,1\np2,,0\np3,0.0,0\np4,1.0,0\n")
    assert found.ratings.labels == ("0", "1")
    assert found.ratings.codes.tolist() == [[1, 1], [-1, 0], [0, 0], [1, 0]]
    assert "1.0 and 1 are one label" in found.notes


def test_words_are_no_numbers_and_keep_their_order(tmp_path):
    assert read(tmp_path, lines(("b", "10", "9", "a"))).ratings.labels == ("10", "9", "a", "b")


def test_names_that_capitals_tell_apart_are_warned_of(tmp_path):
    found = read(tmp_path, lines(("Yes", "yes", "no"), raters=["A", "a", "B"]))
    told = [note for note in found.notes if note.startswith("warning")]
    assert "'Yes' and 'yes'" in told[0]
    assert "'A' and 'a'" in told[1]
    assert not any(note.startswith("warning") for note in read(tmp_path, lines()).notes)


def test_a_truth_with_gaps_beside_a_cut(tmp_path):
    found = read(tmp_path, "case,A,B,truth\np1,1,5,1.0\np2,2,4,\np3,3,1,0.0\n", cut=3).ratings
    assert found.reference.tolist() == [1, -1, 0]


def test_an_unknown_rater_of_a_wide_table(ask):
    code, _, err = ask("case,A,B\np1,x,y\n", "--select-raters", "A,Z")
    assert (code, err.count("\n")) == (2, 1)
    assert "no rater 'Z'; there are A, B" in err


def test_words_that_are_cut_get_their_lines(ask):
    code, _, err = ask(lines(cases=2, raters="AB"), "--cut", "3")
    assert code == 1
    assert [line.split(":")[0].strip() for line in err.splitlines()[1:]] == ["line 2", "line 3", "line 4", "line 5"]


def test_an_open_quotation_mark_is_told_where_it_opens(ask):
    code, _, err = ask(lines().replace("p3,A", '"p3,A', 1))
    assert code == 1
    assert 'line 11: a quote (") is opened here and never closed' in err


@pytest.mark.parametrize(("text", "value"), [("90%", 0.9), ("55 %", 0.55), ("0%", 0.0), ("100%", 1.0)])
def test_percentages(tmp_path, text, value):
    found = read(tmp_path, f"case,rater,label,confidence\np1,A,x,{text}\np1,B,x,1\n").ratings
    assert found.confidence[0, 0] == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("72", "--confidence-levels 5; if it is a percentage, write 72%"),
        ("120%", "confidence '120%' is not from 0 to 1"),
        ("4", "say of how many: --confidence-levels 5 (case"),
        ("0,5", "has a decimal comma; write 0.5 (case p1, rater A)"),
    ],
)
def test_what_is_no_confidence(ask, text, told):
    code, _, err = ask(f"case;rater;label;confidence\np1;A;x;{text}\np1;B;x;1\n")
    assert (code, err.count("\n")) == (1, 1)
    assert told in err


def test_a_column_of_measurements_is_no_column_of_labels(ask):
    rows = "".join(f"p{i // 2},{'AB'[i % 2]},{i / 7}\n" for i in range(20_000))
    start = time.perf_counter()
    code, _, err = ask("case,rater,label\n" + rows)
    assert code == 1
    assert "different labels; at most 2,000 can be compared" in err
    # it took minutes, and then overflowed
    assert time.perf_counter() - start < 10


def test_several_sheets_are_told(tmp_path, ask):
    pandas = importlib.import_module("pandas")
    table = pandas.DataFrame({"case": [f"p{i}" for i in range(12)], "A": [0, 1] * 6, "B": [0, 0, 1] * 4})
    note = pandas.DataFrame({"read me": ["a note"]})
    for first, second, code in ((note, table, 1), (table, note, 0)):
        with pandas.ExcelWriter(tmp_path / "r.xlsx") as book:
            first.to_excel(book, sheet_name="one", index=False)
            second.to_excel(book, sheet_name="two", index=False)
        got, out, err = ask(None, name="r.xlsx")
        assert got == code
        assert "the first sheet, 'one', was read; not read: two" in out + err


def test_other_spreadsheets_are_named(ask):
    code, _, err = ask(b"PK", name="r.ods")
    assert (code, err.count("\n")) == (1, 1)
    assert "is a file of LibreOffice; save it as .xlsx or .csv" in err


def test_a_file_with_braces_in_its_name_is_a_table(ask):
    assert ask(lines(), name="r{1}.csv")[0] == 0


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("r.csv", ("--region", "union"), "--region is for masks"),
        ("r.csv", ("--lesion-min-size", "3"), "--lesion-min-size is for masks"),
        ("{rater}/{case}.png", ("--cut", "0"), "--cut is for a table of ratings"),
        ("{rater}/{case}.png", ("--confidence-rule", "span"), "--confidence-rule is for a table of ratings"),
        ("{rater}/{case}.png", ("--kind", "ordinal"), "--kind is for a table of ratings"),
    ],
)
def test_options_that_would_lead_nowhere(ask, name, options, told):
    code, _, err = ask(lines() if name == "r.csv" else None, *options, name=name)
    assert (code, err.count("\n")) == (2, 1)
    assert told in err


def test_chance_is_looked_at_without_confidence_too(ask):
    code, _, err = ask(lines(), "--chance", "nonsense=0.3")
    assert code == 2
    assert "chance must have a share for each of x, y, with the sum 1" in err


def test_shares_of_labels_are_not_those_of_lesions():
    given = Assumptions(chance={"0": 0.9, "1": 0.1}, accuracy={"A": 0.9})
    assert given.of_lesions == replace(given, chance="uniform")
    assert Assumptions(chance="empirical").of_lesions.chance == "empirical"


def test_a_study_with_given_chance(tmp_path, capsys):
    from PIL import Image

    for rater, shift in (("A", 0), ("B", 1)):
        for case in range(3):
            mask = np.zeros((12, 12), np.uint8)
            mask[3 + shift : 7 + shift, 2 + case : 6] = 255
            path = tmp_path / "masks" / rater / f"p{case}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask).save(path)
    options = ["--labels", "0=none,255=lesion", "--chance", "none=0.9,lesion=0.1", "--confidence", "A=0.9,B=0.6"]
    code = status(["reliability", str(tmp_path / "masks/{rater}/{case}.png"), *options, "--out", str(tmp_path / "out")])
    assert code == 0
    assert "--chance are those of pixels" in " ".join(capsys.readouterr().out.split())


def test_few_cases_that_two_rated_have_no_interval():
    table = [[0, 1, None], [1, 1, 0], *[[1, None, None]] * 20]
    found = mt.reliability(Ratings.of(table))
    for name in ("sigma", "percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"):
        assert "at least 10" in reason(found.headline[name].low), name
    assert not any("Krippendorff's rule" in note for note in found.notes)
    enough = mt.reliability(Ratings.of([[0, 1, None], [1, 1, 0]] * 5)).headline
    assert not reason(enough["percent_agreement"].low)
    assert "there are 10.0 of 10" in reason(enough["fleiss_kappa"].low)
    many = beyond_chance(Ratings.of([[0, 1, None], [1, 1, 0]] * 15), ReliabilitySettings())
    assert not reason(many["fleiss_kappa"].low)


def draw(rng, cases, abilities, *, gaps=0.0, labels=2, subjects=None):
    """Raters who meet easy and hard cases, with levels of confidence."""
    truth, hard = rng.integers(labels, size=cases), rng.normal(0, 1.8, cases)
    right = rng.random((cases, len(abilities))) < 1 / (1 + np.exp(hard[:, None] - abilities))
    wrong = (truth[:, None] + rng.integers(1, labels, right.shape)) % labels
    codes = np.where(right, truth[:, None], wrong).astype(np.int16)
    codes[rng.random(codes.shape) < gaps] = -1
    sure = np.where(codes < 0, np.nan, rng.choice([0.2, 0.4, 0.6, 0.8, 1.0], size=codes.shape))
    names = tuple(map(str, range(cases)))
    of = names if subjects is None else tuple(str(i // subjects) for i in range(cases))
    raters, known = tuple(map(str, range(len(abilities)))), tuple(map(str, range(labels)))
    return Ratings(names, raters, known, codes, sure, "ordinal", truth.astype(np.int16), of)


@pytest.mark.parametrize("source", ["reference", "majority"])
@pytest.mark.parametrize("partial", ["none", "linear"])
@pytest.mark.parametrize("labels", [2, 3])
def test_rho_of_a_draw_is_that_of_the_cases_drawn(source, partial, labels):
    rng = np.random.default_rng(labels)
    ratings = draw(rng, 60, rng.normal(2, 0.5, 5), gaps=0.2, labels=labels, subjects=2)
    pieces = _RhoParts(ratings, source, genuineness(ratings, "uniform"), label_closeness(ratings.numbers, partial))
    owners = list(dict.fromkeys(ratings.subjects))
    for _ in range(5):
        weights = rng.multinomial(30, np.full(30, 1 / 30)).astype(float)
        rows = [weights[owners.index(subject)] for subject in ratings.subjects]
        again = replace(ratings, weights=np.array(rows, np.int64))
        naive = rho(again, rater_accuracy(again, source).accuracy, "uniform", partial).value
        assert pieces.rho(lambda part, w=weights: w[None] @ part)[0] == pytest.approx(naive, abs=1e-12)


def test_rho_of_all_cases_is_rho_where_some_cannot_be_judged():
    # D rates nothing that the others decide, E contradicts A
    table = {
        "A": [1, 1, 1, 0, 0, 1], "B": [1, 1, 1, 0, 1, 0], "C": [1, 1, 1, 0, 0, 0],
        "D": [None, None, None, None, None, 1], "E": [0, 0, 0, 1, None, None],
    }  # fmt: skip
    ratings = Ratings.of(table, confidence=0.7, reference=[1, 1, 1, 0, 0, None])
    for source in ("reference", "majority"):
        found = rho(ratings, rater_accuracy(ratings, source).accuracy)
        pieces = _RhoParts(ratings, source, genuineness(ratings), label_closeness(ratings.numbers, "none"))
        assert pieces.rho(lambda part: part.sum(axis=0, keepdims=True))[0] == pytest.approx(found.value, abs=1e-12)
        few = rho_interval(ratings, source, found, "uniform", "none", ReliabilitySettings())
        assert "at least 10" in reason(few.low)


def test_intervals_of_rho_cover():
    """With accuracies held fixed 82 of 100 do."""
    rng = np.random.default_rng(1)
    abilities = rng.normal(2, 0.35, 6)
    whole = draw(rng, 100_000, abilities)
    settings = ReliabilitySettings()
    samples = [draw(rng, 60, abilities) for _ in range(150)]
    for source in ("reference", "majority"):
        true = rho(whole, rater_accuracy(whole, source).accuracy).value
        hits = 0
        for one in samples:
            found = rho(one, rater_accuracy(one, source).accuracy)
            within = rho_interval(one, source, found, "uniform", "none", settings)
            hits += within.low <= true <= within.high
        assert hits / len(samples) > 0.89, source


def test_headline_and_note_of_rho():
    rng = np.random.default_rng(0)
    found = mt.reliability(draw(rng, 80, rng.normal(2, 0.3, 5)))
    own = found.sources[0]
    fixed = np.random.default_rng(0).choice(own.rho.by_case, (400, 80)).mean(axis=1).std()
    within = found.headline["rho reference"]
    assert within.value == own.value
    assert within.high - within.low > 1.15 * 2 * 1.96 * fixed
    assert "the interval of rho by a Rasch model treats its abilities and difficulties as known" in found.notes


def test_pixels_one_by_one():
    rng = np.random.default_rng(3)
    masks = {name: rng.integers(0, 3, (9, 8)) for name in "ABCD"}
    sure = {"A": 0.9, "B": 0.5, "C": 1.0, "D": 0.3}
    by_table = mt.ratings_from_tally(mt.tally(masks), sure)
    by_pixel = Ratings.of({name: mask.ravel().tolist() for name, mask in masks.items()}, confidence=sure)
    assert sigma(by_table).value == pytest.approx(sigma(by_pixel).value, abs=1e-13)
    both = [rho(r, rater_accuracy(r).accuracy).value for r in (by_table, by_pixel)]
    assert both[0] == pytest.approx(both[1], abs=1e-13)


def test_long_names_stay_on_one_line(tmp_path, ask):
    names = [f"Dr {c} of the Northern University Hospital" for c in "ABCDEF"]
    code, out, _ = ask(lines(cases=30, raters=names))
    assert code == 0
    assert "Dr A of the North…" in out


def test_wrong_pieces_are_a_wrong_call():
    with pytest.raises(CallError, match="no reference"):
        _RhoParts(Ratings.of([[0, 1]] * 3), "reference", np.ones((3, 2)), np.eye(2))
