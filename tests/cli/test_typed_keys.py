"""Typed keys, nulls and invalid values in every command, against Python's own reading of the values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.dataclass import replace
from gpumerge_cli.order.key_kinds import KIND_OF, TYPED_WORDS
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.linekeys import key_of
from tests.random_values import INVALID, LISTED, NULLS, RANDOM, parameters_of
from tests.typed_values import class_of

KINDS = {word: word.replace("-", "_") for word in TYPED_WORDS}
NAMED = (b"NA", b"n/a")
COMMANDS = ("sort -s", "sort -m", "sort -u", "merge -q", "merge -q --no-check", "check", "union -q", "intersect -q")
READ_ALL = ("length", "bytes_length", "list")
"""Kinds for which no text is invalid."""
PLACES = ["", "first", "last"]


@pytest.fixture
def chance(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Random:
    monkeypatch.chdir(tmp_path)
    return Random(seed)


def key_for(kind: str, field: int = 1, **more: object) -> LineKey:
    return replace(LineKey(kind, field, end_field=field, parameters=parameters_of(kind)), **more)  # type: ignore[arg-type]


def whole(kind: str, **more: object) -> LineKey:
    return replace(LineKey(kind, parameters=parameters_of(kind)), **more)  # type: ignore[arg-type]


def listing(kind: str) -> list[str]:
    """The options that give the parameters of a kind."""
    if KIND_OF[kind].timed:
        return ["--zone", "Europe/Berlin", "--year", "2023"]
    return ["--order-list", write("listed", LISTED)] if kind == "list" else []


def texts(kind: str, chance: Random, count: int, bad: bool) -> list[bytes]:
    """Values of a kind, one in eight of them a null, and one in eight invalid if `bad`."""
    own = [RANDOM[kind](chance) for _ in range(max(1, count // 2))]
    drawn = [chance.choice(NULLS) if chance.random() < 0.12 else chance.choice(own) for _ in range(count)]
    return [chance.choice(INVALID) if bad and chance.random() < 0.12 else text for text in drawn]


def lines_of(columns: Sequence[Sequence[bytes]]) -> list[bytes]:
    return [b",".join(each) for each in zip(*columns, strict=True)]


def write(name: str, lines: Sequence[bytes]) -> str:
    Path(name).write_bytes(b"".join(line + b"\n" for line in lines))
    return name


def run(*words: str) -> bytes:
    assert invoke([*words, "--output", "out"]) == 0, words
    return Path("out").read_bytes()


def options(key: LineKey, csv: bool) -> list[str]:
    """The options of an order by the second field, and then the third one as text."""
    word = next(word for word, name in KINDS.items() if name == key.compare)
    given = f"2:{word}{',r' * key.reverse}"
    words = ["--header", "0", "--csv", "--field", f"{given},3"] if csv else ["-t,", "-k", given, "-k3,3"]
    words += listing(key.compare)
    words += ["--nulls", key.nulls] * bool(key.nulls)
    words += ["--null-values", b",".join(key.null_values).decode()] * bool(key.null_values)
    return [*words, *["--invalid", key.invalid] * bool(key.invalid)]


def drawn_case(kind: str, chance: Random, csv: bool = False) -> tuple[LineKey, LineOrder, list[bytes], list[str]]:
    key = key_for(
        kind, reverse=chance.random() < 0.5, nulls=chance.choice(PLACES), null_values=NAMED,
        invalid=chance.choice(PLACES),
    )  # fmt: skip
    count = chance.choice([5, 60, 700])
    rows = [texts(kind, chance, count, key.invalid != ""), [chance.choice([b"a", b"b"]) for _ in range(count)]]
    lines = lines_of([[b"%d" % at for at in range(count)], *rows])
    last = replace(key_for("bytes", 2), nulls=key.nulls, null_values=NAMED)
    return key, LineOrder((key, last), b",", stable=True), lines, options(key, csv)


def with_one_fault(kind: str, chance: Random, *, first: bool) -> tuple[list[bytes], int]:
    """Numbered lines, one of which has an invalid value, and the number of this one. first: in descending order."""
    lines = [b"%05d,%s" % (at, RANDOM[kind](chance)) for at in range(900)]
    at = chance.randrange(len(lines))
    bad = chance.choice([text for text in INVALID if class_of(LineKey(kind), text) == "invalid"])
    lines[at] = b"%05d,%s" % (at, bad)
    if first:
        key = key_for(kind, reverse=True, invalid=chance.choice(["first", "last"]))
        lines.sort(key=key_of(LineOrder((key,), b",")))
    return lines, next(number for number, line in enumerate(lines) if line.endswith(b"," + bad))


def distinct(lines: Sequence[bytes], order: LineOrder) -> list[bytes]:
    key, kept = key_of(order), []
    for line in lines:
        if not kept or key(kept[-1]) != key(line):
            kept.append(line)
    return kept


@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", KINDS.values())
@pytest.mark.parametrize("csv", [False, True], ids=["lines", "csv"])
@pytest.mark.usefixtures("small_chunks")
def test_sorts_merges_and_sets(kind: str, csv: bool, chance: Random) -> None:
    for _ in range(3):
        _, order, lines, words = drawn_case(kind, chance, csv)
        key = key_of(order)
        cut = chance.randrange(len(lines) + 1)
        halves = [sorted(half, key=key) for half in (lines[:cut], lines[cut:])]
        expected = sorted(halves[0] + halves[1], key=key)
        write("all", lines)
        assert run("sort", "-s", *words, "all").splitlines() == sorted(lines, key=key)
        names = [write(name, half) for name, half in zip("ab", halves, strict=True)]
        assert run("merge", "-q", *words, *names).splitlines() == expected
        assert run("merge", "-q", "--unique", *words, *names).splitlines() == distinct(expected, order)
        assert run("sort", "-s", "-m", *words, *names).splitlines() == expected
        assert run("union", "-q", "--distinct", *words, *names).splitlines() == distinct(expected, order)
        write("sorted", expected)
        assert invoke(["check", *words, "sorted"]) == 0
        assert invoke(["check", *words, "all"]) == (lines != sorted(lines, key=key))


@pytest.mark.parametrize("kind", KINDS.values())
def test_whole_lines(kind: str, chance: Random) -> None:
    lines = texts(kind, chance, 200, False)
    write("all", lines)
    for reverse in (False, True):
        order = LineOrder((whole(kind, reverse=reverse, nulls="last", null_values=NAMED),), reverse=reverse)
        word = next(word for word, name in KINDS.items() if name == kind)
        words = [*listing(kind), f"--sort={word}", "--nulls", "last", "--null-values", "NA,n/a", *["-r"] * reverse]
        assert run("sort", *words, "all").splitlines() == sorted(lines, key=key_of(order))


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind not in READ_ALL])
@pytest.mark.usefixtures("small_chunks")
def test_an_invalid_value_is_named(kind: str, chance: Random, capfd: pytest.CaptureFixture[str]) -> None:
    """It may lie anywhere in a sorted file, even where another key decides, and in every command."""
    word = next(word for word, name in KINDS.items() if name == kind)
    fault = "has no time in it" if kind == "log_time" else "is not a"
    for words in (["-t,", "-k1,1", f"-k2,2:{word}"], ["-t,", f"-k2,2:{word},r"]):
        words += listing(kind)
        lines, at = with_one_fault(kind, chance, first=words[1] != "-k1,1")
        bad = lines[at].split(b",")[1]
        write("bad", lines)
        write("none", [])
        for command in (
            "sort -s",
            "sort -m",
            "sort -u",
            "merge -q",
            "merge -q --no-check",
            "check",
            "union -q",
            "intersect -q",
        ):
            made = [] if command == "check" else ["none", "-o", "out"]
            assert invoke([*command.split(), *words, "bad", *made]) == 2
            said = capfd.readouterr().err
            assert said.startswith(f"gpumerge: bad:{at + 1}: {bad.decode(errors='replace')!r} {fault}"), said
            assert f", by -k 2,2:{word}" in said
            assert "add --invalid last" in said
            assert not os.path.exists("out")


def test_an_invalid_value_is_named_in_joins(chance: Random, capfd: pytest.CaptureFixture[str]) -> None:
    write("a", [b"1,x", b"2,x", b"f,x"])
    write("b", [b"1,y", b"2,y", b"3,y", b"zz,y"])
    assert invoke(["join", "-t,", "-j1:hex", "a", "b"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: b:4: 'zz' is not a hexadecimal number, by ")
    assert invoke(["join", "-t,", "-j1:hex", "--invalid=last", "a", "b"]) == 0
    assert capfd.readouterr().out.splitlines() == ["1,x,y", "2,x,y"]


@pytest.mark.parametrize("kind", KINDS.values())
def test_joins(kind: str, chance: Random) -> None:
    word = next(word for word, name in KINDS.items() if name == kind)
    key = key_of(LineOrder((whole(kind),), stable=True))
    sides = []
    for name in "ab":
        values = sorted((RANDOM[kind](chance) for _ in range(80)), key=key)
        sides.append(values)
        write(name, [value + b"," + name.encode() + b"%d" % at for at, value in enumerate(values)])
    expected = [
        b"%s,a%d,b%d" % (x, i, j) for i, x in enumerate(sides[0]) for j, y in enumerate(sides[1]) if key(x) == key(y)
    ]
    assert run("join", *listing(kind), "-t,", "-j", f"1:{word}", "a", "b").splitlines() == expected


@pytest.mark.parametrize("kind", KINDS.values())
def test_ranks_and_comparisons(kind: str, chance: Random, capfd: pytest.CaptureFixture[str]) -> None:
    word = next(word for word, name in KINDS.items() if name == kind)
    order = LineOrder((whole(kind),), stable=True)
    key = key_of(order)
    values = sorted((RANDOM[kind](chance) for _ in range(100)), key=key)
    write("a", values[::2])
    write("b", values[1::2])
    values = sorted(values[::2] + values[1::2], key=key)
    rank = chance.randrange(100)
    assert invoke(["rank", f"--sort={word}", *listing(kind), "--at", str(rank), "a", "b"]) == 0
    assert values[rank].strip().decode().replace("\t", "\\t") in capfd.readouterr().out
    assert run("compare", *listing(kind), f"--sort={word}", "a", "a").splitlines() == [
        b"\t\t" + value for value in Path("a").read_bytes().splitlines()
    ]
    assert invoke(["rank", f"--sort={word}", *listing(kind), "--of", values[rank].decode(), "a", "b"]) == 0
    ahead = sum(key(value) < key(values[rank]) for value in values)
    assert capfd.readouterr().out.splitlines()[1].split()[0] == str(ahead)
    if kind not in READ_ALL:
        assert invoke(["rank", f"--sort={word}", *listing(kind), "--of", "?", "a", "b"]) == 2
        assert capfd.readouterr().err.startswith("gpumerge: --of '?': the key '?' by ")


def test_nulls_of_other_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("a.csv", [b"n,v", b"1,5", b"2,", b"3,-2", b"4,NA", b"5,0", b"6,nan"])
    rows = Path("a.csv").read_bytes().splitlines()[1:]
    for words, wanted in (
        (["v:n"], "324561"),
        (["v:n", "--nulls", "last"], "345612"),
        (["v:nr", "--nulls", "last"], "145632"),
        (["v:nr", "--nulls", "first"], "214563"),
        (["v:n", "--null-values", "NA"], "356124"),
        (["v:g", "--null-values", "NA", "--nulls", "first"], "246351"),
        (["v", "--null-values", "NA,nan"], "351246"),
    ):
        found = run("sort", "-s", "--field", *words, "a.csv")
        assert found.splitlines()[1:] == [rows[int(number) - 1] for number in wanted], words


@pytest.mark.parametrize("letter", ["n", "g"])
@pytest.mark.parametrize(("thousands", "decimal"), [(",", "."), (".", ","), ("'", "."), (" ", ","), ("", ",")])
@pytest.mark.usefixtures("small_chunks")
def test_numbers_with_separators(thousands: str, decimal: str, letter: str, chance: Random) -> None:
    """They compare as Python's decimals do, and by g also as its floats and hexadecimal numbers do."""
    own = {",": thousands, ".": decimal}
    most = [10**7, 10**7, 10**24]
    values = [
        Decimal(chance.randrange(-(limit := chance.choice(most)), limit)) / chance.choice([1, 10, 1000])
        for _ in range(400)
    ]
    forms = [f"{',' if thousands else ''}f", *["E", "e"] * (letter == "g")]
    rows = [(value, "".join(own.get(byte, byte) for byte in f"{value:{chance.choice(forms)}}")) for value in values]
    if letter == "g":
        rows += [(Decimal(places) / 16, f"0x{places // 16:x}{decimal}{places % 16:X}") for places in range(0, 900, 37)]
        rows += [(Decimal(f"{sign}inf"), f"{sign}inf{decimal}0") for sign in ("", "-")]
    options = ["--field", f"v:{letter}", "--decimal", decimal, *["--thousands", thousands] * bool(thousands)]
    write("a.csv", [b"v,at", *(f'"{text}",{at}'.encode() for at, (_, text) in enumerate(rows))])
    ranks = sorted(range(len(rows)), key=lambda at: rows[at][0])
    found = run("sort", "-s", *options, "a.csv")
    assert [int(line.rpartition(b",")[2]) for line in found.splitlines()[1:]] == ranks
    write("b.csv", found.splitlines())
    assert invoke(["check", *options, "b.csv"]) == 0
    twice = sorted(2 * found.splitlines()[1:], key=lambda line: rows[int(line.rpartition(b",")[2])][0])
    assert run("merge", "-q", *options, "b.csv", "b.csv").splitlines()[1:] == twice


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-k", "2,2:hexx"], "-k 2,2:hexx: there is no kind of key 'hexx'; did you mean hex? use address, "),
        (["-k", "2:Size,r"], "-k 2:Size,r: there is no kind of key 'Size'; did you mean size? use "),
        (["-k", "2:zzz"], "-k 2:zzz: there is no kind of key 'zzz'; use address, "),
        (["-k", "2:numeric"], "-k 2:numeric: there is no kind of key 'numeric'; write its letter, n"),
        (["-k", "2n,2:hex"], "-k 2n,2:hex: n and hex are incompatible; give a key one way to compare"),
        (["-k", "1:hex:size"], "-k 1:hex:size: hex and size are incompatible; give a key one way to compare"),
        (["-k", "1:hex,n"], "-k 1:hex,n: hex and n are incompatible; give a key one way to compare"),
        (["-k", "1:hex:r"], "-k 1:hex:r: invalid key; write 1:hex,r"),
        (["-k", "1:hex,"], "-k 1:hex,: invalid key options 'hex,'; write hex, or hex,r to reverse it"),
        (["-k", "1:hex,r,r"], "-k 1:hex,r,r: invalid key; write 1:hex,r"),
        (["-n", "--sort=hex"], "--sort=hex and -n are incompatible; give a key one way to compare"),
        (["--field", "a:hex,size"], "--field a:hex,size: hex and size are incompatible; give a key one way to "),
        (["--field", "a:hex:size"], "--field a:hex:size: hex and size are incompatible; give a key one way to "),
        (["--field", "a:nn:hex"], "--field a:nn:hex: nn and hex are incompatible; give a key one way to compare"),
        (["--field", "a:hx"], "--field a:hx: there is no kind of key 'hx'; did you mean hex? use "),
        (["--csv", "-k", "a:nhex"], "-k a:nhex: there is no kind of key 'nhex'; did you mean hex? use "),
        (["--nulls", "last"], "--nulls needs a key of lines; name one by -k or --field"),
        (["-k1n", "--invalid", "last"], "--invalid: no key is of a kind whose values can be invalid; such kinds are "),
        (["--sort=hexadecimal"], "--sort: invalid value 'hexadecimal'"),
        (
            ["-k1n", "--thousands", "."],
            "--thousands and the fraction have the same separator '.'; name another one by ",
        ),
        (["-k1", "--thousands", ","], "--thousands: no key is a number; compare by n, h or g"),
        (
            ["-k1n", "--thousands", "12"],
            "--thousands: invalid separator '12'; name one byte that is no digit, letter or sign, as , or .",
        ),
        (["-k1g", "--decimal", "e"], "--decimal: invalid separator 'e'; name one byte that is no digit, "),
        (["--sort=hex", "--nulls", "middle"], "--nulls: invalid value 'middle'; use first, last"),
    ],
)
def test_what_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write("a", [b"a,b", b"1,2"])
    assert invoke(["merge", *words, "a"]) == 2
    assert capsys.readouterr().err.startswith(f"gpumerge: {said}")


def test_r_behind_a_kind_is_its_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a column has that name: it then needs its own --field."""
    monkeypatch.chdir(tmp_path)
    write("a.csv", [b"id,r", b"a,2", b"0a,1", b"ff,3"])
    assert run("sort", "-s", "--field", "id:hex,r", "a.csv") == b"id,r\nff,3\na,2\n0a,1\n"
    assert run("sort", "-s", "--field", "id:hex", "--field", "r", "a.csv") == b"id,r\n0a,1\na,2\nff,3\n"
    assert run("sort", "-s", "--field", "id:hex,r,r", "a.csv") == b"id,r\nff,3\n0a,1\na,2\n"


@pytest.mark.parametrize("name", ["b", "br", "rr"])
def test_other_letters_behind_a_kind_and_a_comma_are_columns(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("a.csv", [b"id," + name.encode(), b"a,2", b"0a,1", b"ff,0"])
    assert run("sort", "-s", "--field", f"id:hex,{name}", "a.csv").endswith(b"\n0a,1\na,2\nff,0\n")
    assert run("sort", "-s", "--field", f"id:hex,r,{name}:r", "a.csv").endswith(b"\nff,0\na,2\n0a,1\n")
