"""Keys that refer to long texts in a dictionary: memory stays bounded, and the output is the same."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa = library("pyarrow")

import numpy as np  # noqa: E402 - behind the check that pyarrow is there
import pyarrow.parquet as pq  # noqa: E402

from gpumerge_cli.cli.app import invoke  # noqa: E402
from gpumerge_cli.formats.tables import growing_dictionary, items, key_pieces, ranking, row_sources  # noqa: E402
from gpumerge_cli.formats.tables.growing_dictionary import GrowingDictionary, text_hashes  # noqa: E402
from gpumerge_cli.formats.tables.key_columns import KeyColumn  # noqa: E402
from tests.formats.tables.random_tables import read  # noqa: E402
from tests.formats.tables.test_uneven_rows import MEASURED  # noqa: E402

SIZE = 20_000
INDICES = (pa.int8(), pa.int32(), pa.uint16())
VALUES = (pa.string(), pa.binary(), pa.large_string())
KEYS = ("d", "d:r", "d,id", "id,d", "d:V", "s.d,d")


def long_texts(path: Path, number: int, rows: int, distinct: int, *, store_schema: bool = True) -> str:
    """A file of sorted texts of 20 kB, each of which many rows have."""
    texts = pa.array([f"{place:08}-{number}".ljust(SIZE, "x") for place in range(distinct)])
    which = np.sort(np.random.default_rng(number).integers(0, distinct, rows, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(pa.array(which), texts)
    table = pa.table({"id": np.arange(rows), "d": column})
    if path.suffix == ".arrow":
        with pa.ipc.new_file(str(path), table.schema) as made:
            made.write_table(table)
    else:
        pq.write_table(table, path, dictionary_pagesize_limit=1 << 30, store_schema=store_schema)
    return str(path)


def drawn(path: Path, rng: random.Random, type: Any, groups: int) -> str:
    """A file of random rows, whose groups have dictionaries of their own: in Arrow also with nulls, or in a struct."""
    is_arrow = path.suffix == ".arrow"
    inner = pa.struct([("d", type)]) if is_arrow else pa.struct([("d", type.value_type)])
    schema = pa.schema([("id", pa.int64()), ("d", type), ("e", type), ("s", inner)])
    batches = []
    for group in range(groups):
        texts = [f"{rng.randrange(9)}{letter}{group % 2}" * rng.choice([1, 30]) for letter in "abcdef"]
        rows = rng.randrange(1, 20)

        def column(last: str | None, texts: list[str] = texts, rows: int = rows) -> Any:
            values = pa.array([*texts[:5], last], pa.string()).cast(type.value_type)
            places = pa.array([rng.choice([None, *range(6)]) for _ in range(rows)], type.index_type)
            return pa.DictionaryArray.from_arrays(places, values)

        ids = pa.array([rng.randrange(5) for _ in range(rows)])
        field = column("z") if is_arrow else column("z").dictionary_decode()
        struct = pa.StructArray.from_arrays([field], fields=[*inner])
        columns = [column(rng.choice([None, "y"]) if is_arrow else "y") for _ in range(2)]
        batches.append(pa.table([ids, *columns, struct], schema=schema))
    if is_arrow:
        with pa.ipc.new_stream(str(path), schema) as made:
            for batch in batches:
                made.write_table(batch)
    else:
        with pq.ParquetWriter(path, schema, store_schema=rng.random() < 0.7) as made:
            for batch in batches:
                made.write_table(batch)
    return str(path)


@pytest.mark.parametrize("cases", [3, pytest.param(40, marks=pytest.mark.thorough)])
def test_ranks_make_the_same_output(cases: int, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorts by the ranks of values, by the values, and by plain values read from Parquet."""
    rng = random.Random(seed)
    for case in range(cases):
        type = pa.dictionary(rng.choice(INDICES), rng.choice(VALUES))
        suffix = rng.choice([".parquet", ".arrow"])
        names = [drawn(tmp_path / f"{case}-{at}{suffix}", rng, type, rng.choice([1, 4])) for at in range(2)]
        key, nulls = rng.choice(KEYS), rng.choice(["first", "last"])
        out_suffix = rng.choice([".parquet", ".arrows"] if suffix == ".parquet" else [".arrows"])
        outs = [tmp_path / f"{case}-out{number}{out_suffix}" for number in range(4)]
        if type.value_type == pa.binary() and key == "d:V":
            key = "d"
        args = ["sort", "-s", "--field", key, "--nulls", nulls, *names, "-o"]
        monkeypatch.setattr(ranking, "_LARGE", rng.choice([0, 1 << 18]))
        assert invoke([*args, str(outs[0])]) == 0
        assert invoke([*args, str(outs[1]), "-S", "1K"]) == 0
        with monkeypatch.context() as patched:
            patched.setattr(ranking, "_MOST_HELD", -1)
            patched.setattr(ranking, "_SHARES", 1 << 62)
            patched.setattr(ranking, "_LARGE", 0)  # reads keys as plain values
            assert invoke([*args, str(outs[2])]) == 0
            patched.setattr(ranking, "with_ranks", lambda tables, keys, memory: (tables, None))
            patched.setattr(key_pieces, "_BESIDE", 1 << 24)  # a piece is a row
            assert invoke([*args, str(outs[3]), "-S", "1K"]) == 0
        expected = read(str(outs[3]))
        for out in outs[:3]:
            found = read(str(out))
            assert found.schema.equals(expected.schema, check_metadata=True)
            assert found.to_pylist() == expected.to_pylist(), (case, key, nulls)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("command", ["merge -q", "merge -q --unique", "check", "difference", "diff --multi"])
def test_pieces_make_the_same_output(
    command: str, suffix: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    type = pa.dictionary(rng.choice(INDICES), pa.string())
    names = [drawn(tmp_path / f"{number}{suffix}", rng, type, 3) for number in range(2)]
    sorted_names = [str(tmp_path / f"sorted{number}{suffix}".replace(".arrow", ".arrows")) for number in range(2)]
    for name, out in zip(names, sorted_names, strict=True):
        assert invoke(["sort", "-s", "--field", "d,id,s.d,e", name, "-o", out]) == 0
    outs = [tmp_path / f"out{number}{suffix}".replace(".arrow", ".arrows") for number in range(2)]
    for out in outs:
        to = [] if command == "check" else ["-o", str(out)]
        assert invoke([*command.split(), "--field", "d,id,s.d,e", *sorted_names, *to]) in (0, 1)
        monkeypatch.setattr(key_pieces, "_BESIDE", 1 << 24)
    if command != "check":
        first, second = (read(str(out)) for out in outs)
        assert first.schema.equals(second.schema)
        assert first.to_pylist() == second.to_pylist()


def test_pieces_have_the_rows_of_a_batch(seed: int) -> None:
    """Pieces follow each other, and the texts of each take at most the bytes asked for, or it has one row."""
    rng = random.Random(seed)
    for _ in range(30):
        lengths = [rng.choice([0, 1, 100, 3000]) for _ in range(9)]
        texts = pa.array([*["x" * length for length in lengths], None])
        places = pa.array([rng.choice([None, *range(10)]) for _ in range(rng.randrange(50))], pa.int32())
        shared = pa.DictionaryArray.from_arrays(places, texts)
        ends = pa.array(np.cumsum([rng.randrange(1, 9) for _ in range(9)]), pa.int32())
        runs = pa.RunEndEncodedArray.from_arrays(ends, texts.slice(0, 9))
        for column in (shared.slice(rng.randrange(len(shared) + 1)), runs.slice(rng.randrange(len(runs)))):
            batch, most = pa.record_batch({"d": column}), rng.choice([1, 500, 5000, 10**6])
            found = list(key_pieces.key_pieces([KeyColumn(("d",), pa.string())], [batch], most))
            assert [value for piece in found for value in piece.column(0).to_pylist()] == column.to_pylist()
            for piece in found:
                assert sum(len(value or "") for value in piece.column(0).to_pylist()) <= most or piece.num_rows == 1


def test_output_keeps_dictionaries_that_pay(tmp_path: Path) -> None:
    """A dictionary that is larger than all references to it, and than those of pyarrow, stays one."""
    names = [long_texts(tmp_path / f"{number}.parquet", number, 2000, 100) for number in range(2)]
    for key in ("d", "id"):
        out = tmp_path / "out.parquet"
        assert invoke(["merge", "-q", "-S", "32M", "--field", key, *names, "-o", str(out)]) == 0
        about, size = pq.read_metadata(out), 0
        for group in range(about.num_row_groups):
            column = about.row_group(group).column(1)
            size += column.total_uncompressed_size
            assert "RLE_DICTIONARY" in column.encodings
        assert size < 6 << 20
        assert pq.read_table(out).num_rows == 4000
        out.unlink()


@pytest.mark.parametrize("collide", [False, True])
def test_dictionaries_grow(collide: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of values are those of a plain list, whether their hashes differ or not."""
    rng = random.Random(seed)
    if collide:
        monkeypatch.setattr(growing_dictionary, "text_hashes", lambda texts: text_hashes(texts) % np.uint64(3))
    monkeypatch.setattr(growing_dictionary, "_BLOCK", 64)
    growing_dictionary._powers.cache_clear()
    for type in (pa.string(), pa.large_binary(), pa.int64()):
        is_number = pa.types.is_integer(type)
        known = GrowingDictionary(pa.array([], type))
        plain: list[Any] = []
        for _ in range(20):
            texts = {rng.randrange(40) if is_number else "ab" * rng.randrange(60) for _ in range(rng.randrange(9))}
            some = pa.array(["", *texts] if rng.random() < 0.2 and not is_number else [*texts])
            some = some.cast(type) if len(some) else pa.array([], type)
            plain += [value for value in dict.fromkeys(some.to_pylist()) if value not in plain]
            places = known.places_of(some).to_pylist()
            assert [plain[place] for place in places] == some.to_pylist()
            assert known.values.to_pylist() == plain
    growing_dictionary._powers.cache_clear()


def test_items_are_made_of_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No piece of which items are made has longer texts in all than a batch of keys may take."""
    name = long_texts(tmp_path / "a.parquet", 0, 3000, 50)
    seen, make = [], items.Form.items

    def made(self: Any, rows: Any, found: Any) -> Any:
        seen.append(rows.num_rows)
        return make(self, rows, found)

    monkeypatch.setattr(items.Form, "items", made)
    assert invoke(["check", "-S", "32M", "--field", "d", name]) == 0
    assert sum(seen) == 3000
    assert max(seen) <= row_sources._LARGEST_BATCH // SIZE


COMMANDS = (
    "sort --field d",
    "sort --field d:n",
    "sort --field id,d",
    "merge -q --field d",
    "merge -q --unique --field d",
)


@pytest.mark.parametrize(
    ("command", "suffix", "rows"),
    [
        ("sort --field d", ".parquet", 6000),
        *(
            pytest.param(command, suffix, 4000 if ":n" in command else 20_000, marks=pytest.mark.thorough)
            for command in COMMANDS
            for suffix in (".parquet", ".arrow")
        ),
    ],
)
def test_memory_is_bounded(command: str, suffix: str, rows: int, tmp_path: Path) -> None:
    """Texts of 20 kB, which take 160 MB or more if each row has its own, and 4 MB in dictionaries."""
    names = [long_texts(tmp_path / f"{number}{suffix}", number, rows, 100) for number in range(2)]
    out = str(tmp_path / f"out{suffix}")
    args = [*command.split(), "-S", "32M", *names, "-o", out]
    done = subprocess.run([sys.executable, "-c", MEASURED, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 100 << 20
    assert read(out).num_rows == (200 if "--unique" in command else 2 * rows)


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_memory_is_bounded_where_the_files_type_no_dictionary(suffix: str, tmp_path: Path) -> None:
    name = long_texts(tmp_path / "a.parquet", 0, 60_000, 6, store_schema=False)
    out = str(tmp_path / f"out{suffix}")
    args = ["sort", "--field", "d", "-S", "32M", name, "-o", out]
    done = subprocess.run([sys.executable, "-c", MEASURED, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 100 << 20


def test_many_dictionaries_end(tmp_path: Path) -> None:
    """Values of all groups are looked up once: the work grows with their number, not with its square."""
    type = pa.dictionary(pa.int32(), pa.string())
    schema, name = pa.schema([("id", pa.int64()), ("d", type)]), str(tmp_path / "a.parquet")
    with pq.ParquetWriter(name, schema) as made:
        for group in range(40):
            texts = pa.array([f"{group}-{number}" for number in range(200)])
            column = pa.DictionaryArray.from_arrays(pa.array([*range(200)], pa.int32()), texts)
            ids = pa.array([(7 * place) % 8009 for place in range(200 * group, 200 * group + 200)])
            made.write_table(pa.table([ids, column], schema=schema))
    looked_up = 0
    places_of = GrowingDictionary._by_values

    def counted(self: Any, dictionary: Any) -> Any:
        nonlocal looked_up
        looked_up += len(self.values)
        return places_of(self, dictionary)

    out = tmp_path / "out.arrow"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(GrowingDictionary, "_by_values", counted)
        assert invoke(["sort", "--field", "id", "--row-group-size", "100", name, "-o", str(out)]) == 0
    assert not looked_up
    assert read(str(out)).to_pylist() == sorted(pq.read_table(name).to_pylist(), key=lambda row: row["id"])


def test_sorts_have_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = long_texts(tmp_path / "a.parquet", 0, 100, 10)
    used: list[Any] = []
    with_ranks = ranking.with_ranks

    def noted(tables: Any, keys: Any, memory: int) -> Any:
        found = with_ranks(tables, keys, memory)
        used.append(found[1].names)
        return found

    monkeypatch.setattr(ranking, "with_ranks", noted)
    assert invoke(["sort", "--field", "d", name, "-o", str(tmp_path / "out.parquet")]) == 0
    assert [[*names] for names in used] == [["d"]]
