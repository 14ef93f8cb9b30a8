"""A format of quoted fields: the words of messages, joins and reports come from its one class."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

import gpumerge_cli
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.format import FORMATS, Column, Format, Layout, PreparedSources, Written, register_format
from gpumerge_cli.formats.header_lines import HeaderLines
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.naming import beginning_of
from gpumerge_cli.order.joins import Join
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import Spelling

A = 'id|name\n1|"a|b"\n2|c\n'
B = "id|town\n1|x\n2|y\n"


class Barred(Format):
    """Rows of fields with bars between them, which quotes may enclose, below a header."""

    name = "psv"
    holds = "lines"
    suffixes: Mapping[str, str] = {".psv": ""}
    word = "PSV"
    names_in_header = True
    spelling = Spelling("PSV", "row", "--format psv", separator=b"|")

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        return LineSource(file, layout.items.terminator, HeaderLines(1), marked=True)

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        asked = layout.items.line_order
        order = replace(asked, separator=b"|", quoted=True, spelling=self.spelling.of(asked))
        return PreparedSources(tuple(sources), Order.lines(order), Written())

    def columns(self, name: str, items: Items) -> tuple[Column, ...] | None:
        with contextlib.closing(beginning_of(name)) as pieces:
            start = next(pieces, b"")
        return tuple(map(Column, start.partition(b"\n")[0].decode().split("|"))) if start else None

    def header_names(self, header: bytes, join: Join) -> Sequence[bytes]:
        return header.split(b"|")

    def joined_header(self, header: bytes, join: Join) -> bytes:
        return header.upper()


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("a.psv").write_text(A)
    Path("b.psv").write_text(B)
    register_format(Barred())
    yield
    del FORMATS["psv"]


def test_quotes_enclose_separators() -> None:
    assert invoke(["sort", "--field", "name:r", "a.psv", "-o", "out.psv"]) == 0
    assert Path("out.psv").read_text() == 'id|name\n2|c\n1|"a|b"\n'


def test_orders_and_items_are_called_by_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "--field", "id:nr", "a.psv"]) == 1
    assert "comes after '1|\"a|b\"' (row 2), key '2' after '1' by --field id:nr" in capsys.readouterr().err
    assert invoke(["rank", "--field", "id:n", "--at", "1", "--json", "a.psv"]) == 0
    assert '"order": "PSV, by --field id:n, ties left"' in capsys.readouterr().out


def test_joins_separate_by_its_byte_and_have_its_header(capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["join", "--field", "id", "a.psv", "b.psv", "-q"]) == 0
    assert capfd.readouterr().out == 'ID|NAME|TOWN\n1|"a|b"|x\n2|c|y\n'


def test_the_way_out_of_a_joins_disorder_has_its_option(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.psv").write_text("id|name\nu v|1\nk w|2\n")
    assert invoke(["join", "--field", "id", "a.psv", "b.psv", "-q"]) == 2
    assert "sort it first: gpumerge sort --header 1 -s --format psv --field id" in capfd.readouterr().err


def test_names_of_its_headers_are_proposed(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.psv").write_text("id|name\n9|1\n10|2\n")
    Path("b.psv").write_text("id|town\n9|1\n10|2\n")
    assert invoke(["join", "--field", "id", "a.psv", "b.psv", "-q"]) == 2
    assert "both files are in the order of --field id:n" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("merge --field nam one.psv", "has no field 'nam'; did you mean name?"),
        ("merge --field x one.psv", "has no field 'x'; use one of 'name;x'"),
        ("join --field x one.psv a.psv", "has no field 'x'; use one of 'name;x'"),
        ("rank --field id --at 0 -o out.psv a.psv", "answers are tables of text, not .psv"),
        ("merge --field id --count a.psv", "--count has no place in this file, which is PSV"),
        ("merge --field id --source a.psv", "--source has no place in this file, which is PSV"),
    ],
)
def test_options_of_other_formats_are_not_proposed_for_it(
    words: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("one.psv").write_text("name\n1\n" if " nam " in words else "name;x\n1\n")
    assert invoke(words.split()) == 2
    error = capfd.readouterr().err
    assert message in error
    assert " -t " not in error
    assert not Path("out.psv").exists()


@pytest.mark.parametrize("room", ["order", "native", "backends", "engine", "cluster"])
def test_other_rooms_name_no_format_of_tables(room: str) -> None:
    """Texts of other rooms are made of the words of a format. Keys of --of alone are written as CSV has its fields."""
    for path in (Path(gpumerge_cli.__file__).parent / room).rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant) and id(node) not in documents]
        found = [text for text in texts if "csv" in text.lower()]
        assert found == [] or path.name == "item_text.py", f"{path} says {found}"
