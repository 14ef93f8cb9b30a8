"""The entry point of the `gpumerge` command and of `python -m gpumerge_cli`."""

from __future__ import annotations

# The module signal imports enum and half of collections. Until handlers are set, a signal ends in a traceback.
import _signal as signal  # type: ignore[import-not-found]
import gc
import os
import sys

TYPE_CHECKING = False  # importing typing takes time
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def main() -> None:
    """Run the command line that the process was started with, and exit."""
    # This comes first, so that a signal during imports ends in one line, too. There is nothing to clean up yet.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    # kernels/launcher.cpp held SIGINT back; a mask that a parent process set stays.
    if os.environ.pop("_GPUMERGE_HELD_SIGINT", "") == str(os.getpid()):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # NumPy's library for linear algebra, which nothing here uses, would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.meta_path.insert(0, _WithoutPandas())
    # Importing makes many objects and drops few, so early collections would find nothing.
    gc.set_threshold(50_000)
    try:
        _survive_limits()
        from gpumerge_cli.cli.app import invoke

        code = invoke(sys.argv[1:], last=True)
    except MemoryError:  # too little even for reporting errors; Python's own exit code would mean disorder
        _end_for_memory()
    # Everything is written and flushed. The interpreter's own end would take time, and wait for threads, one of which
    # may still wait for a pipe that never ends.
    os._exit(code)


class _WithoutPandas:
    """Hides pandas. The command line does not use it, and pyarrow would import it for its first array, in 0.2 s."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


_held: list[object] = []
"""The function that C calls as the process ends: it must not be collected."""


def _survive_limits() -> None:
    """Under a limit on address space (ulimit -v), turn a C library's call of exit into one line and exit code 2.

    OpenBLAS calls exit(1) where it gets no memory, and 1 would mean disorder. The program itself never calls exit.
    OpenBLAS writes a line of its own before that, to C's stderr, which nothing else here uses.
    """
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    import ctypes

    own = os.getpid()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    handler = kind(lambda _: _end_for_memory() if os.getpid() == own else None)
    _held.append(handler)
    linked = ctypes.CDLL(None)
    linked.__cxa_atexit(handler, None, None)
    linked.fopen.restype = ctypes.c_void_p
    nowhere = linked.fopen(os.devnull.encode(), b"w")
    if nowhere:
        ctypes.c_void_p.in_dll(linked, "stderr").value = nowhere


def _end_for_memory() -> NoReturn:
    try:
        os.write(2, b"gpumerge: not enough memory; close other programs, or raise a limit (ulimit -v)\n")
    finally:
        os._exit(2)


def _end(number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, b"gpumerge: interrupted; no output was written\n")
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    main()
