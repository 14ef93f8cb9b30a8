"""gpumerge rank --of-file: the answers are those of --of, in the order of the file's lines."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine import ranks as engine_ranks

Captured = pytest.CaptureFixture[str]
NO_INT32 = "it is not of type int32; write a whole number from -2147483648 to 2147483647"


def answers(*words: str) -> list[dict[str, Any]]:
    assert invoke(["rank", *words, "-o", "answers.json"]) == 0
    found: list[dict[str, Any]] = json.loads(Path("answers.json").read_text())["of"]
    return found


def compare_with_of(keys: list[str], *words: str) -> None:
    """Check that --of-file gives what --of gives for each key alone."""
    Path("keys").write_text("".join(f"{key}\n" for key in keys))
    expected = [answers(*words, "--of", key)[0] for key in keys]
    assert answers(*words, "--of-file", "keys") == expected


def test_numbers(two: np.ndarray[Any, Any]) -> None:
    compare_with_of(["9", "-1", "3", "3", "10", "7", "4"], "a.i32", "b.i32")


def test_random_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    random_ = random.Random(int(rng.integers(1 << 32)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine_ranks, "_SMALL", 100)
    monkeypatch.setattr(engine_ranks, "_BLOCK", 64)
    for options, text in (
        (["-n"], "{}"),
        (["--field", "city,ms:n"], "{},{}"),
        (["--field", "ms:nr"], "{}"),
        ([], "{}"),
    ):
        names = []
        for number in range(random_.randint(1, 4)):
            rows = [(f"c{random_.randint(0, 5)}", random_.randint(0, 20)) for _ in range(random_.randint(0, 60))]
            name = f"{number}.csv" if "--field" in options else f"{number}.txt"
            lines = [f"{city},{ms}" if "--field" in options else f"{ms}" for city, ms in rows]
            header = "city,ms\n" if "--field" in options else ""
            Path("plain").write_text(header + "".join(f"{line}\n" for line in lines))
            csv = ["--csv"] if header else []
            assert invoke(["sort", "-q", "-s", *csv, *options, "plain", "-o", name]) == 0
            names.append(name)
        keys = [
            text.format(f"c{random_.randint(0, 6)}", random_.randint(0, 21))
            if "city" in "".join(options)
            else text.format(random_.randint(-1, 21))
            for _ in range(12)
        ]
        compare_with_of(keys, *options, *names)


def test_no_line_is_counted_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(f"{number:05}\n" for number in range(20_000)))
    counted = 0
    lines_between = engine_ranks.LineRanks._lines

    def counting(self: engine_ranks.LineRanks, low: Any, high: Any) -> Any:
        nonlocal counted
        counted += sum(high) - sum(low)
        return lines_between(self, low, high)

    monkeypatch.setattr(engine_ranks.LineRanks, "_lines", counting)
    keys = [f"{number:05}" for number in range(0, 20_000, 100)]
    random.Random(1).shuffle(keys)
    Path("keys").write_text("\n".join(keys))
    found = answers("a.txt", "--of-file", "keys")
    assert [one["lower"] for one in found] == list(map(int, keys))
    assert 0 < counted <= 6 * 20_000


def test_keys_of_windows_and_compressed(two: np.ndarray[Any, Any]) -> None:
    Path("keys.gz").write_bytes(gzip.compress(b"7\r\n3"))
    found = answers("a.i32", "b.i32", "--of-file", "keys.gz")
    assert [(one["lower"], one["upper"]) for one in found] == [(5, 8), (2, 4)]


def test_a_byte_order_mark_and_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for data in (b"\xef\xbb\xbf2\n3\n", b"2\r\n3\r\n", b"2\n3\n"):
        Path("a.txt").write_bytes(data)
        for options in ([], ["-n"], ["-k1,1"]):
            found = answers(*options, "a.txt", "--of-file", "a.txt")
            assert [(one["lower"], one["upper"]) for one in found] == [(0, 1), (1, 2)], (data, options)
    Path("keys").write_bytes(b"3\r\n2\r\n")
    assert [one["lower"] for one in answers("a.txt", "--of-file", "keys")] == [1, 0]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "keys: it holds no key; write a key in each line"),
        (b"3\n1.5\n", f"keys:2: '1.5': {NO_INT32}"),
        (b"3\n\n", f"keys:2: '': {NO_INT32}"),
    ],
)
def test_invalid_keys(two: np.ndarray[Any, Any], capfd: Captured, content: bytes, error: str) -> None:
    Path("keys").write_bytes(content)
    assert invoke(["rank", "a.i32", "b.i32", "--of-file", "keys"]) == 2
    assert capfd.readouterr() == ("", f"gpumerge: {error}\n")


def test_standard_input_is_read_once(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    assert invoke(["rank", "-", "b.i32", "--dtype", "int32", "--of-file", "-"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: --of-file -: standard input is an input, too; ")
