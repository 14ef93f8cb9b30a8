"""Members that lines of JSON get beside their own: counts, columns of compare, and the names of inputs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import Beside, Counted, Named, Written
from gpumerge_cli.formats.places import OTHER_COLUMNS, refuse_delimiter
from gpumerge_cli.native.json_values import JsonKey, lines_of_items, lines_with_members
from gpumerge_cli.order.differences import CHANGE_TITLE
from gpumerge_cli.order.equals import COUNT_TITLE, PLACE_TITLE, PLACES, Margin
from gpumerge_cli.order.rules import MARK
from gpumerge_cli.units import quoted_value


@dataclass(frozen=True)
class LinesOfItems:
    """Turns whole items into the lines to write."""

    keys: int
    """The number of images in each item."""
    ahead: tuple[bytes, ...] = ()
    """The names of members ahead of those of a line, as JSON."""
    behind: tuple[bytes, ...] = ()
    """The name of a member behind them, if there is one."""

    def __call__(self, items: bytes) -> Bytes:
        if not self.ahead and not self.behind:
            return lines_of_items(items, self.keys)
        return lines_with_members(items, self.keys, self.ahead, self.behind)


def refuse_keys(added: Sequence[str], keys: Sequence[JsonKey]) -> None:
    """Raise UsageError if a member that is added has the name of a key."""
    for name in added:
        if (name,) in [key.path for key in keys]:
            raise UsageError(f"the key {name} is a member that the output adds, too", way_out=way_out_of_member(name))


def way_out_of_member(name: str) -> str:
    """The way out if lines have a member that the output adds, or are no objects."""
    if name == COUNT_TITLE:
        return "write the counts to a file of their own with --count-to"
    if name == PLACE_TITLE:
        return OTHER_COLUMNS
    if name == CHANGE_TITLE:
        return "give the member another name first, or count differences alone with --total"
    return "write --source=NAME with another name, or leave it out"


def counted_lines(margin: Margin, head: bytes, written: Written) -> Counted:
    """See Format.counted."""
    name = _json(COUNT_TITLE)
    shown = _shown(written)
    shown = replace(shown, ahead=(name, *shown.ahead)) if margin.count == "ahead" else replace(shown, behind=(name,))
    return Counted(replace(margin, separator=MARK), head, Written(shown))


def placed_lines(margin: Margin, written: Written) -> Beside:
    """See Format.placed."""
    refuse_delimiter(margin)
    shown = _shown(written)
    texts = [_json(place) + MARK for place in PLACES]
    columns = tuple(None if hidden is None else text for hidden, text in zip(margin.columns, texts, strict=True))
    total = None
    if margin.total is not None:
        numbers = ",".join(f'"{place}":%d' for place in (*PLACES[1:], PLACES[0]))
        total = f'{{"total":{{{numbers}}}}}'.encode()
    shown = replace(shown, ahead=(_json(PLACE_TITLE), *shown.ahead))
    return Beside(replace(margin, columns=columns, total=total), Written(shown))


def named_lines(title: str, names: Sequence[str], head: bytes, written: Written) -> Named:
    """See Format.named."""
    shown = _shown(written)
    texts = tuple(_json(name) + MARK for name in names)
    column = _json(title, "write --source=NAME with another name")
    return Named(texts, head, Written(replace(shown, ahead=(column, *shown.ahead))))


def _shown(written: Written) -> LinesOfItems:
    assert isinstance(written.shown, LinesOfItems), "of JSON Lines"
    return written.shown


def _json(text: str, way_out: str = "rename it, or name a link to it") -> bytes:
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        what = f"--source: {quoted_value(text)} is not UTF-8, which JSON is"
        raise UsageError(what, way_out=way_out) from None
