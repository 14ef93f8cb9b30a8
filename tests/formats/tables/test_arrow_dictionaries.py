"""Dictionaries of any values are written to Arrow files and streams, extended from group to group."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa = library("pyarrow")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables.arrow_table import ArrowWriter  # noqa: E402
from gpumerge_cli.formats.tables.settings import TableSettings  # noqa: E402

VALUES = {
    "texts": pa.array(["a", "b"]),
    "half floats": pa.array([1.5, 2.5], pa.float16()),
    "views": pa.array(["a", "b"], pa.string_view()),
    "decimals": pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal32(5, 1)),
    "lists": pa.array([[1], [2, 3]]),
    "structs": pa.array([{"a": 1}, {"a": 2}]),
}


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
@pytest.mark.parametrize("values", VALUES)
def test_dictionaries(values: str, suffix: str, tmp_path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1, 0, 0], pa.int8()), VALUES[values])
    table = pa.table({"key": range(6), "of": column})
    a, out = tmp_path / f"a{suffix}", tmp_path / f"out{suffix}"
    with (pa.ipc.new_file if suffix == ".arrow" else pa.ipc.new_stream)(str(a), table.schema) as made:
        made.write_table(table)
    assert invoke(["merge", "--field", "key", "--row-group-size", "2", str(a), "-q", "-o", str(out)]) == 0
    found: Any = (pa.ipc.open_file if suffix == ".arrow" else pa.ipc.open_stream)(str(out)).read_all()
    assert found.schema.equals(table.schema)
    assert found.to_pylist() == table.to_pylist()
    assert len(found.column("of").chunk(0).dictionary) == 2


def test_dictionaries_of_half_floats_become_one(tmp_path: Path) -> None:
    """pyarrow 26 unifies them as integers: 1.5 becomes 15872."""
    names = []
    for number in range(2):
        values = pa.array([1.5 + number, None], pa.float16())
        table = pa.table({"key": [number, number + 2], "of": pa.DictionaryArray.from_arrays([0, 1], values)})
        names.append(str(tmp_path / f"{number}.arrow"))
        with pa.ipc.new_file(names[-1], table.schema) as made:
            made.write_table(table)
    out = str(tmp_path / "out.arrow")
    for command in ("merge -q", "sort"):
        assert invoke([*command.split(), "--field", "key", *names, "-o", out]) == 0
        assert pa.ipc.open_file(out).read_all()["of"].to_pylist() == [1.5, 2.5, None, None]


@pytest.mark.parametrize("values", VALUES)
def test_a_first_group_of_nulls(values: str) -> None:
    """Arrow extends no dictionary without values."""
    some = VALUES[values]
    groups = [pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), some[:0]), *(
        pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), some[at : at + 1]) for at in range(2)
    )]  # fmt: skip
    tables = [pa.table({"of": group, "in": pa.StructArray.from_arrays([group], ["d"])}) for group in groups]
    writer = ArrowWriter(tables[0].schema, TableSettings(), stream=False)
    data = writer.head + b"".join(writer.appended(writer.encoded(table), 0) for table in tables) + writer.end(0)
    found = pa.ipc.open_file(data).read_all()
    found.validate(full=True)
    assert found.to_pylist() == [row for table in tables for row in table.to_pylist()]
