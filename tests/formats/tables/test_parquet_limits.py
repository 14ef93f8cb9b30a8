"""Values that Parquet does not hold are refused where pyarrow would write others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from tests import needs

pa = needs.library("pyarrow")
feather, pq = needs.library("pyarrow.feather"), needs.library("pyarrow.parquet")

DAY = 86_400_000
FITTING = {
    "date64": (pa.date64(), [0, DAY, -DAY, (2**31 - 1) * DAY]),
    "timestamp": (pa.timestamp("s"), [0, -1, 2**53]),
}
BEYOND = {"date64": [2**31 * DAY, -(2**31) * DAY - DAY, 106_751_991_167 * DAY], "timestamp": [2**62, -(2**62)]}


def inside_struct(values: Any) -> Any:
    return pa.StructArray.from_arrays([values], ["inner"])


def inside_list(values: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


def inside_map(values: Any) -> Any:
    keys = pa.array([str(number) for number in range(len(values))])
    return pa.MapArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), keys, values)


@pytest.mark.parametrize("within", [None, inside_struct, inside_list, inside_map])
@pytest.mark.parametrize("kind", FITTING)
def test_what_does_not_fit_is_refused(
    kind: str, within: Callable[[Any], Any] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    type, fitting = FITTING[kind]
    for beyond in (None, *BEYOND[kind]):
        values = pa.array([*fitting, *([] if beyond is None else [beyond])], pa.int64()).view(type)
        column = values if within is None else within(values)
        name, out = str(tmp_path / "a.arrow"), tmp_path / "out.parquet"
        feather.write_feather(pa.table({"k": range(len(values)), "v": column}), name)
        out.unlink(missing_ok=True)
        status = invoke(["merge", "-q", "--field", "k", name, "-o", str(out)])
        said = capsys.readouterr().err
        if beyond is None:
            assert status == 0, said
            assert pq.read_table(out).num_rows == len(values)
            continue
        assert status == 2
        assert "a value of the column v does not fit Parquet, which stores" in said
        assert said.count("\n") == 1
        assert not out.exists()


def test_values_that_no_row_has_are_not_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    far = pa.array([0, 2**62], pa.int64()).view(pa.timestamp("s"))
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0, None], pa.int8()), far)
    offsets, hidden = pa.array([0, 1, 2], pa.int32()), pa.array([False, True])
    lists = pa.ListArray.from_arrays(offsets, far, mask=hidden)
    maps = pa.MapArray.from_arrays(offsets, pa.array(["a", "b"]), far, mask=hidden)
    below = pa.StructArray.from_arrays([far], ["inner"], mask=hidden)
    for column, status in ((unused, 0), (lists, 0), (maps, 0), (below, 2)):
        name, out = str(tmp_path / "a.arrow"), tmp_path / "out.parquet"
        feather.write_feather(pa.table({"k": range(len(column)), "v": column}), name)
        out.unlink(missing_ok=True)
        assert invoke(["merge", "-q", "--field", "k", name, "-o", str(out)]) == status, capsys.readouterr().err
        said = capsys.readouterr().err
        assert ("write Arrow (.arrow)" in said) == (status == 2)
        assert said.count("\n") == (status == 2)
        if status == 0:
            assert pq.read_table(out).column("v").to_pylist() == pa.chunked_array([column]).to_pylist()
