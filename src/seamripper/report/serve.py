"""serve: browse the runs of a folder while they fill, from this machine alone.

It answers GET and HEAD, writes nothing, and serves nothing but the list of runs, their reports and their tables. Only
requests that name this machine as their host are answered: a page from elsewhere whose name was made to lead here (DNS
rebinding) reads nothing.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ipaddress
import json
import math
import os
import re
import socket
import socketserver
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from markupsafe import Markup, escape

from seamripper.errors import ExperimentError, SeamripperError
from seamripper.experiment.reading import Reading
from seamripper.experiment.results import as_csv, table
from seamripper.experiment.store import Store
from seamripper.report.beside import beside
from seamripper.report.html import asset, lay_out, page, template
from seamripper.report.runs import RunRow, Runs, Stamp, address, is_settled, stamp
from seamripper.report.story import story_of

PORT = 8642
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_KEPT = 8
"""Reports that are kept for whoever looks again."""
PATIENCE = 10.0
"""Seconds that a request may take to arrive, from its connection to its last header."""
_TAKING = 6
"""So many times as long its answer may take to be read: a report of many MB through a tunnel."""
MOST = 64
"""Connections that are held at once. A browser opens about six; each takes a thread."""
_TABLE = "results.csv"

_STYLE, _SCRIPT = asset("serve.css"), asset("serve.js")


def _hash(text: str) -> str:
    """How a policy names the one style or script that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_NOTHING = "default-src 'none'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
_OWN = f"{_NOTHING}; form-action 'self'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; connect-src 'self'"
_REPORT = f"{_NOTHING}; form-action 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""A report is one file with its styles and scripts in it: it may use them, and close its dialogs, and reach nothing."""


def _page(title: str, *, runs: Sequence[RunRow] = (), sentence: str = "") -> str:
    """A page of this server's own: the list of runs, or a sentence."""
    facts = {"title": title, "runs": runs, "sentence": sentence}
    return template("serve.html").render(**facts, style=Markup(_STYLE), script=Markup(_SCRIPT))


class _RefusedError(Exception):
    """An answer that is no page: a status and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


_NOT_FOUND = _RefusedError(HTTPStatus.NOT_FOUND, "There is nothing under this address. Is the run gone, or a link?")


class RunServer(ThreadingHTTPServer):
    """A server that is bound and not yet serving: `serve_forever`, or `with RunServer("runs") as server`.

    On an address that other machines reach, only requests that name that very host are answered. A request has
    `patience` seconds to arrive, however its bytes trickle in; above `most` connections, further ones are turned away.
    """

    daemon_threads = True
    allow_reuse_port = False
    # Five, as usual, are soon taken; whoever comes then is not heard for seconds.
    request_queue_size = 128

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        patience: float = PATIENCE,
        most: int = MOST,
    ) -> None:
        self.patience, self.most = patience, most
        self._open: dict[socket.socket, float] = {}
        """The connections, each with the moment by which its request must have arrived; infinity once it has."""
        self._counting = threading.Lock()
        self.runs = Runs(folder)
        self._rendering = threading.Lock()
        self._pages: dict[tuple[str, str | None], tuple[Stamp, tuple[str, ...], str]] = {}
        bare = host.strip("[]")
        self._host = f"[{bare}]" if ":" in bare else bare
        try:
            self.address_family, *_, place = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0]
            here = ipaddress.ip_address(str(place[0]).partition("%")[0])
            self.open_to_others = not here.is_loopback
            # Bound to every address (a container's, say), it is still asked for by a name of this machine's own.
            everywhere = here.is_loopback or here.is_unspecified
            self.hosts = frozenset({self._host.lower(), *(_LOOPBACK if everywhere else ())})
            super().__init__((bare, port), _Handler)
        except (OSError, OverflowError) as e:
            raise ExperimentError(
                f"{folder} cannot be served on {self._host}, port {port}: {getattr(e, 'strerror', None) or e}. "
                "Give another --port (0 takes any that is free), or another --host."
            ) from e

    def server_bind(self) -> None:
        """Bind, without asking the network for this machine's name as `HTTPServer` does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self._host, int(self.server_address[1])

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return f"http://{self._host}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, or turn it away where there are too many."""
        with self._counting:
            welcome = len(self._open) < self.most
            if welcome:
                self._open[request] = time.monotonic() + self.patience
        if welcome:
            super().process_request(request, client_address)
        else:
            _turn_away(request)
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Drop connections whose request has not arrived in time: `serve_forever` calls this again and again."""
        now = time.monotonic()
        with self._counting:
            late = [connection for connection, end in self._open.items() if end < now]
        for connection in late:
            # Its thread, which waits for a byte, then finds the end of the request, and closes it.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def has_arrived(self, request: socket.socket) -> bool:
        """Say that all of a request is there; whether that was in time."""
        with self._counting:
            in_time = self._open.get(request, 0.0) > time.monotonic()
            if in_time:
                self._open[request] = math.inf
        return in_time

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and let another take its place."""
        super().shutdown_request(request)
        with self._counting:
            self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever asked has gone, and everything else was answered with a page."""

    def answers_to(self, host: str) -> bool:
        """Whether a `Host` header names this machine. Any port will do: behind a tunnel (ssh -L) it is another."""
        parts = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:@/\s]+)(:[0-9]{1,5})?", host)
        return parts is not None and parts[1].lower() in self.hosts

    def report(self, name: str, path: Path, experiment: str | None) -> str:
        """The report of a run, rendered anew only if the run has changed or its experiment was begun or ended."""
        with self._rendering:
            states = tuple(
                f"{row.experiment}: {row.state}" for row in self.runs.rows() if row.url.startswith(address(name))
            )
            now = stamp(path)
            known = self._pages.get((name, experiment))
            if known is not None and known[:2] == (now, states):
                return known[2]
            with self.runs.read(name, path):
                text = page(path, experiment=experiment).replace(escape(str(path)), escape(str(self.runs.public(name))))
            self._pages.pop((name, experiment), None)
            if is_settled(now):
                self._pages[name, experiment] = now, states, text
            while len(self._pages) > _KEPT:
                del self._pages[next(iter(self._pages))]
            return text

    def beside(self, chosen: Sequence[tuple[str, Path, str]]) -> str:
        """The page of two experiments, each given by its store's name and path, and its own name."""
        stories, names = [], []
        with self._rendering:
            for name, path, experiment in chosen:
                with self.runs.read(name, path):
                    stories.append(story_of(Reading.open(path, experiment=experiment)))
                store = name or self.runs.name
                names.append(store if Path(store).name == experiment else f"{store}: {experiment}")
            return lay_out(beside((stories[0], stories[1]), (names[0], names[1])), f"from {names[0]} and {names[1]}")

    def table(self, name: str, path: Path, experiment: str | None) -> str:
        """The table of a run's results."""
        with self.runs.read(name, path), Store(path) as store:
            return as_csv(*table(store, experiment))


def _turn_away(connection: socket.socket) -> None:
    """Say that there are too many, as far as that goes without waiting."""
    body = b"There are too many connections to seamripper serve. Try again in a moment.\n"
    head = f"HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    with contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.send(f"{head}Retry-After: {PATIENCE:.0f}\r\nConnection: close\r\n\r\n".encode() + body)
        # What has been sent and not read would make the system take the answer back.
        connection.recv(65536)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: RunServer
    server_version, sys_version = "seamripper", ""

    def setup(self) -> None:
        """No wait for a byte is longer than that for the whole request."""
        super().setup()
        self.connection.settimeout(self.server.patience)

    def do_GET(self) -> None:
        """Answer with a page, a table or a sentence."""
        if not self.server.has_arrived(self.connection):
            self.close_connection = True
            return
        try:
            hosts = self.headers.get_all("Host") or []
            if len(hosts) != 1 or not self.server.answers_to(hosts[0].strip()):
                raise _RefusedError(
                    HTTPStatus.FORBIDDEN,
                    f"Expected a request for {' or '.join(sorted(self.server.hosts))}, but it was for another host. "
                    "`seamripper serve --host NAME` serves under another name.",
                )
            self._route(*self.path.partition("?")[::2])
        except _RefusedError as e:
            self._say(e.status, str(e))
        except (ConnectionError, TimeoutError):
            raise
        except SeamripperError as e:
            self._say(HTTPStatus.CONFLICT, str(e))
        except Exception as e:
            self._say(HTTPStatus.INTERNAL_SERVER_ERROR, f"This could not be shown: {type(e).__name__}: {e}")

    def do_HEAD(self) -> None:
        """Answer as to GET, without what would be shown."""
        self.do_GET()

    def _route(self, path: str, query: str) -> None:
        if path == "/":
            rows = self.server.runs.rows()
            self._send(_page(f"Runs in {self.server.runs.name}", runs=rows), "text/html")
        elif path == "/runs.json":
            self._send(json.dumps({"runs": [asdict(row) for row in self.server.runs.rows()]}), "application/json")
        elif path == "/beside":
            self._beside(parse_qs(query, errors="surrogateescape").get("run", []))
        elif path.startswith("/run/"):
            self._run(path.removeprefix("/run/"), query)
        else:
            raise _NOT_FOUND

    def _beside(self, words: list[str]) -> None:
        stores = self.server.runs.stores()
        chosen = [(name, experiment) for name, _, experiment in (word.rpartition("?") for word in words)]
        if len(chosen) != 2:
            raise _RefusedError(
                HTTPStatus.BAD_REQUEST, f"Expected two runs to be shown side by side, but {len(chosen)} were chosen."
            )
        if any(name not in stores for name, _ in chosen):
            raise _NOT_FOUND
        text = self.server.beside([(name, stores[name], experiment) for name, experiment in chosen])
        self._send(text, "text/html", policy=_REPORT)

    def _run(self, rest: str, query: str) -> None:
        quoted, slash, last = rest.rpartition("/")
        name = unquote(quoted, errors="surrogateescape")
        stores = self.server.runs.stores()
        experiment = parse_qs(query).get("experiment", [None])[0]
        if name in stores and (slash or not name) and last == "":
            self._send(self.server.report(name, stores[name], experiment), "text/html", policy=_REPORT)
        elif name in stores and last == _TABLE:
            text = self.server.table(name, stores[name], experiment)
            self._send(text, "text/csv", {"Content-Disposition": f'attachment; filename="{_TABLE}"'})
        elif (whole := unquote(rest, errors="surrogateescape")) in stores:
            self._send("", "text/plain", {"Location": address(whole)}, status=HTTPStatus.FOUND)
        else:
            raise _NOT_FOUND

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request that this server takes; the standard library calls it."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._say(
                HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD are answered: nothing can be changed from here."
            )
        else:
            self._say(HTTPStatus(code), "Expected a request as browsers send it, but this one cannot be read.")

    def _say(self, status: HTTPStatus, sentence: str) -> None:
        text = _page(f"{status.value} {status.phrase}", sentence=sentence)
        more = {"Allow": "GET, HEAD"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
        self._send(text, "text/html", more, status=status)

    def _send(
        self,
        text: str,
        kind: str,
        more: dict[str, str] | None = None,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        policy: str = _OWN,
    ) -> None:
        body = text.encode("utf-8", "replace")
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            **(more or {}),
        }
        self.close_connection = True
        self.connection.settimeout(_TAKING * self.server.patience)
        with contextlib.suppress(ConnectionError, TimeoutError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep no log."""
