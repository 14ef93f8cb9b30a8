#!/usr/bin/env python3
"""A few small sorts by several GPUs, in all ways that large ones go: what compute-sanitizer is to watch.

usage: compute-sanitizer python3 data/bench/check_devices.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cupy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gpumerge_cli.backends.gpu.several import SeveralGpus
from gpumerge_cli.backends.gpu.team_interface import ExchangePlan
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.order.kinds import Order


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    count = cupy.cuda.runtime.getDeviceCount()
    devices = list(range(count)) if count > 1 else [0, 0]
    backend, order = SeveralGpus(devices), Order.of("int32")
    values = np.random.default_rng(1).integers(-1000, 1000, 300_007).astype(np.int32)
    for plan in (None, ExchangePlan(overlapped=1), ExchangePlan(overlapped=1, direct=True)):
        for algorithm in ("auto", "merge"):
            policy = backend.resolve_sort(SortRequest(algorithm), order, values.nbytes)
            parts, outs = [], []
            for number, part in zip(devices, np.array_split(values, len(devices)), strict=True):
                with cupy.cuda.Device(number):
                    parts.append(cupy.asarray(part))
                    outs.append(cupy.empty_like(parts[-1]))
            backend.sort_arrays(parts, order, policy, outs, plan)
            assert (np.concatenate([one.get() for one in outs]) == np.sort(values)).all()
            with cupy.cuda.Device(devices[0]):
                array, out = cupy.asarray(values), cupy.empty(len(values), cupy.int32)
            backend.sort_arrays([array], order, policy, [out], plan)
            assert (out.get() == np.sort(values)).all()
    print("all right")


if __name__ == "__main__":
    main()
