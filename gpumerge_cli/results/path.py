"""The content of a picture of a merge path, as plain values. Renderers see only this module.

i counts items of A, j items of B, and a rank is a position in the output: after `rank = i + j` outputs, A[:i] and B[:j]
are merged. Keys are text, cut to the length of a label.
"""

from __future__ import annotations

from gpumerge_cli.dataclass import dataclass


@dataclass(frozen=True)
class InputAxis:
    """An input as an axis. count: its items. labels belong to the items 0, step, 2 * step, ..."""

    name: str
    count: int
    step: int
    labels: tuple[str, ...]


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
    """The cuts between the pieces that one kind of worker gets.

    what: "block", "round", "thread", "host thread" or "chain". outputs: of the largest piece. count: the number of
    cuts. cuts: all of them in order of rank, or none if there are more than a picture can show.
    """

    what: str
    outputs: int
    count: int
    cuts: tuple[PathCut, ...]


@dataclass(frozen=True)
class SearchStep:
    """A step of a search: the co-rank lies in [low, high]; i is tried, and j with it.

    a: key of A[i]. b: key of B[j - 1]. b_first: B[j - 1] goes before A[i], so that the co-rank is i at most.
    """

    low: int
    high: int
    i: int
    j: int
    a: str
    b: str
    b_first: bool


@dataclass(frozen=True)
class CutSearch:
    """The binary search for the cut at a rank."""

    rank: int
    found: PathCut
    steps: tuple[SearchStep, ...]


@dataclass(frozen=True)
class BufferSlot:
    """A place of a buffer once a round is loaded, and the unread item there.

    index: the item's position in its input. fresh: this round loaded it. used: this round merges it.
    """

    index: int
    label: str
    fresh: bool
    used: bool


@dataclass(frozen=True)
class Buffer:
    """The buffer of one input in one round: `places` in order, None where there is no unread item.

    head: the place of the first unread item. loaded, used, stay: items that the round loads, merges, and leaves for
    the next one in the buffer. dropped: items that were loaded and are neither: they will be loaded again.
    """

    places: tuple[BufferSlot | None, ...]
    head: int
    loaded: int
    used: int
    stay: int
    dropped: int


@dataclass(frozen=True)
class Round:
    """The work of a block between two refills of its buffers. first: rank of its first output. outputs: their keys."""

    block: int
    number: int
    first: int
    outputs: tuple[str, ...]
    a: Buffer
    b: Buffer


@dataclass(frozen=True)
class PathReport:
    """The merge path of A and B on its grid.

    points: (i, j) at both ends of the path, and wherever it reaches a multiple of `step` on either axis; between two
    neighbours i differs by at most a.step, and j by at most b.step. order: how items compare. launch: the launch that
    makes the cuts. rules: "GPU" or "CPU", whose launch it is. why: the reason for this launch. levels: from the largest
    pieces to the smallest. rounds: those of all blocks, if asked for.
    """

    a: InputAxis
    b: InputAxis
    order: str
    launch: str
    rules: str
    why: str
    points: tuple[tuple[int, int], ...]
    levels: tuple[CutLevel, ...]
    search: CutSearch | None = None
    rounds: tuple[Round, ...] = ()
