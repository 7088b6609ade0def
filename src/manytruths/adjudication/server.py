"""The server behind the page: requests to calls of the session, on the loopback address alone."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import logging
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.errors import CallError, InputError, ManytruthsError, one_line
from ..io.decision_log import NotSaved
from .page import page_headers, shell_page
from .security import HOST, Guard
from .session import Refused, Session

FIRST_PORT, PORTS = 41000, 8000
"""Ports by default: one of these for each study."""
MOST_ZOOM = 20
"""How often an image can be halved."""
PATIENCE = 2
"""Seconds that open requests get when the server ends."""


def need_app() -> None:
    """Raise an error that names the extra where Starlette or uvicorn are not installed."""
    for name in ("starlette", "uvicorn"):
        try:
            importlib.import_module(name)
        except ImportError:
            raise InputError(
                f'adjudicate needs {name}; install it with pip install "manytruths[app]", or use --html or --xlsx'
            ) from None


def port_of(digest: str) -> int:
    """The port of a study: always the same, so that the page finds what the browser kept for it.

    >>> port_of("a") == port_of("a"), 41000 <= port_of("b") < 49000
    (True, True)
    """
    return FIRST_PORT + int.from_bytes(hashlib.sha256(digest.encode()).digest()[:4], "big") % PORTS


def check_port(port: int | None) -> None:
    """Refuse what is no port."""
    if port is not None and not 0 <= port < 1 << 16:
        raise CallError(f"port is {port}; it is a number from 1 to 65535, or 0 for any that is free")


def bind(port: int) -> socket.socket:
    """A socket on the loopback address; a port that is in use is an error of one line."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_REUSEADDR") and not hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
        bound.listen(64)
    except OSError as error:
        bound.close()
        raise InputError(
            f"port {port} cannot be used ({error.strerror or error}); stop what runs there, or choose another --port"
        ) from None
    return bound


def make_app(session: Session, token: str, port: int) -> Guard:
    """The application of a session."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    shell = shell_page()

    async def page(request: Request) -> Response:
        return HTMLResponse(shell, headers=page_headers(shell))

    def reads(
        answer: Callable[[Request], Any | Awaitable[Any]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                session.refresh()
                found = answer(request)
                if asyncio.iscoroutine(found):
                    found = await found
                return JSONResponse(found) if not isinstance(found, Response) else found
            except Refused as refused:
                return _error(refused.status, refused.code, str(refused))
            except NotSaved as error:
                status = 507 if error.full else 503
                return _error(status, "not_saved", f"the decision was not saved: {one_line(str(error))}")
            except (ManytruthsError, OSError) as error:
                return _error(500, "failed", one_line(str(error)))
            except Exception as error:
                text = one_line(f"unexpected error: {type(error).__name__}: {error}")
                print(f"manytruths: {text}", file=sys.stderr, flush=True)
                return _error(500, "failed", text)

        return endpoint

    def _error(status: int, code: str, text: str) -> Response:
        return JSONResponse({"error": text, "code": code}, status)

    def writes(answer: Callable[[Request, dict[str, Any]], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def body_of(request: Request) -> Any:
            try:
                body = json.loads(await request.body())
            except (ValueError, RecursionError):
                raise Refused(400, "json", "the request is no JSON") from None
            if not isinstance(body, dict):
                raise Refused(400, "json", "the request is no JSON object")
            # all writing is done here, in the one thread that holds the log
            return answer(request, body)

        return reads(body_of)

    def id_of(request: Request) -> str:
        return str(request.path_params["id"])

    async def item(request: Request) -> Any:
        known = session.item(id_of(request))
        return known | await asyncio.to_thread(session.place_of, id_of(request))

    def block(make: Callable[[Request], bytes | None]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            session.find(id_of(request))
            # as it is: to pack a block takes longer than to send it to this machine's browser
            found = await asyncio.to_thread(make, request)
            if found is None:
                return Response(status_code=204)
            return Response(found, media_type="application/octet-stream")

        return answer

    def image(request: Request) -> bytes | None:
        series = request.query_params.get("series", "0")
        if not series.isdecimal() or len(series) > 3:
            raise Refused(422, "series", "series is a number")
        return session.image(id_of(request), int(series))

    def tile(request: Request) -> bytes | None:
        given = [request.query_params.get(name, "") for name in ("zoom", "row", "column")]
        if not all(each.isascii() and each.isdecimal() and len(each) <= 6 for each in given):
            raise Refused(422, "tile", "zoom, row and column are numbers")
        zoom, row, column = map(int, given)
        if zoom > MOST_ZOOM:
            raise Refused(422, "tile", f"zoom is at most {MOST_ZOOM}")
        return session.tile(id_of(request), zoom, row, column)

    def outlines(request: Request) -> Any:
        return asyncio.to_thread(session.outlines, id_of(request))

    def extra(request: Request) -> Any:
        return asyncio.to_thread(session.extra, id_of(request), request.query_params.get("what", ""))

    get: dict[str, Callable[[Request], Any]] = {
        "state": lambda request: session.state(),
        "queue": lambda request: {"items": session.queue()},
        "items/{id}": item,
        "items/{id}/image": block(image),
        "items/{id}/tile": block(tile),
        "items/{id}/overview": block(lambda request: session.overview(id_of(request))),
        "items/{id}/outlines": outlines,
        "items/{id}/extra": extra,
    }

    def nothing(request: Request) -> Any:
        raise Refused(404, "path", "there is no such request")

    def post(request: Request, body: dict[str, Any]) -> Any:
        return session.post(request.url.path.removeprefix("/api/"), body)

    routes = [
        Route("/", page),
        *(Route(f"/api/{path}", reads(answer)) for path, answer in get.items()),
        Route("/api/{path:path}", reads(nothing)),
        Route("/api/{path:path}", writes(post), methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), token, port)


def serve(app: Guard, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Answer requests until Ctrl-C; ``ready`` is called once requests are answered."""
    import uvicorn

    for name in ("uvicorn.error", "uvicorn.asgi"):
        # what browsers send that is no HTTP is answered, and nothing for the terminal
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False

    class Server(uvicorn.Server):  # type: ignore[misc, unused-ignore]
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            before = {number: signal.signal(number, self.handle_exit) for number in _stopping()}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, date_header=False, lifespan="off", ws="none",
        http="h11", loop="asyncio", timeout_graceful_shutdown=PATIENCE, proxy_headers=False,
    )  # fmt: skip
    Server(config).run(sockets=[bound])


def _stopping() -> list[signal.Signals]:
    import threading

    if threading.current_thread() is not threading.main_thread():
        return []
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
