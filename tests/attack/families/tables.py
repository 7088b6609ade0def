"""Tables of cases, raters, reads, scores, ratings and grades, and study files: text that is no such thing any more."""

from __future__ import annotations

import io
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from mutations import mutated

from .. import honest
from ..honest import MASKS, OF_MASKS, RATERS, USUAL, line, write_study
from ..model import Attack, Expected

TABLES = {
    "cases": ("case,subject,group\np1,s1,x\np2,s2,y\np3,s3,x\n", "--cases"),
    "raters": ("rater,group\nA,x\nB,y\nC,x\n", "--raters"),
    "reads": (
        "case,rater,status,based_on\n" + "".join(f"{c},{r},done,\n" for c in USUAL.cases for r in RATERS),
        "--reads",
    ),
}

Damage = Callable[[bytes], bytes]


def _line(data: bytes, number: int, change: Callable[[bytes], bytes]) -> bytes:
    lines = data.split(b"\n")
    lines[number] = change(lines[number])
    return b"\n".join(lines)


DAMAGES: dict[str, tuple[Damage, Expected]] = {
    "empty": (lambda data: b"", "refused"),
    "only-blank": (lambda data: b"\n \n\n", "refused"),
    "header-alone": (lambda data: data.split(b"\n")[0] + b"\n", "either"),
    "no-header": (lambda data: data.split(b"\n", 1)[1], "refused"),
    "nul": (lambda data: _line(data, 2, lambda row: row + b"\0"), "refused"),
    "nuls": (lambda data: bytes(len(data)), "refused"),
    "utf-16": (lambda data: data.decode().encode("utf-16"), "refused"),
    "utf-32": (lambda data: data.decode().encode("utf-32"), "refused"),
    "latin-1": (lambda data: _line(data, 2, lambda row: row + b"\xe9"), "refused"),
    "byte-order-mark": (lambda data: b"\xef\xbb\xbf" + data, "accepted"),
    "crlf": (lambda data: data.replace(b"\n", b"\r\n"), "accepted"),
    "cr": (lambda data: data.replace(b"\n", b"\r"), "either"),
    "semicolons": (lambda data: data.replace(b",", b";"), "accepted"),
    "tabs": (lambda data: data.replace(b",", b"\t"), "either"),
    "bars": (lambda data: data.replace(b",", b"|"), "refused"),
    "unclosed-quote": (lambda data: _line(data, 2, lambda row: b'"' + row), "refused"),
    "unclosed-quote-at-the-end": (lambda data: _line(data, -2, lambda row: row + b'"x'), "either"),
    "quote-inside": (lambda data: _line(data, 2, lambda row: row.replace(b"2", b'2"2')), "either"),
    "3000-columns": (lambda data: b"\n".join(row + b",x" * 3000 for row in data.strip().split(b"\n")), "refused"),
    "3000-names": (lambda data: b"\n".join(
        row + b"".join(b",%s%d" % (b"c" if k == 0 else b"v", j) for j in range(3000))
        for k, row in enumerate(data.strip().split(b"\n"))), "either"),
    "duplicate-columns": (lambda data: b"\n".join(row + b"," + row for row in data.strip().split(b"\n")), "refused"),
    "duplicate-rows": (lambda data: data + data.split(b"\n")[1] + b"\n", "refused"),
    "contradiction": (lambda data: data + data.split(b"\n")[1].rpartition(b",")[0] + b",0.123\n", "refused"),
    "short-row": (lambda data: _line(data, 2, lambda row: row.rpartition(b",")[0]), "refused"),
    "long-row": (lambda data: _line(data, 2, lambda row: row + b",x,y"), "refused"),
    "field-of-a-megabyte": (lambda data: _line(data, 2, lambda row: row + b"x" * (1 << 20)), "either"),
    "empty-cells": (lambda data: b"\n".join(b"," * row.count(b",") for row in data.strip().split(b"\n")), "refused"),
    "unknown-names": (lambda data: data.replace(b"p", b"q").replace(b"A,", b"Z,"), "either"),
    "100000-blank-lines": (lambda data: data + b"\n" * 100_000, "either"),
    "half": (lambda data: data[: len(data) // 2], "either"),
    "html": (lambda data: b"<html><body>Sign in</body></html>\n" * 9, "refused"),
    "binary": (lambda data: bytes(range(256)) * 4, "refused"),
}  # fmt: skip
"""What becomes of a table, whatever it is of."""


def _study_table(folder: Path, chance: random.Random, name: str, damage: Damage) -> None:
    write_study(folder)
    (folder / f"in/{name}.csv").write_bytes(damage(TABLES[name][0].encode()))


def _of_study() -> Iterator[Attack]:
    number = 0
    for name, (_, option) in TABLES.items():
        for kind, (damage, expected) in DAMAGES.items():
            number += 1
            if number % 3 == 0 and kind not in ("unclosed-quote", "3000-columns"):
                continue  # every damage meets two of the three tables
            command = ("agree", "check", "fuse", "evaluate", "report", "export coco")[number % 6]
            own: Expected = "either" if kind in ("contradiction", "unknown-names") else expected
            yield Attack(
                f"tables/{name}-{kind}",
                partial(_study_table, name=name, damage=damage),
                line(command, MASKS, option, f"in/{name}.csv"),
                own,
                earlier=number % 2 == 0,
            )
        for kind in ("fifo", "folder", "missing", "zeros", "loop"):
            yield Attack(
                f"tables/{name}-is-{kind}",
                partial(_no_file, path=f"in/{name}.csv", kind=kind),
                line("agree", MASKS, option, f"in/{name}.csv"),
                "refused",
                limits={"AS_ABOVE": 1 << 30},
            )
    for kind, text in {
        "two-subjects-of-a-case": "case,subject\np1,s1\np1,s2\np2,s2\np3,s3\n",
        "cases-that-are-not-listed": "case,subject\np1,s1\np2,s1\n",
        "a-case-too-many": "case,subject\np1,s1\np2,s1\np3,s3\np4,s4\n",
        "only-subjects": "subject\ns1\n",
    }.items():
        expected: Expected = "refused" if kind in ("two-subjects-of-a-case", "only-subjects") else "either"
        yield Attack(
            f"tables/cases-{kind}",
            partial(_text, name="cases.csv", text=text),
            line("agree", MASKS, "--cases", "in/cases.csv"),
            expected,
        )
    for kind, text in {
        "an-unknown-status": "case,rater,status\np1,A,perhaps\n",
        "based-on-himself": "case,rater,status,based_on\np1,A,done,A\n",
        "based-on-nobody": "case,rater,status,based_on\np1,A,done,Z\n",
        "based-on-in-a-circle": "case,rater,status,based_on\np1,A,done,B\np1,B,done,A\n",
        "done-without-a-mask": "case,rater,status\np9,A,done\n",
        "never-read-but-there": "case,rater,status\np1,A,unread\n",
    }.items():
        yield Attack(
            f"tables/reads-{kind}",
            partial(_text, name="reads.csv", text=text),
            line("agree", MASKS, "--reads", "in/reads.csv"),
        )


def _no_file(folder: Path, chance: random.Random, path: str, kind: str) -> None:
    write_study(folder)
    place = folder / path
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "zeros":
        place.symlink_to("/dev/zero")
    elif kind == "loop":
        place.symlink_to(place.name)


def _text(folder: Path, chance: random.Random, name: str, text: str | bytes) -> None:
    write_study(folder)
    (folder / "in" / name).write_bytes(text if isinstance(text, bytes) else text.encode())


# -- scores, ratings, grades ----------------------------------------------------------------------------

OWN = {
    "scores": (honest.scores, ("rank", "in/scores.csv", "--no-pictures", "--resamples", "50", "--out", "out")),
    "ratings": (
        honest.ratings,
        ("reliability", "in/ratings.csv", "--no-pictures", "--out", "out"),
    ),
    "grades": (honest.grades, line("evaluate", MASKS, "--grades", "in/grades.csv")),
}

VALUES: dict[str, dict[str, Expected]] = {
    "scores": {"nan": "either", "inf": "either", "-inf": "either", "1e400": "either", "x": "refused", "-1": "either",
               "1,5": "refused", "٣": "either", "0x10": "refused", "": "either", "1_000": "either", "1e308": "either"},
    "ratings": {"nan": "either", "": "either", "=1+1": "either", "x" * 9999: "either", "😀": "accepted",
    " x ": "either"},
    "grades": {"0": "refused", "5": "refused", "2.5": "refused", "nan": "refused", "x": "refused", "-1": "refused",
    "1e99": "refused",
               "": "either"},
}  # fmt: skip


def _own_table(folder: Path, chance: random.Random, name: str, damage: Damage) -> None:
    if name == "grades":
        write_study(folder)
    (folder / "in").mkdir(exist_ok=True)
    (folder / f"in/{name}.csv").write_bytes(damage(OWN[name][0]().encode()))


def _cell(data: bytes, value: str) -> bytes:
    """The last cell of a row in the middle."""
    quoted = f'"{value}"' if "," in value else value
    return _line(data, 4, lambda row: row.rpartition(b",")[0] + b"," + quoted.encode())


def _of_their_own() -> Iterator[Attack]:
    for name, (_, call) in OWN.items():
        for k, (kind, (damage, expected)) in enumerate(DAMAGES.items()):
            # these tables may be long or wide, with columns of their own: less is a mistake
            own: Expected = expected if kind in ("empty", "only-blank", "nuls", "html", "binary") else "either"
            if kind in ("unclosed-quote", "contradiction"):
                own = "refused"
            yield Attack(
                f"tables/{name}-{kind}", partial(_own_table, name=name, damage=damage), call, own, earlier=k % 2 == 0
            )
        for value, expected in VALUES[name].items():
            yield Attack(
                f"tables/{name}-value-{value[:9] or 'nothing'}",
                partial(_own_table, name=name, damage=partial(_cell, value=value)),
                call,
                expected,
            )
        for seed in range(8):
            damage = partial(mutated, seed=seed)
            yield Attack(f"tables/{name}-mutated-{seed}", partial(_own_table, name=name, damage=damage), call)
    for kind in ("fifo", "folder", "missing", "zeros", "loop"):
        limits = {"AS_ABOVE": 1 << 30}
        for name, (_, call) in OWN.items():
            yield Attack(
                f"tables/{name}-is-{kind}",
                partial(_no_file, path=f"in/{name}.csv", kind=kind),
                call,
                "refused",
                limits=limits,
            )


# -- spreadsheets ---------------------------------------------------------------------------------------


def _sheet(cells: dict[str, str]) -> bytes:
    """A workbook with cells by their addresses."""
    rows = "".join(
        f'<row r="{"".join(filter(str.isdigit, at))}"><c r="{at}" t="inlineStr"><is><t>{text}</t></is></c></row>'
        for at, text in cells.items()
    )
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = 'xmlns="http://schemas.openxmlformats.org/package/2006/'
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types {package}content-types"><Default Extension="rels" ContentType="application/'
        'vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType='
        f'"{kinds}.sheet.main+xml"/><Override PartName="/xl/s.xml" ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships {package}relationships"><Relationship Id="r1" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{office}"><sheets><sheet name="s" sheetId="1" r:id="r1"/>'
        "</sheets>"
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships {package}relationships"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="s.xml"/></Relationships>',
        "xl/s.xml": f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>",
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def _workbook(text: str) -> bytes:
    from openpyxl import Workbook

    book, stream = Workbook(), io.BytesIO()
    for row in text.strip().split("\n"):
        book.active.append(row.split(","))
    book.save(stream)
    return stream.getvalue()


def _spreadsheets() -> Iterator[Attack]:
    whole = _workbook(honest.ratings())
    lol = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
    sheets: dict[str, tuple[bytes, Expected]] = {
        "honest": (whole, "accepted"),
        "last-corner": (_sheet({"A1": "case", "XFD1048576": "x"}), "refused"),
        "last-row": (_sheet({"A1": "case", "A1048576": "x"}), "refused"),
        "last-column": (_sheet({"A1": "case", "XFD1": "x"}), "refused"),
        "beyond": (_sheet({"A1": "case", "ZZZZ99999999": "x"}), "refused"),
        "no-cell": (_sheet({}), "refused"),
        "address-0": (_sheet({"A0": "case"}), "refused"),
        "cut": (whole[: len(whole) // 2], "refused"),
        "empty": (b"", "refused"),
        "text": (honest.ratings().encode(), "refused"),
        "not-a-workbook": (_zip({"a.txt": b"x"}), "refused"),
        "entities": (_zip({"xl/workbook.xml": f"<!DOCTYPE w [{lol}]><w>&l9;</w>".encode()}), "refused"),
        "flipped": (bytes([*whole[:900], whole[900] ^ 4, *whole[901:]]), "either"),
        "one-byte-less": (whole[:-1], "either"),
    }
    for name, (content, expected) in sheets.items():
        make = partial(_text, name="ratings.xlsx", text=content)
        call = ("reliability", "in/ratings.xlsx", "--no-pictures", "--out", "out")
        yield Attack(f"tables/xlsx-{name}", make, call, expected, limits={"AS_ABOVE": 3 << 30})
    for name in ("last-corner", "honest", "cut"):
        make = partial(_text, name="scores.xlsx", text=sheets[name][0])
        call = ("rank", "in/scores.xlsx", "--no-pictures", "--resamples", "50", "--out", "out")
        yield Attack(f"tables/xlsx-scores-{name}", make, call, "refused", limits={"AS_ABOVE": 3 << 30})
    for name, content in {"cut": b"PAR1" + bytes(60), "text": b"case,rater,label\n", "empty": b""}.items():
        make = partial(_text, name="ratings.parquet", text=content)
        call = ("reliability", "in/ratings.parquet", "--no-pictures", "--out", "out")
        yield Attack(f"tables/parquet-{name}", make, call, "refused")


def _zip(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return stream.getvalue()


# -- study.toml -----------------------------------------------------------------------------------------

HEAD = 'masks = "masks/{rater}/{case}.png"\n'
STUDIES: dict[str, tuple[str | bytes, Expected]] = {
    "honest": (HEAD, "accepted"),
    "empty": ("", "refused"),
    "no-masks": ('images = "images/{case}.png"\n', "refused"),
    "not-utf-8": (HEAD.encode() + b"# \xe9\n", "refused"),
    "utf-16": (HEAD.encode("utf-16"), "refused"),
    "nul": (HEAD + "\0", "refused"),
    "5000-brackets": (HEAD + "a = " + "[" * 5000, "refused"),
    "5000-braces": (HEAD + "a = " + "{a = " * 5000, "refused"),
    "5000-tables": (HEAD + "[" + ".".join("a" * 5000) + "]\n", "refused"),
    "100000-digits": (HEAD + "void = " + "9" * 100_000 + "\n", "refused"),
    "unknown-key": (HEAD + "maks = 1\n", "refused"),
    "twice": (HEAD + HEAD, "refused"),
    "a-table": ("[masks]\na = 1\n", "refused"),
    "masks-is-a-number": ("masks = 1\n", "refused"),
    "masks-is-a-list": ('masks = ["a", "b"]\n', "refused"),
    "masks-is-empty": ('masks = ""\n', "refused"),
    "masks-is-itself": ('masks = "study.toml"\n', "refused"),
    "void-0": (HEAD + "void = 0\n", "refused"),
    "void--1": (HEAD + "void = -1\n", "refused"),
    "void-1e9": (HEAD + "void = 1000000000\n", "refused"),
    "void-2**64": (HEAD + f"void = {2**64}\n", "refused"),
    "void-true": (HEAD + "void = true\n", "refused"),
    "void-nan": (HEAD + "void = nan\n", "refused"),
    "void-text": (HEAD + 'void = "255"\n', "refused"),
    "spacing-nan": (HEAD + "spacing = [nan, 1.0]\n", "refused"),
    "spacing-0": (HEAD + "spacing = [0, 0]\n", "refused"),
    "spacing-infinite": (HEAD + "spacing = [inf, 1.0]\n", "refused"),
    "spacing-1-axis": (HEAD + "spacing = [1.0]\n", "refused"),
    "spacing-9-axes": (HEAD + f"spacing = {[1.0] * 9}\n", "refused"),
    "spacing-text": (HEAD + 'spacing = ["a", "b"]\n', "refused"),
    "spacing-deep": (HEAD + "spacing = [[1.0], [2.0]]\n", "refused"),
    "labels-text": (HEAD + 'labels = "gland"\n', "refused"),
    "labels-names": (HEAD + 'labels = { a = "gland" }\n', "refused"),
    "labels-background": (HEAD + 'labels = { 1 = "background" }\n', "refused"),
    "labels-of-0": (HEAD + 'labels = { 0 = "gland", 1 = "x" }\n', "either"),
    "labels-same": (HEAD + 'labels = { 1 = "a", 2 = "a" }\n', "refused"),
    "labels-negative": (HEAD + 'labels = { -1 = "a" }\n', "refused"),
    "labels-other": (HEAD + 'labels = { 2 = "a" }\n', "refused"),
    "labels-empty-name": (HEAD + 'labels = { 1 = "" }\n', "refused"),
    "labels-nobody": (HEAD + "labels = { }\n", "either"),
    "limits-turned": (HEAD + "limits = [1.0, 0.0]\n", "refused"),
    "limits-three": (HEAD + "limits = [0.0, 0.5, 1.0]\n", "refused"),
    "limits-nan": (HEAD + "limits = [nan, nan]\n", "refused"),
    "region-unknown": (HEAD + 'region = "middle"\n', "refused"),
    "region-and-roi": (HEAD + 'region = "union"\nroi = "images/{case}.png"\n', "refused"),
    "exclude-text": (HEAD + 'exclude = { A = "p1" }\n', "refused"),
    "exclude-nobody": (HEAD + 'exclude = { Z = ["p1"] }\n', "either"),
    "exclude-all": (HEAD + 'exclude = { A = ["p1", "p2", "p3"], B = ["p1", "p2", "p3"], C = ["p1", "p2", "p3"] }\n',
    "refused"),
    "cases-outside": (HEAD + 'cases = "/etc/passwd"\n', "refused"),
    "images-missing": (HEAD + 'images = "nowhere/{case}.png"\n', "either"),
    "probability-text": (HEAD + 'probability = "yes"\n', "refused"),
    "raters-a-list": (HEAD + "raters = [1]\n", "refused"),
    "date": (HEAD + "void = 2024-01-01\n", "refused"),
    "html": ("<!doctype html><html></html>", "refused"),
}  # fmt: skip


def _study_file(folder: Path, chance: random.Random, text: str | bytes) -> None:
    write_study(folder)
    (folder / "in/study.toml").write_bytes(text.encode() if isinstance(text, str) else text)


def _studies() -> Iterator[Attack]:
    for k, (name, (text, expected)) in enumerate(STUDIES.items()):
        command = OF_MASKS[k % len(OF_MASKS)]
        for verb in dict.fromkeys(("check" if k % 2 else "agree", command)):
            yield Attack(
                f"toml/{name}-{verb}",
                partial(_study_file, text=text),
                line(verb, "in/study.toml"),
                expected,
                earlier=k % 3 == 0,
            )
    for seed in range(12):
        text = mutated(
            (
                HEAD + 'images = "images/{case}.png"\nvoid = 255\nspacing = [0.5, 0.5]\nlabels = { 1 = "gland" }\n'
            ).encode(),
            seed,
        )
        yield Attack(f"toml/mutated-{seed}", partial(_study_file, text=text), line("agree", "in"))
    for kind in ("fifo", "folder", "zeros", "loop"):
        yield Attack(
            f"toml/is-{kind}",
            partial(_no_file, path="in/study.toml", kind=kind),
            line("agree", "in/study.toml"),
            "refused",
            limits={"AS_ABOVE": 1 << 30},
        )


def attacks() -> Iterator[Attack]:
    yield from _of_study()
    yield from _of_their_own()
    yield from _spreadsheets()
    yield from _studies()
