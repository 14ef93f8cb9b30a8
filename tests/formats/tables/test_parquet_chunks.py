"""Statistics of Parquet as values, and columns whose metadata contradict each other."""

from __future__ import annotations

import datetime as dt
import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.dataclass import replace  # noqa: E402
from gpumerge_cli.errors import InputError  # noqa: E402
from gpumerge_cli.formats.tables import thrift  # noqa: E402
from gpumerge_cli.formats.tables.parquet_chunks import ChunkReader, value_of  # noqa: E402
from gpumerge_cli.formats.tables.parquet_facts import chunks_of, column_metadata  # noqa: E402
from gpumerge_cli.formats.tables.parquet_footer import composed, split  # noqa: E402
from gpumerge_cli.formats.tables.thrift import I32, LIST, STRUCT, Field, ListValue  # noqa: E402

ROOT = Path(__file__).parents[3]
DAY = dt.datetime(2024, 2, 29, 12, 30, 15, 5)
ARRAYS = {
    "bool": pa.array([True, False, None]),
    **{str(type): pa.array([-5, 100, 0], type) for type in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    "uint8": pa.array([255, 0], pa.uint8()),
    "uint32": pa.array([2**32 - 1, 1], pa.uint32()),
    "uint64": pa.array([2**64 - 1, 1], pa.uint64()),
    "float": pa.array([1.5, -2.5], pa.float32()),
    "double": pa.array([1.5, -2.5]),
    "halffloat": pa.array([1.5, -2.5], pa.float16()),
    "string": pa.array(["a", "é", ""]),
    "large_string": pa.array(["a", "b"], pa.large_string()),
    "binary": pa.array([b"\xff", b""]),
    "fixed": pa.array([b"ab", b"\xff\0"], pa.binary(2)),
    "date": pa.array([DAY.date(), dt.date(1960, 1, 1)]),
    **{f"timestamp {unit}": pa.array([5, -5], pa.timestamp(unit, "UTC")) for unit in ("ms", "us", "ns")},
    "time": pa.array([1, 2], pa.time64("ns")),
    "duration": pa.array([-1, 2], pa.duration("ns")),
    "decimal": pa.array([Decimal("-1.23"), Decimal("99.00")], pa.decimal128(12, 2)),
    "large decimal": pa.array([Decimal("-1.23"), Decimal("9" * 70)], pa.decimal256(76, 2)),
    "dictionary": pa.array(["b", "a"]).dictionary_encode(),
}


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_statistics_as_values(name: str, short: bool) -> None:
    array = ARRAYS[name]
    out = io.BytesIO()
    pq.write_table(pa.table({"x": array}), out, store_decimal_as_integer=short)
    facts = ChunkReader(split(out.getvalue())[0])(0, 0)
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    assert (facts.nulls, facts.num_values) == (array.null_count, len(array))
    assert facts.least is not None
    assert facts.greatest is not None
    found = pa.array([value_of(array.type, facts.physical, one) for one in (facts.least, facts.greatest)], plain.type)
    ordered = plain.drop_null().take(pa.compute.sort_indices(plain.drop_null())) if name != "halffloat" else found
    assert found.to_pylist() == [ordered[0].as_py(), ordered[-1].as_py()]


@pytest.mark.parametrize(("physical", "data"), [(0, b""), (1, b"abc"), (3, bytes(12)), (4, b"\0"), (6, b"\xff")])
def test_statistics_that_say_nothing(physical: int, data: bytes) -> None:
    assert value_of(pa.string(), physical, data) is None


def with_column(path: Path, change: Any) -> str:
    """A file of one column whose metadata `change` changes."""
    out = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2, 3]}), out)
    footer, (group,) = split(out.getvalue())
    struct = thrift.read(group.facts.description)
    change(struct, column_metadata(chunks_of(struct)[0]))
    facts = replace(group.facts, description=thrift.written(struct))
    data = b"PAR1" + bytes(group.data)
    path.write_bytes(data + composed(footer, [(4, facts)], len(data)))
    return str(path)


def _other_type(group: Any, column: Any) -> None:
    column[1] = Field(I32, 99)


def _other_histogram(group: Any, column: Any) -> None:
    column[16] = Field(STRUCT, {3: Field(LIST, ListValue(6, [1, 2, 3, 4]))})


def _other_path(group: Any, column: Any) -> None:
    column[3] = Field(LIST, ListValue(LIST, [ListValue(I32, [1])]))


@pytest.mark.parametrize("change", [_other_type, _other_histogram, _other_path])
def test_contradictions_do_not_end_the_process(change: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = with_column(tmp_path / "a.parquet", change)
    for words in (["merge", "-o", str(tmp_path / "out.parquet")], ["sort", "-o", str(tmp_path / "out.parquet")]):
        assert invoke([*words, "--field", "id", a]) in (0, 2)
    assert invoke(["info", "--field", "id", a]) in (0, 2)
    assert "Error:" not in capsys.readouterr().err


def test_a_missing_column(tmp_path: Path) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), out)
    with pytest.raises(InputError, match="row group 0: a column is missing"):
        ChunkReader(split(out.getvalue())[0])(0, 1)


@pytest.mark.parametrize("cases", [20, pytest.param(4_000, marks=pytest.mark.thorough)])
def test_damaged_files(cases: int, seed: int) -> None:
    """In a process of its own, which a fault may end. The usual cases are the same each time."""
    drawn = seed if cases > 100 else 1
    words = [sys.executable, "-m", "tests.fuzz_tables", "--cases", str(cases), "--seed", str(drawn)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout[-100:], done.stderr[-2000:])
