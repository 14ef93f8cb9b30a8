"""Merges of two long runs on a GPU: beside their partition, by floats, and value by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_pairs import in_order, special_floats

import gpumerge_cli
from gpumerge_cli.backends.gpu.policy import least_by_values, own_cuts_of_dependents, values_stretch
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

GUARD = 16


def in_the_middle(cupy: Any, a: Any, b: Any) -> tuple[Any, bool]:
    """The merge of two arrays, and whether nothing around it was written."""
    total = len(a) + len(b)
    memory = cupy.full(total + 2 * GUARD + 1, 99, a.dtype)
    out = memory[GUARD + 1 : GUARD + 1 + total]
    gpumerge_cli.merge(a, b, out=out)
    around = cupy.concatenate([memory[: GUARD + 1], memory[GUARD + 1 + total :]])
    return out, bool((around == 99).all())


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_runs(gpu: GpuBackend, rng: np.random.Generator, dtype: str) -> None:
    """So many items that tiles are cut ahead; narrow integers are merged value by value."""
    import cupy

    order = Order.of(dtype)
    drawn = rng.integers(0, 256, (1 << 27) + 5, np.uint8)
    bits = cupy.asarray(drawn[: drawn.size // order.width * order.width]).view(f"uint{8 * order.width}")
    if order.kind == "float":
        bits = bits & ~cupy.asarray(order.infinity, bits.dtype)  # neither NaNs nor zeros of two signs
        bits |= cupy.asarray(1, bits.dtype)
    keys = bits.view(order.dtype)
    for m in (len(keys) // 3, 7):
        a, b = cupy.sort(keys[:m]), cupy.sort(keys[m:])
        merged, untouched = in_the_middle(cupy, a[1:], b)
        assert untouched
        expected = cupy.sort(cupy.concatenate([a[1:], b]))
        assert bool((merged.view(bits.dtype) == expected.view(bits.dtype)).all())
    _, untouched = in_the_middle(cupy, keys[: len(keys) // 2], keys[len(keys) // 2 :])
    assert untouched, "unsorted runs"


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_floats_of_every_sort_in_many_tiles(
    gpu: GpuBackend, rng: np.random.Generator, dtype: str, descending: bool
) -> None:
    import cupy

    order = Order.of(dtype, descending=descending)
    special = special_floats(order)
    for share in (0.0, 0.001, 0.3):
        drawn = rng.standard_normal(400_000).astype(order.dtype)
        odd = rng.random(drawn.size) < share
        drawn[odd] = rng.choice(special, int(odd.sum()))
        a, b = in_order(order, drawn[:150_000]), in_order(order, drawn[150_000:])
        both = np.concatenate([a, b])
        expected = both[np.argsort(order.image(both), kind="stable")]
        for request in (LaunchRequest(), LaunchRequest(block_size=32, items_per_thread=4)):
            out = cupy.empty(both.size, order.dtype)
            runs = [cupy.asarray(a), cupy.asarray(b)]
            gpu.merge_arrays(runs, order, gpu.resolve(request, order), out)
            assert out.get().tobytes() == expected.tobytes(), (request, share)


def test_the_blocks_that_do_not_wait() -> None:
    older = DeviceLimits(max_threads=1024, shared_memory=101376, multiprocessors=100, capability=89)
    assert own_cuts_of_dependents(TUNED_ON) == 3 * TUNED_ON.multiprocessors
    assert own_cuts_of_dependents(older) == 0


@pytest.mark.parametrize(
    ("order", "total", "wanted"),
    [
        (KeyOrder("uint", 1), 1 << 24, True),
        (KeyOrder("uint", 1), (1 << 24) - 1, False),
        (KeyOrder("int", 2, True), 1 << 26, True),
        (KeyOrder("int", 2), 1 << 25, False),
        (KeyOrder("int", 4), 1 << 40, False),
        (KeyOrder("float", 2), 1 << 30, False),
        (Order.records(4, 1, 2), 1 << 30, False),
    ],
)
def test_what_is_merged_value_by_value(order: Order, total: int, wanted: bool) -> None:
    from gpumerge_cli.backends.gpu.policy import resolve

    policy = resolve(LaunchRequest(), order, TUNED_ON)
    assert (total >= least_by_values(order, policy)) == wanted
    assert total < least_by_values(order, resolve(LaunchRequest("basic"), order, TUNED_ON))


@pytest.mark.parametrize("total", [1, 1 << 24, 1 << 28, (1 << 33) + 7])
def test_stretches_of_values_are_whole_vectors(total: int) -> None:
    stretch = values_stretch(total, TUNED_ON)
    assert stretch % (1 << 15) == 0
    assert 1 << 15 <= stretch <= 1 << 18
