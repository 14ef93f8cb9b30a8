"""Sums of columns by the library, against plain Python, and on bytes of any kind."""

from __future__ import annotations

import os
import random
from array import array
from collections.abc import Sequence

import pytest

from gpumerge_cli.buffers import uncleared
from gpumerge_cli.native.counted_lines import NoCountError, counted_text, items_of_lines
from gpumerge_cli.native.sums import SumFault, Sums, SumSpec
from gpumerge_cli.order.rules import END, MARK, QUOTED, RECORD_END, separator_word
from gpumerge_cli.order.sums import SummedColumn, SumRules
from tests.seeds import given_or_random_seed
from tests.sums import number, total

_ROUNDS = 10 * int(os.environ.get("GPUMERGE_TEST_ROUNDS", "20"))
FIELDS = (SummedColumn("1", 0), SummedColumn("3", 2))
MEMBERS = (SummedColumn("n", path=("n",)), SummedColumn("a.0", path=("a", "0")), SummedColumn("m", path=("m",)))
RULES = {
    "blanks": SumRules("fields of lines", FIELDS, 10, separator_word(None)),
    "commas": SumRules("fields of lines", FIELDS, 10, separator_word(b",")),
    "several bytes": SumRules("fields of lines", FIELDS, 10, separator_word(b"::")),
    "quoted": SumRules("fields of lines", FIELDS, 10, separator_word(b",", RECORD_END | QUOTED)),
    "pieces": SumRules("fields of records", FIELDS, 0, separator_word(b",", QUOTED), "doubled"),
    "escapes": SumRules("fields of records", FIELDS, 0, separator_word(b",", QUOTED), "backslash"),
    "members": SumRules("members of lines", MEMBERS, 0, keys=1),
    "counts": SumRules("counts of lines", (SummedColumn("--counted"),), 0),
    "records": SumRules("numbers of records", (SummedColumn("n", 1, 4, 1), SummedColumn("f", 5, 8, 2)), record=13),
}
ANY = [
    b"1",
    b"2.5",
    b"-",
    b"+",
    b".",
    b"e9",
    b"0",
    b"9" * 30,
    b" ",
    b"\t",
    b",",
    b"::",
    b'"',
    b'""',
    b"\\",
    b"\r",
    b"x",
]
JSON = [
    b"{",
    b"}",
    b'"n":',
    b'"a":',
    b"[",
    b"]",
    b"null",
    b"12",
    b"1e3",
    b'"x"',
    b",",
    b'"m":1.5',
    b'{"n":1}',
    b"{}",
    b" ",
]


def summed(rules: SumRules, items: bytes, follows: Sequence[int], pieces: random.Random | None = None) -> bytes:
    """The sums of items, which are added by parts."""
    sums, found = Sums(SumSpec(rules)), b""
    try:
        whole = [one + bytes([rules.end]) for one in items.split(bytes([rules.end]))[:-1]]
        if rules.record:
            whole = [items[at : at + rules.record] for at in range(0, len(items), rules.record)]
        at = 0
        while at < len(whole):
            stop = len(whole) if pieces is None else min(len(whole), at + pieces.randint(1, 5))
            text = b"".join(whole[at:stop])
            held = uncleared(len(text))  # memory of this size alone, which goes away
            held[:] = text
            sums.add(held, memoryview(array("q", follows[at:stop])).cast("B"), stop - at)
            held[:] = bytes([255]) * len(held)
            found += bytes(sums.taken())
            at = stop
        sums.end()
        return found + bytes(sums.taken())
    finally:
        sums.close()


def test_decimals() -> None:
    seed = given_or_random_seed()
    rules = SumRules("fields of lines", FIELDS[:1], 10, separator_word(b","))
    for case in range(_ROUNDS):
        chance = random.Random(f"{seed} {case}")
        texts = [number(chance) for _ in range(chance.choice([1, 2, 5, 200]))]
        items = "".join(f"{text},{at}\n" for at, text in enumerate(texts)).encode()
        expected = f"{total(texts, texts[0])},0\n"
        assert summed(rules, items, [0, *[1] * (len(texts) - 1)], chance).decode() == expected, (seed, case)


@pytest.mark.parametrize("name", RULES)
def test_any_bytes(name: str) -> None:
    """Nothing but the faults that are there for it, and the same by parts as at once."""
    seed, rules = given_or_random_seed(), RULES[name]
    for case in range(_ROUNDS):
        chance = random.Random(f"{seed} {case}")
        words, count = JSON if name == "members" else ANY, chance.randint(0, 12)
        lines = [b"".join(chance.choices(words, k=chance.randint(0, 9))) for _ in range(count)]
        if name == "members":
            lines = [
                b"key" + MARK + (chance.choice([line, b"{" + line + b"}", b'{"z":1}', b'{"n":1,"q":2}']))
                for line in lines
            ]
        elif name in ("pieces", "escapes"):
            lines = [line + MARK + b"x" for line in lines]
        elif name == "counts":
            lines = [line + b"\n%d" % chance.randrange(10**6) for line in lines]
        items = b"".join(line + bytes([rules.end]) for line in lines)
        if rules.record:
            items = chance.randbytes(rules.record * count)
        follows = [int(chance.random() < 0.5) for _ in range(count)]
        outcomes = []
        for pieces in (None, chance):
            try:
                outcomes.append(summed(rules, items, follows, pieces))
            except SumFault as fault:
                outcomes.append(f"{fault.kind} {fault.column}".encode())
        assert outcomes[0] == outcomes[1], (seed, case)


_NO_NUMBERS = ["1,234", "1 2", "0x10", "nan", "inf", "--1", "1e", ".", "1.2.3", "+", "1_000", "1e1.5"]
_LONG = ["1e999999", "1e-10001", "9" * 10_001, "1e99999999999999999999"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [*((text, "NO_NUMBER_TO_SUM") for text in _NO_NUMBERS), *((text, "LONG_SUM") for text in _LONG)],
    ids=lambda text: text[:9],
)
def test_no_numbers(text: str, kind: str) -> None:
    rules = SumRules("fields of lines", FIELDS[:1], 10, separator_word(b";"))
    with pytest.raises(SumFault) as found:
        summed(rules, f"1;a\n{text};b\n".encode(), [0, 0])
    assert (found.value.kind, found.value.position, found.value.text) == (kind, 4, (0, len(text)))


def test_the_largest_numbers() -> None:
    rules = SumRules("fields of lines", FIELDS[:1], 10, separator_word(b";"))
    nines = "9" * 10_000
    assert summed(rules, f"{nines};\n1;\n".encode(), [0, 1]).decode() == f"1{'0' * 10_000};\n"
    assert summed(rules, f"{nines};\n-{nines};\n".encode(), [0, 1]).decode() == "0;\n"
    assert summed(rules, f"-{nines}e-10000;\n-1;\n".encode(), [0, 1]).decode() == f"-1.{nines};\n"


def test_counted_lines() -> None:
    seed = given_or_random_seed()
    for case in range(_ROUNDS):
        chance = random.Random(f"{seed} {case}")
        rows = [
            (chance.choice([0, 7, 123, 10**7, 10**20]), chance.choice([b"", b" a", b"b\tc\r"]))
            for _ in range(chance.randint(0, 9))
        ]
        text = b"".join(b"%*d %s\n" % (chance.choice([0, 7, 12]), count, line) for count, line in rows)
        items = items_of_lines(text, 0)
        assert bytes(items) == b"".join(b"%s\n%d" % (line, count) + END for count, line in rows)
        assert bytes(counted_text(items, 0)) == b"".join(b"%7d %s\n" % row for row in rows)
    assert bytes(items_of_lines(b"  1 a", 0)) == b"a\n1\0"
    for text in (b"a\n", b"  1\n", b" 1x\n", b"\n", b"-1 a\n"):
        with pytest.raises(NoCountError) as found:
            items_of_lines(b" 1 ok\n" + text, 0)
        assert found.value.position == 6
