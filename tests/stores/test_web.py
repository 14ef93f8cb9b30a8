"""Inputs from web servers, and objects of stores that obstore reaches."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats import stored_output
from gpumerge_cli.formats.stores import other_objects
from gpumerge_cli.formats.stores.other_objects import OtherObject
from tests.stores.conftest import SECRET

A, B = (b"".join(b"%05d\n" % number for number in range(start, 9000, 2)) for start in range(2))
AB = b"".join(b"%05d\n" % number for number in range(9000))


class _Server(ThreadingHTTPServer):
    """Files by their names. ranged: whether ranges are honoured. guarded: it asks for a password or a signature."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {"/a.txt": A, "/b.txt": B, "/none.txt": b"", "/a.txt.gz": gzip.compress(A)}
        self.ranged, self.guarded, self.refusal = True, False, 403
        self.tag = '"1"'
        self.on_get = lambda: None

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        data = self.server.files.get(path)
        if data is None:
            return self._answer(404, b"")
        known = SECRET in query or self.headers.get("Authorization", "").startswith("Basic")
        if self.server.guarded and not known:
            return self._answer(self.server.refusal, f"no {SECRET} in {self.path}".encode())
        self.server.on_get()
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None or not self.server.ranged:
            return self._answer(200, data)
        low, high = int(asked[1]), min(int(asked[2]) + 1, len(data))
        if low >= len(data):
            return self._answer(416, b"")
        return self._answer(206, data[low:high], f"bytes {low}-{high - 1}/{len(data)}")

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, status: int, data: bytes, span: str = "") -> None:
        self.send_response_only(status)
        self.send_header("ETag", self.server.tag)
        self.send_header("Content-Length", str(len(data)))
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(other_objects._RETRIES, "max_retries", 1)
    return tmp_path


@pytest.fixture
def web() -> Iterator[_Server]:
    with _Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("ranged", [True, False])
@pytest.mark.parametrize("first", ["a.txt", "a.txt.gz"])
def test_web_servers_give_inputs(web: _Server, first: str, ranged: bool) -> None:
    """A server without ranges is read once, to a temporary file."""
    web.ranged = ranged
    assert invoke(["merge", "-q", web.url(first), web.url("b.txt"), web.url("none.txt"), "-o", "out.txt"]) == 0
    assert Path("out.txt").read_bytes() == AB
    assert invoke(["check", web.url(first)]) == 0
    assert invoke(["sort", "--compressed", web.url("b.txt"), web.url(first), "-o", "out.txt"]) == 0
    assert Path("out.txt").read_bytes() == AB


@pytest.mark.parametrize("form", ["?X-Amz-Signature={}&n=1", "me:{}@"])
def test_secrets_open_and_are_not_told(web: _Server, capsys: pytest.CaptureFixture[str], form: str) -> None:
    web.guarded = True
    word = form.format(SECRET)
    urls = [web.url(name) for name in ("a.txt", "b.txt")]
    urls = [url + word if "?" in word else url.replace("//", f"//{word}") for url in urls]
    assert invoke(["merge", *urls, "-o", "out.txt", "-v", "--report", "r.json", "--debug"]) == 0
    assert Path("out.txt").read_bytes() == AB
    assert invoke(["check", *urls]) == 0
    Path("jobs.toml").write_text(f"""
        [[job]]
        operation = "merge"
        inputs = {urls}
        output = "{{stem}}.out.txt"
        """)
    assert invoke(["batch", "jobs.toml", "--joblog", "log.tsv", "--report", "r.jsonl", "-v"]) == 0
    web.guarded = False
    web.files["/a.txt"] += b"0\n"
    assert invoke(["merge", "--debug", *urls, "-o", "out.txt"]) == 2
    del web.files["/a.txt"]
    assert invoke(["merge", "--debug", *urls, "-o", "out.txt"]) == 2
    assert invoke(["batch", "--dry-run", "jobs.toml"]) == 2
    told = capsys.readouterr()
    everything = told.out + told.err + "".join(path.name + path.read_text() for path in Path().iterdir())
    assert everything.count("a.txt") > 3
    assert everything.replace(Path("jobs.toml").read_text(), "").find(SECRET) < 0


def test_servers_that_refuse(web: _Server, capsys: pytest.CaptureFixture[str]) -> None:
    web.guarded = True
    for name, told in (("a.txt", "access is denied; check the credentials"), ("x.txt", "there is no such object; ")):
        assert invoke(["merge", web.url(name), "-o", "out.txt"]) == 2
        assert capsys.readouterr().err.startswith(f"gpumerge: {web.url(name)}: {told}")
    web.refusal = 418
    assert invoke(["merge", web.url("a.txt?s=x"), "-o", "out.txt"]) == 2
    assert (
        capsys.readouterr().err
        == f"gpumerge: {web.url('a.txt')}: the store answers 418; check the name, or try later\n"
    )
    assert not Path("out.txt").exists()


def test_a_file_that_changes(web: _Server, capsys: pytest.CaptureFixture[str]) -> None:
    asked = iter(range(10**6))
    web.on_get = lambda: setattr(web, "tag", f'"{next(asked) // 3}"')
    assert invoke(["merge", web.url("a.txt"), web.url("b.txt"), "-o", "out.txt"]) == 2
    assert "the object changed while it was read; merge it when nothing" in capsys.readouterr().err
    assert not Path("out.txt").exists()


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store in memory, to which gs:// leads."""
    from obstore.store import MemoryStore

    store = MemoryStore()

    def opened(url: str) -> OtherObject:
        return OtherObject(store, url.partition("://")[2].partition("/")[2])

    monkeypatch.setattr(other_objects, "open_object", opened)
    monkeypatch.setattr(stored_output, "LEAST_PART", 4096)
    monkeypatch.setattr(stored_output, "_UNKNOWN", 4096)
    return store


@pytest.mark.parametrize("words", [["merge", "-q"], ["sort"], ["merge", "-q", "--unique", "--threads=3"]])
def test_other_stores_take_outputs(memory: Any, words: list[str]) -> None:
    import obstore

    obstore.put(memory, "a.txt", A)
    obstore.put(memory, "b.txt", B)
    assert invoke([*words, "gs://b/a.txt", "gs://b/b.txt", "-o", "gs://b/deep/out.txt"]) == 0
    assert bytes(obstore.get(memory, "deep/out.txt").bytes()) == AB
    assert invoke([*words, "gs://b/a.txt", "gs://b/b.txt", "--parts=2", "-o", "gs://b/{part}.txt"]) == 0
    assert b"".join(bytes(obstore.get(memory, f"{part}.txt").bytes()) for part in range(2)) == AB


def test_other_stores_keep_what_they_had(memory: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import obstore

    obstore.put(memory, "a.txt", A + b"0\n")
    obstore.put(memory, "out.txt", b"before")
    assert invoke(["merge", "gs://b/a.txt", "-o", "gs://b/out.txt"]) == 2
    assert "gs://b/a.txt:4501: disorder: '0' comes after" in capsys.readouterr().err
    assert bytes(obstore.get(memory, "out.txt").bytes()) == b"before"


def test_a_header_that_comes_last_is_refused(memory: Any, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("a.npy", np.arange(3))
    assert invoke(["merge", "--unique", "a.npy", "-o", "gs://b/out.npy"]) == 2
    assert "known only at the end; write a plain file, or raw items" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "etag", "tag"), [(0, None, ""), (0, "x", "x"), (7, None, "1970-01-01 00:00:07+00:00")]
)
def test_an_object_without_etag_and_time_has_no_tag(seconds: int, etag: str | None, tag: str) -> None:
    meta = {"size": 1, "e_tag": etag, "last_modified": datetime.fromtimestamp(seconds, UTC)}
    assert other_objects._found(meta).tag == tag
