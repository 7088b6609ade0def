"""Small honest inputs of every command, to be damaged; and whole lines that run on them."""

from __future__ import annotations

import functools
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from study_folders import disc, write_nifti

RATERS = ("A", "B", "C")
ALGORITHMS = ("u", "v")
SIZE = 32
MASKS, IMAGES, PREDICTIONS = "in/masks/{rater}/{case}.png", "in/images/{case}.png", "in/pred/{algorithm}/{case}.png"
VOLUMES = "in/volumes/{rater}/{case}.nii"
REFERENCES, ROI, RANKS = "in/references/{reference}/{case}.png", "in/roi/{case}.png", "in/ranks/{rater}/{case}.png"
QUICK = ("--resamples", "50")


@dataclass(frozen=True)
class Data:
    """Which cases there are, and where the discs lie."""

    cases: tuple[str, ...] = ("p1", "p2", "p3")
    shift: float = 0.0


USUAL, OTHER = Data(), Data(("q1", "q2", "q3", "q4"), 2.5)


def mask(rater: int, case: int, shift: float = 0.0, size: int = SIZE) -> np.ndarray:
    """A disc that moves from rater to rater and case to case."""
    return disc(size, rater - 1 + shift / 2, case - 1 - shift / 3, size / 5 + rater / 3)


def write_study(folder: Path, data: Data = USUAL) -> None:
    """Masks, images and what two algorithms predicted."""
    _write(folder, _study(data))


def write_more(folder: Path, data: Data = USUAL) -> None:
    """What a study may have besides: a reference, a region, ranks."""
    _write(folder, _more(data))


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _png(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(array.astype(np.uint8)).save(stream, "PNG")
    return stream.getvalue()


@functools.cache
def _study(data: Data) -> dict[str, bytes]:
    random, found = np.random.default_rng(len(data.cases)), {}
    for y, case in enumerate(data.cases):
        seen = 60 + 120 * mask(1, y, data.shift) + random.normal(0, 9, (SIZE, SIZE))
        found[IMAGES.format(case=case)] = _png(seen.clip(0, 255))
        for x, rater in enumerate(RATERS):
            found[MASKS.format(rater=rater, case=case)] = _png(mask(x, y, data.shift))
        for x, algorithm in enumerate(ALGORITHMS):
            found[PREDICTIONS.format(algorithm=algorithm, case=case)] = _png(mask(x, y + 1, data.shift))
    return found


@functools.cache
def _more(data: Data) -> dict[str, bytes]:
    found = {}
    for y, case in enumerate(data.cases):
        found[REFERENCES.format(reference="lab", case=case)] = _png(mask(1, y, data.shift))
        found[ROI.format(case=case)] = _png(np.ones((SIZE, SIZE)))
        for x, rater in enumerate(RATERS):
            found[RANKS.format(rater=rater, case=case)] = _png(mask(x, y, data.shift) * (x + 1))
    return found


def scores(data: Data = USUAL) -> str:
    rows = ["case,algorithm,metric,value"]
    rows += [
        f"{case},{name},dice,{0.9 - y / 9 - x / 40:.3f}"
        for y, case in enumerate(data.cases)
        for x, name in enumerate("uvw")
    ]
    return "\n".join(rows) + "\n"


def ratings(data: Data = USUAL) -> str:
    rows = ["case,rater,label"]
    rows += [
        f"{case}{k},{r},{'xy'[(k * k + x) % 2]}" for case in data.cases for k in range(4) for x, r in enumerate(RATERS)
    ]
    return "\n".join(rows) + "\n"


def grades(data: Data = USUAL) -> str:
    rows = ["case,algorithm,grade"]
    rows += [
        f"{case},{name},{1 + (y + x) % 4}" for y, case in enumerate(data.cases) for x, name in enumerate(ALGORITHMS)
    ]
    return "\n".join(rows) + "\n"


def write_all(folder: Path, data: Data = USUAL) -> None:
    """The input of every command but of imports."""
    write_study(folder, data)
    for name, text in (("scores", scores(data)), ("ratings", ratings(data)), ("grades", grades(data))):
        (folder / f"in/{name}.csv").write_text(text)
    for y, case in enumerate(data.cases):
        for x, rater in enumerate(RATERS):
            voxels = np.stack([mask(x, y, data.shift)] * 4, axis=-1)
            write_nifti(folder / VOLUMES.format(rater=rater, case=case), voxels)
    write_exports(folder, data)


# -- exports of annotation tools -----------------------------------------------------------------------


def write_exports(folder: Path, data: Data = USUAL) -> None:
    for tool in TOOLS:
        for name, content in exported(tool, data).items():
            path = folder / "in" / tool / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


@functools.cache
def exported(tool: str, data: Data = USUAL) -> dict[str, bytes]:
    """The files that a tool wrote, by name."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        TOOLS[tool](folder, data)
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
        }


def _reads(data: Data) -> list[object]:
    """Outlines and bitmaps of two raters on images."""
    from exchange_reads import bits, read, square

    ragged = np.random.default_rng(1).random((7, 8)) < 0.5
    return [
        read(
            f"{case}.png", rater, [square(3 + x, 4 + y, 9, rank=1 + x), bits(ragged, "vessel", 3, 4, rank=2)], (20, 30)
        )
        for y, case in enumerate(data.cases)
        for x, rater in enumerate(("anna", "ben"))
    ]


def _volumes(data: Data) -> list[object]:
    from segmentations import IMAGE, read_of

    found = []
    for y, case in enumerate(data.cases):
        for x, rater in enumerate(("anna", "ben")):
            voxels = np.zeros(IMAGE.shape, bool)
            voxels[1 + x : 5, 1 : 4 + y, 1:5] = True
            found.append(read_of({"lesion": voxels}, image=f"{case}.nii.gz", rater=rater))
    return found


def _cvat(folder: Path, data: Data) -> None:
    from manytruths.exchange import write_cvat

    write_cvat(folder, _reads(data))


def _labelstudio(folder: Path, data: Data) -> None:
    from manytruths.exchange import write_labelstudio

    write_labelstudio(folder / "export.json", _reads(data), "annotations")


def _coco(folder: Path, data: Data) -> None:
    from manytruths.exchange import write_coco

    write_coco(folder / "export.json", _reads(data))


def _labelme(folder: Path, data: Data) -> None:
    from manytruths.exchange import write_labelme

    write_labelme(folder, _reads(data))


def _slicer(folder: Path, data: Data) -> None:
    from manytruths.exchange import write_slicer

    for read in _volumes(data):
        path = folder / read.rater / f"{read.image.partition('.')[0]}.seg.nrrd"
        path.parent.mkdir(exist_ok=True)
        write_slicer(path, read)


def _bids(folder: Path, data: Data) -> None:
    from manytruths.exchange import write_bids

    write_bids(folder, _volumes(data))


def _dicomseg(folder: Path, data: Data) -> None:
    from dicom_files import images, masks, segmentation, series_folder

    series = series_folder(folder / "series", patient=data.cases[0])
    (folder / "segs").mkdir()
    for number, rater in enumerate(("Doe^Jane", "Roe^Rick")):
        found = segmentation(images(series), masks(number, 1), ("tumour",), rater)
        found.save_as(folder / "segs" / f"{number}.dcm")


def _rtstruct(folder: Path, data: Data) -> None:
    from dicom_files import contour, images, point_at, series_folder, structure_set

    slices = images(series_folder(folder / "series", patient=data.cases[0]))
    (folder / "sets").mkdir()
    for number, rater in enumerate(("Doe^Jane", "Roe^Rick")):
        square = [5.5, 15.5 + number, 15.5 + number, 5.5], [5.5, 5.5, 15.5, 15.5]
        rings = [contour(point_at(one, *square)) for one in slices[3:7]]
        structure_set(slices[0], {"tumour": rings}, rater).save_as(
            folder / "sets" / f"{number}.dcm", enforce_file_format=True
        )


def _picture(path: Path) -> None:
    """An image of 20 rows and 30 columns beside outlines."""
    path.parent.mkdir(exist_ok=True)
    Image.new("L", (30, 20), 9).save(path)


def _qupath(folder: Path, data: Data) -> None:
    for y, case in enumerate(data.cases):
        for x, rater in enumerate(("anna", "ben")):
            rings = [[[3 + x, 4 + y], [15, 4 + y], [15, 16], [3 + x, 4 + y]], [[6, 7], [8, 7], [8, 9], [6, 7]]]
            properties = {"objectType": "annotation", "classification": {"name": "lesion", "color": [200, 0, 0]}}
            one = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": rings}, "properties": properties}
            _picture(folder / rater / f"{case}.png")
            text = json.dumps({"type": "FeatureCollection", "features": [one, one]})
            (folder / rater / f"{case}.geojson").write_text(text)


def _imagej(folder: Path, data: Data) -> None:
    from roifile import ImagejRoi

    for y, case in enumerate(data.cases):
        for x, rater in enumerate(("anna", "ben")):
            _picture(folder / rater / f"{case}.png")
            ring = np.array([(3 + x, 4 + y), (15, 4 + y), (15, 16)])
            with zipfile.ZipFile(folder / rater / f"{case}.zip", "w") as archive:
                for k, points in enumerate((ring, ring + 0.25)):
                    archive.writestr(f"{k}.roi", ImagejRoi.frompoints(points, name="lesion").tobytes())


TOOLS: dict[str, Callable[[Path, Data], None]] = {
    "cvat": _cvat, "labelstudio": _labelstudio, "coco": _coco, "labelme": _labelme, "qupath": _qupath,
    "imagej": _imagej, "slicer": _slicer, "bids": _bids, "dicomseg": _dicomseg, "rtstruct": _rtstruct,
}  # fmt: skip


# -- lines -----------------------------------------------------------------------------------------------

OF_MASKS = ("check", "agree", "fuse", "evaluate", "report", "reliability", "plan", "export coco", "export monai",
            "export nnunet", "export cvat", "export labelstudio")  # fmt: skip
"""Commands that take a template of masks."""
OF_VOLUMES = ("check", "agree", "fuse", "evaluate", "report", "reliability", "plan", "export slicer", "export bids")


def line(command: str, template: str = MASKS, *more: str, predictions: str = PREDICTIONS) -> list[str]:
    """A whole call: ``out`` gets the results."""
    verb, _, kind = command.partition(" ")
    pictures = () if kind in ("slicer", "bids") else ("--images", IMAGES)
    if kind in ("slicer", "bids") and template == MASKS:
        template = VOLUMES
    own: dict[str, Sequence[str]] = {
        "check": ("check", template, "--out", "out"),
        "agree": ("agree", template, "--no-pictures", "--out", "out"),
        "fuse": ("fuse", template, "--no-pictures", "--out", "out"),
        "evaluate": ("evaluate", template, "--predictions", predictions, "--no-pictures", "--out", "out"),
        "report": ("report", template, "--no-distances", *QUICK, "--to", "out/report.html"),
        "reliability": ("reliability", template, "--no-pictures", "--out", "out"),
        "plan": ("plan", "--pilot", template, "--no-pictures", *QUICK, "--out", "out"),
        "rank": ("rank", "in/scores.csv", "--no-pictures", *QUICK, "--out", "out"),
        "export": ("export", kind, template, *pictures, "--to", f"out/{kind}"),
        "import": ("import", kind, f"in/{kind}", "--to", "out/study"),
        "demo": ("demo", "--out", "out", "--n-cases", "8", "--size", "64"),
        "phantom": ("phantom", "echo", "--to", "out/phantom", "--n-subjects", "2", "--n-frames", "2", "--size", "64"),
    }
    return [*own[verb], *more]
