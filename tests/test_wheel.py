"""The shipped packages work: builds the wheel, installs it in a clean environment, and merges with it."""

from __future__ import annotations

import platform
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.options.commands import COMMAND_NAMES
from gpumerge_cli.native.library import LEVELS

ROOT = Path(__file__).parent.parent


def test_the_sdist_has_all_that_a_build_takes(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    made = {"kernels.hpp"}  # by build_library.py
    files = [path for path in (ROOT / "kernels").rglob("*") if path.is_file() and path.name not in made]
    sources = [path for path in files if "__pycache__" not in path.parts]
    assert sources
    assert {str(path.relative_to(ROOT)) for path in sources} <= names
    assert {"pyproject.toml", "LICENSE", "kernels/NOTICE", "README.md", "gpumerge_cli/__main__.py"} <= names
    assert [name for name in names if name.endswith((".so", ".o", ".pyc"))] == []


@pytest.mark.slow
@pytest.mark.thorough
def test_the_wheel_installs_and_merges(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    root = ROOT / "kernels"
    kernels = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.suffix in (".cu", ".cuh")]
    assert kernels
    assert {f"gpumerge_cli/kernels/{name}" for name in kernels} <= set(names)
    assert {f"gpumerge_cli/lib/gpumerge-{level}.so" for level in LEVELS} <= set(names)
    assert "gpumerge_cli/kernels/cpu/entries.h" in names
    puzzles = [path for folder in ("files", "emulator") for path in (ROOT / "gpumerge_cli/learn" / folder).iterdir()]
    assert {path.relative_to(ROOT).as_posix() for path in puzzles} <= set(names)
    assert wheel.name.endswith(f"-py3-none-manylinux_2_17_{platform.machine()}.whl")
    assert {"gpumerge_cli/py.typed", "gpumerge_cli/__init__.pyi", "gpumerge_cli/report/html.css"} <= set(names)
    parts = (ROOT / "gpumerge_cli" / "report" / "page").iterdir()
    assert {f"gpumerge_cli/report/page/{part.name}" for part in parts} <= set(names)
    assert {"gpumerge/__init__.py", "gpumerge/__init__.pyi", "gpumerge/py.typed"} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "data/"))]
    assert {"LICENSE", "NOTICE"} <= {name.rpartition("/")[2] for name in names if "dist-info/licenses/" in name}
    shared = {name.split(".data/data/")[1] for name in names if ".data/data/" in name}
    assert shared == {
        "share/man/man1/gpumerge.1",
        *(f"share/man/man1/gpumerge-{name}.1" for name in COMMAND_NAMES),
        "share/bash-completion/completions/gpumerge",
        "share/zsh/site-functions/_gpumerge",
        "share/fish/vendor_completions.d/gpumerge.fish",
    }
    assert [name.split(".data/scripts/")[1] for name in names if ".data/scripts/" in name] == ["gpumerge"]
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    install = [programs / "python", "-m", "pip", "install", "-q"]
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    if subprocess.run([*install, *needed], capture_output=True, cwd=tmp_path).returncode:
        pytest.skip(f"needs {', '.join(needed)} from a package index; connect to a network, or set PIP_INDEX_URL")
    subprocess.run([*install, "--no-index", str(wheel)], check=True, cwd=tmp_path)
    for name in ("a.i32", "b.i32"):
        np.arange(10, dtype=np.int32).tofile(tmp_path / name)
    subprocess.run(
        [programs / "gpumerge", "merge", "a.i32", "b.i32", "-o", "out.i32", "--backend", "cpu"],
        check=True,
        cwd=tmp_path,
    )
    assert np.fromfile(tmp_path / "out.i32", np.int32).tolist() == sorted([*range(10), *range(10)])
    program = "import gpumerge, gpumerge_cli; print(gpumerge is gpumerge_cli, gpumerge.merge([1, 3], [2]).tolist())"
    python = [programs / "python", "-c", program]
    said = subprocess.run(python, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert said.stdout == "True [1, 2, 3]\n"
    assert (programs / "gpumerge").read_bytes()[:4] == b"\x7fELF"
    assert (programs / "gpumerge-start").read_bytes()[:2] == b"#!"
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "gpumerge.1").exists()
    find = "from gpumerge_cli.backends.gpu.source import flatten"
    located = subprocess.run(
        [programs / "python", "-c", f"{find}; print(len(flatten('merge_path.cu')))"], cwd=tmp_path, check=False
    )
    assert located.returncode == 0
