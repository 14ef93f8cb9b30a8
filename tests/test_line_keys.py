"""Lines' keys against the system's sort, and the 64-bit prefix against the keys."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.line_cases import KNOWN_TO_SORT, TYPED, Case, cases, lines
from tests.line_prefix import begin, end, prefix, translated
from tests.linekeys import item_key, key_of, key_text

EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "100"))
# Numbers that are equal as sort's long doubles: digits behind the 18th, and hexadecimal numbers that are no doubles.
_BEYOND = re.compile(rb"[0-9.]{19}|0x[0-9a-f.]{13}|p[+-]?[0-9]{3}", re.IGNORECASE)
_SUFFIX = re.compile(rb"(\.[A-Za-z~][A-Za-z0-9~]*)+")


@lru_cache(maxsize=1)
def version() -> tuple[int, ...] | None:
    """The version of the system's sort; None if it is not GNU's."""
    if shutil.which("sort") is None:
        return None
    said = subprocess.run(["sort", "--version"], capture_output=True, check=False).stdout
    found = re.match(rb"sort \(GNU coreutils\) ([0-9]+)\.([0-9]+)", said)
    return (int(found[1]), int(found[2])) if found else None


needs_sort = pytest.mark.skipif(version() is None, reason="needs GNU sort; install coreutils")


def sort(case: Case, drawn: list[bytes], *more: bytes) -> list[bytes]:
    """The lines, sorted by the system's sort."""
    ending = bytes([case.order.terminator])
    with tempfile.NamedTemporaryFile() as source:
        source.write(case.salt)
        source.flush()
        command = [b"sort", *case.arguments, *more, b"--random-source=" + source.name.encode()]
        given = b"".join(line + ending for line in drawn)
        done = subprocess.run(command, input=given, capture_output=True, env=os.environ | {"LC_ALL": "C"}, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout.split(ending)[:-1]


def name_of(order: LineOrder, key: LineKey, line: bytes) -> bytes:
    """The part of a line that a key compares."""
    return translated(key, line[begin(key, order.separator, line) : end(key, order.separator, line)])


def comparable(order: LineOrder, drawn: list[bytes]) -> list[bytes]:
    """The lines that every version of sort reads as the keys here do."""
    used = {key.compare for key in order.keys}
    if "general" in used:
        drawn = [line for line in drawn if not _BEYOND.search(line)]
        # 9.1 tells equal NaNs apart by memory it has not written; later versions have -nan first.
        nans = [at for at, line in enumerate(drawn) if b"nan" in line.lower()]
        drawn = [line for at, line in enumerate(drawn) if at not in nans[1:]]
    if version() != (9, 1):
        # 9.1 alone takes a name for a suffix that is nothing else.
        names = [key for key in order.keys if key.compare == "version"]
        drawn = [line for line in drawn if not any(_SUFFIX.fullmatch(name_of(order, key, line)) for key in names)]
    if "human" in used and (version() or (0,)) >= (9, 2):  # from then on these are units
        drawn = [line.translate(None, b"RQrq") for line in drawn]
    return drawn


@needs_sort
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_keys_order_as_sort_does(data: st.DataObject) -> None:
    case = data.draw(cases())
    order = case.order
    drawn = comparable(order, data.draw(lines(order)))
    assert sort(case, drawn) == sorted(drawn, key=key_of(order))
    unique: dict[object, bytes] = {}
    stable = key_of(LineOrder(order.keys, order.separator, order.reverse, True, order.terminator))
    assert sort(case, drawn, b"-s") == sorted(drawn, key=stable)
    for line in sorted(drawn, key=stable):
        unique.setdefault(stable(line), line)
    assert sort(case, drawn, b"-u") == list(unique.values())


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_prefixes_that_differ_order_as_keys_do(data: st.DataObject) -> None:
    order = data.draw(cases()).order
    keyed = sorted(
        ((item_key(order, line), prefix(order, line), line) for line in data.draw(lines(order))), key=lambda x: x[0]
    )
    for (key, early, line), (next_key, late, next_line) in pairwise(keyed):
        assert early <= late, (line, next_line)
        assert early == late or key != next_key, (line, next_line)


@pytest.mark.parametrize(
    ("compare", "ordered"),
    [
        (
            "general",
            b"x|nan|-nan|-inf|-1e4932|-0x1p3|-0.0|1e-4950|0x1.8|1.500000000000000000000000000001|1e5 |1e4932|inf",
        ),
        ("human", b"-1Y|-1023K|-2K|-1K|-2000|-1R|0K|1Q|2R|2000|1K|1023K|1M|1G|1T|1P|1E|1Z|1Y"),
        ("version", b"|.|..|.a|.b|a~|a|a.b|a.b.c|a1|a2|a2.tar|a10|aa|a-|b"),
        ("month", b"x|jan|Feb|MAR|apr|MAY|jun|JUL|Aug|SEP|OCT|nov|dec"),
    ],
)
def test_notations(compare: str, ordered: bytes) -> None:
    key = key_of(LineOrder((LineKey(compare),), stable=True))  # type: ignore[arg-type]
    keys = [key(line) for line in ordered.split(b"|")]
    assert all(a < b for a, b in pairwise(keys))


@pytest.mark.parametrize(
    ("key", "separator", "line", "text"),
    [
        (LineKey(end_field=1, end_char=2), None, b"a   bcd", b"a  "),
        (LineKey(end_field=1, end_char=2, skip_end=True), None, b"a   bcd", b"a   bc"),
        (LineKey(start_field=1), None, b"a \tb c", b" \tb c"),
        (LineKey(start_field=1, start_char=1, skip_start=True, end_field=1), None, b"a \tbcd e", b"cd"),
        (LineKey(start_field=1, end_field=1), b",", b"a,b,c", b"b"),
        (LineKey(end_field=1), b",", b"a,b,c", b"a,b"),
        (LineKey(start_field=2, end_field=0), b",", b"a,b,c", b""),
        (LineKey(start_field=3), b",", b"a,b,c", b""),
        (LineKey(start_char=1 << 62, end_field=1 << 62, end_char=1 << 62), None, b"a b", b""),
    ],
)
def test_where_keys_lie(key: LineKey, separator: bytes | None, line: bytes, text: bytes) -> None:
    assert key_text(key, separator, line) == text


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_prefixes_of_classed_keys_order_as_keys_do(data: st.DataObject) -> None:
    order = data.draw(cases((*TYPED, *KNOWN_TO_SORT), classed=True)).order
    keyed = sorted(
        ((item_key(order, line), prefix(order, line), line) for line in data.draw(lines(order))), key=lambda x: x[0]
    )
    for (key, early, line), (next_key, late, next_line) in pairwise(keyed):
        assert early <= late, (line, next_line)
        assert early == late or key != next_key, (line, next_line)


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_keys_lie_where_counting_byte_by_byte_finds_them(data: st.DataObject) -> None:
    order = data.draw(cases()).order
    for key, line in product(order.keys, data.draw(lines(order))):
        counted = line[begin(key, order.separator, line) : end(key, order.separator, line)]
        assert key_text(key, order.separator, line) == counted
