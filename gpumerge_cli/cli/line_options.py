"""The options of GNU sort that order lines, for the commands that are not sort's twins: their help, and what they make.

Keys, words and contradictions are judged by the code that reads sort's own command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import typer

from gpumerge_cli.cli import keyspec
from gpumerge_cli.cli.gnu_values import parse_separator
from gpumerge_cli.cli.salt import read_salt
from gpumerge_cli.order.rules import LineOrder

IgnoreLeadingBlanks = Annotated[
    bool, typer.Option("--ignore-leading-blanks", "-b", help="Blanks ahead of a key do not count.")
]
DictionaryOrder = Annotated[
    bool, typer.Option("--dictionary-order", "-d", help="Only blanks, letters and digits of lines count.")
]
IgnoreCase = Annotated[bool, typer.Option("--ignore-case", "-f", help="Lower case counts as upper case.")]
IgnoreNonprinting = Annotated[
    bool, typer.Option("--ignore-nonprinting", "-i", help="Only printable characters of lines count.")
]
GeneralNumeric = Annotated[
    bool,
    typer.Option(
        "--general-numeric-sort", "-g", help="Lines are in the order of their leading numbers, as 1e3, inf or 0x1p4."
    ),
]
HumanNumeric = Annotated[
    bool, typer.Option("--human-numeric-sort", "-h", help="Lines are in the order of their leading sizes, as 2K or 1G.")
]
MonthSort = Annotated[
    bool,
    typer.Option("--month-sort", "-M", help="Lines are in the order of their leading months, JAN to DEC."),
]
VersionSort = Annotated[
    bool, typer.Option("--version-sort", "-V", help="Lines are in the order of the versions in them, as 1.9 < 1.10.")
]
RandomSort = Annotated[bool, typer.Option("--random-sort", "-R", help="Lines are in the order of their keys' hashes.")]
SortWord = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="WORD",
        show_default=False,
        help="-g, -h, -M, -n, -R or -V as a word: general-numeric, human-numeric, month, numeric, random or version.",
    ),
]
SortKey = Annotated[
    list[str] | None,
    typer.Option(
        "--sort-key",
        "-k",
        metavar="F[.C][OPTIONS][,F[.C][OPTIONS]]",
        show_default=False,
        help="A key of lines: from character C of field F, counted from 1, to that of another, or to the line's end. "
        "OPTIONS are letters from bdfghiMnRrV, in place of the global ones. May be given again, for ties.",
    ),
]
FieldSeparator = Annotated[
    str | None,
    typer.Option(
        "--field-separator",
        "-t",
        metavar="BYTE",
        show_default=False,
        help="What lies between fields, \\0 for NUL; by default the empty place ahead of blanks.",
    ),
]
Stable = Annotated[
    bool, typer.Option("--stable", "-s", help="Lines whose keys are equal are equal; otherwise all their bytes decide.")
]
ZeroTerminated = Annotated[bool, typer.Option("--zero-terminated", "-z", help="Lines end with NUL, not with newline.")]
RandomSource = Annotated[
    str | None,
    typer.Option("--random-source", metavar="FILE", show_default=False, help="What the hash of -R begins with."),
]
Header = Annotated[
    int,
    typer.Option(
        "--header",
        metavar="N",
        min=0,
        help="The first N lines of the first file stay ahead of the output; those of the others are left out.",
    ),
]
Csv = Annotated[
    bool, typer.Option("--csv", help="Keys are fields of CSV, quoted or not, by number or by the header's names.")
]


def said_order(*, random_source: str | None = None, **said: Any) -> LineOrder | None:
    """line_order of what was said of lines, with its salt; None if that was nothing, or no more than --reverse.

    Raises InputError if the salt cannot be read.
    """
    order = line_order(**said)
    if order in (LineOrder(), LineOrder(reverse=True), LineOrder(stable=True), LineOrder(reverse=True, stable=True)):
        return None
    return replace(order, salt=read_salt(random_source)) if keyspec.is_random(order) else order


def line_order(
    *,
    ignore_leading_blanks: bool = False,
    dictionary_order: bool = False,
    ignore_case: bool = False,
    ignore_nonprinting: bool = False,
    general_numeric_sort: bool = False,
    human_numeric_sort: bool = False,
    month_sort: bool = False,
    numeric_sort: bool = False,
    version_sort: bool = False,
    random_sort: bool = False,
    reverse: bool = False,
    sort: str | None = None,
    sort_key: list[str] | None = None,
    field_separator: str | None = None,
    stable: bool = False,
    unique: bool = False,
    zero_terminated: bool = False,
    csv_names: Callable[[int | None], list[str]] | None = None,
) -> LineOrder:
    """The order that these options ask for, each named as the command's parameter of its type above.

    Equals LineOrder() if none is given. Its salt is still to be given where `keyspec.is_random` says so. Raises
    UsageError as GNU sort does. csv_names: of CSV, gives the names of its fields, given the separator.
    """
    given = {
        "b": ignore_leading_blanks,
        "d": dictionary_order,
        "f": ignore_case,
        "i": ignore_nonprinting,
        "g": general_numeric_sort,
        "h": human_numeric_sort,
        "M": month_sort,
        "n": numeric_sort,
        "V": version_sort,
        "R": random_sort,
        "r": reverse,
    }
    letters = {letter for letter, is_given in given.items() if is_given}
    if sort is not None:
        letters.add(keyspec.parse_sort_word(sort))
    separator = None if field_separator is None else parse_separator(field_separator)
    keys = [
        keyspec.parse_key(key) if csv_names is None else keyspec.parse_csv_key(key, partial(csv_names, separator))
        for key in sort_key or ()
    ]
    return keyspec.line_order(
        letters,
        keys,
        separator=separator,
        stable=stable or unique,
        zero_terminated=zero_terminated,
    )
