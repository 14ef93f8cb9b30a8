"""The scripts in data/bench start, and the picture of memory accesses is the one that its script draws."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests import needs

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "data" / "bench"
SCRIPTS = sorted(path for path in BENCH.glob("*.py") if "__main__" in path.read_text())
"""All but the modules that several of them share."""
WITHOUT_HELP = ("draw_access.py", "draw_network.py", "record_terminal.py", "sweep_sorts.py")
STARTED = [path for path in SCRIPTS if path.name not in WITHOUT_HELP]
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


def drawing_of(script: str) -> Any:
    needs.library("matplotlib")
    spec = importlib.util.spec_from_file_location(script.removesuffix(".py"), BENCH / script)
    assert spec is not None
    assert spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = drawing  # data classes look for their module there
    spec.loader.exec_module(drawing)
    return drawing


def drawn_ids(drawing: Any, figure: str, part: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids with `part` in them, of the figure as it is drawn now; they equal those of the kept one."""
    monkeypatch.setattr(sys, "argv", ["script", str(folder / figure)])
    drawing.main()
    # The bytes are not compared: they change with Matplotlib.
    drawn, kept = (
        [element.get("id", "") for element in ElementTree.parse(path).iter() if part in element.get("id", "")]
        for path in (folder / figure, ROOT / "data" / "figures" / figure)
    )
    assert drawn == kept
    return drawn


def test_the_picture_of_accesses_is_drawn_by_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = drawing_of("draw_access.py")
    assert drawing.sectors(drawing.coalesced()) == [0, 1, 2, 3]
    assert len(drawing.sectors(drawing.scattered())) == 10
    assert len(drawn_ids(drawing, "access.svg", "sector", tmp_path, monkeypatch)) == 20


def test_the_picture_of_vectors_is_drawn_by_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = drawing_of("draw_network.py")
    found = drawing.steps()
    assert [key for step in found for key, _ in step.out] == sorted(drawing.A + drawing.B)[:8]
    assert [key for key, _ in drawing.network(found[0].held, found[0].taken)[-1]] == [1, 2, 3, 4, 5, 6, 7, 9]
    assert len(drawn_ids(drawing, "vector-merge.svg", "lane-", tmp_path, monkeypatch)) == 32
