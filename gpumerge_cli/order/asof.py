"""The rules of an as-of join: which item of B goes beside one of A, and how far apart their keys may be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from fractions import Fraction

AsofDirection = Literal["backward", "forward", "nearest"]
DIRECTIONS: tuple[AsofDirection, ...] = get_args(AsofDirection)
"""In the order of AsofDirection of kernels/cpu/entries.h."""
Measure = Literal["by kind", "bytes", "nullable", "json", "whole", "date", "float", "row float"]
_MEASURES: tuple[Measure, ...] = get_args(Measure)
"""In the order of AsofMeasure there."""
_WIDEST = 16
"""The most bytes of an image that has distances."""
_MOST = (1 << 128) - 1
_UNITS = {"W": 604800 * 10**9, "D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9}
_SMALL_UNITS = ("s", "ms", "us", "ns", "ps", "fs", "as")
_NUMERIC_KINDS, _TIME_KINDS = ("numeric", "general", "size"), ("time", "log_time", "duration")


@dataclass(frozen=True)
class Tolerance:
    """The greatest distance of two keys that are paired."""

    text: str
    """As the user wrote it."""
    number: str | None = None
    """Its decimal digits, with a point or without; None for a duration."""
    nanos: int = 0
    """The nanoseconds of a duration."""


@dataclass(frozen=True)
class Scale:
    """The distances that values of a type have."""

    of: Literal["nothing", "numbers", "floats", "decimals", "times"]
    """nothing: values have no distances. numbers, times: images differ by them. floats: computed as doubles.
    decimals: computed exactly."""
    units: Fraction | int = 1
    """The units of an image in 1; for times, the nanoseconds of a unit."""


NO_SCALE, NUMBERS, FLOATS, DECIMALS, NANOSECONDS = (
    Scale("nothing"), Scale("numbers"), Scale("floats"), Scale("decimals"), Scale("times"),
)  # fmt: skip


@dataclass(frozen=True)
class Asof:
    """An as-of join. Its fields from `measure` on are made when the inputs are opened, see AsofSpec of entries.h."""

    direction: AsofDirection = "backward"
    """The side on which the item of B lies, by value."""
    tolerance: Tolerance | None = None
    measure: Measure = "bytes"
    nulls: bytes = b""
    """The bytes of which each begins the key of a null."""
    width: int = 0
    """The bytes of an image."""
    tail: int = 0
    """See AsofSpec."""
    descending: bool = False
    """Whether the last key descends. Items are then paired as if both files were read from their ends."""
    limit: int = 0
    """The tolerance of images and times; of floats the bits of a double."""
    digits: bytes = b""
    """The tolerance of decimals."""

    @property
    def by_distance(self) -> bool:
        """Whether the distances of values matter, not only their order."""
        return self.tolerance is not None or self.direction == "nearest"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The fields of AsofSpec ahead of the text."""
        low, high = (
            number - (number >> 63 << 64) for number in (self.limit & (1 << 64) - 1, self.limit >> 64 & (1 << 64) - 1)
        )
        return (
            DIRECTIONS.index(self.direction), _MEASURES.index(self.measure), int.from_bytes(self.nulls, "little"),
            self.width, self.tail, int(self.tolerance is not None), low, high, int(self.descending),
        )  # fmt: skip

    def by(
        self, name: str, measure: Measure, scale: Scale, *, descending: bool, width: int = 0, tail: int = 0,
        nulls: bytes = b"",
    ) -> Asof:  # fmt: skip
        """The join by a last key of a type. name: that of the key. Raises UsageError if its type does not fit."""
        made = replace(self, measure=measure, width=width, tail=tail, nulls=nulls, descending=descending)
        if scale.of == "nothing" or width > _WIDEST:
            asked = f"--tolerance {self.tolerance.text}" if self.tolerance is not None else "--direction nearest"
            if not self.by_distance:
                return made
            what = f"{asked}: values of the last key, {name}, have no distances"
            raise UsageError(what, way_out="name a number, time or duration last, as t:n or t:time; or leave it out")
        return made if self.tolerance is None else made._limited(self.tolerance, name, scale)

    def without_values(self, nulls: bytes) -> Asof:
        """The join by a last key that is null in all items, so that its type is not known."""
        return Asof(measure="nullable", nulls=nulls)

    def _limited(self, tolerance: Tolerance, name: str, scale: Scale) -> Asof:
        of_times = scale.of == "times"
        if (tolerance.number is None) != of_times:
            kind, other = ("time or duration", "a number") if of_times else ("number", "a duration")
            way_out = "write a duration, as 5m or 100ms" if of_times else "write a number"
            what = f"--tolerance {tolerance.text}: it is {other}, and the last key, {name}, is a {kind}"
            raise UsageError(what, way_out=way_out)
        if of_times:
            return replace(self, limit=min(_MOST, int(tolerance.nanos // scale.units)))
        assert tolerance.number is not None, "it is a number"
        if scale.of == "decimals":
            return replace(self, digits=tolerance.number.encode())
        if scale.of == "floats":
            import struct

            return replace(self, limit=int.from_bytes(struct.pack("<d", float(tolerance.number)), "little"))
        from fractions import Fraction

        return replace(self, limit=min(_MOST, int(Fraction(tolerance.number) * scale.units)))


def scale_of_kind(name: str) -> Scale:
    """The distances of texts that compare by a kind of keys."""
    return DECIMALS if name in _NUMERIC_KINDS else NANOSECONDS if name in _TIME_KINDS else NO_SCALE


def scale_of_unit(text: str) -> Scale:
    """The distances of NumPy's dates and time spans in a unit, "[ns]" or "[25s]"; "" for none."""
    from fractions import Fraction

    found = re.fullmatch(r"\[(\d*)(\w+)\]", text, re.ASCII)
    if found is None:
        return NUMBERS
    unit, count = found[2], int(found[1] or 1)
    if unit in _UNITS:
        return Scale("times", Fraction(count * _UNITS[unit]))
    if unit in _SMALL_UNITS:
        return Scale("times", Fraction(count * 10**9, 1000 ** _SMALL_UNITS.index(unit)))
    return NO_SCALE  # months and years have no fixed length
