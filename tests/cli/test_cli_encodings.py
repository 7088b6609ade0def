"""Output that is not UTF-8: every command prints, with plain signs where the encoding has no others."""

from __future__ import annotations

import json

import numpy as np
import pytest

from processes_seen import shell
from study_folders import disc, files, write_png

pytestmark = pytest.mark.slow

ENCODINGS = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "strict": {"PYTHONIOENCODING": "ascii:strict"},
    "C": {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"},
}
NAMES = ("Łukasz", "José", "B–b")
MASKS = "'masks/{rater}/{case}.png'"
QUICK = [
    "--help",
    "agree --help",
    f"check {MASKS}",
    f"agree {MASKS} --images 'images/{{case}}.png' --jobs 2",
    f"fuse {MASKS} --consensus vote:0.5,staple,simple",
    "rank scores.csv",
    "plan --rater-accuracy 0.8 --wanted 0.95",
    "reliability ratings.csv",
    "import labelme labelme --to study --replace",
    f"export coco {MASKS} --images 'images/{{case}}.png' --to back",
]
SLOW = [
    f"evaluate {MASKS} --predictions 'unet/{{algorithm}}/{{case}}.png'",
    f"reliability {MASKS}",
    f"report {MASKS} --predictions 'unet/{{algorithm}}/{{case}}.png'",
    f"export nnunet {MASKS} --images 'images/{{case}}.png' --to data --consensus vote:0.5",
    f"train {MASKS} --images 'images/{{case}}.png' --epochs 1 --seeds 1 --networks unet --strategies majority"
    " --width 4 && {m} predict manytruths-out/train/runs/unet/majority/seed-0/fold-0/network.pt 'images/{case}.png'",
    "phantom echo --to echo --n-subjects 2 --n-frames 1 --size 64",
    "demo --n-cases 3 --size 64",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("encodings"), ["p1", "ñandú", "p…3", "p4"])


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Without names that a system without UTF-8 has no way to write."""
    return written(tmp_path_factory.mktemp("plain"), ["p1", "p2", "p3", "p4"])


def written(folder, cases):
    names = NAMES if "ñandú" in cases else ("Lukasz", "Jose", "B-b")
    for y, case in enumerate(cases):
        for x, rater in enumerate(names):
            write_png(folder / f"masks/{rater}/{case}.png", disc(32, x=x, y=y))
        write_png(folder / f"images/{case}.png", disc(32, y=y) * 100 + 20)
        for x, algorithm in enumerate((names[1], "net")):
            write_png(folder / f"unet/{algorithm}/{case}.png", disc(32, x=x + 1, y=y))
        shape = {"label": "läsion", "shape_type": "polygon", "points": [[1, 1], [9, 1], [9, 9]]}
        for rater in names[:2]:
            told = {"imagePath": f"{case}.png", "imageWidth": 32, "imageHeight": 32, "shapes": [shape]}
            path = folder / f"labelme/{rater}/{case}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(told))
    rng = np.random.default_rng(0)
    rows = [f"p{i},{a},dice,{0.6 + k / 10 + rng.random() / 20:.3f}" for i in range(12) for k, a in enumerate("åb")]
    (folder / "scores.csv").write_text("\n".join(["case,algorithm,metric,value", *rows, ""]), encoding="utf-8")
    rows = [f"p{i},{r},{'σρ'[(i + k) % 2]}" for i in range(12) for k, r in enumerate(NAMES)]
    (folder / "ratings.csv").write_text("\n".join(["case,rater,label", *rows, ""]), encoding="utf-8")
    return folder


def prints(line, encoding, folder):
    done = shell("{m} " + line, cwd=folder, environment=ENCODINGS[encoding], limit=200)
    assert done.status == 0, done.err
    assert done.err == ""
    assert done.out
    if encoding in ("ascii", "strict"):
        assert done.out.isascii()
    return done.out


@pytest.mark.parametrize("encoding", ["cp1252", "strict", pytest.param("C", marks=pytest.mark.slow)])
@pytest.mark.parametrize("line", QUICK)
def test_it_prints(line, encoding, folder, plain):
    prints(line, encoding, plain if encoding == "C" else folder)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "C"])
@pytest.mark.parametrize("line", SLOW)
def test_it_prints_after_long_work(line, encoding, folder, plain):
    prints(line, encoding, plain if encoding == "C" else folder)


def test_what_is_printed_can_be_read(folder, tmp_path):
    out = prints(f"check {MASKS} --out {tmp_path}", "ascii", folder)
    assert "4 cases, 4 subjects, 3 raters; sizes: 32x32" in out
    assert "?" not in out
    assert "B-b" in out
    assert "\\u0141ukasz" in out
    assert "Jos\\xe9" in out


def test_latin_names_stay_as_they_are(folder, tmp_path):
    out = prints(f"check {MASKS} --out {tmp_path}", "latin-1", folder)
    assert "José" in out
    assert "32×32" in out
    assert "\\u0141ukasz" in out


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_errors_too(encoding, folder):
    done = shell("{m} agree 'masks/{rater}/×–…/{case}.png'", cwd=folder, environment=ENCODINGS[encoding])
    assert done.status == 1
    locale = "cannot be read in this locale (set PYTHONUTF8=1)"
    assert (locale if encoding == "C" else "matches nothing") in done.line
    assert shell("{m} agree --×", cwd=folder, environment=ENCODINGS[encoding]).status == 2


def test_names_of_bytes_that_are_no_text(tmp_path):
    (tmp_path / "study").mkdir()
    done = shell("{m} agree $'study/\\xff{rater}/{case}.png'", cwd=tmp_path)
    assert done.status == 1
    assert "\\udcff" in done.line


def test_what_is_written_does_not_depend_on_it(plain, tmp_path):
    for name, environment in (("utf8", {}), ("C", ENCODINGS["C"])):
        line = "{m} agree " + f"{MASKS} --quiet --jobs 2 --out {tmp_path / name}"
        assert shell(line, cwd=plain, environment=environment) == shell(":")
    first, other = tmp_path / "utf8", tmp_path / "C"
    for path in files(first):
        if path.suffix in (".csv", ".svg"):
            assert path.read_bytes() == (other / path.relative_to(first)).read_bytes()
