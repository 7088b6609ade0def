"""Pages in headless Chromium, and what they say and ask for while somebody uses them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
LAPTOP = {"width": 1366, "height": 800}
PHONE = {"width": 390, "height": 844}
WAIT = 10_000
"""Milliseconds; a busy machine is slow."""


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; where there is none the test is skipped, but in CI it fails."""
    path = shutil.which("chromium")
    if path is None:
        told = "no chromium on the path: apt-get install chromium"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page, and what it said and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def clean(self) -> bool:
        """Nothing was said in the console, and nothing asked of a network."""
        assert self.said == []
        assert [url for url in self.asked if url.split(":")[0] not in ("file", "data", "blob")] == []
        assert self.page.evaluate("window.broken") is None
        return True

    @cached_property
    def viewer(self) -> Viewer:
        return Viewer(self)

    def table(self, name: str) -> Table:
        return Table(self.page, name)


@contextmanager
def opened(browser: Any, path: Path, *, hash: str = "", **options: Any) -> Iterator[Opened]:
    """A page from the disk, without a network; when all is done it must have been silent."""
    from playwright.sync_api import expect

    expect.set_options(timeout=WAIT)
    context = browser.new_context(**{"viewport": LAPTOP, "offline": True, "accept_downloads": True, **options})
    context.set_default_timeout(WAIT)
    shown = Opened(context.new_page())
    shown.page.goto(path.resolve().as_uri() + hash)
    yield shown
    context.close()


@dataclass
class Viewer:
    """The viewer of cases."""

    opened: Opened

    @property
    def page(self) -> Any:
        return self.opened.page

    @property
    def state(self) -> dict[str, Any]:
        return self.page.evaluate("manytruthsViewer.state()")

    def wait(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until something holds for the state; asked from here, as the page lets nobody's scripts run but its own."""
        end = monotonic() + WAIT / 1000
        while not condition(state := self.state):
            assert monotonic() < end, state
            self.page.wait_for_timeout(20)
        return state

    def loaded(self, name: str) -> dict[str, Any]:
        """Until a case is there with all maps."""
        return self.wait(lambda state: state["open"] and state["loaded"] and state["name"] == name)

    def press(self, *keys: str) -> dict[str, Any]:
        for key in keys:
            self.page.keyboard.press(key)
        return self.state

    def settle(self) -> None:
        """Until what was asked for has been laid out and drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def pixels(self) -> str:
        """What the canvas shows, when it has been drawn."""
        self.settle()
        return self.page.evaluate("document.getElementById('viewer-stage').toDataURL()")

    def close(self) -> None:
        self.page.keyboard.press("Escape")
        self.wait(lambda state: not state["open"])

    def at(self, *place: int) -> Any:
        return self.page.evaluate("place => manytruthsViewer.at(...place)", list(place))

    def point_at(self, column: int, row: int, aspect: float = 1) -> None:
        """The mouse on the middle of a pixel of the picture, as it stands on the screen."""
        self.settle()
        box = self.page.locator("#viewer-stage").bounding_box()
        place = self.state["place"]
        across = place["left"] + (column + 0.5) * place["zoom"]
        down = place["top"] + (row + 0.5) * place["zoom"] * aspect
        self.page.mouse.move(box["x"] + across, box["y"] + down)

    def layer(self, name: str) -> None:
        self.page.locator(f'input[name="viewer-layer"][value="{name}"]').check()

    @property
    def told(self) -> str:
        return self.page.locator("#viewer-readout").inner_text()


@dataclass
class Table:
    """A table of the page."""

    page: Any
    name: str

    @property
    def root(self) -> Any:
        return self.page.locator(f"#table-{self.name}")

    def head(self, title: str) -> Any:
        return self.root.locator("thead th").filter(has_text=title).first

    def lines(self) -> list[str]:
        """The first cell of every line that is not filtered away."""
        return self.root.evaluate(
            "table => [...table.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[0].textContent)"
        )

    def values(self, title: str) -> list[str]:
        """The exact values of a column, in the order that is shown."""
        return self.root.evaluate(
            """(table, title) => {
                const column = [...table.tHead.rows[0].cells].findIndex(head => head.textContent.trim() === title);
                const shown = [...table.tBodies[0].rows].filter(line => !line.hidden);
                return shown.map(line => line.cells[column].dataset.v ?? line.cells[column].textContent);
            }""",
            title,
        )

    def tool(self, kind: str) -> Any:
        return self.page.locator(f'.{kind}[data-table="{self.name}"]')
