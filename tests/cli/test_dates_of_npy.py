"""Bools, dates and time spans of .npy files, as items and as fields of records, in the commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke

Arrays = list[Any]
DTYPES = ["?", "<M8[ns]", ">M8[D]", "<m8[25s]", ">m8[ms]", "<M8"]
RECORD = np.dtype([("id", "<i4"), ("ok", "?"), ("at", ">M8[ms]"), ("for", "<m8[D]"), ("rest", "S3")])


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def values(dtype: Any, size: int, rng: np.random.Generator) -> Any:
    found = rng.integers(-9, 9, size)
    if np.dtype(dtype).kind == "b":
        return found > 0
    return (
        np.where(rng.random(size) < 0.2, np.int64(np.iinfo(np.int64).min), found)
        .view(np.dtype(dtype).newbyteorder("="))
        .astype(dtype)
    )


def in_order(items: Any, keys: Sequence[str] = (), *, descending: bool = False) -> Any:
    """A stable sort with NaT last, or first if the order descends."""
    ranks = np.arange(len(items))
    for name in reversed(keys or [""]):
        key = items[ranks][name] if name else items[ranks]
        number = key.astype(np.int64).astype(object) if key.dtype.kind != "b" else key.astype(int).astype(object)
        if key.dtype.kind in "mM":
            number[np.isnat(key)] = 1 << 63
        ranks = ranks[np.argsort(-number if descending else number, kind="stable")]
    return items[ranks]


def saved(arrays: Arrays) -> list[str]:
    names = [f"{number}.npy" for number in range(len(arrays))]
    for name, array in zip(names, arrays, strict=True):
        np.save(name, array)
    return names


def same(name: str, expected: Any) -> None:
    found = np.load(name)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_merges_and_sorts(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for turn in range(3):
        arrays = [values(dtype, int(rng.integers(0, 3000)), rng) for _ in range(3)]
        everything = np.concatenate(arrays).astype(dtype)
        down = ["-r"] * (turn % 2)
        expected = in_order(everything, descending=bool(down))
        assert invoke(["sort", *down, *saved(arrays), "-o", "sorted.npy"]) == 0
        same("sorted.npy", expected)
        assert invoke(["sort", *down, "-S", "256K", *saved(arrays), "-o", "spilled.npy"]) == 0
        same("spilled.npy", expected)
        names = saved([in_order(array, descending=bool(down)) for array in arrays])
        assert invoke(["merge", "-q", *down, *names, "-o", "merged.npy"]) == 0
        same("merged.npy", expected)
        assert invoke(["check", *down, "merged.npy"]) == 0


@pytest.mark.parametrize("fields", ["at", "ok,for", "for,at,id"])
def test_fields_of_records(fields: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = []
    for _ in range(3):
        records = np.zeros(int(rng.integers(1, 900)), RECORD)
        for name in ("ok", "at", "for"):
            records[name] = values(RECORD[name], len(records), rng)
        records["id"], records["rest"] = rng.integers(0, 5, len(records)), b"abc"
        arrays.append(records)
    names = fields.split(",")
    expected = in_order(np.concatenate(arrays).astype(RECORD), names)
    assert invoke(["sort", "-s", "--field", fields, *saved(arrays), "-o", "sorted.npy"]) == 0
    same("sorted.npy", expected)
    merged = saved([in_order(array, names) for array in arrays])
    assert invoke(["merge", "-q", "--field", fields, *merged, "-o", "merged.npy"]) == 0
    same("merged.npy", expected)
    assert invoke(["check", "--field", fields, "merged.npy"]) == 0


def test_sets_put_nat_last() -> None:
    a, b = (np.array(text, "M8[D]") for text in (["2001-01-01", "2002-01-01", "NaT"], ["2002-01-01", "NaT", "NaT"]))
    for command, expected in (
        ("union", ["2001-01-01", "2002-01-01", "NaT", "NaT"]), ("intersect", ["2002-01-01", "NaT"]),
        ("difference", ["2001-01-01"]), ("symmetric", ["2001-01-01", "NaT"]),
    ):  # fmt: skip
        assert invoke([command, "-q", *saved([a, b]), "-o", "set.npy"]) == 0
        same("set.npy", np.array(expected, "M8[D]"))


@pytest.mark.parametrize(
    ("dtype", "texts", "bounds"),
    [
        ("M8[s]", ["2024-01-01", "2024-01-02T00:00:01", "NaT"], [(0, 1), (2, 2), (3, 5)]),
        ("m8[h]", ["-1", "2 days", "48 hours", "nat"], [(0, 1), (2, 3), (2, 3), (3, 5)]),
        ("?", ["False", "true", "1"], [(0, 3), (3, 5), (3, 5)]),
    ],
)
def test_ranks_of_values(
    dtype: str, texts: list[str], bounds: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    items = {
        "M8[s]": ["2024-01-01", "2024-01-02", "2024-01-03", "NaT", "NaT"],
        "m8[h]": np.array([-1, 0, 48, "NaT", "NaT"], "m8[h]"),
        "?": [0, 0, 0, 1, 1],
    }[dtype]
    np.save("a.npy", np.array(items, dtype))
    assert invoke(["rank", "--json", *(f"--of={text}" for text in texts), "--at=0", "a.npy"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["lower"], one["upper"]) for one in told["of"]] == bounds
    item = told["ranks"][0]["item"]
    assert item == str(np.load("a.npy")[0])
    assert invoke(["rank", f"--of={item}", "a.npy"]) == 0


@pytest.mark.parametrize(
    ("dtype", "text", "what"),
    [
        ("M8[s]", "2024-01-01T00:00:00.5", "datetime64[s] does not have this value"),
        ("M8[ns]", "9999-01-01", "datetime64[ns] does not have this value"),
        ("M8[s]", "yesterday at noon", "it is not of type datetime64[s]"),
        ("m8[s]", "5 apples", "it is not of type timedelta64[s]"),
        ("m8[D]", "5 hours", "timedelta64[D] does not have this value"),
        ("?", "2", "it is not of type bool"),
    ],
)
def test_values_that_no_item_has(dtype: str, text: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("a.npy", np.zeros(3, dtype))
    assert invoke(["rank", f"--of={text}", "a.npy"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"gpumerge: --of '{text}': {what}; write ")
    assert told.count("\n") == 1


def test_messages_show_values_as_numpy_does(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("a.npy", np.array(["NaT", "2024-01-01"], "M8[m]"))
    assert invoke(["check", "a.npy"]) == 1
    assert "a.npy@1: disorder: 2024-01-01T00:00 comes after NaT" in capsys.readouterr().err


def test_units_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    names = saved([np.zeros(3, "M8[s]"), np.zeros(3, "M8[ms]")])
    assert invoke(["merge", *names, "-o", "c.npy"]) == 2
    assert capsys.readouterr().err == (
        "gpumerge: 1.npy: holds datetime64[ms], but 0.npy holds datetime64[s]; "
        "convert one of them: all inputs need one type\n"
    )
