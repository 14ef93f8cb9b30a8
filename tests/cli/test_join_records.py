"""gpumerge join on records and numbers, against a few lines of Python."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.order.joins import JOIN_TYPES
from gpumerge_cli.order.key_kinds import KINDS

_PAIRS, _ONLY_A, _ONLY_B, _PAIRED_A = 1, 2, 4, 8


def run(*arguments: str) -> int:
    return door.invoke(["join", "-q", *arguments])


def joined(a: Sequence[Any], b: Sequence[Any], shows: int) -> list[tuple[Any, Any]]:
    """The pairs that go out of (key, item) in ascending order; None stands for no item."""
    found: list[tuple[Any, Any]] = []
    for key in sorted({key for key, _ in [*a, *b]}):
        some_a, some_b = ([item for own, item in side if own == key] for side in (a, b))
        if shows & _PAIRS:
            found += [(x, y) for x in some_a for y in some_b]
        if shows & (_PAIRED_A if some_b else _ONLY_A):
            found += [(x, None) for x in some_a]
        if shows & _ONLY_B and not some_a:
            found += [(None, y) for y in some_b]
    return found


def records(chance: random.Random, key: np.dtype[Any], size: int, offset: int, count: int) -> list[tuple[Any, bytes]]:
    """(key, record) in the order of the keys."""
    made = []
    for _ in range(count):
        value = np.array([chance.randrange(-40, 40) if key.kind in "if" else chance.randrange(80)]).astype(key)
        record = bytearray(chance.randbytes(size))
        record[offset : offset + key.itemsize] = value.tobytes()
        made.append((value.tolist()[0], bytes(record)))
    return sorted(made, key=lambda one: one[0])


@pytest.mark.parametrize("kind", JOIN_TYPES)
@pytest.mark.parametrize("key", ["u1", "<i2", ">i4", "<f4", ">f8", "S3"])
@pytest.mark.parametrize("places", [((16, 0), (16, 0)), ((11, 2), (24, 16)), ((8, 0), (30, 3))])
def test_records_of_any_layout(places: Any, key: str, kind: str, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    dtype = np.dtype(key)
    (size_a, at_a), (size_b, at_b) = places
    a, b = (
        records(chance, np.dtype("u1") if key == "S3" else dtype, *place, chance.choice([0, 3, 200]))
        for place in places
    )
    if key == "S3":  # bytes, of which the record's own decide
        a, b = (sorted((record[at : at + 3], record) for _, record in side) for side, at in ((a, at_a), (b, at_b)))
    (tmp_path / "a").write_bytes(b"".join(record for _, record in a))
    (tmp_path / "b").write_bytes(b"".join(record for _, record in b))
    options = ["--key-size", "3"] if key == "S3" else ["--dtype", key]
    filler = chance.choice([0, 0, 255])
    options += ["-e", str(filler)] if filler else []
    out = tmp_path / "out.bin"
    assert run(
        "--record-size", f"{size_a},{size_b}", "--key-offset", f"{at_a},{at_b}", *options, "--type", kind,
        "-S", "64K", str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(out),
        "--report", str(tmp_path / "told.json"),
    ) == 0  # fmt: skip
    width = dtype.itemsize
    with_b = bool(JOIN_TYPES[kind] & (_PAIRS | _ONLY_B))
    expected = []
    for x, y in joined(a, b, JOIN_TYPES[kind]):
        left = x
        if x is None:
            made = bytearray([filler]) * size_a
            made[at_a : at_a + width] = y[at_b : at_b + width]
            left = bytes(made)
        rest = bytes([filler]) * (size_b - width) if y is None else y[:at_b] + y[at_b + width :]
        expected.append(left + rest * with_b)
    assert out.read_bytes() == b"".join(expected)
    assert json.loads((tmp_path / "told.json").read_text())["joined"] == len(expected)


@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_structured_files_by_several_fields(kind: str, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = np.zeros(500, [("x", "<f8"), ("id", "<i4"), ("name", "S4")])
    b = np.zeros(300, np.dtype([("tag", "S4"), ("y", "u1"), ("x", "<i2"), ("number", ">i4")], align=True))
    for side, number in ((a, "id"), (b, "number")):
        side[number] = rng.integers(-9, 9, len(side))
        side["x"] = rng.integers(0, 99, len(side))
        side["name" if side is a else "tag"] = rng.choice([b"k", b"kk", b"", b"zzzz"], len(side))
    b["y"] = rng.integers(1, 9, len(b))
    keys = [
        [(-int(n), t) for n, t in zip(side[n], side[t], strict=True)]
        for side, n, t in ((a, "id", "name"), (b, "number", "tag"))
    ]
    rows = []
    for name, side, own in (("a", a, keys[0]), ("b", b, keys[1])):
        order = sorted(range(len(side)), key=own.__getitem__)
        np.save(tmp_path / f"{name}.npy", side[order])
        rows.append([(own[at], side[at]) for at in order])
    out = tmp_path / "out.npy"
    options = ["-1", "id:r,name", "-2", "number:r,tag", "--type", kind]
    assert run(*options, str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), "--output", str(out)) == 0
    found = np.load(out)
    with_b = bool(JOIN_TYPES[kind] & (_PAIRS | _ONLY_B))
    assert found.dtype.names == ("x", "id", "name", *(("y", "x_2") if with_b else ()))
    expected = [
        (
            *((x["x"], x["id"], x["name"]) if x is not None else (0, y["number"], y["tag"])),
            *(((y["y"], y["x"]) if y is not None else (0, 0)) if with_b else ()),
        )
        for x, y in joined(*rows, JOIN_TYPES[kind])
    ]
    assert found.tolist() == [tuple(getattr(value, "item", lambda v=value: v)() for value in row) for row in expected]


@pytest.mark.parametrize("dtype", ["int32", ">u2", "float64"])
@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_numbers_are_records_that_are_all_key(kind: str, dtype: str, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = [np.sort(rng.integers(0, 300, count).astype(dtype)) for count in (400, 100)]
    for name, side in zip("ab", sides, strict=True):
        side.tofile(tmp_path / name)
    assert run(
        "--dtype", dtype, "--type", kind, str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(tmp_path / "out")
    ) == 0  # fmt: skip
    a, b = ([(value, value) for value in side.tolist()] for side in sides)
    expected = [y if x is None else x for x, y in joined(a, b, JOIN_TYPES[kind])]
    assert np.fromfile(tmp_path / "out", dtype).tolist() == expected


def test_records_that_have_numbers_as_partners(tmp_path: Path) -> None:
    people = np.array([(1, b"Ann"), (2, b"Bob"), (5, b"Cy")], [("id", "<i8"), ("name", "S3")])
    np.save(tmp_path / "people.npy", people)
    np.array([2, 3, 5], "<i8").tofile(tmp_path / "ids.i64")
    out = tmp_path / "out.npy"
    assert (
        run("-1", "id", "--type", "semi", str(tmp_path / "people.npy"), str(tmp_path / "ids.i64"), "--output", str(out))
        == 0
    )
    assert np.load(out).tolist() == people[1:].tolist()
    assert (
        run(
            "-2", "id", "--type", "outer", str(tmp_path / "ids.i64"), str(tmp_path / "people.npy"), "--output", str(out)
        )
        == 0
    )
    assert np.load(out).tolist() == [(1, b"Ann"), (2, b"Bob"), (3, b""), (5, b"Cy")]


def test_records_across_chunks(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = np.zeros(40_000, [("x", "<u4"), ("k", ">i8"), ("n", "<i2")])
    b = np.zeros(30_000, [("n", ">i2"), ("k", "<i8"), ("y", "<u4")])
    for side, name in ((a, "x"), (b, "y")):
        side["k"] = rng.integers(-5000, 5000, len(side))
        side["n"] = rng.integers(0, 2, len(side))
        side.sort(order=["n", "k"])
        side[name] = np.arange(len(side))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    out = tmp_path / "out.npy"
    names = [str(tmp_path / name) for name in ("a.npy", "b.npy")]
    assert run("-j", "n,k", "-S", "64K", "--threads", "2", *names, "--output", str(out)) == 0
    pairs = [side["n"].astype(int) * 10**5 + side["k"] for side in (a, b)]
    low, high = (np.searchsorted(pairs[1], pairs[0], side) for side in ("left", "right"))
    found = np.load(out)
    assert found["x"].tolist() == np.repeat(a["x"], high - low).tolist()
    assert found["y"].tolist() == [y for x, z in zip(low, high, strict=True) for y in range(x, z)]
    assert found[["n", "k"]].tolist() == a[["n", "k"]][found["x"]].tolist()


@pytest.mark.parametrize("counts", [(3, 100_000), (100_000, 3)])
def test_groups_of_records_beyond_the_memory(counts: tuple[int, int], tmp_path: Path) -> None:
    a, b = (np.zeros(count, [("k", "<u4"), ("at", "<u4"), ("fill", "S24")]) for count in counts)
    for side in (a, b):
        side["k"][1:-1] = 5
        side["k"][-1] = 9
        side["at"] = np.arange(len(side))
        side.tofile(tmp_path / ("a" if side is a else "b"))
    out = tmp_path / "out.bin"
    options = ["--record-size", "32", "--dtype", "<u4", "-S", "1M"]
    assert run(*options, str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(out)) == 0
    found = np.fromfile(out, [("k", "<u4"), ("at", "<u4"), ("fill", "S24"), ("at_2", "<u4"), ("fill_2", "S24")])
    pairs = [
        (0, 0),
        *((x, y) for x in range(1, counts[0] - 1) for y in range(1, counts[1] - 1)),
        tuple(n - 1 for n in counts),
    ]
    assert list(zip(found["at"].tolist(), found["at_2"].tolist(), strict=True)) == pairs


def test_the_rules_pickle() -> None:

    from gpumerge_cli.order.kinds import FieldsOrder, RecordOrder
    from gpumerge_cli.order.record_joins import RecordJoin

    key = FieldsOrder.by([RecordOrder.of_key(16, 4, np.dtype(">i4"), descending=True), RecordOrder.of_key(16, 8, 8)])
    join = RecordJoin(3, b"\xff", (key, key))
    assert pickle.loads(pickle.dumps(join)) == join


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-j", "id"], "has another type"),
        (["-j", "nothing"], "have no field 'nothing'"),
        (["-1", "id", "-2", "id,v"], "has another type"),
        (["-j", "v:n"], "do not accept 'n'"),
        ([], "need a key"),
        (["-j", "v", "--csv"], "a.npy is binary: --csv applies to text"),
        (
            ["-j", "v", "-o", "out.npy"],
            "-o: the items are records, not lines; leave it out; --output names the file to write\n",
        ),
    ],
)
def test_what_cannot_be(options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3, [("id", "<i4"), ("v", "<i4")]))
    np.save(tmp_path / "b.npy", np.zeros(3, [("id", "<i8"), ("v", "<i4")]))
    out = tmp_path / "out.npy"
    assert door.invoke(["join", *options, str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), "--output", str(out)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_lines_and_records_do_not_join(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3, "<i4"))
    (tmp_path / "b.txt").write_bytes(b"0\n")
    assert run(str(tmp_path / "a.npy"), str(tmp_path / "b.txt")) == 2
    assert "join two files of one kind" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--dtype i4", "--record-size 4", "--key-offset 1", "--key-size 2"])
@pytest.mark.parametrize("format", ["text", "csv"])
def test_lines_take_no_type_of_records(
    option: str, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(tmp_path / "b.txt")
    Path(name).write_bytes(b"0\n")
    assert run(name, name, "--format", format, *option.split()) == 2
    error = capsys.readouterr().err
    assert f"{option.split()[0]}" in error
    assert ": lines of text have no" in error
    assert f"; leave it or --format {format} out" in error


def test_disorder_of_records_is_an_error_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2, 3], "<i4").tofile(tmp_path / "a.i32")
    np.array([1, 3, 2], "<i4").tofile(tmp_path / "b.i32")
    out = tmp_path / "out.i32"
    assert run(str(tmp_path / "a.i32"), str(tmp_path / "b.i32"), "--output", str(out)) == 2
    assert "b.i32@2: disorder" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("option", ["-j", "-1", "--field"])
def test_errors_name_the_option_that_was_given(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3, [("id", "<i4"), ("v", "<i4", 2)]))
    (tmp_path / "b.dat").write_bytes(bytes(8))
    a, b = str(tmp_path / "a.npy"), str(tmp_path / "b.dat")
    for words, said in (
        ([option, "no", a, a], f"{option} no: records of 12 bytes (id <i4, v |V8) have no field 'no'; its"),
        ([option, "id,id", a, a], f"{option} id,id: id is named twice"),
        ([option, "id:n", a, a], f"{option} id:n: keys of records do not accept 'n'"),
        ([option, "v", a, a], f"{option} v: the field is an array of (2,)"),
        ([option, "id", "--record-size", "4", b, b], f"--record-size 4: {option} says where the key lies"),
        ([option, "id", "--dtype", "i4", b, b], f"{option} id: --dtype i4 has no fields"),
        ([option, "id", "--format", "raw", b, b], f"{option}: the size of the records of {b} is not known"),
    ):
        words = [*words[:2], *(["-2", "id"] if option == "-1" else []), *words[2:]]
        assert run(*words) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", [kind.option for kind in KINDS if kind.option and kind.joins])
def test_records_take_no_kind_of_key_of_lines(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2], "<i4").tofile(tmp_path / "a.i32")
    assert run(str(tmp_path / "a.i32"), str(tmp_path / "a.i32"), f"--{option}") == 2
    assert capsys.readouterr().err == (
        f"gpumerge: {tmp_path / 'a.i32'} is binary: --{option} applies to text; "
        f"leave --{option} out, or use --format text\n"
    )


@pytest.mark.parametrize("option", [kind.option for kind in KINDS if kind.option and not kind.joins])
def test_a_join_has_no_option_for_kinds_that_it_cannot_match_by(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.array([1, 2], "<i4").tofile(tmp_path / "a.i32")
    assert run(str(tmp_path / "a.i32"), str(tmp_path / "a.i32"), f"--{option}") == 2
    assert f"there is no option --{option}" in capsys.readouterr().err
