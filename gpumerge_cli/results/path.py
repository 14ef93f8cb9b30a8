"""The content of a picture of a merge path, as plain values. Renderers see only this module.

i counts items of A, j items of B, and a rank is a position in the output: after `rank = i + j` outputs, A[:i] and B[:j]
are merged. Keys are text, cut to the length of a label.
"""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass


@dataclass(frozen=True)
class InputAxis:
    """An input as an axis."""

    name: str
    count: int
    """Its items."""
    step: int
    labels: tuple[str, ...]
    """The keys of the items 0, step, 2 * step, ..."""


@dataclass(frozen=True)
class PathCut:
    """The point where the path crosses the cross diagonal of rank i + j."""

    i: int
    j: int

    @property
    def rank(self) -> int:
        """The number of outputs ahead of the cut."""
        return self.i + self.j


@dataclass(frozen=True)
class CutLevel:
    """The cuts between the pieces that one kind of worker gets."""

    what: str
    """"block", "round", "thread", "host thread" or "chain"."""
    outputs: int
    """Outputs of the largest piece."""
    count: int
    """The number of cuts."""
    cuts: tuple[PathCut, ...]
    """All cuts in order of rank, or none if there are more than a picture can show."""


@dataclass(frozen=True)
class SearchStep:
    """A step of a search: the co-rank lies in [low, high]; i is tried, and j with it."""

    low: int
    high: int
    i: int
    j: int
    a: str
    """The key of A[i]."""
    b: str
    """The key of B[j - 1]."""
    b_first: bool
    """Whether B[j - 1] goes before A[i], so that the co-rank is i at most."""


@dataclass(frozen=True)
class CutSearch:
    """The binary search for the cut at a rank."""

    rank: int
    found: PathCut
    steps: tuple[SearchStep, ...]


BugName = Literal["refill", "count", "ties"]
"""Bugs of printed kernels. refill: a ring is filled from the first unread item on, not behind those that it holds.
count: the items that a round used are counted in whole buffers, with what earlier rounds left there. ties: the search
puts equal items of B first, and the merge those of A."""


@dataclass(frozen=True)
class BufferSlot:
    """A slot of a buffer once a round is loaded, and the unread item in it."""

    index: int
    """The item's position in its input."""
    label: str
    fresh: bool
    """Whether this round loaded it."""
    used: bool
    """Whether this round merges it."""


@dataclass(frozen=True)
class Buffer:
    """The buffer of one input in one round."""

    places: tuple[BufferSlot | None, ...]
    """The slots in order; None for a slot without an unread item. None at all if the buffer is too long to show."""
    head: int
    """The slot of the first unread item."""
    loaded: int
    """Items that the round loads."""
    used: int
    """Items that the round merges."""
    stay: int
    """Items that stay in the buffer for the next round."""
    dropped: int
    """Items that were loaded, and are neither merged nor kept: they will be loaded again."""


@dataclass(frozen=True)
class Round:
    """The work of a block between two refills of its buffers."""

    block: int
    number: int
    first: int
    """The rank of its first output."""
    count: int
    """The number of its outputs."""
    outputs: tuple[str, ...]
    """The keys of its outputs; none if the buffers are too long to show."""
    a: Buffer
    b: Buffer
    origins: tuple[int | None, ...]
    """The items that go out: i for A[i], -1 - j for B[j], None for memory that no item was loaded to. As many as
    outputs."""


@dataclass(frozen=True)
class PathReport:
    """The merge path of A and B on its grid."""

    a: InputAxis
    b: InputAxis
    order: str
    """The order of the items, in words."""
    launch: str
    """The launch that makes the cuts."""
    rules: str
    """"GPU" or "CPU": whose launch it is."""
    why: str
    """The reason for this launch."""
    points: tuple[tuple[int, int], ...]
    """(i, j) at both ends of the path, and wherever it reaches a multiple of `step` on either axis. Between two
    neighbours i differs by at most a.step, and j by at most b.step."""
    levels: tuple[CutLevel, ...]
    """From the largest pieces to the smallest."""
    search: CutSearch | None = None
    rounds: tuple[Round, ...] = ()
    """The rounds of all blocks, if the caller wants them."""
