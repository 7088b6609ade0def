"""What ``fuse --consensus adjudicated`` writes: exactly the pixels that were chosen or drawn; elsewhere the rule."""

from pathlib import Path

import numpy as np
import pytest
import zarr

import manytruths as mt
from decision_logs import adjudicate, append, disputes_of, square, three_readers, write_study
from manytruths.core import tiles
from manytruths.core.errors import StudyError
from manytruths.io import files, read_mask, zarr_store
from manytruths.io.decision_log import DecisionLog, log_name, read_logs
from manytruths.study.adjudicated import add_payload, standings, study_digest
from manytruths.study.disputes import DisputeRule, choose


def fused(study, out, **options):
    """The masks that fuse writes, by case."""
    mt.fuse(study, consensus="adjudicated", out=out, pictures=False, **options)
    written = {path.name.split(".")[0]: path for path in (out / "fuse/consensus/adjudicated").iterdir()}
    return {name: np.asarray(read_mask(path).array) for name, path in written.items()}


def base_of(study, method="vote:0.5"):
    return {name: each.values.astype(int) for name, each in mt.consensus(study, method).items()}


def put(mask, dispute, values):
    """A mask with a dispute's own pixels replaced, one by one."""
    mask = mask.copy()
    where = tuple(slice(*part) for part in dispute.box)
    marked = np.any([runs[...] != 0 for runs in dispute.drawn.values()], axis=0)
    mask[where][marked] = 0
    mask[where][values != 0] = values[values != 0]
    return mask


@pytest.mark.parametrize("choice", ["rater:anna", "rater:ben", "rater:clara", "union", "intersection", "none"])
@pytest.mark.parametrize("value", [1, 255])
def test_the_mask_is_what_was_chosen(tmp_path, choice, value):
    study = mt.Study.open(write_study(tmp_path / "m", three_readers(value)), decisions=str(tmp_path / "log"))
    adjudicate(tmp_path / "log", study, lambda dispute: choice)
    masks, base = fused(study, tmp_path / "out"), base_of(study)
    for name, found in disputes_of(study).items():
        expected = base[name]
        for dispute in found.disputes:
            expected = put(expected, dispute, choose(dispute, choice))
        assert np.array_equal(masks[name], expected)
        assert set(np.unique(masks[name])) <= {0, value}
    assert np.array_equal(mt.consensus(study, "adjudicated")["p1"].values, masks["p1"])


def test_volumes_and_spacing(tmp_path):
    rng = np.random.default_rng(3)
    cases = {"v": {}}
    for rater in ("A", "B", "C"):
        mask = np.zeros((9, 40, 36), np.uint8)
        mask[2:6, 5 : 15 + int(rng.integers(6)), 4:16] = 1
        mask[3:7, 24:30, 20 : 24 + int(rng.integers(8))] = 1
        cases["v"][rater] = mask
    cases["v"]["C"][5:9, 30:38, 2:9] = 1
    study = mt.Study.open(write_study(tmp_path / "m", cases, ".nii.gz"), decisions=str(tmp_path / "log"))
    rule = DisputeRule(min_dice=0.95)
    adjudicate(tmp_path / "log", study, lambda dispute: f"rater:{dispute.found_by[-1]}", rule=rule)
    found = disputes_of(study, rule)["v"]
    assert len(found.disputes) >= 2
    expected = base_of(study)["v"]
    for dispute in found.disputes:
        expected = put(expected, dispute, choose(dispute, f"rater:{dispute.found_by[-1]}"))
    assert np.array_equal(fused(study, tmp_path / "out")["v"], expected)


def test_several_labels_in_one_place(tmp_path):
    size, place, other = (50, 60), (5, 20, 5, 25), (30, 40, 30, 42)
    cases = {"p": {
        "A": square(size, place, value=2) + square(size, other, value=7),
        "B": square(size, place, value=7),
        "C": square(size, (5, 20, 5, 24), value=2) + square(size, (30, 40, 33, 45), value=7),
    }}  # fmt: skip
    template, log = write_study(tmp_path / "m", cases), tmp_path / "log"
    study = mt.Study.open(template, labels={0: "none", 2: "gland", 7: "tumour"}, decisions=str(log))
    found = disputes_of(study)["p"]
    by_kind = {dispute.kind: dispute for dispute in found.disputes}
    assert {kind: (each.label, each.labels) for kind, each in by_kind.items()} == {
        "label": (None, (2, 7)), "missed": (7, (7,))
    }  # fmt: skip
    adjudicate(log, study, lambda d: {"label": "rater:B", "missed": "intersection"}[d.kind])
    mask = fused(study, tmp_path / "out")["p"]
    assert np.array_equal(mask, square(size, place, value=7) + square(size, (30, 40, 33, 42), value=7))
    # and with the label changed
    adjudicate(log, study, lambda d: {"choice": "rater:A", "label": 2} if d.kind == "missed" else None)
    mask = fused(study, tmp_path / "out")["p"]
    assert np.array_equal(mask, square(size, place, value=7) + square(size, other, value=2))


def test_tiles_of_structures_without_lesions(tmp_path):
    rng = np.random.default_rng(1)
    vessels = np.zeros((96, 120), np.uint8)
    for at in range(10, 90, 16):
        vessels[at : at + 4, 5:115] = 1
    cases = {"eye": {r: np.where(rng.random(vessels.shape) < 0.15, 0, vessels).astype(np.uint8) for r in "AB"}}
    cases["eye"]["A"][:32, 60:] = 0
    study = mt.Study.open(write_study(tmp_path / "m", cases), decisions=str(tmp_path / "log"))
    rule = DisputeRule(unit="tile", tile=32, below="vote:any")
    found = disputes_of(study, rule)["eye"]
    assert {dispute.kind for dispute in found.disputes} == {"tile"}
    assert all(start % 32 == 0 for dispute in found.disputes for start, _ in dispute.box)
    adjudicate(tmp_path / "log", study, lambda dispute: "rater:B", rule=rule)
    expected = base_of(study, "vote:any")["eye"]
    for dispute in found.disputes:
        expected = put(expected, dispute, choose(dispute, "rater:B"))
    assert np.array_equal(fused(study, tmp_path / "out")["eye"], expected)


def test_drawn_pixels_may_leave_the_lesion(tmp_path):
    study = mt.Study.open(write_study(tmp_path / "m", three_readers()), decisions=str(tmp_path / "log"))
    target = next(d for d in disputes_of(study)["p1"].disputes if d.kind == "border")
    box = ((0, 30), (20, 60))
    own = np.zeros((30, 40), np.uint8)
    own[2:23, 5:33] = 1
    own[2, 5:8] = 0
    starts = [[r * 40 + int(c[0]), len(c)] for r in range(30) if len(c := np.flatnonzero(own[r]))]
    drawn = [[1, [number for pair in starts for number in pair]]]
    answer = {"choice": "drawn", "drawn": drawn, "box": box}
    adjudicate(tmp_path / "log", study, lambda d: answer if d.key == target.key else None)
    whole = np.zeros((64, 80), np.uint8)
    whole[0:30, 20:60] = own
    expected = put(base_of(study)["p1"], target, np.zeros(target.shape, int))
    assert np.array_equal(fused(study, tmp_path / "out")["p1"], np.maximum(expected, whole))


def test_added_lesions_undo_and_not_evaluable(tmp_path):
    template, folder = write_study(tmp_path / "m", three_readers()), tmp_path / "log"
    study = mt.Study.open(template, decisions=str(folder))
    found = disputes_of(study)["p1"]
    alone = next(d for d in found.disputes if d.found_by == ("clara",))
    adjudicate(folder, study, lambda d: "not_evaluable" if d.key == alone.key else "none")
    with DecisionLog.open(folder / log_name("Ada", "ward"), study=study_digest(study), adjudicator="Ada") as log:
        box = ((40, 44), (5, 15))
        lesion = append(log, "add", case="p2", payload=add_payload("new", box, [[1, [0, 5, 10, 5]]]))
        gone = append(log, "add", case="p2", payload=add_payload("wrong", box, [[1, [20, 5]]]))
        append(log, "undo", payload={"of": gone.uuid, "reason": "mistake"})
    masks = fused(study, tmp_path / "out")
    void = masks["p1"] == 255
    assert np.array_equal(void, square((64, 80), (44, 54, 50, 60)) == 1)
    assert masks["p1"][10:18, 34:44].sum() == masks["p1"][30:40, 10:22].sum() == 0
    expected = base_of(study)["p2"]
    expected[40:42, 5:10] = 1
    assert np.array_equal(masks["p2"], expected)
    assert lesion.number == 5
    # pixels that are not evaluable are counted nowhere
    tally = mt.fuse(study, consensus="adjudicated").cases["p1"].tally
    column = tally.columns[-1]
    assert column.name == "adjudicated"
    assert tally.counts[tally.patterns[:, tally.position(column)] == 255].sum() == 100


def test_a_rater_who_rated_nothing_there_and_void(tmp_path):
    cases = three_readers()
    cases["p1"]["clara"][40:, :] = 9
    study = mt.Study.open(write_study(tmp_path / "m", cases), void=9, decisions=str(tmp_path / "log"))
    target = next(d for d in disputes_of(study)["p1"].disputes if d.found_by == ("anna", "ben"))
    assert target.missed_by == ("clara",)
    adjudicate(tmp_path / "log", study, lambda d: "not_evaluable")
    mask = fused(study, tmp_path / "out")["p1"]
    assert (mask[30:40, 10:22] == 9).all()
    assert not (mask == 255).any()


@pytest.mark.parametrize("first", ["A", "B"])
def test_no_hole_is_cut_into_another_lesion(tmp_path, first):
    """Two lesions that share a few pixels: what is decided about one leaves the other as it is, in any order."""
    size, left, right = (40, 60), (10, 20, 5, 25), (10, 20, 18, 40)
    cases = {"p": {"A": square(size, left), "B": square(size, right)}}
    log, rule = tmp_path / "log", DisputeRule(below="vote:any")
    study = mt.Study.open(write_study(tmp_path / "m", cases), decisions=str(log))
    assert [d.found_by for d in disputes_of(study, rule)["p"].disputes] == [("A",), ("B",)]
    adjudicate(log, study, lambda d: "none" if d.found_by == (first,) else None, rule=rule)
    other = {"A": "B", "B": "A"}[first]
    # the other lesion is not decided, and stays as the rule has it
    assert np.array_equal(fused(study, tmp_path / "one")["p"], cases["p"][other])
    adjudicate(log, study, lambda d: "union" if d.found_by == (other,) else None, rule=rule)
    assert np.array_equal(fused(study, tmp_path / "two")["p"], cases["p"][other])


def test_one_mark_over_two_lesions_is_one_dispute(tmp_path):
    size = (40, 60)
    cases = {"p": {
        "A": square(size, (10, 20, 5, 55)), "B": square(size, (10, 20, 5, 25), (10, 20, 45, 55)),
        "C": square(size, (10, 20, 5, 25)),
    }}  # fmt: skip
    study = mt.Study.open(write_study(tmp_path / "m", cases), decisions=str(tmp_path / "log"))
    (dispute,) = disputes_of(study)["p"].disputes
    assert dispute.kind == "border"
    assert dispute.worst_dice == 2 * 200 / 700
    adjudicate(tmp_path / "log", study, lambda d: "rater:B")
    assert np.array_equal(fused(study, tmp_path / "out")["p"], cases["p"]["B"])


def test_an_empty_case_and_a_region_of_interest(tmp_path):
    cases = three_readers()
    cases["p3"] = {rater: np.zeros((64, 80), np.uint8) for rater in cases["p1"]}
    template = write_study(tmp_path / "m", cases)
    roi = square((64, 80), (0, 64, 0, 40))
    for case in cases:
        (tmp_path / "roi").mkdir(exist_ok=True)
        from manytruths.io import write_map

        write_map(tmp_path / "roi" / f"{case}.png", roi)
    study = mt.Study.open(template, roi=str(tmp_path / "roi/{case}.png"), decisions=str(tmp_path / "log"))
    adjudicate(tmp_path / "log", study, lambda d: "union")
    masks = fused(study, tmp_path / "out")
    assert masks["p1"][:, 40:].sum() == masks["p3"].sum() == 0
    assert masks["p1"][4:20, 30:40].all()


@pytest.mark.parametrize("suffix", ["zarr", "tif"])
def test_a_case_that_is_read_by_tile(tmp_path, monkeypatch, suffix):
    import tifffile

    cases = three_readers()
    for case, by_rater in cases.items():
        for rater, mask in by_rater.items():
            (tmp_path / "m" / rater).mkdir(parents=True, exist_ok=True)
            path = tmp_path / "m" / rater / f"{case}.{suffix}"
            if suffix == "zarr":
                zarr.create_array(path, shape=mask.shape, chunks=(16, 24), dtype="u1")[...] = mask
            else:
                tifffile.imwrite(path, mask, tile=(16, 16), compression="zlib")
    template = write_study(tmp_path / "small", cases)
    small = mt.Study.open(template, decisions=str(tmp_path / "log"))
    adjudicate(
        tmp_path / "log", small,
        lambda d: "not_evaluable" if d.found_by == ("clara",) else "rater:ben" if d.kind == "border" else "union",
    )  # fmt: skip
    expected = fused(small, tmp_path / "small-out")
    known = mt.fuse(small, consensus="adjudicated,vote:0.5")
    monkeypatch.setattr(files, "LARGE", 1000)
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 10)
    monkeypatch.setattr(zarr_store, "CHUNK", {2: (16, 16), 3: (8, 64, 64)})
    large = mt.Study.open(f"{tmp_path}/m/{{rater}}/{{case}}.{suffix}", decisions=str(tmp_path / "log"))
    assert all(case.read(by_tile=True).is_large for case in large)
    result = mt.fuse(large, consensus="adjudicated,vote:0.5", out=tmp_path / "out", pictures=False)
    for name, mask in expected.items():
        path = next((tmp_path / "out/fuse/consensus/adjudicated").glob(f"{name}*"))
        written = zarr.open_group(path)["0"][...] if suffix == "zarr" else tifffile.imread(path)
        assert np.array_equal(written, mask)
    for table in ("performance", "differences"):
        assert list(result.tables[table].records()) == list(known.tables[table].records())
    one, other = mt.adjudicated(small), mt.adjudicated(large)
    assert list(one.tables["decisions"].records()) == list(other.tables["decisions"].records())
    assert list(one.tables["adjudication"].records()) == list(other.tables["adjudication"].records())
    scored = []
    for study, folder, ending in ((large, "m", suffix), (small, "small", "png")):
        predictions = f"{tmp_path}/{folder}/ben/{{case}}.{ending}"
        judged = mt.Study.open(study.options.masks, predictions=predictions, decisions=str(tmp_path / "log"))
        scored.append(mt.evaluate(judged, consensus="adjudicated", pictures=False))
    rows = [[r for r in result.tables["scores"].records() if "adjudicated" in r] for result in scored]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 10


def test_algorithms_that_were_shown_are_not_judged(tmp_path):
    masks = write_study(tmp_path / "m", three_readers())
    study = mt.Study.open(masks, predictions=str(tmp_path / "m/ben/{case}.png"), decisions=str(tmp_path / "log"))
    path = adjudicate(tmp_path / "log", study, lambda d: "union")
    mt.evaluate(study, consensus="adjudicated", pictures=False)

    def show(what: str, purpose: str) -> None:
        with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada", machine="ward") as log:
            append(log, "show", item="x", case="p1", payload={"what": what, "key": "x", "purpose": purpose})

    show("votes", "dispute")
    show("algorithms", "practice")
    mt.evaluate(study, consensus="adjudicated", pictures=False)
    show("algorithms", "dispute")
    said = "Ada asked for the outlines of algorithms at 1 dispute, so that decisions may follow them"
    with pytest.raises(StudyError, match=said):
        mt.evaluate(study, consensus="vote:0.5,adjudicated", pictures=False)
    with pytest.raises(StudyError, match=said):
        mt.report(study, to=tmp_path / "page.html", consensus="adjudicated")
    mt.evaluate(study, consensus="vote:0.5", pictures=False)
    mt.fuse(study, consensus="adjudicated", pictures=False)


def test_two_adjudicators(tmp_path):
    study = mt.Study.open(write_study(tmp_path / "m", three_readers()), decisions=str(tmp_path / "log"))
    found = disputes_of(study)
    border, seen, alone = found["p1"].disputes
    folder = tmp_path / "log"
    adjudicate(folder, study, lambda d: "union", name="Ada")
    adjudicate(folder, study, lambda d: "none" if d.key == alone.key else "union", name="Bo", purpose="double")
    stands = standings(read_logs([folder]), found)
    assert {key: stand.status for key, stand in stands.items()} == {
        border.key: "decided", seen.key: "decided", alone.key: "conflict"
    }  # fmt: skip
    conflict = fused(study, tmp_path / "one")["p1"]
    assert conflict[44:54, 50:60].sum() == 0  # the vote, meanwhile
    adjudicate(folder, study, lambda d: "union" if d.key == alone.key else None, name="Cy", purpose="double")
    assert standings(read_logs([folder]), found)[alone.key].status == "decided"
    assert fused(study, tmp_path / "two")["p1"][44:54, 50:60].all()


def test_a_third_who_was_asked_settles_what_two_differ_on(tmp_path):
    """Also where the third decides otherwise than both; somebody who was not asked makes it a conflict of three."""
    study = mt.Study.open(write_study(tmp_path / "m", three_readers()), decisions=str(tmp_path / "log"))
    found = disputes_of(study)
    alone = next(d for d in found["p1"].disputes if d.found_by == ("clara",))
    adjudicate(tmp_path / "log", study, lambda d: "union", name="Ada")
    adjudicate(tmp_path / "log", study, lambda d: "none" if d.key == alone.key else None, name="Bo", purpose="double")
    half = {"choice": "drawn", "drawn": [[1, [0, 30]]]}
    for asked, status in (({}, "conflict"), ({"role": "third"}, "decided")):
        adjudicate(
            tmp_path / "log", study, lambda d: half if d.key == alone.key else None, name="Cy", purpose="double",
            seen=asked,
        )  # fmt: skip
        assert standings(read_logs([tmp_path / "log"]), found)[alone.key].status == status
        result = mt.adjudicated(study)
        text = str(result.claims)
        # who is asked only where two differ does not enter how often adjudicators agree
        pairs = {
            tuple(r.extra[:2]): r.n for r in result.tables["adjudication"].rows if r.statistic == "inter_agreement"
        }
        with_both = {("Ada", "Bo"): 1, ("Ada", "Cy"): 1, ("Bo", "Cy"): 1, ("", ""): 3}
        assert pairs == ({("Ada", "Bo"): 1, ("", ""): 1} if asked else with_both)
        assert ("settled all 3 disputes, 1 of them by a third adjudicator, as two had differed." in text) == bool(asked)
    assert fused(study, tmp_path / "out")["p1"][44:54, 50:60].sum() == 30


def test_a_rule_and_a_choice_of_the_same_pixels_agree(tmp_path):
    study = mt.Study.open(write_study(tmp_path / "m", three_readers()), decisions=str(tmp_path / "log"))
    border = disputes_of(study)["p1"].disputes[0]
    adjudicate(tmp_path / "log", study, lambda d: "union" if d.key == border.key else None)
    path = tmp_path / "log" / log_name("Bo", "ward")
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Bo") as log:
        payload = {"kind": "border", "rule": "union", "keys": [border.key], "cases": {border.key: "p1"}}
        append(log, "rule", payload=payload)
    result = mt.adjudicated(study)
    assert [row[14] for row in result.tables["decisions"].records()] == ["holds", "agrees"]


def test_two_drawings_agree_where_they_are_no_dispute(tmp_path):
    study = mt.Study.open(write_study(tmp_path / "m", three_readers()), decisions=str(tmp_path / "log"))
    found = disputes_of(study)
    alone = next(d for d in found["p1"].disputes if d.found_by == ("clara",))

    def draw(rows, name):
        runs = [number for row in range(rows) for number in (row * 10, 10)]
        adjudicate(
            tmp_path / "log", study, lambda d: {"choice": "drawn", "drawn": [[1, runs]]} if d is not None and
            d.key == alone.key else None, name=name,
        )  # fmt: skip
        return standings(read_logs([tmp_path / "log"]), found)[alone.key]

    draw(10, "Ada")
    assert draw(8, "Bo").status == "decided"  # Dice 0.89
    assert draw(8, "Bo").holds.adjudicator == "Ada"
    assert draw(3, "Bo").status == "conflict"


def test_practice_controls_and_repeats_change_nothing(tmp_path):
    study = mt.Study.open(write_study(tmp_path / "m", three_readers()), decisions=str(tmp_path / "log"))
    for purpose in ("practice", "control", "repeat"):
        adjudicate(tmp_path / "log", study, lambda d: "none", which=list, purpose=purpose)
    found = disputes_of(study)
    first = found["p1"].disputes[0]
    adjudicate(tmp_path / "log", study, lambda d: "union" if d.key == first.key else None)
    stands = standings(read_logs([tmp_path / "log"]), found)
    assert {key: each.status for key, each in stands.items()} == {first.key: "decided"}
    expected = put(base_of(study)["p1"], first, choose(first, "union"))
    assert np.array_equal(fused(study, tmp_path / "out")["p1"], expected)


def test_stale_only_where_the_pixels_of_its_own_lesion_changed(tmp_path):
    cases = three_readers()
    template = write_study(tmp_path / "m", cases)
    study = mt.Study.open(template, decisions=str(tmp_path / "log"))
    adjudicate(tmp_path / "log", study, lambda d: "union")
    before = {key: s.status for key, s in standings(read_logs([tmp_path / "log"]), disputes_of(study)).items()}
    assert set(before.values()) == {"decided"}
    cases["p1"]["clara"][44, 50] = 0
    write_study(tmp_path / "m", {"p1": {"clara": cases["p1"]["clara"]}})
    study = mt.Study.open(template, decisions=str(tmp_path / "log"))
    found = disputes_of(study)
    stands = standings(read_logs([tmp_path / "log"]), found)
    stale = [key for key, each in stands.items() if each.status == "stale"]
    assert len(stale) == 1
    assert sorted(s.status for s in stands.values()) == ["decided", "decided", "stale"]
    note = mt.consensus(study, "adjudicated")["p1"].estimate.note
    assert "1 dispute is not settled (1 not decided): vote:0.5 stands there" in note
    assert "1 decision does not count: its lesion is not in the masks as it was then" in note


def test_rules_for_a_kind(tmp_path):
    study = mt.Study.open(write_study(tmp_path / "m", three_readers()), decisions=str(tmp_path / "log"))
    found = disputes_of(study)
    border, seen, _ = found["p1"].disputes
    adjudicate(tmp_path / "log", study, lambda d: "none" if d.key == seen.key else None)
    with DecisionLog.open(
        tmp_path / "log" / log_name("Ada", "ward"), study=study_digest(study), adjudicator="Ada"
    ) as log:
        keys = [seen.key, border.key]
        append(
            log, "rule", payload={"kind": "border", "rule": "union", "keys": keys, "cases": dict.fromkeys(keys, "p1")}
        )
    expected = put(put(base_of(study)["p1"], seen, choose(seen, "none")), border, choose(border, "union"))
    assert np.array_equal(fused(study, tmp_path / "out")["p1"], expected)


def test_what_goes_wrong_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    template = write_study(tmp_path / "m", three_readers())
    study = mt.Study.open(template)
    with pytest.raises(mt.InputError, match="holds no decision about this study"):
        mt.fuse(study, consensus="adjudicated")
    with pytest.raises(mt.InputError, match="there is no nowhere"):
        mt.fuse(mt.Study.open(template, decisions="nowhere"), consensus="adjudicated")
    with pytest.raises(mt.CallError, match="no estimate of masks"):
        mt.consensus(three_readers()["p1"], "adjudicated")
    with pytest.raises(mt.InputError, match="there are no decisions about it"):
        mt.consensus(study["p1"], "adjudicated")
    other = mt.Study.from_arrays({"q1": three_readers()["p1"]})
    adjudicate(tmp_path / "other", other, lambda d: "union")
    with pytest.raises(mt.InputError, match="is of another study"):
        mt.fuse(mt.Study.open(template, decisions=str(tmp_path / "other")), consensus="adjudicated")
    # the folder by default
    adjudicate(Path("manytruths-adjudication"), study, lambda d: "union")
    assert mt.consensus(study, "adjudicated")["p1"].values[44:54, 50:60].all()
