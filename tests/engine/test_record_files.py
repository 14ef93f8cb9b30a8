"""Files of records, raw and .npy, from end to end on every backend."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import DisorderError, InputError, OutputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.results.run import MergeReport
from tests import needs
from tests.jobs_of import job_of, merge_job
from tests.oracles import first_records, items_of, merged_records
from tests.strategies import Records, record_runs

Write = Callable[[str, Any], str]
SORT_BENCHMARK = RecordRequest(100, None, 10)
FIELDS = np.dtype([("id", "<u4"), ("flag", "i1"), ("x", ">f8"), ("name", "S11"), ("in", [("raw", "V3"), ("n", ">i2")])])


def merge(
    backend: Backend, inputs: list[str], output: str, records: RecordRequest, *, unique: bool = False, **items: Any
) -> MergeReport:
    on = Resources(backend.name, threads=3)  # type: ignore[arg-type]
    given = items_of(records=records, stable=unique, **items)
    return run_job(merge_job(inputs, output, given, on, equals=Equals.of(unique)))


def benchmark_runs(rng: np.random.Generator, counts: list[int]) -> list[list[bytes]]:
    """Records of 100 bytes whose keys of 10 often tie, or differ in their last byte alone."""
    runs = []
    for count in counts:
        records = rng.integers(0, 256, (count, 100), np.uint8)
        records[:, :9] = rng.integers(0, 4, (count, 1))
        records[:, 9] &= 0x8F
        runs.append(merged_records([record.tobytes() for record in records], 0, 10))
    return runs


def structured(rng: np.random.Generator, count: int, field: str) -> np.ndarray:
    """An array of FIELDS in the order of one of them."""
    array = np.frombuffer(rng.bytes(count * FIELDS.itemsize), FIELDS).copy()
    array["x"] = rng.integers(-50, 50, count) / 4
    array["id"] = rng.integers(0, 99, count)
    return array[np.argsort(array[field], kind="stable")]


def joined(arrays: list[np.ndarray]) -> np.ndarray:
    """The arrays, one behind the other; np.concatenate would bring their fields to native byte order."""
    return np.frombuffer(b"".join(array.tobytes() for array in arrays), FIELDS)


@pytest.mark.parametrize("inputs", [1, 2, 3, 7])
def test_many_chunks(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator, inputs: int
) -> None:
    runs = benchmark_runs(rng, [int(count) for count in rng.integers(200, 400, inputs)])
    names = [write(f"{number}.rec", b"".join(run)) for number, run in enumerate(runs)]
    report = merge(backend, names, str(tmp_path / "out.rec"), SORT_BENCHMARK)
    expected = merged_records([record for run in runs for record in run], 0, 10)
    assert (tmp_path / "out.rec").read_bytes() == b"".join(expected)
    assert [file.items for file in report.inputs] == [len(run) for run in runs]
    assert report.chunks > inputs
    assert report.order == "records of 100 bytes, key bytes 0 to 9"
    assert sorted(os.listdir(tmp_path)) == sorted([*map(os.path.basename, names), "out.rec"])
    run_job(job_of("check", [str(tmp_path / "out.rec")], items=Items(records=SORT_BENCHMARK), backend=backend.name))


@settings(max_examples=40)
@given(case=record_runs(most_runs=4))
def test_any_records(backend: Backend, tmp_path_factory: pytest.TempPathFactory, case: Records) -> None:
    folder = tmp_path_factory.mktemp("records")
    names = []
    for number, run in enumerate(case.runs):
        (folder / f"{number}").write_bytes(b"".join(run))
        names.append(str(folder / f"{number}"))
    width, dtype = (case.key, None) if isinstance(case.key, int) else (None, case.key.str)
    request = RecordRequest(case.size, case.offset, width)
    merge(backend, names, str(folder / "out"), request, dtype=dtype, reverse=case.descending)
    assert (folder / "out").read_bytes() == b"".join(case.merged)


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("suffix", [".rec", ".rec.gz", ".npy"])
def test_unique_and_every_kind_of_output(
    backend: Backend,
    small_chunks: None,
    write: Write,
    tmp_path: Path,
    rng: np.random.Generator,
    unique: bool,
    suffix: str,
) -> None:
    if suffix.endswith(".gz"):
        needs.library("isal")
    runs = benchmark_runs(rng, [300, 0, 500])
    names = [write(f"{number}.rec", b"".join(run)) for number, run in enumerate(runs)]
    names.append(write("more.rec.gz" if suffix.endswith(".gz") else "more.rec", _packed(runs[0], suffix)))
    out = tmp_path / f"out{suffix}"
    report = merge(backend, names, str(out), SORT_BENCHMARK, unique=unique)
    expected = merged_records([record for run in (*runs, runs[0]) for record in run], 0, 10)
    if unique:
        assert report.dropped == len(expected) - len(first_records(expected, 0, 10)) > 0
        expected = first_records(expected, 0, 10)
    if suffix == ".npy":
        array = np.load(out)
        assert array.dtype == np.dtype("V100")
        assert array.tobytes() == b"".join(expected)
    else:
        data = out.read_bytes()
        assert (gzip.decompress(data) if suffix.endswith(".gz") else data) == b"".join(expected)


def _packed(records: list[bytes], suffix: str) -> bytes:
    return gzip.compress(b"".join(records)) if suffix.endswith(".gz") else b"".join(records)


@pytest.mark.parametrize("field", ["id", "flag", "x", "name"])
def test_structured_npy_by_each_field(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator, field: str
) -> None:
    runs = [structured(rng, count, field) for count in (500, 1, 900)]
    names = [write(f"{number}.npy", run) for number, run in enumerate(runs)]
    merge(backend, names, str(tmp_path / "out.npy"), RecordRequest(fields=(field,)))
    result = np.load(tmp_path / "out.npy")
    both = joined(runs)
    assert result.dtype == FIELDS
    assert result.tobytes() == both[np.argsort(both[field], kind="stable")].tobytes()


def test_a_field_inside_a_field(backend: Backend, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    array = structured(rng, 50, "id")
    array = array[np.argsort(array["in"]["n"], kind="stable")]
    name = write("a.npy", array)
    merge(backend, [name, name], str(tmp_path / "out.rec"), RecordRequest(fields=("in.n",)), format="npy")
    assert (tmp_path / "out.rec").read_bytes()[:6] == b"\x93NUMPY"
    with open(tmp_path / "out.rec", "rb") as file:
        both = joined([array, array])
        assert np.load(file).tobytes() == both[np.argsort(both["in"]["n"], kind="stable")].tobytes()


def test_a_dtype_with_fields_for_raw_files(
    backend: Backend, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    runs = [structured(rng, count, "x")[::-1] for count in (70, 90)]
    names = [write(f"{number}.dat", run) for number, run in enumerate(runs)]
    dtype = str(FIELDS.descr)
    merge(backend, names, str(tmp_path / "out.npy"), RecordRequest(fields=("x",)), dtype=dtype, reverse=True)
    both = joined(runs)
    result = np.load(tmp_path / "out.npy")
    assert result.dtype == FIELDS
    assert result.tobytes() == both[np.argsort(-both["x"], kind="stable")].tobytes()


@pytest.mark.parametrize("dtype", ["S7", "V7"])
def test_npy_of_bytes(backend: Backend, write: Write, tmp_path: Path, rng: np.random.Generator, dtype: str) -> None:
    runs = [np.sort(rng.integers(97, 100, (60, 7)).astype(np.uint8).view("S7").reshape(-1)) for _ in range(2)]
    names = [write(f"{number}.npy", run.view(dtype)) for number, run in enumerate(runs)]
    merge(backend, names, str(tmp_path / "out.npy"), RecordRequest())
    result = np.load(tmp_path / "out.npy")
    assert result.dtype == dtype
    assert result.tobytes() == np.sort(np.concatenate(runs)).tobytes()


@pytest.mark.parametrize("padding", [0, 1, 3, 7])
def test_npy_data_may_start_at_any_byte(
    backend: Backend, tmp_path: Path, rng: np.random.Generator, padding: int
) -> None:
    array = structured(rng, 300, "x")
    head = f"{{'descr': {FIELDS.descr!r}, 'fortran_order': False, 'shape': (300,), }}{' ' * padding}\n".encode()
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head + array.tobytes())
    merge(backend, [str(path)] * 2, str(tmp_path / "out.npy"), RecordRequest(fields=("x",)))
    both = joined([array, array])
    assert np.load(tmp_path / "out.npy").tobytes() == both[np.argsort(both["x"], kind="stable")].tobytes()


def test_disorder_is_named_by_record(backend: Backend, small_chunks: None, write: Write, tmp_path: Path) -> None:
    records = [b"%04d-payload" % number for number in range(2000)]
    records[1500] = b"0007-payload"
    name = write("a.rec", b"".join(records))
    request = RecordRequest(12, 0, 4)
    with pytest.raises(DisorderError, match=r"a\.rec@1500: disorder: '0007' comes after '1499'; sort it first"):
        merge(backend, [name], str(tmp_path / "out.rec"), request)
    back = write("b.rec", b"".join(sorted(records, reverse=True)))
    with pytest.raises(DisorderError, match=r"b\.rec@1: .* the file is in -r order: add -r"):
        merge(backend, [back], str(tmp_path / "out.rec"), request)
    assert not (tmp_path / "out.rec").exists()


def test_a_chunk_holds_at_least_one_record(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Records that are larger than chunks should be."""
    records = merged_records([rng.bytes(20_001) for _ in range(9)], 17_000, 300)
    names = [write("a.rec", b"".join(records[::2])), write("b.rec", b"".join(records[1::2]))]
    report = merge(backend, names, str(tmp_path / "out.rec"), RecordRequest(20_001, 17_000, 300))
    assert (tmp_path / "out.rec").read_bytes() == b"".join(records)
    assert report.chunks > 3


def test_no_records_at_all(backend: Backend, write: Write, tmp_path: Path) -> None:
    names = [write("a.npy", np.empty(0, FIELDS)), write("b.npy", np.empty(0, FIELDS))]
    merge(backend, names, str(tmp_path / "out.npy"), RecordRequest(fields=("id",)))
    assert np.load(tmp_path / "out.npy").shape == (0,)
    merge(backend, [write("a.rec", b"")], str(tmp_path / "out.rec"), SORT_BENCHMARK)
    assert (tmp_path / "out.rec").read_bytes() == b""


BY_ID, BY_PLACE = RecordRequest(fields=("id",)), RecordRequest(offset=0, width=4)


@pytest.mark.parametrize(
    ("records", "other", "message"),
    [
        (BY_PLACE, np.zeros(2, "u4,f8"), r"b\.npy: holds records of 12 bytes \(f0 <u4, f1 <f8\), but .*a\.npy holds"),
        (
            BY_PLACE,
            np.zeros(2, "V12"),
            r"b\.npy: holds records of 12 bytes, but .*a\.npy holds records of 12 bytes \(id",
        ),
        (BY_PLACE, np.zeros(2, "V2"), r"b\.npy: a key of 4 bytes at byte 0 is not within a record of 2 bytes"),
        (BY_ID, np.zeros(2, [("id", ">u4"), ("x", "<f8")]), r"b\.npy: holds records of 12 bytes \(id >u4"),
        (BY_ID, np.zeros(2, "V12"), r"b\.npy: --field id: records of 12 bytes have no field 'id'; it has no fields"),
        (BY_ID, np.zeros(2), r"b\.npy: --field id: the items are float64, not records"),
    ],
)
def test_layouts_must_be_the_same(
    backend: Backend, write: Write, tmp_path: Path, records: RecordRequest, other: np.ndarray, message: str
) -> None:
    names = [write("a.npy", np.zeros(2, [("id", "<u4"), ("x", "<f8")])), write("b.npy", other)]
    with pytest.raises(InputError, match=message):
        merge(backend, names, str(tmp_path / "out.npy"), records)


def test_records_have_no_suffix_of_keys(backend: Backend, write: Write, tmp_path: Path) -> None:
    name = write("a.rec", b"12345678")
    with pytest.raises(OutputError, match="its suffix means int32, the items are records of 4 bytes"):
        merge(backend, [name], str(tmp_path / "out.i32"), RecordRequest(4))
    with pytest.raises(UsageError, match="its suffix means int32, --record-size says records"):
        merge(backend, [write("a.i32", b"12345678")], str(tmp_path / "out.rec"), RecordRequest(4))
