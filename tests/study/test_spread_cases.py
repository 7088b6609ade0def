"""One large case on several workers: the same bytes as with one process, whoever ends on the way."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from dask_cluster import Cluster
from manytruths import InputError
from manytruths.core import counting, tiles
from manytruths.core.errors import EngineError, LabelError, TooLarge
from manytruths.io import files, halving, zarr_store
from manytruths.study import crew, processes
from manytruths.study.crew import choose_spread, spread_case
from manytruths.study.engine import open_engine
from manytruths.study.processes import Crew, Failure
from panels import VOID, panels

SHAPE = (230, 210)


def masks_of(seed, raters="ABC", labels=1):
    rng = np.random.default_rng(seed)
    y, x = np.indices(SHAPE)
    made = {}
    for rater in raters:
        middle, radius = 100 + rng.normal(0, 4, 2), 50 + rng.normal(0, 4)
        distance = np.hypot(y - middle[0], x - middle[1])
        made[rater] = np.where(distance < radius, 1 + (distance * labels / (radius + 1)).astype(int), 0).astype("u1")
    return made


def write(root, case, masks):
    for rater, mask in masks.items():
        (root / f"tif/{rater}").mkdir(parents=True, exist_ok=True)
        zarr.create_array(root / f"zarr/{rater}/{case}.zarr", shape=SHAPE, chunks=(32, 50), dtype="u1")[...] = mask
        tifffile.imwrite(root / f"tif/{rater}/{case}.tif", mask, tile=(64, 48), compression="zlib")
    return root


@pytest.fixture
def large(monkeypatch):
    """Everything is large, tiles are small, and a band has two of them."""
    monkeypatch.setattr(files, "LARGE", 1000)
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 13)
    monkeypatch.setattr(tiles, "BAND_BYTES", 1 << 14)
    monkeypatch.setattr(zarr_store, "CHUNK", {2: (50, 64), 3: (8, 64, 64)})
    monkeypatch.setattr(halving, "SMALLEST_LEVEL", 40)


def opened(root, kind, **options):
    return mt.Study.open(str(root / kind / f"{{rater}}/{{case}}.{kind}"), **options)


def same_files(there, here):
    names = sorted(p.relative_to(here) for p in here.rglob("*") if p.is_file())
    assert sorted(p.relative_to(there) for p in there.rglob("*") if p.is_file()) == names
    for name in names:
        assert name.name == "run.json" or (there / name).read_bytes() == (here / name).read_bytes(), name
    return len(names)


# -- counting ---------------------------------------------------------------------------------------


@given(panels(), st.integers(1, 40), st.integers(1, 400), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_bands_give_the_same_table(panel, tile, band, threads, inside):
    """Values may occur in one band alone; what is learnt of them there counts everywhere."""
    before = tiles.TILE_BYTES, tiles.BAND_BYTES
    panel = panel.masks
    region = np.random.default_rng(band).random(next(iter(panel.values())).shape) < 0.5 if inside else None
    if inside and not region.any():
        region[...] = True
    options = {"void": VOID, **({} if region is None else {"region": region})}
    whole = mt.tally(panel, **options)
    try:
        tiles.TILE_BYTES, tiles.BAND_BYTES = tile, band
        with ThreadPoolExecutor(3) as pool:
            found = mt.tally(panel, **options, spread=pool.map if threads else map)
    finally:
        tiles.TILE_BYTES, tiles.BAND_BYTES = before
    assert found == whole


def test_values_of_all_bands_are_checked(monkeypatch):
    monkeypatch.setattr(tiles, "TILE_BYTES", 256)
    monkeypatch.setattr(tiles, "BAND_BYTES", 256)
    ramp = np.repeat(np.arange(300, dtype=np.int16), 100).reshape(300, 100)
    for spread in (None, map):
        with pytest.raises(LabelError, match="B: the masks together hold more than 255 distinct values"):
            mt.tally({"A": np.zeros_like(ramp), "B": ramp}, spread=spread)
        with pytest.raises(LabelError, match="B: found the value 7, which is not among the labels declared"):
            mt.tally({"A": np.zeros_like(ramp), "B": np.where(ramp == 299, 7, 0)}, labels=[0, 1], spread=spread)


def test_tables_of_noise_take_the_memory_of_their_patterns(monkeypatch):
    """Parts are merged as they come in, not when all are there."""
    noise = np.random.default_rng(0).integers(0, 2, (8, 1000, 100), dtype=np.uint8)
    whole = mt.tally(noise)
    monkeypatch.setattr(counting, "_PENDING", 1000)
    monkeypatch.setattr("manytruths.core.mask_arrays.BLOCK", 500)
    merged, merge = [], counting.merge_rows
    monkeypatch.setattr(counting, "merge_rows", lambda rows, *rest: merged.append(len(rows)) or merge(rows, *rest))
    assert mt.tally(noise) == whole
    assert max(merged) < 8000


@pytest.mark.parametrize("spread", [None, map])
def test_more_patterns_than_memory(monkeypatch, spread):
    noise = np.random.default_rng(0).integers(0, 2, (60, 100, 100), dtype=np.uint8)
    monkeypatch.setattr(counting, "_PENDING", 500)
    monkeypatch.setattr("manytruths.core.mask_arrays.BLOCK", 500)
    monkeypatch.setattr(counting, "_memory_left", lambda: 1_000_000)
    advice = r"more than [\d,]+ distinct patterns, as noise does, .* 0.0 GB of memory that are left; leave out raters"
    with pytest.raises(InputError, match=advice):
        mt.tally(noise, spread=spread)
    with pytest.raises(InputError, match=f"case p1: the masks show {advice}"):
        mt.agree(mt.Study.from_arrays({"p1": list(noise)}))


def test_memory_that_is_left_is_known():
    left = counting._memory_left()
    assert left is None or 10**6 < left < 10**15


# -- whole commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"foreground": "any"}, "zarr"),
        ({"region": "union"}, "tif"),
        pytest.param({}, "zarr", marks=pytest.mark.slow),
        pytest.param({}, "tif", marks=pytest.mark.slow),
        pytest.param({"region": "union"}, "zarr", marks=pytest.mark.slow),
        pytest.param({"foreground": "any"}, "tif", marks=pytest.mark.slow),
    ],
)
def test_commands_give_the_same_bytes(tmp_path, large, kind, options):
    root = write(tmp_path, "p1", masks_of(0, labels=2))
    for jobs in (1, 3):
        study = opened(root, kind, **options)
        assert choose_spread(list(study), None, jobs) == ({"p1"} if jobs > 1 else set())
        mt.check(study, out=tmp_path / str(jobs), jobs=jobs)
        mt.agree(study, out=tmp_path / str(jobs), jobs=jobs)
        mt.fuse(study, out=tmp_path / str(jobs), jobs=jobs, large_maps="ome-zarr")
    assert same_files(tmp_path / "3", tmp_path / "1") > 60
    assert not multiprocessing.active_children()


def test_bands_are_counted_by_other_processes(tmp_path, large):
    root = write(tmp_path, "p1", masks_of(0))
    study = opened(root, "zarr")
    with spread_case(study["p1"], None, 2) as case:
        assert len(set(case.spread(who, range(40)))) == 2
        assert case.read(by_tile=True).tally() == study["p1"].tally()
        kept = case
    assert set(kept.spread(who, range(40))) == {os.getpid()}, "when the workers have gone, the caller works"


def who(item):
    time.sleep(0.01)
    return os.getpid()


def test_a_region_in_memory_stays_here(tmp_path, large):
    """Arrays do not travel."""
    root = write(tmp_path, "p1", masks_of(0))
    inside = np.zeros(SHAPE, np.uint8)
    inside[40:180, 30:200] = 255
    np.save(root / "p1.npy", inside)
    tables = []
    for jobs in (1, 2):
        study = opened(root, "zarr", roi=str(root / "{case}.npy"))
        tables.append(mt.fuse(study, out=tmp_path / str(jobs), jobs=jobs).tallies["p1"])
    assert tables[0] == tables[1]
    same_files(tmp_path / "2", tmp_path / "1")


def test_large_cases_among_small_ones(tmp_path, large, monkeypatch):
    """Results come in the order of the cases, and the progress is that of all."""
    root, names = tmp_path, [f"p{i}" for i in range(7)]
    for number, name in enumerate(names):
        write(root, name, masks_of(number))
    seen = []
    monkeypatch.setattr(crew, "is_large_case", lambda case: case.name in ("p2", "p4", "p5"))
    study = opened(root, "zarr")
    assert choose_spread(list(study), None, 2) == {"p5"}
    assert choose_spread(list(study), None, 3) == set()
    assert choose_spread(list(study), None, 4) == {"p2", "p4", "p5"}
    found = study.tally(jobs=4, progress=lambda *at: seen.append(at))
    assert list(found) == names
    assert seen == [(i, 7) for i in range(8)]
    assert all(found[name] == table for name, table in study.tally().items())


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "numpy"])
def test_arrays_of_the_caller_are_read_by_threads(large, tmp_path, kind):
    """Also by those that cannot be sent to other processes."""
    masks = masks_of(1, labels=3)
    whole = mt.tally(masks)
    if kind == "zarr":
        masks = {rater: zarr.create_array({}, data=mask, chunks=(40, 40)) for rater, mask in masks.items()}
    elif kind == "hdf5":
        file = h5py.File(tmp_path / "masks.h5", "w")
        masks = {rater: file.create_dataset(rater, data=mask, chunks=(40, 40)) for rater, mask in masks.items()}
    study = mt.Study.from_arrays({"p1": masks})
    with spread_case(study["p1"], None, 3) as case:
        assert case.spread.in_memory
        assert case.read(by_tile=True).tally() == whole
    assert study.tally(jobs=3)["p1"] == whole
    found = mt.fuse(study, out=tmp_path / "3", jobs=3).tallies["p1"]
    assert found == mt.fuse(study, out=tmp_path / "1").tallies["p1"]
    same_files(tmp_path / "3", tmp_path / "1")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_damaged_chunk_is_named(tmp_path, large, jobs):
    root = write(tmp_path, "p1", masks_of(0))
    (root / "zarr/B/p1.zarr/c/3/2").write_bytes(b"no zstd")
    with pytest.raises(InputError, match=r"B/p1.zarr: is damaged or cut short \(chunk 3/2 cannot be decoded") as info:
        mt.agree(opened(root, "zarr"), jobs=jobs)
    assert info.value.case == "p1"
    assert not multiprocessing.active_children()


def test_an_executor_counts_and_paints_tiles(tmp_path, large):
    root = write(tmp_path, "p1", masks_of(0))
    with ProcessPoolExecutor(2) as pool:
        study = opened(root, "zarr", executor=pool)
        with spread_case(study["p1"], pool, 1) as case:
            assert os.getpid() not in set(case.spread(who, range(40)))
        mt.fuse(study, out=tmp_path / "there")
    mt.fuse(opened(root, "zarr"), out=tmp_path / "here")
    assert same_files(tmp_path / "there", tmp_path / "here") > 40


# -- workers that end -------------------------------------------------------------------------------


def kill_at(item, deadly, folder, times):
    """Squares; the process is killed at the deadly item, some times."""
    if item == deadly and len(list(Path(folder).iterdir())) < times:
        (Path(folder) / str(time.time_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def test_a_process_that_ends_is_replaced(tmp_path):
    team = Crew(2)
    try:
        assert list(team.map(partial(kill_at, deadly=3, folder=tmp_path, times=2), range(9))) == [
            i * i for i in range(9)
        ]
        assert list(team.map(abs, range(5))) == list(range(5)), "and there is another round"
        (again := tmp_path / "again").mkdir()
        results = list(team.map(partial(kill_at, deadly=1, folder=again, times=9), range(2)))
        assert results[0] == 0
        assert isinstance(results[1], Failure)
    finally:
        team.end()
    assert not multiprocessing.active_children()
    assert not processes._live


def test_a_case_whose_tiles_end_processes_is_named(tmp_path, large):
    case = opened(write(tmp_path, "p1", masks_of(0)), "zarr")["p1"]
    (marks := tmp_path / "marks").mkdir()
    with spread_case(case, None, 2) as spread, pytest.raises(TooLarge, match=r"case p1: its process was killed"):
        list(spread.spread(partial(kill_at, deadly=4, folder=marks, times=9), range(9)))


def test_no_process_can_be_started(tmp_path, large, monkeypatch):
    study = opened(write(tmp_path, "p1", masks_of(0)), "zarr")
    monkeypatch.setattr(processes._Pool, "_start", lambda self, count: None)
    assert study.tally(jobs=2)["p1"] == study.tally()["p1"]


@pytest.mark.slow
def test_workers_of_a_cluster_are_killed_while_they_count_and_paint(tmp_path, monkeypatch):
    """A real cluster; all commands that work by tile."""
    rng = np.random.default_rng(3)
    for rater in "ABC":
        y, x = np.indices((4096, 4096))
        middle = 2000 + rng.normal(0, 50, 2)
        mask = (np.hypot(y - middle[0], x - middle[1]) < 1500).astype(np.uint8)
        made = zarr.create_array(tmp_path / f"zarr/{rater}/p1.zarr", shape=mask.shape, chunks=(256, 256), dtype="u1")
        made[...] = mask
    monkeypatch.setattr(files, "LARGE", 1000)
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 20)
    monkeypatch.setattr(tiles, "BAND_BYTES", 1 << 20)
    # with one worker alive the whole case would go to it, which does not know that so small a case is large
    monkeypatch.setattr("manytruths.study.crew.count_slots", lambda executor: 2)
    mt.fuse(opened(tmp_path, "zarr"), out=tmp_path / "here")
    mt.agree(opened(tmp_path, "zarr"), out=tmp_path / "here")
    with Cluster() as running, open_engine(running.address, 1) as executor:
        killer = running.kill_some(seed=5, times=6, pause=(0.3, 1.0))
        rounds = 0
        while killer.is_alive() or not rounds:
            study = opened(tmp_path, "zarr", executor=executor)
            mt.fuse(study, out=tmp_path / f"there{rounds}")
            mt.agree(study, out=tmp_path / f"there{rounds}")
            assert same_files(tmp_path / f"there{rounds}", tmp_path / "here") > 100
            rounds += 1
        killer.join()


@pytest.mark.slow
def test_a_scheduler_that_is_lost_while_tiles_are_counted(tmp_path, large):
    study = opened(write(tmp_path, "p1", masks_of(0)), "zarr")
    with Cluster(1) as own, open_engine(own.address, 1) as executor, spread_case(study["p1"], executor, 1) as case:
        parts = case.spread(time.sleep, [0.02] * 400)
        next(iter(parts))
        own.scheduler.kill()
        with pytest.raises(EngineError, match="the workers or their scheduler are gone"):
            list(parts)
