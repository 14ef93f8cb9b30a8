"""The items of a merge between two keys. A search in each source finds its cuts; no other items are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.item_text import by_stated_keys, parse_item, stated
from gpumerge_cli.engine.job import KeyInterval
from gpumerge_cli.engine.line_keys import KeyTexts, LineKeys, line_keys
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, cuts_of


def chunk_within(inputs: Inputs, keys: KeyInterval) -> Chunk:
    """The items that a range of keys names.

    Raises UsageError for keys that items cannot have, or that are in the wrong order, DisorderError if the cuts show
    that a source is not in order.
    """
    search = _search(inputs)
    start = None if keys.start is None else search.parsed(keys.start, "--from")
    stop = None if keys.stop is None else search.parsed(keys.stop, "--to")
    if start is not None and stop is not None and search.goes_behind(start, stop):
        raise UsageError(f"--from '{keys.start}' comes after --to '{keys.stop}' in the order", way_out="swap them")
    low = [0] * len(inputs.sources) if start is None else search.ahead(start)
    high = [source.size for source in inputs.sources] if stop is None else search.ahead(stop)
    for source, first, last in zip(inputs.sources, low, high, strict=True):
        if first > last:
            raise DisorderError(
                "disorder: the items before --to end before the items of --from begin",
                where=source.location(last),
                way_out="gpumerge check tells which file is not in order",
            )
    return Chunk(tuple(zip(low, high, strict=True)), sum(low))


class _Search(ABC):
    """Finds items by keys that texts state."""

    @abstractmethod
    def parsed(self, text: str, option: str) -> Any:
        """The keys that the text of an option states. Raises UsageError."""

    @abstractmethod
    def goes_behind(self, a: Any, b: Any) -> bool:
        """Whether all items with the keys `a` go behind those with the keys `b`."""

    @abstractmethod
    def ahead(self, wanted: Any) -> Sequence[int]:
        """The positions in each source ahead of the items with these keys."""


class _ByLines(_Search):
    """Lines by the texts of their keys."""

    def __init__(self, inputs: Inputs, keys: LineKeys) -> None:
        self._inputs = inputs
        self._keys = keys

    def parsed(self, text: str, option: str) -> KeyTexts:
        with stated(option, text):
            return self._keys.parse(text, option, fewer=True)

    def goes_behind(self, a: KeyTexts, b: KeyTexts) -> bool:
        return self._keys.compare_keys(a, b) > 0

    def ahead(self, wanted: KeyTexts) -> Sequence[int]:
        return self._keys.ahead(wanted, self._inputs.sources)


class _ByItems(_Search):
    """Items by an item with the same keys, in the order by as many keys as the text has."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs

    def parsed(self, text: str, option: str) -> tuple[Order, bytes]:
        with stated(option, text):
            order = by_stated_keys(text, self._inputs.order)
            return order, parse_item(text, order, self._inputs.layout.format)

    def goes_behind(self, a: tuple[Order, bytes], b: tuple[Order, bytes]) -> bool:
        order = min(a[0], b[0], key=lambda one: one.key_count)
        return Comparison(order)(a[1], b[1]) > 0

    def ahead(self, wanted: tuple[Order, bytes]) -> Sequence[int]:
        order, item = wanted
        return cuts_of(self._inputs.sources, order).bounds(item)[0]


def _search(inputs: Inputs) -> _Search:
    keys = line_keys(inputs.order)
    return _ByItems(inputs) if keys is None else _ByLines(inputs, keys)
