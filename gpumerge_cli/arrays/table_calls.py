"""gpumerge_cli.merge_tables and sort_table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.host import HostCall
from gpumerge_cli.arrays.options import check_count, flag, shortened
from gpumerge_cli.errors import DisorderError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpumerge_cli.arrays.table_keys import By, TableKeys
    from gpumerge_cli.formats.tables.key_columns import NullPlace

AnyTable = TypeVar("AnyTable")


def merge_tables(
    tables: Iterable[AnyTable],
    by: By,
    *,
    nulls: NullPlace = "last",
    check: bool = False,
    threads: int | None = None,
) -> AnyTable:
    """Merge sorted tables into one sorted table, stably.

    >>> import gpumerge_cli, pyarrow as pa
    >>> monday = pa.table({"id": [1, 4], "name": ["Ann", "Bob"]})
    >>> tuesday = pa.table({"id": [2, 4], "name": ["Eve", "Joe"]})
    >>> gpumerge_cli.merge_tables([monday, tuesday], by="id")["name"].to_pylist()
    ['Ann', 'Eve', 'Bob', 'Joe']
    >>> try:
    ...     gpumerge_cli.merge_tables([monday, tuesday], by=["name:r"], check=True)
    ... except gpumerge_cli.DisorderError as error:
    ...     print(error)
    table 0, row 1: disorder: Bob comes after Ann; sort it first, with gpumerge_cli.sort_table

    Parameters
    ----------
    tables:
        One or more, all of one kind and with the same columns: tables and record batches of pyarrow, frames of polars,
        frames of pandas, or others that offer Arrow's C interface. pyarrow must be installed. Each must be sorted; this
        is checked only with `check`. For unsorted ones the order of the result is not defined, but each row is in it.
    by:
        The column that rows are sorted by, or a list of several, the first one first. Each is a name, ("name",
        "descending"), or "name:r" as in `--field`, with "a.b" for the field b of a struct a. Texts compare by their
        bytes; "name:size", "name:time" and the other kinds of data/manual/keys.md compare what they say. A TextKey has
        the parameters of a kind: ("name", TextKey("time", zone="Europe/Paris")).
    nulls:
        The place of nulls, "first" or "last", which a descending order does not turn round. In pandas, NaN and NaT are
        nulls; elsewhere NaN is the largest number.
    check:
        Read all keys first, and raise a DisorderError if a table is not in order.
    threads:
        Threads that work on the keys; all cores by default.

    Returns
    -------
    A table of the kind of `tables`; of other kinds than those named, a pyarrow.Table. Rows with equal keys keep the
    order of the tables and of their rows. Rows of pandas keep their labels. Ordered categories (of pandas, an Enum of
    polars) go by the order of the categories, others by their texts.

    Raises
    ------
    UsageError: tables and options that do not match, a column that is not there or has no order. InputError: a text
    that its kind cannot read. DisorderError: `check` found a row that goes before its predecessor.
    """
    keys = _Keyed(tables, by, nulls, threads)
    if check is not False and flag("check", check):
        keys.check_order()
    return keys.merged()  # type: ignore[no-any-return]


def sort_table(table: AnyTable, by: By, *, nulls: NullPlace = "last", threads: int | None = None) -> AnyTable:
    """Sort the rows of a table, stably.

    >>> import gpumerge_cli, pyarrow as pa
    >>> table = pa.table({"size": ["10M", "900k", None], "id": [1, 2, 3]})
    >>> gpumerge_cli.sort_table(table, by="size:size")["id"].to_pylist()
    [2, 1, 3]
    >>> gpumerge_cli.sort_table(table, by=[("id", "descending")])["id"].to_pylist()
    [3, 2, 1]

    Parameters
    ----------
    table:
        A table that merge_tables takes, in any order.
    by, nulls, threads:
        The same as for merge_tables.

    Returns
    -------
    A table of the same kind; see merge_tables.

    Raises
    ------
    UsageError: options that do not match, a column that is not there or has no order. InputError: a text that its kind
    cannot read.
    """
    return _Keyed([table], by, nulls, threads).sorted()  # type: ignore[no-any-return]


class _Keyed:
    """Tables and their keys. See merge_tables."""

    def __init__(self, tables: Any, by: By, nulls: NullPlace, threads: int | None) -> None:
        check_count("threads", threads)
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            what = "tables are read by pyarrow, which is not installed"
            raise UsageError(what, way_out="pip install 'gpumerge[tables]'") from None
        # Only here: these modules need pyarrow.
        from gpumerge_cli.arrays.table_keys import TableKeys, columns_named, named
        from gpumerge_cli.arrays.table_kinds import check_alike, errors_of, key_tables, table_kind_of

        self._threads = threads
        self._kind, self._tables = table_kind_of(tables)
        check_alike(self._kind, self._tables)
        with errors_of(self._tables[0]):
            self._tables = [*self._kind.brought(self._tables)]
        read, schema = key_tables(self._kind, self._tables, [text for text, _ in named(by)])
        self._keys: TableKeys = TableKeys.of(read, columns_named(schema, by, nulls), threads)

    def check_order(self) -> None:
        """Raise DisorderError for the first row of a table that goes before its predecessor."""
        options = CallOptions(descending=self._keys.descending, threads=self._threads)
        found = HostCall(Call.of(self._keys.arrays, options)).first_disorder()
        if found is None:
            return
        table, row = found
        here, ahead = self._keys.shown(table, row), self._keys.shown(table, row - 1)
        raise DisorderError(
            f"disorder: {shortened(here)} comes after {shortened(ahead)}",
            where=f"table {table}, row {row}",
            way_out="sort it first, with gpumerge_cli.sort_table",
        )

    def merged(self) -> Any:
        from gpumerge_cli.arrays.merged_positions import merged_positions

        keys = self._keys
        return self._gathered(merged_positions(keys.arrays, descending=keys.descending, threads=self._threads))

    def sorted(self) -> Any:
        from gpumerge_cli.arrays.merged_positions import sorted_positions

        [array] = self._keys.arrays
        return self._gathered(sorted_positions(array, descending=self._keys.descending, threads=self._threads))

    def _gathered(self, positions: Any) -> Any:
        from gpumerge_cli.arrays.table_kinds import errors_of

        with errors_of(self._tables[0]):
            return self._kind.gathered(self._tables, positions)
