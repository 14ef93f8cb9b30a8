"""Lists, strings, tables and structs as arrays: what is taken, and ways out that work for what is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli import UsageError
from tests import needs

I4, F4 = np.array([1], "i4"), np.array([1], "f4")


def test_lists_and_tuples_are_taken_as_numpy_takes_them() -> None:
    assert gpumerge_cli.merge([1, 4], (2, 3)).tolist() == [1, 2, 3, 4]
    assert gpumerge_cli.sort([2.5, 1]).dtype == np.float64
    assert gpumerge_cli.sort([True, False]).tolist() == [False, True]
    assert gpumerge_cli.argsort((3, 1, 2)).tolist() == [1, 2, 0]
    assert gpumerge_cli.union([1, 2], np.array([2, 3])).tolist() == [1, 2, 3]
    assert gpumerge_cli.join([1, 2], [2])[0].tolist() == [1]
    assert gpumerge_cli.rank([[1, 4], [2]], 2).tolist() == [1, 1]
    assert gpumerge_cli.is_sorted([])
    keys, moved = gpumerge_cli.merge([1, 4], [2], values=[["a", "b"], ["c"]])
    assert (keys.tolist(), moved.tolist()) == ([1, 2, 4], ["a", "c", "b"])


@pytest.mark.parametrize(
    ("arrays", "dtype", "merged"),
    [
        (([], [1, 2]), "i8", [1, 2]),
        (([], []), "f8", []),
        (([1, 2], (1.5,)), "f8", [1, 1.5, 2]),
        (([True], [2]), "i8", [1, 2]),
        (([1], [2**63]), "f8", [1, 2**63]),
        (([b"a"], [b"abc"]), "S3", [b"a", b"abc"]),
        (([], [b"abc"]), "S3", [b"abc"]),
        ((I4, []), "i4", [1]),
        ((I4, [2, 3], []), "i4", [1, 2, 3]),
        (([0], I4.astype(">i4")), "i4", [0, 1]),
        ((I4, [2.0]), "i4", [1, 2]),
        ((F4, [2, 0.5][1:]), "f4", [0.5, 1]),
        (([1, np.nan], F4), "f4", [1, 1, np.nan]),
        ((np.array([b"abc"]), [b"d"]), "S3", [b"abc", b"d"]),
        (([np.datetime64("2020-01-01")], np.array(["2021-01-01"], "M8[s]")), "M8[s]", None),
    ],
    ids=repr,
)
def test_lists_take_a_common_dtype(arrays: Any, dtype: str, merged: Any) -> None:
    for combined in (gpumerge_cli.merge, gpumerge_cli.union):
        keys = combined(*arrays)
        assert keys.dtype == dtype
        if merged is not None and (combined is gpumerge_cli.merge or len(set(merged)) == len(merged)):
            np.testing.assert_array_equal(keys, np.array(merged, dtype))
    assert int(gpumerge_cli.rank(arrays, 1 if any(map(len, arrays)) else 0).sum()) == min(1, sum(map(len, arrays)))
    if len(arrays) == 2:
        rows = [list(range(len(array))) for array in arrays]
        assert len(gpumerge_cli.join(*arrays, how="outer")[0]) >= max(map(len, rows))


@pytest.mark.parametrize(
    ("arrays", "names"),
    [
        ((I4, [1.5]), "float64, int32"),
        ((I4, [2**40]), "int32, int64"),
        ((I4.astype("u1"), [-1]), "int64, uint8"),
        ((F4, [0.1]), "float32, float64"),
        (([2**60 + 1], [0.5]), "float64, int64"),
        ((np.array([b"a"]), [b"ab"]), r"\|S1, \|S2"),
        (([b"1"], [1]), r"int64, \|S1"),
        ((I4, F4, [1]), "float32, int32, int64"),
        ((I4, F4[:0]), "float32, int32"),
    ],
    ids=repr,
)
def test_values_are_never_changed_for_a_common_dtype(arrays: Any, names: str) -> None:
    with pytest.raises(UsageError, match=f"^arrays of different dtypes: {names}; convert them to one dtype"):
        gpumerge_cli.merge(*arrays)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([["a"], ["bcd"]], "U3"),
        ([[1], [2.5]], "f8"),
        ([[1], [None]], "O"),
        ([np.array([1], "u1"), [2]], "u1"),
        ([np.array(["abc"]), ["d"]], "U3"),
    ],
)
def test_lists_of_values_take_a_common_dtype(values: Any, dtype: str) -> None:
    _, moved = gpumerge_cli.merge([1], [2], values=values)
    assert (moved.dtype, moved.tolist()) == (np.dtype(dtype), [values[0][0], values[1][0]])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([None, 1], r"an array of objects \(NoneType, int\) cannot be keys; use numbers, bool, datetime64"),
        ([2**70], r"integers of more than 64 bits cannot be keys; use those from -2\*\*63 to 2\*\*64 - 1"),
        ([{}], r"an array of objects \(dict\) cannot be keys"),
        ([[1], [2, 3]], "the items of a list have different shapes; give a list of numbers for each array"),
        ([[1], [2]], "an array has 2 dimensions; merge 1-D arrays"),
        (["b", "a"], "arrays of strings cannot be keys"),
    ],
)
def test_lists_of_other_items(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=f"^{said}"):
        gpumerge_cli.sort(given)


def strings() -> dict[str, Any]:
    """Words in the classes of the libraries that are there."""
    words = ["b\u00e9", "a", "b"]
    found: dict[str, Any] = {
        "numpy": np.array(words),
        "objects": np.array(words, object),
        "StringDType": np.array(words, dtype=np.dtypes.StringDType()),
    }
    with suppress(ImportError):
        import pandas as pd

        found |= {"pandas": pd.Series(words), "index": pd.Index(words), "category": pd.Series(words, dtype="category")}
    with suppress(ImportError):
        import pyarrow as pa

        found |= {"arrow": pa.array(words), "chunked": pa.chunked_array([words[:1], words[1:]])}
        found |= {"binary": pa.array([word.encode() for word in words])}
    with suppress(ImportError):
        import polars as pl

        found |= {"polars": pl.Series(words), "binaries": pl.Series([word.encode() for word in words])}
    return found


STRINGS = strings()


@pytest.mark.parametrize("kind", STRINGS)
def test_strings_are_keys_as_the_message_says(kind: str) -> None:
    keys = STRINGS[kind]
    with pytest.raises(UsageError, match=r"cannot be keys; (?:en|con)\w+ them, numpy\.") as one:
        gpumerge_cli.sort(keys)
    way = one.value.way_out.partition(", ")[2]
    encoded = eval(way, {"numpy": np, "keys": keys})
    assert gpumerge_cli.sort(encoded).tolist() == [b"a", b"b", "b\u00e9".encode()]
    assert gpumerge_cli.argsort(encoded).tolist() == [1, 2, 0]


def tables(library: str, numbers: list[int]) -> Any:
    module = needs.library(library)
    columns = {"number": numbers, "name": [chr(97 + number) for number in numbers]}
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_are_moved_as_the_message_says(library: str) -> None:
    module = needs.library(library)
    first, second = tables(library, [1, 0]), tables(library, [2, 3, 4])

    def followed(call: Callable[[Any], Any], given: Any, table: Any) -> Any:
        with pytest.raises(UsageError, match=rf"^values: {library}\.\w+ is a table; give the numbers of rows, ") as one:
            call(given)
        found = re.search(r"values=(.*), and take the rows that come back.*: (.*)$", one.value.way_out)
        assert found
        _, rows = call(eval(found[1], {"numpy": np}))
        return eval(found[2], {"table": table, "rows": rows})

    def names(table: Any) -> list[str]:
        return [str(name) for name in np.asarray(table["name"])]

    keys = [np.array([2, 9]), np.array([1, 3, 5])]
    moved = followed(lambda values: gpumerge_cli.sort(keys[0][::-1], values=values), first, first)
    assert names(moved) == ["a", "b"]
    with pytest.raises(UsageError, match=f"^{library}.* is a table; give one of its columns"):
        gpumerge_cli.sort(first)
    both = module.concat_tables([first, second]) if library == "pyarrow" else module.concat([first, second])
    for given in ([first, second], first):
        moved = followed(lambda values: gpumerge_cli.merge(*keys, values=values), given, both)
        assert names(moved) == ["c", "b", "d", "e", "a"]
    many = [np.array([number]) for number in range(9)]
    with pytest.raises(UsageError, match=r"values=\[numpy.arange\(0, 1\), .*, numpy.arange\(3, 4\), \.\.\.\], and"):
        gpumerge_cli.merge(*many, values=[first] * 9)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_one_table_in_a_list_is_moved_as_the_message_says(library: str) -> None:
    table = tables(library, [1, 0])
    with pytest.raises(UsageError, match=r"is a table; give .* values=\[numpy.arange\(0, 2\)\], and"):
        gpumerge_cli.merge([1, 2], values=[table])
    with pytest.raises(UsageError, match=r"is a table; give .* values=\[numpy.arange\(0, 2\)\], and"):
        gpumerge_cli.union([1, 2], values=table)
    for call in (gpumerge_cli.rank, gpumerge_cli.rank_of):
        with pytest.raises(
            UsageError, match=rf"^{library}\.\w+ is a table; give a list of columns, as \[table\['key'\]\]"
        ):
            call(table, 1)


def columns_of(items: list[Any]) -> dict[str, Any]:
    """Columns of the libraries that are there."""
    found: dict[str, Any] = {}
    with suppress(ImportError):
        import pyarrow as pa

        found |= {"arrow": pa.array(items), "chunked": pa.chunked_array([items])}
        import pandas as pd

        found["pandas"] = pd.Series(items, dtype=pd.ArrowDtype(pa.array(items).type))
    with suppress(ImportError):
        import polars as pl

        found["polars"] = pl.Series(items)
    return found


STRUCTS, WORDS = columns_of([{"a": 1}, {"a": 2}]), columns_of(["x", "y"])


@pytest.mark.parametrize("kind", STRUCTS)
def test_structs_are_moved_as_the_message_says(kind: str) -> None:
    structs = STRUCTS[kind]
    with pytest.raises(UsageError, match=r"^\w+\.\w+ holds structs; give one of their fields"):
        gpumerge_cli.sort(structs)
    said = r"^values: \w+\.\w+ holds structs; give the numbers of rows, values=(.*), and take .*: (.*)$"
    for call in (
        lambda values: gpumerge_cli.sort([2, 1], values=values),
        lambda values: gpumerge_cli.merge([1, 2], values=[values]),
    ):
        with pytest.raises(UsageError, match=said):
            call(structs)
    with pytest.raises(UsageError, match=said) as one:
        gpumerge_cli.sort([2, 1], values=structs)
    way = re.search(said, str(one.value))
    assert way
    _, rows = gpumerge_cli.sort([2, 1], values=eval(way[1], {"numpy": np}))
    moved = eval(way[2], {"table": structs, "rows": rows})
    assert getattr(moved, "to_pylist", getattr(moved, "to_list", None))() == [{"a": 2}, {"a": 1}]


@pytest.mark.parametrize("kind", ["str", *WORDS])
def test_one_array_of_strings_is_no_list_of_arrays(kind: str) -> None:
    words = "xy" if kind == "str" else WORDS[kind]
    with pytest.raises(UsageError, match=r"^arrays is not a list of arrays; give one in brackets"):
        gpumerge_cli.rank(words, 1)
    with pytest.raises(UsageError, match=r"^values: [\w.]+ is one array; give a list of one array for each"):
        gpumerge_cli.merge([1, 2], values=words)


def test_arrays_of_arrays_are_lists_of_arrays() -> None:
    arrays = np.array([None, None])
    arrays[:] = [np.array([1, 4]), np.array([2])]
    nested: list[Any] = [arrays]
    with suppress(ImportError):
        import polars as pl

        nested.append(pl.Series([[1, 4], [2]]))
    for given in nested:
        assert gpumerge_cli.merge([1, 4], [2], values=given)[1].tolist() == [1, 2, 4]
        assert gpumerge_cli.rank(given, 2).tolist() == [1, 1]


@pytest.mark.parametrize("null", [None, np.nan])
def test_nulls_of_string_dtype_have_no_order(null: Any) -> None:
    words = np.array(["b", null, "a"], np.dtypes.StringDType(na_object=null))
    with pytest.raises(UsageError, match=r"^an array of StringDType has 1 null, and a null has no order; drop or fill"):
        gpumerge_cli.sort(words)


NUMBERS = np.array([1, 2])


@pytest.mark.parametrize("given", [{"a": NUMBERS}, {}, {1, 2}, frozenset(), {"a": 1}.keys()])
def test_dicts_and_sets_are_no_lists_of_arrays(given: Any) -> None:
    kind = type(given).__name__
    values = ", as list({}.values())" if isinstance(given, dict) else ""
    for argument, call in (
        ("arrays", lambda: gpumerge_cli.rank(given, 0)),
        ("arrays", lambda: gpumerge_cli.rank_of(given, 0)),
        ("values", lambda: gpumerge_cli.merge(NUMBERS, values=given)),
        ("values", lambda: gpumerge_cli.union(NUMBERS, values=given)),
    ):
        with pytest.raises(UsageError) as refused:
            call()
        said = f"{argument} is a {kind}, not a list of arrays; give "
        assert str(refused.value) == said + (f"its values{values.format(argument)}" if values else "a list")


@pytest.mark.parametrize("given", [{1, 2}, None, object()])
def test_other_objects_are_no_arrays(given: Any) -> None:
    name = type(given).__name__
    for call in (
        gpumerge_cli.merge, gpumerge_cli.sort, gpumerge_cli.argsort, gpumerge_cli.is_sorted, gpumerge_cli.union,
        gpumerge_cli.intersect, gpumerge_cli.difference, gpumerge_cli.symmetric,
        lambda given: gpumerge_cli.join(NUMBERS, given), lambda given: gpumerge_cli.join(given, NUMBERS),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=f"^expected an array, got {name}; give a list, a NumPy or CuPy array"):
            call(given)
    with pytest.raises(UsageError, match=f"items are not an array, but {name}; give an array or a list"):
        gpumerge_cli.rank_of([NUMBERS], given)
    with pytest.raises(UsageError, match=f"is not an array of ranks, but {name}; give an array or a list"):
        gpumerge_cli.rank([NUMBERS], given)


def test_a_list_of_numbers_is_one_array() -> None:
    for given in ([1, 2], (1.5, 2.5), ["a", "b"], [np.int32(1)]):
        with pytest.raises(UsageError, match=r"arrays is not a list of arrays; give one in brackets, too: \[array\]"):
            gpumerge_cli.rank(given, 0)
    assert gpumerge_cli.rank([[1, 2]], 1).tolist() == [1]


@pytest.mark.parametrize("given", [[2**63 + 1, 1], [2**53 + 1, 0.5], (-(2**53) - 1, 1.5), [[2**63 + 1, -1], [0, 0]]])
def test_integers_in_lists_are_never_rounded(given: Any) -> None:
    """NumPy makes float64 of them."""
    said = (
        "^(values: )?float64, the dtype of a (list|tuple) of such numbers, does not hold all of its integers; "
        "give a NumPy array"
    )
    for call in (
        lambda: gpumerge_cli.sort(given),
        lambda: gpumerge_cli.merge([1], given),
        lambda: gpumerge_cli.sort([2, 1], values=given),
        lambda: gpumerge_cli.merge([1, 2], values=[given]),
    ):
        with pytest.raises(UsageError, match=said):
            call()


def test_numbers_that_floats_hold_stay_beside_integers() -> None:
    for given in ([2**53, 0.5], [2**54, 0.5], [1e300, 1], [float("inf"), 1, float("nan")], [2.0**63, 1]):
        assert gpumerge_cli.sort(given).tolist()[:1] == [min(given)]
    assert gpumerge_cli.sort([2**63 + 1, 2**63]).tolist() == [2**63, 2**63 + 1]
    assert gpumerge_cli.sort([float("nan")] * 2).size == 2


@pytest.mark.parametrize(("values", "got"), [("xy", "str"), ({1, 2}, "set"), (5, "int")])
def test_values_that_are_no_array_are_named(values: Any, got: str) -> None:
    with pytest.raises(UsageError, match=f"^values: expected an array, got {got}; give a list, "):
        gpumerge_cli.sort([2, 1], values=values)
    with pytest.raises(UsageError, match=f"^values: expected an array, got {got}; give a list, "):
        gpumerge_cli.merge([2], [1], values=[values, [1]])


@pytest.mark.parametrize("items", [[2, 1], [2.5, 1], [True, 1]])
def test_the_way_out_for_numbers_that_are_objects(items: list[Any]) -> None:
    keys = np.array(items, object)
    with pytest.raises(UsageError, match=r"^arrays of objects cannot be keys; convert them, ") as caught:
        gpumerge_cli.sort(keys)
    converted = eval(caught.value.way_out.removeprefix("convert them, "), {"numpy": np, "keys": keys})
    assert gpumerge_cli.sort(converted).tolist() == sorted(items)
