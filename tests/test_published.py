"""Published figures, to every digit printed, and real data through the public interface."""

import csv
import importlib
import json
import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from data_folder import data

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def cells(name):
    with data("worked", name).open(newline="") as file:
        return list(csv.reader(file))[1:]


def ratings(name):
    """(items, raters) of labels from 1; 0 is not rated."""
    return np.array([[int(float(v)) if v else 0 for v in row] for row in cells(name)])


def from_counts(table):
    """The tally of a table of n_ij, raters in any order: the statistics here do not tell them apart."""
    items = [np.repeat(np.arange(1, len(row) + 1), row) for row in table]
    return mt.tally(np.array(items).T, labels=range(1, len(table[0]) + 1), raters="exchangeable")


def answers(name):
    return json.loads(data("worked", "published_answers.json").read_text())[name]


def test_fleiss_1971():
    name = "fleiss1971_psychiatric_30x6.csv"
    kappa = mt.fleiss_kappa(mt.tally(ratings(name).T, raters="exchangeable"))
    assert round(kappa, 3) == answers(name)["fleiss_kappa_published"] == 0.430
    assert kappa == pytest.approx(answers(name)["computed"], abs=1e-14)


def test_fleiss_of_wikipedia():
    name = "fleiss_wikipedia_counts_10x5.csv"
    kappa = mt.fleiss_kappa(from_counts([list(map(int, row)) for row in cells(name)]))
    assert round(kappa, 3) == answers(name)["fleiss_kappa_published"] == 0.210
    assert kappa == pytest.approx(answers(name)["computed"], abs=1e-14)


def test_yang_2023_table_2():
    table = [
        [0, 0, 0, 0, 15], [0, 2, 6, 4, 3], [0, 0, 3, 5, 7], [0, 3, 9, 3, 0], [1, 2, 8, 1, 3],
        [7, 7, 0, 0, 1], [3, 2, 7, 3, 0], [2, 6, 3, 2, 2], [7, 5, 2, 1, 0], [0, 2, 2, 3, 8],
    ]  # fmt: skip
    assert {sum(row) for row in table} == {15}
    assert round(mt.fleiss_kappa(from_counts(table)), 4) == 0.2037


@pytest.mark.parametrize(
    "name", ["krippendorff_canonical_12units_4observers.csv", "krippendorff_wikipedia_15units_3coders.csv"]
)
def test_krippendorff(name):
    table = mt.tally(ratings(name).T, void=0)
    for level in LEVELS:
        alpha = mt.krippendorff_alpha(table, level)
        if level in answers(name)["published"]:
            assert round(alpha, 3) == answers(name)["published"][level]
            assert alpha == pytest.approx(answers(name)["computed"][level], abs=1e-14)
        else:
            oracle = importlib.import_module("krippendorff")
            values = np.where(ratings(name) == 0, np.nan, ratings(name)).T
            assert alpha == pytest.approx(oracle.alpha(values, level_of_measurement=level), abs=1e-12)


# -- Lampert 2016: one image, 13 raters ----------------------------------------------------------


@pytest.fixture(scope="module")
def fissure():
    folder = data("fissure", "raters")
    return {rater.name: np.asarray(Image.open(rater / "fissure.png")) for rater in sorted(folder.iterdir())}


def test_fissure(fissure):
    published = json.loads(data("fissure", "published.json").read_text())
    table = mt.tally(fissure)
    assert (len(fissure), table.items, len(table.counts)) == (13, 907 * 1426, 6066)
    assert round(mt.smyth_bound(table), 4) == published["smyth_lower_error_bound"] == 0.0126
    assert round(100 * mt.unanimous(table), 4) == published["agreed_by_all_percent"] == 0.6979
    assert mt.agreement_curve(table).share[-1] == mt.unanimous(table)
    apart = 1 - mt.pairwise(mt.dice, table).values
    means = apart.sum(axis=1) / 12
    assert round(means.mean(), 4) == published["mean_f1_difference"]["mean"]
    assert round(means.std(ddof=1), 4) == published["mean_f1_difference"]["std"]


def test_fissure_votes_painted(fissure):
    table = mt.tally(fissure)
    votes = sum((m > 0).astype(int) for m in fissure.values())
    np.testing.assert_array_equal(mt.paint(table.marked, fissure, table), votes)


# -- LIDC: 897 nodules, 4 exchangeable readers ---------------------------------------------------


@pytest.fixture(scope="module")
def lidc():
    masks = dict(np.load(data("lidc", "lidc_4reader_masks.npz")))
    with data("lidc", "lidc_nodule_ratings.csv").open(newline="") as file:
        patient = {f"n{int(row['nodule']):05}": row["patient"] for row in csv.DictReader(file)}
    return masks, {name: patient[name] for name in masks}


def test_lidc_regions(lidc):
    masks, patients = lidc
    study = mt.Study.from_arrays(masks, subjects=patients, raters="exchangeable")
    assert (len(study), len(study.subjects)) == (897, 554)
    crop, modified = study.tally(), study.tally(region="modified_background")
    assert len(modified.by_subject()) == 554
    for tables, mean in ((crop, 0.713), (modified, 0.658)):
        assert round(np.mean([mt.fleiss_kappa(t) for t in tables.values()]), 3) == mean


def test_lidc_counts_and_intervals(lidc):
    masks, patients = lidc
    tables = mt.Tallies({name: mt.tally(m, raters="exchangeable") for name, m in masks.items()}, patients)
    whole = mt.pool(tables)
    assert whole.items == sum(m[0].size for m in masks.values())
    assert whole.counts @ whole.marked == sum(int(m.sum()) for m in masks.values())
    found = mt.confidence_interval(mt.fleiss_kappa, tables, of="mean", resamples=500)
    assert found.n == 554
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.05
    with pytest.raises(mt.CallError, match="exchangeable"):
        mt.pairwise(mt.dice, whole)
    with pytest.raises(mt.CallError, match="exchangeable"):
        mt.confidence_interval(mt.fleiss_kappa, tables, over="raters")
    assert mt.mean_pairwise(mt.dice, whole) == pytest.approx(mt.positive_agreement(whole), abs=0.01)


# -- the crowd: 47 objects, up to 47 of 202 raters each ------------------------------------------


@pytest.fixture(scope="module")
def crowd():
    """{object: {worker: mask}}, None for the two polygons that cannot be drawn."""
    features = importlib.import_module("rasterio.features")
    folder = data("crowd")

    def rows(name):
        with (folder / name).open(newline="") as file:
            return list(csv.DictReader(file))

    sizes = {r["filename"]: (int(r["height"]), int(r["width"])) for r in rows("image_sizes.csv")}
    files = {r["id"]: r["filename"] for r in rows("image.csv")}
    shapes = {r["id"]: sizes[files[r["image_id"]]] for r in rows("object.csv")}
    masks = defaultdict(dict)
    for row in rows("bounding_box.csv"):
        x, y = (json.loads(row[k].replace("None", "null")) for k in ("x_locs", "y_locs"))
        mask = None
        if None not in x + y:
            polygon = {"type": "Polygon", "coordinates": [[*zip(x, y, strict=True), (x[0], y[0])]]}
            mask = features.rasterize([polygon], shapes[row["object_id"]], dtype="uint8")
        masks[row["object_id"]][row["worker_id"]] = mask
    return dict(masks)


@pytest.mark.slow
def test_crowd(crowd):
    assert len(crowd) == 47
    assert {len(m) for m in crowd.values()} == {41, 42, 43, 44, 47}
    assert sum(m is None for by_worker in crowd.values() for m in by_worker.values()) == 2
    tracemalloc.start()
    try:
        tables = {name: mt.tally(masks) for name, masks in crowd.items()}
        whole = mt.pool(tables)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**20, f"{peak / 2**20:.0f} MB"
    assert len(whole.columns) == 202
    assert whole.items == sum(next(m.size for m in masks.values() if m is not None) for masks in crowd.values())
    drawn = defaultdict(int)
    for masks in crowd.values():
        for worker, mask in masks.items():
            drawn[worker] += 0 if mask is None else int(mask.sum())
    marked = whole.counts @ (whole.patterns == 1)
    assert {c.name: int(n) for c, n in zip(whole.columns, marked, strict=True)} == dict(drawn)
    assert whole.rated.max() == 47
    assert 0.5 < mt.positive_agreement(whole) < 1
    assert mt.fleiss_kappa(whole) == pytest.approx(mt.krippendorff_alpha(whole), abs=0.02)


def test_crowd_painted_from_the_pooled_table(crowd):
    name, masks = next((n, m) for n, m in crowd.items() if any(v is None for v in m.values()))
    other = next(m for n, m in crowd.items() if n != name)
    pooled = mt.pool([mt.tally(masks), mt.tally(other)])
    votes = sum(m.astype(int) for m in masks.values() if m is not None)
    np.testing.assert_array_equal(mt.paint(pooled.marked, masks, pooled), votes)


# -- one NIfTI volume, 3 raters ------------------------------------------------------------------


def test_volume():
    nibabel = importlib.import_module("nibabel")
    paths = [data("volume", f"seg_{i}.nii.gz") for i in (1, 2, 3)]
    volumes = [np.asanyarray(nibabel.load(path).dataobj) for path in paths]
    table = mt.tally(volumes, raters=["1", "2", "3"])
    assert volumes[0].shape == (72, 256, 256)
    assert table.items == volumes[0].size
    marks = [v != 0 for v in volumes]
    assert (table.counts @ table.marked) == sum(int(m.sum()) for m in marks)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = 2 * (marks[i] & marks[j]).sum() / (marks[i].sum() + marks[j].sum())
        assert mt.pairwise(mt.dice, table)[str(i + 1), str(j + 1)] == pytest.approx(expected, abs=1e-15)
    slices = [mt.tally([v[k] for v in volumes], labels=table.labels) for k in range(72)]
    assert mt.pool(slices) == mt.tally([np.asfortranarray(v) for v in volumes])
