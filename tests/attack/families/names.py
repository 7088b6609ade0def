"""Names of raters, cases, algorithms and groups: all that a file system takes, and all that a table can hold."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from study_folders import write_png

from ..honest import IMAGES, MASKS, OF_MASKS, PREDICTIONS, line, mask
from ..model import Attack, Expected

NAMES: dict[str, tuple[str, Expected]] = {
    "not-utf-8": (os.fsdecode(b"caf\xe9"), "either"),
    "half-utf-8": (os.fsdecode(b"a\xf0\x9f\x98"), "either"),
    "newline": ("a\nb", "either"),
    "carriage-return": ("a\rb", "either"),
    "escape": ("\x1b[31mred\x1b[0m", "either"),
    "bell-and-backspace": ("a\x07\x08b", "either"),
    "c1-control": ("a\x9b31mb", "either"),
    "next-line": ("a\x85b", "either"),
    "line-separator": ("a\u2028b", "either"),
    "right-to-left": ("abc\u202egnp.exe", "either"),
    "isolate": ("a\u2066b\u2069", "either"),
    "zero-width": ("a\u200bb", "either"),
    "emoji": ("😀👩‍⚕️", "accepted"),
    "chinese": ("病変", "accepted"),
    "decomposed": ("e\u0301", "accepted"),
    "spaces": ("  a b  ", "either"),
    "quotes": ("a\"b'c`d", "accepted"),
    "comma-semicolon-tab": ("a,b;c\td", "either"),
    "formula": ('=cmd|" /C calc"!A0', "accepted"),
    "plus": ("+1+1", "accepted"),
    "at": ("@SUM(1)", "accepted"),
    "dash": ("-x", "accepted"),
    "option": ("--out", "accepted"),
    "leading-dot": (".hidden", "either"),
    "dots": ("...", "either"),
    "part": (".part-agree", "either"),
    "braces": ("{case}", "either"),
    "brackets": ("[red]a[/red]", "accepted"),
    "stars": ("a*?[b]", "either"),
    "percent": ("%s%n{0}$(id)", "accepted"),
    "html": ("<script>alert(1)<&>", "accepted"),
    "backslash": ("a\\b\\..\\c", "either"),
    "reserved-on-windows": ("CON", "accepted"),
    "245-bytes": ("x" * 245, "either"),
    "240-bytes-of-emoji": ("😀" * 60, "either"),
    "summary": ("summary.json", "either"),
    "number": ("1e5", "accepted"),
    "nan": ("nan", "accepted"),
    "background": ("background", "accepted"),
    "equals": ("a=b", "accepted"),
}


def _write(
    folder: Path, chance: random.Random, raters: tuple[str, ...], cases: tuple[str, ...], algorithm: str
) -> None:
    for y, case in enumerate(cases):
        for x, rater in enumerate(raters):
            write_png(folder / MASKS.replace("{rater}", rater).replace("{case}", case), mask(x, y), format="PNG")
        write_png(folder / IMAGES.replace("{case}", case), mask(0, y) * 99, format="PNG")
        for x, name in enumerate(("u", algorithm)):
            write_png(
                folder / PREDICTIONS.replace("{algorithm}", name).replace("{case}", case), mask(x, y), format="PNG"
            )


def _with_pictures(arguments: list[str], wanted: bool) -> list[str]:
    return [word for word in arguments if word != "--no-pictures"] if wanted else arguments


def _table(folder: Path, chance: random.Random, name: str) -> None:
    """As subject and group in a table; a table is text, so what is not stays out."""
    _write(folder, chance, ("A", "B"), ("p1", "p2"), "v")
    quoted = name.encode("utf-8", "replace").decode().replace('"', '""')
    (folder / "in/cases.csv").write_text(f'case,subject,group\np1,"{quoted}","{quoted}"\np2,s,g\n', newline="")


def attacks() -> Iterator[Attack]:
    for k, (kind, (name, expected)) in enumerate(NAMES.items()):
        # every command meets every third name: as a rater, as a case, as an algorithm
        commands = [OF_MASKS[(k + step) % len(OF_MASKS)] for step in (0, 5)]
        rater = partial(_write, raters=("A", name, "C"), cases=("p1", "p2"), algorithm="v")
        case = partial(_write, raters=("A", "B", "C"), cases=("p1", name), algorithm="v")
        own: dict[str, Expected] = {"check": expected, "agree": expected, "fuse": expected, "evaluate": expected}
        yield Attack(
            f"names/{kind}-rater", rater, _with_pictures(line(commands[0]), k % 2 == 0), own.get(commands[0], "either")
        )
        yield Attack(
            f"names/{kind}-case",
            case,
            _with_pictures(line(commands[1]), k % 2 == 1),
            own.get(commands[1], "either"),
            earlier=k % 2 == 0,
        )
        if k % 2:
            algorithm = partial(_write, raters=("A", "B", "C"), cases=("p1", "p2"), algorithm=name)
            yield Attack(f"names/{kind}-algorithm", algorithm, line("evaluate"), expected)
        else:
            yield Attack(
                f"names/{kind}-group", partial(_table, name=name), line("agree", MASKS, "--cases", "in/cases.csv")
            )
    twins = partial(_write, raters=("anna", "Anna", "ANNA"), cases=("p1", "P1"), algorithm="V")
    for command in ("agree", "fuse", "report", "export monai", "export nnunet"):
        yield Attack(f"names/twins-{command}", twins, line(command), "either")
    normal = partial(_write, raters=("e\u0301", "\u00e9"), cases=("p1",), algorithm="v")
    yield Attack("names/two-spellings-of-one-letter", normal, line("fuse"), "either")
