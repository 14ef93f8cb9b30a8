"""data/bench/check_kernels.sh, with stand-ins for compute-sanitizer and for the programs that it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "data/bench/check_kernels.sh"
STEPS = ("plain", "memcheck", "racecheck", "initcheck", "older-plain", "older-memcheck", "older-racecheck")
PROGRAM = """#!/bin/sh
# As python -m PROGRAM FOLDER BEGINS: two processes take a piece of work each, and the second one may go wrong.
echo "pieces of work: 2"
for piece in 0 1; do
    mkdir "$3/$piece" 2> /dev/null || continue
    [ "$WRONG $piece" != "work 1" ] || exit 1
    [ "$WRONG $piece" != "time 1" ] || exec sleep 60
    [ "$WRONG $piece" = "piece 1" ] || echo "$piece: 7 right, in 0.1 s"
done
echo "7 merges, sorts, sets and checks right"
"""
SANITIZER = """#!/bin/sh
# As compute-sanitizer --tool TOOL OPTIONS... PROGRAM...
echo "========= COMPUTE-SANITIZER"
tool=$2
while [ "${1##*/}" != program ]; do shift; done
"$@" || exit 1
[ "$WRONG" = summary ] || echo "========= ERROR SUMMARY: 0 errors"
[ "$WRONG" != "$tool" ] || exit 1
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs bash and coreutils; run it on Linux")


def check(folder: Path, wrong: str, *steps: str, seconds: int = 60) -> tuple[int, list[str]]:
    """The script's exit status, and the first lines of its files, with something that goes wrong."""
    for name, text in (("program", PROGRAM), ("compute-sanitizer", SANITIZER), ("nproc", "#!/bin/sh\necho 4\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "WRONG": wrong}
    command = ["bash", SCRIPT, folder / "out", folder / "program", str(seconds), *steps]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_all_steps(tmp_path: Path) -> None:
    status, said = check(tmp_path, "nothing")
    assert status == 0, said
    assert [line.partition(":")[0] for line in said] == list(STEPS)
    assert all("2 of 2 pieces of work have ended" in line and "exit status 0" in line for line in said)
    found = {path.stem for path in (tmp_path / "out").iterdir()}
    assert found == {name for name in STEPS if "plain" not in name}
    assert "SUMMARY: 0 errors" in (tmp_path / "out/memcheck.txt").read_text()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("work", "1 of 2 pieces of work have ended"),
        ("piece", "1 of 2 pieces of work have ended"),
        ("summary", "2 of 2 processes have no summary"),
        ("racecheck", "0 of 2 processes have no summary; exit status 1"),
        ("time", "1 of 2 pieces of work have ended"),
    ],
)
def test_what_is_not_whole_is_an_error(tmp_path: Path, wrong: str, told: str) -> None:
    status, said = check(tmp_path, wrong, "racecheck", seconds=2 if wrong == "time" else 60)
    assert status == 1
    assert len(said) == 1
    assert said[0].startswith("racecheck: ")
    assert told in said[0]
    assert said[0].endswith("exit status 1")
