"""The order of lines by values within them, each turned into an item: the images of its keys, then the line itself.

MARK stands behind each image, and NUL behind the line. The images of values compare by their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.order.base import Bounds, Meant, Order, by_another_key
from gpumerge_cli.order.lines import TextOrder
from gpumerge_cli.order.rules import MARK, LineKey, LineOrder


class LineValues(Protocol):
    """Finds the values of keys."""

    def of_line(self, line: bytes) -> Sequence[bytes]:
        """The value of each key as the line spells it."""

    def images(self, text: str, *, fewer: bool = False) -> Sequence[bytes]:
        """The image of each key, from a text that states their values. fewer: of the first ones. Raises UsageError."""


@dataclass(frozen=True)
class ValueOrder(TextOrder):
    """The order of such items."""

    in_locales: ClassVar[bool] = False
    values: LineValues | None = field(default=None, compare=False)

    @classmethod
    def by_values(cls, rules: LineOrder, values: LineValues) -> ValueOrder:
        """The order by the keys of `rules`, which number the images."""
        return cls("lines", rules=rules, values=values)

    def key_of(self, item: bytes) -> bytes:
        return item.rpartition(MARK)[2]

    def quoted(self, part: bytes) -> str:
        text = part.decode("utf-8", "replace")
        return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)

    def by_key(self) -> Sequence[Order]:
        return [self.by_rules(replace(self.rules, keys=(key,), stable=True)) for key in self.rules.keys]

    def part(self, number: int, item: bytes, bounds: Bounds) -> bytes | None:
        assert self.values is not None
        return self.values.of_line(self.key_of(item))[self.rules.keys[number].start_field]

    def shown_keys(self, item: bytes) -> str | None:
        assert self.values is not None
        found = self.values.of_line(self.key_of(item))
        return ",".join(self.quoted(found[key.start_field]) for key in self.rules.keys)

    def keys_of_text(self, text: str, *, fewer: bool = False) -> Sequence[bytes] | None:
        assert self.values is not None
        return self.values.images(text, fewer=fewer)

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        return [self.by_rules(replace(self.rules, stable=True))] if keys_equal and not self.rules.stable else []

    def meant(self, by: int | None) -> Sequence[Meant]:
        if by is None:
            way_out = f"the file is in the order of its keys: {self.rules.stable_by}"
            return [Meant(other, way_out, leaves_ties=True) for other in self.others(keys_equal=True)]
        spelling = self.rules.spelling.of(_turned(self.rules.requested, by))
        return [by_another_key(self, self.by_rules(replace(_turned(self.rules, by), spelling=spelling)), by)]


def _turned(rules: LineOrder, by: int) -> LineOrder:
    """The rules with key `by` the other way round."""
    key: LineKey = replace(rules.keys[by], reverse=not rules.keys[by].reverse)
    return replace(rules, keys=(*rules.keys[:by], key, *rules.keys[by + 1 :]))
