"""The GPU backend. Nothing here needs CuPy until a function is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpumerge_cli.backends.gpu import presence
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.errors import DeviceError, GpumergeError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend


def limits_of(device: int) -> DeviceLimits:
    """The limits of GPU number `device`; if it cannot be used, those of the GPU that defaults were chosen on."""
    try:
        return create(device).limits
    except DeviceError:
        return TUNED_ON


def create(device: int | Sequence[int] = 0) -> GpuBackend:
    """The backend on GPU number `device`, or on several at once.

    Raises DeviceError, with the way out, if CuPy is not installed, no driver answers or the device is missing, and
    UsageError if a number is repeated.
    """
    numbers = (device,) if isinstance(device, int) else tuple(device)
    if not numbers:
        raise UsageError("no GPU is named", way_out="name one, or all")
    twice = [number for number in numbers if numbers.count(number) > 1]
    if twice:
        raise UsageError(f"GPU {twice[0]} is named {numbers.count(twice[0])} times", way_out="name it once")
    if presence.is_present():
        from gpumerge_cli.backends.gpu.early import make_contexts

        make_contexts(numbers)
    try:
        import cupy  # noqa: F401
    except ImportError as error:
        raise DeviceError(
            f"CuPy cannot be imported ({error})",
            way_out="install gpumerge[cuda13] or gpumerge[cuda12], or use the backend cpu",
        ) from error
    if len(numbers) > 1:
        from gpumerge_cli.backends.gpu.several import SeveralGpus

        return SeveralGpus(numbers)
    from gpumerge_cli.backends.gpu.backend import GpuBackend

    return GpuBackend(numbers[0])


def usable_device(number: int | None = None) -> Any:
    """The device of CuPy with this number, by default the current one. Raises DeviceError as `create` does."""
    create(number or 0)
    import cupy

    return cupy.cuda.Device(cupy.cuda.runtime.getDevice() if number is None else number)


@contextmanager
def cupy_errors() -> Iterator[None]:
    """Turn CuPy's errors inside the body into a DeviceError of one line. CuPy is imported only for an error."""
    try:
        yield
    except GpumergeError:
        raise
    except Exception as error:
        from gpumerge_cli.backends.gpu.failures import CUPY_ERRORS, device_error

        if isinstance(error, CUPY_ERRORS):
            raise device_error(error) from error
        raise
