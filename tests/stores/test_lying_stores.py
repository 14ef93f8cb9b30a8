"""Stores whose answers are not what was asked for: another range, object or length; and answers that are lost."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import run
from tests.stores.conftest import Bucket
from tests.stores.faults import Faults, Proxy

LINES = "".join(f"{number:06} some words\n" for number in range(3000)).encode()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def _lie(kind: str, headers: dict[str, str], data: bytes) -> tuple[int, dict[str, str], bytes]:
    names = {name.lower(): name for name in headers}
    given = {name: value for name, value in headers.items() if "checksum" not in name.lower()}
    if kind == "range":
        given[names.get("content-range", "Content-Range")] = f"bytes 18-{17 + len(data)}/{len(LINES)}"
        data = LINES[18:] + LINES[:18]
    elif kind == "tag":
        given[names["etag"]] = '"0123456789abcdef0123456789abcdef"'
        data = data[::-1]
    else:
        data = data[:-18]
    return 0, given, data


@pytest.mark.parametrize(
    ("kind", "told"),
    [("range", "the store answered for another range"), ("tag", "the object changed"), ("length", "the store gave ")],
)
def test_a_wrong_answer_is_refused(
    bucket: Bucket, proxy: Proxy, capsys: pytest.CaptureFixture[str], kind: str, told: str
) -> None:
    url = bucket.put("a.txt", LINES)
    proxy.faults = Faults(
        lie=lambda method, path, head, data: _lie(kind, head, data) if method == "GET" else (0, head, data)
    )
    assert run(["merge", "-q", url, "-o", "out.txt"]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1
    assert not Path("out.txt").exists()


def test_a_wrong_range_is_asked_for_again(bucket: Bucket, proxy: Proxy) -> None:
    url = bucket.put("a.txt", LINES)
    lies = iter(["range"])

    def lie(method: str, path: str, head: dict[str, str], data: bytes) -> tuple[int, dict[str, str], bytes]:
        return _lie("range", head, data) if method == "GET" and next(lies, "") else (0, head, data)

    proxy.faults = Faults(lie=lie)
    assert run(["merge", "-q", url, "-o", "out.txt"]) == 0
    assert Path("out.txt").read_bytes() == LINES


def test_a_complete_whose_answers_are_lost(bucket: Bucket, proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    url = bucket.put("a.txt", LINES)
    calls = iter([0])  # the request that is sent again finds the store failing
    proxy.faults = Faults(
        refuse=lambda method, path: next(calls, 500) if method == "POST" and "uploadId" in path else 0,
        lie=lambda method, path, head, data: (
            (500, {}, b"") if method == "POST" and "uploadId" in path else (0, head, data)
        ),
    )
    assert run(["merge", "-q", url, "-o", bucket.url("out.txt")]) == 2
    err = capsys.readouterr().err
    assert "the new object is in place all the same" in err
    assert f"{len(LINES)} bytes" in err
    assert err.count("\n") == 1


def test_uploads_that_lost_answers_began_are_dropped(bucket: Bucket, proxy: Proxy) -> None:
    """An older upload of the same key, which somebody else began, stays."""
    url = bucket.put("a.txt", LINES)
    older = bucket.client.create_multipart_upload(Bucket=bucket.name, Key="out.txt")["UploadId"]

    def lie(method: str, path: str, head: dict[str, str], data: bytes) -> tuple[int, dict[str, str], bytes]:
        if method == "POST" and "uploads" in path:
            return 500, {}, b""
        if method == "GET" and "uploads" in path:  # this store tells one moment for all uploads
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z").encode()
            blocks = data.split(b"<Upload>")
            fresh = [
                one if older.encode() in one else re.sub(rb"<Initiated>[^<]*", b"<Initiated>" + now, one)
                for one in blocks
            ]
            return 0, head, b"<Upload>".join(fresh)
        return 0, head, data

    proxy.faults = Faults(lie=lie)
    assert run(["merge", "-q", url, "-o", bucket.url("out.txt")]) == 2
    assert [one["UploadId"] for one in bucket.uploads] == [older]
