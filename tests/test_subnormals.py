"""float32 that is subnormal on a GPU: CuPy takes it for zero, and calls must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays.subnormals import widened
from gpumerge_cli.backends.base import Backend
from tests.strategies import special_values

SMALL = np.array([-4e-40, -1e-45, 1e-45, 3e-45, 4e-40], "f4")


def test_widened_floats_are_the_same_numbers(rng: np.random.Generator) -> None:
    floats = np.concatenate([special_values(np.dtype("f4")), SMALL, rng.integers(0, 2**32, 10_000, "u4").view("f4")])
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        found, wanted = widened(np, floats), floats.astype("f8")
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))
    pairs = floats[: len(floats) // 2 * 2].view("c8")
    with np.errstate(invalid="ignore"):
        assert np.array_equal(widened(np, pairs), pairs.astype("c16"), equal_nan=True)
    assert widened(np, wanted) is wanted


@pytest.mark.gpu
def test_a_gpu_tells_them_apart(gpu_backend: Backend, rng: np.random.Generator) -> None:
    import cupy

    def moved(given: Any) -> Any:
        return tuple(map(cupy.asarray, given)) if isinstance(given, tuple) else given

    def same(call: Any, *arrays: Any, **options: Any) -> None:
        found = call(*moved(arrays), **{name: moved(given) for name, given in options.items()})
        wanted = call(*arrays, **options)
        for one, other in zip(_flat(found), _flat(wanted), strict=True):
            assert np.array_equal(one.get(), other)

    a, b = (np.sort(rng.choice(SMALL, 300)) for _ in range(2))
    for direction in ("backward", "forward", "nearest"):
        same(gpumerge_cli.asof_join, a, b, direction=direction)
        same(gpumerge_cli.asof_join, a, b, direction=direction, tolerance=2e-45)
        same(gpumerge_cli.asof_join, np.arange(300), np.arange(300), direction=direction, by=(a, b), check=True)
    same(gpumerge_cli.diff, SMALL, SMALL[1:])
    for values in (rng.choice(SMALL, (2, 300)), rng.choice(SMALL, (2, 600)).view("c8")):
        same(gpumerge_cli.diff, np.arange(300), np.arange(300), values=tuple(values))


def _flat(found: Any) -> list[Any]:
    return [one for each in found for one in _flat(each)] if isinstance(found, tuple) else [found]
