"""Formats that are recognized by a file's first bytes, and the errors for formats that cannot be read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.beginnings import doubt_of, refuse_binary
from gpumerge_cli.formats.codecs import CODECS
from gpumerge_cli.formats.foreign import FOREIGN_FORMATS
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import all_formats, dtype_of, format_names, format_of_suffix, is_binary
from gpumerge_cli.formats.registry import layout_of
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder

NUMERIC = LineOrder((LineKey("numeric"),))


@pytest.mark.parametrize(
    ("start", "order", "header", "told"),
    [
        ("10\n9\n".encode("utf-16"), LineOrder(), 0, "iconv -f UTF-16"),
        ("10\n9\n".encode("utf-16-le"), LineOrder(), 0, "iconv -f UTF-16"),
        ("10\n9\n".encode("utf-16-be"), NUMERIC, 0, "iconv -f UTF-16"),
        (b"\xef\xbb\xbf10\n9\n", NUMERIC, 0, "byte order mark"),
        (b"\xef\xbb\xbf10\n9\n", NUMERIC, 1, ""),
        (b"\xef\xbb\xbf10\n9\n", LineOrder(), 0, ""),
        (b"\xef\xbb\xbf10,1\n", LineOrder((LineKey("numeric", 1, 0, 1),)), 0, ""),
        (b"1\0002\0003\0", LineOrder(terminator=NUL), 0, ""),
        (b"a\0b\0\0c\n", LineOrder(), 0, ""),
        (b"", NUMERIC, 0, ""),
        (b"10\n9\n", NUMERIC, 0, ""),
    ],
)
def test_what_will_surprise(start: bytes, order: LineOrder, header: int, told: str) -> None:
    doubt = doubt_of(start, Order.lines(order), header)
    assert told in doubt
    assert bool(doubt) == bool(told)
    assert "\n" not in doubt


@pytest.mark.parametrize(
    ("command", "terminal", "warns"), [("merge", False, True), ("sort", False, False), ("sort", True, True)]
)
def test_a_warning_changes_nothing(command: str, terminal: bool, warns: bool, tmp_path: Path) -> None:
    """Without a terminal `sort` prints no warning, as GNU sort prints none."""
    text = "1\n2\n".encode("utf-16-le") + b"\n"
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(text)
    words = [sys.executable, "-m", "gpumerge_cli", command, "--quiet", "--backend=cpu", "a", "b"]
    words += ["--no-check"] if command == "merge" else []
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    shown, screen = os.openpty() if terminal else (-1, subprocess.PIPE)
    done = subprocess.run(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=screen)
    said = os.read(shown, 4096).replace(b"\r\n", b"\n") if terminal else done.stderr
    for descriptor in (shown, screen) if terminal else ():
        os.close(descriptor)
    assert done.returncode == 0
    assert said.startswith(b"gpumerge: a (and 1 more): warning: it looks like UTF-16LE text") is warns
    assert said.count(b"\n") == warns
    assert sorted(done.stdout.split(b"\n")) == sorted([*2 * text.split(b"\n")[:-1], b""])


@pytest.mark.parametrize("name", [suffix for one in FOREIGN_FORMATS for suffix in one.suffixes])
def test_formats_that_are_not_read_say_what_to_do(name: str) -> None:
    with pytest.raises(UsageError, match="its suffix means") as caught:
        layout_of(f"dir/x{name}", Items())
    assert caught.value.way_out
    assert "FILE" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_suffixes_and_beginnings_say_one_thing() -> None:
    suffixes = [suffix for one in all_formats() for suffix in one.suffixes]
    suffixes += [suffix for one in FOREIGN_FORMATS for suffix in one.suffixes] + list(CODECS)
    assert len(suffixes) == len(set(suffixes))
    for begins in [one.begins for one in (*all_formats(), *FOREIGN_FORMATS, *CODECS.values())]:
        re.compile(begins)
    assert all(re.match(codec.begins, codec.magic) is None or codec.magic for codec in CODECS.values())


def test_what_the_formats_are() -> None:
    assert {"csv", "raw", "npy", "text"} <= set(format_names())
    assert dtype_of(".f32") == "float32"
    assert dtype_of(".npy") == dtype_of(".xyz") == ""
    assert [is_binary(suffix) for suffix in (".i32", ".npy", ".txt", "", ".xyz")] == [True, True, False, False, False]
    assert format_of_suffix(".xyz") is None


@pytest.mark.parametrize(
    "text", [b"ORC\n", b"PAR1\n", b"PAR1\t2\n", b"FEA1\r\n", b"%PDF-", b"%PDF-1.4 is old\n", b"MATLAB 5.0 MAT-file\n"]
)
def test_words_that_begin_as_other_data_do_are_text(text: bytes) -> None:
    refuse_binary("a", text, plain=False)
    refuse_binary("a", text, plain=True)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"ORC\x0a\x0b\x0a", "ORC"),
        (b"FEA1\x00\x00\x00\x00", "Feather 1"),
        (b"\x1f\x9d\x90abc", "Unix compress"),
        (b"LZIP\x01\x0c", "lzip"),
        (b"\x89LZO\x00\r\n\x1a\n", "lzop"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF"),
        (b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x01IM", "MATLAB"),
    ],
)
def test_other_data_are_known(start: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=f"it holds {kind} data"):
        refuse_binary("a", start, plain=False)
