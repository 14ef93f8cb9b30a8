"""sort --keep-order, and gpumerge dedupe, against dicts of Python and programs of the system."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.engine import first_seen, spool
from gpumerge_cli.native import seen
from tests.engine.test_huge_lines import peak_of
from tests.needs import program
from tests.seeds import given_or_random_seed

_MB = 1 << 20


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """-S of some kilobytes has few items in memory, and short windows."""
    monkeypatch.setattr(first_seen, "_LEAST_MOST", 300)
    monkeypatch.setattr(first_seen, "_LEAST_READ", 64)
    monkeypatch.setattr(first_seen, "_LEAST_ROOM", 64)


def kept(folder: Path, *words: str, data: bytes = b"", name: str = "in.txt", command: str = "dedupe") -> bytes:
    """The output of a command on a file with this content."""
    (folder / name).write_bytes(data)
    assert door.invoke([command, *words, str(folder / name), "-o", str(folder / "out")]) == 0
    return (folder / "out").read_bytes()


def firsts(items: Sequence[Any], key: Callable[[Any], Any] = lambda item: item, *, last: bool = False) -> list[Any]:
    """The first of the items with each key, or the last one, where they stand."""
    known: dict[Any, int] = {}
    for place, item in enumerate(items):
        if last or key(item) not in known:
            known[key(item)] = place
    return [items[place] for place in sorted(known.values())]


def few_and_many(cases: int) -> None:
    """Random files of lines, whose results are those of dict.fromkeys."""
    seed = given_or_random_seed()
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        for number in range(cases):
            distinct, count = rng.choice([1, 2, 9, 200]), rng.choice([0, 1, 2, 30, 600])
            lines = [
                rng.choice([b"", b"x", b"ab" * 40, b"\xff\1"]) + b"%d" % rng.randrange(distinct) * rng.choice([0, 1, 1])
                for _ in range(count)
            ]
            end = rng.choice([b"\n", b"\0"])
            patch.setattr(seen, "HASH_BITS", rng.choice([0, 2, 5, 64]))
            last, sorted_lines = rng.random() < 0.3, rng.random() < 0.2
            lines = sorted(lines) if sorted_lines else lines
            data = end.join(lines) + end * (bool(lines) and (rng.random() < 0.7 or not lines[-1]))
            words = ["-z"] * (end == b"\0") + ["--unique=last"] * last + ["-S", rng.choice(["2K", "40K", "2M"])]
            found = kept(Path.cwd(), *words, data=data)
            assert found == b"".join(line + end for line in firsts(lines, last=last)), (seed, number, words)


@pytest.mark.usefixtures("tight")
def test_lines_of_random_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few_and_many(150)


@pytest.mark.thorough
@pytest.mark.usefixtures("tight")
def test_lines_of_many_random_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few_and_many(2_000)


def test_awk_and_sort_say_the_same(tmp_path: Path) -> None:
    rng = random.Random(3)
    data = b"".join(b"%d %s\n" % (rng.randrange(4000), rng.choice([b"a", b"", b" x"])) for _ in range(20_000))
    found = kept(tmp_path, "-S", "1M", data=data)
    environment = os.environ | {"LC_ALL": "C"}
    name = str(tmp_path / "in.txt")
    by_awk = subprocess.run([program("awk"), "!seen[$0]++", name], capture_output=True, env=environment, check=True)
    assert found == by_awk.stdout
    by_sort = subprocess.run([program("sort"), "-u", name], capture_output=True, env=environment, check=True)
    assert sorted(found.splitlines()) == by_sort.stdout.splitlines()


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("rule", ["--unique", "--unique=last", "--only=singles", "--only=all-duplicates"])
def test_csv_by_a_column(tmp_path: Path, rule: str) -> None:
    rng = random.Random(4)
    rows = [[str(rng.randrange(90)), rng.choice(['a,"b"', "two\nlines", ""])] for _ in range(300)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["id", "note"], *rows])
    found = kept(tmp_path, "--field", "id", rule, "-S", "4K", data=text.getvalue().encode(), name="in.csv")
    header, *left = csv.reader(io.StringIO(found.decode()))
    times = {key: sum(row[0] == key for row in rows) for key, _ in rows}
    if rule.startswith("--unique"):
        expected = firsts(rows, lambda row: row[0], last=rule.endswith("last"))
    else:
        expected = [row for row in rows if (times[row[0]] == 1) == rule.endswith("singles")]
    assert (header, left) == (["id", "note"], expected)


@pytest.mark.usefixtures("tight")
def test_json_lines_by_a_member(tmp_path: Path) -> None:
    rng = random.Random(5)
    numbers = [rng.choice(["1", "1.0", "10e-1", "2", "null"]) for _ in range(100)]
    lines = [f'{{"n": {number}, "at": {at}}}' for at, number in enumerate(numbers)]
    data = "".join(line + "\n" for line in lines).encode()
    found = kept(tmp_path, "--field", "n", "-S", "4K", data=data, name="in.jsonl")
    assert found.decode().splitlines() == firsts(lines, lambda line: json.loads(line)["n"])


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("name", ["in.npy", "in.f64"])
def test_numbers_by_their_values(tmp_path: Path, name: str) -> None:
    values = np.random.default_rng(6).integers(-40, 40, 2000).astype(">f8" if name == "in.npy" else "f8") / 2
    values[::9], values[1::9] = np.nan, -0.0
    if name == "in.npy":
        np.save(tmp_path / name, values)
        data = (tmp_path / name).read_bytes()
    else:
        data = values.tobytes()
    out = str(tmp_path / f"out{Path(name).suffix}")
    (tmp_path / name).write_bytes(data)
    assert door.invoke(["dedupe", "-S4K", str(tmp_path / name), "-o", out]) == 0
    found = np.load(out) if name == "in.npy" else np.fromfile(out)
    _, places = np.unique(values.astype("f8"), return_index=True)
    assert found.dtype == values.dtype
    assert found.tobytes() == values[np.sort(places)].tobytes()


@pytest.mark.usefixtures("tight")
def test_records_by_a_field(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    made = np.zeros(3000, [("place", "<i4"), ("key", ">u2"), ("name", "S3")])
    made["place"], made["key"], made["name"] = np.arange(3000), rng.integers(0, 300, 3000), b"ab"
    np.save(tmp_path / "in.npy", made)
    out = str(tmp_path / "out.npy")
    assert door.invoke(["dedupe", "-S4K", "--field", "key", str(tmp_path / "in.npy"), "-o", out]) == 0
    _, places = np.unique(made["key"], return_index=True)
    assert np.load(out).tobytes() == made[np.sort(places)].tobytes()


@pytest.mark.parametrize("place", ["files", "stdin", "gzip", "in place"])
def test_inputs_and_outputs(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_bytes(b"b\na\nb\n")
    Path("b").write_bytes(b"c\na\n\nd")
    Path("c.gz").write_bytes(gzip.compress(b"b\na\nb\nc\na\n\nd"))
    words = {"files": ["a", "b"], "stdin": ["a", "-"], "gzip": ["c.gz"], "in place": ["a", "b", "-o", "a"]}[place]
    command = [sys.executable, "-m", "gpumerge_cli", "dedupe", *words]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        command, input=Path("b").read_bytes(), capture_output=True, env=environment, check=True, cwd=tmp_path
    )
    expected = b"b\na\nc\n\nd\n"
    assert (Path("a").read_bytes() if place == "in place" else done.stdout) == expected


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["sort", "--keep-order"], "--keep-order needs a rule for equal items"),
        (["dedupe", "--count"], "--count cannot be combined with --keep-order"),
        (["dedupe", "--source"], "--source cannot be combined with --keep-order"),
        (["dedupe", "--parts", "2"], "--parts cannot be combined with --keep-order"),
        (["dedupe", "--head", "3"], "--head is for sorted outputs"),
        (["dedupe", "-m"], "--keep-order cannot be combined with -m"),
        (["dedupe", "-c"], "options -co are incompatible"),
        (["dedupe", "--backend", "gpu"], "outputs in the order of the inputs are made by the CPU alone"),
        (["dedupe", "--compress-program", "builtin"], "--compress-program is for sorts that make sorted runs"),
    ],
)
def test_what_does_not_go_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    (tmp_path / "a").write_bytes(b"b\na\n")
    output = "out{part}" if "--parts" in words else "out"
    assert door.invoke([*words, str(tmp_path / "a"), "-o", str(tmp_path / output)]) == 2
    assert capsys.readouterr().err.startswith(f"gpumerge: {what}; ")
    assert os.listdir(tmp_path) == ["a"]


def tables_against_dicts(folder: Path, seed: int, cases: int) -> None:
    """Random tables of several files, whose results are those of dicts."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    rng = random.Random(seed)
    columns: dict[str, tuple[Any, list[Any]]] = {
        "i": (arrow.int32(), [None, 1, 2, 70_000]),
        "t": (arrow.string(), [None, "", "a", "a\0b", "a\1", "x" * 40, "é"]),
        "f": (arrow.float64(), [None, 0.0, 1.5]),
        "d": (arrow.decimal128(9, 2), [None, *map(Decimal, ("1.00", "-2.50"))]),
    }
    for number in range(cases):
        names = rng.sample(sorted(columns), rng.randrange(1, 5))
        schema = arrow.schema([(name, columns[name][0]) for name in names] + [("place", arrow.int64())])
        suffix, write = rng.choice([("parquet", parquet.write_table), ("arrow", feather.write_feather)])
        rows: list[dict[str, Any]] = []
        paths = [folder / f"{at}.{suffix}" for at in range(rng.randrange(1, 4))]
        for path in paths:
            some = [
                {name: rng.choice(columns[name][1]) for name in names} | {"place": rng.choice([0, len(rows) + at])}
                for at in range(rng.choice([0, 1, 40, 300]))
            ]
            rows += some
            table = arrow.Table.from_pylist(some, schema=schema)
            write(table, str(path), **({"row_group_size": 50} if suffix == "parquet" else {"chunksize": 50}))
        keys = [] if rng.random() < 0.3 else rng.sample([*names, "place"], rng.randrange(1, len(names) + 2))
        rule = rng.choice(["--unique", "--unique=last", "--only=singles", "--only=duplicates", "--only=all-duplicates"])
        words = [rule, "-S", rng.choice(["2K", "2M"]), *(["--field", ",".join(keys)] if keys else [])]
        out = folder / f"out.{suffix}"
        assert door.invoke(["dedupe", *words, *map(str, paths), "-o", str(out)]) == 0
        key = lambda row, used=tuple(keys or schema.names): tuple(row[name] for name in used)  # noqa: E731
        times = Counter(map(key, rows))
        if rule.startswith("--unique"):
            expected = firsts(rows, key, last=rule.endswith("last"))
        elif rule == "--only=duplicates":
            expected = firsts([row for row in rows if times[key(row)] > 1], key)
        else:
            expected = [row for row in rows if (times[key(row)] == 1) == rule.endswith("singles")]
        found = parquet.read_table(out) if suffix == "parquet" else feather.read_table(out)
        assert found.to_pylist() == expected, (seed, number, words)


@pytest.mark.usefixtures("tight")
def test_tables(tmp_path: Path, seed: int) -> None:
    tables_against_dicts(tmp_path, seed, 15)


@pytest.mark.thorough
@pytest.mark.usefixtures("tight")
def test_many_tables(tmp_path: Path, seed: int) -> None:
    tables_against_dicts(tmp_path, seed, 500)


def test_rows_of_lists_need_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet, table

    parquet.write_table(table({"id": [2, 1, 2], "l": [[1], [2], [3]]}), tmp_path / "a.parquet")
    words = [str(tmp_path / "a.parquet"), "-o", str(tmp_path / "out.parquet")]
    assert door.invoke(["dedupe", *words]) == 2
    assert "in l, do not compare, so whole rows do not; name the columns that count with --field: id" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "out.parquet").exists()
    assert door.invoke(["dedupe", "--field", "id", *words]) == 0
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == [{"id": 2, "l": [1]}, {"id": 1, "l": [2]}]


def test_an_invalid_key_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_bytes(b"at,n\n2024-05-01,1\nsoon,2\n")
    assert door.invoke(["dedupe", "--field", "at:time", str(tmp_path / "a.csv"), "-o", str(tmp_path / "out")]) == 2
    assert f"{tmp_path / 'a.csv'}:3: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("calls", [1, 2, 7])
def test_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], calls: int
) -> None:
    left = calls

    class _Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def pwrite(self, descriptor: int, data: Any, position: int) -> int:
            nonlocal left
            left -= 1
            if left <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return os.pwrite(descriptor, data, position)

    monkeypatch.setattr(spool, "os", _Full())
    (tmp_path / "a").write_bytes(b"".join(b"%d\n" % number for number in range(3000)))
    assert door.invoke(["dedupe", "-S4K", "-T", str(tmp_path), str(tmp_path / "a"), "-o", str(tmp_path / "out")]) == 2
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert stderr.startswith(f"gpumerge: {tmp_path}: no space left on device")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("change", ["longer", "shorter", "no line ends"])
def test_an_input_that_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"b\na\nb\n" * 1000)
    decide = first_seen._Kept.decide

    def then_changed(kept: first_seen._Kept) -> None:
        decide(kept)
        monkeypatch.setattr(type(kept._work.sources[0]), "check_unchanged", lambda source: None)
        path.write_bytes({"longer": b"b\na\nb\n" * 2000, "shorter": b"b\n", "no line ends": b"bbbbbb" * 1000}[change])

    monkeypatch.setattr(first_seen._Kept, "decide", then_changed)
    code = door.invoke(["dedupe", str(path), "-o", str(tmp_path / "out")])
    stderr = capsys.readouterr().err
    assert (code, stderr.count("\n")) in ((2, 1), (0, 0))
    assert code == 2 or change == "longer"


def test_the_output_may_not_be_appended_to_an_input(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"b\na\nb\n")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with open(tmp_path / "a", "ab") as out:
        command = [sys.executable, "-m", "gpumerge_cli", "dedupe", str(tmp_path / "a")]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, env=environment)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (tmp_path / "a").read_bytes() == b"b\na\nb\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("last", [False, True])
def test_memory_is_bounded(tmp_path: Path, last: bool) -> None:
    numbers = np.random.default_rng(8).integers(0, 1_000_000, 1_000_000)
    (tmp_path / "a").write_bytes(b"".join(b"%d is a line with some more text\n" % one for one in numbers.tolist()))
    words = ["dedupe", "-S20M", *["--unique=last"] * last, str(tmp_path / "a"), "-o", str(tmp_path / "out")]
    assert peak_of(words) < 70 * _MB
    _, places = np.unique(numbers[::-1] if last else numbers, return_index=True)
    found = np.array([int(line.split()[0]) for line in (tmp_path / "out").read_bytes().splitlines()])
    expected = len(numbers) - 1 - places if last else places
    assert np.array_equal(found, numbers[np.sort(expected)])
