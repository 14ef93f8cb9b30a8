"""Compiled kernels, one module for a kernel file and its macros."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import Any

from gpumerge_cli.backends.gpu.compiled import begin_compiling, kernel
from gpumerge_cli.backends.gpu.launching import Launch
from gpumerge_cli.backends.gpu.source import comparison_macros, compiler_options, row_macros, text_macros
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.kinds import Order

_USUAL_SHARED_MEMORY = 48 * 1024
_WITHOUT_KEYS = ("join_runs.cu", "write_words.cu", "hold.cu", "strings.cu")


@cache
def _function(device: int, file: str, name: str, macros: Macros, largest: int) -> Any:
    """The kernel for the current device, whose number is `device`. largest: bytes of shared memory, 0 for the usual.

    A kernel that needs more than the usual is allowed the most there is, so that all launch shapes share it.
    """
    return kernel(file, compiler_options(macros), name, largest)


class Kernels:
    """The kernels for one order on one device.

    Items are keys of the order's width, or rows; counts are in items. All arguments are 64-bit words. text and starts:
    see lines.cuh; both are 0 for keys, and starts is 0 for records.
    """

    def __init__(self, device: int, order: Order, limits: DeviceLimits) -> None:
        self.order = order
        self.limits = limits
        self._device = device
        # rows.cu reads the keys inside records, and others no keys at all.
        self._macros = {"rows.cu": row_macros(order), "text.cu": text_macros(), **dict.fromkeys(_WITHOUT_KEYS, ())}
        self._comparing = comparison_macros(order)
        self._ready: dict[tuple[Any, ...], Launch] = {}

    def ready(self, name: str, threads: int, macros: Macros = (), shared: int = 0, *, file: str = "") -> Launch:
        """The launches of kernel `name`, which is compiled in the background from now on. file: by default NAME.cu.

        threads: of a block. shared: bytes of dynamic shared memory.
        """
        kind = name, threads, macros, shared
        found = self._ready.get(kind)
        if found is None:
            file = file or f"{name}.cu"
            macros = (*self._macros.get(file, self._comparing), *macros)
            begin_compiling(file, compiler_options(macros), self.limits.capability)
            largest = self.limits.shared_memory if shared + kernel_size("STATIC_SHARED") > _USUAL_SHARED_MEMORY else 0
            find = partial(_function, self._device, file, name, macros, largest)
            found = self._ready[kind] = Launch(find, threads, shared)
        return found


gpu_kernels = lru_cache(maxsize=256)(Kernels)
"""Gives the same kernels for the same order and device. Each call on arrays looks them up."""
