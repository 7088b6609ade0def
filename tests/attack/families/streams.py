"""Standard streams that are closed, full or of another encoding, surroundings that are odd, and memory that ends.

All of these are processes of their own: it is the interpreter's start and end that matters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from study_folders import write_png

from .. import honest
from ..honest import MASKS, line
from ..model import Attack
from .pixel_files import pickled

COMMANDS = ("check", "agree", "fuse", "evaluate", "report", "rank", "plan", "export coco", "import cvat", "phantom")


def _make(folder: Path, chance: random.Random) -> None:
    honest.write_study(folder)
    (folder / "in/scores.csv").write_text(honest.scores())
    (folder / "in/cases.csv").write_text(
        "case,subject,gruppe\np1,s1,größte Läsion\np2,s2,病変\np3,s3,😀\n", encoding="utf-8"
    )
    for name, content in honest.exported("cvat").items():
        (folder / "in/cvat").mkdir(exist_ok=True)
        (folder / "in/cvat" / name).write_bytes(content)


def _shell(words: Sequence[str], around: str = "{}") -> str:
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return around.format(f"$MANYTRUTHS {quoted}")


BROKEN = {
    "stdout-closed": "{} >&-",
    "stderr-closed": "{} 2>&-",
    "all-closed": "{} <&- >&- 2>&-",
    "stdout-full": "{} >/dev/full",
    "stderr-full": "{} 2>/dev/full",
    "reader-gone": "{} | true; exit ${{PIPESTATUS[0]}}",
    "reader-of-one-byte": "{} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}",
}
ENCODINGS = ("cp1252", "latin-1", "ascii", "koi8-r", "cp437", "ascii:strict")
SURROUNDINGS: dict[str, dict[str, str]] = {
    "c-locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "unknown-locale": {"LC_ALL": "xx_YY.nothing"},
    "no-home": {"HOME": "/nowhere", "TMPDIR": "/nowhere", "XDG_CACHE_HOME": "/nowhere"},
    "one-column": {"COLUMNS": "1"},
    "no-columns": {"COLUMNS": "0", "LINES": "0"},
    "columns-of-text": {"COLUMNS": "wide"},
    "dumb-terminal": {"TERM": "dumb"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "optimised": {"PYTHONOPTIMIZE": "2"},
    "development": {"PYTHONDEVMODE": "1"},
}


def attacks() -> Iterator[Attack]:
    for k, (name, around) in enumerate(BROKEN.items()):
        for command in (COMMANDS[k % 10], COMMANDS[(k + 3) % 10], COMMANDS[(k + 6) % 10], "agree"):
            if command == "agree" and command in (COMMANDS[k % 10], COMMANDS[(k + 3) % 10], COMMANDS[(k + 6) % 10]):
                continue
            yield Attack(f"streams/{name}-{command}", _make, (), "streams", shell=_shell(line(command), around))
        # nobody hears of the mistake, and it must not look like a success
        wrong = _shell(["agree", "nowhere/{rater}/{case}.png", "--out", "out"], around)
        yield Attack(
            f"streams/{name}-refused",
            _make,
            (),
            "streams",
            shell=f"{wrong} ; test $? -ne 0" if "PIPE" not in wrong else wrong,
        )
    for k, encoding in enumerate(ENCODINGS):
        for command in (COMMANDS[k], COMMANDS[k + 4], "agree"):
            more = ["--cases", "in/cases.csv"] if command in ("check", "agree", "fuse", "evaluate", "report") else []
            call = _shell([*line(command), *more])
            if command == "agree" and COMMANDS[k] == "agree":
                continue
            yield Attack(
                f"streams/{encoding}-{command}", _make, (), "accepted", shell=call, env={"PYTHONIOENCODING": encoding}
            )
        wrong = _shell(["agree", "größte/{rater}/{case}.png", "--out", "out"])
        yield Attack(
            f"streams/{encoding}-refused", _make, (), "refused", shell=wrong, env={"PYTHONIOENCODING": encoding}
        )
    for k, (name, env) in enumerate(SURROUNDINGS.items()):
        yield Attack(f"streams/{name}", _make, (), "accepted", shell=_shell(line(COMMANDS[k])), env=env)
    yield Attack(
        "streams/folder-gone",
        _make,
        (),
        "refused",
        shell="mkdir gone; cd gone; rmdir ../gone; " + _shell(["agree", "masks/{rater}/{case}.png"]),
    )
    yield Attack("streams/interrupt-ignored", _make, (), "accepted", shell="trap '' INT TERM; " + _shell(line("agree")))
    yield Attack(
        "streams/few-files", _make, (), "either", shell="ulimit -n 12; " + _shell(line("agree", MASKS, "--jobs", "2"))
    )
    yield from _memory()
    yield from _networks()


# -- memory -----------------------------------------------------------------------------------------------


def _large(folder: Path, chance: random.Random, side: int) -> None:
    for rater in range(4):
        array = np.zeros((side, side), np.uint8)
        array[rater * 9 : side // 2, : side // 2] = 1
        write_png(folder / f"in/masks/{'ABCD'[rater]}/p1.png", array, compress_level=1)
        for case in ("p2", "p3"):
            write_png(folder / f"in/masks/{'ABCD'[rater]}/{case}.png", array[:64, :64])
    for case in ("p1", "p2", "p3"):
        write_png(folder / f"in/pred/u/{case}.png", array if case == "p1" else array[:64, :64], compress_level=1)


def _memory() -> Iterator[Attack]:
    """Images that do not fit: one line that says so, in the process itself and in those that it starts."""
    for command, jobs, megabytes in (
        ("agree", "1", 24), ("agree", "2", 24), ("report", "2", 24), ("check", "1", 120), ("agree", "1", 120), ("fuse",
        "1", 120),
        ("evaluate", "1", 120), ("report", "2", 120),
    ):  # fmt: skip
        make, call = partial(_large, side=4096), line(command, MASKS, "--jobs", jobs)
        limits = {"AS_ABOVE": megabytes << 20}
        yield Attack(
            f"streams/memory-{megabytes}-{command}-{jobs}", make, call, limits=limits, earlier=command == "agree"
        )


# -- networks: slow to import, so only a few ------------------------------------------------------------


def _training(folder: Path, chance: random.Random, what: str) -> None:
    honest.write_study(folder)
    (folder / "in/cases.csv").write_text("case,subject\np1,s1\np2,s2\np3,s3\n")
    if what == "image-cut":
        path = folder / "in/images/p2.png"
        path.write_bytes(path.read_bytes()[:60])
    elif what == "image-missing":
        (folder / "in/images/p2.png").unlink()
    contents = {"empty": b"", "text": b"x" * 999, "pickle": pickled(), "zip": b"PK\3\4" + bytes(99)}
    (folder / "in/network.pt").write_bytes(contents.get(what, b""))


def _networks() -> Iterator[Attack]:
    small = (
        "--networks",
        "unet",
        "--seeds",
        "1",
        "--size",
        "32",
        "--width",
        "4",
        "--jobs",
        "1",
        "--epochs",
        "1",
        "--strategies",
        "majority",
        "--device",
        "cpu",
    )
    train = ["train", MASKS, "--images", honest.IMAGES, "--cases", "in/cases.csv", "--out", "out", *small]
    yield Attack("networks/train-image-cut", partial(_training, what="image-cut"), train)
    for option in ("--epochs=0", "--strategies=nobody", "--test=2", "--device=tpu", "--learning-rate=nan"):
        name, call = option.partition("=")[0], train
        if name in train:
            at = train.index(name)
            call = [*train[:at], *train[at + 2 :]]
        yield Attack(f"networks/train{option}", partial(_training, what=""), [*call, option], "refused")
    for what in ("empty", "text", "pickle", "zip"):
        call = ["predict", "in/network.pt", honest.IMAGES, "--out", "out", "--device", "cpu"]
        yield Attack(f"networks/predict-{what}", partial(_training, what=what), call, "refused")
    yield Attack(
        "networks/predict-nowhere",
        partial(_training, what=""),
        ["predict", "nowhere.pt", honest.IMAGES, "--out", "out"],
        "refused",
    )
