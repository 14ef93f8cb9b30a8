"""The compiler of C++ that builds a reader's kernel for the CPU: one that is installed."""

from __future__ import annotations

import os
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

from gpumerge_cli.cache import cache_folder
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import DeviceError

_NAMES = ("g++", "clang++", "c++")


@dataclass(frozen=True)
class HostCompiler:
    """command: the words that call it. flags: those that it needs beside the usual ones."""

    command: tuple[str, ...]
    flags: tuple[str, ...] = ()
    linker_flags: tuple[str, ...] = ()

    def environment(self) -> dict[str, str]:
        """The environment of a call. Zig keeps what it builds in the program's cache."""
        kept = str(Path(cache_folder()) / "zig")
        return {"ZIG_GLOBAL_CACHE_DIR": kept, "ZIG_LOCAL_CACHE_DIR": kept, **os.environ, "LC_ALL": "C"}


def host_compiler() -> HostCompiler:
    """The compiler that CXX names, one of the system, or that of the ziglang wheel. Raises DeviceError without any."""
    named = shlex.split(os.environ.get("CXX", ""))
    if named:
        return HostCompiler(tuple(named))
    # A relative entry of the PATH would let a folder of somebody's data name a program.
    path = os.pathsep.join(one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(one))
    for name in _NAMES:
        found = shutil.which(name, path=path)
        if found is not None:
            return HostCompiler((found,))
    return zig_compiler()


def zig_compiler() -> HostCompiler:
    """The compiler of the ziglang wheel. Raises DeviceError if it is not installed."""
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise DeviceError(
            "no C++ compiler was found to build your kernels for the CPU",
            way_out="pip install ziglang, or install g++",
        )
    flags = ("-fno-sanitize=undefined", "-fno-stack-protector")
    return HostCompiler((str(Path(spec.origin).parent / "zig"), "c++"), flags, ("-nostdlib++",))
