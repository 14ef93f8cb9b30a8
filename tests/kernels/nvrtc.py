"""Orders, architectures and a compiler for the tests that compile kernels with NVRTC. They need no GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends.gpu.source import flatten
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.launch import FAN_INS
from gpumerge_cli.order.key_kinds import KIND_OF
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests import needs
from tests.rungs import GPU_KERNELS

RECORD_ORDERS = [
    Order.records(size, offset, key, descending=down)
    for size, offset, key in [
        (100, 0, 10), (1, 0, 1), (7, 2, 5), (16, 3, np.dtype(">f8")), (24, 1, np.dtype("f2")), (4097, 8, 4000),
        (12, 4, np.dtype("i8")), (3, 0, np.dtype("u1")), (1 << 30, 1 << 29, np.dtype(">i4")),
    ]
    for down in (False, True)
] + [
    order_of(np.dtype("u1,>f8,S3,<i2"), Key(fields=("f3,f1:r,f0",))),
    order_of(np.dtype("u1,<u2,S9"), Key(fields=("f0,f1:r",))),
]  # fmt: skip
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
# Those between take the same ways through the sources as their neighbours.
FEW = (75, 90, 120)
SOME = [at if at in (75, 90) else pytest.param(at, marks=pytest.mark.thorough) for at in ARCHITECTURES]
ONE = [at if at == 75 else pytest.param(at, marks=pytest.mark.thorough) for at in ARCHITECTURES]
"""For kernels of lines, which take seconds. Other tests compile them for 90."""
# Those between differ from them in the length of loops.
SOME_FAN_INS = [at if at in (2, 16) else pytest.param(at, marks=pytest.mark.thorough) for at in FAN_INS]
SHARED = {75: 64, 80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}
"""KiB of shared memory that a block may have, by the architecture."""
QUICKLY = True
"""Whether a test compiles without optimizations; see the fixture `quickly`."""
EVERY_COMPARISON = LineOrder(tuple(map(LineKey, KIND_OF)))
LEVELS = ("partition.cu", *(f"merge_{name}.cu" for name in GPU_KERNELS))
MERGES = (*LEVELS, "check.cu")
KEY_ORDERS = [Order.of(name, descending=down) for name in (*DTYPES, "datetime64[s]") for down in (False, True)]


def ordered(orders: list[Order]) -> list[Any]:
    """Parameters of a test: every fourth ascending order. The others, which differ little, are for thorough runs."""
    usual = [order for order in orders if not order.descending][::4]
    marks = pytest.mark.thorough
    return [pytest.param(order, marks=() if order in usual else marks, id=order.describe()) for order in orders]


def compile_for(architecture: int, file: str, options: tuple[str, ...]) -> None:
    """Compile a file as the product does it, but for optimizations; see QUICKLY. Tests share what they compile."""
    _compile(architecture, file, options, QUICKLY)


@cache
def _compile(architecture: int, file: str, options: tuple[str, ...], quickly: bool) -> None:
    nvrtc = needs.library("cupy").cuda.nvrtc
    from gpumerge_cli.backends.gpu.compiled import _compiled

    try:
        supported = nvrtc.getSupportedArchs()
    except RuntimeError as error:
        pytest.skip(needs.nvrtc(error))
    if architecture not in supported:
        pytest.skip(f"needs an NVRTC that knows sm_{architecture}; pip install -U 'gpumerge[cuda13]'")
    quick = ("--Ofast-compile=max",) if quickly and nvrtc.getVersion() >= (13, 0) else ()
    assert _compiled(file, flatten(file), (*options, *quick), architecture)
