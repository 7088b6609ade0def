"""However masks are cut into chunks and tiles, and whoever counts them: whole commands write the same bytes."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import example, given, settings
from hypothesis import strategies as st

import manytruths as mt
from dask_cluster import Cluster
from manytruths.core import tiles
from manytruths.io import files, halving, zarr_store
from manytruths.study.engine import open_engine


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


def draw_masks(seed, shape, labels, raters=4):
    """Discs that raters draw in their own way, with specks."""
    rng = np.random.default_rng(seed)
    places = np.indices(shape)
    middle, radius = np.array(shape) / 2, 0.3 * min(shape)
    made = {}
    for rater in "ABCDEF"[:raters]:
        shifted = (middle + rng.normal(0, 0.05 * radius, len(shape)))[(...,) + (None,) * len(shape)]
        distance = np.sqrt(((places - shifted) ** 2).sum(axis=0))
        mask = np.where(distance < radius * (1 + 0.1 * rng.standard_normal()), 1, 0).astype(np.uint8)
        mask += (mask * (distance < radius / 2)).astype(np.uint8) * (labels - 1)
        mask[rng.random(shape) < 0.01] = labels
        made[rater] = mask
    return made


def write(root, cases, chunks):
    for case, masks in cases.items():
        for rater, mask in masks.items():
            path = root / f"masks/{rater}/{case}.zarr"
            cut = next(chunks) if chunks else mask.shape
            zarr.create_array(path, shape=mask.shape, chunks=cut, dtype="u1", overwrite=True)[...] = mask
    return str(root / "masks/{rater}/{case}.zarr")


def run_all(template, out, jobs, executor):
    study = mt.Study.open(template, executor=executor)
    results = [mt.agree(study, out=out, jobs=jobs), mt.fuse(study, out=out, jobs=jobs)]
    mt.evaluate(study, predictions=template.replace("{rater}", "A"), out=out, jobs=jobs)
    return {(type(r).__name__, name): str(list(table.records())) for r in results for name, table in r.tables.items()}


def same_files(there, here):
    names = sorted(p.relative_to(here) for p in here.rglob("*") if p.is_file())
    assert sorted(p.relative_to(there) for p in there.rglob("*") if p.is_file()) == names
    for name in names:
        assert name.name == "run.json" or (there / name).read_bytes() == (here / name).read_bytes(), name
    return len(names)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(24, 70), st.integers(24, 70)) | st.tuples(*[st.integers(6, 18)] * 3),
    labels=st.integers(1, 2),
    tile=st.sampled_from([1 << 8, 1 << 10, 1 << 24]),
    workers=st.sampled_from([1, 2, 3, "dask"]),
    cut=st.lists(st.floats(0, 1), min_size=3, max_size=12),
    large=st.booleans(),
)
@example(seed=1, shape=(50, 41), labels=2, tile=1 << 8, workers="dask", cut=[0.3, 0.7, 0.1], large=True)
@example(seed=2, shape=(50, 41), labels=1, tile=1 << 8, workers="dask", cut=[0.3, 0.7, 0.1], large=False)
@example(seed=3, shape=(12, 14, 9), labels=1, tile=1 << 8, workers=3, cut=[0.3, 0.7, 0.1], large=True)
@settings(max_examples=4, deadline=None)
def test_any_chunks_tiles_processes_and_dask(cluster, seed, shape, labels, tile, workers, cut, large):
    # what is large is known here alone: a worker of a cluster gets its tiles, or small cases
    count = 1 if large else 3
    cases = {f"p{i}": draw_masks(seed + i, shape, labels) for i in range(count)}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        root = Path(folder)
        template = write(root, cases, None)
        in_memory = run_all(template, root / "memory", 1, None)
        if large:
            patch.setattr(files, "LARGE", 100)
            patch.setattr(zarr_store, "CHUNK", {2: (20, 25), 3: (4, 8, 8)})
            patch.setattr(halving, "SMALLEST_LEVEL", 12)
            patch.setattr("manytruths.study.crew.count_slots", lambda executor: 2)
        whole = run_all(template, root / "one", 1, None)
        shares = iter(cut * 100)
        chunks = (tuple(max(1, round(next(shares) * n)) for n in shape) for _ in range(1000))
        write(root, cases, chunks)
        patch.setattr(tiles, "TILE_BYTES", tile)
        patch.setattr(tiles, "BAND_BYTES", tile)
        executor = stack.enter_context(open_engine(cluster.address, 1)) if workers == "dask" else None
        again = run_all(template, root / "other", workers if isinstance(workers, int) else 1, executor)
        assert same_files(root / "other", root / "one") > 30
    assert again == whole
    for name in whole.keys() & in_memory.keys():
        assert whole[name] == in_memory[name], name
