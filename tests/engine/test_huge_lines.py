"""Files of lines far longer than a chunk, a piece or the memory that was asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.cli import app as door

MB = 1_000_000


def written(path: Path, size: int) -> list[bytes]:
    """The file's lines in order: two of that size that differ at their ends, among small ones."""
    filler = b"m" * (size - 8)
    lines = [filler + b" 2000000", b"z", filler + b" 1000000", b"a 7", b"m", b"mm 10"]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return sorted(lines)


@pytest.mark.parametrize("options", [[], ["-k2,2n"], ["-r", "-S", "8M", "--compress-program=builtin"]])
def test_lines_of_25_megabytes(backend: Backend, tmp_path: Path, options: list[str]) -> None:
    if backend.name == "reference":
        pytest.skip("the reference is only as fast as it has to be")
    lines = written(tmp_path / "a", 25 * MB)
    if "-k2,2n" in options:
        lines.sort(key=lambda line: int(([*line.split(), b"0"])[1]))
    if "-r" in options:
        lines.reverse()
    where = [f"--backend={backend.name}", "-T", str(tmp_path)]
    expected = b"".join(line + b"\n" for line in lines)
    assert door.run(["sort", *where, *options, str(tmp_path / "a"), "-o", str(tmp_path / "b")]) == 0
    assert (tmp_path / "b").read_bytes() == expected
    order = [option for option in options if option[1] in "kr"]
    assert door.run(["sort", "-c", *where, *order, str(tmp_path / "b")]) == 0
    assert door.run(["sort", "-c", *where, *order, str(tmp_path / "a")]) == 1
    assert door.run(["sort", "-m", *where, *options, str(tmp_path / "b"), "-o", str(tmp_path / "c")]) == 0
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
    assert door.run(["sort", "--backend=cpu", str(tmp_path / "a"), "-T", str(tmp_path), "-o", str(tmp_path / "b")]) == 0
    assert (tmp_path / "a").stat().st_size == (tmp_path / "b").stat().st_size
    with open(tmp_path / "b", "rb") as file:
        assert file.read(12) == b"a\n" + b"m" * 10
        file.seek(-8, 2)
        assert file.read() == b"m end\nn\n"
    subprocess.run(["sort", "-c", str(tmp_path / "b")], check=True, env={"LC_ALL": "C"})
