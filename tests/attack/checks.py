"""What must hold after every attack, whatever it was."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from . import oracles
from .model import Attack, Outcome

Wrong = list[tuple[str, str]]
"""Kinds of failures, and what was seen."""
Snapshot = dict[str, tuple[str, int, str]]
"""By path: the kind, the rights, and the content or target."""

OUT, ELSEWHERE = "out", "elsewhere"
VOLATILE = "run.json"
"""Times and the like: the one file of a folder of results that may differ between runs."""
LEAKS = re.compile(
    r"Traceback \(most recent|Exception ignored|Unicode(En|De)codeError|^\S+Error: |^\S+:\d+: \w*Warning"
    r"|Fatal Python error|core dumped|libpng |Segmentation fault|resource_tracker|--- Logging error",
    re.MULTILINE,
)
STEERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u2028-\u202e\u2066-\u2069]")
"""What a terminal obeys instead of showing it."""
FORMULA = re.compile(r"^[=+\-@\t\r]")
NUMBER = re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^-?(inf|nan)$", re.ASCII)


# -- what is on the disk -------------------------------------------------------------------------------


def snapshot(folder: Path) -> Snapshot:
    """Everything beneath a folder, byte for byte; links are not followed, and nothing but files is opened."""
    found: Snapshot = {}
    for home, folders, files in os.walk(folder):
        for name in sorted(folders) + sorted(files):
            path = os.path.join(home, name)
            found[os.path.relpath(path, folder)] = _entry(path)
    return found


def _entry(path: str) -> tuple[str, int, str]:
    status = os.lstat(path)
    rights = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return "link", 0, os.readlink(path)
    if stat.S_ISREG(status.st_mode):
        try:
            with open(path, "rb") as stream:
                return "file", rights, hashlib.sha256(stream.read()).hexdigest()
        except PermissionError:
            return "file", rights, f"{status.st_size} bytes of {status.st_mtime_ns}"
    return ("folder" if stat.S_ISDIR(status.st_mode) else "other"), rights, ""


def write_sentinels(place: Path) -> None:
    """Somebody else's files."""
    (place / ELSEWHERE / "deep").mkdir(parents=True)
    for name in ("precious.txt", "agreement.csv", "summary.json", "deep/p1.png", "deep/report.html"):
        (place / ELSEWHERE / name).write_text(f"not yours: {name}\n")


def unlock(folder: Path) -> None:
    """Give rights back, so that the folder can be looked at and removed."""
    for home, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(home, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)


# -- after a run ---------------------------------------------------------------------------------------


def after(attack: Attack, place: Path, before: Snapshot, done: Outcome) -> Wrong:
    """All that is wrong with a run and with what it left."""
    if done.hung:
        return [("hang", f"over {done.seconds:.0f} s")]
    now = snapshot(place)
    wrong = said(attack, done) + _status(attack, done) + _outside(before, now) + _leftovers(attack, before, now, done)
    if done.status == 0 or attack.expected == "streams":
        wrong += whole(place / OUT)
    elif attack.command != "check":
        # check writes down what is wrong, and says so with status 1
        wrong += _unchanged(before, now)
    return wrong


def said(attack: Attack, done: Outcome) -> Wrong:
    """What was printed: lines for people."""
    wrong: Wrong = []
    for text in (done.out, done.err):
        leak = LEAKS.search(text)
        if leak:
            last = [line for line in text.splitlines() if line.strip()][-1]
            wrong.append(("traceback", f"{leak.group()!r} … {last[:300]}"))
    told = [line for line in done.err.splitlines() if line.strip()]
    if wrong or attack.expected == "streams":
        return wrong
    steers = STEERS.search(done.err) or STEERS.search(done.out)
    if steers:
        wrong.append(
            ("message", f"prints {steers.group()!r} as it is: {steers.string[max(0, steers.start() - 60) :][:120]!r}")
        )
    if done.status in (1, 2):
        wrong += _told(attack, done, told)
    if done.left:
        wrong.append(("left", f"{done.left} processes were still there"))
    return wrong


def _told(attack: Attack, done: Outcome, told: list[str]) -> Wrong:
    of_parser = done.status == 2 and bool(told) and "Error" in told[0]
    listed = attack.command == "check" and done.status == 1 and bool(done.out.strip())
    if not told:
        return [] if listed else [("message", f"status {done.status} without a word")]
    if of_parser:
        return []
    if not told[0].startswith("manytruths: "):
        return [("message", f"starts otherwise than with 'manytruths:': {told[0][:200]}")]
    strange = [line for line in told if not line.startswith(("manytruths: ", "  "))]
    if strange:
        return [("message", f"a line that does not belong to a message: {strange[0][:200]}")]
    if len(told) > 60 or max(map(len, told)) > 20_000:
        return [("message", f"{len(told)} lines, the longest of {max(map(len, told))} signs")]
    return []


def _status(attack: Attack, done: Outcome) -> Wrong:
    wanted = {"refused": (1, 2), "accepted": (0,), "either": (0, 1, 2), "streams": (0, 1)}[attack.expected]
    if done.status in wanted:
        return []
    return [("exit", f"{done.status}, wanted {' or '.join(map(str, wanted))}: {(done.err or done.out)[-300:].strip()}")]


def _outside(before: Snapshot, now: Snapshot) -> Wrong:
    changed = [path for path in _changes(before, now) if path.split(os.sep)[0] not in (OUT, "target")]
    return [("outside", f"changed, made or removed: {', '.join(map(ascii, changed[:5]))}")] if changed else []


def _leftovers(attack: Attack, before: Snapshot, now: Snapshot, done: Outcome) -> Wrong:
    left = [
        path for path in now.keys() - before.keys() if any(part.startswith(".part-") for part in path.split(os.sep))
    ]
    if attack.command in ("fuse", "phantom") and done.status != 0:
        # a run that failed goes on from there
        left = [path for path in left if f".part-{attack.command}" not in path.split(os.sep)]
    return [("left", f"{', '.join(map(ascii, sorted(left)[:5]))}")] if left else []


def _unchanged(before: Snapshot, now: Snapshot) -> Wrong:
    """A run that failed changed no results; empty folders are none."""
    changed = [
        path
        for path in _changes(before, now)
        if path.split(os.sep)[0] == OUT
        and not (path not in before and now[path][0] == "folder")
        and not any(part.startswith(".part-") for part in path.split(os.sep))
    ]
    return [("partial", f"failed, but changed {', '.join(map(ascii, changed[:5]))}")] if changed else []


def _changes(before: Snapshot, now: Snapshot) -> list[str]:
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


# -- results --------------------------------------------------------------------------------------------


def whole(out: Path) -> Wrong:
    """Everything that summaries list is there, and every file is what its name says."""
    wrong: Wrong = []
    for home, _, files in os.walk(out):
        for name in files:
            path = Path(home, name)
            if not path.is_file() or path.is_symlink():
                continue
            try:
                wrong += _readable(path)
            except (ValueError, OSError, csv.Error, ElementTree.ParseError, SyntaxError) as error:
                wrong.append(("partial", f"{str(path.relative_to(out))!a} is damaged: {type(error).__name__} {error}"))
    return wrong


def _readable(path: Path) -> Wrong:
    if path.suffix == ".json":
        found = json.loads(path.read_bytes().decode("utf-8"), parse_constant=_no_json)
        listed = found.get("files", ()) if path.name == "summary.json" and isinstance(found, dict) else ()
        lost = [name for name in listed if not os.path.lexists(path.parent / name)]
        return [("partial", f"{path} lists {', '.join(map(ascii, lost[:5]))}, which are not there")] if lost else []
    if path.suffix == ".csv":
        return _table(path)
    if path.suffix == ".svg":
        ElementTree.parse(path)
    elif path.suffix in (".png", ".tif", ".npy", ".gz", ".nrrd", ".mha"):
        oracles.opens(path)
    elif path.suffix == ".html" and not path.read_bytes().rstrip().endswith(b"</html>"):
        return [("partial", f"{path.name} is no whole page")]
    return []


def _no_json(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _table(path: Path) -> Wrong:
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline=""), strict=True))
    uneven = {len(row) for row in rows}
    if len(uneven) > 1:
        return [("partial", f"{path.name} has rows of {sorted(uneven)} cells")]
    formulas = [cell for row in rows for cell in row if FORMULA.match(cell) and not NUMBER.match(cell)]
    return [("formula", f"{path.name} holds {ascii(formulas[0])[:80]}")] if formulas else []


def agreement(place: Path, template: str, known: Mapping[str, list[np.ndarray]]) -> Wrong:
    """Cohen's kappa of every pair and case in ``pairs.csv``, from pixels that the reference reader saw."""
    table = place / OUT / "agree/pairs.csv"
    if not table.is_file():
        return []
    wrong: Wrong = []
    with table.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if (row["scope"], row["statistic"], row["label"]) != ("case", "cohen_kappa", ""):
                continue
            paths = [template.format(rater=row[key], case=row["case"]) for key in ("rater_a", "rater_b")]
            seen = [known.get(path) or oracles.allowed(place / path) for path in paths]
            kappas = [oracles.kappa(a, b) for a in seen[0] for b in seen[1] if a.shape == b.shape]
            found = float(row["value"])
            if not any(abs(kappa - found) < 1e-9 or (np.isnan(kappa) and np.isnan(found)) for kappa in kappas):
                wrong.append(
                    ("pixels", f"kappa of {row['rater_a']}, {row['rater_b']} on {row['case']} is {found}, not {kappas}")
                )
    return wrong[:1]


def same_results(one: Path, other: Path, hidden: bool = True) -> str:
    """Nothing where two folders of results are the same bytes, or the first things that differ.

    Without ``hidden``, what a killed run was about to write does not count.
    """
    a, b = (
        {path: entry for path, entry in snapshot(folder).items() if _counts(path, hidden)} for folder in (one, other)
    )
    return ", ".join(map(ascii, _changes(a, b)[:4]))


def _counts(path: str, hidden: bool) -> bool:
    parts = path.split(os.sep)
    return parts[-1] != VOLATILE and (hidden or not any(part.startswith(".part-") for part in parts))
