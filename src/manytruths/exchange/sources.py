"""Which files to read, and whose they are: paths, ``NAME=path``, folders, or templates with ``{rater}`` in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import CallError, FormatError
from ..formats import Template


@dataclass(frozen=True)
class Source:
    """A file, and what its place says of it."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """``rater``, ``case``, ``session``, ``subject``: as far as they were given."""

    def rater(self, otherwise: str = "") -> str:
        """Whose it is: as given, else as the file says, else as it is called."""
        return self.fields.get("rater") or otherwise or named_after(self.path)


def named_after(path: Path) -> str:
    """What a file is called, or its folder where every export is called the same."""
    stem = path.name.split(".")[0]
    return path.resolve().parent.name if stem in ("annotations", "result", "instances_default", "export") else stem


def sources(paths: Sequence[Path | str], endings: Iterable[str]) -> list[Source]:
    """Every file that the paths stand for; of folders, those that end so."""
    if not paths:
        raise CallError("there is nothing to read: name the files")
    found = [one for path in paths for one in _sources(str(path), tuple(endings))]
    twice = (
        {one.path for one in found if sum(other.path == one.path for other in found) > 1} if len(found) < 999 else ()
    )
    for path in twice:
        raise CallError(f"{path}: is named twice; name every file once")
    return found


def _sources(text: str, endings: tuple[str, ...]) -> list[Source]:
    path, owner = Path(text), {}
    if not path.exists() and "=" in text:
        name, _, rest = text.partition("=")
        path, owner = Path(rest), {"rater": name}
    if not path.exists() and "{" in str(path):
        return [Source(one.location.path, {**owner, **one.fields}) for one in Template(str(path)).find()]
    if path.is_dir():
        return [Source(one, owner) for one in _inside(path, endings)]
    if not path.is_file():
        raise FormatError(f"{path}: there is no such file; correct the path")
    return [Source(path, owner)]


def _inside(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    found = sorted(p for p in folder.rglob("*") if p.is_file() and p.name.lower().endswith(endings))
    if not found:
        raise FormatError(f"{folder}: holds no file that ends in {' or '.join(endings)}; correct the path")
    return found
