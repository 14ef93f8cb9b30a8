"""Compiled code: made once, kept, loaded again, and never trusted when damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.native import Compiled, Library

ROOT = Path(__file__).parent.parent


class _Adder:
    """A compiler of one function, which counts how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, name: str) -> Compiled:
        from numba import cfunc, types

        self.calls += 1
        made = cfunc(types.int64(types.int64, types.int64))(lambda a, b: a + 3 * b)
        code = made._library.serialize_using_object_code()[2][0]
        return Compiled(made.native_name, 2, code, made.address, made)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "source.py").write_text("one")
    return tmp_path / "source.py"


def kept(source: Path) -> list[Path]:
    return sorted((source.parent / "cache").rglob("*.o"))


def test_code_is_compiled_once_and_loaded_again(source: Path) -> None:
    adder = _Adder()
    for _ in range(3):
        library = Library("test", [source], adder)
        assert library.function("add")(-(2**40), 5) == 15 - 2**40
        assert library.function("add") is library.function("add")
    assert adder.calls == 1
    assert [path.name for path in kept(source)] == ["add.o"]


def test_other_sources_mean_other_code(source: Path) -> None:
    adder = _Adder()
    Library("test", [source], adder).function("add")
    source.write_text("another")
    Library("test", [source], adder).function("add")
    assert adder.calls == 2
    assert len(kept(source)) == 2


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "no header"])
def test_damaged_code_is_made_anew(source: Path, harm: str) -> None:
    adder = _Adder()
    Library("test", [source], adder).function("add")
    place = kept(source)[0]
    data = place.read_bytes()
    place.write_bytes(
        {"cut": data[:-100], "changed": data[:-9] + bytes(9), "empty": b"", "no header": data[4096:]}[harm]
    )
    assert Library("test", [source], adder).function("add")(1, 1) == 4
    assert adder.calls == 2
    assert Library("test", [source], adder).function("add")(1, 1) == 4
    assert adder.calls == 2


def test_without_a_folder_it_works_too(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(source.parent / "file"))
    adder = _Adder()
    for _ in range(2):
        assert Library("test", [source], adder).function("add")(1, 2) == 7
    assert adder.calls == 2


def test_a_merge_needs_no_compiler_the_second_time(tmp_path: Path) -> None:
    """Numba stays out, whatever else is loaded."""
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "b.i32").write_bytes(bytes(8))
    program = (
        "import sys\n"
        "from gpumerge_cli.cli.app import run\n"
        "for words in (['a.txt', '-n'], ['b.i32'], ['b.i32', '-u']):\n"
        "    form = ['--format', 'text'] if '-n' in words else ['--dtype', 'int32']\n"
        "    assert run(['merge', '--backend', 'cpu', '-q', '-o', 'out', *form, *words]) == 0\n"
        "print('numba' in sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    said = [
        subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["True\n", "False\n"]
