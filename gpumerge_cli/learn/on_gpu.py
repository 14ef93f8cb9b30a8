"""A reader's kernel on a GPU: NVRTC compiles it through CuPy, in a process of its own, which also runs it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import gpumerge_cli.backends.gpu.loose_kernel as loose
from gpumerge_cli.backends.gpu import access, presence
from gpumerge_cli.learn.cases import LaunchCase
from gpumerge_cli.learn.faults import KernelRun
from gpumerge_cli.learn.processes import SECONDS, run_cases
from gpumerge_cli.learn.puzzles import FILES, KernelTask


def may_have_gpu() -> bool:
    """Whether the system shows a GPU, and CuPy is installed; the GPU may still not be usable."""
    return presence.is_present() and find_spec("cupy") is not None


def with_given(text: str, file: str) -> str:
    """A reader's text with the header given.cuh in place of its include; lines keep their numbers."""
    given = (FILES / "given.cuh").read_text("utf-8").replace("#pragma once\n", "")
    include = '#include "given.cuh"'
    ahead, found, behind = text.partition(include)
    line = ahead.count("\n") + 1
    inner = f'#line 1 "given.cuh"\n{given}\n#line {line} "{file}"\n' if found else ""
    return f'#line 1 "{file}"\n{ahead}{inner}{behind}'


class GpuRunner:
    """Runs kernels on one GPU. Raises DeviceError if there is none that can be used."""

    processor = "gpu"

    def __init__(self, device: int = 0) -> None:
        access.create(device)  # its errors tell what is missing
        self._device = device

    def run(self, text: str, file: str, task: KernelTask, cases: Sequence[LaunchCase]) -> KernelRun:
        """As Emulator.run."""
        with tempfile.TemporaryDirectory(prefix="gpumerge-learn-") as name:
            folder = Path(name)
            source = folder / file
            source.write_text(with_given(text, file), "utf-8")
            # -P: Python's own modules must not be looked for beside the program.
            words = [sys.executable, "-P", loose.__file__, str(source), task.kernel, str(int(task.staged))]
            done = run_cases([*words, str(self._device)], folder, task, cases, SECONDS)
            if done.fault is not None and done.fault.kind == "device":
                errors = folder / loose.ERRORS
                if errors.exists():
                    lines = errors.read_text("utf-8", "replace").strip().splitlines()
                    return KernelRun((), compiler="\n".join(line for line in lines if ".cubin.cu" not in line))
            return done
