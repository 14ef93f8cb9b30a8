"""Records of CSV: as they stand, with NUL behind them, or taken to pieces, they compare the same."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats import csv_lines, csv_parser, csv_quotes
from gpumerge_cli.formats.csv_dialect import Dialect
from gpumerge_cli.formats.csv_lines import order_of_fields, order_within_fields, records_of, same_fields
from gpumerge_cli.formats.csv_quotes import CsvShape, csv_shape_of
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.order.key_kinds import CHOSEN_KINDS
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.jobs_of import sort_job

Write = Callable[[str, Any], str]

_FIELDS = st.text(' "\t,ab19.-~\nKJAN', max_size=8) | st.sampled_from(["", "1e3", "12", "-7", "v1.10", "MAR", "2K"])
_WRITERS = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file that a writer of CSV wrote, or several: how fields are quoted may differ from record to record."""
    out = io.StringIO()
    end = draw(st.sampled_from(["\n", "\r\n"]))
    for fields in draw(st.lists(st.lists(_FIELDS, min_size=1, max_size=4), max_size=12)):
        csv.writer(out, lineterminator=end, quoting=draw(_WRITERS)).writerow(fields)
    text = out.getvalue()
    return (text.removesuffix(end) if draw(st.booleans()) else text).encode()


@st.composite
def orders(draw: st.DrawFn, several: bool = False) -> LineOrder:
    """several: keys may be of several fields."""
    keys = []
    for _ in range(draw(st.integers(1, 2))):
        field, compare = draw(st.integers(0, 3)), draw(st.sampled_from(list(CHOSEN_KINDS)))
        ends = [field, None, field + 1] if several or compare in ("numeric", "human", "general", "month") else [field]
        last = draw(st.sampled_from(ends))
        keys.append(
            LineKey(
                compare, field, 0, last,
                reverse=draw(st.booleans()), fold=compare == "bytes" and draw(st.booleans()),
                skip_start=draw(st.booleans()), invalid="last",
            )
        )  # fmt: skip
    return LineOrder(tuple(keys), stable=draw(st.booleans()))


def parsed(text: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.decode(), newline=""), strict=True))


def taken_to_pieces(text: bytes) -> list[bytes]:
    """The lines that the standard library's parser makes of a file: each record, then its fields."""
    rows: list[bytes] = []
    lines = iter(text.decode().splitlines(keepends=True)) if b"\r" not in text else io.StringIO(text.decode(), "\n")
    taken: list[str] = []

    def told() -> Any:
        for line in lines:
            taken.append(line)
            yield line

    for fields in csv.reader(told(), strict=True):
        rows.append("\1".join(["".join(taken).removesuffix("\n"), *(fields or [""])]).encode())
        taken.clear()
    return rows


@pytest.mark.one_in(2)
@pytest.mark.parametrize("block", [64, 1 << 18])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(text=files(), order=orders())
@example(text=b'"5"" pipe",1\n5,2\n"5",3\n', order=LineOrder((LineKey("bytes", 0, 0, 0),)))
@example(text=b'"ab"\n"a b"\nab\r\n', order=LineOrder((LineKey("bytes", 0, 0, 0),)))
def test_records_as_they_stand_compare_as_the_parser_has_it(
    block: int, text: bytes, order: LineOrder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_quotes, "_BLOCK", block)
    expected = sorted(taken_to_pieces(text), key=functools.cmp_to_key(Comparison(Order.lines(order_of_fields(order)))))
    (tmp_path / "a.csv").write_bytes(text)
    source = LineSource(SeekableInput(str(tmp_path / "a.csv")))
    records = records_of([source], order)
    counted = any(key.kind.file_option or key.kind.typed for key in order.keys)
    assert records.order.quoted or counted
    (made,) = records.sources
    items, at = [], 0
    while at < made.size:
        items.append(made.item_at(at))
        at = made.item_end(at)
    items.sort(key=functools.cmp_to_key(Comparison(Order.lines(records.order))))
    assert [item.split(b"\1", 1)[0] for item in items] == [line.split(b"\1", 1)[0] for line in expected]
    source.close()
    made.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(text=files(), order=orders(several=True))
def test_sorts_and_their_keys_prefixes_agree(text: bytes, order: LineOrder, tmp_path: Path) -> None:
    """Compiled code sorts records into the order that a comparison of their parsed fields gives."""
    (tmp_path / "a.csv").write_bytes(text)
    items = Items("csv", lines=order)
    job = sort_job((str(tmp_path / "a.csv"),), str(tmp_path / "b.csv"), items, Resources("cpu"))
    run(job)
    lines = taken_to_pieces(text)
    expected = sorted(lines, key=functools.cmp_to_key(Comparison(Order.lines(order_of_fields(order)))))
    assert (tmp_path / "b.csv").read_bytes() == b"".join(line.split(b"\1", 1)[0] + b"\n" for line in expected)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("block", [8, 64, 1 << 20])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(text=files() | st.text('a",\n', max_size=30).map(str.encode))
def test_blocks_without_quotes_are_taken_to_pieces_alike(
    block: int, text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_parser, "_BLOCK", block)
    (tmp_path / "a.csv").write_bytes(text)
    file, out = SeekableInput(str(tmp_path / "a.csv")), io.BytesIO()
    told: list[float] = []
    try:
        expected = taken_to_pieces(text)
    except csv.Error:
        with pytest.raises(InputError, match="not CSV"):
            csv_parser.write_fields(file, Dialect(), out, told.append)
    else:
        csv_parser.write_fields(file, Dialect(), out, told.append)
        assert out.getvalue() == b"".join(line + b"\0" for line in expected)
        assert sum(told) == pytest.approx(1.0) or not text
    file.close()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (b"", CsvShape()),
        (b"a,b\nc\n", CsvShape()),
        (b'"a,b",c\r\n"",d\r\n', CsvShape()),
        (b'"a""b"\n', CsvShape(doubled=True)),
        (b'""""\n', CsvShape(doubled=True)),
        (b'"a\nb"\n', CsvShape(lines=False)),
        (b'"a\r"\n', CsvShape()),
        (b'a"b\n', CsvShape(proper=False)),
        (b'"a"b\n', CsvShape(proper=False)),
        (b' "a"\n', CsvShape(proper=False)),
        (b"a\rb\n", CsvShape(proper=False)),
        (b"a\r\r\n", CsvShape(proper=False)),
        (b'"a\n', CsvShape(proper=False, lines=False)),
        (b'\xef\xbb\xbf"a",b\n', CsvShape()),
    ],
)
def test_what_the_quotes_of_a_file_are_like(write: Write, text: bytes, shape: CsvShape) -> None:
    for ahead in (b"", b"x" * 61 + b"\n", b"x" * 63 + b"\n", b"y\n" * 200_000):
        file = SeekableInput(write("a.csv", ahead + text if not text.startswith(csv_quotes.BOM) else text))
        found = csv_shape_of(file, b",")
        assert found == shape or (not shape.proper and not found.proper)
        file.close()


@pytest.mark.parametrize(
    "text", ['1,"x\ny"\n', '1,"x"\n', "1,x\n", '1,"x\n'], ids=["lines within", "quotes", "plain", "open"]
)
def test_files_are_looked_through_by_threads_alike(text: str, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    order = LineOrder((LineKey("bytes", 0, 0, 0),), separator=b",")
    names = [write(f"{at}.csv", (text if at == 1 else "2,b\n").encode()) for at in range(4)]
    found = []
    for least in (1 << 30, 0):
        monkeypatch.setattr(csv_lines, "_WORTH_THREADS", least)
        sources = [LineSource(SeekableInput(name)) for name in names]
        try:
            records = records_of(sources, order)
        except InputError as error:
            found.append(str(error))
            continue
        found.append([source.item_at(0) for source in records.sources])
    assert found[0] == found[1]


@pytest.mark.parametrize("text", [b'5" pipe,1\n', b'"a"b\n', b'"a\n'])
def test_stray_quotes_go_to_the_parser(write: Write, text: bytes) -> None:
    source = LineSource(SeekableInput(write("a.csv", text)))
    if text.startswith(b"5"):
        (made,) = records_of([source], LineOrder((LineKey("bytes", 0, 0, 0),))).sources
        assert made.item_at(0) == b'5" pipe,1\x015" pipe\x011'
        made.close()
    else:
        with pytest.raises(InputError, match="not CSV"):
            records_of([source], LineOrder())


@pytest.mark.parametrize(
    ("key", "whole"),
    [
        (LineKey("numeric", 1), True),
        (LineKey("bytes", 1, 0, 1), True),
        (LineKey("bytes", 1), False),
        (LineKey("bytes", 1, 0, 2), False),
        (LineKey("numeric", 1, 0, 1, 3), False),
    ],
)
def test_keys_of_several_fields_need_them_taken_to_pieces(key: LineKey, whole: bool) -> None:
    assert (order_within_fields(LineOrder((key,))) is not None) == whole


def test_bytes_from_a_character_on_count_quotes_once(backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'"""b",1\n"xa",2\nzc,3\n')
    order = LineOrder((LineKey("bytes", 0, 1, 0),))
    on = Resources(backend.name)  # type: ignore[arg-type]
    items = Items("csv", lines=order)
    run(sort_job((str(tmp_path / "a.csv"),), str(tmp_path / "b.csv"), items, on))
    assert (tmp_path / "b.csv").read_bytes() == b'"xa",2\n"""b",1\nzc,3\n'


@pytest.mark.parametrize("held", [b"\0", b"\0\1\2", bytes(range(9)), bytes({*range(256)} - {*b'\r\n",', 0xFE})])
def test_bytes_0_within_records_of_several_lines(held: bytes, backend: Backend, tmp_path: Path) -> None:
    """A byte that no file holds ends the records instead."""
    (tmp_path / "a.csv").write_bytes(b'k,v\n"z\n",1\nc' + held + b",2\nb,3\n")
    (tmp_path / "b.csv").write_bytes(b'k,v\n"a\n",4\n')
    on = Resources(backend.name)  # type: ignore[arg-type]
    items = Items("csv", lines=LineOrder((LineKey("bytes", 0, 0, 0),)), header_lines=1)
    run(sort_job((str(tmp_path / "a.csv"), str(tmp_path / "b.csv")), str(tmp_path / "c.csv"), items, on))
    assert (tmp_path / "c.csv").read_bytes() == b'k,v\n"a\n",4\nb,3\nc' + held + b',2\n"z\n",1\n'


def test_records_of_several_lines_with_every_byte_are_refused(write: Write) -> None:
    source = LineSource(SeekableInput(write("a.csv", b'"\n' + bytes({*range(256)} - {34}) + b'",1\n')))
    with pytest.raises(InputError, match=r"it holds every control byte .* so none is left to end records"):
        records_of([source], LineOrder())


def test_headers_are_the_same_however_they_are_quoted() -> None:
    assert same_fields(b'\xef\xbb\xbf"a",b\r\n', b'a,"b"\n', Dialect())
    assert not same_fields(b"a,b\n", b"b,a\n", Dialect())
    assert not same_fields(b'"a,b"\n', b"a,b\n", Dialect())


@pytest.mark.parametrize("separator", [b"\0", b"\n", b"\r", b'"', b'|"'])
def test_bytes_that_separate_no_fields(separator: bytes) -> None:
    with pytest.raises(UsageError, match="cannot separate fields of CSV; use another byte with -t"):
        order_within_fields(LineOrder(separator=separator))
