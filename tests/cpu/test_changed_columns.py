"""The changed columns of lines as the library finds them, against a plain program."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from types import SimpleNamespace

import pytest

from gpumerge_cli.engine.changes import ChangedColumns
from gpumerge_cli.engine.line_keys import line_keys
from gpumerge_cli.formats.csv_dialect import Dialect, field_in
from gpumerge_cli.formats.csv_joins import raw_fields
from gpumerge_cli.formats.csv_lines import order_of_fields, order_within_fields
from gpumerge_cli.native import changed_columns
from gpumerge_cli.order.differences import Diff
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import MARK, LineKey, LineOrder

_WORD = re.compile(rb"[^ \t\n]+")
_WITH_BLANKS = re.compile(rb"[ \t\n]*[^ \t\n]+|[ \t\n]+")
MARKS = (b"-,", b"+,", b"<,", b">,")
VALUES = [b"", b"a", b"b", b"a", b" c", b"d\xff", b"e" * 40, b"1,5", b"x\ty", b"\x0b", b"f\x0c"]
QUOTED = [b'"g"', b'"h,;i"', b'"j""k"', b'""', b'""""', b'"l\r"', b'"a"', b'"m""""n"']


def fields_of(order: LineOrder, line: bytes) -> list[bytes]:
    if order.separator is None:
        return _WORD.findall(line)
    if not order.quoted:
        return line.split(order.separator)
    found = raw_fields(line.removesuffix(b"\r"), order.separator, order.quotes)
    if order.quotes == "none":
        return found
    return [one[1:-1].replace(b'""', b'"') if one.startswith(b'"') else one for one in found]


def differing(
    fields: Sequence[bytes], others: Sequence[bytes], ignored: Sequence[int]
) -> list[tuple[int, bytes, bytes]]:
    pairs = enumerate(zip_longest(fields, others))
    return [(at, a or b"", b or b"") for at, (a, b) in pairs if a != b and at not in ignored]


def expected_rows(order: Order, diff: Diff, items: Sequence[bytes]) -> bytes:
    """The rows for items of a diff's result without their ends."""
    text, names, rows = order.text, [name.encode() for name in diff.names], []
    assert text is not None
    keys, key = line_keys(order), text.keys[0] if len(text.keys) == 1 else None
    for a, b in pairwise(items):
        if not a.startswith(MARKS[2]):
            continue
        old, new = a[2:], b[2:]
        fields, others = fields_of(text, old), fields_of(text, new)
        found = differing(fields, others, diff.ignored)
        if not found and text.separator is None:
            found = differing(_WITH_BLANKS.findall(old), _WITH_BLANKS.findall(new), diff.ignored)
        if key is not None and key.start_field == key.end_field and not key.start_char + key.end_char:
            shown = fields[key.start_field] if key.start_field < len(fields) else b""
        else:
            shown = text.record_of(old) if keys is None else keys.format(old).encode("utf-8", "surrogateescape")
        titles = [b""] * text.has_fields + names
        for at, *values in found:
            title = titles[at] if at < len(titles) else str(at + 1 - text.has_fields).encode()
            rows.append(b",".join(field_in(one, Dialect()) for one in (shown, title, *values)) + b"\n")
    return b"".join(rows)


def random_order(draw: random.Random) -> LineOrder:
    at = draw.randrange(3)
    keys = draw.choice([
        (), (LineKey("bytes", at, 0, at),), (LineKey("bytes", at, 1, at),),
        (LineKey("numeric", 1, 0, 1), LineKey("bytes", 0, 0, 0)),
    ])  # fmt: skip
    order = LineOrder(keys, separator=draw.choice([None, b",", b"\t", b";;"]), stable=draw.random() < 0.5)
    if order.separator is None or draw.random() < 0.4:
        return order
    within = order_within_fields(order)
    return order_of_fields(order) if within is None or draw.random() < 0.2 else within


def random_line(draw: random.Random, order: LineOrder) -> list[bytes]:
    values = VALUES + QUOTED * (order.quoted and draw.random() < 0.6)
    between = order.separator or b" "
    fit = [one for one in values if (order.quoted and one.startswith(b'"')) or between not in one]
    return [draw.choice(fit) for _ in range(draw.randrange(5))]


def check(draw: random.Random) -> None:
    rules = random_order(draw)
    order = Order.lines(rules)
    items: list[bytes] = []
    for _ in range(draw.randrange(12)):
        old = random_line(draw, rules)
        new = [one if draw.random() < 0.7 else (random_line(draw, rules) or [b""])[0] for one in old]
        new = new if draw.random() < 0.8 else random_line(draw, rules)
        between = rules.separator or draw.choice([b" ", b"  ", b"\t "])
        a, b = (between.join(one) + draw.choice([b"", b"", b"\r", b" "]) for one in (old, new))
        if rules.has_fields:
            a, b = (b"record" + MARK + one for one in (a, b))
        a, b = (one.replace(order.end, b"") for one in (a, b))
        items += draw.choice([[b"<," + a, b">," + b], [b"<," + a, b">," + b], [b"-," + a], [b"+," + b]])
    ignored = (0,) * rules.has_fields + tuple(draw.sample(range(4), draw.choice([0, 0, 1])))
    names = tuple(draw.sample(["n", "o,p", 'q"r', "s"], draw.randrange(5)))
    diff = Diff(0, (order, order), MARKS, ignored, names=names)
    data = b"".join(item + order.end for item in items)
    found = ChangedColumns(diff, SimpleNamespace(order=order)).rows(data)  # type: ignore[arg-type]
    assert found == expected_rows(order, diff, items), (rules, items, ignored, names)


@pytest.mark.parametrize("room", [1, 100, 1 << 16])
def test_random_pairs(seed: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_columns, "_room_for", lambda nbytes: room)
    draw = random.Random(seed)
    for _ in range(150):
        check(draw)


@pytest.mark.thorough
def test_many_random_pairs(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(20_000):
        check(draw)
