"""A reader's kernel on a GPU: NVRTC compiles it through CuPy, in a process of its own, which also runs it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import gpumerge_cli.backends.gpu.loose_kernel as loose
from gpumerge_cli.backends.gpu import presence
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.learn.cases import LaunchCase
from gpumerge_cli.learn.faults import KernelRun
from gpumerge_cli.learn.processes import SECONDS, run_cases
from gpumerge_cli.learn.puzzles import FILES, KernelTask

_PACKAGE = str(Path(__file__).parents[2])


def gpu_is_usable() -> bool:
    """Whether the system shows a GPU, and CuPy is installed."""
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
        if not gpu_is_usable():
            raise DeviceError(
                "no GPU is here, or CuPy is not installed", way_out="install gpumerge[cuda13], or use --backend cpu"
            )
        self._device = device

    def run(self, text: str, file: str, task: KernelTask, cases: Sequence[LaunchCase]) -> KernelRun:
        """As Emulator.run."""
        path = os.pathsep.join([_PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])])
        with tempfile.TemporaryDirectory(prefix="gpumerge-learn-") as name:
            folder = Path(name)
            source = folder / file
            source.write_text(with_given(text, file), "utf-8")
            words = [sys.executable, "-P", "-m", loose.__name__, str(source), task.kernel, str(int(task.staged)),
                     str(self._device)]  # fmt: skip
            environment = {**os.environ, "PYTHONPATH": path}
            done = run_cases(words, folder, task, cases, SECONDS, environment=environment)
            if done.fault is not None and done.fault.kind == "device":
                errors = folder / loose.ERRORS
                if errors.exists():
                    lines = errors.read_text("utf-8", "replace").strip().splitlines()
                    return KernelRun((), compiler="\n".join(line for line in lines if ".cubin.cu" not in line))
            return done
