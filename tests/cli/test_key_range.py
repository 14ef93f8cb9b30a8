"""merge --from and --to: the items between two keys, held against a slice of all of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.blocked_input import BlockedInput
from tests.bgzf import in_blocks
from tests.formats.test_blocks import frames

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def random_(seed: int) -> random.Random:
    return random.Random(seed)


def edges(random_: random.Random, texts: Sequence[str], order: Callable[[str], Any]) -> list[str]:
    """Options for a range of two texts, of which one or both may be missing."""
    low, high = sorted(random_.choices(texts, k=2), key=order)
    return random_.choice([[f"--from={low}"], [f"--to={high}"], [f"--from={low}", f"--to={high}"]])


def is_within(key: Any, options: Sequence[str], order: Callable[[str], Any]) -> bool:
    for option in options:
        name, _, text = option.partition("=")
        wanted = order(text)
        mine = key[: len(wanted)] if isinstance(wanted, list) else key
        if (mine < wanted) if name == "--from" else (mine >= wanted):
            return False
    return True


def test_lines(random_: random.Random) -> None:
    for order, words in ((str, []), (int, ["-n"])):
        for _ in range(8):
            files = [
                sorted((str(random_.randrange(300)) for _ in range(random_.randrange(40))), key=order) for _ in range(3)
            ]
            for number, lines in enumerate(files):
                Path(f"{number}.txt").write_text("".join(f"{line}\n" for line in lines))
            options = edges(random_, [str(value) for value in range(310)], order)
            assert invoke(["merge", "-q", *words, "0.txt", "1.txt", "2.txt", *options, "-o", "out"]) == 0
            everything = sorted([line for lines in files for line in lines], key=order)
            kept = [line for line in everything if is_within(order(line), options, order)]
            assert Path("out").read_text().split() == kept
            assert invoke(["merge", "-qu", *words, "0.txt", "1.txt", "2.txt", *options, "-o", "out"]) == 0
            assert Path("out").read_text().split() == list(dict.fromkeys(kept))
            names = ["0.txt", "1.txt", "2.txt", "-o", "p{part}", "--parts=2"]
            assert invoke(["merge", "-q", *words, *names, *options]) == 0
            assert (Path("p0").read_text() + Path("p1").read_text()).split() == kept
            assert invoke(["intersect", "-q", *words, "0.txt", "1.txt", *options, "-o", "out"]) == 0
            both = Counter(files[0]) & Counter(files[1])
            inside = sorted(both.elements(), key=order)
            assert Path("out").read_text().split() == [one for one in inside if is_within(order(one), options, order)]


def test_reversed_lines() -> None:
    Path("a").write_text("9\n7\n5\n")
    Path("b").write_text("8\n5\n4\n")
    assert invoke(["merge", "-qrn", "a", "b", "--from", "8", "--to", "5", "-o", "out"]) == 0
    assert Path("out").read_text() == "8\n7\n"


def test_first_keys_of_csv_and_json(random_: random.Random) -> None:
    def order(text: str) -> list[Any]:
        return [kind(word) for kind, word in zip((str, int), next(csv.reader([text])), strict=False)]

    texts = [f"{city},{number}" for city in ("Bonn", '"Oslo, N"', "Rome") for number in (1, 5, 9, 10)]
    texts += ["Bonn", '"Oslo, N"', "Rome", "Z"]
    for _ in range(8):
        rows = sorted([random_.choice(["Bonn", "Oslo, N", "Rome"]), random_.randrange(12)] for _ in range(30))
        for number in range(2):
            mine = rows[number::2]
            with Path(f"{number}.csv").open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([["city", "ms"], *mine])
            lines = (json.dumps({"city": city, "ms": ms}) + "\n" for city, ms in mine)
            Path(f"{number}.jsonl").write_text("".join(lines))
        options = edges(random_, texts, order)
        kept = [row for row in rows if is_within(row, options, order)]
        assert invoke(["merge", "-q", "--field=city,ms:n", "0.csv", "1.csv", *options, "-o", "out.csv"]) == 0
        found = list(csv.reader(io.StringIO(Path("out.csv").read_text())))[1:]
        assert [[city, int(ms)] for city, ms in found] == kept
        assert invoke(["merge", "-q", "--field=city,ms", "0.jsonl", "1.jsonl", *options, "-o", "out.jsonl"]) == 0
        assert [list(json.loads(line).values()) for line in Path("out.jsonl").read_text().splitlines()] == kept


def test_numbers_records_and_compressed_lines(random_: random.Random, rng: np.random.Generator) -> None:
    def pair(text: str) -> list[int]:
        return [int(word) for word in text.split(",")]

    for _ in range(6):
        runs = [np.sort(rng.integers(-50, 50, rng.integers(80)).astype(np.int16)) for _ in range(4)]
        for number, run in enumerate(runs):
            np.save(f"{number}.npy", run)
        names = [f"{number}.npy" for number in range(4)]
        options = edges(random_, [str(value) for value in range(-55, 55)], int)
        assert invoke(["merge", "-q", *names, *options, "-o", "out.npy"]) == 0
        everything = np.sort(np.concatenate(runs))
        kept = [value for value in everything.tolist() if is_within(value, options, int)]
        assert np.load("out.npy").tolist() == kept

        dtype = np.dtype([("a", "<u2"), ("b", ">i4"), ("c", "u1")])
        rows = sorted((random_.randrange(4), random_.randrange(-4, 4), 0) for _ in range(60))
        for number in range(2):
            np.save(f"r{number}.npy", np.array(rows[number::2], dtype))
        options = edges(random_, [*(f"{a},{b}" for a in range(5) for b in range(-4, 5)), *"0123"], pair)
        assert invoke(["merge", "-q", "--field=a,b", "r0.npy", "r1.npy", *options, "-o", "out.npy"]) == 0
        assert np.load("out.npy").tolist() == [row for row in rows if is_within(list(row), options, pair)]
    lines = [f"{value:05d}\n" for value in range(9000)]
    Path("a.gz").write_bytes(gzip.compress("".join(lines).encode()))
    assert invoke(["merge", "-q", "a.gz", "--from=00100", "--to=00103", "-o", "out"]) == 0
    assert Path("out").read_text() == "00100\n00101\n00102\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("suffix", "pack"), [(".bgz", in_blocks), (".zst", frames)])
def test_blocks_outside_the_range_are_not_unpacked(
    suffix: str, pack: Callable[[bytes, list[int]], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{value:07d}\n" for value in range(3_000_000)]
    data = "".join(lines).encode()
    Path(f"a{suffix}").write_bytes(pack(data, [*range(60_000, len(data), 60_000)]))
    unpacked, taken = BlockedInput._unpacked, 0

    def counted(file: BlockedInput, number: int, until: int) -> list[bytes]:
        nonlocal taken
        found = unpacked(file, number, until)
        taken += sum(map(len, found))
        return found

    monkeypatch.setattr(BlockedInput, "_unpacked", counted)
    assert invoke(["merge", "-q", f"a{suffix}", "--from=0300000", "--to=0300100", "-o", "out"]) == 0
    assert Path("out").read_text() == "".join(lines[300_000:300_100])
    assert 0 < taken < len(data) / 4, taken  # some blocks of the whole file are looked at first


@pytest.mark.parametrize("text", [False, True])
def test_tables(text: bool, random_: random.Random) -> None:
    def key(value: int) -> Any:
        return f"{value:02d}" if text else value

    def order(words: str) -> list[Any]:
        return [key(int(word)) for word in words.split(",")]

    kinds = pa.schema([("a", pa.string() if text else pa.int32()), ("b", pa.string() if text else pa.int64())])
    for _ in range(4):
        rows = sorted([key(random_.randrange(4)), key(random_.randrange(12))] for _ in range(50))
        for number in range(2):
            mine = [dict(zip("ab", row, strict=True)) for row in rows[number::2]]
            pq.write_table(pa.Table.from_pylist(mine, kinds), f"{number}.parquet", row_group_size=7)
        texts = [f"{key(a)},{key(b)}" for a in range(5) for b in range(12)] + [str(key(a)) for a in range(5)]
        options = edges(random_, texts, order)
        names = ["0.parquet", "1.parquet", "--field=a,b", "-o", "out.parquet"]
        assert invoke(["merge", "-q", *names, *options]) == 0
        found = [list(row.values()) for row in pq.read_table("out.parquet").to_pylist()]
        assert found == [row for row in rows if is_within(row, options, order)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from=5", "--to=3"], "--from '5' comes after --to '3' in the order; swap them"),
        (["--from=x"], "--from 'x': it is not of type int32; write a whole number"),
        (["--to=1", "--head=3"], "--to and --head cannot be combined"),
        (["--from=1", "--tail=3"], "--from and --tail cannot be combined"),
    ],
)
def test_errors(words: list[str], message: str, capfd: Captured) -> None:
    np.arange(9, dtype=np.int32).tofile("a.i32")
    assert invoke(["merge", "a.i32", *words, "-o", "out.i32"]) == 2
    assert message in capfd.readouterr().err
    assert not Path("out.i32").exists()


def test_order_is_checked_in_the_range(capfd: Captured) -> None:
    values = np.arange(1000, dtype=np.int32)
    values[400], values[401] = 401, 400
    values.tofile("a.i32")
    assert invoke(["merge", "-q", "a.i32", "--from=500", "-o", "out.i32"]) == 0
    assert np.fromfile("out.i32", np.int32).tolist() == list(range(500, 1000))
    assert invoke(["merge", "-q", "a.i32", "--from=300", "--to=600", "-o", "out.i32"]) == 2
    assert "disorder" in capfd.readouterr().err
