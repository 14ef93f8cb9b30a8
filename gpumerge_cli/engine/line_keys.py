"""The keys of lines as users see and write them, and the search for lines by their keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from logging import getLogger

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.escapes import escaped_line, escaped_text, printable
from gpumerge_cli.engine.item_text import format_fields, parse_bytes, parse_fields, split_fields
from gpumerge_cli.engine.line_warnings import is_number_like
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.native.comparison import Comparison, is_invalid, key_bounds
from gpumerge_cli.native.cuts import Cut
from gpumerge_cli.order.kinds import Order, TextOrder
from gpumerge_cli.order.rows import RowOrder
from gpumerge_cli.order.rules import BLANKS, MARK, LineKey, LineOrder

KeyTexts = tuple[bytes, ...]
"""The keys of one line, without quotes."""


def line_keys(order: Order) -> LineKeys | None:
    """The keys by which items are asked for; None for items that are no lines, or of which all bytes compare."""
    rules = order.text
    if rules is None or not rules.keys or not rules.stable or isinstance(order, RowOrder):
        return None
    assert isinstance(order, TextOrder)
    return LineKeys(order, rules)


class LineKeys:
    """The keys of the lines of an order."""

    def __init__(self, order: TextOrder, rules: LineOrder) -> None:
        self._order = order
        self._rules = rules
        self._comparisons = [Comparison(_order_of_keys(key, rules.locale)) for key in rules.keys]
        self._is_line = len(rules.keys) == 1 and rules.keys[0].whole

    @property
    def heading(self) -> str:
        """The names of the keys, with commas between them; the word for a line or a key if they have none."""
        names = [key.name for key in self._rules.keys]
        if self._is_line:
            return self._order.item_word
        return format_fields(names) if all(names) else "key"

    def format(self, line: bytes) -> str:
        """The keys of a line in the form that `parse` takes. The line comes without its end."""
        shown = self._order.shown_keys(line)
        if shown is not None:
            return shown
        if self._is_line:
            return escaped_line(self._key(0, self._rules.keys[0], line))
        keys = enumerate(self._rules.keys)
        return format_fields([self._format_key(key, self._key(number, key, line)) for number, key in keys])

    def parse(self, text: str, option: str, *, fewer: bool = False) -> KeyTexts:
        """The keys that a text states. Raises UsageError. Warns of a text in place of a number.

        option: has the text. fewer: the first ones of several keys are enough.
        """
        stated = self._order.keys_of_text(text, fewer=fewer)
        if stated is not None:
            return tuple(stated)
        rules = self._rules
        is_row = len(rules.keys) == 1 and self._spans(rules.keys[0]) and not text.startswith('"')
        count = len(rules.keys)
        if fewer and count > 1:
            count = min(count, len(split_fields(text)))
        fields = [text] if self._is_line or is_row else parse_fields(text, count)
        found = []
        for number, (key, field) in enumerate(zip(rules.keys, fields, strict=False)):
            parts = split_fields(field) if self._spans(key) else [field]
            value = MARK.join(map(parse_bytes, parts))
            if value and not is_number_like(key, value):
                getLogger("gpumerge").warning(
                    "gpumerge: warning: %s '%s': the key %s by %s is not a %s",
                    option, printable(text), self._order.quoted(value), self._order.key_option(number), key.kind.noun,
                )  # fmt: skip
            if key.checked and self._is_invalid(key, value):
                named = f"the key {self._order.quoted(value)} by {self._order.key_option(number)}"
                raise UsageError(f"{named} {key.kind.complaint}", way_out="write one")
            if self._begins_with_blank(key) and value and value[:1] not in BLANKS:
                value = b" " + value
            found.append(value)
        return tuple(found)

    def compare(self, line: bytes, wanted: KeyTexts) -> int:
        """Negative, zero or positive if the line goes before, with or behind those that have the wanted keys.

        wanted: the first keys are enough.
        """
        for number, (text, key, compare) in enumerate(zip(wanted, self._rules.keys, self._comparisons, strict=False)):
            result = compare(self._key(number, key, line), text)
            if result:
                return result
        return 0

    def bounds(self, wanted: KeyTexts, sources: Sequence[Source]) -> tuple[Cut, Cut]:
        """The positions in each source ahead of the lines with these keys, and behind them."""
        ahead = self.ahead(wanted, sources)
        places = zip(sources, ahead, strict=True)
        return ahead, tuple(_first(source, at, lambda line: self.compare(line, wanted) <= 0) for source, at in places)

    def ahead(self, wanted: KeyTexts, sources: Sequence[Source]) -> Cut:
        """The positions in each source ahead of the lines with these keys."""
        return tuple(_first(source, 0, lambda line: self.compare(line, wanted) < 0) for source in sources)

    def compare_keys(self, a: KeyTexts, b: KeyTexts) -> int:
        """Negative, zero or positive if the keys `a` go before, with or behind `b`, by those that both have."""
        results = (compare(one, other) for compare, one, other in zip(self._comparisons, a, b, strict=False))
        return next(filter(None, results), 0)

    def _format_key(self, key: LineKey, value: bytes) -> str:
        if self._begins_with_blank(key) and value[:1] == b" " and value[1:2] not in BLANKS:
            value = value[1:]
        if self._spans(key):
            return format_fields([escaped_text(part) for part in value.split(MARK)])
        return escaped_text(value)

    def _key(self, number: int, key: LineKey, line: bytes) -> bytes:
        begin, end = key_bounds(self._order, number, line)
        value = self._rules.value_of(line[begin:end])
        if not key.kind.skips_blanks or self._is_line or self._is_invalid(key, value):  # all bytes of these compare
            return value
        return value.lstrip(BLANKS)

    def _is_invalid(self, key: LineKey, value: bytes) -> bool:
        return key.kind.typed and is_invalid(_order_of_keys(key, self._rules.locale), 0, value)

    def _begins_with_blank(self, key: LineKey) -> bool:
        """Whether all keys that are not empty begin with a blank, as fields do that blanks separate."""
        at_start = key.start_field > 0 and key.start_char == 0
        return at_start and self._rules.separator is None and not key.skip_start and not key.kind.skips_blanks

    def _spans(self, key: LineKey) -> bool:
        """Whether a key may hold several fields of an item, with marks between them."""
        several = key.end_field is None or key.end_field > key.start_field or key.end_char > 0
        return self._rules.has_fields and several


def _order_of_keys(key: LineKey, locale: str) -> Order:
    """The order of lines that are such keys alone, by a locale if it is not ""."""
    skips = key.skip_start and key.start_char == 0
    alone = replace(
        key, start_field=0, start_char=0, end_field=None, end_char=0, skip_start=skips, skip_end=False,
    )  # fmt: skip
    return Order.lines(LineOrder((alone,), stable=True, locale=locale))


def _first(source: Source, low: int, is_ahead: Callable[[bytes], bool]) -> int:
    """The position of the first line from the one at `low` on that is not ahead; the source's size if all are."""
    found = limit = source.size  # no line is known to start in [limit, found)
    while low < limit:
        middle = (low + limit) // 2
        start = source.item_start(middle)
        if start >= limit:
            limit = middle
        elif is_ahead(source.item_at(start)):
            low = source.item_end(start)
        else:
            found = limit = start
    return found
