"""The scripts in data/bench start, and the picture of memory accesses is the one that its script draws."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import needs

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "data" / "bench"
SCRIPTS = sorted(path for path in BENCH.glob("*.py") if "__main__" in path.read_text())
"""All but the modules that several of them share."""
STARTED = [path for path in SCRIPTS if path.name not in ("draw_access.py", "sweep_sorts.py")]
"""Those that take --help: the others have no options, or need a GPU for their imports."""


START_ALL = """
import contextlib, io, runpy, sys
for script in sys.argv[1:]:
    sys.argv, told = [script, "--help"], io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(told):
        runpy.run_path(script, run_name="__main__")
    if not told.getvalue().startswith("usage: "):
        sys.exit(f"{script} tells {told.getvalue()!r}")
"""


def test_scripts_start(tmp_path: Path) -> None:
    """One process starts all of them, since each loads the same modules."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{BENCH}"}
    done = subprocess.run(
        [sys.executable, "-c", START_ALL, *map(str, STARTED)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_scripts_name_themselves_by_their_place() -> None:
    for script in SCRIPTS:
        assert f"data/bench/{script.name}" in script.read_text().split('"""')[1], script


def test_the_picture_of_accesses_is_drawn_by_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.library("matplotlib")
    spec = importlib.util.spec_from_file_location("draw_access", BENCH / "draw_access.py")
    assert spec is not None
    assert spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert drawing.sectors(drawing.coalesced()) == [0, 1, 2, 3]
    assert len(drawing.sectors(drawing.scattered())) == 16
    monkeypatch.setattr(sys, "argv", ["draw_access.py", str(tmp_path / "access.svg")])
    drawing.main()
    # The bytes are not compared: they change with Matplotlib.
    drawn, kept = (
        [element.get("id") for element in ElementTree.parse(path).iter() if "sector" in element.get("id", "")]
        for path in (tmp_path / "access.svg", ROOT / "data" / "figures" / "access.svg")
    )
    assert drawn == kept
    assert len(kept) == 32
