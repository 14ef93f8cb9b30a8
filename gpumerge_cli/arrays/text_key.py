"""Keys of text in arrays: the kind of value that the text holds, and the parameters of this kind."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Literal, SupportsIndex

from gpumerge_cli.arrays.options import short_repr
from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_kinds import CHOSEN_KINDS, KINDS, KeyKind
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.number_separators import number_separators
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.order.times import LAST_YEAR, ONE_YEAR, UNKNOWN_YEAR, InvalidTimesError, TimeSettings
from gpumerge_cli.suggestions import did_you_mean, zone_way_out

TextKind = Literal[
    "address", "bytes", "bytes-length", "duration", "general-numeric", "hex", "human-numeric", "length", "list",
    "log-time", "month", "numeric", "size", "time", "version",
]  # fmt: skip
Place = Literal["first", "last"]
TEXT_KINDS = {kind.word or kind.name: kind for kind in KINDS if kind.name in CHOSEN_KINDS and not kind.draws}
"""The kinds of keys by the words of TextKind. A random order is not among them, because it needs no merge."""


@dataclass(frozen=True)
class TextKey:
    """The kind of value that the text in an array is read as.

    >>> import gpumerge_cli, numpy as np
    >>> sizes = np.array([b"900k", b"1.5GiB", b"n/a", b"10 MB"])
    >>> gpumerge_cli.sort(sizes, text=gpumerge_cli.TextKey("size", null_values=["n/a"], nulls="first")).tolist()
    [b'n/a', b'900k', b'10 MB', b'1.5GiB']

    Raises UsageError for impossible values, and for those that the kind does not need.
    """

    kind: TextKind
    """The word of a kind: see data/manual/keys.md. "bytes" compares the bytes as they stand."""
    nulls: Place | None = None
    """The place of nulls, which a descending order does not turn round; by default "last", where there are nulls."""
    null_values: Iterable[str | bytes] = ()
    """Texts that are nulls, as empty ones are. Blanks at their ends do not count."""
    invalid: Place | Literal["error"] = "error"
    """The place of texts that the kind cannot read; by default they are an error."""
    zone: str | None = None
    """The zone of times that name none, as zoneinfo has it; UTC by default."""
    year: int | None = None
    """The year of times that name none, which are invalid without it."""
    time_format: str | None = None
    """The form of times, in the letters of strptime; by default all forms of data/manual/times.md."""
    thousands: str | None = None
    """The character between digits of a number's whole part."""
    decimal: str | None = None
    """The character ahead of a number's fraction; by default a point."""
    order_list: Iterable[str | bytes] = ()
    """The values of "list", in their order. Other texts go behind them, in the order of their bytes."""
    _key: LineKey = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        kind = TEXT_KINDS.get(self.kind) if isinstance(self.kind, str) else None
        if kind is None:
            raise UsageError(
                f"{short_repr(self.kind)} is not a kind of text",
                way_out=did_you_mean(str(self.kind), TEXT_KINDS, f"use {', '.join(TEXT_KINDS)}"),
            )
        for name, text in (
            ("zone", self.zone), ("time_format", self.time_format), ("thousands", self.thousands),
            ("decimal", self.decimal),
        ):  # fmt: skip
            if not isinstance(text, str | None):
                raise UsageError(f"{name}={short_repr(text)} is not a text")
        listed = self.order_list
        object.__setattr__(self, "null_values", _texts("null_values", self.null_values))
        object.__setattr__(self, "order_list", _texts("order_list", listed))
        invalid = None if isinstance(self.invalid, str) and self.invalid == "error" else self.invalid
        given: list[tuple[str, object, bool]] = [
            ("zone", self.zone, kind.timed), ("year", self.year, kind.timed),
            ("time_format", self.time_format, kind.timed), ("thousands", self.thousands, kind.separated),
            ("decimal", self.decimal, kind.separated), ("invalid", invalid, kind.typed),
            ("order_list", listed if self.order_list else None, kind.file_option != ""),
        ]  # fmt: skip
        for name, value, needed in given:
            if not needed and value is not None:
                raise UsageError(f"{name}={short_repr(value)} means nothing for {self.kind!r}", way_out="leave it out")
        _check_place("nulls", self.nulls, None)
        _check_place("invalid", self.invalid, "error")
        thousands, decimal = number_separators(self.thousands, self.decimal, named="{}=")
        key = LineKey(
            kind.name,
            nulls=self.nulls or "",
            null_values=tuple(filter(None, _as_bytes(self.null_values))),
            invalid="" if self.invalid == "error" else self.invalid,
            thousands=thousands,
            decimal=decimal,
            parameters=self._parameters(kind),
        )
        object.__setattr__(self, "_key", key)

    def order(self, *, descending: bool) -> Order:
        """The stable order of lines that hold one text each."""
        return Order.lines(LineOrder((replace(self._key, reverse=descending),), stable=True))

    def _parameters(self, kind: KeyKind) -> bytes:
        if kind.timed:
            return self._times().words()
        if not kind.file_option:
            return b""
        values = _as_bytes(self.order_list)
        seen: set[bytes] = set()
        for value in values:
            if not value or b"\n" in value or value in seen:
                why = "is there twice" if value in seen else "is not a value"
                raise UsageError(f"order_list: {value.decode('utf-8', 'replace')!r} {why}", way_out="leave it out")
            seen.add(value)
        if not values:
            raise UsageError(f"{self.kind!r} needs a list", way_out="give its values, order_list=[...]")
        return kind.words(b"\n".join(values), None)

    def _times(self) -> TimeSettings:
        year = self.year
        is_whole = isinstance(year, SupportsIndex) and not isinstance(year, bool)
        if year is not None and not (is_whole and 0 <= year <= LAST_YEAR):
            raise UsageError(f"year={short_repr(year)} is not a year", way_out="give one as 2024")
        years = UNKNOWN_YEAR if year is None else ONE_YEAR
        settings = TimeSettings(self.zone or "", years, int(year or 0), self.time_format or "")
        try:
            settings.words()
        except InvalidTimesError as error:
            what = f"{error.setting}={error}"
            raise UsageError(what, way_out=error.way_out or zone_way_out(settings.zone)) from None
        return settings


def as_text_key(text: Any) -> TextKey:
    """A TextKey, or the one for the word of a kind. Raises UsageError for anything else."""
    return text if isinstance(text, TextKey) else TextKey(text)


def _check_place(name: str, value: Any, other: str | None) -> None:
    if value not in ("first", "last", other):
        raise UsageError(f"{name}={short_repr(value)} is not a place", way_out='use "first" or "last"')


def _texts(name: str, values: Any) -> tuple[str | bytes, ...]:
    """The texts of a list, which may be any iterable. Raises UsageError for anything else."""
    if name == "order_list" and isinstance(values, AbstractSet):
        raise UsageError(f"{name}={short_repr(values)} has no order", way_out="give a list")
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    listed = tuple(values) if is_list else ()
    if not is_list or not all(isinstance(value, str | bytes) for value in listed):
        raise UsageError(f"{name}={short_repr(values)} is not a list of texts", way_out="give them in brackets")
    return listed


def _as_bytes(texts: Iterable[str | bytes]) -> list[bytes]:
    """Texts without the blanks at their ends, in UTF-8."""
    encoded = (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value for value in texts)
    return [value.strip(b" \t\n") for value in encoded]
