"""The limits of a launch: those of a device, and those of the CPU's library."""

from __future__ import annotations

from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest

MAX_GRID = 2**31 - 1
"""Blocks that CUDA allows in a grid's first dimension."""
_HOPPER = 90
MAX_TILE = 1 << 24
"""The most items a tile that the CPU's library takes."""


@dataclass(frozen=True)
class DeviceLimits:
    """The limits of a device."""

    max_threads: int
    """Threads a block."""
    shared_memory: int
    """The bytes of shared memory that a block gets if it requests more than the usual 48 KiB."""
    multiprocessors: int
    capability: int = 75
    """The compute capability: 10 times its major number plus its minor number. 90 is Hopper."""

    @property
    def dynamic_shared(self) -> int:
        """Bytes of shared memory that a block may have beside the kernels' own variables."""
        return self.shared_memory - kernel_size("STATIC_SHARED")

    @property
    def has_bulk_copies(self) -> bool:
        """Whether a copy engine moves tiles between device and shared memory."""
        return self.capability >= _HOPPER

    @property
    def has_dependent_launches(self) -> bool:
        """Whether a kernel can begin while its predecessor still runs."""
        return self.capability >= _HOPPER


TUNED_ON = DeviceLimits(max_threads=1024, shared_memory=232448, multiprocessors=132, capability=90)
"""An NVIDIA H200. The defaults were chosen on it."""


def check_request(request: LaunchRequest, limits: DeviceLimits) -> None:
    """Raise UsageError for sizes below 1, and for more threads a block than the device has."""
    for name in ("block_size", "items_per_thread", "tile_size", "blocks"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value} is less than 1", way_out="use 1 or more")
    if request.block_size and request.block_size > limits.max_threads:
        raise UsageError(
            f"--block-size {request.block_size} is more than the {limits.max_threads} threads a block of this device",
            way_out=f"use at most {limits.max_threads}",
        )


def check_shared_memory(policy: LaunchPolicy, needed: int, limits: DeviceLimits) -> LaunchPolicy:
    """The policy itself. Raises UsageError if it needs more bytes of shared memory a block than this device has."""
    if needed > limits.dynamic_shared:
        raise UsageError(
            f"{policy.describe()}: needs {needed} bytes of shared memory a block, "
            f"this device has {limits.dynamic_shared}",
            way_out="lower --tile-size, --block-size or --items-per-thread",
        )
    return policy


def size_in_range(option: str, value: int | None, default: int, low: int, high: int, what: str) -> int:
    """The value, or the default if it is None. Raises UsageError for a value that is not from `low` to `high`."""
    if value is None:
        return default
    if not low <= value <= high:
        raise UsageError(f"{option} {value}: the CPU backend accepts {low} to {high} {what}")
    return value
