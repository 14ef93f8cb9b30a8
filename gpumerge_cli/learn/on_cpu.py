"""A reader's kernel on the CPU: compiled with calls ahead of its accesses, and run in a process of its own.

The emulator, emulator/runtime.cpp, sees accesses outside of arrays, and races. Only the text that is passed here is
compiled, and nothing else of the reader's folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gpumerge_cli.compiling import compiling
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.learn.cases import LaunchCase
from gpumerge_cli.learn.compilers import HostCompiler, host_compiler
from gpumerge_cli.learn.faults import KernelRun
from gpumerge_cli.learn.line_numbers import line_of
from gpumerge_cli.learn.processes import SECONDS, run_cases
from gpumerge_cli.learn.puzzles import FILES, KernelTask

EMULATOR = Path(__file__).parent / "emulator"
_COMPILING = 300.0
"""Seconds."""
_FIRST_SECONDS = 12.0
"""For ziglang's first call, which makes its own libraries and keeps them."""
_READER = ("-std=c++17", "-O0", "-g1", "-gdwarf-4", "-gz=none", "-fsanitize=thread", "-fno-exceptions", "-w")
_RUNTIME = ("-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", "-w")
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_SHARED = re.compile(r"\b(extern\s+)?__shared__\s+([\w\s:]*?\w)\s+(\w+\s*(?:\[[^;]*)?(?:,[^;]*)?);")
_DECLARED = re.compile(r"\s*(\w+)\s*((?:\[[^\]]*\]\s*)*)")
_MOST_COMPILER_LINES = 12


def emulated(text: str) -> str:
    """A reader's text for the emulator, which makes its shared arrays. Lines keep their numbers."""

    def blank(match: re.Match[str]) -> str:
        return match[1] or re.sub(r"[^\n]", " ", match[0])

    def shared(match: re.Match[str]) -> str:
        extern, item, names = match.groups()
        item = re.sub(r"__align__\([^)]*\)", "", item)
        made = []
        for name, sizes in _DECLARED.findall(names):
            if extern:
                made.append(f'{item}* {name} = ({item}*)emulator::dynamic_shared("{name}", sizeof({item}));')
            else:
                kind = f"{item}{sizes.strip()}"
                size = f"sizeof({kind}), sizeof({item})"
                made.append(f'auto& {name} = *({item}(*){sizes.strip()})emulator::shared_array("{name}", {size});')
        return " ".join(made) + "\n" * match[0].count("\n")

    return _SHARED.sub(shared, _COMMENT.sub(blank, text))


def _source(text: str, file: str, task: KernelTask) -> str:
    tile = ", tile" if task.staged else ""
    item = task.item
    other = "int" if task.other_dtype == "int32" else item
    out = "int" if task.shows != "merge" else item
    call = f"{task.kernel}((const {item}*)a, m, (const {other}*)b, n, ({out}*)c{tile})"
    return (
        f'#include "cuda.hpp"\n#line 1 "{file}"\n{emulated(text)}\n#line 1 "call"\n'
        f'extern "C" void emulator_call(const void* a, int m, const void* b, int n, void* c, int tile) {{ {call}; }}\n'
    )


@dataclass(frozen=True, eq=False)
class _Made:
    program: Path
    errors: str = ""


class Emulator:
    """Compiles and runs kernels in a folder of its own, which is removed at the end of the `with` statement.

    Raises DeviceError if there is no compiler.
    """

    processor = "cpu"

    def __init__(self, compiler: HostCompiler | None = None, *, seconds: int = SECONDS) -> None:
        self._compiler = compiler or host_compiler()
        self._seconds = seconds
        self._runtime: Path | None = None

    def __enter__(self) -> Emulator:
        self._folder = tempfile.TemporaryDirectory(prefix="gpumerge-learn-")
        self._place = Path(self._folder.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, text: str, file: str, task: KernelTask, cases: Sequence[LaunchCase]) -> KernelRun:
        """Run the kernel of a reader's text on the cases, up to the first fault.

        file: the name by which errors call it. Raises DeviceError if the compiler itself fails.
        """
        made = self._build(_source(text, file, task), file)
        if made.errors:
            return KernelRun((), compiler=made.errors)
        program = made.program.read_bytes()
        return run_cases(
            [str(made.program)], self._place, task, cases, self._seconds,
            line_of=lambda offset: line_of(program, offset, file),
        )  # fmt: skip

    def _build(self, source: str, file: str) -> _Made:
        name = re.sub(r"\W", "_", file)
        if self._runtime is None:
            self._runtime = self._place / "runtime.o"
            with compiling("the emulator", _FIRST_SECONDS):
                errors = self._call(*_RUNTIME, "-c", str(EMULATOR / "runtime.cpp"), "-o", str(self._runtime))
            if errors:
                raise DeviceError(
                    f"{self._compiler.command[0]} does not compile the emulator: {errors.splitlines()[0]}",
                    way_out="set CXX to a compiler of C++17, or pip install ziglang",
                )
        written, compiled, program = (self._place / f"{name}.{end}" for end in ("cpp", "o", "run"))
        written.write_text(source, "utf-8")
        include = (f"-I{EMULATOR}", f"-I{FILES}")
        errors = self._call(*_READER, *include, "-c", str(written), "-o", str(compiled))
        if not errors:
            with compiling("the emulator", _FIRST_SECONDS):
                errors = self._call(str(self._runtime), str(compiled), *self._compiler.linker_flags, "-o", str(program))
        lines = errors.replace(str(self._place) + os.sep, "").splitlines()
        return _Made(program, "\n".join(lines[:_MOST_COMPILER_LINES]))

    def _call(self, *words: str) -> str:
        """Call the compiler. Returns its errors, "" if there are none."""
        command = [*self._compiler.command, *self._compiler.flags, *words]
        try:
            done = subprocess.run(
                command, cwd=self._place, env=self._compiler.environment(), capture_output=True, text=True,
                stdin=subprocess.DEVNULL, errors="replace", timeout=_COMPILING, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = error.strerror if isinstance(error, OSError) else f"takes more than {_COMPILING:.0f} seconds"
            raise DeviceError(
                f"{command[0]} does not run: {reason}", way_out="set CXX to another compiler of C++17"
            ) from None
        return "" if done.returncode == 0 else (done.stderr.strip() or f"the compiler ends with {done.returncode}")
