"""Lines with numbers beside them: they are made in blocks, which memory holds one at a time."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gpumerge_cli.engine import counted
from gpumerge_cli.engine.counted import CountedLines
from gpumerge_cli.order.equals import Margin
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import NUL, LineOrder


def result_of(
    lines: list[bytes], numbers: Any, count: Any, end: int, parts: int = 1, separator: bytes = b""
) -> CountedLines:
    """That of a workspace with these lines and the numbers of their equals."""
    merged = np.frombuffer(b"".join(line + bytes([end]) for line in lines), np.uint8)
    workspace = SimpleNamespace(
        equals=lambda: np.asarray(numbers, np.int64).view(np.uint8),
        outputs=lambda: np.array_split(merged, parts),
        merged_bytes=len(merged), counts=[len(lines)], dropped=0, spans=[],
    )  # fmt: skip
    return CountedLines(
        cast(Any, workspace), Margin(count, separator=separator), Order.lines(LineOrder(terminator=end))
    )


@pytest.mark.parametrize("count", ["ahead", "after"])
@pytest.mark.parametrize("block", [1, 7, 100, 1 << 20])
def test_blocks_hold_whole_lines(
    block: int, count: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(counted, "_BLOCK", block)
    for end in (ord("\n"), NUL):
        for many in (0, 1, 2, 60):
            lines = [b"x" * int(length) for length in rng.choice([0, 1, 5, 30, 300], many)]
            numbers = [int(10 ** rng.uniform(0, 18)) for _ in lines]
            numbers[:2] = [10**7, 10**7 - 1][:many]
            found = result_of(lines, numbers, count, end, int(rng.integers(1, 4)))
            form = b"%7d %s%c" if count == "ahead" else b"%s\t%d%c"
            texts = [
                (number, line) if count == "ahead" else (line, number)
                for number, line in zip(numbers, lines, strict=True)
            ]
            parts = list(found.outputs())
            assert parts, "the outlet waits for a part"
            assert b"".join(map(bytes, parts)) == b"".join(form % (*text, end) for text in texts)
            assert found.merged_bytes == sum(map(len, parts))


@pytest.mark.parametrize("count", ["ahead", "after"])
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("separator", [b",", b"%"])
def test_numbers_are_fields_of_records(
    separator: bytes, block: int, count: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "_BLOCK", block)
    lines = [b"", b"\r", b"a,b", b"a,b\r", b"x" * 40 + b"\r"]
    numbers = [1, 10**7, 3, 12345678, 5]
    found = result_of(lines, numbers, count, ord("\n"), 2, separator)
    parts = b"".join(map(bytes, found.outputs()))
    if count == "ahead":
        expected = [b"%d%c%s" % (number, separator, line) for number, line in zip(numbers, lines, strict=True)]
    else:
        expected = [
            line.removesuffix(b"\r") + b"%c%d" % (separator, number) + b"\r" * line.endswith(b"\r")
            for number, line in zip(numbers, lines, strict=True)
        ]
    assert parts == b"".join(line + b"\n" for line in expected)
    assert found.merged_bytes == len(parts)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", ["ahead", "after"])
def test_short_lines_take_little_memory(count: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "_BLOCK", 1 << 14)
    many = 200_000
    lines = [b"%03d" % (number % 1000) for number in range(many)]
    found = result_of(lines, np.arange(1, many + 1) % 1000 + 1, count, ord("\n"))
    tracemalloc.start()
    try:
        for _ in found.outputs():
            pass
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * many  # the numbers alone take as much
