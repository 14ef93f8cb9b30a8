"""Files of lines far longer than a chunk, a piece or the memory that was asked for."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.cpu.workspace import CpuWorkspace
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.cli import app as door

MB = 1_000_000


def written(path: Path, size: int) -> list[bytes]:
    """The file's lines in order: two of that size that differ at their ends, among small ones."""
    filler = b"m" * (size - 8)
    lines = [filler + b" 2000000", b"z", filler + b" 1000000", b"a 7", b"m", b"mm 10"]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return sorted(lines)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "options",
    [pytest.param([], marks=pytest.mark.thorough), ["-k2,2n"], ["-r", "-S", "8M", "--compress-program=builtin"]],
)
def test_lines_far_longer_than_a_chunk(backend: Backend, tmp_path: Path, options: list[str]) -> None:
    lines = written(tmp_path / "a", 25 * MB if backend.name == "gpu" else 9 * MB)
    if "-k2,2n" in options:
        lines.sort(key=lambda line: int(([*line.split(), b"0"])[1]))
    if "-r" in options:
        lines.reverse()
    where = [f"--backend={backend.name}", "-T", str(tmp_path)]
    expected = b"".join(line + b"\n" for line in lines)
    assert door.invoke(["sort", *where, *options, str(tmp_path / "a"), "-o", str(tmp_path / "b")]) == 0
    assert (tmp_path / "b").read_bytes() == expected
    order = [option for option in options if option[1] in "kr"]
    assert door.invoke(["sort", "-c", *where, *order, str(tmp_path / "b")]) == 0
    assert door.invoke(["sort", "-c", *where, *order, str(tmp_path / "a")]) == 1
    assert door.invoke(["sort", "-m", *where, *options, str(tmp_path / "b"), "-o", str(tmp_path / "c")]) == 0
    assert (tmp_path / "c").read_bytes() == expected


@pytest.mark.parametrize("options", [["-S", "1G"], pytest.param(["-S", "4M"], marks=pytest.mark.thorough)])
@pytest.mark.parametrize("small", [0, pytest.param(300_000, marks=pytest.mark.thorough)])
def test_a_long_line_is_held_once_and_moved_once(
    tmp_path: Path, options: list[str], small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the line there is memory only for its parts, and the output has the size of the input."""
    size = 200 * MB
    lines = [b"n", *(b"%07d" % number for number in range(small)), b"m" * size, b"z 1", b"b"]
    (tmp_path / "a").write_bytes(b"".join(line + b"\n" for line in lines))
    expected = b"".join(line + b"\n" for line in sorted(lines))
    moved = 0

    def count(name: str) -> None:
        given = getattr(CpuWorkspace, name)

        def counted(self: CpuWorkspace, *arguments: int) -> Bytes:
            nonlocal moved
            out: Bytes = given(self, *arguments)
            moved += len(out)
            return out

        monkeypatch.setattr(CpuWorkspace, name, counted)

    count("receive")
    count("download")
    where = ["sort", "--backend=cpu", *options, "-T", str(tmp_path), str(tmp_path / "a"), "-o", str(tmp_path / "b")]
    assert door.invoke(where) == 0
    assert (tmp_path / "b").read_bytes() == expected
    assert len(expected) <= moved < 2 * len(expected)
    assert peak_of(where) < 1.5 * size + (200 << 20)


def peak_of(arguments: list[str]) -> int:
    """The most bytes of memory that a process of its own takes."""
    program = (
        "import sys; from gpumerge_cli.cli.app import invoke; from gpumerge_cli.engine.resources import peak_memory; "
        "assert invoke(sys.argv[1:]) == 0; print(peak_memory())"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    "place",
    [pytest.param("first", marks=pytest.mark.thorough), "between", pytest.param("last", marks=pytest.mark.thorough)],
)
def test_a_merge_holds_a_long_line_once(tmp_path: Path, place: str) -> None:
    """Cuts that fall into it neither copy it nor read it again and again."""
    size, head = 200 * MB, {"first": b"", "between": b"0150000", "last": b"m"}[place]
    small = [b"%07d" % number for number in range(300_000)]
    runs = [sorted([*small[::2], head + b"\t" * size]), small[1::2]]
    for name, lines in zip("ab", runs, strict=True):
        (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in lines))
    where = ["sort", "-m", "--backend=cpu", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(tmp_path / "c")]
    assert peak_of(where) < 2.2 * size + (200 << 20)
    assert (tmp_path / "c").read_bytes() == b"".join(line + b"\n" for line in sorted([*runs[0], *runs[1]]))


@pytest.mark.thorough
@pytest.mark.parametrize("ordered", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_merge_to_a_stream_holds_a_long_line_once(tmp_path: Path, *, ordered: bool) -> None:
    """Whether it lies among lines in order, which are merged in chunks, or others."""
    size = 200 * MB
    (tmp_path / "a").write_bytes(b"m" * size + b"\n")
    (tmp_path / "b").write_bytes(b"a\nz\n" if ordered else b"z\na\n")
    with open(tmp_path / "c", "w+b") as out:
        where = ["sort", "-m", "--backend=cpu", "-S", "50M", str(tmp_path / "a"), str(tmp_path / "b")]
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", str(pipe)], stdout=out):
            peak = peak_of([*where, "-o", str(pipe)])
    assert peak < 1.3 * size + (100 << 20)
    lines = [b"a", b"m" * size, b"z"] if ordered else [b"m" * size, b"z", b"a"]
    assert (tmp_path / "c").read_bytes() == b"".join(line + b"\n" for line in lines)


def merged_with_a_long_line(folder: Path, words: list[str], output: str, size: int) -> bytes:
    """The expected lines of two files, of which one has a line of `size` bytes; it may be held once."""
    (folder / "a").write_bytes(b"m" * size + b"\n")
    (folder / "b").write_bytes(b"a\nz\n")
    where = ["--backend=cpu", "-S", "50M", str(folder / "a"), str(folder / "b"), "-o", str(folder / output)]
    assert peak_of([*words, *where]) < 1.3 * size + (100 << 20)
    return b"a\n" + b"m" * size + b"\nz\n"


@pytest.mark.thorough
@pytest.mark.parametrize("words", [["merge", "-q"], pytest.param(["sort", "--compressed"], marks=pytest.mark.thorough)])
def test_a_compressed_output_holds_a_long_line_once(tmp_path: Path, words: list[str]) -> None:
    expected = merged_with_a_long_line(tmp_path, words, "c.gz", 100 * MB)
    assert gzip.decompress((tmp_path / "c.gz").read_bytes()) == expected


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words", [["sort", "-m", "-u"], pytest.param(["merge", "-q", "--unique"], marks=pytest.mark.thorough)]
)
def test_a_merge_without_equals_looks_back_at_a_long_line_without_a_copy(tmp_path: Path, words: list[str]) -> None:
    expected = merged_with_a_long_line(tmp_path, words, "c", 200 * MB)
    assert (tmp_path / "c").read_bytes() == expected


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("size", [2_000 * MB, 2_200 * MB])  # on either side of 2^31
def test_a_line_of_two_gigabytes(tmp_path: Path, size: int) -> None:
    with open(tmp_path / "a", "wb") as file:
        file.write(b"n\n")
        for _ in range(size // MB):
            file.write(b"m" * MB)
        file.write(b" end\na\n")
    assert (
        door.invoke(["sort", "--backend=cpu", str(tmp_path / "a"), "-T", str(tmp_path), "-o", str(tmp_path / "b")]) == 0
    )
    assert (tmp_path / "a").stat().st_size == (tmp_path / "b").stat().st_size
    with open(tmp_path / "b", "rb") as file:
        assert file.read(12) == b"a\n" + b"m" * 10
        file.seek(-8, 2)
        assert file.read() == b"m end\nn\n"
    subprocess.run(["sort", "-c", str(tmp_path / "b")], check=True, env={"LC_ALL": "C"})


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, which counts bytes that were read; run it on Linux")
@pytest.mark.parametrize("set_of", ["union", "intersect"])
def test_sets_look_at_a_long_line_a_few_times(tmp_path: Path, set_of: str) -> None:
    """However many chunks it would fill, if chunks were cut within lines."""
    size = 4 * MB
    for name, last in (("a", b"y"), ("b", b"z")):
        (tmp_path / name).write_bytes(b"x" * size + b"\n" + last + b"\n")
    program = (
        "import sys; from gpumerge_cli.cli import app; status = app.invoke(sys.argv[1:]); "
        "print(status, *(line.split()[1] for line in open('/proc/self/io') if line.startswith('rchar')))"
    )
    words = [
        set_of,
        "-q",
        "--backend=cpu",
        "-S",
        "64K",
        str(tmp_path / "a"),
        str(tmp_path / "b"),
        "-o",
        str(tmp_path / "c"),
    ]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    status, read = map(int, done.stdout.split())
    assert status == 0
    assert (tmp_path / "c").read_bytes() == b"x" * size + (b"\ny\nz\n" if set_of == "union" else b"\n")
    assert read < 60 * 2 * size
