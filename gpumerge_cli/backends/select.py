"""The choice of the backends that do the work, with its reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpumerge_cli import costs, units
from gpumerge_cli.backends.base import DeviceInfo
from gpumerge_cli.backends.compared import ComparedBackend
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.gpu import presence
from gpumerge_cli.backends.gpu.compile_time import compile_seconds
from gpumerge_cli.costs import Mix
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.cpu.backend import CpuBackend

_DRIVERS_GPUS = "/proc/driver/nvidia/gpus"
_ORDERS_BY_CPU = "the CPU alone compares in this order"


@dataclass(frozen=True)
class Selected:
    """A backend and the reason for it."""

    backend: ComparedBackend
    why: str
    """A sentence."""
    compiling: float = 0.0
    """Seconds that its kernels will take to compile."""
    expected: Mix | None = None
    """The prediction of the cost model; None if it was not used."""


@dataclass(frozen=True)
class ChosenGpu:
    """A GPU that takes part in a merge."""

    name: str
    """As in "gpu 0"."""
    create: Callable[[], ComparedBackend]
    """Makes its backend. Raises DeviceError."""


@dataclass(frozen=True)
class Choice:
    """The backends that work on one merge at once, and the reason for them."""

    host: Callable[[], ComparedBackend] | None
    """Makes the CPU's backend; None if the CPU takes no part."""
    devices: tuple[ChosenGpu, ...]
    """The GPUs that take part."""
    why: str
    """A sentence."""
    expected: Mix | None = None
    """The prediction of the cost model for all of them together; None if it was not used."""


def choose(
    choice: str, devices: tuple[int, ...] | None, order: Order, nbytes: int, *, threads: int | None = None,
    sharing: int = 1,
) -> Choice:  # fmt: skip
    """The backends that are fastest together for a merge of `nbytes`, by the cost model, within `choice`.

    choice: "auto", "gpu" or "cpu"; "auto" takes no more GPUs than the host's cores can feed. devices: numbers of GPUs;
    () for all GPUs, None if the user named none. threads: the host threads, None for one a core. sharing: see select.
    Raises DeviceError for a named GPU that is not there.
    """
    known, cores = costs.load_costs(), len(os.sched_getaffinity(0))
    cores = min(threads or cores, cores)
    numbers = _numbers_taken(choice, devices, order.costs_as, cores) if choice != "cpu" else ()
    predict = partial(known.mix, order.costs_as, nbytes, cores, sharing=sharing)
    if choice not in ("auto", "gpu", "cpu"):
        raise UsageError(f"--backend {choice}: no such backend", way_out="use auto, gpu or cpu")
    alone = predict(gpus=0)
    if choice == "cpu":
        return Choice(host, (), "asked for", alone)
    if choice == "auto" and not order.gpu:
        return Choice(host, (), _ORDERS_BY_CPU, alone)
    if choice == "auto" and not presence.is_present():
        return Choice(host, (), "the only backend of this machine", alone)
    on_gpus = tuple(ChosenGpu(f"gpu {number}", partial(gpu.create, number)) for number in numbers)
    predict = partial(predict, gpus=len(numbers), compiling=compile_seconds())
    if choice == "gpu":
        return Choice(None, on_gpus, "asked for", predict(host=False))
    both = predict()
    basis = f"for {units.format_bytes(nbytes)} by the cost model ({known.source})"
    seconds = units.format_seconds
    if both.pays:
        why = (
            f"both, {seconds(both.seconds)} {basis}; cpu {seconds(both.alone['cpu'])}, gpu {seconds(both.alone['gpu'])}"
        )
        return Choice(host, on_gpus, why, both)
    return Choice(host, (), f"{seconds(alone.seconds)} {basis}; gpu {seconds(both.alone['gpu'])}", alone)


def device_numbers(devices: tuple[int, ...] | None) -> tuple[int, ...]:
    """The numbers of the requested GPUs. devices: see choose. Raises DeviceError for a missing one."""
    if devices is None:
        return (0,)
    there = count_of_gpus()
    if not devices:
        return tuple(range(max(1, there)))
    known = there > 0 or not presence.is_present()
    missing = next((number for number in devices if known and number >= there), None)
    if missing is not None:
        raise DeviceError(
            f"no GPU {missing}: {presence.gpu_numbers(there)}", way_out="choose another device, or leave it out"
        )
    return devices


def _numbers_taken(choice: str, devices: tuple[int, ...] | None, items: str, cores: int) -> tuple[int, ...]:
    """The numbers of the GPUs that may work: see choose. items: as of costs.Costs.predict. Raises DeviceError."""
    numbers = device_numbers(devices)
    return numbers[: costs.load_costs().gpus_fed(items, cores)] if choice == "auto" else numbers


def sorts_on_devices(choice: str, order: Order, nbytes: int) -> bool:
    """Whether a device will probably do a sort, so that the host is idle while the device starts."""
    if choice != "auto":
        return choice == "gpu"
    return (
        order.gpu and presence.is_present() and next(iter(_predicted(order, nbytes, sharing=1, sorts=True)[0])) == "gpu"
    )


def host() -> CpuBackend:
    """The CPU's backend.

    Raises DeviceError if its library is missing or needs instructions that this processor lacks.
    """
    from gpumerge_cli.backends.cpu.backend import CpuBackend

    return CpuBackend()


def count_of_gpus() -> int:
    """The number of GPUs that programs may use, as the system reports it; 0 if it does not. Needs no CuPy."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        there = len(os.listdir(_DRIVERS_GPUS))
    except OSError:
        return 0
    return there if visible is None else min(there, len([name for name in visible.split(",") if name.strip()]))


def select(
    choice: str,
    device: int | Sequence[int],
    order: Order,
    nbytes: int | None,
    *,
    sharing: int = 1,
    sorts: bool = False,
) -> Selected:
    """One backend for `nbytes` of input. choice: "auto", "gpu" or "cpu"; device: GPU number, or several as one.

    nbytes: None to choose by the speed of the kernels alone, without start-up and transfers. sharing: the number of
    runs that share one start-up. sorts: the input is to be sorted, not merged. Raises DeviceError if `choice` is "gpu"
    and no GPU is available.
    """
    if choice == "cpu":
        return Selected(host(), "asked for")
    if choice == "gpu":
        return Selected(gpu.create(device), "asked for", compile_seconds())
    if choice != "auto":
        raise UsageError(f"--backend {choice}: no such backend", way_out="use auto, gpu or cpu")
    if not order.gpu:
        return Selected(host(), _ORDERS_BY_CPU)
    if not presence.is_present():
        return Selected(host(), "the only backend of this machine")
    if nbytes is None:
        return _first({"gpu": 0.0, "cpu": 0.0}, device, lambda name: "its kernels are the fastest")
    seconds, still = _predicted(order, nbytes, sharing=sharing, sorts=sorts)

    def why(name: str) -> str:
        others = ", ".join(f"{other} {units.format_seconds(seconds[other])}" for other in seconds if other != name)
        chosen = units.format_seconds(seconds[name])
        once = f", {units.format_seconds(still[name])} of them to compile, once," if still[name] else ""
        return (
            f"{chosen}{once} for {units.format_bytes(nbytes)} by the cost model ({costs.load_costs().source}); {others}"
        )

    return _first({name: still[name] for name in seconds}, device, why)


def _predicted(order: Order, nbytes: int, *, sharing: int, sorts: bool) -> tuple[dict[str, float], dict[str, float]]:
    """(seconds by the cost model for each backend, the fastest first; the seconds of compiling among them)."""
    known, cores = costs.load_costs(), len(os.sched_getaffinity(0))
    still = {"cpu": 0.0, "gpu": compile_seconds()}
    items = f"sorted_{order.costs_as}" if sorts else order.costs_as
    seconds = {name: known.predict(name, items, nbytes, cores, sharing, still[name]) for name in still}
    return dict(sorted(seconds.items(), key=lambda one: one[1])), still


def select_for_sort(
    choice: str, devices: tuple[int, ...] | None, order: Order, nbytes: int, *, sharing: int = 1
) -> Selected:
    """One backend, which may be several GPUs as one, for a whole sort. devices: see choose. The rest: see select."""
    cores = len(os.sched_getaffinity(0))
    numbers = _numbers_taken(choice, devices, f"sorted_{order.costs_as}", cores) if choice != "cpu" else (0,)
    found = select(choice, numbers[0] if len(numbers) == 1 else numbers, order, nbytes, sharing=sharing, sorts=True)
    seconds, _ = _predicted(order, nbytes, sharing=sharing, sorts=True)
    name = found.backend.name
    return replace(found, expected=Mix(seconds[name], {name: seconds[name]}, {name: 1.0}) if name in seconds else None)


def _first(compiling: Mapping[str, float], device: int | Sequence[int], why: Callable[[str], str]) -> Selected:
    """The first available of these backends; the CPU's always is. compiling: see Selected, by the backends' names."""
    missing = ""
    for name, seconds in compiling.items():
        if name == "cpu":
            return Selected(host(), missing + why(name), seconds)
        try:
            return Selected(gpu.create(device), why(name), seconds)
        except DeviceError as error:
            missing = f"{error.what}; "
    raise AssertionError("the CPU is always there")


def available() -> list[tuple[str, DeviceInfo | None, str]]:
    """Every backend as (name, its device, ""), or (name, None, the reason why it is unavailable)."""
    rows: list[tuple[str, DeviceInfo | None, str]] = []
    for name, create in (("gpu", partial(gpu.create, 0)), ("cpu", host)):
        try:
            rows.append((name, create().info(), ""))
        except DeviceError as error:
            rows.append((name, None, str(error)))
    return rows
