"""Folders that are not what a study is: things missing, things that are no files, links, rights."""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from study_folders import write_png

from ..honest import IMAGES, MASKS, OF_MASKS, PREDICTIONS, RANKS, REFERENCES, ROI, line, mask, write_more, write_study
from ..model import Attack, Expected

VICTIM = "in/masks/B/p2.png"
Change = Callable[[Path], object]


def _changed(folder: Path, chance: random.Random, change: Change) -> None:
    write_study(folder)
    change(folder)


def _in_place(make: Change) -> Change:
    """Something else where a mask was."""

    def change(folder: Path) -> None:
        (folder / VICTIM).unlink()
        make(folder / VICTIM)

    return change


def _socket(path: Path) -> None:
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as made:
        # names of sockets are short
        short = f"/tmp/attack-{os.getpid()}-{id(path)}"
        made.bind(short)
        os.rename(short, path) if os.stat("/tmp").st_dev == os.stat(path.parent).st_dev else os.unlink(short)
    assert os.getcwd() == here


def _loop(path: Path) -> None:
    path.symlink_to(path.with_name("other.png"))
    path.with_name("other.png").symlink_to(path)


def _upwards(folder: Path) -> None:
    (folder / "in/masks/B/again").symlink_to("..")
    (folder / "in/masks/D").symlink_to(".")


def _no_common_case(folder: Path) -> None:
    for path in (folder / "in/masks").rglob("*.png"):
        path.rename(path.with_name(f"{path.parent.name}{path.name}"))


STRUCTURES: dict[str, tuple[Change, Expected]] = {
    "a-mask-is-missing": (_in_place(lambda path: None), "accepted"),
    "a-folder-for-a-mask": (_in_place(lambda path: path.mkdir()), "either"),
    "a-fifo-for-a-mask": (_in_place(os.mkfifo), "refused"),
    "a-link-to-a-fifo": (_in_place(lambda path: (os.mkfifo(path.with_name("fifo")), path.symlink_to("fifo"))),
    "refused"),
    "a-socket-for-a-mask": (_in_place(_socket), "either"),
    "a-link-to-zeros": (_in_place(lambda path: path.symlink_to("/dev/zero")), "refused"),
    "a-link-to-random": (_in_place(lambda path: path.symlink_to("/dev/urandom")), "refused"),
    "a-link-to-nothing": (_in_place(lambda path: path.symlink_to("nowhere.png")), "refused"),
    "a-link-to-a-terminal": (_in_place(lambda path: path.symlink_to("/dev/tty")), "refused"),
    "links-in-a-circle": (_in_place(_loop), "refused"),
    "a-link-to-another-mask": (_in_place(lambda path: path.symlink_to("p1.png")), "accepted"),
    "folders-in-a-circle": (_upwards, "either"),
    "a-mask-without-rights": (lambda folder: (folder / VICTIM).chmod(0), "refused"),
    "a-rater-that-cannot-be-entered": (lambda folder: (folder / "in/masks/B").chmod(0o444), "refused"),
    "a-rater-that-cannot-be-listed": (lambda folder: (folder / "in/masks/B").chmod(0o111), "refused"),
    "masks-that-cannot-be-listed": (lambda folder: (folder / "in/masks").chmod(0), "refused"),
    "one-rater": (lambda folder: [shutil.rmtree(folder / "in/masks" / rater) for rater in "AB"], "either"),
    "no-rater": (lambda folder: [shutil.rmtree(folder / "in/masks" / rater) for rater in "ABC"], "refused"),
    "no-masks": (lambda folder: shutil.rmtree(folder / "in/masks"), "refused"),
    "an-empty-rater": (lambda folder: (folder / "in/masks/D").mkdir(), "either"),
    "a-file-for-a-rater": (lambda folder: (folder / "in/masks/D").write_text("x"), "either"),
    "masks-is-a-file": (lambda folder: (shutil.rmtree(folder / "in/masks"), (folder / "in/masks").write_text("x")),
    "refused"),
    "no-common-case": (_no_common_case, "either"),
    "two-endings": (lambda folder: shutil.copy(folder / VICTIM, (folder / VICTIM).with_suffix(".PNG")), "either"),
    "thumbnails-beside": (lambda folder: (folder / "in/masks/B/Thumbs.db").write_bytes(b"x" * 99), "accepted"),
    "ds-store-beside": (lambda folder: [(folder / f"in/masks/{r}/._p1.png").write_bytes(b"\0\5\x16\7") for r in "AB"],
    "either"),
    "60-raters": (lambda folder: [write_png(folder / f"in/masks/r{k}/p1.png", np.ones((32, 32),
    np.uint8)) for k in range(57)], "either"),
    "depth": (lambda folder: (folder / "in/masks" / "/".join("d" * 300)).mkdir(parents=True), "either"),
}  # fmt: skip

TEMPLATES = {
    "no-placeholder": "in/masks/A/p1.png",
    "no-case": "in/masks/{rater}/p1.png",
    "no-rater": "in/masks/A/{case}.png",
    "unknown-placeholder": "in/masks/{rater}/{case}/{nobody}.png",
    "unclosed": "in/masks/{rater/{case}.png",
    "unopened": "in/masks/rater}/{case}.png",
    "empty-braces": "in/masks/{}/{case}.png",
    "attribute": "in/masks/{rater.__class__}/{case}.png",
    "conversion": "in/masks/{rater!r:>99999999}/{case}.png",
    "beside-each-other": "in/masks/{rater}{case}.png",
    "sixty-stars": "in/masks/" + "*" * 60 + "{rater}/{case}.png",
    "stars-between": "in/masks/{rater}/" + "*a" * 30 + "{case}.png",
    "double-stars": "/".join(["in", *["**"] * 30, "{rater}/{case}.png"]),
    "empty": "",
    "only-dots": "....",
    "nul": "in/masks/{rater}\\0/{case}.png",
    "5000-signs": "in/" + "x" * 5000 + "/{rater}/{case}.png",
    "1000-folders": "a/" * 1000 + "{rater}/{case}.png",
    "root": "/{rater}/{case}.png",
    "proc": "/proc/self/{rater}/{case}.png",
    "no-ending": "in/masks/{rater}/{case}",
    "unknown-ending": "in/masks/{rater}/{case}.docx",
    "newline": "in/masks/{rater}\n/{case}.png",
    "escape": "in/\x1b[31m/{rater}/{case}.png",
    "index": "in/masks/{rater}/{case}.png[99]",
    "index-of-raters": "in/masks/A/{case}.png[{rater}]",
    "folder-without-toml": "in/masks",
    "a-picture": "in/masks/A/p1.png",
}

OPEN = ("double-stars", "beside-each-other", "sixty-stars", "stars-between", "no-ending")
"""Odd, and with a meaning."""


def _roles(folder: Path, chance: random.Random, role: str, damage: str) -> None:
    """Something else than masks is wrong: an image, a prediction, a region, ranks."""
    write_study(folder)
    write_more(folder)
    path = folder / role.format(algorithm="u", reference="lab", rater="B", case="p2")
    if damage == "missing":
        path.unlink()
    elif damage == "damaged":
        path.write_bytes(path.read_bytes()[:60])
    elif damage == "other-size":
        write_png(path, mask(1, 1, size=20))
    elif damage == "colours":
        write_png(path, np.stack([mask(1, 1) * 90] * 3, -1))
    elif damage == "fifo":
        path.unlink()
        os.mkfifo(path)


ROLES = {
    "images": (IMAGES, "report"),
    "predictions": (PREDICTIONS, "evaluate"),
    "references": (REFERENCES, "evaluate"),
    "roi": (ROI, "agree"),
    "ranks": (RANKS, "agree"),
}


def attacks() -> Iterator[Attack]:
    for k, (name, (change, expected)) in enumerate(STRUCTURES.items()):
        for command in dict.fromkeys((("agree", "check")[k % 2], OF_MASKS[2 + k % 10])):
            own = expected if expected != "accepted" or command in ("agree", "check", "fuse") else "either"
            yield Attack(
                f"structure/{name}-{command}", partial(_changed, change=change), line(command), own, earlier=k % 3 == 0
            )
    for k, (name, template) in enumerate(TEMPLATES.items()):
        command = OF_MASKS[k % len(OF_MASKS)]
        yield Attack(
            f"structure/template-{name}-{command}",
            partial(_changed, change=lambda _: None),
            line(command, template),
            "either" if name in OPEN else "refused",
        )
    for role, (template, command) in ROLES.items():
        for damage in ("missing", "damaged", "other-size", "colours", "fifo"):
            more = [] if role == "predictions" else [f"--{role}", template]
            yield Attack(
                f"structure/{role}-{damage}", partial(_roles, role=template, damage=damage), line(command, MASKS, *more)
            )
