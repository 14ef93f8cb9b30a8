"""Damaged Parquet files are refused in one line, or read: no command crashes.

python -m tests.fuzz_tables --cases 20000 [--seed N] [--first N]. It prints the seed and the number of a failure. A case
that ends the process counts as a failure, too: its number is the last one printed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import struct
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.tables import parquet_writer
from tests.formats.tables.random_parquet import encoded, table_of

COMMANDS = (
    ["merge", "--field", "id"],
    ["merge", "--field", "name,id"],
    ["merge", "--field", "id", "--no-check"],
    ["sort", "--field", "price:r"],
    ["sort", "--field", "point.x,name", "-S", "1M"],
    ["check", "--field", "id"],
    ["info", "--field", "id"],
)


def files() -> list[bytes]:
    """Sound files."""
    table = table_of(random.Random(3), 200).sort_by("id")
    return [
        encoded(
            table,
            row_group_size=50,
            compression=codec,
            data_page_size=200,
            data_page_version=version,
            sorting_columns=[pq.SortingColumn(0)],
        )
        for codec in ("none", "zstd", "snappy")
        for version in ("1.0", "2.0")
    ]


def damaged(chance: random.Random, file: bytes) -> bytes:
    """A file with a few other bytes, in its footer or anywhere."""
    data = bytearray(file)
    footer = len(data) - struct.unpack("<I", data[-8:-4])[0] - 8
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(footer if chance.random() < 0.4 else 0, len(data))
        how = chance.randrange(3)
        if how == 0:
            data[at] = chance.randrange(256)
        elif how == 1:
            data[at] ^= 1 << chance.randrange(8)
        else:
            data[at : at + 2] = chance.randbytes(2)
    return bytes(data)


def fault(words: list[str]) -> str:
    """The fault of a command; "" if it is done, or tells in one line why not."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        code = invoke(words)
    told = err.getvalue()
    lines = told.count("\n")
    if code not in (0, 1, 2) or "Error:" in told or (code == 2 and not 1 <= lines <= 2):
        return f"exit code {code}: {told}"
    return ""


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--cases", type=int, default=1000)
    reader.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    reader.add_argument("--first", type=int, default=0)
    options = reader.parse_args()
    parquet_writer._LEAST_COPIED = 1
    sound = files()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("sound.parquet").write_bytes(sound[0])
        for number in range(options.first, options.first + options.cases):
            chance = random.Random(f"{options.seed} {number}")
            print(f"\r--seed {options.seed} --first {number}", end="", flush=True)
            Path("damaged.parquet").write_bytes(damaged(chance, chance.choice(sound)))
            command = chance.choice(COMMANDS)
            writes = ["-q", "-o", "out.parquet"] if command[0] in ("merge", "sort") else []
            if found := fault([*command, "damaged.parquet", "sound.parquet", *writes]):
                raise SystemExit(f"\n{' '.join(command)}: {found}")
        os.chdir("/")
    print(f"\n{options.cases} cases are done")


if __name__ == "__main__":
    main()
