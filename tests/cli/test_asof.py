"""gpumerge join --type asof on CSV, lines, records, numbers and JSON Lines, against Python, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli import app as door
from tests.asof import Row, float_or_none, partners, partners_of_descending

_DIRECTIONS = ("backward", "forward", "nearest")
ROUNDS = 15
MANY_ROUNDS = 2000


def run(*arguments: str) -> int:
    return door.invoke(["join", "-q", "--type", "asof", *arguments])


def _numbers(chance: random.Random, key: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
    least = 0 if key.kind in "uS" else -40
    found = np.array([chance.randrange(least, 60) for _ in range(count)], np.int64)
    if key.kind == "S":
        return np.array([b"%02d" % (number % 20) for number in found], key)
    if key.kind == "f":
        floats = (found / 4).astype(key)
        for at in range(count):
            if chance.random() < 0.1:
                floats[at] = chance.choice([math.nan, math.inf, -math.inf, -0.0])
        return floats
    if key.kind in "mM":
        dates = found.astype(np.int64).view(key.newbyteorder("=")).astype(key)
        dates[[chance.random() < 0.1 for _ in range(count)]] = "NaT"
        return dates
    return found.astype(key)


def _value(one: Any) -> Any:
    if one.dtype.kind in "mM":
        return None if np.isnat(one) else int(one.view("i8"))
    return float_or_none(float(one)) if one.dtype.kind == "f" else one.item()


_KEYS = ("<i4", ">i8", "u1", "<u8", "<f8", ">f4", "<f2", "<M8[ms]", "<M8[25s]", "<m8[us]", ">M8[D]", "S2")
_UNITS = {"[ms]": 10**6, "[25s]": 25 * 10**9, "[us]": 1000, "[D]": 86400 * 10**9}


def _records(
    chance: random.Random, exact: Sequence[str], last: str, name: str, *, turned: bool
) -> tuple[Any, list[Row]]:
    """Records sorted by k0, k1, ... and t, between other fields; and their keys. turned: t descends."""
    key = np.dtype(last)
    names = [*(f"k{number}" for number in range(len(exact))), "t"]
    layout = [*zip(names, [*exact, last], strict=True), (name, "<i4"), ("rest", "S3")]
    chance.shuffle(layout)
    count = chance.choice([0, 1, 20, 600])
    made = np.zeros(count, layout)
    for own, type in zip(names, exact, strict=False):
        made[own] = [b"a" * chance.randrange(3) if type[0] == "S" else chance.randrange(3) for _ in range(count)]
    made["t"] = _numbers(chance, key, count)
    native = made.astype([(field, np.dtype(type).newbyteorder("=")) for field, type in layout])
    keys = [native[own] for own in names[::-1]]
    if turned:
        _, ranks = np.unique(keys[0], return_inverse=True)
        keys[0] = -ranks
    made = made[np.lexsort(keys)]
    made[name], made["rest"] = range(count), b"xyz"
    return made, [(tuple(row[own].item() for own in names[:-1]), _value(row["t"])) for row in made]


def _check_records(chance: random.Random, folder: Path) -> None:
    exact = chance.sample(["S2", "<i4", ">u2"], chance.choice([0, 0, 1, 2]))
    last = chance.choice(_KEYS)
    direction = chance.choice(_DIRECTIONS[: 2 if last == "S2" else 3])
    turned = chance.random() < 0.4
    (a, keys_a), (b, keys_b) = (_records(chance, exact, last, name, turned=turned) for name in "ab")
    names = [str(folder / "a.npy"), str(folder / "b.npy")]
    np.save(names[0], a)
    np.save(names[1], b)
    steps = None if last == "S2" else chance.choice([None, None, 0, 1, 3])
    unit = next((nanos for text, nanos in _UNITS.items() if last.endswith(text)), None)
    scale = 4 if "f" in last else 1
    tolerance = [] if steps is None else ["--tolerance", f"{steps * unit}ns" if unit else str(steps / scale)]
    out = folder / "o.npy"
    fields = [f"k{number}" for number in range(len(exact))]
    options = [
        "--field",
        ",".join([*fields, "t:r" if turned else "t"]),
        "--direction",
        direction,
        "-e",
        "0xff",
        *tolerance,
    ]
    described = (exact, last, direction, tolerance, turned)
    assert run(*options, *names, "--output", str(out)) == 0, described
    found = np.load(out)
    partners_of = partners_of_descending if turned else partners
    wanted = partners_of(keys_a, keys_b, direction, None if steps is None else steps / scale)
    assert found["a"].tolist() == [*range(len(a))], described
    assert found["b"].tolist() == [-1 if one is None else one for one in wanted], described
    assert set(found["rest_2"].tolist()) <= {b"xyz", b"\xff\xff\xff"}


@pytest.mark.usefixtures("small_chunks")
def test_records_by_all_types_of_keys(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        _check_records(chance, tmp_path)


@pytest.mark.thorough
@pytest.mark.usefixtures("small_chunks")
def test_many_files_of_records(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(MANY_ROUNDS):
        _check_records(chance, tmp_path)


@pytest.mark.parametrize("direction", _DIRECTIONS)
@pytest.mark.parametrize("dtype", ["int32", ">f8"])
def test_numbers_stay_as_they_are(dtype: str, direction: str, tmp_path: Path) -> None:
    """They are all key, so that B has nothing to add."""
    np.array([1, 5, 9]).astype(dtype).tofile(tmp_path / "a")
    np.array([2, 5]).astype(dtype).tofile(tmp_path / "b")
    out = tmp_path / "o"
    files = [str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(out)]
    assert run("--dtype", dtype, "--direction", direction, *files) == 0
    assert np.fromfile(out, dtype).tolist() == [1, 5, 9]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("direction", _DIRECTIONS)
def test_csv_by_names(direction: str, tmp_path: Path, seed: int) -> None:
    """Quoted fields, several keys, names that are in both files, and fields that lack a number."""
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        sides, sign = [], chance.choice([1, 1, -1])
        for name in "ab":
            rows = []
            for _ in range(chance.choice([0, 1, 30, 400])):
                text = chance.choice(["", "-", *(f"{number / 10}" for number in range(-20, 60, chance.choice([3, 7])))])
                rows.append((chance.choice(["x", "y", "a,b"]), text))
            rows.sort(key=lambda row: (row[0], sign * float((row[1].strip("-") and row[1]) or 0)))
            sides.append([(sym, text, f"{name}{at}", "n") for at, (sym, text) in enumerate(rows)])
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n", quoting=chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
            writer.writerows([("sym", "t", name, "note"), *sides[-1]])
            (tmp_path / f"{name}.csv").write_text(out.getvalue())
        keys = [
            [((sym,), round(float(text) * 10) if text.strip("-") else None) for sym, text, *_ in side] for side in sides
        ]
        tolerance = chance.choice([None, 0, 5])
        options = ["--direction", direction, *(["--tolerance", str(tolerance / 10)] if tolerance is not None else [])]
        names = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--output", str(tmp_path / "o.csv")]
        assert run("--field", "sym,t:n" if sign > 0 else "sym,t:nr", *options, *names) == 0
        found = [*csv.reader(io.StringIO((tmp_path / "o.csv").read_text()))]
        assert found[0] == ["sym", "t", "a", "note", "b", "note_2"]
        wanted = (partners if sign > 0 else partners_of_descending)(*keys, direction, tolerance)
        pairs = zip(sides[0], wanted, strict=True)
        assert found[1:] == [[*row, *(("", "") if one is None else sides[1][one][2:])] for row, one in pairs]


@pytest.mark.one_of_each
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("direction", _DIRECTIONS)
@pytest.mark.parametrize("kind", ["", ":n", ":time"])
def test_json_lines(kind: str, direction: str, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        sides, keys, sign = [], [], chance.choice([1, 1, -1])
        for name in "ab":
            rows = [_object(chance, kind) for _ in range(chance.choice([0, 1, 30, 300]))]
            rows.sort(key=lambda row: (row[0] or "~", row[1] is None, sign * (row[1] or 0)))
            for number, (_, _, value) in enumerate(rows):
                value[name] = number
            sides.append([value for _, _, value in rows])
            keys.append([((sym or f"no {name}",), number) for sym, number, _ in rows])
            text = "".join(json.dumps(value) + "\n" for value in sides[-1])
            (tmp_path / f"{name}.jsonl").write_text(text)
        tolerance = chance.choice([None, 0, 5])
        word = f"{tolerance}s" if kind == ":time" else str(tolerance)
        options = ["--direction", direction, *(["--tolerance", word] if tolerance is not None else [])]
        names = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), "--output", str(tmp_path / "o.jsonl")]
        turned = "" if sign > 0 else ",r" if kind == ":time" else "r" if kind else ":r"
        assert run("--field", f"sym,o.t{kind}{turned}", *options, *names) == 0
        found = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert [row["a"] for row in found] == [*range(len(sides[0]))]
        partners_of = partners if sign > 0 else partners_of_descending
        assert [row.get("b") for row in found] == partners_of(*keys, direction, tolerance)


def _object(chance: random.Random, kind: str) -> tuple[str | None, Any, dict[str, Any]]:
    """(the exact key, the value of the last one, an object)."""
    sym = chance.choice(["a", "b", None])
    number: Any = chance.randrange(0, 60)
    if kind == ":time":
        shown: Any = f"2024-01-31T00:00:{number:02}Z"
    else:
        number = number * chance.choice([1, 1, 10**20])
        shown = f"{number}.0" if kind else number
    if chance.random() < 0.1:
        number = shown = None
    return sym, number, {"sym": sym, "o": {"t": shown}}


def test_lines_and_columns(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Plain lines have no columns of a missing line, as in left joins; -o may show the key of B."""
    (tmp_path / "a").write_bytes(b"1 x\n4 y\n9 z\n")
    (tmp_path / "b").write_bytes(b"2 p\n4 q\n4 r\n12 s\n")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    for options, expected in (
        ([], b"1 x\n4 y r\n9 z r\n"),
        (["--direction", "forward"], b"1 x p\n4 y q\n9 z s\n"),
        (["--direction", "nearest"], b"1 x p\n4 y r\n9 z s\n"),
        (["-o", "0,2.1,2.2", "-e", "none"], b"1 none none\n4 4 r\n9 4 r\n"),
        (["--tolerance", "4.99"], b"1 x\n4 y r\n9 z\n"),
    ):
        assert run("-n", *options, *files) == 0
        assert capfdbinary.readouterr().out == expected, options


def test_a_tie_is_for_the_one_ahead(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a").write_bytes(b"5 x\n")
    (tmp_path / "b").write_bytes(b"3 p\n3 q\n7 r\n7 s\n")
    assert run("-n", "--direction", "nearest", str(tmp_path / "a"), str(tmp_path / "b")) == 0
    assert capfdbinary.readouterr().out == b"5 x q\n"


def test_files_that_descend_are_read_from_their_ends(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a").write_bytes(b"9 x\n5 y\n1 z\n")
    (tmp_path / "b").write_bytes(b"7 p\n7 q\n5 r\n5 s\n3 t\n")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    for options, expected in (
        ([], b"9 x p\n5 y r\n1 z\n"),
        (["--direction", "forward"], b"9 x\n5 y s\n1 z t\n"),
        (["--direction", "nearest"], b"9 x p\n5 y r\n1 z t\n"),
        (["--direction", "nearest", "--tolerance", "1.5"], b"9 x\n5 y r\n1 z\n"),
    ):
        assert run("-n", "-r", *options, *files) == 0
        assert capfdbinary.readouterr().out == expected, options


def test_time_tolerances(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a.csv").write_text("t,a\n2024-01-31T10:00:00Z,x\n2024-01-31T10:05:00.5Z,y\n")
    (tmp_path / "b.csv").write_text("when,b\n2024-01-31T10:00:00.4+00:00,p\n")
    for tolerance, expected in (("5m", ""), ("300.1s", "p"), ("5m99ms", ""), ("00:05:01", "p"), ("PT5M1S", "p")):
        options = ["-1", "t:time", "-2", "when", "--csv", "--tolerance", tolerance]
        assert run(*options, str(tmp_path / "a.csv"), str(tmp_path / "b.csv")) == 0
        lines = f"t,a,b\n2024-01-31T10:00:00Z,x,\n2024-01-31T10:05:00.5Z,y,{expected}\n"
        assert capfdbinary.readouterr().out.decode() == lines


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tolerance", "soon"], "--tolerance: 'soon' is neither a number nor a duration; write for example 0.5, 5m"),
        (["--tolerance", "-1"], "--tolerance -1: a distance is not negative; write it without its sign"),
        (["--tolerance", "nan"], "--tolerance: 'nan' is neither a number nor a duration"),
        (["--tolerance", "1e99999"], "--tolerance: '1e99999' is neither a number nor a duration"),
        (["--tolerance", "5m"], "it is a duration, and the last key, --field t:n, is a number; write a number"),
        (["--field", "t:time", "--tolerance", "5"],
         "it is a number, and the last key, --field t:time, is a time or duration; write a duration, as 5m"),
        (["--field", "t", "--tolerance", "5"], "--tolerance 5: values of the last key, --field t, have no distances"),
        (["--field", "t", "--direction", "nearest"], "nearest: values of the last key, --field t, have no distances"),
        (["--type", "left", "--direction", "nearest"], "--direction nearest: it is for an as-of join; add --type asof"),
        (["--type", "inner", "--tolerance", "1"], "--tolerance 1: it is for an as-of join; add --type asof"),
        (["-a", "1"], "--type and --unpaired both choose the lines to write"),
        (["--direction", "sideways"], "--direction"),
    ],
)  # fmt: skip
def test_what_is_refused(options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("t,v\n1,x\n")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    fields = [] if "--field" in options else ["--field", "t:n"]
    types = [] if "--type" in options else ["--type", "asof"]
    out = tmp_path / "o.csv"
    assert door.invoke(["join", "-q", *types, *fields, *options, *files, "--output", str(out)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("option", [["--direction", "forward"], ["--tolerance", "1"]])
def test_options_need_the_type(option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke(["join", *option, "a", "b"]) == 2
    assert capsys.readouterr().err == f"gpumerge: {option[0]} is for an as-of join; add --type asof\n"


def test_types_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]

    def told(a: str, b: str, *options: str) -> str:
        for name, type in zip(names, (a, b), strict=True):
            np.save(name, np.zeros(3, [("t", type), ("v", "i4")]))
        assert run("--field", "t", *options, *names, "--output", str(tmp_path / "o.npy")) == 2
        return capsys.readouterr().err

    assert "the last key, t, is a time or duration" in told("M8[s]", "M8[s]", "--tolerance", "5")
    assert "the last key, t, is a number" in told("i8", "i8", "--tolerance", "5s")
    assert "values of the last key, t, have no distances" in told("S4", "S4", "--direction", "nearest")
    assert "values of the last key, t, have no distances" in told("M8[M]", "M8[M]", "--tolerance", "5s")
    assert "have the units [s] and [ms]" in told("M8[s]", "M8[ms]")


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("side", [0, 1])
def test_disorder_is_found(side: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [[f"{number:05} {name}\n" for number in range(2000)] for name in "ab"]
    lines[side][1500], lines[side][1400] = lines[side][1400], lines[side][1500]
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    for name, own in zip(names, lines, strict=True):
        Path(name).write_text("".join(own))
    for direction in ("backward", "forward"):
        assert run("--direction", direction, *names, "--output", str(tmp_path / "o")) == 2
        assert f"{names[side]}:1402: disorder" in capsys.readouterr().err
        assert not (tmp_path / "o").exists()
