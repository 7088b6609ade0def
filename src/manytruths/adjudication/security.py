"""Who may talk to the server: this machine's browser, from the page itself, with the token that was printed.

Other sites can make a browser send requests to a loopback address, and can point a name of theirs at it. So the Host
header must be the server's own address (no rebound names), an Origin must be the page's, and everything but the empty
page needs the token in a header, which no form and no image of another site can send. There are no cookies.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HOST = "127.0.0.1"
MOST_BYTES = 4 << 20
"""Of a request: a drawing of all runs that are allowed, with room."""
MOST_READ = 16 << 20
"""Of a request that is refused."""
API = "/api/"
JSON = "application/json"

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""Of every answer."""


def make_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Guard:
    """Lets through what the page of this server sends, and nothing else."""

    app: App
    token: str
    port: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request before the application sees it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        refusal = self._refuse(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        body = await _read_body(receive) if scope["method"] == "POST" else b""
        if body is None:
            await _answer(send, 413, "too_large", f"a request has at most {MOST_BYTES >> 20} MB")
            return
        left = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return left.pop() if left else await receive()

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                added = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items() if k.lower().encode() not in own]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self.app(scope, replay, with_headers)

    def _refuse(self, scope: Scope, headers: list[tuple[str, str]]) -> tuple[int, str, str] | None:
        """Status, code and sentence of a request that is refused; None where it is let through."""
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "host", "this server answers to its own address alone"
        origins = [value for name, value in headers if name == "origin"]
        if any(origin.lower() not in {f"http://{host}" for host in self._hosts} for origin in origins):
            return 403, "origin", "this server answers to its own page alone"
        path, method = scope["path"], scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            return 405, "method", "this server knows GET and POST"
        if not path.startswith(API):
            return None if method != "POST" else (405, "method", "the page is read, not written")
        sites = [value for name, value in headers if name == "sec-fetch-site"]
        if any(site not in ("same-origin", "none") for site in sites):
            return 403, "origin", "this server answers to its own page alone"
        if not self._knows_token([value for name, value in headers if name == "authorization"]):
            return 401, "token", "open the address that the server printed, which carries the token"
        if method == "POST" and dict(headers).get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return 415, "type", "requests are JSON"
        return None

    @property
    def _hosts(self) -> set[str]:
        return {f"{HOST}:{self.port}", f"localhost:{self.port}"}

    def _knows_token(self, given: list[str]) -> bool:
        if len(given) != 1 or not given[0].startswith("Bearer "):
            return False
        return hmac.compare_digest(given[0].removeprefix("Bearer ").encode("latin-1"), self.token.encode())


async def _read_body(receive: Receive) -> bytes | None:
    """The body of a request; None where it is too long, of which some more is read, so that the answer is seen."""
    parts, count = [], 0
    while count <= MOST_READ:
        message = await receive()
        if message["type"] != "http.request":
            break
        part = message.get("body", b"")
        count += len(part)
        if count <= MOST_BYTES:
            parts.append(part)
        if not message.get("more_body"):
            break
    return b"".join(parts) if count <= MOST_BYTES else None


async def _answer(send: Send, status: int, code: str, text: str) -> None:
    body = json.dumps({"error": text, "code": code}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close", **HEADERS}
    await send({
        "type": "http.response.start", "status": status,
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    })  # fmt: skip
    await send({"type": "http.response.body", "body": body})
