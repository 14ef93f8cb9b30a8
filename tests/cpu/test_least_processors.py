"""Each level of the library runs on a processor that has no more than the level needs. QEMU emulates it."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import gpumerge_cli
from gpumerge_cli.native.library import VARIABLE, processor_levels
from tests import needs

LIBRARIES = Path(gpumerge_cli.__file__).parent / "lib"
PROCESSORS = {"x86-64-v2": "Nehalem", "x86-64-v3": "Haswell-v4"}
COMMANDS = {
    "words": "sort words",
    "numbers": "sort -n words",
    "merged numbers": "merge -q -n numbers numbers",
    "versions": "sort -V words",
    "fields": "sort -t , -k2,2n -k1,1 rows.csv",
    "names": "sort --field b:hex rows.csv",
    "joined": "join -q -t , -o auto rows rows",
    "set": "symmetric -q numbers.i32 others.i32",
    "binary": "merge -q numbers.i32 others.i32",
    "binary sort": "sort --format raw --dtype i4 unsorted.i32",
}
OUTPUTS = {name: f"out{at}{'.i32' * ('.i32' in COMMANDS[name])}" for at, name in enumerate(COMMANDS)}
ALL = "\n".join(f"{command} --output {OUTPUTS[name]}" for name, command in COMMANDS.items())
PROGRAM = (
    "import sys; from gpumerge_cli.cli.app import invoke; "
    "sys.exit(sum(invoke(line.split()) for line in sys.argv[1].splitlines()))"
)


def write_inputs(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    numbers = sorted(chance.randrange(10**6) for _ in range(5000))
    words = [f"{chance.choice('abc')}{chance.randrange(1000)}.{chance.randrange(9)}" for _ in range(5000)]
    rows = sorted(f"{chance.randrange(10**5):05},{chance.randrange(10**5)}" for _ in range(2000))
    for name, lines in {"words": words, "numbers": numbers, "rows": rows, "rows.csv": ["a,b", *rows]}.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    others = sorted(chance.choices(numbers, k=3000))
    for name, items in {"numbers": numbers, "others": others, "unsorted": chance.sample(numbers, 5000)}.items():
        (folder / f"{name}.i32").write_bytes(struct.pack(f"<{len(items)}i", *items))


@pytest.mark.thorough
@pytest.mark.parametrize("level", PROCESSORS)
def test_the_same_bytes_as_here(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    if level not in processor_levels() or not (LIBRARIES / f"gpumerge-{level}.so").exists():
        pytest.skip(f"needs the library of {level}; run kernels/build_library.py on a processor that has it")
    emulator = needs.program("qemu-x86_64")
    write_inputs(tmp_path, seed)
    own = {name: os.environ[name] for name in os.environ if name != VARIABLE}
    for folder, words, environment in (
        ("there", [emulator, "-cpu", PROCESSORS[level]], {**own, VARIABLE: level.removeprefix("x86-64-")}),
        ("here", [], own),
    ):
        (tmp_path / folder).mkdir()
        for path in tmp_path.iterdir():
            if path.is_file():
                (tmp_path / folder / path.name).symlink_to(path)
        command = [*words, sys.executable, "-c", PROGRAM, ALL]
        done = subprocess.run(command, cwd=tmp_path / folder, env=environment, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr.decode()
    for name, output in OUTPUTS.items():
        there, here = (tmp_path / folder / output for folder in ("there", "here"))
        assert there.read_bytes() == here.read_bytes(), name
