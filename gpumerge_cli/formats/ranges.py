"""Sources whose items are made of ranges of files, by whichever process works on a range."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.base import Source

if TYPE_CHECKING:
    from gpumerge_cli.errors import InputError
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.order.kinds import Order


@dataclass(frozen=True)
class RangeItems:
    """The items of a range of a source."""

    source: Source
    """Holds them, perhaps with the item ahead of the range and the one behind it."""
    start: int
    """The position in that source of the first one of the range."""
    stop: int
    """The position behind the last one."""
    facts: Any = None
    """See RangedSource.note."""
    left_out: InputError | None = None
    """The error for what the file holds between the items, where results must have all bytes of the range."""


class RangedSource(ABC):
    """A source whose items are made of ranges of a file as they are asked for, so that other processes can make them.

    Its positions and size are those of what the file holds: bytes of lines, or rows. `item_at` and `item_before` make
    an item; nothing else of it reads items. See Source.
    """

    name: str
    size: int

    @abstractmethod
    def read_into(self, start: int, out: Bytes) -> None:
        """See Source."""

    @abstractmethod
    def item_at(self, start: int) -> bytes:
        """See Source. Raises InputError."""

    @abstractmethod
    def item_start(self, position: int) -> int:
        """See Source."""

    @abstractmethod
    def item_end(self, start: int) -> int:
        """See Source."""

    @abstractmethod
    def start_before(self, position: int) -> int:
        """The start of the item that ends at a position. Precondition: 0 < position <= size."""

    @abstractmethod
    def items(self, low: int, high: int, *, behind: bool = False) -> RangeItems:
        """The items of a range and the one ahead of it, in a source that the caller closes. Raises InputError.

        behind: the item behind the range is in that source, too.
        """

    @abstractmethod
    def position_of(self, made: RangeItems, low: int, start: int) -> int:
        """The position of the item at `start` of the items that were made of the range from `low` on."""

    @abstractmethod
    def run(self, file: SeekableInput, number: int, order: Order) -> Source:
        """The source of a file that a task of a sort has written, which it takes over.

        number: of the run. order: of the items.
        """

    def note(self, facts: Any) -> None:  # noqa: B027 - optional
        """Take note of facts that another process has found in a range. Raises InputError if others contradict them."""


class StoredSource(RangedSource):
    """A ranged source whose items are bytes of its file behind images of keys. Outputs hold the former alone."""

    @abstractmethod
    def stored(self, items: Bytes) -> Bytes:
        """The bytes that the file holds of whole items."""


def item_sources(sources: Sequence[Source]) -> list[Source]:
    """Sources that can be read as others are, with all items of ranged ones. The caller closes new ones."""
    return [one.items(0, one.size).source if isinstance(one, RangedSource) else one for one in sources]
