"""Parts of results that end where lines do, and the files that are made of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends.cpu import workspace
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine import local_sorts, parts
from gpumerge_cli.engine.parts import by_lines, lines_that_begin, nearest_line_edge

LINES = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"x") + b"\n"), max_size=12).map(b"".join)


def cut(data: bytes, size: int) -> list[Bytes]:
    return [np.frombuffer(data[at : at + size], np.uint8) for at in range(0, max(1, len(data)), size)]


@given(data=LINES, size=st.integers(1, 20))
def test_parts_are_cut_anew_where_lines_end(data: bytes, size: int) -> None:
    found = [part.tobytes() for part in by_lines(cut(data, size), 10)]
    assert b"".join(found) == data
    assert len(found) >= 1
    assert all(part.endswith(b"\n") for part in found if part)
    assert [part.tobytes() for part in by_lines(cut(data, size), None)] == [part.tobytes() for part in cut(data, size)]


@given(data=LINES, size=st.integers(1, 20), tail=st.integers(1, 5))
def test_every_line_begins_in_one_part(data: bytes, size: int, tail: int) -> None:
    result = np.frombuffer(data, np.uint8)
    held: Any = SimpleNamespace(
        merged_bytes=len(data), receive=lambda position, nbytes: result[position : position + nbytes]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_TAIL", tail)
        ranges = [(low, min(len(data), low + size)) for low in range(0, len(data), size)]
        found = [lines_that_begin(held, low, high, 10).tobytes() for low, high in ranges]
    assert b"".join(found) == data
    assert all(part.endswith(b"\n") for part in found if part)


@given(data=LINES, tail=st.integers(1, 5))
def test_the_nearest_edge_of_a_line(data: bytes, tail: int) -> None:
    result = np.frombuffer(data, np.uint8)
    held: Any = SimpleNamespace(
        merged_bytes=len(data), receive=lambda position, nbytes: result[position : position + nbytes]
    )
    edges = np.array([0, *(at + 1 for at, byte in enumerate(data) if byte == 10)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_TAIL", tail)
        found = [nearest_line_edge(held, target, 10) for target in range(len(data) + 1)]
    assert found == [edges[np.argmin(abs(edges - target))] for target in range(len(data) + 1)]  # of two the first


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_sorts, "PART_BYTES", 1000)
    monkeypatch.setattr(workspace, "RECEIVED_BYTES", 1000)


@pytest.mark.one_of_each
@pytest.mark.parametrize("longest", [50, 5000])
@pytest.mark.parametrize("options", [["--parallel=1"], ["--parallel=3"], ["-S1b"], ["-u"]])
@pytest.mark.usefixtures("small_parts")
def test_csv_beyond_a_part(longest: int, options: list[str], tmp_path: Path, rng: np.random.Generator) -> None:
    rows = [f'"{"y" * int(rng.integers(30, longest))}\n,",{number}\n' for number in range(300)]
    (tmp_path / "in").write_text("".join(rows[number] for number in rng.permutation(300)))
    out = tmp_path / "out"
    assert invoke(["sort", "--csv", "-k2n", *options, str(tmp_path / "in"), "-o", str(out)]) == 0
    assert out.read_text() == "".join(rows)


@pytest.mark.usefixtures("small_parts")
def test_one_long_record_of_csv(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("b,2\n" + "y" * 50_000 + ",1\n")
    assert invoke(["sort", "--csv", "-k2n", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == "y" * 50_000 + ",1\nb,2\n"


@pytest.mark.usefixtures("small_parts")
def test_underlined_lines_beyond_a_part(
    tmp_path: Path, rng: np.random.Generator, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{number:04}{'y' * int(rng.integers(30, 200))}" for number in range(300)]
    (tmp_path / "in").write_text("".join(f"{lines[number]}\n" for number in rng.permutation(300)))
    assert invoke(["sort", "--debug", "-s", "-k1", "--parallel=2", str(tmp_path / "in")]) == 0
    assert capfd.readouterr().out == "".join(f"{line}\n{'_' * len(line)}\n" for line in lines)


@pytest.mark.usefixtures("small_parts")
def test_equal_lines_longer_than_a_part_out_of_order(tmp_path: Path) -> None:
    long = "y" * 50_000
    (tmp_path / "a").write_text(f"{long}\n{long}\nx\nx\n{long}\n")
    assert invoke(["sort", "-m", "-u", "-S1b", str(tmp_path / "a"), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == f"{long}\nx\n{long}\n"
