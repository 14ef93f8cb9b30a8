"""Which backend does the work, and why."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from gpumerge_cli import units
from gpumerge_cli.backends import costs, cpu, gpu
from gpumerge_cli.backends.base import Backend, DeviceInfo
from gpumerge_cli.backends.reference import ReferenceBackend
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.order import Order


@dataclass(frozen=True)
class Selected:
    """A backend and the reason for it, in a sentence."""

    backend: Backend
    why: str


def select(
    choice: str, device: int, order: Order, nbytes: int | None, *, launch_given: bool = False, sharing: int = 1
) -> Selected:
    """The backend for `nbytes` of input. choice: "auto", "gpu", "cpu" or "reference"; device: GPU number.

    nbytes: None where only the kernels count, not what it takes to get at them. launch_given: the user named a kernel
    or a launch shape, which the reference would ignore. sharing: how many runs share one start-up. Raises DeviceError
    if "gpu" is asked for and cannot be had.
    """
    if choice == "reference":
        return Selected(ReferenceBackend(), "asked for")
    if choice == "cpu":
        return Selected(cpu.create(), "asked for")
    if choice == "gpu":
        return Selected(gpu.create(device), "asked for")
    if choice != "auto":
        raise UsageError(f"--backend {choice}: no such backend", way_out="use auto, gpu or cpu")
    if nbytes is None:
        return _first(["gpu", "cpu"], device, lambda name: "its kernels are the fastest")
    known = costs.load()
    cores = len(os.sched_getaffinity(0))
    seconds = {
        name: known.predict(name, order.is_lines, nbytes, cores, sharing)
        for name in costs.BACKENDS
        if name != "reference" or not launch_given
    }
    ranked = sorted(seconds, key=lambda name: seconds[name])

    def why(name: str) -> str:
        told = ", ".join(f"{other} {units.format_seconds(seconds[other])}" for other in ranked if other != name)
        own = units.format_seconds(seconds[name])
        return f"{own} for {units.format_bytes(nbytes)} by the cost model ({known.source}); {told}"

    return _first(ranked, device, why)


def _first(names: list[str], device: int, why: Callable[[str], str]) -> Selected:
    """The first of these backends that is to be had; all but the GPU's are."""
    missing = ""
    for name in names:
        if name != "gpu":
            return Selected(cpu.create() if name == "cpu" else ReferenceBackend(), missing + why(name))
        try:
            return Selected(gpu.create(device), why(name))
        except DeviceError as error:
            missing = f"{error.what}; "
    raise AssertionError("the CPU is always there")


def available(device: int = 0) -> list[tuple[str, DeviceInfo | None, str]]:
    """Every backend as (name, what it runs on, ""), or (name, None, why it is not to be had)."""
    rows: list[tuple[str, DeviceInfo | None, str]] = []
    for name, create in (("gpu", lambda: gpu.create(device)), ("cpu", cpu.create), ("reference", ReferenceBackend)):
        try:
            rows.append((name, create().info(), ""))
        except DeviceError as error:
            rows.append((name, None, str(error)))
    return rows
