"""check=True: calls that take sorted arrays name the first item that is not in order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli import DisorderError, UsageError
from gpumerge_cli.arrays import device as device_calls
from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.host import HostCall
from tests import needs

SETS = ("union", "intersect", "difference", "symmetric")
CALLS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(gpumerge_cli, name) for name in ("merge", "union", "intersect", "difference", "symmetric", "join")
    },
    "rank": lambda *arrays, **options: gpumerge_cli.rank(arrays, 1, **options),
    "rank_of": lambda *arrays, **options: gpumerge_cli.rank_of(arrays, arrays[0][:1], **options),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_array_and_the_index_are_named(name: str) -> None:
    good, bad = np.array([1, 3, 5]), np.array([2, 9, 4, 1])
    for arrays, where in (((good, bad), "array 1, index 2"), ((bad, good), "array 0, index 2")):
        with pytest.raises(DisorderError, match="^" + where) as one:
            CALLS[name](*arrays, check=True)
        assert one.value.where == where
        assert str(one.value) == f"{where}: disorder: 4 comes after 9; sort it first, with gpumerge_cli.sort"
    with pytest.raises(DisorderError) as one:
        CALLS[name](good[::-1], good, check=True, descending=True)
    assert one.value.way_out == "sort it first, with gpumerge_cli.sort(array, descending=True)"
    CALLS[name](good, good, check=True)
    CALLS[name](good[::-1], good[::-1], check=True, descending=True)
    with pytest.raises(DisorderError, match=r"^array 0, index 1: disorder: 3 comes after 1"):
        CALLS[name](good, good, check=True, descending=True)
    with pytest.raises(UsageError, match="check='yes' is neither true nor false"):
        CALLS[name](good, good, check="yes")


def test_the_proposed_sort_works_as_it_is_shown() -> None:
    array = np.array([(2, 1), (1, 3)], "i4,i4")
    with pytest.raises(DisorderError) as one:
        gpumerge_cli.merge(array, check=True, key="f1", descending=True)
    shown = one.value.way_out.removeprefix("sort it first, with ")
    assert shown == "gpumerge_cli.sort(array, key='f1', descending=True)"
    sorted_array = eval(shown, {"gpumerge_cli": gpumerge_cli, "array": array})
    gpumerge_cli.merge(sorted_array, check=True, key="f1", descending=True)


def test_arrays_are_not_checked_unless_asked() -> None:
    assert gpumerge_cli.merge(np.array([2, 1])).tolist() == [2, 1]
    assert gpumerge_cli.merge(np.array([2, 1]), check=False).tolist() == [2, 1]


def test_options_stay_beside_a_check() -> None:
    keys, moved, counts = gpumerge_cli.merge([1, 2], [2, 3], values=[[10, 20], [21, 30]], counts=True, check=True)
    assert (keys.tolist(), moved.tolist(), counts.tolist()) == ([1, 2, 3], [10, 20, 30], [1, 2, 1])


@pytest.mark.parametrize(
    ("dtype", "items", "index"),
    [
        ("f4", [1, np.nan, np.nan], None),
        ("f4", [np.nan, 1], 1),
        ("f4", [0.0, -0.0], None),
        ("?", [True, False], 1),
        ("S2", [b"a", b"b", b"aa"], 2),
        (">i4", [1, 300, 2], 2),
        ("M8[D]", ["2020-01-01", "NaT", "NaT"], None),
        ("M8[D]", ["2020-01-01", "NaT", "2020-01-02"], 2),
        ("M8[D]", ["2020-01-02", "2020-01-01", "NaT"], 1),
        ("M8[D]", ["2020-01-02", "2020-01-01", "NaT", "2021-01-01"], 1),
        ("m8[s]", ["NaT", 1], 1),
        ("i4", [], None),
    ],
)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("field", [None, "k", "a.k"])
def test_every_kind_of_key(
    dtype: str, items: list[Any], index: int | None, descending: bool, field: str | None
) -> None:
    keys = np.array(items, dtype)
    if descending:
        keys = keys[::-1]
        index = None if index is None else next(
            at for at in range(1, len(keys)) if not gpumerge_cli.is_sorted(keys[at - 1 : at + 1], descending=True)
        )  # fmt: skip
    if field is not None:
        inner = np.dtype([("v", "i1"), ("k", dtype)])
        records = np.zeros(len(keys), inner if field == "k" else np.dtype([("x", "i2"), ("a", inner)]))
        (records if field == "k" else records["a"])["k"] = keys
        keys = records
    call = Call.of([keys], CallOptions(key=field, descending=descending))
    assert HostCall(call).first_disorder() == (None if index is None else (0, index))
    assert gpumerge_cli.is_sorted(keys, key=field, descending=descending) is (index is None)


def test_dates_are_shown_as_dates() -> None:
    with pytest.raises(DisorderError, match=r"^array 0, index 1: disorder: 2020-01-01 comes after NaT; "):
        gpumerge_cli.union(np.array(["NaT", "2020-01-01"], "M8[D]"), check=True)
    with pytest.raises(DisorderError, match=r"disorder: b'a+\.\.\. comes after b'b'; "):
        gpumerge_cli.merge(np.array([b"b", b"a" * 500]), check=True)


def test_random_arrays(rng: np.random.Generator) -> None:
    for _ in range(200):
        keys = np.sort(rng.integers(0, 50, rng.integers(2, 40))).astype("M8[s]")
        keys[rng.integers(0, len(keys))] = "NaT" if rng.integers(2) else 7
        wrong = [at for at in range(1, len(keys)) if np.argsort(keys[at - 1 : at + 1], kind="stable")[0]]
        found = HostCall(Call.of([keys], CallOptions())).first_disorder()
        assert found == ((0, wrong[0]) if wrong else None)


def test_arrays_on_a_gpu_are_checked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each array by the GPU's check; the first one that is out of order counts."""
    asked: list[int] = []

    def first_disorder(run: Any, order: Any) -> int | None:
        asked.append(len(run))
        return 2 if len(run) == 4 else None

    side = object.__new__(device_calls.DeviceCall)
    monkeypatch.setattr(device_calls.DeviceCall, "current", lambda self: nullcontext())
    monkeypatch.setattr(device_calls.DeviceCall, "_runs", lambda self: [range(3), range(4), range(5)])
    monkeypatch.setattr("gpumerge_cli.backends.gpu.streams.current_stream", lambda: 0)
    monkeypatch.setattr("gpumerge_cli.backends.gpu.streams.is_captured", lambda stream: False)
    vars(side).update(_backend=SimpleNamespace(first_disorder=first_disorder), _order=None)
    assert side.first_disorder() == (1, 2)
    assert asked == [3, 4]


@pytest.mark.gpu
def test_a_gpu_names_the_index_too(gpu_backend: Any) -> None:
    cupy = needs.library("cupy")
    good, bad = cupy.arange(1000), cupy.arange(1000)
    bad[700] = 3
    for name, call in CALLS.items():
        with pytest.raises(DisorderError, match=r"^array 1, index 700: disorder: 3 comes after 699; "):
            call(good, bad, check=True)
        call(good, good, check=True)
        assert name
    merged, counts = gpumerge_cli.merge(good, good, counts=True, check=True)
    assert len(merged) == 1000
    assert bool((counts == 2).all())
