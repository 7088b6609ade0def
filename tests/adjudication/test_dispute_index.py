"""The index of disputes on disk: when it is used again, and that its process ends with the server."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest

import manytruths as mt
from adjudication_server import Server, painted, wait_until, write_disputed
from manytruths.adjudication.index import Index, index_case, index_settings, is_current, read_case, signature_of
from manytruths.adjudication.plan import Settings, make_queue, order_subjects, selected
from manytruths.cli import status as run
from manytruths.io.images import read_mask
from manytruths.study import Study
from manytruths.study.disputes import DisputeRule, apply_rule, find_disputes

RULE = DisputeRule()
PLAIN = ("--practice", "0", "--controls", "0", "--repeats", "0")


@pytest.fixture
def study(tmp_path):
    return Study.open(write_disputed(tmp_path / "study")[0])


@pytest.fixture
def indexed(tmp_path, study):
    index = Index(tmp_path / "index", list(study), RULE)
    for case in study:
        index_case(case, RULE, index.path(case.name))
    return index


def times(index):
    return {path.name: path.stat().st_mtime_ns for path in index.folder.iterdir()}


def test_what_was_found_is_found_again_without_reading_masks(indexed, study, monkeypatch):
    monkeypatch.setattr("manytruths.adjudication.index.find_disputes", None)
    before = times(indexed)
    indexed.load()
    assert indexed.left == 0
    for case in study:
        index_case(case, RULE, indexed.path(case.name))
    # other thresholds are applied to what is there
    index_case(study["p1"], DisputeRule(min_dice=0.1), indexed.path("p1"))
    assert times(indexed) == before


def test_files_that_were_copied_or_touched_are_known_by_their_bytes(indexed, study, monkeypatch):
    monkeypatch.setattr("manytruths.adjudication.index.find_disputes", None)
    mask = Path(study.options.masks.format(rater="A", case="p1"))
    os.utime(mask, (1, 1))
    indexed.load()
    assert "p1" not in indexed.ready
    index_case(study["p1"], RULE, indexed.path("p1"))
    indexed.load()
    assert "p1" in indexed.ready
    assert indexed.ready["p1"].head.signature == signature_of(study["p1"])


def test_a_mask_that_was_changed_is_looked_at_again(indexed, study):
    mask = Path(study.options.masks.format(rater="A", case="p1"))
    keys = [entry.key for entry in read_case(indexed.path("p1")).head.disputes]
    mask.write_bytes(Path(study.options.masks.format(rater="A", case="p2")).read_bytes())
    index_case(study["p1"], RULE, indexed.path("p1"))
    assert [entry.key for entry in read_case(indexed.path("p1")).head.disputes] != keys


@pytest.mark.parametrize("damage", [b"", b"manytruths disputes 1\n", b"x" * 100])
def test_a_damaged_file_is_made_again(indexed, study, damage):
    path = indexed.path("p2")
    whole = path.read_bytes()
    path.write_bytes(damage or whole[: len(whole) // 3])
    assert read_case(path) is None
    index_case(study["p2"], RULE, path)
    assert path.read_bytes() == whole


def test_other_code_does_not_use_it(indexed, study, monkeypatch):
    monkeypatch.setattr("manytruths.adjudication.index.code_version", lambda: "another")
    there = read_case(indexed.path("p1"))
    assert not is_current(there, index_settings(RULE), signature_of(study["p1"]))


def test_studies_in_memory_are_indexed_too(tmp_path):
    one, other = np.zeros((30, 30), int), np.zeros((30, 30), int)
    one[4:12, 4:12] = other[20:25, 20:25] = 1
    index = Index(tmp_path / "index", list(Study.from_arrays({"p1": {"A": one, "B": other}})), RULE)
    index.load()
    index.start()
    for _ in index.wait():
        pass
    index.stop()
    assert len(index.ready["p1"].found().disputes) == 2


def test_the_indexer_ends_with_the_server_however_that_ends(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from manytruths.adjudication import index as i\n"
        "from manytruths.study import Study; from manytruths.study.disputes import DisputeRule\n"
        f"study = Study.open({write_disputed(tmp_path / 'study')[0]!r})\n"
        f"index = i.Index(Path({str(tmp_path / 'index')!r}), list(study), DisputeRule()); index.start()\n"
        "print(index._child.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()

    def gone():
        try:
            return Path(f"/proc/{child}/stat").read_text().split()[2] == "Z"
        except OSError:
            return True

    wait_until(gone)


def test_a_queue_does_not_depend_on_when_cases_were_found(indexed, study):
    indexed.load()
    settings = Settings(controls=0.5, repeats=0.5)
    found = {name: apply_rule(each.bare, RULE) for name, each in indexed.ready.items()}
    order = order_subjects(found, f"{settings.seed}|Ada")
    assert sorted(order) == sorted(found)
    whole = make_queue([(name, [found[name]]) for name in order], settings, "Ada")
    some = make_queue([(name, [found[name]] if name != order[2] else []) for name in order], settings, "Ada")
    there = {item.id for item in some}
    assert there < {item.id for item in whole}
    shown = [item.id for item in whole if item.id in there and item.purpose == "dispute"]
    assert shown == [item.id for item in some if item.purpose == "dispute"]
    assert {i.dispute.kind for i in whole if i.purpose == "control"} == {"unanimous", "unmarked"}
    # where there is no image, a region that nobody marked shows nothing
    bare = make_queue([(name, [found[name]]) for name in order], settings, "Ada", imageless=frozenset(found))
    assert {i.dispute.kind for i in bare if i.purpose == "control"} == {"unanimous"}
    other = make_queue([(name, [found[name]]) for name in order], settings, "Ben")
    assert not {item.id for item in other} & {item.id for item in whole}
    by_doubt = make_queue(
        [(name, [found[name]]) for name in order], Settings(order="doubt", controls=0, repeats=0), "Ada"
    )
    weights = [item.dispute.size * item.dispute.doubt for item in by_doubt]
    assert weights == sorted(weights, reverse=True)


def test_filters_by_group_label_and_kind():
    square, masks = np.ones((8, 8), np.uint8), {}
    for rater, more in (("A", 3), ("B", 0)):
        mask = np.zeros((60, 60), np.uint8)
        mask[4:12, 4:12], mask[30:38, 4 : 12 + more] = square, 2
        mask[30:38, 40:48] = square if rater == "A" else 0
        masks[rater] = mask
    study = mt.Study.from_arrays({"p1": masks})
    found = find_disputes(study["p1"].read(), DisputeRule(min_dice=0.95))
    found = dataclasses.replace(found, groups=("north",))
    names = {1: "solid", 2: "cyst"}

    def kinds(**filters):
        return [each.kind for each in selected(found, Settings(**filters), names)]

    assert sorted(kinds()) == ["border", "missed"]
    assert kinds(labels=("cyst",)) == kinds(labels=("2",)) == kinds(kinds=("border",)) == ["border"]
    assert kinds(labels=("solid",)) == kinds(kinds=("missed",)) == ["missed"]
    assert len(kinds(groups=("north",))) == 2
    assert kinds(groups=("south",)) == kinds(labels=("solid",), kinds=("border",)) == []


@pytest.mark.parametrize("labels", [False, True])
def test_fuse_writes_the_pixels_that_were_chosen_and_drawn(tmp_path, labels):
    """From the page to the file: what ``fuse --consensus adjudicated`` writes equals what was clicked."""
    study = write_disputed(tmp_path / "study")
    if labels:
        from PIL import Image

        for path in (tmp_path / "study/masks").rglob("*.png"):
            mask = np.asarray(Image.open(path)).copy()
            mask[:, 48:] *= 2
            Image.fromarray(mask).save(path)
        study += ["--labels", "0=background,1=left,2=right"]
    choices = ["letter:A", "union", "intersection", "none", "drawn", "letter:C", "majority", "union"]
    expected: dict[str, np.ndarray] = {}
    with Server(tmp_path, study, *PLAIN, "--names", "--no-first-look") as server:
        ids = server.open_items()
        assert len(ids) == len(choices)
        for id, choice in zip(ids, choices, strict=True):
            item, shown = server.get(f"items/{id}"), server.get(f"items/{id}/outlines")
            size = item["shape"]
            union = painted(shown["choices"]["union"]["runs"], size)
            if choice == "drawn":
                runs = [[1, [100, 5, 200, 5]]]
            elif choice.startswith("letter"):
                runs = next(each["runs"] for each in shown["letters"] if f"letter:{each['letter']}" == choice)
            else:
                runs = [] if choice == "none" else shown["choices"][choice]["runs"]
            status, answer = server.decide(id, choice, **({"runs": runs} if choice == "drawn" else {}))
            if status == 422:  # a tie of two and two has no majority
                assert shown["choices"]["majority"].get("tie"), answer
                assert server.decide(id, "union")[0] == 200
                runs = shown["choices"]["union"]["runs"]
            # of the lesions that are no disputes, all outlines are alike
            base = expected.setdefault(item["case_name"], None)
            if base is None:
                masks = [
                    read_mask(p).array for p in sorted((tmp_path / "study/masks").glob(f"*/{item['case_name']}.png"))
                ]
                counts = [(np.stack(masks) == value).sum(axis=0) for value in (1, 2)]
                base = np.where(counts[0] * 2 >= 3, 1, np.where(counts[1] * 2 >= 3, 2, 0))
            base = np.where(union > 0, 0, base)
            drawn = painted(runs, size)
            expected[item["case_name"]] = np.where(drawn > 0, drawn, base)
        server.stop()
    logs = tmp_path / "manytruths-adjudication"
    out = ["--decisions", str(logs), "--consensus", "adjudicated", "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert run(["fuse", *study, *out, "--quiet", "--no-pictures"]) == 0
    for name, pixels in expected.items():
        (written,) = (tmp_path / "out/fuse/consensus/adjudicated").glob(f"{name}.*")
        assert (read_mask(written).array == pixels).all(), name


def whole(runs, item) -> np.ndarray:
    """Runs of the block that the page shows, in the image."""
    start, stop = item["view"]["start"], item["view"]["stop"]
    mask = np.zeros(item["shape"], int)
    mask[tuple(map(slice, start, stop))] = painted(runs, [b - a for a, b in zip(start, stop, strict=True)])
    return mask


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["volume", "tiles"])
def test_fuse_writes_volumes_and_tiles_as_they_were_chosen_and_drawn(tmp_path, kind):
    """The same where the page shows a part of a volume, whose axes run in other ways, and where it shows tiles."""
    options = [] if kind == "volume" else ["--unit", "tile", "--tile", "32", "--min-dice", "0.95"]
    if kind == "volume":
        grid = np.mgrid[:40, :36, :90]
        centres = ((10, 10, 15), (28, 12, 40), (12, 24, 62), (30, 26, 78))
        for shift, rater in enumerate("ABC"):
            mask = np.zeros(grid.shape[1:], np.uint8)
            for number, centre in enumerate(centres):
                if (number + shift) % 4:
                    reach = sum((g - c) ** 2 for g, c in zip(grid, centre, strict=True))
                    mask[reach <= (5 + shift) ** 2] = 1 + number % 2
            affine = np.array([[0, -1.5, 0, 3], [1, 0, 0, 5], [0, 0, 2.5, -7], [0, 0, 0, 1.0]])
            path = tmp_path / f"masks/{rater}/p1.nii.gz"
            path.parent.mkdir(parents=True)
            nibabel.save(nibabel.Nifti1Image(mask, affine), path)
        study = [f"{tmp_path}/masks/{{rater}}/{{case}}.nii.gz", "--labels", "0=none,1=solid,2=cyst"]
    else:
        study = write_disputed(tmp_path, cases=2)[:1]
    choices = ["drawn", "union", "letter:A", "none", "letter:B", "intersection"]
    expected = {}
    with Server(tmp_path, study, *PLAIN, "--names", "--no-first-look", *options) as server:
        ids = server.open_items()
        assert len(ids) >= 4
        for number, id in enumerate(ids):
            choice = choices[number % len(choices)]
            item, shown = server.get(f"items/{id}"), server.get(f"items/{id}/outlines")
            start, stop = item["view"]["start"], item["view"]["stop"]
            if choice == "drawn":
                # a run at each corner of the dispute, in pixels of the block
                shape = [b - a for a, b in zip(start, stop, strict=True)]
                corners = [[low - first for (low, _), first in zip(item["box"], start, strict=True)],
                           [high - 1 - first for (_, high), first in zip(item["box"], start, strict=True)]]  # fmt: skip
                runs = [[1, [n for c in corners for n in (int(np.ravel_multi_index(c, shape)), 1)]]]
            elif choice.startswith("letter"):
                runs = next(each["runs"] for each in shown["letters"] if f"letter:{each['letter']}" == choice)
            else:
                runs = [] if choice == "none" else shown["choices"][choice]["runs"]
            assert server.decide(id, choice, **({"runs": runs} if choice == "drawn" else {}))[0] == 200
            case = item["case_name"]
            if case not in expected:
                masks = [read_mask(p).array for p in sorted((tmp_path / "masks").glob(f"*/{case}.*"))]
                base = np.zeros(masks[0].shape, int)
                for value in np.unique(masks)[1:]:
                    base[(np.stack(masks) == value).sum(axis=0) * 2 >= 3] = value
                expected[case] = [base, np.zeros_like(base)]
            cleared, drawn = expected[case]
            cleared[whole(shown["choices"]["union"]["runs"], item) > 0] = 0
            mask = whole(runs, item)
            drawn[mask > 0] = mask[mask > 0]
    out = ["--decisions", str(tmp_path / "manytruths-adjudication"), "--consensus", "adjudicated"]
    assert run(["fuse", *study, *out, "--out", str(tmp_path / "out"), "--jobs", "1", "--quiet", "--no-pictures"]) == 0
    for case, (cleared, drawn) in expected.items():
        (written,) = (tmp_path / "out/fuse/consensus/adjudicated").glob(f"{case}.*")
        assert (read_mask(written).array == np.where(drawn > 0, drawn, cleared)).all(), case
