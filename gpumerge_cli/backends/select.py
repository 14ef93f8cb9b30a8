"""Which backend does the work, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpumerge_cli import units
from gpumerge_cli.backends import costs, cpu, gpu
from gpumerge_cli.backends.base import DeviceInfo
from gpumerge_cli.backends.compared import ComparedBackend
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.order import Order


@dataclass(frozen=True)
class Selected:
    """A backend and the reason for it, in a sentence. compiling: seconds that its kernels will take to compile."""

    backend: ComparedBackend
    why: str
    compiling: float = 0.0


def select(
    choice: str,
    device: int,
    order: Order,
    nbytes: int | None,
    *,
    sharing: int = 1,
) -> Selected:
    """The backend for `nbytes` of input. choice: "auto", "gpu" or "cpu"; device: GPU number.

    nbytes: None where only the kernels count, not what it takes to get at them. sharing: how many runs share one
    start-up. Raises DeviceError if "gpu" is asked for and cannot be had.
    """
    if choice == "cpu":
        return Selected(cpu.create(), "asked for")
    if choice == "gpu":
        return Selected(gpu.create(device), "asked for", gpu.compile_seconds())
    if choice != "auto":
        raise UsageError(f"--backend {choice}: no such backend", way_out="use auto, gpu or cpu")
    if nbytes is None:
        return _first({"gpu": 0.0, "cpu": 0.0}, device, lambda name: "its kernels are the fastest")
    known = costs.load()
    cores = len(os.sched_getaffinity(0))
    still = {"cpu": 0.0, "gpu": gpu.compile_seconds()}
    seconds = {name: known.predict(name, order.costs_as, nbytes, cores, sharing, still[name]) for name in still}
    ranked = sorted(seconds, key=lambda name: seconds[name])

    def why(name: str) -> str:
        told = ", ".join(f"{other} {units.format_seconds(seconds[other])}" for other in ranked if other != name)
        own = units.format_seconds(seconds[name])
        once = f", {units.format_seconds(still[name])} of them to compile, once," if still[name] else ""
        return f"{own}{once} for {units.format_bytes(nbytes)} by the cost model ({known.source}); {told}"

    return _first({name: still[name] for name in ranked}, device, why)


def _first(compiling: Mapping[str, float], device: int, why: Callable[[str], str]) -> Selected:
    """The first of these backends that is to be had; the CPU's always is. compiling: as of Selected, for each."""
    missing = ""
    for name, seconds in compiling.items():
        if name == "cpu":
            reason = missing + why(name) if gpu.in_sight() else "the only backend of this machine"
            return Selected(cpu.create(), reason, seconds)
        try:
            return Selected(gpu.create(device), why(name), seconds)
        except DeviceError as error:
            missing = f"{error.what}; "
    raise AssertionError("the CPU is always there")


def available(device: int = 0) -> list[tuple[str, DeviceInfo | None, str]]:
    """Every backend as (name, what it runs on, ""), or (name, None, why it is not to be had)."""
    rows: list[tuple[str, DeviceInfo | None, str]] = []
    for name, create in (("gpu", lambda: gpu.create(device)), ("cpu", cpu.create)):
        try:
            rows.append((name, create().info(), ""))
        except DeviceError as error:
            rows.append((name, None, str(error)))
    return rows
