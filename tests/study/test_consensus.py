"""One consensus of a case: the same pixels from Python, ``fuse``, ``export`` and ``evaluate``, whatever the study."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import manytruths as mt
from manytruths import Column
from manytruths.analyses.evaluate.case_scores import count_labels
from manytruths.analyses.evaluate.marks import CaseMarks, EvaluatePlan
from manytruths.analyses.export.targets import Targets, targets_of
from manytruths.analyses.export.training_set import survey_study
from manytruths.analyses.fuse.case import FusePlan, fuse_case
from manytruths.io import Location, read_mask, read_probability, write_map
from study_folders import disc, table, volume, write_nifti, write_png

CASES = ("p1", "p2")
RATERS = {"A": 0, "B": 1, "C": 2, "D": 4}
METHODS = (*(name for name in mt.consensus_methods() if name != "adjudicated"), "vote:any", "lsml:0.5")
"""Without what takes decisions; see tests/adjudicated."""
LEVEL_SETS = ("lsml", "lsmlp", "lsml:0.5")
VOID = 9


@dataclass(frozen=True)
class Kind:
    """A kind of study: how a mask is drawn, and how the study is opened."""

    options: dict[str, Any] = field(default_factory=dict)
    labels: tuple[int, ...] = (1,)
    void: bool = False
    axes: int = 2
    roi: bool = False
    template: str = "masks/{rater}/{case}"
    refused: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        return ".png" if self.axes == 2 else ".nii.gz"


KINDS = {
    "plain": Kind(),
    "other value": Kind(labels=(255,)),
    "anisotropic": Kind({"spacing": (4, 1)}),
    "volume": Kind(axes=3),
    "labels": Kind(labels=(1, 3), refused=LEVEL_SETS),
    "declared labels": Kind({"labels": {1: "gland", 3: "tumour", 5: "other"}}, labels=(1, 3), refused=LEVEL_SETS),
    "labels, union": Kind({"region": "union"}, labels=(1, 3), refused=LEVEL_SETS),
    "void": Kind({"void": VOID, "spacing": (4, 1)}, void=True),
    "roi": Kind({"spacing": (1, 3)}, roi=True),
    "roi, labels": Kind(labels=(1, 3), roi=True, refused=LEVEL_SETS),
    "any": Kind({"foreground": "any", "spacing": (4, 1)}, labels=(1, 3)),
    "any, void": Kind({"foreground": "any", "void": VOID}, labels=(1, 3), void=True),
    "union": Kind({"region": "union"}),
    "exchangeable": Kind({"raters": "exchangeable"}, refused=("excl:0.5",)),
    "sessions": Kind(template="masks/{rater}/{session}/{case}"),
    "absent": Kind(),
    "nothing marked": Kind(),
    "edits": Kind({"reads": "reads.csv"}),
    "resampled": Kind({"resample": "nearest"}, axes=3),
}


def draw(kind: Kind, x: int, seed: int) -> np.ndarray:
    """A disc with a rough edge, a second label in it, and a corner that was not rated."""
    generator = np.random.default_rng(seed)
    shape = disc(x=x, radius=7) if kind.axes == 2 else volume(x=x, radius=7)
    mask = np.where(generator.random(shape.shape) < 0.06, 1 - shape, shape) * kind.labels[0]
    if len(kind.labels) > 1:
        inner = disc(x=x, y=2, radius=4) & (generator.random(shape.shape) > 0.1)
        mask = np.where(inner & (mask > 0), kind.labels[1], mask)
    if kind.void:
        mask[: 2 + x] = VOID
    return mask.astype(np.uint8)


def write(path: Path, array: np.ndarray, **options: Any) -> None:
    write_png(path, array) if array.ndim == 2 else write_nifti(path, array, spacing=(1, 1, 4), **options)


def write_masks(folder: Path, name: str, kind: Kind) -> None:
    for x, rater in enumerate(RATERS):
        for i, case in enumerate(CASES):
            mask = draw(kind, RATERS[rater] + i, 10 * i + x)
            if (name, rater, case) == ("absent", "D", "p2"):
                continue
            if (name, case) == ("nothing marked", "p2"):
                mask[:] = 0
            path = folder / kind.template.format(rater=rater, session="1", case=case)
            off = {"origin": 0.6} if (name, rater) == ("resampled", "B") else {}
            mask[-2:] = 0 if off else mask[-2:]  # nothing may lie beyond the image
            write(path.with_name(path.name + kind.suffix), mask, **off)
    if name == "sessions":
        write(folder / "masks/A/2/p1.png", draw(kind, -7, 99))
    if name == "edits":
        edits = {("p1", "D"): "A", ("p2", "B"): "A"}
        rows = [f"{case},{rater},{edits.get((case, rater), '')}" for case in CASES for rater in RATERS]
        (folder / "reads.csv").write_text("\n".join(["case,rater,based_on", *rows]))


@cache
def study_of(folder: Path, name: str) -> mt.Study:
    """A study of a kind, with images; written once."""
    kind, folder = KINDS[name], folder / name.replace(", ", "-").replace(" ", "-")
    write_masks(folder, name, kind)
    for case in CASES:
        image = np.arange(24 * 24).reshape(24, 24) // 4
        write(folder / f"images/{case}{kind.suffix}", (image if kind.axes == 2 else volume() * 9).astype(np.uint8))
        if kind.roi:
            write(folder / f"roi/{case}.png", disc(x=3, radius=9))
    options = dict(kind.options)
    if "reads" in options:
        options["reads"] = str(folder / "reads.csv")
    if kind.roi:
        options["roi"] = f"{folder}/roi/{{case}}.png"
    template = f"{folder}/{kind.template}{kind.suffix}"
    return mt.Study.open(template, images=f"{folder}/images/{{case}}{kind.suffix}", **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("consensus")


def every_pair() -> list[tuple[str, str]]:
    return [(name, method) for name, kind in KINDS.items() for method in METHODS if method not in kind.refused]


pairs = pytest.mark.parametrize(("name", "method"), every_pair())


@cache
def consensus_of(folder: Path, name: str, method: str, label: int | str | None = None) -> dict[str, mt.CaseConsensus]:
    return mt.consensus(study_of(folder, name), method, label=label)


@cache
def fused(folder: Path, name: str) -> Path:
    """Where ``fuse`` wrote the maps of all methods."""
    plan = FusePlan(tuple(m for m in METHODS if m not in KINDS[name].refused), {}, folder / "fused" / name, False)
    for case in study_of(folder, name):
        fuse_case(case, plan)
    return folder / "fused" / name


@pairs
def test_fuse_writes_the_same_pixels(folder: Path, name: str, method: str) -> None:
    for case, found in consensus_of(folder, name, method).items():
        kinds = [fused(folder, name) / kind / method.replace(":", "-") for kind in ("consensus", "probability")]
        hard, soft = (Location(next(home.glob(f"{case}.*"))) for home in kinds)
        assert np.array_equal(read_mask(hard).array, found.values)
        assert np.array_equal(read_probability(soft).array, found.probability)
        assert np.array_equal(np.array(found.labels.values)[found.hard.astype(int)], found.values)


@cache
def exported(folder: Path, name: str) -> dict[str, Targets]:
    """What ``export`` makes its masks of."""
    study = study_of(folder, name)
    numbering = survey_study(study).numbering
    return {case.name: targets_of(case.read(), numbering) for case in study}


@pairs
def test_export_makes_masks_of_the_same_pixels(folder: Path, name: str, method: str) -> None:
    for case, found in consensus_of(folder, name, method).items():
        targets = exported(folder, name)[case]
        label = targets.hard(targets.consensus(method))
        values = (0, *targets.numbering.values, 0)  # what nobody rated is to be ignored
        assert np.array_equal(np.array(values)[label], found.values)
        assert (label < targets.numbering.ignore).any()
        likely = list(targets.soft(targets.consensus(method)))
        if len(likely) == 1:
            assert np.array_equal(likely[0], np.where(targets.rated, found.probability, 0))


def test_export_writes_these_masks(folder: Path, tmp_path: Path) -> None:
    study = study_of(folder, "void")
    mt.export(study, "nnunet", to=tmp_path, consensus="lsml")
    home = tmp_path / "Dataset501_Manytruths"
    assert [row["value"] for row in table(home / "labels.csv")] == ["0", "1"]
    for case, found in consensus_of(folder, "void", "lsml").items():
        label = read_mask(Location(home / f"labelsTr/{case}.png")).array
        assert np.array_equal(label == 1, found.values == 1)


@pytest.mark.parametrize("name", KINDS)
def test_evaluate_judges_by_the_same_pixels(folder: Path, name: str, tmp_path: Path) -> None:
    """A prediction that is the consensus agrees with what ``evaluate`` judges by on every pixel that counts."""
    study, kind = study_of(folder, name), KINDS[name]
    methods = ("vote:0.5", "staple", "plurality", "staple_map", "lsml")  # level sets take labels one by one
    several = len(kind.labels) > 1
    labels = ("any", *(kind.labels if "any" not in name else ()))
    grids = {case.name: case.read().grid for case in study}
    for method in methods:
        for label in labels:
            together = several and label != "any" and method != "lsml"
            for case, found in consensus_of(folder, name, method, *(() if together else (label,))).items():
                marked = found.values == label if together else found.values
                mask = marked * np.uint8(kind.labels[0] if label == "any" else label)
                path = tmp_path / f"{method.replace(':', '-')} {label}" / f"{case}{kind.suffix}"
                write_map(path, mask, grids[case])
    judged = mt.Study.open(
        study.options.masks,
        **kind.options | {"reads": study.options.reads, "roi": study.options.roi},
        predictions=f"{tmp_path}/{{algorithm}}/{{case}}{kind.suffix}",
    )
    for case in judged:
        parts = count_labels(CaseMarks.of(case.read(), EvaluatePlan(methods, distances=False)))
        for label in labels:
            known = case.labels
            called = "" if label == "any" else known.names[known.index(label)] if known else str(label)
            if called not in parts:
                assert (name, case.name) == ("nothing marked", "p2")
                continue
            own = parts[called].tally
            for method in methods:
                algorithm = Column(f"{method.replace(':', '-')} {label}", "algorithm")
                pair = [own.position(algorithm), own.position(Column(method, "reference"))]
                prediction, judge = own.patterns[:, pair].T
                rated = judge != mt.VOID
                assert rated.any()
                assert (prediction[rated] == judge[rated]).all(), (method, label)


@pytest.mark.parametrize(("name", "method"), [(n, m) for n, kind in KINDS.items() for m in kind.refused])
def test_what_a_method_cannot_do_is_refused(folder: Path, name: str, method: str) -> None:
    with pytest.raises(mt.CallError, match=f"case p1, {method}"):
        mt.consensus(study_of(folder, name), method)


def test_the_spacing_matters_to_level_sets(folder: Path) -> None:
    flat, long = (consensus_of(folder, name, "lsml")["p1"].values for name in ("plain", "anisotropic"))
    assert (flat != long).any()


def test_one_case_and_several_processes(folder: Path) -> None:
    study = study_of(folder, "anisotropic")
    one, by_case = mt.consensus(study["p2"], "lsml"), mt.consensus(study, "lsml", jobs=2)
    assert list(by_case) == ["p1", "p2"]
    assert np.array_equal(one.values, by_case["p2"].values)
    assert repr(one).startswith("<Consensus of case p2: <LevelSet: lsml, 4 raters, 24×24 map, ")
    assert one.estimate.sensitivity.shape == (4,)


def test_options_of_the_method(folder: Path) -> None:
    study = study_of(folder, "plain")
    strict = mt.consensus(study, "vote", threshold="all")["p1"].values
    assert np.array_equal(strict, mt.consensus(study, "vote:all")["p1"].values)


def test_a_label_is_named(folder: Path) -> None:
    study = study_of(folder, "declared labels")
    by_name, by_value = (mt.consensus(study, "staple", label=label)["p1"].values for label in ("tumour", 3))
    assert np.array_equal(by_name, by_value)
    assert by_name.max() == 1
    with pytest.raises(mt.CallError, match="no label 'liver'"):
        mt.consensus(study, label="liver")
    with pytest.raises(mt.CallError, match="declares no labels; got 'tumour'"):
        mt.consensus(study_of(folder, "labels"), label="tumour")
    with pytest.raises(mt.CallError, match="unites the labels; got 1"):
        mt.consensus(study_of(folder, "any"), label=1)
    with pytest.raises(mt.CallError, match="for a study or a case"):
        mt.consensus([[0, 1], [1, 1]], label=1)


def test_files_with_other_values_are_refused(tmp_path: Path) -> None:
    for rater in "AB":
        for case in CASES:
            write_png(tmp_path / f"{rater}/{case}.png", disc() * np.uint8(255 if rater == "B" else 1))
    with pytest.raises(mt.LabelError, match="255"):
        mt.consensus(mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.png"), "vote")
