"""The defects of the textbook's merge kernels, each held off by a test of its name, on the CPU and on the GPU.

Programming Massively Parallel Processors, the chapter on merge. The printed kernel fails on each of these cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_pairs import BOOK_PAIRS, special_floats
from kernel_shim import MERGES, Case, Program, Variant, merged

from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.kinds import KeyOrder, Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

Run = np.ndarray[Any, Any]
INT32, UINT8, FLOAT32 = KeyOrder("int", 4), KeyOrder("uint", 1), KeyOrder("float", 4)


@dataclass(frozen=True)
class Defect:
    """Runs and the launch shape on which the defect shows."""

    order: Order
    a: Run
    b: Run
    block: int = 2
    items: int = 2
    tile: int = 4
    blocks: int = 2


def ints(*keys: int) -> Run:
    return np.array(keys, np.int32)


def blocky(length: int, block: int, first: int) -> Run:
    """Blocks of equal keys that alternate between two runs started at 0 and 1."""
    return (2 * (np.arange(length) // block) + first).astype(np.int32)


def ceil_of_an_integer_quotient() -> Defect:
    """Seven items in blocks of four: a quotient rounded down leaves the tail out."""
    return Defect(INT32, ints(1, 3, 5, 7), ints(2, 4, 6))


def tile_over_threads_drops_items() -> Defect:
    """A tile of 8 on 3 threads: 8 // 3 items a thread are six, not eight."""
    return Defect(INT32, np.arange(0, 40, 2, dtype=np.int32), np.arange(1, 41, 2, dtype=np.int32), 3, 3, 8, 2)


def consumed_count_from_stale_shared_memory() -> Defect:
    """A runs short while the tile still holds what it held a round before."""
    return Defect(INT32, np.arange(5, dtype=np.int32), np.arange(60, dtype=np.int32), 2, 2, 4, 1)


def refill_from_the_consumed_position() -> Defect:
    """One input is consumed much faster, so that the other's unread items stay in the ring for rounds."""
    return Defect(INT32, blocky(64, 13, 0), blocky(64, 13, 1), 2, 2, 8, 1)


def bookkeeping_of_b_by_the_length_of_a() -> Defect:
    return Defect(INT32, ints(50), np.arange(100, dtype=np.int32), 2, 2, 4, 3)


def block_starts_not_clamped() -> Defect:
    """Eight blocks share five items: the sections of the last start behind the end."""
    return Defect(INT32, ints(1, 2, 3), ints(1, 2), 2, 2, 4, 8)


def co_ranks_in_the_shared_array_of_bytes() -> Defect:
    """Co-ranks beyond 255 do not fit into an item of one byte."""
    return Defect(
        UINT8, np.repeat(np.arange(10), 100).astype(np.uint8), np.repeat(np.arange(9), 90).astype(np.uint8), 4, 4, 64, 3
    )


def tie_rules_that_differ() -> Defect:
    """All keys equal but not all bits: search and merge must agree that A goes first."""
    zeros = np.array([0.0, -0.0], np.float32)
    return Defect(FLOAT32, np.tile(zeros, 20), np.tile(zeros[::-1], 17))


def search_that_returns_too_early() -> Defect:
    """Disjoint runs need every step of the search."""
    return Defect(INT32, np.arange(100, 200, dtype=np.int32), np.arange(100, dtype=np.int32))


def book_five_and_four() -> Defect:
    return Defect(INT32, *(ints(*run) for run in BOOK_PAIRS["book_five_and_four"]))


def book_eight_and_seven_on_two_blocks_of_two() -> Defect:
    return Defect(INT32, *(ints(*run) for run in BOOK_PAIRS["book_eight_and_seven"]))


def book_33000_and_31000() -> Defect:
    return Defect(INT32, blocky(33_000, 700, 0), blocky(31_000, 700, 1), 128, 8, 1024, 16)


def nan_payloads_keep_their_places() -> Defect:
    special = special_floats(FLOAT32)
    nans = special[np.isnan(special)]
    return Defect(FLOAT32, nans, nans[::-1].copy())


DEFECTS: list[Callable[[], Defect]] = [
    ceil_of_an_integer_quotient,
    tile_over_threads_drops_items,
    consumed_count_from_stale_shared_memory,
    refill_from_the_consumed_position,
    bookkeeping_of_b_by_the_length_of_a,
    block_starts_not_clamped,
    co_ranks_in_the_shared_array_of_bytes,
    tie_rules_that_differ,
    search_that_returns_too_early,
    book_five_and_four,
    book_eight_and_seven_on_two_blocks_of_two,
    book_33000_and_31000,
    nan_payloads_keep_their_places,
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    # The first two are those of test_kernels_on_cpu.py, so that they are compiled once.
    variants = [Variant(INT32, 4, 3), Variant(UINT8, 2, 2), Variant(FLOAT32, 4, 3)]
    return Program(variants, "address", tmp_path_factory.mktemp("defects"))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_on_the_cpu(program: Program, defect: Callable[[], Defect]) -> None:
    case = defect()
    expected = merged(case.order, case.a, case.b).tobytes()
    status, output = program.run(
        [
            Case(
                program.variant_of(case.order), work, case.a.tobytes(), case.b.tobytes(), expected, len(case.a),
                len(case.b), block=case.block, items=case.items, tile=case.tile, blocks=case.blocks,
            )
            for work in MERGES
        ]
    )  # fmt: skip
    assert status == 0, output


@pytest.mark.gpu
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_on_the_gpu(gpu: GpuBackend, defect: Callable[[], Defect]) -> None:
    case = defect()
    shape = (case.block, case.items, case.tile)
    requests = [
        LaunchRequest("basic", case.block, case.items),
        LaunchRequest("tiled", *shape, "full", case.blocks),
        LaunchRequest("tiled", *shape, "exact", case.blocks),
        LaunchRequest("circular", *shape, None, case.blocks),
        LaunchRequest("path", case.block, case.items),
    ]
    for request in requests:
        workspace = gpu.workspace(case.order, 0)
        both = np.concatenate([case.a, case.b]).view(np.uint8)
        workspace.staging(len(both))[:] = both
        workspace.upload([case.a.nbytes, case.b.nbytes])
        workspace.poison()
        workspace.merge(gpu.resolve(request, case.order))
        assert workspace.download().tobytes() == merged(case.order, case.a, case.b).tobytes(), request
