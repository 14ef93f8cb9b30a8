"""One GPU: its presence, its name and its limits."""

from __future__ import annotations

import cupy

from gpumerge_cli.backends.base import DeviceInfo
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.presence import gpu_numbers, is_present
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.errors import DeviceError


def device_numbered(number: int) -> cupy.cuda.Device:
    """Device `number`. Raises DeviceError if there is no driver or no such device."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        reason = (str(error).partition(": ")[2] or str(error)) if is_present() else gpu_numbers(0)
        raise DeviceError(
            f"no GPU can be used: {reason}", way_out="install or update the NVIDIA driver, or use the backend cpu"
        ) from error
    if not 0 <= number < count:
        raise DeviceError(
            f"no GPU {number}: {gpu_numbers(count)}", way_out="choose another device or use the backend cpu"
        )
    return cupy.cuda.Device(number)


def limits(device: cupy.cuda.Device) -> DeviceLimits:
    """The limits that the device's attributes give."""
    runtime = cupy.cuda.runtime

    def attribute(name: str) -> int:
        return int(runtime.deviceGetAttribute(getattr(runtime, f"cudaDevAttr{name}"), device.id))

    with device_errors():
        return DeviceLimits(
            max_threads=attribute("MaxThreadsPerBlock"),
            shared_memory=attribute("MaxSharedMemoryPerBlockOptin"),
            multiprocessors=attribute("MultiProcessorCount"),
            capability=int(device.compute_capability),
        )


def device_info(device: cupy.cuda.Device) -> DeviceInfo:
    """For reports and the `info` command."""
    with device_errors(), device:
        properties = cupy.cuda.runtime.getDeviceProperties(device.id)
        driver = cupy.cuda.runtime.driverGetVersion()
        runtime = cupy.cuda.runtime.runtimeGetVersion()
        compiler = cupy.cuda.nvrtc.getVersion()
    return DeviceInfo(
        backend="gpu",
        name=properties["name"].decode(),
        memory=properties["totalGlobalMem"],
        details={
            "device": str(device.id),
            "compute capability": f"{properties['major']}.{properties['minor']}",
            "multiprocessors": str(properties["multiProcessorCount"]),
            "shared memory per block": f"{properties['sharedMemPerBlockOptin']} bytes",
            "L2 cache": f"{properties['l2CacheSize']} bytes",
            "CUDA driver": _version(driver),
            "CUDA runtime": _version(runtime),
            "NVRTC": ".".join(map(str, compiler)),
            "CuPy": cupy.__version__,
        },
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
