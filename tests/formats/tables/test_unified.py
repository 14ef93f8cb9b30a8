"""Dictionaries that become one: the indices of nulls are never read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import library

pa = library("pyarrow")

from gpumerge_cli.formats.tables.nested_dictionaries import values_inside  # noqa: E402
from gpumerge_cli.formats.tables.unified import unified  # noqa: E402 - behind the check that pyarrow is there

FAR = 1 << 30
"""No index of any dictionary here."""


def with_far_indices(texts: list[str], places: list[int | None]) -> Any:
    """A dictionary whose nulls have an index that lies far outside of it. Arrow says that it is valid."""
    given = pa.array(places, pa.int32())
    indices = np.array([FAR if one is None else one for one in places], np.int32)
    buffers = [given.buffers()[0], pa.py_buffer(indices)]
    made = pa.Array.from_buffers(pa.int32(), len(places), buffers, given.null_count)
    array = pa.DictionaryArray.from_arrays(made, pa.array(texts), safe=False)
    array.validate(full=True)
    return array


def test_the_indices_of_nulls_are_not_read() -> None:
    chunks = [with_far_indices([f"{number}a", f"{number}b"], [0, None, 1]) for number in range(3)]
    for some in (chunks, [chunk[1:] for chunk in chunks]):
        found = unified(pa.chunked_array(some))
        found.validate(full=True)
        assert found.to_pylist() == [value for chunk in some for value in chunk.to_pylist()]
        assert max(index for chunk in found.chunks for index in chunk.indices.fill_null(0).to_pylist()) < 6
        for inside in (pa.StructArray.from_arrays([chunk], ["d"]) for chunk in some):
            assert values_inside(inside).to_pylist() == inside.to_pylist()


@pytest.mark.parametrize("command", ["merge -q", "sort"])
def test_files_with_such_indices(command: str, tmp_path: Path) -> None:
    """In a process of its own, which such indices could end."""
    names = []
    for number in range(2):
        column = with_far_indices([f"{number}a", f"{number}b"], [0, 1, None, 1])
        table = pa.table({"id": range(number, 8, 2), "d": column})
        names.append(str(tmp_path / f"{number}.arrow"))
        with pa.ipc.new_file(names[-1], table.schema) as made:
            made.write_table(table)
    out = str(tmp_path / "out.arrow")
    args = [sys.executable, "-m", "gpumerge_cli", *command.split(), "--field", "id", *names, "-o", out]
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pa.ipc.open_file(out) as opened:
        assert opened.read_all()["d"].to_pylist() == ["0a", "1a", "0b", "1b", None, None, "0b", "1b"]
