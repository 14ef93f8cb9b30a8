"""The scripts in data/bench start, and the picture of memory accesses is the one that its script draws."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "data" / "bench"
SCRIPTS = sorted(path for path in BENCH.glob("*.py") if "__main__" in path.read_text())
"""All but the modules that several of them share."""
STARTED = [path for path in SCRIPTS if path.name not in ("draw_access.py", "sweep_sorts.py")]
"""Those that take --help: the others have no options, or need a GPU for their imports."""


@pytest.mark.parametrize("script", STARTED, ids=lambda path: path.name)
def test_scripts_start(script: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(script), "--help"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_scripts_name_themselves_by_their_place() -> None:
    for script in SCRIPTS:
        assert f"data/bench/{script.name}" in script.read_text().split('"""')[1], script


def test_the_picture_of_accesses_is_drawn_by_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="figures need gpumerge[plot]")
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
