"""One sort by several GPUs: of an array in host memory, of an array on one of them, or of an array in shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.interchange import as_array, offers_cuda_array
from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.options import check_aligned, check_backend, check_count, check_out, flag
from gpumerge_cli.arrays.plain_items import contiguous
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.engine.parallel import FEEDING_THREADS, PART_BYTES, for_each
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import SortRequest


def in_shares(array: Any) -> bool:
    """Whether it is a list of arrays on GPUs, the shares of one array."""
    return isinstance(array, list | tuple) and any(map(offers_cuda_array, array))


def sort_on_gpus(array: Any, devices: Sequence[int] | None, request: SortRequest, options: CallOptions) -> Any:
    """See gpumerge_cli.sort, for an `array` in shares, or with `devices`. options: without values."""
    options = options._replace(descending=flag("descending", options.descending))
    if in_shares(array):
        if devices is not None:
            raise UsageError("the shares of an array lie on their devices", way_out="leave devices out")
        return _of_shares([as_array(part) for part in array], request, options)
    if devices is None or not len(devices):
        raise UsageError("devices names no GPU", way_out="give their numbers, as in devices=[0, 1]")
    call = Call.of((array,), options)
    (given,), keys, out = call.arrays, call.keys, options.out
    if call.imaged is not None:
        raise UsageError("several GPUs sort only numbers, not columns", way_out="leave devices out")
    if call.on_device or keys.parts:
        keys.check_for_several_gpus()
    if not call.on_device:
        return _of_host(given, keys, gpu.create(devices), request, out)
    home = int(given.device.id)
    if home not in devices:
        raise UsageError(
            f"the array lies on GPU {home}, which is not one of {list(devices)}", way_out=f"name {home}, too"
        )
    with given.device:
        return _on_gpus([given], keys, devices, request, None if out is None else [out])[0]


def _of_shares(given: Sequence[Any], request: SortRequest, options: CallOptions) -> list[Any]:
    if not all(hasattr(part, "__cuda_array_interface__") for part in given):
        raise UsageError("shares lie partly in host memory", way_out="move all of them to GPUs")
    keys, out = ArrayKeys.of(given, options.key, options.descending), options.out
    keys.check_for_several_gpus()
    check_backend(options.backend, options.device)
    check_count("threads", options.threads)
    if out is not None:
        if not isinstance(out, list | tuple) or len(out) != len(given):
            raise UsageError(f"out is not a list of {len(given)} arrays", way_out="give one for each share")
        for one, part in zip(out, given, strict=True):
            check_out(one, keys.dtype, len(part), [part])
    numbers = [int(part.device.id) for part in given]
    if len(set(numbers)) < len(numbers):
        raise UsageError("two shares lie on one GPU", way_out="give one share for each GPU")
    return _on_gpus(given, keys, numbers, request, out)


def _on_gpus(
    given: Sequence[Any], keys: ArrayKeys, numbers: Sequence[int], request: SortRequest, outs: Sequence[Any] | None
) -> list[Any]:
    import cupy

    from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

    parts, targets = [], []
    for number, part in enumerate(given):
        check_aligned(part, "an array")
        with part.device:
            check_waiting(current_stream(), "a sort by several GPUs")
            parts.append(contiguous(part).view(keys.items))
            targets.append(cupy.empty(len(part), keys.dtype) if outs is None else outs[number])
    backend: Any = gpu.create(numbers)
    policy = backend.resolve_sort(request, keys.order, sum(part.nbytes for part in parts))
    views = [target.view(keys.items) for target in targets]
    if len(numbers) > 1:
        backend.sort_arrays(parts, keys.order, policy, views)
    else:
        with given[0].device:
            backend.sort_array(parts[0], keys.order, policy, views[0])
    return targets


def _of_host(given: Any, keys: ArrayKeys, backend: Backend, request: SortRequest, out: Any) -> Any:
    """Sort an array of host memory through a workspace; parts are copied in and out."""
    run = keys.run(given)
    target = np.empty(len(given), keys.dtype) if out is None else out
    source, result = run.view(np.uint8), target.view(keys.items).view(np.uint8)
    policy = backend.resolve_sort(request, keys.order, run.nbytes)
    size = max(1, PART_BYTES // run.itemsize) * run.itemsize
    workspace = backend.workspace(keys.order, run.nbytes)

    def bring(start: int) -> None:
        stop = min(start + size, run.nbytes)
        workspace.part(start, stop - start)[:] = source[start:stop]
        workspace.send(start, stop - start)

    def fetch(start: int) -> None:
        stop = min(start + size, run.nbytes)
        result[start:stop] = workspace.receive(start, stop - start)

    try:
        starts = range(0, run.nbytes, size)
        for_each(starts, bring, min(FEEDING_THREADS, max(1, len(starts))))
        workspace.adopt([run.nbytes])
        workspace.sort(policy)
        workspace.synchronize()
        for_each(starts, fetch, min(FEEDING_THREADS, max(1, len(starts))))
    finally:
        workspace.close()
    turned = keys.turned(run, target.view(keys.items))
    target.view(keys.items)[:] = turned
    return target
