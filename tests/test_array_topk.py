"""topk and argtopk of arrays, held against sorts of NumPy's and this program's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays import first_items
from gpumerge_cli.arrays.first_items import sample_positions
from gpumerge_cli.backends import base
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.native.library import library
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order

RECORD = np.dtype([("name", "S12"), ("at", ">i8"), ("price", "f4"), ("when", "M8[ms]")])


def drawn(dtype: str, count: int, rng: np.random.Generator) -> Any:
    """Keys of one value, of a few or of many, with NaN or NaT and with zeros of both signs."""
    most = int(rng.choice([1, 2, 3, 40, 1 << 30]))
    if dtype in ("S3", "S8", "S20", "V5"):
        form = str(rng.choice(["%d", "%012d"]))
        texts = np.array([form % number for number in rng.integers(0, most, count)], "S20")
        return texts.astype("S5").view("V5") if dtype == "V5" else texts.astype(dtype)
    keys = rng.integers(0, most, count)
    if dtype[0] in "fmM" or dtype.startswith((">f", "float")):
        with np.errstate(over="ignore"):
            found = keys.astype(dtype)
        found[rng.random(count) < rng.choice([0, 0.001, 0.9])] = "NaT" if found.dtype.kind in "mM" else np.nan
        if found.dtype.kind == "f":
            found[keys == 0] *= -1
        return found
    return (keys % 2 if dtype == "bool" else keys).astype(dtype)


def check(array: Any, n: int, *, descending: bool, key: str | None = None, threads: int | None = None) -> None:
    """Holds the calls against argsort."""
    wanted = gpumerge_cli.argsort(array, key=key, descending=descending)[:n]
    options: dict[str, Any] = {"key": key, "descending": descending, "threads": threads}
    found = gpumerge_cli.argtopk(array, n, **options)
    assert found.dtype == np.int64
    assert np.array_equal(found, wanted)
    keys, rows = gpumerge_cli.topk(array, n, values=np.arange(2 * len(array)).reshape(-1, 2), **options)
    assert np.array_equal(rows[:, 0], 2 * wanted)
    for each in (keys, gpumerge_cli.topk(array, n, **options)):
        assert each.dtype == gpumerge_cli.sort(array[:1], key=key).dtype
        assert each.tobytes() == array[wanted].astype(each.dtype).tobytes()  # the bits of zeros and NaNs, too


@pytest.mark.one_of_each
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool", ">i4", ">f8", "M8[s]", "m8[ns]", "S3", "S8", "S20", "V5"])
def test_every_dtype(dtype: str, descending: bool, rng: np.random.Generator) -> None:
    for count in (0, 1, 100, 5000, 20_000):
        for n in {0, 1, 3, count // 50, count // 4, count // 2, count, count + 5}:
            check(drawn(dtype, count, rng), n, descending=descending)


@pytest.mark.parametrize("key", RECORD.names)
def test_records(key: str, rng: np.random.Generator) -> None:
    array = np.zeros(10_000, RECORD)
    for name, dtype in (("name", "S20"), ("at", ">i8"), ("price", "f4"), ("when", "M8[ms]")):
        array[name] = drawn(dtype, len(array), rng)
    for descending in (False, True):
        check(array, 70, key=key, descending=descending)


def test_each_branch_of_the_search(rng: np.random.Generator) -> None:
    """A bound that many equal; one that few go before; a sample that misses the few small items; threads."""
    many = 300_000
    few_before = np.full(many, 7)
    few_before[rng.integers(0, many, 20)] = 3
    behind = np.where(rng.random(many) < 0.5, 7, rng.integers(0, 7, many))
    ascending = np.arange(many)
    for array in (few_before, behind, ascending, ascending[::-1].copy(), rng.integers(0, many, many)):
        for n in (1, 10, 1000, many // 8, many // 4):
            for descending in (False, True):
                check(array, n, descending=descending, threads=3)


class _Misled:
    """A selection whose bound lies where a test says, in an array of numbers."""

    def __init__(self, items: Any, bound: int) -> None:
        self.items, self.bound = items, bound

    def take_bound(self, samples: int, rank: int) -> None:
        assert 0 <= rank < samples <= len(self.items)

    def found(self, selects: int, room: int) -> Any:
        less, equal = self.items < self.bound, self.items == self.bound
        found = np.flatnonzero((bool(selects & 1) & less) | (bool(selects & 2) & equal))
        return found[:room], len(found)

    def first_equals(self, count: int) -> Any:
        return np.flatnonzero(self.items == self.bound)[:count]

    def joined(self, indices: Any, others: Any) -> Any:
        return np.sort(np.concatenate([indices, others]))


def test_any_bound_gives_the_first_items_or_none(rng: np.random.Generator) -> None:
    answers = []
    for most in (1, 2, 5, 1000, 1 << 40):
        items = rng.integers(0, most, 20_000)
        order = np.argsort(items, kind="stable")
        for bound in (-1, 0, 1, most // 2, most - 1, most, int(np.sort(items)[200])):
            for n in (1, 100, 4000):
                found = first_items.first_candidates(_Misled(items, bound), len(items), n, exact=True)
                answers.append(found is None)
                if found is not None:
                    assert np.array_equal(found[np.argsort(items[found], kind="stable")][:n], order[:n])
    assert any(answers)
    assert not all(answers)


def test_positions_of_samples() -> None:
    for count, samples in ((1, 1), (7, 7), (10, 3), (4097, 256), ((1 << 50) + 3, 1 << 14)):
        found = sample_positions(count, samples)
        assert (np.diff(found) > 0).all()
        assert 0 <= found[0] <= found[-1] < count


def test_texts() -> None:
    texts = np.array([f"{number}k" for number in range(6000)] + ["2M", "none"])
    options: dict[str, Any] = {"text": "size", "descending": True}
    assert gpumerge_cli.topk(texts[:-1], 2, **options).tolist() == ["5999k", "5998k"]
    assert np.array_equal(
        gpumerge_cli.argtopk(texts[:-1], 9, **options), gpumerge_cli.argsort(texts[:-1], **options)[:9]
    )
    with pytest.raises(InputError, match="array 0, index 6001"):
        gpumerge_cli.topk(texts, 3, text="size")


def test_views_and_masked_values(rng: np.random.Generator) -> None:
    array = rng.integers(0, 1000, 30_000)
    check(array[::-2], 40, descending=False)
    check(np.frombuffer(b"\0" + array.tobytes(), "i8", offset=1), 40, descending=True)
    values = np.ma.array(array, mask=array % 2 == 0)
    _, rows = gpumerge_cli.topk(array, 40, values=values)
    assert rows.mask.tolist() == (rows.data % 2 == 0).tolist()


@pytest.mark.parametrize(
    ("array", "n", "said"),
    [
        ([1], -1, "n=-1 is not a number of items; give a whole number, 0 or more"),
        ([1], 1.5, "n=1.5 is not a number of items"),
        ([1], True, "n=True is not a number of items"),
        ([[1]], 1, "2 dimensions"),
        (["x"], 1, "arrays of strings cannot be keys"),
        (np.ma.array([1]), 1, "masked items have no order"),
    ],
)
def test_what_is_refused(array: Any, n: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        gpumerge_cli.topk(array, n)
    with pytest.raises(UsageError, match="for 3 keys"):
        gpumerge_cli.topk([1, 2, 3], 1, values=[1])


def test_both_processors_select_by_the_same_bits() -> None:
    assert (base.SELECT_LESS, base.SELECT_EQUAL) == (library().SELECT_LESS, library().SELECT_EQUAL)


@pytest.mark.thorough
def test_random_cases(rng: np.random.Generator) -> None:
    dtypes = [*DTYPES, "bool", ">i4", "M8[s]", "S8", "S20"]
    for _ in range(3000):
        count = int(rng.integers(0, 9000))
        array = drawn(str(rng.choice(dtypes)), count, rng)
        check(array, int(rng.integers(0, count + 2)), descending=bool(rng.integers(2)), threads=int(rng.integers(1, 4)))


@pytest.mark.gpu
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_a_gpu_gives_the_same(gpu_backend: Backend, dtype: str, descending: bool, rng: np.random.Generator) -> None:
    import cupy

    for count in (0, 1, 100, 5000, 3_000_000):
        for n in {0, 1, 40, count // 50, count // 4, count + 5}:
            array = drawn(dtype, count, rng)
            wanted = gpumerge_cli.argsort(array, descending=descending)[:n]
            given = cupy.asarray(array)
            assert np.array_equal(gpumerge_cli.argtopk(given, n, descending=descending).get(), wanted)
            values = cupy.arange(count, dtype=cupy.int32)
            keys, rows = gpumerge_cli.topk(given, n, descending=descending, values=values)
            assert keys.get().tobytes() == array[wanted].tobytes()
            assert np.array_equal(rows.get(), wanted)
            odd = cupy.concatenate([given[:1], given])[1:]  # it begins behind a vector's boundary
            assert np.array_equal(gpumerge_cli.argtopk(odd, n, descending=descending).get(), wanted)


@pytest.mark.gpu
def test_first_equals_on_a_gpu_come_from_several_windows(
    gpu_backend: Backend, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cupy

    from gpumerge_cli.backends.gpu import selecting

    monkeypatch.setattr(selecting, "_FIRST_WINDOW", 1 << 10)
    monkeypatch.setattr(selecting, "_LAST_WINDOW", 1 << 12)
    array = np.where(rng.random(200_000) < 0.5, 7, 9).astype("i4")
    array[rng.integers(0, len(array), 20)] = 3
    for n in (1, 30, 5000, 50_000):
        found = gpumerge_cli.argtopk(cupy.asarray(array), n)
        assert np.array_equal(found.get(), np.argsort(array, kind="stable")[:n])


@pytest.mark.gpu
def test_samples_of_a_gpu_are_those_of_the_host(gpu_backend: Any) -> None:
    import cupy

    for count, samples in ((1, 1), (10, 3), (100_001, 300)):
        array = np.arange(count)
        order = Order.of("int64")
        assert isinstance(order, KeyOrder)
        found = gpu_backend.selection(cupy.asarray(array), order).sample(samples)
        assert np.array_equal(found.get(), array[sample_positions(count, samples)])
