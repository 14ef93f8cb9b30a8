"""Stores whose answers are not what was asked for: another range, object or length; and answers that are lost."""

from __future__ import annotations

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
