"""Faults of stores: what passes is retried; what stays is one line, and neither an object nor an upload is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from botocore import exceptions as failures

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats import stored_output
from gpumerge_cli.formats.stores import s3_client, s3_objects
from tests.stores.conftest import PART, SECRET, Bucket, settings
from tests.stores.faults import Faults, Proxy

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # botocore's pauses
    return tmp_path


def _inputs(bucket: Bucket, count: int = 3000) -> tuple[list[str], bytes]:
    """Two inputs of a few parts, and their merge."""
    lines = [f"{number:06} some words\n" for number in range(count)]
    urls = [bucket.put(f"{one}.txt", "".join(lines[one::2]).encode()) for one in range(2)]
    return urls, "".join(lines).encode()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", [["merge", "-q"], ["sort"]])
def test_faults_that_pass_are_retried(bucket: Bucket, proxy: Proxy, words: list[str], seed: int) -> None:
    urls, merged = _inputs(bucket)
    proxy.faults = Faults(busy=0.1, reset=0.1, torn=0.05, slow=0.1, seconds=0.05, seed=seed)
    assert invoke([*words, *urls, "-o", bucket.url("out.txt")]) == 0
    assert bucket.get("out.txt") == merged
    assert not bucket.uploads


def _refused(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(words) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    assert err.startswith("gpumerge: ")
    assert told in err
    assert SECRET not in err


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize(
    ("status", "told"), [(503, "the store answered SlowDown 2 times; try later"), (403, "access is denied; check the")]
)
def test_a_store_that_refuses_to_write(
    bucket: Bucket, proxy: Proxy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, method: str,
    status: int, told: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    urls, _ = _inputs(bucket)
    before = bucket.put("out.txt", b"before")
    proxy.faults = Faults(refuse=lambda got, path: status if got == method else 0)
    _refused(["merge", *urls, "-o", before], f"{before}: {told}", capsys)
    proxy.faults = Faults()
    assert bucket.get("out.txt") == b"before"
    assert not bucket.uploads


def test_a_store_that_stops_to_give(
    bucket: Bucket, proxy: Proxy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    urls, _ = _inputs(bucket)
    gets = iter(range(10**6))
    proxy.faults = Faults(refuse=lambda got, path: 503 if got == "GET" and next(gets) > 0 else 0)
    _refused(
        ["merge", *urls, "-o", bucket.url("out.txt")],
        "the store answered SlowDown 2 times; try later, or raise AWS_MAX_ATTEMPTS",
        capsys,
    )
    assert bucket.keys == ["0.txt", "1.txt"]
    assert not bucket.uploads


@pytest.mark.thorough
@pytest.mark.parametrize("tries", [1, 7])
def test_answers_that_break_off(
    tries: int, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Requests whose answers break off are sent as often as those that are refused."""
    reads, closed = iter(range(tries, 0, -1)), []

    class Torn:
        def __init__(self, body: Any) -> None:
            self.body = body

        def read(self, limit: int) -> bytes:
            if next(reads, 0):
                raise failures.IncompleteReadError(actual_bytes=1, expected_bytes=2)
            found: bytes = self.body.read(limit)
            return found

        def close(self) -> None:
            closed.append(self)
            self.body.close()

    client = s3_client.client()
    monkeypatch.setitem(client.meta.config.retries, "total_max_attempts", 8)
    get = client.get_object

    def torn(**options: Any) -> dict[str, Any]:
        answer = get(**options)
        return {**answer, "Body": Torn(answer["Body"])}

    monkeypatch.setattr(client, "get_object", torn)
    url = bucket.put("a.txt", b"a\n")
    assert invoke(["merge", "-q", url, "-o", "out.txt"]) == 0
    assert Path("out.txt").read_bytes() == b"a\n"
    assert len(closed) == tries + 1
    reads = iter(range(9, 0, -1))
    _refused(["merge", "-q", url, "-o", "out.txt"], "the store's answers broke off 8 times; try later", capsys)


def test_an_object_that_changes(bucket: Bucket, proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    urls, _ = _inputs(bucket)

    def change(method: str, path: str) -> int:
        if method == "GET" and "1.txt" in path:
            bucket.put("1.txt", b"other\n")
        return 0

    proxy.faults = Faults(refuse=change)
    _refused(
        ["merge", *urls, "-o", bucket.url("out.txt")], "1.txt: the object changed while it was read; merge", capsys
    )
    assert bucket.keys == ["0.txt", "1.txt"]
    assert not bucket.uploads


@pytest.mark.one_in(3)
@pytest.mark.parametrize("words", [["merge"], ["sort"], ["sort", "-S", "200K"]])
def test_bad_data_leave_no_upload(bucket: Bucket, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Disorder at the end of an input, or a byte too many, is met when parts have been sent."""
    url = bucket.put("a.i32", np.arange(20_000, dtype=np.int32).tobytes() + b"\1\0\0\0" + b"!" * (words[0] == "sort"))
    told = "out of order" if words == ["merge"] else "not a multiple of 4"
    _refused([*words, url, url, "-o", bucket.url("out.i32")], told, capsys) if words != ["merge"] else invoke(
        [*words, url, "-o", bucket.url("out.i32")]
    )
    assert bucket.keys == ["a.i32"]
    assert not bucket.uploads


REFUSED = [
    ("merge s3://{}/a.txt s3://{}/none.txt -o s3://{}/o.txt", "none.txt: there is no such object, or no such bucket; "),
    ("merge s3://{}/a.txt -o s3://no-such-bucket/o.txt", "s3://no-such-bucket/o.txt: there is no such bucket; check"),
    ("merge s3://{}/a.txt -o s3://Not_A_Bucket!/o.txt", "s3://Not_A_Bucket!/o.txt: "),
    ("merge s3://{}/a.txt -o s3://{}/", "it names no object; write s3://BUCKET/KEY"),
    ("merge s3://{} -o o.txt", "it names no object; write s3://BUCKET/KEY"),
    ("merge s3://{}/a.txt -o https://here/o.txt", "https://here/o.txt: https URLs can only be inputs; write to s3://"),
    ("merge ftp://here/a.txt -o o.txt", "unsupported scheme 'ftp'; use s3, gs, az, http, https,"),
    ("merge s3://me:{secret}@{}/a.txt -o o.txt", "users and passwords do not belong in s3 URLs; leave them out"),
    ("merge s3://{}/a.txt?X-Amz-Signature={secret} -o o.txt", "a query follows it, which s3 URLs do not have; leave"),
    ("merge --debug http://me:{secret}@127.0.0.1:9/a.txt?s={secret} -o o.txt", "http://127.0.0.1:9/a.txt: the store"),
    (
        "merge az://{}/a.txt -o o.txt",
        "a.txt: the store failed (Generic MicrosoftAzure error: Account must be specified)",
    ),
    ("merge s3://{}/a.txt -o o.txt --report s3://{}/r.json", "r.json"),
    ("sort http://me:{secret}@[/a.txt -o o.txt", ""),
]


@pytest.mark.parametrize(("line", "told"), REFUSED)
def test_refusals_are_one_line(
    bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    from gpumerge_cli.formats.stores import other_objects

    monkeypatch.setitem(other_objects._RETRIES, "max_retries", 0)
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    bucket.put("a.txt", b"a\n")
    words = line.replace("{}", bucket.name).replace("{secret}", SECRET).split()
    assert invoke(words) == 2
    err = capsys.readouterr().err
    assert err.splitlines()[-1].startswith("gpumerge: ")
    assert told in err
    assert err.count("\n") == 1 or "--debug" in words
    assert SECRET not in err
    assert bucket.keys == ["a.txt"]
    assert not bucket.uploads
    assert not Path("o.txt").exists()


def test_without_credentials(
    bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    s3_client._made.cache_clear()
    _refused(["merge", bucket.url("a.txt")], "no credentials were found; set AWS_PROFILE, or AWS_ACCESS_KEY_ID", capsys)


@pytest.mark.parametrize(("library", "url"), [("botocore", "s3://b/k.txt"), ("obstore", "gs://b/k.txt")])
def test_without_the_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, library: str, url: str
) -> None:
    for name in [name for name in sys.modules if name.startswith("gpumerge_cli.formats.stores.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    _refused(["merge", url], f"{url}: {library}, which reaches such stores, is not installed; pip install", capsys)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("number", "awaited"), [(signal.SIGINT, "PUT"), (signal.SIGTERM, "PUT"), (2, "POST"), (2, "DELETE")]
)
def test_signals_leave_no_upload(bucket: Bucket, proxy: Proxy, number: int, awaited: str) -> None:
    """Also a signal that comes when all but the upload is done, or while the store begins or drops an upload."""
    rng = np.random.default_rng(1)
    url = bucket.put("a.u64", np.sort(rng.integers(0, 2**64, 5 << 19, np.uint64)).tobytes())
    signalled = threading.Event()
    busy = iter([503])

    def refuse(method: str, path: str) -> int:
        if method == awaited:
            assert signalled.wait(600)
            return next(busy, 0) if method == "DELETE" else 0  # the first one has no effect
        return 0

    proxy.faults = Faults(refuse=refuse)
    environment = {**os.environ, **settings(proxy.endpoint), "PYTHONPATH": str(ROOT)}
    words = ["merge", "-q", "--threads=1", url, "-o", bucket.url("out.u64")]
    process = subprocess.Popen(
        [sys.executable, "-m", "gpumerge_cli", *words], env=environment, stderr=subprocess.PIPE, text=True
    )
    while not any(method == awaited for method, _ in proxy.requests):
        assert process.poll() is None
        signalled.wait(0.01)
    signalled.wait(0.5)
    process.send_signal(number)
    signalled.wait(0.3)
    signalled.set()
    _, err = process.communicate(timeout=600)
    threading.Event().wait(0.5)  # for requests that nobody waits for any more
    assert process.returncode == 128 + number
    assert err == "gpumerge: interrupted; no output was written\n"
    assert bucket.keys == ["a.u64"]
    assert not bucket.uploads


def test_a_store_that_never_answers_is_not_waited_for(
    bucket: Bucket, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An upload is dropped although its parts are under way; a program that ends does not wait for these for ever."""
    monkeypatch.setattr(stored_output, "_LAST", 1.0)
    monkeypatch.setattr(s3_objects, "_SENDING_SECONDS", 0.1)
    answered = threading.Event()
    proxy.faults = Faults(refuse=lambda method, path: 0 if method != "PUT" or answered.wait(600) else 500)
    output = stored_output.StoredOutput(bucket.url("out.txt"))
    output.write_at(0, np.zeros(2 * PART, np.uint8))
    output.abort()
    assert "out.txt: warning: its unfinished upload stays (no answer in 1 seconds)" in caplog.text
    assert not bucket.uploads
    answered.set()


def test_a_part_that_fails_late_stops_all(bucket: Bucket, proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    urls, _ = _inputs(bucket, 6000)
    proxy.faults = Faults(
        refuse=lambda method, path: 403 if path.endswith("partNumber=5") or "partNumber=5&" in path else 0
    )
    _refused(["merge", *urls, "-o", bucket.url("out.txt")], "out.txt: access is denied", capsys)
    assert sum("partNumber" in path for _, path in proxy.requests) <= -(-6000 * 18 // PART)
    assert not bucket.uploads
