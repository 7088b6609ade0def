"""What was found out about cases, kept from run to run: a case is read again where it changed, and nowhere else.

A record has two keys. The first is made from names, sizes and times of the files and costs no reading; where it is
another one, the second, made from their bytes as in :mod:`.keeping`, decides. Results do not depend on the store: a
record that is damaged, or whose keys are others, is not used.
"""

from __future__ import annotations

import pickle
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..core.errors import WriteError
from ..io import write_json
from ..io.kept import Files, load_record, read_logs, write_records
from ..io.results import fingerprint
from .case import Case
from .keeping import Packed, case_key, describe_options, describe_work, sign_case
from .processes import Progress
from .study import Study

R = TypeVar("R")

SIGNED = "signed.json"
"""The first keys of all cases."""
LOGS = 8
"""So many logs, and all records are written into one."""
SETTLED = 2e9
"""Nanoseconds after which a file that changes again gets another time on every disk."""


@dataclass(frozen=True)
class CaseStore:
    """A folder that keeps the results of a function of cases.

    Parameters
    ----------
    folder : Path
        Where they are kept.
    """

    folder: Path

    def map(
        self, study: Study, work: Callable[[Case], R], *, jobs: int = 1, progress: Progress | None = None
    ) -> dict[str, R]:
        """The result of every case, by name; those that are kept are not worked on again.

        Parameters
        ----------
        study : Study
            The study.
        work : callable
            As in :meth:`Study.map`; data classes of this package come back.
        jobs : int
            Number of worker processes.
        progress : callable, optional
            Called with the number of cases that are done, of those that must be read.

        Returns
        -------
        dict
            In the order of the cases.
        """
        settings = describe_work(work)
        here, places = self.folder / settings[:16], {}
        with suppress(OSError):
            places = read_logs(here)
        signed = _read_signed(here)
        found: dict[str, Any] = {}
        fresh: dict[str, str] = {}
        keys: dict[str, str] = {}
        for case in study:
            files = sign_case(case)
            if files is None:
                continue
            quick = _quick_key(case, settings, files)
            place = places.get(case.name)
            if place is not None and signed.get(case.name) == f"{quick} {place.key}":
                keys[case.name] = place.key
            else:
                keys[case.name] = case_key(case, settings, files)
            payload = load_record(here, place, here) if place is not None and place.key == keys[case.name] else None
            if payload is not None:
                found[case.name] = Packed(payload).open()
            if _are_settled(files):
                fresh[case.name] = f"{quick} {keys[case.name]}"
        left = study.with_cases([case for case in study if case.name not in found])
        made: dict[str, bytes] = {}
        try:
            for case, result in left.map(work, jobs=jobs, progress=progress):
                found[case.name] = result
                # files that changed meanwhile may have been read after the change
                if case.name in keys and _is_as_before(case, settings, keys[case.name]):
                    made[case.name] = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        finally:
            self._keep(here, made, keys, fresh, changed=fresh != signed)
        return {case.name: found[case.name] for case in study}

    def _keep(
        self, here: Path, made: Mapping[str, bytes], keys: Mapping[str, str], fresh: Mapping[str, str], *, changed: bool
    ) -> None:
        """Write what is new; what cannot be kept is computed again."""
        with suppress(OSError, WriteError):
            if not (made or changed):
                return
            for other in self.folder.iterdir() if self.folder.is_dir() else ():
                if other != here:
                    shutil.rmtree(other, ignore_errors=True)
            here.mkdir(parents=True, exist_ok=True)
            records = {name: (keys[name], payload) for name, payload in made.items()}
            logs = sorted(here.glob("*.log"))
            if len(logs) >= LOGS:
                kept = {n: p for n, p in read_logs(here).items() if n in keys and n not in made}
                loaded = {name: (place.key, load_record(here, place, here)) for name, place in kept.items()}
                records |= {name: (key, payload) for name, (key, payload) in loaded.items() if payload is not None}
            if records:
                # names rise with time, and of several records about one case the last counts
                write_records(here / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.log", records)
            for log in logs if len(logs) >= LOGS else ():
                log.unlink(missing_ok=True)
            write_json(here / SIGNED, dict(fresh))


def _read_signed(folder: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode((folder / SIGNED).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _quick_key(case: Case, settings: str, files: list[Files]) -> str:
    others = [getattr(case, item.name) for item in fields(case) if item.name not in ("options", "spread")]
    return fingerprint((settings, describe_options(case.options), repr(others)), [repr(files)])[:32]


def _are_settled(files: list[Files]) -> bool:
    """Whether a change from now on would show in the times of the files."""
    now = time.time_ns()
    times = [signature[3] for each in files for _, signature in each.values() if signature is not None]
    return all(now - changed > SETTLED for changed in times)


def _is_as_before(case: Case, settings: str, key: str) -> bool:
    files = sign_case(case)
    return files is not None and case_key(case, settings, files) == key


def keep_or_map(
    store: CaseStore | None, study: Study, work: Callable[[Case], R], *, jobs: int, progress: Progress | None
) -> Iterator[tuple[Case, R]]:
    """Every case with its result, from the store where there is one."""
    if store is None:
        yield from study.map(work, jobs=jobs, progress=progress)
        return
    found = store.map(study, work, jobs=jobs, progress=progress)
    yield from ((case, found[case.name]) for case in study)
