"""Calls on arrays whose text is read as values, held against Python's oracles of the kinds, and the command line."""

from __future__ import annotations

import copy
import pickle
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

import gpumerge_cli
from gpumerge_cli import InputError, TextKey, UsageError
from gpumerge_cli.arrays import text_images
from gpumerge_cli.arrays.text_key import TEXT_KINDS, TextKind
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.dataclass import replace
from gpumerge_cli.native.texts import text_ranks
from gpumerge_cli.order.rules import LineOrder
from tests.linekeys import Reversed, is_at_fault, key_of
from tests.random_values import INVALID, LISTED, NULLS, RANDOM

Array = NDArray[Any]
KINDS = tuple(TEXT_KINDS)
MONTHS = [b"jan", b"Feb ", b" MAR", b"december", b"xyz", b"Ju"]
NUMBERS = [
    b"-1", b"1", b"01", b"1.0", b"1.50", b"1,000", b"1000", b"2K", b"3M", b"-0", b".5", b"1e3", b"nan", b"inf", b"x",
    b"1.10", b"1.9", b"a-1.tar.gz", b"123456789012345678901234567890",
]  # fmt: skip


def text_key(kind: str, chance: Random, **more: Any) -> TextKey:
    """A key of a kind with parameters, whose values RANDOM draws."""
    given: dict[str, Any] = {"kind": kind, "nulls": chance.choice([None, "first", "last"]), **more}
    if chance.random() < 0.5:
        given["null_values"] = ["NA", b"n/a "]
    found = TEXT_KINDS[kind]
    if found.typed:
        given.setdefault("invalid", chance.choice(["first", "last"]))
    if found.timed:
        given |= {"zone": "Europe/Berlin", "year": 2023}
    if found.file_option:
        given["order_list"] = LISTED
    if found.separated and chance.random() < 0.5:
        given["thousands"] = ","
    return TextKey(**given)


def drawn(kind: str, chance: Random, size: int) -> list[bytes]:
    """Texts, most of them values, some equal to each other."""
    draw = RANDOM.get(TEXT_KINDS[kind].name, lambda chance: chance.choice(MONTHS if kind == "month" else NUMBERS))
    texts = [draw(chance) for _ in range(chance.choice([3, size]))]
    texts += [*NULLS, *INVALID, b"a\0b", b"\0\0a", b"1\n2", b" 12 \t"]
    return [chance.choice(texts).rstrip(b"\0") for _ in range(size)]


def as_array(texts: list[bytes], chance: Random) -> Array:
    width = max([1, *map(len, texts)]) + chance.choice([0, 0, 1, 70])
    array = np.array(texts, f"S{width}")
    if chance.random() < 0.3:
        strided = np.zeros(2 * len(texts), array.dtype)[::2]
        strided[:] = array
        return strided
    return array


def oracle(key: TextKey, *, descending: bool = False) -> Any:
    rules = key.order(descending=descending).text
    assert isinstance(rules, LineOrder)
    return key_of(rules)


def sizes(chance: Random) -> int:
    return chance.choice([0, 1, 2, 30, 300])


@pytest.mark.parametrize("kind", KINDS)
def test_sorts_are_those_of_the_values(kind: str, seed: int) -> None:
    chance = Random(seed)
    for _ in range(6):
        texts, key, descending = drawn(kind, chance, sizes(chance)), text_key(kind, chance), chance.random() < 0.5
        array = as_array(texts, chance)
        of = oracle(key, descending=descending)
        wanted = sorted(range(len(texts)), key=lambda at: of(texts[at]))
        options: Any = {"text": key, "descending": descending}
        assert gpumerge_cli.argsort(array, **options).tolist() == wanted
        found, rows = gpumerge_cli.sort(array, values=np.arange(len(texts)), **options)
        assert found.dtype == array.dtype
        assert (found.tolist(), rows.tolist()) == ([texts[at] for at in wanted], wanted)
        assert gpumerge_cli.sort(array, **options).tolist() == found.tolist()
        assert gpumerge_cli.is_sorted(found, **options)
        assert gpumerge_cli.is_sorted(array, **options) == all(of(a) <= of(b) for a, b in pairwise(texts))
        keys, counts = gpumerge_cli.sort(array, counts=True, **options)
        groups = [list(group) for _, group in groupby(found.tolist(), of)]
        assert (keys.tolist(), counts.tolist()) == ([group[0] for group in groups], [*map(len, groups)])


@pytest.mark.parametrize("kind", KINDS)
def test_merges_sets_ranks_and_joins_are_those_of_the_values(kind: str, seed: int) -> None:
    chance = Random(seed)
    for _ in range(4):
        key, descending = text_key(kind, chance), chance.random() < 0.5
        of = oracle(key, descending=descending)
        runs = [sorted(drawn(kind, chance, sizes(chance)), key=of) for _ in range(2)]
        width = max([1, *(len(text) for run in runs for text in run)])
        arrays = [np.array(run, f"S{width}") for run in runs]
        options: Any = {"text": key, "descending": descending}
        both = runs[0] + runs[1]
        order = sorted(range(len(both)), key=lambda at: of(both[at]))
        merged = [both[at] for at in order]
        rows = [np.arange(len(runs[0])), np.arange(len(runs[0]), len(both))]
        out = np.empty(len(both), arrays[0].dtype)
        assert gpumerge_cli.merge(*arrays, out=out, check=True, **options) is out
        assert out.tolist() == merged
        keys, moved = gpumerge_cli.merge(*arrays, values=rows, **options)
        assert (keys.tolist(), moved.tolist()) == (merged, order)

        ahead = gpumerge_cli.rank(arrays, np.arange(len(both) + 1), **options)
        firsts = np.cumsum([0, *(at < len(runs[0]) for at in order)])
        assert ahead[:, 0].tolist() == firsts.tolist()
        for side in ("left", "right"):
            found = gpumerge_cli.rank_of(arrays, [b"2", b"NA", *both], side=side, **options)  # type: ignore[call-overload]
            told = [of(text) for text in merged]
            for text, rank in zip([b"2", b"NA", *both], found.tolist(), strict=True):
                equal = of(text)
                assert rank == sum(one < equal or (side == "right" and one == equal) for one in told)

        left, right = gpumerge_cli.join(*arrays, **options)
        pairs = [(i, j) for i, a in enumerate(runs[0]) for j, b in enumerate(runs[1]) if of(a) == of(b)]
        assert [*zip(left.tolist(), right.tolist(), strict=True)] == pairs
        of_b = {repr(of(text)) for text in runs[1]}
        kept = {repr(of(text)): text for text in reversed(runs[0]) if repr(of(text)) not in of_b}
        distinct = gpumerge_cli.difference(*arrays, distinct=True, **options)
        assert distinct.tolist() == sorted(kept.values(), key=of)
        union = gpumerge_cli.union(*arrays, **options)
        assert [of(text) for text in union.tolist()] == sorted(map(of, _union(runs, of)))


def _union(runs: list[list[bytes]], of: Any) -> list[bytes]:
    """The items of a multiset's union, in any order."""
    left = list(runs[0])
    keys = [of(text) for text in runs[0]]
    for text in runs[1]:
        if of(text) in keys:
            keys.remove(of(text))
        else:
            left.append(text)
    return left


@pytest.mark.parametrize("kind", ["size", "version", "time"])
def test_large_arrays_on_several_threads(kind: str, seed: int) -> None:
    """version: images that are not exact, so texts are sorted."""
    chance = Random(seed)
    some, key = drawn(kind, chance, 500), text_key(kind, chance)
    array = np.array(some)[np.random.default_rng(seed).integers(0, len(some), 40_000)]
    of = oracle(key)
    found = gpumerge_cli.argsort(array, text=key, threads=3)
    texts = array.tolist()
    assert found.tolist() == sorted(range(len(texts)), key=lambda at: of(texts[at]))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("list", "bytes")])
def test_the_order_is_that_of_the_command_line(kind: str, seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    texts = [text for text in drawn(kind, chance, 200) if b"\n" not in text]
    found = TEXT_KINDS[kind]
    more: dict[str, Any] = {"invalid": "last"} if found.typed else {}
    more |= {"year": 2023, "zone": "Europe/Berlin"} if found.timed else {}
    key = TextKey(kind, nulls="first", **more)  # type: ignore[arg-type]
    (tmp_path / "texts").write_bytes(b"".join(text + b"\n" for text in texts))
    options = [f"--sort={kind}", "--stable", "--nulls=first", *(f"--{name}={value}" for name, value in more.items())]
    assert invoke(["sort", *options, str(tmp_path / "texts"), "-o", str(tmp_path / "out")]) == 0
    assert gpumerge_cli.sort(np.array(texts), text=key).tolist() == (tmp_path / "out").read_bytes().split(b"\n")[:-1]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if TEXT_KINDS[kind].typed])
def test_the_first_invalid_text_is_an_error(kind: str, seed: int) -> None:
    chance = Random(seed)
    key = text_key(kind, chance, invalid="error")
    rules = key.order(descending=False).text
    assert rules is not None
    for _ in range(10):
        runs = [drawn(kind, chance, chance.choice([1, 3, 20])) for _ in range(2)]
        arrays = [np.array(run, "S80") for run in runs]
        wrong = [(number, at) for number in (0, 1) for at, text in enumerate(runs[number]) if is_at_fault(rules, text)]
        if not wrong:
            gpumerge_cli.merge(*arrays, text=key)
            continue
        with pytest.raises(InputError) as caught:
            gpumerge_cli.merge(*arrays, text=key)
        assert caught.value.where == "array {}, index {}".format(*wrong[0])


def test_strings_are_read_in_utf8() -> None:
    words = np.array(["né", "€", "name", "", "\ud800"])
    assert gpumerge_cli.sort(words, text="length").tolist() == ["", "€", "\ud800", "né", "name"]
    by_bytes = gpumerge_cli.sort(words, text=TextKey("bytes-length"))
    assert by_bytes.tolist() == ["", "né", "€", "\ud800", "name"]
    assert by_bytes.dtype == words.dtype
    swapped = np.array(["10", "9"], ">U2" if np.little_endian else "<U2")
    assert gpumerge_cli.sort(swapped, text="numeric").tolist() == ["9", "10"]
    assert gpumerge_cli.rank_of([np.array([b"9", b"10"])], "9.5", text="numeric") == 1


def test_texts_of_several_widths() -> None:
    few, many = np.array([b"1k", b"2M"]), np.array([b"1500 bytes"])
    merged = gpumerge_cli.merge(few, many, text="size")
    assert (merged.dtype, merged.tolist()) == (many.dtype, [b"1k", b"1500 bytes", b"2M"])
    assert gpumerge_cli.union(few, many, text="size", out=np.empty(3, "S10")).tolist() == merged.tolist()
    left, right = gpumerge_cli.join(few.astype(str), np.array(["0.001 M"]), text="size")
    assert (left.tolist(), right.tolist()) == ([0], [0])
    with pytest.raises(UsageError, match="arrays of different dtypes"):
        gpumerge_cli.merge(few, np.array(["1"]), text="size")


def test_a_field_of_records_is_read() -> None:
    rows = np.array([(1, (b"2M",)), (2, (b"1k",))], [("id", "i4"), ("of", [("size", "S5")])])
    assert gpumerge_cli.sort(rows, key="of.size", text="size")["id"].tolist() == [2, 1]
    assert gpumerge_cli.argsort(rows["of"]["size"], text="size").tolist() == [1, 0]
    raw = np.array([b"2M", b"1k"]).view("V2")
    assert gpumerge_cli.sort(raw, text="size").tobytes() == b"1k2M"


def test_empty_lists_hold_texts() -> None:
    assert gpumerge_cli.sort([], text="size").tolist() == []
    assert gpumerge_cli.argsort((), text="size").tolist() == []
    assert gpumerge_cli.merge([], [], text="size").dtype.kind == "U"
    assert [found.tolist() for found in gpumerge_cli.join([], [], text="size")] == [[], []]
    assert gpumerge_cli.rank_of([[], []], [], text="size").tolist() == []
    assert gpumerge_cli.rank_of([["1k"]], [], text="size").shape == (0,)
    of_several_widths = gpumerge_cli.merge([], np.array(["1k"]), np.array(["2000"]), text="size")
    assert of_several_widths.tolist() == ["1k", "2000"]


@pytest.mark.parametrize("dtype", ["S0", "S1", "U0"])
def test_empty_arrays_and_empty_texts(dtype: str) -> None:
    for size in (0, 2):
        array = np.zeros(size, dtype)
        assert gpumerge_cli.sort(array, text="size").tolist() == array.tolist()
        assert gpumerge_cli.merge(array, array, text="bytes").tolist() == 2 * array.tolist()


def test_very_long_texts() -> None:
    array = np.array([b"b" * (1 << 24), b"a" * ((1 << 24) + 3), b"b"])
    assert gpumerge_cli.argsort(array, text="length").tolist() == [2, 0, 1]
    assert gpumerge_cli.argsort(array, text="bytes").tolist() == [1, 2, 0]


def test_all_kinds_are_known_to_type_checkers() -> None:
    assert set(get_args(TextKind)) == set(KINDS)


def test_keys_are_values() -> None:
    key = TextKey("time", zone="Europe/Paris", null_values=("NA",))
    assert key == TextKey("time", zone="Europe/Paris", null_values=("NA",)) == copy.copy(key)
    assert key != TextKey("time")
    restored = pickle.loads(pickle.dumps(key))
    assert restored == key
    assert restored.order(descending=True) == key.order(descending=True)
    assert len({key, restored}) == 1


def test_lists_are_kept_as_they_were() -> None:
    values = ["b", "a"]
    key = TextKey("list", order_list=values, null_values=(text for text in ["NA"]))
    values.reverse()
    assert key == TextKey("list", order_list=["b", "a"], null_values=["NA"])
    assert hash(key) == hash(TextKey("list", order_list=("b", "a"), null_values=np.array(["NA"])))
    assert TextKey("time", year=np.int64(2024)) == TextKey("time", year=2024)  # type: ignore[arg-type]
    assert replace(key, nulls="first") == TextKey("list", "first", ["NA"], order_list=["b", "a"])


def test_counts_take_the_threads_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def ranks(order: Any, texts: Any, width: int, images: Any, threads: int) -> int | None:
        taken.append(threads)
        return text_ranks(order, texts, width, images, threads)

    monkeypatch.setattr(text_images, "text_ranks", ranks)
    gpumerge_cli.sort(np.array([b"2k", b"1k"]), text="size", threads=3, counts=True)
    assert set(taken) == {3}


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"kind": "sise"}, "'sise' is not a kind of text; did you mean size?"),
        ({"kind": 5}, "5 is not a kind of text; use "),
        ({"kind": "size", "zone": "UTC"}, "zone='UTC' means nothing for 'size'; leave it out"),
        ({"kind": "numeric", "invalid": "last"}, "invalid='last' means nothing for 'numeric'"),
        ({"kind": "size", "order_list": ["a"]}, r"order_list=\['a'\] means nothing for 'size'"),
        ({"kind": "time", "zone": "Berlin"}, "zone=Berlin: there is no such zone; did you mean Europe/Berlin?"),
        ({"kind": "time", "zone": 5}, "zone=5 is not a text"),
        ({"kind": "numeric", "thousands": 5}, "thousands=5 is not a text"),
        ({"kind": "numeric", "decimal": 0.5}, "decimal=0.5 is not a text"),
        ({"kind": "time", "year": 20000}, "year=20000 is not a year; give one as 2024"),
        ({"kind": "time", "year": "2024"}, "year='2024' is not a year"),
        ({"kind": "time", "time_format": "%Q"}, "time_format=%Q: %Q reads no part of a time; use letters from "),
        ({"kind": "list"}, r"'list' needs a list; give its values, order_list=\["),
        ({"kind": "list", "order_list": "abc"}, "order_list='abc' is not a list of texts; give them in brackets"),
        ({"kind": "list", "order_list": ["a", "b", " a"]}, "order_list: 'a' is there twice; leave it out"),
        ({"kind": "list", "order_list": ["a\nb"]}, "order_list: .* is not a value; leave it out"),
        ({"kind": "size", "null_values": "NA"}, "null_values='NA' is not a list of texts"),
        ({"kind": "size", "null_values": [1]}, r"null_values=\[1\] is not a list of texts"),
        ({"kind": "size", "nulls": "middle"}, 'nulls=\'middle\' is not a place; use "first" or "last"'),
        ({"kind": "size", "invalid": None}, "invalid=None is not a place"),
        (
            {"kind": "numeric", "thousands": "."},
            "thousands= and the fraction have the same separator '.'",
        ),
        ({"kind": "numeric", "decimal": b","}, "decimal=b',' is not a text"),
        ({"kind": "list", "order_list": {"a", "b"}}, r"order_list=\{.*\} has no order; give a list"),
        ({"kind": "time", "year": True}, "year=True is not a year"),
        ({"kind": "time", "year": 2024.0}, "year=2024.0 is not a year"),
        ({"kind": "numeric", "decimal": "1"}, "decimal=: invalid separator '1'"),
    ],
)
def test_impossible_keys_are_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        TextKey(**given)


SIZES = np.array([b"1", b"x"])


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (
            lambda: gpumerge_cli.sort(SIZES, text="size"),
            "array 0, index 1: 'x' is not a size; ",
        ),
        (lambda: gpumerge_cli.rank_of([SIZES[:1]], ["1", "y"], text="size"), "items, index 1: 'y' is not a size"),
        (lambda: gpumerge_cli.sort(np.array([b"Dec 31 23:59:59"]), text="time"), "is not a time; give the year"),
        (lambda: gpumerge_cli.sort(np.array([b"31.12."]), text="time"), "is not a time; give time_format if its "),
        (
            lambda: gpumerge_cli.sort([1, 2], text="size"),
            r"text: keys of int64 are not text \(S or U\)",
        ),
        (lambda: gpumerge_cli.sort(np.array(["a"], object), text="size"), "convert them, numpy.asarray"),
        (lambda: gpumerge_cli.sort(SIZES, text="bytes", backend="gpu"), "cannot be combined with backend='gpu'"),
        (lambda: gpumerge_cli.sort(SIZES, text="bytes", devices=[0]), "cannot be combined with devices"),
        (lambda: gpumerge_cli.sort(np.zeros(1, [("a", "S1")]), text="size"), "records need a key"),
        (lambda: gpumerge_cli.sort(SIZES, key="a", text="size"), "have no field 'a'"),
        (lambda: gpumerge_cli.sort(np.zeros(2, [("a", "S1", 2)]), key="a", text="size"), "the field is an array"),
        (lambda: gpumerge_cli.argsort(np.zeros(2, [("a", "U1", 2)]), key="a", text="size"), "the field is an array"),
        (lambda: gpumerge_cli.rank_of([SIZES[:1]], 5, text="size"), "items of int64 are not text"),
        (
            lambda: gpumerge_cli.merge(np.array([b"2", b"1k", b"1"]), text="size", check=True),
            r"array 0, index 2: disorder: b'1' comes after b'1k'; sort it first, with .*sort\(array, text='size'\)",
        ),
    ],
)
def test_impossible_calls_are_refused(call: Any, what: str) -> None:
    with pytest.raises(gpumerge_cli.GpumergeError, match=what):
        call()


def test_a_turned_key_is_a_key_of_the_oracle() -> None:
    of = oracle(TextKey("size"), descending=True)
    assert isinstance(of(b"1")[1], Reversed)
