"""One browser for all tests of a worker, and pages of one file, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import manytruths as mt
from adjudication_server import write_disputed
from browser import chromium
from study_folders import write_nifti

PLAIN = {"practice": 0, "controls": 0, "repeats": 0, "double": 0, "quiet": True}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed with the module: in its event loop nothing else could start one, such as the browser of another folder."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def flat_study(tmp_path_factory: Any) -> list[str]:
    """Arguments of a study of flat images."""
    return write_disputed(tmp_path_factory.mktemp("flat"))


def page_of(folder: Path, study: mt.Study, **options: Any) -> str:
    """The address of a page of one file."""
    mt.adjudicate(study, adjudicator="Ada", log=folder / "log", html=folder / "page.html", **options)
    return (folder / "page.html").resolve().as_uri()


@pytest.fixture(scope="session")
def flat_page(tmp_path_factory: Any, flat_study: list[str]) -> str:
    """Without practice, controls and repeats."""
    study = mt.Study.open(flat_study[0], images=flat_study[2])
    return page_of(tmp_path_factory.mktemp("page"), study, **PLAIN)


@pytest.fixture(scope="session")
def tile_page(tmp_path_factory: Any, flat_study: list[str]) -> str:
    """Tiles of 48 pixels."""
    study = mt.Study.open(flat_study[0], images=flat_study[2])
    return page_of(tmp_path_factory.mktemp("tiles"), study, unit="tile", tile=48, **PLAIN)


@pytest.fixture(scope="session")
def lone_page(tmp_path_factory: Any) -> str:
    """One lesion, which one of three raters marked; without an image, and so without a first look."""
    mask = np.zeros((60, 60), np.uint8)
    mask[20:30, 25:40] = 1
    masks = {"p1": {"A": mask, "B": np.zeros_like(mask), "C": np.zeros_like(mask)}}
    return page_of(tmp_path_factory.mktemp("lone"), mt.Study.from_arrays(masks), **PLAIN)


@pytest.fixture(scope="session")
def volume_page(tmp_path_factory: Any) -> str:
    """One nodule in a CT, outlined by three raters; voxels are 1 × 1 × 2 mm, those of a second series larger."""
    folder = tmp_path_factory.mktemp("volume")
    x, y, z = np.mgrid[:60, :50, :24]
    random = np.random.default_rng(0)

    def ball(radius: float) -> np.ndarray:
        return (x - 30) ** 2 + (y - 22) ** 2 + (2 * (z - 12)) ** 2 <= radius**2

    image = (random.normal(-800, 30, x.shape) + 850 * ball(8)).astype(np.int16)
    write_nifti(folder / "images" / "p1.nii.gz", image, spacing=(1, 1, 2))
    write_nifti(folder / "prior" / "p1.nii.gz", image[::2, ::2].copy(), spacing=(2, 2, 2))
    for rater, radius in (("A", 5), ("B", 8), ("C", 11)):
        write_nifti(folder / "masks" / rater / "p1.nii.gz", ball(radius).astype(np.uint8), spacing=(1, 1, 2))
    names = {"masks": "masks/{rater}/{case}.nii.gz", "images": "images/{case}.nii.gz"}
    lines = [f'{key} = "{value}"' for key, value in names.items()]
    toml = folder / "study.toml"
    toml.write_text("\n".join([*lines, 'series = { prior = "prior/{case}.nii.gz" }']), encoding="utf-8")
    return page_of(folder, mt.Study.open(toml), **PLAIN)
