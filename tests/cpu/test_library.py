"""The choice of the level of the CPU's library, and the messages for a library that does not fit."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.native import library as loader

FLAGS = {
    "v2": "fpu cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
    "v3": "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave",
    "v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
x86_64 = pytest.mark.skipif(loader.LEVELS[0] != "x86-64-v2", reason="needs a processor with levels; run it on x86-64")


@x86_64
def test_a_processor_has_the_levels_whose_flags_it_has() -> None:
    v2, v3, v4 = (frozenset(FLAGS[level].split()) for level in ("v2", "v3", "v4"))
    assert loader.levels_of_flags(v2 | v3 | v4) == loader.LEVELS
    assert loader.levels_of_flags(v2 | v3) == loader.LEVELS[:2]
    assert loader.levels_of_flags(v2 | v4) == loader.LEVELS[:1]
    assert loader.levels_of_flags(v3 | v4) == ()
    for missing in v3:
        assert loader.levels_of_flags((v2 | v3 | v4) - {missing}) == loader.LEVELS[:1]


@x86_64
def test_the_best_level_that_is_there_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(loader.VARIABLE, raising=False)
    monkeypatch.setattr(loader, "processor_levels", lambda: loader.LEVELS[:2])
    for level in (loader.LEVELS[0], loader.LEVELS[2]):
        (tmp_path / f"gpumerge-{level}.so").touch()
    assert loader.chosen_level(tmp_path) == "x86-64-v2"
    (tmp_path / "gpumerge-x86-64-v3.so").touch()
    assert loader.chosen_level(tmp_path) == "x86-64-v3"
    monkeypatch.setenv(loader.VARIABLE, "v2")
    assert loader.chosen_level(tmp_path) == "x86-64-v2"
    monkeypatch.setenv(loader.VARIABLE, "x86-64-v3")
    assert loader.chosen_level(tmp_path) == "x86-64-v3"


@x86_64
def test_a_level_that_cannot_be_forced_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "processor_levels", lambda: loader.LEVELS[:2])
    monkeypatch.setenv(loader.VARIABLE, "v5")
    with pytest.raises(UsageError, match="it is not a level; use one of x86-64-v2, x86-64-v3, x86-64-v4"):
        loader.chosen_level(tmp_path)
    monkeypatch.setenv(loader.VARIABLE, "v4")
    with pytest.raises(
        UsageError, match="this processor lacks instructions that x86-64-v4 needs; use x86-64-v3 at most"
    ):
        loader.chosen_level(tmp_path)
    monkeypatch.delenv(loader.VARIABLE)
    monkeypatch.setattr(loader, "processor_levels", lambda: ())
    with pytest.raises(DeviceError, match="x86-64-v2, the lowest level"):
        loader.chosen_level(tmp_path)
    monkeypatch.setattr(loader, "_PROCESSORS", str(tmp_path / "cpuinfo"))
    with pytest.raises(DeviceError, match=r"cpuinfo is missing, which tells .*; mount /proc$"):
        loader.chosen_level(tmp_path)


def test_a_library_that_does_not_fit_is_told_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    level = loader.LEVELS[0]
    path = tmp_path / f"gpumerge-{level}.so"
    with pytest.raises(DeviceError, match="is missing from this installation; reinstall gpumerge"):
        loader.load_library(tmp_path, level)
    path.write_bytes(b"\x7fELF of another kind")
    with pytest.raises(DeviceError, match=r"cannot be loaded: .*; reinstall gpumerge"):
        loader.load_library(tmp_path, level)
    real = next((Path(loader.entries_file()).parents[2] / "gpumerge_cli" / "lib").glob("*.so"))
    path.unlink()
    path.write_bytes(real.read_bytes())
    monkeypatch.setattr(loader, "__version__", "99.0")
    with pytest.raises(DeviceError, match=r"is of version .*, the program of 99\.0-.*; reinstall gpumerge"):
        loader.load_library(tmp_path, level)


@pytest.mark.parametrize("name", loader.SHARED_HEADERS)
def test_a_library_of_other_numbers_is_told(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds of keys go to the library by their numbers, so a library of an older list would give wrong orders."""
    kernels = Path(loader.entries_file()).parents[1]
    for each in loader.SHARED_HEADERS:
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).write_bytes((kernels / each).read_bytes())
    level, libraries = loader.chosen_level(kernels.parent / "gpumerge_cli" / "lib"), kernels.parent / "gpumerge_cli/lib"
    monkeypatch.setattr(loader, "entries_file", lambda: tmp_path / "cpu" / "entries.h")
    loader.load_library(libraries, level)
    with (tmp_path / name).open("a", encoding="utf-8") as header:
        header.write("\n")
    with pytest.raises(DeviceError, match="is of version"):
        loader.load_library(libraries, level)


def test_the_build_and_the_program_know_the_same_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(loader.entries_file()).parents[1]))
    build: Any = importlib.import_module("build_library")
    assert build.SHARED_HEADERS == loader.SHARED_HEADERS
    assert build.version() == loader.expected_version()


@x86_64
def test_the_command_ends_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n")
    command = [sys.executable, "-m", "gpumerge_cli", "merge", "a", "--backend", "cpu", "-o", "out"]
    told = {**os.environ, loader.VARIABLE: "v9"}
    done = subprocess.run(command, cwd=tmp_path, env=told, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "gpumerge: GPUMERGE_CPU_LEVEL: it is not a level; use one of x86-64-v2, x86-64-v3, x86-64-v4\n"
    )


def test_the_library_is_of_these_sources() -> None:
    """If this fails, kernels/ was edited since the build: run python kernels/build_library.py."""
    level = loader.library().gm_level().decode()
    assert level in loader.processor_levels()
    root = Path(__file__).parents[2]
    built = (root / "gpumerge_cli" / "lib" / f"gpumerge-{level}.so").stat().st_mtime
    sources = [*(root / "kernels").glob("*.cuh"), *(root / "kernels" / "cpu").iterdir()]
    assert [path.name for path in sources if path.stat().st_mtime > built] == []


AT_ONCE = """
import sys, threading
from gpumerge_cli.native.library import library
found, together = [], threading.Barrier(8)
def ask():
    together.wait()
    found.append(library())
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len({id(one) for one in found}))
"""


def test_threads_that_ask_at_once_get_one_library() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", AT_ONCE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_a_build_leaves_the_parts_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two builds may share a folder of objects: what one is writing is no leftover of older sources for the other."""
    monkeypatch.syspath_prepend(str(Path(loader.entries_file()).parents[1]))
    build: Any = importlib.import_module("build_library")
    compiler = SimpleNamespace(zig_cache=tmp_path / "none" / "zig")
    made = build.Build(compiler, lambda what: None, tmp_path)
    made._used.add(tmp_path / "gpumerge-v2-new.so")
    for name in (
        "gpumerge-v2-new.so",
        "gpumerge-v2-old.so",
        "gpumerge-v2-other.7.part.so",
        "gpumerge-v2-left.7.part.so",
    ):
        (tmp_path / name).touch()
    os.utime(tmp_path / "gpumerge-v2-left.7.part.so", (0, 0))
    made._forget()
    assert {path.name for path in tmp_path.iterdir()} == {"gpumerge-v2-new.so", "gpumerge-v2-other.7.part.so"}
