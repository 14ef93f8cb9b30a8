"""Cases for the kernels of puzzles, their outputs by plain implementations, and the lesson of a case that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpumerge_cli.dataclass import dataclass

PuzzleItems = np.ndarray[Any, Any]
"""Sorted items of one run, or numbers."""

UNWRITTEN = 0xA5
"""The byte that fills outputs ahead of a launch, as in emulator/runtime.cpp. No case has an item of such bytes."""

RANDOM_CASES = 60
_EMPTY = "an input may be empty"
HELD = (
    "near the end of an input a round holds less than a tile, and the places after it hold what an earlier round left "
    "there. Pass the number of items that the round holds to co_rank, not the size of the tile"
)
"""The lesson for a kernel that works in rounds and reads what nobody has written."""


@dataclass(frozen=True, eq=False)
class LaunchCase:
    """One launch of a puzzle's kernel, with its inputs."""

    a: PuzzleItems
    b: PuzzleItems
    lesson: str = ""
    """The reason why a kernel that passes the cases before it fails here; "" for a case without one."""
    blocks: int = 1
    threads: int = 1
    tile: int = 0

    def describe(self) -> str:
        """The sizes, in words."""
        tile = f", tile {self.tile}" if self.tile else ""
        blocks = f"{self.blocks} {'block' if self.blocks == 1 else 'blocks'}"
        threads = f"{self.threads} {'thread' if self.threads == 1 else 'threads'}"
        return f"{len(self.a)} + {len(self.b)} items, {blocks} of {threads}{tile}"


def merged(a: PuzzleItems, b: PuzzleItems) -> PuzzleItems:
    """The stable merge: A first among equal items."""
    both = np.concatenate([a, b])
    return both[np.argsort(both, kind="stable")]


def all_coranks(a: PuzzleItems, b: PuzzleItems) -> PuzzleItems:
    """The co-rank in A of every rank, as int32."""
    both = np.concatenate([a, b])
    from_a = np.argsort(both, kind="stable") < len(a)
    return np.concatenate([[0], np.cumsum(from_a)]).astype(np.int32)


def numbers_in_order(items: PuzzleItems, starts: PuzzleItems) -> PuzzleItems:
    """The numbers of the items in the order of their merge, as int32; earlier runs go first among equal items."""
    return np.argsort(items, kind="stable").astype(np.int32)


def common_items(a: PuzzleItems, b: PuzzleItems) -> PuzzleItems:
    """The number of items that both hold, those items, and bytes UNWRITTEN up to len(a) + 1 items, as int32."""
    left = b.tolist()
    kept = []
    for item in a.tolist():
        if item in left:
            left.remove(item)
            kept.append(item)
    out = np.frombuffer(bytes([UNWRITTEN]) * (4 * (len(a) + 1)), np.int32).copy()
    out[: len(kept) + 1] = [len(kept), *kept]
    return out


def ints(*items: int) -> PuzzleItems:
    """A run of int32."""
    return np.array(items, np.int32)


def _floats(*items: float) -> PuzzleItems:
    return np.array(items, np.float32)


def _blocky(length: int, block: int, first: int) -> PuzzleItems:
    return (2 * (np.arange(length) // block) + first).astype(np.int32)


FIVE, FOUR = ints(1, 7, 8, 9, 10), ints(7, 10, 10, 12)
"""The textbook's example of a co-rank."""
EIGHT, SEVEN = ints(0, 1, 4, 5, 5, 7, 8, 9), ints(1, 1, 3, 6, 6, 7, 9)


def sequential_cases() -> list[LaunchCase]:
    """Merges by one thread. PuzzleItems are floats: 0.0 and -0.0 are equal, and can be told apart."""
    zeros = _floats(0.0), _floats(-0.0)
    rest = (
        "one input is used up first, and the rest of the other follows. That belongs after the loop: in the loop it "
        "happens after the first item"
    )
    return [
        LaunchCase(_floats(1), _floats(2)),
        LaunchCase(_floats(2), _floats(1)),
        LaunchCase(_floats(1, 3, 5), _floats(2, 4, 6), rest),
        LaunchCase(_floats(7), _floats(7, 8, 9), rest),
        LaunchCase(_floats(), _floats(2, 4, 6), _EMPTY),
        LaunchCase(_floats(1, 3, 5), _floats(), _EMPTY),
        LaunchCase(np.tile(zeros[0], 2), np.tile(zeros[1], 2), "-0 and 0 compare as equal, and among equal items "
                   "A goes first. So take A[i] if A[i] <= B[j]. With < the merge is not stable"),
    ]  # fmt: skip


def corank_cases() -> list[LaunchCase]:
    """Co-ranks of every rank."""
    early = "one step of a search does not end it: return after the loop, when only one i is left"
    return [
        LaunchCase(ints(1), ints(2), "", 1, 3),
        LaunchCase(ints(2), ints(1), "", 1, 3),
        LaunchCase(ints(*range(100, 116)), ints(*range(16)), early, 1, 33),
        LaunchCase(ints(*range(16)), ints(*range(100, 116)), early, 1, 33),
        LaunchCase(
            ints(5, 5, 5), ints(5, 5),
            "among equal items A goes first. So B[j - 1] == A[i] says that i is too small, as B[j - 1] > A[i] does. A "
            "search that accepts it cuts where no stable merge does", 1, 6,
        ),
        LaunchCase(FIVE, FOUR, "", 1, 10),
        LaunchCase(EIGHT, SEVEN, "", 2, 8),
        LaunchCase(ints(), ints(1, 2), _EMPTY, 1, 3),
        LaunchCase(ints(1, 2), ints(), _EMPTY, 1, 3),
    ]  # fmt: skip


def basic_cases() -> list[LaunchCase]:
    """Merges by all threads of a grid."""
    return [
        LaunchCase(ints(1, 3, 5, 7), ints(2, 4, 6, 8), "", 2, 2),
        LaunchCase(
            ints(1, 3, 5, 7), ints(2, 4, 6),
            "the quotient of integers is rounded down, and ceil of it comes too late: 7 / 4 is 1, so four threads "
            "write four of seven items. (7 + 3) / 4 is 2", 2, 2,
        ),
        LaunchCase(
            ints(1, 2, 3), ints(1, 2),
            "there are more threads than items: limit the start and the end of a piece to m + n", 4, 2,
        ),
        LaunchCase(FIVE, FOUR, "", 1, 3),
        LaunchCase(EIGHT, SEVEN, "", 2, 2),
        LaunchCase(ints(), ints(1, 2, 3), _EMPTY, 1, 2),
        LaunchCase(ints(1, 2, 3), ints(), _EMPTY, 1, 2),
        LaunchCase(_blocky(3300, 70, 0), _blocky(3100, 70, 1), "", 4, 128),
    ]  # fmt: skip


_ONE_ROUND = LaunchCase(ints(1, 3, 5, 7), ints(2, 4, 6, 8), "", 1, 2, 8)
_SHARE = LaunchCase(
    ints(1, 3, 5, 7), ints(2, 4, 6, 8),
    "a tile of 8 on 3 threads: 8 / 3 is 2, so three threads merge six of eight items. Give each thread "
    "(tile + threads - 1) / threads items", 1, 3, 8,
)  # fmt: skip
_ROUNDS = LaunchCase(
    ints(1, 3, 5), ints(2, 4),
    "the last round is less than a tile, and 5 / 4 is 1: there are (length + tile - 1) / tile rounds", 1, 2, 4,
)  # fmt: skip
_MORE_BLOCKS = LaunchCase(
    ints(1, 2, 3), ints(1, 2), "there are more blocks than items: limit the start and the end of a section to m + n",
    8, 2, 4,
)  # fmt: skip


def _book_in_rounds() -> list[LaunchCase]:
    return [
        LaunchCase(FIVE, FOUR, "", 2, 2, 4),
        LaunchCase(EIGHT, SEVEN, "", 2, 2, 4),
        LaunchCase(_blocky(64, 13, 0), _blocky(64, 13, 1), "", 1, 2, 8),
        LaunchCase(_blocky(33_000, 700, 0), _blocky(31_000, 700, 1), "", 16, 128, 1024),
    ]


def tiled_cases() -> list[LaunchCase]:
    """Merges in rounds."""
    return [
        _ONE_ROUND,
        _ROUNDS,
        _SHARE,
        _MORE_BLOCKS,
        LaunchCase(
            ints(1, 3, 5, 7, 9, 11, 13), ints(2, 4, 6, 8, 10),
            "A_consumed counts from the start of the section, so B has given C_completed - A_consumed. Adding "
            "tile - A_consumed in each round counts earlier rounds again", 1, 2, 4,
        ),
        LaunchCase(ints(*range(5)), ints(*range(20)), HELD, 1, 2, 4),
        *_book_in_rounds(),
    ]  # fmt: skip


def circular_cases() -> list[LaunchCase]:
    """Merges in rounds that keep what they did not merge."""
    return [
        _ONE_ROUND,
        LaunchCase(
            ints(50), ints(*range(20)),
            "B_length - B_loaded items of B are left to load: the length of A says nothing about B", 3, 2, 4,
        ),
        LaunchCase(
            ints(0, 1, 4, 5, 5), ints(1, 1, 3),
            "the ring still holds what was loaded and not merged. So the next item to load is A[A_curr + A_loaded], "
            "after all that were loaded, and not A[A_curr + A_consumed], after all that were merged", 1, 2, 4,
        ),
        _ROUNDS,
        _SHARE,
        _MORE_BLOCKS,
        LaunchCase(ints(*range(5)), ints(*range(20)), HELD, 1, 2, 4),
        *_book_in_rounds(),
    ]  # fmt: skip


def byte_cases() -> list[LaunchCase]:
    """Merges in rounds of items of one byte."""
    lesson = (
        "the shared array has items of one byte, and a co-rank beyond 255 loses its high bits there: keep co-ranks in "
        "an array of int"
    )
    few = np.repeat(np.arange(10), 30).astype(np.uint8), np.repeat(np.arange(9), 31).astype(np.uint8)
    return [
        LaunchCase(np.arange(5, dtype=np.uint8), np.arange(4, dtype=np.uint8), "", 2, 2, 4),
        LaunchCase(*few, lesson, 2, 4, 64),
    ]


def many_run_cases() -> list[LaunchCase]:
    """Runs one behind the other, and their starts."""
    return [
        LaunchCase(ints(1, 4, 2, 5, 3, 6), ints(0, 2, 4, 6), "", 1, 6),
        LaunchCase(ints(7, 7, 7, 7), ints(0, 2, 3, 4), "equal items of an earlier run go first", 1, 4),
        LaunchCase(ints(*FIVE, *FOUR), ints(0, 5, 9), "", 2, 3),
        LaunchCase(ints(3, 1, 2), ints(0, 0, 1, 1, 3, 3), "a run may be empty", 1, 2),
    ]


def common_cases() -> list[LaunchCase]:
    """Intersections, by one block."""
    return [
        LaunchCase(ints(1, 2, 3, 4), ints(2, 4, 6), "", 1, 2),
        LaunchCase(ints(5, 5, 5), ints(5, 5), "an item goes out as often as the input that holds fewer of it", 1, 2),
        LaunchCase(ints(1, 2), ints(3), "nothing in common: C[0] is 0, and nothing else is written", 1, 4),
        LaunchCase(FIVE, FOUR, "", 1, 3),
        LaunchCase(ints(), ints(1), "an input may be empty", 1, 2),
        LaunchCase(_blocky(300, 7, 0), _blocky(200, 5, 0), "", 1, 64),
    ]


Chance = np.random.Generator


def _sorted_run(chance: Chance, most: int, dtype: str) -> PuzzleItems:
    keys = chance.integers(0, int(chance.choice([2, 9, 99])), int(chance.integers(0, most)))
    return np.sort(keys).astype(dtype)


def _drawn_pairs(chance: Chance, dtype: str, most: int, *, staged: bool, blocks: int) -> Iterator[LaunchCase]:
    for _ in range(RANDOM_CASES):
        a, b = _sorted_run(chance, most, dtype), _sorted_run(chance, most, dtype)
        tile = int(chance.choice([1, 3, 4, 8, 13])) if staged else 0
        threads = int(chance.choice([1, 2, 3, 8, 33]))
        yield LaunchCase(a, b, "", int(chance.integers(1, blocks + 1)), threads, tile)


def random_merges(chance: Chance, dtype: str) -> list[LaunchCase]:
    """Merges of random runs without a tile."""
    return [*_drawn_pairs(chance, dtype, 40, staged=False, blocks=4)]


def random_staged(chance: Chance, dtype: str) -> list[LaunchCase]:
    """Merges of random runs in rounds."""
    return [*_drawn_pairs(chance, dtype, 40, staged=True, blocks=4)]


def random_common(chance: Chance, dtype: str) -> list[LaunchCase]:
    """Random runs for one block."""
    return [*_drawn_pairs(chance, dtype, 40, staged=False, blocks=1)]


def random_ranks(chance: Chance, dtype: str) -> list[LaunchCase]:
    """Random runs, with a thread for each rank."""
    drawn = _drawn_pairs(chance, dtype, 40, staged=False, blocks=1)
    return [LaunchCase(one.a, one.b, "", 1, len(one.a) + len(one.b) + 1) for one in drawn]


def random_many_runs(chance: Chance, dtype: str) -> list[LaunchCase]:
    """One to seven random runs, some of them empty."""
    found = []
    for _ in range(RANDOM_CASES):
        runs = [_sorted_run(chance, 12, dtype) for _ in range(int(chance.integers(1, 8)))]
        starts = np.cumsum([0, *map(len, runs)]).astype(np.int32)
        found.append(LaunchCase(np.concatenate(runs), starts, "", 2, int(chance.choice([1, 3, 33]))))
    return found


MakeCases = Callable[[], list[LaunchCase]]
DrawCases = Callable[[Chance, str], list[LaunchCase]]
