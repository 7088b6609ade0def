"""What comes back from elsewhere: decisions that a page of one file saved, workbooks, packs, and logs."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import FormatError, InputError, few, find_name_fault, one_line
from ..io.decision_log import DecisionLog, log_name, merge, read_logs, same_study
from ..io.files import check_regular_file
from ..io.format_versions import check_format_version
from ..study import Progress, Study, logged
from .adjudicate import INDEX, LONGEST_NAME, AdjudicationRun, _ordered, _wait
from .blocks import LAYOUT
from .index import Index
from .plan import Settings
from .session import Refused, Session

FORMAT = "manytruths-decisions"
LARGEST = 1 << 28
"""Bytes of a file of decisions."""


class About(msgspec.Struct, frozen=True):
    """What a page says that it was made with."""

    study: str
    settings: logged.Settings
    practice: list[str] = []


@dataclass(frozen=True)
class Returned:
    """Requests that somebody made on a page without a server, or in a workbook."""

    path: Path
    adjudicator: str
    machine: str
    about: Mapping[str, Any]
    """What the page was made with: study, settings, practice and for whom."""
    calls: Sequence[Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    codes: tuple[str, ...] | None = None
    """The rows of a workbook."""


def merge_files(
    study: Study, digest: str, folder: Path, paths: Sequence[str | Path], progress: Progress | None
) -> AdjudicationRun:
    """Take files into the logs of a folder."""
    returned, packs = [], list[Path]()
    for each in map(Path, paths):
        check_regular_file(each, most=LARGEST)
        if each.suffix.lower() in (".xlsx", ".csv"):
            from .sheets import read_filled

            returned.append(read_filled(each))
        elif each.suffix.lower() == ".json" and (saved := read_saved(each)) is not None:
            returned.append(saved)
        else:
            packs.append(each)
    logged.check_logs(read_logs(packs) if packs else ())
    written = list(merge(folder, packs, study=digest)) if packs else []
    notes = [f"{path.name}: merged" for path in written]
    for made in returned:
        fault = find_name_fault(made.adjudicator) or ("is too long" if len(made.adjudicator) > LONGEST_NAME else "")
        if fault:
            name = made.adjudicator[:LONGEST_NAME]
            raise InputError(f"{made.path}: the name {name!r} {fault}; correct it in the file")
        if not same_study(str(made.about.get("study")), digest):
            raise InputError(f"{made.path}: was made for another study; merge it where that study is")
        path, lines = _replay(study, digest, folder, made, progress)
        written.append(path)
        notes += [*made.notes, *lines]
    return AdjudicationRun(written=tuple(dict.fromkeys(written)), notes=tuple(notes))


def unpack_about(path: Path, word: object) -> dict[str, Any]:
    """What a page was made with, from the word that it carries."""
    try:
        about = json.loads(base64.urlsafe_b64decode(str(word).partition(":")[2] or str(word)))
        if isinstance(about, dict) and about.get("layout") == LAYOUT:
            msgspec.convert(about, About)
            return about
    except (ValueError, RecursionError):  # msgspec's, too
        pass
    raise FormatError(
        f"{path}: does not say which page it comes from, or that was written by another version; take the file as the "
        "page has saved it, and merge it with the version that wrote the page"
    )


def read_saved(path: Path) -> Returned | None:
    """Decisions that a page has saved; None where the file is something else."""
    try:
        whole = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise FormatError(f"{path}: is no JSON; take the file as it was saved") from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        return None
    check_format_version(path, whole.get("version"), 1)
    calls, name = whole.get("calls"), whole.get("adjudicator")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise FormatError(f"{path}: has no list of calls; take the file as the page has saved it")
    if not isinstance(name, str) or not name.strip():
        raise FormatError(f"{path}: does not say who decided; type a name into the page, and save again")
    return Returned(
        path, name.strip(), str(whole.get("machine") or "browser"), unpack_about(path, whole.get("page")), calls
    )


def _replay(
    study: Study, digest: str, folder: Path, returned: Returned, progress: Progress | None
) -> tuple[Path, list[str]]:
    """Make the requests of a file again, by the code of the server; one that was merged before adds nothing."""
    about = returned.about
    settings = Settings.from_payload(about.get("settings", {}))
    if returned.codes is not None:
        # a sheet shows image and outlines beside each other; a first look is an answer, but no condition
        settings = replace(settings, first_look=False)
    who, machine = returned.adjudicator, returned.machine
    index = Index(folder / INDEX, _ordered(study, settings, str(about.get("for", who))), settings.rule)
    index.load()
    try:
        index.start()
        _wait(index, settings, everything=True, progress=progress)
    finally:
        index.stop()
    path = folder / log_name(who, machine)
    notes: list[str] = []
    with DecisionLog.open(path, study=digest, adjudicator=who, machine=machine) as log:
        before = sum(1 for _ in log.entries())
        session = Session(study, index, log, settings, scratch=index.folder, order_for=str(about.get("for", who)))
        session.compact = True
        session.begin(tuple(about.get("practice", ())), once=True)
        refused = 0
        gone = [] if returned.codes is None else [i["id"] for i in session.queue() if i["id"] not in returned.codes]
        if gone:
            notes.append(f"{returned.path.name}: {len(gone)} rows are missing and stay open: {few(gone, 5)}")
        for number, call in enumerate(returned.calls, start=1):
            where, body = str(call.get("path", "")), call.get("body")
            if not where.startswith("/api/") or not isinstance(body, dict):
                raise FormatError(
                    f"{returned.path}: call {number} is no request of the page; take the file as it was saved"
                )
            session.made = str(call.get("utc", ""))[:40].encode("utf-8", "replace").decode()
            try:
                session.post(where.removeprefix("/api/"), body)
            except Refused as error:
                refused += 1
                if refused <= 10:
                    place = f"line {call['line']}" if "line" in call else f"call {number}"
                    unknown = error.code == "no_item" and returned.codes is not None
                    why = "its code is that of no dispute" if unknown else one_line(str(error))
                    said = f"{returned.path.name}, {place}: not taken: {why}"
                    # a row is a first look and a decision
                    notes += [] if said in notes else [said]
        added = sum(1 for _ in log.entries()) - before
    notes.append(f"{returned.path.name}: {added} entries of {who} added, {refused} of {len(returned.calls)} not taken")
    return path, notes
