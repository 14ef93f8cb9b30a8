"""A store of S3's protocol in memory, whose answers are at random wrong in a way that a reader can see, or lost.

Google's XML interface has the same requests, so it answers these, too, and plain web requests.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import random
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

MOMENT, LATER = "Mon, 01 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:01 GMT"
ENDLESS = 64 << 20
"""Bytes after which an answer without an end stops all the same."""
Answer = tuple[int, dict[str, str], bytes]

LIES: dict[str, tuple[str, ...]] = {
    "GET": (
        "range",
        "tag",
        "short",
        "long",
        "total",
        "no range",
        "no tag",
        "no length",
        "busy",
        "slow",
        "reset",
        "torn",
        "no end",
        "far end",
    ),
    "HEAD": ("size", "no tag", "no size", "tag", "busy", "reset", "elsewhere", "word", "below 0", "long text"),
    "POST uploads": ("no xml", "cut xml", "no id", "lost", "lost twice", "busy", "reset"),
    "PUT part": ("no tag", "tag", "lost", "busy", "slow", "twice", "reset", "empty"),
    "POST complete": ("cut xml", "no xml", "error of 200", "lost", "lost twice", "busy", "twice", "reset", "gone"),
    "DELETE": ("lost", "lost twice", "busy", "twice", "reset"),
    "GET uploads": ("cut xml", "busy", "reset", "endless", "no xml"),
    "GET parts": ("cut xml", "busy", "reset"),
    "PUT": ("lost", "busy", "twice", "reset", "no tag"),
}
"""By request: the wrong answers to it. A lost one has had its effect; a busy one has none."""


class Lying:
    """One bucket's objects and uploads. share: of the requests that get a wrong answer. rng: draws them.

    kinds: the wrong answers that are drawn, all if None.
    """

    def __init__(self, rng: random.Random, share: float, kinds: set[str] | None = None) -> None:
        self.rng = rng
        self.share = share
        self.kinds = kinds
        self.objects: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}
        self.uploads: dict[str, tuple[str, datetime, dict[int, bytes]]] = {}
        self.lies: list[str] = []
        self.forced: dict[str, str] = {}
        """By request: the wrong answer to all such requests."""
        self.tagged = True
        """Whether answers have an ETag."""
        self.moments: Iterator[str] = itertools.repeat(MOMENT)
        """For each answer about an object: when it was changed."""
        self.given = 0
        """The most bytes that a reader took of an answer without an end, about."""
        self.page = 1000
        """Uploads on a page of their list."""
        self.address = ""
        self.lock = threading.Lock()
        self._names = itertools.count(1)
        self._lost: dict[str, int] = {}

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = data
        self.tags[key] = _digest(data)

    def begin(self, key: str, moment: datetime | None = None) -> str:
        name = f"upload-{next(self._names)}"
        self.uploads[name] = (key, moment or datetime.now(UTC), {})
        return name

    def lie(self, kind: str) -> str:
        """The wrong answer to the next request of a kind, "" for none."""
        with self.lock:
            if kind in self.forced:
                return self.forced[kind]
            again = self._lost.get(kind, 0)
            if again:
                self._lost[kind] = again - 1
                return "lost"
            if self.rng.random() >= self.share:
                return ""
            found = self.rng.choice(LIES[kind])
            if self.kinds is not None and f"{kind}: {found}" not in self.kinds:
                return ""
            if found == "lost twice":
                self._lost[kind], found = 9, "lost"
            self.lies.append(f"{kind}: {found}")
            return found


def _digest(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _error(status: int, code: str, text: str = "no") -> Answer:
    return status, {}, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{text}</Message></Error>".encode()


def _xml(name: str, inner: str) -> bytes:
    return f"<?xml version='1.0' encoding='UTF-8'?><{name}>{inner}</{name}>".encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def _serve(self) -> None:
        body = self._body()
        address = urlsplit(self.path)
        bucket, _, key = unquote(address.path).lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        store: Lying | None = self.server.buckets.get(bucket)
        if store is None:
            return self._send(*_error(404, "NoSuchBucket"))
        kind = self.command
        if kind == "POST":
            kind = "POST uploads" if "uploads" in query else "POST complete"
        elif kind == "PUT" and "partNumber" in query:
            kind = "PUT part"
        elif kind == "GET" and ("uploads" in query or "uploadId" in query):
            kind = "GET uploads" if "uploads" in query else "GET parts"
        lie = store.lie(kind)
        if lie in ("busy", "slow"):
            return self._send(*(_error(503, "SlowDown") if lie == "slow" else (503, {}, b"")))
        if lie == "reset":
            return self._reset()
        if lie == "elsewhere":
            return self._send(307, {"Location": f"http://127.0.0.1:{self.server.server_port}/elsewhere"}, b"")
        if lie == "long text":
            return self._send(*_error(400, "A" * 50_000, "m" * 50_000))
        if lie == "gone" and (upload := store.uploads.pop(query.get("uploadId", ""), None)):
            del upload
        do: Callable[[], Answer] = lambda: _done(store, kind, key, query, body, self.headers)  # noqa: E731
        with store.lock:
            status, headers, data = do()
            if lie == "twice":
                status, headers, data = do()
        if lie == "lost":
            return self._send(500, {}, b"") if store.rng.random() < 0.5 else self._reset()
        if status < 300:
            status, headers, data = _told(store, kind, key, lie, (status, headers, data))
        if lie == "endless error":
            status, headers, data = _error(400, "Bad")
        if lie == "endless error" or (lie in ("no end", "far end") and status < 300):
            headers = {name: value for name, value in headers.items() if name != "Content-Length"}
            return self._send_on(store, status, headers, data, chunked=lie != "far end")
        return self._send(status, headers, data, lie=lie)

    def _send_on(self, store: Lying, status: int, headers: dict[str, str], data: bytes, *, chunked: bool) -> None:
        """A body that goes on and on after the right bytes, or of a length that is far off."""
        self.send_response_only(status)
        length = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(1 << 40)}
        for name, value in {**headers, **length}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        sent, block = 0, data
        with contextlib.suppress(OSError):  # the reader went away
            while sent < ENDLESS:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block) if chunked and block else block)
                sent += len(block)
                store.given = max(store.given, sent)
                block = b"z" * (1 << 20)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            found = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            data = found
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            found, rest = b"", data
            while True:
                line, _, rest = rest.partition(b"\r\n")
                count = int(line.split(b";")[0], 16)
                if not count:
                    break
                found, rest = found + rest[:count], rest[count + 2 :]
            return found
        return data

    def _send(self, status: int, headers: dict[str, str], data: bytes, lie: str = "") -> None:
        self.send_response_only(status)
        self.send_header("Date", format_datetime(datetime.now(UTC), usegmt=True))
        for name, value in headers.items():
            self.send_header(name, value)
        closes = lie in ("no length", "no size", "torn")
        if "Content-Length" not in headers and lie not in ("no length", "no size"):
            self.send_header("Content-Length", str(len(data)))
        if closes:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if lie == "torn" else data)
        if lie == "torn":
            self._reset()

    def _reset(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        self.rfile.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815

    def log_message(self, *args: object) -> None:
        pass


def _done(store: Lying, kind: str, key: str, query: dict[str, str], body: bytes, asked: Any) -> Answer:
    """Do what a request asks for, and answer it as a store should."""
    upload = store.uploads.get(query.get("uploadId", ""))
    if "uploadId" in query and upload is None:
        return _error(404, "NoSuchUpload")
    if kind == "POST uploads":
        name = store.begin(key)
        inner = f"<Bucket>b</Bucket><Key>{escape(key)}</Key><UploadId>{name}</UploadId>"
        return 200, {"Content-Type": "application/xml"}, _xml("InitiateMultipartUploadResult", inner)
    if kind == "PUT part" and upload:
        upload[2][int(query["partNumber"])] = body
        return 200, {"ETag": _digest(body)}, b""
    if kind == "POST complete" and upload:
        return _completed(store, key, query["uploadId"], body)
    if kind == "DELETE":
        store.uploads.pop(query["uploadId"], None)
        return 204, {}, b""
    if kind == "GET uploads":
        return 200, {"Content-Type": "application/xml"}, _listed(store, query)
    if kind == "GET parts":
        return 200, {"Content-Type": "application/xml"}, _xml("ListPartsResult", "<IsTruncated>false</IsTruncated>")
    if kind == "PUT":
        store.put(key, body)
        return 200, {"ETag": store.tags[key]}, b""
    return _given(store, kind, key, asked)


def _given(store: Lying, kind: str, key: str, asked: Any) -> Answer:
    """The answer to a GET or HEAD of an object."""
    if key not in store.objects:
        return _error(404, "NoSuchKey")
    data, tag = store.objects[key], store.tags[key]
    wanted = asked.get("If-Match")
    if store.tagged and wanted and wanted.strip('"') != tag.strip('"'):
        return _error(412, "PreconditionFailed")
    head = {"Last-Modified": next(store.moments), "Accept-Ranges": "bytes"}
    if store.tagged:
        head["ETag"] = tag
    span = re.fullmatch(r"bytes=(\d+)-(\d+)", asked.get("Range", ""))
    if kind == "HEAD":
        return 200, {**head, "Content-Length": str(len(data))}, b""
    if span is None:
        return 200, head, data
    low, high = int(span[1]), min(int(span[2]) + 1, len(data))
    if low >= len(data):
        return _error(416, "InvalidRange")
    return 206, {**head, "Content-Range": f"bytes {low}-{high - 1}/{len(data)}"}, data[low:high]


def _completed(store: Lying, key: str, name: str, body: bytes) -> Answer:
    parts = store.uploads[name][2]
    wanted = [
        (int(number), tag.replace("&quot;", '"').replace("&#34;", '"'))
        for one in re.findall(r"<Part>.*?</Part>", body.decode(), re.DOTALL)
        for number in re.findall(r"<PartNumber>(\d+)<", one)
        for tag in re.findall(r"<ETag>(.*?)</ETag>", one)
    ]
    for number, tag in wanted:
        if number not in parts or _digest(parts[number]).strip('"') != tag.strip('"'):
            return _error(400, "InvalidPart")
    data = b"".join(parts[number] for number, _ in wanted)
    digests = b"".join(hashlib.md5(parts[number], usedforsecurity=False).digest() for number, _ in wanted)
    store.objects[key] = data
    store.tags[key] = f'"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(wanted)}"'
    del store.uploads[name]
    inner = f"<Bucket>b</Bucket><Key>{escape(key)}</Key><ETag>{escape(store.tags[key])}</ETag>"
    return 200, {"Content-Type": "application/xml"}, _xml("CompleteMultipartUploadResult", inner)


def _listed(store: Lying, query: dict[str, str]) -> bytes:
    """A page of the uploads under way."""
    found = sorted(
        (key, name) for name, (key, _, _) in store.uploads.items() if key.startswith(query.get("prefix", ""))
    )
    after = (query.get("key-marker", ""), query.get("upload-id-marker", ""))
    found = [one for one in found if one > after] if after[0] else found
    page, more = found[: store.page], len(found) > store.page
    inner = "".join(
        f"<Upload><Key>{escape(key)}</Key><UploadId>{name}</UploadId>"
        f"<Initiated>{store.uploads[name][1].strftime('%Y-%m-%dT%H:%M:%S.000Z')}</Initiated></Upload>"
        for key, name in page
    )
    inner += f"<IsTruncated>{str(more).lower()}</IsTruncated>"
    if more:
        inner += f"<NextKeyMarker>{escape(page[-1][0])}</NextKeyMarker>"
        inner += f"<NextUploadIdMarker>{page[-1][1]}</NextUploadIdMarker>"
    return _xml("ListMultipartUploadsResult", inner)


def _told(store: Lying, kind: str, key: str, lie: str, answer: Answer) -> Answer:
    """A right answer, made wrong."""
    status, headers, data = answer
    whole = store.objects.get(key, b"")
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", headers.get("Content-Range", ""))
    if lie == "range" and span:
        low = store.rng.randrange(len(whole))
        data = whole[low : low + len(data)]
        headers = {**headers, "Content-Range": f"bytes {low}-{low + len(data) - 1}/{len(whole)}"}
        if len(data) == int(span[2]) + 1 - int(span[1]) and low == int(span[1]):
            return answer
    elif lie == "tag" and "ETag" in headers:
        headers = {**headers, "ETag": '"0123456789abcdef0123456789abcdef"'}
        data = data[::-1]
    elif lie == "short":
        data = data[:-1]
    elif lie == "long":
        data += b"x"
    elif lie == "total" and span:
        headers = {**headers, "Content-Range": f"bytes {span[1]}-{span[2]}/{len(whole) + 1}"}
    elif lie == "no range":
        headers = {name: value for name, value in headers.items() if name != "Content-Range"}
    elif lie in ("no tag", "no size"):
        left_out = {"no tag": "ETag", "no size": "Content-Length"}[lie]
        headers = {name: value for name, value in headers.items() if name != left_out}
    elif lie == "size":
        headers = {**headers, "Content-Length": str(store.rng.choice([0, 1, len(whole) // 2, len(whole) + 1]))}
    elif lie in ("word", "below 0"):
        headers = {**headers, "Content-Length": {"word": "abc", "below 0": "-5"}[lie]}
    elif lie == "cut xml":
        data = data[: store.rng.randrange(len(data))]
    elif lie in ("no xml", "empty"):
        data = b""
    elif lie == "no id":
        data = re.sub(rb"<UploadId>.*</UploadId>", b"", data)
    elif lie == "error of 200":
        data = _error(200, "InternalError")[2]
    elif lie == "endless":
        data = data.replace(b"<IsTruncated>false", b"<NextKeyMarker>a</NextKeyMarker><IsTruncated>true")
    return status, headers, data


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.buckets: dict[str, Lying] = {}

    def handle_error(self, *args: object) -> None:
        if self.told is not None:
            self.told(args)

    told: Callable[[Any], None] | None = None


class LyingServer:
    """Serves buckets by their names while its body runs."""

    def __init__(self) -> None:
        self._server = _Server()
        self.buckets = self._server.buckets
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> LyingServer:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
