"""--sum of columns of tables and fields of records, against plain Python, NumPy and DuckDB."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from functools import reduce
from itertools import groupby
from operator import add, itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from tests.seeds import given_or_random_seed

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SCHEMA = pa.schema(
    [
        ("k", pa.int32()),
        ("i8", pa.int8()),
        ("u64", pa.uint64()),
        ("i64", pa.int64()),
        ("d", pa.decimal128(30, 4)),
        ("wide", pa.decimal256(70, 2)),
        ("f", pa.float64()),
        ("t", pa.duration("us")),
        ("s", pa.string()),
    ]
)
SUMMED = SCHEMA.names[1:-1]
_CASES = 40


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def drawn_rows(chance: random.Random, *, ordered: bool, text_keys: bool) -> list[list[dict[str, Any]]]:
    few, nulls = chance.choice([1, 3, 40]), chance.choice([0.0, 0.3, 1.0])

    def value(made: Any) -> Any:
        return None if chance.random() < nulls else made

    runs = []
    for run in range(chance.randint(1, 3)):
        rows = [
            {
                "k": f"k{chance.randrange(few):03}" if text_keys else chance.randrange(few),
                "i8": value(chance.choice([0, 1, -1])),
                "u64": value(chance.choice([0, 2**32, 2**57])),
                "i64": value(chance.choice([-(2**33), 2**56, -(2**56), 3])),
                "d": value(Decimal(chance.randrange(-(10**26), 10**26)).scaleb(-4)),
                "wide": value(Decimal(f"{chance.randrange(-(10**60), 10**60)}.25")),
                "f": value(chance.choice([0.1, -0.0, 1e300, -1e-9, float("inf")])),
                "t": value(timedelta(microseconds=chance.randrange(-(10**12), 10**12))),
                "s": f"{run} {at}",
            }
            for at in range(chance.choice([0, 1, 5, 80]))
        ]
        runs.append(sorted(rows, key=itemgetter("k")) if ordered else rows)
    return runs


def summed(runs: Sequence[Sequence[dict[str, Any]]], *, last: bool) -> list[dict[str, Any]]:
    rows = sorted((row for run in runs for row in run), key=itemgetter("k"))
    found = []
    for _, equal in groupby(rows, key=itemgetter("k")):
        group = [*equal]
        kept = dict(group[-1 if last else 0])
        for name in SUMMED:
            values = [row[name] for row in group if row[name] is not None]
            kept[name] = values[0] if values else None
            for value in values[1:]:
                kept[name] += value if name not in ("d", "wide") else 0
            if values and name in ("d", "wide"):
                places = 4 if name == "d" else 2
                kept[name] = Decimal(sum(int(value.scaleb(places, _WIDE)) for value in values)).scaleb(-places, _WIDE)
        found.append(kept)
    return found


_WIDE = __import__("decimal").Context(prec=100)


def check(chance: random.Random) -> None:
    command, text_keys = chance.choice(["merge", "sort"]), chance.random() < 0.3
    runs = drawn_rows(chance, ordered=command == "merge", text_keys=text_keys)
    last = chance.random() < 0.3
    schema = SCHEMA.set(0, pa.field("k", pa.string())) if text_keys else SCHEMA
    names = []
    for at, rows in enumerate(runs):
        names.append(f"{at}.parquet")
        parquet.write_table(pa.Table.from_pylist(rows, schema), names[-1], row_group_size=chance.choice([3, 1000]))
    words = ["--sum", ",".join(SUMMED), *["--unique=last"] * last, f"--threads={chance.randint(1, 3)}"]
    assert invoke([command, "-q", "--field=k", *words, *names, "-o", "out.parquet"]) == 0
    given = parquet.read_table("out.parquet")
    assert given.schema.equals(schema)
    assert repr(given.to_pylist()) == repr(summed(runs, last=last))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("small", [False, True], ids=["", "small chunks"])
def test_random_tables(small: bool, request: pytest.FixtureRequest) -> None:
    if small:
        request.getfixturevalue("small_chunks")
    seed = given_or_random_seed()
    for case in range(_CASES // 2):
        print(f"seed {seed}, case {case}")
        check(random.Random(f"{seed} {case}"))


@pytest.mark.thorough
@pytest.mark.parametrize("small", [False, True], ids=["", "small chunks"])
def test_many_random_tables(small: bool, request: pytest.FixtureRequest) -> None:
    if small:
        request.getfixturevalue("small_chunks")
    seed = given_or_random_seed()
    for case in range(400):
        print(f"seed {seed}, case {case}")
        check(random.Random(f"{seed} {case}"))


def test_sums_are_those_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(given_or_random_seed())
    keys = np.sort(rng.integers(0, 300, 50_000))
    amounts = rng.integers(-(10**12), 10**12, len(keys))
    cents = pa.array([Decimal(int(one)).scaleb(-2) for one in amounts], pa.decimal128(18, 2))
    table = pa.table({"k": keys, "n": amounts, "d": cents})
    parquet.write_table(table, "a.parquet", row_group_size=4096)
    assert invoke(["merge", "-q", "--field=k", "--sum=n,d", "a.parquet", "a.parquet", "-o", "out.parquet"]) == 0
    expected = duckdb.sql("SELECT k, 2 * sum(n), 2 * sum(d) FROM 'a.parquet' GROUP BY k ORDER BY k").fetchall()
    assert [*zip(*parquet.read_table("out.parquet").to_pydict().values(), strict=True)] == expected


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.int8(), [100, 28]),
        (pa.uint8(), [255, 1]),
        (pa.int64(), [2**63 - 1, 1]),
        (pa.int64(), [-(2**63), -1]),
        (pa.uint64(), [2**64 - 1, 2**64 - 1]),
        (pa.decimal128(3, 1), [Decimal("99.9"), Decimal("0.1")]),
        (pa.decimal128(38, 0), [Decimal(10**38 - 1), Decimal(1)]),
        (pa.duration("s"), [2**62, 2**62]),
        (pa.float32(), [3e38, 3e38]),
        (pa.float64(), [-1.7e308, -1.7e308]),
    ],
)
def test_sums_that_do_not_fit(type: Any, values: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    values = [0, 0, *values, 0]
    parquet.write_table(pa.table({"k": [1, 2, 5, 5, 6], "n": pa.array(values, type)}), "a.parquet")
    for command in ("merge", "sort"):
        assert invoke([command, "-q", "--field=k", "--sum=n", "a.parquet", "-o", "out.parquet"]) == 2
        assert f"--sum n: the sum of the rows with k 5 does not fit {type}; " in capsys.readouterr().err
        assert not Path("out.parquet").exists()


@pytest.mark.parametrize(
    ("type", "key", "shown"),
    [
        (pa.string(), "x" * 50, f"k {'x' * 40}..."),
        (pa.binary(), b"\xff", "equal rows"),
        (pa.int64(), None, "k null"),
        (pa.dictionary(pa.int8(), pa.string()), "a", "k a"),
        (pa.timestamp("ns"), 1, "k 1970-01-01 00:00:00.000000001"),
    ],
)
def test_a_sum_that_does_not_fit_names_its_key(
    type: Any, key: object, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"k": pa.array([key, key], type), "b": [True, True], "n": pa.array([100, 100], pa.int8())})
    parquet.write_table(table, "a.parquet")
    assert invoke(["merge", "-q", "--field=k", "--sum=n", "a.parquet", "-o", "out.parquet"]) == 2
    shown = shown if shown == "equal rows" else f"the rows with {shown}"
    assert f"--sum n: the sum of {shown} does not fit int8" in capsys.readouterr().err
    assert invoke(["merge", "-q", "--field=k,b", "--sum=n", "a.parquet", "-o", "out.parquet"]) == 2
    assert "b true does not fit int8" in capsys.readouterr().err


def test_a_sum_that_does_not_fit_in_sorted_runs(capsys: pytest.CaptureFixture[str]) -> None:
    count = 200_000
    table = pa.table({"k": range(count), "n": pa.array([100] * count, pa.int8())})
    parquet.write_table(table, "a.parquet", row_group_size=5000)
    parquet.write_table(table.slice(150_000, 1), "b.parquet")
    assert invoke(["sort", "-q", "-S1M", "--field=k", "--sum=n", "a.parquet", "b.parquet", "-o", "out.parquet"]) == 2
    assert "--sum n: the sum of the rows with k 150000 does not fit int8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("type", "values"), [("i1", [100, 28]), ("u4", [2**32 - 1, 1]), ("f4", [3e38, 3e38]), (">f8", [1.7e308, 1.7e308])]
)
def test_sums_of_records_that_do_not_fit(type: str, values: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    np.save("a.npy", np.array([(1, 0), *((5, value) for value in values)], [("k", "i4"), ("n", type)]))
    np.save("b.npy", np.array([(9, 0)], [("k", "i4"), ("n", type)]))
    for command, names in [("merge", ["a.npy"]), ("sort", ["a.npy"]), ("merge", ["a.npy", "b.npy"])]:
        assert invoke([command, "-q", "--field=k", "--sum=n", *names, "-o", "out.npy"]) == 2
        assert "--sum n: the sum of the items with key 5 does not fit; " in capsys.readouterr().err
        assert not Path("out.npy").exists()


@pytest.mark.parametrize("type", ["f4", "f8"])
def test_infinities_of_the_input_stay(type: str) -> None:
    """Whatever finite numbers stand beside them, also those whose sum would not fit."""
    inf, most = float("inf"), float(np.finfo(type).max)
    groups = [[inf, 1], [most, most, -inf], [inf, -inf], [float("nan"), most, most], [most, -most], [1, inf, inf]]
    expected = [inf, -inf, float("nan"), float("nan"), 0.0, inf]
    rows = np.array([(key, one) for key, group in enumerate(groups) for one in group], [("k", "i4"), ("n", type)])
    np.save("a.npy", rows)
    parquet.write_table(pa.table({name: rows[name] for name in "kn"}), "a.parquet")
    for suffix in (".npy", ".parquet"):
        assert invoke(["merge", "-q", "--field=k", "--sum=n", f"a{suffix}", "-o", f"out{suffix}"]) == 0
    assert repr(np.load("out.npy")["n"].tolist()) == repr(expected)
    assert repr(parquet.read_table("out.parquet")["n"].to_pylist()) == repr(expected)


def test_a_sum_of_json_that_no_double_holds(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text('{"k":1,"n":1.7e308}\n{"k":1,"n":1.7e308}\n')
    assert invoke(["merge", "-q", "--field=k", "--sum=n", "a.jsonl", "-o", "out.parquet"]) == 2
    assert "a.jsonl: Number too big to be stored in double; write the format of the inputs" in capsys.readouterr().err
    assert not Path("out.parquet").exists()


def test_a_group_of_all_rows() -> None:
    count = 200_000
    parquet.write_table(pa.table({"k": [7] * count, "n": range(count)}), "a.parquet", row_group_size=5000)
    assert invoke(["sort", "-q", "-S1M", "--field=k", "--sum=n", "a.parquet", "a.parquet", "-o", "out.parquet"]) == 0
    assert parquet.read_table("out.parquet").to_pylist() == [{"k": 7, "n": count * (count - 1)}]


@pytest.mark.one_of_each
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("small", [False, True], ids=["", "small chunks"])
def test_records(order: str, small: bool, request: pytest.FixtureRequest) -> None:
    if small:
        request.getfixturevalue("small_chunks")
    rng = np.random.default_rng(given_or_random_seed())
    for few in (1, 5, 2000):
        for command in ("merge", "sort"):
            fields = [
                ("n", f"{order}i8"),
                ("k", f"{order}i4"),
                ("u", f"{order}u2"),
                ("f", f"{order}f4"),
                ("g", f"{order}f8"),
            ]
            runs = []
            for at in range(3):
                run = np.zeros(at * 1500, fields)
                run["k"] = rng.integers(0, few, len(run))
                run["n"] = rng.integers(-(2**50), 2**50, len(run))
                run["u"] = rng.integers(0, 14, len(run))
                run["f"], run["g"] = rng.normal(size=(2, len(run)))
                runs.append(np.sort(run, order="k", kind="stable") if command == "merge" else run)
                np.save(f"{at}.npy", runs[-1])
            names = [f"{at}.npy" for at in range(3)]
            words = ["--field=k", "--sum=f,n,g,u", "--threads=3"]
            assert invoke([command, "-q", *words, *names, "-o", "out.npy"]) == 0
            rows = np.concatenate(runs)
            rows = rows[np.argsort(rows["k"], kind="stable")]
            expected = rows[np.unique(rows["k"], return_index=True)[1]]
            for one in expected:
                group = rows[rows["k"] == one["k"]]
                for name in "nu":
                    one[name] = group[name].sum()
                for name in "fg":
                    one[name] = reduce(add, group[name].astype(float).tolist(), -0.0)
            assert np.load("out.npy").tobytes() == expected.astype(fields).tobytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--field=k --sum=s", "--sum s: the column is string, which is not summed; name one of integers"),
        ("--field=k --sum=k", "--sum k: the column is a part of the key; name a column that is not a key"),
        ("--field=k --sum=nn", "--sum nn: there is no such column; did you mean n?"),
        ("--field=k --sum=n,2", "--sum '2': the column is named twice; name it once"),
        ("--field=k --sum=n --count", "--sum and --count cannot be combined; use one of the two"),
        ("--field=k --sum=n --backend=gpu", "sums are made by the CPU alone; leave --backend gpu out"),
        ("--counted", "a.parquet is binary: --counted applies to text; leave --counted out"),
    ],
)
def test_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    parquet.write_table(pa.table({"k": [1, 1], "n": [1, 2], "s": ["a", "b"]}), "a.parquet")
    assert invoke(["merge", "-q", *words.split(), "a.parquet", "-o", "out.parquet"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".npy"])
def test_marks_that_neither_keys_nor_sums_read(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.array([(1, 2), (1, 3)], [("k", "i4"), ("n", "i4")])
    np.save("a.npy", rows)
    parquet.write_table(pa.table({name: rows[name] for name in "kn"}), "a.parquet")
    Path("a.jsonl").write_text('{"k":1,"n":2}\n{"k":1,"n":3}\n')
    names = [f"a{suffix}", "-o", f"out{suffix}"]
    for option, marks in [("--decimal", ["--decimal=,"]), ("--thousands", ["--decimal=,", "--thousands=."])]:
        assert invoke(["merge", "-q", "--field=k", "--sum=n", *marks, *names]) == 2
        found = capsys.readouterr().err
        assert f"{option}: no key is a number in text, and --sum adds numbers that have a type; leave it out" in found
        assert not Path(f"out{suffix}").exists()
    # Settings need not apply to every file.
    Path("gpumerge.toml").write_text('decimal = ","\n')
    assert invoke(["merge", "-q", "--field=k", "--sum=n", *names]) == 0


def test_marks_of_keys_beside_sums_of_typed_columns() -> None:
    parquet.write_table(pa.table({"k": ["1,5", "1,50"], "n": [1, 2]}), "a.parquet")
    Path("a.jsonl").write_text('{"k":"1,5","n":1}\n{"k":"1,50","n":2}\n')
    for suffix in (".parquet", ".jsonl"):
        words = ["--field=k:n", "--sum=n", "--decimal=,", f"a{suffix}", "-o", f"out{suffix}"]
        assert invoke(["merge", "-q", *words]) == 0
    assert parquet.read_table("out.parquet").to_pylist() == [{"k": "1,5", "n": 3}]
    assert Path("out.jsonl").read_text() == '{"k":"1,5","n":3}\n'
