"""gpumerge join of JSON Lines, against plain Python."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.order.joins import JOIN_TYPES, ONLY_A, ONLY_B, PAIRED_A, PAIRS

Line = tuple[Any, str]
"""(the key as Python compares it, None with a null in it; the line)."""


def drawn(draw: random.Random, name: str, rows: int, other: str, reverse: int) -> list[tuple[Any, dict[str, Any]]]:
    """(key, object) in order: by `name`, which may be null or missing, then by s.t."""
    found: list[tuple[Any, dict[str, Any]]] = []
    for row in range(rows):
        number = draw.choice([None, *range(12)])
        text = draw.choice(["", "a", "ab", "é"])
        value: dict[str, Any] = {"s": {"t": text, "row": row}, other: row, name: number}
        if number is None and draw.random() < 0.5:
            del value[name]
        found.append(((number is None, reverse * (number or 0), text.encode()), value))
    return sorted(found, key=lambda one: one[0])


def pairs_of(a: Sequence[Any], b: Sequence[Any], shows: int) -> list[tuple[Any, Any]]:
    """The objects that go out beside each other. Those of A without a key go ahead of those of B."""
    found = []
    for key in sorted({key for key, _ in [*a, *b]}):
        some_a, some_b = ([value for own, value in side if own == key] for side in (a, b))
        is_null = key[0]
        if some_b and not is_null:
            found += [(x, y) for x in some_a for y in some_b] if shows & PAIRS else []
            found += [(x, None) for x in some_a] if shows & PAIRED_A else []
        elif shows & ONLY_A:
            found += [(x, None) for x in some_a]
        if shows & ONLY_B and not is_null and not some_a:
            found += [(None, y) for y in some_b]
    nulls = [value for key, value in b if key[0]]
    return found + ([(None, value) for value in nulls] if shows & ONLY_B else [])


@pytest.mark.parametrize("kind", JOIN_TYPES)
@pytest.mark.parametrize("packed", [False, True])
def test_objects(kind: str, packed: bool, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    reverse = draw.choice([1, -1])
    deep = draw.random() < 0.5
    sides = [drawn(draw, name, draw.choice([0, 1, 60]), "row", reverse) for name in ("id", "person")]
    if not deep:
        sides = [sorted((((*key[:2], b""), value) for key, value in side), key=lambda one: one[0]) for side in sides]
    names = []
    for side, rows in zip("ab", sides, strict=True):
        text = "".join(json.dumps(value, ensure_ascii=False) + "\n" for _, value in rows).encode()
        names.append(str(tmp_path / f"{side}.jsonl") + ".gz" * packed)
        Path(names[-1]).write_bytes(gzip.compress(text) if packed else text)
    out = tmp_path / "o.jsonl"
    r, more = ":r" * (reverse < 0), ",s.t" * deep
    options = ["-1", f"id{r}{more}", "-2", f"person{more}", "--type", kind]
    assert invoke(["join", "-q", *options, *names, "--output", str(out)]) == 0
    expected = []
    for a, b in pairs_of(*sides, JOIN_TYPES[kind]):
        if a is None:
            expected.append({("id" if name == "person" else name): value for name, value in b.items()})
            continue
        rest = {} if b is None else {name: value for name, value in b.items() if name != "person"}
        expected.append({**a, **{name + "_2": value for name, value in rest.items()}})
    assert [json.loads(line) for line in out.read_text().splitlines()] == expected


def test_a_key_of_two_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":1}\n')
    (tmp_path / "b.jsonl").write_text('{"id":"1"}\n')
    assert invoke(["join", "--field", "id", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]) == 2
    assert "b.jsonl:1: --field id is a string" in capsys.readouterr().err


def test_keys_of_a_kind_and_disorder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.jsonl", tmp_path / "b.ndjson"
    a.write_text('{"v":"1.9","x":1}\n{"v":"1.10","x":2}\n')
    b.write_text('{"v":"1.10","y":3}\n')
    assert invoke(["join", "-q", "--field", "v:V", str(a), str(b)]) == 0
    assert capfd.readouterr().out == '{"v":"1.10","x":2,"y":3}\n'
    assert invoke(["join", "-q", "--field", "v", str(a), str(b)]) == 2
    assert f'{a}:2: disorder: {{"v":"1.10","x":2}} comes after' in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-o", "1.1"], "-o: the files hold JSON Lines, joined as objects; leave it out"),
        (["-e", "x"], "-e x: members that an object lacks are left out; leave it out"),
        (["-t", ","], "--field-separator: the files hold JSON Lines"),
        (["--header"], "--header: the files hold JSON Lines"),
        (["--field", "id"], "--field id,id: id is named twice"),
    ],
)
def test_options_that_do_not_apply(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":1}\n')
    name = str(tmp_path / "a.jsonl")
    assert invoke(["join", "--field", "id", *options, name, name]) == 2
    assert told in capsys.readouterr().err


def test_a_member_with_the_name_that_a_key_gets(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    a.write_text('{"id":1}\n')
    b.write_text('{"key":2,"id":"x"}\n{"id":"y","key":3,"id_2":0}\n')
    assert invoke(["join", "-q", "-1", "id", "-2", "key", "--type", "outer", str(a), str(b)]) == 0
    assert capfd.readouterr().out == '{"id":1}\n{"id":2,"id_2":"x"}\n{"id_2_2":"y","id":3,"id_2":0}\n'
