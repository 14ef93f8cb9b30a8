"""Which backend does the work, and why."""

from __future__ import annotations

from dataclasses import dataclass

from gpumerge_cli import units
from gpumerge_cli.backends import cpu, gpu
from gpumerge_cli.backends.base import Backend, DeviceInfo
from gpumerge_cli.backends.reference import ReferenceBackend
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.order import Order

# NumPy sorts this many bytes of keys in less time than Numba takes to import (0.2 s), Python this many of lines.
_SMALL_KEYS = 4 << 20
_SMALL_LINES = 256 << 10
# Below this, importing CuPy and opening a context (0.4 to 0.9 s) takes longer than two cores take to merge.
_LARGE = 512 << 20


@dataclass(frozen=True)
class Selected:
    """A backend and the reason for it, in a sentence."""

    backend: Backend
    why: str


def select(choice: str, device: int, order: Order, nbytes: int, *, launch_given: bool = False) -> Selected:
    """The backend for `nbytes` of input. choice: "auto", "gpu", "cpu" or "reference"; device: GPU number.

    launch_given: the user named a kernel or a launch shape, which the reference would ignore. Raises DeviceError if
    "gpu" is asked for and cannot be had.
    """
    if choice == "reference":
        return Selected(ReferenceBackend(), "asked for")
    if choice == "cpu":
        return Selected(cpu.create(), "asked for")
    if choice == "gpu":
        return Selected(gpu.create(device), "asked for")
    if choice != "auto":
        raise UsageError(f"--backend {choice}: no such backend", way_out="use auto, gpu or cpu")
    size = units.format_bytes(nbytes)
    if not launch_given and nbytes <= (_SMALL_LINES if order.is_lines else _SMALL_KEYS):
        return Selected(ReferenceBackend(), f"{size} is sorted before a compiled kernel would be loaded")
    if nbytes < _LARGE:
        return Selected(cpu.create(), f"{size} is merged before a GPU would be ready")
    try:
        return Selected(gpu.create(device), f"a GPU is there, and {size} outweighs its start-up")
    except DeviceError as error:
        return Selected(cpu.create(), f"no GPU: {error.what}")


def available(device: int = 0) -> list[tuple[str, DeviceInfo | None, str]]:
    """Every backend as (name, what it runs on, ""), or (name, None, why it is not to be had)."""
    rows: list[tuple[str, DeviceInfo | None, str]] = []
    for name, create in (("gpu", lambda: gpu.create(device)), ("cpu", cpu.create), ("reference", ReferenceBackend)):
        try:
            rows.append((name, create().info(), ""))
        except DeviceError as error:
            rows.append((name, None, str(error)))
    return rows
