"""The joins of tables and of JSON Lines that options ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.chosen_format import FormatChoice, formats_by_suffix
from gpumerge_cli.cli.columns import column_names
from gpumerge_cli.cli.fields import path_keys
from gpumerge_cli.cli.job_parts import kinds_of
from gpumerge_cli.cli.join_columns import OPTION, Names, check_numbers, chosen_columns
from gpumerge_cli.cli.join_keys import check_counts, given_fields, letters_of_both
from gpumerge_cli.cli.join_options import asof_of, of_lines_alone, of_plain_lines, shown_items
from gpumerge_cli.cli.key_sources import with_parameters
from gpumerge_cli.cli.keyspec import line_order
from gpumerge_cli.cli.options.typed import JoinOptions
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.row_joins import JoinRequest
from gpumerge_cli.urls import shown

if TYPE_CHECKING:
    from gpumerge_cli.formats.items import Items

_NOT_A_COLUMN = -2
"""The number of a key that is no column by itself."""


def of_tables(options: JoinOptions, names: tuple[str, ...]) -> tuple[Items, JoinRequest]:
    """The items and the request of a join of tables. Raises UsageError, or InputError for columns of a file."""
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.record_options import RecordRequest

    _refuse_others(options, names)
    alone = {option: value for option, value in of_lines_alone(options).items() if option != OPTION}
    option = next((option for option, value in alone.items() if value), None)
    if option is not None:
        raise UsageError(f"{option}: it is for text, and the files are tables", way_out="leave it out")
    if options.empty is not None:
        raise UsageError(f"-e {options.empty}: missing values of a table are null", way_out="leave it out")
    if options.record_size or options.key_offset or options.key_size:
        raise UsageError("--record-size and the like: the files are tables", way_out="leave it out")
    given = given_fields(options)
    first, second = (RecordRequest(fields=one.texts, option=one.option) for one in given)
    texts = [text for one in given for text in one.texts]
    items = Items(
        options.format, options.dtype, reverse=options.reverse, records=first, others=(second,),
        nulls=options.nulls or "last", kinds=kinds_of(options, texts, names),
    )  # fmt: skip
    columns = _columns(options, names, items, [one.texts for one in given])
    return items, JoinRequest(shown_items(options), columns, asof_of(options))


def _refuse_others(options: JoinOptions, names: Sequence[str]) -> None:
    """Raise UsageError for a file whose suffix says that it is no table."""
    if options.format is not None:
        return
    found = formats_by_suffix(names)
    table = next(name for name, one in found if one is not None and one.holds == "rows")
    other = next(((name, one) for name, one in found if one is None or one.holds != "rows"), None)
    if other is not None:
        word = "no table" if other[1] is None else other[1].word
        what = f"{shown(table)} is a table, and {shown(other[0])} holds {word}"
        raise UsageError(
            what, way_out="write the table as .csv or .jsonl first, by gpumerge merge -o, or join two tables"
        )


def of_values(options: JoinOptions, names: tuple[str, ...], chosen: FormatChoice) -> tuple[Items, JoinRequest]:
    """The items and the request of a join of lines whose keys are paths. Raises UsageError, InputError."""
    from gpumerge_cli.formats.items import Items

    assert chosen.name is not None, "there are such keys"
    option = next((option for option, value in of_plain_lines(options).items() if value), None)
    if option is not None:
        raise UsageError(f"{option}: the files hold JSON Lines, joined as objects", way_out="leave it out")
    if options.empty is not None:
        raise UsageError(f"-e {options.empty}: members that an object lacks are left out", way_out="leave it out")
    given = given_fields(options)
    a, b = ([key for keys in path_keys(one.texts, chosen.name, one.option) for key in keys] for one in given)
    if not a and not b:
        raise UsageError("JSON Lines need a key", way_out="name one by --field, or compare lines by --format text")
    check_counts(a, b)
    letters = [letters_of_both(*pair) for pair in zip(a, b, strict=True)]
    orders = []
    for keys, one in zip((a, b), given, strict=True):
        own = [replace(key, start=its) for key, its in zip(keys, letters, strict=True)]
        order = with_parameters(line_order(options.letters, own, stable=True), options, names)
        orders.append(replace(order, keys=tuple(replace(key, option=one.option) for key in order.keys)))
    named = chosen.name if chosen.certainty == "named" else None
    request = JoinRequest(shown_items(options), asof=asof_of(options))
    return Items(named, lines=orders[0], lines_of_others=orders[1]), request


def _columns(
    options: JoinOptions, files: Sequence[str], items: Items, keys: Sequence[Sequence[str]]
) -> tuple[tuple[int, int], ...] | None:
    """The columns that -o chooses; None for all. keys: the texts that name those of A and B."""
    if not options.columns:
        return None
    if any(name == "-" for name in files):
        what = f"{OPTION}: the columns of standard input are not known before it is read"
        raise UsageError(what, way_out="write it to a file first")
    if not any(keys):
        raise UsageError(f"{OPTION} chooses columns of a join whose key is named", way_out="name the key with --field")
    found: list[Sequence[str]] = []
    for name in files:
        found.append(column_names((name,), _of_file(items, name)).names or ())
    names: Names = (found[0], found[1])
    a, b = (_places(texts, its) for texts, its in zip(keys, found, strict=True))
    columns = chosen_columns(options.columns, (a, b), lambda: names).columns
    if columns is not None:
        check_numbers(columns, names)
    return columns


def _of_file(items: Items, name: str) -> Items:
    from gpumerge_cli.formats.registry import layout_of

    return replace(items, format=layout_of(name, items).format.name)


def _places(texts: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the columns that are keys."""
    words = [word for text in texts for word in ([text] if text in names else text.split(","))]
    bare = [word if word in names else word.rpartition(":")[0] or word for word in words]
    return tuple(names.index(word) if word in names else _NOT_A_COLUMN for word in bare)
