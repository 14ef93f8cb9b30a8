"""Compressed files, by their suffix, with the libraries of the extra and without."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import InputError, OutputError, UsageError
from gpumerge_cli.formats.codecs import CODECS
from gpumerge_cli.formats.compressed import compression_of, inner_name, output_codec
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.registry import layout_of, open_source
from gpumerge_cli.results.run import MergeReport
from tests import needs
from tests.bgzf import in_blocks
from tests.jobs_of import merge_job
from tests.layouts import layout
from tests.open_files import open_under
from tests.oracles import items_of

Write = Callable[[str, Any], str]

try:
    from isal import igzip
except ImportError:
    igzip = None
zstd: Any = None
with contextlib.suppress(ImportError):
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".bgz": in_blocks,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".bgz": gzip.decompress,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
if zstd is not None:
    PACK[".zst"] = partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: 1})
    UNPACK[".zst"] = zstd.decompress
WAYS = {
    "BGZF by isal": (".bgz", igzip is not None),
    "BGZF": (".bgz", False),
    "gzip by isal": (".gz", igzip is not None),
    "gzip": (".gz", False),
    "Zstandard": (".zst", zstd is not None),
    "bzip2": (".bz2", igzip is not None),
    "bzip2 without the extra": (".bz2", False),
    "xz": (".xz", igzip is not None),
    "xz without the extra": (".xz", False),
}
"""(suffix, whether the extra is there)."""


@pytest.fixture(params=WAYS)
def suffix(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The suffix of compressed files. The test then reads and writes them by the library that WAYS names for it."""
    suffix, extra = WAYS[request.param]
    if "isal" in request.param:
        needs.library("isal.igzip")
    elif suffix == ".zst":
        needs.zstandard()
    elif not extra:
        without_extra(monkeypatch)
    return suffix


def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = {"isal": ("igzip", "isal_zlib"), "backports": ("zstd",), "compression": ("zstd",)}
    for module in (*libraries, *(f"{name}.{part}" for name, parts in libraries.items() for part in parts)):
        monkeypatch.setitem(sys.modules, module, None)


def compress(name: str) -> None:
    """Have the library that compresses an output be there."""
    codec = output_codec(name)
    assert codec is not None
    codec.compressor()


def read_all(name: str, one: Layout) -> int:
    """Open an input and read all of it; its bytes."""
    source = open_source(name, one)
    try:
        source.read_into(0, bytearray(source.size))
        return source.size
    finally:
        source.close()


def merge(backend: Backend, inputs: list[str], output: str, **items: Any) -> MergeReport:
    on = Resources(backend.name, threads=3)  # type: ignore[arg-type]
    return run(merge_job(inputs, output, items_of(**items), on))


def test_names() -> None:
    names = ("a.i32.gz", "b.ZST", "c.txt.bz2", "d.Xz", "c.i32", "-", "gz", ".gz")
    assert [compression_of(name) for name in names] == [".gz", ".zst", ".bz2", ".xz", "", "", "", ""]
    assert [inner_name(name) for name in ("a.i32.gz", "b.ZST", "c.i32")] == ["a.i32", "b", "c.i32"]
    assert layout_of("a.I32.GZ", Items()) == layout("raw", np.dtype("int32"))
    assert layout_of("a.gz", Items()) == layout("text")
    assert output_codec("a.i32") is None


def test_in_and_out(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator, suffix: str
) -> None:
    """Several members in, several out; plain and compressed inputs mix."""
    runs = [np.sort(rng.integers(-99, 99, 9000)) for _ in range(3)]
    halves = (runs[0][:100].tobytes(), runs[0][100:].tobytes())
    names = [
        write(f"a.i64{suffix}", b"".join(map(PACK[suffix], halves))),
        write(f"b.i64{suffix}", PACK[suffix](runs[1].tobytes())),
        write("c.i64", runs[2]),
    ]
    for output in ("out.i64", "out.npy"):
        report = merge(backend, names, str(tmp_path / f"{output}{suffix}"))
        data = UNPACK[suffix]((tmp_path / f"{output}{suffix}").read_bytes())
        expected = np.sort(np.concatenate(runs), kind="stable").tobytes()
        assert data[-len(expected) :] == expected
        assert len(data) == len(expected) + (128 if output == "out.npy" else 0)
        assert report.stage("compress").nbytes == len(expected)
        assert report.nbytes == len(expected) > report.written > 0
    merge(backend, [str(tmp_path / f"out.npy{suffix}")], str(tmp_path / "again.i64"))
    assert (tmp_path / "again.i64").read_bytes() == expected


def test_text_and_empty(backend: Backend, write: Write, tmp_path: Path, suffix: str) -> None:
    names = [write(f"a.txt{suffix}", PACK[suffix](b"a\nc")), write(f"b.txt{suffix}", PACK[suffix](b""))]
    merge(backend, names, str(tmp_path / f"out.txt{suffix}"))
    assert UNPACK[suffix]((tmp_path / f"out.txt{suffix}").read_bytes()) == b"a\nc\n"
    merge(backend, names[1:], str(tmp_path / f"none.txt{suffix}"))
    assert (tmp_path / f"none.txt{suffix}").stat().st_size > 0
    assert UNPACK[suffix]((tmp_path / f"none.txt{suffix}").read_bytes()) == b""


@pytest.mark.one_of_each
@pytest.mark.parametrize("harm", ["cut", "changed", "not at all", "more"])
def test_damage_is_named(write: Write, rng: np.random.Generator, tmp_path: Path, suffix: str, harm: str) -> None:
    whole = PACK[suffix](rng.integers(0, 9, 5000).tobytes())
    middle = len(whole) // 2
    data = {
        "cut": whole[:-5],
        "changed": whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 40]) + whole[middle + 40 :],
        "not at all": b"1\n2\n",
        "more": whole + b"more",
    }[harm]
    with pytest.raises(InputError) as caught:
        read_all(write(f"a.i64{suffix}", data), layout("raw", np.dtype(np.int64)))
    assert caught.value.where.endswith(f"a.i64{suffix}")
    assert caught.value.way_out
    assert not open_under(tmp_path)


def test_what_unpacks_to_half_an_item(write: Write) -> None:
    with pytest.raises(InputError, match="5 bytes"):
        open_source(write("a.i64.gz", gzip.compress(b"12345")), layout("raw", np.dtype(np.int64)))


@pytest.mark.one_in(3)
def test_sizes_do_not_take_memory(write: Write, suffix: str) -> None:
    """A hundred megabytes of zeros, in a hundred kilobytes."""
    import resource

    name = write(f"a.i64{suffix}", 10 * PACK[suffix](bytes(10 << 20)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    source = open_source(name, layout("raw", np.dtype(np.int64)))
    assert source.size == 100 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 << 10
    source.close()


@pytest.mark.parametrize("data", [b"", zstd.compress(b"1\n") if zstd is not None else b"x"])
def test_a_missing_library_is_named(write: Write, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    without_extra(monkeypatch)
    name = write("a.txt.zst", data)
    for use in (lambda: open_source(name, layout("text")), lambda: compress(name)):
        with pytest.raises(UsageError, match=r"backports.zstd, which is not installed; install gpumerge\[compressed\]"):
            use()


@pytest.mark.parametrize(("suffix", "module"), [(".bgz", "zlib"), (".gz", "gzip"), (".bz2", "bz2"), (".xz", "lzma")])
def test_a_python_that_lacks_a_module(write: Write, monkeypatch: pytest.MonkeyPatch, suffix: str, module: str) -> None:
    name = write(f"a.txt{suffix}", PACK[suffix](b"1\n"))
    without_extra(monkeypatch)
    monkeypatch.setitem(sys.modules, module, None)
    for use in (lambda: open_source(name, layout("text")), lambda: compress(name)):
        with pytest.raises(UsageError, match=f"built without {module}, which such files need; decompress them first"):
            use()


def test_zeros_may_follow_a_stream_of_xz(write: Write) -> None:
    """Zeros pad a stream of xz to a multiple of four bytes."""
    for padding in (b"\0" * 4, b"\0" * (1 << 20)):
        name = write("a.txt.xz", lzma.compress(b"1\n") + padding + lzma.compress(b"2\n") + padding)
        source = open_source(name, layout("text"))
        assert source.count() == 2
        source.close()


@pytest.mark.parametrize("zeros", [1, 2, 3, 5, (1 << 20) + 1])
@pytest.mark.parametrize("behind", [b"", lzma.compress(b"2\n")])
def test_zeros_behind_a_stream_of_xz_come_in_fours(write: Write, zeros: int, behind: bytes) -> None:
    name = write("a.txt.xz", lzma.compress(b"1\n") + b"\0" * zeros + behind)
    with pytest.raises(InputError, match=f"not readable as xz data .{zeros} zeros follow a stream"):
        open_source(name, layout("text")).count()


def test_every_suffix_has_its_tests() -> None:
    assert {suffix for suffix, _ in WAYS.values()} == set(CODECS)


def test_suffixes_contradict_inside_too(write: Write, tmp_path: Path) -> None:
    name = write("a.i32.gz", gzip.compress(np.arange(3, dtype=np.int32).tobytes()))
    for output in ("out.i64.gz", "out.txt.gz"):
        with pytest.raises(OutputError):
            run(merge_job((name,), str(tmp_path / output)))
    assert os.listdir(tmp_path) == ["a.i32.gz"]


@pytest.mark.parametrize(("data", "said"), [(b"", "end too soon"), (b"1\n", "not readable|end too soon")])
def test_what_is_too_short_to_be_compressed(write: Write, suffix: str, data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_source(write(f"a.txt{suffix}", data), layout("text"))


def test_the_same_output_is_the_same_bytes_whenever_and_wherever(
    write: Write, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write("a.txt", b"".join(b"%06d\n" % number for number in range(9000)))
    found = []
    for place, seconds in (("x", 1_000_000_000), ("y", 1_700_000_000)):
        monkeypatch.setattr("time.time", lambda seconds=seconds: float(seconds))
        merge(backends_select.host(), [name], str(tmp_path / f"{place}{suffix}"))
        found.append((tmp_path / f"{place}{suffix}").read_bytes())
    assert found[0] == found[1]
