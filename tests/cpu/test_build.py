"""The messages of a build of the CPU's library that fails, and the files that a build keeps."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.order.key_types import DTYPES

BUILD = Path(__file__).parents[2] / "kernels" / "build_library.py"


def build(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, **environment}
    return subprocess.run([sys.executable, BUILD, *arguments], env=told, capture_output=True, text=True, check=False)


def test_a_compiler_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = build("--out", str(tmp_path), CXX="no-such-compiler")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "gpumerge: no-such-compiler does not run: No such file or directory; set CXX to a C++17 compiler\n"
    )


def test_a_compiler_that_fails_is_named_with_what_it_says(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "$0: no C++ here" >&2\nexit 3\n')
    compiler.chmod(0o755)
    done = build("--out", str(tmp_path / "lib"), CXX=str(compiler))
    assert done.returncode == 2
    first, *said = done.stderr.splitlines()
    assert first.startswith("gpumerge: ")
    assert first.endswith(
        "of the CPU's library cannot be built (exit 3); set CXX to another C++17 compiler, or report this"
    )
    assert said == [f"{compiler}: no C++ here"]
    assert not list((tmp_path / "lib").iterdir())


def test_an_unknown_level_is_told() -> None:
    done = build("--levels", "v9")
    assert done.returncode == 2
    assert "v9 is none of" in done.stderr


def test_another_machine_has_its_own_library_and_target(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = builder.Compiler(("zig", "c++"), Path("/zig/lib"))
    for machine, levels in {"aarch64": ("aarch64",), "x86_64": ("x86-64-v2", "x86-64-v3", "x86-64-v4")}.items():
        monkeypatch.setenv("GPUMERGE_BUILD_MACHINE", machine)
        assert (builder.machine(), builder.levels()) == (machine, levels)
        assert f"{machine}-linux-gnu.2.17" in compiler.flags("")


def test_an_unknown_machine_is_told() -> None:
    done = build(GPUMERGE_BUILD_MACHINE="ia64")
    assert (done.returncode, done.stdout) == (2, "")
    message = "gpumerge: GPUMERGE_BUILD_MACHINE: ia64 is not a machine to build for; use x86_64 or aarch64\n"
    assert done.stderr == message


def test_a_compiler_of_another_version_is_told(tmp_path: Path) -> None:
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "zig").write_text("#!/bin/sh\necho clang version 99\n")
    (package / "zig").chmod(0o755)
    done = build("--out", str(tmp_path / "lib"), PYTHONPATH=str(tmp_path), CXX="")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gpumerge: zig clang version 99 has no libcxx/src/new_helpers.cpp, ")
    assert done.stderr.endswith("; install the ziglang that pyproject.toml names, or set CXX to a C++17 compiler\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(
    not (BUILD.parents[1] / "build" / "cpu" / "objects").exists(),
    reason="needs a library that was built in this tree; run python kernels/build_library.py",
)
def test_nothing_unchanged_is_compiled_again(tmp_path: Path) -> None:
    level = sorted((BUILD.parents[1] / "gpumerge_cli" / "lib").glob("*.so"))[0].stem.removeprefix("gpumerge-")
    done = build("--levels", level, "--out", str(tmp_path), "--verbose")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path}/gpumerge-{level}.so\n"


def test_a_zig_at_another_place_takes_nothing_that_the_first_one_kept(builder: Any) -> None:
    here, there = (builder.Compiler(("zig", "c++"), Path(place)) for place in ("/a/lib", "/b/lib"))
    assert here.zig_cache != there.zig_cache
    assert here._environment()["ZIG_LOCAL_CACHE_DIR"] == str(here.zig_cache)


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that builds."""
    monkeypatch.syspath_prepend(BUILD.parent)
    return importlib.import_module(BUILD.stem)


def test_a_build_finds_kernels_by_their_files(tmp_path: Path, builder: Any) -> None:
    body = "inline void merge_{}(Pair pair, const LaunchSpec& launch, Item* scratch)\n{{\n}}\n"
    (tmp_path / "merge_new.hpp").write_text(body.format("new_full") + body.format("new_exact"), "utf-8")
    builder.list_kernels(tmp_path)
    made = (tmp_path / "kernels.hpp").read_text("utf-8")
    assert '#include "merge_new.hpp"\n' in made
    assert "#define KERNELS(KERNEL) KERNEL(new_full) KERNEL(new_exact)\n" in made
    assert made.count("DO(") == 2 * len([*DTYPES, "datetime64"])
    (tmp_path / "merge_other.hpp").write_text("void merge_other();\n", "utf-8")
    with pytest.raises(builder.BuildError, match=r"merge_other\.hpp has no merge_NAME\(Pair pair, "):
        builder.list_kernels(tmp_path)


def test_the_highest_level_has_few_units_of_its_own(builder: Any) -> None:
    def taken(level: str) -> dict[str, str]:
        return {unit.name: unit.compiled_for(level) for unit in builder.units()}

    assert set(taken("another").values()) == {"another"}
    assert set(taken("x86-64-v2").values()) == {"x86-64-v2"}
    waiting = {name for name, level in taken("x86-64-v3").items() if level == "x86-64-v2"}
    assert "sink" in waiting
    assert not {"keys-32-0-0", "keys-64-0-0", "rows_lines", "keys_radix"} & waiting
    assert set(taken("x86-64-v3").values()) == {"x86-64-v2", "x86-64-v3"}
    highest = taken("x86-64-v4")
    own = {name for name, level in highest.items() if level == "x86-64-v4"}
    assert {"about", "keys_radix", "keys-64-2-1"} < own
    assert len(own) < len(highest) / 2
    assert {name for name, level in highest.items() if level == "x86-64-v2"} == waiting
