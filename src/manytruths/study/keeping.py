"""Finished cases are kept while a run goes on, so that the next run of the same command does not do them again.

What a case was made from is its key: the code, the settings, all that is known about the case, and the bytes of its
files (not their names, sizes or times alone, which archives change). A record with another key is not used.
"""

from __future__ import annotations

import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..core.memory import give_back
from ..io import Location
from ..io.kept import (
    Files,
    Place,
    begin_log,
    code_version,
    digest_files,
    keep_record,
    load_record,
    read_logs,
    sign_files,
)
from ..io.results import fingerprint, kept_folder
from ..io.writing import record_written
from .case import Case
from .locations import find_locations
from .options import Options

R = TypeVar("R")

NO_EFFECT = ("exclude", "exclude_rater")
"""Options that show in the masks of a case alone."""


class Packed(Generic[R]):
    """A result that has been pickled already, so that it need not be pickled again to cross processes."""

    def __init__(self, payload: bytes | None, result: R | None = None) -> None:
        self._payload, self._result = payload, result

    def open(self) -> R:
        """The result."""
        if self._result is None and self._payload is not None:
            self._result = pickle.loads(self._payload)
        return self._result  # type: ignore[return-value]

    def __reduce__(self) -> tuple[Any, ...]:
        return Packed, ((self._payload,) if self._payload is not None else (None, self._result))


@dataclass(frozen=True)
class Ledger:
    """Where the cases of one loop are kept, and which are there already."""

    stage: Path
    """The hidden folder of the run."""
    folder: Path
    """The logs of the loop, within it."""
    settings: str
    run: str
    """Tells the logs of this run from others."""
    places: Mapping[str, Place]


def open_ledger(work: Callable[..., object]) -> Ledger | None:
    """The ledger of a loop; None where nothing is kept, as no results are being written that a run could go on with."""
    kept = kept_folder()
    if kept is None:
        return None
    settings = describe_work(work)
    folder = kept / settings[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return Ledger(kept.parent, folder, settings, uuid.uuid4().hex[:8], read_logs(folder))


def describe_work(work: Callable[..., object]) -> str:
    """A digest of the code, and of what is done with which settings."""
    # by their metadata, since importing SciPy takes a while
    versions = (code_version(), sys.version, version("numpy"), version("scipy"))
    return fingerprint(versions, [_described(work)])


def _described(work: Callable[..., object]) -> object:
    """What is done, and with which settings."""
    if isinstance(work, partial):
        return _described(work.func), work.args, work.keywords
    return getattr(work, "__module__", ""), getattr(work, "__qualname__", repr(work))


def work_or_load(
    case: Case, work: Callable[[Case], R], ledger: Ledger, wanted: Callable[[Case], bool] | None
) -> Packed[R]:
    """The result of a case, from an earlier run where it was made from the same, and kept for the next run."""
    begin_log(ledger.folder, ledger.run)
    made_from = list(_made_from(case))
    files = _sign(made_from) if wanted is None or wanted(case) else None
    if files is None:
        return Packed(None, work(case))
    key = case_key(case, ledger.settings, files)
    place = ledger.places.get(case.name)
    if place is not None and place.key == key:
        payload = load_record(ledger.folder, place, ledger.stage)
        if payload is not None:
            return Packed(payload)
    with record_written() as written:
        result = work(case)
    give_back()
    payload = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    # files that were changed meanwhile may have been read after the change
    if _sign(made_from) == files:
        inside = [path for path in written if path.is_relative_to(ledger.stage)]
        keep_record(case.name, key, inside, ledger.stage, payload)
    return Packed(payload, result)


def case_key(case: Case, settings: str, files: Sequence[Files]) -> str:
    """Of everything that the result of a case depends on."""
    others = [getattr(case, item.name) for item in fields(case) if item.name not in ("options", "spread")]
    return fingerprint((settings, describe_options(case.options), repr(others)), map(digest_files, files))


def sign_case(case: Case) -> list[Files] | None:
    """The files of a case; None where it cannot be known what it is made from."""
    return _sign(_made_from(case))


def _made_from(case: Case) -> Iterable[Location | None]:
    return find_locations(case) if case.counted is None else [None]


def _sign(made_from: Iterable[Location | None]) -> list[Files] | None:
    signed = []
    for location in made_from:
        if location is None or (files := sign_files(location)) is None:
            return None
        signed.append(files)
    return signed


def describe_options(options: Options) -> str:
    """All options that a result of a case may depend on."""
    return repr([getattr(options, option.name) for option in fields(options) if option.name not in NO_EFFECT])
