"""Nothing that lies in the current folder makes a command run anything, or is read, but the files that it names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

ROOT = Path(__file__).parents[2]
RUN = """
import json, os, sys, traceback
here, seen = os.getcwd(), {"opened": [], "started": []}
def watch(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "ctypes.dlopen") and isinstance(arguments[0], (str, bytes)):
        caller = sys._getframe().f_back
        if caller is not None and caller.f_code.co_name.startswith("_rmtree_safe_fd"):
            return  # the name lies in a folder that is open, which need not be the current one
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if here in path and (event != "ctypes.dlopen" or "/" in arguments[0]):
            seen["opened"].append(os.path.relpath(path, here))
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
        seen["started"].append(os.path.basename(os.fsdecode(arguments[0])))
sys.path.append(PACKAGE)
sys.addaudithook(watch)
import gpumerge_cli.compare.costs as costs
from gpumerge_cli.cli.app import invoke
costs._COUNTS, costs._REPEAT, costs._WRITTEN = {key: 20_000 for key in costs._COUNTS}, 1, 3_000_000
code = max(invoke(command.split()) for command in sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump(seen, file)
sys.exit(code)
"""
SETTINGS = {
    "matplotlibrc": "text.usetex: True\nno such key: 1\n",
    "dask.yaml": "distributed: {nonsense: 1}\n",
    "distributed.yaml": "distributed: {nonsense: 1}\n",
    "config": "[default]\ncredential_process = ./evil\n",
    "boto.cfg": "[Credentials]\n",
    ".env": "AWS_ENDPOINT_URL=http://127.0.0.1:9\n",
}
MODULES = ("json", "numpy", "dask", "distributed", "matplotlib", "rich", "typing", "gpumerge_cli", "sitecustomize")
COMMANDS = [
    ("merge a.txt b.txt -o out.txt", "sort a.txt b.txt -o out.txt", "check a.txt", "join a.txt b.txt", "info"),
    ("merge a.txt b.txt -o out.txt --cluster local:1",),
    ("path a.txt b.txt --kernel tiled --block-size 2 --tile-size 4 --rounds -o out.png",),
    ("bench --sizes 100 --runs 2 --dtypes int32 --repeat 1 --backend cpu --figures figures",),
    ("info --measure",),
]
"""Commands, some of them one after the other in one process: the later ones load what the earlier ones did not."""


@pytest.mark.parametrize("commands", COMMANDS, ids="; ".join)
def test_the_current_folder_holds_no_settings_of_libraries(commands: tuple[str, ...], tmp_path: Path) -> None:
    words = " ".join(commands).split()
    libraries = {"--cluster": "distributed", "path": "matplotlib", "bench": "matplotlib"}
    for library in {libraries[word] for word in words if word in libraries}:
        needs.library(library)
    folder, said = tmp_path / "data", tmp_path / "seen.json"
    folder.mkdir()
    for name, text in SETTINGS.items():
        (folder / name).write_text(text)
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'w'); raise SystemExit(9)\n")
    for name in ("latex", "dvipng", "evil"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
        (folder / name).chmod(0o755)
    (folder / "a.txt").write_text("1\n3\n")
    (folder / "b.txt").write_text("2\n4\n")
    script = tmp_path / "script" / "run.py"
    script.parent.mkdir()
    script.write_text(RUN.replace("PACKAGE", repr(str(ROOT))))
    done = subprocess.run(
        [sys.executable, script, said, *commands],
        cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")} if "--measure" in words else None,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ad key" not in done.stderr
    assert not (folder / "ran").exists()
    seen = json.loads(said.read_text())
    own = {".", "a.txt", "b.txt", "gpumerge.toml"}
    written = ("out.", "figures")
    assert {name for name in seen["opened"] if name not in own and not any(one in name for one in written)} == set()
    programs = {os.path.basename(sys.executable), "ldconfig", "uname", "fc-list", "nvidia-smi", "gcc", "cc", "ld"}
    assert {*seen["started"]} <= programs


def test_names_of_a_user_are_relative_to_the_current_folder(tmp_path: Path) -> None:
    needs.library("matplotlib")
    (tmp_path / "own").write_text("font.size: 33\n")
    code = (
        "import os; import gpumerge_cli.report.drawing, matplotlib; "
        "print(matplotlib.rcParams['font.size'], os.getcwd(), os.environ['MATPLOTLIBRC'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env=os.environ | {"MATPLOTLIBRC": "own", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.split() == ["33.0", str(tmp_path), "own"]
