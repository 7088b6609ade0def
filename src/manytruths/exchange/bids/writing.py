"""Write reads as BIDS derivatives: one NIfTI mask a structure, with a sidecar that tells the names it was made of."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ...core.errors import CallError, StudyError
from ...io import write_json, write_map
from ..reads import Mask, Read

OWN = "manytruths"
"""The part of a sidecar that says what the file name cannot."""
VERSION = "1.10.0"
"""Of BIDS."""

_ENTITIES = ("ses", "task", "acq", "ce", "rec", "run", "space", "res")
"""What may stand between the subject and ``label`` and ``desc``, in this order."""
_CASE = re.compile(
    "sub-[A-Za-z0-9]+" + "".join(f"(_{word}-{'[0-9]' if word == 'run' else '[A-Za-z0-9]'}+)?" for word in _ENTITIES),
    re.ASCII,
)

Key = tuple[str, int | None]


def write_bids(folder: Path | str, reads: Iterable[Read]) -> None:
    """A dataset of derivatives: ``sub-01/anat/sub-01_label-lesion_desc-consensus_mask.nii.gz`` and so on.

    ``desc`` is the rater, ``label`` the structure. Names are made of letters and digits, no two the same; sidecars
    tell what they were. A read without marks is a mask of zeros; one that nobody read is not written.
    """
    folder = Path(folder)
    _check(folder)
    write_json(folder / "dataset_description.json", _description())
    names, written = _Names(), set[tuple[str, str, str]]()
    for read in reads:
        key = read.case or read.image, read.rater, read.session
        if key in written:
            raise StudyError(f"rater {read.rater} has two reads of case {key[0]}; name their sessions")
        written.add(key)
        if read.status != "unread":
            _write(folder, read, names)


def _check(folder: Path) -> None:
    """Refuse the folder of another dataset."""
    path = folder / "dataset_description.json"
    if not path.exists():
        return
    try:
        made = json.loads(path.read_bytes())["GeneratedBy"][0]["Name"]
    except (OSError, ValueError, LookupError, TypeError):
        made = None
    if made != OWN:
        raise CallError(f"{folder}: holds another dataset of BIDS; choose a folder of its own, as derivatives/{OWN}")


def _description() -> dict[str, object]:
    from importlib.metadata import version

    return {
        "Name": "Masks written by manytruths",
        "BIDSVersion": VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": OWN, "Version": version(OWN)}],
    }


def _write(folder: Path, read: Read, names: _Names) -> None:
    prefix = names.case(read)
    desc = names.made("desc", (read.rater, read.session), f"{read.rater}{read.session}")
    entities = dict(part.split("-") for part in prefix.split("_"))
    place = folder / f"sub-{entities['sub']}" / (f"ses-{entities['ses']}" if "ses" in entities else "") / "anat"
    masks = _masks(read)
    for key, mask in masks.items() or [(None, np.zeros(read.grid.shape, bool))]:
        label = "" if key is None else f"label-{names.made('label', key, key[0])}_"
        stem = f"{prefix}_{label}desc-{desc}_mask"
        write_map(place / f"{stem}.nii.gz", mask.astype(np.uint8), read.grid)
        write_json(place / f"{stem}.json", _sidecar(read, key))


def _masks(read: Read) -> dict[Key, Mask]:
    """By structure and rank."""
    found: dict[Key, Mask] = {}
    for mark in read.marks:
        window, inside = mark.outline.pixels(read.grid.shape)
        whole = found.setdefault((mark.label, mark.rank), np.zeros(read.grid.shape, bool))
        whole[window] |= inside
    return found


def _sidecar(read: Read, key: Key | None) -> dict[str, object]:
    told = {
        "Case": read.case or read.image,
        "Subject": read.subject,
        "Rater": read.rater,
        "Session": read.session,
        "Status": read.status,
        "BasedOn": read.based_on,
        "Structure": key[0] if key else "",
        "Rank": str(key[1]) if key and key[1] is not None else "",
    }
    return {"Type": "ROI", OWN: {name: value for name, value in told.items() if value}}


class _Names:
    """Letters and digits for whatever things are called, the same ones for the same thing."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, object], str] = {}
        self.taken: set[tuple[str, str]] = set()

    def made(self, kind: str, thing: object, called: str) -> str:
        """A name that nothing else of its kind has; file systems may not tell a from A."""
        if (kind, thing) not in self.known:
            short = plain(called)
            free = (f"{short}{number}" for number in ("", *range(2, 1 << 20)))
            name = next(one for one in free if (kind, one.casefold()) not in self.taken)
            self._take(kind, thing, name)
        return self.known[kind, thing]

    def case(self, read: Read) -> str:
        """The entities of a case: its own where it is called so, or its subject and an acquisition."""
        case = read.case or read.image
        if ("case", case) in self.known:
            return self.known["case", case]
        own = bool(_CASE.fullmatch(case)) and ("case", case.casefold()) not in self.taken
        if not own:
            subject = f"sub-{self.made('sub', read.subject or case, read.subject or case)}"
            acquisition = self.made(subject, case, case)
            alone = not read.subject or read.subject == case
            short = alone and ("case", subject.casefold()) not in self.taken
            name = subject if short else f"{subject}_acq-{acquisition}"
        self._take("case", case, case if own else name)
        return self.known["case", case]

    def _take(self, kind: str, thing: object, name: str) -> None:
        self.known[kind, thing] = name
        self.taken.add((kind, name.casefold()))
        if kind == "case":
            self.taken.add(("sub", name.split("_")[0].removeprefix("sub-").casefold()))


def plain(text: str) -> str:
    """The letters and digits of a text, at most 64 of them.

    >>> plain("Läsion, links (2)")
    'Lasionlinks2'
    """
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub("[^A-Za-z0-9]", "", letters)[:64] or "x"
