"""Merges of lines that are not in order: the fast way equals the plain one, and both the system's sort -m."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.engine.heads import merge_heads
from gpumerge_cli.engine.inputs import opened
from gpumerge_cli.engine.request import ItemRequest
from gpumerge_cli.engine.stream import Outcome
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.lines import COMPARISONS, LineOrder
from tests import line_cases


def merged(folder: Path, names: list[str], order: LineOrder, *, unique: bool, memory: int) -> tuple[bytes, Outcome]:
    with opened(tuple(names), ItemRequest("text", lines=order)) as inputs:
        sink = open_sink(str(folder / "out"), inputs.format, None, None, head=inputs.head)
        outcome = merge_heads(
            inputs.sources, sink, inputs.order, unique=unique, memory=memory, item_bytes=inputs.item_bytes
        )
        sink.commit()
    return (folder / "out").read_bytes(), outcome


def write(folder: Path, runs: list[list[bytes]], end: bytes) -> list[str]:
    names = [str(folder / str(number)) for number in range(len(runs))]
    for name, lines in zip(names, runs, strict=True):
        Path(name).write_bytes(b"".join(line + end for line in lines))
    return names


@settings(max_examples=60)
@given(data=st.data(), unique=st.booleans())
def test_at_once_is_as_line_by_line(tmp_path: Path, data: st.DataObject, unique: bool) -> None:
    case = data.draw(line_cases.cases((data.draw(st.sampled_from(COMPARISONS)), "bytes", "numeric")))
    runs = [data.draw(line_cases.lines(case.order, 8)) for _ in range(data.draw(st.integers(1, 4)))]
    names = write(tmp_path, runs, bytes([case.order.terminator]))
    expected = merged(tmp_path, names, case.order, unique=unique, memory=0)
    found = merged(tmp_path, names, case.order, unique=unique, memory=1 << 30)
    assert found[0] == expected[0]
    for field in ("counts", "dropped", "written"):
        assert getattr(found[1], field) == getattr(expected[1], field)


@pytest.mark.skipif(shutil.which("sort") is None, reason="there is no sort command")
@pytest.mark.parametrize("options", [[], ["-n"], ["-u"], ["-k1,1n", "-s"], ["-r"]])
def test_many_lines_as_the_systems_sort(tmp_path: Path, rng: Any, options: list[str]) -> None:
    from gpumerge_cli.cli.app import run

    runs = [[b"%d x%d" % (a, b) for a, b in rng.integers(0, 500, (20_000, 2))] for _ in range(3)]
    names = write(tmp_path, runs, b"\n")
    assert run(["sort", "-m", *options, *names, "-o", str(tmp_path / "out")]) == 0
    environment = os.environ | {"LC_ALL": "C"}
    expected = subprocess.run(["sort", "-m", *options, *names], capture_output=True, env=environment, check=True).stdout
    assert (tmp_path / "out").read_bytes() == expected
