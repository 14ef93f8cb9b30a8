"""The rules of a join of lines as plain data: where each input has its keys, how they compare, and what is written."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.order.rules import LINES, NUL, LineKey, LineOrder, Quotes, Spelling

if TYPE_CHECKING:
    from array import array

    from gpumerge_cli.order.asof import Asof
    from gpumerge_cli.order.kinds import Order

PAIRS, ONLY_A, ONLY_B, PAIRED_A = 1, 2, 4, 8
"""The items that are written, as bits: one for each pair of items with equal keys; the items of A, and of B, without a
partner; each item of A that has one, once. They are JoinShows of kernels/cpu/entries.h."""
JOIN_TYPES = {
    "inner": PAIRS,
    "left": PAIRS | ONLY_A,
    "right": PAIRS | ONLY_B,
    "outer": PAIRS | ONLY_A | ONLY_B,
    "anti": ONLY_A,
    "semi": PAIRED_A,
}
"""The kinds of joins by name."""
_SPACE = b" "


@dataclass(frozen=True)
class Join:
    """A join of two inputs of lines, A and B."""

    fields: tuple[tuple[int, ...], tuple[int, ...]] = ((0,), (0,))
    """The join fields of A and those of B, as many, counted from 0."""
    key: LineOrder = LineOrder()
    """The order of keys. For one field, it compares each key as a line; for several, it has a LineKey for each."""
    separator: bytes | None = None
    """The text between fields, see LineOrder; None for blanks."""
    between: bytes = _SPACE
    """The text between the fields of the output."""
    quoted: bool = False
    """Whether fields may be quoted, see LineOrder."""
    quotes: Quotes = "doubled"
    """See LineOrder."""
    spelling: Spelling = field(default=LINES, compare=False)
    """The words for the lines of A and B."""
    shows: int = PAIRS
    """A sum of PAIRS and the others."""
    asof: Asof | None = None
    """The rules of an as-of join, whose `shows` are those of a left join; None for joins of equal keys."""
    columns: tuple[tuple[int, int], ...] | None = None
    """The fields of the output: (0, number) for a field of the key, (1 or 2, field from 0) for those of A or B. None
    for the key, the other fields of A and the other fields of B."""
    auto: bool = False
    """Whether `columns` is to be made from the first lines of the inputs."""
    refuses_more: bool = False
    """Whether it is then an error if a line has more fields than the first one, which are not written otherwise."""
    most: tuple[int, int] = (0, 0)
    """The most fields of lines of A and of B, empty ones at the end aside; `columns` has them all. 0 for any number."""
    filler: bytes = b""
    """Stands for fields that are empty or missing."""
    header_of_a: bool = False
    """Whether the output's header is that of A, with its key first."""
    names: tuple[tuple[str, ...], tuple[str, ...]] = field(default=((), ()), compare=False)
    """The names of the join fields of A and those of B, as options gave them; () where options gave numbers."""
    options: tuple[str, str] = field(default=("-j", "-j"), compare=False)
    """The options that name the fields of A and those of B."""

    @property
    def rules(self) -> tuple[LineOrder, LineOrder]:
        """The orders that the lines of A and B are in: by their join fields."""
        return self._rules(0), self._rules(1)

    @property
    def orders(self) -> tuple[Order, ...]:
        """The same as orders."""
        from gpumerge_cli.order.kinds import Order

        return tuple(map(Order.lines, self.rules))

    @property
    def compared(self) -> Order:
        """The order of keys. A key of several fields is a line of these fields, with separators between them."""
        from gpumerge_cli.order.kinds import Order

        if len(self._ways) == 1:
            return Order.lines(self.key)
        keys = (replace(way, start_field=at, end_field=at) for at, way in enumerate(self._ways))
        separator = _SPACE if self.separator is None else self.separator
        order = replace(self.key, keys=tuple(keys), separator=separator, quoted=self.quoted, quotes=self.quotes)
        return Order.lines(order)

    @property
    def tables(self) -> tuple[array[int], ...]:
        """The places of the keys in items of A and B: see SourceSpec of kernels/cpu/entries.h."""
        return tuple(rules.table() for rules in self.rules)

    def within(self, order: LineOrder) -> Join:
        """The same join of lines as a format has prepared them: `order` is that of A's."""
        between = self.between if order.separator is None or order.separator == self.separator else order.separator
        return replace(
            self,
            key=replace(self.key, terminator=order.terminator),
            separator=order.separator,
            between=between,
            quoted=order.quoted,
            quotes=order.quotes,
            spelling=order.spelling,
        )

    def sorting(self, source: int) -> str:
        """The options of gpumerge sort for A (0) or B (1)."""
        keys = [replace(key, option="--field", name=_in_shell(key.name)).option_text for key in self.rules[source].keys]
        end = (self.spelling.requested or self.key).terminator
        options = ["-s", "-z" * (end == NUL), self.spelling.separator_option(self.separator), self.spelling.option]
        return " ".join([*filter(None, options), *keys])

    def proposal(self, keys: Sequence[LineKey], names: Sequence[Sequence[bytes]]) -> str:
        """The way out for files that are in another order: the options that join the same fields, compared as `keys`.

        Fields have names where headers tell them. names: those in the headers of A and B; () if fields have numbers
        alone.
        """
        letters, own = _letters(keys), _letters(self._ways)
        added = {new for new, old in zip(letters, own, strict=True) if new != old}
        change = f"add :{added.pop()}" if not any(own) and len(added) == 1 else "use that"
        return f"both files are in the order of {self._options_for(letters, names)}: {change}"

    def _options_for(self, letters: Sequence[str], tables: Sequence[Sequence[bytes]]) -> str:
        named = bool(tables) and all(
            field < len(names) and re.fullmatch(rb"[A-Za-z0-9_]+", names[field]) and names.count(names[field]) == 1
            for names, fields in zip(tables, self.fields, strict=True)
            for field in fields
        )
        words: list[str] = []
        like_numbers = False
        for number, fields in enumerate(self.fields):
            shown = [tables[number][field].decode() if named else str(field + 1) for field in fields]
            like_numbers |= any(word[0].isdigit() for word in shown)
            words.append(",".join(f"{a}{':' * bool(b)}{b}" for a, b in zip(shown, letters, strict=True)))
        of_both = "--field" if self.options[0] == "--field" else "-j"
        options = f"{of_both} {words[0]}" if words[0] == words[1] else f"-1 {words[0]} -2 {words[1]}"
        return options + " --header" * (bool(tables) and like_numbers)

    @property
    def _ways(self) -> tuple[LineKey, ...]:
        return self.key.keys or (LineKey(reverse=self.key.reverse),) * len(self.fields[0])

    def _rules(self, source: int) -> LineOrder:
        fields, option = self.fields[source], self.options[source]
        keys = (
            replace(way, start_field=at, end_field=at, skip_start=self.separator is None, name=name, option=option)
            for way, at, name in zip(self._ways, fields, self.names[source] or ("",) * len(fields), strict=True)
        )
        return LineOrder(
            tuple(keys),
            separator=self.separator,
            stable=True,
            terminator=self.key.terminator,
            quoted=self.quoted,
            quotes=self.quotes,
            locale=self.key.locale,
        )

    def all_columns(self, counts: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """The columns of `auto`: the key, then all others of lines that have so many fields in A and B."""
        others = (
            (number, field)
            for number, count, joined in zip((1, 2), counts, self.fields, strict=True)
            for field in range(count)
            if field not in joined
        )
        return (*((0, number) for number in range(len(self.fields[0]))), *others)


def suffix_apart(name: str, others: Collection[str]) -> str:
    """The suffix that tells a name of B from other columns' names: "_2" as often as it takes, "" if it is apart."""
    suffix = ""
    while name + suffix in others:
        suffix += "_2"
    return suffix


def _letters(keys: Sequence[LineKey]) -> list[str]:
    return [replace(key, start_field=0, end_field=None, skip_start=False).describe() for key in keys]


def _in_shell(name: str) -> str:
    from shlex import quote  # only for messages: it loads more

    return quote(name) if name else ""
