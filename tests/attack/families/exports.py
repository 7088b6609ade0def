"""What annotation tools export, damaged: bytes, numbers, words and branches; and archives that are traps."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from mutations import mutated

from ..honest import TOOLS, exported, line
from ..model import Attack, Expected

MUTATIONS = 6
CHECK = ("check", "out/study", "--out", "out/checked", "--quiet")


JSON = ("labelstudio", "coco", "labelme", "qupath")


def write(folder: Path, chance: random.Random, tool: str) -> None:
    for name, content in exported(tool).items():
        path = folder / "in" / tool / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _victim(tool: str, chance: random.Random) -> str:
    return chance.choice(
        [name for name in exported(tool) if not any(word in name for word in ("series", "description", ".png"))]
    )


def _mutated(folder: Path, chance: random.Random, tool: str, seed: int) -> None:
    write(folder, chance, tool)
    path = folder / "in" / tool / _victim(tool, chance)
    path.write_bytes(mutated(path.read_bytes(), seed))


def _grafted(folder: Path, chance: random.Random, tool: str, seed: int) -> None:
    from json_exports import grafted

    write(folder, chance, tool)
    path = folder / "in" / tool / _victim(tool, chance)
    path.write_bytes(grafted(json.loads(path.read_bytes()), seed))


def _replaced(folder: Path, chance: random.Random, tool: str, content: bytes) -> None:
    write(folder, chance, tool)
    (folder / "in" / tool / _victim(tool, chance)).write_bytes(content)


def _words(folder: Path, chance: random.Random, tool: str, change: Callable[[bytes], bytes]) -> None:
    write(folder, chance, tool)
    for name in exported(tool):
        path = folder / "in" / tool / name
        path.write_bytes(change(path.read_bytes()))


def _zipped(*entries: tuple[str, bytes], links: tuple[str, ...] = ()) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            made = zipfile.ZipInfo(name)
            if name in links:
                made.external_attr = 0o120777 << 16
            archive.writestr(made, data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _archive(folder: Path, chance: random.Random, content: Callable[[bytes], bytes]) -> None:
    (folder / "in/cvat").mkdir(parents=True)
    (folder / "in/cvat/anna.zip").write_bytes(content(exported("cvat")["anna.xml"]))


LAUGHS = b"<!DOCTYPE a [<!ENTITY a 'x'>" + b"".join(
    b"<!ENTITY %c '%s'>" % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9)
) + b"]><annotations>&j;</annotations>"  # fmt: skip
OUTSIDE = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations><version>&x;</version></annotations>'
TEXTS: dict[str, bytes] = {
    "empty": b"",
    "null": b"null",
    "a-number": b"1",
    "an-empty-list": b"[]",
    "an-empty-object": b"{}",
    "100000-brackets": b"[" * 100_000,
    "100000-elements": b"<a>" * 100_000,
    "not-utf-8": b"\xff\xfe\xfd" * 99,
    "nul": bytes(999),
    "html": b"<html><body>502 Bad Gateway</body></html>",
    "huge-number": b'{"images": [{"id": 1, "width": 1e999, "height": ' + b"9" * 5000 + b"}]}",
}

NAMES: dict[str, bytes] = {
    "background": b"background",
    "slash": b"a/b",
    "parent": b"../../elsewhere",
    "quote": b"a'b",
    "nothing": b"",
    "long": b"x" * 5000,
    "formula": b"=1+1",
    "void": b"void",
    "disputed": b"disputed",
    "braces": b"{rater}",
    "escape": b"\\u001b[31m",
}


ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], Expected]] = {
    "fine": (lambda xml: _zipped(("annotations.xml", xml)), "either"),
    "outside": (lambda xml: _zipped(("../../elsewhere/annotations.xml", xml)), "either"),
    "absolute": (lambda xml: _zipped(("/tmp/annotations.xml", xml)), "either"),
    "link": (lambda xml: _zipped(("annotations.xml", b"/etc/passwd"), links=("annotations.xml",)), "refused"),
    "bomb": (lambda xml: _zipped(("annotations.xml", xml[:-20] + b" " * (1 << 29))), "refused"),
    "nested": (lambda xml: _zipped(("a.zip", _zipped(("annotations.xml", xml)))), "refused"),
    "empty": (lambda xml: _zipped(), "refused"),
    "cut": (lambda xml: _zipped(("annotations.xml", xml))[:200], "refused"),
    "text": (lambda xml: b"PK\3\4 and no more", "refused"),
    "30000-entries": (lambda xml: _zipped(*((f"{k}.txt", b"") for k in range(30_000))), "refused"),
    "twice": (lambda xml: _zipped(("annotations.xml", xml), ("Annotations.xml", xml)), "either"),
}
"""Made of one rater's annotations."""


def attacks() -> Iterator[Attack]:
    for tool in TOOLS:
        call, text = line(f"import {tool}"), tool in JSON
        yield Attack(f"exports/{tool}-honest", partial(write, tool=tool), call, "accepted", then=CHECK)
        for seed in range(MUTATIONS):
            make = partial(_mutated, tool=tool, seed=seed)
            more = ["--replace"] if seed % 3 == 0 else []
            yield Attack(
                f"exports/{tool}-mutated-{seed}", make, [*call, *more], earlier=bool(more), limits={"AS_ABOVE": 4 << 30}
            )
        for seed in range(MUTATIONS if text else 0):
            yield Attack(
                f"exports/{tool}-grafted-{seed}",
                partial(_grafted, tool=tool, seed=seed),
                call,
                limits={"AS_ABOVE": 4 << 30},
            )
        for k, (name, content) in enumerate(TEXTS.items()):
            fits = tool in JSON or name in (
                "empty",
                "nul",
                "html",
                "100000-elements",
                "not-utf-8",
            )
            if not fits:
                continue
            # what looks like no file of the tool at all may be passed over, if others are left
            make, more = partial(_replaced, tool=tool, content=content), ["--replace"] * (k % 2)
            yield Attack(f"exports/{tool}-{name}", make, [*call, *more], "either", earlier=bool(more))
    for tool in ("cvat", *JSON):
        for name, new in NAMES.items():
            make = partial(_words, tool=tool, change=lambda data, new=new: data.replace(b"lesion", new))
            expected: Expected = "refused" if name == "background" else "either"
            yield Attack(f"exports/{tool}-structure-{name}", make, line(f"import {tool}"), expected, then=CHECK)
    for name, old, new in (
        ("rater", b"anna", b"../anna"),
        ("case", b"p1.png", b"../../p1.png"),
        ("twins", b"ben", b"Anna"),
    ):
        for tool in ("labelstudio", "coco", "cvat"):
            make = partial(_words, tool=tool, change=lambda data, old=old, new=new: data.replace(old, new))
            yield Attack(f"exports/{tool}-{name}", make, line(f"import {tool}"), then=CHECK)
    for name, content in {"laughs": LAUGHS, "outside": OUTSIDE}.items():
        yield Attack(
            f"exports/cvat-{name}", partial(_replaced, tool="cvat", content=content), line("import cvat"), "refused"
        )
    for name, (content, expected) in ARCHIVES.items():
        call = ["import", "cvat", "in/cvat", "--to", "out/study"]
        yield Attack(
            f"exports/zip-{name}", partial(_archive, content=content), call, expected, limits={"AS_ABOVE": 3 << 30}
        )
