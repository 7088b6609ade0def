"""The page of ``adjudicate`` in a browser: what it shows, and what a keyboard and a mouse do in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from browser import WAIT

NAME = "Dr. Weber"
"""What is typed where a page asks who settles the disputes."""
WIDE = {"width": 1280, "height": 800}


@dataclass
class Desk:
    """A page at which disputes are settled."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    @property
    def state(self) -> dict[str, Any]:
        return self.page.evaluate("manytruthsAdjudication.state()")

    def wait(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until something holds for the state."""
        end = monotonic() + WAIT / 1000
        while not condition(state := self.state):
            assert monotonic() < end, state
            self.page.wait_for_timeout(10)
        return state

    def at(self, step: str) -> dict[str, Any]:
        """Until the page asks for this, and all that was done is saved."""
        return self.wait(lambda state: state["step"] == step and state.get("waiting") == 0)

    def press(self, *keys: str) -> dict[str, Any]:
        for key in keys:
            self.page.keyboard.press(key)
        return self.state

    def look(self, key: str = "l") -> dict[str, Any]:
        """The first look; the outlines when they are there."""
        self.at("look")
        self.press(key)
        return self.at("outlines")

    def decide(self, *keys: str, look: str = "l") -> dict[str, Any]:
        """A dispute from the first look to the saved decision."""
        before = self.look(look)
        self.press(*keys, "Enter")
        return self.wait(lambda state: state["opened"] != before["opened"] or state["step"] == "end")

    def drag(self, *points: tuple[float, float], button: str = "left") -> dict[str, Any]:
        """The mouse from point to point, in columns and rows of the block."""
        places = [self.page.evaluate("([x, y]) => manytruthsAdjudication.at(x, y)", list(point)) for point in points]
        self.page.mouse.move(**places[0])
        self.page.mouse.down(button=button)
        for place in places[1:]:
            self.page.mouse.move(**place, steps=4)
        self.page.mouse.up(button=button)
        return self.state

    @property
    def words(self) -> str:
        return self.page.locator("#panel").inner_text()

    @property
    def decisions(self) -> dict[str, Any]:
        """The file that the page saves."""
        with self.page.expect_download() as waiting:
            self.page.keyboard.press("Control+s")
        return json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))


@contextmanager
def desk(browser: Any, address: str, **options: Any) -> Iterator[Desk]:
    """A page in a browser that knows nothing yet; at the end nothing may have been said or asked of a network."""
    context = browser.new_context(**{"viewport": WIDE, "accept_downloads": True, **options})
    context.set_default_timeout(WAIT)
    shown = Desk(context.new_page())
    shown.page.goto(address)
    if address.startswith("file:"):
        shown.page.get_by_label("Name").fill(NAME)
        shown.page.keyboard.press("Enter")
    shown.wait(lambda state: state["step"] not in ("starting", "loading"))
    yield shown
    assert [line for line in shown.said if "Failed to load resource" not in line] == []
    assert [
        url for url in shown.asked if not url.startswith((address.split("#")[0].rstrip("/"), "blob:", "data:"))
    ] == []
    context.close()
