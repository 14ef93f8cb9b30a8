"""Launch wishes that the CPU backend cannot honour are refused, or said to be without effect."""

from __future__ import annotations

import pytest

from gpumerge_cli.backends.cpu.policy import resolve
from gpumerge_cli.backends.select import host
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.native.library import library
from gpumerge_cli.order.kinds import Order

INT32 = Order.of("int32")


def test_a_tile_of_path_is_its_chains() -> None:
    assert resolve(LaunchRequest("path", items_per_thread=7), INT32).tile_size == 7 * library().CHAINS
    whole = LaunchRequest("path", tile_size=7 * library().CHAINS, items_per_thread=7)
    assert resolve(whole, INT32).items_per_thread == 7
    with pytest.raises(UsageError, match="--tile-size 1000 is not 4 chains of --items-per-thread 7"):
        resolve(LaunchRequest("path", tile_size=1000, items_per_thread=7), INT32)


@pytest.mark.parametrize("kernel", ["basic", "path"])
def test_a_block_size_without_effect_is_not_shown_as_a_shape(kernel: str) -> None:
    policy = resolve(LaunchRequest(kernel, block_size=64), INT32)  # type: ignore[arg-type]
    assert policy.block_size == 1
    assert "run in turn" in policy.why


def test_what_only_a_gpu_has_is_said_to_be_without_effect() -> None:
    assert "--fan-in changes nothing" in resolve(LaunchRequest("path", fan_in=4), INT32).why
    assert "--transfer changes nothing" in resolve(LaunchRequest("path", transfer="bulk"), INT32).why
    assert "changes nothing" not in resolve(LaunchRequest("path"), INT32).why


def test_how_much_is_sorted_at_once_does_not_go_by_the_threads() -> None:
    """But short lines go through fresh memory where few threads share that."""
    backend = host()
    for order, item_bytes in ((Order.of("uint32"), 4), (Order.lines(), 50)):
        rooms = [backend.whole_sort(order, 1 << 33, item_bytes, 1 << 23, threads) for threads in (1, 2, 16, 64)]
        assert None not in rooms
        assert rooms[0] == rooms[2] or order.is_rows
    rooms = [backend.whole_sort(Order.lines(), 1 << 29, 10, 1 << 23, threads) for threads in (1, 4, 16)]
    assert rooms[:2] == [None, None]
    assert rooms[2] is not None
