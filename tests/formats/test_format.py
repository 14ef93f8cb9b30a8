"""A format is one value: whatever is registered is known by name, suffix and beginning, read and written."""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.engine.inputs import layout_and_order
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import InputError, OutputError, UsageError
from gpumerge_cli.formats.fixed_source import FixedSource
from gpumerge_cli.formats.format import FORMATS, Format, Layout, register_format
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import format_names, is_binary
from gpumerge_cli.formats.registry import layout_of
from tests.jobs_of import merge_job

COUNTED = b"COUNTED1"


class Counted(Format):
    """int64 behind COUNTED and how many there are."""

    name = "counted"
    holds = "typed"
    suffixes: Mapping[str, str] = {".cnt": ""}
    begins = COUNTED

    def open(self, file: SeekableInput, layout: Layout, told: Callable[[float], None]) -> FixedSource:
        (count,) = struct.unpack("<q", file.read_exactly(8, 8))
        if file.size != 16 + 8 * count:
            raise InputError("it is cut short", where=file.name, way_out="copy it again")
        return FixedSource(file, np.dtype("<i8"), 16, 8 * count)

    def header(self, dtype: Any, count: int) -> bytes:
        return COUNTED + struct.pack("<q", count)


class Other(Counted):
    name = "other"


@pytest.fixture
def counted() -> Iterator[Format]:
    made = Counted()
    register_format(made)
    yield made
    del FORMATS["counted"]


def written(values: list[int]) -> bytes:
    return Counted().header(np.dtype("i8"), len(values)) + np.array(values, np.int64).tobytes()


def test_a_format_is_added_by_one_value(counted: Format, tmp_path: Path) -> None:
    (tmp_path / "a.cnt").write_bytes(written([1, 3]))
    (tmp_path / "b.cnt.gz").write_bytes(gzip.compress(written([2])))
    np.save(tmp_path / "c.npy", np.array([-1]))
    names = tuple(str(tmp_path / name) for name in ("a.cnt", "b.cnt.gz", "c.npy"))
    assert "counted" in format_names()
    assert is_binary(".cnt")
    assert layout_of("x", Items("counted")).format is layout_of("x.CNT", Items()).format is counted
    run(merge_job(names, str(tmp_path / "out.cnt"), backend="cpu"))
    assert (tmp_path / "out.cnt").read_bytes() == written([-1, 1, 2, 3])
    run(merge_job((str(tmp_path / "out.cnt"),), str(tmp_path / "out.i64"), backend="cpu"))
    assert np.fromfile(tmp_path / "out.i64", np.int64).tolist() == [-1, 1, 2, 3]


def test_whatever_lists_or_asks_for_formats_knows_a_new_one(counted: Format, tmp_path: Path) -> None:
    assert re.search(r"^  \.cnt +counted$", command("merge").epilog, re.MULTILINE)
    assert layout_and_order(["a.cnt"], Items())[1] is None  # its header says the type


def test_help_lists_the_suffixes_of_all_formats() -> None:
    listed = command("merge").epilog.split("Suffixes:")[1].split("any other")[0]
    for one in FORMATS.values():
        assert all(re.search(rf"{re.escape(each)}\b", listed) if each else "or none" in listed for each in one.suffixes)


def test_its_contradictions_are_told(counted: Format, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(written([1]))
    with pytest.raises(InputError, match=r"it holds \.cnt data, not lines of text; use --format counted"):
        run(merge_job((str(tmp_path / "a.txt"),), str(tmp_path / "out.txt")))
    (tmp_path / "b.txt").write_bytes(b"1\n")
    with pytest.raises(OutputError, match=r"lines of text cannot be written as \.cnt"):
        run(merge_job((str(tmp_path / "b.txt"),), str(tmp_path / "out.cnt")))
    with pytest.raises(UsageError, match=f"use {' or '.join(format_names())}"):
        layout_of("a", Items("xml"))
    job = merge_job((str(tmp_path / "a.txt"),), str(tmp_path / "out"), Items("counted"))
    run(job)
    assert (tmp_path / "out").read_bytes() == written([1])
    with pytest.raises(AssertionError):
        register_format(Other())


@pytest.mark.parametrize(
    ("inputs", "output", "told"),
    [
        ("i32", "y.unknown", "its suffix says nothing, the items are int32; name it .i32, or use --dtype int32"),
        ("npy", "y.dat", "its suffix says nothing, the items are int32; name it .npy, or use --format npy"),
        ("npy", "y.dat.gz", "its suffix says nothing, the items are int32; name it .npy, or use --format npy"),
        ("npy", "y.tgz", "its suffix says a tar archive, the items are int32; name it .npy"),
        ("txt", "y.tgz", "its suffix says a tar archive, the items are lines of text; name it .txt"),
        ("txt", "y.TBZ2", "its suffix says a tar archive, the items are lines of text; name it .txt"),
        ("txt", "y.tar.gz", "its suffix says a tar archive, the items are lines of text; name it .txt"),
    ],
)
def test_an_output_that_could_not_be_read_back(
    inputs: str, output: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keys = np.arange(3, dtype=np.int32)
    keys.tofile("a.i32")
    np.save("a.npy", keys)
    Path("a.txt").write_text("a\nb\n")
    with pytest.raises(OutputError) as caught:
        run(merge_job((f"a.{inputs}",) * 2, output))
    assert str(caught.value) == f"{output}: {told}"
    assert not Path(output).exists()


@pytest.mark.parametrize(
    ("inputs", "output", "items"),
    [
        ("i32", "y.unknown", Items(dtype="int32")),
        ("i32", "y.unknown", Items("raw", "int32")),
        ("npy", "y.dat", Items("npy")),
        ("txt", "y.tgz", Items("text")),
    ],
)
def test_an_output_whose_format_is_said(
    inputs: str, output: str, items: Items, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same options read it again."""
    monkeypatch.chdir(tmp_path)
    keys = np.arange(3, dtype=np.int32)
    keys.tofile("a.i32")
    np.save("a.npy", keys)
    Path("a.txt").write_text("a\nb\n")
    run(merge_job((f"a.{inputs}",), output, items))
    run(merge_job((output,), f"again.{inputs}", items))
    assert Path(f"again.{inputs}").read_bytes() == Path(f"a.{inputs}").read_bytes()
