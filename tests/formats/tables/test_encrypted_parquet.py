"""Encrypted Parquet files are refused before pyarrow reads them, which may end the process."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq, encryption = library("pyarrow"), library("pyarrow.parquet"), library("pyarrow.parquet.encryption")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables import thrift  # noqa: E402
from gpumerge_cli.formats.tables.parquet_facts import FileField  # noqa: E402


class _Keys(encryption.KmsClient):  # type: ignore[misc]
    """Keys that are not wrapped."""

    def __init__(self, connection: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, name: str) -> bytes:
        return base64.b64decode(wrapped)


def encrypted(path: Path, *, plain_footer: bool) -> Path:
    """A file whose column `text` is encrypted, and its footer unless it is plain."""
    rows = pa.table({"id": [1, 2, 3], "text": ["a", "b", "c"]})
    settings = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["text"]}, plaintext_footer=plain_footer
    )
    factory = encryption.CryptoFactory(_Keys)
    made = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    with pq.ParquetWriter(path, rows.schema, encryption_properties=made) as writer:
        writer.write_table(rows)
    return path


def without_algorithm(path: Path) -> None:
    """Take the statement that the file is encrypted out of its footer; its columns still say it."""
    file = path.read_bytes()
    (length,) = struct.unpack("<I", file[-8:-4])
    footer = file[-8 - length : -8]
    fields = thrift.read(footer[: thrift.struct_length(footer)])
    footer = thrift.written({id: field for id, field in fields.items() if id < FileField.encryption})
    path.write_bytes(file[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1")


@pytest.mark.parametrize("form", ["columns", "columns alone", "whole"])
@pytest.mark.parametrize("field", ["id", "text"])
@pytest.mark.parametrize("command", ["merge", "sort", "check", "info"])
def test_encrypted_files(
    form: str, field: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = encrypted(tmp_path / "a.parquet", plain_footer=form != "whole")
    if form == "columns alone":
        without_algorithm(path)
    out = ["-o", str(tmp_path / "out.parquet")] if command in ("merge", "sort") else []
    assert invoke([command, "--field", field, *out, str(path)]) == 2
    assert capsys.readouterr().err == f"gpumerge: {path}: it is encrypted; decrypt it first\n"
    assert not (tmp_path / "out.parquet").exists()
