"""The page as HTML: a shell without data for the server, or one file that holds everything and needs neither."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from ..core.errors import InputError
from ..io.front_files import in_script, join_scripts, join_styles, script_digest
from ..io.writing import write_text
from .session import Session

FRONT = Path(__file__).parent / "front"
WORDS = Path(__file__).parent / "words.json"
ENTRY = "page.js"
FORMAT = "manytruths-page"
MOST_BYTES = 300 << 20
"""Of one file; browsers open larger ones slowly, or not at all."""
LOCAL = "connect-src 'self'; "

_SHELL = """<!doctype html>
<html lang="en" data-backend="{backend}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript.</noscript>
<script type="application/json" id="words">{words}</script>
{data}<script>{script}</script>
</body>
</html>
"""


def content_policy(script: str, *, server: bool) -> str:
    """A content security policy: the package's own script alone, and no network but the server's own API."""
    return (
        f"default-src 'none'; script-src '{script_digest(script)}'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"{LOCAL if server else ''}base-uri 'none'; form-action 'none'"
    )


def page_html(title: str, data: str | None = None) -> str:
    """The page; with data, as a file that needs no server."""
    script = join_scripts(FRONT, ENTRY)
    styles = sorted((path.name for path in FRONT.glob("*.css")), key=lambda name: (name == "print.css", name))
    words = json.dumps(json.loads(WORDS.read_text(encoding="utf-8")), ensure_ascii=False)
    element = "" if data is None else f'<script type="application/json" id="data">{in_script(data)}</script>\n'
    return _SHELL.format(
        backend="server" if data is None else "file", policy=escape(content_policy(script, server=data is None)),
        title=escape(title), style=join_styles(FRONT, styles), words=in_script(words), data=element, script=script,
    )  # fmt: skip


def shell_page() -> str:
    """The page without data, which needs no token: links of a report work once it was opened."""
    return page_html("manytruths adjudicate")


def page_headers(page: str) -> dict[str, str]:
    """The policy of a page as headers, where frames can be refused, too."""
    found = re.search(r"<script>(.*)</script>\n</body>", page, re.DOTALL)
    assert found is not None
    return {"Content-Security-Policy": content_policy(found[1], server=True) + "; frame-ancestors 'none'"}


def write_page(path: Path, session: Session, progress: Callable[[int, int], None] | None = None) -> int:
    """Write the page and all that it shows as one file; the number of disputes in it."""
    state, queue = session.state(), session.queue()
    items: dict[str, Any] = {}
    outlines: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    images: dict[str, list[str]] = {}
    blobs: dict[str, str] = {}
    size = 0
    for number, each in enumerate(queue, start=1):
        id = each["id"]
        items[id] = session.item(id) | session.place_of(id)
        outlines[id] = session.outlines(id, whole=True)
        extra[id] = {what: session.extra(id, what, whole=True) for what in session.settings.show}
        images[id] = []
        for series in range(len(items[id]["series"])):
            block = session.image(id, series)
            if block is None:
                continue
            # disputes of one slice show the same block
            key = hashlib.sha256(block).hexdigest()[:16]
            if key not in blobs:
                blobs[key] = base64.b64encode(gzip.compress(block, 6, mtime=0)).decode()
                size += len(blobs[key])
            images[id].append(key)
        size += len(json.dumps(outlines[id]))
        if size > MOST_BYTES:
            raise InputError(
                f"{path}: would be larger than {MOST_BYTES >> 20} MB after {number} of {len(queue)} disputes; write "
                "several files with --only-group, --only-label or --only-kind, lower --min-dice, or use the server"
            )
        if progress is not None:
            progress(number, len(queue))
    whole = {
        "format": FORMAT, "version": 1, "state": {**state, "place": {}}, "queue": {"items": queue}, "items": items,
        "outlines": outlines, "extra": extra, "images": images, "blobs": blobs,
    }  # fmt: skip
    write_text(path, page_html(f"{state['study']['title']}: disputes", json.dumps(whole, ensure_ascii=False)))
    return len(queue)
