"""``import --update``: single readings are added and replaced, and what was edited by hand is kept."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from exchange_reads import bits, read, square
from manytruths import CallError, Grid, GridError, InputError, LabelError, ManytruthsError, StudyError
from manytruths.analyses.importing.layout import LEDGER
from manytruths.analyses.importing.merging import merge_tables, merge_toml
from manytruths.cli import status
from manytruths.exchange import Mark, Reading, Whole, write_cvat, write_labelstudio
from manytruths.io import read_mask

RATERS = ("anna", "ben")


def first():
    return [
        read(f"p0{k}.png", rater, [square(2 + k, 2 + i, 6)], started="2026-01-05", seconds=30.0)
        for k in (1, 2, 3)
        for i, rater in enumerate(RATERS)
    ]


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def log(folder):
    return {(row["case"], row["rater"]): row for row in rows(folder / "reads.csv")}


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def area(folder, case, rater, label=""):
    return int(read_mask(folder / "masks" / rater / label / f"{case}.png").array.sum())


@pytest.fixture
def study(tmp_path):
    mt.import_study(first(), to=tmp_path / "study")
    return tmp_path / "study"


def update(folder, reads, **options):
    return mt.import_study(reads, to=folder, update=True, **options)


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def redraw(path):
    """Edit a mask by hand: one pixel more."""
    mask = read_mask(path).array.astype(np.uint8)
    mask[0, 0] = 1
    mt_mask = path.with_name("new.png")
    from manytruths.io import write_map

    write_map(mt_mask, mask, Grid(mask.shape))
    mt_mask.replace(path)


# -- what changes ------------------------------------------------------------------------------------


def test_added_replaced_and_unchanged(study):
    later = first()
    later[0] = read("p01.png", "anna", [square(3, 2, 8)])
    later += [read("p04.png", "anna", [square(2, 2, 5)]), read("p04.png", "ben", [])]
    made = update(study, later)
    assert made.changes == {"added": 2, "replaced": 1, "unchanged": 5}
    assert area(study, "p01", "anna") == 64
    assert area(study, "p02", "anna") == 36
    assert log(study)["p04", "ben"]["status"] == "empty"
    found = {(row["case"], row["rater"]): row for row in rows(study / "updates.csv")}
    assert {key: row["change"] for key, row in found.items()} == {
        ("p01", "anna"): "replaced", ("p04", "anna"): "added", ("p04", "ben"): "added",
    }  # fmt: skip
    changed = found["p01", "anna"]
    assert (changed["update"], changed["pixels_before"], changed["pixels"]) == ("1", "36", "64")
    assert list(made.tables) == ["reads", "images", "updates"]
    assert any(note.startswith("replaced") and "anna in p01" in note for note in made.notes)
    assert made.study().rater_names == RATERS


@pytest.mark.parametrize("weeks", [1, 2, 3])
def test_week_by_week_is_as_at_once(tmp_path, weeks):
    """Masks, reading log and settings are those of one import of everything."""
    reads = [
        read(f"p{k:02}.png", rater, [square(2 + k % 5, 2 + i, 6, ("lesion", "cyst")[k > 3])], seconds=12.5 * k)
        for k in range(7)
        for i, rater in enumerate(("anna", "ben", "Zoë"))
        if (k + i) % 4
    ]
    reads = [one if one.image != "p02.png" or one.rater != "ben" else read("p02.png", "ben") for one in reads]
    mt.import_study(reads, to=tmp_path / "once")
    step = -(-len(reads) // weeks)
    for end in range(step, len(reads) + step, step):
        update(tmp_path / "weekly", reads[:end])
    known = ("updates.csv", LEDGER)
    once, weekly = files(tmp_path / "once"), files(tmp_path / "weekly")
    assert {k: v for k, v in weekly.items() if k not in known} == {k: v for k, v in once.items() if k not in known}


def test_the_same_export_again_changes_nothing(study):
    before = files(study)
    assert update(study, first()).changes == {"unchanged": 6}
    assert files(study) == before


def test_unchanged_masks_stay_the_same_files(study):
    path = study / "masks" / "ben" / "p01.png"
    before = path.stat().st_ino, path.stat().st_mtime_ns
    update(study, [read("p01.png", "anna", [square(3, 2, 8)]), *first()[1:]])
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before


def test_an_export_of_one_rater_leaves_the_others_alone(study):
    before = files(study)
    made = update(study, [one for one in first() if one.rater == "anna"])
    assert made.changes == {"unchanged": 3, "elsewhere": 3}
    assert {k: v for k, v in files(study).items() if k != LEDGER} == {k: v for k, v in before.items() if k != LEDGER}
    assert any("not in these files, and as they were: ben" in note for note in made.notes)


def test_without_a_study_one_is_made(tmp_path):
    made = update(tmp_path / "study", first())
    assert made.changes is None
    assert made.statuses == {"done": 6}


def test_times_are_updated_without_a_word(study):
    reads = first()
    reads[0] = read("p01.png", "anna", [square(3, 2, 6)], started="2026-01-05", seconds=95.0)
    assert update(study, reads).changes == {"unchanged": 6}
    assert log(study)["p01", "anna"]["seconds"] == "95.0"
    assert not (study / "updates.csv").exists()


# -- what vanished -----------------------------------------------------------------------------------


def test_a_reading_that_vanished_is_kept_and_said_once(study):
    made = update(study, first()[1:])
    assert made.changes == {"vanished": 1, "unchanged": 5}
    assert area(study, "p01", "anna") == 36
    assert any("--vanished remove" in note and "anna in p01" in note for note in made.notes)
    assert update(study, first()[1:]).changes == {"unchanged": 6}
    assert [row["change"] for row in rows(study / "updates.csv")] == ["vanished"]
    assert update(study, first()).changes == {"unchanged": 6}
    assert update(study, first()[1:]).changes == {"vanished": 1, "unchanged": 5}


def test_a_reading_that_vanished_is_removed_on_request(study):
    made = update(study, first()[1:], vanished="remove")
    assert made.changes == {"removed": 1, "unchanged": 5}
    assert not (study / "masks" / "anna" / "p01.png").exists()
    assert log(study)["p01", "anna"]["status"] == "unread"
    assert {c.name: len(c.masks) for c in made.study()} == {"p01": 1, "p02": 2, "p03": 2}


def test_an_edited_reading_is_not_removed(study):
    redraw(study / "masks" / "anna" / "p01.png")
    before = files(study)
    with pytest.raises(StudyError, match="anna in p01 vanished from the files, and was edited by hand"):
        update(study, first()[1:], vanished="remove")
    assert files(study) == before


def test_a_reading_that_was_reopened_in_the_tool(study):
    reads = first()
    reads[0] = read("p01.png", "anna", [square(3, 2, 6)], status="unfinished")
    made = update(study, reads)
    assert made.changes == {"withdrawn": 1, "unchanged": 5}
    assert log(study)["p01", "anna"]["status"] == "unfinished"
    assert not (study / "masks" / "anna" / "p01.png").exists()
    assert update(study, first()).changes == {"added": 1, "unchanged": 5}


def test_marks_that_are_gone_are_said(study):
    reads = first()
    reads[3] = read("p02.png", "ben", [])
    made = update(study, reads)
    assert made.changes == {"replaced": 1, "unchanged": 5}
    assert "had marks, and have none now: ben in p02" in made.notes
    assert log(study)["p02", "ben"]["status"] == "empty"


def test_an_older_export_after_a_newer_one_is_said(study):
    newer = [read("p01.png", "anna", [square(3, 2, 8)]), *first()[1:]]
    update(study, newer)
    made = update(study, first())
    assert made.changes == {"replaced": 1, "unchanged": 5}
    assert any("is an older export imported after a newer one?" in note for note in made.notes)
    assert not any("older" in note for note in update(study, [read("p01.png", "anna", [square(1, 1, 9)])]).notes)


# -- what was edited by hand -------------------------------------------------------------------------


def test_an_edited_mask_is_never_overwritten(study):
    path = study / "masks" / "anna" / "p01.png"
    redraw(path)
    edited = path.read_bytes()
    assert update(study, first()).changes == {"unchanged": 6}
    newer = [read("p01.png", "anna", [square(3, 2, 8)]), *first()[1:]]
    made = update(study, newer)
    assert made.changes == {"kept": 1, "unchanged": 5}
    assert path.read_bytes() == edited
    assert any("edited by hand, and kept so" in note and "anna in p01" in note for note in made.notes)
    # the same export is no new conflict, and without the mask, the tool's is taken
    assert update(study, newer).changes == {"unchanged": 6}
    path.unlink()
    assert update(study, newer).changes == {"restored": 1, "unchanged": 5}
    assert area(study, "p01", "anna") == 64


def test_exclusions_decisions_and_notes_of_others_stay(study):
    edit(study / "study.toml", 'reads = "reads.csv"', 'reads = "reads.csv"\nspacing = [0.5, 0.5]  # of the scanner')
    with (study / "study.toml").open("a", encoding="utf-8") as file:
        file.write('\n[exclude]\nben = ["p03"]\n')
    toml = (study / "study.toml").read_bytes()
    (study / "decisions.sqlite").write_bytes(b"a log")
    (study / "masks" / "clara").mkdir()
    (study / "masks" / "clara" / "p01.png").write_bytes((study / "masks" / "anna" / "p01.png").read_bytes())
    (study / "masks" / "anna" / "notes.txt").write_text("looked at twice", encoding="utf-8")
    update(study, [*first(), read("p04.png", "anna", [square(2, 2, 5)])])
    assert (study / "study.toml").read_bytes() == toml
    assert (study / "decisions.sqlite").read_bytes() == b"a log"
    assert (study / "masks" / "anna" / "notes.txt").read_text(encoding="utf-8") == "looked at twice"
    assert (study / "masks" / "clara" / "p01.png").exists()


def test_edits_of_the_reading_log_stay(study):
    path = study / "reads.csv"
    table = rows(path)
    for row in table:
        row["reason"] = ""
        if (row["case"], row["rater"]) == ("p02", "ben"):
            row |= {"status": "not_evaluable", "reason": "motion"}
        if (row["case"], row["rater"]) == ("p03", "ben"):
            row["based_on"] = "anna"
    table.append(dict.fromkeys(table[0], "") | {"case": "p01", "rater": "dora", "status": "unread"})
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    reads = [*first(), read("p04.png", "anna", [square(2, 2, 5)])]
    reads[3] = read("p02.png", "ben", [square(5, 5, 4)])
    made = update(study, reads)
    found = log(study)
    assert (found["p02", "ben"]["status"], found["p02", "ben"]["reason"]) == ("not_evaluable", "motion")
    assert found["p03", "ben"]["based_on"] == "anna"
    assert found["p01", "dora"]["status"] == "unread"
    assert found["p04", "anna"]["status"] == "done"
    assert made.statuses["not_evaluable"] == 1
    # the mask is the tool's new one, whatever its status
    assert area(study, "p02", "ben") == 16
    assert mt.Study.open(study).unused


def test_a_cell_that_both_changed_is_kept_and_named(study):
    edit(study / "reads.csv", "p02,ben,,done", "p02,ben,,not_evaluable")
    reads = first()
    reads[3] = read("p02.png", "ben", [])
    made = update(study, reads)
    assert log(study)["p02", "ben"]["status"] == "not_evaluable"
    assert [note for note in made.notes if note.startswith("reads.csv, p02 ben: status is 'not_evaluable' by hand")]
    assert not [note for note in update(study, reads).notes if note.startswith("reads.csv")]


def test_a_reading_that_was_removed_by_hand_stays_away(study):
    (study / "masks" / "ben" / "p02.png").unlink()
    text = (study / "reads.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in text if not line.startswith("p02,ben")]
    (study / "reads.csv").write_text("".join(kept), encoding="utf-8")
    assert update(study, first()).changes == {"unchanged": 6}
    reads = first()
    reads[3] = read("p02.png", "ben", [square(5, 5, 4)])
    assert update(study, reads).changes == {"kept": 1, "unchanged": 5}
    assert ("p02", "ben") not in log(study)
    assert not (study / "masks" / "ben" / "p02.png").exists()


def test_a_mask_that_was_put_there_by_hand_is_not_replaced(study):
    path = study / "masks" / "anna" / "p04.png"
    path.write_bytes((study / "masks" / "anna" / "p01.png").read_bytes())
    made = update(study, [*first(), read("p04.png", "anna", [square(2, 2, 5)])])
    assert made.changes == {"kept": 1, "unchanged": 6}
    assert path.read_bytes() == (study / "masks" / "anna" / "p01.png").read_bytes()


# -- structures, sessions, names ---------------------------------------------------------------------


def test_a_second_structure_moves_the_masks(study):
    edit(study / "study.toml", 'reads = "reads.csv"', 'reads = "reads.csv"\nvoid = 255')
    reads = [*first(), *(read("p04.png", rater, [square(2, 2, 9), square(12, 4, 3, "cyst")]) for rater in RATERS)]
    made = update(study, reads)
    assert made.changes == {"added": 2, "unchanged": 6}
    assert (area(study, "p01", "anna", "lesion"), area(study, "p01", "anna", "cyst")) == (36, 0)
    assert area(study, "p04", "ben", "cyst") == 9
    text = (study / "study.toml").read_text(encoding="utf-8")
    assert 'masks = "masks/{rater}/{label}/{case}.png"' in text
    assert "void = 255" in text
    assert "labels" not in text
    assert not (study / "masks" / "anna" / "p01.png").exists()
    assert made.study()["p04"].labels.names == ("background", "cyst", "lesion")
    assert mt.check(study).problems == []


def test_readings_of_others_get_an_empty_mask_of_a_new_structure(study):
    reads = [read("p04.png", "anna", [square(2, 2, 9), square(12, 4, 3, "cyst")])]
    update(study, reads, rename_label={"cyst": "cyst"})
    assert (area(study, "p02", "ben", "lesion"), area(study, "p02", "ben", "cyst")) == (36, 0)
    assert log(study)["p02", "ben"]["checksum"] != ""
    assert {problem.kind for problem in mt.check(study).problems} == {"gap"}


def test_a_misspelt_structure_of_one_rater_is_refused(study):
    before = files(study)
    with pytest.raises(LabelError, match=r"'Lesoin' \(anna; 'lesion'\?\); say what they are with --rename-label"):
        update(study, [read("p04.png", "anna", [square(2, 2, 9, "Lesoin")])])
    assert files(study) == before
    update(study, [read("p04.png", "anna", [square(2, 2, 9, "Lesoin")])], rename_label={"Lesoin": "lesion"})
    # the answer is remembered
    update(study, [read("p05.png", "anna", [square(2, 2, 9, "Lesoin")])])
    assert area(study, "p05", "anna") == 81


def test_masks_are_not_moved_where_others_lie(study):
    (study / "masks" / "clara").mkdir()
    (study / "masks" / "clara" / "p01.png").write_bytes((study / "masks" / "anna" / "p01.png").read_bytes())
    with pytest.raises(StudyError, match=r"masks/clara/p01\.png was not imported; move it away"):
        update(study, [read("p04.png", rater, [square(2, 2, 9, "cyst")]) for rater in RATERS])


def test_a_line_of_the_settings_that_must_change_and_was_edited(study):
    edit(study / "study.toml", 'labels = { 1 = "lesion" }', 'labels = { 1 = "nodule" }')
    with pytest.raises(StudyError, match=r"needs .no line labels = .*and somebody edited this line"):
        update(study, [read("p04.png", rater, [square(2, 2, 9, "cyst")]) for rater in RATERS])


def test_a_second_session(study):
    again = [*first(), read("p01.png", "anna", [square(3, 3, 6)], started="2026-03-01")]
    with pytest.raises(StudyError, match="rater anna read case p01 twice"):
        update(study, again)
    made = update(study, again, sessions=True)
    assert made.changes == {"added": 1, "unchanged": 6}
    assert [(c.name, c.session) for c in made.study().columns] == [("anna", "1"), ("anna", "2"), ("ben", "1")]
    assert {problem.kind for problem in mt.check(study).problems} == {"gap"}


def test_cases_keep_their_names(tmp_path):
    mt.import_study([read("a/p01.png", r, [square(2, 2, 6)]) for r in RATERS], to=tmp_path / "s")
    made = update(tmp_path / "s", [read(f"{f}/p01.png", r, [square(2, 2, 6)]) for r in RATERS for f in "ab"])
    assert made.changes == {"added": 2, "unchanged": 2}
    assert [case.name for case in made.study()] == ["b_p01", "p01"]


def test_renamed_cases_are_remembered(tmp_path):
    mt.import_study(first(), to=tmp_path / "s", rename_case={"p01": "start"})
    assert update(tmp_path / "s", first()).changes == {"unchanged": 6}
    assert update(tmp_path / "s", first(), rename_case={"p01": "start"}).changes == {"unchanged": 6}
    with pytest.raises(CallError, match=r"--rename-case p01=other: earlier exports took 'p01' for 'start'"):
        update(tmp_path / "s", first(), rename_case={"p01": "other"})


# -- raters ------------------------------------------------------------------------------------------


def renamed(new, marks=True):
    return [
        read(one.image, new if one.rater == "anna" else one.rater, one.marks if marks else [square(9, 9, 4)])
        for one in first()
    ]


@pytest.mark.parametrize(
    ("new", "marks", "why"),
    [
        ("r17", True, "has the same masks in 3 of 3 cases that both marked"),
        ("Anna", False, "has a similar name"),
    ],
)
def test_a_renamed_rater_is_asked_for(study, new, marks, why):
    before = files(study)
    with pytest.raises(StudyError, match="is new, and 'anna' is not in these files") as told:
        update(study, renamed(new, marks))
    assert why in str(told.value)
    assert f"--rename-rater '{new}'='anna'" in str(told.value)
    assert f"--new-rater '{new}'" in str(told.value)
    assert files(study) == before


def test_who_was_renamed_stays_who_they_are(study):
    assert update(study, renamed("r17"), rename_rater={"r17": "anna"}).changes == {"unchanged": 6}
    assert update(study, renamed("r17")).changes == {"unchanged": 6}
    assert mt.Study.open(study).rater_names == RATERS


def test_who_is_new_is_added(study):
    made = update(study, renamed("r17"), new_rater=["r17"])
    assert made.changes == {"added": 3, "unchanged": 3, "elsewhere": 3}
    assert made.study().rater_names == ("anna", "ben", "r17")
    assert any("anna and r17 have identical masks in 3" in note for note in made.notes)
    assert update(study, renamed("r17")).changes == {"unchanged": 6, "elsewhere": 3}


def test_a_rater_under_the_same_file_name(tmp_path):
    reads = [read(f"p0{k}.png", r, [square(k, k, 6)]) for k in (1, 2) for r in ("7", "8")]
    same = [mt.exchange.Reading(**{**vars(one), "source": "project.json"}) for one in reads]
    mt.import_study(same, to=tmp_path / "s")
    later = [read("p01.png", "9", [square(9, 9, 4)]), read("p01.png", "8", [square(1, 1, 6)])]
    with pytest.raises(StudyError, match="although earlier exports under the same file name had them"):
        update(tmp_path / "s", [mt.exchange.Reading(**{**vars(one), "source": "project.json"}) for one in later])


def test_somebody_unlike_everybody_is_added_without_asking(study):
    made = update(study, [read("p01.png", "clara", [square(9, 9, 4)])])
    assert made.changes == {"added": 1, "elsewhere": 6}
    assert "new: clara" in made.notes


# -- bad input ---------------------------------------------------------------------------------------


def test_two_exports_that_contradict_each_other(study):
    other = Reading(**{**vars(read("p01.png", "anna", [square(9, 9, 4)])), "source": "old/anna.xml"})
    before = files(study)
    with pytest.raises(StudyError, match=r"twice \(anna\.xml and old/anna\.xml\); import the newer file alone"):
        update(study, [*first(), other])
    assert files(study) == before


def test_an_image_of_another_size(study):
    with pytest.raises(GridError, match=r"case p01: its image has 30 × 20 pixels in .* and 9 × 8 in clara\.xml"):
        update(study, [read("p01.png", "clara", [square(1, 1, 4)], (8, 9)), *first()[:1]])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"overlap": "z"}, "--overlap smaller"),
        ({"rule": "coco"}, "--rule centre"),
        ({"blank": "unread"}, "--blank empty"),
        ({"rank_maps": False}, "--rank-maps"),
        ({"widen": 3}, "no --widen"),
    ],
)
def test_other_options_than_before_are_refused(study, options, told):
    with pytest.raises(CallError, match=told):
        update(study, first(), **options)


def test_calls_that_contradict_themselves(study):
    with pytest.raises(CallError, match="update adds to an earlier import, and replace"):
        update(study, first(), replace=True)
    with pytest.raises(CallError, match=r"--new-rater 'eve': is not in these files"):
        update(study, first(), new_rater=["eve"])
    with pytest.raises(CallError, match="vanished is one of keep, remove"):
        update(study, first(), vanished="hide")


def test_a_folder_that_is_no_import(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.doc").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds thesis\.doc"):
        update(tmp_path / "other", first())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "has no imported.json"),
        ("{", "is damaged"),
        ('{"schema_version": 1}', "is damaged"),
    ],
)
def test_a_ledger_that_cannot_be_used(study, text, told):
    if text is None:
        (study / LEDGER).unlink()
    else:
        (study / LEDGER).write_text(text, encoding="utf-8")
    with pytest.raises(ManytruthsError, match=told):
        update(study, first())


@pytest.mark.parametrize("name", ["../outside.txt", "masks/../../outside.txt", "/etc/passwd", "study.toml"])
def test_a_ledger_that_names_files_outside(study, tmp_path, name):
    (tmp_path / "outside.txt").write_text("mine", encoding="utf-8")
    edit(study / LEDGER, '"masks/anna/p01.png":', f'"{name}":')
    with pytest.raises(ManytruthsError, match="which no import writes"):
        update(study, first())
    assert (tmp_path / "outside.txt").read_text(encoding="utf-8") == "mine"


def test_ranks_of_later_readings_alone(study):
    with pytest.raises(InputError, match=r"have ranks, and those of .* have none"):
        update(study, [read("p04.png", "anna", [square(2, 2, 5, rank=1)])])


def test_an_update_that_fails_leaves_everything_as_it_was(study, monkeypatch):
    before = files(study)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("manytruths.analyses.importing.update.link_or_copy", fail)
    with pytest.raises((ManytruthsError, OSError)):
        update(study, [*first(), read("p04.png", "anna", [square(2, 2, 5)])])
    assert files(study) == before


def test_an_update_from_inside_the_folder(study, monkeypatch):
    """The folder that a shell stands in cannot be renamed: its content is replaced."""
    (study / "masks" / "anna" / "notes.txt").write_text("mine", encoding="utf-8")
    monkeypatch.chdir(study)
    made = mt.import_study([*first(), read("p04.png", "anna", [square(2, 2, 5)])], to=".", update=True)
    assert made.changes == {"added": 1, "unchanged": 6}
    assert os.path.samefile(os.getcwd(), study)
    assert (study / "masks" / "anna" / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert area(study, "p04", "anna") == 25
    assert {problem.kind for problem in mt.check(study).problems} == {"gap"}


def test_an_import_that_was_killed_before_its_last_step(study):
    """What was written whole and not put into its place yet is the study."""
    waiting = study.with_name(".part-study-whole")
    waiting.mkdir()
    study.rename(waiting / "study")
    assert update(study, first()).changes == {"unchanged": 6}
    assert [path.name for path in study.parent.iterdir()] == ["study"]


# -- volumes, pictures, the command line -------------------------------------------------------------


def test_volumes(tmp_path):
    pytest.importorskip("nibabel")
    rng = np.random.default_rng(2)
    grid = Grid((9, 10, 6), None, ((-0.7, 0, 0, 12), (0, -0.7, 0, 5), (0, 0, 2.5, -30), (0, 0, 0, 1)))
    reads = [
        Reading(f"sub-{k}", rater, grid, (Mark("nodule", Whole(rng.random(grid.shape) < 0.3)),), subject=f"s{k}")
        for k in range(3)
        for rater in RATERS
    ]
    mt.import_study(reads[:4], to=tmp_path / "s")
    extra = tuple(Mark("cyst", Whole(rng.random(grid.shape) < 0.1)) for _ in range(2))
    reads[4:] = [
        Reading(one.image, one.rater, grid, (*one.marks, mark), subject=one.subject)
        for one, mark in zip(reads[4:], extra, strict=True)
    ]
    made = update(tmp_path / "s", reads)
    assert made.changes == {"added": 2, "unchanged": 4}
    assert [row["subject"] for row in rows(tmp_path / "s" / "cases.csv")] == ["s0", "s1", "s2"]
    assert mt.check(tmp_path / "s").problems == []


def nightly(tool, folder, reads):
    folder.mkdir()
    if tool == "cvat":
        return [str(path) for path in write_cvat(folder, reads)]
    write_labelstudio(folder / "project.json", reads, kind="annotations")
    return [str(folder / "project.json")]


@pytest.mark.parametrize("tool", ["cvat", "labelstudio"])
def test_the_command(tool, tmp_path, capsys):
    rng = np.random.default_rng(5)
    tuesday = [
        read(f"p0{k}.png", rater, [bits(rng.random((6, 7)) < 0.8, top=3, left=4)]) for k in (1, 2) for rater in RATERS
    ]
    monday, to = tuesday[:3], ["--to", str(tmp_path / "study"), "--update", "-q"]
    assert status(["import", tool, *nightly(tool, tmp_path / "mo", monday), *to]) == 0
    capsys.readouterr()
    assert status(["import", tool, *nightly(tool, tmp_path / "tu", tuesday), *to[:-1]]) == 0
    assert "readings: 1 added, 3 unchanged" in capsys.readouterr().out
    assert status(["agree", str(tmp_path / "study"), "--out", str(tmp_path / "out"), "-q"]) == 0
    assert mt.Study.open(tmp_path / "study")["p02"].read().tally().raters == (0, 1)


# -- merging -----------------------------------------------------------------------------------------

CELLS = st.sampled_from(["", "a", "b"])
TABLES = st.dictionaries(st.sampled_from("123"), CELLS)


def table(values):
    return [{"case": key, "cell": value} for key, value in values.items()]


@given(TABLES, TABLES, TABLES)
@settings(max_examples=200, deadline=None)
def test_merging_tables(mine, base, theirs):
    merged = merge_tables(table(mine), table(base), table(theirs), ("case",), ())
    found = {row["case"]: row["cell"] for row in merged.rows}
    for key in "123":
        a, b, c = mine.get(key), base.get(key), theirs.get(key)
        if a == b:
            assert found.get(key) == c
        elif b == c or a == c:
            assert found.get(key) == a
        elif a is not None and c is None:
            assert found[key] == a
        elif a is not None:
            assert found[key] == (c if a == (b or "") else a)
    assert merge_tables(table(base), table(base), table(theirs), ("case",), ()).conflicts == []


def test_merging_settings():
    base = '# x\nmasks = "a"\nlabels = { 1 = "l" }\n'
    theirs = '# x\nmasks = "b"\nimages = "i"\n\n[exclude]\n"m" = ["p1"]\n'
    mine = '# x\nmasks = "a"\nlabels = { 1 = "l" }\nvoid = 255\n\n[exclude]\nben = ["p2"]\n'
    wanted = '# x\nmasks = "b"\nvoid = 255\nimages = "i"\n\n[exclude]\nben = ["p2"]\n"m" = ["p1"]\n'
    assert merge_toml(mine, base, theirs, "study.toml") == wanted
    assert merge_toml(base, base, theirs, "study.toml").splitlines() == theirs.splitlines()
