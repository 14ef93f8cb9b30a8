"""Statistics that are missing, shortened or false, of keys of all types: no row is lost, and none is out of order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables import parquet_writer, thrift  # noqa: E402
from gpumerge_cli.formats.tables.parquet_facts import chunks_of, column_metadata  # noqa: E402
from gpumerge_cli.formats.tables.parquet_footer import composed, split  # noqa: E402
from gpumerge_cli.formats.tables.taking import rows_at  # noqa: E402
from gpumerge_cli.formats.tables.thrift import BINARY, FALSE, I64, STRUCT, TRUE, Field  # noqa: E402
from tests.formats.tables.random_arrays import drawn_array, order_keys  # noqa: E402
from tests.formats.tables.random_tables import texts  # noqa: E402

STATISTICS = 12
TYPES = (
    pa.int64(), pa.int32(), pa.uint64(), pa.uint8(), pa.float64(), pa.float32(), pa.string(), pa.binary(),
    pa.decimal128(38, 10), pa.decimal128(9, 2), pa.timestamp("us"), pa.date32(), pa.bool_(), pa.binary(8),
)  # fmt: skip


def changed(data: bytes, rng: random.Random) -> bytes:
    """The file with other statistics of its first column in some groups."""
    footer, groups = split(data)
    structs = [thrift.read(one.facts.description) for one in groups]
    known = [dict(column_metadata(chunks_of(one)[0])[STATISTICS].value) for one in structs]
    placed, out = [], bytearray(b"PAR1")
    for one, struct in zip(groups, structs, strict=True):
        found = column_metadata(chunks_of(struct)[0])[STATISTICS].value
        for _ in range(rng.choice([0, 0, 1, 2])):
            id = rng.choice([1, 2, 3, 5, 6, 7, 8, 9, 56])
            other = rng.choice(known)
            match rng.choice(["none", "other", "short", "bytes", "swapped"]):
                case "none":
                    found.pop(id, None)
                case "other" if id in other:
                    found[id] = other[id]
                case "short" if id in (1, 2, 5, 6) and id in found:
                    found[id] = Field(BINARY, bytes(found[id].value)[: rng.randrange(9)])
                    found[7] = found[8] = Field(FALSE, False)
                case "bytes" if id in (1, 2, 5, 6) and id in found:
                    found[id] = Field(BINARY, rng.randbytes(len(found[id].value)))
                case "bytes" if id in (3, 9):
                    found[id] = Field(I64, rng.choice([0, 0, 1, 5, -1, 1 << 40]))
                case "bytes" if id in (7, 8):
                    found[id] = rng.choice([Field(TRUE, True), Field(FALSE, False)])
                case "swapped" if 5 in found and 6 in found:
                    found[5], found[6] = found[6], found[5]
        column_metadata(chunks_of(struct)[0])[STATISTICS] = Field(STRUCT, found)
        facts = type(one.facts)(
            one.facts.rows, one.facts.size, thrift.written(struct), one.facts.column_indexes, one.facts.offset_indexes
        )
        placed.append((len(out), facts))
        out += one.data
    return bytes(out) + composed(footer, placed, len(out))


@pytest.mark.parametrize("cases", [10, pytest.param(1500, marks=pytest.mark.thorough)])
def test_merges_are_correct_or_refused(
    cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parquet_writer, "_LEAST_COPIED", 1)
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    for case in range(cases):
        type, reverse = rng.choice(TYPES), rng.random() < 0.3
        nulls = rng.choice([0.0, 0.0, 0.3])
        rows = rng.choice([12, 40, 90])
        whole = pa.table({"key": drawn_array(rng, type, rows, nulls=nulls), "row": pa.array(range(rows))})
        keys = order_keys(whole["key"].combine_chunks(), reverse=reverse)
        order = sorted(range(rows), key=keys.__getitem__)
        files: list[list[int]] = [[], [], []]  # mostly one behind the other
        for place, row in enumerate(order):
            files[place * 3 // rows if rng.random() < 0.9 else rng.randrange(3)].append(row)
        tables = [rows_at(whole, np.array(one, np.int64)) for one in files]
        for number, table in enumerate(tables):
            pq.write_table(table, f"{number}.parquet", row_group_size=rng.choice([3, 8, 100]), write_page_index=True)
            if table.num_rows:
                Path(f"{number}.parquet").write_bytes(changed(Path(f"{number}.parquet").read_bytes(), rng))
        together = sorted((row for one in files for row in one), key=keys.__getitem__)
        expected = texts(rows_at(whole, np.array(together, np.int64)))
        words = ["merge", "--field", "key" + ":r" * reverse, "0.parquet", "1.parquet", "2.parquet", "-q"]
        head = rng.choice([[], [], ["--head", str(rng.randrange(rows))]])
        if invoke([*words, *head, "-o", "o.parquet"]) == 0:
            found: Any = texts(pq.read_table("o.parquet"))
            assert found == expected[: int(head[1]) if head else None], (case, type, reverse)
            Path("o.parquet").unlink()
        else:
            told = capfd.readouterr().err
            assert "its statistics say that key has no nulls, and there are some; " in told or "damaged" in told
            assert told.count("\n") == 1
            assert not Path("o.parquet").exists()


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(38, 2), pa.string()])
@pytest.mark.parametrize("option", ["", "--no-check", "--head 2"])
def test_nulls_that_statistics_do_not_count(
    kind: Any, option: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The images of such keys have no place for nulls, if they are of one size."""
    monkeypatch.setattr(parquet_writer, "_LEAST_COPIED", 1)
    monkeypatch.chdir(tmp_path)
    values = [1, 2, None]
    texts_of = [None if value is None else str(value) for value in values]
    pq.write_table(pa.table({"key": pa.array(texts_of if kind == pa.string() else values, kind)}), "a.parquet")
    footer, (group,) = split(Path("a.parquet").read_bytes())
    struct = thrift.read(group.facts.description)
    column_metadata(chunks_of(struct)[0])[STATISTICS].value[3] = Field(I64, 0)
    facts = type(group.facts)(
        3, group.facts.size, thrift.written(struct), group.facts.column_indexes, group.facts.offset_indexes
    )
    data = b"PAR1" + bytes(group.data)
    Path("a.parquet").write_bytes(data + composed(footer, [(4, facts)], len(data)))
    code = invoke(["merge", "--field", "key", *option.split(), "a.parquet", "-q", "-o", "o.parquet"])
    told = capfd.readouterr().err
    assert (code == 2) == bool(told), told
    if code == 2:
        assert told.startswith("gpumerge: a.parquet: its statistics say that key has no nulls, and there are some; ")
        assert not Path("o.parquet").exists()
    else:
        found = pq.read_table("o.parquet")["key"].to_pylist()
        assert [value is None for value in found] == [False, False, True][: len(found)]
