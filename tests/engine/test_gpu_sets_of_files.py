"""Sets of files on a GPU, from end to end, against those of the CPU. A stand-in takes the GPU's place, too."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import plan_files
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import SETS, Equals, Margin
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder
from gpumerge_cli.results.run import MergeReport
from tests import needs
from tests.engine.fake_gpu import stand_in
from tests.jobs_of import merge_job
from tests.linekeys import key_of
from tests.reference import ReferenceBackend
from tests.strategies import special_values

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

Write = Callable[[str, Any], str]
EVERY_SET = [Equals.of_sets(name, distinct=distinct) for name in SETS for distinct in (False, True)]
ORDERS = [Order.of(dtype, descending=descending) for dtype in DTYPES for descending in (False, True)]
SMALL = 1 << 12  # bytes of memory, which make the smallest chunks


@pytest.fixture(params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GpuBackend:
    """The GPU's backend, or what stands in for it."""
    if request.param == "gpu":
        backend: GpuBackend = request.getfixturevalue("gpu_backend")
        compile_ahead(backend)
        return backend
    return stand_in(monkeypatch)


@lru_cache(maxsize=1)
def compile_ahead(backend: GpuBackend) -> None:
    """Begin to compile, side by side, what the tests take."""
    wanted = [(order, equals) for turn, order in enumerate(ORDERS) for equals in sets_of(turn)]
    wanted += [(Order.of("int32"), equals) for equals in EVERY_SET]
    for turn, (size, offset, key, descending) in enumerate(RECORDS):
        order = Order.records(size, offset, key, descending=descending)
        wanted += [(order, equals) for equals in sets_of(turn)]
    wanted += [(Order.lines(rules), equals) for turn, rules in enumerate(LINES) for equals in sets_of(turn)]
    wanted += [(Order.lines(), equals) for equals in EVERY_SET]
    for order, equals in wanted:
        policy = backend.resolve(LaunchRequest(), order, 2, equals)
        backend.prepare(order, policy, 1 << 10, check=True, equals=equals)


def sets_of(turn: int) -> list[Equals]:
    """Two of the sets. Over all types, each set has its turn, up and down."""
    return EVERY_SET[(turn + turn // 2) % 4 :: 4]


def files_set(
    names: Sequence[str], output: Path, equals: Equals, items: Items, backend: Any = "gpu", **more: Any
) -> MergeReport:
    on = Resources(backend, threads=3)
    return run_job(merge_job(names, str(output), items, on, equals=equals, **more))


def same_as_on_cpu(names: Sequence[str], folder: Path, equals: Equals, items: Items, **more: Any) -> MergeReport:
    """The report of the GPU, whose output is that of the CPU."""
    report = files_set(names, folder / "gpu.raw", equals, items, **more)
    by_cpu = files_set(names, folder / "cpu.raw", equals, items, "cpu", **more)
    assert (folder / "gpu.raw").read_bytes() == (folder / "cpu.raw").read_bytes(), equals
    assert (report.backend, report.kind) == ("gpu", equals.name_of_set)
    assert report.kernel == "walk" or not report.chunks
    assert (report.items, report.dropped, report.written) == (by_cpu.items, by_cpu.dropped, by_cpu.written)
    assert [file.items for file in report.inputs] == [file.items for file in by_cpu.inputs]
    return report


def in_order(order: Order, run: Any) -> Any:
    return run[np.argsort(order.image(run), kind="stable")]


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("turn", range(len(ORDERS)), ids=[order.describe() for order in ORDERS])
def test_every_type(turn: int, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """Groups of equals are shorter than a chunk, or far longer."""
    order = ORDERS[turn]
    dtype = np.dtype(order.dtype)
    for number, equals in enumerate(sets_of(turn)):
        for values in (2, 200):
            pool = np.concatenate([special_values(dtype), rng.integers(0, 120, values).astype(dtype)])
            pool = rng.choice(pool, values, replace=False)
            sizes = ((4000, 3000), (2500, 0, 900, 2000))[number]
            runs = [in_order(order, rng.choice(pool, size)) for size in sizes]
            names = [write(f"{number}.{at}.raw", run) for at, run in enumerate(runs)]
            items = Items("raw", dtype.name, reverse=order.descending)
            report = same_as_on_cpu(names, tmp_path, equals, items)
            assert values == 2 or report.chunks > 1


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("equals", EVERY_SET)
def test_any_number_of_inputs(equals: Equals, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    for inputs in (1, 2, 3, 4, 7):
        runs = [np.sort(rng.integers(0, 900, int(rng.integers(1000, 4000)))).astype(np.int32) for _ in range(inputs)]
        names = [write(f"{number}.i32", run) for number, run in enumerate(runs)]
        report = same_as_on_cpu(names, tmp_path, equals, Items("raw", "int32"))
        assert report.chunks > inputs // 2
        assert ("one after the other" in report.launch_why) == (inputs > 2)


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("name", SETS)
def test_empty_inputs_and_equal_ones(name: str, write: Write, tmp_path: Path) -> None:
    equals = Equals.of_sets(name, distinct=False)
    full = write("a.i32", np.sort(np.arange(9000, dtype=np.int32) // 3))
    empty = write("b.i32", np.empty(0, np.int32))
    one = write("c.i32", np.full(5000, 7, np.int32))
    for names in (
        [empty, empty], [empty], [full, empty], [empty, full], [full, full], [one, one, full], [full, one, empty],
    ):  # fmt: skip
        same_as_on_cpu(names, tmp_path, equals, Items("raw", "int32"))


RECORDS: list[tuple[int, int, Any, bool]] = [
    (12, 2, 6, False), (16, 8, np.dtype("i8"), True), (4, 0, 2, True), (8, 4, np.dtype(">f4"), False),
    (16, 0, 8, False), (4, 0, np.dtype(">i4"), False), (100, 0, 10, False), (7, 2, np.dtype(">f4"), True),
    (33, 2, 20, True), (20, 12, np.dtype("u8"), False),
]  # fmt: skip
"""Bytes of a record, the place and type of its key (or bytes that are it), and whether the order is descending.

Those of 4, 8, 12 and 16 bytes with short keys move whole, the others as rows. Some keys are longer than a row's prefix.
"""


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("turn", range(len(RECORDS)))
def test_records(turn: int, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """Records with equal keys differ elsewhere, so it shows which of them go out, and in which order."""
    size, offset, key, descending = RECORDS[turn]
    order = Order.records(size, offset, key, descending=descending)
    dtype, width = (None, key) if isinstance(key, int) else (key.str, None)
    for equals in sets_of(turn):
        names = []
        for number in range(2 + turn % 2):
            records = rng.integers(0, 256, (int(rng.integers(500, 2000)), size), np.uint8)
            records[:, offset : offset + order.width] &= 1
            image = order.image(order.keys(records.reshape(-1)))
            names.append(write(f"{number}.raw", records[np.argsort(image, kind="stable")]))
        request = RecordRequest(None if order.width == size else size, offset or None, width)
        items = Items("raw", dtype, reverse=descending, records=request)
        report = same_as_on_cpu(names, tmp_path, equals, items)
        assert report.order == (order.describe() if order.width < size else "int32")


LINES = [
    LineOrder(), LineOrder(reverse=True), LineOrder((LineKey("numeric"),), stable=True),
    LineOrder((LineKey("numeric", reverse=True),), terminator=NUL),
    LineOrder((LineKey(start_field=1, end_field=1, fold=True), LineKey("numeric")), b",", stable=True),
    LineOrder((LineKey("version"),), stable=True), LineOrder((LineKey("random"),)),
]  # fmt: skip


def some_lines(rng: np.random.Generator, order: LineOrder, count: int, values: int) -> bytes:
    """Sorted lines, some of them empty. Many tie in a row's prefix. A terminator ends the last one, or none."""
    end = bytes([order.terminator])
    made = []
    for number in rng.integers(0, values, count).tolist():
        ahead = (b"", b"0" * int(rng.integers(0, 12)), b"the same beginning ")[int(rng.integers(0, 3))]
        behind = (b"", b",B%d" % (number % 5), b",b%d" % (number % 5))[int(rng.integers(0, 3))]
        made.append(ahead + b"%d" % number + behind if number else b"")
    text = b"".join(line + end for line in sorted(made, key=key_of(order)))
    return text.removesuffix(end) if rng.integers(2) else text


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("turn", range(len(LINES)))
def test_lines(turn: int, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """Groups of equals are shorter than a chunk, or far longer."""
    for number, equals in enumerate(sets_of(turn)):
        for values in (2, 200):
            sizes = ((400, 500), (300, 0, 200, 300))[number]
            names = [
                write(f"{number}.{at}.txt", some_lines(rng, LINES[turn], size, values)) for at, size in enumerate(sizes)
            ]
            report = same_as_on_cpu(names, tmp_path, equals, Items("text", lines=LINES[turn]))
            assert values == 2 or report.chunks > 1


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("equals", EVERY_SET)
def test_any_number_of_files_of_lines(equals: Equals, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    for inputs in (1, 2, 3, 5):
        texts = [some_lines(rng, LineOrder(), int(rng.integers(0, 500)), 90) for _ in range(inputs)]
        names = [write(f"{number}.txt", text) for number, text in enumerate(texts)]
        report = same_as_on_cpu(names, tmp_path, equals, Items("text"))
        assert ("one after the other" in report.launch_why) == (inputs > 2)


@pytest.mark.usefixtures("small_chunks", "device")
def test_lines_of_any_length_and_files_without_any(write: Write, tmp_path: Path) -> None:
    """A line that is longer than a chunk, files of empty lines, and empty files."""
    long = write("long.txt", b"\n\na\n" + b"b" * 9000 + b"\n" + b"b" * 9000 + b"c\nd")
    other = write("other.txt", b"\n" + b"b" * 9000 + b"\nd\nd\n")
    blank, empty = write("blank.txt", b"\n\n\n"), write("empty.txt", b"")
    for equals in EVERY_SET:
        for names in (
            [long, other],
            [other, long, blank],
            [blank, blank],
            [empty, long],
            [long, empty],
            [empty, empty],
        ):
            same_as_on_cpu(names, tmp_path, equals, Items("text"))


@pytest.mark.usefixtures("small_chunks", "device")
def test_csv(write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """Records of CSV, of which a quoted field may hold line ends."""
    rows = [b'%d,"a\n%d"\n' % (number, number % 7) for number in range(300)]
    items = Items("csv", lines=LineOrder((LineKey("numeric", end_field=0),), b",", stable=True))
    names = [write(f"{at}.csv", b"".join(rows[: 200 + 50 * at : at + 1])) for at in range(3)]
    for equals in EVERY_SET[::3]:
        assert same_as_on_cpu(names, tmp_path, equals, items).items == 200 + 125 + 100


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu_backend")
@pytest.mark.parametrize("turn", range(len(EVERY_SET)))
def test_lines_of_many_tiles(turn: int, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """With the chunks that a GPU takes by itself, and with the smallest ones that a limit of memory makes."""
    order = LINES[turn % 3]
    for values in (40, 40_000):
        texts = [some_lines(rng, order, size, values) for size in (40_000, 25_000, 9_000)[: 2 + turn % 2]]
        names = [write(f"{number}.txt", text) for number, text in enumerate(texts)]
        for memory in (None, SMALL):
            same_as_on_cpu(names, tmp_path, EVERY_SET[turn], Items("text", lines=order), memory=memory)


@pytest.mark.thorough
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("equals", [Equals.UNION, Equals.INTERSECT, Equals.DISTINCT_SYMMETRIC])
def test_chunks_of_many_tiles(equals: Equals, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """With the chunks that a GPU takes by itself, and with the smallest ones that a limit of memory makes."""
    runs = [np.sort(rng.integers(0, 1 << 20, size)).astype(np.int32) for size in (1_500_000, 900_000)]
    runs[1][100_000:500_000] = runs[1][100_000]
    names = [write(f"{number}.i32", run) for number, run in enumerate(runs)]
    one = same_as_on_cpu(names, tmp_path, equals, Items("raw", "int32"))
    many = same_as_on_cpu(names, tmp_path, equals, Items("raw", "int32"), memory=SMALL)
    assert many.chunks > 20 > one.chunks
    assert many.chunk_bytes >= 1_600_000  # the group of equals is one chunk


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("equals", EVERY_SET[::3])
@pytest.mark.parametrize("where", [1, 5000, 11_999])
def test_disorder_is_told_with_its_place(equals: Equals, where: int, write: Write, tmp_path: Path) -> None:
    run = np.arange(12_000, dtype=np.int32)
    run[where] = -5
    names = [write("a.i32", np.arange(9000, dtype=np.int32)), write("b.i32", run)]
    messages = []
    for backend in ("gpu", "cpu"):
        with pytest.raises(DisorderError) as error:
            files_set(names, tmp_path / "out.i32", equals, Items("raw", "int32"), backend)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert f"b.i32@{where}: disorder: -5 comes after {where - 1}" in messages[0]
    assert sorted(os.listdir(tmp_path)) == ["a.i32", "b.i32"]


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("equals", EVERY_SET[1::3])
def test_disorder_of_lines_is_told_with_its_place(equals: Equals, write: Write, tmp_path: Path) -> None:
    lines = [b"the same beginning %06d\n" % number for number in range(900)]
    for where in (1, 400, 899):
        wrong = [*lines]
        wrong[where] = b"the same\n"
        names = [write("a.txt", b"".join(lines[:700])), write("b.txt", b"".join(wrong))]
        messages = []
        for backend in ("gpu", "cpu"):
            with pytest.raises(DisorderError) as error:
                files_set(names, tmp_path / "out.txt", equals, Items("text"), backend)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
        assert f"b.txt:{where + 1}: disorder: 'the same' comes after" in messages[0]
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("equals", EVERY_SET[::3])
def test_no_check_takes_lines_that_are_there(
    equals: Equals, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Or says that these are not the lines of the inputs."""
    texts = [[b"common %d" % number for number in rng.integers(0, 99, 400)] for _ in range(3)]
    names = [write(f"{number}.txt", b"\n".join(text) + b"\n") for number, text in enumerate(texts)]
    try:
        report = files_set(names, tmp_path / "out.txt", equals, Items("text"), check=False)
    except DisorderError as error:
        assert "leave --no-check out" in str(error)  # noqa: PT017
        assert not (tmp_path / "out.txt").exists()
        return
    found = (tmp_path / "out.txt").read_bytes().split(b"\n")
    assert len(found) == report.items - report.dropped + 1 <= 1201
    assert set(found) <= {*chain.from_iterable(texts), b""}


@pytest.mark.usefixtures("small_chunks", "device")
def test_no_check_takes_what_is_there(write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """Inputs that are not in order end with some of their items, and nothing else."""
    runs = [rng.integers(0, 1000, 5000).astype(np.int32) for _ in range(3)]
    names = [write(f"{number}.i32", run) for number, run in enumerate(runs)]
    for equals in EVERY_SET[::3]:
        report = files_set(names, tmp_path / "out.i32", equals, Items("raw", "int32"), check=False)
        found = np.fromfile(tmp_path / "out.i32", np.int32)
        assert len(found) == report.items - report.dropped <= 15_000
        assert np.isin(found, np.concatenate(runs)).all()


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("suffix", [".npy", ".i64", ".i64.gz"])
def test_every_kind_of_output(suffix: str, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    if suffix.endswith(".gz"):
        needs.library("isal")
    runs = [np.sort(rng.integers(0, 700, 6000)) for _ in range(2)]
    names = [write(f"{number}.npy", run) for number, run in enumerate(runs)]
    for backend in ("gpu", "cpu"):
        files_set(names, tmp_path / f"{backend}{suffix}", Equals.UNION, Items(), backend)
        files_set(names, tmp_path / f"{backend}.{{part}}{suffix}", Equals.SYMMETRIC, Items(), backend, parts=3)
    for middle in ("", ".0", ".1", ".2"):
        found, wanted = (tmp_path / f"{backend}{middle}{suffix}" for backend in ("gpu", "cpu"))
        read = gzip.decompress if suffix.endswith(".gz") else bytes  # chunks may be packed apart, or together
        assert read(found.read_bytes()) == read(wanted.read_bytes()), middle


WORKSPACES = [Order.of("int32"), Order.lines(), Order.lines(LINES[2]), Order.records(33, 2, 20)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", WORKSPACES, ids=Order.describe)
def test_workspaces_make_sets_in_turn(order: Order, device: GpuBackend, rng: np.random.Generator) -> None:
    """No work of a workspace shows in the next one."""

    def sorted_run(count: int) -> Any:
        if order.text is not None:
            text = some_lines(rng, order.text, count // 4, 60)
            return np.frombuffer(text + b"\n" * (text[-1:] not in (b"", b"\n")), np.uint8)
        if not order.record:
            return np.sort(rng.integers(0, 300, count)).astype(np.int32).view(np.uint8)
        records = rng.integers(0, 2, (count // 4, order.record), np.uint8)
        records[:, order.offset : order.offset + order.width - 3] = 5
        return np.concatenate(
            [records[:0].reshape(-1), *sorted(records, key=lambda one: bytes(one[order.offset :][:20]))]
        )

    backends: list[Backend] = [device, backends_select.host(), ReferenceBackend()]
    workspaces = [backend.workspace(order, 1 << 10) for backend in backends]
    for turn in range(4):
        runs = [sorted_run(700 * turn) for _ in range(turn + 1)]
        for equals in EVERY_SET:
            found = []
            for backend, workspace in zip(backends, workspaces, strict=True):
                workspace.staging(sum(map(len, runs)))[:] = np.concatenate(runs)
                workspace.upload(list(map(len, runs)))
                assert workspace.disorder() is None
                workspace.merge(backend.resolve(LaunchRequest(), order, len(runs), equals), equals)
                items = workspace.download().tobytes()
                found.append((items, workspace.merged_bytes, workspace.dropped, workspace.counts))
            assert found[0] == found[1] == found[2], (turn, equals)
    for workspace in workspaces:
        workspace.close()


@pytest.mark.gpu
@pytest.mark.usefixtures("small_chunks", "two_gpus")
def test_two_gpus(write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    runs = [np.sort(rng.integers(0, 9000, 100_000)).astype(np.int32) for _ in range(2)]
    names = [write(f"{number}.i32", run) for number, run in enumerate(runs)]
    for backend, devices in (("gpu", (0, 1)), ("cpu", None)):
        on = Resources(backend, devices, threads=3)  # type: ignore[arg-type]
        run_job(merge_job(names, str(tmp_path / f"{backend}.i32"), resources=on, equals=Equals.SYMMETRIC))
    assert (tmp_path / "gpu.i32").read_bytes() == (tmp_path / "cpu.i32").read_bytes()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("order", "five", "six"), [(Order.of("int32"), b"\5\0\0\0", b"\6\0\0\0"), (Order.lines(), b"5\n", b"6\n")]
)
def test_merges_go_on_behind_sets(order: Order, five: bytes, six: bytes, gpu_backend: GpuBackend) -> None:
    workspace = gpu_backend.workspace(order, 64)
    run = np.frombuffer(2 * five + six, np.uint8)
    workspace.staging(2 * run.nbytes)[:] = np.concatenate([run, run])
    workspace.upload([run.nbytes, run.nbytes])
    policy = gpu_backend.resolve(LaunchRequest(), order)
    for equals, wanted in (
        (Equals.INTERSECT, [5, 5, 6]), (Equals.ALL, [5, 5, 5, 5, 6, 6]), (Equals.DIFFERENCE, []),
        (Equals.FIRST, [5, 6]), (Equals.DISTINCT_UNION, [5, 6]), (Equals.ALL, [5, 5, 5, 5, 6, 6]),
    ):  # fmt: skip
        workspace.merge(policy, equals)
        assert workspace.download().tobytes() == b"".join({5: five, 6: six}[item] for item in wanted)
        assert workspace.dropped == 6 - len(wanted)
    workspace.close()


def test_what_a_gpu_does_not_make(write: Write, tmp_path: Path) -> None:
    lines = write("a.txt", b"a\nb\n")
    margin = Margin(columns=(b"", b"", b""))
    job = merge_job((lines, lines), str(tmp_path / "o"), backend="gpu", equals=Equals.UNION, margin=margin)
    for made in (run_job, plan_files):
        with pytest.raises(UsageError, match="columns are made by the CPU alone; leave --backend gpu out"):
            made(job)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_auto_takes_the_cpu(write: Write, tmp_path: Path) -> None:
    name = write("a.i32", np.arange(3, dtype=np.int32))
    report = files_set([name, name], tmp_path / "o.i32", Equals.UNION, Items(), "auto")
    assert (report.backend, report.backend_why) == ("cpu", "auto has the CPU make sets and counts")
