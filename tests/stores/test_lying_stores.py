"""Stores whose answers are not what was asked for: another range, object or length; and answers that are lost."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from tests import fuzz_stores
from tests.stores.conftest import LINES, Bucket, line_of, url_of
from tests.stores.faults import Faults, Proxy
from tests.stores.lying_store import LATER, MOMENT, Lying

pytestmark = pytest.mark.usefixtures("two_tries")


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


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("kind", "told"),
    [("range", "the store answered with a range other"), ("tag", "the object changed"), ("length", "the store gave ")],
)
def test_a_wrong_answer_is_refused(
    bucket: Bucket, proxy: Proxy, capsys: pytest.CaptureFixture[str], kind: str, told: str
) -> None:
    url = bucket.put("a.txt", LINES)
    proxy.faults = Faults(
        lie=lambda method, path, head, data: _lie(kind, head, data) if method == "GET" else (0, head, data)
    )
    assert invoke(["merge", "-q", url, "-o", "out.txt"]) == 2
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
    assert invoke(["merge", "-q", url, "-o", "out.txt"]) == 0
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
    assert invoke(["merge", "-q", url, "-o", bucket.url("out.txt")]) == 2
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
    assert invoke(["merge", "-q", url, "-o", bucket.url("out.txt")]) == 2
    assert [one["UploadId"] for one in bucket.uploads] == [older]


@pytest.mark.one_in(3)
@pytest.mark.one_of_each
@pytest.mark.parametrize("lie", ["no xml", "cut xml", "no id"])
@pytest.mark.parametrize("page", [1, 2, 1000])
def test_uploads_that_half_an_answer_began_are_dropped(
    lying: Lying, capsys: pytest.CaptureFixture[str], lie: str, page: int
) -> None:
    """The list of uploads has several pages, and names uploads of others, too."""
    lying.page = page
    older = {lying.begin(key, datetime(2024, 1, 1, tzinfo=UTC)) for key in ("out.txt", "out.txt.2", "out.txt", "out")}
    lying.forced = {"POST uploads": f"{lie}"}
    assert invoke(["merge", "-q", "s3://bucket/a.txt", "-o", "s3://bucket/out.txt"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert re.search("is incomplete XML|lacks UploadId|answered 500", told)
    assert set(lying.uploads) == older


def test_a_list_of_uploads_without_end_is_told(lying: Lying, caplog: pytest.LogCaptureFixture) -> None:
    lying.forced = {"POST uploads": "no id", "GET uploads": "endless"}
    assert invoke(["merge", "-q", "s3://bucket/a.txt", "-o", "s3://bucket/out.txt"]) == 2
    assert "unfinished uploads of it may stay (the store's list of uploads has no end)" in caplog.text


@pytest.mark.one_in(2)
@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_complete_whose_answer_is_cut(lying: Lying, capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    """The line tells that the new object is there: for S3 for certain, and elsewhere as far as its size tells."""
    lying.forced = {"POST complete": "no xml"}
    assert invoke(["merge", "-q", "s3://bucket/a.txt", "-o", f"{scheme}://bucket/out.txt"]) in (0, 2)
    told = capsys.readouterr().err
    assert lying.objects["out.txt"] == LINES
    if told:
        assert told.count("\n") == 1
        assert re.search(f"is in place all the same|may be the new one.*{len(LINES)} bytes", told)


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("scheme", ["s3", "gs"])
@pytest.mark.parametrize("before", [None, b"before\n"])
@pytest.mark.parametrize("lines", [LINES, b""])
def test_answers_of_the_end_of_an_upload_are_lost(
    lying: Lying, capsys: pytest.CaptureFixture[str], scheme: str, before: bytes | None, lines: bytes
) -> None:
    lying.put("a.txt", lines)
    if before is not None:
        lying.put("out.txt", before)
    lying.forced = {"POST complete": "lost", "PUT": "lost"}
    assert invoke(["merge", "-q", "s3://bucket/a.txt", "-o", f"{scheme}://bucket/out.txt"]) == 2
    told = capsys.readouterr().err
    assert lying.objects["out.txt"] == lines
    assert told.count("\n") == 1
    assert re.search(f"(is in place all the same|may be the new one) .{len(lines)} bytes", told), told


@pytest.mark.one_in(2)
@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_an_end_without_effect_is_told(lying: Lying, capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    lying.forced = {"POST complete": "busy"}
    for before, there in (
        (None, "no object is there"),
        (b"before\n", "an object is there that is not the new one (7 "),
    ):
        if before is not None:
            lying.put("out.txt", before)
        assert invoke(["merge", "-q", "s3://bucket/a.txt", "-o", f"{scheme}://bucket/out.txt"]) == 2
        assert there in capsys.readouterr().err
    assert not lying.uploads


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("scheme", ["s3", "gs", "http"])
@pytest.mark.parametrize(
    ("lie", "told"),
    [
        ("range", "the store answered with a range other|Requested 0\\.\\.[0-9]*, got "),
        ("total", "the object changed|Requested 0\\.\\.[0-9]*, got "),
        ("short", "the store gave [0-9]* bytes of|the store failed"),
        ("long", "the store gave more than the [0-9]* bytes of|the store failed"),
        ("tag", "the object changed"),
        ("torn", "broke off 3 times|the store failed"),
        ("busy", "the store answered 503 3 times|the store answers 503|the store failed"),
    ],
)
def test_no_wrong_answer_is_believed(
    lying: Lying, capsys: pytest.CaptureFixture[str], scheme: str, lie: str, told: str
) -> None:
    if scheme == "http" and lie == "tag":
        return  # a look is a GET, too: this is another object, and consistently so
    lying.forced = {"GET": lie}
    assert invoke(["merge", "-q", url_of(lying, scheme), "-o", "out.txt"]) == 2
    err = line_of(capsys)
    assert re.search(told, err), err
    assert not Path("out.txt").exists()


@pytest.mark.parametrize("scheme", ["s3", "gs", "http"])
def test_a_store_without_tags(lying: Lying, capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    """Ranges, lengths and dates are checked all the same. Google's stores always give a tag."""
    lying.tagged = False
    code = invoke(["merge", "-q", url_of(lying, scheme), "-o", "out.txt"])
    if scheme == "gs":
        assert code == 2
        assert "ETag" in capsys.readouterr().err
        return
    assert code == 0
    assert Path("out.txt").read_bytes() == LINES
    lying.moments = iter([MOMENT] * 2 + [LATER] * 100)
    assert invoke(["merge", "-q", url_of(lying, scheme), "-o", "out.txt"]) == 2
    assert "the object changed while it was read" in capsys.readouterr().err


@pytest.mark.thorough
def test_stores_that_lie_are_found_out(capsys: pytest.CaptureFixture[str], seed: int) -> None:
    assert fuzz_stores.main(["--cases", "60", "--seed", str(seed)]) == 0, capsys.readouterr().out
