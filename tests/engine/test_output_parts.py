"""Outputs in parts: their items in a row are the bytes of the one output, their sizes differ by an item or a line."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine import output as engine_output
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.job import Job, Resources
from gpumerge_cli.engine.outcome import Outcome
from gpumerge_cli.engine.output import Output, output_names
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.engine.task import PartTotal
from gpumerge_cli.errors import DisorderError, OutputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.output_file import FORCED
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.formats.sink import ItemSink
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.results.run import MergeReport
from tests.engine.test_sort_files import SPILLED, small_pieces, sort  # noqa: F401
from tests.jobs_of import merge_job, sort_job
from tests.oracles import items_of
from tests.strategies import as_text, key_runs, line_runs, record_runs

Write = Callable[[str, Any], str]


def content(path: str) -> bytes:
    """The items of a file, without its header."""
    data = Path(path).read_bytes()
    unpack = {".gz": gzip.decompress, ".bgz": gzip.decompress, ".bz2": bz2.decompress}.get(
        os.path.splitext(path)[1], bytes
    )
    return np.load(path).tobytes() if path.endswith(".npy") else unpack(data)


def count(path: str, item: int) -> int:
    """Items of a file. item: bytes of one, 0 for lines."""
    data = content(path)
    return len(data) // item if item else data.count(b"\n")


def within_one(report: MergeReport, item: int) -> None:
    """Each part is as large as all others, but for one item of so many bytes."""
    sizes = [part.nbytes for part in report.parts]
    assert max(abs(size - sum(sizes) / len(sizes)) for size in sizes) <= item, sizes


def on(backend: Backend) -> Resources:
    return Resources(backend.name, threads=3)  # type: ignore[arg-type]


def both(
    backend: Backend, names: list[str], output: str, parts: int, items: Items, item: int, *, unique: bool = False
) -> list[MergeReport]:
    """A merge of sorted files, and a sort of them, to parts: held against the one output. item: as of `count`."""
    single = output.replace("{part}", "whole")
    equals = Equals.of(unique)
    run_job(merge_job(names, single, items, on(backend), equals=equals))
    expected = content(single)
    reports = []
    for job in (merge_job, sort_job):
        report = run_job(job(names, output, items, on(backend), parts=parts, equals=equals))
        assert [part.name for part in report.parts] == [output.replace("{part}", str(n)) for n in range(parts)]
        assert b"".join(content(part.name) for part in report.parts) == expected
        assert [part.items for part in report.parts] == [count(part.name, item) for part in report.parts]
        assert sum(part.items for part in report.parts) == report.items - report.dropped
        assert sum(part.nbytes for part in report.parts) == report.written
        reports.append(report)
    return reports


@pytest.mark.one_of_each
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("mapped", ["0", "1"])
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("suffix", [".i32", ".npy", ".i32.gz", ".i32.bgz"])
@pytest.mark.parametrize("parts", [1, 2, 4, 9])
def test_keys(
    backend: Backend, write: Write, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch,
    parts: int, suffix: str, unique: bool, mapped: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(FORCED, mapped)
    names = [
        write(f"{number}.i32", np.sort(rng.integers(0, 5000, rng.integers(3000, 9000)).astype(np.int32)))
        for number in range(3)
    ]
    for report in both(backend, names, str(tmp_path / f"out.{{part}}{suffix}"), parts, Items(), 4, unique=unique):
        items = [part.items for part in report.parts]
        assert unique or max(items) - min(items) <= 1
    assert not [name for name in os.listdir(tmp_path) if "gpumerge" in name]


@settings(max_examples=40)
@given(case=key_runs(most_runs=4), parts=st.integers(1, 9))
def test_any_keys(backend: Backend, tmp_path_factory: pytest.TempPathFactory, case: Any, parts: int) -> None:
    runs, descending = case
    folder = tmp_path_factory.mktemp("keys")
    names = []
    for number, run in enumerate(runs):
        run.tofile(folder / f"{number}")
        names.append(str(folder / f"{number}"))
    items = items_of(dtype=runs[0].dtype.name, reverse=descending)
    for report in both(backend, names, str(folder / "out{part}"), parts, items, runs[0].dtype.itemsize):
        within_one(report, runs[0].dtype.itemsize)


@settings(max_examples=40)
@given(case=line_runs(most_runs=3), parts=st.integers(1, 9), unique=st.booleans())
def test_any_lines(
    backend: Backend, tmp_path_factory: pytest.TempPathFactory, case: Any, parts: int, unique: bool
) -> None:
    runs, numeric, descending = case
    folder = tmp_path_factory.mktemp("lines")
    names = []
    for number, run in enumerate(runs):
        (folder / f"{number}.txt").write_bytes(as_text(run))
        names.append(str(folder / f"{number}.txt"))
    items = items_of(numeric=numeric, reverse=descending, stable=unique)
    merged, sorted_ = both(backend, names, str(folder / "{part}.out.txt"), parts, items, 0, unique=unique)
    if not unique:
        assert merged.parts == sorted_.parts
        within_one(merged, max((len(line) + 1 for run in runs for line in run), default=0))


@settings(max_examples=40)
@given(records=record_runs(), parts=st.integers(1, 9))
def test_any_records(backend: Backend, tmp_path_factory: pytest.TempPathFactory, records: Any, parts: int) -> None:
    folder = tmp_path_factory.mktemp("records")
    names = []
    for number, run in enumerate(records.runs):
        (folder / f"{number}").write_bytes(b"".join(run))
        names.append(str(folder / f"{number}"))
    key = records.key
    dtype = None if isinstance(key, int) else key.str
    asked = RecordRequest(records.size, records.offset, key if isinstance(key, int) else None)
    items = Items("raw", dtype, reverse=records.descending, records=asked)
    for report in both(backend, names, str(folder / "out{part}"), parts, items, records.size):
        within_one(report, records.size)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("quoted", [b"%d,x", b'"a ""%d""",x', b'%d,"two\nlines"'])
@pytest.mark.parametrize("suffix", ["", ".bz2"])
def test_each_part_of_csv_has_the_header(
    backend: Backend, write: Write, tmp_path: Path, quoted: bytes, suffix: str
) -> None:
    header = b'"the name",n,other\n'
    names = [
        write(f"{n}.csv", header + b"".join(b"%s,%d\n" % (quoted % k, k) for k in range(n, 900, 2))) for n in range(2)
    ]
    order = LineOrder((LineKey("numeric", start_field=2, end_field=2),))
    items = Items("csv", lines=order, header_lines=1)
    single, output = str(tmp_path / f"whole.csv{suffix}"), str(tmp_path / f"out{{part}}.csv{suffix}")
    run_job(merge_job(names, single, items, on(backend)))
    for job in (merge_job, sort_job):
        report = run_job(job(names, output, items, on(backend), parts=5))
        found = [content(part.name) for part in report.parts]
        assert all(part.startswith(header) for part in found)
        assert header + b"".join(part.removeprefix(header) for part in found) == content(single)
        assert sum(part.items for part in report.parts) == 900


@pytest.mark.one_of_each
@pytest.mark.parametrize("mapped", ["0", "1"])
@pytest.mark.parametrize("spilled", SPILLED)
def test_every_way_to_sort(
    backend: Backend, rng: np.random.Generator, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    spilled: dict[str, Any], mapped: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(FORCED, mapped)
    lines = [b"%d" % key * int(rng.integers(1, 9)) for key in rng.integers(0, 500, 9000)]
    names = [write("a.txt", as_text(lines[:6000])), write("b.txt", as_text(lines[6000:])[:-1])]
    sort(backend, names, str(tmp_path / "whole"), Items("text"), **spilled)
    report = sort(backend, names, str(tmp_path / "out{part}"), Items("text"), parts=7, **spilled)
    assert b"".join(content(part.name) for part in report.parts) == content(str(tmp_path / "whole"))
    assert [content(part.name).count(b"\n") for part in report.parts] == [part.items for part in report.parts]
    within_one(report, max(map(len, lines)) + 1)
    keys = rng.integers(0, 500, 9001).astype(">i4")
    write("k.npy", keys)
    report = sort(backend, [str(tmp_path / "k.npy")], str(tmp_path / "p{part}.npy"), Items(), parts=7, **spilled)
    assert np.array_equal(np.concatenate([np.load(part.name) for part in report.parts]), np.sort(keys))
    assert {part.items for part in report.parts} == {1285, 1286}


@pytest.mark.one_of_each
@pytest.mark.parametrize("suffix", ["npy", "npy.gz"])
@pytest.mark.parametrize(("item", "items"), [(12, 20_001), (12, 83_333), (18, 30_001)])
def test_two_threads_sort_an_odd_number_of_records_to_two_parts(
    rng: np.random.Generator, tmp_path: Path, item: int, items: int, suffix: str
) -> None:
    records = np.zeros(items, [("rest", f"V{item - 8}"), ("key", "<i8")])
    records["key"] = rng.integers(-(2**62), 2**62, items)
    np.save(tmp_path / "in.npy", records)
    words = [
        "sort",
        "-q",
        "--backend=cpu",
        "--parallel=2",
        "--field=key",
        "in.npy",
        "--parts=2",
        "-o",
        f"o{{part}}.{suffix}",
    ]
    compressed = ["--compressed"] if suffix.endswith("gz") else []
    environment = os.environ | {"PYTHONPATH": os.fspath(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "gpumerge_cli", *words, *compressed]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    unpack = gzip.decompress if suffix.endswith("gz") else bytes
    parts = [tmp_path / f"o{number}.{suffix}" for number in range(2)]
    found = np.concatenate([np.load(io.BytesIO(unpack(part.read_bytes()))) for part in parts])
    assert found.tobytes() == records[np.argsort(records["key"], kind="stable")].tobytes()


def test_items_that_are_missing_at_the_end_are_an_error(write: Write, tmp_path: Path) -> None:
    name = write("a.i32", np.arange(10, dtype=np.int32))
    with open_inputs((name,), Items()) as inputs:
        output = Output((str(tmp_path / "o.i32"),), inputs, Job((name,)), [40])
        with pytest.raises(OutputError, match="9 items were to be written instead of 10"):
            output.finish(Outcome(counts=[10], written=36, per_part={0: PartTotal(9, 36)}), durable=False)
        output.abort()
    assert os.listdir(tmp_path) == ["a.i32"]


@pytest.mark.parametrize("parts", [3, 12])
def test_more_parts_than_items(backend: Backend, write: Write, tmp_path: Path, parts: int) -> None:
    names = [write("a.npy", np.array([1, 2], np.int32)), write("b.npy", np.array([], np.int32))]
    for job in (merge_job, sort_job):
        report = run_job(job(names, str(tmp_path / "o{part}.npy"), resources=on(backend), parts=parts))
        assert np.concatenate([np.load(part.name) for part in report.parts]).tolist() == [1, 2]
        assert sum(part.items for part in report.parts) == 2
        assert [os.path.basename(part.name) for part in report.parts][-1] == f"o{parts - 1}.npy"
        assert os.path.basename(report.parts[0].name) == ("o0.npy" if parts < 11 else "o00.npy")


def test_disorder_leaves_nothing(backend: Backend, write: Write, tmp_path: Path) -> None:
    keys = np.arange(30_000, dtype=np.int32)
    keys[20_000] = 0
    lines = as_text([b"%06d" % key for key in keys])
    before = b"before"
    write("o1.i32", before)
    for name, lenient in ((write("a.i32", keys), False), (write("a.txt", lines), True)):
        output = str(tmp_path / f"o{{part}}{os.path.splitext(name)[1]}")
        with pytest.raises(DisorderError, match="disorder"):
            run_job(merge_job((name,), output, resources=on(backend), parts=4, lenient=lenient))
    assert sorted(os.listdir(tmp_path)) == ["a.i32", "a.txt", "o1.i32"]
    assert (tmp_path / "o1.i32").read_bytes() == before


def test_a_part_may_be_an_input(backend: Backend, write: Write, tmp_path: Path) -> None:
    names = tuple(write(f"{n}.i64", np.arange(n, 6000, 2)) for n in range(2))
    report = run_job(merge_job(names, str(tmp_path / "{part}.i64"), resources=on(backend), parts=2))
    assert [part.items for part in report.parts] == [3000, 3000]
    assert np.array_equal(np.concatenate([np.fromfile(name, np.int64) for name in names]), np.arange(6000))


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("links", [True, False])
def test_if_one_part_cannot_be_put_in_place_the_others_are_taken_back(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool, durable: bool
) -> None:
    name = write("a.i32", np.arange(100, dtype=np.int32))
    old = write("o0.i32", b"old")
    really = os.replace

    def replace(source: Any, target: Any) -> None:
        if str(target).endswith("o2.i32"):
            raise PermissionError(13, "no")
        really(source, target)

    def no_link(*names: Any) -> None:
        raise OSError(95, "no links")

    monkeypatch.setattr(os, "replace", replace)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    job = merge_job((name,), str(tmp_path / "o{part}.i32"), parts=3, durable=durable)
    with pytest.raises(OutputError) as caught:
        run_job(job)
    if links:
        assert caught.value.way_out == "all parts are as they were"
        assert sorted(os.listdir(tmp_path)) == ["a.i32", "o0.i32"]
        assert Path(old).read_bytes() == b"old"
    else:
        stay = [str(tmp_path / f"o{number}.i32") for number in range(2)]
        assert caught.value.way_out == f"these parts are new: {', '.join(stay)}"
        assert sorted(os.listdir(tmp_path)) == ["a.i32", "o0.i32", "o1.i32"]


def test_what_is_no_name_of_parts(write: Write, tmp_path: Path) -> None:
    name = write("a.i32", np.arange(10, dtype=np.int32))
    os.mkfifo(tmp_path / "p1.i32")
    os.symlink("same.i32", tmp_path / "s0.i32")
    os.symlink("same.i32", tmp_path / "s1.i32")
    before = sorted(os.listdir(tmp_path))
    for output, parts, error, message in [
        ("o.i32", 2, UsageError, "--parts 2: .*o.i32 is one file; name the parts"),
        ("o{part}.i32", None, UsageError, "the output has no parts; add --parts N"),
        ("o{part}.i32", 0, UsageError, "--parts 0: an output has 1 to 65536 parts"),
        ("o{part}.i32", 10**9, UsageError, "--parts 1000000000: an output has 1 to"),
        ("p{part}.i32", 2, OutputError, "p1.i32: a part cannot be a pipe or a device"),
        ("s{part}.i32", 2, OutputError, "s1.i32: it is the same file as the part .*s0.i32"),
        ("no/{part}.i32", 2, OutputError, "no such file"),
    ]:
        for job in (merge_job, sort_job):
            with pytest.raises(error, match=message):
                run_job(job((name,), str(tmp_path / output), parts=parts))
    with pytest.raises(OutputError, match="/dev/fd/0: a part cannot be a pipe or a device"):
        run_job(merge_job((name,), "/dev/fd/{part}", parts=2))
    assert sorted(os.listdir(tmp_path)) == before


def test_standard_output_has_no_parts(write: Write) -> None:
    with pytest.raises(UsageError, match="--parts 3: the output is standard output; name the parts"):
        run_job(merge_job((write("a.i32", np.arange(10, dtype=np.int32)),), parts=3))


@pytest.mark.parametrize(("parts", "threads", "asked"), [(1, None, [8]), (3, 7, [2, 2, 2]), (20, 3, [1, 1, 1])])
def test_parts_share_the_processes_that_bring_pages_ahead(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int, threads: int | None, asked: list[int]
) -> None:
    found: list[int] = []
    monkeypatch.setattr(ItemSink, "populate", lambda self, processes: found.append(processes))
    monkeypatch.setattr(engine_output, "cores", lambda: 16)
    names = output_names(merge_job([], str(tmp_path / "o{part}"), parts=parts))
    with open_inputs((write("a.i32", np.arange(60, dtype=np.int32)),), Items("raw", "int32")) as inputs:
        output = Output(names, inputs, Job((), resources=Resources(threads=threads)), [240 // parts] * parts)
        output.reserve_space(by_devices=True)
        output.abort()
    assert found == asked
    assert os.listdir(tmp_path) == ["a.i32"]
