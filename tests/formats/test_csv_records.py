"""Records of CSV: what they are read from, and what is said of files that hold none."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats import csv_parser
from gpumerge_cli.formats.csv_lines import without_fields
from gpumerge_cli.formats.input import SeekableInput


def lines(path: Path) -> bytes:
    """The records of a file after they were taken to pieces."""
    out, file = io.BytesIO(), SeekableInput(str(path))
    try:
        csv_parser.write_fields(file, ord(","), out, lambda share: None)
    finally:
        file.close()
    return without_fields(out.getvalue())


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_records_over_any_number_of_blocks(
    block: int, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_parser, "_BLOCK", block)
    data = b'a,2\n\n"' + 30 * b"x" + b'\ny,""",3\r\n,\nlast,1'
    (tmp_path / "in").write_bytes(data + end)
    assert lines(tmp_path / "in") == data + b"\n"


def test_a_carriage_return_that_ends_no_line(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a,1\nb\rc,2\n")
    with pytest.raises(InputError, match=r"in:2: not CSV: a carriage return stands where no line ends; end lines"):
        lines(tmp_path / "in")
