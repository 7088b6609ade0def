"""The front end in one piece: style sheets and scripts as the page holds them."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

FRONT = Path(__file__).parent / "front"
ENTRY = "page.js"
STYLES = ("page.css", "viewer.css", "print.css")
IMPORT = re.compile(r"^import\b[^;]*?[\"']\./([\w.-]+)[\"'];[ \t]*\n?", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async |function|class|const|let)\b)", re.MULTILINE)


def scripts(folder: Path | None = None) -> str:
    """Every module that the page needs, each behind those it imports, as one module without imports."""
    return "\n".join(_without_imports(name, folder or FRONT) for name in module_order(folder or FRONT))


def styles(folder: Path | None = None) -> str:
    """The style sheets, the one for paper last."""
    return "\n".join(((folder or FRONT) / name).read_text(encoding="utf-8") for name in STYLES)


def module_order(folder: Path, entry: str = ENTRY) -> list[str]:
    """The modules behind an entry, imported ones first."""
    modules: list[str] = []
    for needed in IMPORT.findall((folder / entry).read_text(encoding="utf-8")):
        modules += [name for name in module_order(folder, needed) if name not in modules]
    return [*modules, entry]


def digest(script: str) -> str:
    """How a content security policy names a script that may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _without_imports(name: str, folder: Path) -> str:
    return EXPORT.sub("", IMPORT.sub("", (folder / name).read_text(encoding="utf-8"))).strip() + "\n"
