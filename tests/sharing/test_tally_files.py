"""Tally files: what is in them and what is not, what is refused, and what merging patterns changes."""

from __future__ import annotations

import gzip
import hashlib
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import manytruths as mt
from manytruths import FormatError, StudyError
from manytruths.core.rare_patterns import merge_rare_patterns
from manytruths.io import tally_files
from panels import VOID, panels
from study_folders import disc, run, table, write_png
from tally_centres import CENTRES, open_folder, share, write_centres


def text_of(path):
    return gzip.decompress(path.read_bytes())


def forge(path, change, to=None):
    """The file with its content changed, and a checksum that fits."""
    content = change(text_of(path)[: -(len("sha256 ") + 65)])
    content += b"sha256 " + hashlib.sha256(content).hexdigest().encode() + b"\n"
    (to or path).write_bytes(gzip.compress(content))
    return to or path


def small_study(**options):
    masks = {"anna": disc(16, x=1), "ben": disc(16, x=2)}
    return mt.Study.from_arrays({"Miller 1954-03-02": masks, "p2": dict(reversed(masks.items()))}, **options)


@pytest.fixture
def small(tmp_path):
    return mt.share_tallies(small_study(), tmp_path / "a.tally", names=True).path


# -- what is in a file ------------------------------------------------------------------------------


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(panel=panels(absent=True), spacing=st.none() | st.tuples(*[st.floats(1e-3, 1e3)] * 2))
def test_what_is_written_is_read_back(tmp_path, panel, spacing):
    masks = {name: None if mask is None else np.atleast_2d(mask) for name, mask in panel.masks.items()}
    if len({str(name[0] if isinstance(name, tuple) else name) for name, mask in masks.items() if mask is not None}) < 2:
        return
    axes = next(mask.ndim for mask in masks.values() if mask is not None)
    size = spacing if axes == 2 else None
    labels = None if panel.labels is None else mt.Labels.of(panel.labels)
    study = mt.Study.from_arrays({"p": masks}, labels=labels, void=VOID, spacing=size)
    try:
        study.tally()
    except mt.InputError:
        return  # values that are no labels of one study
    path = mt.share_tallies(study, tmp_path / "a.tally", names=True).path
    again = mt.Study.open(path)
    assert again.tally()["p"] == study.tally()["p"]
    assert again["p"].read().grid == study["p"].read().grid
    assert mt.share_tallies(again, tmp_path / "b.tally", names=True).path.read_bytes() == path.read_bytes()


def test_nothing_of_paths_files_or_names_is_in_the_file(tmp_path):
    """Neither packed nor unpacked; names of cases, subjects, sessions and columns that were not asked for, either."""
    root = tmp_path / "Hospital of Springfield"
    for rater in ("anna", "ben"):
        for visit in ("2021-03-04", "2022-05-06"):
            for patient in ("Miller", "Smith"):
                write_png(root / "masks" / rater / visit / patient / f"scan{patient[0]}.png", disc(24, x=len(rater)))
    for name in ("unet", "reference"):
        for patient in ("Miller", "Smith"):
            write_png(root / name / f"scan{patient[0]}.png", disc(24))
    (root / "cases.csv").write_text(
        "case,subject,diagnosis,born\nscanM,Miller,glioma,1954-03-02\nscanS,Smith,glioma,1961-07-08\n", encoding="utf-8"
    )
    (root / "raters.csv").write_text(
        "rater,mail\nanna,anna@springfield.org\nben,ben@springfield.org\n", encoding="utf-8"
    )
    study = mt.Study.open(
        f"{root}/masks/{{rater}}/{{session}}/{{subject}}/{{case}}.png", cases=str(root / "cases.csv"),
        raters=str(root / "raters.csv"), predictions=f"{root}/unet/{{case}}.png",
        reference=f"{root}/reference/{{case}}.png",
    )  # fmt: skip
    result = mt.share_tallies(study, tmp_path / "a.tally", centre="S", keep="diagnosis")
    secrets = ["Miller", "Smith", "scanM", "scanS", "scan", "2021", "2022", "born", "1954", "mail", "springfield"]
    secrets += ["Springfield", ".png", "masks", str(tmp_path), tmp_path.name, "/tmp", "cases.csv", "Hospital"]
    packed, content = result.path.read_bytes(), text_of(result.path)
    for secret in secrets:
        assert secret.encode() not in content, secret
        assert secret.encode() not in packed, secret
    for kept in ("anna", "ben", "glioma", "S/C1", "S/S2"):
        assert kept.encode() in content
    assert {case.name for case in mt.Study.open(result.path)} == {"S/C1", "S/C2"}
    # gzip's header: no name, no time
    assert packed[3:8] == bytes(5)
    key = table(result.key)
    assert {(row["kind"], row["name"]) for row in key} == {
        ("case", "scanM"), ("case", "scanS"), ("subject", "Miller"), ("subject", "Smith"),
    }  # fmt: skip


def test_codes_stay_with_their_key_and_bytes_with_their_codes(tmp_path):
    study = small_study(subjects={"Miller 1954-03-02": "Miller", "p2": "Smith"})
    first = mt.share_tallies(study, tmp_path / "a.tally").path.read_bytes()
    assert mt.share_tallies(study, tmp_path / "a.tally", jobs=2).path.read_bytes() == first
    names = {row["code"]: row["name"] for row in table(tmp_path / "a_key.csv")}
    tallied = mt.Study.open(tmp_path / "a.tally")
    assert {names[case.name]: names[case.subject] for case in tallied} == {"Miller 1954-03-02": "Miller", "p2": "Smith"}
    for case in tallied:
        assert case.tally() == study[names[case.name]].tally()


def test_a_case_that_is_its_own_subject_stays_so(tmp_path):
    mt.share_tallies(small_study(), tmp_path / "a.tally")
    assert all(case.subject == case.name for case in mt.Study.open(tmp_path / "a.tally"))


def test_it_is_text_that_can_be_read(small):
    lines = text_of(small).decode().splitlines()
    assert json.loads(lines[0])["version"] == 2
    assert json.loads(lines[1])["case"] == "Miller 1954-03-02"
    assert lines[3] == "anna,ben,count"
    assert lines[-1].startswith("sha256 ")


def test_a_case_takes_some_kilobytes(tmp_path):
    simulated = mt.simulate_study(cases=2, size=256)
    study = mt.Study.from_arrays({c.name: {who: m.mask for who, m in c.readings.items()} for c in simulated})
    assert mt.share_tallies(study, tmp_path / "a.tally").size < 4000


# -- what is refused --------------------------------------------------------------------------------


def refused(capsys, *arguments):
    """The one line of an error about the input."""
    done = run(capsys, "agree", *arguments, "--no-pictures", "--jobs", 1)
    assert done.status == 1
    return done.line


def test_cut_and_altered_files(small, tmp_path, capsys):
    good = small.read_bytes()
    out = ("--out", tmp_path / "out")
    for end in (1, 5, len(good) // 2, len(good) - 1):
        small.write_bytes(good[:end])
        assert any(word in refused(capsys, small, *out) for word in ("cut", "is no tally file"))
    small.write_bytes(b"")
    assert "is no tally file" in refused(capsys, small, *out)
    small.write_bytes(good + b"more")
    assert "added to its end" in refused(capsys, small, *out)
    rng = np.random.default_rng(0)
    for at in rng.integers(10, len(good), 40).tolist():
        changed = bytearray(good)
        changed[at] ^= 1 << int(rng.integers(8))
        small.write_bytes(bytes(changed))
        assert f"{small}: " in refused(capsys, small, *out)
    small.write_bytes(gzip.compress(gzip.decompress(good).replace(b",1,", b",0,", 1)))
    assert "checksum" in refused(capsys, small, *out)
    assert not (tmp_path / "out").exists()


def test_a_newer_format_says_so(small, capsys):
    forge(small, lambda text: text.replace(b'"version":2', b'"version":3,"new":true'))
    line = refused(capsys, small)
    assert "newer version of manytruths (version 3 of the format, and this one reads up to 2)" in line


def replace_first(old, new):
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(
    "change",
    [
        replace_first(b'"cases":2', b'"cases":3'),
        replace_first(b'"cases":2', b'"cases":1'),
        replace_first(b'"cases":2', b'"cases":-1'),
        replace_first(b'"shape":[16,16]', b'"shape":[16,17]'),
        replace_first(b'"shape":[16,16]', b'"shape":[-16,-16]'),
        replace_first(b'"shape":[16,16]', b'"shape":[1e99,1]'),
        replace_first(b'"spacing":null', b'"spacing":[0,0]'),
        replace_first(b'"spacing":null', b'"spacing":[1]'),
        replace_first(b'"region":"whole"', b'"region":"elsewhere"'),
        replace_first(b'"labels":null', b'"labels":[[0,"a"],[1,"a"]]'),
        replace_first(b'"labels":null', b'"labels":[]'),
        replace_first(b"[1, 0]", b"[1, 9]"),
        replace_first(b'"labels": [[0, 1]', b'"labels": [[0, 99999999999999999999999]'),
        replace_first(b'"bytes":', b'"bytes":9'),
        replace_first(b'"rater"', b'"judge"'),
        replace_first(b'["ben", "rater", ""]', b'["anna", "rater", ""]'),
        replace_first(b"\n0,0,", b"\n0,0,9"),
        replace_first(b"\n0,0,", b"\n0,0,99999999999999"),
        replace_first(b"anna,ben,count", b"anna,ben,coun"),
        replace_first(b'"case":"p2"', b'"case":"\\u001b[2Jp2"'),
        replace_first(b'"case":"p2"', b'"case":""'),
        replace_first(b'["ben", "rater", ""]', b'["b\\nen", "rater", ""]'),
        lambda text: text[:40],
        lambda _: b"[]\n",
        lambda _: b"",
        lambda _: b"\xff\xfe\n",
        lambda text: text.splitlines(keepends=True)[0],
    ],
)
def test_forged_files_with_a_checksum_that_fits(small, change, capsys):
    before = text_of(small)
    forge(small, change)
    if text_of(small)[:-72] != before[:-72]:
        line = refused(capsys, small)
        assert str(small) in line or "case Miller" in line


def test_a_file_that_unpacks_to_gigabytes_is_refused_in_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(tally_files, "MOST_BYTES", 1 << 20)
    bomb = gzip.compress(bytes(1 << 27))
    assert len(bomb) < 1 << 18
    path = tmp_path / "bomb.tally"
    path.write_bytes(bomb)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="unpacks to more than"):
            mt.Study.open(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_writing_more_than_can_be_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tally_files, "MOST_BYTES", 1000)
    with pytest.raises(FormatError, match="several files"):
        mt.share_tallies(small_study(), tmp_path / "a.tally")
    assert not (tmp_path / "a.tally").exists()


def test_the_same_case_in_two_files(tmp_path, small, capsys):
    assert "'Miller 1954-03-02' is in" in refused(capsys, small, small)
    other = mt.share_tallies(small_study(), tmp_path / "b.tally", names=True, centre="north").path
    assert "anna, ben" in str(mt.Study.open([small, other]))
    for name in "cd":
        mt.share_tallies(small_study(), tmp_path / f"{name}.tally")
    assert "--centre" in refused(capsys, tmp_path / "c.tally", tmp_path / "d.tally")


def test_codes_of_subjects_that_only_seem_to_be_the_same(tmp_path):
    """Codes of cases may differ by their digits where those of subjects do not."""
    masks = {"anna": disc(16, x=1), "ben": disc(16, x=2)}
    for name, count in (("a", 4), ("b", 12)):
        cases = {f"{name}{k}": masks for k in range(count)}
        study = mt.Study.from_arrays(cases, subjects={case: f"patient {name}{k % 2}" for k, case in enumerate(cases)})
        mt.share_tallies(study, tmp_path / f"{name}.tally")
    with pytest.raises(StudyError, match="code of one centre"):
        mt.Study.open([tmp_path / "a.tally", tmp_path / "b.tally"])


def other_centre(tmp_path, **options):
    masks = options.pop("masks", {"anna": disc(16, x=1), "ben": disc(16, x=2)})
    study = mt.Study.from_arrays({"q1": masks}, **options)
    return mt.share_tallies(study, tmp_path / "b.tally", names=True).path


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"labels": mt.Labels.of({1: "gland"})}, {"labels": mt.Labels.of({1: "tumour"})}, ["1=gland", "1=tumour"]),
        ({"labels": mt.Labels.of({1: "gland"})}, {}, ["1=gland", "labels without names"]),
        ({}, {"spacing": (0.5, 0.5)}, ["pixels", "mm²", "--spacing"]),
        ({}, {"region": "union"}, ["the region", "whole", "union"]),
        ({}, {"foreground": "any"}, ["foreground is not given in one and any in the other"]),
        ({}, {"raters": "exchangeable"}, ["exchangeable"]),
        ({}, {"masks": {"Anna": disc(16), "ben": disc(16, x=1)}}, ["'anna'", "'Anna'"]),
        ({}, {"masks": {"anna ": disc(16), "ben": disc(16, x=1)}}, ["'anna'", "'anna '"]),
        (
            {},
            {"masks": {"cleo": disc(16), "dora": disc(16, x=1)}, "predictions": {"q1": {"ben": disc(16)}}},
            ["'ben' is a rater in", "an algorithm in"],
        ),
    ],
)  # fmt: skip
def test_centres_that_do_not_fit_together(tmp_path, capsys, first, second, words):
    one = mt.share_tallies(small_study(**first), tmp_path / "a.tally", names=True).path
    line = refused(capsys, one, other_centre(tmp_path, **second))
    assert all(word in line for word in words), line


def test_trained_on_another_reference(tmp_path, capsys):
    for name, reference in (("a", "anna"), ("b", "ben")):
        study = mt.Study.from_arrays(
            {name: {"anna": disc(16), "ben": disc(16, x=1)}}, predictions={name: {"unet": disc(16)}},
            trained_on={"unet": reference},
        )  # fmt: skip
        mt.share_tallies(study, tmp_path / f"{name}.tally", names=True)
    assert "unet was trained on ben" in refused(capsys, tmp_path / "a.tally", tmp_path / "b.tally")


def test_tally_files_beside_templates(small, tmp_path, capsys):
    write_png(tmp_path / "m" / "A" / "p1.png", disc())
    line = refused(capsys, small, f"{tmp_path}/m/{{rater}}/{{case}}.png")
    assert "cannot be mixed" in line
    (tmp_path / "study.toml").write_text('masks = "m/{rater}/{case}.png"\ntallies = "a.tally"\n', encoding="utf-8")
    assert "exclude each other" in refused(capsys, tmp_path)
    done = run(capsys, "agree", "one.png", "two.png")
    assert done.status == 2
    assert "in quotes" in done.line


def test_paths_that_name_nothing(tmp_path, capsys):
    assert "no such file" in refused(capsys, tmp_path / "x.tally")
    assert "no tally file is there" in refused(capsys, tmp_path / "*.tally")


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("agree", ["--images", "i/{case}.png"]),
        ("agree", ["--void", 3]),
        ("fuse", ["--consensus", "lsml"]),
        ("fuse", ["--smoothing", 1]),
        ("evaluate", ["--boundaries", "outlines"]),
        ("evaluate", ["--grading-sheet"]),
        ("reliability", ["--lesion-items", "matched"]),
        ("check", []),
        ("export coco", ["--to", "x"]),
        ("agree", ["--exclude-rater", "nobody"]),
        ("agree", ["--exclude", "anna=p9"]),
        ("agree", ["--session", "7"]),
    ],
)
def test_what_tally_files_cannot_do(tmp_path, capsys, monkeypatch, command, arguments):
    monkeypatch.chdir(tmp_path)
    study = mt.Study.from_arrays(
        {"q1": {"anna": disc(16), "ben": disc(16, x=1)}}, predictions={"q1": {"unet": disc(16)}}
    )
    path = mt.share_tallies(study, tmp_path / "a.tally", names=True).path
    done = run(capsys, *command.split(), path, *arguments)
    assert done.status == 1
    assert done.line


def test_tally_files_without_predictions_cannot_be_evaluated(small, capsys):
    done = run(capsys, "evaluate", small)
    assert done.status == 1
    assert "--predictions" in done.line


def test_a_name_that_cannot_be_read_back_is_not_written(tmp_path):
    study = mt.Study.from_arrays({"p1": {"an\nna": disc(16), "ben": disc(16, x=1)}})
    with pytest.raises(StudyError, match="rename it"):
        mt.share_tallies(study, tmp_path / "a.tally")


def test_a_name_is_the_same_on_a_mac(tmp_path):
    for case, name in (("p1", "Jürgen"), ("p2", "Ju\u0308rgen")):
        study = mt.Study.from_arrays({case: {name: disc(16), "ben": disc(16, x=1)}})
        mt.share_tallies(study, tmp_path / f"{case}.tally", names=True)
    assert set(mt.Study.open(f"{tmp_path}/*.tally").rater_names) == {"ben", "Jürgen"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--least", 0], "least"),
        (["--centre", "a/b"], "centre"),
        (["--centre", "a\nb"], "centre"),
        (["--to", "x.csv"], ".tally"),
    ],
)
def test_wrong_calls(small, capsys, arguments, word):
    done = run(capsys, "tally", small, *arguments)
    assert done.status == 2
    assert word in done.line


def test_a_column_that_no_table_has(small, capsys):
    done = run(capsys, "tally", small, "--keep", "age")
    assert done.status == 1
    assert "'age'" in done.line


def test_a_file_that_is_no_key(small, tmp_path, capsys):
    (tmp_path / "b_key.csv").write_text("code,what\nC1,x\n", encoding="utf-8")
    done = run(capsys, "tally", small, "--to", tmp_path / "b.tally")
    assert done.status == 1
    assert "no key" in done.line


# -- merging ----------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(panel=panels(absent=True), least=st.integers(1, 12))
def test_merging_keeps_the_number_of_items_and_no_rare_pattern(panel, least):
    before = mt.tally(panel.masks, labels=panel.labels, void=VOID)
    merged, changed = merge_rare_patterns(before, least)
    assert merged.items == before.items
    assert (merged.counts >= least).all() or len(merged.counts) == 1
    known = {row.tobytes(): count for row, count in zip(before.patterns, before.counts.tolist(), strict=True)}
    gained = sum(
        count - known[row.tobytes()] for row, count in zip(merged.patterns, merged.counts.tolist(), strict=True)
    )
    assert gained == changed <= sum(count for count in known.values() if count < least)
    for column in range(len(before.columns)):
        marks = [int(t.counts @ (t.patterns[:, column] == 1)) for t in (before, merged)]
        assert abs(marks[0] - marks[1]) <= changed


def test_items_go_to_the_pattern_that_differs_least():
    rows = [[0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 255]]
    labels = mt.Labels((0, 1))
    before = mt.Tally(tuple(map(mt.Column, "ABC")), labels, np.array(rows, np.uint8), np.array([50, 20, 2, 3]))
    merged, changed = merge_rare_patterns(before, 5)
    assert dict(zip(map(tuple, merged.patterns.tolist()), merged.counts.tolist(), strict=True)) == {
        (0, 0, 0): 53, (1, 1, 1): 22,
    }  # fmt: skip
    assert changed == 5


def test_merging_is_said_where_it_is_done_and_where_it_is_read(tmp_path, capsys):
    write_centres(tmp_path, cases=2)
    folder = tmp_path / "north"
    study = open_folder(folder)
    result = mt.share_tallies(study, tmp_path / "a.tally", least=5)
    assert result.merged > 0
    least = min(int(t.counts.min()) for t in mt.Study.open(result.path).tally().values())
    assert least >= 5
    said = next(note for note in result.notes if "fewer than 5" in note)
    assert f"{result.merged:,} of {2 * 32 * 32:,} pixels changed" in said
    (note,) = (n for n in mt.agree(mt.Study.open(result.path)).notes if getattr(n, "code", "") == "merged_patterns")
    assert f"{result.merged:,} of {2 * 32 * 32:,} pixels" in note
    assert not any("merged" in n for n in mt.agree(mt.Study.open(share(tmp_path, {"b": study})[0])).notes)


def test_masks_that_only_merging_made_equal_are_not_called_equal(tmp_path):
    rng = np.random.default_rng(2)
    cases, references = {}, {}
    for k in range(4):
        cases[f"p{k}"] = {r: disc(32, *rng.normal(0, 1, 2), radius=8) for r in ("anna", "ben", "cleo")}
        references[f"p{k}"] = {"expert": cases[f"p{k}"]["anna"].copy()}
        references[f"p{k}"]["expert"][0, 0] = 1
    study = mt.Study.from_arrays(cases, references=references)
    near = mt.Study.from_arrays(cases, references={c: {"expert": cases[c]["anna"]} for c in cases})
    kinds = []
    for name, shared, least in (("a", study, 1), ("b", near, 1), ("c", study, 5)):
        path = mt.share_tallies(shared, tmp_path / f"{name}.tally", least=least).path
        claims = mt.agree(mt.Study.open(path)).claims
        kinds.append("reference.equals_rater" in {claim.kind.id for claim in claims.made})
    assert kinds == [False, True, False]


def test_files_can_be_joined(tmp_path):
    write_centres(tmp_path, cases=2)
    studies = {c: open_folder(tmp_path / c, roi=True, training=True) for c in CENTRES}
    files = share(tmp_path, studies, least=3)
    with pytest.raises(StudyError, match="--centre"):
        mt.Study.open(files)
    files = [mt.share_tallies(s, tmp_path / f"{c}.tally", centre=c, least=3).path for c, s in studies.items()]
    apart = mt.Study.open(files)
    joined = mt.Study.open(mt.share_tallies(apart, tmp_path / "all.tally", names=True).path)
    assert joined.tally() == apart.tally()
    assert joined.tallied.merged == apart.tallied.merged > 0
    assert [c.read().region.tolist() for c in joined] == [c.read().region.tolist() for c in apart]
    assert joined.tallied.about[0].least == 3
    one, other = (mt.evaluate(study, sizes=False).tables["scores"].rows for study in (apart, joined))
    assert [(row.extra, repr(row.value)) for row in one] == [(row.extra, repr(row.value)) for row in other]


# -- reports and the command line -------------------------------------------------------------------


@pytest.mark.slow
def test_a_report_from_tally_files_says_what_is_left_out(tmp_path, capsys):
    write_centres(tmp_path, cases=3)
    for centre in CENTRES:
        folder = tmp_path / centre
        template = folder / "masks" / "{rater}" / "{session}" / "{case}.png"
        asked = ["--predictions", folder / "predictions" / "{algorithm}" / "{case}.png"]
        file = tmp_path / f"{centre}.tally"
        assert run(capsys, "tally", template, *asked, "--to", file, "--centre", centre, "--jobs", 1).status == 0
    to = tmp_path / "report.html"
    files = [tmp_path / f"{centre}.tally" for centre in CENTRES]
    done = run(capsys, "report", *files, "--to", to, "--resamples", 20, "--jobs", 1)
    assert done.status == 0, done.err
    page = to.read_text(encoding="utf-8")
    assert "3 tally files, without pixels; left out: " in page
    assert "north/C1" in page
    assert "north-0" not in page
    (tmp_path / "study.toml").write_text('tallies = "*.tally"\nregion = "union"\n', encoding="utf-8")
    study = mt.Study.open(tmp_path)
    assert len(study) == 9
    assert study.options.region == "union"
    done = run(capsys, "plan", *(x for f in files for x in ("--pilot", f)), "--resamples", 5, "--out", tmp_path / "o")
    assert done.status == 0, done.err
    done = run(capsys, "reliability", *files, "--out", tmp_path / "o", "--jobs", 1)
    assert done.status == 0, done.err
    assert "left out: lesions" in done.out


def test_a_coded_report_of_tally_files(tmp_path, small):
    report = mt.report(small, to=tmp_path / "r.html", codes=True, resamples=20)
    assert "Miller" not in report.path.read_text(encoding="utf-8")


def test_masks_that_are_probably_broken_are_named_before_and_after(tmp_path):
    rng = np.random.default_rng(1)
    cases = {}
    for k in range(6):
        where = rng.normal(0, 3, 2)
        cases[f"p{k}"] = {r: disc(48, *(where + rng.normal(0, 0.6, 2)), radius=8) for r in ("anna", "ben", "cleo")}
    cases["p3"]["ben"] = 1 - cases["p3"]["ben"]
    study = mt.Study.from_arrays(cases)
    result = mt.share_tallies(study, tmp_path / "a.tally", names=True)
    assert any("ben" in note and "inverted" in note for note in result.notes)
    one, other = mt.agree(study, pictures=False), mt.agree(mt.Study.open(result.path))
    assert one.suspicions == other.suspicions != ()


def test_maps_are_refused(small):
    study = mt.Study.open(small)
    case = next(iter(study))
    with pytest.raises(StudyError, match="pixels"):
        case.paint(case.tally().marked, case.tally())
    found = mt.consensus(study, "staple")[case.name]
    assert 0 <= found.estimate.sensitivity[0] <= 1
    with pytest.raises(StudyError, match="pixels"):
        _ = found.values
