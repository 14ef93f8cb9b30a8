"""Counts of equal items on a GPU, from end to end, against those of the CPU. A stand-in takes the GPU's place, too."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumerge_cli.engine import local as engine_local
from gpumerge_cli.engine import local_sorts
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.memory import ChunkBudget
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder
from gpumerge_cli.results.run import MergeReport
from tests.engine.fake_gpu import FakeChecks, stand_in
from tests.jobs_of import merge_job, sort_job
from tests.linekeys import key_of

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

Write = Callable[[str, Any], str]
RULES = [Equals.FIRST, Equals.UNION, Equals.INTERSECT, Equals.DIFFERENCE, Equals.SYMMETRIC]
"""A merge, whose equal items go out once, and the sets that can be counted."""


@pytest.fixture(params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GpuBackend:
    """The GPU's backend, or what stands in for it."""
    if request.param == "gpu":
        backend: GpuBackend = request.getfixturevalue("gpu_backend")
        return backend
    return stand_in(monkeypatch)


def counted(
    names: Sequence[str], folder: Path, equals: Equals, count: Any, items: Items, backend: Any, **more: Any
) -> MergeReport:
    file = str(folder / f"{backend}.npy") if count == "apart" else None
    on = Resources(backend, threads=3)
    output = str(folder / f"{backend}.out")
    return run_job(merge_job(names, output, items, on, equals=equals, margin=Margin(count, file=file), **more))


def same_as_on_cpu(
    names: Sequence[str], folder: Path, equals: Equals, count: Any, items: Items, **more: Any
) -> MergeReport:
    """The report of the GPU, whose output and counts are those of the CPU."""
    report, by_cpu = (counted(names, folder, equals, count, items, on, **more) for on in ("gpu", "cpu"))
    for suffix in ("out", *["npy"] * (count == "apart")):
        assert (folder / f"gpu.{suffix}").read_bytes() == (folder / f"cpu.{suffix}").read_bytes(), (suffix, equals)
    assert (report.backend, by_cpu.backend) == ("gpu", "cpu")
    assert (report.items, report.dropped, report.written) == (by_cpu.items, by_cpu.dropped, by_cpu.written)
    assert [file.items for file in report.inputs] == [file.items for file in by_cpu.inputs]
    return report


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorts of many runs for small files."""
    cut = local_sorts.sort_pieces
    monkeypatch.setattr(local_sorts, "sort_pieces", lambda sources, size, **more: cut(sources, 3000, **more))
    monkeypatch.setattr(engine_local, "budget_of", lambda *_: ChunkBudget(3, 4096))


def sorted_as_on_cpu(names: Sequence[str], folder: Path, count: Any, items: Items, **more: Any) -> MergeReport:
    """The report of a GPU's sort, whose output and counts are those of the CPU."""
    reports = []
    for backend in ("gpu", "cpu"):
        margin = Margin(count, file=str(folder / f"{backend}.npy") if count == "apart" else None)
        on, output = Resources(backend, threads=3), str(folder / f"{backend}.out")
        reports.append(run_job(sort_job(names, output, items, on, equals=Equals.FIRST, margin=margin, **more)))
    for suffix in ("out", *["npy"] * (count == "apart")):
        assert (folder / f"gpu.{suffix}").read_bytes() == (folder / f"cpu.{suffix}").read_bytes(), suffix
    report, by_cpu = reports
    assert (report.backend, by_cpu.backend) == ("gpu", "cpu")
    assert (report.items, report.dropped, report.written) == (by_cpu.items, by_cpu.dropped, by_cpu.written)
    return report


@pytest.mark.one_of_each
@pytest.mark.usefixtures("small_pieces", "device")
@pytest.mark.parametrize("spills", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float64"])
def test_sorts_of_numbers(dtype: str, spills: bool, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    for items in (0, 1, 400, 30_000):
        whole = rng.integers(0, 110, items).astype(dtype)
        if dtype == "float64":
            whole[whole == 0] = rng.choice([0.0, -0.0], int((whole == 0).sum()))
            whole[rng.random(items) < 0.01] = np.nan
        names = [write(f"{number}.raw", part) for number, part in enumerate(np.split(whole, [items // 3]))]
        sorted_as_on_cpu(names, tmp_path, "apart", Items("raw", dtype), always_spill=spills)
        assert np.load(tmp_path / "gpu.npy").sum() == items


@pytest.mark.usefixtures("small_pieces", "device")
@pytest.mark.one_of_each
@pytest.mark.parametrize("count", ["ahead", "after", "apart"])
@pytest.mark.parametrize("turn", range(4))
def test_sorts_of_lines(count: str, turn: int, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    order = LINES[turn]
    end = bytes([order.terminator])
    words = [b"", b"a", b"A", b"0", b"00", b"1.0", b"x" * 70 + b"1", *(b"%d" % number for number in range(2, 90))]
    for most in (0, 3, 9000):
        lines = [words[at] + end for at in rng.integers(0, len(words), most)]
        names = [write("a.txt", b"".join(lines[: most // 2])), write("b.txt", b"".join(lines[most // 2 :]))]
        for spills in (False, True):
            sorted_as_on_cpu(names, tmp_path, count, Items("text", lines=order), always_spill=spills)


@pytest.mark.usefixtures("small_pieces", "device")
@pytest.mark.parametrize("kind", range(4))
def test_sorts_of_records(kind: int, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    size, offset, key = RECORDS[kind]
    records = rng.integers(0, 256, (3000, size), np.uint8)
    records[:, offset : offset + Order.records(size, offset, key).width] &= 1
    dtype, width = (None, key) if isinstance(key, int) else (key.str, None)
    items = Items("raw", dtype, records=RecordRequest(size, offset or None, width))
    sorted_as_on_cpu([write("a.raw", records)], tmp_path, "apart", items)


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", RULES)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float64", "int16"])
def test_numbers(equals: Equals, dtype: str, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    for inputs in (1, 2, 3, 20):
        runs = [np.sort(rng.integers(0, 110, 12_000 // inputs)).astype(dtype) for _ in range(inputs)]
        if dtype == "float64":
            for run in runs:  # equal items that differ
                run[run == 0] = rng.choice([0.0, -0.0], int((run == 0).sum()))
                run[-20:] = np.nan
        names = [write(f"{number}.raw", run) for number, run in enumerate(runs)]
        report = same_as_on_cpu(names, tmp_path, equals, "apart", Items("raw", dtype))
        assert report.chunks > 1
        numbers = np.load(tmp_path / "gpu.npy")
        assert (numbers > 0).all()
        assert equals is not Equals.FIRST or numbers.sum() == report.items


RECORDS: list[tuple[int, int, Any]] = [(12, 2, 6), (8, 4, np.dtype(">f4")), (100, 0, 10), (7, 2, np.dtype(">i4"))]
"""Bytes of a record, and the place and type of its key, or bytes that are it. The last two are merged as rows."""


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", RULES)
@pytest.mark.parametrize("kind", RECORDS)
def test_records(
    equals: Equals, kind: tuple[int, int, Any], write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    size, offset, key = kind
    order = Order.records(size, offset, key)
    names = []
    for number in range(3):
        records = rng.integers(0, 256, (int(rng.integers(200, 900)), size), np.uint8)
        records[:, offset : offset + order.width] &= 1
        made = sorted(map(bytes, records), key=key_of(order))
        names.append(write(f"{number}.raw", b"".join(made)))
    dtype, width = (None, key) if isinstance(key, int) else (key.str, None)
    items = Items("raw", dtype, records=RecordRequest(size, offset or None, width))
    same_as_on_cpu(names, tmp_path, equals, "apart", items)


LINES = [
    LineOrder(), LineOrder((LineKey("numeric"),), stable=True), LineOrder(reverse=True, terminator=NUL),
    LineOrder((LineKey(fold=True),), stable=True),
]  # fmt: skip


@pytest.mark.one_of_each
@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize(("equals", "count", "turn"), [
    (equals, count, (number + turn) % len(LINES))
    for number, equals in enumerate(RULES) for turn, count in enumerate(("ahead", "after", "apart"))
])  # fmt: skip
def test_lines(
    equals: Equals, count: str, turn: int, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:  # fmt: skip
    """Lines of all lengths, some of them empty, and equal ones that differ."""
    order = LINES[turn]
    end = bytes([order.terminator])
    words = [b"", b"a", b"A", b"0", b"00", b"1.0", b"x" * 70 + b"1", b"the same beginning 1", b"the same beginning 2"]
    words += [b"%d" % number for number in range(2, 90)]
    for inputs, chosen in ((1, 9), (2, len(words)), (3, 4), (5, len(words))):
        names = []
        for number in range(inputs):
            lines = [words[at] for at in rng.integers(0, chosen, int(rng.integers(0, 900)))]
            names.append(write(f"{number}.txt", b"".join(line + end for line in sorted(lines, key=key_of(order)))))
        same_as_on_cpu(names, tmp_path, equals, count, Items("text", lines=order))


@pytest.mark.one_of_each
@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("count", ["ahead", "after"])
@pytest.mark.parametrize("field", [b"%d", b'"a, %d"', b'"a\n%d"', b'%d"'])
def test_records_of_csv(field: bytes, count: str, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """As they stand, with newlines in quotes, and with quotes that the standard library's parser reads."""
    order = LineOrder((LineKey("numeric", start_field=0, end_field=0),), stable=True)
    for end in (b"\n", b"\r\n"):
        names = []
        for number in range(3):
            keys = np.sort(rng.integers(0, 60, 700)).tolist()
            text = b"".join(b"%d,%s%s" % (key, field % key, end) for key in keys)
            names.append(write(f"{number}.csv", b"id,x" + end + text))
        items = Items("csv", lines=order, header_lines=1)
        same_as_on_cpu(names, tmp_path, Equals.FIRST, count, items)
        head = (tmp_path / "gpu.out").read_bytes().partition(b"\n")[0] + b"\n"
        assert head == (b"count,id,x" if count == "ahead" else b"id,x,count") + end


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("count", ["ahead", "after"])
def test_numbers_of_any_width(count: str, write: Write, tmp_path: Path) -> None:
    """The chunks that a GPU takes by itself hold them all."""
    runs = [b"".join(b"%d\n" % digits * 10**digits for digits in range(1, 5)) for _ in range(2)]
    names = [write(f"{number}.txt", run) for number, run in enumerate(runs)]
    same_as_on_cpu(names, tmp_path, Equals.FIRST, count, Items("text"))
    assert b"20000" in (tmp_path / "gpu.out").read_bytes()


def test_the_kernel_that_counts_is_warm(monkeypatch: pytest.MonkeyPatch, write: Write, tmp_path: Path) -> None:
    """It is compiled ahead of the first chunk, and two equal items are counted meanwhile."""
    stand_in(monkeypatch)
    counts: list[int] = []
    really = FakeChecks.count_equals
    monkeypatch.setattr(
        FakeChecks, "count_equals", lambda self, items, *text: counts.append(items[1]) or really(self, items, *text)
    )
    names = [write(f"{number}.i32", np.arange(100, dtype=np.int32)) for number in range(2)]
    same_as_on_cpu(names, tmp_path, Equals.FIRST, "apart", Items("raw", "int32"))
    assert counts == [2, 200]


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("count", ["ahead", "apart"])
def test_disorder_and_empty_files(count: str, write: Write, tmp_path: Path) -> None:
    good, bad, empty = write("a.txt", b"a\nb\n" * 1), write("b.txt", b"a\nc\nb\n"), write("c.txt", b"")
    for names in ([empty], [empty, empty], [good, empty]):
        same_as_on_cpu(names, tmp_path, Equals.FIRST, count, Items("text"))
        same_as_on_cpu(names, tmp_path, Equals.INTERSECT, count, Items("text"))
    there = sorted(os.listdir(tmp_path))
    with pytest.raises(DisorderError, match=r"b\.txt:3: disorder"):
        counted([good, bad], tmp_path, Equals.FIRST, count, Items("text"), "gpu")
    assert sorted(os.listdir(tmp_path)) == there
