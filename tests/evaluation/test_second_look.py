"""A second look: places against a plain loop over pixels, in two and three dimensions, and their list."""

from __future__ import annotations

import math

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from data_folder import data
from manytruths import CallError, GridError, reason, second_look
from manytruths.core import tiles
from manytruths.core.runs import read_runs
from manytruths.evaluation import second_look as places_of
from study_folders import pixels, write_png

stacks = arrays(np.bool_, st.tuples(st.integers(1, 4), st.just(6), st.just(7)))


def by_name(stack, names="abcd"):
    return dict(zip(names, stack, strict=False))


def flood(wanted):
    """Connected items, neighbours at corners too, by a plain walk."""
    left, found = {tuple(i) for i in np.argwhere(wanted)}, []
    while left:
        todo = [left.pop()]
        part = set(todo)
        while todo:
            at = todo.pop()
            for other in [o for o in left if max(abs(x - y) for x, y in zip(at, o, strict=True)) == 1]:
                left.remove(other)
                part.add(other)
                todo.append(other)
        found.append(part)
    return found


@given(stacks, stacks, st.integers(1, 3), st.sampled_from([0.0, 0.25, 0.5, 2 / 3]), st.integers(1, 4))
def test_places_are_those_of_a_plain_loop(seen, drawn, algorithms, raters, least):
    predictions, masks = by_name(seen), by_name(drawn, "ABCD")
    found = second_look(predictions, masks, algorithms=algorithms, raters=raters, least=least)
    wanted = np.zeros((6, 7), bool)
    for at in np.ndindex(6, 7):
        fired, marked = seen[(slice(None), *at)].sum(), drawn[(slice(None), *at)].sum()
        wanted[at] = fired >= max(algorithms, len(seen) / 2) and marked / len(drawn) <= raters + 1e-9
    parts = [p for p in flood(wanted) if len(p) >= least] if len(seen) >= algorithms else []
    assert sorted(p.area for p in found.places) == sorted(map(len, parts))
    assert bool(found.note) == (len(seen) < algorithms)
    assert [p.order for p in found.places] == sorted(p.order for p in found.places)
    pixels_of = places_of.find_places(predictions, masks, algorithms=algorithms, raters=raters, least=least)[1]
    for place, runs in zip(found.places, pixels_of, strict=True):
        own = next(part for part in parts if place.point in part)
        assert place.area == len(own)
        assert place.most == max(seen[(slice(None), *at)].sum() for at in own)
        assert place.box == tuple((min(x), max(x) + 1) for x in zip(*own, strict=True))
        for shares, stack in ((place.algorithms, predictions), (place.raters, masks)):
            counted = {name: sum(mask[at] for at in own) / len(own) for name, mask in stack.items()}
            assert shares == pytest.approx({name: share for name, share in counted.items() if share})
        more = {at for at in np.ndindex(6, 7) if drawn[(slice(None), *at)].sum() / len(drawn) > raters + 1e-9}
        near = {(y + i, x + j) for y, x in own for i in (-1, 0, 1) for j in (-1, 0, 1)}
        assert place.adjoins == bool(near & more)
        assert {tuple(i) for i in np.argwhere(runs[...])} == own


@st.composite
def stored(draw):
    """Predictions and masks of one shape, a region of interest, chunks for each of them, and spacing."""
    shape = draw(st.sampled_from([(13, 17), (4, 9, 11)]))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))

    def blob():
        grid = np.indices(shape).reshape(len(shape), -1).T
        centre = rng.random(len(shape)) * shape
        near = ((grid - centre) ** 2).sum(axis=1).reshape(shape) < (3 + 3 * rng.random()) ** 2
        return (near ^ (rng.random(shape) < 0.04)).astype(np.uint8)

    every = [blob() for _ in range(draw(st.integers(4, 7)))] + [(rng.random(shape) < 0.95).astype(np.uint8)]
    chunks = [tuple(int(n) for n in rng.integers(2, np.array(shape) + 1)) for _ in every]
    hidden = rng.random(shape) < 0.1
    spacing = draw(st.sampled_from([None, (0.5, 0.25, 2.0)[: len(shape)]]))
    return every, chunks, hidden, spacing


@pytest.mark.slow
@given(stored())
@settings(max_examples=60, deadline=None)
def test_places_do_not_depend_on_chunks_nor_on_how_the_deepest_pixel_is_found(made):
    every, chunks, hidden, spacing = made
    options = {"least": 2, "raters": 0.4, "spacing": spacing}

    def places(each):
        return repr(second_look(by_name(each[:2]), by_name(each[2:-1], "ABCDE"), inside=each[-1], **options))

    whole = places(every)
    stored = [zarr.create_array({}, data=array, chunks=c) for array, c in zip(every, chunks, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", 90)
        assert places(stored) == whole
        patch.setattr(places_of, "DRAWN", 0)
        assert places(stored) == whole
    masked = [np.ma.array(every[0], mask=hidden), every[1], np.ma.array(every[2], mask=hidden), *every[3:]]
    assert places(masked) == places([read_runs(array) for array in masked])


def test_a_volume_in_millimetres():
    seen, drawn = np.zeros((2, 12, 12, 8)), np.zeros((4, 12, 12, 8))
    seen[:, 2:9, 3:10, 1:6] = 1
    drawn[0, 2:9, 3:10, 1:6] = 1
    (place,) = second_look(by_name(seen), by_name(drawn), spacing=(0.5, 0.5, 2)).places
    assert (place.area, place.size) == (7 * 7 * 5, pytest.approx(7 * 7 * 5 * 0.5))
    assert place.point[:2] == (5, 6), "four items of 0.5 mm to either side; the next slice is as far as any"
    assert place.depth == pytest.approx(2)
    assert place.raters == {"a": 1.0}
    assert not place.adjoins
    assert second_look(by_name(seen), by_name(drawn), raters=0.2).places == ()
    unknown = second_look(by_name(seen), by_name(drawn)).places[0]
    assert math.isnan(unknown.size)
    assert "spacing" in reason(unknown.size)
    assert unknown.point == (5, 6, 3)


def test_who_did_not_rate_or_is_not_judged_does_not_count():
    seen, blank = np.ones((5, 5)), np.zeros((5, 5))
    gone = np.ma.array(np.ones((5, 5)), mask=True)
    both = {"a": seen, "b": seen}
    assert second_look(both, {"A": seen, "B": blank, "C": blank}).places == (), "a third of them marked it"
    assert len(second_look(both, {"A": gone, "B": blank, "C": blank}).places) == 1
    assert second_look(both, {"A": gone}).places == (), "nobody rated it"
    others = dict.fromkeys("cdefg", blank)
    assert second_look({**both, **others}, {"A": blank}).places == (), "fewer than half of seven"
    away = dict.fromkeys("cdefg", np.ma.array(blank, mask=True))
    assert len(second_look({**both, **away}, {"A": blank}).places) == 1, "half of those that are judged there"
    region = np.zeros((5, 5))
    region[:2] = 1
    assert second_look(both, {"A": blank}, inside=region).places[0].area == 10


def test_specks_are_counted_and_calls_checked():
    seen = np.zeros((9, 9))
    seen[0, 0] = seen[4, 4:8] = seen[7:9, 0:3] = 1
    found = second_look({"a": seen, "b": seen}, {"A": np.zeros((9, 9))})
    assert (len(found.places), found.specks) == (1, 2)
    masks = {"A": seen}
    with pytest.raises(GridError, match="one size"):
        second_look({"a": np.ones((2, 2))}, masks)
    for wrong in ({"algorithms": 0}, {"raters": 1.0}, {"spacing": (1, 1, 1)}):
        with pytest.raises(CallError):
            second_look({"a": seen}, masks, **wrong)


def evaluate(folder, masks, predictions, **options):
    """Masks by rater, the same in every case, and predictions by case and algorithm, in files."""
    arrays = {f"masks/{rater}/{case}": mask for rater, mask in masks.items() for case in predictions}
    arrays |= {f"pred/{name}/{case}": seen for case, by in predictions.items() for name, seen in by.items()}
    for path, array in arrays.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{path}.npy", np.asarray(array, np.uint8))
    study = mt.Study.open(
        f"{folder}/masks/{{rater}}/{{case}}.npy", predictions=f"{folder}/pred/{{algorithm}}/{{case}}.npy", **options
    )
    return mt.evaluate(study, distances=False)


def test_one_list_for_a_study(tmp_path):
    def case(sizes):
        seen = np.zeros((3, 40, 60))
        for i, (size, count) in enumerate(sizes):
            seen[:count, 2 : 2 + size, 2 + 14 * i : 2 + 14 * i + size] = 1
        return by_name(seen)

    masks = {"A": np.zeros((40, 60)), "B": np.zeros((40, 60)), "C": np.pad(np.ones((4, 4)), ((30, 6), (40, 16)))}
    cases = {"p1": case([(4, 2), (9, 2), (1, 2)]), "p2": case([(3, 3), (6, 2)])}
    cases["p3"] = {"a": np.zeros((40, 60))}
    image = np.random.default_rng(0).integers(0, 255, (40, 60, 3)).astype(np.uint8)
    write_png(tmp_path / "images/p1.png", image)
    result = evaluate(tmp_path, masks, cases, images=f"{tmp_path}/images/{{case}}.png")
    found = result.second_look
    assert [(r.rank, r.case, r.place.most, r.place.area) for r in found.ranked] == [
        (1, "p2", 3, 9), (2, "p1", 2, 81), (3, "p2", 2, 36), (4, "p1", 2, 16)
    ]  # fmt: skip
    text = found.table.write(tmp_path).read_text().splitlines()
    assert text[0].startswith("scope,case,group,label,region,rank,n_algorithms,algorithms,raters,point,box,")
    assert text[1].startswith("place,p2,,,whole,1,3,a 100%; b 100%; c 100%,,3 3,2:5 2:5,,2.0,no,area,9.0,")
    assert found.notes == (
        "1 speck with too few pixels is left out of the second look",
        "a second look needs 2 algorithms that predicted the case; there is 1 (1 of 3 cases)",
    )
    paths = result.write_maps(tmp_path / "drawn")
    assert [p.name for p in paths] == ["001.png", "002.png", "003.png", "004.png"]
    shown = pixels(paths[1])
    pink = (shown == (255, 64, 160)).all(axis=-1)
    half = shown.shape[1] // 2
    assert pink[:, half:].any()
    assert not pink[:, : half // 2].any(), "at the left the image is bare"


def test_pictures_of_volumes(tmp_path):
    seen = np.zeros((2, 20, 24, 9))
    seen[:, 4:10, 5:12, 2:7] = 1
    masks = {"A": np.zeros((20, 24, 9)), "B": np.pad(np.ones((2, 2, 2)), ((16, 2), (20, 2), (0, 7)))}
    result = evaluate(tmp_path, masks, {"v": by_name(seen)}, spacing=(1, 1, 2))
    (path,) = result.write_maps(tmp_path / "drawn")
    assert (pixels(path) == (255, 64, 160)).all(axis=-1).any()


def test_the_fissure_that_nobody_marked():
    """All four detectors of the published data follow a dark line at the left that none of 13 raters marked."""
    masks = {p.name: pixels(p / "fissure.png") for p in sorted(data("fissure", "raters").iterdir())}
    union = np.sum([m != 0 for m in masks.values()], axis=0) > 0
    responses = {p.name: pixels(p / "fissure.png") for p in data("fissure", "predictions").iterdir()}
    cuts = {name: np.sort(r, axis=None)[-union.sum()] for name, r in responses.items()}
    found = second_look({name: r >= cuts[name] for name, r in responses.items()}, masks, raters=0.1)
    first = found.places[0]
    assert (first.most, first.raters, first.adjoins) == (4, {}, False)
    assert first.area == 1388
    assert first.box == ((293, 465), (37, 73))
