"""Scripts and style sheets of pages: files of a folder as one text each, which a page holds and its policy allows."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

IMPORT = re.compile(r"^import\b[^;]*?[\"']\./([\w.-]+)[\"'];[ \t]*\n?", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async |function|class|const|let)\b)", re.MULTILINE)


def join_scripts(folder: Path, entry: str) -> str:
    """The modules that an entry needs as one script without imports, each after those that it imports."""
    modules = ((folder / name).read_text(encoding="utf-8") for name in module_order(folder, entry))
    return "\n".join(EXPORT.sub("", IMPORT.sub("", module)).strip() + "\n" for module in modules)


def join_styles(folder: Path, names: Sequence[str]) -> str:
    """Style sheets as one."""
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def module_order(folder: Path, entry: str) -> list[str]:
    """The modules that an entry needs, imported ones first."""
    modules: list[str] = []
    for needed in IMPORT.findall((folder / entry).read_text(encoding="utf-8")):
        modules += [name for name in module_order(folder, needed) if name not in modules]
    return [*modules, entry]


def script_digest(script: str) -> str:
    """The digest by which a content security policy allows a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def in_script(text: str) -> str:
    """JSON that can neither end its element nor open a comment."""
    return text.replace("<", "\\u003c")
