"""A hint says only what was verified on all inputs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpumerge_cli.cli import app
from tests.fuzz_hints import misled


def _told(capfd: pytest.CaptureFixture[str], tmp_path: Path, files: dict[str, bytes], *options: str) -> str:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    names = [str(tmp_path / name) for name in files]
    assert app.run(["merge", "-q", "--backend", "cpu", *options, *names, "-o", str(tmp_path / "out")]) == 2
    return capfd.readouterr().err


@pytest.mark.parametrize("options", [[], ["-t,", "-k1,1n"]])
def test_a_table_is_named_by_its_header(tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[str]) -> None:
    files = {"mon.csv": b"id,name\n0,a\n2,c\n", "tue.csv": b"id,name\n1,b\n3,d\n"}
    assert _told(capfd, tmp_path, files, *options).endswith("line 1 is a header: use --field id:n\n")


def test_no_version_order_for_timestamps(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {"a.log": b"2024-01-01T00:00:01Z a\n2024-01-01T00:00:01.5Z b\n", "b.log": b"2024-01-01T00:00:01.25Z x\n"}
    assert " add " not in _told(capfd, tmp_path, files)


def test_an_order_that_another_input_lacks_is_not_proposed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert " add " not in _told(capfd, tmp_path, {"a": b"c\nb\n", "b": b"a\nb\n"})
    assert "add -r" in _told(capfd, tmp_path, {"a": b"c\nb\n", "b": b"z\nb\n"})


def test_utf_16_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "UTF-16: convert it first" in _told(capfd, tmp_path, {"a": "9\n10\n8\n7\n".encode("utf-16")})


def test_no_stable_order_is_proposed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "-s" not in _told(capfd, tmp_path, {"a": b"b 1\na 1\nc 2\n"}, "-k2,2")


def test_hints_that_are_followed_mislead_nobody() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    assert [told for told in map(misled, range(seed, seed + 60)) if told] == []
