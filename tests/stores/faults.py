"""A proxy that puts faults between a client and a store: refusals, connections that break, slow answers."""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


@dataclass
class Faults:
    """Faults by chance. busy, reset, torn, slow: shares of requests that end in a 503, in a broken connection, in half
    an answer, and in an answer that takes `seconds`. refuse: tells of a request (method, path) the status to refuse it
    with, 0 to let it pass. seed: of the chance.
    """

    busy: float = 0.0
    reset: float = 0.0
    torn: float = 0.0
    slow: float = 0.0
    seconds: float = 0.2
    refuse: Callable[[str, str], int] = lambda method, path: 0
    lie: Callable[[str, str, dict[str, str], bytes], tuple[int, dict[str, str], bytes]] | None = None
    seed: int = 0
    chance: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.chance.seed(self.seed)

    def drawn(self) -> str:
        """The fault of the next request, "" for none."""
        at = self.chance.random()
        for name in ("busy", "reset", "torn", "slow"):
            share = getattr(self, name)
            if at < share:
                return name
            at -= share
        return ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def _pass_on(self) -> None:
        proxy: Proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with proxy.lock:
            proxy.requests.append((self.command, self.path))
            fault = proxy.faults.drawn()
        status = proxy.faults.refuse(self.command, self.path)  # it may wait
        if status or fault == "busy":
            self._answer(status or 503, {}, _SLOW_DOWN if (status or 503) == 503 else b"")
        elif fault == "reset":
            self._reset()
        else:
            if fault == "slow":
                time.sleep(proxy.faults.seconds)
            there = http.client.HTTPConnection(proxy.host, proxy.port)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("connection", "expect")}
            there.request(self.command, self.path, body, headers)
            answer = there.getresponse()
            data = answer.read()
            there.close()
            status, given = answer.status, dict(answer.getheaders())
            if proxy.faults.lie is not None and status < 300:
                lied, given, data = proxy.faults.lie(self.command, self.path, given, data)
                status = lied or status
            self._answer(status, given, data, torn=fault == "torn")

    def _answer(self, status: int, headers: dict[str, str], data: bytes, *, torn: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        length = next((v for k, v in headers.items() if k.lower() == "content-length"), "0") if is_head else len(data)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if not is_head:
            self.wfile.write(data[: len(data) // 2] if torn else data)
        if torn:
            self._reset()

    def _reset(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
        self.rfile.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815

    def log_message(self, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        pass  # connections break


class Proxy:
    """Stands ahead of the store at `target` while its body runs. requests: those that came, as (method, path)."""

    def __init__(self, target: str, faults: Faults) -> None:
        address = urlsplit(target)
        self.host, self.port = address.hostname or "", address.port or 80
        self.faults = faults
        self.requests: list[tuple[str, str]] = []
        self.lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self  # type: ignore[attr-defined]
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
