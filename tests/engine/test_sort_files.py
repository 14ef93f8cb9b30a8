"""Whole files sorted, in memory and beyond it: against NumPy's stable sort and the system's sort."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.backends.cpu import backend as cpu_backend
from gpumerge_cli.backends.select import Selected
from gpumerge_cli.engine import local as engine_local
from gpumerge_cli.engine import local_sorts
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import DeviceMemoryError, OutputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.output_file import OutputFile
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.launch import ALGORITHMS, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.results.run import MergeReport
from tests.jobs_of import sort_job
from tests.open_files import open_under

SPILLED: list[dict[str, Any]] = [
    {},
    {"by_pieces": True},
    {"always_spill": True},
    {"always_spill": True, "compress_program": "builtin"},
]


def sort(
    backend: Backend, names: list[str], output: str, items: Items, *, by_pieces: bool = False, **more: Any
) -> MergeReport:
    on = Resources(backend.name, threads=2)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        if by_pieces:
            patch.setattr(type(backend), "whole_sort", lambda *_: None)
        return run(sort_job(names, output, items, on, **more))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces so small that a test has many runs."""
    monkeypatch.setattr(local_sorts, "LEAST_PIECE", 4 << 10)
    monkeypatch.setattr(local_sorts, "_LEAST_ROOM", 16 << 10)
    monkeypatch.setattr(cpu_backend, "_PIECE", 16 << 10)
    monkeypatch.setattr(cpu_backend, "_MOST_RUNS", 1 << 20)
    if (gpu_backend := sys.modules.get("gpumerge_cli.backends.gpu.backend")) is not None:
        monkeypatch.setattr(gpu_backend, "_PIECE", 64 << 10)
    monkeypatch.setattr(local_sorts, "PART_BYTES", 12_345)  # no multiple of any item
    monkeypatch.setattr(cpu_backend, "_LEAST_WHOLE_ROW", 0)


@pytest.mark.one_of_each
@pytest.mark.parametrize("spilled", SPILLED)
@pytest.mark.parametrize("dtype", ["int32", ">i8", "float64", "uint8"])
def test_keys(backend: Backend, rng: np.random.Generator, tmp_path: Path, dtype: str, spilled: dict[str, Any]) -> None:
    arrays = [rng.integers(0, 200, count).astype(dtype) for count in (9000, 0, 1, 7001)]
    if np.dtype(dtype).kind == "f":
        arrays[0][::7] = np.nan
        arrays[3][::5] = -0.0
    names = [str(tmp_path / f"{number}.npy") for number in range(len(arrays))]
    for name, array in zip(names, arrays, strict=True):
        np.save(name, array)
    report = sort(backend, names, str(tmp_path / "out.npy"), Items(), **spilled)
    assert not open_under(tmp_path)
    result = np.load(tmp_path / "out.npy")
    assert result.dtype == arrays[0].dtype
    expected = np.sort(np.concatenate(arrays), kind="stable").astype(dtype)
    assert result.tobytes() == expected.tobytes()
    assert report.items == len(expected)
    descending = Items(reverse=True)
    sort(backend, names, str(tmp_path / "down.npy"), descending, equals=Equals.FIRST, **spilled)
    assert len(np.load(tmp_path / "down.npy")) == len(np.unique(expected, equal_nan=True))


class _NoRoom:
    """The CPU's backend as a device that reports enough memory for all items, and then has none."""

    def __init__(self, most: int) -> None:
        self._backend = backends_select.host()
        self._most = most
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> Workspace:
        workspace = self._backend.workspace(order, capacity, threads=threads)
        adopt = workspace.adopt

        def refuse(lengths: Sequence[int]) -> None:
            if sum(lengths) > self._most:
                self.refused += 1
                raise DeviceMemoryError("the device is out of memory", way_out="close others")
            adopt(lengths)

        workspace.adopt = refuse  # type: ignore[method-assign]
        return workspace


def test_a_device_without_room_for_all_sorts_pieces(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, tmp_path: Path
) -> None:
    keys = rng.integers(0, 1 << 32, 50_000, np.uint32)
    keys.tofile(tmp_path / "a.u32")
    for most, chunks in ((0, False), (1 << 20, True)):
        device = _NoRoom(most)
        monkeypatch.setattr(engine_local, "select_for_sort", lambda *_, device=device, **__: Selected(device, "a test"))
        progress: list[int] = []
        job = sort_job((str(tmp_path / "a.u32"),), str(tmp_path / "o.u32"))
        report = run(job, advance=lambda done, _, progress=progress: progress.append(done))  # type: ignore[misc]
        assert np.array_equal(np.fromfile(tmp_path / "o.u32", np.uint32), np.sort(keys))
        assert device.refused == (0 if chunks else 1)
        assert report.items == len(keys)
        assert progress[-1] == keys.nbytes


@pytest.mark.parametrize("spill", [False, True])
def test_a_sort_says_its_stages(spill: bool, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"".join(b"%d\n" % (number % 977) for number in range(50_000)))
    stages: list[str] = []
    on = Resources("cpu", memory=1 << 20, always_spill=True) if spill else Resources("cpu")
    job = sort_job((str(tmp_path / "a.txt"),), str(tmp_path / "o.txt"), resources=on)
    run(job, on_stage=stages.append)
    assert stages == (["sorting", "merging"] if spill else ["reading", "sorting", "writing"])


def test_a_failure_in_any_part_ends_a_sort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    np.arange(100_000, dtype=np.uint32).tofile(tmp_path / "a.u32")
    (tmp_path / "o.u32").write_bytes(b"old!")

    def full(self: OutputFile, position: int, data: Any) -> None:
        if position > 200_000:
            raise OutputError("no room", way_out="make some")

    monkeypatch.setattr(OutputFile, "write_at", full)
    with pytest.raises(OutputError, match="no room"):
        sort(backends_select.host(), [str(tmp_path / "a.u32")], str(tmp_path / "o.u32"), Items())
    assert (tmp_path / "o.u32").read_bytes() == b"old!"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.u32", "o.u32"]


def test_a_program_that_unpacks_to_less_is_told(backend: Backend, tmp_path: Path) -> None:
    program = tmp_path / "cut"
    program.write_text('#!/bin/sh\n[ "$1" = -d ] && exec head -c 10\nexec cat\n')
    program.chmod(0o755)
    (tmp_path / "a").write_bytes(b"".join(b"%d\n" % (x * 7919 % 10007) for x in range(10007)))
    for unpacker in (str(program), "true"):
        with pytest.raises(OutputError, match="did not decompress"):
            sort(
                backend, [str(tmp_path / "a")], str(tmp_path / "out"), Items("text"), always_spill=True,
                compress_program=unpacker,
            )  # fmt: skip
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("spilled", SPILLED)
def test_records_keep_the_order_of_equal_keys(
    backend: Backend, rng: np.random.Generator, tmp_path: Path, spilled: dict[str, Any]
) -> None:
    dtype = np.dtype([("name", "S12"), ("key", ">i2"), ("place", "<u4")])
    array = np.zeros(5000, dtype)
    array["key"] = rng.integers(-5, 5, len(array))
    array["place"] = np.arange(len(array))
    array.tofile(tmp_path / "a.dat")
    items = Items(dtype=str(dtype.descr), records=RecordRequest(fields=("key",)))
    sort(backend, [str(tmp_path / "a.dat")], str(tmp_path / "a.dat"), items, **spilled)  # in its own place
    result = np.fromfile(tmp_path / "a.dat", dtype)
    assert result.tobytes() == array[np.argsort(array["key"], kind="stable")].tobytes()


@pytest.mark.one_of_each
@pytest.mark.skipif(shutil.which("sort") is None, reason="needs sort; install coreutils")
@pytest.mark.parametrize("spilled", SPILLED)
@pytest.mark.parametrize(
    ("options", "order"),
    [
        ([], LineOrder()),
        (["-n"], LineOrder((LineKey("numeric"),))),
        (["-k2,2n", "-t,"], LineOrder((LineKey("numeric", 1, 0, 1),), b",")),
        (["-k1,1", "-k3,3nr"], LineOrder((LineKey(end_field=0), LineKey("numeric", 2, 0, 2, reverse=True)))),
        (["-u", "-k1,1V"], LineOrder((LineKey("version", end_field=0),), stable=True)),
    ],
)
def test_lines(
    backend: Backend,
    rng: np.random.Generator,
    tmp_path: Path,
    spilled: dict[str, Any],
    options: list[str],
    order: LineOrder,
) -> None:
    numbers = rng.integers(0, 300, (3, 2500, 3))
    names = []
    for number, rows in enumerate(numbers):
        names.append(str(tmp_path / f"{number}.txt"))
        text = "".join(f"user{a:03} item,{b},{a} {c}\n" for a, b, c in rows)
        Path(names[-1]).write_text(text + "x" * 40_000 * (number == 1))  # a line longer than a piece, without its end
    items, equals = Items("text", lines=order), Equals.of("-u" in options)
    report = sort(backend, names, str(tmp_path / "out"), items, equals=equals, **spilled)
    environment = os.environ | {"LC_ALL": "C"}
    expected = subprocess.run(["sort", *options, *names], capture_output=True, env=environment, check=True).stdout
    assert (tmp_path / "out").read_bytes() == expected
    assert report.items == 3 * 2500 + 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(backend: Backend, rng: np.random.Generator, tmp_path: Path, algorithm: str) -> None:
    keys = rng.integers(0, 1 << 30, 3000).astype(np.int32)
    keys.tofile(tmp_path / "a.i32")
    request = SortRequest(algorithm)  # type: ignore[arg-type]
    sort(backend, [str(tmp_path / "a.i32")], str(tmp_path / "b.i32"), Items(), launch=request)
    assert np.fromfile(tmp_path / "b.i32", np.int32).tolist() == sorted(keys.tolist())


def test_many_equal_lines_and_nothing_at_all(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "same").write_bytes(b"the same line\n" * 30_000)
    (tmp_path / "none").write_bytes(b"")
    sort(backend, [str(tmp_path / "same")], str(tmp_path / "out"), Items("text"))
    assert (tmp_path / "out").read_bytes() == (tmp_path / "same").read_bytes()
    sort(backend, [str(tmp_path / "none")], str(tmp_path / "out"), Items("text"))
    assert (tmp_path / "out").read_bytes() == b""


def test_a_header_stays_ahead(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"name\nz\nb\n")
    (tmp_path / "b").write_bytes(b"name\na\n")
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    sort(backend, names, str(tmp_path / "out"), Items("text", header_lines=1))
    assert (tmp_path / "out").read_bytes() == b"name\na\nb\nz\n"


def test_fields_of_csv_are_sorted_by_what_they_mean(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'name,n\n"x, ""y""",10\n"two\nlines","9"\nz,-1\n')
    order = LineOrder((LineKey("numeric", 1, 0, 1),))
    sort(
        backend,
        [str(tmp_path / "a.csv")],
        str(tmp_path / "out"),
        Items("csv", lines=order, header_lines=1),
    )
    assert (tmp_path / "out").read_bytes() == b'name,n\nz,-1\n"two\nlines","9"\n"x, ""y""",10\n'


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    backend = backends_select.host()
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    inputs, output = [str(tmp_path / "a.i32")], str(tmp_path / "b.i32")
    with pytest.raises(UsageError, match="recursive"):
        sort(backend, inputs, output, Items(), launch=SortRequest("recursive"))
    with pytest.raises(OutputError, match="nowhere"):
        sort(backend, inputs, output, Items(), always_spill=True, folders=(str(tmp_path / "nowhere"),))
    with pytest.raises(OutputError, match="no such program"):
        sort(backend, inputs, output, Items(), always_spill=True, compress_program="no-such-program")
    with pytest.raises(OutputError, match="false ended with code 1"):
        sort(backend, inputs, output, Items(), always_spill=True, compress_program="false")
    assert not (tmp_path / "b.i32").exists()


@pytest.mark.skipif(shutil.which("gzip") is None, reason="needs gzip; install it")
def test_a_program_packs_temporary_files(tmp_path: Path) -> None:
    lines = b"".join(b"%d\n" % (number * 7919 % 10_007) for number in range(10_007))
    (tmp_path / "a").write_bytes(lines)
    sort(
        backends_select.host(), [str(tmp_path / "a")], str(tmp_path / "b"), Items("text"),
        always_spill=True, compress_program="gzip",
    )  # fmt: skip
    assert (tmp_path / "b").read_bytes() == b"".join(sorted(lines.splitlines(keepends=True)))
