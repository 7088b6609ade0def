"""``python consensus_calls.py METHODS FUSED STUDY [OPTION=VALUE …] --out FOLDER``: each consensus beside fuse's."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

import manytruths as mt


def read(folder: Path, case: str) -> np.ndarray:
    [path] = [p for p in folder.iterdir() if p.name.split(".")[0] == case]
    if path.name.endswith((".nii.gz", ".nii")):
        import nibabel

        return np.asanyarray(nibabel.load(path).dataobj)
    if path.suffix == ".npy":
        return np.load(path)
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image)


def main(methods: str, fused: str, template: str, *more: str) -> None:
    options = dict(one.split("=", 1) for one in more if "=" in one)
    study = mt.Study.open(template, **options)
    found = {}
    for method in methods.split(","):
        try:
            results = mt.consensus(study, method)
        except Exception as error:
            found[method] = {"refused": type(error).__name__}
            continue
        for case, result in results.items():
            mask = result.hard if result.kind == "map" else study[case].paint(result.hard)
            mask = np.asarray(mask) != 0
            line = {"marked": int(mask.sum()), "map": hashlib.sha256(mask.tobytes()).hexdigest()[:24]}
            folder = Path(fused) / "consensus" / method.replace(":", "-")
            if folder.is_dir():
                line["differs_from_fuse"] = int((mask != (read(folder, case) != 0)).sum())
            found[f"{method} {case}"] = line
    out = Path(more[-1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "consensus.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
