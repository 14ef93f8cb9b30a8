"""The union of several headers: all their lines, each once, in an order that keeps that of each header.

VCF and SAM say what some lines mean: a line that defines an ID belongs to it, and only one definition may go out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.header_difference import shown_apart
from gpumerge_cli.errors import InputError
from gpumerge_cli.units import visible

_STRUCTURED = re.compile(rb'##([^=]+)=<(?:[^"]*,)?ID=([^,>]*)')
"""Matches a definition in VCF."""
_TAGGED = re.compile(rb"(@SQ)\t(?:.*\t)?SN:([^\t]*)|(@RG|@PG)\t(?:.*\t)?ID:([^\t]*)")
"""Matches a definition in SAM."""
_VERSION = b"##fileformat="
_KIND = re.compile(rb"##[^=]+(?==)|@[A-Z]{2}(?=\t)")
_FIRST = (_VERSION, b"@HD\t")
"""Lines that go out once, ahead of all others: VCF's version, the newest one, and SAM's first line, as it is first."""
_FIRST_KEYS = {(begin,) for begin in _FIRST}
ALIKE = "make them alike, or take the header of the first file with --headers first"
"""The way out for two lines of which one alone may go out."""


@dataclass(frozen=True)
class HeaderLine:
    """One line of a header."""

    text: bytes
    """Without its end, and without a byte order mark."""
    raw: bytes
    """As it goes out."""
    where: str
    """FILE:LINE."""


def union_of(
    headers: Sequence[Sequence[HeaderLine]],
    separator: bytes,
    *,
    has_names: bool,
    way_out: Callable[[bytes, bytes], str] = lambda line, other: ALIKE,
) -> list[HeaderLine]:
    """The lines of all headers, each once. Raises InputError if two of them contradict each other.

    separator: between fields; a last line that has one, and no ID, names the columns, and stays the last one.
    has_names: the last line names them in any case. way_out: of two lines of columns that differ.
    """
    columns: HeaderLine | None = None
    bodies = []
    for header in headers:
        body = list(header)
        if body and (has_names or is_line_of_columns(body[-1].text, separator)):
            last = body.pop()
            if columns is not None and last.text != columns.text:
                raise differing(last, columns, way_out(last.text, columns.text))
            columns = columns or last
        bodies.append(body)
    if columns is None and len({header[-1].text for header in headers if header}) == 1:
        columns = next(header[-1] for header in headers if header)
        bodies = [body[:-1] for body in bodies]
    lines = _distinct(bodies)
    return [*_in_order(bodies, lines), *([columns] if columns is not None else [])]


def is_line_of_columns(text: bytes, separator: bytes) -> bool:
    """Whether the last line of a header names columns: it has several fields, and defines nothing."""
    return separator in text and not text.startswith(b"##") and _key(text) == text


def _key(text: bytes) -> Hashable:
    """Equal for lines of which only one goes out."""
    first = next((begin for begin in _FIRST if text.startswith(begin)), None)
    if first is not None:
        return (first,)
    found = _STRUCTURED.match(text) or _TAGGED.match(text)
    return text if found is None else tuple(group for group in found.groups() if group is not None)


def _kind(text: bytes) -> bytes:
    """The kind of a line in VCF and SAM, as ##contig or @SQ; b"" for others."""
    found = _KIND.match(text)
    return found[0] if found else b""


def _distinct(bodies: Sequence[Sequence[HeaderLine]]) -> dict[Hashable, HeaderLine]:
    """The line of each key, in the order in which they come first."""
    lines: dict[Hashable, HeaderLine] = {}
    for line in (line for body in bodies for line in body):
        key = _key(line.text)
        known = lines.setdefault(key, line)
        if known.text == line.text:
            continue
        if key == (_VERSION,):
            lines[key] = max(known, line, key=lambda one: _numbers(one.text))
        elif isinstance(key, tuple) and len(key) > 1:
            kind, name = (_shown(part) for part in key)
            what = f"it defines {kind} {name} in another way than {known.where}"
            raise InputError(what, where=line.where, way_out=ALIKE)
    return lines


def _numbers(text: bytes) -> list[int]:
    return [int(digits) for digits in re.findall(rb"[0-9]+", text)]


def _in_order(bodies: Sequence[Sequence[HeaderLine]], lines: dict[Hashable, HeaderLine]) -> Iterator[HeaderLine]:
    """The lines so that each follows those ahead of it in its headers.

    Where that is open, also because headers contradict each other, a line of the same kind as the last one goes first,
    then the one that came first.
    """
    yield from (line for key, line in lines.items() if key in _FIRST_KEYS)
    keys = [key for key in lines if key not in _FIRST_KEYS]
    places = {key: place for place, key in enumerate(keys)}
    kinds = [_kind(lines[key].text) for key in keys]
    behind: list[list[int]] = [[] for _ in keys]
    ahead = [0] * len(keys)
    for body in bodies:
        found = dict.fromkeys(places[key] for line in body if (key := _key(line.text)) in places)
        for one, other in pairwise(found):
            behind[one].append(other)
            ahead[other] += 1
    ready: dict[bytes, list[int]] = {kind: [] for kind in kinds}  # heaps
    for place, count in enumerate(ahead):
        if count == 0:
            ready[kinds[place]].append(place)
    done = [False] * len(keys)
    first, kind = 0, b""
    while first < len(keys):
        heap = ready.get(kind) or min(filter(None, ready.values()), default=[])
        place = heappop(heap) if heap else first  # all that are left must follow another one: headers contradict
        if not done[place]:
            done[place], kind = True, kinds[place]
            yield lines[keys[place]]
            for other in behind[place]:
                ahead[other] -= 1
                if ahead[other] == 0:
                    heappush(ready[kinds[other]], other)
        while first < len(keys) and done[first]:
            first += 1


def differing(line: HeaderLine, known: HeaderLine, way_out: str) -> InputError:
    """The error for two lines of columns."""
    shown, other = shown_apart(line.text, known.text)
    return InputError(
        f"its columns {shown} differ from the columns of {known.where}, {other}", where=line.where, way_out=way_out
    )


def _shown(text: bytes) -> str:
    return visible(text.decode("utf-8", "replace"))
