"""``fuse`` on the fissure: the files that Lampert and colleagues published, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

from data_folder import data
from study_folders import Run, files, pixels, run, table, untidy, value

pytestmark = pytest.mark.slow

PUBLISHED = {
    "vote-0.5": "gt_05",
    "vote-0.75": "gt_075",
    "vote-any": "gt_any",
    "excl-0.5": "gt_excl_05",
    "staple": "gt_staple",
}
METHODS = "vote:0.5,vote:0.75,vote:any,excl:0.5,staple,simple"


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    from manytruths.cli import status

    out = tmp_path_factory.mktemp("fissure")
    template = data("fissure") / "raters/{rater}/{case}.png"
    options = ["--consensus", METHODS, "--prior", "marked", "--no-pictures", "--quiet"]
    assert status(["fuse", str(template), "--out", str(out), *options]) == 0
    return out / "fuse"


@pytest.mark.parametrize("folder", PUBLISHED)
def test_published_masks(fused, folder):
    found = pixels(fused / "consensus" / folder / "fissure.png")
    wanted = pixels(data("fissure", "published", f"{PUBLISHED[folder]}.png"))
    assert found.dtype == np.uint8
    assert set(np.unique(found)) == {0, 255}
    assert int(((found > 0) != (wanted > 0)).sum()) == 0


def test_simple_against_excl(fused):
    """SIMPLE with α = 1.5 and Excl-0.5 are the same in 99.84 % of pixels."""
    simple, excl = (pixels(fused / "consensus" / m / "fissure.png") for m in ("simple", "excl-0.5"))
    same = float((simple == excl).mean())
    assert round(100 * same, 2) == 99.84
    rows = table(fused / "differences.csv")
    both = {"method_a": "excl:0.5", "method_b": "simple"}
    assert value(rows, "changed", "pooled", **both) == pytest.approx(1 - same, abs=1e-12)


def test_probability_and_nothing_else(fused):
    for folder in [*PUBLISHED, "simple"]:
        chance = pixels(fused / "probability" / folder / "fissure.tif")
        assert chance.dtype == np.float32
        assert chance.shape == (907, 1426)
        assert 0 <= chance.min() < chance.max() <= 1
        marked = pixels(fused / "consensus" / folder / "fissure.png") > 0
        if folder == "staple":
            assert ((chance > 0.5) == marked).all()
    assert not untidy(fused)
    assert not [p for p in files(fused) if p.parent.name in ("pictures", "charts")]


@pytest.mark.slow
def test_alpha_is_the_number_in_the_name(capsys, tmp_path):
    """``simple:9`` drops nobody, whatever --simple-alpha says; ``simple`` follows --simple-alpha."""
    template = data("fissure") / "raters/{rater}/{case}.png"
    done: Run = run(
        capsys, "fuse", template, "--consensus", "simple,simple:9", "--simple-alpha", "1.5", "--no-pictures",
        "--out", tmp_path,
    )  # fmt: skip
    assert done.status == 0
    simple, nine = (pixels(tmp_path / "fuse/consensus" / m / "fissure.png") for m in ("simple", "simple-9"))
    assert (simple != nine).any()
    rows = {row["method"]: row for row in table(tmp_path / "fuse/convergence.csv")}
    assert int(rows["simple"]["iterations"]) > 1
