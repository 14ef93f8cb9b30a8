"""The registry of formats: every file NAME_ITEMS.py of this folder registers the format NAME (see formats/names.py)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import FORMATS, Format
from gpumerge_cli.formats.names import FORMAT_MODULES
from gpumerge_cli.formats.schema import common_columns

if TYPE_CHECKING:
    from gpumerge_cli.formats.items import Items

_RAW = "raw"
"""The format that is loaded alone. The others look at the first bytes of files, and know each other's."""


def all_formats() -> tuple[Format, ...]:
    """All formats in the order of their names, then those that others have registered."""
    _load_all()
    return tuple(FORMATS[name] for name in format_names())


@cache
def _load_all() -> None:
    for module in FORMAT_MODULES.values():
        import_module(f"{__package__}.{module}")


def format_names() -> tuple[str, ...]:
    """The names that --format takes."""
    return tuple(dict.fromkeys((*FORMAT_MODULES, *FORMATS)))


def format_named(name: str) -> Format:
    """The format of that name, which must be one of format_names()."""
    found = _loaded(name)
    assert found is not None, f"there is no format {name}"
    return found


def _loaded(name: str) -> Format | None:
    """The format of that name; None if there is none."""
    if name not in FORMATS:
        if name == _RAW:
            import_module(f"{__package__}.{FORMAT_MODULES[_RAW]}")
        else:
            _load_all()
    return FORMATS.get(name)


def format_of_suffix(suffix: str) -> Format | None:
    """The format of a suffix, in lower case and with its dot; "" for none. No two formats have the same."""
    raw = format_named(_RAW)
    return raw if suffix in raw.suffixes else next((one for one in all_formats() if suffix in one.suffixes), None)


def format_if_named(name: str | None) -> Format | None:
    """The format of that name; None for None. Raises UsageError if there is none."""
    if name is None:
        return None
    found = _loaded(name)
    if found is None:
        raise UsageError(f"--format {name}: no such format", way_out=f"use {' or '.join(format_names())}")
    return found


def format_of_option(option: str) -> Format:
    """The format that an option of its own asks for."""
    return next(one for one in all_formats() if one.option == option)


def implied_format() -> Format:
    """The format of lines whose columns are named, if nothing else gives one."""
    return next(one for one in all_formats() if one.is_implied)


def dtype_of(suffix: str) -> str:
    """The name of the dtype of a suffix; "" if it has none."""
    one = format_of_suffix(suffix)
    return "" if one is None else one.suffixes[suffix]


def holds_lines(name: str) -> bool:
    """True if the items of the format of that name are lines of text."""
    return format_named(name).holds == "lines"


def holds_rows(name: str) -> bool:
    """True if the items of the format of that name are rows of typed columns."""
    one = _loaded(name)
    return one is not None and one.holds == "rows"


def names_columns(name: str) -> bool:
    """True if a format of that name has lines of columns that keys may name."""
    one = _loaded(name)
    return one is not None and one.holds == "lines" and one.names_in_header


def names_paths(name: str) -> bool:
    """True if keys of a format of that name are named by paths."""
    one = _loaded(name)
    return one is not None and one.named_by_path


def columns_of_all(format: Format, files: Sequence[str], items: Items) -> tuple[str, ...]:
    """The names of the columns that files have together by items.schema; () if all are empty.

    Raises InputError for a file without names or with two columns of one name, and if files have no column in common.
    """
    found = [(file, format.columns(file, items)) for file in files]
    headers = [(file, [one.name for one in columns]) for file, columns in found if columns is not None]
    line = "" if items.header_prefix else f":{items.header_lines}"
    return common_columns([(f"{file}{line}", names) for file, names in headers], items.schema)


def means_table(suffix: str) -> bool:
    """True if a suffix names a table, be it read as plain lines or not."""
    return any(suffix in one.tables or (one.names_in_header and suffix in one.suffixes) for one in all_formats())


def torn_way_out(lines: Sequence[bytes]) -> str:
    """The way out where lines seem to be pieces of the items of some format; "" if they do not."""
    return next((way_out for one in all_formats() if (way_out := one.torn_way_out(lines))), "")


def is_binary(suffix: str) -> bool:
    """True if a suffix names a format whose items are not lines of text."""
    one = format_of_suffix(suffix)
    return one is not None and one.holds != "lines"
