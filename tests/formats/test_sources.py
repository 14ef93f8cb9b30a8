"""Sources: every format as one stream of whole native items."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.errors import GpumergeError, InputError, UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.registry import layout_of, open_source
from gpumerge_cli.order.rules import LineOrder
from tests import needs
from tests.open_files import open_under

Write = Callable[[str, Any], str]


def opened(path: str, format: str | None = None, dtype: str | None = None, *, numeric: bool = False) -> Source:
    return open_source(path, layout_of(path, Items(format, dtype, LineOrder() if numeric else None)))


def content(source: Source) -> bytes:
    out = np.empty(source.size, np.uint8)
    source.read_into(0, out)
    source.close()
    return out.tobytes()


@given(data=st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"\n")), position=st.integers(0, 70))
def test_lines_by_position(tmp_path_factory: pytest.TempPathFactory, data: bytes, position: int) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(data)
    source = opened(str(path), "text")
    whole = data.removeprefix(b"\xef\xbb\xbf")  # sources leave a byte order mark out
    whole = whole if not whole or whole.endswith(b"\n") else whole + b"\n"
    starts = [0] if whole else []
    starts += [i + 1 for i, byte in enumerate(whole) if byte == 10 and i + 1 < len(whole)]
    assert source.size == len(whole)
    assert source.count() == len(starts)
    assert source.item_start(position) == next((start for start in starts if start >= position), len(whole))
    lines = whole.split(b"\n")[:-1]
    for number, (start, line) in enumerate(zip(starts, lines, strict=True)):
        assert source.item_at(start) == line
        assert source.item_end(start) == start + len(line) + 1
        assert source.location(start) == f"{path}:{number + 1}"
        if number:
            assert source.item_before(start) == lines[number - 1]
    assert content(source) == whole


@pytest.mark.parametrize("size", [4095, 4096, 4097, 70_000])
def test_lines_longer_than_a_block(write: Write, size: int) -> None:
    source = opened(write("a.txt", b"short\n" + b"x" * size + b"\nend"))
    assert source.item_end(6) == 6 + size + 1
    assert source.item_before(6 + size + 1) == b"x" * size
    assert source.item_start(7) == 6 + size + 1
    source.close()


@pytest.mark.parametrize("dtype", ["<i4", ">i4", ">f8", "<u2", "|u1"])
def test_npy_of_any_byte_order_reads_as_native(write: Write, dtype: str) -> None:
    array = np.array([1, 2, 200], dtype)
    source = opened(write("a.npy", array))
    assert source.dtype == np.dtype(dtype)
    assert source.item_at(array.itemsize) == array.astype(array.dtype.newbyteorder("="))[1:2].tobytes()
    assert content(source) == array.astype(array.dtype.newbyteorder("=")).tobytes()


def test_suffixes_say_the_dtype(write: Write) -> None:
    for suffix, dtype in (("i8", "int8"), ("u16", "uint16"), ("f16", "float16"), ("f64", "float64")):
        source = opened(write(f"a.{suffix}", np.zeros(2, dtype)))
        assert source.dtype == np.dtype(dtype)
        source.close()


def test_a_pipe_is_read_at_any_position(tmp_path: Path) -> None:
    read, write_end = os.pipe()
    os.write(write_end, b"3\n1\n2")
    os.close(write_end)
    source = opened(f"/proc/self/fd/{read}", "text")
    os.close(read)
    assert source.item_at(2) == b"1"
    assert content(source) == b"3\n1\n2\n"


def test_a_file_that_shrinks_is_noticed(write: Write) -> None:
    path = write("a.i32", np.arange(1000, dtype=np.int32))
    source = opened(path)
    os.truncate(path, 100)
    with pytest.raises(InputError, match=r"a\.i32: the file ends at byte 100"):
        content(source)
    source.close()


NPY_FAULTS = {
    "two dimensions": (np.zeros((2, 2)), "2 dimensions"),
    "Fortran": (np.asfortranarray(np.zeros((2, 3))), "Fortran order"),
    "no dimension": (np.array(3), "0 dimensions"),
    "records": (np.zeros(2, [("a", "i4")]), "records need a key; name one of their fields as the key"),
    "complex": (np.zeros(2, complex), "cannot be ordered"),
}


@pytest.mark.parametrize("fault", NPY_FAULTS)
def test_npy_arrays_that_cannot_be_merged(write: Write, fault: str) -> None:
    array, message = NPY_FAULTS[fault]
    path = write("a.npy", array)
    with pytest.raises(InputError, match=message) as caught:
        opened(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_npy_files_that_lie(write: Write, tmp_path: Path) -> None:
    good = Path(write("a.npy", np.arange(10))).read_bytes()
    with pytest.raises(InputError, match="truncated"):
        opened(write("short.npy", good[:-3]))
    with pytest.raises(InputError, match="the file has grown"):
        opened(write("long.npy", good + b"x"))
    for bad in (
        b"",
        b"not an array",
        good[:20],
        good[:6] + b"\x09\x00" + good[8:],
        good.replace(b"(10,)", b"('a',"),
        good.replace(b"descr", b"dscre"),
    ):
        with pytest.raises(InputError, match=r"not a readable \.npy file"):
            opened(write("bad.npy", bad))
    np.save(tmp_path / "object.npy", np.array([{}, 1], object), allow_pickle=True)
    with pytest.raises(InputError, match="pickled"):
        opened(str(tmp_path / "object.npy"))


def test_a_size_that_is_no_multiple(write: Write) -> None:
    with pytest.raises(InputError, match="7 bytes are not a multiple of 4, the size of int32: 3 left over"):
        opened(write("a.i32", b"1234567"))


@pytest.mark.parametrize(
    ("name", "format", "dtype", "numeric", "message"),
    [
        ("a.xyz", None, None, False, "suffix '.xyz'"),
        ("a.i32", None, "int64", False, "its suffix means int32"),
        ("a.txt", "text", "int8", False, "lines of text have none"),
        ("a.i32", None, None, True, "is binary"),
        ("a.npy", None, None, True, "is binary"),
        ("a", "raw", None, False, "need a dtype"),
        ("a", None, "int33", False, "use one of int8"),
        ("a", "xml", None, False, "no such format"),
    ],
)
def test_formats_that_cannot_be_decided(
    name: str, format: str | None, dtype: str | None, numeric: bool, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        layout_of(name, Items(format, dtype, LineOrder() if numeric else None))


@pytest.mark.parametrize("name", ["missing.i32", "."])
def test_what_cannot_be_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(GpumergeError) as caught:
        opened(str(tmp_path / name), "raw", "int32")
    assert str(tmp_path) in str(caught.value)
    assert caught.value.way_out


def test_more_files_than_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beyond the limit are opened when they are read, one at a time, and a change in between is noticed."""
    from gpumerge_cli.formats import input

    monkeypatch.setattr(input, "_kept_descriptors", lambda: 0)
    paths = [tmp_path / f"{number}.txt" for number in range(20)]
    sources = []
    for number, path in enumerate(paths):
        path.write_bytes(b"%d\n" % number)
        sources.append(opened(str(path)))
    assert len(open_under(tmp_path)) == 1
    assert [source.item_at(0) for source in sources] == [b"%d" % number for number in range(20)]
    paths[3].write_bytes(b"other\n")
    with pytest.raises(InputError, match=r"3\.txt: the file changed while it was read"):
        content(sources[3])
    content(sources[4])
    paths[4].write_bytes(b"other\n")
    with pytest.raises(InputError, match=r"4\.txt: the file changed while it was read"):
        sources[4].check_unchanged()
    for source in sources:
        source.close()
    assert not open_under(tmp_path)


def test_a_file_that_was_written_to_is_noticed(write: Write) -> None:
    path = write("a.i32", np.arange(1000, dtype=np.int32))
    os.utime(path, (1, 1))  # file systems tell times apart by milliseconds only
    source = opened(path)
    source.check_unchanged()
    with open(path, "r+b") as file:
        file.write(b"\1")
    with pytest.raises(InputError, match="changed while it was read"):
        source.check_unchanged()
    source.close()


def test_copies_share_a_file_where_descriptors_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed inputs and pipes are copied first."""
    igzip = needs.library("isal.igzip")
    from gpumerge_cli.formats import input

    monkeypatch.setattr(input, "_kept_descriptors", lambda: 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sources = []
    for number in range(20):
        (tmp_path / f"{number}.txt.gz").write_bytes(igzip.compress(b"%d\n%d" % (number, 10**number)))
        sources.append(opened(str(tmp_path / f"{number}.txt.gz")))
    assert len(open_under(tmp_path)) == 1
    for number, source in enumerate(sources):
        source.check_unchanged()
        assert content(source) == b"%d\n%d\n" % (number, 10**number)
    sources.clear()
    del source
    assert not open_under(tmp_path)


def test_files_that_do_not_tell_their_size_are_copied() -> None:
    source = opened("/proc/version")
    assert content(source) == Path("/proc/version").read_bytes()
    source.close()


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc/self/mem; run it on Linux")
def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(InputError, match=r"^/proc/self/mem: "):
        opened("/proc/self/mem", "text")


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<i4', 'fortran_order': False, 'shape': (3,), 'a\\d': 1, }",  # Python warns of the escape sequence
        b"{'descr': '<i4', 'fortran_order': False, 'shape': (3L,), }",  # NumPy warns of the L, which is Python 2's
        b"{'descr': '<i4', 'fortran_order': 1is 1, 'shape': (3,), }",  # Python warns of the 1i
    ],
)
def test_headers_that_warn_warn_nobody(write: Write, recwarn: pytest.WarningsRecorder, header: bytes) -> None:
    head = header.ljust(117) + b"\n"
    name = write("a.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(12))
    try:
        assert opened(name).size == 12
    except InputError:
        assert b"3L" not in header
    assert not [*recwarn]


def test_files_whose_sizes_are_made_up_are_read_as_far_as_they_go() -> None:
    name = "/sys/kernel/mm/transparent_hugepage/enabled"
    if not os.path.exists(name):
        pytest.skip(f"needs {name}; run it on Linux with transparent huge pages")
    with open(name, "rb") as file:
        there = file.read()
    assert os.path.getsize(name) > len(there)
    assert content(opened(name, format="text")) == there


def test_who_shares_standard_input_goes_on_behind_it(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x\nb\na\n")
    shell = f"(read one; {sys.executable} -m gpumerge_cli sort; echo end; cat) < in"
    done = subprocess.run(
        ["sh", "-c", shell],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"a\nb\nend\n"


def test_a_header_of_less_than_no_items(tmp_path: Path) -> None:
    path, head = tmp_path / "a.npy", io.BytesIO()
    said = {"descr": "<i4", "fortran_order": False, "shape": (3,)}
    np.lib.format.write_array_header_1_0(head, said)
    written = head.getvalue()
    path.write_bytes(written.replace(b"(3,), } ", b"(-3,), }", 1) + bytes(12))
    assert path.stat().st_size == len(written) + 12
    with pytest.raises(InputError, match="its header says -3 items") as caught:
        open_source(str(path), layout_of(str(path), Items()))
    assert caught.value.way_out == "the header is damaged; save it again"
