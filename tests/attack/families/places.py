"""Where results go: places that cannot be written, links to somebody else's files, disks that are full."""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .. import honest
from ..honest import MASKS, line
from ..model import Attack, Expected

COMMANDS = (
    "check",
    "agree",
    "fuse",
    "evaluate",
    "report",
    "rank",
    "reliability",
    "plan",
    "export coco",
    "export nnunet",
    "import cvat",
    "demo",
    "phantom",
)
NAMED = ("export coco", "import cvat", "phantom")
"""Commands whose folder is the one that the user names: a link there is meant."""
Place = Callable[[Path, str], object]


def home(command: str) -> str:
    """The folder that a command writes into."""
    verb, _, kind = command.partition(" ")
    inside = {
        "export": "nnunet/Dataset501_Manytruths" if kind == "nnunet" else kind,
        "import": "study",
        "report": "report_files",
        "demo": "study",
        "phantom": "phantom",
    }
    return f"out/{inside.get(verb, verb)}"


def make(folder: Path, chance: random.Random, command: str, place: Place) -> None:
    verb, _, kind = command.partition(" ")
    if verb == "import":
        for name, content in honest.exported(kind).items():
            (folder / "in" / kind).mkdir(parents=True, exist_ok=True)
            (folder / "in" / kind / name).write_bytes(content)
    elif verb not in ("demo", "phantom"):
        honest.write_study(folder)
        (folder / "in/scores.csv").write_text(honest.scores())
    place(folder, home(command))


def _file(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("mine")


def _read_only(folder: Path, path: str) -> None:
    (folder / path).mkdir(parents=True)
    (folder / path).chmod(0o500)
    (folder / "out").chmod(0o500)


def _link(folder: Path, path: str, to: str = "elsewhere/deep") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).symlink_to(folder / to)


def _part_link(folder: Path, path: str) -> None:
    """Whoever knows the names of files to come lays links there."""
    place = folder / path
    place.mkdir(parents=True)
    for name in (place.name, f"{place.name}-lock", "summary.json", "agreement.csv", "report.html", "heatmaps"):
        (place.parent / f".part-{name}").symlink_to(folder / "elsewhere/deep")
        (place / f".part-{name}").symlink_to(folder / "elsewhere/precious.txt")


def _result_links(folder: Path, path: str) -> None:
    (folder / path).mkdir(parents=True)
    for name in (
        "summary.json",
        "agreement.csv",
        "scores.csv",
        "run.json",
        "performance.csv",
        "rankings.csv",
        "study.toml",
    ):
        (folder / path / name).symlink_to(folder / "elsewhere/precious.txt")
    for name in ("consensus", "cases", "probability", "masks"):
        (folder / path / name).symlink_to(folder / "elsewhere/deep")


def _summary(folder: Path, path: str) -> None:
    """Names that lead elsewhere, in a list of what an earlier run wrote."""
    place, outside = folder / path, folder / "elsewhere/precious.txt"
    place.mkdir(parents=True)
    (place / "door").symlink_to(folder / "elsewhere")
    names = ["../../elsewhere/precious.txt", str(outside), "door/precious.txt", "door/deep/p1.png",
    "../../in/masks/A/p1.png",
             ".", "..", "", "a\0b", "/", "x" * 5000]  # fmt: skip
    (place / "summary.json").write_text(json.dumps({"schema_version": 1, "files": names}))


def _folders_for_files(folder: Path, path: str) -> None:
    for name in (
        "agreement.csv",
        "summary.json",
        "scores.csv",
        "performance.csv",
        "plan.csv",
        "rankings.csv",
        "coverage.csv",
    ):
        (folder / path / name / "inside").mkdir(parents=True)
        (folder / path / name / "inside/mine.txt").write_text("mine")


def _mounted(folder: Path, path: str, size: int = 40_960) -> None:
    """A disk of a few kilobytes."""
    (folder / "out").mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder / "out")]
    subprocess.run(["mount", *options], check=True)


@functools.cache
def can_mount() -> bool:
    """Whether small disks can be made here; as root of a machine of one's own they can."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4096", "tmpfs", folder], capture_output=True, check=False
        )
        if done.returncode == 0:
            subprocess.run(["umount", folder], check=True)
    return done.returncode == 0


PLACES: dict[str, tuple[Place, Expected]] = {
    "out-is-a-file": (lambda folder, path: _file(folder, "out"), "refused"),
    "a-file-for-the-folder": (_file, "refused"),
    "read-only": (_read_only, "refused"),
    "the-folder-is-a-link": (_link, "either"),
    "the-folder-is-a-link-to-nothing": (partial(_link, to="nowhere"), "either"),
    "part-links": (_part_link, "either"),
    "result-links": (_result_links, "either"),
    "crafted-summary": (_summary, "either"),
    "folders-for-files": (_folders_for_files, "either"),
}


def _nothing(folder: Path, path: str) -> None:
    return


def attacks() -> Iterator[Attack]:
    for k, command in enumerate(COMMANDS):
        for name, (place, expected) in PLACES.items():
            if name == "a-file-for-the-folder" and command == "report":
                expected = "either"
            if "link" in name and "folder" in name and command in NAMED:
                continue
            yield Attack(
                f"places/{name}-{command}", partial(make, command=command, place=place), _call(command, name), expected
            )
        for size in (400, 3000, 12_000):
            # each file may have so many bytes: what is larger cannot be written
            build = partial(make, command=command, place=_nothing)
            more = ["--quiet", *["--replace"] * command.startswith("import")]
            yield Attack(
                f"places/files-of-{size}-{command}",
                build,
                [*_call(command, ""), *more],
                "either",
                earlier=k % 2 == 0,
                limits={"FSIZE": size},
            )
        if can_mount():
            yield Attack(
                f"places/full-disk-{command}", partial(make, command=command, place=_mounted), _call(command, "")
            )
        for event in (3, 12, 30):
            yield Attack(
                f"places/deleted-midway-{event}-{command}",
                partial(make, command=command, place=_nothing),
                _call(command, ""),
                remove={"folder": "out", "event": event},
            )
    study = partial(make, command="agree", place=_nothing)
    for name, out, expected in (
        ("a-device", "/dev/null", "refused"), ("full-device", "/dev/full", "refused"), ("proc", "/proc/out", "refused"),
        ("too-long", "out/" + "x" * 300, "refused"), ("too-deep", "out/" + "x/" * 3000, "refused"),
        ("deep", "out/" + "x/" * 200, "accepted"), ("not-utf-8", "out/\udce9", "either"), ("newline", "out/a\nb",
        "accepted"),
        ("brackets", "out/[red]", "accepted"), ("dash", "out/-x", "accepted"), ("dots", "out/../out/./x", "accepted"),
    ):  # fmt: skip
        call = ["agree", MASKS, "--no-pictures", f"--out={out}"]
        yield Attack(f"places/{name}", study, call, expected)  # type: ignore[arg-type]


def _call(command: str, name: str) -> list[str]:
    # pictures are files, too
    return [word for word in line(command) if word != "--no-pictures" or name == "read-only"]
