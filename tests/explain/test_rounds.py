"""The contents of buffers, round by round, against rings that are filled and emptied as in the circular kernel."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends.variants.lookup import LADDER
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.errors import UsageError
from gpumerge_cli.explain.rounds import MOST_PLACES, rounds_of
from gpumerge_cli.explain.shape import Shape, launch_shape
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.results.path import Buffer, Round
from tests.explain.test_path import INT32, items

SORTED = st.lists(st.integers(0, 5), max_size=20).map(sorted)
LAUNCHES = st.builds(
    lambda kernel, block, tile, blocks: LaunchRequest(kernel, block, tile_size=tile, blocks=blocks),
    st.sampled_from([one.name for one in LADDER if one.rounds]),
    st.integers(1, 3),
    st.integers(1, 7),
    st.integers(1, 3),
)


def shape(launch: LaunchRequest, total: int) -> Shape:
    return launch_shape(Resources(), launch, INT32, total, 1)


def unread(buffer: Buffer) -> list[int]:
    """Numbers of the unread items, from the first on."""
    places = [buffer.places[(buffer.head + at) % len(buffer.places)] for at in range(len(buffer.places))]
    return [place.index for place in places if place is not None]


@given(a=SORTED, b=SORTED, launch=LAUNCHES)
def test_rounds_give_the_merge_and_lose_nothing(a: list[int], b: list[int], launch: LaunchRequest) -> None:
    rounds = rounds_of(items(a), items(b), shape(launch, len(a) + len(b)))
    assert [key for one in rounds for key in one.outputs] == [str(key) for key in sorted(a + b)]
    assert [one.first for one in rounds] == [
        sum(len(other.outputs) for other in rounds[:n]) for n in range(len(rounds))
    ]
    used = [0, 0]
    for one in rounds:
        for side, buffer in enumerate((one.a, one.b)):
            held = unread(buffer)
            assert held == list(range(used[side], used[side] + len(held)))
            assert len(held) == buffer.used + buffer.stay + buffer.dropped
            assert sum(place is not None and place.used for place in buffer.places) == buffer.used
            assert sum(place is not None and place.fresh for place in buffer.places) == buffer.loaded
            used[side] += buffer.used
    assert used == [len(a), len(b)]


@given(a=SORTED, b=SORTED, tile=st.integers(1, 6))
def test_a_ring_loads_every_item_once_and_a_tile_what_it_threw_away_again(
    a: list[int], b: list[int], tile: int
) -> None:
    total = len(a) + len(b)
    loads = {}
    for kernel in ("circular", "tiled"):
        rounds = rounds_of(items(a), items(b), shape(LaunchRequest(kernel, 1, tile_size=tile), total))  # type: ignore[arg-type]
        loads[kernel] = sum(one.a.loaded + one.b.loaded for one in rounds)
        assert loads[kernel] == total + sum(one.a.dropped + one.b.dropped for one in rounds)
    assert loads["circular"] == total
    exact = LaunchRequest("tiled", 1, tile_size=tile, tile_load="exact")
    for one in rounds_of(items(a), items(b), shape(exact, total)):
        assert (one.a.loaded, one.b.loaded) == (one.a.used, one.b.used)


class Ring:
    """One input's ring as merge_circular has it, in keys_ladder.hpp for the CPU: keys that are held, by place."""

    def __init__(self, keys: list[int], size: int) -> None:
        self.keys, self.places = keys, [-1] * size
        self.next = self.head = self.held = 0

    def refill(self) -> tuple[int, int, list[int]]:
        """Load as many as there is room for; the head, how many are held, and all places."""
        while self.held < len(self.places) and self.next < len(self.keys):
            self.places[(self.head + self.held) % len(self.places)] = self.keys[self.next]
            self.next, self.held = self.next + 1, self.held + 1
        return self.head, self.held, self.places.copy()

    def unread(self) -> list[int]:
        return [self.places[(self.head + at) % len(self.places)] for at in range(self.held)]

    def consume(self, count: int) -> None:
        self.head = (self.head + count) % len(self.places)
        self.held -= count


def of_the_twin(a: list[int], b: list[int], tile: int) -> tuple[list[Any], list[int]]:
    """(head, held, places) of both rings each time they are filled, and the output of their merge."""
    seen: list[Any] = []
    out: list[int] = []
    rings = Ring(a, tile), Ring(b, tile)
    while len(out) < len(a) + len(b):
        seen += [ring.refill() for ring in rings]
        held = [(key, side) for side, ring in enumerate(rings) for key in ring.unread()]
        taken = sorted(held)[:tile]  # of equal keys A's go first
        for side, ring in enumerate(rings):
            ring.consume(sum(one == side for _, one in taken))
        out += [key for key, _ in taken]
    return seen, out


@given(a=SORTED, b=SORTED, tile=st.integers(1, 6), block=st.integers(1, 3))
def test_rounds_are_those_of_a_circular_buffer(a: list[int], b: list[int], tile: int, block: int) -> None:
    seen, out = of_the_twin(a, b, tile)
    rounds = rounds_of(items(a), items(b), shape(LaunchRequest("circular", block, tile_size=tile), len(out)))
    assert out == sorted(a + b)
    assert len(seen) == 2 * len(rounds)
    for number, one in enumerate(rounds):
        for buffer, (head, held, places) in zip((one.a, one.b), seen[2 * number :], strict=False):
            assert (buffer.head, len(unread(buffer))) == (head, held)
            for place, key in zip(buffer.places, places, strict=True):
                assert place is None or place.label == str(key)


def test_what_cannot_be_shown_is_refused() -> None:
    a, b = items(range(300)), items(range(300))
    with pytest.raises(UsageError, match="the path kernel has none"):
        rounds_of(a, b, shape(LaunchRequest("path", 2, 2), 600))
    with pytest.raises(UsageError, match="up to 200 rounds"):
        rounds_of(a, b, shape(LaunchRequest("circular", 1, tile_size=2), 600))


@pytest.mark.parametrize("load", ["full", "exact", "ring"])
@given(st.lists(st.integers(0, 50), max_size=400).map(sorted), st.lists(st.integers(0, 50), max_size=400).map(sorted))
def test_long_buffers_have_the_counts_that_short_ones_would_have(load: str, a: list[int], b: list[int]) -> None:
    if load == "ring":
        launch = LaunchRequest("circular", 8, tile_size=MOST_PLACES + 6, blocks=2)
    else:
        launch = LaunchRequest("tiled", 8, tile_size=MOST_PLACES + 6, blocks=2, tile_load=load)  # type: ignore[arg-type]
    by_counts = rounds_of(items(a), items(b), shape(launch, len(a) + len(b)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpumerge_cli.explain.rounds.MOST_PLACES", MOST_PLACES + 6)
        by_items = rounds_of(items(a), items(b), shape(launch, len(a) + len(b)))
    assert [_counts(one) for one in by_counts] == [_counts(one) for one in by_items]
    assert not any(one.outputs or one.origins or one.a.places or one.b.places for one in by_counts)
    assert [one.count for one in by_items] == [len(one.outputs) for one in by_items]


def _counts(one: Round) -> tuple[int, ...]:
    both = [(part.head, part.loaded, part.used, part.stay, part.dropped) for part in (one.a, one.b)]
    return one.block, one.number, one.first, one.count, *both[0], *both[1]


def test_the_textbooks_example_takes_four_rounds_a_block() -> None:
    """Figures 12.12 and 12.13: 33,000 and 31,000 items, 16 blocks of 128 threads, tiles of 1,024."""
    a, b = items([2 * at for at in range(33000)]), items([2 * at + 1 for at in range(31000)])
    launches = [LaunchRequest(kernel, 128, tile_size=1024, blocks=16) for kernel in ("tiled", "circular")]  # type: ignore[arg-type]
    tiled, ring = (rounds_of(a, b, shape(launch, 64000)) for launch in launches)
    for rounds in (tiled, ring):
        assert [one.count for one in rounds] == [1024, 1024, 1024, 928] * 16
        assert sum(one.a.used for one in rounds) == 33000
        assert sum(one.b.used for one in rounds) == 31000
    assert sum(one.a.loaded + one.b.loaded for one in ring) == 64000
    assert sum(one.a.loaded + one.b.loaded for one in tiled) > 1.5 * 64000


def test_a_ring_as_the_textbook_draws_it() -> None:
    rounds: tuple[Round, ...] = rounds_of(
        items([1, 2, 3, 9]), items([4, 5, 6, 7]), shape(LaunchRequest("circular", 1, tile_size=3), 8)
    )
    first, second, third = (one.a for one in rounds)
    assert [place and place.label for place in first.places] == ["1", "2", "3"]
    assert (first.used, first.stay, first.head) == (3, 0, 0)
    assert [place and place.label for place in second.places] == ["9", None, None]
    assert (second.loaded, second.used, second.stay) == (1, 0, 1)
    assert (third.loaded, third.used, third.head) == (0, 1, 0)
